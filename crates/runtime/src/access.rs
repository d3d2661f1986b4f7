//! Checking one access, or a range of them: the slow path behind every hook.

use deadheat_detect::entry::{self, Entry, LIST, MASK, PLAIN, WRITE};

use crate::cell::{self, Been, Cell, Memo, Races, Right, Step};
use crate::finding;
use crate::history::{Place, SlotHistory, Touch};
use crate::intern::StackId;
use crate::loss::Loss;
use crate::pages::{Owners, PAGE_BITS};
use crate::record;
use crate::runtime::Runtime;
use crate::shadow::{REGION, Shadow};
use crate::strand::Strand;

impl Touch {
    /// The kind bits of an entry for this touch.
    #[inline(always)]
    pub const fn bits(self) -> u64 {
        match self {
            Touch::Learned | Touch::Both => 0,
            Touch::Read => PLAIN,
            Touch::Write | Touch::Free | Touch::VptrWrite | Touch::Destroy | Touch::Alloc => {
                PLAIN | WRITE
            }
            Touch::AtomicRead => 0,
            Touch::AtomicWrite | Touch::AtomicReadWrite => WRITE,
        }
    }
}

/// Does the strand look at such accesses now?
#[inline(always)]
fn ignored(s: &Strand, touch: Touch) -> bool {
    if touch.bits() & WRITE == 0 {
        s.ignore_reads > 0
    } else {
        s.ignore_writes > 0
    }
}

/// `s` touches `[addr, addr + size)` at `pc`.
#[inline]
pub fn access(rt: &Runtime, s: &mut Strand, addr: usize, size: usize, touch: Touch, pc: u64) {
    if s.recording() {
        return record::touch(rt, s, addr, size, touch, pc);
    }
    if ignored(s, touch) {
        return;
    }
    let place = Place::new(pc, touch, size as u64);
    let offset = addr % 8;
    if offset + size <= 8 {
        let mask = ((1u64 << size) - 1) << offset;
        return in_cell(rt, s, addr & !7, mask | touch.bits(), place);
    }
    if size <= FEW_BYTES {
        return in_cells(rt, s, addr, size, touch, place);
    }
    range(rt, s, addr, size, touch, place);
}

/// More bytes are a range.
const FEW_BYTES: usize = 16;

/// A few bytes of up to three cells.
fn in_cells(rt: &Runtime, s: &mut Strand, addr: usize, size: usize, touch: Touch, place: Place) {
    let (first, end) = (addr & !7, addr % 8 + size);
    let last = (end - 1) & !7;
    let (mut low, bits) = (0xff << (addr % 8) & MASK, touch.bits());
    for at in (0..last).step_by(8) {
        in_cell(rt, s, first.wrapping_add(at), low | bits, place);
        low = MASK;
    }
    let high = MASK >> (last + 8 - end);
    in_cell(rt, s, first.wrapping_add(last), low & high | bits, place);
}

/// The bytes and kind in `need` of the cell at `addr`.
#[inline(always)]
fn in_cell(rt: &Runtime, s: &mut Strand, addr: usize, need: u64, place: Place) {
    let cell = match rt.shadow.existing(addr) {
        Some(cell) => cell,
        None => {
            // Making a block takes a lock, and may call a function that is hooked.
            s.enter();
            let made = rt.shadow.cell(addr);
            leave(s);
            match made {
                Some(cell) => cell,
                None => return rt.losses.count(Loss::NoShadow),
            }
        }
    };
    // SAFETY: the shadow gave the cell for this address.
    unsafe {
        if !been(s, cell, need) {
            unsettled(rt, s, addr, cell, need, place);
        }
    }
}

/// The present step has not been at this cell, or not with as much.
///
/// # Safety
/// `cell` must be the cell of `addr`.
#[inline(always)]
unsafe fn first_touch(
    rt: &Runtime,
    s: &mut Strand,
    addr: usize,
    cell: *mut Cell,
    need: u64,
    place: Place,
) {
    s.enter();
    s.needs_floor(rt);
    let seq = s.number(rt, place);
    let new = Entry(entry::stamp(s.slot, seq) | need);
    // SAFETY: by the contract, and we are inside.
    unsafe { record(rt, s, addr, cell, new) };
    leave(s);
}

/// A plain access to one cell that the fast path could not settle: neither of the cell's words, as it saw them, makes
/// it redundant.
///
/// Most such accesses are the first of a step to memory that this strand owns and that only ordered accesses touched
/// before; they are settled here in as few instructions as can be. The rest is [`first_touch`], which is also the
/// specification: it may be called instead at any time.
///
/// # Safety
/// `cell` must be the cell of `addr`.
#[inline(always)]
pub unsafe fn unsettled(
    rt: &Runtime,
    s: &mut Strand,
    addr: usize,
    cell: *mut Cell,
    need: u64,
    place: Place,
) {
    // SAFETY: by the contract. The hooks have looked at the cell's two words only.
    if unsafe { cell::has_more(cell) && been(s, cell, need) } {
        return;
    }
    // SAFETY: by the contract.
    if unsafe { cell::has_own_list(cell) } {
        // SAFETY: by the contract.
        return unsafe { unsettled_slowly(rt, s, addr, cell, need, place) };
    }
    if s.frames_known != s.frames_top {
        name_frames(rt, s);
    }
    let caller = s.known_stack();
    let at_work = s.at_work;
    at_work.begin(addr);
    // SAFETY: by the contract.
    let done = unsafe { settle(s, addr, cell, need, place, caller) };
    at_work.end();
    if s.signals_wait() {
        deliver(s);
    }
    if !done {
        // SAFETY: by the contract.
        unsafe { unsettled_slowly(rt, s, addr, cell, need, place) };
    }
}

/// # Safety
/// As for [`unsettled`], and the strand says that it is at work in the block of `addr`.
#[inline(always)]
unsafe fn settle(
    s: &mut Strand,
    addr: usize,
    cell: *mut Cell,
    need: u64,
    place: Place,
    caller: StackId,
) -> bool {
    let stamp = s
        .known_number(place, caller)
        .or_else(|| s.quick_number(place, caller));
    // SAFETY: by the contract.
    stamp.is_some_and(|stamp| unsafe { settle_as(s, addr, cell, need, stamp) })
}

/// The same with the number that the access has.
///
/// # Safety
/// As for [`settle`].
#[inline(always)]
unsafe fn settle_as(s: &mut Strand, addr: usize, cell: *mut Cell, need: u64, stamp: u64) -> bool {
    // SAFETY: by the contract.
    unsafe {
        match Shadow::owners(addr, cell).right(addr, s.owner_name) {
            Some(right) if cell::has_table(cell) => {
                cell::settle_table(cell, right, &s.clock, stamp, need)
            }
            Some(right) if cell::has_list(cell) => {
                let after = cell::settle_listed(cell, right, &mut s.memo, stamp | need);
                if let Some(word) = after
                    && need == PLAIN | MASK
                    && word & LIST != 0
                {
                    s.has_read_list(word);
                }
                after.is_some()
            }
            Some(Right::Owner) => {
                cell::settle_own(cell, &s.step(), stamp, need)
                    || cell::settle_both(cell, Right::Owner, s, stamp, need)
            }
            Some(Right::Locker) => {
                cell::settle_shared(cell, &s.step(), stamp, need)
                    || cell::settle_both(cell, Right::Locker, s, stamp, need)
            }
            None => false,
        }
    }
}

/// What is left of [`unsettled`] when the cell, in a page that the strand owns and where it says to be at work, names no list and
/// remembers nothing that did not happen before, but has no room for the access, unless it can be joined with one of the
/// same step and kind to other bytes.
///
/// # Safety
/// As for [`unsettled`].
pub unsafe fn join_own(
    rt: &Runtime,
    s: &mut Strand,
    addr: usize,
    cell: *mut Cell,
    need: u64,
    place: Place,
    stamp: u64,
) {
    // SAFETY: by the contract.
    let done = unsafe {
        cell::join_own(cell, s, stamp, need) || cell::settle_own(cell, &s.step(), stamp, need)
    };
    s.at_work.end();
    if s.signals_wait() {
        deliver(s);
    }
    if !done {
        // SAFETY: by the contract.
        unsafe { unsettled_slowly(rt, s, addr, cell, need, place) };
    }
}

/// Gives numbers to the calls that the strand is in.
#[inline(never)]
pub fn name_frames(rt: &Runtime, s: &mut Strand) {
    s.enter();
    s.stack(rt);
    leave(s);
}

#[inline(never)]
unsafe fn unsettled_slowly(
    rt: &Runtime,
    s: &mut Strand,
    addr: usize,
    cell: *mut Cell,
    need: u64,
    place: Place,
) {
    // SAFETY: by the contract.
    unsafe {
        if !ignored(s, place.touch()) {
            first_touch(rt, s, addr & !7, cell, need, place);
        }
    }
}

/// Has the present step made an access here that makes this one redundant?
///
/// # Safety
/// `cell` must be a cell of the shadow.
#[inline(always)]
unsafe fn been(s: &mut Strand, cell: *const Cell, need: u64) -> bool {
    // SAFETY: by the contract.
    match unsafe { cell::already_recorded(cell, &s.step(), need) } {
        Been::Never => false,
        Been::Here => true,
        Been::InList(word) => {
            if need == PLAIN | MASK {
                s.has_read_list(word);
            }
            true
        }
    }
}

/// Records one access in one cell, and tells the races it finds.
///
/// # Safety
/// `cell` must be the cell of `addr`, and the strand inside the runtime.
#[inline(always)]
pub unsafe fn record(rt: &Runtime, s: &mut Strand, addr: usize, cell: *mut Cell, new: Entry) {
    // SAFETY: by the contract.
    unsafe { judge(rt, s, addr, cell, new) };
    if s.races.count > 0 {
        found(rt, s, addr, new);
    }
}

/// The same, the short way if that will do.
///
/// # Safety
/// As for [`record`].
#[inline(always)]
pub unsafe fn record_quickly(
    rt: &Runtime,
    s: &mut Strand,
    addr: usize,
    cell: *mut Cell,
    stamp: u64,
    need: u64,
) {
    s.at_work.begin(addr);
    // SAFETY: by the contract, and the strand says where it works.
    let done = unsafe { settle_as(s, addr, cell, need, stamp) };
    s.at_work.end();
    if !done {
        // SAFETY: by the contract.
        unsafe { record(rt, s, addr, cell, Entry(stamp | need)) };
    }
}

/// The strand has taken the lock at `addr`, whose memory it touched before, and has learned something by it: what that
/// orders before the touch's step is not needed beside it.
///
/// Whoever knows the touch was told by a release after it, so after the lock was taken: he knows what the strand knows now.
/// So who does not know one of the entries that are dropped does not know the touch either. Races were told before.
#[cold]
pub fn touched_before_learning(rt: &Runtime, s: &mut Strand, addr: usize) {
    let Some(cell) = rt.shadow.existing(addr) else {
        return;
    };
    let mut touch = None;
    // SAFETY: the shadow gave the cell for this address, and the caller is inside the runtime.
    unsafe {
        cell::each_entry(cell, |e| {
            if e.slot() == s.slot && e.seq() > s.told() {
                touch = Some(e);
            }
        });
        if let Some(touch) = touch {
            judge(rt, s, addr & !7, cell, touch);
            s.races.clear();
        }
    }
}

/// Compares `new` with what the cell remembers and puts it there; the races are in `s.races`.
///
/// # Safety
/// As for [`record`].
#[inline(always)]
unsafe fn judge(rt: &Runtime, s: &mut Strand, addr: usize, cell: *mut Cell, new: Entry) {
    // SAFETY: by the contract.
    let owners = unsafe { Shadow::owners(addr, cell) };
    s.races.clear();
    let Some(history) = s.history else { return };
    let Strand {
        step_base,
        step_span,
        slot,
        clock,
        memo,
        races,
        floor,
        ..
    } = s;
    let step = Step {
        base: *step_base,
        span: *step_span,
        slot: *slot,
        clock,
        floor: &floor.clock,
    };
    history.at_work.begin(addr);
    if owners.is_own(addr, step.slot) {
        // SAFETY: the page is our own while we are at work in it.
        unsafe { cell::record(cell, Right::Owner, memo, &step, new, races) };
        history.at_work.end();
    } else {
        history.at_work.end();
        // SAFETY: by the contract.
        unsafe { record_elsewhere(rt, owners, addr, cell, memo, &step, history, new, races) };
    }
}

/// The page is not our own yet, or shared.
///
/// # Safety
/// As for [`record`].
#[inline(never)]
#[allow(clippy::too_many_arguments)]
unsafe fn record_elsewhere(
    rt: &Runtime,
    owners: &Owners,
    addr: usize,
    cell: *mut Cell,
    memo: &mut Memo,
    step: &Step,
    history: &SlotHistory,
    new: Entry,
    races: &mut Races,
) {
    loop {
        if owners.settle(rt, addr, step.slot) == Right::Locker {
            // SAFETY: a shared page, whose cells are locked one by one.
            return unsafe { cell::record(cell, Right::Locker, memo, step, new, races) };
        }
        history.at_work.begin(addr);
        if owners.is_own(addr, step.slot) {
            // SAFETY: the page is our own while we are at work in it.
            unsafe { cell::record(cell, Right::Owner, memo, step, new, races) };
            return history.at_work.end();
        }
        history.at_work.end();
    }
}

/// Leaves the runtime, and does what had to wait until then.
#[inline(always)]
pub fn leave(s: &mut Strand) {
    if s.leave() {
        deliver(s);
    }
}

/// The strand is not at work any more: delivers the signals that arrived meanwhile, unless it is inside.
#[cold]
pub fn deliver_waiting(s: &mut Strand) {
    if s.signals_wait() {
        deliver(s);
    }
}

#[cold]
fn deliver(s: &mut Strand) {
    crate::collect::collect_pending(s);
    #[cfg(feature = "export")]
    crate::interpose::signals::deliver_pending(s);
}

#[cold]
#[inline(never)]
fn found(rt: &Runtime, s: &mut Strand, addr: usize, new: Entry) {
    let races = s.races;
    for &old in &races.older[..races.count] {
        finding::race(rt, s, addr, new, old);
    }
}

/// Settles as many of `count` cells, of which the first is `cell` and each is `stride` cells beyond the one before, as can
/// be in a page that the strand owns or that is shared: how many.
///
/// # Safety
/// The cells must be those of `addr` and what follows it, in one block, and the strand inside the runtime.
#[inline(always)]
pub unsafe fn settle_run(
    s: &mut Strand,
    addr: usize,
    cell: *mut Cell,
    count: usize,
    stride: isize,
    stamp: u64,
    need: u64,
) -> usize {
    let left = turns_within(PAGE, addr, stride * 8);
    s.at_work.begin(addr);
    // SAFETY: by the contract, and the strand says where it works; the cells are of one page.
    let settled = unsafe {
        match Shadow::owners(addr, cell).right(addr, s.owner_name) {
            Some(right) => {
                cell::settle_run(cell, count.min(left), stride, right, &s.step(), stamp, need)
            }
            None => 0,
        }
    };
    s.at_work.end();
    settled
}

const PAGE: usize = 1 << PAGE_BITS;

/// How many turns from `addr` on, each `stride` bytes further, stay between the same multiples of `span`.
fn turns_within(span: usize, addr: usize, stride: isize) -> usize {
    let room = if stride < 0 {
        addr & (span - 1)
    } else {
        !addr & (span - 1)
    };
    room / stride.unsigned_abs().max(1) + 1
}

/// A range that does not fit one cell. All its cells share one number.
pub fn range(rt: &Runtime, s: &mut Strand, addr: usize, size: usize, touch: Touch, place: Place) {
    if s.recording() {
        return record::touch(rt, s, addr, size, touch, place.pc());
    }
    if size == 0 || ignored(s, touch) {
        return;
    }
    if size <= FEW_BYTES {
        return in_cells(rt, s, addr, size, touch, place);
    }
    let end = addr.saturating_add(size);
    s.enter();
    let mut new = None;
    let mut at = addr;
    while at < end {
        let stop = ((at | (REGION - 1)) + 1).min(end);
        match rt.shadow.cell(at) {
            None => rt.losses.count(Loss::NoShadow),
            Some(cells) => {
                let count = (stop - 1) / 8 - at / 8 + 1;
                let mut i = 0;
                while i < count {
                    let mut mask = 0xffu64;
                    if i == 0 {
                        mask &= 0xff << (at % 8);
                    }
                    if i + 1 == count {
                        mask &= 0xff >> (7 - (stop - 1) % 8);
                    }
                    let need = mask | touch.bits();
                    let cell = cells.wrapping_add(i);
                    // The last cell may be touched in part.
                    let whole = count - !stop.is_multiple_of(8) as usize;
                    if mask == MASK {
                        // SAFETY: the cells are inside the block that the shadow gave.
                        let run = unsafe {
                            let step = s.step();
                            cell::touched_run(cell, whole - i, 1, &step, need, &s.read_lists)
                        };
                        if run > 0 {
                            i += run;
                            continue;
                        }
                    }
                    // SAFETY: as above.
                    if unsafe { been(s, cell, need) } {
                        i += 1;
                        continue;
                    }
                    let seq = match new {
                        Some(seq) => seq,
                        None => *new.insert(s.number(rt, place)),
                    };
                    let (addr, stamp) = ((at & !7) + i * 8, entry::stamp(s.slot, seq));
                    if mask == MASK {
                        // SAFETY: as above, and so are the cells behind it.
                        let run = unsafe { settle_run(s, addr, cell, whole - i, 1, stamp, need) };
                        i += run;
                        if run > 0 {
                            continue;
                        }
                    }
                    // SAFETY: as above, and we are inside.
                    unsafe { record_quickly(rt, s, addr, cell, stamp, need) };
                    i += 1;
                }
            }
        }
        at = stop;
    }
    leave(s);
}

/// What a loop touches, however much that is: others are not kept waiting until all of it is looked at.
pub fn touch_all(
    rt: &Runtime,
    s: &mut Strand,
    addr: usize,
    bytes: usize,
    touch: Touch,
    place: Place,
) {
    let (mut at, end) = (addr, addr.saturating_add(bytes));
    while at < end {
        let stop = ((at | (REGION - 1)) + 1).min(end);
        range(rt, s, at, stop - at, touch, place);
        at = stop;
    }
}

/// What a loop touches in its turns: `size` bytes in each, `stride` from one to the next. All share one number.
#[allow(clippy::too_many_arguments)]
pub fn touch_strided(
    rt: &Runtime,
    s: &mut Strand,
    addr: usize,
    turns: usize,
    stride: isize,
    size: usize,
    touch: Touch,
    place: Place,
) {
    if turns == 0 {
        return;
    }
    let reach = stride.wrapping_mul(turns as isize - 1);
    if stride.unsigned_abs() <= size {
        // Nothing lies between one turn's bytes and the next's.
        let first = addr.wrapping_add_signed(reach.min(0));
        return touch_all(rt, s, first, reach.unsigned_abs() + size, touch, place);
    }
    let (addr, stride) = match stride {
        // The same from the last turn on: nobody can tell.
        -7..0 => (addr.wrapping_add_signed(reach), -stride),
        _ => (addr, stride),
    };
    let at = |turn: usize| addr.wrapping_add_signed(stride.wrapping_mul(turn as isize));
    if ignored(s, touch) {
        return;
    }
    let per_cell = turns_in_a_cell(addr, stride, size);
    let mut turn = 0;
    while turn < turns {
        s.enter();
        let mut new = None;
        let pause = (turn + TURNS_AT_ONCE).min(turns);
        while turn < pause {
            let start = at(turn);
            let mask = (1u64 << size.min(8)) - 1;
            let need = mask << (start % 8) | touch.bits();
            if start % 8 + size <= 8 && stride % 8 == 0 {
                // The same bytes of one cell in each turn.
                turn += one_cell_a_turn(
                    rt,
                    s,
                    start,
                    pause - turn,
                    stride / 8,
                    need,
                    place,
                    &mut new,
                );
                continue;
            }
            if let Some((per_cell, mask)) = per_cell
                && start % 8 < stride as usize
                && pause - turn >= per_cell
            {
                // The same bytes of one cell in each so many turns.
                let (cells, need) = ((pause - turn) / per_cell, mask | touch.bits());
                turn += per_cell * one_cell_a_turn(rt, s, start, cells, 1, need, place, &mut new);
                continue;
            }
            for addr in (start & !7..start + size).step_by(8) {
                let low = 0xff << start.saturating_sub(addr);
                let high = 0xff >> (addr + 8).saturating_sub(start + size);
                let need = (low & high & MASK) | touch.bits();
                one_cell_a_turn(rt, s, addr, 1, 1, need, place, &mut new);
            }
            turn += 1;
        }
        leave(s);
    }
}

/// How many turns of a loop come to one cell, and which of its bytes they touch; none if that is not the same for all cells.
fn turns_in_a_cell(addr: usize, stride: isize, size: usize) -> Option<(usize, u64)> {
    let apart = usize::try_from(stride)
        .ok()
        .filter(|stride| matches!(stride, 1 | 2 | 4))?;
    let first = addr % apart;
    let bytes = ((1u64 << size.min(8)) - 1) << first;
    let all = (0..8).step_by(apart).fold(0, |all, at| all | bytes << at);
    (first + size <= apart).then_some((8 / apart, all))
}

/// Records accesses to the same bytes of some cells, from that of `addr` on and each `stride` beyond the one before; how many
/// of `count`, at least one. `new` is their number when they have one.
#[allow(clippy::too_many_arguments)]
fn one_cell_a_turn(
    rt: &Runtime,
    s: &mut Strand,
    addr: usize,
    count: usize,
    stride: isize,
    need: u64,
    place: Place,
    new: &mut Option<u64>,
) -> usize {
    let addr = addr & !7;
    let Some(cell) = rt.shadow.cell(addr) else {
        rt.losses.count(Loss::NoShadow);
        return 1;
    };
    let count = count.min(turns_within(REGION, addr, stride * 8));
    // SAFETY: the shadow gave the cell for this address, the others are in the same block, and we are inside.
    unsafe {
        if count > 1 {
            let run = cell::touched_run(cell, count, stride, &s.step(), need, &s.read_lists);
            if run > 0 {
                return run;
            }
        }
        if been(s, cell, need) {
            return 1;
        }
        let seq = match *new {
            Some(seq) => seq,
            None => *new.insert(s.number(rt, place)),
        };
        let stamp = entry::stamp(s.slot, seq);
        let run = settle_run(s, addr, cell, count, stride, stamp, need);
        if run == 0 {
            record_quickly(rt, s, addr, cell, stamp, need);
        }
        run.max(1)
    }
}

/// Then others are let in.
const TURNS_AT_ONCE: usize = 4096;

/// `s` touches a range at `pc`.
pub fn access_range(rt: &Runtime, s: &mut Strand, addr: usize, size: usize, touch: Touch, pc: u64) {
    range(rt, s, addr, size, touch, Place::new(pc, touch, size as u64));
}

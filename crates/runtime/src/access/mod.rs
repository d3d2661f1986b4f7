//! Checking accesses: the slow path behind every hook. One access is here; what is done in a cell is in `judge`, and
//! ranges and loops are in `runs`.

use deadheat_detect::entry::{self, Entry, LIST, MASK, PLAIN, WRITE};

pub use self::halves::Halves;
use self::judge::record;
pub use self::judge::{record_quickly, touched_before_learning};
use self::runs::range;
pub use self::runs::{access_range, settle_run, touch_all, touch_strided};
use crate::cell::{self, Been, Cell, Right};
use crate::history::{Place, Touch};
use crate::intern::StackId;
use crate::loss::Loss;
use crate::record;
use crate::runtime::Runtime;
use crate::settle::settle_one;
use crate::shadow::Shadow;
use crate::strand::Strand;

pub mod halves;
mod judge;
mod runs;

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
pub fn ignored(s: &Strand, touch: Touch) -> bool {
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
            settle_one(addr, need, s, cell, place);
        }
    }
}

/// An access to some bytes of one cell.
#[derive(Clone, Copy)]
pub struct InCell {
    pub addr: usize,
    /// The cell of `addr`.
    pub cell: *mut Cell,
    /// Bytes and kind, as for [`entry::same_step_covers`].
    pub need: u64,
    pub place: Place,
}

/// The present step has not been at this cell, or not with as much.
///
/// # Safety
/// The cell must be the one of the address.
#[inline(always)]
unsafe fn first_touch(rt: &Runtime, s: &mut Strand, access: InCell) {
    s.enter();
    s.needs_floor(rt);
    let seq = s.number(rt, access.place);
    let new = Entry(entry::stamp(s.slot, seq) | access.need);
    // SAFETY: by the contract, and we are inside.
    unsafe { record(rt, s, access.addr & !7, access.cell, new) };
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
/// The cell must be the one of the address.
#[inline(always)]
pub unsafe fn unsettled(rt: &Runtime, s: &mut Strand, access: InCell) {
    let InCell { cell, need, .. } = access;
    // SAFETY: by the contract. The hooks have looked at the cell's two words only.
    unsafe {
        if !(cell::has_more(cell) && worth_a_look(s, cell, need) && been(s, cell, need)) {
            not_been(rt, s, access);
        }
    }
}

/// The same for one of whom it is known that the present step has not made it.
///
/// # Safety
/// As for [`unsettled`].
#[inline(never)]
pub unsafe fn not_been(rt: &Runtime, s: &mut Strand, access: InCell) {
    let addr = access.addr;
    if s.frames_known != s.frames_top {
        name_frames(rt, s);
    }
    let caller = s.known_stack();
    let at_work = s.at_work;
    at_work.begin(addr);
    // SAFETY: by the contract.
    let done = unsafe { settle(s, access, caller) };
    at_work.end();
    if s.signals_wait() {
        deliver(s);
    }
    if !done {
        // SAFETY: by the contract.
        unsafe { unsettled_slowly(rt, s, access) };
    }
}

/// # Safety
/// As for [`unsettled`], and the strand says that it is at work in the block of `addr`.
#[inline(always)]
unsafe fn settle(s: &mut Strand, access: InCell, caller: StackId) -> bool {
    let InCell {
        addr,
        cell,
        need,
        place,
    } = access;
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
            Some(right) if cell::has_list(cell) => settle_in_list(s, cell, right, need, stamp),
            Some(Right::Owner) => {
                cell::settle_own(cell, &s.step(), stamp, need)
                    || cell::settle_both(cell, Right::Owner, s, stamp, need).is_some()
            }
            Some(Right::Locker) => {
                cell::settle_shared(cell, &s.step(), stamp, need)
                    || cell::settle_both(cell, Right::Locker, s, stamp, need).is_some()
            }
            None => false,
        }
    }
}

/// The same for a cell with a list.
///
/// # Safety
/// As for [`settle`].
#[inline(always)]
unsafe fn settle_in_list(
    s: &mut Strand,
    cell: *mut Cell,
    right: Right,
    need: u64,
    stamp: u64,
) -> bool {
    let (step, memo, _) = s.step_and_means();
    // SAFETY: by the contract.
    let after = unsafe { cell::settle_listed(cell, right, memo, &step, stamp | need) };
    match after {
        Some(0) => s.lately.note(cell, s.step_base, need),
        Some(word) if word & LIST != 0 => s.is_in_list(word, need),
        _ => {}
    }
    after.is_some()
}

/// Is it worth looking for the present step in what the cell has more than its two words?
///
/// # Safety
/// The cell must be one of the shadow.
#[inline(always)]
unsafe fn worth_a_look(s: &Strand, cell: *const Cell, need: u64) -> bool {
    // SAFETY: by the contract.
    s.lately.has(cell, s.step_base, need) || unsafe { cell::own_list(cell).is_none() }
}

/// What is left of [`unsettled`] when the cell had a list, the number of the access is known, and the strand says that it is at work
/// there.
///
/// # Safety
/// As for [`unsettled`].
pub unsafe fn in_list(rt: &Runtime, s: &mut Strand, access: InCell, stamp: u64) {
    let InCell {
        addr, cell, need, ..
    } = access;
    // SAFETY: by the contract.
    let done = unsafe {
        let right = Shadow::owners(addr, cell).right(addr, s.owner_name);
        match (right, cell::own_list(cell)) {
            (Some(_), Some(first)) if !s.lately.has(cell, s.step_base, need) => {
                let done = cell::settle_own_list(cell, first, &s.step(), stamp | need);
                if done {
                    s.lately.note(cell, s.step_base, need);
                }
                done
            }
            _ if been(s, cell, need) => true,
            (Some(right), _) if cell::has_list(cell) => settle_in_list(s, cell, right, need, stamp),
            _ => false,
        }
    };
    s.at_work.end();
    if s.signals_wait() {
        deliver(s);
    }
    if !done {
        // SAFETY: by the contract.
        unsafe { unsettled_slowly(rt, s, access) };
    }
}

/// What is left of [`unsettled`] when the cell, in a page that the strand owns and where it says to be at work, names no list and
/// remembers nothing that did not happen before, but has no room for the access, unless it can be joined with one of the
/// same step and kind to other bytes.
///
/// # Safety
/// As for [`unsettled`].
pub unsafe fn join_own(rt: &Runtime, s: &mut Strand, access: InCell, stamp: u64) {
    let InCell { cell, need, .. } = access;
    // SAFETY: by the contract.
    let done = unsafe {
        cell::join_own(cell, s, stamp, need)
            || cell::settle_own(cell, &s.step(), stamp, need)
            || s.floor_can_wait() && cell::make_own_table(cell, stamp, need)
    };
    s.at_work.end();
    if s.signals_wait() {
        deliver(s);
    }
    if !done {
        // SAFETY: by the contract.
        unsafe { unsettled_slowly(rt, s, access) };
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
unsafe fn unsettled_slowly(rt: &Runtime, s: &mut Strand, access: InCell) {
    if !ignored(s, access.place.touch()) {
        // SAFETY: by the contract.
        unsafe { first_touch(rt, s, access) };
    }
}

/// Has the present step made an access here that makes this one redundant?
///
/// # Safety
/// `cell` must be a cell of the shadow.
#[inline(always)]
unsafe fn been(s: &mut Strand, cell: *const Cell, need: u64) -> bool {
    // SAFETY: by the contract.
    let first = unsafe { cell::words(cell) }.first;
    if first & LIST != 0 && s.known_lists.has(first, s.step_base, need) {
        return true;
    }
    // SAFETY: by the contract.
    match unsafe { cell::already_recorded(cell, &s.step(), need) } {
        Been::Never => false,
        Been::Here => true,
        Been::InList(word) => {
            s.is_in_list(word, need);
            true
        }
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
    crate::collect::do_pending(s);
    #[cfg(feature = "export")]
    crate::interpose::signals::deliver_pending(s);
}

//! Ranges, and what loops touch in all their turns: many cells with one number.

use deadheat_detect::entry::{self, MASK};

use super::{FEW_BYTES, been, ignored, in_cells, leave, record_quickly};
pub(super) use crate::cell::Rest;
use crate::cell::{self, Cell, Change, Sweep};
use crate::history::{Place, Touch};
use crate::loss::Loss;
use crate::pages::PAGE_BITS;
use crate::record;
use crate::runtime::Runtime;
use crate::settle::settle_one;
use crate::shadow::{REGION, Shadow};
use crate::strand::Strand;

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
    sweep: Sweep,
) -> usize {
    let Sweep { stamp, need, .. } = sweep;
    let count = count.min(turns_within(PAGE, addr, stride * 8));
    let mut settled = 0;
    let mut known = Change::NONE;
    s.at_work.begin(addr);
    // SAFETY: by the contract, and the strand says where it works; the cells are of one page.
    unsafe {
        if let Some(right) = Shadow::owners(addr, cell).right(addr, s.owner_name) {
            loop {
                let next = cell.wrapping_offset(stride * settled as isize);
                let left = count - settled;
                settled += cell::settle_run(next, left, stride, right, &s.step(), sweep, known);
                if settled == count || need & MASK == MASK {
                    break;
                }
                // Another place has been at some of its bytes in this step, perhaps, and at those of the cells behind it.
                let next = cell.wrapping_offset(stride * settled as isize);
                match cell::settle_both(next, right, s, stamp, need) {
                    Some(change) => known = change,
                    None => break,
                }
                settled += 1;
            }
        }
    }
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

/// In ranges of so many cells it is looked for those that the step has touched before they get a number.
const LONG: usize = 16;

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
                    if mask == MASK && count >= LONG {
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
                    let addr = (at & !7) + i * 8;
                    if mask != MASK {
                        // SAFETY: as above.
                        unsafe { settle_one(addr, need, s, cell, place) };
                        i += 1;
                        continue;
                    }
                    let seq = match new {
                        Some(seq) => seq,
                        None => *new.insert(s.number(rt, place)),
                    };
                    let stamp = entry::stamp(s.slot, seq);
                    let sweep = Sweep {
                        stamp,
                        need,
                        rest: Rest::Unknown,
                    };
                    // SAFETY: as above, and so are the cells behind it.
                    let run = unsafe { settle_run(s, addr, cell, whole - i, 1, sweep) };
                    i += run;
                    if run > 0 {
                        continue;
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

/// What a loop touches in its turns: `size` bytes in each, `stride` from one to the next. All share one number. If they are a part of
/// what the loop touches in each turn, `part` bytes from its beginning, which leaves out nothing, the other parts are told
/// right after it or were right before.
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
    part: Option<usize>,
) {
    if turns == 0 {
        return;
    }
    let rest = match part {
        Some(from) if addr.wrapping_sub(from).is_multiple_of(8) && stride % 8 == 0 => Rest::Follows,
        _ => Rest::Unknown,
    };
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
        let mut number = Numbered::of(place);
        let pause = (turn + TURNS_AT_ONCE).min(turns);
        while turn < pause {
            let start = at(turn);
            let mask = (1u64 << size.min(8)) - 1;
            let need = mask << (start % 8) | touch.bits();
            if start % 8 + size <= 8 && stride % 8 == 0 {
                // The same bytes of one cell in each turn.
                let (left, stride) = (pause - turn, stride / 8);
                turn += one_cell_a_turn(rt, s, start, left, stride, need, rest, &mut number);
                continue;
            }
            if let Some((per_cell, mask)) = per_cell
                && start % 8 < stride as usize
                && pause - turn >= per_cell
            {
                // The same bytes of one cell in each so many turns.
                let (cells, need) = ((pause - turn) / per_cell, mask | touch.bits());
                turn += per_cell
                    * one_cell_a_turn(rt, s, start, cells, 1, need, Rest::Unknown, &mut number);
                continue;
            }
            for addr in (start & !7..start + size).step_by(8) {
                let low = 0xff << start.saturating_sub(addr);
                let high = 0xff >> (addr + 8).saturating_sub(start + size);
                let need = (low & high & MASK) | touch.bits();
                one_cell_a_turn(rt, s, addr, 1, 1, need, Rest::Unknown, &mut number);
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

/// The number that many accesses share, once one of them needs it.
pub(super) struct Numbered {
    places: Places,
    seq: Option<u64>,
}

enum Places {
    One(Place),
    /// One for these bytes of a cell, and another for all others.
    Two(Place, u8, Place),
}

impl Numbered {
    fn of(place: Place) -> Numbered {
        Numbered {
            places: Places::One(place),
            seq: None,
        }
    }

    pub(super) fn of_two(first: Place, bytes: u8, second: Place) -> Numbered {
        Numbered {
            places: Places::Two(first, bytes, second),
            seq: None,
        }
    }

    fn get(&mut self, rt: &Runtime, s: &mut Strand) -> u64 {
        *self.seq.get_or_insert_with(|| match self.places {
            Places::One(place) => s.number(rt, place),
            Places::Two(first, bytes, second) => s.number_of_two(rt, first, bytes, second),
        })
    }
}

/// Records accesses to the same bytes of some cells, from that of `addr` on and each `stride` beyond the one before; how many
/// of `count`, at least one.
#[allow(clippy::too_many_arguments)]
pub(super) fn one_cell_a_turn(
    rt: &Runtime,
    s: &mut Strand,
    addr: usize,
    count: usize,
    stride: isize,
    need: u64,
    rest: Rest,
    number: &mut Numbered,
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
        let stamp = entry::stamp(s.slot, number.get(rt, s));
        let sweep = Sweep { stamp, need, rest };
        let run = settle_run(s, addr, cell, count, stride, sweep);
        if run == 0 {
            record_quickly(rt, s, addr, cell, stamp, need);
        }
        run.max(1)
    }
}

/// Then others are let in.
pub(super) const TURNS_AT_ONCE: usize = 4096;

/// `s` touches a range at `pc`.
pub fn access_range(rt: &Runtime, s: &mut Strand, addr: usize, size: usize, touch: Touch, pc: u64) {
    range(rt, s, addr, size, touch, Place::new(pc, touch, size as u64));
}

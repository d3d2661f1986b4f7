//! What [`super::record`] does in the commonest cases, in as few instructions as can be: the cell has no list, all that it
//! remembers happened before the new access, and two words suffice for what is left.
//!
//! | the cell has | it becomes |
//! |---|---|
//! | an entry of the same number and kind | that entry with more bytes |
//! | an entry that the new one subsumes, or of two that it does not, one that all strands know | the new one in its place |
//! | an entry of the same step and kind that is neither | left to [`super::settle_both`] |
//! | none of these | left to [`super::record`] |
//!
//! Each function returns false, with nothing changed, in all other cases; it may do so at any time.

use core::sync::atomic::Ordering;

use deadheat_detect::entry::{self, LIST, LOCK, MASK, PLAIN, WHAT, WRITE};

use super::{Cell, Right, Step, lock, settle_table, table, try_lock};

/// The caller owns the page.
///
/// # Safety
/// `cell` must be a cell of the shadow in a page of the strand with this clock, which is at work there.
#[inline(always)]
pub unsafe fn settle_own(cell: *const Cell, step: &Step, stamp: u64, need: u64) -> bool {
    // SAFETY: by the contract.
    let cell = unsafe { &*cell };
    let first = cell.first.load(Ordering::Relaxed);
    first & (LIST | LOCK) == 0 && settle::<false>(cell, first, step, stamp, need)
}

/// As many of `count` cells, each `stride` cells beyond the one before, as can be settled so or in their table, or need not be,
/// from the first on.
///
/// # Safety
/// As for [`settle_own`] or [`settle_shared`], by the right to the page, for each of them.
pub unsafe fn settle_run(
    cells: *const Cell,
    count: usize,
    stride: isize,
    right: Right,
    step: &Step,
    stamp: u64,
    need: u64,
) -> usize {
    // SAFETY: by the contract.
    unsafe {
        match right {
            Right::Owner => settle_each::<false>(cells, count, stride, step, stamp, need),
            Right::Locker => settle_each::<true>(cells, count, stride, step, stamp, need),
        }
    }
}

/// # Safety
/// As for [`settle_run`].
#[inline(always)]
unsafe fn settle_each<const LOCKED: bool>(
    cells: *const Cell,
    count: usize,
    stride: isize,
    step: &Step,
    stamp: u64,
    need: u64,
) -> usize {
    let right = if LOCKED { Right::Locker } else { Right::Owner };
    // What was seen to happen before: neighbours often have the same words.
    let (mut first_known, mut second_known) = (0, 0);
    for i in 0..count {
        // SAFETY: by the contract.
        let cell = unsafe { &*cells.wrapping_offset(stride * i as isize) };
        let first = cell.first.load(Ordering::Relaxed);
        if table::named_by(first) {
            // SAFETY: by the contract.
            if unsafe { settle_table(cell, right, step.clock, stamp, need) } {
                continue;
            }
            return i;
        }
        if first & (LIST | LOCK) != 0
            || first != first_known && !step.clock.covers_word(first)
            || LOCKED && !try_lock(cell, first)
        {
            return i;
        }
        let second = cell.second.load(Ordering::Relaxed);
        let been = |word| entry::same_step_covers(word, step.base, step.span, need);
        let done = (second == second_known || step.clock.covers_word(second))
            && if been(first) || been(second) {
                unlock::<LOCKED>(cell, first)
            } else if need & MASK == MASK {
                settle_whole::<LOCKED>(cell, first, second, stamp | need)
            } else {
                settle::<LOCKED>(cell, first, step, stamp, need)
            };
        if !done {
            unlock::<LOCKED>(cell, first);
            return i;
        }
        (first_known, second_known) = (first, second);
    }
    count
}

/// An access to all bytes, before which both of the cell's words happened: a write makes the cell forget them, a read
/// all but the writes, of which one word can be remembered beside it.
#[inline(always)]
fn settle_whole<const LOCKED: bool>(cell: &Cell, first: u64, second: u64, new: u64) -> bool {
    let more = !new & WHAT;
    match (first & more == 0, second & more == 0) {
        (true, true) => {
            cell.second.store(0, Ordering::Release);
            cell.first.store(new, Ordering::Release);
            true
        }
        (false, true) if new & WRITE == 0 => {
            cell.second.store(new, Ordering::Release);
            unlock::<LOCKED>(cell, first)
        }
        (true, false) if new & WRITE == 0 => move_to_front::<LOCKED>(cell, second, new),
        _ => false,
    }
}

/// The page is shared: the cell is locked meanwhile.
///
/// # Safety
/// `cell` must be a cell of the shadow in a shared page, and the strand with this clock at work there.
#[inline(never)]
pub unsafe fn settle_shared(cell: *const Cell, step: &Step, stamp: u64, need: u64) -> bool {
    // SAFETY: by the contract.
    let cell = unsafe { &*cell };
    if cell.first.load(Ordering::Relaxed) & LIST != 0 {
        return false;
    }
    let first = lock(cell);
    let done = first & LIST == 0 && settle::<true>(cell, first, step, stamp, need);
    if !done {
        cell.first.store(first, Ordering::Release);
    }
    done
}

/// `first` is the cell's first word, without the lock.
#[inline(always)]
fn settle<const LOCKED: bool>(cell: &Cell, first: u64, step: &Step, stamp: u64, need: u64) -> bool {
    let second = cell.second.load(Ordering::Relaxed);
    if !step.clock.covers_word(first) || !step.clock.covers_word(second) {
        return false;
    }
    let new = stamp | need;
    if (first ^ new) & !MASK == 0 {
        let whole = first | new;
        if second & !whole & WHAT == 0 {
            cell.second.store(0, Ordering::Release);
        }
        cell.first.store(whole, Ordering::Release);
        return true;
    }
    if (second ^ new) & !MASK == 0 {
        let whole = second | new;
        if first & !whole & WHAT == 0 {
            // It moves to the front, as below.
            return move_to_front::<LOCKED>(cell, whole, 0);
        }
        cell.second.store(whole, Ordering::Release);
        return unlock::<LOCKED>(cell, first);
    }
    // Both happened before: what the new entry subsumes is a question of what they are.
    let more = !need & WHAT;
    let (mut first_goes, mut second_goes) = (first & more == 0, second & more == 0);
    if !first_goes && !second_goes {
        first_goes = step.floor.covers_word(first);
        second_goes = step.floor.covers_word(second);
    }
    let writes = need & WRITE != 0;
    let kin =
        |old: u64| old >= step.base && old <= stamp | WHAT && (old ^ need) & (PLAIN | WRITE) == 0;
    if (!first_goes && kin(first)) || (!second_goes && kin(second)) {
        return false;
    }
    if second_goes {
        if first_goes {
            cell.second.store(0, Ordering::Release);
            cell.first.store(new, Ordering::Release);
        } else if writes {
            cell.second.store(first, Ordering::Release);
            cell.first.store(new, Ordering::Release);
        } else {
            cell.second.store(new, Ordering::Release);
            return unlock::<LOCKED>(cell, first);
        }
        return true;
    }
    if !first_goes {
        return false;
    }
    if writes {
        cell.first.store(new, Ordering::Release);
        return true;
    }
    move_to_front::<LOCKED>(cell, second, new)
}

/// The old second entry moves to the front: it must be there before it is overwritten.
#[inline(always)]
fn move_to_front<const LOCKED: bool>(cell: &Cell, first: u64, second: u64) -> bool {
    let locked = if LOCKED { LOCK } else { 0 };
    cell.first.store(first | locked, Ordering::Release);
    cell.second.store(second, Ordering::Release);
    unlock::<LOCKED>(cell, first)
}

#[inline(always)]
fn unlock<const LOCKED: bool>(cell: &Cell, first: u64) -> bool {
    if LOCKED {
        cell.first.store(first, Ordering::Release);
    }
    true
}

//! What [`super::record`] does in the commonest cases, in as few instructions as can be: the cell has no list, all that it
//! remembers happened before the new access or does not race with it, and two words suffice for what is left.
//!
//! | the cell has | it becomes |
//! |---|---|
//! | an entry of the same number and kind | that entry with more bytes |
//! | an entry that the new one subsumes, or of two that it does not, one that all strands know | the new one in its place |
//! | two entries that are neither, one of them of the same step and kind | left to [`super::settle_both`] |
//! | two others that are neither | left to [`super::record`] |
//!
//! In all other cases nothing is changed, and whoever asked is told; that may happen at any time.

use core::sync::atomic::Ordering;

use deadheat_detect::entry::{self, Entry, LIST, LOCK, MASK, WHAT};

use super::{Cell, Right, Step, Words, lock, pair, settle_table, table, try_lock};

/// The caller owns the page.
///
/// # Safety
/// `cell` must be a cell of the shadow in a page of the strand with this clock, which is at work there.
#[inline(always)]
pub unsafe fn settle_own(cell: *const Cell, step: &Step, stamp: u64, need: u64) -> bool {
    // SAFETY: by the contract.
    let cell = unsafe { &*cell };
    let first = cell.first.load(Ordering::Relaxed);
    first & (LIST | LOCK) == 0 && settle(cell, Right::Owner, first, step, stamp, need)
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
    let done = first & LIST == 0 && settle(cell, Right::Locker, first, step, stamp, need);
    if !done {
        cell.first.store(first, Ordering::Release);
    }
    done
}

/// `first` is the cell's first word, without the lock.
#[inline(always)]
fn settle(cell: &Cell, right: Right, first: u64, step: &Step, stamp: u64, need: u64) -> bool {
    let second = cell.second.load(Ordering::Relaxed);
    match outcome(Words { first, second }, step, stamp, need) {
        Some(after) => {
            cell.set(right, second, after);
            true
        }
        None => false,
    }
}

/// What became of the words of a cell without a list.
#[derive(Clone, Copy)]
pub struct Change {
    pub before: Words,
    pub after: Words,
}

impl Change {
    /// One of no cell.
    pub const NONE: Change = Change {
        before: Words {
            first: LIST,
            second: 0,
        },
        after: Words {
            first: LIST,
            second: 0,
        },
    };
}

/// As many of `count` cells, each `stride` cells beyond the one before, as can be settled so or in their table, or need not be,
/// from the first on. `known` is what becomes of certain words by this access.
///
/// # Safety
/// As for [`settle_own`] or [`settle_shared`], by the right to the page, for each of them.
#[allow(clippy::too_many_arguments)]
pub unsafe fn settle_run(
    cells: *const Cell,
    count: usize,
    stride: isize,
    right: Right,
    step: &Step,
    stamp: u64,
    need: u64,
    known: Change,
) -> usize {
    // SAFETY: by the contract.
    unsafe {
        match right {
            Right::Owner => settle_each::<false>(cells, count, stride, step, stamp, need, known),
            Right::Locker => settle_each::<true>(cells, count, stride, step, stamp, need, known),
        }
    }
}

/// So many cells ahead a table is looked for, so that it is there when it is needed.
const AHEAD: usize = 4;

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
    known: Change,
) -> usize {
    let right = if LOCKED { Right::Locker } else { Right::Owner };
    // What became of which words: neighbours often have the same ones.
    let mut known = known;
    let mut i = 0;
    while i < count {
        let next = cells.wrapping_offset(stride * i as isize);
        // SAFETY: by the contract.
        i += unsafe { settle_alike::<LOCKED>(next, count - i, stride, &known) };
        if i == count {
            break;
        }
        // SAFETY: by the contract.
        let cell = unsafe { &*cells.wrapping_offset(stride * i as isize) };
        let first = cell.first.load(Ordering::Relaxed);
        if first & (LIST | LOCK) != 0 {
            // Where there is a table there are mostly more.
            // SAFETY: by the contract.
            unsafe {
                table::expect(cells.wrapping_offset(stride * (i + AHEAD).min(count - 1) as isize))
            };
            // SAFETY: by the contract.
            let done = table::named_by(first)
                && unsafe { settle_table(cell, right, step.clock, stamp, need) };
            if !done {
                return i;
            }
            i += 1;
            continue;
        }
        if LOCKED && !try_lock(cell, first) {
            return i;
        }
        let second = cell.second.load(Ordering::Relaxed);
        let before = Words { first, second };
        let been = |word| entry::same_step_covers(word, step.base, step.span, need);
        let after = match been(first) || been(second) {
            true => Some(before),
            false => outcome(before, step, stamp, need),
        };
        let Some(after) = after else {
            if LOCKED {
                cell.first.store(first, Ordering::Release);
            }
            return i;
        };
        known = Change { before, after };
        cell.set(right, second, after);
        i += 1;
    }
    count
}

/// As many of `count` cells, from the first on, as have the words of which it is known what they become.
///
/// # Safety
/// As for [`settle_run`].
#[inline(never)]
unsafe fn settle_alike<const LOCKED: bool>(
    cells: *const Cell,
    count: usize,
    stride: isize,
    known: &Change,
) -> usize {
    let right = if LOCKED { Right::Locker } else { Right::Owner };
    let Change { before, after } = *known;
    let mut at = cells;
    for i in 0..count {
        // SAFETY: by the contract.
        let cell = unsafe { &*at };
        if cell.first.load(Ordering::Relaxed) != before.first
            || cell.second.load(Ordering::Relaxed) != before.second
        {
            return i;
        }
        if LOCKED {
            if !try_lock(cell, before.first) {
                return i;
            }
            if cell.second.load(Ordering::Relaxed) != before.second {
                cell.first.store(before.first, Ordering::Release);
                return i;
            }
        }
        cell.set(right, before.second, after);
        at = at.wrapping_offset(stride);
    }
    count
}

/// What the words of a cell without a list become.
#[inline(always)]
fn outcome(before: Words, step: &Step, stamp: u64, need: u64) -> Option<Words> {
    let Words { first, second } = before;
    let new = stamp | need;
    let knows_first = step.clock.covers_word(first);
    let knows_second = step.clock.covers_word(second);
    if (!knows_first && entry::races(Entry(first), Entry(new), false))
        || (!knows_second && entry::races(Entry(second), Entry(new), false))
    {
        return None;
    }
    // What an entry leaves of another one.
    let beside = |old: u64, known: bool, whole: u64| {
        if known && old & !whole & WHAT == 0 {
            0
        } else {
            old
        }
    };
    if (first ^ new) & !MASK == 0 {
        return Some(Words {
            first: first | new,
            second: beside(second, knows_second, first | new),
        });
    }
    if (second ^ new) & !MASK == 0 {
        return Some(match beside(first, knows_first, second | new) {
            0 => Words {
                first: second | new,
                second: 0,
            },
            first => Words {
                first,
                second: second | new,
            },
        });
    }
    // What the new entry subsumes of what happened before is a question of what they are.
    let mut first_stays = beside(first, knows_first, new) != 0;
    let mut second_stays = beside(second, knows_second, new) != 0;
    if first_stays && second_stays {
        first_stays = !step.floor.covers_word(first);
        second_stays = !step.floor.covers_word(second);
    }
    match (first_stays, second_stays) {
        (false, false) => Some(Words {
            first: new,
            second: 0,
        }),
        (true, false) => Some(pair(new, first)),
        (false, true) => Some(pair(new, second)),
        (true, true) => None,
    }
}

//! What [`super::record`] does in the commonest cases, in as few instructions as can be: the cell has no list, all that it
//! remembers happened before the new access or does not race with it, and two words suffice for what is left.
//!
//! | the cell has | it becomes |
//! |---|---|
//! | an entry of the same number and kind | that entry with more bytes |
//! | an entry that the new one subsumes, or of two that it does not, one that all strands know | the new one in its place |
//! | an entry of another strand that it subsumes in part | the rest of that, and the new one |
//! | two entries that are neither, one of them of the same step and kind | left to [`super::settle_both`] |
//! | two others that are neither | left to [`super::record`] |
//!
//! In all other cases nothing is changed, and whoever asked is told; that may happen at any time.

use core::sync::atomic::Ordering;

use deadheat_detect::entry::{self, Entry, LIST, LOCK, MASK, PLAIN, SLOT_SHIFT, WHAT, WRITE};

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

/// An access to the same bytes of many cells.
#[derive(Clone, Copy)]
pub struct Sweep {
    pub stamp: u64,
    /// Bytes and kind, as for [`entry::same_step_covers`].
    pub need: u64,
    pub rest: Rest,
}

/// What is done to the other bytes of those cells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rest {
    Unknown,
    /// The same right after it, by the same step: nothing is lost of what the step does not need beside all of it.
    Follows,
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
        before: Words::of_one(LIST),
        after: Words::of_one(LIST),
    };
}

/// As many of `count` cells, each `stride` cells beyond the one before, as can be settled so or in their table, or need not be,
/// from the first on. `known` is what becomes of certain words by this access.
///
/// # Safety
/// As for [`settle_own`] or [`settle_shared`], by the right to the page, for each of them.
pub unsafe fn settle_run(
    cells: *const Cell,
    count: usize,
    stride: isize,
    right: Right,
    step: &Step,
    sweep: Sweep,
    known: Change,
) -> usize {
    // SAFETY: by the contract.
    unsafe {
        match right {
            Right::Owner => settle_each::<false>(cells, count, stride, step, sweep, known),
            Right::Locker => settle_each::<true>(cells, count, stride, step, sweep, known),
        }
    }
}

/// So many cells ahead a table is looked for, so that it is there when it is needed.
const AHEAD: usize = 8;

/// # Safety
/// As for [`settle_run`].
#[inline(always)]
unsafe fn settle_each<const LOCKED: bool>(
    cells: *const Cell,
    count: usize,
    stride: isize,
    step: &Step,
    sweep: Sweep,
    mut known: Change,
) -> usize {
    let Sweep { stamp, need, .. } = sweep;
    let new = Entry(stamp | need);
    let right = if LOCKED { Right::Locker } else { Right::Owner };
    let mut i = 0;
    while i < count {
        let next = cells.wrapping_offset(stride * i as isize);
        // SAFETY: by the contract.
        let has_list = unsafe { (*next).first.load(Ordering::Relaxed) & LIST != 0 };
        if !LOCKED && !has_list {
            // SAFETY: by the contract.
            i += unsafe {
                match sweep.rest {
                    _ if need & (MASK | PLAIN) == MASK | PLAIN => {
                        settle_whole(next, count - i, stride, step, new.0, &mut known)
                    }
                    Rest::Unknown => {
                        settle_known(next, count - i, stride, step, new, left_by, &mut known)
                    }
                    Rest::Follows => {
                        let leaves = left_by_all(step);
                        settle_known(next, count - i, stride, step, new, leaves, &mut known)
                    }
                }
            };
            if i == count {
                break;
            }
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
        if known.before != before {
            let after = match been(before, step, need) {
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
        }
        cell.set(right, second, known.after);
        i += 1;
    }
    count
}

/// Has the step touched a cell with these words so already?
#[inline(always)]
fn been(words: Words, step: &Step, need: u64) -> bool {
    let covers = |word| entry::same_step_covers(word, step.base, step.span, need);
    covers(words.first) || covers(words.second)
}

/// The same up to a cell that has a list, remembers what did not happen before, or has no room. Neighbours often have the same
/// words: `known` is what became of the last ones. `leaves` says what an entry leaves of another one that happened before.
///
/// # Safety
/// As for [`settle_own`], for each of them.
#[inline(never)]
unsafe fn settle_known(
    cells: *const Cell,
    count: usize,
    stride: isize,
    step: &Step,
    new: Entry,
    leaves: impl Fn(u64, u64) -> u64 + Copy,
    known: &mut Change,
) -> usize {
    let Change {
        mut before,
        mut after,
    } = *known;
    let mut at = cells;
    let mut left = count;
    while left > 0 {
        // SAFETY: by the contract.
        let cell = unsafe { &*at };
        let words = cell.both_words();
        if words != before {
            if words.first & (LIST | LOCK) != 0 {
                break;
            }
            let becomes = if been(words, step, new.0 & WHAT) {
                Some(words)
            } else if step.clock.covers_word(words.first) && step.clock.covers_word(words.second) {
                room_for(words, new.0, leaves, leaves)
            } else {
                None
            };
            let Some(becomes) = becomes else {
                break;
            };
            (before, after) = (words, becomes);
        }
        cell.set(Right::Owner, before.second, after);
        at = at.wrapping_offset(stride);
        left -= 1;
    }
    *known = Change { before, after };
    count - left
}

/// The same for a plain access to all bytes: it leaves nothing but the writes that it reads.
///
/// # Safety
/// As for [`settle_own`], for each of them.
#[inline(never)]
unsafe fn settle_whole(
    cells: *const Cell,
    count: usize,
    stride: isize,
    step: &Step,
    new: u64,
    known: &mut Change,
) -> usize {
    let knows = |word: u64| (word ^ new) >> SLOT_SHIFT == 0 || step.clock.covers_word(word);
    let is_here = |word: u64| word.wrapping_sub(step.base) < step.span;
    let mut at = cells;
    let mut left = count;
    while left > 0 {
        // SAFETY: by the contract.
        let mut cell = unsafe { &*at };
        let before = cell.both_words();
        if before != known.before {
            if left > AHEAD {
                // SAFETY: by the contract.
                unsafe { table::expect(at.wrapping_offset(stride * AHEAD as isize)) };
            }
            let Words { first, second } = before;
            if first & (LIST | LOCK) != 0 || !knows(first) || !knows(second) {
                break;
            }
            let here = is_here(first) || is_here(second);
            let after = match (first & WRITE != 0, second & WRITE != 0) {
                _ if here && been(before, step, new & WHAT) => before,
                _ if new & WRITE != 0 => Words::of_one(new),
                (false, false) => Words::of_one(new),
                (true, false) => pair(new, first),
                (false, true) => pair(new, second),
                (true, true) => match outcome_above_floor(before, step, new) {
                    Some(after) => after,
                    None => break,
                },
            };
            *known = Change { before, after };
        }
        let after = known.after;
        loop {
            cell.set(Right::Owner, before.second, after);
            at = at.wrapping_offset(stride);
            left -= 1;
            if left == 0 {
                break;
            }
            // SAFETY: by the contract.
            cell = unsafe { &*at };
            if cell.both_words() != before {
                break;
            }
        }
    }
    count - left
}

/// What the words of a cell without a list become.
#[inline(always)]
fn outcome(before: Words, step: &Step, stamp: u64, need: u64) -> Option<Words> {
    if !step.clock.covers_word(before.first) || !step.clock.covers_word(before.second) {
        return outcome_beside_unknown(before, step, stamp, need);
    }
    let new = stamp | need;
    room_for(before, new, left_by, left_by).or_else(|| outcome_above_floor(before, step, new))
}

/// What an entry leaves of another one that happened before it: nothing if it subsumes it, and of another strand's the bytes that it does not
/// subsume. So two strands that know of each other do not leave two entries for one byte, of which nobody could say later which came
/// first, and a table can take them. What a strand did itself is in order by its numbers, and stays as it is: it may be
/// what makes its next access needless.
#[inline(always)]
pub(super) fn left_by(old: u64, whole: u64) -> u64 {
    let less = entry::remains(Entry(old), Entry(whole), true);
    if less.mask() == 0 {
        0
    } else if (old ^ whole) >> SLOT_SHIFT == 0 {
        old
    } else {
        less.0
    }
}

/// The same for one to whose other bytes the same is done right after it, or was right before. What this step has done itself is
/// not done again.
#[inline(always)]
fn left_by_all(step: &Step) -> impl Fn(u64, u64) -> u64 + Copy + use<> {
    let (base, span) = (step.base, step.span);
    move |old, whole| match old.wrapping_sub(base) < span {
        true => left_by(old, whole),
        false => left_by(old, whole | MASK),
    }
}

/// What becomes of the words if something has not happened before the access.
#[inline(never)]
fn outcome_beside_unknown(before: Words, step: &Step, stamp: u64, need: u64) -> Option<Words> {
    let Words { first, second } = before;
    let new = stamp | need;
    let knows_first = step.clock.covers_word(first);
    let knows_second = step.clock.covers_word(second);
    if (!knows_first && entry::races(Entry(first), Entry(new), false))
        || (!knows_second && entry::races(Entry(second), Entry(new), false))
    {
        return None;
    }
    let if_known = |known: bool| {
        move |old: u64, whole: u64| {
            if known { left_by(old, whole) } else { old }
        }
    };
    room_for(before, new, if_known(knows_first), if_known(knows_second))
        .or_else(|| outcome_above_floor(before, step, new))
}

/// Two words stay beside the access: what every strand knows goes.
#[inline(never)]
fn outcome_above_floor(before: Words, step: &Step, new: u64) -> Option<Words> {
    let above = |word: u64| !step.floor.covers_word(word);
    match (above(before.first), above(before.second)) {
        (false, false) => Some(Words::of_one(new)),
        (true, false) => Some(pair(new, before.first)),
        (false, true) => Some(pair(new, before.second)),
        (true, true) => None,
    }
}

/// What the words become if there is room beside what the access leaves of them, of each as it is told.
#[inline(always)]
fn room_for(
    before: Words,
    new: u64,
    of_first: impl Fn(u64, u64) -> u64,
    of_second: impl Fn(u64, u64) -> u64,
) -> Option<Words> {
    let Words { first, second } = before;
    if first ^ new <= MASK {
        return Some(Words {
            first: first | new,
            second: of_second(second, first | new),
        });
    }
    if second ^ new <= MASK {
        return Some(match of_first(first, second | new) {
            0 => Words::of_one(second | new),
            first => Words {
                first,
                second: second | new,
            },
        });
    }
    match (of_first(first, new), of_second(second, new)) {
        (0, 0) => Some(Words::of_one(new)),
        (0, old) | (old, 0) => Some(pair(new, old)),
        _ => None,
    }
}

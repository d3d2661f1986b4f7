//! Two places of one step in one entry.
//!
//! A step that touches the bytes of a cell from several places would need an entry for each, though nobody can ever
//! know of one and not of the other: all numbers of a step are told at once. So when two words do not suffice, the new
//! access and an entry of the same step and kind become one entry, under a number that stands for both
//! (`Place::both`): it races with exactly what the two race with, and whoever reports a race asks which of them
//! touched the byte. If there is no such entry, but there are two of the same step and kind as each other, these become one. An access that is one of the two already is added to its bytes, so two places that take turns need few
//! numbers.

use core::sync::atomic::Ordering;

use deadheat_detect::entry::{Entry, LIST, LOCK, MASK, PLAIN, SLOT_SHIFT, WHAT, WRITE};

use super::{Cell, Change, Right, Words, lock, pair, table};
use crate::history::{BOTH_REACH, Place};
use crate::strand::Strand;

/// Joins the access to an entry of the cell, if there is one that it can be joined to, and all that the cell remembers
/// happened before it: what became of which words. None if not, with nothing changed.
///
/// # Safety
/// `cell` must be a cell of the shadow, and the strand at work there by the right that it claims.
#[inline(never)]
pub unsafe fn settle_both(
    cell: *const Cell,
    right: Right,
    s: &mut Strand,
    stamp: u64,
    need: u64,
) -> Option<Change> {
    // SAFETY: by the contract.
    let cell = unsafe { &*cell };
    let first = cell.first.load(Ordering::Relaxed);
    if first & LIST != 0 {
        return None;
    }
    let first = match right {
        Right::Owner => first,
        Right::Locker => lock(cell),
    };
    let second = cell.second.load(Ordering::Relaxed);
    let known =
        first & (LIST | LOCK) == 0 && s.clock.covers_word(first) && s.clock.covers_word(second);
    let before = Words { first, second };
    let after = known.then(|| join(before, s, stamp, need)).flatten();
    match after {
        Some(after) => cell.set(right, second, after),
        None if right == Right::Locker => cell.first.store(first, Ordering::Release),
        None => {}
    }
    after.map(|after| Change { before, after })
}

/// The same for the owner of the page, who has seen that the cell names no list and that all that it remembers happened before.
///
/// # Safety
/// As for [`settle_both`].
#[inline(always)]
pub unsafe fn join_own(cell: *const Cell, s: &mut Strand, stamp: u64, need: u64) -> bool {
    // SAFETY: by the contract.
    let cell = unsafe { &*cell };
    let before = cell.both_words();
    match join(before, s, stamp, need) {
        Some(after) => {
            cell.set(Right::Owner, before.second, after);
            true
        }
        None => false,
    }
}

/// Makes a table of what the cell remembers and of the new access, if all of it was done by one strand; the same conditions.
///
/// # Safety
/// As for [`settle_both`].
#[inline(always)]
pub unsafe fn make_own_table(cell: *const Cell, stamp: u64, need: u64) -> bool {
    // SAFETY: by the contract.
    let cell = unsafe { &*cell };
    let Words { first, second } = cell.both_words();
    let new = stamp | need;
    let is_own =
        |word: u64| (word ^ new) >> SLOT_SHIFT == 0 && word & (PLAIN | LIST | LOCK) == PLAIN;
    let own = is_own(first) && is_own(second) && (first ^ new) > MASK && (second ^ new) > MASK;
    if own {
        let after = Words {
            first: table::made_of_own(first, second, new),
            second: new,
        };
        cell.set(Right::Owner, second, after);
    }
    own
}

/// What becomes of a cell that names no list and remembers nothing that did not happen before.
#[inline(always)]
fn join(before: Words, s: &mut Strand, stamp: u64, need: u64) -> Option<Words> {
    let Words { first, second } = before;
    let is_here = |word: u64| {
        word.wrapping_sub(s.step_base) < s.step_span && s.seq - Entry(word).seq() < BOTH_REACH / 2
    };
    let fits = |word: u64| is_here(word) && (word ^ need) & (PLAIN | WRITE) == 0;
    if fits(second) {
        let second = joined(second, s, stamp, need)?;
        Some(Words { first, second })
    } else if fits(first) {
        let first = joined(first, s, stamp, need)?;
        Some(Words { first, second })
    } else if is_here(first) && is_here(second) && (first ^ second) & (PLAIN | WRITE) == 0 {
        let (older, newer) = (first.min(second), first.max(second));
        let old = joined(older, s, newer & !WHAT, newer & WHAT)?;
        Some(pair(stamp | need, old))
    } else {
        None
    }
}

/// The access and an old one in one word.
#[inline(always)]
fn joined(old: u64, s: &mut Strand, stamp: u64, need: u64) -> Option<u64> {
    let (older, newer) = (Entry(old), Entry(stamp).seq());
    let both = match s.recent_two(older.seq()) {
        // Its bytes are all that are not the first one's.
        Some((_, _, second)) if second == newer => return Some(old | need & MASK),
        Some((first, bytes, second)) if first == newer && s.seq - second < BOTH_REACH / 2 => {
            Place::both(first, bytes | need as u8, second)
        }
        _ => Place::both(older.seq(), older.mask(), newer),
    };
    s.history?.expect_both();
    let stamp = s.number_of_both(both)?;
    Some(stamp | (old | need) & WHAT & (MASK | PLAIN | WRITE))
}

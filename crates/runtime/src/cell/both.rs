//! Two places of one step in one entry.
//!
//! A step that touches the bytes of a cell from several places would need an entry for each, though nobody can ever
//! know of one and not of the other: all numbers of a step are told at once. So when two words do not suffice, the new
//! access and an entry of the same step and kind become one entry, under a number that stands for both
//! (`Place::both`): it races with exactly what the two race with, and whoever reports a race asks which of them
//! touched the byte. An access that is one of the two already is added to its bytes, so two places that take turns need few
//! numbers.

use core::sync::atomic::{AtomicU64, Ordering};

use deadheat_detect::entry::{Entry, LIST, LOCK, MASK, PLAIN, WHAT, WRITE};

use super::{Cell, Right, lock};
use crate::history::{BOTH_REACH, Place};
use crate::intern::StackId;
use crate::strand::Strand;

/// Joins the access to an entry of the cell, if there is one that it can be joined to, and all that the cell remembers
/// happened before it. False if not, with nothing changed.
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
) -> bool {
    // SAFETY: by the contract.
    let cell = unsafe { &*cell };
    let first = cell.first.load(Ordering::Relaxed);
    if first & LIST != 0 {
        return false;
    }
    let first = match right {
        Right::Owner => first,
        Right::Locker => lock(cell),
    };
    let known = first & (LIST | LOCK) == 0
        && s.clock.covers_word(first)
        && s.clock.covers_word(cell.second.load(Ordering::Relaxed));
    let after = known.then(|| join(cell, first, s, stamp, need)).flatten();
    if let Some((place, word)) = after {
        place.store(word, Ordering::Release);
    }
    if right == Right::Locker && !after.is_some_and(|(place, _)| core::ptr::eq(place, &cell.first))
    {
        cell.first.store(first, Ordering::Release);
    }
    after.is_some()
}

/// The same for the owner of the page, who has seen that the cell names no list and that all that it remembers happened before.
///
/// # Safety
/// As for [`settle_both`].
#[inline(always)]
pub unsafe fn join_own(cell: *const Cell, s: &mut Strand, stamp: u64, need: u64) -> bool {
    // SAFETY: by the contract.
    let cell = unsafe { &*cell };
    match join(cell, cell.first.load(Ordering::Relaxed), s, stamp, need) {
        Some((place, word)) => {
            place.store(word, Ordering::Release);
            true
        }
        None => false,
    }
}

/// Which word of the cell, which names no list and remembers nothing that did not happen before, becomes what.
#[inline(always)]
fn join<'a>(
    cell: &'a Cell,
    first: u64,
    s: &mut Strand,
    stamp: u64,
    need: u64,
) -> Option<(&'a AtomicU64, u64)> {
    let second = cell.second.load(Ordering::Relaxed);
    let fits = |word: u64| {
        word.wrapping_sub(s.step_base) < s.step_span
            && (word ^ need) & (PLAIN | WRITE) == 0
            && s.seq - Entry(word).seq() < BOTH_REACH / 2
    };
    let (place, old) = if fits(second) {
        (&cell.second, second)
    } else if fits(first) {
        (&cell.first, first)
    } else {
        return None;
    };
    let (older, newer) = (Entry(old), Entry(stamp).seq());
    let both = match s.recent_two(older.seq()) {
        // Its bytes are all that are not the first one's.
        Some((_, _, second)) if second == newer => return Some((place, old | need & MASK)),
        Some((first, bytes, second)) if first == newer && s.seq - second < BOTH_REACH / 2 => {
            Place::both(first, bytes | need as u8, second)
        }
        _ => Place::both(older.seq(), older.mask(), newer),
    };
    s.history?.expect_both();
    let stamp = s
        .known_number(both, StackId(0))
        .or_else(|| s.quick_number(both, StackId(0)))?;
    Some((place, stamp | (old | need) & WHAT & (MASK | PLAIN | WRITE)))
}

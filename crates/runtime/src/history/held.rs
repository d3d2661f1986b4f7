//! Which locks a strand held when it used a number.
//!
//! A strand that takes one lock after the other would need other records at each, though it is at the same places. So what
//! it holds is written down apart: at each change, from which number on it holds what.
//!
//! | who | may |
//! |---|---|
//! | the strand that owns the slot | append, and change the last one while no number is used with it |
//! | everybody else | read under the slot's lock, for numbers that are in use |

use core::sync::atomic::AtomicU64;

use deadheat_detect::entry::SEQ_MAX;
use std_alloc::vec::Vec;

use super::chunks::{CHUNK, CHUNK_BITS, Chunks, Named, name_in};
use super::{Chunk, SiteId};
use crate::intern::LockSetId;
use crate::locks::{Holding, Last};
use crate::sys;

/// From this number on the strand holds these locks. All zeroes is none: number 0 is not used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct Change {
    /// The number, and the set of locks below the last one.
    first_and_below: u64,
    last: Last,
}

const SET_BITS: u32 = 28;
const _: () = assert!(SEQ_MAX >> (64 - SET_BITS) == 0);

impl Change {
    const NONE: Change = Change {
        first_and_below: 0,
        last: Last::NONE,
    };

    #[inline(always)]
    fn new(first: u64, held: Holding) -> Change {
        if held.below.0 >> SET_BITS != 0 {
            sys::die("more than 268 million sets of locks are in use at once");
        }
        Change {
            first_and_below: first << SET_BITS | held.below.0 as u64,
            last: held.last,
        }
    }

    #[inline(always)]
    fn first(self) -> u64 {
        self.first_and_below >> SET_BITS
    }

    fn held(self) -> Holding {
        Holding {
            last: self.last,
            below: LockSetId(self.first_and_below as u32 & ((1 << SET_BITS) - 1)),
        }
    }

    fn is_at_most(self, seq: u64) -> bool {
        (1..=seq).contains(&self.first())
    }
}

/// Where a strand writes down what it holds.
pub struct Notes {
    /// How many changes there were on its slot.
    pub count: u64,
    /// The last one, if this strand made one, and where it is.
    last: Change,
    chunk: *mut Chunk<Change>,
}

impl Notes {
    /// After so many that others made.
    pub const fn after(count: u64) -> Notes {
        Notes {
            count,
            last: Change::NONE,
            chunk: core::ptr::null_mut(),
        }
    }

    /// From number `first` on it holds this; false if that needs another chunk.
    #[inline(always)]
    pub fn add(&mut self, first: u64, held: Holding) -> bool {
        let change = Change::new(first, held);
        if self.last.first() != first {
            if self.chunk.is_null() || self.count.is_multiple_of(CHUNK as u64) {
                return false;
            }
            self.count += 1;
        }
        self.last = change;
        // SAFETY: the chunk of the last change, which stands for no number that is in use, and only this strand writes to it.
        unsafe { Chunk::write(self.chunk, self.count - 1, change) };
        true
    }

    /// The same, with another chunk of the slot's changes; `bytes` grows by what that takes.
    #[cold]
    pub(super) fn add_to(
        &mut self,
        changes: &mut Chunks<Change>,
        bytes: &AtomicU64,
        first: u64,
        held: Holding,
    ) {
        self.chunk = changes.whole(self.count >> CHUNK_BITS, bytes);
        if self.chunk.is_null() {
            sys::die("no memory left for the history of locks");
        }
        self.last = Change::new(first, held);
        self.count += 1;
        // SAFETY: as above.
        unsafe { Chunk::write(self.chunk, self.count - 1, self.last) };
    }
}

/// What was held with this number.
pub fn held_at(changes: &Chunks<Change>, seq: u64) -> Holding {
    changes
        .last_that(|change| change.is_at_most(seq))
        .map_or(Holding::NOTHING, Change::held)
}

/// Calls `f` for all that is written down.
pub fn each_held(changes: &Chunks<Change>, mut f: impl FnMut(Holding)) {
    let mut last = Holding::NOTHING;
    changes.each(|change| {
        if change.held() != last {
            last = change.held();
            f(last);
        }
    });
}

/// The changes that are needed for numbers that are kept, by chunk, in their order.
pub struct Needed {
    chunks: Vec<(u64, Named)>,
}

impl Needed {
    /// By their numbers among changes, which come in their order.
    fn add(&mut self, index: u64) {
        let chunk = index >> CHUNK_BITS;
        if self.chunks.last().is_none_or(|&(last, _)| last != chunk) {
            self.chunks.push((chunk, [0; CHUNK / 64]));
        }
        if let Some((_, named)) = self.chunks.last_mut() {
            name_in(named, index);
        }
    }

    /// A bit for each change of the chunk that is needed; none if there is none.
    pub fn of_chunk(&self, chunk: u64) -> Option<Named> {
        let at = self
            .chunks
            .binary_search_by_key(&chunk, |&(chunk, _)| chunk);
        at.ok().map(|at| self.chunks[at].1)
    }
}

/// The changes that are needed for a number that is kept.
pub fn needed(changes: &Chunks<Change>, numbers: &Chunks<SiteId>) -> Needed {
    let mut needed = Needed { chunks: Vec::new() };
    let mut ahead = changes
        .numbered()
        .filter(|(_, change)| change.first() != 0)
        .peekable();
    // The number that the next change ahead begins with.
    let mut next = 0;
    // The one before it, unless that is known to be needed.
    let mut last = None;
    numbers.each_number(|seq| {
        if seq >= next {
            while let Some((index, _)) = ahead.next_if(|(_, change)| change.first() <= seq) {
                last = Some(index);
            }
            next = ahead.peek().map_or(u64::MAX, |(_, change)| change.first());
        }
        if let Some(index) = last.take() {
            needed.add(index);
        }
    });
    needed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::intern::StackId;
    use crate::locks::{HeldLock, Mode};
    use crate::syncvar::SyncId;

    static BYTES: AtomicU64 = AtomicU64::new(0);

    fn holding(n: u32) -> Holding {
        let last = HeldLock {
            lock: SyncId(n % 5),
            mode: Mode::Shared,
            taken_at: StackId(n % 3),
        };
        Holding {
            last: Last::new(last).unwrap_or_default(),
            below: LockSetId(n),
        }
    }

    fn add(changes: &mut Chunks<Change>, notes: &mut Notes, first: u64, held: u32) {
        let held = holding(held);
        if !notes.add(first, held) {
            notes.add_to(changes, &BYTES, first, held);
        }
    }

    /// Changes at random numbers, of which some are kept: those have what a list for each number says.
    #[test]
    fn what_is_held_is_what_was_noted_last() {
        let mut changes = Chunks::new();
        let mut numbers: Chunks<SiteId> = Chunks::new();
        let mut notes = Notes::after(0);
        let mut naive = std_alloc::vec![0u32];
        let mut random = 1u64;
        let mut next = |below: u64| {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (random >> 33) % below
        };
        for held in 1..4 * CHUNK as u32 {
            add(&mut changes, &mut notes, naive.len() as u64, held);
            for _ in 0..next(4) {
                naive.push(held);
            }
        }
        for chunk in 0..=naive.len() as u64 >> CHUNK_BITS {
            numbers.whole(chunk, &BYTES);
        }
        let mut kept = std_alloc::vec![true; naive.len()];
        for round in 0..4 {
            for (seq, &held) in naive.iter().enumerate().filter(|&(seq, _)| kept[seq]) {
                assert_eq!(
                    held_at(&changes, seq as u64),
                    holding(held),
                    "{seq} in {round}"
                );
            }
            kept.iter_mut().for_each(|kept| *kept &= next(20) == 0);
            let named = |chunk: u64| {
                let mut named = [0; CHUNK / 64];
                let first = (chunk as usize) << CHUNK_BITS;
                (first..first + CHUNK)
                    .filter(|&seq| kept.get(seq).is_some_and(|&kept| kept))
                    .for_each(|seq| name_in(&mut named, seq as u64));
                Some(named)
            };
            numbers.reduce(|_| false, named);
            let needed = needed(&changes, &numbers);
            changes.reduce(|_| false, |chunk| needed.of_chunk(chunk));
        }
        let mut left = 0;
        changes.each(|_| left += 1);
        assert!(left <= kept.iter().filter(|&&kept| kept).count());
    }
}

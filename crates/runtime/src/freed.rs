//! Memory that was freed and not marked as such in its cells: parts of large blocks that nobody had touched.
//!
//! To mark them all would cost more time and memory than the program's own use of them. So a free keeps the ranges here, and
//! gives the pages to nobody ([`crate::pages`]); whoever comes to such a page first has its marks put into the cells, and
//! finds the race there as everywhere. What is handed out again is cut out.
//!
//! | who | does | before |
//! |---|---|---|
//! | a free | [`Freed::insert`] | it gives the pages away |
//! | who makes a block of cells | [`Freed::lock`], gives away the pages that overlap | it can be found |
//! | who comes to such a page | [`Freed::lock`], marks, [`Ranges::cut`] | the page is anybody's |
//! | who hands memory out | [`Freed::forget`] | it clears the cells |

use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use std_alloc::collections::BTreeMap;
use std_alloc::vec::Vec;

use crate::sync::{Held, Locked, SpinLock};

/// Regions that share a counter, so that most questions need no lock.
const COUNTERS: usize = 4096;
const REGION_BITS: u32 = 16;

/// A range and the stamp of the free.
pub type Range = (usize, usize, u64);

pub struct Freed {
    /// By their start: their end and the stamp. They do not overlap.
    ranges: Locked<BTreeMap<usize, (usize, u64)>>,
    /// How many parts of ranges lie in regions with this remainder. Asked without the lock, so it is never less than what
    /// whoever holds it is about to leave there.
    near: [AtomicU32; COUNTERS],
    count: AtomicUsize,
}

/// The ranges while nobody else can change them.
pub struct Ranges<'a> {
    freed: &'a Freed,
    ranges: Held<'a, BTreeMap<usize, (usize, u64)>>,
}

impl Freed {
    pub const fn new() -> Self {
        Freed {
            ranges: Locked::new(BTreeMap::new()),
            near: [const { AtomicU32::new(0) }; COUNTERS],
            count: AtomicUsize::new(0),
        }
    }

    pub fn lock(&self) -> Ranges<'_> {
        Ranges {
            freed: self,
            ranges: self.ranges.lock(),
        }
    }

    /// `[start, end)` was freed by the access with this stamp.
    pub fn insert(&self, start: usize, end: usize, stamp: u64) {
        if start < end {
            let mut ranges = self.lock();
            ranges.cut(start, end);
            ranges.put(start, end, stamp);
        }
    }

    /// `[start, end)` is used for something else from now on.
    #[inline]
    pub fn forget(&self, start: usize, end: usize) {
        if self.count.load(Ordering::Relaxed) > 0 && self.may_overlap(start, end) {
            self.lock().cut(start, end);
        }
    }

    /// False only if none does.
    #[inline]
    fn may_overlap(&self, start: usize, end: usize) -> bool {
        let regions = regions(start, end);
        regions.len() >= COUNTERS
            || regions
                .into_iter()
                .any(|r| self.near[r % COUNTERS].load(Ordering::Acquire) > 0)
    }

    /// Calls `f` for each stamp.
    pub fn each_stamp(&self, mut f: impl FnMut(u64)) {
        for &(_, stamp) in self.ranges.lock().values() {
            f(stamp);
        }
    }

    pub fn spin(&self) -> &SpinLock {
        self.ranges.spin()
    }

    /// # Safety
    /// No other thread may exist.
    pub unsafe fn after_fork(&self) {
        // SAFETY: by the contract.
        unsafe { self.ranges.force_unlock() };
    }
}

impl Default for Freed {
    fn default() -> Self {
        Freed::new()
    }
}

/// The regions that `[start, end)` touches.
fn regions(start: usize, end: usize) -> core::ops::Range<usize> {
    start >> REGION_BITS..(end.saturating_sub(1) >> REGION_BITS) + 1
}

impl Ranges<'_> {
    fn counts(&self, start: usize, end: usize, by: i32) {
        for region in regions(start, end) {
            let counter = &self.freed.near[region % COUNTERS];
            let now = counter.load(Ordering::Relaxed);
            // Who sees that nothing is left here also sees what was marked instead.
            counter.store(now.wrapping_add_signed(by), Ordering::Release);
        }
    }

    fn put(&mut self, start: usize, end: usize, stamp: u64) {
        self.counts(start, end, 1);
        self.ranges.insert(start, (end, stamp));
        self.freed.count.store(self.ranges.len(), Ordering::Relaxed);
    }

    /// The parts of ranges that lie in `[start, end)`.
    pub fn overlapping(&self, start: usize, end: usize) -> Vec<Range> {
        let before = self.ranges.range(..start).next_back();
        before
            .into_iter()
            .chain(self.ranges.range(start..end))
            .map(|(&from, &(to, stamp))| (from.max(start), to.min(end), stamp))
            .filter(|&(from, to, _)| from < to)
            .collect()
    }

    /// `[start, end)` is not freed, or marked.
    pub fn cut(&mut self, start: usize, end: usize) {
        let whole: Vec<Range> = {
            let before = self.ranges.range(..start).next_back();
            before
                .into_iter()
                .chain(self.ranges.range(start..end))
                .map(|(&from, &(to, stamp))| (from, to, stamp))
                .filter(|&(_, to, _)| to > start)
                .collect()
        };
        for (from, to, stamp) in whole {
            self.ranges.remove(&from);
            if from < start {
                self.put(from, start, stamp);
            }
            if to > end {
                self.put(end, to, stamp);
            }
            // Only now: somebody who hands out a part that stays must see it all the time.
            self.counts(from, to, -1);
        }
        self.freed.count.store(self.ranges.len(), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same with a stamp for each byte.
    struct Naive([u64; BYTES]);
    const BYTES: usize = 300;
    const BASE: usize = (1 << 16) - 150;

    fn same(freed: &Freed, naive: &Naive) {
        let mut bytes = [0; BYTES];
        for (from, to, stamp) in freed.lock().overlapping(0, usize::MAX) {
            for at in from..to {
                assert_eq!(bytes[at - BASE], 0, "they overlap");
                bytes[at - BASE] = stamp;
            }
        }
        assert_eq!(bytes, naive.0);
    }

    #[test]
    fn ranges_are_what_a_stamp_for_each_byte_says() {
        let freed = Box::new(Freed::new());
        let mut naive = Naive([0; BYTES]);
        let mut random = 1u64;
        let mut next = |below: usize| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            random as usize % below
        };
        for stamp in 1..20_000 {
            let from = next(BYTES);
            let to = from + next(BYTES - from + 1);
            match next(3) {
                0 => {
                    freed.insert(BASE + from, BASE + to, stamp);
                    naive.0[from..to].fill(stamp);
                }
                1 => {
                    freed.forget(BASE + from, BASE + to);
                    naive.0[from..to].fill(0);
                }
                _ => {
                    let parts = freed.lock().overlapping(BASE + from, BASE + to);
                    let bytes: usize = parts.iter().map(|&(from, to, _)| to - from).sum();
                    let naive = naive.0[from..to].iter().filter(|&&s| s != 0).count();
                    assert_eq!(bytes, naive);
                }
            }
            same(&freed, &naive);
        }
        freed.forget(0, usize::MAX);
        assert_eq!(freed.count.load(Ordering::Relaxed), 0);
        assert!(freed.near.iter().all(|n| n.load(Ordering::Relaxed) == 0));
    }

    #[test]
    fn what_stays_is_seen_while_another_part_is_cut_out() {
        let freed = Box::new(Freed::new());
        let (start, end) = (BASE, BASE + BYTES);
        freed.insert(start, end, 1);
        let done = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for stamp in 2..500_000 {
                    freed.forget(start + 50, start + 100);
                    freed.insert(start + 50, start + 100, stamp);
                }
                done.store(1, Ordering::Release);
            });
            while done.load(Ordering::Acquire) == 0 {
                assert!(freed.may_overlap(start + 120, start + 140));
                assert_ne!(freed.count.load(Ordering::Relaxed), 0);
            }
        });
    }
}

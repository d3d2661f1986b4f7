//! Every bound that was hit, counted, so that the report's footer can say what Deadheat did not see.

use core::sync::atomic::{AtomicU64, Ordering};

/// A thing that can be lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Loss {
    /// More strands at once than the clocks have slots.
    SharedSlot,
    /// A call stack deeper than memory allows to follow.
    DeepStack,
    /// An access for which there was no memory left for shadow.
    NoShadow,
    /// A history chunk was given up while a cell still named it.
    History,
    /// More different findings than are kept.
    Findings,
    /// More lock orders than are kept or looked through.
    LockOrder,
    /// A thread went on although a join had not succeeded.
    BrokenJoin,
}

const ALL: [Loss; 7] = [
    Loss::SharedSlot,
    Loss::DeepStack,
    Loss::NoShadow,
    Loss::History,
    Loss::Findings,
    Loss::LockOrder,
    Loss::BrokenJoin,
];

impl Loss {
    pub fn sentence(self) -> &'static str {
        match self {
            Loss::SharedSlot => {
                "threads that had to share a clock with another one (races between the two are not seen)"
            }
            Loss::DeepStack => {
                "calls deeper than the memory for call stacks (their frames are missing in reports)"
            }
            Loss::NoShadow => "accesses not checked because there was no memory left",
            Loss::History => "accesses whose call stack had to be forgotten to keep memory bounded",
            Loss::LockOrder => {
                "orders of two locks that were not searched for cycles because there are too many"
            }
            Loss::BrokenJoin => {
                "times a thread went on out of a pthread_join that had not succeeded (its races with what all others knew may not be seen)"
            }
            Loss::Findings => "findings beyond the largest number that is kept",
        }
    }
}

/// The counts.
pub struct Losses {
    counts: [AtomicU64; ALL.len()],
}

impl Losses {
    pub const fn new() -> Self {
        Losses {
            counts: [const { AtomicU64::new(0) }; ALL.len()],
        }
    }

    pub fn count(&self, what: Loss) {
        self.counts[what as usize].fetch_add(1, Ordering::Relaxed);
    }

    pub fn all(&self) -> impl Iterator<Item = (Loss, u64)> + '_ {
        ALL.into_iter()
            .map(|l| (l, self.counts[l as usize].load(Ordering::Relaxed)))
            .filter(|&(_, n)| n > 0)
    }
}

impl Default for Losses {
    fn default() -> Self {
        Losses::new()
    }
}

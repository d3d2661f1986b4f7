//! Which locks a strand holds, as one number, and what that number means.
//!
//! A set is a chain: the set before, and the lock taken last with its mode and where it was taken. Giving back a lock
//! that is not the last one rebuilds the chain above it. The lock that a strand took last becomes part of a set only when it takes another
//! one: a program may have thousands of locks, and mostly holds one at a time ([`Holding`]).

use std_alloc::vec::Vec;

use crate::intern::{Interner, LockSetId, Marks, StackId};
use crate::sync::SpinLock;
use crate::syncvar::SyncId;

/// How a lock is held.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    Exclusive,
    Shared,
}

/// One held lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HeldLock {
    pub lock: SyncId,
    pub mode: Mode,
    pub taken_at: StackId,
}

/// A lock in a word: its number, how it is held, and where it was taken. All zeroes is none.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(transparent)]
pub struct Last(u64);

const LOCK_SHIFT: u32 = 32;
const LAST_SHARED: u64 = 1 << 31;

impl Last {
    pub const NONE: Last = Last(0);

    /// None if it does not fit.
    #[inline(always)]
    pub fn new(held: HeldLock) -> Option<Last> {
        let shared = match held.mode {
            Mode::Exclusive => 0,
            Mode::Shared => LAST_SHARED,
        };
        let word = (held.lock.0 as u64) << LOCK_SHIFT | shared | held.taken_at.0 as u64;
        (held.lock.0 != 0 && (held.taken_at.0 as u64) < LAST_SHARED).then_some(Last(word))
    }

    #[inline(always)]
    pub fn get(self) -> Option<HeldLock> {
        let mode = match self.0 & LAST_SHARED {
            0 => Mode::Exclusive,
            _ => Mode::Shared,
        };
        let held = HeldLock {
            lock: SyncId((self.0 >> LOCK_SHIFT) as u32),
            mode,
            taken_at: StackId((self.0 & (LAST_SHARED - 1)) as u32),
        };
        (self.0 != 0).then_some(held)
    }
}

/// What a strand holds: a set of locks, and the one that it took last.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(C)]
pub struct Holding {
    pub last: Last,
    pub below: LockSetId,
}

impl Holding {
    pub const NOTHING: Holding = Holding {
        last: Last::NONE,
        below: LockSetId(0),
    };
}

/// All lock sets seen.
pub struct LockSets {
    nodes: Interner,
}

const SHARED_BIT: u64 = 1 << 32;

fn smaller(key: [u64; 2]) -> u32 {
    (key[0] >> 32) as u32
}

fn held([a, b]: [u64; 2]) -> HeldLock {
    let mode = if b & SHARED_BIT != 0 {
        Mode::Shared
    } else {
        Mode::Exclusive
    };
    HeldLock {
        lock: SyncId(a as u32),
        mode,
        taken_at: StackId(b as u32),
    }
}

impl LockSets {
    pub const fn new() -> Self {
        LockSets {
            nodes: Interner::new(),
        }
    }

    pub fn with(&self, set: LockSetId, held: HeldLock) -> LockSetId {
        let shared = if held.mode == Mode::Shared {
            SHARED_BIT
        } else {
            0
        };
        LockSetId(self.nodes.number([
            (set.0 as u64) << 32 | held.lock.0 as u64,
            shared | held.taken_at.0 as u64,
        ]))
    }

    fn last(&self, set: LockSetId) -> Option<(LockSetId, HeldLock)> {
        let key = self.nodes.key(set.0)?;
        Some((LockSetId(smaller(key)), held(key)))
    }

    /// The set without the most recent hold of `lock`; the set itself if it is not in there.
    pub fn without(&self, set: LockSetId, lock: SyncId) -> LockSetId {
        let mut above = Vec::new();
        let mut at = set;
        while let Some((below, held)) = self.last(at) {
            if held.lock == lock {
                return above
                    .iter()
                    .rev()
                    .fold(below, |set, &held| self.with(set, held));
            }
            above.push(held);
            at = below;
        }
        set
    }

    /// All locks that are held, the one taken last first.
    pub fn held(&self, holding: Holding) -> impl Iterator<Item = HeldLock> + '_ {
        let last = holding.last.get().into_iter();
        last.chain(self.iter(holding.below))
    }

    /// The locks of a set, the one taken last first.
    pub fn iter(&self, set: LockSetId) -> impl Iterator<Item = HeldLock> + '_ {
        let mut at = set;
        core::iter::from_fn(move || {
            let (below, held) = self.last(at)?;
            at = below;
            Some(held)
        })
    }

    /// The set is in use, and so are the sets that it is made of.
    pub fn mark(&self, marks: &mut Marks, set: LockSetId) {
        if !marks.has(set.0) {
            self.nodes.mark(marks, set.0, smaller);
        }
    }

    /// Lets go of all sets that are neither marked nor were asked for since the last time.
    pub fn sweep(&self, marks: &mut Marks) {
        self.nodes.sweep(marks, smaller, None);
    }

    /// Calls `f` for each lock of each set that is kept.
    pub fn each(&self, mut f: impl FnMut(HeldLock)) {
        self.nodes.each(|key| f(held(key)));
    }

    /// What the sets take.
    pub fn bytes(&self) -> u64 {
        self.nodes.bytes()
    }

    /// What those take that the last sweep spared only because they had been asked for.
    pub fn spared_bytes(&self) -> u64 {
        self.nodes.spared_bytes()
    }

    /// Calls `f` for each lock that is held over a fork.
    pub fn each_lock(&self, f: &dyn Fn(&SpinLock)) {
        self.nodes.each_lock(f);
    }

    /// # Safety
    /// No other thread may exist.
    pub unsafe fn after_fork(&self) {
        // SAFETY: by the contract.
        unsafe { self.nodes.after_fork() };
    }
}

impl Default for LockSets {
    fn default() -> Self {
        LockSets::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locks_leave_in_any_order() {
        let sets = LockSets::new();
        let held = |n| HeldLock {
            lock: SyncId(n),
            mode: Mode::Exclusive,
            taken_at: StackId(n),
        };
        let a = sets.with(LockSetId(0), held(1));
        let ab = sets.with(a, held(2));
        let abc = sets.with(ab, held(3));
        let ac = sets.without(abc, SyncId(2));
        assert_eq!(sets.iter(ac).map(|h| h.lock.0).collect::<Vec<_>>(), [3, 1]);
        assert_eq!(sets.without(ac, SyncId(9)), ac);
        assert_eq!(
            sets.without(sets.without(ac, SyncId(1)), SyncId(3)),
            LockSetId(0)
        );
    }
}

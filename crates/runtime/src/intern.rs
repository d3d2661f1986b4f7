//! Numbers for things that come again and again: call stacks and sets of held locks.
//!
//! Both are trees: a stack is its caller's stack and one program counter, a lock set is a smaller set and one lock.
//! A tree node is a key of two words; the same key always has the same number, so memory is bounded by how many
//! different ones the program has. Number 0 is the empty stack and the empty set. Callers keep a small cache of their
//! own in front.

use hashbrown::HashTable;
use std_alloc::vec::Vec;

use crate::sync::{Locked, SpinLock};

/// A call stack: the number of its node in the tree of stacks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash, PartialOrd, Ord)]
#[repr(transparent)]
pub struct StackId(pub u32);

/// A set of held locks, with where each was taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash, PartialOrd, Ord)]
#[repr(transparent)]
pub struct LockSetId(pub u32);

type Key = [u64; 2];

/// Interned keys; numbers start at 1.
pub struct Interner {
    inner: Locked<Inner>,
}

struct Inner {
    keys: Vec<Key>,
    index: HashTable<u32>,
}

fn hash(key: &Key) -> u64 {
    let h = (key[0] ^ key[1].rotate_left(29)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    h ^ (h >> 32)
}

impl Interner {
    pub const fn new() -> Self {
        Interner {
            inner: Locked::new(Inner {
                keys: Vec::new(),
                index: HashTable::new(),
            }),
        }
    }

    /// The number of `key`; 0 if there are no more numbers.
    pub fn number(&self, key: Key) -> u32 {
        let mut inner = self.inner.lock();
        let Inner { keys, index } = &mut *inner;
        if let Some(&n) = index.find(hash(&key), |&n| keys[n as usize - 1] == key) {
            return n;
        }
        if keys.len() >= u32::MAX as usize - 1 {
            return 0;
        }
        keys.push(key);
        let n = keys.len() as u32;
        index.insert_unique(hash(&key), n, |&n| hash(&keys[n as usize - 1]));
        n
    }

    /// The key of a number that [`Self::number`] gave.
    pub fn key(&self, number: u32) -> Option<Key> {
        self.inner
            .lock()
            .keys
            .get((number as usize).checked_sub(1)?)
            .copied()
    }

    pub fn len(&self) -> usize {
        self.inner.lock().keys.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Calls `f` for each lock that is held over a fork.
    pub fn each_lock(&self, f: &dyn Fn(&SpinLock)) {
        f(self.inner.spin());
    }

    /// # Safety
    /// No other thread may exist.
    pub unsafe fn after_fork(&self) {
        // SAFETY: by the contract.
        unsafe { self.inner.force_unlock() };
    }
}

impl Default for Interner {
    fn default() -> Self {
        Interner::new()
    }
}

/// All call stacks seen.
#[derive(Default)]
pub struct Stacks {
    nodes: Interner,
}

impl Stacks {
    pub const fn new() -> Self {
        Stacks {
            nodes: Interner::new(),
        }
    }

    /// The stack of a call from `pc` in stack `caller`.
    pub fn push(&self, caller: StackId, pc: u64) -> StackId {
        StackId(self.nodes.number([caller.0 as u64, pc]))
    }

    /// The program counters of a stack, innermost first.
    pub fn frames(&self, stack: StackId) -> impl Iterator<Item = u64> + '_ {
        let mut at = stack;
        core::iter::from_fn(move || {
            let [caller, pc] = self.nodes.key(at.0)?;
            at = StackId(caller as u32);
            Some(pc)
        })
    }

    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn same_stack_same_number() {
        let stacks = Stacks::new();
        let main = stacks.push(StackId(0), 100);
        let f = stacks.push(main, 200);
        assert_eq!(stacks.push(main, 200), f);
        assert_ne!(stacks.push(f, 200), f);
        assert_eq!(stacks.frames(f).collect::<Vec<_>>(), [200, 100]);
        assert_eq!(stacks.frames(StackId(0)).count(), 0);
    }
}

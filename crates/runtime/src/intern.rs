//! Numbers for things that come again and again: call stacks and sets of held locks.
//!
//! Both are trees: a stack is its caller's stack and one program counter, a lock set is a smaller set and one lock.
//! A tree node is a key of two words; the same key has the same number as long as anybody may know that number. Number 0
//! is the empty stack and the empty set. Callers keep a small cache of their own in front.
//!
//! [`crate::collect`] marks the numbers that something names and lets go of the others. A number that was asked for since
//! the last time is kept in any case: whoever got it may not have put it down yet. What comes out of a number that was let
//! go is nothing, until it stands for something else, which is put off as long as other numbers are free. A recording names call
//! stacks, too: the numbers of a sweep wait until whoever takes it has read all that was recorded until that sweep.

use core::sync::atomic::{AtomicUsize, Ordering};

use hashbrown::HashTable;
use std_alloc::collections::VecDeque;
use std_alloc::vec::Vec;

use crate::record;
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

/// A set of numbers.
#[derive(Default)]
pub struct Marks {
    words: Vec<u64>,
}

impl Marks {
    /// True if it was not there.
    pub fn add(&mut self, number: u32) -> bool {
        let (word, bit) = (number as usize / 64, 1 << (number % 64));
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        let new = self.words[word] & bit == 0;
        self.words[word] |= bit;
        new
    }

    pub fn has(&self, number: u32) -> bool {
        let word = self.words.get(number as usize / 64).copied().unwrap_or(0);
        word >> (number % 64) & 1 != 0
    }

    fn clear(&mut self) {
        self.words.clear();
    }
}

/// Interned keys; numbers start at 1.
pub struct Interner {
    inner: Locked<Inner>,
    /// How many numbers stand for something.
    count: AtomicUsize,
    /// How many of them the last sweep spared only because they had been asked for.
    spared: AtomicUsize,
    /// Until which sweep the recording was read.
    read: fn() -> Sweep,
}

struct Inner {
    /// By number, less one. Those of free numbers stand for nothing.
    keys: Vec<Key>,
    index: HashTable<u32>,
    /// Numbers that were let go, the latest last.
    free: VecDeque<u32>,
    /// The same, but a recording may name them: by sweep, the oldest first.
    recorded: VecDeque<(Sweep, Vec<u32>)>,
    /// Asked for since the last sweep.
    asked: Marks,
}

/// No call and no lock has such a key.
const NOTHING: Key = [u64::MAX; 2];
/// What one key takes, with its place in the index.
const KEY_BYTES: u64 = size_of::<Key>() as u64 + 8;

/// How often numbers that a recording names were let go, counted from 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, PartialOrd, Ord)]
pub struct Sweep(pub u64);

impl Inner {
    /// Numbers of sweeps up to this one may stand for something else.
    fn release(&mut self, read: Sweep) {
        while self.recorded.front().is_some_and(|&(at, _)| at <= read) {
            let (_, numbers) = self.recorded.pop_front().unwrap_or_default();
            self.free.extend(numbers);
        }
    }
}

fn hash(key: &Key) -> u64 {
    let h = (key[0] ^ key[1].rotate_left(29)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    h ^ (h >> 32)
}

impl Interner {
    pub const fn new() -> Self {
        Interner::named_by(record::read_until)
    }

    /// A recording names the numbers; `read` says until which sweep it was read.
    const fn named_by(read: fn() -> Sweep) -> Self {
        Interner {
            inner: Locked::new(Inner {
                keys: Vec::new(),
                index: HashTable::new(),
                free: VecDeque::new(),
                recorded: VecDeque::new(),
                asked: Marks { words: Vec::new() },
            }),
            count: AtomicUsize::new(0),
            spared: AtomicUsize::new(0),
            read,
        }
    }

    /// The number of `key`; 0 if there are no more numbers.
    pub fn number(&self, key: Key) -> u32 {
        let mut inner = self.inner.lock();
        if inner.free.is_empty() && !inner.recorded.is_empty() {
            inner.release((self.read)());
        }
        let Inner {
            keys,
            index,
            free,
            asked,
            ..
        } = &mut *inner;
        if let Some(&n) = index.find(hash(&key), |&n| keys[n as usize - 1] == key) {
            asked.add(n);
            return n;
        }
        let n = match free.pop_front() {
            Some(n) => {
                keys[n as usize - 1] = key;
                n
            }
            None if keys.len() >= u32::MAX as usize - 1 => return 0,
            None => {
                keys.push(key);
                keys.len() as u32
            }
        };
        index.insert_unique(hash(&key), n, |&n| hash(&keys[n as usize - 1]));
        asked.add(n);
        self.count.fetch_add(1, Ordering::Relaxed);
        n
    }

    /// The key of a number that [`Self::number`] gave.
    pub fn key(&self, number: u32) -> Option<Key> {
        let inner = self.inner.lock();
        let key = *inner.keys.get((number as usize).checked_sub(1)?)?;
        (key != NOTHING).then_some(key)
    }

    /// Marks a number and those that `parent` finds in its key, up to one that is marked already.
    pub fn mark(&self, marks: &mut Marks, number: u32, parent: impl Fn(Key) -> u32) {
        let inner = self.inner.lock();
        let mut at = number;
        while at != 0 && (at as usize) <= inner.keys.len() && marks.add(at) {
            at = match inner.keys[at as usize - 1] {
                NOTHING => 0,
                key => parent(key),
            };
        }
    }

    /// Lets go of all numbers that are neither marked nor were asked for since the last time, with what `parent` finds in
    /// the keys of those. `this`: if a recording names them, which of its sweeps this is.
    pub fn sweep(&self, marks: &mut Marks, parent: impl Fn(Key) -> u32, this: Option<Sweep>) {
        let mut inner = self.inner.lock();
        inner.release((self.read)());
        let Inner {
            keys,
            index,
            free,
            recorded,
            asked,
        } = &mut *inner;
        let mut spared = 0;
        let mut gone = Vec::new();
        for n in 1..=keys.len() as u32 {
            let mut at = n;
            // What was asked for and all above it.
            while asked.has(n) && at != 0 && marks.add(at) {
                at = parent(keys[at as usize - 1]);
                spared += 1;
            }
        }
        self.spared.store(spared, Ordering::Relaxed);
        for n in 1..=keys.len() as u32 {
            let key = keys[n as usize - 1];
            if key == NOTHING || marks.has(n) {
                continue;
            }
            if let Ok(found) = index.find_entry(hash(&key), |&m| m == n) {
                found.remove();
            }
            keys[n as usize - 1] = NOTHING;
            gone.push(n);
        }
        self.count.fetch_sub(gone.len(), Ordering::Relaxed);
        match this {
            Some(sweep) => recorded.push_back((sweep, gone)),
            None => free.extend(gone),
        }
        asked.clear();
    }

    /// Calls `f` for each key.
    pub fn each(&self, f: impl FnMut(Key)) {
        let inner = self.inner.lock();
        let keys = inner.keys.iter().copied();
        keys.filter(|&key| key != NOTHING).for_each(f);
    }

    pub fn len(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What the keys take.
    pub fn bytes(&self) -> u64 {
        self.len() as u64 * KEY_BYTES
    }

    /// What those take that the last sweep spared only because they had been asked for.
    pub fn spared_bytes(&self) -> u64 {
        self.spared.load(Ordering::Relaxed) as u64 * KEY_BYTES
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

fn caller(key: Key) -> u32 {
    key[0] as u32
}

/// All call stacks seen, as far as anything names them.
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
        let stack = StackId(self.nodes.number([caller.0 as u64, pc]));
        record::node(stack, caller, pc);
        stack
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

    /// A number that two stacks have in common only if they are the same calls, whatever their numbers were.
    pub fn signature(&self, stack: StackId) -> u64 {
        self.frames(stack).fold(0, |h, pc| {
            let h = (h ^ pc).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            h ^ (h >> 29)
        })
    }

    /// The stack is in use, and so are those of its callers.
    pub fn mark(&self, marks: &mut Marks, stack: StackId) {
        if !marks.has(stack.0) {
            self.nodes.mark(marks, stack.0, caller);
        }
    }

    /// Lets go of all stacks that are neither marked nor were asked for since the last time.
    pub fn sweep(&self, marks: &mut Marks) {
        self.nodes.sweep(marks, caller, record::next_sweep());
        record::let_go();
    }

    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// What the stacks take.
    pub fn bytes(&self) -> u64 {
        self.nodes.bytes()
    }

    /// What those take that the last sweep spared only because they had been asked for.
    pub fn spared_bytes(&self) -> u64 {
        self.nodes.spared_bytes()
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

    #[test]
    fn what_nothing_names_is_let_go() {
        let stacks = Stacks::new();
        let deep = |stacks: &Stacks, from: u64, calls: u64| {
            (from..from + calls).fold(StackId(0), |caller, pc| stacks.push(caller, pc))
        };
        let kept = deep(&stacks, 10, 50);
        let gone = deep(&stacks, 100, 50);
        assert_eq!(stacks.len(), 100);
        // Asked for lately, so kept this once.
        stacks.sweep(&mut Marks::default());
        assert_eq!(stacks.len(), 100);
        let asked = stacks.push(StackId(0), 100);
        let mut marks = Marks::default();
        stacks.mark(&mut marks, kept);
        stacks.sweep(&mut marks);
        assert_eq!(stacks.len(), 51);
        assert_eq!(stacks.frames(kept).count(), 50);
        assert_eq!(stacks.frames(asked).collect::<Vec<_>>(), [100]);
        assert_eq!(stacks.frames(gone).count(), 0);
        assert_eq!(deep(&stacks, 10, 50), kept);
        // Freed numbers are used again.
        let again = deep(&stacks, 100, 50);
        assert_eq!(stacks.frames(again).count(), 50);
        assert_eq!(stacks.len(), 100);
        assert!(again.0 <= 100);
    }

    /// The same numbers as a map that is never swept, as far as they are marked; random keys and marks.
    #[test]
    fn sweeping_changes_nothing_that_is_marked() {
        let stacks = Stacks::new();
        let mut rng = deadheat_trace::generate::Rng::new(7);
        let mut live: Vec<(StackId, Vec<u64>)> = Vec::new();
        for round in 0..200 {
            for _ in 0..50 {
                let (from, mut calls) = match live.len() {
                    0 => (StackId(0), Vec::new()),
                    n if rng.chance(800) => live[rng.below(n as u64) as usize].clone(),
                    _ => (StackId(0), Vec::new()),
                };
                let pc = 1 + rng.below(6);
                calls.insert(0, pc);
                live.push((stacks.push(from, pc), calls));
            }
            if round % 3 == 0 {
                live.retain(|_| rng.chance(400));
                let mut marks = Marks::default();
                live.iter().for_each(|(id, _)| stacks.mark(&mut marks, *id));
                stacks.sweep(&mut marks);
            }
            for (id, calls) in &live {
                assert_eq!(&stacks.frames(*id).collect::<Vec<_>>(), calls);
            }
        }
    }

    /// A sweep's numbers are used again when the recording was read until that sweep, and not before, however often there was
    /// another one since.
    #[test]
    fn recorded_numbers_wait_for_their_sweep() {
        static READ: AtomicUsize = AtomicUsize::new(0);
        let nodes = Interner::named_by(|| Sweep(READ.load(Ordering::Relaxed) as u64));
        let mut pc = 0;
        let mut take = |count: u64| {
            let from = pc;
            pc += count;
            (from..pc)
                .map(|pc| nodes.number([0, pc]))
                .collect::<Vec<_>>()
        };
        let sweep = |n| nodes.sweep(&mut Marks::default(), caller, Some(Sweep(n)));
        let first = take(10);
        // Asked for, so spared; then gone, with the second sweep.
        sweep(1);
        let second = take(10);
        sweep(2);
        sweep(3);
        assert_eq!(nodes.len(), 0);
        assert_eq!(take(5), (21..=25).collect::<Vec<_>>());
        READ.store(2, Ordering::Relaxed);
        assert_eq!(take(10), first);
        assert_eq!(take(3), [26, 27, 28], "the third sweep was not read");
        READ.store(3, Ordering::Relaxed);
        assert_eq!(take(10), second);
        assert_eq!(take(1), [29]);
    }
}

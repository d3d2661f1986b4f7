//! The locks that strands hold, as numbered sets: what [`crate::eraser`] meets.
//!
//! A program that makes locks for ever makes sets for ever. When there are many, their user says which ones it has, and the
//! numbers of the others are used again ([`Holding::keep`]).

use std::collections::{HashMap, HashSet};

use deadheat_trace::{Mutex, RwLock, Strand};

use crate::entry::{Care, Op};

/// A lock, as far as the discipline is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Lock {
    /// What every atomic access holds.
    Atomic,
    Mutex(Mutex),
    RwLock(RwLock),
}

/// How a lock is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Read,
    Write,
}

/// The number of a set of locks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Set(pub u32);

/// Fewer sets than these are not worth looking for those that nobody has.
const FEW: usize = 1 << 14;

/// The sets of locks that occurred, but for those that nobody had any more, numbered; set 0 is empty.
#[derive(Clone, Debug)]
pub(crate) struct Sets {
    // invariant: each is sorted; those of free numbers are empty
    sets: Vec<Box<[Lock]>>,
    numbers: HashMap<Box<[Lock]>, Set>,
    meets: HashMap<(Set, Set), Set>,
    free: Vec<Set>,
    /// So many make it due to look for those that nobody has; at least `few`.
    most: usize,
    few: usize,
}

impl Default for Sets {
    fn default() -> Self {
        Sets {
            sets: vec![Box::default()],
            numbers: HashMap::from([(Box::default(), Set(0))]),
            meets: HashMap::new(),
            free: Vec::new(),
            most: FEW,
            few: FEW,
        }
    }
}

impl Sets {
    pub(crate) fn number(&mut self, mut locks: Vec<Lock>) -> Set {
        locks.sort_unstable();
        locks.dedup();
        let locks = locks.into_boxed_slice();
        if let Some(&set) = self.numbers.get(&locks) {
            return set;
        }
        let set = match self.free.pop() {
            Some(set) => {
                self.sets[set.0 as usize] = locks.clone();
                set
            }
            None => {
                self.sets.push(locks.clone());
                Set(self.sets.len() as u32 - 1)
            }
        };
        self.numbers.insert(locks, set);
        set
    }

    /// Whether there are so many that it should be looked for those that nobody has. Meets are remembered for pairs of sets, of
    /// which there can be more than sets.
    pub(crate) fn is_due(&self) -> bool {
        self.numbers.len().max(self.meets.len() / 8) >= self.most
    }

    /// Forgets all sets but those that `used` names and the empty one; which ones that were.
    fn keep(&mut self, mut used: impl FnMut(Set) -> bool) -> Vec<Set> {
        let (sets, before) = (&mut self.sets, self.free.len());
        let free = &mut self.free;
        self.numbers.retain(|_, &mut set| {
            let stays = set == Set(0) || used(set);
            if !stays {
                sets[set.0 as usize] = Box::default();
                free.push(set);
            }
            stays
        });
        self.meets = HashMap::new();
        self.most = self.few.max(2 * self.numbers.len());
        self.free[before..].to_vec()
    }

    /// The locks in both.
    pub(crate) fn meet(&mut self, a: Set, b: Set) -> Set {
        if a == b || a == Set(0) {
            return a;
        }
        let key = (a.min(b), a.max(b));
        if let Some(&set) = self.meets.get(&key) {
            return set;
        }
        let other = &self.sets[b.0 as usize];
        let both = self.sets[a.0 as usize]
            .iter()
            .filter(|lock| other.binary_search(lock).is_ok())
            .copied()
            .collect();
        let set = self.number(both);
        self.meets.insert(key, set);
        set
    }
}

/// What a strand holds.
#[derive(Clone, Debug, Default)]
struct Held {
    // invariant: the four sets below are made of these
    locks: Vec<(Lock, Mode)>,
    /// locks_held(t) and write_locks_held(t), for plain accesses and for atomic ones.
    plain: [Set; 2],
    atomic: [Set; 2],
}

impl Held {
    fn number(&mut self, sets: &mut Sets) {
        let for_reads = |extra: Option<Lock>| {
            self.locks
                .iter()
                .map(|&(lock, _)| lock)
                .chain(extra)
                .collect()
        };
        let for_writes = |extra: Option<Lock>| {
            let written = self.locks.iter().filter(|(_, mode)| *mode == Mode::Write);
            written.map(|&(lock, _)| lock).chain(extra).collect()
        };
        let plain = [sets.number(for_reads(None)), sets.number(for_writes(None))];
        let atomic = Some(Lock::Atomic);
        let atomic = [
            sets.number(for_reads(atomic)),
            sets.number(for_writes(atomic)),
        ];
        (self.plain, self.atomic) = (plain, atomic);
    }

    fn set(&self, op: Op, care: Care) -> Set {
        let sets = match care {
            Care::Plain => self.plain,
            Care::Atomic => self.atomic,
        };
        match op {
            Op::Read => sets[0],
            Op::Write => sets[1],
        }
    }
}

/// What all strands hold, as numbered sets.
#[derive(Clone, Debug, Default)]
pub struct Holding {
    held: HashMap<Strand, Held>,
    pub(crate) sets: Sets,
}

impl Holding {
    /// The strand has a lock now.
    pub fn took(&mut self, me: Strand, lock: Lock, mode: Mode) {
        let held = self.held.entry(me).or_default();
        held.locks.push((lock, mode));
        held.number(&mut self.sets);
    }

    /// The strand gives a lock back.
    pub fn gave(&mut self, me: Strand, lock: Lock, mode: Mode) {
        let Some(held) = self.held.get_mut(&me) else {
            return;
        };
        if let Some(place) = held.locks.iter().rposition(|&has| has == (lock, mode)) {
            held.locks.remove(place);
            held.number(&mut self.sets);
        }
    }

    /// The strand will do nothing more.
    pub fn ended(&mut self, me: Strand) {
        self.held.remove(&me);
    }

    /// The locks that guard an access of the strand now.
    pub fn set(&mut self, me: Strand, op: Op, care: Care) -> Set {
        match (self.held.get(&me), care) {
            (Some(held), _) => held.set(op, care),
            (None, Care::Plain) => Set(0),
            (None, Care::Atomic) => self.sets.number(vec![Lock::Atomic]),
        }
    }

    /// How many strands hold something, or did.
    pub fn strands(&self) -> usize {
        self.held.len()
    }

    /// How many sets there are.
    pub fn count(&self) -> usize {
        self.sets.numbers.len()
    }

    /// How many numbers of sets were ever given, from 0 on.
    pub fn sets(&self) -> usize {
        self.sets.sets.len()
    }

    /// Whether the number stands for a set now.
    pub fn has(&self, set: Set) -> bool {
        self.sets.numbers.get(self.locks(set)) == Some(&set)
    }

    /// The locks of all sets.
    pub fn all(&self) -> impl Iterator<Item = &[Lock]> {
        self.sets.sets.iter().map(|set| &set[..])
    }

    /// Fewer sets than these are not worth looking for those that nobody has: for tests.
    pub fn collect_from(&mut self, sets: usize) {
        (self.sets.few, self.sets.most) = (sets, sets);
    }

    /// Whether there are so many sets that it should be looked for those that nobody has.
    pub fn is_due(&self) -> bool {
        self.sets.is_due()
    }

    /// Forgets all sets but those that `used` names and those that strands hold; which ones that were. Their numbers will stand for
    /// other sets.
    pub fn keep(&mut self, mut used: impl FnMut(Set) -> bool) -> Vec<Set> {
        let held: HashSet<Set> = self
            .held
            .values()
            .flat_map(|held| held.plain.into_iter().chain(held.atomic))
            .collect();
        self.sets.keep(|set| held.contains(&set) || used(set))
    }

    /// The locks of a set, sorted.
    pub fn locks(&self, set: Set) -> &[Lock] {
        self.sets.sets.get(set.0 as usize).map_or(&[], |set| set)
    }
}

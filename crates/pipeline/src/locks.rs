//! The locks that strands hold, as numbered lists that many accesses share.
//!
//! A program that makes locks for ever makes lists for ever. The newest ones are kept; an access that is told with an
//! older one is told without its locks, and that is counted.

use std::cell::Cell;
use std::collections::VecDeque;

use deadheat_detect::eraser::{Lock, Locking, Mode};
use deadheat_order::{PerStrand, QuickMap};
use deadheat_trace::Strand;
use deadheat_trace::wire::{Object, StackNode, StackSet};

use crate::batch::LocksId;

/// A lock that is held, and since where.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Held {
    pub lock: Lock,
    pub mode: HeldMode,
    pub object: Object,
    pub taken_at: StackNode,
}

/// How it is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HeldMode {
    Read,
    Write,
}

impl From<Mode> for HeldMode {
    fn from(mode: Mode) -> HeldMode {
        match mode {
            Mode::Read => HeldMode::Read,
            Mode::Write => HeldMode::Write,
        }
    }
}

/// Lists that are kept at least; twice as many at most.
pub const KEPT: usize = 1 << 14;

/// The lists of locks that were held lately.
#[derive(Debug, Default)]
pub struct Locks {
    lists: Lists,
    held: PerStrand<(Vec<Held>, LocksId)>,
    /// How often a list was asked for that is not kept any more.
    pub forgotten: Cell<u64>,
}

impl Locks {
    /// What the strand holds now.
    #[inline]
    pub fn of(&mut self, strand: Strand) -> LocksId {
        match self.held.get_mut(strand) {
            Some((held, list)) => {
                if !self.lists.has(*list) {
                    *list = self.lists.all(held);
                }
                *list
            }
            None => LocksId(0),
        }
    }

    /// A lock is taken or given back.
    pub fn locking(&mut self, strand: Strand, locking: Locking, object: Object, at: StackNode) {
        let Locks { lists, held, .. } = self;
        let (held, list) = held.get_or_insert_with(strand, Default::default);
        match locking {
            Locking::Took(lock, mode) => {
                let one = Held {
                    lock,
                    mode: mode.into(),
                    object,
                    taken_at: at,
                };
                let shorter = if lists.has(*list) {
                    *list
                } else {
                    lists.all(held)
                };
                held.push(one);
                *list = lists.number(shorter, one);
            }
            Locking::Gave(lock, mode) => {
                let mode = HeldMode::from(mode);
                let place = held
                    .iter()
                    .rposition(|one| one.lock == lock && one.mode == mode);
                if let Some(place) = place {
                    held.remove(place);
                    *list = match lists.get(*list) {
                        Some((shorter, _)) if place == held.len() => *shorter,
                        _ => lists.all(held),
                    };
                }
            }
        }
    }

    /// The locks of a list, outermost first; those that are still known.
    pub fn list(&self, mut list: LocksId) -> Vec<Held> {
        let mut locks = Vec::new();
        while let Some((shorter, one)) = self.lists.get(list) {
            locks.push(*one);
            list = *shorter;
        }
        if list != LocksId(0) {
            self.forgotten.set(self.forgotten.get() + 1);
        }
        locks.reverse();
        locks
    }

    /// Adds the call stacks of all lists that are kept.
    pub fn stacks(&self, used: &mut StackSet) {
        let listed = self.lists.lists.iter().map(|(_, one)| one);
        for one in listed.chain(self.held.values().flat_map(|(held, _)| held)) {
            used.add(one.taken_at);
        }
    }

    /// The strand will do nothing more.
    pub fn ended(&mut self, strand: Strand) {
        self.held.remove(strand);
    }
}

/// Numbered lists: each is a shorter list and one more lock.
#[derive(Debug, Default)]
struct Lists {
    lists: VecDeque<(LocksId, Held)>,
    /// How many were dropped: the first that is kept has the next number.
    dropped: u32,
    numbers: QuickMap<(LocksId, Held), LocksId>,
}

impl Lists {
    #[inline]
    fn get(&self, list: LocksId) -> Option<&(LocksId, Held)> {
        let at = list.0.checked_sub(self.dropped)?.checked_sub(1)?;
        self.lists.get(at as usize)
    }

    /// Is the list kept? The empty one always is.
    #[inline]
    fn has(&self, list: LocksId) -> bool {
        list == LocksId(0) || list.0 > self.dropped
    }

    /// The number of a list with one more lock.
    #[inline]
    fn number(&mut self, list: LocksId, one: Held) -> LocksId {
        match self.numbers.get(&(list, one)) {
            Some(&number) => number,
            None => self.new_number(list, one),
        }
    }

    fn new_number(&mut self, list: LocksId, one: Held) -> LocksId {
        // Whoever has counted so far has more locks than anybody can make.
        let Some(number) = (self.dropped + self.lists.len() as u32).checked_add(1) else {
            return LocksId(0);
        };
        self.lists.push_back((list, one));
        self.numbers.insert((list, one), LocksId(number));
        if self.lists.len() >= 2 * KEPT {
            for old in self.lists.drain(..KEPT) {
                self.numbers.remove(&old);
            }
            self.dropped += KEPT as u32;
        }
        LocksId(number)
    }

    /// The number of a list of all these.
    fn all(&mut self, held: &[Held]) -> LocksId {
        held.iter()
            .fold(LocksId(0), |list, one| self.number(list, *one))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use deadheat_trace::Mutex;

    fn change(locks: &mut Locks, strand: u32, locking: Locking) {
        locks.locking(Strand(strand), locking, Object::default(), StackNode(7));
    }

    fn took(number: u64) -> Locking {
        Locking::Took(Lock::Mutex(Mutex(number)), Mode::Write)
    }

    fn gave(number: u64) -> Locking {
        Locking::Gave(Lock::Mutex(Mutex(number)), Mode::Write)
    }

    fn names(locks: &Locks, list: LocksId) -> Vec<Lock> {
        locks.list(list).iter().map(|held| held.lock).collect()
    }

    #[test]
    fn new_locks_for_ever_take_no_memory_for_ever() {
        let mut locks = Locks::default();
        change(&mut locks, 1, took(1));
        let early = locks.of(Strand(1));
        for number in 2..5 * KEPT as u64 {
            change(&mut locks, 2, took(number));
            let list = locks.of(Strand(2));
            assert_eq!(names(&locks, list), [Lock::Mutex(Mutex(number))]);
            change(&mut locks, 2, gave(number));
            assert_eq!(locks.of(Strand(2)), LocksId(0));
        }
        assert!(locks.lists.lists.len() <= 2 * KEPT);
        assert_eq!(locks.lists.lists.len(), locks.lists.numbers.len());
        // What is still held is known, under another number.
        let late = locks.of(Strand(1));
        assert_eq!(names(&locks, late), [Lock::Mutex(Mutex(1))]);
        change(&mut locks, 1, took(2));
        let both = locks.of(Strand(1));
        assert_eq!(names(&locks, both).len(), 2);
        assert_eq!(locks.forgotten.get(), 0);
        // What is not held any more is forgotten, and that is counted.
        assert_eq!(names(&locks, early), []);
        assert_eq!(locks.forgotten.get(), 1);
    }

    #[test]
    fn locks_are_given_back_in_any_order() {
        let mut locks = Locks::default();
        for number in [1, 2, 3] {
            change(&mut locks, 1, took(number));
        }
        change(&mut locks, 1, gave(2));
        let list = locks.of(Strand(1));
        let expected = [1, 3].map(|number| Lock::Mutex(Mutex(number)));
        assert_eq!(names(&locks, list), expected);
        change(&mut locks, 1, gave(3));
        change(&mut locks, 1, gave(1));
        assert_eq!(locks.of(Strand(1)), LocksId(0));
    }
}

//! The locks that strands hold, as numbered lists that many accesses share.

use std::collections::HashMap;

use deadheat_detect::eraser::{Lock, Locking, Mode};
use deadheat_trace::Strand;
use deadheat_trace::wire::{Object, StackNode};

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

/// All lists of locks that ever were held.
#[derive(Debug, Default)]
pub struct Locks {
    /// A list is a shorter list and one more lock.
    lists: Vec<(LocksId, Held)>,
    numbers: HashMap<(LocksId, Held), LocksId>,
    held: HashMap<Strand, (Vec<Held>, LocksId)>,
}

impl Locks {
    /// What the strand holds now.
    pub fn of(&self, strand: Strand) -> LocksId {
        self.held.get(&strand).map_or(LocksId(0), |(_, list)| *list)
    }

    /// A lock is taken or given back.
    pub fn locking(&mut self, strand: Strand, locking: Locking, object: Object, at: StackNode) {
        let (mut held, mut list) = self.held.remove(&strand).unwrap_or_default();
        match locking {
            Locking::Took(lock, mode) => {
                let one = Held {
                    lock,
                    mode: mode.into(),
                    object,
                    taken_at: at,
                };
                held.push(one);
                list = self.number(list, one);
            }
            Locking::Gave(lock, mode) => {
                let mode = HeldMode::from(mode);
                let place = held
                    .iter()
                    .rposition(|one| one.lock == lock && one.mode == mode);
                if let Some(place) = place {
                    held.remove(place);
                    list = held
                        .iter()
                        .fold(LocksId(0), |list, one| self.number(list, *one));
                }
            }
        }
        if !held.is_empty() {
            self.held.insert(strand, (held, list));
        }
    }

    fn number(&mut self, list: LocksId, one: Held) -> LocksId {
        let lists = &mut self.lists;
        *self.numbers.entry((list, one)).or_insert_with(|| {
            lists.push((list, one));
            LocksId(lists.len() as u32)
        })
    }

    /// The locks of a list, outermost first.
    pub fn list(&self, mut list: LocksId) -> Vec<Held> {
        let mut locks = Vec::new();
        while let Some((shorter, one)) = (list.0 as usize)
            .checked_sub(1)
            .and_then(|at| self.lists.get(at))
        {
            locks.push(*one);
            list = *shorter;
        }
        locks.reverse();
        locks
    }

    /// The strand will do nothing more.
    pub fn ended(&mut self, strand: Strand) {
        self.held.remove(&strand);
    }
}

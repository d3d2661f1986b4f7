//! The locks that strands hold, as numbered lists that many accesses share.

use deadheat_detect::eraser::{Lock, Locking, Mode};
use deadheat_order::{PerStrand, QuickMap};
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
    lists: Lists,
    numbers: QuickMap<(LocksId, Held), LocksId>,
    held: PerStrand<(Vec<Held>, LocksId)>,
}

impl Locks {
    /// What the strand holds now.
    pub fn of(&self, strand: Strand) -> LocksId {
        self.held.get(strand).map_or(LocksId(0), |(_, list)| *list)
    }

    /// A lock is taken or given back.
    pub fn locking(&mut self, strand: Strand, locking: Locking, object: Object, at: StackNode) {
        let Locks {
            lists,
            numbers,
            held,
        } = self;
        let (held, list) = held.get_or_insert_with(strand, Default::default);
        match locking {
            Locking::Took(lock, mode) => {
                let one = Held {
                    lock,
                    mode: mode.into(),
                    object,
                    taken_at: at,
                };
                held.push(one);
                *list = number(lists, numbers, *list, one);
            }
            Locking::Gave(lock, mode) => {
                let mode = HeldMode::from(mode);
                let place = held
                    .iter()
                    .rposition(|one| one.lock == lock && one.mode == mode);
                if let Some(place) = place {
                    held.remove(place);
                    *list = if place == held.len() {
                        shorter(lists, *list)
                    } else {
                        held.iter()
                            .fold(LocksId(0), |list, one| number(lists, numbers, list, *one))
                    };
                }
            }
        }
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
        self.held.remove(strand);
    }
}

type Lists = Vec<(LocksId, Held)>;

/// The number of a list with one more lock.
fn number(
    lists: &mut Lists,
    numbers: &mut QuickMap<(LocksId, Held), LocksId>,
    list: LocksId,
    one: Held,
) -> LocksId {
    *numbers.entry((list, one)).or_insert_with(|| {
        lists.push((list, one));
        LocksId(lists.len() as u32)
    })
}

/// A list without its last lock.
fn shorter(lists: &Lists, list: LocksId) -> LocksId {
    let last = (list.0 as usize).checked_sub(1);
    last.and_then(|at| lists.get(at))
        .map_or(LocksId(0), |(shorter, _)| *shorter)
}

//! Eraser: the discipline that every shared variable is guarded by a lock, and who breaks it.
//!
//! Paper: Savage, Burrows, Nelson, Sobalvarro and Anderson, "Eraser: a dynamic data race detector for multithreaded
//! programs", ACM TOCS 15(4), 1997 (SOSP 1997). KUDA runs it on a GPU.
//! Guarantee: none on the observed execution. It judges a discipline, not an order:
//! - *False alarms*: memory that is ordered by anything but one common lock: handed over by fork and join, barriers,
//!   semaphores, condition variables, atomics, or first by one lock and then by another.
//! - *Misses*: a race in which one side belongs to the exclusive phase, that is, was made before any second strand touched
//!   the byte; and races of a free with a use. There are no others: two later accesses that race have no lock in
//!   common (a common one would order them), so the candidates are empty and one of them writes.
//! - *What it has over the others*: it sees a missing lock even if this run's schedule happened to order the accesses.
//!
//! `tests/eraser.rs` checks the two claims about misses and false alarms pair by pair on random traces, and counts both.
//! Cost: one table look-up per access and cell; locksets are numbers, and their meets are remembered.
//!
//! | state           | access                     | then                                     | alarm if C is empty |
//! |-----------------|----------------------------|------------------------------------------|---------------------|
//! | virgin          | any, of t                  | exclusive(t)                             |                     |
//! | exclusive(t)    | any, of t                  | same                                     |                     |
//! | exclusive(t)    | read of another            | shared, C = locks held                   | no                  |
//! | exclusive(t)    | write of another           | shared-modified, C = locks held for writing | yes              |
//! | shared          | read                       | C := C ∩ locks held                      | no                  |
//! | shared          | write                      | shared-modified, C := C ∩ locks held for writing | yes         |
//! | shared-modified | read                       | C := C ∩ locks held                      | yes                 |
//! | shared-modified | write                      | C := C ∩ locks held for writing          | yes                 |
//! | any             | allocated, freed           | virgin                                   |                     |
//!
//! Paper -> code: C(v) = `Group::candidates`, locks_held(t) and write_locks_held(t) = `Held`, a lockset index = `Set`.
//! Deviations:
//! 1. A variable is a byte; bytes of a cell in the same state are one group.
//! 2. An atomic access holds one more lock, which all atomic accesses share: variables that only atomics touch are
//!    guarded by it, and a plain access among them is seen. (Valgrind's first Helgrind did so with its bus lock.)
//! 3. A free makes memory virgin, as the paper's allocation does. Taking the free for a write would raise an alarm at every
//!    last owner who frees without the lock, which is what nearly all programs do.
//! 4. An alarm names a second access, the last one of another strand, so that a report has two sides. It need not be at
//!    fault.
//!
//! Not covered: whatever is not a lock; locks that are taken for something else than the variable.

use std::collections::HashSet;

use deadheat_trace::{Action, Event, EventId, Range, Strand};

use crate::access::{Access, Effect, effect};
use crate::cells::{self, Clash, Pages, cells_of, mask_of};
use crate::detector::{Detector, Race};
use crate::entry::Op;
use crate::locksets::Sets;
pub use crate::locksets::{Holding, Lock, Mode, Set};

/// How often each rule fired, per group of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    pub virgin: u64,
    pub exclusive: u64,
    pub exclusive_to_shared: u64,
    pub exclusive_to_modified: u64,
    pub shared: u64,
    pub shared_to_modified: u64,
    pub modified_read: u64,
    pub modified_write: u64,
    pub alarm: u64,
    pub fresh: u64,
}

impl Counters {
    /// Every rule by name.
    pub fn rules(&self) -> [(&'static str, u64); 10] {
        [
            ("virgin", self.virgin),
            ("exclusive", self.exclusive),
            ("exclusive to shared", self.exclusive_to_shared),
            ("exclusive to shared-modified", self.exclusive_to_modified),
            ("shared", self.shared),
            ("shared to shared-modified", self.shared_to_modified),
            ("shared-modified read", self.modified_read),
            ("shared-modified write", self.modified_write),
            ("alarm", self.alarm),
            ("fresh", self.fresh),
        ]
    }
}

/// The state of some bytes that are not virgin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Exclusive,
    Shared,
    SharedModified,
}

/// Bytes of a cell that had the same past.
#[derive(Clone, Copy, Debug)]
struct Group<I> {
    bytes: u8,
    state: State,
    candidates: Set,
    /// The last access, and the last one of another strand than that.
    last: (Strand, I),
    other: (Strand, I),
}

// invariant: groups have no byte in common, and none is empty; virgin bytes are in no group
type Cell<I> = Vec<Group<I>>;

/// The detector's memory. `I` is whatever its user wants to have back of an older access.
#[derive(Clone, Debug)]
pub struct Eraser<I> {
    cells: Pages<Cell<I>>,
    holding: Holding,
    counters: Counters,
}

/// Some bytes of a cell as somebody else has watched them so far: see [`Eraser::adopt`].
#[derive(Clone, Copy, Debug)]
pub struct Watched<'a, I> {
    pub bytes: u8,
    pub state: State,
    /// The candidates are the locks that are in all of these.
    pub guards: &'a [&'a [Lock]],
    /// The last access, and the last one of another strand than that.
    pub last: (Strand, I),
    pub other: (Strand, I),
}

impl<I> Default for Eraser<I> {
    fn default() -> Self {
        Eraser {
            cells: Pages::default(),
            holding: Holding::default(),
            counters: Counters::default(),
        }
    }
}

impl<I: Copy> Eraser<I> {
    pub fn new() -> Eraser<I> {
        Eraser::default()
    }

    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// The strand has a lock now.
    pub fn took(&mut self, me: Strand, lock: Lock, mode: Mode) {
        if self.holding.is_due() {
            self.forget_sets();
        }
        self.holding.took(me, lock, mode);
    }

    /// Forgets the sets of locks that no byte and no strand has.
    #[cold]
    fn forget_sets(&mut self) {
        let groups = self.cells.iter().flatten();
        let candidates: HashSet<Set> = groups.map(|group| group.candidates).collect();
        self.holding.keep(|set| candidates.contains(&set));
    }

    /// Fewer sets of locks than these are not worth looking for those that nobody has: for tests.
    pub fn collect_from(&mut self, sets: usize) {
        self.holding.collect_from(sets);
    }

    /// How many sets of locks are remembered.
    pub fn sets(&self) -> usize {
        self.holding.count()
    }

    /// How many strands are remembered, for what they hold.
    pub fn strands(&self) -> usize {
        self.holding.strands()
    }

    /// The strand gives a lock back.
    pub fn gave(&mut self, me: Strand, lock: Lock, mode: Mode) {
        self.holding.gave(me, lock, mode);
    }

    /// The strand will do nothing more.
    pub fn ended(&mut self, me: Strand) {
        self.holding.ended(me);
    }

    /// Goes on from where somebody else has watched some bytes of a cell, of which nothing is remembered here.
    pub fn adopt(&mut self, cell: u64, watched: Watched<'_, I>) {
        let sets = &mut self.holding.sets;
        let mut guards = watched.guards.iter();
        let mut candidates = guards
            .next()
            .map_or(Set(0), |set| sets.number(set.to_vec()));
        for set in guards {
            let set = sets.number(set.to_vec());
            candidates = sets.meet(candidates, set);
        }
        let cell = self.cells.cell(cell);
        cell.push(Group {
            bytes: watched.bytes,
            state: watched.state,
            candidates,
            last: watched.last,
            other: watched.other,
        });
        unite(cell);
    }

    /// The strand touches memory now.
    pub fn access(&mut self, me: Strand, access: Access, id: I, found: &mut Vec<Clash<I>>) {
        let set = self.holding.set(me, access.op, access.care);
        let sets = &mut self.holding.sets;
        for (number, mask) in cells_of(access.range) {
            let cell = self.cells.cell(number);
            let mut virgin = mask;
            for place in 0..cell.len() {
                let common = cell[place].bytes & mask;
                if common == 0 {
                    continue;
                }
                virgin &= !common;
                // Bytes that are not touched stay behind in a group of their own.
                if common != cell[place].bytes {
                    let rest = Group {
                        bytes: cell[place].bytes & !common,
                        ..cell[place]
                    };
                    cell[place].bytes = common;
                    cell.push(rest);
                }
                let group = &mut cell[place];
                if group.touch(me, access.op, set, id, sets, &mut self.counters) {
                    self.counters.alarm += 1;
                    found.push(Clash {
                        old: group.other.1,
                        cell: number,
                        bytes: common,
                    });
                }
            }
            if virgin != 0 {
                self.counters.virgin += 1;
                cell.push(Group {
                    bytes: virgin,
                    state: State::Exclusive,
                    candidates: Set(0),
                    last: (me, id),
                    other: (me, id),
                });
            }
            unite(cell);
        }
    }

    /// Memory is allocated or freed: virgin.
    pub fn fresh(&mut self, range: Range) {
        self.counters.fresh += 1;
        self.cells.existing(range, |number, cell| {
            let gone = mask_of(number, range);
            cell.retain_mut(|group| {
                group.bytes &= !gone;
                group.bytes != 0
            });
        });
    }

    /// All memory is virgin again; the locks stay held.
    pub fn forget(&mut self) {
        self.cells = Pages::default();
    }

    /// What is remembered of older accesses.
    pub fn ids(&self) -> impl Iterator<Item = I> {
        let groups = self.cells.iter().flatten();
        groups.flat_map(|group| [group.last.1, group.other.1])
    }

    /// Pages of memory that are remembered.
    pub fn pages(&self) -> usize {
        self.cells.pages()
    }
}

impl<I: Copy> Group<I> {
    /// One line of the rule table. True if there is an alarm; then `other` is the other side.
    fn touch(
        &mut self,
        me: Strand,
        op: Op,
        held: Set,
        id: I,
        sets: &mut Sets,
        counters: &mut Counters,
    ) -> bool {
        let (state, counter) = match (self.state, op) {
            (State::Exclusive, _) if self.last.0 == me => {
                counters.exclusive += 1;
                self.last.1 = id;
                return false;
            }
            (State::Exclusive, Op::Read) => (State::Shared, &mut counters.exclusive_to_shared),
            (State::Exclusive, Op::Write) => {
                (State::SharedModified, &mut counters.exclusive_to_modified)
            }
            (State::Shared, Op::Read) => (State::Shared, &mut counters.shared),
            (State::Shared, Op::Write) => (State::SharedModified, &mut counters.shared_to_modified),
            (State::SharedModified, Op::Read) => {
                (State::SharedModified, &mut counters.modified_read)
            }
            (State::SharedModified, Op::Write) => {
                (State::SharedModified, &mut counters.modified_write)
            }
        };
        *counter += 1;
        self.candidates = match self.state {
            State::Exclusive => held,
            State::Shared | State::SharedModified => sets.meet(self.candidates, held),
        };
        self.state = state;
        if self.last.0 != me {
            self.other = self.last;
        }
        self.last = (me, id);
        state == State::SharedModified && self.candidates == Set(0)
    }
}

/// Groups with the same past become one again.
fn unite<I: Copy>(cell: &mut Cell<I>) {
    let mut place = 1;
    while place < cell.len() {
        let group = cell[place];
        let same = |older: &&mut Group<I>| {
            older.state == group.state
                && older.candidates == group.candidates
                && older.last.0 == group.last.0
                && older.other.0 == group.other.0
        };
        match cell[..place].iter_mut().find(same) {
            Some(older) => {
                older.bytes |= group.bytes;
                cell.swap_remove(place);
            }
            None => place += 1,
        }
    }
}

/// Eraser on the events of a trace.
#[derive(Clone, Debug, Default)]
pub struct OnTrace {
    eraser: Eraser<EventId>,
    clashes: Vec<Clash<EventId>>,
}

impl OnTrace {
    pub fn new() -> OnTrace {
        OnTrace::default()
    }

    pub fn counters(&self) -> Counters {
        self.eraser.counters()
    }
}

/// What an event does to the locks that its strand holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Locking {
    Took(Lock, Mode),
    Gave(Lock, Mode),
}

/// What an event does to the locks that its strand holds; a wait gives its mutex back meanwhile.
pub fn locking(action: Action) -> Option<Locking> {
    match action {
        Action::Lock(mutex) | Action::Woken(_, mutex) => {
            Some(Locking::Took(Lock::Mutex(mutex), Mode::Write))
        }
        Action::Unlock(mutex) | Action::Wait(_, mutex) => {
            Some(Locking::Gave(Lock::Mutex(mutex), Mode::Write))
        }
        Action::ReadLock(lock) => Some(Locking::Took(Lock::RwLock(lock), Mode::Read)),
        Action::ReadUnlock(lock) => Some(Locking::Gave(Lock::RwLock(lock), Mode::Read)),
        Action::WriteLock(lock) => Some(Locking::Took(Lock::RwLock(lock), Mode::Write)),
        Action::WriteUnlock(lock) => Some(Locking::Gave(Lock::RwLock(lock), Mode::Write)),
        Action::Begin
        | Action::End
        | Action::Fork(_)
        | Action::Join(_)
        | Action::Detach(_)
        | Action::Await(_)
        | Action::Notify(_)
        | Action::Arrive(_)
        | Action::Leave(_)
        | Action::Release(_)
        | Action::Acquire(_)
        | Action::ReleaseAt(_)
        | Action::AcquireAt(_)
        | Action::ReplaceAt(_)
        | Action::Load(..)
        | Action::Store(..)
        | Action::Rmw(..)
        | Action::Fence(_)
        | Action::Read(_)
        | Action::Write(_)
        | Action::AtomicRead(_)
        | Action::AtomicWrite(_)
        | Action::Alloc(_)
        | Action::Free(_) => None,
    }
}

impl Detector for OnTrace {
    fn event(&mut self, id: EventId, event: &Event, found: &mut Vec<Race>) {
        let me = event.strand;
        match locking(event.action) {
            Some(Locking::Took(lock, mode)) => self.eraser.took(me, lock, mode),
            Some(Locking::Gave(lock, mode)) => self.eraser.gave(me, lock, mode),
            None => {}
        }
        match (event.action, effect(event.action)) {
            (Action::Free(range), _) | (_, Effect::Fresh(range)) => self.eraser.fresh(range),
            (_, Effect::Access(access)) => {
                self.eraser.access(me, access, id, &mut self.clashes);
                cells::races(id, &mut self.clashes, found);
            }
            (_, Effect::Nothing) => {}
        }
    }
}

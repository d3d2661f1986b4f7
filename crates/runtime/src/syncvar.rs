//! Synchronization objects of the program, known by their address: mutexes, condition variables, atomics, descriptors.
//!
//! An object carries the clock that a release leaves and an acquire takes. `SyncVar`s live in type-stable memory: a
//! strand's cache may hold a reference to one that was removed, and its address tells it so.

use core::cell::{Cell, UnsafeCell};
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use std_alloc::boxed::Box;
use std_alloc::collections::BTreeMap;
use std_alloc::sync::Arc;
use std_alloc::vec::Vec;

use deadheat_detect::entry::{self, Entry};

use crate::clock::Clock;
use crate::intern::StackId;
use crate::record::acts;
use crate::runtime::Runtime;
use crate::shadow::Shadow;
use crate::strand::Strand;
use crate::sync::{BriefLock, Locked, SpinLock};
use crate::sync_places::SyncPlaces;
use crate::sys;
use crate::threads::ThreadId;

/// A number for a synchronization object, never used again.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Default, PartialOrd, Ord)]
#[repr(transparent)]
pub struct SyncId(pub u32);

/// What an object is, as far as its use has shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Kind {
    #[default]
    Unknown,
    Atomic,
    Mutex,
    RecursiveMutex,
    RwLock,
    SpinLock,
    Condition,
    Barrier,
    Once,
    Semaphore,
    Annotation,
    Descriptor,
    Thread,
    Signal,
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Kind::Unknown => "object",
            Kind::Atomic => "atomic",
            Kind::Mutex => "mutex",
            Kind::RecursiveMutex => "recursive mutex",
            Kind::RwLock => "rwlock",
            Kind::SpinLock => "spinlock",
            Kind::Condition => "condition variable",
            Kind::Barrier => "barrier",
            Kind::Once => "once",
            Kind::Semaphore => "semaphore",
            Kind::Annotation => "annotation",
            Kind::Descriptor => "descriptor",
            Kind::Thread => "thread",
            Kind::Signal => "signal",
        }
    }
}

/// The part of an object that only the holder of its lock touches.
#[derive(Default)]
#[repr(C)]
pub struct State {
    /// Who released what is in `clock`: if that was one, it is exactly what he published at that number.
    last: Released,
    /// What was released into the object.
    pub clock: Clock,
    pub kind: Kind,
    pub id: SyncId,
    /// Where the object is.
    pub addr: usize,
    more: Option<Box<Usage>>,
    /// While the program records: stands for what was told to the object last, differently each time; 0 for nothing.
    pub told: Cell<u64>,
}

/// How an object other than an atomic is used: who holds it, who waits. Made when first asked for.
#[derive(Default)]
pub struct Usage {
    /// What readers of a read-write lock released, for the next writer.
    pub readers: Clock,
    /// Where it was made, if that was seen.
    pub created: StackId,
    /// Who holds it exclusively, how many times, and since where.
    pub owner: Option<ThreadId>,
    pub depth: u32,
    pub taken_at: StackId,
    /// Who holds it shared: thread and how many times.
    pub sharers: Vec<(ThreadId, u32)>,
    /// Destroyed, by whom and where.
    pub destroyed: Option<(ThreadId, StackId)>,
    /// Threads that wait on it now, and (for a condition variable) with which mutex.
    pub waiters: u32,
    pub partner: usize,
    /// For a barrier: what the present and the previous round gathered, and how many threads a round takes.
    pub rounds: [Option<Arc<Locked<Clock>>>; 2],
    pub arrived: u32,
    pub parties: u32,
    pub round: u32,
    /// More threads came than a round takes: rounds cannot be told apart any more.
    pub crowded: bool,
}

impl Usage {
    /// Counts the strand into a round of a barrier; what that round gathers. It is shared, because a barrier may be destroyed by one of
    /// the threads that leave it while others still do.
    pub fn arrive(&mut self, s: &mut Strand) -> Arc<Locked<Clock>> {
        self.waiters += 1;
        let crowded = self.parties == 0 || self.waiters > self.parties;
        let at = self.round as usize % 2;
        if self.arrived == 0 && !crowded {
            self.rounds[at] = None;
        }
        let round = self.rounds[at].get_or_insert_default().clone();
        round.lock().join(s.published());
        if crowded && let Some(other) = &self.rounds[at ^ 1] {
            round.lock().join(&other.lock());
            other.lock().join(&round.lock());
        }
        s.begin_step();
        self.arrived += 1;
        if self.arrived >= self.parties {
            self.arrived = 0;
            self.round = self.round.wrapping_add(1);
        }
        round
    }
}

/// A synchronization object. What atomic operations use of it is in one line of the processor's cache, and nothing else.
#[repr(C, align(64))]
pub struct SyncVar {
    addr: AtomicU64,
    /// The number of this one, and of the next in the same cell.
    pub(crate) index: u32,
    pub(crate) next: AtomicU32,
    lock: BriefLock,
    /// What [`Released`] says of the state; only believable if the lock was not taken meanwhile.
    released: AtomicU64,
    state: UnsafeCell<State>,
}

/// Who released what is in an object, in short.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Released(u64);

impl Released {
    /// By more than one, or it is not known by whom.
    const MANY: Released = Released(u64::MAX);
    /// By nobody: every strand knows number 0 of every slot.
    const NOTHING: Released = Released(0);

    /// By that slot at that number, which must be all that is in it.
    fn by(slot: u16, seq: u64) -> Released {
        Released(entry::stamp(slot, seq))
    }

    /// The slot and its number, if it was one.
    #[inline(always)]
    fn by_whom(self) -> Option<(u16, u64)> {
        let one = Entry(self.0);
        (self != Self::MANY && self != Self::NOTHING).then_some((one.slot(), one.seq()))
    }

    /// Is all of it surely in the clock, which is what strands knew when they released something?
    #[inline(always)]
    pub fn is_in(self, clock: &Clock) -> bool {
        self != Self::MANY && clock.covers_word(self.0)
    }
}

const _: () = assert!(core::mem::offset_of!(SyncVar, state) + CLOCK_END <= 64);
const CLOCK_END: usize = core::mem::offset_of!(State, clock) + Clock::LEN + size_of::<usize>();

// SAFETY: the state is only reached through `with`, under the lock.
unsafe impl Sync for SyncVar {}
// SAFETY: as above.
unsafe impl Send for SyncVar {}

impl SyncVar {
    pub fn new(addr: usize, index: u32) -> Self {
        SyncVar {
            addr: AtomicU64::new(addr as u64),
            index,
            next: AtomicU32::new(0),
            lock: BriefLock::new(),
            released: AtomicU64::new(Released::NOTHING.0),
            state: UnsafeCell::new(State::default()),
        }
    }

    pub fn addr(&self) -> usize {
        self.addr.load(Ordering::Relaxed) as usize
    }

    /// The object is the one at `addr` now.
    pub fn move_to(&self, addr: usize) {
        self.addr.store(addr as u64, Ordering::Relaxed);
    }

    /// Runs `f` alone on the object. The caller must be inside the runtime and must not block in `f`.
    #[inline(always)]
    pub fn with<R>(&self, f: impl FnOnce(&mut State) -> R) -> R {
        self.lock.lock();
        // SAFETY: the lock is held.
        let state = unsafe { &mut *self.state.get() };
        let result = f(state);
        self.released.store(state.last.0, Ordering::Relaxed);
        self.lock.unlock();
        result
    }

    /// What `f` makes of what was released, if that was the same all the while; without the lock.
    #[inline(always)]
    pub fn unchanged_while<R>(&self, f: impl FnOnce(Released) -> Option<R>) -> Option<R> {
        let before = self.lock.turn()?;
        let result = f(Released(self.released.load(Ordering::Acquire)))?;
        (self.lock.turn() == Some(before)).then_some(result)
    }
}

impl State {
    /// Does the strand surely know all that was released into the object? (It may, even if this says no.)
    #[inline]
    pub fn known_to(&self, s: &Strand) -> bool {
        self.last.is_in(&s.clock)
    }

    /// The strand learns what was released into the object.
    #[inline]
    pub fn acquire(&mut self, rt: &Runtime, s: &mut Strand) {
        if s.recording() {
            acts::acquired(s, self);
        } else if !self.known_to(s) && s.clock.join(&self.clock) {
            s.learned(rt);
        }
    }

    /// The object forgets by whom it was last released if that was by `slot` after number `above`: see
    /// [`crate::threads`].
    pub fn forget_releaser(&mut self, above: impl Fn(u16) -> Option<u64>) {
        if let Some((slot, seq)) = self.last.by_whom()
            && above(slot).is_some_and(|above| seq > above)
        {
            self.last = Released::MANY;
        }
    }

    /// How the object is used, if it is more than an atomic.
    pub fn usage_if_any(&self) -> Option<&Usage> {
        self.more.as_deref()
    }

    /// A new object at the same address: another number, nothing remembered.
    pub fn renew(&mut self, kind: Kind, id: SyncId) {
        self.clock.clear();
        *self = State {
            kind,
            id,
            addr: self.addr,
            clock: core::mem::take(&mut self.clock),
            last: Released::NOTHING,
            more: None,
            told: Cell::new(0),
        };
    }

    /// How the object is used.
    #[inline]
    pub fn usage(&mut self) -> &mut Usage {
        self.more.get_or_insert_with(Box::default)
    }

    /// The strand, about to take a read-write lock exclusively, learns from readers too.
    pub fn acquire_readers(&mut self, rt: &Runtime, s: &mut Strand) {
        if s.clock.join(&self.usage().readers) {
            s.learned(rt);
        }
    }

    /// The object forgets what it held and gets what the strand knows now.
    #[inline]
    pub fn release_store(&mut self, s: &mut Strand) {
        if s.recording() {
            return acts::replaced(s, self);
        }
        match self.last.by_whom() {
            Some((slot, seq)) if slot == s.slot && seq >= s.learned_at => {
                self.clock.set(slot, s.seq)
            }
            _ => {
                // Not by `published`: who reads what was just written to, in larger pieces, waits for it.
                self.clock.copy_from(&s.clock);
                self.clock.set(s.slot, s.seq);
            }
        }
        self.last = Released::by(s.slot, s.seq);
        s.begin_step();
    }

    /// The object gets what the strand knows now, beside what it held.
    #[inline]
    pub fn release(&mut self, s: &mut Strand) {
        if s.recording() {
            return acts::released(s, self);
        }
        if self.known_to(s) || s.clock.covers(&self.clock) {
            return self.release_store(s);
        }
        self.clock.join(&s.clock);
        self.clock.set(s.slot, s.seq);
        self.last = Released::MANY;
        s.begin_step();
    }

    /// A reader of a read-write lock leaves: only the next writer learns of it.
    pub fn release_reader(&mut self, s: &mut Strand) {
        self.usage().readers.join(s.published());
        s.begin_step();
    }

    /// Replaces what is held by `clock` (a relaxed store after a release fence, or with nothing before it).
    pub fn store_clock(&mut self, clock: &Clock) {
        self.clock.copy_from(clock);
        self.last = if clock.is_empty() {
            Released::NOTHING
        } else {
            Released::MANY
        };
    }

    /// Adds `clock` to what is held (a relaxed read-modify-write after a release fence).
    pub fn add_clock(&mut self, clock: &Clock) {
        if self.clock.join(clock) {
            self.last = Released::MANY;
        }
    }
}

/// All synchronization objects, by address.
pub struct SyncVars {
    places: SyncPlaces,
    free: Locked<Vec<&'static SyncVar>>,
    names: Locked<Names>,
    name_bytes: AtomicU64,
}

/// What a report says of an object: its address, its kind, and where it was made.
type Name = (u64, Kind, StackId);

/// The names of all objects that a report may show, even after the object is gone.
struct Names {
    by_id: BTreeMap<u32, Name>,
    last: u32,
    /// The last number when names were last forgotten.
    last_then: u32,
}

/// What one name takes.
const NAME_BYTES: u64 = 48;

impl SyncVars {
    pub const fn new() -> Self {
        SyncVars {
            places: SyncPlaces::new(),
            free: Locked::new(Vec::new()),
            names: Locked::new(Names {
                by_id: BTreeMap::new(),
                last: 0,
                last_then: 0,
            }),
            name_bytes: AtomicU64::new(0),
        }
    }

    /// The object at `addr` if there is one.
    #[inline]
    pub fn find(&self, s: &mut Strand, addr: usize) -> Option<&'static SyncVar> {
        if let Some(var) = s.cached_var(addr) {
            return Some(var);
        }
        let var = self.places.find(&s.runtime?.shadow, addr)?;
        s.cache_var(addr, var);
        Some(var)
    }

    /// What `f` makes, if there was no object at `addr` all the while.
    #[inline]
    pub fn none_while<R>(&self, s: &Strand, addr: usize, f: impl Fn() -> R) -> Option<R> {
        self.places.none_while(&s.runtime?.shadow, addr, f)
    }

    /// The object at `addr`, made if there is none. `kind` is set on a new one or an unknown one.
    #[inline(always)]
    pub fn get(&self, s: &mut Strand, addr: usize, kind: Kind) -> &'static SyncVar {
        match s.cached_var(addr) {
            Some(var) => var,
            None => self.get_uncached(s, addr, kind),
        }
    }

    #[inline(never)]
    fn get_uncached(&self, s: &mut Strand, addr: usize, kind: Kind) -> &'static SyncVar {
        match self.find(s, addr) {
            Some(var) => var,
            None => self.get_slow(s, addr, kind),
        }
    }

    #[inline(never)]
    fn get_slow(&self, s: &mut Strand, addr: usize, kind: Kind) -> &'static SyncVar {
        let shadow = match s.runtime {
            Some(rt) => &rt.shadow,
            None => sys::die("a thread that is not known uses a synchronization object"),
        };
        let var = self
            .places
            .find_or_put(shadow, addr, || self.make(addr, kind));
        s.cache_var(addr, var);
        var
    }

    fn make(&self, addr: usize, kind: Kind) -> &'static SyncVar {
        let recycled = self.free.lock().pop();
        let var = match recycled {
            Some(var) => {
                var.move_to(addr);
                var
            }
            None => self.places.grow(addr),
        };
        // An atomic has no identity in reports, so it takes no number.
        let id = if kind == Kind::Atomic {
            SyncId(0)
        } else {
            self.name(addr, kind, StackId(0))
        };
        // The clock keeps its memory: objects with a count in them come and go.
        var.with(|state| {
            state.addr = addr;
            state.renew(kind, id);
        });
        var
    }

    /// A new number for an object that reports may name.
    pub fn name(&self, addr: usize, kind: Kind, created: StackId) -> SyncId {
        let mut names = self.names.lock();
        names.last += 1;
        let id = names.last;
        names.by_id.insert(id, (addr as u64, kind, created));
        self.name_bytes.fetch_add(NAME_BYTES, Ordering::Relaxed);
        SyncId(id)
    }

    /// Sets what reports say of an object.
    pub fn rename(&self, id: SyncId, kind: Kind, created: StackId) {
        if let Some(name) = self.names.lock().by_id.get_mut(&id.0) {
            *name = (name.0, kind, created);
        }
    }

    /// Address, kind and place of creation of a numbered object.
    pub fn describe(&self, id: SyncId) -> Option<(u64, Kind, StackId)> {
        self.names.lock().by_id.get(&id.0).copied()
    }

    /// What the names take.
    pub fn name_bytes(&self) -> u64 {
        self.name_bytes.load(Ordering::Relaxed)
    }

    /// Calls `f` for each name.
    pub fn each_name(&self, mut f: impl FnMut(Name)) {
        self.names.lock().by_id.values().for_each(|&name| f(name));
    }

    /// Forgets the names of objects that are not `named`. New ones stay once more: who has just made one may not have put it
    /// down yet.
    pub fn forget_names(&self, named: impl Fn(SyncId) -> bool) {
        let mut names = self.names.lock();
        let (before, new) = (names.by_id.len(), names.last_then);
        names.by_id.retain(|&id, _| id > new || named(SyncId(id)));
        names.last_then = names.last;
        let gone = (before - names.by_id.len()) as u64;
        self.name_bytes
            .fetch_sub(gone * NAME_BYTES, Ordering::Relaxed);
    }

    /// Calls `f` for each object that there is. It must not look for objects.
    pub fn each(&self, mut f: impl FnMut(&mut State)) {
        self.places.each(|var| {
            var.with(|state| {
                if var.addr() != 0 {
                    f(state);
                }
            });
        });
    }

    /// Removes every object in `[start, start + len)`, calling `seen` for each before.
    pub fn remove_range(
        &self,
        shadow: &Shadow,
        start: usize,
        len: usize,
        mut seen: impl FnMut(&'static SyncVar),
    ) {
        self.places.take_range(shadow, start, len, |var| {
            seen(var);
            var.move_to(0);
            self.free.lock().push(var);
        });
    }

    /// Calls `f` for each lock that is held over a fork.
    pub fn each_lock(&self, f: &dyn Fn(&SpinLock)) {
        self.places.each_lock(f);
        f(self.free.spin());
        f(self.names.spin());
    }

    /// # Safety
    /// No other thread may exist.
    pub unsafe fn after_fork(&self) {
        // SAFETY: by the contract.
        unsafe {
            self.places.after_fork();
            self.places.each(|var| var.lock.force_unlock());
            self.free.force_unlock();
            self.names.force_unlock();
        }
    }
}

impl Default for SyncVars {
    fn default() -> Self {
        SyncVars::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changed_meanwhile_is_not_believed() {
        let var = SyncVar::new(8, 1);
        assert_eq!(var.unchanged_while(|_| Some(1)), Some(1));
        assert_eq!(var.unchanged_while(|_| None::<u32>), None);
        let changing = var.unchanged_while(|_| {
            var.with(|_| ());
            Some(1)
        });
        assert_eq!(changing, None);
        var.with(|_| assert_eq!(var.unchanged_while(|_| Some(1)), None));
    }
}

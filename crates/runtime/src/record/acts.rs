//! What others can see of a strand that records: synchronization and memory's life, each with its number.
//!
//! Callers hold the lock of the object, if there is one: the number's order is the order of what happens to the object.

use core::sync::atomic::Ordering;

use deadheat_trace::wire::{self, Act, MemoryKind, Object, ObjectKind, StackNode};
use deadheat_trace::{
    Action, Addr, Barrier, Channel, FenceOrder, LoadOrder, Mutex, Place, Range, RmwOrder, Round,
    RwLock, StoreOrder, Strand as Name, Width,
};

use crate::intern::StackId;
use crate::locks::Mode;
use crate::ordering::Order;
use crate::record::Recorder;
use crate::runtime::RT;
use crate::strand::Strand;
use crate::syncvar::{Kind, State, SyncId};
use crate::threads::ThreadId;

impl Kind {
    pub fn recorded(self) -> ObjectKind {
        match self {
            Kind::Unknown => ObjectKind::Unknown,
            Kind::Atomic => ObjectKind::Atomic,
            Kind::Mutex => ObjectKind::Mutex,
            Kind::RecursiveMutex => ObjectKind::RecursiveMutex,
            Kind::RwLock => ObjectKind::RwLock,
            Kind::SpinLock => ObjectKind::SpinLock,
            Kind::Condition => ObjectKind::Condition,
            Kind::Barrier => ObjectKind::Barrier,
            Kind::Once => ObjectKind::Once,
            Kind::Semaphore => ObjectKind::Semaphore,
            Kind::Annotation => ObjectKind::Annotation,
            Kind::Descriptor => ObjectKind::Descriptor,
            Kind::Thread => ObjectKind::Thread,
            Kind::Signal => ObjectKind::Signal,
        }
    }
}

/// Does a new step begin after this? After a release, because what follows is not told by it; and after an acquire, because
/// memory that the strand knows may have become something else before it learned of that.
fn ends_step(action: &Action) -> bool {
    match action {
        Action::Begin
        | Action::Detach(_)
        | Action::Await(_)
        | Action::Notify(_)
        | Action::Read(_)
        | Action::Write(_)
        | Action::AtomicRead(_)
        | Action::AtomicWrite(_)
        | Action::Alloc(_)
        | Action::Free(_)
        | Action::Load(_, LoadOrder::Relaxed)
        | Action::Store(_, StoreOrder::Relaxed)
        | Action::Rmw(_, RmwOrder::Relaxed)
        | Action::Fence(FenceOrder::Relaxed) => false,
        Action::End
        | Action::Fork(_)
        | Action::Join(_)
        | Action::Lock(_)
        | Action::Unlock(_)
        | Action::ReadLock(_)
        | Action::ReadUnlock(_)
        | Action::WriteLock(_)
        | Action::WriteUnlock(_)
        | Action::Wait(..)
        | Action::Woken(..)
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
        | Action::Fence(_) => true,
    }
}

/// Writes an act down. The strand is inside the runtime.
#[inline]
pub fn act(s: &mut Strand, action: Action, at: StackId, object: Object, memory: MemoryKind) {
    if let Some(recorder) = s.recorder() {
        write(recorder, action, at, object, memory);
    }
}

#[inline(always)]
fn write(recorder: &mut Recorder, action: Action, at: StackId, object: Object, memory: MemoryKind) {
    if recorder.is_deaf() {
        return;
    }
    // Room first: a number that was taken must be written without waiting for anybody.
    recorder.prepare();
    let number = &recorder.arena.header().number;
    let act = Act {
        number: number.fetch_add(1, Ordering::AcqRel),
        action,
        at: StackNode(at.0),
        object,
        memory,
    };
    if let Some(words) = wire::act(&act) {
        recorder.put(&words);
    }
    if ends_step(&action) {
        recorder.new_step();
    }
}

fn bare(s: &mut Strand, action: Action, at: StackId) {
    act(s, action, at, Object::default(), MemoryKind::Other);
}

// ---- threads ----

pub fn begun(s: &mut Strand) {
    bare(s, Action::Begin, StackId(0));
}

/// The strand ends; it records nothing more.
pub fn ended(s: &mut Strand) {
    bare(s, Action::End, StackId(0));
    Recorder::detach(s);
}

pub fn forked(s: &mut Strand, child: ThreadId, at: StackId) {
    bare(s, Action::Fork(Name(child.0)), at);
}

/// Nobody will join the child.
pub fn detached(s: &mut Strand, child: ThreadId) {
    bare(s, Action::Detach(Name(child.0)), StackId(0));
}

/// The strand waits for the end of the child, and does nothing before, unless a handler of a signal does.
pub fn awaits(s: &mut Strand, child: ThreadId) {
    if !RT.threads.has_handlers() {
        bare(s, Action::Await(Name(child.0)), StackId(0));
    }
}

pub fn joined(s: &mut Strand, child: ThreadId) {
    if !s.recording() {
        return;
    }
    let at = s.stack(&RT);
    bare(s, Action::Join(Name(child.0)), at);
}

// ---- locks ----

fn object(kind: Kind, addr: usize) -> Object {
    Object {
        kind: kind.recorded(),
        addr: addr as u64,
    }
}

/// Locks that have readers.
fn is_shared_lock(kind: Kind) -> bool {
    matches!(kind, Kind::RwLock | Kind::Annotation)
}

/// Room for an act is made before its object is locked.
#[inline(always)]
pub fn prepare(s: &mut Strand) {
    if let Some(recorder) = s.recorder() {
        recorder.prepare();
    }
}

/// The strand is about to take a lock: what it does until it gives it back should not have to wait for the checker, for
/// others may spin meanwhile.
#[inline(always)]
pub fn ready(s: &mut Strand) {
    if let Some(recorder) = s.recorder() {
        recorder.ready();
    }
}

/// The strand has the lock now, and had it not before.
pub fn took(s: &mut Strand, id: SyncId, kind: Kind, addr: usize, mode: Mode, at: StackId) {
    let n = id.0 as u64;
    let action = match (is_shared_lock(kind), mode) {
        (true, Mode::Exclusive) => Action::WriteLock(RwLock(n)),
        (_, Mode::Shared) => Action::ReadLock(RwLock(n)),
        (false, Mode::Exclusive) => Action::Lock(Mutex(n)),
    };
    act(s, action, at, object(kind, addr), MemoryKind::Other);
}

/// The strand gives the lock back for good.
pub fn gave(s: &mut Strand, id: SyncId, kind: Kind, addr: usize, mode: Mode, at: StackId) {
    let n = id.0 as u64;
    let action = match (is_shared_lock(kind), mode) {
        (true, Mode::Exclusive) => Action::WriteUnlock(RwLock(n)),
        (_, Mode::Shared) => Action::ReadUnlock(RwLock(n)),
        (false, Mode::Exclusive) => Action::Unlock(Mutex(n)),
    };
    act(s, action, at, object(kind, addr), MemoryKind::Other);
}

// ---- everything else that carries order ----

/// Is it a lock? Everything else carries order by its address: a guard of a static variable is released by us and acquired
/// by the compiler's own atomic load.
fn is_lock(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Mutex | Kind::RecursiveMutex | Kind::SpinLock | Kind::RwLock
    )
}

/// The strand tells the object all that it knows.
pub fn released(s: &mut Strand, state: &State) {
    let at = s.stack(&RT);
    if is_lock(state.kind) {
        gave(s, state.id, state.kind, state.addr, Mode::Exclusive, at);
    } else {
        bare(s, Action::ReleaseAt(Addr(state.addr as u64)), at);
        told(s, state);
    }
}

/// The object was told something by the last act: whoever hears it next may learn something new.
fn told(s: &mut Strand, state: &State) {
    if let Some(recorder) = s.recorder() {
        let number = &recorder.arena.header().number;
        state.told.set(number.load(Ordering::Acquire));
    }
}

/// The same, and what was told to the object before is forgotten.
pub fn replaced(s: &mut Strand, state: &State) {
    if is_lock(state.kind) {
        return released(s, state);
    }
    let at = s.stack(&RT);
    bare(s, Action::ReplaceAt(Addr(state.addr as u64)), at);
    told(s, state);
}

/// The strand learns what was told to the object.
pub fn acquired(s: &mut Strand, state: &State) {
    let at = s.stack(&RT);
    if is_lock(state.kind) {
        took(s, state.id, state.kind, state.addr, Mode::Exclusive, at);
    } else {
        bare(s, Action::AcquireAt(Addr(state.addr as u64)), at);
    }
}

/// Fibers: all that `from` knows is known to `to`.
pub fn handed_over(from: &mut Strand, to: &mut Strand) {
    // Beyond all numbers of objects.
    let channel = Channel(1 << 40 | to.thread.0 as u64);
    let object = Object {
        kind: ObjectKind::Thread,
        addr: 0,
    };
    act(
        from,
        Action::Release(channel),
        StackId(0),
        object,
        MemoryKind::Other,
    );
    act(
        to,
        Action::Acquire(channel),
        StackId(0),
        object,
        MemoryKind::Other,
    );
}

/// One round of a barrier.
pub fn arrived(s: &mut Strand, id: SyncId, addr: usize, round: u64, at: StackId) {
    let action = Action::Arrive(Round {
        barrier: Barrier(id.0 as u64),
        phase: round,
    });
    act(
        s,
        action,
        at,
        object(Kind::Barrier, addr),
        MemoryKind::Other,
    );
}

pub fn left(s: &mut Strand, id: SyncId, addr: usize, round: u64, at: StackId) {
    let action = Action::Leave(Round {
        barrier: Barrier(id.0 as u64),
        phase: round,
    });
    act(
        s,
        action,
        at,
        object(Kind::Barrier, addr),
        MemoryKind::Other,
    );
}

/// More threads are in a barrier than a round takes: nobody can tell the rounds apart, so all who come are ordered.
pub fn crowded(s: &mut Strand, addr: usize) {
    let channel = Channel(1 << 41 | addr as u64);
    let at = s.stack(&RT);
    let object = object(Kind::Barrier, addr);
    act(s, Action::Release(channel), at, object, MemoryKind::Other);
}

pub fn left_crowd(s: &mut Strand, addr: usize) {
    let channel = Channel(1 << 41 | addr as u64);
    let at = s.stack(&RT);
    let object = object(Kind::Barrier, addr);
    act(s, Action::Acquire(channel), at, object, MemoryKind::Other);
}

// ---- atomics ----

fn place(addr: usize, size: usize) -> Option<Place> {
    Place::new(Addr(addr as u64), width(size)?)
}

/// The widest operation on the first bytes of an object of that size.
fn width(size: usize) -> Option<Width> {
    let fits = |width: &Width| width.bytes() <= size as u64;
    Width::ALL.into_iter().rfind(fits)
}

/// How many bytes of an object an operation on it names; for the rest see [`crate::record::atomics`].
pub fn named(size: usize) -> usize {
    width(size).map_or(size, |width| width.bytes() as usize)
}

pub fn load(s: &mut Strand, addr: usize, size: usize, order: Order, at: StackId) {
    let order = match (order.acquires(), order.is_seq_cst()) {
        (_, true) => LoadOrder::SeqCst,
        (true, _) => LoadOrder::Acquire,
        (false, _) => LoadOrder::Relaxed,
    };
    if let Some(place) = place(addr, size) {
        bare(s, Action::Load(place, order), at);
    }
}

pub fn store(s: &mut Strand, state: &State, addr: usize, size: usize, order: Order, at: StackId) {
    let order = match (order.releases(), order.is_seq_cst()) {
        (_, true) => StoreOrder::SeqCst,
        (true, _) => StoreOrder::Release,
        (false, _) => StoreOrder::Relaxed,
    };
    if let Some(place) = place(addr, size) {
        bare(s, Action::Store(place, order), at);
    }
    told(s, state);
}

pub fn modify(s: &mut Strand, state: &State, addr: usize, size: usize, order: Order, at: StackId) {
    let order = match (order.acquires(), order.releases(), order.is_seq_cst()) {
        (_, _, true) => RmwOrder::SeqCst,
        (true, true, _) => RmwOrder::AcqRel,
        (true, false, _) => RmwOrder::Acquire,
        (false, true, _) => RmwOrder::Release,
        (false, false, _) => RmwOrder::Relaxed,
    };
    if let Some(place) = place(addr, size) {
        bare(s, Action::Rmw(place, order), at);
    }
    told(s, state);
}

pub fn fence(s: &mut Strand, order: Order) {
    let order = match (order.acquires(), order.releases(), order.is_seq_cst()) {
        (_, _, true) => FenceOrder::SeqCst,
        (true, true, _) => FenceOrder::AcqRel,
        (true, false, _) => FenceOrder::Acquire,
        (false, true, _) => FenceOrder::Release,
        (false, false, _) => FenceOrder::Relaxed,
    };
    bare(s, Action::Fence(order), StackId(0));
}

// ---- memory's life ----

fn range(start: usize, size: usize) -> Option<Range> {
    Range::new(Addr(start as u64), size as u64)
}

/// The memory is new from here on.
pub fn fresh(s: &mut Strand, start: usize, size: usize, kind: MemoryKind, at: StackId) {
    if let Some(range) = range(start, size) {
        act(s, Action::Alloc(range), at, Object::default(), kind);
        if let Some(recorder) = s.recorder() {
            recorder.forget_range(start, size);
        }
    }
}

/// The memory is given up.
pub fn given_up(s: &mut Strand, start: usize, size: usize, at: StackId) {
    if let Some(range) = range(start, size) {
        bare(s, Action::Free(range), at);
    }
}

/// What some memory is, for reports.
pub fn memory(s: &mut Strand, kind: MemoryKind, start: usize, size: usize) {
    if let (Some(range), Some(recorder)) = (range(start, size), s.recorder()) {
        recorder.prepare();
        recorder.put(&wire::memory(kind, range));
    }
}

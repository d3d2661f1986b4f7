//! What a strand wants to do next: a short script, made by one decision and carried out by the scheduler.
//!
//! Scripts take locks in one global order (at most one mutex, then at most one read-write lock), so that strands
//! cannot block each other for ever.

use crate::event::{
    Action, Addr, Barrier, Channel, Condvar, FenceOrder, LoadOrder, Mutex, Place, Range, RmwOrder,
    RwLock, StoreOrder, Strand, Width,
};

use super::rng::Rng;

const REGIONS: u64 = 0x1000;
const REGION: u64 = 16;
const ATOMICS: u64 = 0x2000;
const BLOCKS: u64 = 0x3000;
const BLOCK: u64 = 40;
/// Blocks lie this far apart; a part of the last cell of each is never used.
const BLOCK_STRIDE: u64 = 48;

/// How the strands agree to touch a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Discipline {
    /// They do not.
    Wild,
    Guarded(Mutex),
    Shared(RwLock),
    /// Strand n touches only the n-th pair of bytes.
    OwnBytes,
    /// Written by `t0` before it forks, then only read.
    Constant,
    /// Written by one strand, published through a message, then only read by those who heard it.
    Published(Medium),
}

/// How a region is published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Medium {
    Atomic(Place),
    Channel(Channel),
}

/// How far a region to be published has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News {
    /// Nobody has claimed the writing of it.
    None,
    Claimed,
    /// The message is out.
    Out,
}

/// A heap block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    pub range: Range,
    pub guard: Option<Mutex>,
    pub live: bool,
}

/// One item of a script. Items that cannot be done when their turn comes are left out, except that for
/// a lock the strand waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Todo {
    Do(Action),
    /// Waits on the condition variable, if it is safe for this strand to wait.
    Wait(Condvar, Mutex),
    /// The message that makes region n public.
    Publish(usize, Action),
    /// Listens for the message about region n, and reads the region if it was out.
    Hear(usize, Action),
    /// Whatever can be done with block n now.
    Heap(usize),
    /// Forks a strand, if there may be one more; else joins.
    Spawn,
    /// Calls some strands to a round of the barrier.
    Gather(Barrier),
}

pub fn region(n: usize) -> Option<Range> {
    Range::new(Addr(REGIONS + n as u64 * REGION), REGION)
}

pub fn atomic(n: u64) -> Option<Place> {
    Place::new(Addr(ATOMICS + n * Width::Four.bytes()), Width::Four)
}

pub fn block(n: u64) -> Option<Range> {
    Range::new(Addr(BLOCKS + n * BLOCK_STRIDE), BLOCK)
}

/// Some bytes of a range: mostly 1, 2, 4 or 8, aligned or not, within a cell or across.
pub fn part_of(rng: &mut Rng, whole: Range) -> Range {
    let sizes = [
        (4, 1),
        (4, 2),
        (6, 4),
        (6, 8),
        (1, 3),
        (1, 5),
        (1, 7),
        (1, 16),
        (1, whole.size()),
    ];
    let size = rng.weighted(&sizes).unwrap_or(1).min(whole.size());
    let mut offset = rng.below(whole.size() - size + 1);
    if rng.chance(500) {
        offset -= offset % size;
    }
    Range::new(Addr(whole.addr().0 + offset), size).unwrap_or(whole)
}

/// A plain read or write of some bytes of a range.
pub fn access(rng: &mut Rng, whole: Range) -> Action {
    let part = part_of(rng, whole);
    if rng.chance(500) {
        Action::Read(part)
    } else {
        Action::Write(part)
    }
}

/// An atomic operation somewhere in a range of ordinary memory.
pub fn atomic_access(rng: &mut Rng, whole: Range) -> Option<Action> {
    let width = rng.pick(&Width::ALL[..4])?;
    let offset = rng.below(whole.size() / width.bytes()) * width.bytes();
    Some(operation(
        rng,
        Place::new(Addr(whole.addr().0 + offset), width)?,
    ))
}

/// Any operation of any order on an atomic.
pub fn operation(rng: &mut Rng, place: Place) -> Action {
    match rng.below(3) {
        0 => Action::Load(
            place,
            rng.pick(LoadOrder::ALL).unwrap_or(LoadOrder::Relaxed),
        ),
        1 => Action::Store(
            place,
            rng.pick(StoreOrder::ALL).unwrap_or(StoreOrder::Relaxed),
        ),
        _ => read_modify_write(rng, place),
    }
}

pub fn read_modify_write(rng: &mut Rng, place: Place) -> Action {
    Action::Rmw(place, rng.pick(RmwOrder::ALL).unwrap_or(RmwOrder::Relaxed))
}

pub fn fence(rng: &mut Rng) -> Action {
    Action::Fence(rng.pick(FenceOrder::ALL).unwrap_or(FenceOrder::Relaxed))
}

/// A section of a read-write lock in which some accesses are made; writes need it exclusively.
pub fn shared_section(lock: RwLock, accesses: Vec<Action>) -> Vec<Todo> {
    let writes = accesses
        .iter()
        .any(|access| matches!(access, Action::Write(_)));
    let (enter, leave) = if writes {
        (Action::WriteLock(lock), Action::WriteUnlock(lock))
    } else {
        (Action::ReadLock(lock), Action::ReadUnlock(lock))
    };
    [enter]
        .into_iter()
        .chain(accesses)
        .chain([leave])
        .map(Todo::Do)
        .collect()
}

/// A section of a mutex around some items.
pub fn section(mutex: Mutex, inside: Vec<Todo>) -> Vec<Todo> {
    let (enter, leave) = (
        Todo::Do(Action::Lock(mutex)),
        Todo::Do(Action::Unlock(mutex)),
    );
    [enter].into_iter().chain(inside).chain([leave]).collect()
}

/// Writes region n and sends the message: by a release operation, by a release fence and a relaxed one, or by a channel.
pub fn publish(rng: &mut Rng, n: usize, whole: Range, medium: Medium) -> Vec<Todo> {
    let mut script = vec![Todo::Do(Action::Write(whole))];
    let message = match medium {
        Medium::Channel(channel) => Action::Release(channel),
        Medium::Atomic(place) => match rng.below(6) {
            0 => Action::Store(place, StoreOrder::Release),
            1 => Action::Store(place, StoreOrder::SeqCst),
            2 => Action::Rmw(place, RmwOrder::Release),
            3 => Action::Rmw(place, RmwOrder::AcqRel),
            4 => {
                script.push(Todo::Do(Action::Fence(FenceOrder::Release)));
                Action::Store(place, StoreOrder::Relaxed)
            }
            _ => {
                script.push(Todo::Do(Action::Fence(FenceOrder::SeqCst)));
                Action::Rmw(place, RmwOrder::Relaxed)
            }
        },
    };
    script.push(Todo::Publish(n, message));
    script
}

/// The listening side of [`publish`].
pub fn hear(rng: &mut Rng, n: usize, medium: Medium) -> Vec<Todo> {
    let message = match medium {
        Medium::Channel(channel) => Action::Acquire(channel),
        Medium::Atomic(place) => match rng.below(5) {
            0 => Action::Load(place, LoadOrder::Acquire),
            1 => Action::Load(place, LoadOrder::SeqCst),
            2 => Action::Rmw(place, RmwOrder::Acquire),
            3 => Action::Load(place, LoadOrder::Relaxed),
            _ => Action::Rmw(place, RmwOrder::Relaxed),
        },
    };
    vec![Todo::Hear(n, message)]
}

/// Does hearing the message take a fence as well?
pub fn needs_fence(message: Action) -> bool {
    matches!(
        message,
        Action::Load(_, LoadOrder::Relaxed) | Action::Rmw(_, RmwOrder::Relaxed)
    )
}

/// The bytes of a region that belong to a strand, if there are any for it.
pub fn own_bytes(strand: Strand, whole: Range) -> Option<Range> {
    let offset = u64::from(strand.0) * 2;
    let mine = Range::new(Addr(whole.addr().0 + offset), 2)?;
    whole.contains(mine).then_some(mine)
}

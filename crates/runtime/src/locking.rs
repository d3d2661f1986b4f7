//! Locks being taken and given back: what every kind of lock (pthread, C11, annotated) tells the detector.
//!
//! | event        | clock of the lock L, of its readers R, of the strand C |
//! |--------------|---------------------------------------------------------|
//! | write lock   | C := C ⊔ L ⊔ R                                          |
//! | read lock    | C := C ⊔ L                                              |
//! | write unlock | L := C, R := 0, new step                                |
//! | read unlock  | R := R ⊔ C, new step                                    |
//!
//! A lock is noted as taken after the real one was got, and as given back before the real one is let go: so who is
//! noted as an owner surely is one, which is what [`crate::deadlock`] stands on. Callers are inside the runtime.

use deadheat_detect::entry::WRITE;
use std_alloc::vec::Vec;

use crate::access;
use crate::cell;
use crate::history::Touch;
use crate::intern::StackId;
use crate::lock_order;
use crate::locks::Mode;
use crate::misuse;
use crate::record::acts;
use crate::runtime::Runtime;
use crate::strand::Strand;
use crate::syncvar::{Kind, State, SyncId, SyncVar};
use crate::threads::ThreadId;

/// How a lock was got.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Got {
    /// By a call that waits for it: then the order of locks matters.
    Waiting,
    /// By a call that does not wait (or not for ever).
    Trying,
}

/// What came of giving back a lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Gave {
    /// It is free of this strand.
    All,
    /// One level of a recursive one.
    Level,
    /// It was held in another way, by nobody, or by somebody else; [`misuse`] has been told if that is to be told.
    Wrong,
}

fn has_readers(kind: Kind) -> bool {
    matches!(kind, Kind::RwLock | Kind::Annotation)
}

/// The number of the object, which it gets now if it was no lock before.
#[inline(always)]
pub fn settle(rt: &Runtime, state: &mut State, addr: usize, kind: Kind) -> SyncId {
    if state.kind != kind {
        become_kind(rt, state, addr, kind);
    }
    state.id
}

#[cold]
#[inline(never)]
fn become_kind(rt: &Runtime, state: &mut State, addr: usize, kind: Kind) {
    if state.id == SyncId(0) {
        state.id = rt.syncs.name(addr, kind, StackId(0));
    } else {
        let created = state.usage().created;
        rt.syncs.rename(state.id, kind, created);
    }
    state.kind = kind;
}

/// `s` has the lock at `addr` now.
#[inline]
pub fn took(
    rt: &Runtime,
    s: &mut Strand,
    addr: usize,
    kind: Kind,
    mode: Mode,
    got: Got,
    at: StackId,
) {
    acts::prepare(s);
    let var = rt.syncs.get(s, addr, kind);
    let knew = s.learned_at;
    let (id, first) = match note_taken(rt, s, var, addr, kind, mode, at) {
        Some(noted) => noted,
        None => {
            used_after_destroy(rt, s, var, addr, kind, at);
            note_taken(rt, s, var, addr, kind, mode, at).unwrap_or((SyncId(0), false))
        }
    };
    if s.learned_at != knew
        && let Some(cell) = rt.shadow.existing(addr)
        // SAFETY: the shadow gave the cell.
        && unsafe { cell::has_list(cell) }
    {
        access::touched_before_learning(rt, s, addr);
    }
    if first {
        let before = s.took_lock(rt, id, mode, at);
        if before.0 != 0 && got == Got::Waiting && rt.options.lock_order.on() && s.took_it_anew() {
            lock_order::took_while_holding(rt, s, before, id, mode, at);
        }
        match mode {
            Mode::Exclusive => s.note("lock", id, at),
            Mode::Shared => s.note("rdlock", id, at),
        }
    }
}

/// Notes the strand as a holder: the lock's number, and whether it is his first hold. None if the lock was destroyed.
#[inline(always)]
fn note_taken(
    rt: &Runtime,
    s: &mut Strand,
    var: &SyncVar,
    addr: usize,
    kind: Kind,
    mode: Mode,
    at: StackId,
) -> Option<(SyncId, bool)> {
    let me = s.thread;
    var.with(|state| {
        let id = settle(rt, state, addr, kind);
        if state.usage().destroyed.is_some() {
            return None;
        }
        if s.ignore_sync == 0 && !s.recording() {
            state.acquire(rt, s);
            if mode == Mode::Exclusive && has_readers(kind) {
                state.acquire_readers(rt, s);
            }
        }
        let usage = state.usage();
        let first = match mode {
            Mode::Exclusive if usage.owner == Some(me) => {
                usage.depth += 1;
                false
            }
            Mode::Exclusive => {
                usage.owner = Some(me);
                usage.depth = 1;
                usage.taken_at = at;
                true
            }
            Mode::Shared => share(&mut usage.sharers, me),
        };
        if first && s.recording() && s.ignore_sync == 0 {
            acts::took(s, id, kind, addr, mode, at);
        }
        Some((id, first))
    })
}

/// A destroyed object is used. Either the program made it again with an initialiser that we could not see as a call, or
/// this is a bug; in both cases it is a new object from here on.
#[cold]
pub fn used_after_destroy(
    rt: &Runtime,
    s: &mut Strand,
    var: &'static SyncVar,
    addr: usize,
    kind: Kind,
    at: StackId,
) {
    // The C library refuses a mutex that it destroyed, so one that it took is a new one.
    let mutex = matches!(kind, Kind::Mutex | Kind::RecursiveMutex);
    if !mutex && !written_since_destroy(rt, addr) {
        misuse::use_after_destroy(rt, s, var, at);
    }
    var.with(|state| {
        let id = rt.syncs.name(addr, kind, StackId(0));
        state.renew(kind, id);
    });
}

/// Has the program written to the object's memory since it was destroyed? The destruction itself was recorded as a write.
fn written_since_destroy(rt: &Runtime, addr: usize) -> bool {
    let Some(cell) = rt.shadow.existing(addr) else {
        return true;
    };
    let mut destroyed = false;
    let byte = 1u64 << (addr % 8);
    // SAFETY: a cell of the shadow, and the caller is inside the runtime.
    unsafe {
        cell::each_entry(cell, |entry| {
            if entry.0 & WRITE != 0 && entry.0 & byte != 0 {
                rt.histories
                    .of(entry.slot())
                    .each_access(entry, &mut |entry, record| {
                        let this = record.is_some_and(|r| r.place.touch() == Touch::Destroy);
                        destroyed |= this && entry.0 & byte != 0;
                    });
            }
        });
    }
    !destroyed
}

/// One more hold of a reader; true if it is his first.
fn share(sharers: &mut Vec<(ThreadId, u32)>, me: ThreadId) -> bool {
    if let Some(mine) = sharers.iter_mut().find(|(thread, _)| *thread == me) {
        mine.1 += 1;
        return false;
    }
    sharers.push((me, 1));
    true
}

/// One hold less of a reader; none if he has none, else how many are left.
fn unshare(sharers: &mut Vec<(ThreadId, u32)>, me: ThreadId) -> Option<u32> {
    let at = sharers.iter().position(|(thread, _)| *thread == me)?;
    sharers[at].1 -= 1;
    let left = sharers[at].1;
    if left == 0 {
        sharers.swap_remove(at);
    }
    Some(left)
}

/// Is it a bug to give back a lock that we did not see being taken?
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unseen {
    Wrong,
    /// No: the lock itself says that this thread has it; it was taken before we could see it.
    Fine,
}

/// `s` is about to give back the lock at `addr`, in whichever way it holds it.
#[inline]
pub fn giving(rt: &Runtime, s: &mut Strand, addr: usize, kind: Kind, at: StackId) -> Gave {
    giving_seen(rt, s, addr, kind, at, Unseen::Wrong)
}

/// As [`giving`], for a lock that may say itself who has it.
#[inline]
pub fn giving_seen(
    rt: &Runtime,
    s: &mut Strand,
    addr: usize,
    kind: Kind,
    at: StackId,
    unseen: Unseen,
) -> Gave {
    acts::prepare(s);
    let var = rt.syncs.get(s, addr, kind);
    let me = s.thread;
    let (id, gave, mode, odd) = var.with(|state| {
        let id = settle(rt, state, addr, kind);
        let usage = state.usage();
        let odd = usage.destroyed.is_some();
        if usage.owner == Some(me) {
            usage.depth -= 1;
            if usage.depth > 0 {
                return (id, Gave::Level, Mode::Exclusive, odd);
            }
            usage.owner = None;
            if has_readers(kind) {
                usage.readers.clear();
            }
            if s.ignore_sync == 0 {
                if s.recording() {
                    acts::gave(s, id, kind, addr, Mode::Exclusive, at);
                } else {
                    state.release_store(s);
                }
            }
            return (id, Gave::All, Mode::Exclusive, odd);
        }
        match unshare(&mut usage.sharers, me) {
            None => (id, Gave::Wrong, Mode::Shared, odd),
            Some(left) => {
                if s.ignore_sync == 0 {
                    if !s.recording() {
                        state.release_reader(s);
                    } else if left == 0 {
                        acts::gave(s, id, kind, addr, Mode::Shared, at);
                    }
                }
                (
                    id,
                    if left == 0 { Gave::All } else { Gave::Level },
                    Mode::Shared,
                    odd,
                )
            }
        }
    });
    match gave {
        Gave::All => {
            s.gave_lock(rt, id);
            match mode {
                Mode::Exclusive => s.note("unlock", id, at),
                Mode::Shared => s.note("rdunlock", id, at),
            }
        }
        Gave::Level => {}
        Gave::Wrong => {
            if !odd && unseen == Unseen::Wrong {
                misuse::wrong_unlock(rt, s, var, at);
            }
        }
    }
    if odd {
        used_after_destroy(rt, s, var, addr, kind, at);
    }
    gave
}

/// The object at `addr` is made new: another identity, nothing remembered.
pub fn created(
    rt: &Runtime,
    s: &mut Strand,
    addr: usize,
    kind: Kind,
    at: StackId,
) -> &'static SyncVar {
    rt.collector.maybe_collect(rt, s);
    let var = rt.syncs.get(s, addr, kind);
    let old = var.with(|state| {
        let old = state.id;
        let id = rt.syncs.name(addr, kind, at);
        state.renew(kind, id);
        state.usage().created = at;
        old
    });
    lock_order::forget(rt, old);
    var
}

/// The object at `addr` is destroyed.
pub fn destroyed(rt: &Runtime, s: &mut Strand, addr: usize, kind: Kind, at: StackId) {
    let var = rt.syncs.get(s, addr, kind);
    let me = s.thread;
    let (id, held, before) = var.with(|state| {
        let id = settle(rt, state, addr, kind);
        let usage = state.usage();
        let held = usage.owner.is_some() || !usage.sharers.is_empty() || usage.waiters > 0;
        (id, held, usage.destroyed.replace((me, at)))
    });
    if before.is_some() {
        misuse::use_after_destroy_by(rt, s, var, at, before);
    } else if held {
        misuse::destroy_locked(rt, s, var, at);
    }
    s.gave_lock(rt, id);
    lock_order::forget(rt, id);
}

/// The memory of an object is gone (freed, unmapped) with the object in it.
pub fn memory_gone(rt: &Runtime, s: &mut Strand, var: &'static SyncVar, at: StackId) {
    let me = s.thread;
    let (id, held) = var.with(|state| {
        let lock = matches!(
            state.kind,
            Kind::Mutex | Kind::RecursiveMutex | Kind::RwLock | Kind::SpinLock | Kind::Annotation
        );
        if !lock {
            return (state.id, false);
        }
        let id = state.id;
        let usage = state.usage();
        // A lock that another thread holds may be one that a racing free takes away: the race itself is told.
        (id, usage.destroyed.is_none() && usage.owner == Some(me))
    });
    if id == SyncId(0) {
        return;
    }
    if held {
        misuse::destroy_locked(rt, s, var, at);
        s.gave_lock(rt, id);
    }
    lock_order::forget(rt, id);
}

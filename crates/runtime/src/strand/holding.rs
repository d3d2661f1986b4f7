//! The locks that a strand holds, the synchronization objects that it used lately, and its notes for timelines.

use crate::history::SyncEvent;
use crate::intern::{LockSetId, StackId};
use crate::locks::{HeldLock, Holding, Last, Mode};
use crate::runtime::Runtime;
use crate::syncvar::{SyncId, SyncVar};
use crate::sys;

use super::Strand;
use super::lock_steps::LockStep;

/// How many locks are remembered that were taken last.
const LATEST: usize = 8;

/// The locks taken last that are still held, each with what was held before: who gives back the last one
/// has that again. All of it is part of what is held now.
#[derive(Clone, Copy)]
pub(super) struct Latest {
    taken: [(SyncId, Holding); LATEST],
    count: usize,
}

impl Latest {
    pub(super) const NONE: Latest = Latest {
        taken: [(SyncId(0), Holding::NOTHING); LATEST],
        count: 0,
    };

    #[inline(always)]
    fn push(&mut self, lock: SyncId, before: Holding) {
        // Deeper ones are looked up.
        if self.count == LATEST {
            self.taken.copy_within(1.., 0);
            self.count -= 1;
        }
        self.taken[self.count] = (lock, before);
        self.count += 1;
    }

    /// What is held without `lock`, if that was the last one taken. If not, what was before is of no use any more.
    #[inline(always)]
    fn pop(&mut self, lock: SyncId) -> Option<Holding> {
        let (last, before) = self.taken[self.count.checked_sub(1)?];
        if last != lock {
            self.count = 0;
            return None;
        }
        self.count -= 1;
        Some(before)
    }
}

impl Strand {
    /// The strand holds one more lock, and held these before.
    #[inline]
    pub fn took_lock(
        &mut self,
        rt: &Runtime,
        lock: SyncId,
        mode: Mode,
        taken_at: StackId,
    ) -> LockSetId {
        let held = HeldLock {
            lock,
            mode,
            taken_at,
        };
        let below = self.lock_set(rt);
        self.latest.push(lock, self.locks);
        self.locks = match Last::new(held) {
            Some(last) => Holding { last, below },
            None => Holding {
                last: Last::NONE,
                below: rt.lock_sets.with(below, held),
            },
        };
        self.note_locks(rt);
        below
    }

    /// The number of the set of all locks that it holds.
    #[inline(always)]
    fn lock_set(&mut self, rt: &Runtime) -> LockSetId {
        match self.locks.last.get() {
            None => self.locks.below,
            Some(last) => self.lock_set_with(rt, last),
        }
    }

    #[inline(never)]
    fn lock_set_with(&mut self, rt: &Runtime, last: HeldLock) -> LockSetId {
        let step = LockStep::new(self.locks.below, last);
        match self.lock_steps.find(&step) {
            Some(set) if set != LockSetId(0) => set,
            _ => {
                let set = rt.lock_sets.with(self.locks.below, last);
                self.lock_steps.note(step, set);
                set
            }
        }
    }

    /// May it not have taken the lock that it took last here, and with these others, before?
    #[inline]
    pub fn took_it_anew(&mut self) -> bool {
        let Some(last) = self.locks.last.get() else {
            return true;
        };
        let step = LockStep::new(self.locks.below, last);
        let new = self.lock_steps.find(&step).is_none();
        if new {
            // The number of the set is given when it is needed.
            self.lock_steps.note(step, LockSetId(0));
        }
        new
    }

    #[inline]
    pub fn gave_lock(&mut self, rt: &Runtime, lock: SyncId) {
        self.locks = match self.latest.pop(lock) {
            Some(before) => before,
            None => Holding {
                last: Last::NONE,
                below: rt.lock_sets.without(self.lock_set(rt), lock),
            },
        };
        self.note_locks(rt);
    }

    /// The synchronization object at `addr`, from this strand's cache. One that was removed has another address.
    #[inline]
    pub fn cached_var(&mut self, addr: usize) -> Option<&'static SyncVar> {
        self.vars.find(addr)
    }

    pub fn cache_var(&mut self, addr: usize, var: &'static SyncVar) {
        self.vars.note(addr, var);
    }

    /// Notes a synchronization for timelines.
    #[inline(always)]
    pub fn note(&mut self, what: &'static str, object: SyncId, stack: StackId) {
        if self.recording() {
            return;
        }
        // Reading the counter costs as much as all the rest: an unlock follows its lock closely enough, and so do a few
        // locks each other while nothing comes from another strand.
        self.notes = self.notes.wrapping_add(1);
        let close = what == "unlock"
            || (what == "lock"
                && self.learned_at == self.noted_learned
                && !self.notes.is_multiple_of(8));
        self.noted_at = if close && self.noted_at != 0 {
            self.noted_at + 1
        } else {
            sys::cycles()
        };
        self.noted_learned = self.learned_at;
        if let Some(history) = self.history {
            history.add_event(SyncEvent {
                at: self.seq,
                time: self.noted_at,
                what,
                object,
                stack,
            });
        }
    }
}

//! The locks that a strand holds, the synchronization objects that it used lately, and its notes for timelines.

use crate::history::SyncEvent;
use crate::intern::{LockSetId, StackId};
use crate::locks::{HeldLock, Mode};
use crate::runtime::Runtime;
use crate::syncvar::{SyncId, SyncVar};
use crate::sys;

use super::Strand;
use super::lock_steps::LockStep;

/// How many locks are remembered that were taken last.
const LATEST: usize = 8;

/// The locks taken last that are still held, each with the set that was held before: who gives back the last one
/// has that set again. All sets in it are part of the one that is held now.
#[derive(Clone, Copy)]
pub(super) struct Latest {
    taken: [(SyncId, LockSetId); LATEST],
    count: usize,
}

impl Latest {
    pub(super) const NONE: Latest = Latest {
        taken: [(SyncId(0), LockSetId(0)); LATEST],
        count: 0,
    };

    #[inline(always)]
    fn push(&mut self, lock: SyncId, before: LockSetId) {
        // Deeper ones are looked up.
        if self.count == LATEST {
            self.taken.copy_within(1.., 0);
            self.count -= 1;
        }
        self.taken[self.count] = (lock, before);
        self.count += 1;
    }

    /// The set without `lock`, if that was the last one taken. If not, the sets before are of no use any more.
    #[inline(always)]
    fn pop(&mut self, lock: SyncId) -> Option<LockSetId> {
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
    /// The strand holds one more lock; true if it may not have taken this one, here and with these others, before.
    #[inline]
    pub fn took_lock(&mut self, rt: &Runtime, lock: SyncId, mode: Mode, taken_at: StackId) -> bool {
        let step = LockStep {
            set: self.locks,
            lock,
            taken_at,
            shared: mode == Mode::Shared,
        };
        self.latest.push(lock, self.locks);
        if let Some(with) = self.lock_steps.find(&step) {
            self.locks = with;
            self.note_locks(rt);
            return false;
        }
        self.locks = rt.lock_sets.with(
            self.locks,
            HeldLock {
                lock,
                mode,
                taken_at,
            },
        );
        self.lock_steps.note(step, self.locks);
        self.note_locks(rt);
        true
    }

    #[inline]
    pub fn gave_lock(&mut self, rt: &Runtime, lock: SyncId) {
        self.locks = match self.latest.pop(lock) {
            Some(before) => before,
            None => rt.lock_sets.without(self.locks, lock),
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

//! What every strand knows that runs now or can ever run: no access can race with that any more, so no cell needs it.
//!
//! A strand's own idea of it may be old, since clocks only grow; it is made anew now and then while cells overflow.
//! A strand that is created later knows what its creator knows, so those that exist now are enough:
//!
//! | strand | counts with |
//! |---|---|
//! | runs | its clock, and its own numbers so far |
//! | created, has not begun | what its creator knew |
//! | waits in `pthread_join` for one of these | nothing: it will know what that one knows |
//!
//! The last row holds only as long as such a strand does nothing before the join succeeds. So it is not used in programs that
//! have handlers for signals; a join that fails, is cancelled or interrupted by a handler all the same is counted as a
//! loss.

use deadheat_detect::entry;
use std_alloc::vec::Vec;

use crate::clock::{BELOW, Clock};
use crate::runtime::Runtime;
use crate::strand::Strand;
use crate::threads::{Life, Thread};

/// So many slow accesses come between two looks at all strands, at least; more if there are many to look at.
const EVERY: u32 = if cfg!(test) { 2 } else { 48 };
const FOR_EACH: u32 = if cfg!(test) { 0 } else { 4 };

/// A strand's idea of what all strands know.
pub struct Floor {
    pub clock: Clock,
    asked: u32,
    due: u32,
}

impl Floor {
    pub const fn new() -> Self {
        Floor {
            clock: Clock::new(),
            asked: 0,
            due: EVERY,
        }
    }
}

impl Default for Floor {
    fn default() -> Self {
        Floor::new()
    }
}

impl Strand {
    /// A cell may overflow: time to look at all strands again?
    #[inline(always)]
    pub fn needs_floor(&mut self, rt: &Runtime) {
        self.floor.asked += 1;
        if self.floor.asked >= self.floor.due {
            self.look_at_all(rt);
        }
    }

    /// The same where nobody can be looked at: false if it is time, and somebody else should ask.
    #[inline(always)]
    pub fn floor_can_wait(&mut self) -> bool {
        self.floor.asked += 1;
        self.floor.asked < self.floor.due
    }

    #[cold]
    fn look_at_all(&mut self, rt: &Runtime) {
        let mut words = std_alloc::vec![u64::MAX; rt.threads.slots_used()];
        let mut whole = true;
        let mut live: Vec<u32> = Vec::new();
        let mut waiting = Vec::new();
        let mut seen = 0;
        rt.threads.each(|id, t| {
            seen += 1;
            if t.life == Life::Finished {
                return;
            }
            live.push(id.0);
            match t.waits_for {
                Some(other) if !rt.threads.has_handlers() => waiting.push(other),
                _ => match clock_of(t) {
                    Some(counted) => counted.lower(&mut words),
                    None => whole = false,
                },
            }
        });
        // Threads are seen the oldest first, so whoever is waited for may have been seen before or after.
        whole &= waiting
            .iter()
            .all(|other| live.binary_search(&other.0).is_ok());
        if whole {
            self.floor.clock.raise(&words);
        }
        self.floor.asked = 0;
        self.floor.due = EVERY.max(FOR_EACH * seen);
    }
}

/// What a strand counts with, readable as long as the registry is locked.
struct Counted {
    clock: *const Clock,
    own: u16,
    seq: u64,
}

fn clock_of(t: &Thread) -> Option<Counted> {
    if t.life == Life::Created {
        let (clock, own, seq) = t.before_it_began();
        return Some(Counted { clock, own, seq });
    }
    if t.strand.is_null() {
        return None; // it begins just now
    }
    // SAFETY: the strand lives while the registry is locked; its last number only grows.
    unsafe {
        Some(Counted {
            clock: &raw const (*t.strand).clock,
            own: (*t.strand).slot,
            seq: crate::sys::glimpse(&raw const (*t.strand).seq),
        })
    }
}

impl Counted {
    fn lower(&self, words: &mut [u64]) {
        // SAFETY: a strand's clock, or one that nobody changes, and the registry is locked.
        unsafe { Clock::lower(self.clock, words, self.own) };
        if let Some(word) = words.get_mut(self.own as usize) {
            *word = (*word).min(entry::stamp(self.own, self.seq) | BELOW);
        }
    }
}

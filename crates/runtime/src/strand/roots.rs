//! The call stacks and lock sets that a strand knows, as the collector sees them while the strand goes on.
//!
//! Everything is read that may hold a number: too much only keeps what could be let go. A number that the strand gets
//! after this was read comes from a cache that was read, or from the tables, which remember what they were asked for.

use deadheat_detect::entry::Entry;

use super::lock_steps::LockSteps;
use super::{HELD, Strand};
use crate::intern::{LockSetId, StackId};
use crate::signal_state::Running;
use crate::syncvar::SyncId;

impl Strand {
    /// Keeps a number safe that is held across a blocking call, until some more have been held.
    #[inline]
    pub(crate) fn hold(&mut self, stack: StackId) {
        self.held[self.held_next as usize % HELD] = stack;
        self.held_next = self.held_next.wrapping_add(1);
    }

    /// True once in a while.
    #[inline]
    pub fn now_and_then(&mut self) -> bool {
        self.asked = self.asked.wrapping_add(1);
        self.asked.is_multiple_of(64)
    }

    /// A signal handler begins: what it interrupted may hold some numbers until it has ended.
    pub fn interrupted(&self) -> [StackId; HELD] {
        self.held
    }

    /// The last number that anybody may have been told of: every release ends a step.
    pub fn told(&self) -> u64 {
        Entry(self.step_base).seq() - 1
    }

    /// Is it in the runtime just now, as another thread sees it?
    ///
    /// # Safety
    /// The strand must stay there meanwhile.
    pub unsafe fn is_inside(strand: *const Strand) -> bool {
        // SAFETY: by the contract.
        unsafe {
            crate::sys::glimpse(&raw const (*strand).inside) != 0
                || (*strand).at_work.is_somewhere()
        }
    }

    /// Calls `stacks`, `sets` and `locks` for each number that the strand may know.
    ///
    /// # Safety
    /// The strand must stay there meanwhile, and its lists must not move (`Threads::each` sees to both). It may go on.
    pub unsafe fn each_number(
        strand: *const Strand,
        mut stacks: impl FnMut(StackId),
        mut sets: impl FnMut(LockSetId),
        mut locks: impl FnMut(SyncId),
    ) {
        // In the order in which a number moves from one to the next.
        // SAFETY: by the contract; every value of these words is a good one.
        unsafe {
            let strand = &raw const *strand;
            for i in 0..super::CALLS {
                let call = (&raw const (*strand).calls).cast::<super::Call>().add(i);
                stacks(crate::sys::glimpse(&raw const (*call).caller));
                stacks(crate::sys::glimpse(&raw const (*call).callee));
            }
            Strand::each_frame_number(strand, &mut stacks);
            let recorder = crate::sys::glimpse(&raw const (*strand).recorder);
            if !recorder.is_null() {
                let caller = crate::sys::glimpse(&raw const (*recorder).caller);
                stacks(StackId(caller));
            }
            for i in 0..HELD {
                let held = (&raw const (*strand).held).cast::<StackId>().add(i);
                stacks(crate::sys::glimpse(held));
            }
            let handlers: &[Running] = &(*strand).handlers;
            for running in handlers {
                running.held.iter().for_each(|&held| stacks(held));
            }
            LockSteps::each_seen(&raw const (*strand).lock_steps, |(step, after)| {
                sets(step.set);
                sets(after);
                stacks(step.taken_at);
            });
            if let Some(last) = crate::sys::glimpse(&raw const (*strand).locks.last).get() {
                locks(last.lock);
                stacks(last.taken_at);
            }
            sets(crate::sys::glimpse(&raw const (*strand).locks.below));
        }
    }
}

//! The latest synchronizations of a slot, for the timeline of a report.
//!
//! A ring that only the slot's owner writes, without a lock and without an ordered instruction, because every lock and
//! unlock of the program passes here. Who reports a race reads it meanwhile: an event that is being written just then
//! may come out mixed, which spoils a line of a drawing and nothing else. When the slot has no strand, the ring is
//! reduced to the few events that a report can still show.

use core::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};

use std_alloc::boxed::Box;
use std_alloc::vec::Vec;

use crate::intern::StackId;
use crate::sync::Locked;
use crate::syncvar::SyncId;

/// How many are kept; a power of two.
const KEPT: usize = 256;
/// How many are kept of a slot that has no strand any more.
const KEPT_AFTER: usize = 32;
/// What a ring takes.
pub const RING_BYTES: u64 = size_of::<Ring>() as u64;

/// A synchronization of a strand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SyncEvent {
    /// The strand's last number before it.
    pub at: u64,
    /// When, by the processor's counter: only to draw events of two threads in a likely order.
    pub time: u64,
    pub what: &'static str,
    pub object: SyncId,
    pub stack: StackId,
}

/// What can be noted.
const WORDS: [&str; 14] = [
    "lock", "unlock", "rdlock", "rdunlock", "wait", "signal", "create", "join", "start", "exit",
    "barrier", "post", "release", "acquire",
];

/// The place of `what` among [`WORDS`]; a constant where `what` is one.
#[inline(always)]
fn code(what: &'static str) -> u64 {
    match what {
        "lock" => 0,
        "unlock" => 1,
        "rdlock" => 2,
        "rdunlock" => 3,
        "wait" => 4,
        "signal" => 5,
        "create" => 6,
        "join" => 7,
        "start" => 8,
        "exit" => 9,
        "barrier" => 10,
        "post" => 11,
        "release" => 12,
        _ => 13,
    }
}

/// One event in four words: number, time, object and stack, what.
type Packed = [AtomicU64; 4];
type Ring = [Packed; KEPT];

/// The ring of one slot, made at its first event.
pub struct Timeline {
    ring: AtomicPtr<Ring>,
    next: AtomicUsize,
    /// What was kept of an earlier ring.
    before: Locked<Vec<SyncEvent>>,
}

/// A ring that no timeline has any more, but that somebody may still be reading.
pub struct Retired(*mut Ring);

// SAFETY: plain memory, with nobody but its holder to free it.
unsafe impl Send for Retired {}

impl Retired {
    /// # Safety
    /// Whoever may have read it must be done.
    pub unsafe fn free(self) {
        // SAFETY: made by `make`; by the contract nobody reads it.
        drop(unsafe { Box::from_raw(self.0) });
    }
}

impl Timeline {
    pub const fn new() -> Self {
        Timeline {
            ring: AtomicPtr::new(core::ptr::null_mut()),
            next: AtomicUsize::new(0),
            before: Locked::new(Vec::new()),
        }
    }

    /// Only the slot's owner may call this.
    #[inline(always)]
    pub fn add(&self, event: SyncEvent) {
        let mut ring = self.ring.load(Ordering::Relaxed);
        if ring.is_null() {
            ring = self.make();
        }
        let next = self.next.load(Ordering::Relaxed);
        // SAFETY: not taken away while the slot has a strand.
        let packed = unsafe { &(&*ring)[next % KEPT] };
        packed[0].store(event.at, Ordering::Relaxed);
        packed[1].store(event.time, Ordering::Relaxed);
        packed[2].store(
            (event.object.0 as u64) << 32 | event.stack.0 as u64,
            Ordering::Relaxed,
        );
        packed[3].store(code(event.what), Ordering::Relaxed);
        self.next.store(next + 1, Ordering::Release);
    }

    #[cold]
    fn make(&self) -> *mut Ring {
        let ring: Box<Ring> = Box::new([const { [const { AtomicU64::new(0) }; 4] }; KEPT]);
        let ring = Box::into_raw(ring);
        self.ring.store(ring, Ordering::Release);
        ring
    }

    /// The remembered synchronizations, oldest first. Callers are inside the runtime.
    pub fn events(&self) -> Vec<SyncEvent> {
        let mut events = self.before.lock().clone();
        let ring = self.ring.load(Ordering::Acquire);
        if ring.is_null() {
            return events;
        }
        let next = self.next.load(Ordering::Acquire);
        events.extend((next.saturating_sub(KEPT)..next).map(|i| {
            // SAFETY: a ring that is taken away is not freed while anybody who saw it is inside the runtime.
            let packed = unsafe { &(&*ring)[i % KEPT] };
            let both = packed[2].load(Ordering::Relaxed);
            SyncEvent {
                at: packed[0].load(Ordering::Relaxed),
                time: packed[1].load(Ordering::Relaxed),
                what: WORDS[packed[3].load(Ordering::Relaxed) as usize % WORDS.len()],
                object: SyncId((both >> 32) as u32),
                stack: StackId(both as u32),
            }
        }));
        events
    }

    /// The slot has no strand: keeps the latest events, if anybody can still ask for them, and gives up the ring.
    pub fn reduce(&self, asked: bool) -> Option<Retired> {
        let mut left = self.events();
        left.drain(..left.len().saturating_sub(KEPT_AFTER));
        if !asked {
            left.clear();
        }
        left.shrink_to_fit();
        *self.before.lock() = left;
        let ring = self.ring.swap(core::ptr::null_mut(), Ordering::AcqRel);
        self.next.store(0, Ordering::Release);
        (!ring.is_null()).then_some(Retired(ring))
    }

    /// # Safety
    /// No other thread may exist.
    pub unsafe fn after_fork(&self) {
        // SAFETY: by the contract.
        unsafe { self.before.force_unlock() };
    }
}

impl Default for Timeline {
    fn default() -> Self {
        Timeline::new()
    }
}

impl Drop for Timeline {
    fn drop(&mut self) {
        let ring = self.ring.load(Ordering::Relaxed);
        if !ring.is_null() {
            // SAFETY: made by `make`, and the timeline is gone.
            drop(unsafe { Box::from_raw(ring) });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_are_kept_in_order() {
        let timeline = Timeline::new();
        assert!(timeline.events().is_empty());
        for at in 0..KEPT as u64 + 10 {
            timeline.add(SyncEvent {
                at,
                time: at * 2,
                what: WORDS[at as usize % WORDS.len()],
                object: SyncId(7),
                stack: StackId(9),
            });
        }
        let events = timeline.events();
        assert_eq!(events.len(), KEPT);
        for (i, event) in events.iter().enumerate() {
            let at = i as u64 + 10;
            let expected = SyncEvent {
                at,
                time: at * 2,
                what: WORDS[at as usize % WORDS.len()],
                object: SyncId(7),
                stack: StackId(9),
            };
            assert_eq!(*event, expected);
        }
        let ring = timeline.reduce(true).unwrap();
        // SAFETY: nobody else reads here.
        unsafe { ring.free() };
        assert_eq!(timeline.events(), events[KEPT - KEPT_AFTER..]);
        timeline.add(events[0]);
        assert_eq!(timeline.events().len(), KEPT_AFTER + 1);
        assert_eq!(timeline.events().last(), Some(&events[0]));
        assert!(timeline.reduce(false).is_some());
        assert!(timeline.events().is_empty() && timeline.reduce(true).is_none());
    }
}

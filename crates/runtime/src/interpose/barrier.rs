//! Barriers: whoever leaves a round knows what all did who came to it.
//!
//! Rounds alternate between two clocks. A thread is counted into a round before it really arrives; as long as no more
//! threads are inside than a round takes, that is the round it really belongs to. If there are more, nobody can tell,
//! and the two rounds become one: an order too much at worst, never a false alarm.

use core::ffi::{c_int, c_uint, c_void};

use crate::access::{self, leave};
use crate::history::Touch;
use crate::interpose;
use crate::locking;
use crate::record::acts;
use crate::runtime::RT;
use crate::syncvar::Kind;

const SERIAL: c_int = -1;

interpose! {
    unsafe fn pthread_barrier_init(barrier: *mut c_void, attr: *const c_void, count: c_uint) -> c_int |call, real| {
        // SAFETY: the program's own call.
        let result = unsafe { real(barrier, attr, count) };
        let here = call.here;
        if let (0, Some(s)) = (result, call.strand()) {
            s.enter();
            let at = s.stack_at(&RT, here);
            access::access(&RT, s, barrier as usize, 1, Touch::Write, here);
            let var = locking::created(&RT, s, barrier as usize, Kind::Barrier, at);
            var.with(|state| state.usage().parties = count);
            leave(s);
        }
        result
    }

    unsafe fn pthread_barrier_destroy(barrier: *mut c_void) -> c_int |call, real| {
        let here = call.here;
        if let Some(s) = call.strand() {
            s.enter();
            let at = s.stack_at(&RT, here);
            // Threads that are on their way out may still be counted; only a round that is not full is waited on.
            let var = RT.syncs.get(s, barrier as usize, Kind::Barrier);
            var.with(|state| {
                let usage = state.usage();
                usage.waiters = usage.arrived;
            });
            access::access(&RT, s, barrier as usize, 1, Touch::Destroy, here);
            locking::destroyed(&RT, s, barrier as usize, Kind::Barrier, at);
            leave(s);
        }
        // SAFETY: the program's own call.
        unsafe { real(barrier) }
    }

    unsafe fn pthread_barrier_wait(barrier: *mut c_void) -> c_int |call, real| {
        let here = call.here;
        let Some(s) = call.syncing() else {
            // SAFETY: the program's own call.
            return unsafe { real(barrier) };
        };
        s.enter();
        let at = s.stack_at(&RT, here);
        let fresh = s.cached_var(barrier as usize).is_none();
        let var = RT.syncs.get(s, barrier as usize, Kind::Barrier);
        if fresh {
            access::access(&RT, s, barrier as usize, 1, Touch::AtomicRead, here);
        }
        let (id, round, gone) = var.with(|state| {
            let id = locking::settle(&RT, state, barrier as usize, Kind::Barrier);
            let usage = state.usage();
            let phase = usage.round as u64;
            let crowded = usage.parties == 0 || usage.waiters >= usage.parties;
            usage.crowded |= crowded;
            let round = usage.arrive(s);
            if s.recording() {
                acts::arrived(s, id, barrier as usize, phase, at);
                if usage.crowded {
                    acts::crowded(s, barrier as usize);
                }
            }
            (id, (round, phase), usage.destroyed.is_some())
        });
        let (round, phase) = round;
        if gone {
            locking::used_after_destroy(&RT, s, var, barrier as usize, Kind::Barrier, at);
        }
        s.note("barrier", id, at);
        leave(s);
        // SAFETY: the program's own call.
        let result = unsafe { real(barrier) };
        s.enter();
        let passed = result == 0 || result == SERIAL;
        if passed && !s.recording() && s.clock.join(&round.lock()) {
            s.learned(&RT);
        }
        var.with(|state| {
            let crowded = state.usage().crowded;
            if passed && s.recording() {
                acts::left(s, id, barrier as usize, phase, at);
                if crowded {
                    acts::left_crowd(s, barrier as usize);
                }
            }
            if state.id == id {
                let usage = state.usage();
                usage.waiters = usage.waiters.saturating_sub(1);
            }
        });
        leave(s);
        result
    }
}

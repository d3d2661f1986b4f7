//! The interface for Java machines: their heap, whose objects come, go and move, and their locks.

use core::ffi::{c_int, c_void};

use crate::abi::api::{acquire, here, release};
use crate::abi::own_locks;
use crate::access::leave;
use crate::lifetime;
use crate::locking::{self, Got};
use crate::locks::Mode;
use crate::record::{MemoryKind, acts};
use crate::runtime::RT;
use crate::syncvar::Kind;
use crate::with_caller;

/// Memory that holds something new from here on.
pub fn fresh(start: usize, size: usize) {
    if let Some((s, at)) = here() {
        lifetime::forget(&RT, start, size);
        acts::fresh(s, start, size, MemoryKind::Other, at);
        RT.syncs.remove_range(&RT.shadow, start, size, |var| {
            locking::memory_gone(&RT, s, var, at)
        });
        leave(s);
    }
}

with_caller! {
    unsafe fn __tsan_java_init(heap: usize, size: usize) -> () {
        fresh(heap, size);
    }

    unsafe fn __tsan_java_fini() -> c_int {
        0
    }

    unsafe fn __tsan_java_alloc(start: usize, size: usize) -> () {
        fresh(start, size);
    }

    unsafe fn __tsan_java_free(start: usize, size: usize) -> () {
        fresh(start, size);
    }

    /// Objects move while the machine stands still, so what was known of either place says nothing any more.
    unsafe fn __tsan_java_move(from: usize, to: usize, size: usize) -> () {
        fresh(from, size);
        fresh(to, size);
    }

    unsafe fn __tsan_java_find(_from: *mut usize, _to: usize) -> usize {
        0
    }

    unsafe fn __tsan_java_finalize() -> () {
        // Finalisers run after all that was done to their objects, wherever.
        acquire(&raw const FINALIZER as usize);
    }

    unsafe fn __tsan_java_mutex_lock(lock: usize) -> () {
        own_locks::acquired(lock, Mode::Exclusive, Got::Waiting, 1);
    }

    unsafe fn __tsan_java_mutex_unlock(lock: usize) -> () {
        own_locks::released(lock, Mode::Exclusive, false);
    }

    unsafe fn __tsan_java_mutex_read_lock(lock: usize) -> () {
        own_locks::acquired(lock, Mode::Shared, Got::Waiting, 1);
    }

    unsafe fn __tsan_java_mutex_read_unlock(lock: usize) -> () {
        own_locks::released(lock, Mode::Shared, false);
    }

    unsafe fn __tsan_java_mutex_lock_rec(lock: usize, times: c_int) -> () {
        own_locks::acquired(lock, Mode::Exclusive, Got::Waiting, times.max(1) as u32);
    }

    unsafe fn __tsan_java_mutex_unlock_rec(lock: usize) -> c_int {
        own_locks::released(lock, Mode::Exclusive, true) as c_int
    }

    unsafe fn __tsan_java_acquire(addr: *const c_void) -> () {
        acquire(addr as usize);
    }

    unsafe fn __tsan_java_release(addr: *const c_void) -> () {
        release(addr as usize);
    }

    unsafe fn __tsan_java_release_store(addr: *const c_void) -> () {
        if let Some((s, at)) = here() {
            let var = RT.syncs.get(s, addr as usize, Kind::Annotation);
            let id = var.with(|state| {
                state.release_store(s);
                state.id
            });
            s.note("release", id, at);
            leave(s);
        }
    }
}

static FINALIZER: u64 = 0;

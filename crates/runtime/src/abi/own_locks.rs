//! Locks that the program makes itself and tells us about: `__tsan_mutex_*`.
//!
//! Between the two halves of an operation the program is inside its own lock code, whose accesses and synchronization
//! are not looked at; `divert` steps out of it for a moment.

use core::ffi::{c_uint, c_void};

use crate::abi::api::{here, look_away};
use crate::abi::tls;
use crate::access::leave;
use crate::intern::StackId;
use crate::locking::{self, Got};
use crate::locks::Mode;
use crate::misuse::{self, Line};
use crate::runtime::RT;
use crate::strand::Strand;
use crate::syncvar::{Kind, SyncVar};
use crate::with_caller;

const WRITE_REENTRANT: c_uint = 1 << 1;
const READ_REENTRANT: c_uint = 1 << 2;
const READ_LOCK: c_uint = 1 << 3;
const TRY_LOCK: c_uint = 1 << 4;
const TRY_LOCK_FAILED: c_uint = 1 << 5;
const RECURSIVE_LOCK: c_uint = 1 << 6;
const RECURSIVE_UNLOCK: c_uint = 1 << 7;
const LINKER_INIT: c_uint = 1 << 0;
const NOT_STATIC: c_uint = 1 << 8;

/// The lock was made here.
pub fn create(lock: usize) {
    if let Some((s, at)) = here() {
        locking::created(&RT, s, lock, Kind::Annotation, at);
        leave(s);
    }
}

/// The lock is destroyed here.
pub fn destroy(lock: usize) {
    if let Some((s, at)) = here() {
        locking::destroyed(&RT, s, lock, Kind::Annotation, at);
        leave(s);
    }
}

fn how(s: &Strand, var: &SyncVar) -> (bool, bool) {
    let me = s.thread;
    var.with(|state| {
        let usage = state.usage();
        (
            usage.owner == Some(me),
            usage.sharers.iter().any(|&(thread, _)| thread == me),
        )
    })
}

/// The lock was got.
pub fn acquired(lock: usize, mode: Mode, got: Got, times: u32) {
    if let Some((s, at)) = here() {
        for _ in 0..times.max(1) {
            locking::took(&RT, s, lock, Kind::Annotation, mode, got, at);
        }
        leave(s);
    }
}

/// The lock is given back, in the way that the program says; how many levels of it.
pub fn released(lock: usize, mode: Mode, all: bool) -> u32 {
    let Some((s, at)) = here() else { return 0 };
    let var = RT.syncs.get(s, lock, Kind::Annotation);
    let (writes, reads) = how(s, var);
    if mode == Mode::Shared && writes {
        misuse::mismatch(
            &RT,
            s,
            var,
            at,
            "a read unlock of a lock that the thread holds for writing",
        );
    } else if mode == Mode::Exclusive && !writes && reads {
        misuse::mismatch(
            &RT,
            s,
            var,
            at,
            "a write unlock of a lock that the thread holds for reading",
        );
    }
    let mut levels = 1;
    while locking::giving(&RT, s, lock, Kind::Annotation, at) == locking::Gave::Level && all {
        levels += 1;
    }
    leave(s);
    levels
}

/// A thread asks for what it has already, and the lock is not made for that.
fn asked_again(s: &mut Strand, lock: usize, flags: c_uint, at: StackId) {
    let var = RT.syncs.get(s, lock, Kind::Annotation);
    let (writes, reads) = how(s, var);
    let wants_read = flags & READ_LOCK != 0;
    let wrong = if wants_read {
        writes && flags & READ_REENTRANT == 0
    } else {
        (writes || reads) && flags & WRITE_REENTRANT == 0
    };
    if wrong && flags & (TRY_LOCK | RECURSIVE_LOCK) == 0 {
        misuse::double_lock(&RT, s, var, at);
    }
}

with_caller! {
    unsafe fn __tsan_mutex_create(lock: *const c_void, flags: c_uint) -> () {
        let _ = flags & NOT_STATIC;
        create(lock as usize);
    }

    unsafe fn __tsan_mutex_destroy(lock: *const c_void, flags: c_uint) -> () {
        // A lock that the linker made may be used again after its destructor has run.
        if flags & LINKER_INIT == 0 {
            destroy(lock as usize);
        }
    }

    unsafe fn __tsan_mutex_pre_lock(lock: *const c_void, flags: c_uint) -> () {
        if let Some((s, at)) = here() {
            asked_again(s, lock as usize, flags, at);
            leave(s);
            look_away(s, 1);
        }
    }

    unsafe fn __tsan_mutex_post_lock(lock: *const c_void, flags: c_uint, recursion: c_uint) -> () {
        if let Some(s) = tls::me() {
            look_away(s, -1);
        }
        if flags & TRY_LOCK_FAILED != 0 {
            return;
        }
        let mode = if flags & READ_LOCK != 0 { Mode::Shared } else { Mode::Exclusive };
        let got = if flags & TRY_LOCK != 0 { Got::Trying } else { Got::Waiting };
        acquired(lock as usize, mode, got, if flags & RECURSIVE_LOCK != 0 { recursion } else { 1 });
    }

    unsafe fn __tsan_mutex_pre_unlock(lock: *const c_void, flags: c_uint) -> c_uint {
        let mode = if flags & READ_LOCK != 0 { Mode::Shared } else { Mode::Exclusive };
        let levels = released(lock as usize, mode, flags & RECURSIVE_UNLOCK != 0);
        if let Some(s) = tls::me() {
            look_away(s, 1);
        }
        if flags & RECURSIVE_UNLOCK != 0 { levels } else { 0 }
    }

    unsafe fn __tsan_mutex_post_unlock(_lock: *const c_void, _flags: c_uint) -> () {
        if let Some(s) = tls::me() {
            look_away(s, -1);
        }
    }

    unsafe fn __tsan_mutex_pre_signal(_lock: *const c_void, _flags: c_uint) -> () {
        if let Some(s) = tls::me() {
            look_away(s, 1);
        }
    }

    unsafe fn __tsan_mutex_post_signal(_lock: *const c_void, _flags: c_uint) -> () {
        if let Some(s) = tls::me() {
            look_away(s, -1);
        }
    }

    unsafe fn __tsan_mutex_pre_divert(_lock: *const c_void, _flags: c_uint) -> () {
        if let Some(s) = tls::me() {
            look_away(s, -1);
        }
    }

    unsafe fn __tsan_mutex_post_divert(_lock: *const c_void, _flags: c_uint) -> () {
        if let Some(s) = tls::me() {
            look_away(s, 1);
        }
    }

    /// The program says that no lock may be held here.
    unsafe fn __tsan_check_no_mutexes_held() -> () {
        if let Some((s, at)) = here() {
            if let Some(held) = RT.lock_sets.held(s.locks).next() {
                let lines = [
                    Line { label: b"no lock may be held here", thread: s.thread, stack: at, lock: held.lock },
                    Line { label: b"locked here", thread: s.thread, stack: held.taken_at, lock: held.lock },
                ];
                misuse::about(&RT, s, "destroy-locked", held.lock, &lines, "a lock is held where the program says that none may be");
            }
            leave(s);
        }
    }
}

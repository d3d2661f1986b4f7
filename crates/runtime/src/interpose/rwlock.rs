//! Read-write locks.

use core::ffi::{c_int, c_void};

use crate::access::leave;
use crate::deadlock::For;
use crate::intern::StackId;
use crate::interpose;
use crate::interpose::{Call, lock_life};
use crate::locking::{self, Got};
use crate::locks::Mode;
use crate::misuse;
use crate::runtime::RT;
use crate::syncvar::Kind;

type Lock = unsafe extern "C" fn(*mut c_void) -> c_int;

fn before(call: &mut Call, lock: *const c_void) -> StackId {
    lock_life::before(call, lock, Kind::RwLock)
}

fn got(call: &mut Call, lock: *const c_void, mode: Mode, how: Got, at: StackId) {
    if let Some(s) = call.strand() {
        s.enter();
        locking::took(&RT, s, lock as usize, Kind::RwLock, mode, how, at);
        leave(s);
    }
}

#[cold]
#[inline(never)]
fn wait_for(call: &mut Call, lock: *mut c_void, mode: Mode, at: StackId, real: Lock) -> c_int {
    if let Some(s) = call.strand() {
        s.enter();
        let var = RT.syncs.get(s, lock as usize, Kind::RwLock);
        let me = s.thread;
        let (id, writer, reader) = var.with(|state| {
            let id = locking::settle(&RT, state, lock as usize, Kind::RwLock);
            let usage = state.usage();
            (
                id,
                usage.owner == Some(me),
                usage.sharers.iter().any(|&(thread, _)| thread == me),
            )
        });
        if writer || (reader && mode == Mode::Exclusive) {
            misuse::double_lock(&RT, s, var, at);
            // The C library itself refuses what a writer asks for again; a reader who wants to write hangs.
            if !writer && RT.options.deadlock.on() {
                if !RT.options.misuse.on() {
                    RT.waits.begin(&RT, s, For::Lock(var, id, mode), at);
                }
                crate::halt(&RT);
            }
        }
        RT.waits.begin(&RT, s, For::Lock(var, id, mode), at);
        leave(s);
    }
    // SAFETY: the program's own call.
    let result = unsafe { real(lock) };
    if let Some(s) = call.strand() {
        s.enter();
        RT.waits.end(s);
        leave(s);
    }
    result
}

fn lock_waiting(
    call: &mut Call,
    lock: *mut c_void,
    mode: Mode,
    try_lock: Lock,
    real: Lock,
) -> c_int {
    if call.strand().is_none() {
        // SAFETY: the program's own call.
        return unsafe { real(lock) };
    }
    let at = before(call, lock);
    // SAFETY: the program's own call; a try that succeeds is a lock.
    let mut result = unsafe { try_lock(lock) };
    if result != 0 {
        result = wait_for(call, lock, mode, at, real);
    }
    if result == 0 {
        got(call, lock, mode, Got::Waiting, at);
    }
    result
}

fn lock_trying(
    call: &mut Call,
    lock: *mut c_void,
    mode: Mode,
    real: impl FnOnce() -> c_int,
) -> c_int {
    let at = before(call, lock);
    let result = real();
    if result == 0 {
        got(call, lock, mode, Got::Trying, at);
    }
    result
}

interpose! {
    unsafe fn pthread_rwlock_init(lock: *mut c_void, attr: *const c_void) -> c_int |call, real| {
        // SAFETY: the program's own call.
        let result = unsafe { real(lock, attr) };
        lock_life::made(&mut call, lock, Kind::RwLock, result);
        result
    }

    unsafe fn pthread_rwlock_destroy(lock: *mut c_void) -> c_int |call, real| {
        lock_life::ending(&mut call, lock, Kind::RwLock);
        // SAFETY: the program's own call.
        unsafe { real(lock) }
    }

    unsafe fn pthread_rwlock_rdlock(lock: *mut c_void) -> c_int |call, real| {
        lock_waiting(&mut call, lock, Mode::Shared, pthread_rwlock_tryrdlock::real(), real)
    }

    unsafe fn pthread_rwlock_wrlock(lock: *mut c_void) -> c_int |call, real| {
        lock_waiting(&mut call, lock, Mode::Exclusive, pthread_rwlock_trywrlock::real(), real)
    }

    unsafe fn pthread_rwlock_tryrdlock(lock: *mut c_void) -> c_int |call, real| {
        // SAFETY: the program's own call.
        lock_trying(&mut call, lock, Mode::Shared, || unsafe { real(lock) })
    }

    unsafe fn pthread_rwlock_trywrlock(lock: *mut c_void) -> c_int |call, real| {
        // SAFETY: the program's own call.
        lock_trying(&mut call, lock, Mode::Exclusive, || unsafe { real(lock) })
    }

    unsafe fn pthread_rwlock_timedrdlock(lock: *mut c_void, until: *const c_void) -> c_int |call, real| {
        // SAFETY: the program's own call.
        lock_trying(&mut call, lock, Mode::Shared, || unsafe { real(lock, until) })
    }

    unsafe fn pthread_rwlock_timedwrlock(lock: *mut c_void, until: *const c_void) -> c_int |call, real| {
        // SAFETY: the program's own call.
        lock_trying(&mut call, lock, Mode::Exclusive, || unsafe { real(lock, until) })
    }

    unsafe fn pthread_rwlock_clockrdlock(lock: *mut c_void, clock: c_int, until: *const c_void) -> c_int |call, real| {
        // SAFETY: the program's own call.
        lock_trying(&mut call, lock, Mode::Shared, || unsafe { real(lock, clock, until) })
    }

    unsafe fn pthread_rwlock_clockwrlock(lock: *mut c_void, clock: c_int, until: *const c_void) -> c_int |call, real| {
        // SAFETY: the program's own call.
        lock_trying(&mut call, lock, Mode::Exclusive, || unsafe { real(lock, clock, until) })
    }

    unsafe fn pthread_rwlock_unlock(lock: *mut c_void) -> c_int |call, real| {
        let at = before(&mut call, lock);
        if let Some(s) = call.strand() {
            s.enter();
            locking::giving(&RT, s, lock as usize, Kind::RwLock, at);
            leave(s);
        }
        // SAFETY: the program's own call.
        unsafe { real(lock) }
    }
}

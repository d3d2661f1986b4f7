//! C11 threads. In the C library they are entry points of their own over the same objects as pthread's.

use core::ffi::{c_int, c_void};

use crate::interpose;
use crate::interpose::{condvar, mutex, once, threads};

/// `thrd_start_t`.
type Start = unsafe extern "C" fn(*mut c_void) -> c_int;

const SUCCESS: c_int = 0;
const BUSY: c_int = 1;

interpose! {
    unsafe fn thrd_create(out: *mut usize, start: Start, arg: *mut c_void) -> c_int |call, real| {
        if call.strand().is_none() {
            // SAFETY: the program's own call.
            return unsafe { real(out, start, arg) };
        }
        // SAFETY: the program's own call, with our start routine before its.
        threads::create(&mut call, out, threads::Routine::C11(start), arg, false, |out, birth| unsafe {
            real(out, threads::c11_start, birth)
        })
    }

    unsafe fn thrd_join(handle: usize, result: *mut c_int) -> c_int |call, real| {
        // SAFETY: the program's own call.
        threads::join(&mut call, handle, true, || unsafe { real(handle, result) })
    }

    unsafe fn thrd_detach(handle: usize) -> c_int |call, real| {
        threads::detaching(&mut call, handle);
        // SAFETY: the program's own call.
        unsafe { real(handle) }
    }

    unsafe fn mtx_init(lock: *mut c_void, kind: c_int) -> c_int |call, real| {
        // SAFETY: the program's own call.
        let result = unsafe { real(lock, kind) };
        if result == SUCCESS {
            mutex::made(&mut call, lock);
        }
        result
    }

    unsafe fn mtx_destroy(lock: *mut c_void) -> () |call, real| {
        mutex::destroying(&mut call, lock);
        // SAFETY: the program's own call.
        unsafe { real(lock) }
    }

    unsafe fn mtx_lock(lock: *mut c_void) -> c_int |call, real| {
        mutex::lock(&mut call, lock, mtx_trylock::real(), BUSY, real)
    }

    unsafe fn mtx_trylock(lock: *mut c_void) -> c_int |call, real| {
        // SAFETY: the program's own call.
        mutex::lock_trying(&mut call, lock, || unsafe { real(lock) })
    }

    unsafe fn mtx_timedlock(lock: *mut c_void, until: *const c_void) -> c_int |call, real| {
        // SAFETY: the program's own call.
        mutex::lock_trying(&mut call, lock, || unsafe { real(lock, until) })
    }

    unsafe fn mtx_unlock(lock: *mut c_void) -> c_int |call, real| {
        mutex::unlock(&mut call, lock, real)
    }

    unsafe fn cnd_init(cond: *mut c_void) -> c_int |call, real| {
        // SAFETY: the program's own call.
        let result = unsafe { real(cond) };
        if result == SUCCESS {
            condvar::made(&mut call, cond);
        }
        result
    }

    unsafe fn cnd_destroy(cond: *mut c_void) -> () |call, real| {
        condvar::destroying(&mut call, cond);
        // SAFETY: the program's own call.
        unsafe { real(cond) }
    }

    unsafe fn cnd_wait(cond: *mut c_void, lock: *mut c_void) -> c_int |call, real| {
        // SAFETY: the program's own call.
        condvar::wait(&mut call, cond, lock, || unsafe { real(cond, lock) })
    }

    unsafe fn cnd_timedwait(cond: *mut c_void, lock: *mut c_void, until: *const c_void) -> c_int |call, real| {
        // SAFETY: the program's own call.
        condvar::wait(&mut call, cond, lock, || unsafe { real(cond, lock, until) })
    }

    unsafe fn cnd_signal(cond: *mut c_void) -> c_int |call, real| {
        condvar::signal(&mut call, cond);
        // SAFETY: the program's own call.
        unsafe { real(cond) }
    }

    unsafe fn cnd_broadcast(cond: *mut c_void) -> c_int |call, real| {
        condvar::signal(&mut call, cond);
        // SAFETY: the program's own call.
        unsafe { real(cond) }
    }

    unsafe fn call_once(control: *mut c_void, routine: unsafe extern "C" fn()) -> () |call, real| {
        once::once(&mut call, control, routine, |routine| {
            // SAFETY: the program's own call, with our routine around its.
            unsafe { real(control, routine) };
            0
        });
    }
}

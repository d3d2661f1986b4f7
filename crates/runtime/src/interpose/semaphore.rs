//! Semaphores: what was done before a post happens before the wait that it lets go.
//!
//! A semaphore does not say whose post a wait got, so a wait learns from all posts so far.

use core::ffi::{c_char, c_int, c_uint, c_void};

use crate::access::{self, leave};
use crate::history::Touch;
use crate::interpose;
use crate::interpose::Call;
use crate::locking;
use crate::runtime::RT;
use crate::syncvar::Kind;

fn waited(call: &mut Call, semaphore: *const c_void, result: c_int) -> c_int {
    let here = call.here;
    if let (0, Some(s)) = (result, call.syncing()) {
        s.enter();
        let at = s.stack_at(&RT, here);
        let fresh = s.cached_var(semaphore as usize).is_none();
        let var = RT.syncs.get(s, semaphore as usize, Kind::Semaphore);
        if fresh {
            access::access(&RT, s, semaphore as usize, 1, Touch::AtomicRead, here);
        }
        let (id, gone) = var.with(|state| {
            let id = locking::settle(&RT, state, semaphore as usize, Kind::Semaphore);
            state.acquire(&RT, s);
            (id, state.usage().destroyed.is_some())
        });
        if gone {
            locking::used_after_destroy(&RT, s, var, semaphore as usize, Kind::Semaphore, at);
        }
        s.note("wait", id, at);
        leave(s);
    }
    result
}

interpose! {
    unsafe fn sem_init(semaphore: *mut c_void, shared: c_int, value: c_uint) -> c_int |call, real| {
        // SAFETY: the program's own call.
        let result = unsafe { real(semaphore, shared, value) };
        let here = call.here;
        if let (0, Some(s)) = (result, call.strand()) {
            s.enter();
            let at = s.stack_at(&RT, here);
            access::access(&RT, s, semaphore as usize, 1, Touch::Write, here);
            locking::created(&RT, s, semaphore as usize, Kind::Semaphore, at);
            leave(s);
        }
        result
    }

    unsafe fn sem_destroy(semaphore: *mut c_void) -> c_int |call, real| {
        let here = call.here;
        if let Some(s) = call.strand() {
            s.enter();
            let at = s.stack_at(&RT, here);
            access::access(&RT, s, semaphore as usize, 1, Touch::Destroy, here);
            locking::destroyed(&RT, s, semaphore as usize, Kind::Semaphore, at);
            leave(s);
        }
        // SAFETY: the program's own call.
        unsafe { real(semaphore) }
    }

    /// Mode and value are there only if the call makes the semaphore; passing them on does no harm.
    unsafe fn sem_open(name: *const c_char, flags: c_int, mode: c_uint, value: c_uint) -> *mut c_void |call, real| {
        // SAFETY: the program's own terminated string.
        unsafe { call.reads_string(name) };
        // SAFETY: the program's own call.
        unsafe { real(name, flags, mode, value) }
    }

    unsafe fn sem_close(semaphore: *mut c_void) -> c_int |call, real| {
        // SAFETY: the program's own call.
        unsafe { real(semaphore) }
    }

    unsafe fn sem_wait(semaphore: *mut c_void) -> c_int |call, real| {
        // SAFETY: the program's own call.
        let result = unsafe { real(semaphore) };
        waited(&mut call, semaphore, result)
    }

    unsafe fn sem_trywait(semaphore: *mut c_void) -> c_int |call, real| {
        // SAFETY: the program's own call.
        let result = unsafe { real(semaphore) };
        waited(&mut call, semaphore, result)
    }

    unsafe fn sem_timedwait(semaphore: *mut c_void, until: *const c_void) -> c_int |call, real| {
        // SAFETY: the program's own call.
        let result = unsafe { real(semaphore, until) };
        waited(&mut call, semaphore, result)
    }

    unsafe fn sem_clockwait(semaphore: *mut c_void, clock: c_int, until: *const c_void) -> c_int |call, real| {
        // SAFETY: the program's own call.
        let result = unsafe { real(semaphore, clock, until) };
        waited(&mut call, semaphore, result)
    }

    unsafe fn sem_post(semaphore: *mut c_void) -> c_int |call, real| {
        let here = call.here;
        if let Some(s) = call.syncing() {
            s.enter();
            let at = s.stack_at(&RT, here);
            let fresh = s.cached_var(semaphore as usize).is_none();
            let var = RT.syncs.get(s, semaphore as usize, Kind::Semaphore);
            if fresh {
                access::access(&RT, s, semaphore as usize, 1, Touch::AtomicRead, here);
            }
            let (id, gone) = var.with(|state| {
                let id = locking::settle(&RT, state, semaphore as usize, Kind::Semaphore);
                state.release(s);
                (id, state.usage().destroyed.is_some())
            });
            if gone {
                locking::used_after_destroy(&RT, s, var, semaphore as usize, Kind::Semaphore, at);
            }
            s.note("post", id, at);
            leave(s);
        }
        // SAFETY: the program's own call.
        unsafe { real(semaphore) }
    }
}

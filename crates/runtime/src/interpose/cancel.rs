//! Calls in which the thread may be cancelled: what they began is undone before the program's own cleanup runs.

use core::ffi::{c_int, c_void};

/// The C library's record of a cleanup routine (`struct _pthread_cleanup_buffer`).
#[repr(C)]
struct Cleanup {
    routine: Option<unsafe extern "C" fn(*mut c_void)>,
    arg: *mut c_void,
    kind: c_int,
    before: *mut Cleanup,
}

unsafe extern "C" {
    fn _pthread_cleanup_push(
        buffer: *mut Cleanup,
        routine: unsafe extern "C" fn(*mut c_void),
        arg: *mut c_void,
    );
    fn _pthread_cleanup_pop(buffer: *mut Cleanup, execute: c_int);
}

/// Runs `real`; if the thread is cancelled in it, `undo(arg)` runs and this does not return.
pub(crate) fn guarded<T, R>(
    arg: &mut T,
    undo: unsafe extern "C" fn(*mut c_void),
    real: impl FnOnce() -> R,
) -> R {
    let mut cleanup = Cleanup {
        routine: None,
        arg: core::ptr::null_mut(),
        kind: 0,
        before: core::ptr::null_mut(),
    };
    // SAFETY: pushed and popped in this frame, which outlives the call.
    unsafe { _pthread_cleanup_push(&raw mut cleanup, undo, core::ptr::from_mut(arg).cast()) };
    let result = real();
    // SAFETY: as above.
    unsafe { _pthread_cleanup_pop(&raw mut cleanup, 0) };
    result
}

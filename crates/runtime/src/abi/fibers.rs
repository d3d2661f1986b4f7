//! Fibers: strands that the program itself switches between, on whatever threads it likes.

use core::ffi::{c_char, c_uint, c_void};

use crate::abi::api::here;
use crate::abi::tls;
use crate::access::leave;
use crate::record::acts;
use crate::runtime::RT;
use crate::strand::Strand;
use crate::sys;
use crate::threads::Sort;
use crate::with_caller;

/// The switch orders nothing.
const NO_SYNC: c_uint = 1;

with_caller! {
    unsafe fn __tsan_create_fiber(_flags: c_uint) -> *mut c_void {
        let Some((s, at)) = here() else { return core::ptr::null_mut() };
        RT.collector.maybe_collect(&RT, s);
        let id = RT.threads.create(&RT, Some(s), Sort::Fiber, at);
        acts::forked(s, id, at);
        acts::detached(s, id);
        let fiber: *mut Strand = RT.threads.begin(&RT, id);
        // SAFETY: just made, and nobody else has it yet.
        acts::begun(unsafe { &mut *fiber });
        let os = s.os;
        // SAFETY: just made, and nobody else has it yet.
        unsafe { (*fiber).os = os };
        leave(s);
        fiber.cast()
    }

    unsafe fn __tsan_destroy_fiber(fiber: *mut c_void) -> () {
        let Some((s, _)) = here() else { return };
        if !fiber.is_null() && !core::ptr::eq(s, fiber.cast()) {
            // SAFETY: made by `__tsan_create_fiber`, and the program gives it up.
            unsafe { RT.threads.end(fiber.cast()) };
        }
        leave(s);
    }

    unsafe fn __tsan_switch_to_fiber(fiber: *mut c_void, flags: c_uint) -> () {
        let Some((s, _)) = here() else { return };
        if fiber.is_null() || core::ptr::eq(s, fiber.cast()) {
            return leave(s);
        }
        // SAFETY: a fiber of the program, which no thread runs now.
        let next = unsafe { &mut *fiber.cast::<Strand>() };
        if flags & NO_SYNC == 0 {
            if s.recording() {
                acts::handed_over(s, next);
            } else if next.clock.join(s.published()) {
                next.learned(&RT);
            }
            s.begin_step();
        }
        next.os = s.os;
        leave(s);
        tls::set(next);
    }

    unsafe fn __tsan_set_fiber_name(fiber: *mut c_void, name: *const c_char) -> () {
        let Some((s, _)) = here() else { return };
        if !fiber.is_null() {
            // SAFETY: a fiber of the program and a terminated string.
            let (id, name) = unsafe { ((*fiber.cast::<Strand>()).thread, sys::bytes_of(name)) };
            crate::interpose::threads::rename(s, id, name);
        }
        leave(s);
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn __tsan_get_current_fiber() -> *mut c_void {
    tls::me().map_or(core::ptr::null_mut(), |s| core::ptr::from_mut(s).cast())
}

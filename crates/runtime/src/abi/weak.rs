//! Functions and data that the program may define for us, and mostly does not.

use core::arch::asm;
use core::ffi::c_char;

use crate::sys;

core::arch::global_asm!(
    ".weak __deadheat_collector_path",
    ".weak __tsan_default_suppressions",
    ".weak __tsan_default_options",
    ".weak __tsan_on_report",
);

/// The address of a symbol that may be missing; null then.
macro_rules! weak {
    ($name:literal) => {{
        let p: *const u8;
        // SAFETY: reads the symbol's address, which is zero if nobody defines it.
        unsafe {
            asm!(concat!("mov {p}, qword ptr [rip + ", $name, "@GOTPCREL]"), p = out(reg) p, options(nostack, readonly, preserves_flags));
        }
        p
    }};
}

/// `__deadheat_collector_path`: put into the program by `deadheat cc`.
pub fn collector_path() -> Option<&'static [u8]> {
    let p = weak!("__deadheat_collector_path");
    if p.is_null() {
        return None;
    }
    // SAFETY: a zero-terminated string in the program's read-only data.
    Some(unsafe { sys::bytes_of(p.cast()) })
}

/// Text from a function of the program that returns a string.
fn text_from(f: *const u8) -> Option<&'static [u8]> {
    if f.is_null() {
        return None;
    }
    // SAFETY: the program defined the symbol as ThreadSanitizer's interface says.
    let text = unsafe { core::mem::transmute::<*const u8, extern "C" fn() -> *const c_char>(f)() };
    // SAFETY: a zero-terminated string, by the same interface.
    Some(unsafe { sys::bytes_of(text) })
}

pub fn default_suppressions() -> Option<&'static [u8]> {
    text_from(weak!("__tsan_default_suppressions"))
}

pub fn default_options() -> Option<&'static [u8]> {
    text_from(weak!("__tsan_default_options"))
}

pub fn on_report() -> Option<extern "C" fn(*const u8)> {
    let f = weak!("__tsan_on_report");
    if f.is_null() {
        return None;
    }
    // SAFETY: the program defined the symbol as ThreadSanitizer's interface says.
    Some(unsafe { core::mem::transmute::<*const u8, extern "C" fn(*const u8)>(f) })
}

//! For programs under Deadheat: be told of the bugs that it finds in them while they run.
//!
//! ```
//! let told = deadheat::on_finding(|finding| eprintln!("bug: {}", finding.headline));
//! # let _ = told;
//! ```
//!
//! It costs nothing without Deadheat: the same program builds and runs anywhere, and [`on_finding`] returns false then. The
//! same for C and C++ is `deadheat.h`, where more is said of when and where the handler runs.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::mem::transmute;

/// A bug that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Its number in the report.
    pub id: u32,
    /// `data-race`, `use-after-free`, `lock-order-inversion` and so on.
    pub kind: String,
    /// One line, as in the report.
    pub headline: String,
}

/// What the runtime tells, as `deadheat.h` has it.
#[repr(C)]
struct RawFinding {
    size: u32,
    id: u32,
    kind: *const c_char,
    headline: *const c_char,
}

type RawHandler = extern "C" fn(*const RawFinding, *mut c_void);
type Handler = Box<dyn Fn(&Finding) + Send + Sync>;

unsafe extern "C" {
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
}

/// Registers a handler, instead of an earlier one. True if it will be told, false if there is no Deadheat in this program, or one that
/// only records.
///
/// It runs in the thread that found the bug, or, in a program that is checked from outside, in a thread of Deadheat's.
pub fn on_finding(handler: impl Fn(&Finding) + Send + Sync + 'static) -> bool {
    // SAFETY: asks for a symbol of this program; null stands for all that is loaded.
    let found = unsafe { dlsym(std::ptr::null_mut(), c"__deadheat_on_finding".as_ptr()) };
    if found.is_null() {
        return false;
    }
    // SAFETY: the runtime defines the symbol with this type.
    let register = unsafe {
        transmute::<*mut c_void, extern "C" fn(Option<RawHandler>, *mut c_void) -> c_int>(found)
    };
    let handler: Handler = Box::new(handler);
    // Never freed: a thread may be in it for as long as the program runs.
    let data = Box::into_raw(Box::new(handler));
    register(Some(tell), data.cast()) == 1
}

extern "C" fn tell(finding: *const RawFinding, data: *mut c_void) {
    let text = |text: *const c_char| {
        // SAFETY: the runtime's strings are terminated and live during the call.
        unsafe { CStr::from_ptr(text) }
            .to_string_lossy()
            .into_owned()
    };
    // SAFETY: the runtime's struct, which lives during the call.
    let raw = unsafe { &*finding };
    let finding = Finding {
        id: raw.id,
        kind: text(raw.kind),
        headline: text(raw.headline),
    };
    // SAFETY: the box that was registered with this function, which is never freed.
    let handler = unsafe { &*data.cast::<Handler>() };
    // A panic must not go through the runtime's frames.
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| handler(&finding)));
    if outcome.is_err() {
        std::process::abort();
    }
}

#[cfg(test)]
mod tests {
    #[test]
    #[allow(unexpected_cfgs, reason = "set by cargo deadheat alone")]
    fn only_with_deadheat_somebody_is_told() {
        let told = super::on_finding(|finding| panic!("{finding:?}"));
        assert_eq!(told, cfg!(deadheat));
    }
}

//! The program's own call behind a library's: who called `std::thread`, when libstdc++ calls `pthread_create`.
//!
//! Functions without hooks note no return addresses, so a call that passes through a library lacks the program's line.
//! Where that matters and time does not, the unwinder of the C++ runtime is asked, if there is one.

use core::ffi::{c_int, c_void};

use std_alloc::vec::Vec;

use crate::interpose::Call;
use crate::runtime::RT;

/// A library's calls are not nested deeper than this before the program's.
const DEEPEST: usize = 64;

/// What the unwinder finds on its way.
struct Found {
    /// Where the interposed function was called.
    from: u64,
    /// Return addresses beyond it, innermost first, to the first one in a module with hooks.
    callers: Vec<u64>,
    begun: bool,
    get_ip: unsafe extern "C" fn(*mut c_void) -> usize,
}

type Visit = unsafe extern "C" fn(*mut c_void, *mut c_void) -> c_int;
const GO_ON: c_int = 0;
const STOP: c_int = 4;

unsafe extern "C" fn visit(context: *mut c_void, found: *mut c_void) -> c_int {
    // SAFETY: `found` is the one of `callers`; the context is the unwinder's own.
    let (found, ip) = unsafe {
        let found = &mut *found.cast::<Found>();
        let ip = (found.get_ip)(context) as u64;
        (found, ip)
    };
    if !found.begun {
        found.begun = ip == found.from;
        return GO_ON;
    }
    if ip == 0 || found.callers.len() == DEEPEST {
        found.callers.clear();
        return STOP;
    }
    found.callers.push(ip);
    if RT.modules.is_instrumented(ip) {
        STOP
    } else {
        GO_ON
    }
}

/// The calls between the library that calls here and the program, innermost first; none if the program itself calls or
/// nobody can tell. The caller must be inside the runtime.
fn callers(from: u64) -> Vec<u64> {
    if RT.modules.is_instrumented(from) {
        return Vec::new();
    }
    let (walk, get_ip) = (
        super::find_real("_Unwind_Backtrace\0"),
        super::find_real("_Unwind_GetIP\0"),
    );
    if walk.is_null() || get_ip.is_null() {
        return Vec::new();
    }
    // SAFETY: the unwinder's functions have these types on every platform.
    let (walk, get_ip) = unsafe {
        (
            core::mem::transmute::<*mut c_void, unsafe extern "C" fn(Visit, *mut c_void) -> c_int>(
                walk,
            ),
            core::mem::transmute::<*mut c_void, unsafe extern "C" fn(*mut c_void) -> usize>(get_ip),
        )
    };
    let mut found = Found {
        from,
        callers: Vec::new(),
        begun: false,
        get_ip,
    };
    // SAFETY: the callback gets `found`, which outlives the call.
    unsafe { walk(visit, (&raw mut found).cast()) };
    if found
        .callers
        .last()
        .is_some_and(|&ip| RT.modules.is_instrumented(ip))
    {
        found.callers
    } else {
        Vec::new()
    }
}

impl Call {
    /// Puts the program's own call into the stack of this one, if a library stands between them.
    pub(crate) fn see_through_library(&mut self) {
        let (pc, depth) = (self.pc, self.caller_depth());
        let Some(s) = self.strand() else { return };
        s.enter();
        let between = callers(pc);
        if !between.is_empty() {
            s.set_depth(depth);
            for &caller in between.iter().rev() {
                s.push_frame(&RT, caller);
            }
            s.push_frame(&RT, pc);
        }
        crate::access::leave(s);
    }
}

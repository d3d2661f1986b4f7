//! The ways out of a program: what is left to tell is told while code can still run.

use core::ffi::{c_char, c_int, c_void};
use core::sync::atomic::{AtomicU32, Ordering};

use crate::abi::tls;
use crate::interpose;
use crate::interpose::{Call, signals};
use crate::runtime::RT;
use crate::sys;

/// The process that the runtime belongs to; in the child of `vfork` it is another one, on borrowed memory.
static OWN: AtomicU32 = AtomicU32::new(0);

/// This process is the one that the runtime belongs to from now on.
pub(crate) fn belong_here() {
    OWN.store(sys::getpid(), Ordering::Relaxed);
}

fn belongs_here() -> bool {
    RT.started.load(Ordering::Acquire) && OWN.load(Ordering::Relaxed) == sys::getpid()
}

/// Tells the counts; nothing else is left untold at any time.
fn tell() {
    if let Some(s) = tls::me() {
        s.enter();
        RT.findings.tell_counts(&RT);
        // Not left again: no handler runs from here on.
    } else {
        RT.findings.tell_counts(&RT);
    }
}

/// The program is about to die by a signal that it does nothing about. `safe`: the thread holds no lock of ours.
pub(crate) fn dying(signal: c_int, safe: bool) {
    if safe && belongs_here() {
        tell();
        RT.stream.finish();
    }
    signals::die_by(signal);
}

/// The process ends here without its exit handlers; the status that it must have.
fn leaving(status: c_int) -> c_int {
    if !belongs_here() {
        return status;
    }
    tell();
    RT.stream.finish().unwrap_or(status)
}

/// The program is about to be replaced by another one.
fn replacing(call: &mut Call) {
    if belongs_here()
        && let Some(s) = call.strand()
    {
        s.enter();
        RT.findings.tell_counts(&RT);
        crate::access::leave(s);
    }
}

interpose! {
    unsafe fn _exit(status: c_int) -> () |call, real| {
        let status = leaving(status);
        // SAFETY: the program's own call, which does not return.
        unsafe { real(status) }
    }

    unsafe fn _Exit(status: c_int) -> () |call, real| {
        let status = leaving(status);
        // SAFETY: the program's own call, which does not return.
        unsafe { real(status) }
    }

    unsafe fn quick_exit(status: c_int) -> () |call, real| {
        let status = leaving(status);
        if let Some(s) = call.strand() {
            // The program's own handlers run now.
            crate::access::leave(s);
        }
        // SAFETY: the program's own call, which does not return.
        unsafe { real(status) }
    }

    unsafe fn execve(path: *const c_char, args: *const c_void, env: *const c_void) -> c_int |call, real| {
        replacing(&mut call);
        // SAFETY: the program's own call.
        unsafe { real(path, args, env) }
    }

    unsafe fn execv(path: *const c_char, args: *const c_void) -> c_int |call, real| {
        replacing(&mut call);
        // SAFETY: the program's own call.
        unsafe { real(path, args) }
    }

    unsafe fn execvp(path: *const c_char, args: *const c_void) -> c_int |call, real| {
        replacing(&mut call);
        // SAFETY: the program's own call.
        unsafe { real(path, args) }
    }

    unsafe fn execvpe(path: *const c_char, args: *const c_void, env: *const c_void) -> c_int |call, real| {
        replacing(&mut call);
        // SAFETY: the program's own call.
        unsafe { real(path, args, env) }
    }

    unsafe fn fexecve(fd: c_int, args: *const c_void, env: *const c_void) -> c_int |call, real| {
        replacing(&mut call);
        // SAFETY: the program's own call.
        unsafe { real(fd, args, env) }
    }
}

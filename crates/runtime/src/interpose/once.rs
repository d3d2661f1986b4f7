//! `pthread_once`: what the routine did happens before every return.

use core::ffi::{c_int, c_void};

use crate::abi::tls;
use crate::access::leave;
use crate::interpose;
use crate::interpose::Call;
use crate::locking;
use crate::runtime::RT;
use crate::syncvar::Kind;

type Routine = unsafe extern "C" fn();

/// A call whose routine may have to be run, in the frame of that call.
pub struct Running {
    routine: Routine,
    control: usize,
    depth: usize,
    before: usize,
}

/// What the C library runs in place of the program's routine.
unsafe extern "C" fn run() {
    let Some(s) = tls::me() else { return };
    // SAFETY: set by `once` below in a frame that waits for this one.
    let running = unsafe { &*(s.os.once as *const Running) };
    // The routine may throw, past all of this: nothing is left to be undone.
    s.os.once = running.before;
    s.set_depth(running.depth);
    // SAFETY: the program's own routine.
    unsafe { (running.routine)() };
    if let Some(s) = tls::me() {
        s.enter();
        if s.ignore_sync == 0 {
            let var = RT.syncs.get(s, running.control, Kind::Once);
            var.with(|state| {
                locking::settle(&RT, state, running.control, Kind::Once);
                state.release(s);
            });
        }
        leave(s);
    }
}

/// Runs `real(control, routine)` in such a way that the routine is seen. Also for C11.
pub(crate) fn once(
    call: &mut Call,
    control: *mut c_void,
    routine: Routine,
    real: impl FnOnce(Routine) -> c_int,
) -> c_int {
    let here = call.here;
    let depth = call.caller_depth();
    let Some(s) = call.strand() else {
        return real(routine);
    };
    let running = Running {
        routine,
        control: control as usize,
        depth,
        before: s.os.once,
    };
    s.os.once = &raw const running as usize;
    let result = real(run);
    s.os.once = running.before;
    if result == 0 && s.ignore_sync == 0 {
        s.enter();
        let at = s.stack_at(&RT, here);
        let var = RT.syncs.get(s, control as usize, Kind::Once);
        let (id, news) = var.with(|state| {
            let news = !state.known_to(s);
            state.acquire(&RT, s);
            (state.id, news)
        });
        if news {
            s.note("acquire", id, at);
        }
        leave(s);
    }
    result
}

interpose! {
    unsafe fn pthread_once(control: *mut c_void, routine: Routine) -> c_int |call, real| {
        // SAFETY: the program's own call, with our routine around its.
        once(&mut call, control, routine, |routine| unsafe { real(control, routine) })
    }
}

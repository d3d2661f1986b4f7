//! `pthread_once`: what the routine did happens before every return. A routine that throws is tried again, and what it did
//! happens before the next try.

use core::ffi::{c_int, c_void};

use crate::abi::tls;
use crate::access::leave;
use crate::interpose;
use crate::interpose::Call;
use crate::interpose::callbacks::{self, Frame};
use crate::locking;
use crate::runtime::RT;
use crate::strand::Strand;
use crate::syncvar::{Kind, State};

type Routine = unsafe extern "C" fn();

/// A call whose routine may have to be run, in the frame of that call.
#[repr(C)]
pub struct Running {
    frame: Frame,
    routine: Routine,
    control: usize,
}

impl Running {
    /// What earlier tries did happens before this one.
    fn begins(&self, s: &mut Strand) {
        self.with(s, |state, s| {
            locking::settle(&RT, state, self.control, Kind::Once);
            state.acquire(&RT, s);
        });
    }

    /// What this try did happens before the next one, or before every return. When it is left by an exception, the C library
    /// lets the next try begin after this.
    fn ends(&self, s: &mut Strand) {
        self.with(s, |state, s| state.release(s));
    }

    fn left(frame: &Frame, s: &mut Strand) {
        // SAFETY: the frame is the first field of the call that it was made for.
        unsafe { &*(&raw const *frame).cast::<Running>() }.ends(s);
    }

    fn with(&self, s: &mut Strand, f: impl FnOnce(&mut State, &mut Strand)) {
        if s.ignore_sync == 0 {
            s.enter();
            let var = RT.syncs.get(s, self.control, Kind::Once);
            var.with(|state| f(state, s));
            leave(s);
        }
    }
}

/// What the C library runs in place of the program's routine.
unsafe extern "C" fn run() {
    let Some(s) = tls::me() else { return };
    // SAFETY: `once` below opened it, and waits; the frame is its first field.
    let running = unsafe { &*(&raw const *callbacks::innermost(s)).cast::<Running>() };
    running.begins(s);
    // The routine is the program's, not the C library's.
    s.interposed = running.frame.outer();
    // SAFETY: the program's own routine, which takes nothing.
    unsafe {
        let routine = core::mem::transmute::<Routine, callbacks::Work>(running.routine);
        callbacks::guarded(core::ptr::null_mut(), routine);
    }
    if let Some(s) = tls::me() {
        running.ends(s);
        s.interposed = running.frame.outer() + 1;
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
    let mut running = Running {
        frame: Frame::new(call, Running::left),
        routine,
        control: control as usize,
    };
    let Some(s) = call.strand() else {
        return real(routine);
    };
    running.frame.open(s);
    let result = real(run);
    running.frame.close(s);
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

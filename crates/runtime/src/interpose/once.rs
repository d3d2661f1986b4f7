//! `pthread_once`: what the routine did happens before every return. A routine that throws is tried again, and what it did
//! happens before the next try.

use core::ffi::{c_int, c_void};

use crate::abi::tls;
use crate::access::leave;
use crate::interpose;
use crate::interpose::Call;
use crate::locking;
use crate::runtime::RT;
use crate::strand::Strand;
use crate::syncvar::{Kind, State};

type Routine = unsafe extern "C" fn();

/// A call whose routine may have to be run, in the frame of that call.
pub struct Running {
    routine: Routine,
    control: usize,
    /// How deep the caller was: in calls of its own, and of the C library's.
    depth: usize,
    outer: u32,
    /// The one around it.
    before: usize,
}

impl Running {
    /// What earlier tries did happens before this one.
    fn begins(&self, s: &mut Strand) {
        s.interposed = self.outer;
        self.with(s, |state, s| {
            locking::settle(&RT, state, self.control, Kind::Once);
            state.acquire(&RT, s);
        });
    }

    /// What this try did happens before the next one, or before every return.
    fn ends(&self, s: &mut Strand) {
        self.with(s, |state, s| state.release(s));
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

/// The call whose routine runs or is about to.
fn innermost(s: &Strand) -> &'static Running {
    // SAFETY: set by `once` below, in a frame that waits for whoever asks.
    unsafe { &*(s.os.once as *const Running) }
}

/// What the C library runs in place of the program's routine.
unsafe extern "C" fn run() {
    let Some(s) = tls::me() else { return };
    let running = innermost(s);
    running.begins(s);
    // SAFETY: the program's own routine.
    unsafe { guarded(running.routine) };
    if let Some(s) = tls::me() {
        running.ends(s);
        s.interposed = running.outer + 1;
    }
}

/// Calls the routine in a frame of which the unwinder tells [`left`], should an exception, a cancellation or
/// `pthread_exit` leave it. There is nothing to be cleaned up here, so there is no landing pad.
#[unsafe(naked)]
unsafe extern "C" fn guarded(routine: Routine) {
    core::arch::naked_asm!(
        ".cfi_startproc",
        // 0x1b: relative to here, four bytes. The function is our own, so no table of the dynamic linker is needed.
        ".hidden {left}",
        ".cfi_personality 0x1b, {left}",
        "sub rsp, 8",
        ".cfi_adjust_cfa_offset 8",
        "call rdi",
        "add rsp, 8",
        ".cfi_adjust_cfa_offset -8",
        "ret",
        ".cfi_endproc",
        left = sym left
    )
}

/// The unwinder's second phase, in which frames are really left.
const LEAVING: c_int = 2;
/// There is nobody here who catches.
const GO_ON: c_int = 8;

/// What the unwinder asks about a frame of [`guarded`]. The C library lets the next try begin after this.
unsafe extern "C" fn left(
    _version: c_int,
    actions: c_int,
    _class: u64,
    _exception: *mut c_void,
    _context: *mut c_void,
) -> c_int {
    if actions & LEAVING != 0
        && let Some(s) = tls::me()
    {
        let running = innermost(s);
        running.ends(s);
        s.os.once = running.before;
        s.set_depth(running.depth);
    }
    GO_ON
}

/// The calls in frames below `sp` are jumped out of, and will never end.
pub(crate) fn jumped_out(s: &mut Strand, sp: usize) {
    while (s.os.stack_low..sp.min(s.os.stack_high)).contains(&s.os.once) {
        s.os.once = innermost(s).before;
    }
}

/// Runs `real(control, routine)` in such a way that the routine is seen. Also for C11.
pub(crate) fn once(
    call: &mut Call,
    control: *mut c_void,
    routine: Routine,
    real: impl FnOnce(Routine) -> c_int,
) -> c_int {
    let (here, depth, outer) = (call.here, call.depth, call.outer);
    let Some(s) = call.strand() else {
        return real(routine);
    };
    let running = Running {
        routine,
        control: control as usize,
        depth,
        outer,
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

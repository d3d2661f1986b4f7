//! Functions of the C library that call the program back, and are left by an exception, a cancellation or `pthread_exit`
//! instead of returning.
//!
//! What such a call has on the strand's books is taken back by the unwinder: it passes a frame of assembler whose
//! personality function is ours. There is nothing to be cleaned up in that frame, so there is no landing pad.

use core::ffi::{c_int, c_void};

use crate::abi::tls;
use crate::interpose::Call;
use crate::strand::Strand;

/// A call that may be left, in the frame of that call. The strand knows the innermost one.
#[repr(C)]
pub struct Frame {
    /// How deep the caller was: in calls of its own, and of the C library's.
    depth: usize,
    outer: u32,
    /// The one around it.
    before: usize,
    /// What else is to be done when it is left.
    left: fn(&Frame, &mut Strand),
}

/// What is done with the frame as its argument.
pub type Work = unsafe extern "C" fn(*mut c_void);

impl Frame {
    /// A frame for `call`, not yet known to the strand.
    pub fn new(call: &Call, left: fn(&Frame, &mut Strand)) -> Frame {
        Frame {
            depth: call.depth,
            outer: call.outer,
            before: 0,
            left,
        }
    }

    pub fn outer(&self) -> u32 {
        self.outer
    }

    /// From now on this is the innermost one, until [`Self::close`].
    pub fn open(&mut self, s: &mut Strand) {
        self.before = s.os.callback;
        s.os.callback = &raw const *self as usize;
    }

    /// The call came back.
    pub fn close(&self, s: &mut Strand) {
        s.os.callback = self.before;
    }
}

/// The innermost call that may be left.
///
/// # Safety
/// There must be one: the caller is called back by it.
pub unsafe fn innermost(s: &Strand) -> &'static Frame {
    // SAFETY: by the contract it is in a stack frame that waits for this one.
    unsafe { &*(s.os.callback as *const Frame) }
}

/// Does `work(with)`. Should it be left, the innermost [`Frame`] is told.
///
/// # Safety
/// By the contract of `work`; a [`Frame`] is open.
#[unsafe(naked)]
pub unsafe extern "C" fn guarded(with: *mut c_void, work: Work) {
    core::arch::naked_asm!(
        ".cfi_startproc",
        // 0x1b: relative to here, four bytes. The function is our own, so no table of the dynamic linker is needed.
        ".hidden {personality}",
        ".cfi_personality 0x1b, {personality}",
        "sub rsp, 8",
        ".cfi_adjust_cfa_offset 8",
        "call rsi",
        "add rsp, 8",
        ".cfi_adjust_cfa_offset -8",
        "ret",
        ".cfi_endproc",
        personality = sym personality
    )
}

/// The unwinder's second phase, in which frames are really left.
const LEAVING: c_int = 2;
/// There is nobody here who catches.
const GO_ON: c_int = 8;

/// What the unwinder asks about a frame of [`guarded`].
unsafe extern "C" fn personality(
    _version: c_int,
    actions: c_int,
    _class: u64,
    _exception: *mut c_void,
    _context: *mut c_void,
) -> c_int {
    if actions & LEAVING != 0
        && let Some(s) = tls::me()
        && s.os.callback != 0
    {
        // SAFETY: the frame that is left belongs to the innermost call.
        let frame = unsafe { innermost(s) };
        (frame.left)(frame, s);
        frame.close(s);
        s.set_depth(frame.depth);
        s.interposed = frame.outer;
    }
    GO_ON
}

/// The calls in frames below `sp` are jumped out of, and will never come back.
pub(crate) fn jumped_out(s: &mut Strand, sp: usize) {
    while (s.os.stack_low..sp.min(s.os.stack_high)).contains(&s.os.callback) {
        // SAFETY: still in place: the jump has not been made yet.
        let frame = unsafe { innermost(s) };
        frame.close(s);
    }
}

/// Does `work`, in which the C library calls the program back, so that it can be left.
pub(crate) fn calling_back<R>(call: &mut Call, work: impl FnOnce() -> R) -> R {
    /// The work, then its result.
    struct Job<F, R> {
        work: Option<F>,
        result: Option<R>,
    }

    unsafe extern "C" fn go<F: FnOnce() -> R, R>(job: *mut c_void) {
        // SAFETY: the one below, which waits.
        let job = unsafe { &mut *job.cast::<Job<F, R>>() };
        job.result = job.work.take().map(|work| work());
    }

    fn run<F: FnOnce() -> R, R>(_: &F) -> Work {
        go::<F, R>
    }

    let mut frame = Frame::new(call, |_, _| ());
    let Some(s) = call.strand() else {
        return work();
    };
    frame.open(s);
    let go = run(&work);
    let mut job = Job {
        work: Some(work),
        result: None,
    };
    // SAFETY: the job is `go`'s own, and the frame is open.
    unsafe { guarded((&raw mut job).cast(), go) };
    frame.close(s);
    match job.result {
        Some(result) => result,
        None => crate::sys::die("a call of the C library came back without a result"),
    }
}

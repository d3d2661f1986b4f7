//! Signals: handlers run only outside the runtime, know what was done before the sending, and are told apart by whether
//! they interrupt the program anywhere (then most calls are not safe in them) or answer a fault or a `raise` of its own.
//!
//! Every handler of the program stands behind [`on_signal`]. If a signal arrives while the thread is inside the runtime,
//! the thread keeps it, together with the mask that it should have, and blocks all further ones; [`deliver_pending`]
//! runs the handler when the thread leaves. So at most one is ever kept, and none is lost.

use core::ffi::{c_int, c_uint, c_void};
use core::sync::atomic::{AtomicI32, AtomicU64, AtomicUsize, Ordering};

use crate::abi::tls;
use crate::access::leave;
use crate::interpose;
use crate::interpose::{Call, exit};
use crate::loss::Loss;
use crate::runtime::RT;
use crate::signal_state::{CONTEXT_WORDS, INFO_WORDS, Kept, Running};
use crate::strand::{PENDING_SIGNAL, Strand};
use crate::syncvar::Kind;
use crate::sys;

type Handler = unsafe extern "C" fn(c_int, *mut c_void, *mut c_void);

/// The C library's `struct sigaction`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Action {
    handler: usize,
    mask: [u64; 16],
    flags: c_int,
    restorer: usize,
}

const SIG_DFL: usize = 0;
const SIG_IGN: usize = 1;
const SIG_ERR: usize = usize::MAX;
const SA_SIGINFO: c_int = 4;
const SA_ONSTACK: c_int = 0x0800_0000;
const SA_RESTART: c_int = 0x1000_0000;
const SA_NODEFER: c_int = 0x4000_0000;
const SA_RESETHAND: c_int = c_int::MIN;
const SIGNALS: usize = 65;

const HUP: c_int = 1;
const INT: c_int = 2;
const QUIT: c_int = 3;
const ILL: c_int = 4;
const TRAP: c_int = 5;
const ABRT: c_int = 6;
const BUS: c_int = 7;
const FPE: c_int = 8;
const SEGV: c_int = 11;
const TERM: c_int = 15;
const SYS: c_int = 31;
/// Signals that end the program unless it does something about them; what is left to tell is told first.
const FATAL: [c_int; 9] = [HUP, INT, QUIT, ILL, ABRT, BUS, FPE, SEGV, TERM];
/// What a thread may do to itself by a faulty instruction.
const FAULTS: [c_int; 6] = [ILL, TRAP, BUS, FPE, SEGV, SYS];

const fn bit(signal: c_int) -> u64 {
    1 << (signal - 1)
}

/// All signals but the faults.
const BLOCKABLE: u64 = !(bit(ILL) | bit(TRAP) | bit(BUS) | bit(FPE) | bit(SEGV) | bit(SYS));

/// What the program wants to be done for a signal.
struct Wanted {
    handler: AtomicUsize,
    flags: AtomicI32,
    mask: AtomicU64,
}

static WANTED: [Wanted; SIGNALS] = [const {
    Wanted {
        handler: AtomicUsize::new(SIG_DFL),
        flags: AtomicI32::new(0),
        mask: AtomicU64::new(0),
    }
}; SIGNALS];

/// Where the kernel keeps, in the context of an interrupted thread, the mask that it will set again.
const CONTEXT_MASK: usize = 296 / 8;

/// How many handlers run in the strand, one inside the other.
pub(crate) fn running(s: &Strand) -> u32 {
    s.handlers.len() as u32
}

/// The program jumped out of all handlers but the first `left`.
pub(crate) fn jumped_out(s: &mut Strand, left: u32) {
    while s.handlers.len() > left as usize {
        if let Some(running) = s.handlers.pop() {
            s.restore_frames(&RT, running.frames);
            // If it interrupted two calls that tell of one loop, that loop is not come to.
            s.low_halves = None;
        }
    }
}

fn set_mask(mask: u64) {
    const SIG_SETMASK: usize = 2;
    // SAFETY: eight bytes of mask, nothing to be written back.
    unsafe {
        sys::syscall(
            sys::nr::RT_SIGPROCMASK,
            [SIG_SETMASK, &raw const mask as usize, 0, 8, 0, 0],
        )
    };
}

fn kill_self(signal: c_int) {
    // SAFETY: a signal to this very thread.
    unsafe {
        sys::syscall(
            sys::nr::TGKILL,
            [
                sys::getpid() as usize,
                sys::gettid() as usize,
                signal as usize,
                0,
                0,
                0,
            ],
        )
    };
}

/// The object that stands for a signal: sending releases into it, the handler acquires from it.
fn object(signal: c_int) -> usize {
    &raw const WANTED[signal.clamp(0, SIGNALS as c_int - 1) as usize] as usize
}

/// What `s` did so far happens before the handler of the signal.
pub(crate) fn sending(s: &mut Strand, signal: c_int) {
    if s.ignore_sync > 0 {
        return;
    }
    s.enter();
    let var = RT.syncs.get(s, object(signal), Kind::Signal);
    var.with(|state| state.release(s));
    leave(s);
}

/// `s` got the signal, by a handler or by waiting for it.
pub(crate) fn received(s: &mut Strand, signal: c_int) {
    if s.ignore_sync > 0 {
        return;
    }
    s.enter();
    if let Some(var) = RT.syncs.find(s, object(signal)) {
        var.with(|state| state.acquire(&RT, s));
    }
    leave(s);
}

/// `s` learned that some signal has come.
pub(crate) fn received_any(s: &mut Strand) {
    for signal in 1..SIGNALS as c_int {
        received(s, signal);
    }
}

/// What the kernel calls for every signal that the program handles, and for those that would end it.
unsafe extern "C" fn on_signal(signal: c_int, info: *mut c_void, context: *mut c_void) {
    let wanted = &WANTED[signal as usize % SIGNALS];
    let words: *mut u64 = context.cast();
    // SAFETY: the kernel hands a `siginfo_t`: signal, errno, code.
    let code = unsafe { *info.cast::<c_int>().add(2) };
    let fault = FAULTS.contains(&signal) && code > 0;
    let Some(s) = tls::me() else {
        // SAFETY: the kernel's own arguments.
        return unsafe { run(None, signal, info, context, fault) };
    };
    // SAFETY: the thread's own strand.
    let inside = unsafe { Strand::is_inside(s) };
    if wanted.handler.load(Ordering::Acquire) == SIG_DFL && fault {
        return exit::dying(signal, !inside);
    }
    if inside && !fault {
        // SAFETY: the kernel's own arguments; the context is as large as that, and its mask is set on return.
        unsafe {
            s.kept.signal = signal;
            s.kept.mask = *words.add(CONTEXT_MASK);
            core::ptr::copy_nonoverlapping(info.cast(), s.kept.info.as_mut_ptr(), INFO_WORDS);
            core::ptr::copy_nonoverlapping(words, s.kept.context.as_mut_ptr(), CONTEXT_WORDS);
            *words.add(CONTEXT_MASK) |= BLOCKABLE;
        }
        s.pending.fetch_or(PENDING_SIGNAL, Ordering::Relaxed);
        return;
    }
    // SAFETY: the kernel's own arguments.
    unsafe { run(Some(s), signal, info, context, fault) }
}

/// Runs the handlers of signals that arrived while `s` was inside the runtime.
pub(crate) fn deliver_pending(s: &mut Strand) {
    if s.pending.fetch_and(!PENDING_SIGNAL, Ordering::Relaxed) & PENDING_SIGNAL == 0 {
        return;
    }
    // All further signals are blocked, so it cannot change under our hands.
    let mut kept = core::mem::replace(&mut s.kept, Kept::none());
    let wanted = &WANTED[kept.signal as usize % SIGNALS];
    let mut mask = kept.mask | wanted.mask.load(Ordering::Relaxed);
    if wanted.flags.load(Ordering::Relaxed) & SA_NODEFER == 0 {
        mask |= bit(kept.signal);
    }
    set_mask(mask);
    // SAFETY: copies of what the kernel handed over.
    unsafe {
        run(
            Some(s),
            kept.signal,
            kept.info.as_mut_ptr().cast(),
            kept.context.as_mut_ptr().cast(),
            false,
        )
    };
    set_mask(kept.mask);
}

/// Runs the program's handler, outside the runtime.
///
/// # Safety
/// The arguments must be what the kernel handed over.
unsafe fn run(
    s: Option<&mut Strand>,
    signal: c_int,
    info: *mut c_void,
    context: *mut c_void,
    fault: bool,
) {
    let wanted = &WANTED[signal as usize % SIGNALS];
    let handler = wanted.handler.load(Ordering::Acquire);
    if handler == SIG_DFL {
        return exit::dying(signal, true);
    }
    if handler == SIG_IGN {
        return;
    }
    // SAFETY: the program installed it for this signal.
    let handler: Handler = unsafe { core::mem::transmute::<usize, Handler>(handler) };
    let Some(s) = s else {
        // SAFETY: the kernel's own arguments.
        return unsafe { handler(signal, info, context) };
    };
    received(s, signal);
    s.enter();
    let own = s.os.raising == signal as u32;
    let running = Running {
        frames: s.fresh_frames(&RT),
        held: s.interrupted(),
        anywhere: !fault && !own,
        signal,
        unsafe_call: (0, 0),
    };
    if RT.threads.with(s.thread, |t| t.waits_for.is_some()) {
        RT.losses.count(Loss::BrokenJoin);
    }
    // The collector may be looking at them.
    RT.threads.unseen(|| s.handlers.push(running));
    leave(s);
    // SAFETY: as above.
    unsafe { handler(signal, info, context) };
    if let Some(s) = tls::me() {
        s.enter();
        if let Some(running) = s.handlers.pop() {
            s.restore_frames(&RT, running.frames);
        }
        leave(s);
    }
}

/// Puts ourselves before the default action of the signals that end the program.
pub(crate) fn watch_fatal() {
    let real = sigaction::real();
    for signal in FATAL {
        let mut now = Action {
            handler: 0,
            mask: [0; 16],
            flags: 0,
            restorer: 0,
        };
        // SAFETY: places for an action each.
        unsafe {
            if real(signal, core::ptr::null(), &raw mut now) == 0 && now.handler == SIG_DFL {
                let ours = Action {
                    handler: on_signal as *const () as usize,
                    mask: [0; 16],
                    flags: SA_SIGINFO | SA_ONSTACK | SA_RESTART,
                    restorer: 0,
                };
                real(signal, &raw const ours, core::ptr::null_mut());
            }
        }
    }
}

/// The default action for the signal, and the signal again.
pub(crate) fn die_by(signal: c_int) {
    let default = Action {
        handler: SIG_DFL,
        mask: [0; 16],
        flags: 0,
        restorer: 0,
    };
    // SAFETY: an action.
    unsafe { sigaction::real()(signal, &raw const default, core::ptr::null_mut()) };
    kill_self(signal);
}

/// Installs an action of the program; its former one, as the program knows it.
///
/// # Safety
/// `new` and `old` must be null or point to actions.
unsafe fn install(
    call: &mut Call,
    signal: c_int,
    new: *const Action,
    old: *mut Action,
    real: Real,
) -> c_int {
    if !(1..SIGNALS as c_int).contains(&signal) {
        // SAFETY: the program's own call, which the C library refuses.
        return unsafe { real(signal, new, old) };
    }
    let wanted = &WANTED[signal as usize];
    let before = Action {
        handler: wanted.handler.load(Ordering::Relaxed),
        mask: {
            let mut mask = [0; 16];
            mask[0] = wanted.mask.load(Ordering::Relaxed);
            mask
        },
        flags: wanted.flags.load(Ordering::Relaxed),
        restorer: 0,
    };
    let mut previous = before;
    let result = if new.is_null() {
        // SAFETY: a place for an action.
        unsafe { real(signal, new, &raw mut previous) }
    } else {
        // SAFETY: the program's action.
        let mut theirs = unsafe { *new };
        if let Some(s) = call.strand() {
            sending(s, signal);
        }
        let watched = RT.started.load(Ordering::Acquire) && FATAL.contains(&signal);
        let ours = theirs.handler != SIG_IGN && (theirs.handler != SIG_DFL || watched);
        let (handler, flags, mask) = (theirs.handler, theirs.flags, theirs.mask[0]);
        // Faults do not come to a thread that waits.
        if handler != SIG_IGN && handler != SIG_DFL && !FAULTS.contains(&signal) {
            RT.threads.handlers_exist();
        }
        // Before it is installed, since the signal may come at once.
        wanted.flags.store(flags, Ordering::Relaxed);
        wanted.mask.store(mask, Ordering::Relaxed);
        wanted.handler.store(handler, Ordering::Release);
        if ours {
            theirs.handler = on_signal as *const () as usize;
            theirs.flags |= SA_SIGINFO;
            if handler == SIG_DFL {
                theirs.flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
            }
        }
        // SAFETY: an action and a place for one.
        let result = unsafe { real(signal, &raw const theirs, &raw mut previous) };
        if result != 0 {
            wanted.handler.store(before.handler, Ordering::Release);
            wanted.flags.store(before.flags, Ordering::Relaxed);
            wanted.mask.store(before.mask[0], Ordering::Relaxed);
        }
        result
    };
    if result == 0 && !old.is_null() {
        let shown = if previous.handler == on_signal as *const () as usize {
            before
        } else {
            previous
        };
        // SAFETY: the program's place for its former action.
        unsafe { *old = shown };
    }
    result
}

type Real = unsafe extern "C" fn(c_int, *const Action, *mut Action) -> c_int;

/// `signal` in one of its flavours.
fn simple(call: &mut Call, number: c_int, handler: usize, flags: c_int) -> usize {
    let new = Action {
        handler,
        mask: [0; 16],
        flags,
        restorer: 0,
    };
    let mut old = Action {
        handler: SIG_DFL,
        mask: [0; 16],
        flags: 0,
        restorer: 0,
    };
    // SAFETY: an action and a place for one.
    let result = unsafe {
        install(
            call,
            number,
            &raw const new,
            &raw mut old,
            sigaction::real(),
        )
    };
    if result == 0 { old.handler } else { SIG_ERR }
}

/// A signal that this thread sends to itself runs its handler before the call returns.
fn to_self(call: &mut Call, signal: c_int, real: impl FnOnce() -> c_int) -> c_int {
    let before = call.strand().map(|s| {
        sending(s, signal);
        core::mem::replace(&mut s.os.raising, signal as u32)
    });
    let result = real();
    if let (Some(before), Some(s)) = (before, call.strand()) {
        s.os.raising = before;
    }
    result
}

fn got(call: &mut Call, signal: c_int) {
    if let (1.., Some(s)) = (signal, call.strand()) {
        received(s, signal);
    }
}

interpose! {
    unsafe fn sigaction(signal: c_int, new: *const Action, old: *mut Action) -> c_int |call, real| {
        // SAFETY: the program's own call.
        unsafe { install(&mut call, signal, new, old, real) }
    }

    unsafe fn signal(number: c_int, handler: usize) -> usize |call, real| {
        simple(&mut call, number, handler, SA_RESTART)
    }

    unsafe fn bsd_signal(number: c_int, handler: usize) -> usize |call, real| {
        simple(&mut call, number, handler, SA_RESTART)
    }

    unsafe fn __sysv_signal(number: c_int, handler: usize) -> usize |call, real| {
        simple(&mut call, number, handler, SA_RESETHAND | SA_NODEFER)
    }

    unsafe fn kill(pid: c_int, signal: c_int) -> c_int |call, real| {
        if let Some(s) = call.strand() {
            sending(s, signal);
        }
        // SAFETY: the program's own call.
        unsafe { real(pid, signal) }
    }

    unsafe fn killpg(group: c_int, signal: c_int) -> c_int |call, real| {
        if let Some(s) = call.strand() {
            sending(s, signal);
        }
        // SAFETY: the program's own call.
        unsafe { real(group, signal) }
    }

    unsafe fn raise(signal: c_int) -> c_int |call, real| {
        // SAFETY: the program's own call.
        to_self(&mut call, signal, || unsafe { real(signal) })
    }

    unsafe fn pthread_kill(thread: usize, signal: c_int) -> c_int |call, real| {
        unsafe extern "C" {
            fn pthread_self() -> usize;
        }
        // SAFETY: cannot fail.
        if thread == unsafe { pthread_self() } {
            // SAFETY: the program's own call.
            return to_self(&mut call, signal, || unsafe { real(thread, signal) });
        }
        if let Some(s) = call.strand() {
            sending(s, signal);
        }
        // SAFETY: the program's own call.
        unsafe { real(thread, signal) }
    }

    unsafe fn tgkill(group: c_int, thread: c_int, signal: c_int) -> c_int |call, real| {
        if let Some(s) = call.strand() {
            sending(s, signal);
        }
        // SAFETY: the program's own call.
        unsafe { real(group, thread, signal) }
    }

    unsafe fn sigqueue(pid: c_int, signal: c_int, value: usize) -> c_int |call, real| {
        if let Some(s) = call.strand() {
            sending(s, signal);
        }
        // SAFETY: the program's own call.
        unsafe { real(pid, signal, value) }
    }

    unsafe fn pthread_sigqueue(thread: usize, signal: c_int, value: usize) -> c_int |call, real| {
        if let Some(s) = call.strand() {
            sending(s, signal);
        }
        // SAFETY: the program's own call.
        unsafe { real(thread, signal, value) }
    }

    unsafe fn setitimer(which: c_int, new: *const c_void, old: *mut c_void) -> c_int |call, real| {
        if let Some(s) = call.strand() {
            // Real time, the process's own time, its time and the kernel's for it.
            sending(s, [14, 26, 27][which.clamp(0, 2) as usize]);
        }
        // SAFETY: the program's own call.
        unsafe { real(which, new, old) }
    }

    unsafe fn alarm(seconds: c_uint) -> c_uint |call, real| {
        if let Some(s) = call.strand() {
            sending(s, 14);
        }
        // SAFETY: the program's own call.
        unsafe { real(seconds) }
    }

    unsafe fn sigwait(set: *const c_void, out: *mut c_int) -> c_int |call, real| {
        // SAFETY: the program's own call.
        let result = unsafe { real(set, out) };
        if result == 0 {
            // SAFETY: the C library has just written it.
            got(&mut call, unsafe { *out });
            call.writes(out.cast(), size_of::<c_int>());
        }
        result
    }

    unsafe fn sigwaitinfo(set: *const c_void, info: *mut c_void) -> c_int |call, real| {
        // SAFETY: the program's own call.
        let result = unsafe { real(set, info) };
        got(&mut call, result);
        result
    }

    unsafe fn sigtimedwait(set: *const c_void, info: *mut c_void, until: *const c_void) -> c_int |call, real| {
        // SAFETY: the program's own call.
        let result = unsafe { real(set, info, until) };
        got(&mut call, result);
        result
    }
}

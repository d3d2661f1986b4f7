//! A handler of the program's own that is told of findings: `__deadheat_on_finding`, behind `deadheat.h`.
//!
//! A program that checks itself calls it in the thread that found something, when the collector has answered with the
//! finding's headline and said that nothing silences it. In a program that only records nobody finds anything: a thread of
//! the program listens to what the checker says and calls the handler, and `__tsan_on_report` likewise.

use core::ffi::{c_char, c_int, c_void};
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicUsize, Ordering};

use deadheat_frames::LATER;
use std_alloc::vec::Vec;

use crate::abi::{reports, tls};
use crate::access::leave;
use crate::interpose::threads::{pthread_create, pthread_detach};
use crate::json::Json;
use crate::record;
use crate::runtime::{RT, Runtime};
use crate::sync::{Held, Locked};
use crate::sys::{self, nr};

/// What a handler gets; `struct deadheat_finding`.
#[repr(C)]
pub struct Finding {
    size: u32,
    id: u32,
    kind: *const c_char,
    headline: *const c_char,
}

type Handler = extern "C" fn(*const Finding, *mut c_void);

/// The handler; 0 if there is none.
static HANDLER: AtomicUsize = AtomicUsize::new(0);
static DATA: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());
/// Whether the collector knows that it is to answer.
static ASKED: AtomicBool = AtomicBool::new(false);
/// Whether a thread listens to the checker.
static LISTENING: AtomicBool = AtomicBool::new(false);
/// One question and its answer at a time.
static TURN: Locked<()> = Locked::new(());
/// The thread that runs the handler, and has the turn meanwhile; 0 if none does.
static TELLING: AtomicU32 = AtomicU32::new(0);

/// # Safety
/// The handler must be a function that can be called with `data` from any thread, for as long as it is registered.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __deadheat_on_finding(
    handler: Option<Handler>,
    data: *mut c_void,
) -> c_int {
    let later = record::arena().is_some_and(|arena| arena.header().flags & LATER != 0);
    let known = handler.is_some() && !later;
    HANDLER.store(0, Ordering::SeqCst);
    DATA.store(data, Ordering::SeqCst);
    HANDLER.store(handler.map_or(0, |f| f as usize), Ordering::SeqCst);
    if known {
        listen_if_recording();
    }
    c_int::from(known)
}

/// Whether a finding of this process is to be told by the thread that found it.
pub fn asks() -> bool {
    HANDLER.load(Ordering::Acquire) != 0 && record::arena().is_none()
}

/// Whether a thread reads what the collector says.
pub fn listening() -> bool {
    LISTENING.load(Ordering::Acquire)
}

/// The right to ask the collector, until it is dropped. Who runs the handler has it already: it may end the program, or
/// find something itself.
pub fn turn() -> Option<Held<'static, ()>> {
    (!is_telling()).then(|| TURN.lock())
}

/// Does this thread run the handler?
fn is_telling() -> bool {
    TELLING.load(Ordering::Relaxed) == sys::gettid()
}

/// Asks the collector to answer, before the first finding that is to be answered.
pub fn ask(out: &mut Json) {
    if !ASKED.swap(true, Ordering::AcqRel) {
        out.event("handler").end_line();
    }
}

/// Waits for the answer to a finding and tells the handler. True if it was reported, false if it was suppressed.
pub fn told(rt: &Runtime, id: u32, kind: &str) -> bool {
    let answer = rt.stream.answer();
    match answer.split_first() {
        Some((b's', _)) => false,
        // What happens in the handler is reported, and not told to it again.
        Some((b'r', _)) if is_telling() => true,
        Some((b'r', rest)) => {
            tell(rest);
            true
        }
        _ if is_telling() => true,
        _ => {
            // Nobody explains: the kind must do.
            let mut line = Json::new();
            line.number(u64::from(id));
            for _ in 0..2 {
                line.bytes.push(b'\t');
                line.bytes.extend_from_slice(kind.as_bytes());
            }
            tell(&line.bytes);
            true
        }
    }
}

/// Calls the handler with an answer: number, kind and headline with tabs between.
fn tell(answer: &[u8]) {
    let handler = HANDLER.load(Ordering::SeqCst);
    if handler == 0 {
        return;
    }
    let mut parts = answer.splitn(3, |&c| c == b'\t');
    let mut part = || parts.next().unwrap_or_default();
    let id = part().iter().fold(0u32, |n, c| {
        n.wrapping_mul(10)
            .wrapping_add(u32::from(c.wrapping_sub(b'0')))
    });
    let terminated = |text: &[u8]| {
        let mut text: Vec<u8> = text.iter().copied().filter(|&c| c != 0).collect();
        text.push(0);
        text
    };
    let (kind, headline) = (terminated(part()), terminated(part()));
    let finding = Finding {
        size: size_of::<Finding>() as u32,
        id,
        kind: kind.as_ptr().cast(),
        headline: headline.as_ptr().cast(),
    };
    // SAFETY: only `__deadheat_on_finding` stores here, and it stores a handler.
    let handler = unsafe { core::mem::transmute::<usize, Handler>(handler) };
    TELLING.store(sys::gettid(), Ordering::Relaxed);
    handler(&finding, DATA.load(Ordering::SeqCst));
    TELLING.store(0, Ordering::Relaxed);
}

/// In a program that only records: starts the thread that listens, unless it is there. To be called outside of the runtime.
pub fn listen_if_recording() {
    if record::arena().is_none() || LISTENING.swap(true, Ordering::AcqRel) {
        return;
    }
    let Some(s) = tls::me() else {
        LISTENING.store(false, Ordering::Release);
        return;
    };
    s.enter();
    RT.stream.compose(&RT, ask);
    leave(s);
    let mut handle = 0usize;
    // SAFETY: as the program would call them, with a routine of ours that lives as long as the program.
    unsafe {
        let made = pthread_create::body(
            &raw mut handle,
            core::ptr::null(),
            listen,
            core::ptr::null_mut(),
        );
        if made == 0 {
            pthread_detach::body(handle);
        }
    }
}

/// A program that defines `__tsan_on_report` wants to be told, too, as soon as it has threads.
pub fn listen_if_wanted() {
    if !listening() && crate::abi::weak::on_report().is_some() {
        listen_if_recording();
    }
}

extern "C" fn listen(_: *mut c_void) -> *mut c_void {
    // The program's signals are for its own threads.
    let all = u64::MAX;
    const SIG_BLOCK: usize = 0;
    // SAFETY: the kernel reads eight bytes of a set.
    unsafe {
        sys::syscall(
            nr::RT_SIGPROCMASK,
            [
                SIG_BLOCK,
                &raw const all as usize,
                0,
                size_of::<u64>(),
                0,
                0,
            ],
        )
    };
    loop {
        let answer = RT.stream.answer();
        match answer.split_first() {
            None => return core::ptr::null_mut(),
            Some((b'r', rest)) => {
                reports::on_report_of_checker();
                tell(rest);
            }
            Some(_) => {}
        }
    }
}

/// In the child of a fork: whoever listened stayed in the parent, and the answers are the parent's.
pub fn became_child() {
    // SAFETY: whoever had the turn is a thread of the parent.
    unsafe { TURN.force_unlock() };
    TELLING.store(0, Ordering::Relaxed);
    HANDLER.store(0, Ordering::SeqCst);
    ASKED.store(false, Ordering::Release);
    LISTENING.store(false, Ordering::Release);
}

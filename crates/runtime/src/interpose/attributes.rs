//! Questions about threads, their attributes, schedulers and signal masks: the answers are put into memory of the program.

use core::ffi::{c_char, c_int, c_void};

use crate::interpose;
use crate::interpose::Call;
use crate::interpose::strings::{after, before};

type Attr = *const c_void;
type Number = *mut c_int;
type Set = *mut c_void;

/// The C library's sets of signals; the kernel fills the first word.
const SET: usize = 128;
const WORD: usize = 8;
const STACK: usize = 24;

/// An answer of `bytes`, if there is one and the program has a place for it.
fn answer(call: &mut Call, failed: c_int, to: *const c_void, bytes: usize) {
    if failed == 0 && !to.is_null() {
        call.writes(to, bytes);
    }
}

/// Functions that put one number into memory of the program and return 0.
macro_rules! one_number {
    ($($name:ident: $bytes:literal;)*) => {
        after! { $(
            $name(of: Attr, to: *mut c_void) -> c_int: |call, failed| answer(call, failed, to, $bytes);
        )* }
    };
}

one_number! {
    pthread_attr_getdetachstate: 4;
    pthread_attr_getguardsize: 8;
    pthread_attr_getinheritsched: 4;
    pthread_attr_getschedparam: 4;
    pthread_attr_getschedpolicy: 4;
    pthread_attr_getscope: 4;
    pthread_attr_getstacksize: 8;
    pthread_barrierattr_getpshared: 4;
    pthread_condattr_getclock: 4;
    pthread_condattr_getpshared: 4;
    pthread_mutexattr_getprioceiling: 4;
    pthread_mutexattr_getprotocol: 4;
    pthread_mutexattr_getpshared: 4;
    pthread_mutexattr_getrobust: 4;
    pthread_mutexattr_gettype: 4;
    pthread_rwlockattr_getkind_np: 4;
    pthread_rwlockattr_getpshared: 4;
    pthread_getcpuclockid: 4;
    sem_getvalue: 4;
}

// An older name, which a static C library does not have.
#[cfg(not(feature = "wrap"))]
one_number! {
    pthread_mutexattr_getrobust_np: 4;
}

after! {
    pthread_attr_getstack(of: *const [u64; 8], low: *mut usize, size: *mut usize) -> c_int: |call, failed| { answer(call, failed, low.cast(), 8); answer(call, failed, size.cast(), 8) };
    pthread_attr_getaffinity_np(of: Attr, size: usize, to: *mut c_void) -> c_int: |call, failed| answer(call, failed, to, size);
    pthread_getaffinity_np(thread: usize, size: usize, to: *mut c_void) -> c_int: |call, failed| answer(call, failed, to, size);
    sched_getaffinity(id: c_int, size: usize, to: *mut c_void) -> c_int: |call, failed| answer(call, failed.min(0), to, size);
    pthread_getschedparam(thread: usize, policy: Number, to: *mut c_void) -> c_int: |call, failed| { answer(call, failed, policy.cast(), 4); answer(call, failed, to, 4) };
    sched_getparam(id: c_int, to: *mut c_void) -> c_int: |call, failed| answer(call, failed, to, 4);
    pthread_getname_np(thread: usize, to: *mut c_char, room: usize) -> c_int: |call, failed| if failed == 0 { call.writes_text(to) };
    pthread_setcancelstate(state: c_int, old: Number) -> c_int: |call, failed| answer(call, failed, old.cast(), 4);
    pthread_setcanceltype(kind: c_int, old: Number) -> c_int: |call, failed| answer(call, failed, old.cast(), 4);
    sigprocmask(how: c_int, set: Attr, old: Set) -> c_int: |call, failed| { if !set.is_null() { call.reads(set, WORD) } answer(call, failed, old, WORD) };
    pthread_sigmask(how: c_int, set: Attr, old: Set) -> c_int: |call, failed| { if !set.is_null() { call.reads(set, WORD) } answer(call, failed, old, WORD) };
    sigpending(to: Set) -> c_int: |call, failed| answer(call, failed, to, WORD);
    sigaltstack(new: Attr, old: *mut c_void) -> c_int: |call, failed| { if !new.is_null() { call.reads(new, STACK) } answer(call, failed, old, STACK) };
    sigemptyset(to: Set) -> c_int: |call, failed| answer(call, failed, to, SET);
    sigfillset(to: Set) -> c_int: |call, failed| answer(call, failed, to, SET);
    sigaddset(to: Set, signal: c_int) -> c_int: |call, failed| answer(call, failed, to, WORD);
    sigdelset(to: Set, signal: c_int) -> c_int: |call, failed| answer(call, failed, to, WORD);
    sigandset(to: Set, a: Attr, b: Attr) -> c_int: |call, failed| { call.reads(a, SET); call.reads(b, SET); answer(call, failed, to, SET) };
    sigorset(to: Set, a: Attr, b: Attr) -> c_int: |call, failed| { call.reads(a, SET); call.reads(b, SET); answer(call, failed, to, SET) };
    mincore(start: *mut c_void, len: usize, to: *mut u8) -> c_int: |call, failed| answer(call, failed, to.cast(), len.div_ceil(4096));
    capget(head: *mut c_void, to: *mut c_void) -> c_int: |call, failed| { call.reads(head, 8); answer(call, failed, to, 12) };
    backtrace(to: *mut c_void, room: c_int) -> c_int: |call, n| call.writes(to, n.max(0) as usize * 8);
    backtrace_symbols(from: Attr, n: c_int) -> *mut *mut c_char: |call, texts| call.reads(from, n.max(0) as usize * 8);
}

before! {
    sigismember(set: Attr, signal: c_int) -> c_int: |call| call.reads(set, WORD);
    sigsuspend(set: Attr) -> c_int: |call| call.reads(set, WORD);
    capset(head: *mut c_void, from: Attr) -> c_int: |call| { call.reads(head, 8); call.reads(from, 12) };
}

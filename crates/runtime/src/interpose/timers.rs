//! Timers: setting one happens before the signal that it sends, whichever that is, or before its reading.

use core::ffi::{c_int, c_void};

use std_alloc::collections::BTreeMap;

use crate::access::leave;
use crate::interpose;
use crate::interpose::{Call, signals};
use crate::sync::{Locked, SpinLock};

const SIGEVENT: usize = 64;
const ITIMERSPEC: usize = 32;
const ALRM: c_int = 14;
/// How a timer tells that it has run out: by a signal to the process, or to one thread.
const BY_SIGNAL: c_int = 0;
const BY_SIGNAL_TO_THREAD: c_int = 4;

/// The beginning of a `struct sigevent`.
#[repr(C)]
struct Event {
    value: usize,
    signal: c_int,
    how: c_int,
}

/// The signal of each timer; 0 if it sends none.
static SIGNALS: Locked<BTreeMap<usize, c_int>> = Locked::new(BTreeMap::new());

fn in_table<R>(call: &mut Call, f: impl FnOnce(&mut BTreeMap<usize, c_int>) -> R) -> Option<R> {
    let s = call.strand()?;
    s.enter();
    let result = f(&mut SIGNALS.lock());
    leave(s);
    Some(result)
}

interpose! {
    unsafe fn timer_create(clock: c_int, event: *mut c_void, timer: *mut usize) -> c_int |call, real| {
        // SAFETY: the program's own call.
        let result = unsafe { real(clock, event, timer) };
        if result != 0 {
            return result;
        }
        let mut signal = ALRM;
        if !event.is_null() {
            call.reads(event, SIGEVENT);
            // SAFETY: the kernel has just read it.
            let event = unsafe { &*event.cast::<Event>() };
            signal = if matches!(event.how, BY_SIGNAL | BY_SIGNAL_TO_THREAD) { event.signal } else { 0 };
        }
        call.writes(timer.cast(), size_of::<usize>());
        // SAFETY: the C library has just written it.
        let made = unsafe { timer.read_volatile() };
        in_table(&mut call, |signals| signals.insert(made, signal));
        result
    }

    unsafe fn timer_delete(timer: usize) -> c_int |call, real| {
        in_table(&mut call, |signals| signals.remove(&timer));
        // SAFETY: the program's own call.
        unsafe { real(timer) }
    }

    unsafe fn timer_settime(timer: usize, flags: c_int, new: *const c_void, old: *mut c_void) -> c_int |call, real| {
        let signal = in_table(&mut call, |signals| signals.get(&timer).copied()).flatten().unwrap_or(ALRM);
        if !new.is_null() {
            call.reads(new, ITIMERSPEC);
        }
        if let (1.., Some(s)) = (signal, call.strand()) {
            signals::sending(s, signal);
        }
        // SAFETY: the program's own call.
        let result = unsafe { real(timer, flags, new, old) };
        if result == 0 && !old.is_null() {
            call.writes(old, ITIMERSPEC);
        }
        result
    }
}

interpose! {
    /// Setting it happens before the reading of its expirations.
    unsafe fn timerfd_settime(fd: c_int, flags: c_int, new: *const c_void, old: *mut c_void) -> c_int |call, real| {
        if !new.is_null() {
            call.reads(new, ITIMERSPEC);
        }
        call.sends(fd);
        // SAFETY: the program's own call.
        let result = unsafe { real(fd, flags, new, old) };
        if result == 0 && !old.is_null() {
            call.writes(old, ITIMERSPEC);
        }
        result
    }
}

/// Calls `f` for each lock that is held over a fork.
pub fn each_lock(f: &dyn Fn(&SpinLock)) {
    f(SIGNALS.spin());
}

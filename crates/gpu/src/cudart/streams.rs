//! Streams and events. Work is done when it is asked for; `ops` keeps what orders it.

use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::{LazyLock, Mutex};
use std::time::Instant;

use super::order::Clock;
use super::runtime::done;
use super::{Code, INVALID_HANDLE, INVALID_VALUE, SUCCESS, ops};

/// A moment of a stream, once it was recorded.
#[derive(Clone, Default)]
struct Event {
    at: Option<(Instant, Clock)>,
}

#[derive(Default)]
struct Handles {
    next: usize,
    streams: HashMap<usize, u32>,
    events: HashMap<usize, Event>,
}

static HANDLES: LazyLock<Mutex<Handles>> = LazyLock::new(|| {
    Mutex::new(Handles {
        next: 0x1000,
        ..Handles::default()
    })
});

const NON_BLOCKING: u32 = 1;

fn answer(good: bool) -> Code {
    if good { SUCCESS } else { done(INVALID_HANDLE) }
}

fn event(e: *mut c_void) -> Option<Event> {
    HANDLES.lock().ok()?.events.get(&(e as usize)).cloned()
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaStreamCreate(out: *mut *mut c_void) -> Code {
    cudaStreamCreateWithFlags(out, 0)
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaStreamCreateWithFlags(out: *mut *mut c_void, flags: u32) -> Code {
    if out.is_null() || flags > NON_BLOCKING {
        return done(INVALID_VALUE);
    }
    let Ok(mut h) = HANDLES.lock() else {
        return done(INVALID_VALUE);
    };
    h.next += 16;
    let n = h.next;
    h.streams.insert(n, flags);
    ops::create_stream(n, flags != NON_BLOCKING);
    // SAFETY: the caller's variable, not null.
    unsafe { *out = n as *mut c_void };
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaStreamCreateWithPriority(
    out: *mut *mut c_void,
    flags: u32,
    _priority: i32,
) -> Code {
    cudaStreamCreateWithFlags(out, flags)
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaStreamGetFlags(s: *mut c_void, out: *mut u32) -> Code {
    let flags = HANDLES
        .lock()
        .ok()
        .and_then(|h| h.streams.get(&(s as usize)).copied())
        .or_else(|| ((s as usize) < 3).then_some(0));
    match flags {
        // SAFETY: the caller's variable, checked for null.
        Some(f) if !out.is_null() => unsafe { *out = f },
        Some(_) => return done(INVALID_VALUE),
        None => return done(INVALID_HANDLE),
    }
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaStreamDestroy(s: *mut c_void) -> Code {
    if let Ok(mut h) = HANDLES.lock() {
        h.streams.remove(&(s as usize));
    }
    answer(ops::destroy_stream(s as usize))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaStreamSynchronize(s: *mut c_void) -> Code {
    answer(ops::synchronize(s))
}

/// All is done when it is asked for, so the answer is always that it is; the host then knows.
#[unsafe(no_mangle)]
pub extern "C" fn cudaStreamQuery(s: *mut c_void) -> Code {
    answer(ops::synchronize(s))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaStreamWaitEvent(s: *mut c_void, e: *mut c_void, _flags: u32) -> Code {
    match event(e) {
        // An event that was never recorded is waited for by nobody.
        Some(Event { at: None }) => answer(ops::known_stream(s)),
        Some(Event { at: Some((_, c)) }) => answer(ops::wait(s, &c)),
        None => done(INVALID_HANDLE),
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaEventCreate(out: *mut *mut c_void) -> Code {
    if out.is_null() {
        return done(INVALID_VALUE);
    }
    let Ok(mut h) = HANDLES.lock() else {
        return done(INVALID_VALUE);
    };
    h.next += 16;
    let n = h.next;
    h.events.insert(n, Event::default());
    // SAFETY: the caller's variable, not null.
    unsafe { *out = n as *mut c_void };
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaEventCreateWithFlags(out: *mut *mut c_void, _flags: u32) -> Code {
    cudaEventCreate(out)
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaEventDestroy(e: *mut c_void) -> Code {
    answer(
        HANDLES
            .lock()
            .is_ok_and(|mut h| h.events.remove(&(e as usize)).is_some()),
    )
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaEventRecord(e: *mut c_void, s: *mut c_void) -> Code {
    let Ok(mut h) = HANDLES.lock() else {
        return done(INVALID_HANDLE);
    };
    let (Some(event), Some(clock)) = (h.events.get_mut(&(e as usize)), ops::record(s)) else {
        return done(INVALID_HANDLE);
    };
    event.at = Some((Instant::now(), clock));
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaEventRecordWithFlags(e: *mut c_void, s: *mut c_void, _flags: u32) -> Code {
    cudaEventRecord(e, s)
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaEventSynchronize(e: *mut c_void) -> Code {
    cudaEventQuery(e)
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaEventQuery(e: *mut c_void) -> Code {
    match event(e) {
        Some(Event { at }) => {
            if let Some((_, c)) = at {
                ops::learn(&c);
            }
            SUCCESS
        }
        None => done(INVALID_HANDLE),
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaEventElapsedTime(out: *mut f32, a: *mut c_void, b: *mut c_void) -> Code {
    let (Some(Event { at: Some((x, c)) }), Some(Event { at: Some((y, d)) })) = (event(a), event(b))
    else {
        return done(INVALID_HANDLE);
    };
    if out.is_null() {
        return done(INVALID_VALUE);
    }
    // The time is known only when both have happened.
    ops::learn(&c);
    ops::learn(&d);
    let ms = if y >= x {
        (y - x).as_secs_f32() * 1e3
    } else {
        -(x - y).as_secs_f32() * 1e3
    };
    // SAFETY: the caller's variable, not null.
    unsafe { *out = ms };
    SUCCESS
}

type HostFn = unsafe extern "C" fn(*mut c_void);
type Callback = unsafe extern "C" fn(*mut c_void, Code, *mut c_void);

/// A function of the host, in a stream. What it tells other threads cannot be seen, so the host counts as having waited.
///
/// # Safety
/// `f` is a function that takes `data`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaLaunchHostFunc(
    s: *mut c_void,
    f: Option<HostFn>,
    data: *mut c_void,
) -> Code {
    let Some(f) = f else {
        return done(INVALID_VALUE);
    };
    if !ops::synchronize(s) {
        return done(INVALID_HANDLE);
    }
    // SAFETY: by contract.
    unsafe { f(data) };
    SUCCESS
}

/// # Safety
/// `f` is a callback that takes `data`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaStreamAddCallback(
    s: *mut c_void,
    f: Option<Callback>,
    data: *mut c_void,
    _flags: u32,
) -> Code {
    let Some(f) = f else {
        return done(INVALID_VALUE);
    };
    if !ops::synchronize(s) {
        return done(INVALID_HANDLE);
    }
    // SAFETY: by contract.
    unsafe { f(s, SUCCESS, data) };
    SUCCESS
}

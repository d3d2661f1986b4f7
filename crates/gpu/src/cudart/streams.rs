//! Streams and events. Work is done when it is asked for, so a stream is a name and an event a moment.

use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::{LazyLock, Mutex};
use std::time::Instant;

use super::runtime::done;
use super::{Code, INVALID_HANDLE, INVALID_VALUE, SUCCESS};

#[derive(Default)]
struct Handles {
    next: usize,
    streams: Vec<usize>,
    events: HashMap<usize, Option<Instant>>,
}

static HANDLES: LazyLock<Mutex<Handles>> = LazyLock::new(|| {
    Mutex::new(Handles {
        next: 0x1000,
        ..Handles::default()
    })
});

fn known(s: *mut c_void) -> bool {
    // 0, 1 and 2 are the default, legacy and per-thread streams
    (s as usize) < 3
        || HANDLES
            .lock()
            .is_ok_and(|h| h.streams.contains(&(s as usize)))
}

fn check(s: *mut c_void) -> Code {
    if known(s) {
        SUCCESS
    } else {
        done(INVALID_HANDLE)
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaStreamCreate(out: *mut *mut c_void) -> Code {
    if out.is_null() {
        return done(INVALID_VALUE);
    }
    let Ok(mut h) = HANDLES.lock() else {
        return done(INVALID_VALUE);
    };
    h.next += 16;
    let n = h.next;
    h.streams.push(n);
    // SAFETY: the caller's variable, not null.
    unsafe { *out = n as *mut c_void };
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaStreamCreateWithFlags(out: *mut *mut c_void, _flags: u32) -> Code {
    cudaStreamCreate(out)
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaStreamCreateWithPriority(
    out: *mut *mut c_void,
    _flags: u32,
    _priority: i32,
) -> Code {
    cudaStreamCreate(out)
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaStreamDestroy(s: *mut c_void) -> Code {
    let Ok(mut h) = HANDLES.lock() else {
        return done(INVALID_HANDLE);
    };
    match h.streams.iter().position(|x| *x == s as usize) {
        Some(k) => {
            h.streams.swap_remove(k);
            SUCCESS
        }
        None => done(INVALID_HANDLE),
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaStreamSynchronize(s: *mut c_void) -> Code {
    check(s)
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaStreamQuery(s: *mut c_void) -> Code {
    check(s)
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaStreamWaitEvent(s: *mut c_void, e: *mut c_void, _flags: u32) -> Code {
    let event = HANDLES
        .lock()
        .is_ok_and(|h| h.events.contains_key(&(e as usize)));
    if event {
        check(s)
    } else {
        done(INVALID_HANDLE)
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
    h.events.insert(n, None);
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
    let gone = HANDLES
        .lock()
        .is_ok_and(|mut h| h.events.remove(&(e as usize)).is_some());
    if gone { SUCCESS } else { done(INVALID_HANDLE) }
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaEventRecord(e: *mut c_void, s: *mut c_void) -> Code {
    if !known(s) {
        return done(INVALID_HANDLE);
    }
    let Ok(mut h) = HANDLES.lock() else {
        return done(INVALID_HANDLE);
    };
    match h.events.get_mut(&(e as usize)) {
        Some(t) => {
            *t = Some(Instant::now());
            SUCCESS
        }
        None => done(INVALID_HANDLE),
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaEventSynchronize(e: *mut c_void) -> Code {
    cudaEventQuery(e)
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaEventQuery(e: *mut c_void) -> Code {
    let there = HANDLES
        .lock()
        .is_ok_and(|h| h.events.contains_key(&(e as usize)));
    if there { SUCCESS } else { done(INVALID_HANDLE) }
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaEventElapsedTime(out: *mut f32, a: *mut c_void, b: *mut c_void) -> Code {
    let Ok(h) = HANDLES.lock() else {
        return done(INVALID_HANDLE);
    };
    let (Some(Some(x)), Some(Some(y))) = (h.events.get(&(a as usize)), h.events.get(&(b as usize)))
    else {
        return done(INVALID_HANDLE);
    };
    if out.is_null() {
        return done(INVALID_VALUE);
    }
    let ms = if y >= x {
        (*y - *x).as_secs_f32() * 1e3
    } else {
        -(*x - *y).as_secs_f32() * 1e3
    };
    // SAFETY: the caller's variable, not null.
    unsafe { *out = ms };
    SUCCESS
}

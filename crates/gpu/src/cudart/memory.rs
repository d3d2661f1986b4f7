//! Memory functions: allocation, copies, sets and symbols.

use std::ffi::c_void;

use super::runtime::{done, get};
use super::{
    Code, INVALID_DEVICE_POINTER, INVALID_DIRECTION, INVALID_SYMBOL, INVALID_VALUE, NO_MEMORY,
    SUCCESS,
};

fn alloc(out: *mut *mut c_void, n: usize, name: &str) -> Code {
    if out.is_null() {
        return done(INVALID_VALUE);
    }
    let p = if n == 0 {
        Some(0)
    } else {
        get().memory.alloc(name, n as u64, false)
    };
    match p {
        // SAFETY: the caller's pointer to a pointer, not null.
        Some(p) => unsafe { *out = p as *mut c_void },
        None => return done(NO_MEMORY),
    }
    SUCCESS
}

fn release(p: *mut c_void) -> Code {
    if p.is_null() || get().memory.free(p as u64) {
        SUCCESS
    } else {
        done(INVALID_VALUE)
    }
}

/// Where a device pointer must point for `n` bytes to be good.
fn device_range(p: *const c_void, n: usize) -> bool {
    n == 0
        || get()
            .memory
            .range(p as u64)
            .is_some_and(|r| p as u64 + n as u64 <= r.end)
}

fn copy(to: *mut c_void, from: *const c_void, n: usize, kind: i32) -> Code {
    if n == 0 {
        return SUCCESS;
    }
    if to.is_null() || from.is_null() {
        return done(INVALID_VALUE);
    }
    let (to_device, from_device) = match kind {
        0 => (false, false),
        1 => (true, false),
        2 => (false, true),
        3 => (true, true),
        // by address: ours are device memory
        4 => (
            get().memory.find(to as u64).is_some(),
            get().memory.find(from as u64).is_some(),
        ),
        _ => return done(INVALID_DIRECTION),
    };
    if to_device && !device_range(to, n) || from_device && !device_range(from, n) {
        return done(INVALID_VALUE);
    }
    // SAFETY: device sides were checked against their allocations; host sides are the caller's promise, as with the
    // real library. They may overlap, so this is a move.
    unsafe { std::ptr::copy(from.cast::<u8>(), to.cast::<u8>(), n) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMalloc(out: *mut *mut c_void, n: usize) -> Code {
    alloc(out, n, "cudaMalloc")
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMallocManaged(out: *mut *mut c_void, n: usize, _flags: u32) -> Code {
    alloc(out, n, "cudaMallocManaged")
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMallocHost(out: *mut *mut c_void, n: usize) -> Code {
    alloc(out, n, "cudaMallocHost")
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaHostAlloc(out: *mut *mut c_void, n: usize, _flags: u32) -> Code {
    alloc(out, n, "cudaHostAlloc")
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMallocAsync(out: *mut *mut c_void, n: usize, _stream: *mut c_void) -> Code {
    alloc(out, n, "cudaMallocAsync")
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMallocPitch(
    out: *mut *mut c_void,
    pitch: *mut usize,
    width: usize,
    height: usize,
) -> Code {
    if pitch.is_null() {
        return done(INVALID_VALUE);
    }
    let row = width.next_multiple_of(512);
    // SAFETY: not null, the caller's variable.
    unsafe { *pitch = row };
    alloc(out, row.saturating_mul(height), "cudaMallocPitch")
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaHostGetDevicePointer(
    out: *mut *mut c_void,
    p: *mut c_void,
    _flags: u32,
) -> Code {
    if out.is_null() || get().memory.find(p as u64).is_none() {
        return done(INVALID_VALUE);
    }
    // SAFETY: not null, the caller's variable.
    unsafe { *out = p };
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaFree(p: *mut c_void) -> Code {
    release(p)
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaFreeAsync(p: *mut c_void, _stream: *mut c_void) -> Code {
    release(p)
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaFreeHost(p: *mut c_void) -> Code {
    release(p)
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMemcpy(to: *mut c_void, from: *const c_void, n: usize, kind: i32) -> Code {
    copy(to, from, n, kind)
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMemcpyAsync(
    to: *mut c_void,
    from: *const c_void,
    n: usize,
    kind: i32,
    _stream: *mut c_void,
) -> Code {
    copy(to, from, n, kind)
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMemcpy2D(
    to: *mut c_void,
    tp: usize,
    from: *const c_void,
    fp: usize,
    width: usize,
    height: usize,
    kind: i32,
) -> Code {
    if width > tp || width > fp {
        return done(12); // cudaErrorInvalidPitchValue
    }
    for row in 0..height {
        let (t, f) = (
            to.cast::<u8>().wrapping_add(row * tp),
            from.cast::<u8>().wrapping_add(row * fp),
        );
        let c = copy(t.cast(), f.cast(), width, kind);
        if c != SUCCESS {
            return c;
        }
    }
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMemset(p: *mut c_void, v: i32, n: usize) -> Code {
    if !device_range(p, n) {
        return done(INVALID_VALUE);
    }
    // SAFETY: inside a live allocation, checked above.
    unsafe { std::ptr::write_bytes(p.cast::<u8>(), v as u8, n) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMemsetAsync(p: *mut c_void, v: i32, n: usize, _stream: *mut c_void) -> Code {
    cudaMemset(p, v, n)
}

/// Device address and size of a registered variable.
fn symbol(host: *const c_void) -> Option<(u64, u64)> {
    let s = get().state.lock().ok()?;
    let (module, name, size) = s.vars.get(&(host as usize))?;
    let at = s.modules.get(*module)?.as_ref()?.symbols.get(name)?;
    Some((*at, *size))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMemcpyToSymbol(
    sym: *const c_void,
    from: *const c_void,
    n: usize,
    off: usize,
    kind: i32,
) -> Code {
    match symbol(sym) {
        Some((at, size)) if off as u64 + n as u64 <= size => {
            copy((at + off as u64) as *mut c_void, from, n, kind)
        }
        Some(_) => done(INVALID_VALUE),
        None => done(INVALID_SYMBOL),
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMemcpyFromSymbol(
    to: *mut c_void,
    sym: *const c_void,
    n: usize,
    off: usize,
    kind: i32,
) -> Code {
    match symbol(sym) {
        Some((at, size)) if off as u64 + n as u64 <= size => {
            copy(to, (at + off as u64) as *const c_void, n, kind)
        }
        Some(_) => done(INVALID_VALUE),
        None => done(INVALID_SYMBOL),
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGetSymbolAddress(out: *mut *mut c_void, sym: *const c_void) -> Code {
    match symbol(sym) {
        // SAFETY: the caller's variable, checked for null.
        Some((at, _)) if !out.is_null() => unsafe { *out = at as *mut c_void },
        Some(_) => return done(INVALID_VALUE),
        None => return done(INVALID_SYMBOL),
    }
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGetSymbolSize(out: *mut usize, sym: *const c_void) -> Code {
    match symbol(sym) {
        // SAFETY: the caller's variable, checked for null.
        Some((_, n)) if !out.is_null() => unsafe { *out = n as usize },
        Some(_) => return done(INVALID_VALUE),
        None => return done(INVALID_SYMBOL),
    }
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMemGetInfo(free: *mut usize, total: *mut usize) -> Code {
    if free.is_null() || total.is_null() {
        return done(INVALID_VALUE);
    }
    let all = 8usize << 30;
    let used: u64 = get().memory.all().iter().map(|a| a.len).sum();
    // SAFETY: the caller's variables, not null.
    unsafe {
        *total = all;
        *free = all.saturating_sub(used as usize);
    }
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMemPrefetchAsync(
    p: *const c_void,
    n: usize,
    _device: i32,
    _stream: *mut c_void,
) -> Code {
    if device_range(p, n) {
        SUCCESS
    } else {
        done(INVALID_DEVICE_POINTER)
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMemAdvise(_p: *const c_void, _n: usize, _advice: i32, _device: i32) -> Code {
    SUCCESS
}

//! Memory functions: allocation, and the questions about it.

use std::ffi::c_void;

use crate::check::Footprint;
use crate::check::footprint::Touch;

use super::ops::{self, Did, Then};
use super::runtime::{Sort, done, get};
use super::{
    Code, INVALID_DEVICE_POINTER, INVALID_HANDLE, INVALID_SYMBOL, INVALID_VALUE, NO_MEMORY, SUCCESS,
};

fn alloc(out: *mut *mut c_void, n: usize, name: &'static str, sort: Sort) -> Code {
    if out.is_null() {
        return done(INVALID_VALUE);
    }
    let p = if n == 0 {
        Some(0)
    } else {
        get().alloc(name, n as u64, sort)
    };
    match p {
        // SAFETY: the caller's pointer to a pointer, not null.
        Some(p) => unsafe { *out = p as *mut c_void },
        None => return done(NO_MEMORY),
    }
    SUCCESS
}

/// Whole block as something that is written: what happens to it when it is made or freed.
fn whole(p: *const c_void) -> Option<Footprint> {
    let a = get().memory.find(p as u64)?;
    let mut foot = Footprint::default();
    foot.range(a.start, a.len, Touch::Write);
    Some(foot)
}

/// Frees a block. Freeing waits for all work, but not for blocks that belong to a stream's pool.
pub fn release(p: *mut c_void, name: &'static str) -> Code {
    if p.is_null() {
        return SUCCESS;
    }
    match (get().sort(p as u64), whole(p)) {
        (Some(Sort::Pool), Some(foot)) => ops::host_access(name, &foot),
        _ => ops::synchronize_all(),
    }
    free(p)
}

fn free(p: *mut c_void) -> Code {
    let len = get().memory.find(p as u64).map_or(0, |a| a.len);
    if get().free(p as u64) {
        // Somebody else may get the same addresses.
        ops::forget(p as u64, len);
        SUCCESS
    } else {
        done(INVALID_VALUE)
    }
}

/// Where a device pointer must point for `n` bytes to be good.
pub fn device_range(p: *const c_void, n: usize) -> bool {
    n == 0
        || get()
            .memory
            .range(p as u64)
            .is_some_and(|r| p as u64 + n as u64 <= r.end)
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMalloc(out: *mut *mut c_void, n: usize) -> Code {
    alloc(out, n, "cudaMalloc", Sort::Device)
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMallocManaged(out: *mut *mut c_void, n: usize, _flags: u32) -> Code {
    alloc(out, n, "cudaMallocManaged", Sort::Managed)
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMallocHost(out: *mut *mut c_void, n: usize) -> Code {
    alloc(out, n, "cudaMallocHost", Sort::Pinned)
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaHostAlloc(out: *mut *mut c_void, n: usize, _flags: u32) -> Code {
    alloc(out, n, "cudaHostAlloc", Sort::Pinned)
}

/// The block is there from its place in the stream on.
#[unsafe(no_mangle)]
pub extern "C" fn cudaMallocAsync(out: *mut *mut c_void, n: usize, stream: *mut c_void) -> Code {
    let Some(t) = ops::begin(stream) else {
        return done(INVALID_HANDLE);
    };
    let c = alloc(out, n, "cudaMallocAsync", Sort::Pool);
    if c == SUCCESS
        && n > 0
        // SAFETY: `alloc` has just set it, so it is not null.
        && let Some(foot) = whole(unsafe { *out })
    {
        ops::done(t, Did::Call("cudaMallocAsync"), foot, Then::GoOn);
    }
    c
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
    alloc(
        out,
        row.saturating_mul(height),
        "cudaMallocPitch",
        Sort::Device,
    )
}

/// Memory of the program that kernels may use from now on.
///
/// # Safety
/// `p` points to `n` bytes that stay until `cudaHostUnregister`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaHostRegister(p: *mut c_void, n: usize, _flags: u32) -> Code {
    if p.is_null() || n == 0 {
        return done(INVALID_VALUE);
    }
    // SAFETY: by contract.
    unsafe { get().adopt("cudaHostRegister", p as u64, n as u64) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaHostUnregister(p: *mut c_void) -> Code {
    ops::synchronize_all();
    free(p)
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
    release(p, "cudaFree")
}

/// The block is gone from its place in the stream on.
#[unsafe(no_mangle)]
pub extern "C" fn cudaFreeAsync(p: *mut c_void, stream: *mut c_void) -> Code {
    if p.is_null() {
        return SUCCESS;
    }
    let Some(t) = ops::begin(stream) else {
        return done(INVALID_HANDLE);
    };
    let Some(foot) = whole(p) else {
        return done(INVALID_VALUE);
    };
    ops::done(t, Did::Call("cudaFreeAsync"), foot, Then::GoOn);
    free(p)
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaFreeHost(p: *mut c_void) -> Code {
    release(p, "cudaFreeHost")
}

/// Device address and size of a registered variable.
pub fn symbol(host: *const c_void) -> Option<(u64, u64)> {
    let s = get().state.lock().ok()?;
    let (module, name, size) = s.vars.get(&(host as usize))?;
    let at = s.modules.get(*module)?.as_ref()?.symbols.get(name)?;
    Some((*at, *size))
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

/// `type`, `device`, `devicePointer`, `hostPointer`: the same layout since CUDA 10.
#[repr(C)]
pub struct PointerAttributes {
    sort: i32,
    device: i32,
    device_pointer: *mut c_void,
    host_pointer: *mut c_void,
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaPointerGetAttributes(out: *mut PointerAttributes, p: *const c_void) -> Code {
    if out.is_null() {
        return done(INVALID_VALUE);
    }
    let here = p.cast_mut();
    let none = std::ptr::null_mut();
    let (sort, device_pointer, host_pointer) = match get().sort(p as u64) {
        None => (0, none, here),
        Some(Sort::Pinned) => (1, here, here),
        Some(Sort::Device | Sort::Pool) => (2, here, none),
        Some(Sort::Managed) => (3, here, here),
    };
    // SAFETY: the caller's variable, not null.
    unsafe {
        *out = PointerAttributes {
            sort,
            device: 0,
            device_pointer,
            host_pointer,
        };
    }
    SUCCESS
}

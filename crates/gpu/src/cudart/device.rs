//! Devices, errors and the small questions that programs ask.

use std::ffi::{c_char, c_void};

use super::runtime::{done, peek_last, take_last};
use super::{Code, INVALID_DEVICE, INVALID_VALUE, SUCCESS};

fn put(out: *mut i32, v: i32) -> Code {
    if out.is_null() {
        return done(INVALID_VALUE);
    }
    // SAFETY: the caller's variable, not null.
    unsafe { *out = v };
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGetDeviceCount(out: *mut i32) -> Code {
    put(out, 1)
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGetDevice(out: *mut i32) -> Code {
    put(out, 0)
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaSetDevice(d: i32) -> Code {
    if d == 0 {
        SUCCESS
    } else {
        done(INVALID_DEVICE)
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaSetDeviceFlags(_flags: u32) -> Code {
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaDeviceSynchronize() -> Code {
    super::ops::synchronize_all();
    peek_last()
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaThreadSynchronize() -> Code {
    cudaDeviceSynchronize()
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaDeviceReset() -> Code {
    super::ops::synchronize_all();
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaDeviceSetCacheConfig(_config: i32) -> Code {
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaFuncSetAttribute(_f: *const c_void, _attr: i32, _v: i32) -> Code {
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaFuncSetCacheConfig(_f: *const c_void, _config: i32) -> Code {
    SUCCESS
}

/// The questions of `cudaDeviceGetAttribute` that programs ask, by their numbers.
#[unsafe(no_mangle)]
pub extern "C" fn cudaDeviceGetAttribute(out: *mut i32, attr: i32, device: i32) -> Code {
    if device != 0 {
        return done(INVALID_DEVICE);
    }
    let v = match attr {
        1..=3 => {
            if attr == 3 {
                64
            } else {
                1024
            }
        } // threads per block, block x, block z start below
        4 => 64,
        5 => i32::MAX,
        6 | 7 => 65535,
        8 => 49152,
        9 => 65536,
        10 => 32,
        12 => 65536,
        13 => 1_500_000,
        16 => 16,
        18 => 1,
        39 => 2048,
        75 => 7,
        76 => 0,
        81 => 98304,
        83 | 89 | 95 => 1,
        97 => 98304,
        _ => 0,
    };
    put(out, v)
}

/// `cudaDeviceProp` begins with a name of 256 bytes in all versions; the fields behind it that keep their place are set.
fn properties(p: *mut u8, bytes: usize) -> Code {
    if p.is_null() {
        return done(INVALID_VALUE);
    }
    let mut b = vec![0u8; bytes];
    let name = b"Deadheat SIMT machine";
    b[..name.len()].copy_from_slice(name);
    let mut at = |k: usize, v: &[u8]| b[k..k + v.len()].copy_from_slice(v);
    // name[256], uuid 16, luid 8, luidDeviceNodeMask 4 (+4), totalGlobalMem at 288
    at(288, &(8u64 << 30).to_le_bytes());
    at(296, &49152u64.to_le_bytes());
    at(304, &65536i32.to_le_bytes());
    at(308, &32i32.to_le_bytes());
    at(312, &(1u64 << 31).to_le_bytes());
    at(320, &1024i32.to_le_bytes());
    for (k, v) in [1024i32, 1024, 64].iter().enumerate() {
        at(324 + 4 * k, &v.to_le_bytes());
    }
    for (k, v) in [i32::MAX, 65535, 65535].iter().enumerate() {
        at(336 + 4 * k, &v.to_le_bytes());
    }
    at(348, &1_500_000i32.to_le_bytes());
    at(352, &65536u64.to_le_bytes());
    at(360, &7i32.to_le_bytes());
    at(364, &0i32.to_le_bytes());
    at(388, &16i32.to_le_bytes());
    // SAFETY: the caller's structure, which is at least this large in the version that this name belongs to.
    unsafe { std::ptr::copy_nonoverlapping(b.as_ptr(), p, bytes) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGetDeviceProperties_v2(p: *mut u8, device: i32) -> Code {
    if device == 0 {
        properties(p, 1008)
    } else {
        done(INVALID_DEVICE)
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGetDeviceProperties(p: *mut u8, device: i32) -> Code {
    if device == 0 {
        properties(p, 712)
    } else {
        done(INVALID_DEVICE)
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaDeviceGetStreamPriorityRange(least: *mut i32, greatest: *mut i32) -> Code {
    let c = put(least, 0);
    if c == SUCCESS { put(greatest, -5) } else { c }
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGetLastError() -> Code {
    take_last()
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaPeekAtLastError() -> Code {
    peek_last()
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaRuntimeGetVersion(out: *mut i32) -> Code {
    put(out, 12000)
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaDriverGetVersion(out: *mut i32) -> Code {
    put(out, 12000)
}

fn words(c: Code) -> (&'static std::ffi::CStr, &'static std::ffi::CStr) {
    match c {
        0 => (c"cudaSuccess", c"no error"),
        1 => (c"cudaErrorInvalidValue", c"invalid argument"),
        2 => (c"cudaErrorMemoryAllocation", c"out of memory"),
        9 => (
            c"cudaErrorInvalidConfiguration",
            c"invalid configuration argument",
        ),
        12 => (c"cudaErrorInvalidPitchValue", c"invalid pitch argument"),
        13 => (c"cudaErrorInvalidSymbol", c"invalid device symbol"),
        17 => (c"cudaErrorInvalidDevicePointer", c"invalid device pointer"),
        21 => (
            c"cudaErrorInvalidMemcpyDirection",
            c"invalid copy direction for memcpy",
        ),
        98 => (
            c"cudaErrorInvalidDeviceFunction",
            c"invalid device function",
        ),
        101 => (c"cudaErrorInvalidDevice", c"invalid device ordinal"),
        209 => (
            c"cudaErrorNoKernelImageForDevice",
            c"no kernel image is available for execution on the device",
        ),
        400 => (
            c"cudaErrorInvalidResourceHandle",
            c"invalid resource handle",
        ),
        600 => (c"cudaErrorNotReady", c"device not ready"),
        700 => (
            c"cudaErrorIllegalAddress",
            c"an illegal memory access was encountered",
        ),
        710 => (c"cudaErrorAssert", c"device-side assert triggered"),
        719 => (c"cudaErrorLaunchFailure", c"unspecified launch failure"),
        _ => (c"cudaErrorUnknown", c"unknown error"),
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGetErrorName(c: Code) -> *const c_char {
    words(c).0.as_ptr()
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGetErrorString(c: Code) -> *const c_char {
    words(c).1.as_ptr()
}

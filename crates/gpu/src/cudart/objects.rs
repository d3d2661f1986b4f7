//! Texture and surface objects, through which kernels see arrays and linear memory.

use std::ffi::c_void;

use crate::machine::texture::{Outside, Texels, Texture};

use super::arrays::{ChannelDesc, find, texels};
use super::memory::device_range;
use super::runtime::{done, get};
use super::{Code, INVALID_DEVICE_POINTER, INVALID_HANDLE, INVALID_VALUE, SUCCESS};

/// `cudaResourceDesc` for linear and pitched memory; an array's handle is where `pointer` is.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Resource {
    sort: i32,
    pointer: usize,
    desc: ChannelDesc,
    /// Bytes of linear memory, or texels of a row, rows, and bytes from row to row.
    sizes: [usize; 3],
}

/// `cudaTextureDesc`, as far as it is used.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct TextureDesc {
    outside: [i32; 3],
    filter: i32,
    read: i32,
    srgb: i32,
    border: [f32; 4],
    normalized: i32,
}

/// The texels that a resource describes.
fn resource(r: &Resource) -> Result<Texels, Code> {
    match r.sort {
        0 => find(r.pointer).map(|a| a.texels).ok_or(INVALID_HANDLE),
        2 | 3 => {
            let one = texels(r.desc, 0, [1, 1, 1], 0)
                .ok_or(INVALID_VALUE)?
                .bytes() as usize;
            let (size, pitch) = if r.sort == 2 {
                let n = r.sizes[0] / one;
                ([n, 1, 1], n * one)
            } else {
                ([r.sizes[0], r.sizes[1], 1], r.sizes[2])
            };
            let t = texels(r.desc, r.pointer as u64, size, pitch).ok_or(INVALID_VALUE)?;
            let bytes = pitch * (size[1] - 1) + size[0] * one;
            if device_range(r.pointer as *const c_void, bytes) {
                Ok(t)
            } else {
                Err(INVALID_DEVICE_POINTER)
            }
        }
        _ => Err(INVALID_VALUE),
    }
}

fn outside(m: i32) -> Outside {
    match m {
        0 => Outside::Wrap,
        2 => Outside::Mirror,
        3 => Outside::Border,
        _ => Outside::Clamp,
    }
}

/// # Safety
/// All are null or the caller's variables.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaCreateTextureObject(
    out: *mut u64,
    r: *const Resource,
    t: *const TextureDesc,
    _view: *const c_void,
) -> Code {
    if out.is_null() || r.is_null() || t.is_null() {
        return done(INVALID_VALUE);
    }
    // SAFETY: by contract.
    let (r, t) = unsafe { (&*r, &*t) };
    match resource(r) {
        Ok(texels) => {
            let handle = get().memory.add_texture(Texture {
                texels,
                outside: t.outside.map(outside),
                linear: t.filter == 1,
                scaled: t.read == 1,
                normalized: t.normalized != 0,
                border: t.border,
            });
            // SAFETY: by contract.
            unsafe { *out = handle };
            SUCCESS
        }
        Err(c) => done(c),
    }
}

/// The same: what CUDA 11 calls it.
///
/// # Safety
/// As for `cudaCreateTextureObject`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaCreateTextureObject_v2(
    out: *mut u64,
    r: *const Resource,
    t: *const TextureDesc,
    view: *const c_void,
) -> Code {
    // SAFETY: by contract.
    unsafe { cudaCreateTextureObject(out, r, t, view) }
}

/// # Safety
/// Both are null or the caller's variables.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaCreateSurfaceObject(out: *mut u64, r: *const Resource) -> Code {
    if out.is_null() || r.is_null() {
        return done(INVALID_VALUE);
    }
    // SAFETY: by contract.
    let r = unsafe { &*r };
    match (r.sort, resource(r)) {
        (0, Ok(texels)) => {
            let handle = get().memory.add_texture(Texture {
                texels,
                ..Texture::default()
            });
            // SAFETY: by contract.
            unsafe { *out = handle };
            SUCCESS
        }
        (0, Err(c)) => done(c),
        // Surfaces are of arrays only.
        _ => done(INVALID_VALUE),
    }
}

fn destroy(handle: u64) -> Code {
    if get().memory.remove_texture(handle) {
        SUCCESS
    } else {
        done(INVALID_VALUE)
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaDestroyTextureObject(handle: u64) -> Code {
    destroy(handle)
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaDestroySurfaceObject(handle: u64) -> Code {
    destroy(handle)
}

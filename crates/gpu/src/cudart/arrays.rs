//! Arrays, and copies from and to them.
//!
//! An array is ordinary device memory, row by row without gaps; its handle is a number that no pointer can be.

use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::{LazyLock, Mutex};

use crate::machine::texture::{Channel, Texels};

use super::copies::{self, Call, Shape};
use super::memory::release;
use super::runtime::{Sort, done, get};
use super::{Code, INVALID_HANDLE, INVALID_VALUE, NO_MEMORY, SUCCESS};

/// `cudaChannelFormatDesc`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct ChannelDesc {
    bits: [i32; 4],
    kind: i32,
}

/// `cudaExtent`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Extent {
    width: usize,
    height: usize,
    depth: usize,
}

/// `cudaPitchedPtr`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct PitchedPtr {
    ptr: *mut c_void,
    pitch: usize,
    xsize: usize,
    ysize: usize,
}

/// `cudaMemcpy3DParms`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Copy3D {
    from_array: usize,
    from_pos: [usize; 3],
    from: PitchedPtr,
    to_array: usize,
    to_pos: [usize; 3],
    to: PitchedPtr,
    extent: Extent,
    kind: i32,
}

#[derive(Clone, Debug)]
pub struct Array {
    pub texels: Texels,
    desc: ChannelDesc,
    extent: Extent,
    flags: u32,
}

#[derive(Default)]
struct Arrays {
    made: usize,
    all: HashMap<usize, Array>,
}

static ARRAYS: LazyLock<Mutex<Arrays>> = LazyLock::new(Mutex::default);
/// Handles that no pointer of the program can be.
const FIRST_HANDLE: usize = 0x7a00_0000_0000_0000;

/// The array of a handle.
pub fn find(handle: usize) -> Option<Array> {
    ARRAYS.lock().ok()?.all.get(&handle).cloned()
}

/// Texels of this format, or nothing if there is no such format.
pub fn texels(d: ChannelDesc, base: u64, size: [usize; 3], pitch: usize) -> Option<Texels> {
    let bits = d.bits.map(|b| b as u32);
    let good = bits[0] > 0 && bits.iter().all(|b| matches!(b, 0 | 8 | 16 | 32));
    let mut small = [0u32; 3];
    for (s, n) in small.iter_mut().zip(size) {
        *s = u32::try_from(n).ok().filter(|n| *n > 0 && *n <= 1 << 27)?;
    }
    let t = Texels {
        base,
        size: small,
        pitch: pitch as u64,
        slice: pitch as u64 * size[1] as u64,
        bits,
        channel: match d.kind {
            0 => Channel::Signed,
            1 => Channel::Unsigned,
            2 => Channel::Float,
            _ => return None,
        },
    };
    (good && t.bytes().is_power_of_two()).then_some(t)
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaCreateChannelDesc(x: i32, y: i32, z: i32, w: i32, kind: i32) -> ChannelDesc {
    ChannelDesc {
        bits: [x, y, z, w],
        kind,
    }
}

/// # Safety
/// `out` and `desc` are null or the caller's variables.
unsafe fn make(
    name: &'static str,
    out: *mut usize,
    desc: *const ChannelDesc,
    extent: Extent,
    flags: u32,
) -> Code {
    if out.is_null() || desc.is_null() {
        return done(INVALID_VALUE);
    }
    // SAFETY: by contract.
    let d = unsafe { *desc };
    let e = extent;
    let size = [e.width, e.height.max(1), e.depth.max(1)];
    let Some(mut t) = texels(d, 0, size, 0) else {
        return done(INVALID_VALUE);
    };
    t.pitch = u64::from(t.size[0]) * u64::from(t.bytes());
    t.slice = t.pitch * u64::from(t.size[1]);
    let bytes = t.slice.saturating_mul(u64::from(t.size[2]));
    let Some(at) = get().alloc(name, bytes, Sort::Device) else {
        return done(NO_MEMORY);
    };
    t.base = at;
    let Ok(mut a) = ARRAYS.lock() else {
        return done(NO_MEMORY);
    };
    a.made += 1;
    let handle = FIRST_HANDLE + a.made * 16;
    a.all.insert(
        handle,
        Array {
            texels: t,
            desc: d,
            extent,
            flags,
        },
    );
    // SAFETY: by contract.
    unsafe { *out = handle };
    SUCCESS
}

/// # Safety
/// `out` and `desc` are null or the caller's variables.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaMallocArray(
    out: *mut usize,
    desc: *const ChannelDesc,
    width: usize,
    height: usize,
    flags: u32,
) -> Code {
    let extent = Extent {
        width,
        height,
        depth: 0,
    };
    // SAFETY: by contract.
    unsafe { make("cudaMallocArray", out, desc, extent, flags) }
}

/// # Safety
/// As for `cudaMallocArray`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaMalloc3DArray(
    out: *mut usize,
    desc: *const ChannelDesc,
    extent: Extent,
    flags: u32,
) -> Code {
    // SAFETY: by contract.
    unsafe { make("cudaMalloc3DArray", out, desc, extent, flags) }
}

/// # Safety
/// `out` is null or the caller's variable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaMalloc3D(out: *mut PitchedPtr, e: Extent) -> Code {
    if out.is_null() {
        return done(INVALID_VALUE);
    }
    let pitch = e.width.next_multiple_of(512);
    let bytes = pitch.saturating_mul(e.height).saturating_mul(e.depth);
    let Some(at) = get().alloc("cudaMalloc3D", bytes as u64, Sort::Device) else {
        return done(NO_MEMORY);
    };
    // SAFETY: by contract.
    unsafe {
        *out = PitchedPtr {
            ptr: at as *mut c_void,
            pitch,
            xsize: e.width,
            ysize: e.height,
        };
    }
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaFreeArray(handle: usize) -> Code {
    if handle == 0 {
        return SUCCESS;
    }
    let gone = ARRAYS.lock().ok().and_then(|mut a| a.all.remove(&handle));
    match gone {
        Some(a) => release(a.texels.base as *mut c_void, "cudaFreeArray"),
        None => done(INVALID_HANDLE),
    }
}

/// # Safety
/// All but the handle are null or the caller's variables.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaArrayGetInfo(
    desc: *mut ChannelDesc,
    extent: *mut Extent,
    flags: *mut u32,
    handle: usize,
) -> Code {
    let Some(a) = find(handle) else {
        return done(INVALID_HANDLE);
    };
    // SAFETY: by contract.
    unsafe {
        if !desc.is_null() {
            *desc = a.desc;
        }
        if !extent.is_null() {
            *extent = a.extent;
        }
        if !flags.is_null() {
            *flags = a.flags;
        }
    }
    SUCCESS
}

/// # Safety
/// `desc` is null or the caller's variable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaGetChannelDesc(desc: *mut ChannelDesc, handle: usize) -> Code {
    // SAFETY: by contract.
    unsafe { cudaArrayGetInfo(desc, std::ptr::null_mut(), std::ptr::null_mut(), handle) }
}

/// Where a part of an array's first slice begins; nothing if `width` bytes and `height` rows from there are too much.
fn window(handle: usize, x: usize, y: usize, width: usize, height: usize) -> Option<(u64, usize)> {
    let t = find(handle)?.texels;
    let inside =
        x.checked_add(width)? as u64 <= t.pitch && y.checked_add(height)? <= t.size[1] as usize;
    inside.then(|| (t.base + y as u64 * t.pitch + x as u64, t.pitch as usize))
}

/// The other side of a copy from or to an array.
#[derive(Clone, Copy)]
struct Other {
    pointer: *mut c_void,
    pitch: usize,
    width: usize,
    height: usize,
}

impl Other {
    fn new(pointer: *const c_void, pitch: usize, width: usize, height: usize) -> Self {
        let pointer = pointer.cast_mut();
        Self {
            pointer,
            pitch,
            width,
            height,
        }
    }

    /// Bytes that run on from row to row, as the old functions have it: whole rows of the array, or a part of one.
    fn rows(handle: usize, pointer: *const c_void, n: usize) -> Option<Self> {
        let pitch = find(handle)?.texels.pitch as usize;
        if n <= pitch {
            Some(Self::new(pointer, n, n, 1))
        } else {
            n.is_multiple_of(pitch)
                .then(|| Self::new(pointer, pitch, pitch, n / pitch))
        }
    }
}

/// By which function, and how, an array is copied.
struct Way {
    name: &'static str,
    call: Call,
    kind: i32,
    stream: *mut c_void,
}

impl Way {
    fn waiting(name: &'static str, kind: i32) -> Self {
        Self {
            name,
            call: Call::Sync,
            kind,
            stream: copies::DEFAULT,
        }
    }

    fn on(name: &'static str, kind: i32, stream: *mut c_void) -> Self {
        Self {
            name,
            call: Call::Async,
            kind,
            stream,
        }
    }

    fn fill_array(self, handle: usize, x: usize, y: usize, o: Other) -> Code {
        let Some((at, to_pitch)) = window(handle, x, y, o.width, o.height) else {
            return done(INVALID_VALUE);
        };
        self.copy(at as *mut c_void, to_pitch, o.pointer, o.pitch, o)
    }

    fn read_array(self, handle: usize, x: usize, y: usize, o: Other) -> Code {
        let Some((at, from_pitch)) = window(handle, x, y, o.width, o.height) else {
            return done(INVALID_VALUE);
        };
        self.copy(o.pointer, o.pitch, at as *const c_void, from_pitch, o)
    }

    fn copy(
        self,
        to: *mut c_void,
        to_pitch: usize,
        from: *const c_void,
        from_pitch: usize,
        o: Other,
    ) -> Code {
        let shape = Shape {
            to_pitch,
            from_pitch,
            width: o.width,
            height: o.height,
        };
        copies::copy(
            self.name,
            self.call,
            to,
            from,
            shape,
            self.kind,
            self.stream,
        )
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMemcpyToArray(
    handle: usize,
    x: usize,
    y: usize,
    from: *const c_void,
    n: usize,
    kind: i32,
) -> Code {
    let Some(other) = Other::rows(handle, from, n) else {
        return done(INVALID_VALUE);
    };
    Way::waiting("cudaMemcpyToArray", kind).fill_array(handle, x, y, other)
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMemcpyFromArray(
    to: *mut c_void,
    handle: usize,
    x: usize,
    y: usize,
    n: usize,
    kind: i32,
) -> Code {
    let Some(other) = Other::rows(handle, to, n) else {
        return done(INVALID_VALUE);
    };
    Way::waiting("cudaMemcpyFromArray", kind).read_array(handle, x, y, other)
}

#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments)] // CUDA's own signature
pub extern "C" fn cudaMemcpy2DToArray(
    handle: usize,
    x: usize,
    y: usize,
    from: *const c_void,
    pitch: usize,
    width: usize,
    height: usize,
    kind: i32,
) -> Code {
    let other = Other::new(from, pitch, width, height);
    Way::waiting("cudaMemcpy2DToArray", kind).fill_array(handle, x, y, other)
}

#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments)] // CUDA's own signature
pub extern "C" fn cudaMemcpy2DToArrayAsync(
    handle: usize,
    x: usize,
    y: usize,
    from: *const c_void,
    pitch: usize,
    width: usize,
    height: usize,
    kind: i32,
    stream: *mut c_void,
) -> Code {
    let other = Other::new(from, pitch, width, height);
    Way::on("cudaMemcpy2DToArrayAsync", kind, stream).fill_array(handle, x, y, other)
}

#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments)] // CUDA's own signature
pub extern "C" fn cudaMemcpy2DFromArray(
    to: *mut c_void,
    pitch: usize,
    handle: usize,
    x: usize,
    y: usize,
    width: usize,
    height: usize,
    kind: i32,
) -> Code {
    let other = Other::new(to, pitch, width, height);
    Way::waiting("cudaMemcpy2DFromArray", kind).read_array(handle, x, y, other)
}

#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments)] // CUDA's own signature
pub extern "C" fn cudaMemcpy2DFromArrayAsync(
    to: *mut c_void,
    pitch: usize,
    handle: usize,
    x: usize,
    y: usize,
    width: usize,
    height: usize,
    kind: i32,
    stream: *mut c_void,
) -> Code {
    let other = Other::new(to, pitch, width, height);
    Way::on("cudaMemcpy2DFromArrayAsync", kind, stream).read_array(handle, x, y, other)
}

/// One side of a three-dimensional copy: where it begins, from row to row, and from slice to slice.
fn side(array: usize, pos: [usize; 3], p: PitchedPtr) -> Option<(u64, usize, usize)> {
    if array == 0 {
        let slice = p.pitch * p.ysize;
        let at = p.ptr as u64 + (pos[2] * slice + pos[1] * p.pitch + pos[0]) as u64;
        return Some((at, p.pitch, slice));
    }
    let t = find(array)?.texels;
    let x = pos[0] as u64 * u64::from(t.bytes());
    let at = t.base + pos[2] as u64 * t.slice + pos[1] as u64 * t.pitch + x;
    Some((at, t.pitch as usize, t.slice as usize))
}

fn copy_3d(name: &'static str, call: Call, p: *const Copy3D, stream: *mut c_void) -> Code {
    if p.is_null() {
        return done(INVALID_VALUE);
    }
    // SAFETY: the caller's structure, not null.
    let p = unsafe { *p };
    // The width counts texels as soon as an array is there.
    let array = find(p.from_array).or_else(|| find(p.to_array));
    let unit = array.map_or(1, |a| a.texels.bytes() as usize);
    let (Some(from), Some(to)) = (
        side(p.from_array, p.from_pos, p.from),
        side(p.to_array, p.to_pos, p.to),
    ) else {
        return done(INVALID_HANDLE);
    };
    for k in 0..p.extent.depth {
        let shape = Shape {
            to_pitch: to.1,
            from_pitch: from.1,
            width: p.extent.width * unit,
            height: p.extent.height,
        };
        let x = (to.0 + (k * to.2) as u64) as *mut c_void;
        let y = (from.0 + (k * from.2) as u64) as *const c_void;
        let c = copies::copy(name, call, x, y, shape, p.kind, stream);
        if c != SUCCESS {
            return c;
        }
    }
    SUCCESS
}

/// # Safety
/// `p` is null or the caller's structure.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaMemcpy3D(p: *const Copy3D) -> Code {
    copy_3d("cudaMemcpy3D", Call::Sync, p, copies::DEFAULT)
}

/// # Safety
/// `p` is null or the caller's structure.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaMemcpy3DAsync(p: *const Copy3D, stream: *mut c_void) -> Code {
    copy_3d("cudaMemcpy3DAsync", Call::Async, p, stream)
}

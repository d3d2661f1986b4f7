//! Copies and sets. Which of them the host waits for follows NVIDIA's page on the behaviour of the API:
//!
//! | call                                   | host waits                       |
//! |----------------------------------------|----------------------------------|
//! | `cudaMemcpy`, between device memory    | no                               |
//! | `cudaMemcpy`, everything else          | yes                              |
//! | `cudaMemcpyAsync`, device to pageable  | yes                              |
//! | `cudaMemcpyAsync`, host to host        | yes                              |
//! | `cudaMemcpyAsync`, everything else     | no                               |
//! | `cudaMemset`, device memory            | no                               |
//! | `cudaMemset`, pinned or managed memory | yes                              |
//! | `cudaMemsetAsync`                      | no                               |
//!
//! A copy from pageable memory reads it before the call returns; only the device's side happens later.

use std::ffi::c_void;

use crate::check::Footprint;
use crate::check::footprint::Touch;

use super::memory::{device_range, symbol};
use super::ops::{self, Did, Then};
use super::runtime::{Sort, done, get};
use super::{Code, INVALID_DIRECTION, INVALID_HANDLE, INVALID_SYMBOL, INVALID_VALUE, SUCCESS};

const INVALID_PITCH: Code = 12;
pub const DEFAULT: *mut c_void = std::ptr::null_mut();

/// Rows of a copy: one for ordinary ones.
#[derive(Clone, Copy)]
pub struct Shape {
    pub to_pitch: usize,
    pub from_pitch: usize,
    pub width: usize,
    pub height: usize,
}

impl Shape {
    fn line(n: usize) -> Shape {
        Shape {
            to_pitch: n,
            from_pitch: n,
            width: n,
            height: usize::from(n > 0),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Call {
    Sync,
    Async,
}

pub fn copy(
    name: &'static str,
    call: Call,
    to: *mut c_void,
    from: *const c_void,
    shape: Shape,
    kind: i32,
    stream: *mut c_void,
) -> Code {
    if shape.width == 0 || shape.height == 0 {
        return SUCCESS;
    }
    if to.is_null() || from.is_null() {
        return done(INVALID_VALUE);
    }
    if shape.width > shape.to_pitch || shape.width > shape.from_pitch {
        return done(INVALID_PITCH);
    }
    let (to_sort, from_sort) = (get().sort(to as u64), get().sort(from as u64));
    let device = |s: Option<Sort>| matches!(s, Some(Sort::Device | Sort::Managed | Sort::Pool));
    let (to_device, from_device) = match kind {
        0 => (false, false),
        1 => (true, false),
        2 => (false, true),
        3 => (true, true),
        // by address: ours are device memory
        4 => (device(to_sort), device(from_sort)),
        _ => return done(INVALID_DIRECTION),
    };
    let row = |p: *const c_void, pitch: usize, k: usize| {
        p.cast::<u8>().wrapping_add(k * pitch).cast::<c_void>()
    };
    let rows = 0..shape.height;
    let good = rows.clone().all(|k| {
        (!to_device || device_range(row(to, shape.to_pitch, k), shape.width))
            && (!from_device || device_range(row(from, shape.from_pitch, k), shape.width))
    });
    if !good {
        return done(INVALID_VALUE);
    }
    let Some(t) = ops::begin(stream) else {
        return done(INVALID_HANDLE);
    };
    let mut foot = Footprint::default();
    for k in rows {
        let (x, y) = (row(to, shape.to_pitch, k), row(from, shape.from_pitch, k));
        if to_sort.is_some() {
            foot.range(x as u64, shape.width as u64, Touch::Write);
        }
        if from_sort.is_some() {
            foot.range(y as u64, shape.width as u64, Touch::Read);
        }
        // SAFETY: device sides were checked against their allocations; host sides are the caller's promise, as with
        // the real library. They may overlap, so this is a move.
        unsafe { std::ptr::copy(y.cast::<u8>(), x.cast_mut().cast::<u8>(), shape.width) };
    }
    let waits = match call {
        Call::Sync => !(to_device && from_device),
        Call::Async => match (to_device, from_device) {
            (false, true) => to_sort.is_none(),
            (false, false) => true,
            (true, _) => false,
        },
    };
    let then = if waits { Then::Wait } else { Then::GoOn };
    ops::done(t, Did::Call(name), foot, then);
    SUCCESS
}

fn set(
    name: &'static str,
    call: Call,
    p: *mut c_void,
    v: i32,
    shape: Shape,
    stream: *mut c_void,
) -> Code {
    if shape.width > shape.to_pitch {
        return done(INVALID_PITCH);
    }
    let row = |k: usize| p.cast::<u8>().wrapping_add(k * shape.to_pitch);
    if !(0..shape.height).all(|k| device_range(row(k).cast(), shape.width)) {
        return done(INVALID_VALUE);
    }
    let Some(t) = ops::begin(stream) else {
        return done(INVALID_HANDLE);
    };
    let mut foot = Footprint::default();
    for k in 0..shape.height {
        // SAFETY: inside a live allocation, checked above.
        unsafe { std::ptr::write_bytes(row(k), v as u8, shape.width) };
        foot.range(row(k) as u64, shape.width as u64, Touch::Write);
    }
    let visible = matches!(get().sort(p as u64), Some(Sort::Pinned | Sort::Managed));
    let then = if call == Call::Sync && visible {
        Then::Wait
    } else {
        Then::GoOn
    };
    ops::done(t, Did::Call(name), foot, then);
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMemcpy(to: *mut c_void, from: *const c_void, n: usize, kind: i32) -> Code {
    let shape = Shape::line(n);
    copy("cudaMemcpy", Call::Sync, to, from, shape, kind, DEFAULT)
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMemcpyAsync(
    to: *mut c_void,
    from: *const c_void,
    n: usize,
    kind: i32,
    stream: *mut c_void,
) -> Code {
    let shape = Shape::line(n);
    copy(
        "cudaMemcpyAsync",
        Call::Async,
        to,
        from,
        shape,
        kind,
        stream,
    )
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMemcpy2D(
    to: *mut c_void,
    to_pitch: usize,
    from: *const c_void,
    from_pitch: usize,
    width: usize,
    height: usize,
    kind: i32,
) -> Code {
    let shape = Shape {
        to_pitch,
        from_pitch,
        width,
        height,
    };
    copy("cudaMemcpy2D", Call::Sync, to, from, shape, kind, DEFAULT)
}

#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments)] // CUDA's own signature
pub extern "C" fn cudaMemcpy2DAsync(
    to: *mut c_void,
    to_pitch: usize,
    from: *const c_void,
    from_pitch: usize,
    width: usize,
    height: usize,
    kind: i32,
    stream: *mut c_void,
) -> Code {
    let shape = Shape {
        to_pitch,
        from_pitch,
        width,
        height,
    };
    copy(
        "cudaMemcpy2DAsync",
        Call::Async,
        to,
        from,
        shape,
        kind,
        stream,
    )
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMemset(p: *mut c_void, v: i32, n: usize) -> Code {
    set("cudaMemset", Call::Sync, p, v, Shape::line(n), DEFAULT)
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMemsetAsync(p: *mut c_void, v: i32, n: usize, stream: *mut c_void) -> Code {
    set("cudaMemsetAsync", Call::Async, p, v, Shape::line(n), stream)
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMemset2D(
    p: *mut c_void,
    pitch: usize,
    v: i32,
    width: usize,
    height: usize,
) -> Code {
    let shape = Shape {
        to_pitch: pitch,
        from_pitch: pitch,
        width,
        height,
    };
    set("cudaMemset2D", Call::Sync, p, v, shape, DEFAULT)
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMemset2DAsync(
    p: *mut c_void,
    pitch: usize,
    v: i32,
    width: usize,
    height: usize,
    stream: *mut c_void,
) -> Code {
    let shape = Shape {
        to_pitch: pitch,
        from_pitch: pitch,
        width,
        height,
    };
    set("cudaMemset2DAsync", Call::Async, p, v, shape, stream)
}

/// Where `n` bytes of a variable lie.
fn part(sym: *const c_void, n: usize, off: usize) -> Result<*mut c_void, Code> {
    match symbol(sym) {
        Some((at, size)) if off as u64 + n as u64 <= size => Ok((at + off as u64) as *mut c_void),
        Some(_) => Err(INVALID_VALUE),
        None => Err(INVALID_SYMBOL),
    }
}

/// A copy to a variable, or from one.
struct OfSymbol {
    name: &'static str,
    call: Call,
    sym: *const c_void,
    n: usize,
    off: usize,
    kind: i32,
    stream: *mut c_void,
}

impl OfSymbol {
    fn to(self, from: *const c_void) -> Code {
        match part(self.sym, self.n, self.off) {
            Ok(at) => self.copy(at, from),
            Err(c) => done(c),
        }
    }

    fn from(self, to: *mut c_void) -> Code {
        match part(self.sym, self.n, self.off) {
            Ok(at) => self.copy(to, at),
            Err(c) => done(c),
        }
    }

    fn copy(self, to: *mut c_void, from: *const c_void) -> Code {
        let shape = Shape::line(self.n);
        copy(
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
pub extern "C" fn cudaMemcpyToSymbol(
    sym: *const c_void,
    from: *const c_void,
    n: usize,
    off: usize,
    kind: i32,
) -> Code {
    let (name, call, stream) = ("cudaMemcpyToSymbol", Call::Sync, DEFAULT);
    #[rustfmt::skip]
    let c = OfSymbol { name, call, sym, n, off, kind, stream };
    c.to(from)
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMemcpyToSymbolAsync(
    sym: *const c_void,
    from: *const c_void,
    n: usize,
    off: usize,
    kind: i32,
    stream: *mut c_void,
) -> Code {
    let (name, call) = ("cudaMemcpyToSymbolAsync", Call::Async);
    #[rustfmt::skip]
    let c = OfSymbol { name, call, sym, n, off, kind, stream };
    c.to(from)
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMemcpyFromSymbol(
    to: *mut c_void,
    sym: *const c_void,
    n: usize,
    off: usize,
    kind: i32,
) -> Code {
    let (name, call, stream) = ("cudaMemcpyFromSymbol", Call::Sync, DEFAULT);
    #[rustfmt::skip]
    let c = OfSymbol { name, call, sym, n, off, kind, stream };
    c.from(to)
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMemcpyFromSymbolAsync(
    to: *mut c_void,
    sym: *const c_void,
    n: usize,
    off: usize,
    kind: i32,
    stream: *mut c_void,
) -> Code {
    let (name, call) = ("cudaMemcpyFromSymbolAsync", Call::Async);
    #[rustfmt::skip]
    let c = OfSymbol { name, call, sym, n, off, kind, stream };
    c.from(to)
}

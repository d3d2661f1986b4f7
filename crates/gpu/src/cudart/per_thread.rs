//! The variants of functions that programs call when they were compiled with one default stream per thread
//! (`-fgpu-default-stream=per-thread`, `--default-stream per-thread`): handle 0 is then the thread's own stream.

use std::ffi::c_void;

use super::launch::Dim3;
use super::ops::per_thread;
use super::{Code, copies, launch, memory, streams};

type P = *mut c_void;
type Q = *const c_void;

/// Exports `$name` as `$of` with the thread's default stream.
macro_rules! variant {
    ($($name:ident = $of:path, ($($arg:ident: $ty:ty),*);)*) => {$(
        #[unsafe(no_mangle)]
        #[allow(clippy::too_many_arguments)] // CUDA's own signatures
        pub extern "C" fn $name($($arg: $ty),*) -> Code {
            per_thread(|| $of($($arg),*))
        }
    )*};
}

variant! {
    cudaMemcpy_ptds = copies::cudaMemcpy, (to: P, from: Q, n: usize, kind: i32);
    cudaMemcpyAsync_ptsz = copies::cudaMemcpyAsync, (to: P, from: Q, n: usize, kind: i32, s: P);
    cudaMemcpy2D_ptds = copies::cudaMemcpy2D, (to: P, tp: usize, from: Q, fp: usize, w: usize, h: usize, kind: i32);
    cudaMemcpy2DAsync_ptsz = copies::cudaMemcpy2DAsync,
        (to: P, tp: usize, from: Q, fp: usize, w: usize, h: usize, kind: i32, s: P);
    cudaMemset_ptds = copies::cudaMemset, (p: P, v: i32, n: usize);
    cudaMemsetAsync_ptsz = copies::cudaMemsetAsync, (p: P, v: i32, n: usize, s: P);
    cudaMemset2D_ptds = copies::cudaMemset2D, (p: P, pitch: usize, v: i32, w: usize, h: usize);
    cudaMemset2DAsync_ptsz = copies::cudaMemset2DAsync, (p: P, pitch: usize, v: i32, w: usize, h: usize, s: P);
    cudaMemcpyToSymbol_ptds = copies::cudaMemcpyToSymbol, (sym: Q, from: Q, n: usize, off: usize, kind: i32);
    cudaMemcpyToSymbolAsync_ptsz = copies::cudaMemcpyToSymbolAsync,
        (sym: Q, from: Q, n: usize, off: usize, kind: i32, s: P);
    cudaMemcpyFromSymbol_ptds = copies::cudaMemcpyFromSymbol, (to: P, sym: Q, n: usize, off: usize, kind: i32);
    cudaMemcpyFromSymbolAsync_ptsz = copies::cudaMemcpyFromSymbolAsync,
        (to: P, sym: Q, n: usize, off: usize, kind: i32, s: P);
    cudaMallocAsync_ptsz = memory::cudaMallocAsync, (out: *mut P, n: usize, s: P);
    cudaFreeAsync_ptsz = memory::cudaFreeAsync, (p: P, s: P);
    cudaMemPrefetchAsync_ptsz = memory::cudaMemPrefetchAsync, (p: Q, n: usize, device: i32, s: P);
    cudaStreamSynchronize_ptsz = streams::cudaStreamSynchronize, (s: P);
    cudaStreamQuery_ptsz = streams::cudaStreamQuery, (s: P);
    cudaStreamWaitEvent_ptsz = streams::cudaStreamWaitEvent, (s: P, e: P, flags: u32);
    cudaStreamGetFlags_ptsz = streams::cudaStreamGetFlags, (s: P, out: *mut u32);
    cudaEventRecord_ptsz = streams::cudaEventRecord, (e: P, s: P);
    cudaEventRecordWithFlags_ptsz = streams::cudaEventRecordWithFlags, (e: P, s: P, flags: u32);
}

/// # Safety
/// As for `cudaLaunchKernel`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaLaunchKernel_ptsz(
    func: Q,
    grid: Dim3,
    block: Dim3,
    args: *mut P,
    shared: usize,
    s: P,
) -> Code {
    // SAFETY: by contract.
    per_thread(|| unsafe { launch::cudaLaunchKernel(func, grid, block, args, shared, s) })
}

/// # Safety
/// As for `cudaLaunchKernel`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaLaunchKernel_ptsz(
    func: Q,
    grid: Dim3,
    block: Dim3,
    args: *mut P,
    shared: usize,
    s: P,
) -> Code {
    // SAFETY: by contract.
    unsafe { cudaLaunchKernel_ptsz(func, grid, block, args, shared, s) }
}

/// # Safety
/// As for `cudaLaunchKernel`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaLaunchCooperativeKernel_ptsz(
    func: Q,
    grid: Dim3,
    block: Dim3,
    args: *mut P,
    shared: usize,
    s: P,
) -> Code {
    // SAFETY: by contract.
    per_thread(|| unsafe {
        launch::cudaLaunchCooperativeKernel(func, grid, block, args, shared, s)
    })
}

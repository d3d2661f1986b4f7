//! Registration and launches.

use std::cell::RefCell;
use std::ffi::{CStr, c_char, c_void};
use std::sync::Arc;

use deadheat_model::CheckedLaunch;

use crate::check;
use crate::frontend::finding::{Scene, explained, findings, same};
use crate::frontend::names::short;
use crate::machine::{FaultKind, Launch, Loaded};

use super::ops::{self, Did, Then};
use super::runtime::{Kernel, done, get};
use super::told::Told;
use super::{
    ASSERT, Code, ILLEGAL_ADDRESS, INVALID_CONFIGURATION, INVALID_FUNCTION, INVALID_HANDLE,
    INVALID_VALUE, LAUNCH_FAILURE, NO_KERNEL_IMAGE, SUCCESS, fatbin,
};

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Dim3 {
    x: u32,
    y: u32,
    z: u32,
}

#[repr(C)]
struct Wrapper {
    magic: u32,
    version: u32,
    data: *const u8,
}

type Configuration = (Dim3, Dim3, usize, usize);

thread_local! {
    static CALLS: RefCell<Vec<Configuration>> = const { RefCell::new(Vec::new()) };
}

/// # Safety
/// `p` is null or a C string.
unsafe fn text(p: *const c_char) -> String {
    if p.is_null() {
        return String::new();
    }
    // SAFETY: by contract.
    unsafe { CStr::from_ptr(p) }.to_string_lossy().into_owned()
}

/// Registers a program's device code; the handle is the module's number plus one.
///
/// # Safety
/// Called by compiler-generated code with its wrapper structure.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaRegisterFatBinary(wrapper: *const c_void) -> *mut *mut c_void {
    let rt = get();
    let data = if wrapper.is_null() {
        &[][..]
    } else {
        // SAFETY: the compiler's wrapper points to a container, or to the text that `gpu cc` embedded.
        unsafe { fatbin::bytes((*wrapper.cast::<Wrapper>()).data) }
    };
    let loaded = fatbin::ptx(data).and_then(|texts| {
        let text = texts.last().ok_or("no PTX")?;
        Loaded::new(text, &rt.memory).map_err(|e| e.to_string())
    });
    let loaded = match loaded {
        Ok(l) => Some(Arc::new(l)),
        // nvcc's linker registers an empty container, too.
        Err(_) if data.len() == 16 => None,
        Err(e) => {
            rt.tell(Told::Error(format!(
                "this program's kernels cannot run here: {e}"
            )));
            None
        }
    };
    let Ok(mut s) = rt.state.lock() else {
        return std::ptr::null_mut();
    };
    s.modules.push(loaded);
    s.modules.len() as *mut *mut c_void
}

#[unsafe(no_mangle)]
pub extern "C" fn __cudaRegisterFatBinaryEnd(_handle: *mut *mut c_void) {}

#[unsafe(no_mangle)]
pub extern "C" fn __cudaUnregisterFatBinary(_handle: *mut *mut c_void) {}

#[unsafe(no_mangle)]
pub extern "C" fn __cudaInitModule(_handle: *mut *mut c_void) -> c_char {
    0
}

/// # Safety
/// Called by compiler-generated code: `name` is a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaRegisterFunction(
    handle: *mut *mut c_void,
    host: *const c_void,
    _device: *mut c_char,
    name: *const c_char,
    _limit: i32,
    _tid: *mut c_void,
    _bid: *mut c_void,
    _bdim: *mut c_void,
    _gdim: *mut c_void,
    _wsize: *mut i32,
) {
    // SAFETY: by contract.
    let name = unsafe { text(name) };
    if let Ok(mut s) = get().state.lock() {
        s.kernels.insert(
            host as usize,
            Kernel {
                module: (handle as usize).wrapping_sub(1),
                name,
            },
        );
    }
}

/// # Safety
/// Called by compiler-generated code: `name` is a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaRegisterVar(
    handle: *mut *mut c_void,
    host: *mut c_char,
    _device: *mut c_char,
    name: *const c_char,
    _ext: i32,
    size: usize,
    _constant: i32,
    _global: i32,
) {
    // SAFETY: by contract.
    let name = unsafe { text(name) };
    if let Ok(mut s) = get().state.lock() {
        s.vars.insert(
            host as usize,
            ((handle as usize).wrapping_sub(1), name, size as u64),
        );
    }
}

/// A managed variable: the host's pointer to it is made to point at the device's copy.
///
/// # Safety
/// Called by compiler-generated code: `pointer` is the host's variable, `name` a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaRegisterManagedVar(
    handle: *mut *mut c_void,
    pointer: *mut *mut c_void,
    _device: *mut c_char,
    name: *const c_char,
    _ext: i32,
    size: usize,
    _constant: i32,
    _global: i32,
) {
    // SAFETY: by contract.
    let name = unsafe { text(name) };
    let Ok(mut s) = get().state.lock() else {
        return;
    };
    let module = (handle as usize).wrapping_sub(1);
    let at = s
        .modules
        .get(module)
        .and_then(|m| m.as_ref())
        .and_then(|m| m.symbols.get(&name).copied());
    s.vars.insert(pointer as usize, (module, name, size as u64));
    if let Some(at) = at
        && !pointer.is_null()
    {
        // SAFETY: the host's own pointer variable.
        unsafe { *pointer = at as *mut c_void };
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn __cudaPushCallConfiguration(
    grid: Dim3,
    block: Dim3,
    shared: usize,
    stream: *mut c_void,
) -> u32 {
    CALLS.with(|c| c.borrow_mut().push((grid, block, shared, stream as usize)));
    0
}

/// # Safety
/// Called by compiler-generated code with four variables to fill.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaPopCallConfiguration(
    grid: *mut Dim3,
    block: *mut Dim3,
    shared: *mut usize,
    stream: *mut c_void,
) -> Code {
    let Some((g, b, s, st)) = CALLS.with(|c| c.borrow_mut().pop()) else {
        return done(INVALID_CONFIGURATION);
    };
    // SAFETY: by contract.
    unsafe {
        *grid = g;
        *block = b;
        *shared = s;
        *stream.cast::<usize>() = st;
    }
    SUCCESS
}

/// # Safety
/// `args` has one pointer per parameter of the kernel, each to a value of its size.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaLaunchKernel(
    func: *const c_void,
    grid: Dim3,
    block: Dim3,
    args: *mut *mut c_void,
    shared: usize,
    stream: *mut c_void,
) -> Code {
    let kernel = get()
        .state
        .lock()
        .ok()
        .and_then(|s| s.kernels.get(&(func as usize)).cloned());
    let Some(k) = kernel else {
        return done(INVALID_FUNCTION);
    };
    // SAFETY: by contract.
    let r = std::panic::catch_unwind(|| unsafe {
        launch(&k, func as u64, grid, block, args, shared, stream)
    });
    done(r.unwrap_or(LAUNCH_FAILURE))
}

/// # Safety
/// As for `cudaLaunchKernel`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaLaunchCooperativeKernel(
    func: *const c_void,
    grid: Dim3,
    block: Dim3,
    args: *mut *mut c_void,
    shared: usize,
    stream: *mut c_void,
) -> Code {
    // SAFETY: by contract.
    unsafe { cudaLaunchKernel(func, grid, block, args, shared, stream) }
}

/// CUDA 13's way: the kernel handle is the host function.
///
/// # Safety
/// `out` is the caller's variable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaGetKernel(out: *mut *const c_void, func: *const c_void) -> Code {
    if out.is_null() {
        return done(INVALID_VALUE);
    }
    // SAFETY: by contract.
    unsafe { *out = func };
    SUCCESS
}

/// # Safety
/// As for `cudaLaunchKernel`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaLaunchKernel(
    func: *const c_void,
    grid: Dim3,
    block: Dim3,
    args: *mut *mut c_void,
    shared: usize,
    stream: *mut c_void,
) -> Code {
    // SAFETY: by contract.
    unsafe { cudaLaunchKernel(func, grid, block, args, shared, stream) }
}

/// Analysis pays for the first launches of a kernel; programs that launch it a thousand times are left to the run.
fn worth_analyzing(k: &Kernel) -> bool {
    const LAUNCHES: u32 = 3;
    get().state.lock().is_ok_and(|mut s| {
        let n = s.analyzed.entry(k.name.clone()).or_insert(0);
        *n += 1;
        *n <= LAUNCHES
    })
}

/// # Safety
/// As for `cudaLaunchKernel`.
unsafe fn launch(
    k: &Kernel,
    stub: u64,
    grid: Dim3,
    block: Dim3,
    args: *mut *mut c_void,
    shared: usize,
    stream: *mut c_void,
) -> Code {
    let rt = get();
    let (loaded, number) = {
        let Ok(mut s) = rt.state.lock() else {
            return LAUNCH_FAILURE;
        };
        s.launches += 1;
        (s.modules.get(k.module).and_then(Clone::clone), s.launches)
    };
    let Some(loaded) = loaded else {
        return NO_KERNEL_IMAGE;
    };
    let program = match loaded.program(&k.name) {
        Ok(p) => p,
        Err(e) => {
            rt.tell(Told::Error(format!("{}: {e}", short(&k.name))));
            return INVALID_FUNCTION;
        }
    };
    let mut params = vec![0u8; program.param_bytes as usize];
    for (n, (_, off, size, _)) in program.params.iter().enumerate() {
        if args.is_null() {
            return INVALID_VALUE;
        }
        // SAFETY: by contract, one pointer per parameter, each to that many bytes.
        unsafe {
            let from = (*args.add(n)).cast::<u8>();
            std::ptr::copy_nonoverlapping(
                from,
                params.as_mut_ptr().add(*off as usize),
                *size as usize,
            );
        }
    }
    let l = Launch {
        grid: [grid.x, grid.y, grid.z],
        block: [block.x, block.y, block.z],
        dynamic_shared: u32::try_from(shared).unwrap_or(u32::MAX / 2),
        params,
        workers: rt.workers,
        step_limit: rt.step_limit,
        independent: rt.options.independent,
        grid_id: number,
    };
    if crate::machine::grid::validate(&program, &l).is_err() {
        return INVALID_CONFIGURATION;
    }
    let scene = Scene {
        module: &loaded.module,
        program: &program,
        memory: &rt.memory,
        grid: l.grid,
        block: l.block,
        warp_size: rt.options.warp_size,
        independent: rt.options.independent,
    };
    let mut found = Vec::new();
    let mut plan = Vec::new();
    if rt.analyze && rt.options.scheme != check::Scheme::Off && worth_analyzing(k) {
        let a = crate::analyze::run(&scene, &l);
        found = a.findings;
        plan = a.plan;
    }
    let print = |s: &str| {
        use std::io::Write;
        let mut o = std::io::stdout().lock();
        let _ = o.write_all(s.as_bytes());
        let _ = o.flush();
    };
    let Some(ticket) = ops::begin(stream) else {
        return INVALID_HANDLE;
    };
    let run = check::run_traced(&program, &rt.memory, &l, rt.options, plan, &print);
    let Ok((checked, foot)) = run else {
        return INVALID_CONFIGURATION;
    };
    let did = Did::Kernel {
        module: Arc::clone(&loaded),
        program: Arc::clone(&program),
        stub,
    };
    ops::done(ticket, did, foot, Then::GoOn);
    for f in findings(&scene, &checked) {
        if !found.iter().any(|g| same(g, &f)) {
            found.push(f);
        }
    }
    let all = found.clone();
    found.retain(|f| !explained(f, &all));
    for f in found {
        rt.tell(Told::Finding(Box::new(f)));
    }
    let stats = [
        ("launches", 1.0),
        ("warp_instructions", checked.outcome.steps as f64),
        ("checked_accesses", checked.checked as f64),
        ("spared_accesses", checked.spared as f64),
    ];
    rt.tell(Told::Launch(CheckedLaunch {
        kernel: short(&k.name),
        grid: l.grid,
        block: l.block,
        analysis: None,
        stats: stats.map(|(n, v)| (n.to_string(), v)).into(),
    }));
    let worst = |kind| checked.outcome.faults.iter().any(|f| f.kind == kind);
    if worst(FaultKind::OutOfBounds) || worst(FaultKind::Misaligned) {
        // The machine went on without the bad accesses; the program is told as the hardware would.
        return ILLEGAL_ADDRESS;
    }
    if worst(FaultKind::Assert) {
        return ASSERT;
    }
    if checked.outcome.aborted {
        LAUNCH_FAILURE
    } else {
        SUCCESS
    }
}

//! Loaded into rustc or clang (`LD_PRELOAD`) while it compiles what Deadheat checks.
//!
//! LLVM's instrumentation leaves `atomicrmw max`, `min`, `umax`, `umin` and those on floating-point numbers as they are, so
//! that a program which orders its threads by them would be told of races that are none. Rustc builds every such
//! instruction with one function of LLVM's C interface, which lives in a library of its own; here is another function of
//! that name, found first. It builds a call of Deadheat's runtime for these and passes everything else on. For clang see
//! [`pass`]; for what else is done in rustc, [`rustc`].
//!
//! Where a compiler carries its LLVM inside, nothing here is ever called, and nothing is changed.

#![no_std]
#![deny(unsafe_op_in_unsafe_fn)]

use core::ffi::{c_char, c_int, c_uint, c_void};
use core::fmt::Write;
use core::mem::transmute_copy;

type Handle = *mut c_void;

#[link(name = "c")]
unsafe extern "C" {
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
    fn abort() -> !;
}

const NEXT: *mut c_void = usize::MAX as *mut c_void;
const DEFAULT: *mut c_void = core::ptr::null_mut();

// Kinds of types, as LLVM counts them.
const FLOAT: c_int = 2;
const DOUBLE: c_int = 3;
const INTEGER: c_int = 8;

type BuildAtomicRmw = unsafe extern "C" fn(Handle, c_int, Handle, Handle, c_int, c_int) -> Handle;

/// Builds an atomic operation, as rustc asks for it.
///
/// # Safety
/// As in LLVM: a builder that stands in a function, a pointer and a value of its context.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn LLVMBuildAtomicRMW(
    builder: Handle,
    operation: c_int,
    place: Handle,
    value: Handle,
    order: c_int,
    single: c_int,
) -> Handle {
    if single == 0
        && let Some(name) = unseen(operation)
        // SAFETY: by the contract.
        && let Some(call) = unsafe { build_call(builder, name, place, value, order) }
    {
        return call;
    }
    // SAFETY: the function that was asked for has this signature.
    let real: Option<BuildAtomicRmw> = unsafe { function(NEXT, c"LLVMBuildAtomicRMW") };
    match real {
        // SAFETY: by the contract.
        Some(real) => unsafe { real(builder, operation, place, value, order, single) },
        // SAFETY: no arguments. Nobody who can call this function lacks the other one.
        None => unsafe { abort() },
    }
}

/// The runtime's word for an operation that LLVM's instrumentation leaves out.
fn unseen(operation: c_int) -> Option<&'static str> {
    Some(match operation {
        7 => "smax",
        8 => "smin",
        9 => "umax",
        10 => "umin",
        11 => "fadd",
        12 => "fsub",
        13 => "fmax",
        14 => "fmin",
        _ => return None,
    })
}

/// # Safety
/// `F` is the type of the function of that name.
unsafe fn function<F>(from: *mut c_void, name: &core::ffi::CStr) -> Option<F> {
    // SAFETY: looks up a name; a found address is turned into a function pointer by the contract.
    unsafe {
        let address = dlsym(from, name.as_ptr());
        if address.is_null() {
            return None;
        }
        Some(transmute_copy(&address))
    }
}

/// A function of LLVM's C interface; returns from where it stands if there is none.
macro_rules! llvm {
    ($name:ident($($argument:ty),*) -> $result:ty) => {
        // SAFETY: the signature that LLVM documents for this name.
        unsafe {
            function::<unsafe extern "C" fn($($argument),*) -> $result>(
                DEFAULT,
                // SAFETY: the text ends in the only zero.
                core::ffi::CStr::from_bytes_with_nul_unchecked(concat!(stringify!($name), "\0").as_bytes()),
            )?
        }
    };
}

mod block;
mod copies;
mod graph;
mod hooks;
mod improve;
mod llvm;
mod loops;
mod memory;
mod neighbours;
pub mod pass;
mod repeats;
pub mod rustc;
mod steady;
mod telling;
mod wide;

/// Builds the call; none if some function is missing or the operand is of no size that the runtime knows.
///
/// # Safety
/// As [`LLVMBuildAtomicRMW`].
unsafe fn build_call(
    builder: Handle,
    operation: &str,
    place: Handle,
    value: Handle,
    order: c_int,
) -> Option<Handle> {
    let type_of = llvm!(LLVMTypeOf(Handle) -> Handle);
    let kind_of = llvm!(LLVMGetTypeKind(Handle) -> c_int);
    let width = llvm!(LLVMGetIntTypeWidth(Handle) -> c_uint);
    let context_of = llvm!(LLVMGetTypeContext(Handle) -> Handle);
    let int32 = llvm!(LLVMInt32TypeInContext(Handle) -> Handle);
    let function_type = llvm!(LLVMFunctionType(Handle, *mut Handle, c_uint, c_int) -> Handle);
    let block = llvm!(LLVMGetInsertBlock(Handle) -> Handle);
    let function_of = llvm!(LLVMGetBasicBlockParent(Handle) -> Handle);
    let module_of = llvm!(LLVMGetGlobalParent(Handle) -> Handle);
    let named = llvm!(LLVMGetNamedFunction(Handle, *const c_char) -> Handle);
    let add = llvm!(LLVMAddFunction(Handle, *const c_char, Handle) -> Handle);
    let constant = llvm!(LLVMConstInt(Handle, u64, c_int) -> Handle);
    let call =
        llvm!(LLVMBuildCall2(Handle, Handle, Handle, *mut Handle, c_uint, *const c_char) -> Handle);
    // SAFETY: the values and the builder are LLVM's own, by the contract, and belong together.
    unsafe {
        let kind = type_of(value);
        let bits = match kind_of(kind) {
            INTEGER => width(kind),
            FLOAT => 32,
            DOUBLE => 64,
            _ => return None,
        };
        if !matches!(bits, 8 | 16 | 32 | 64) {
            return None;
        }
        let mut name = Name::default();
        write!(name, "__deadheat_atomic{bits}_fetch_{operation}\0").ok()?;
        let number = int32(context_of(kind));
        let mut arguments = [type_of(place), kind, number];
        let signature = function_type(kind, arguments.as_mut_ptr(), 3, 0);
        let module = module_of(function_of(block(builder)));
        let text = name.bytes.as_ptr().cast();
        let mut callee = named(module, text);
        if callee.is_null() {
            callee = add(module, text, signature);
        }
        let mut values = [place, value, constant(number, runtime_order(order), 0)];
        Some(call(
            builder,
            signature,
            callee,
            values.as_mut_ptr(),
            3,
            c"".as_ptr(),
        ))
    }
}

/// LLVM's number for a memory order, as the runtime counts them.
fn runtime_order(llvm: c_int) -> u64 {
    match llvm {
        0..=2 => 0,
        4 => 2,
        5 => 3,
        6 => 4,
        _ => 5,
    }
}

/// A short text without an allocator.
struct Name {
    bytes: [u8; 64],
    used: usize,
}

impl Default for Name {
    fn default() -> Self {
        Self {
            bytes: [0; 64],
            used: 0,
        }
    }
}

impl Write for Name {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        let end = self.used + text.len();
        let Some(room) = self.bytes.get_mut(self.used..end) else {
            return Err(core::fmt::Error);
        };
        room.copy_from_slice(text.as_bytes());
        self.used = end;
        Ok(())
    }
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    // SAFETY: no arguments.
    unsafe { abort() }
}

//! In rustc: the instrumentation, moved from the end of the first optimization to just before code is generated.
//!
//! Rustc is told to instrument by the names of passes (`-Cpasses`), which it gives to LLVM behind its own. Where a crate is
//! compiled in parts, that is before the parts are optimized together: what is instrumented then cannot be simplified any more, and
//! many hooks remain for accesses that a finished program does not have. So the names are taken out of the list here, and the passes
//! run when rustc asks for code. Then the hooks of each function are
//! [improved](improve).
//!
//! All of this only happens if Deadheat has made sure, before it started rustc, that rustc asks for code by the function that
//! is here ([`WANTED`]); otherwise the names stay where they are and LLVM instruments where they stand.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::sync::atomic::{AtomicBool, Ordering};

use crate::improve::improve;
use crate::{DEFAULT, Handle, NEXT, abort, function};

/// The variable that says so.
const WANTED: &CStr = c"DEADHEAT_RUST_LATE";

/// The passes as Deadheat names them on rustc's command line, what is left of them, and what runs later.
const PASSES: &[u8] = b"forceattrs,tsan-module,function(tsan)";
const EARLY: &[u8] = b"forceattrs";
const LATE: &CStr = c"tsan-module,function(tsan)";

/// More passes than this are not looked through.
const LONGEST: usize = 4096;

/// Whether the passes were taken out, so that they must run later.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// A name that a module gets when its passes have run.
const DONE: &[u8] = b"deadheat.done";

#[link(name = "c")]
unsafe extern "C" {
    fn getenv(name: *const c_char) -> *const c_char;
    fn write(file: c_int, text: *const c_void, length: usize) -> isize;
}

const PARSE: &CStr = c"_ZN4llvm11PassBuilder17parsePassPipelineERNS_11PassManagerINS_6ModuleENS_15AnalysisManagerIS2_JEEEJEEENS_9StringRefE";
const RUN: &CStr = c"_ZN4llvm6legacy11PassManager3runERNS_6ModuleE";

/// `Error` is returned in memory that the caller names first.
type Parse = unsafe extern "C" fn(*mut c_void, Handle, Handle, *const u8, usize) -> *mut c_void;
type Run = unsafe extern "C" fn(Handle, Handle) -> bool;

/// `llvm::PassBuilder::parsePassPipeline(llvm::ModulePassManager &, llvm::StringRef)`.
///
/// # Safety
/// As in LLVM.
#[unsafe(export_name = "_ZN4llvm11PassBuilder17parsePassPipelineERNS_11PassManagerINS_6ModuleENS_15AnalysisManagerIS2_JEEEJEEENS_9StringRefE")]
pub unsafe extern "C" fn parse(
    result: *mut c_void,
    builder: Handle,
    manager: Handle,
    text: *const u8,
    length: usize,
) -> *mut c_void {
    // SAFETY: the function that was asked for has this signature.
    let Some(real) = (unsafe { function::<Parse>(NEXT, PARSE) }) else {
        // SAFETY: no arguments. Nobody who can call this function lacks the other one.
        unsafe { abort() }
    };
    let mut room = [0; LONGEST];
    // SAFETY: a text of that length, by the contract; the name of a variable.
    let rest = unsafe {
        match length == 0 || getenv(WANTED.as_ptr()).is_null() {
            true => None,
            false => without(core::slice::from_raw_parts(text, length), &mut room),
        }
    };
    let (text, length) = match rest {
        Some(rest) => {
            TAKEN.store(true, Ordering::Relaxed);
            (rest.as_ptr(), rest.len())
        }
        None => (text, length),
    };
    // SAFETY: by the contract.
    unsafe { real(result, builder, manager, text, length) }
}

/// The list without the passes that instrument; none if they are not in it.
fn without<'r>(text: &[u8], room: &'r mut [u8; LONGEST]) -> Option<&'r [u8]> {
    let at = text
        .windows(PASSES.len())
        .position(|window| window == PASSES)?;
    let parts = [&text[..at], EARLY, &text[at + PASSES.len()..]];
    let mut used = 0;
    for part in parts {
        room.get_mut(used..used + part.len())?.copy_from_slice(part);
        used += part.len();
    }
    Some(&room[..used])
}

/// `llvm::legacy::PassManager::run(llvm::Module &)`, by which rustc has code made from a module.
///
/// # Safety
/// As in LLVM.
#[unsafe(export_name = "_ZN4llvm6legacy11PassManager3runERNS_6ModuleE")]
pub unsafe extern "C" fn run(manager: Handle, module: Handle) -> bool {
    // SAFETY: the function that was asked for has this signature.
    let Some(real) = (unsafe { function::<Run>(NEXT, RUN) }) else {
        // SAFETY: no arguments. Nobody who can call this function lacks the other one.
        unsafe { abort() }
    };
    if TAKEN.load(Ordering::Relaxed) {
        // SAFETY: a module that rustc wants code of.
        if unsafe { instrument(module) }.is_none() {
            const WHY: &[u8] = b"deadheat: LLVM does not run the passes that instrument\n";
            // SAFETY: a text of that length. A program that is checked in part only would be worse than none.
            unsafe {
                write(2, WHY.as_ptr().cast(), WHY.len());
                abort()
            }
        }
    }
    // SAFETY: by the contract.
    unsafe { real(manager, module) }
}

/// Runs the passes that were taken out, once for a module; none if that fails.
///
/// # Safety
/// `module` is a module of LLVM's that nobody else uses now.
unsafe fn instrument(module: Handle) -> Option<()> {
    let done = llvm!(LLVMGetNamedMetadata(Handle, *const u8, usize) -> Handle);
    let set_done = llvm!(LLVMGetOrInsertNamedMetadata(Handle, *const u8, usize) -> Handle);
    let make_options = llvm!(LLVMCreatePassBuilderOptions() -> Handle);
    let drop_options = llvm!(LLVMDisposePassBuilderOptions(Handle) -> ());
    let run_passes = llvm!(LLVMRunPasses(Handle, *const c_char, Handle, Handle) -> Handle);
    // SAFETY: by the contract; the passes need to know nothing of the machine.
    unsafe {
        if !done(module, DONE.as_ptr(), DONE.len()).is_null() {
            return Some(());
        }
        set_done(module, DONE.as_ptr(), DONE.len());
        let options = make_options();
        let error = run_passes(module, LATE.as_ptr(), core::ptr::null_mut(), options);
        drop_options(options);
        if !error.is_null() {
            return None;
        }
        deadheat_improve(module);
    }
    Some(())
}

/// Makes the hooks of a module's instrumented functions fewer and better. For those who instrument by themselves, too.
///
/// # Safety
/// `module` is a module of LLVM's that has been instrumented and that nobody else uses now.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn deadheat_improve(module: Handle) {
    // SAFETY: by the contract.
    unsafe { each_function(module) };
}

/// # Safety
/// As [`deadheat_improve`].
unsafe fn each_function(module: Handle) -> Option<()> {
    let first = llvm!(LLVMGetFirstFunction(Handle) -> Handle);
    let next = llvm!(LLVMGetNextFunction(Handle) -> Handle);
    let declared = llvm!(LLVMIsDeclaration(Handle) -> c_int);
    // SAFETY: by the contract. Functions that are added meanwhile are declarations.
    unsafe {
        let mut body = first(module);
        while !body.is_null() {
            if declared(body) == 0 {
                improve(body);
            }
            body = next(body);
        }
    }
    Some(())
}

//! One module of the standard library: bitcode in, an instrumented object out.

use super::api::{self, Api, Builder, Context, Machine, Module, Value};
use super::{Hook, atomics};
use crate::error::{Error, Result};
use std::ffi::{CStr, CString, c_char};
use std::ptr;

/// Functions by parts of their symbols in which the runtime is to look away.
///
/// Every thread takes the lock of the stack guard's table when it starts and when it ends, which would order all
/// threads one after the other by accident and hide their races.
const LEFT_ALONE: [&[u8]; 1] = [b"14stack_overflow"];

/// What is called when such a function is entered, and when it is left.
const LOOK_AWAY: [&CStr; 2] = [c"__tsan_ignore_thread_begin", c"AnnotateIgnoreSyncBegin"];
const LOOK_AGAIN: [&CStr; 2] = [c"AnnotateIgnoreSyncEnd", c"__tsan_ignore_thread_end"];

const RETURN: i32 = 1;
const RESUME: i32 = 58;

/// The function itself, among the places where an attribute can stand.
const FUNCTION_INDEX: u32 = u32::MAX;
const OBJECT_FILE: i32 = 1;
const AGGRESSIVE: i32 = 3;
const POSITION_INDEPENDENT: i32 = 2;
const DEFAULT_CODE_MODEL: i32 = 0;

/// Instruments a module and compiles it.
///
/// Everything that LLVM makes here stays until the process ends, which is soon.
pub fn instrument(api: &Api, hook: Option<&Hook>, bitcode: &[u8]) -> Result<Vec<u8>> {
    // SAFETY: no arguments; meant to be called before anything else and as often as one likes.
    unsafe {
        (api.LLVMInitializeX86TargetInfo)();
        (api.LLVMInitializeX86Target)();
        (api.LLVMInitializeX86TargetMC)();
        (api.LLVMInitializeX86AsmPrinter)();
        (api.LLVMInitializeX86AsmParser)();
    }
    // SAFETY: no arguments.
    let context = unsafe { (api.LLVMContextCreate)() };
    let module = parse(api, context, bitcode)?;
    let machine = machine(api, module)?;
    mark(api, context, module);
    run(api, module, machine, c"function(tsan)")?;
    if let Some(hook) = hook {
        hook.improve(module);
    }
    emit(api, module, machine)
}

fn parse(api: &Api, context: Context, bitcode: &[u8]) -> Result<Module> {
    let mut module = Module(ptr::null_mut());
    // SAFETY: LLVM copies the bytes, and writes a module only when it says that all went well.
    let failed = unsafe {
        let buffer = (api.LLVMCreateMemoryBufferWithMemoryRangeCopy)(
            bitcode.as_ptr().cast(),
            bitcode.len(),
            c"module".as_ptr(),
        );
        (api.LLVMParseBitcodeInContext2)(context, buffer, &raw mut module)
    };
    if failed != 0 || module.is_null() {
        return Err(Error::new("LLVM cannot read the bitcode"));
    }
    Ok(module)
}

fn machine(api: &Api, module: Module) -> Result<Machine> {
    let mut target = api::Target(ptr::null_mut());
    let mut message: *mut c_char = ptr::null_mut();
    // SAFETY: the module is there; the two places are written to as LLVM documents.
    unsafe {
        let triple = (api.LLVMGetTarget)(module);
        if (api.LLVMGetTargetFromTriple)(triple, &raw mut target, &raw mut message) != 0 {
            return Err(Error::new(format!(
                "LLVM does not know the target: {}",
                text(message)
            )));
        }
        Ok((api.LLVMCreateTargetMachine)(
            target,
            triple,
            c"x86-64".as_ptr(),
            c"".as_ptr(),
            AGGRESSIVE,
            POSITION_INDEPENDENT,
            DEFAULT_CODE_MODEL,
        ))
    }
}

/// Says which functions are to be instrumented, rewrites what the instrumentation would leave out, and gives each
/// function a section of its own, so that the linker drops what is not used.
fn mark(api: &Api, context: Context, module: Module) {
    let attribute = |name: &CStr| {
        // SAFETY: the name and its length; 0 stands for "no value".
        unsafe {
            let kind = (api.LLVMGetEnumAttributeKindForName)(name.as_ptr(), name.count_bytes());
            (api.LLVMCreateEnumAttribute)(context, kind, 0)
        }
    };
    let checked = attribute(c"sanitize_thread");
    let left_alone = attribute(c"disable_sanitizer_instrumentation");
    // SAFETY: a builder of this context, given back below.
    let builder = unsafe { (api.LLVMCreateBuilderInContext)(context) };
    // SAFETY: walks the functions of the module; those that rewriting adds are declarations at the end of the list.
    unsafe {
        let mut function = (api.LLVMGetFirstFunction)(module);
        while !function.is_null() {
            if (api.LLVMIsDeclaration)(function) == 0 {
                let name = name(api, function);
                let skip = LEFT_ALONE.iter().any(|part| contains(&name, part));
                let attribute = if skip { left_alone } else { checked };
                (api.LLVMAddAttributeAtIndex)(function, FUNCTION_INDEX, attribute);
                if skip {
                    look_away(api, context, module, function, builder);
                } else {
                    atomics::rewrite(api, context, module, function, builder);
                }
                own_section(api, function, &name);
            }
            function = (api.LLVMGetNextFunction)(function);
        }
        (api.LLVMDisposeBuilder)(builder);
    }
}

/// Makes the runtime look away while a function runs: what it calls, and the C library's functions, are seen otherwise.
///
/// # Safety
/// `function` is a definition in `module`, which belongs to `context`.
unsafe fn look_away(
    api: &Api,
    context: Context,
    module: Module,
    function: Value,
    builder: Builder,
) {
    // SAFETY: finds the first instruction and the last ones, and puts calls before them. Each block has a last one.
    unsafe {
        let entry = (api.LLVMGetFirstBasicBlock)(function);
        let first = (api.LLVMGetFirstInstruction)(entry);
        call(api, context, module, builder, first, LOOK_AWAY);
        let mut block = entry;
        while !block.is_null() {
            let last = (api.LLVMGetBasicBlockTerminator)(block);
            if !last.is_null() && matches!((api.LLVMGetInstructionOpcode)(last), RETURN | RESUME) {
                call(api, context, module, builder, last, LOOK_AGAIN);
            }
            block = (api.LLVMGetNextBasicBlock)(block);
        }
    }
}

/// Puts calls before an instruction, each with a null and a zero: the annotations take a file and a line, and the others
/// do not mind.
///
/// # Safety
/// `before` is an instruction in `module`, which belongs to `context`.
unsafe fn call(
    api: &Api,
    context: Context,
    module: Module,
    builder: Builder,
    before: Value,
    names: [&CStr; 2],
) {
    // SAFETY: builds calls with the types that the functions were declared with.
    unsafe {
        let (pointer, number) = (
            (api.LLVMPointerTypeInContext)(context, 0),
            (api.LLVMInt32TypeInContext)(context),
        );
        let mut arguments = [pointer, number];
        let signature = (api.LLVMFunctionType)(
            (api.LLVMVoidTypeInContext)(context),
            arguments.as_mut_ptr(),
            2,
            0,
        );
        (api.LLVMPositionBuilderBefore)(builder, before);
        for name in names {
            let mut callee = (api.LLVMGetNamedFunction)(module, name.as_ptr());
            if callee.is_null() {
                callee = (api.LLVMAddFunction)(module, name.as_ptr(), signature);
            }
            let mut values = [
                (api.LLVMConstNull)(pointer),
                (api.LLVMConstInt)(number, 0, 0),
            ];
            (api.LLVMBuildCall2)(
                builder,
                signature,
                callee,
                values.as_mut_ptr(),
                2,
                c"".as_ptr(),
            );
        }
    }
}

fn contains(name: &[u8], part: &[u8]) -> bool {
    name.windows(part.len()).any(|window| window == part)
}

fn name(api: &Api, function: Value) -> Vec<u8> {
    let mut length = 0;
    // SAFETY: LLVM gives a pointer to so many bytes, which live as long as the function.
    unsafe {
        let start = (api.LLVMGetValueName2)(function, &raw mut length);
        std::slice::from_raw_parts(start.cast(), length).to_vec()
    }
}

fn own_section(api: &Api, function: Value, name: &[u8]) {
    // SAFETY: the section's name is null or a string that lives as long as the function.
    let taken = unsafe {
        let section = (api.LLVMGetSection)(function);
        !section.is_null() && *section != 0
    };
    let mut section = b".text.".to_vec();
    section.extend(name);
    if let (false, Ok(section)) = (taken, CString::new(section)) {
        // SAFETY: LLVM copies the name.
        unsafe { (api.LLVMSetSection)(function, section.as_ptr()) };
    }
}

fn run(api: &Api, module: Module, machine: Machine, passes: &CStr) -> Result<()> {
    // SAFETY: a module with its machine, and passes by their names.
    unsafe {
        let failure = (api.LLVMRunPasses)(
            module,
            passes.as_ptr(),
            machine,
            (api.LLVMCreatePassBuilderOptions)(),
        );
        if failure.is_null() {
            return Ok(());
        }
        let message = text((api.LLVMGetErrorMessage)(failure));
        Err(Error::new(format!("LLVM cannot instrument: {message}")))
    }
}

fn emit(api: &Api, module: Module, machine: Machine) -> Result<Vec<u8>> {
    let mut message: *mut c_char = ptr::null_mut();
    let mut buffer = api::Buffer(ptr::null_mut());
    // SAFETY: LLVM writes the message when it fails and the buffer when it does not.
    unsafe {
        let failed = (api.LLVMTargetMachineEmitToMemoryBuffer)(
            machine,
            module,
            OBJECT_FILE,
            &raw mut message,
            &raw mut buffer,
        );
        if failed != 0 {
            return Err(Error::new(format!(
                "LLVM cannot write the object: {}",
                text(message)
            )));
        }
        let (start, size) = (
            (api.LLVMGetBufferStart)(buffer),
            (api.LLVMGetBufferSize)(buffer),
        );
        Ok(std::slice::from_raw_parts(start.cast(), size).to_vec())
    }
}

/// # Safety
/// `message` is null or a string.
unsafe fn text(message: *const c_char) -> String {
    if message.is_null() {
        return "it does not say why".to_owned();
    }
    // SAFETY: by the contract.
    unsafe { CStr::from_ptr(message) }
        .to_string_lossy()
        .into_owned()
}

//! Around clang's instrumentation of a function: clang calls the pass in LLVM's library by its C++ name, and finds this one
//! first. Unseen operations become calls of the runtime, then the real pass runs, then its hooks are improved.

use core::ffi::{c_int, c_uint, c_void};

use crate::improve::improve;
use crate::{DEFAULT, Handle, NEXT, abort, build_call, function, unseen};

/// `PreservedAnalyses` is returned in memory that the caller names first.
type Run = unsafe extern "C" fn(*mut c_void, *mut c_void, Handle, *mut c_void) -> *mut c_void;

const NAME: &core::ffi::CStr =
    c"_ZN4llvm19ThreadSanitizerPass3runERNS_8FunctionERNS_15AnalysisManagerIS1_JEEE";

/// `llvm::ThreadSanitizerPass::run(llvm::Function &, llvm::FunctionAnalysisManager &)`.
///
/// # Safety
/// As in LLVM.
#[unsafe(export_name = "_ZN4llvm19ThreadSanitizerPass3runERNS_8FunctionERNS_15AnalysisManagerIS1_JEEE")]
pub unsafe extern "C" fn run(
    result: *mut c_void,
    pass: *mut c_void,
    body: Handle,
    analyses: *mut c_void,
) -> *mut c_void {
    // SAFETY: a function that the compiler works on.
    unsafe { make_seen(body) };
    // SAFETY: the function that was asked for has this signature.
    let real: Option<Run> = unsafe { function(NEXT, NAME) };
    match real {
        // SAFETY: by the contract.
        Some(real) => unsafe {
            let result = real(result, pass, body, analyses);
            improve(body);
            result
        },
        // SAFETY: no arguments. Nobody who can call this function lacks the other one.
        None => unsafe { abort() },
    }
}

/// Replaces the operations in a function that the real pass leaves out.
///
/// # Safety
/// `body` is a function of LLVM's.
unsafe fn make_seen(body: Handle) -> Option<()> {
    let first_block = llvm!(LLVMGetFirstBasicBlock(Handle) -> Handle);
    let next_block = llvm!(LLVMGetNextBasicBlock(Handle) -> Handle);
    let first = llvm!(LLVMGetFirstInstruction(Handle) -> Handle);
    let next = llvm!(LLVMGetNextInstruction(Handle) -> Handle);
    let as_rmw = llvm!(LLVMIsAAtomicRMWInst(Handle) -> Handle);
    // SAFETY: by the contract; blocks and instructions are those of the function.
    unsafe {
        let mut block = first_block(body);
        while !block.is_null() {
            let mut instruction = first(block);
            while !instruction.is_null() {
                let after = next(instruction);
                if !as_rmw(instruction).is_null() {
                    replace(instruction);
                }
                instruction = after;
            }
            block = next_block(block);
        }
    }
    Some(())
}

/// Puts a call of the runtime in the place of an operation, if it is one that nobody sees.
///
/// # Safety
/// `instruction` is an atomic read-modify-write in a function.
unsafe fn replace(instruction: Handle) -> Option<()> {
    let operation = llvm!(LLVMGetAtomicRMWBinOp(Handle) -> c_int);
    let single = llvm!(LLVMIsAtomicSingleThread(Handle) -> c_int);
    let order = llvm!(LLVMGetOrdering(Handle) -> c_int);
    let operand = llvm!(LLVMGetOperand(Handle, c_uint) -> Handle);
    let type_of = llvm!(LLVMTypeOf(Handle) -> Handle);
    let context_of = llvm!(LLVMGetTypeContext(Handle) -> Handle);
    let make_builder = llvm!(LLVMCreateBuilderInContext(Handle) -> Handle);
    let stand_before = llvm!(LLVMPositionBuilderBefore(Handle, Handle) -> ());
    let drop_builder = llvm!(LLVMDisposeBuilder(Handle) -> ());
    let use_instead = llvm!(LLVMReplaceAllUsesWith(Handle, Handle) -> ());
    let erase = llvm!(LLVMInstructionEraseFromParent(Handle) -> ());
    // SAFETY: by the contract: operand 0 is the place, operand 1 the value. The builder stands before the instruction and
    // takes its line over.
    unsafe {
        let name = unseen(operation(instruction)).filter(|_| single(instruction) == 0)?;
        let value = operand(instruction, 1);
        let builder = make_builder(context_of(type_of(value)));
        stand_before(builder, instruction);
        let call = build_call(
            builder,
            name,
            operand(instruction, 0),
            value,
            order(instruction),
        );
        drop_builder(builder);
        let call = call?;
        use_instead(instruction, call);
        erase(instruction);
    }
    Some(())
}

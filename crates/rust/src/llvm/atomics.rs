//! The atomic minimum and maximum, which LLVM's instrumentation leaves out.
//!
//! Each `atomicrmw max` and the like becomes a call of a function of Deadheat's runtime that performs the operation and
//! follows its order. In code that rustc compiles, `crates/compiler-hook` does the same while rustc builds the instruction.

use super::api::{Api, Builder, Context, Module, Value};
use std::ffi::CString;

/// LLVM's numbers for the operations, and what the runtime's functions call them.
pub const FUNCTIONS: [(i32, &str); 4] = [(7, "smax"), (8, "smin"), (9, "umax"), (10, "umin")];

const ATOMIC_RMW: i32 = 57;
const INTEGER: i32 = 8;

/// The runtime's function for an operation on so many bits.
#[must_use]
pub fn function_name(operation: &str, bits: u32) -> String {
    format!("__deadheat_atomic{bits}_fetch_{operation}")
}

/// LLVM's number for a memory order as the sanitizer interface counts them.
fn order(llvm: i32) -> u64 {
    match llvm {
        0..=2 => 0,
        4 => 2,
        5 => 3,
        6 => 4,
        _ => 5,
    }
}

/// Rewrites the operations of one function; says how many there were.
///
/// # Safety
/// `function` is a definition in `module`, which belongs to `context`.
pub unsafe fn rewrite(
    api: &Api,
    context: Context,
    module: Module,
    function: Value,
    builder: Builder,
) -> usize {
    let mut found = Vec::new();
    // SAFETY: walks the blocks and instructions of a function that nobody changes meanwhile.
    unsafe {
        let mut block = (api.LLVMGetFirstBasicBlock)(function);
        while !block.is_null() {
            let mut instruction = (api.LLVMGetFirstInstruction)(block);
            while !instruction.is_null() {
                if (api.LLVMGetInstructionOpcode)(instruction) == ATOMIC_RMW {
                    found.push(instruction);
                }
                instruction = (api.LLVMGetNextInstruction)(instruction);
            }
            block = (api.LLVMGetNextBasicBlock)(block);
        }
    }
    // SAFETY: by the contract; each instruction is looked at once and then gone.
    found
        .into_iter()
        .filter(|one| unsafe { replace(api, context, module, *one, builder) })
        .count()
}

/// # Safety
/// `instruction` is an `atomicrmw` in `module`.
unsafe fn replace(
    api: &Api,
    context: Context,
    module: Module,
    instruction: Value,
    builder: Builder,
) -> bool {
    // SAFETY: questions about an instruction that is there.
    let (operation, kind) = unsafe {
        (
            (api.LLVMGetAtomicRMWBinOp)(instruction),
            (api.LLVMTypeOf)(instruction),
        )
    };
    let Some((_, operation)) = FUNCTIONS.iter().find(|(number, _)| *number == operation) else {
        return false;
    };
    // SAFETY: as above; the width is only asked of an integer.
    let bits = unsafe {
        if (api.LLVMGetTypeKind)(kind) != INTEGER {
            return false;
        }
        (api.LLVMGetIntTypeWidth)(kind)
    };
    if !matches!(bits, 8 | 16 | 32 | 64) {
        return false;
    }
    let Ok(name) = CString::new(function_name(operation, bits)) else {
        return false;
    };
    // SAFETY: builds a call with the operands of the instruction before it, then puts its result in the place of the
    // instruction's, which has the same type.
    unsafe {
        let number = (api.LLVMInt32TypeInContext)(context);
        let (place, value) = (
            (api.LLVMGetOperand)(instruction, 0),
            (api.LLVMGetOperand)(instruction, 1),
        );
        let mut arguments = [(api.LLVMTypeOf)(place), kind, number];
        let signature = (api.LLVMFunctionType)(kind, arguments.as_mut_ptr(), 3, 0);
        let mut callee = (api.LLVMGetNamedFunction)(module, name.as_ptr());
        if callee.is_null() {
            callee = (api.LLVMAddFunction)(module, name.as_ptr(), signature);
        }
        let order = (api.LLVMConstInt)(number, order((api.LLVMGetOrdering)(instruction)), 0);
        (api.LLVMPositionBuilderBefore)(builder, instruction);
        let mut values = [place, value, order];
        let call = (api.LLVMBuildCall2)(
            builder,
            signature,
            callee,
            values.as_mut_ptr(),
            3,
            c"".as_ptr(),
        );
        (api.LLVMReplaceAllUsesWith)(instruction, call);
        (api.LLVMInstructionEraseFromParent)(instruction);
    }
    true
}

//! Before clang's instrumentation of a function: it calls the pass in LLVM's library by its C++ name, and finds this one
//! first. Unseen operations become calls of the runtime, then the real pass runs.

use core::ffi::{c_char, c_int, c_uint, c_void};

use crate::{DEFAULT, Handle, NEXT, abort, batch, build_call, function, unseen};

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
            see_wide(body);
            batch::run(body);
            result
        },
        // SAFETY: no arguments. Nobody who can call this function lacks the other one.
        None => unsafe { abort() },
    }
}

/// Loads and stores, and plain ones among them, as LLVM counts them.
const LOAD: c_int = 27;
const STORE: c_int = 28;
const NOT_ATOMIC: c_int = 0;
const VECTOR: c_int = 13;
/// A vector whose length is known only when it runs.
const SCALABLE_VECTOR: c_int = 17;
/// The place of a function's own attributes.
const OF_FUNCTION: c_uint = c_uint::MAX;

/// Announces the plain accesses of an instrumented function for which the real pass has no hook: those of vectors of more
/// than 16 bytes, and of other odd sizes.
///
/// # Safety
/// `body` is a function of LLVM's that the real pass has seen.
unsafe fn see_wide(body: Handle) -> Option<()> {
    let attribute = llvm!(LLVMGetEnumAttributeKindForName(*const u8, usize) -> c_uint);
    let has = llvm!(LLVMGetEnumAttributeAtIndex(Handle, c_uint, c_uint) -> Handle);
    let module_of = llvm!(LLVMGetGlobalParent(Handle) -> Handle);
    let layout_of = llvm!(LLVMGetModuleDataLayout(Handle) -> Handle);
    let first_block = llvm!(LLVMGetFirstBasicBlock(Handle) -> Handle);
    let next_block = llvm!(LLVMGetNextBasicBlock(Handle) -> Handle);
    let first = llvm!(LLVMGetFirstInstruction(Handle) -> Handle);
    let next = llvm!(LLVMGetNextInstruction(Handle) -> Handle);
    let opcode = llvm!(LLVMGetInstructionOpcode(Handle) -> c_int);
    const WANTED: &str = "sanitize_thread";
    // SAFETY: by the contract; blocks and instructions are those of the function.
    unsafe {
        let wanted = attribute(WANTED.as_ptr(), WANTED.len());
        if has(body, OF_FUNCTION, wanted).is_null() {
            return None;
        }
        let module = module_of(body);
        let layout = layout_of(module);
        let mut block = first_block(body);
        while !block.is_null() {
            let mut instruction = first(block);
            while !instruction.is_null() {
                if let LOAD | STORE = opcode(instruction) {
                    announce(module, layout, instruction, opcode(instruction) == STORE);
                }
                instruction = next(instruction);
            }
            block = next_block(block);
        }
    }
    Some(())
}

/// Puts hooks before a load or store, if it is one that the real pass has none for.
///
/// # Safety
/// `instruction` is a load or store in a function of the module.
unsafe fn announce(
    module: Handle,
    layout: Handle,
    instruction: Handle,
    writes: bool,
) -> Option<()> {
    let operand = llvm!(LLVMGetOperand(Handle, c_uint) -> Handle);
    let order = llvm!(LLVMGetOrdering(Handle) -> c_int);
    let type_of = llvm!(LLVMTypeOf(Handle) -> Handle);
    let kind_of = llvm!(LLVMGetTypeKind(Handle) -> c_int);
    let space_of = llvm!(LLVMGetPointerAddressSpace(Handle) -> c_uint);
    let size_of = llvm!(LLVMStoreSizeOfType(Handle, Handle) -> u64);
    let lanes_of = llvm!(LLVMGetVectorSize(Handle) -> c_uint);
    // SAFETY: by the contract: a store has its value first, then its place.
    unsafe {
        let (value, place) = match writes {
            true => (operand(instruction, 0), operand(instruction, 1)),
            false => (instruction, operand(instruction, 0)),
        };
        let kind = type_of(value);
        if kind_of(kind) == SCALABLE_VECTOR
            || order(instruction) != NOT_ATOMIC
            || space_of(type_of(place)) != 0
        {
            return None;
        }
        let size = size_of(layout, kind);
        if matches!(size, 0 | 1 | 2 | 4 | 8 | 16) {
            return None;
        }
        let lanes = match kind_of(kind) == VECTOR {
            true => lanes_of(kind),
            false => 1,
        };
        let used = match writes || lanes > 64 || size % lanes as u64 != 0 {
            true => None,
            false => used_lanes(instruction, lanes),
        };
        let Some(used) = used else {
            return range(module, instruction, place, 0, size, writes);
        };
        // What the compiler loads beside what the program reads is no access.
        let each = size / lanes as u64;
        let mut lane = 0;
        while lane < lanes {
            let from = lane;
            while lane < lanes && used >> lane & 1 != 0 {
                lane += 1;
            }
            if lane > from {
                let (start, length) = (from as u64 * each, (lane - from) as u64 * each);
                range(module, instruction, place, start, length, writes)?;
            }
            lane += 1;
        }
    }
    Some(())
}

/// Which lanes of a loaded vector are ever used, a bit for each; none if that cannot be told.
///
/// # Safety
/// `load` is a load of a vector of that many lanes.
unsafe fn used_lanes(load: Handle, lanes: c_uint) -> Option<u64> {
    let first_use = llvm!(LLVMGetFirstUse(Handle) -> Handle);
    let next_use = llvm!(LLVMGetNextUse(Handle) -> Handle);
    let user_of = llvm!(LLVMGetUser(Handle) -> Handle);
    let as_shuffle = llvm!(LLVMIsAShuffleVectorInst(Handle) -> Handle);
    let as_extract = llvm!(LLVMIsAExtractElementInst(Handle) -> Handle);
    let as_number = llvm!(LLVMIsAConstantInt(Handle) -> Handle);
    let number = llvm!(LLVMConstIntGetZExtValue(Handle) -> u64);
    let operand = llvm!(LLVMGetOperand(Handle, c_uint) -> Handle);
    let places = llvm!(LLVMGetNumMaskElements(Handle) -> c_uint);
    let lane_at = llvm!(LLVMGetMaskValue(Handle, c_uint) -> c_int);
    let mut used = 0u64;
    // SAFETY: by the contract; both operands of a shuffle have as many lanes.
    unsafe {
        let mut each = first_use(load);
        while !each.is_null() {
            let user = user_of(each);
            each = next_use(each);
            if !as_extract(user).is_null() && !as_number(operand(user, 1)).is_null() {
                let lane = number(operand(user, 1));
                if lane < lanes as u64 {
                    used |= 1 << lane;
                }
                continue;
            }
            if as_shuffle(user).is_null() {
                return None;
            }
            let is_operand = [operand(user, 0) == load, operand(user, 1) == load];
            for place in 0..places(user) {
                let lane = lane_at(user, place);
                if lane >= 0 && is_operand[(lane as c_uint >= lanes) as usize] {
                    used |= 1 << (lane as c_uint % lanes);
                }
            }
        }
    }
    Some(used)
}

/// Puts a hook before an access: `length` bytes from `start` on.
///
/// # Safety
/// `instruction` is an access in a function of the module to `place`.
unsafe fn range(
    module: Handle,
    instruction: Handle,
    place: Handle,
    start: u64,
    length: u64,
    writes: bool,
) -> Option<()> {
    let type_of = llvm!(LLVMTypeOf(Handle) -> Handle);
    let context_of = llvm!(LLVMGetTypeContext(Handle) -> Handle);
    let int8 = llvm!(LLVMInt8TypeInContext(Handle) -> Handle);
    let int64 = llvm!(LLVMInt64TypeInContext(Handle) -> Handle);
    let void = llvm!(LLVMVoidTypeInContext(Handle) -> Handle);
    let constant = llvm!(LLVMConstInt(Handle, u64, c_int) -> Handle);
    let function_type = llvm!(LLVMFunctionType(Handle, *mut Handle, c_uint, c_int) -> Handle);
    let named = llvm!(LLVMGetNamedFunction(Handle, *const c_char) -> Handle);
    let add = llvm!(LLVMAddFunction(Handle, *const c_char, Handle) -> Handle);
    let make_builder = llvm!(LLVMCreateBuilderInContext(Handle) -> Handle);
    let stand_before = llvm!(LLVMPositionBuilderBefore(Handle, Handle) -> ());
    let drop_builder = llvm!(LLVMDisposeBuilder(Handle) -> ());
    let beyond =
        llvm!(LLVMBuildGEP2(Handle, Handle, Handle, *mut Handle, c_uint, *const c_char) -> Handle);
    let call =
        llvm!(LLVMBuildCall2(Handle, Handle, Handle, *mut Handle, c_uint, *const c_char) -> Handle);
    let name = match writes {
        true => c"__tsan_write_range",
        false => c"__tsan_read_range",
    };
    // SAFETY: by the contract. The builder stands before the access and takes its line over.
    unsafe {
        let context = context_of(type_of(place));
        let number = int64(context);
        let mut kinds = [type_of(place), number];
        let signature = function_type(void(context), kinds.as_mut_ptr(), 2, 0);
        let mut callee = named(module, name.as_ptr());
        if callee.is_null() {
            callee = add(module, name.as_ptr(), signature);
        }
        let builder = make_builder(context);
        stand_before(builder, instruction);
        let mut from = place;
        if start > 0 {
            let mut offset = constant(number, start, 0);
            from = beyond(builder, int8(context), place, &mut offset, 1, c"".as_ptr());
        }
        let mut values = [from, constant(number, length, 0)];
        call(
            builder,
            signature,
            callee,
            values.as_mut_ptr(),
            2,
            c"".as_ptr(),
        );
        drop_builder(builder);
    }
    Some(())
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

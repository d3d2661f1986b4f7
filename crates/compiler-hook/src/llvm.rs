//! LLVM's C interface, as far as the passes over functions need it, and LLVM's numbers in it.

use core::ffi::{CStr, c_char, c_int, c_uint};
use core::sync::atomic::{AtomicPtr, Ordering};

use crate::memory::keep;
use crate::{DEFAULT, Handle, function};

/// Instructions and comparisons.
pub mod op {
    pub const INDIRECT_BRANCH: i32 = 4;
    pub const INVOKE: i32 = 5;
    pub const ADD: i32 = 8;
    pub const SUB: i32 = 10;
    pub const MUL: i32 = 12;
    pub const SHL: i32 = 20;
    pub const OR: i32 = 24;
    pub const LOAD: i32 = 27;
    pub const STORE: i32 = 28;
    pub const ELEMENT_PTR: i32 = 29;
    pub const PHI: i32 = 44;
    pub const CALL: i32 = 45;
    pub const CALL_BRANCH: i32 = 67;
    pub const EQUAL: i32 = 32;
    pub const DIFFERENT: i32 = 33;
    pub const UNSIGNED_LESS: i32 = 36;
    pub const SIGNED_LESS: i32 = 40;
}

/// Kinds of types.
pub mod kind {
    pub const INTEGER: i32 = 8;
    pub const STRUCT: i32 = 10;
    pub const ARRAY: i32 = 11;
    pub const POINTER: i32 = 12;
    pub const VECTOR: i32 = 13;
    /// A vector whose length is known only when it runs.
    pub const SCALABLE_VECTOR: i32 = 17;
}

/// An access without an order is not atomic.
pub const NOT_ATOMIC: c_int = 0;
/// The place of a function's own attributes.
pub const OF_FUNCTION: c_uint = c_uint::MAX;

macro_rules! interface {
    ($($field:ident = $name:ident($($argument:ty),*) -> $result:ty;)*) => {
        /// The functions, all of which an LLVM from 18 on has. Pointers have no types there, which is what callers rely on.
        pub struct Llvm { $(pub $field: unsafe extern "C" fn($($argument),*) -> $result,)* }

        impl Llvm {
            fn look() -> Option<Llvm> {
                Some(Llvm { $($field: llvm!($name($($argument),*) -> $result),)* })
            }
        }
    };
}

interface! {
    first_block = LLVMGetFirstBasicBlock(Handle) -> Handle;
    next_block = LLVMGetNextBasicBlock(Handle) -> Handle;
    first = LLVMGetFirstInstruction(Handle) -> Handle;
    next = LLVMGetNextInstruction(Handle) -> Handle;
    terminator = LLVMGetBasicBlockTerminator(Handle) -> Handle;
    as_value = LLVMBasicBlockAsValue(Handle) -> Handle;
    as_branch = LLVMIsABranchInst(Handle) -> Handle;
    as_compare = LLVMIsAICmpInst(Handle) -> Handle;
    as_instruction = LLVMIsAInstruction(Handle) -> Handle;
    as_number = LLVMIsAConstantInt(Handle) -> Handle;
    as_function = LLVMIsAFunction(Handle) -> Handle;
    as_variable = LLVMIsAAllocaInst(Handle) -> Handle;
    successors = LLVMGetNumSuccessors(Handle) -> c_uint;
    successor = LLVMGetSuccessor(Handle, c_uint) -> Handle;
    condition = LLVMGetCondition(Handle) -> Handle;
    predicate = LLVMGetICmpPredicate(Handle) -> c_int;
    opcode = LLVMGetInstructionOpcode(Handle) -> c_int;
    block_of = LLVMGetInstructionParent(Handle) -> Handle;
    operand = LLVMGetOperand(Handle, c_uint) -> Handle;
    operands = LLVMGetNumOperands(Handle) -> c_int;
    set_operand = LLVMSetOperand(Handle, c_uint, Handle) -> ();
    incoming = LLVMCountIncoming(Handle) -> c_uint;
    incoming_value = LLVMGetIncomingValue(Handle, c_uint) -> Handle;
    incoming_block = LLVMGetIncomingBlock(Handle, c_uint) -> Handle;
    called = LLVMGetCalledValue(Handle) -> Handle;
    name_of = LLVMGetValueName2(Handle, *mut usize) -> *const c_char;
    number = LLVMConstIntGetSExtValue(Handle) -> i64;
    disjoint = LLVMGetIsDisjoint(Handle) -> c_int;
    type_of = LLVMTypeOf(Handle) -> Handle;
    kind_of = LLVMGetTypeKind(Handle) -> c_int;
    width = LLVMGetIntTypeWidth(Handle) -> c_uint;
    element_type = LLVMGetGEPSourceElementType(Handle) -> Handle;
    item_type = LLVMGetElementType(Handle) -> Handle;
    field_type = LLVMStructGetTypeAtIndex(Handle, c_uint) -> Handle;
    module_of = LLVMGetGlobalParent(Handle) -> Handle;
    layout_of = LLVMGetModuleDataLayout(Handle) -> Handle;
    size_of = LLVMABISizeOfType(Handle, Handle) -> u64;
    field_offset = LLVMOffsetOfElement(Handle, Handle, c_uint) -> u64;
    context_of = LLVMGetTypeContext(Handle) -> Handle;
    int64 = LLVMInt64TypeInContext(Handle) -> Handle;
    int8 = LLVMInt8TypeInContext(Handle) -> Handle;
    void = LLVMVoidTypeInContext(Handle) -> Handle;
    function_type = LLVMFunctionType(Handle, *mut Handle, c_uint, c_int) -> Handle;
    named = LLVMGetNamedFunction(Handle, *const c_char) -> Handle;
    add_function = LLVMAddFunction(Handle, *const c_char, Handle) -> Handle;
    constant = LLVMConstInt(Handle, u64, c_int) -> Handle;
    make_builder = LLVMCreateBuilderInContext(Handle) -> Handle;
    stand_before = LLVMPositionBuilderBefore(Handle, Handle) -> ();
    drop_builder = LLVMDisposeBuilder(Handle) -> ();
    copy = LLVMInstructionClone(Handle) -> Handle;
    insert = LLVMInsertIntoBuilder(Handle, Handle) -> ();
    build_number = LLVMBuildPtrToInt(Handle, Handle, Handle, *const c_char) -> Handle;
    build_sub = LLVMBuildSub(Handle, Handle, Handle, *const c_char) -> Handle;
    build_add = LLVMBuildAdd(Handle, Handle, Handle, *const c_char) -> Handle;
    build_mul = LLVMBuildMul(Handle, Handle, Handle, *const c_char) -> Handle;
    build_div = LLVMBuildSDiv(Handle, Handle, Handle, *const c_char) -> Handle;
    build_compare = LLVMBuildICmp(Handle, c_int, Handle, Handle, *const c_char) -> Handle;
    build_select = LLVMBuildSelect(Handle, Handle, Handle, Handle, *const c_char) -> Handle;
    build_place = LLVMBuildGEP2(Handle, Handle, Handle, *mut Handle, c_uint, *const c_char) -> Handle;
    build_call = LLVMBuildCall2(Handle, Handle, Handle, *mut Handle, c_uint, *const c_char) -> Handle;
    line_of = LLVMInstructionGetDebugLoc(Handle) -> Handle;
    set_line = LLVMInstructionSetDebugLoc(Handle, Handle) -> ();
    erase = LLVMInstructionEraseFromParent(Handle) -> ();
    take_out = LLVMInstructionRemoveFromParent(Handle) -> ();
    use_instead = LLVMReplaceAllUsesWith(Handle, Handle) -> ();
    insert_block = LLVMInsertBasicBlockInContext(Handle, Handle, *const c_char) -> Handle;
    stand_at_end = LLVMPositionBuilderAtEnd(Handle, Handle) -> ();
    build_alloca = LLVMBuildAlloca(Handle, Handle, *const c_char) -> Handle;
    build_load = LLVMBuildLoad2(Handle, Handle, Handle, *const c_char) -> Handle;
    build_store = LLVMBuildStore(Handle, Handle, Handle) -> Handle;
    build_narrower = LLVMBuildTrunc(Handle, Handle, Handle, *const c_char) -> Handle;
    build_copy = LLVMBuildMemCpy(Handle, Handle, c_uint, Handle, c_uint, Handle) -> Handle;
    build_move = LLVMBuildMemMove(Handle, Handle, c_uint, Handle, c_uint, Handle) -> Handle;
    build_fill = LLVMBuildMemSet(Handle, Handle, Handle, Handle, c_uint) -> Handle;
    build_branch = LLVMBuildBr(Handle, Handle) -> Handle;
    build_branch_if = LLVMBuildCondBr(Handle, Handle, Handle, Handle) -> Handle;
    as_shuffle = LLVMIsAShuffleVectorInst(Handle) -> Handle;
    as_extract = LLVMIsAExtractElementInst(Handle) -> Handle;
    shuffled = LLVMGetNumMaskElements(Handle) -> c_uint;
    shuffled_lane = LLVMGetMaskValue(Handle, c_uint) -> c_int;
    lanes = LLVMGetVectorSize(Handle) -> c_uint;
    first_use = LLVMGetFirstUse(Handle) -> Handle;
    next_use = LLVMGetNextUse(Handle) -> Handle;
    user = LLVMGetUser(Handle) -> Handle;
    order = LLVMGetOrdering(Handle) -> c_int;
    space = LLVMGetPointerAddressSpace(Handle) -> c_uint;
    stored_size = LLVMStoreSizeOfType(Handle, Handle) -> u64;
    attribute = LLVMGetEnumAttributeKindForName(*const u8, usize) -> c_uint;
    attribute_of = LLVMGetEnumAttributeAtIndex(Handle, c_uint, c_uint) -> Handle;
}

impl Llvm {
    /// The interface of the compiler's LLVM; none if that is too old. It is looked for once.
    pub fn find() -> Option<&'static Llvm> {
        static FOUND: AtomicPtr<Llvm> = AtomicPtr::new(core::ptr::null_mut());
        let mut found = FOUND.load(Ordering::Acquire);
        if found.is_null() {
            // It is never freed, and whoever comes at once finds the same.
            found = keep(Llvm::look()?);
            FOUND.store(found, Ordering::Release);
        }
        // SAFETY: never freed.
        Some(unsafe { &*found })
    }

    /// A function of the runtime that returns nothing, with its type.
    ///
    /// # Safety
    /// `kinds` are types of the module's context.
    pub unsafe fn hook(
        &self,
        module: Handle,
        name: &CStr,
        kinds: &mut [Handle],
    ) -> (Handle, Handle) {
        // SAFETY: by the contract.
        unsafe {
            let nothing = (self.void)((self.context_of)(kinds[0]));
            let count = kinds.len() as c_uint;
            let signature = (self.function_type)(nothing, kinds.as_mut_ptr(), count, 0);
            let mut callee = (self.named)(module, name.as_ptr());
            if callee.is_null() {
                callee = (self.add_function)(module, name.as_ptr(), signature);
            }
            (callee, signature)
        }
    }

    /// The place so many bytes beyond another one.
    ///
    /// # Safety
    /// The builder stands where both are known.
    pub unsafe fn beyond(&self, builder: Handle, place: Handle, offset: Handle) -> Handle {
        // SAFETY: by the contract.
        unsafe {
            let byte = (self.int8)((self.context_of)((self.type_of)(offset)));
            (self.build_place)(builder, byte, place, &mut { offset }, 1, c"".as_ptr())
        }
    }
}

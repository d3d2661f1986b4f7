//! After clang's instrumentation of a function: what is said twice in a row is said once, and what a loop touches step by
//! step is told at once, before the loop.
//!
//! A loop of one block that counts to a bound known before it, and calls nothing but hooks and LLVM's own arithmetic, ends no
//! step of its thread and leaves out no turn. So all that its hooks would tell one by one can be told at once: the same
//! bytes, in the same way, in the same step. Only hooks whose address grows by the same amount in each turn are moved; all
//! others stay where they are, and a loop in which anything is not understood stays as it is.
//!
//! ```text
//!   before: br loop                      before: call __deadheat_touch_range(a + 8 * from, 8 * turns, how)
//!   loop:   i = phi from, i + 1                  br loop
//!           call __tsan_read8(a + 8 * i)   loop:   i = phi from, i + 1
//!           ...                                  ...
//!           br i + 1 == to, after, loop          br i + 1 == to, after, loop
//! ```

use core::ffi::{c_char, c_int, c_uint};

use crate::{DEFAULT, Handle, function};

/// LLVM's numbers for instructions and comparisons in its C interface.
mod op {
    pub const ADD: i32 = 8;
    pub const SUB: i32 = 10;
    pub const MUL: i32 = 12;
    pub const SHL: i32 = 20;
    pub const OR: i32 = 24;
    pub const ELEMENT_PTR: i32 = 29;
    pub const PHI: i32 = 44;
    pub const INVOKE: i32 = 5;
    pub const CALL: i32 = 45;
    pub const CALL_BRANCH: i32 = 67;
    pub const EQUAL: i32 = 32;
    pub const DIFFERENT: i32 = 33;
    pub const UNSIGNED_LESS: i32 = 36;
    pub const SIGNED_LESS: i32 = 40;
}

/// Kinds of types.
const INTEGER: c_int = 8;
const STRUCT: c_int = 10;
const ARRAY: c_int = 11;

/// Places that are farther apart than this many bytes are better looked at together with what lies around them.
const FARTHEST: i64 = 256;
const FARTHEST_ALONE: i64 = 16;

/// More hooks than this are not looked at in one loop, and deeper addresses neither.
const MOST: usize = 48;
const DEEPEST: usize = 8;

macro_rules! interface {
    ($($field:ident = $name:ident($($argument:ty),*) -> $result:ty;)*) => {
        /// The functions of LLVM's C interface that are needed here.
        #[allow(non_snake_case)]
        struct Llvm { $($field: unsafe extern "C" fn($($argument),*) -> $result,)* }

        impl Llvm {
            fn find() -> Option<Llvm> {
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
    as_branch = LLVMIsABranchInst(Handle) -> Handle;
    as_compare = LLVMIsAICmpInst(Handle) -> Handle;
    as_instruction = LLVMIsAInstruction(Handle) -> Handle;
    as_number = LLVMIsAConstantInt(Handle) -> Handle;
    as_function = LLVMIsAFunction(Handle) -> Handle;
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
}

/// A loop of one block.
struct Loop<'a> {
    llvm: &'a Llvm,
    layout: Handle,
    body: Handle,
    /// The block before it.
    before: Handle,
    /// What must be true there, or false, so that the loop comes next; nothing if it comes in any case.
    entered: Option<(Handle, bool)>,
}

/// How often a loop goes round: until `counter`, which grows by `step`, is or reaches `bound`.
struct Count {
    start: Handle,
    bound: Handle,
    step: i64,
    /// The bound is compared with what the counter will be in the next turn.
    ahead: bool,
    /// It is not left out, but passed.
    passed: Option<c_int>,
}

/// A hook that can be moved.
#[derive(Clone, Copy)]
struct Hook {
    call: Handle,
    place: Handle,
    /// Its address is `offset` beyond this.
    root: Root,
    offset: i64,
    stride: i64,
    size: i64,
    writes: bool,
}

const NO_HOOK: Hook = Hook {
    call: core::ptr::null_mut(),
    place: core::ptr::null_mut(),
    root: Root {
        base: core::ptr::null_mut(),
        index: core::ptr::null_mut(),
        scale: 0,
    },
    offset: 0,
    stride: 0,
    size: 0,
    writes: false,
};

/// What addresses have in common that are a number of bytes apart: what they are made of, and an index with its scale.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Root {
    base: Handle,
    index: Handle,
    scale: i64,
}

/// Moves what can be moved in a function.
///
/// # Safety
/// `body` is a function of LLVM's that has been instrumented.
pub unsafe fn run(body: Handle) -> Option<()> {
    let llvm = Llvm::find()?;
    // SAFETY: by the contract; blocks are those of the function.
    unsafe {
        let layout = (llvm.layout_of)((llvm.module_of)(body));
        let mut block = (llvm.first_block)(body);
        while !block.is_null() {
            Loop {
                llvm: &llvm,
                layout,
                body: block,
                before: core::ptr::null_mut(),
                entered: None,
            }
            .say_once();
            if let Some(found) = Loop::at(&llvm, layout, block) {
                found.batch((llvm.module_of)(body));
            }
            block = (llvm.next_block)(block);
        }
    }
    Some(())
}

/// What a call in a loop is.
enum Called {
    /// Nothing that matters here.
    Arithmetic,
    /// A hook: how many bytes, and whether it writes.
    Hook(i64, bool),
    Other,
}

fn called(name: &[u8]) -> Called {
    if name.starts_with(b"llvm.") {
        // Copies are hooks of their own, and what ends a step or a turn has no such name but these.
        let other: [&[u8]; 6] = [
            b"llvm.mem",
            b"llvm.trap",
            b"llvm.eh.",
            b"llvm.coro.",
            b"llvm.experimental.",
            b"llvm.lifetime.",
        ];
        return match other.iter().any(|other| name.starts_with(other)) {
            true => Called::Other,
            false => Called::Arithmetic,
        };
    }
    let Some(rest) = name.strip_prefix(b"__tsan_") else {
        return Called::Other;
    };
    let rest = rest.strip_prefix(b"unaligned_").unwrap_or(rest);
    let (size, writes) = match (rest.strip_prefix(b"read"), rest.strip_prefix(b"write")) {
        (Some(size), _) => (size, false),
        (_, Some(size)) => (size, true),
        _ => return Called::Other,
    };
    match size {
        b"1" => Called::Hook(1, writes),
        b"2" => Called::Hook(2, writes),
        b"4" => Called::Hook(4, writes),
        b"8" => Called::Hook(8, writes),
        b"16" => Called::Hook(16, writes),
        _ => Called::Other,
    }
}

impl<'a> Loop<'a> {
    /// The loop that the block is, if it is one with one block before it.
    unsafe fn at(llvm: &'a Llvm, layout: Handle, body: Handle) -> Option<Loop<'a>> {
        // SAFETY: a block of a function, which has a terminator.
        unsafe {
            let end = (llvm.terminator)(body);
            if end.is_null() || (llvm.as_branch)(end).is_null() || (llvm.successors)(end) != 2 {
                return None;
            }
            if (llvm.successor)(end, 0) != body && (llvm.successor)(end, 1) != body {
                return None;
            }
            let phi = (llvm.first)(body);
            if (llvm.opcode)(phi) != op::PHI || (llvm.incoming)(phi) != 2 {
                return None;
            }
            let before = match (
                (llvm.incoming_block)(phi, 0) == body,
                (llvm.incoming_block)(phi, 1) == body,
            ) {
                (true, false) => (llvm.incoming_block)(phi, 1),
                (false, true) => (llvm.incoming_block)(phi, 0),
                _ => return None,
            };
            let way = (llvm.terminator)(before);
            if (llvm.as_branch)(way).is_null() {
                return None;
            }
            let entered = match (llvm.successors)(way) {
                1 => None,
                _ => Some(((llvm.condition)(way), (llvm.successor)(way, 0) == body)),
            };
            Some(Loop {
                llvm,
                layout,
                body,
                before,
                entered,
            })
        }
    }

    /// Drops the hooks of the block, which need not be a loop, that say what one before them has said in the same step:
    /// the same bytes, or some of them, and no more than that.
    unsafe fn say_once(&self) {
        let llvm = self.llvm;
        let mut said = [NO_HOOK; MOST];
        let (mut count, mut oldest) = (0usize, 0usize);
        // SAFETY: the instructions of the block.
        unsafe {
            let mut at = (llvm.first)(self.body);
            while !at.is_null() {
                let next = (llvm.next)(at);
                match self.called(at) {
                    None | Some(Called::Arithmetic) => {}
                    Some(Called::Other) => (count, oldest) = (0, 0),
                    Some(Called::Hook(size, writes)) => {
                        let place = (llvm.operand)(at, 0);
                        let (root, offset) = self.root(place);
                        let again = |old: &Hook| {
                            old.root == root
                                && old.offset <= offset
                                && offset + size <= old.offset + old.size
                                && old.writes >= writes
                        };
                        if said[..count].iter().any(again) {
                            (llvm.erase)(at);
                        } else {
                            let hook = Hook {
                                call: at,
                                place,
                                root,
                                offset,
                                stride: 0,
                                size,
                                writes,
                            };
                            // When there are too many, the oldest ones are forgotten.
                            if count < MOST {
                                said[count] = hook;
                                count += 1;
                            } else {
                                said[oldest] = hook;
                                oldest = (oldest + 1) % MOST;
                            }
                        }
                    }
                }
                at = next;
            }
        }
    }

    /// What an instruction calls, if it is a call.
    unsafe fn called(&self, instruction: Handle) -> Option<Called> {
        let llvm = self.llvm;
        // SAFETY: an instruction of the function.
        unsafe {
            match (llvm.opcode)(instruction) {
                op::CALL => {}
                // A call that may throw, or go elsewhere.
                op::INVOKE | op::CALL_BRANCH => return Some(Called::Other),
                _ => return None,
            }
            let callee = (llvm.called)(instruction);
            if (llvm.as_function)(callee).is_null() {
                return Some(Called::Other);
            }
            let mut length = 0;
            let name = (llvm.name_of)(callee, &mut length);
            let name = core::slice::from_raw_parts(name.cast(), length);
            let ranges: [&[u8]; 2] = [b"__tsan_read_range", b"__tsan_write_range"];
            Some(match ranges.iter().position(|range| *range == name) {
                None => called(name),
                Some(writes) => match self.number((llvm.operand)(instruction, 1)) {
                    Some(size @ 1..=255) => Called::Hook(size, writes == 1),
                    _ => Called::Other,
                },
            })
        }
    }

    /// Is the value an instruction of the loop, so that it may change from turn to turn?
    unsafe fn inside(&self, value: Handle) -> bool {
        // SAFETY: a value of the function.
        unsafe {
            !(self.llvm.as_instruction)(value).is_null() && (self.llvm.block_of)(value) == self.body
        }
    }

    /// What a phi of the loop is at first, and in the next turn.
    unsafe fn phi(&self, phi: Handle) -> Option<(Handle, Handle)> {
        let llvm = self.llvm;
        // SAFETY: a phi of the loop.
        unsafe {
            if (llvm.incoming)(phi) != 2 {
                return None;
            }
            let (a, b) = ((llvm.incoming_value)(phi, 0), (llvm.incoming_value)(phi, 1));
            match (llvm.incoming_block)(phi, 0) == self.body {
                true => Some((b, a)),
                false => Some((a, b)),
            }
        }
    }

    unsafe fn number(&self, value: Handle) -> Option<i64> {
        // SAFETY: a value of the function; numbers of more than 64 bits are not asked for.
        unsafe {
            let kind = (self.llvm.type_of)(value);
            let small = (self.llvm.kind_of)(kind) == INTEGER && (self.llvm.width)(kind) <= 64;
            (small && !(self.llvm.as_number)(value).is_null()).then(|| (self.llvm.number)(value))
        }
    }

    /// By how much a value grows in each turn; none if that is not known.
    unsafe fn stride(&self, value: Handle, depth: usize) -> Option<i64> {
        let llvm = self.llvm;
        // SAFETY: a value of the function, and so are its operands.
        unsafe {
            if !self.inside(value) {
                return Some(0);
            }
            if depth == 0 {
                return None;
            }
            let opcode = (llvm.opcode)(value);
            if opcode != op::ELEMENT_PTR && opcode != op::PHI {
                // Narrower numbers may wrap.
                let kind = (llvm.type_of)(value);
                if (llvm.kind_of)(kind) != INTEGER || (llvm.width)(kind) != 64 {
                    return None;
                }
            }
            let of = |i| self.stride((llvm.operand)(value, i), depth - 1);
            let number = |i| self.number((llvm.operand)(value, i));
            match opcode {
                op::PHI => self.phi_step(value),
                op::ADD => of(0)?.checked_add(of(1)?),
                op::SUB => of(0)?.checked_sub(of(1)?),
                op::OR if (llvm.disjoint)(value) != 0 => {
                    // One of the two must stay as it is.
                    let (a, b) = (of(0)?, of(1)?);
                    (a == 0 || b == 0).then_some(a + b)
                }
                op::MUL => match (number(0), number(1)) {
                    (_, Some(by)) => of(0)?.checked_mul(by),
                    (Some(by), _) => of(1)?.checked_mul(by),
                    _ => None,
                },
                op::SHL => match number(1)? {
                    by @ 0..=32 => of(0)?.checked_mul(1 << by),
                    _ => None,
                },
                op::ELEMENT_PTR => {
                    let mut all = of(0)?;
                    self.each_index(value, |index, scale| {
                        let grows = self.stride(index, depth - 1)?;
                        all = all.checked_add(grows.checked_mul(scale?)?)?;
                        Some(())
                    })?;
                    Some(all)
                }
                _ => None,
            }
        }
    }

    /// By how much a phi grows: its next value must be itself and a number.
    unsafe fn phi_step(&self, phi: Handle) -> Option<i64> {
        let llvm = self.llvm;
        // SAFETY: a phi of the loop.
        unsafe {
            let (_, next) = self.phi(phi)?;
            if !self.inside(next) {
                return None;
            }
            let by = match (llvm.opcode)(next) {
                op::ADD if (llvm.operand)(next, 0) == phi => {
                    let kind = (llvm.type_of)(phi);
                    if (llvm.width)(kind) != 64 {
                        return None;
                    }
                    self.number((llvm.operand)(next, 1))?
                }
                op::ELEMENT_PTR if (llvm.operand)(next, 0) == phi => self.constant_offset(next)?,
                _ => return None,
            };
            (by != 0).then_some(by)
        }
    }

    /// Calls `f` with each index of an address and by how many bytes one more of it is further; no such number for the
    /// field of a structure, which is a constant.
    unsafe fn each_index(
        &self,
        value: Handle,
        mut f: impl FnMut(Handle, Option<i64>) -> Option<()>,
    ) -> Option<()> {
        let llvm = self.llvm;
        // SAFETY: an address in the function.
        unsafe {
            let mut kind = (llvm.element_type)(value);
            for i in 1..(llvm.operands)(value) as c_uint {
                let index = (llvm.operand)(value, i);
                if i > 1 {
                    kind = match (llvm.kind_of)(kind) {
                        ARRAY => (llvm.item_type)(kind),
                        STRUCT => {
                            let field = self.number(index)?;
                            kind = (llvm.field_type)(kind, field as c_uint);
                            continue;
                        }
                        _ => return None,
                    };
                }
                let wide = (llvm.type_of)(index);
                if (llvm.kind_of)(wide) != INTEGER
                    || ((llvm.width)(wide) != 64 && self.inside(index))
                {
                    return None;
                }
                f(index, Some((llvm.size_of)(self.layout, kind) as i64))?;
            }
        }
        Some(())
    }

    /// How far an address is beyond what it is made of, if that is a number.
    unsafe fn constant_offset(&self, value: Handle) -> Option<i64> {
        let llvm = self.llvm;
        let mut all = 0i64;
        // SAFETY: an address in the function.
        unsafe {
            let mut kind = (llvm.element_type)(value);
            for i in 1..(llvm.operands)(value) as c_uint {
                let index = self.number((llvm.operand)(value, i))?;
                if i > 1 {
                    match (llvm.kind_of)(kind) {
                        ARRAY => kind = (llvm.item_type)(kind),
                        STRUCT => {
                            let field = index as c_uint;
                            all += (llvm.field_offset)(self.layout, kind, field) as i64;
                            kind = (llvm.field_type)(kind, field);
                            continue;
                        }
                        _ => return None,
                    }
                }
                let size = (llvm.size_of)(self.layout, kind) as i64;
                all = all.checked_add(index.checked_mul(size)?)?;
            }
        }
        Some(all)
    }

    /// What the value is in the first turn, computed before the loop. Only for values that have a stride.
    unsafe fn at_first(&self, builder: Handle, value: Handle) -> Handle {
        let llvm = self.llvm;
        // SAFETY: a value of the function; the builder stands at the end of the block before the loop.
        unsafe {
            if !self.inside(value) {
                return value;
            }
            if (llvm.opcode)(value) == op::PHI {
                return self.phi(value).map_or(value, |(start, _)| start);
            }
            let copy = (llvm.copy)(value);
            for i in 0..(llvm.operands)(value) as c_uint {
                let first = self.at_first(builder, (llvm.operand)(value, i));
                (llvm.set_operand)(copy, i, first);
            }
            (llvm.insert)(builder, copy);
            copy
        }
    }

    /// How often the loop goes round.
    unsafe fn count(&self) -> Option<Count> {
        let llvm = self.llvm;
        // SAFETY: the loop ends in a branch with a condition.
        unsafe {
            let end = (llvm.terminator)(self.body);
            let test = (llvm.condition)(end);
            if (llvm.as_compare)(test).is_null() || !self.inside(test) {
                return None;
            }
            let stays_if_true = (llvm.successor)(end, 0) == self.body;
            let passed = match ((llvm.predicate)(test), stays_if_true) {
                (op::EQUAL, false) | (op::DIFFERENT, true) => None,
                (less @ (op::UNSIGNED_LESS | op::SIGNED_LESS), true) => Some(less),
                _ => return None,
            };
            let (value, bound) = ((llvm.operand)(test, 0), (llvm.operand)(test, 1));
            if self.inside(bound) || !self.inside(value) {
                return None;
            }
            let kind = (llvm.type_of)(value);
            if (llvm.kind_of)(kind) != INTEGER || (llvm.width)(kind) != 64 {
                return None;
            }
            let (phi, ahead) = match (llvm.opcode)(value) {
                op::PHI => (value, false),
                op::ADD => ((llvm.operand)(value, 0), true),
                _ => return None,
            };
            if !self.inside(phi) || (llvm.opcode)(phi) != op::PHI {
                return None;
            }
            let step = self.phi_step(phi)?;
            let (start, next) = self.phi(phi)?;
            if ahead && next != value || passed.is_some() && step < 0 {
                return None;
            }
            Some(Count {
                start,
                bound,
                step,
                ahead,
                passed,
            })
        }
    }

    /// The hooks that can be moved, and how many; none if something in the loop may end the step or the loop.
    unsafe fn hooks(&self) -> Option<([Hook; MOST], usize)> {
        let llvm = self.llvm;
        let mut hooks = [NO_HOOK; MOST];
        let mut count = 0;
        // SAFETY: the instructions of the loop.
        unsafe {
            let mut at = (llvm.first)(self.body);
            while !at.is_null() {
                match self.called(at) {
                    None | Some(Called::Arithmetic) => {}
                    Some(Called::Other) => return None,
                    Some(Called::Hook(size, writes)) => {
                        let place = (llvm.operand)(at, 0);
                        if let Some(stride) = self.stride(place, DEEPEST)
                            && stride.abs() <= FARTHEST
                            && count < MOST
                        {
                            let (root, offset) = self.root(place);
                            hooks[count] = Hook {
                                call: at,
                                place,
                                root,
                                offset,
                                stride,
                                size,
                                writes,
                            };
                            count += 1;
                        }
                    }
                }
                at = (llvm.next)(at);
            }
        }
        (count > 0).then_some((hooks, count))
    }

    /// What an address is a number of bytes beyond.
    unsafe fn root(&self, place: Handle) -> (Root, i64) {
        let llvm = self.llvm;
        let (mut base, mut offset) = (place, 0i64);
        // SAFETY: a value of the function.
        unsafe {
            while self.inside(base) && (llvm.opcode)(base) == op::ELEMENT_PTR {
                let below = (llvm.operand)(base, 0);
                if let Some(more) = self.constant_offset(base) {
                    (base, offset) = (below, offset.wrapping_add(more));
                } else if (llvm.operands)(base) == 2 {
                    let scale = (llvm.size_of)(self.layout, (llvm.element_type)(base)) as i64;
                    let (index, more) = self.without_number((llvm.operand)(base, 1));
                    offset = offset.wrapping_add(more.wrapping_mul(scale));
                    let (base, more) = self.without_offset(below);
                    let root = Root { base, index, scale };
                    return (root, offset.wrapping_add(more));
                } else {
                    break;
                }
            }
        }
        let root = Root {
            base,
            index: core::ptr::null_mut(),
            scale: 0,
        };
        (root, offset)
    }

    /// An address, wherever it is computed, without the number of bytes that is added to it.
    unsafe fn without_offset(&self, place: Handle) -> (Handle, i64) {
        let llvm = self.llvm;
        let (mut base, mut offset) = (place, 0i64);
        // SAFETY: a value of the function.
        unsafe {
            while !(llvm.as_instruction)(base).is_null()
                && (llvm.opcode)(base) == op::ELEMENT_PTR
                && let Some(more) = self.constant_offset(base)
            {
                (base, offset) = ((llvm.operand)(base, 0), offset.wrapping_add(more));
            }
        }
        (base, offset)
    }

    /// An index without the number that is added to it.
    unsafe fn without_number(&self, index: Handle) -> (Handle, i64) {
        let llvm = self.llvm;
        // SAFETY: a value of the function.
        unsafe {
            let adds = self.inside(index)
                && match (llvm.opcode)(index) {
                    op::ADD => true,
                    op::OR => (llvm.disjoint)(index) != 0,
                    _ => false,
                };
            match adds
                .then(|| self.number((llvm.operand)(index, 1)))
                .flatten()
            {
                Some(more) => ((llvm.operand)(index, 0), more),
                None => (index, 0),
            }
        }
    }

    /// Moves the hooks out of the loop.
    unsafe fn batch(&self, module: Handle) -> Option<()> {
        let llvm = self.llvm;
        // SAFETY: values of the loop and of the block before it.
        unsafe {
            let count = self.count()?;
            let (hooks, found) = self.hooks()?;
            let hooks = &hooks[..found];
            let context = (llvm.context_of)((llvm.type_of)(count.start));
            let int64 = (llvm.int64)(context);
            let builder = (llvm.make_builder)(context);
            (llvm.stand_before)(builder, (llvm.terminator)(self.before));
            let turns = self.turns(builder, &count, int64);
            let mut told = Told {
                this: self,
                module,
                builder,
                context,
                int64,
                turns,
            };
            let (mut done, mut kept) = ([false; MOST], [false; MOST]);
            for i in 0..found {
                if done[i] {
                    continue;
                }
                let hook = hooks[i];
                if hook.stride == 0 {
                    // What may not happen at all is not said before.
                    kept[i] = self.entered.is_some();
                    if !kept[i] {
                        told.once(&hook);
                    }
                    continue;
                }
                // Those that stand beside each other in each turn.
                let alike = |other: &Hook| {
                    other.root == hook.root
                        && other.stride == hook.stride
                        && other.writes == hook.writes
                };
                match whole(hooks.iter().filter(|other| alike(other)), hook.stride) {
                    Some(from) => {
                        for (j, other) in hooks.iter().enumerate() {
                            done[j] |= alike(other);
                        }
                        told.range(&hook, from);
                    }
                    None => {
                        done[i] = true;
                        kept[i] = hook.stride.abs() > FARTHEST_ALONE;
                        if !kept[i] {
                            told.strided(&hook);
                        }
                    }
                }
            }
            (llvm.drop_builder)(builder);
            for (hook, kept) in hooks.iter().zip(kept) {
                if !kept {
                    (llvm.erase)(hook.call);
                }
            }
        }
        Some(())
    }

    /// How often the loop goes round, computed before it; 0 if it is not entered.
    unsafe fn turns(&self, builder: Handle, count: &Count, int64: Handle) -> Handle {
        let llvm = self.llvm;
        let text = c"".as_ptr();
        // SAFETY: all of them are known before the loop.
        unsafe {
            let number = |n: i64| (llvm.constant)(int64, n as u64, 1);
            let far = (llvm.build_sub)(builder, count.bound, count.start, text);
            let up = match count.passed {
                Some(_) => (llvm.build_add)(builder, far, number(count.step - 1), text),
                None => far,
            };
            let mut turns = (llvm.build_div)(builder, up, number(count.step), text);
            if !count.ahead {
                turns = (llvm.build_add)(builder, turns, number(1), text);
            }
            if let Some(less) = count.passed {
                // Once in any case, then as long as it is below the bound.
                let below = (llvm.build_compare)(builder, less, count.start, count.bound, text);
                turns = (llvm.build_select)(builder, below, turns, number(1), text);
            }
            match self.entered {
                None => turns,
                Some((yes, true)) => (llvm.build_select)(builder, yes, turns, number(0), text),
                Some((no, false)) => (llvm.build_select)(builder, no, number(0), turns, text),
            }
        }
    }
}

/// Where the bytes of these hooks begin, if they are all of what lies between one turn's and the next's, or stay where they are.
fn whole<'h>(hooks: impl Iterator<Item = &'h Hook> + Clone, stride: i64) -> Option<i64> {
    let from = hooks.clone().map(|hook| hook.offset).min()?;
    let mut reached = from;
    // Each time round the next one is found, or there is none.
    loop {
        let next = hooks
            .clone()
            .filter(|hook| hook.offset <= reached)
            .map(|hook| hook.offset + hook.size)
            .max()?;
        if next <= reached {
            break;
        }
        reached = next;
    }
    let all = hooks.map(|hook| hook.offset + hook.size).max()? == reached;
    (all && reached - from == stride.abs()).then_some(from)
}

/// Builds the calls.
struct Told<'a> {
    this: &'a Loop<'a>,
    module: Handle,
    builder: Handle,
    context: Handle,
    int64: Handle,
    turns: Handle,
}

impl Told<'_> {
    /// All that lies between the first and the last turn's bytes, which begin `from` beyond the root.
    unsafe fn range(&mut self, hook: &Hook, from: i64) {
        let llvm = self.this.llvm;
        let text = c"".as_ptr();
        // SAFETY: the builder stands before the loop.
        unsafe {
            let length = hook.stride.abs();
            let bytes = (llvm.build_mul)(self.builder, self.turns, self.number(length), text);
            let first = self.this.at_first(self.builder, hook.place);
            let mut start = self.beyond(first, from - hook.offset);
            if hook.stride < 0 {
                let one = self.number(1);
                let more = (llvm.build_sub)(self.builder, self.turns, one, text);
                let stride = self.number(hook.stride);
                let back = (llvm.build_mul)(self.builder, more, stride, text);
                start = self.place(start, back);
            }
            self.call(
                c"__deadheat_touch_range",
                hook,
                &mut [start, bytes, self.how(hook)],
            );
        }
    }

    /// The hook's bytes in each turn.
    unsafe fn strided(&mut self, hook: &Hook) {
        // SAFETY: the builder stands before the loop.
        unsafe {
            let start = self.this.at_first(self.builder, hook.place);
            let stride = self.number(hook.stride);
            self.call(
                c"__deadheat_touch_strided",
                hook,
                &mut [start, self.turns, stride, self.how(hook)],
            );
        }
    }

    /// The hook itself, which says the same in each turn.
    unsafe fn once(&mut self, hook: &Hook) {
        let llvm = self.this.llvm;
        // SAFETY: the builder stands before the loop.
        unsafe {
            let copy = (llvm.copy)(hook.call);
            let start = self.this.at_first(self.builder, hook.place);
            (llvm.set_operand)(copy, 0, start);
            (llvm.insert)(self.builder, copy);
        }
    }

    unsafe fn number(&self, n: i64) -> Handle {
        // SAFETY: a type of this context.
        unsafe { (self.this.llvm.constant)(self.int64, n as u64, 1) }
    }

    /// The size of the access, and 256 more if it is a write.
    unsafe fn how(&self, hook: &Hook) -> Handle {
        // SAFETY: as above.
        unsafe { self.number(hook.size | (hook.writes as i64) << 8) }
    }

    unsafe fn beyond(&self, place: Handle, offset: i64) -> Handle {
        // SAFETY: the builder stands before the loop.
        unsafe {
            match offset {
                0 => place,
                _ => self.place(place, self.number(offset)),
            }
        }
    }

    unsafe fn place(&self, place: Handle, offset: Handle) -> Handle {
        let llvm = self.this.llvm;
        // SAFETY: as above.
        unsafe {
            let byte = (llvm.int8)(self.context);
            (llvm.build_place)(self.builder, byte, place, &mut { offset }, 1, c"".as_ptr())
        }
    }

    /// A call of the runtime, in the line of the hook.
    unsafe fn call(&self, name: &core::ffi::CStr, hook: &Hook, arguments: &mut [Handle]) {
        let llvm = self.this.llvm;
        // SAFETY: as above.
        unsafe {
            let mut kinds = [self.int64; 4];
            kinds[0] = (llvm.type_of)(arguments[0]);
            let count = arguments.len() as c_uint;
            let nothing = (llvm.void)(self.context);
            let signature = (llvm.function_type)(nothing, kinds.as_mut_ptr(), count, 0);
            let mut callee = (llvm.named)(self.module, name.as_ptr());
            if callee.is_null() {
                callee = (llvm.add_function)(self.module, name.as_ptr(), signature);
            }
            let call = (llvm.build_call)(
                self.builder,
                signature,
                callee,
                arguments.as_mut_ptr(),
                count,
                c"".as_ptr(),
            );
            (llvm.set_line)(call, (llvm.line_of)(hook.call));
        }
    }
}

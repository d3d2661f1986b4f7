//! Copies and fills of few bytes, most of them assignments of structures: instrumentation makes a call of the runtime of
//! each. Here they become hooks for what they touch, and the copy as the compiler makes it in other programs.
//!
//! ```text
//!   call __tsan_memcpy(a, b, 16)   =>   call __tsan_unaligned_read16(b)
//!                                       call __tsan_unaligned_write16(a)
//!                                       call llvm.memcpy(a, b, 16)
//! ```
//!
//! A variable of the function whose address goes nowhere else is nobody else's business, so it needs no hook: LLVM's
//! instrumentation leaves out its loads and stores too.

use core::ffi::{CStr, c_uint};

use crate::Handle;
use crate::block::Block;
use crate::llvm::op;

/// Larger copies may be calls of the C library's functions, which the runtime sees by itself.
const LARGEST: i64 = 64;

/// So many uses of a variable are looked at, and so many steps from it to a place inside.
const MOST_USES: usize = 64;
const DEEPEST: usize = 4;

#[derive(Clone, Copy)]
enum Sort {
    Copy,
    Move,
    Fill,
}

impl Block<'_> {
    /// Opens the copies and fills of the block.
    ///
    /// # Safety
    /// The block is one of a function of LLVM's that has been instrumented.
    pub unsafe fn open_copies(&self) {
        // SAFETY: the instructions of the block.
        unsafe {
            let mut at = (self.llvm.first)(self.body);
            while !at.is_null() {
                let next = (self.llvm.next)(at);
                if let Some(sort) = self.copy(at) {
                    self.open(at, sort);
                }
                at = next;
            }
        }
    }

    /// Which of the runtime's copies the instruction calls, if it is one whose result nobody uses.
    unsafe fn copy(&self, instruction: Handle) -> Option<Sort> {
        let llvm = self.llvm;
        // SAFETY: an instruction of the function.
        unsafe {
            let sort = match self.callee(instruction)? {
                b"__tsan_memcpy" => Sort::Copy,
                b"__tsan_memmove" => Sort::Move,
                b"__tsan_memset" => Sort::Fill,
                _ => return None,
            };
            (llvm.first_use)(instruction).is_null().then_some(sort)
        }
    }

    /// Puts hooks and a plain copy in the place of the call, if it is of few bytes.
    unsafe fn open(&self, call: Handle, sort: Sort) {
        let llvm = self.llvm;
        // SAFETY: the call has these operands; the builder stands before it and takes its line over.
        unsafe {
            let [to, what, bytes] = [0, 1, 2].map(|i| (llvm.operand)(call, i));
            let Some(size @ 1..=LARGEST) = self.number(bytes) else {
                return;
            };
            let context = (llvm.context_of)((llvm.type_of)(to));
            let builder = (llvm.make_builder)(context);
            (llvm.stand_before)(builder, call);
            if !matches!(sort, Sort::Fill) {
                self.tell(builder, what, size, false);
            }
            self.tell(builder, to, size, true);
            match sort {
                Sort::Copy => (llvm.build_copy)(builder, to, 1, what, 1, bytes),
                Sort::Move => (llvm.build_move)(builder, to, 1, what, 1, bytes),
                Sort::Fill => {
                    let byte = (llvm.int8)(context);
                    let byte = (llvm.build_narrower)(builder, what, byte, c"".as_ptr());
                    (llvm.build_fill)(builder, to, byte, bytes, 1)
                }
            };
            (llvm.drop_builder)(builder);
            (llvm.erase)(call);
        }
    }

    /// Builds the hook for so many bytes, unless nobody else can see them.
    unsafe fn tell(&self, builder: Handle, place: Handle, size: i64, writes: bool) {
        let llvm = self.llvm;
        // SAFETY: the builder stands where the place is known.
        unsafe {
            if self.is_private(place) {
                return;
            }
            let int64 = (llvm.int64)((llvm.context_of)((llvm.type_of)(place)));
            let mut kinds = [(llvm.type_of)(place), int64];
            let mut values = [place, (llvm.constant)(int64, size as u64, 0)];
            let (name, count) = hook_for(size, writes);
            let (callee, signature) = llvm.hook(self.module, name, &mut kinds[..count]);
            (llvm.build_call)(
                builder,
                signature,
                callee,
                values.as_mut_ptr(),
                count as c_uint,
                c"".as_ptr(),
            );
        }
    }

    /// Is it a place in a variable of the function whose address nobody gets?
    unsafe fn is_private(&self, place: Handle) -> bool {
        let llvm = self.llvm;
        let mut variable = place;
        // SAFETY: values of the function.
        unsafe {
            for _ in 0..DEEPEST {
                if self.is_place(variable) {
                    variable = (llvm.operand)(variable, 0);
                }
            }
            let mut left = MOST_USES;
            !(llvm.as_variable)(variable).is_null() && self.stays(variable, DEEPEST, &mut left)
        }
    }

    /// Does nobody get the address, or one that is made of it?
    unsafe fn stays(&self, place: Handle, depth: usize, left: &mut usize) -> bool {
        let llvm = self.llvm;
        // SAFETY: a value of the function, whose users are instructions.
        unsafe {
            let mut each = (llvm.first_use)(place);
            while !each.is_null() {
                let user = (llvm.user)(each);
                each = (llvm.next_use)(each);
                if *left == 0 || (llvm.as_instruction)(user).is_null() {
                    return false;
                }
                *left -= 1;
                let harmless = match (llvm.opcode)(user) {
                    op::LOAD => true,
                    op::STORE => (llvm.operand)(user, 0) != place,
                    op::ELEMENT_PTR => depth > 0 && self.stays(user, depth - 1, left),
                    _ => self.callee(user).is_some_and(only_looks),
                };
                if !harmless {
                    return false;
                }
            }
        }
        true
    }
}

/// Whether a function does with an address that it gets nothing but look at what is there, or change that.
fn only_looks(name: &[u8]) -> bool {
    let names: [&[u8]; 8] = [
        b"llvm.lifetime.",
        b"llvm.mem",
        b"llvm.dbg.",
        b"__tsan_read",
        b"__tsan_write",
        b"__tsan_unaligned_",
        b"__tsan_mem",
        b"__deadheat_touch_",
    ];
    names.iter().any(|known| name.starts_with(known))
}

/// The hook for so many bytes, and how many arguments it has.
fn hook_for(size: i64, writes: bool) -> (&'static CStr, usize) {
    match (size, writes) {
        (1, false) => (c"__tsan_read1", 1),
        (1, true) => (c"__tsan_write1", 1),
        (2, false) => (c"__tsan_unaligned_read2", 1),
        (2, true) => (c"__tsan_unaligned_write2", 1),
        (4, false) => (c"__tsan_unaligned_read4", 1),
        (4, true) => (c"__tsan_unaligned_write4", 1),
        (8, false) => (c"__tsan_unaligned_read8", 1),
        (8, true) => (c"__tsan_unaligned_write8", 1),
        (16, false) => (c"__tsan_unaligned_read16", 1),
        (16, true) => (c"__tsan_unaligned_write16", 1),
        (_, false) => (c"__tsan_read_range", 2),
        (_, true) => (c"__tsan_write_range", 2),
    }
}

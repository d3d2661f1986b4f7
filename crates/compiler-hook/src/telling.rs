//! Builds calls of the runtime that stand for hooks.

use core::ffi::{CStr, c_uint};

use crate::Handle;
use crate::block::Block;
use crate::hooks::Hook;

/// Of 8 bytes that two calls tell of, one right after the other, which ones a call tells of.
#[derive(Clone, Copy)]
pub enum Half {
    None = 0,
    First = 1,
    Second = 2,
}

/// Builds calls where its builder stands.
pub struct Teller<'a> {
    pub block: Block<'a>,
    pub builder: Handle,
    pub int64: Handle,
}

impl<'a> Teller<'a> {
    /// One that stands before an instruction of the block's function.
    ///
    /// # Safety
    /// `value` is one of that function.
    pub unsafe fn before(block: Block<'a>, instruction: Handle, value: Handle) -> Teller<'a> {
        let llvm = block.llvm;
        // SAFETY: by the contract.
        unsafe {
            let context = (llvm.context_of)((llvm.type_of)(value));
            let builder = (llvm.make_builder)(context);
            (llvm.stand_before)(builder, instruction);
            Teller {
                block,
                builder,
                int64: (llvm.int64)(context),
            }
        }
    }

    pub unsafe fn number(&self, n: i64) -> Handle {
        // SAFETY: a type of this context.
        unsafe { (self.block.llvm.constant)(self.int64, n as u64, 1) }
    }

    /// The size of the access, and 256 more if it is a write.
    pub unsafe fn how(&self, hook: &Hook) -> Handle {
        // SAFETY: as above.
        unsafe { self.part_of_turn(hook, None, Half::None) }
    }

    /// The same, which half it is, and above that one more than how far into what a turn touches it is, if it is a part of that.
    pub unsafe fn part_of_turn(&self, hook: &Hook, part: Option<i64>, half: Half) -> Handle {
        let how = hook.size | (hook.writes as i64) << 8 | (half as i64) << 9;
        // SAFETY: as above.
        unsafe { self.number(how | part.map_or(0, |part| part + 1) << 16) }
    }

    pub unsafe fn beyond(&self, place: Handle, offset: i64) -> Handle {
        // SAFETY: the builder stands where the place is known.
        unsafe {
            match offset {
                0 => place,
                _ => self
                    .block
                    .llvm
                    .beyond(self.builder, place, self.number(offset)),
            }
        }
    }

    /// A call of the runtime, in the line of the hook.
    pub unsafe fn call(&self, name: &CStr, hook: &Hook, arguments: &mut [Handle]) {
        let llvm = self.block.llvm;
        // SAFETY: the builder stands where the arguments are known.
        unsafe {
            let mut kinds = [self.int64; 4];
            let count = arguments.len();
            kinds[0] = (llvm.type_of)(arguments[0]);
            let (callee, signature) = llvm.hook(self.block.module, name, &mut kinds[..count]);
            let call = (llvm.build_call)(
                self.builder,
                signature,
                callee,
                arguments.as_mut_ptr(),
                count as c_uint,
                c"".as_ptr(),
            );
            (llvm.set_line)(call, (llvm.line_of)(hook.call));
        }
    }
}

impl Drop for Teller<'_> {
    fn drop(&mut self) {
        // SAFETY: made in `before`, and used by nobody else.
        unsafe { (self.block.llvm.drop_builder)(self.builder) };
    }
}

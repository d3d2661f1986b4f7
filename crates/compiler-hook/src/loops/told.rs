//! Builds the calls before a loop that stand for the hooks in it.

use core::ffi::c_uint;

use super::Loop;
use crate::Handle;
use crate::hooks::Hook;

/// Builds the calls.
pub(super) struct Told<'a> {
    pub(super) this: &'a Loop<'a>,
    pub(super) builder: Handle,
    pub(super) int64: Handle,
    pub(super) turns: Handle,
}

impl Told<'_> {
    /// All that lies between the first and the last turn's bytes, which begin `from` beyond the root.
    pub(super) unsafe fn range(&self, hook: &Hook, from: i64) {
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
                start = llvm.beyond(self.builder, start, back);
            }
            self.call(
                c"__deadheat_touch_range",
                hook,
                &mut [start, bytes, self.how(hook)],
            );
        }
    }

    /// The hook's bytes in each turn.
    pub(super) unsafe fn strided(&self, hook: &Hook) {
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
    pub(super) unsafe fn once(&self, hook: &Hook) {
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
                _ => self
                    .this
                    .llvm
                    .beyond(self.builder, place, self.number(offset)),
            }
        }
    }

    /// A call of the runtime, in the line of the hook.
    unsafe fn call(&self, name: &core::ffi::CStr, hook: &Hook, arguments: &mut [Handle]) {
        let llvm = self.this.llvm;
        // SAFETY: as above.
        unsafe {
            let mut kinds = [self.int64; 4];
            let count = arguments.len();
            kinds[0] = (llvm.type_of)(arguments[0]);
            let (callee, signature) = llvm.hook(self.this.module, name, &mut kinds[..count]);
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

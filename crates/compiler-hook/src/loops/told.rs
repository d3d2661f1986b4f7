//! Builds the calls before a loop that stand for the hooks in it.

use super::Loop;
use crate::Handle;
use crate::hooks::Hook;
use crate::telling::{Half, Teller};

/// Builds the calls.
pub(super) struct Told<'a> {
    pub(super) this: &'a Loop<'a>,
    pub(super) teller: Teller<'a>,
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
            let bytes = (llvm.build_mul)(
                self.teller.builder,
                self.turns,
                self.teller.number(length),
                text,
            );
            let first = self.this.at_first(self.teller.builder, hook.place);
            let mut start = self.teller.beyond(first, from - hook.offset);
            if hook.stride < 0 {
                let one = self.teller.number(1);
                let more = (llvm.build_sub)(self.teller.builder, self.turns, one, text);
                let stride = self.teller.number(hook.stride);
                let back = (llvm.build_mul)(self.teller.builder, more, stride, text);
                start = llvm.beyond(self.teller.builder, start, back);
            }
            self.teller.call(
                c"__deadheat_touch_range",
                hook,
                &mut [start, bytes, self.teller.how(hook)],
            );
        }
    }

    /// The hook's bytes in each turn: a part of what the turn touches, so far from its beginning, if others tell the rest.
    pub(super) unsafe fn strided(&self, hook: &Hook, part: Option<i64>, half: Half) {
        // SAFETY: the builder stands before the loop.
        unsafe {
            let start = self.this.at_first(self.teller.builder, hook.place);
            let stride = self.teller.number(hook.stride);
            let how = self.teller.part_of_turn(hook, part, half);
            self.teller.call(
                c"__deadheat_touch_strided",
                hook,
                &mut [start, self.turns, stride, how],
            );
        }
    }

    /// The hook itself, which says the same in each turn.
    pub(super) unsafe fn once(&self, hook: &Hook) {
        let llvm = self.this.llvm;
        // SAFETY: the builder stands before the loop.
        unsafe {
            let copy = (llvm.copy)(hook.call);
            let start = self.this.at_first(self.teller.builder, hook.place);
            (llvm.set_operand)(copy, 0, start);
            (llvm.insert)(self.teller.builder, copy);
        }
    }
}

//! How often a loop goes round.

use core::ffi::c_int;

use super::Loop;
use crate::Handle;
use crate::llvm::op;

/// A loop goes round until its counter, which begins at `start` and grows by `step`, is `bound` or has passed it.
pub(super) struct Count {
    pub(super) start: Handle,
    bound: Handle,
    step: i64,
    /// The bound is compared with what the counter will be in the next turn.
    ahead: bool,
    /// The comparison by which the counter is below the bound; none if it must be the bound itself.
    passed: Option<c_int>,
    /// It counts by places in memory.
    pointer: bool,
}

impl Loop<'_> {
    /// How often the loop goes round.
    pub(super) unsafe fn count(&self) -> Option<Count> {
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
            let pointer = self.is_pointer(value);
            if !pointer && !self.is_int64(value) {
                return None;
            }
            let (phi, ahead) = match (llvm.opcode)(value) {
                op::PHI => (value, false),
                op::ADD | op::ELEMENT_PTR => ((llvm.operand)(value, 0), true),
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
                pointer,
            })
        }
    }

    /// How often the loop goes round, computed before it; 0 if it is not entered.
    pub(super) unsafe fn turns(&self, builder: Handle, count: &Count, int64: Handle) -> Handle {
        let llvm = self.llvm;
        let text = c"".as_ptr();
        // SAFETY: all of them are known before the loop.
        unsafe {
            let number = |n: i64| (llvm.constant)(int64, n as u64, 1);
            let [from, to] = [count.start, count.bound].map(|end| match count.pointer {
                true => (llvm.build_number)(builder, end, int64, text),
                false => end,
            });
            let far = (llvm.build_sub)(builder, to, from, text);
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

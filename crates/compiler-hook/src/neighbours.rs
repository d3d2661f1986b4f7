//! Hooks of one line in one block for bytes that lie beside each other, as in a loop that was unrolled: they are told at
//! once, where the first of them stands.
//!
//! Nothing between them ends a step of their thread, so what they tell is the same.

use crate::block::Block;
use crate::hooks::{Called, Hook, MOST};
use crate::telling::Teller;

/// Fewer hooks are faster one by one.
const FEWEST: usize = 8;

impl Block<'_> {
    /// Tells neighbours at once.
    ///
    /// # Safety
    /// The block is one of a function of LLVM's that has been instrumented.
    pub unsafe fn say_together(&self) {
        let llvm = self.llvm;
        let mut said = [Hook::NONE; MOST];
        let mut count = 0;
        // SAFETY: the instructions of the block; what is erased lies behind.
        unsafe {
            let mut at = (llvm.first)(self.body);
            while !at.is_null() {
                let next = (llvm.next)(at);
                match self.called(at) {
                    None | Some(Called::Arithmetic) => {}
                    Some(Called::SameStep | Called::Other) => {
                        self.join(&said[..count]);
                        count = 0;
                    }
                    Some(Called::Hook(size, writes)) => {
                        if count == MOST {
                            self.join(&said);
                            count = 0;
                        }
                        said[count] = self.hook(at, size, writes);
                        count += 1;
                    }
                }
                at = next;
            }
            self.join(&said[..count]);
        }
    }

    /// Joins those of these hooks, which stand in this order with nothing between them that ends a step, that are neighbours.
    unsafe fn join(&self, said: &[Hook]) {
        let llvm = self.llvm;
        let mut done = [false; MOST];
        for (i, first) in said.iter().enumerate() {
            if done[i] {
                continue;
            }
            // SAFETY: calls of the block, which are still there unless done.
            unsafe {
                let line = (llvm.line_of)(first.call);
                let mut alike = [Hook::NONE; MOST];
                let mut count = 0;
                for (j, other) in said.iter().enumerate().skip(i) {
                    if !done[j]
                        && other.root == first.root
                        && other.size == first.size
                        && other.writes == first.writes
                        && (llvm.line_of)(other.call) == line
                    {
                        done[j] = true;
                        alike[count] = *other;
                        count += 1;
                    }
                }
                let alike = &alike[..count];
                if count < FEWEST {
                    continue;
                }
                let Some((from, to)) = extent(alike) else {
                    continue;
                };
                let teller = Teller::before(*self, first.call, first.place);
                let start = teller.beyond(first.place, from - first.offset);
                let bytes = teller.number(to - from);
                let arguments = &mut [start, bytes, teller.how(first)];
                teller.call(c"__deadheat_touch_range", first, arguments);
                for hook in alike {
                    (llvm.erase)(hook.call);
                }
            }
        }
    }
}

/// From where to where hooks of one size reach, if they leave out nothing between.
fn extent(hooks: &[Hook]) -> Option<(i64, i64)> {
    let from = hooks.iter().map(|hook| hook.offset).min()?;
    let to = hooks.iter().map(|hook| hook.offset + hook.size).max()?;
    let size = hooks.first()?.size;
    let all = (from..to)
        .step_by(size as usize)
        .all(|at| hooks.iter().any(|hook| hook.offset == at));
    (all && (to - from) % size == 0).then_some((from, to))
}

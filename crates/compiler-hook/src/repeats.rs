//! Hooks that say what one before them in their block has said in the same step: the same bytes, or some of them, and no more
//! than that. They are dropped.

use crate::block::Block;
use crate::hooks::{Called, Hook, MOST};

impl Block<'_> {
    /// Drops the hooks that repeat another one.
    ///
    /// # Safety
    /// The block is one of a function of LLVM's that has been instrumented.
    pub unsafe fn say_once(&self) {
        let llvm = self.llvm;
        let mut said = [Hook::NONE; MOST];
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
                        let hook = self.hook(at, size, writes);
                        if said[..count].iter().any(|old| hook.repeats(old)) {
                            (llvm.erase)(at);
                        } else if count < MOST {
                            said[count] = hook;
                            count += 1;
                        } else {
                            // There are too many: the oldest one is forgotten.
                            said[oldest] = hook;
                            oldest = (oldest + 1) % MOST;
                        }
                    }
                }
                at = next;
            }
        }
    }
}

impl Hook {
    fn repeats(&self, old: &Hook) -> bool {
        old.root == self.root
            && old.offset <= self.offset
            && self.offset + self.size <= old.offset + old.size
            && old.writes >= self.writes
    }
}

//! Hooks that say what one before them has said in the same step: the same bytes, or some of them, and no more than that. They are
//! dropped.
//!
//! What comes before a hook is known along a path: a block that another one always comes before goes on with what was said
//! there. Where ways meet, nothing is known.
//!
//! ```text
//!   a:  call __tsan_write8(p)            what a has said holds in b and in c,
//!       br x, b, c                       for each of them comes right after a
//!   b:  call __tsan_read8(p)   dropped
//!       br d
//!   c:  br d
//!   d:  call __tsan_read8(p)   stays
//! ```

use crate::Handle;
use crate::block::Block;
use crate::hooks::{Called, Hook, MOST};

/// A path is cut after so many blocks, since each of them remembers what was said before it.
const LONGEST: usize = 16;
/// Whoever is farther than this from the beginning of its path begins another one.
const FARTHEST: usize = 1024;

/// The hooks that were met and still hold.
#[derive(Clone, Copy)]
pub struct Said {
    hooks: [Hook; MOST],
    count: usize,
    oldest: usize,
}

impl Said {
    pub const NOTHING: Said = Said {
        hooks: [Hook::NONE; MOST],
        count: 0,
        oldest: 0,
    };

    fn forget(&mut self) {
        (self.count, self.oldest) = (0, 0);
    }

    fn has(&self, hook: &Hook) -> bool {
        self.hooks[..self.count].iter().any(|old| hook.repeats(old))
    }

    fn add(&mut self, hook: Hook) {
        if self.count < MOST {
            self.hooks[self.count] = hook;
            self.count += 1;
        } else {
            // There are too many: the oldest one is forgotten.
            self.hooks[self.oldest] = hook;
            self.oldest = (self.oldest + 1) % MOST;
        }
    }
}

impl Block<'_> {
    /// Drops the hooks that repeat another one, here and in the blocks that go on from here.
    ///
    /// # Safety
    /// The block is one of a function of LLVM's that has been instrumented. `before` holds where it begins.
    pub unsafe fn say_once(&self, before: &Said) {
        let llvm = self.llvm;
        let mut said = *before;
        // SAFETY: the instructions of the block, and the blocks after it.
        unsafe {
            let mut at = (llvm.first)(self.body);
            while !at.is_null() {
                let next = (llvm.next)(at);
                match self.called(at) {
                    None | Some(Called::Arithmetic | Called::SameStep) => {}
                    Some(Called::Other) => said.forget(),
                    Some(Called::Hook(size, writes)) => {
                        let hook = self.hook(at, size, writes);
                        if said.has(&hook) {
                            (llvm.erase)(at);
                        } else {
                            said.add(hook);
                        }
                    }
                }
                at = next;
            }
            let end = (llvm.terminator)(self.body);
            for i in 0..(llvm.successors)(end) {
                let body = (llvm.successor)(end, i);
                let again = (0..i).any(|other| (llvm.successor)(end, other) == body);
                let next = Block { body, ..*self };
                if !again && !next.starts_path() {
                    next.say_once(&said);
                }
            }
        }
    }

    /// Whether nothing is known where the block begins.
    ///
    /// # Safety
    /// The block is one of a function of LLVM's.
    pub unsafe fn starts_path(&self) -> bool {
        let mut at = *self;
        for steps in 0..FARTHEST {
            // SAFETY: blocks of that function.
            match unsafe { at.only_before() } {
                None => return steps % LONGEST == 0,
                Some(body) => at.body = body,
            }
        }
        true
    }

    /// The only block from which this one is reached; none if there are others, or none at all.
    unsafe fn only_before(&self) -> Option<Handle> {
        let llvm = self.llvm;
        let mut only = None;
        // SAFETY: whoever goes on in a block uses it; phis do not count as users.
        unsafe {
            let mut each = (llvm.first_use)((llvm.as_value)(self.body));
            while !each.is_null() {
                let user = (llvm.user)(each);
                each = (llvm.next_use)(each);
                if (llvm.as_instruction)(user).is_null() {
                    return None;
                }
                let from = (llvm.block_of)(user);
                if only.is_some_and(|other| other != from) {
                    return None;
                }
                only = Some(from);
            }
        }
        only
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

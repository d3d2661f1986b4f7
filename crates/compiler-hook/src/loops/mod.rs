//! What a loop touches turn by turn is told at once, before the loop.
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

use core::ops::Deref;

use crate::Handle;
use crate::block::Block;
use crate::hooks::{Called, Hook, MOST};
use crate::llvm::op;
use crate::telling::{Half, Teller};

mod count;
mod strides;
mod told;

use self::told::Told;

/// Places that are farther apart than this many bytes are better looked at together with what lies around them: in calls
/// for all of their neighbours, and alone.
const FARTHEST: i64 = 256;
const FARTHEST_ALONE: i64 = 16;

/// Two accesses of so many bytes, beside each other, may be the halves of what one cell of the runtime stands for.
const HALF: i64 = 4;

/// Addresses that are made of more than this are not looked at.
const DEEPEST: usize = 8;

/// A loop of one block.
pub struct Loop<'a> {
    block: Block<'a>,
    /// The block before it.
    before: Handle,
    /// What must be true there, or false, so that the loop comes next; nothing if it comes in any case.
    entered: Option<(Handle, bool)>,
}

impl<'a> Deref for Loop<'a> {
    type Target = Block<'a>;

    fn deref(&self) -> &Block<'a> {
        &self.block
    }
}

impl<'a> Loop<'a> {
    /// The loop that the block is, if it is one with one block before it.
    ///
    /// # Safety
    /// The block is one of a function of LLVM's that has been instrumented.
    pub unsafe fn at(block: Block<'a>) -> Option<Loop<'a>> {
        let (llvm, body) = (block.llvm, block.body);
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
                block,
                before,
                entered,
            })
        }
    }

    /// The hooks that can be moved, and how many; none if something in the loop may end the step or the loop.
    unsafe fn hooks(&self) -> Option<([Hook; MOST], usize)> {
        let llvm = self.llvm;
        let mut hooks = [Hook::NONE; MOST];
        let mut count = 0;
        // SAFETY: the instructions of the loop.
        unsafe {
            let mut at = (llvm.first)(self.body);
            while !at.is_null() {
                match self.called(at) {
                    None | Some(Called::Arithmetic) => {}
                    Some(Called::SameStep | Called::Other) => return None,
                    Some(Called::Hook(size, writes)) => {
                        let mut hook = self.hook(at, size, writes);
                        if let Some(stride) = self.stride(hook.place, DEEPEST)
                            && stride.abs() <= FARTHEST
                            && count < MOST
                        {
                            hook.stride = stride;
                            hooks[count] = hook;
                            count += 1;
                        }
                    }
                }
                at = (llvm.next)(at);
            }
        }
        (count > 0).then_some((hooks, count))
    }

    /// Moves the hooks out of the loop.
    ///
    /// # Safety
    /// As for [`Self::at`].
    pub unsafe fn batch(&self) -> Option<()> {
        let llvm = self.llvm;
        // SAFETY: values of the loop and of the block before it.
        unsafe {
            let count = self.count()?;
            let (hooks, found) = self.hooks()?;
            let hooks = &hooks[..found];
            let end = (llvm.terminator)(self.before);
            let teller = Teller::before(self.block, end, count.start);
            let turns = self.turns(teller.builder, &count, teller.int64);
            let told = Told {
                this: self,
                teller,
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
                // Those that stand beside each other in each turn, and those of the same line among them.
                let line = (llvm.line_of)(hook.call);
                let near = |other: &Hook| {
                    other.root == hook.root
                        && other.stride == hook.stride
                        && other.writes == hook.writes
                };
                let alike = |other: &Hook| near(other) && (llvm.line_of)(other.call) == line;
                match whole(hooks.iter().filter(|other| alike(other)), hook.stride) {
                    Some(from) => {
                        for (j, other) in hooks.iter().enumerate() {
                            done[j] |= alike(other);
                        }
                        told.range(&hook, from);
                    }
                    None => {
                        done[i] = true;
                        // What is touched in each turn may be all of it together with those of other lines.
                        let around = whole(hooks.iter().filter(|other| near(other)), hook.stride);
                        kept[i] = hook.stride.abs() > FARTHEST_ALONE && around.is_none();
                        if kept[i] {
                            continue;
                        }
                        let part = |hook: &Hook| around.map(|from| hook.offset - from);
                        let other = around.and_then(|from| other_half(hooks, &done, &hook, from));
                        let Some(j) = other else {
                            told.strided(&hook, part(&hook), Half::None);
                            continue;
                        };
                        done[j] = true;
                        let mut halves = [hook, hooks[j]];
                        halves.sort_unstable_by_key(|half| half.offset);
                        let [low, high] = halves;
                        told.strided(&low, part(&low), Half::First);
                        told.strided(&high, part(&high), Half::Second);
                    }
                }
            }
            drop(told);
            for (hook, kept) in hooks.iter().zip(kept) {
                if !kept {
                    (llvm.erase)(hook.call);
                }
            }
        }
        Some(())
    }
}

/// The hook for the other half of the same 8 bytes of what a turn touches, which begins at `from`, if it is not told yet.
fn other_half(hooks: &[Hook], told: &[bool], hook: &Hook, from: i64) -> Option<usize> {
    let part = hook.offset - from;
    if hook.size != HALF || part % HALF != 0 {
        return None;
    }
    let other = Hook {
        offset: from + (part ^ HALF),
        ..*hook
    };
    let is_other = |hook: &Hook| {
        (hook.root == other.root && hook.offset == other.offset)
            && (hook.size, hook.stride, hook.writes) == (other.size, other.stride, other.writes)
    };
    (hooks.iter().zip(told)).position(|(hook, told)| !told && is_other(hook))
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

//! What a strand remembers of signals and jumps; [`crate::interpose`] gives it its meaning.

use crate::callstack::SavedFrames;
use crate::intern::StackId;
use crate::strand::HELD;

pub const CONTEXT_WORDS: usize = 121;
pub const INFO_WORDS: usize = 16;

/// A signal that is kept until its thread leaves the runtime.
pub struct Kept {
    pub signal: i32,
    /// The mask that the thread should have.
    pub mask: u64,
    pub info: [u64; INFO_WORDS],
    pub context: [u64; CONTEXT_WORDS],
}

impl Kept {
    pub const fn none() -> Kept {
        Kept {
            signal: 0,
            mask: 0,
            info: [0; INFO_WORDS],
            context: [0; CONTEXT_WORDS],
        }
    }
}

/// A handler that runs in a strand: what it interrupted.
pub struct Running {
    pub frames: SavedFrames,
    /// Call stacks whose numbers what it interrupted may hold.
    pub held: [StackId; HELD],
    /// It may have interrupted anything.
    pub anywhere: bool,
    pub signal: i32,
    /// The last call in it that is not safe: how deep the stack was, and where it was called.
    pub unsafe_call: (usize, u64),
}

/// A place that `setjmp` marked: the stack pointer there, how deep the calls were, how many handlers ran, and in how many
/// interposed functions it was.
#[derive(Clone, Copy)]
pub struct Mark {
    pub sp: usize,
    pub depth: usize,
    pub handlers: u32,
    pub interposed: u32,
}

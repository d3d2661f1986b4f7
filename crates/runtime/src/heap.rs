//! The program's heap blocks: where each begins, how large it is, who allocated it and who freed it.

use crate::intern::StackId;
use crate::threads::ThreadId;

/// A heap block, as a report describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    pub start: usize,
    pub size: usize,
    pub thread: ThreadId,
    pub stack: StackId,
    pub freed: Option<(ThreadId, StackId)>,
}

/// All heap blocks.
pub struct Heap {}

impl Heap {
    pub const fn new() -> Self {
        Heap {}
    }

    /// The block that `addr` lies in, or lay in if it was freed and is not used again.
    pub fn describe(&self, _addr: usize) -> Option<Block> {
        None
    }

    /// # Safety
    /// No other thread may exist.
    pub unsafe fn after_fork(&self) {}
}

impl Default for Heap {
    fn default() -> Self {
        Heap::new()
    }
}

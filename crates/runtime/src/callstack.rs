//! The call stack of a strand, as the compiler's hooks announce it: one frame for each function entered and not left.
//!
//! A frame is 16 bytes: where the call returns to, and the number of the whole stack up to there (`intern`), which
//! is found only when an access needs it. Below the outermost frame lies one more, with number 0: the empty stack.
//! The hooks in `abi::frames` push and pop in assembler; the number of a popped frame is forgotten with it.

use std_alloc::vec::Vec;

use crate::intern::StackId;
use crate::loss::Loss;
use crate::runtime::Runtime;
use crate::strand::Strand;

/// One call.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct Frame {
    /// Where the call returns to.
    pub pc: u64,
    /// The stack with this frame innermost, if the frame is below `frames_known`.
    pub stack: StackId,
}

/// The hooks add and subtract this.
pub const FRAME_BYTES: usize = size_of::<Frame>();
const _: () = assert!(FRAME_BYTES == 16);

const FIRST_FRAMES: usize = 1 << 9;
const HANDLER_FRAMES: usize = 256;
pub const CALLS: usize = 1 << Call::BITS;

struct Nothing([Frame; 1]);

// SAFETY: never written: there is no room above it.
unsafe impl Sync for Nothing {}

static NOTHING: Nothing = Nothing([Frame {
    pc: 0,
    stack: StackId(0),
}]);

/// The empty stack without room for a frame.
pub const NO_FRAMES: *mut Frame = (&raw const NOTHING.0)
    .cast_mut()
    .cast::<Frame>()
    .wrapping_add(1);

/// A call that was numbered before. The hooks' assembler looks for it, too.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Call {
    pc: u64,
    pub caller: StackId,
    pub callee: StackId,
}

impl Call {
    pub const NONE: Call = Call {
        pc: 0,
        caller: StackId(0),
        callee: StackId(0),
    };
    pub const BITS: u32 = 11;
    pub const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;
    pub const CALLER_SHIFT: u32 = 20;

    /// Its place among [`CALLS`].
    #[inline(always)]
    fn place(caller: StackId, pc: u64) -> usize {
        let mixed = (pc ^ (caller.0 as u64) << Self::CALLER_SHIFT).wrapping_mul(Self::FACTOR);
        (mixed >> (64 - Self::BITS)) as usize
    }
}

const _: () = assert!(size_of::<Call>() == 16 && core::mem::offset_of!(Call, pc) == 0);

/// A call stack that a signal handler interrupted.
pub struct SavedFrames {
    base: *mut Frame,
    top: *mut Frame,
    end: *mut Frame,
}

/// Room for `count` frames above the empty stack; null if there is no memory.
fn room(count: usize) -> *mut Frame {
    let mut frames: Vec<Frame> = Vec::new();
    if frames.try_reserve_exact(count + 1).is_err() {
        return core::ptr::null_mut();
    }
    frames.resize(count + 1, Frame::default());
    frames.leak().as_mut_ptr().wrapping_add(1)
}

/// # Safety
/// `base` must come from [`room`] with as many frames up to `end`, and nobody may use them any more.
unsafe fn give_back(base: *mut Frame, end: *mut Frame) {
    let count = end as usize - base as usize;
    // SAFETY: by the contract a leaked vector of that capacity.
    drop(unsafe { Vec::from_raw_parts(base.sub(1), 0, count / FRAME_BYTES + 1) });
}

impl Strand {
    /// The present call stack, without the innermost program counter.
    #[inline(always)]
    pub fn stack(&mut self, rt: &Runtime) -> StackId {
        if self.frames_known != self.frames_top {
            self.number_frames(rt);
        }
        self.known_stack()
    }

    /// The same if all frames are known to have their numbers.
    #[inline(always)]
    pub fn known_stack(&self) -> StackId {
        // SAFETY: below every frame lies another, or the empty stack.
        unsafe { (*self.frames_top.sub(1)).stack }
    }

    #[inline(never)]
    fn number_frames(&mut self, rt: &Runtime) {
        if self.is_nobody() {
            return;
        }
        let mut at = self.frames_known;
        // SAFETY: below every frame lies another, or the empty stack.
        let mut caller = unsafe { (*at.sub(1)).stack };
        while at < self.frames_top {
            // SAFETY: frames up to the top were pushed.
            let frame = unsafe { &mut *at };
            caller = self.call(rt, caller, frame.pc);
            frame.stack = caller;
            at = at.wrapping_add(1);
        }
        self.frames_known = self.frames_top;
    }

    fn call(&mut self, rt: &Runtime, caller: StackId, pc: u64) -> StackId {
        let at = Call::place(caller, pc) % CALLS;
        let cached = self.calls[at];
        if cached.pc == pc && cached.caller == caller {
            return cached.callee;
        }
        let callee = rt.stacks.push(caller, pc);
        self.calls[at] = Call { pc, caller, callee };
        callee
    }

    /// The present call stack with `pc` innermost, as one number.
    pub fn stack_at(&mut self, rt: &Runtime, pc: u64) -> StackId {
        let caller = self.stack(rt);
        let stack = self.call(rt, caller, pc);
        self.hold(stack);
        stack
    }

    /// A function was entered from `pc`.
    #[inline]
    pub fn push_frame(&mut self, rt: &Runtime, pc: u64) {
        if self.frames_top == self.frames_end && !self.grow_frames(rt) {
            return;
        }
        // SAFETY: there is room below the end.
        unsafe { (*self.frames_top).pc = pc };
        self.frames_top = self.frames_top.wrapping_add(1);
    }

    /// A function returned.
    #[inline]
    pub fn pop_frame(&mut self) {
        if self.frames_top > self.frames_base {
            self.set_depth(self.depth() - 1);
        }
    }

    pub fn depth(&self) -> usize {
        (self.frames_top as usize - self.frames_base as usize) / FRAME_BYTES
    }

    /// Where the call at this depth will return to; 0 if there is none so deep.
    pub fn frame(&self, at: usize) -> u64 {
        if at >= self.depth() {
            return 0;
        }
        // SAFETY: frames up to the depth were pushed.
        unsafe { (*self.frames_base.add(at)).pc }
    }

    /// Back to an earlier depth, as after `longjmp`.
    pub fn set_depth(&mut self, depth: usize) {
        let to = self.frames_base.wrapping_add(depth);
        if to < self.frames_top {
            self.frames_top = to;
        }
        if self.frames_known > self.frames_top {
            self.frames_known = self.frames_top;
        }
    }

    /// Room for the frames of a new strand.
    pub(crate) fn first_frames(&mut self) {
        let base = room(FIRST_FRAMES);
        if base.is_null() {
            crate::sys::die("no memory left for a thread's call stack");
        }
        self.use_frames(base, FIRST_FRAMES);
    }

    fn use_frames(&mut self, base: *mut Frame, count: usize) {
        self.frames_base = base;
        self.frames_top = base;
        self.frames_known = base;
        self.frames_end = base.wrapping_add(count);
    }

    /// Calls `f` for the number of each frame, as the collector sees them; too many rather than too few.
    ///
    /// # Safety
    /// The strand must stay there meanwhile, and its frames must not move (`Threads::each` sees to both).
    pub(crate) unsafe fn each_frame_number(strand: *const Strand, mut f: impl FnMut(StackId)) {
        // SAFETY: by the contract; every value of these words is a good one.
        unsafe {
            let mut at = (*strand).frames_base;
            while at < (*strand).frames_end {
                f(crate::sys::glimpse(&raw const (*at).stack));
                at = at.add(1);
            }
        }
    }

    /// The strand ends.
    pub(crate) fn drop_frames(&mut self) {
        // SAFETY: the strand's own room, which nobody uses any more.
        unsafe { give_back(self.frames_base, self.frames_end) };
    }

    /// An empty call stack, for a signal handler; the interrupted one, to be given to [`Self::restore_frames`].
    pub fn fresh_frames(&mut self, rt: &Runtime) -> SavedFrames {
        let saved = SavedFrames {
            base: self.frames_base,
            top: self.frames_top,
            end: self.frames_end,
        };
        let base = room(HANDLER_FRAMES);
        if base.is_null() {
            rt.losses.count(Loss::DeepStack);
        } else {
            // The collector may be looking at them.
            rt.threads.unseen(|| self.use_frames(base, HANDLER_FRAMES));
        }
        saved
    }

    /// Back to the call stack that a handler interrupted.
    pub fn restore_frames(&mut self, rt: &Runtime, saved: SavedFrames) {
        rt.threads.unseen(|| {
            if saved.base != self.frames_base {
                // SAFETY: the handler's room, which nobody uses any more.
                unsafe { give_back(self.frames_base, self.frames_end) };
            }
            self.frames_base = saved.base;
            self.frames_top = saved.top;
            self.frames_end = saved.end;
        });
        // Not all of them had a number when the handler came, and nobody kept the numbers of the others since.
        self.frames_known = saved.base;
    }

    /// More room for frames; false if there is nobody to have frames.
    #[cold]
    pub fn grow_frames(&mut self, rt: &Runtime) -> bool {
        if self.is_nobody() {
            return false;
        }
        let (base, end) = (self.frames_base, self.frames_end);
        let count = (end as usize - base as usize) / FRAME_BYTES;
        let known = (self.frames_known as usize - base as usize) / FRAME_BYTES;
        let larger = room(count * 2);
        if larger.is_null() {
            rt.losses.count(Loss::DeepStack);
            self.pop_frame();
            return true;
        }
        rt.threads.unseen(|| {
            // SAFETY: both have room for so many frames; the old room is the strand's own and used no more.
            unsafe {
                core::ptr::copy_nonoverlapping(base, larger, count);
                give_back(base, end);
            }
            self.use_frames(larger, count * 2);
        });
        self.frames_top = larger.wrapping_add(count);
        self.frames_known = larger.wrapping_add(known);
        true
    }
}

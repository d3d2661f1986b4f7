//! Where everything lies, and the operations of the program's side. Both sides are one build of Deadheat; [`VERSION`] is
//! for a program that was built with another one.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

pub const MAGIC: u64 = u64::from_le_bytes(*b"DHFRAMES");
/// Raise whenever anything here or in the words changes.
pub const VERSION: u32 = 4;

/// Strands whose first frames can be told at once: those that the taker has not met yet.
pub const STRANDS: usize = 1 << 20;
/// Call stacks there can be at once.
pub const NODES: usize = 1 << 24;
/// Frames there can be at once.
pub const FRAMES: usize = 1 << 17;
pub const FRAME_BYTES: usize = 32 << 10;
/// Words in a frame after its header.
pub const FRAME_WORDS: usize = (FRAME_BYTES - size_of::<FrameHeader>()) / 8;

pub const STRANDS_AT: usize = 4096;
pub const NODES_AT: usize = 8 << 20;
pub const FRAMES_AT: usize = NODES_AT + NODES * 16 + (8 << 20);
pub const TOTAL_BYTES: usize = FRAMES_AT + FRAMES * FRAME_BYTES;

const _: () = {
    assert!(size_of::<Header>() <= STRANDS_AT);
    assert!(STRANDS_AT + STRANDS * 4 <= NODES_AT);
    assert!(size_of::<FrameHeader>() == 64);
};

/// How many times the budget there are frames for acts when accesses are dropped.
pub const KEPT: u64 = 5;
/// When there is no free frame, accesses are dropped and counted instead of waiting.
pub const DROP: u32 = 1;
/// When the taker dies, the program ends instead of going on unrecorded.
pub const STOP: u32 = 2;
/// What is recorded is checked later: nobody tells the program of findings.
pub const LATER: u32 = 4;

/// What all share. Counters that are written often have lines of their own.
#[repr(C, align(64))]
pub struct Header {
    pub magic: u64,
    pub version: u32,
    /// How many frames may be waiting for the taker, beside one for each living strand.
    pub budget: u32,
    /// [`DROP`], [`STOP`], [`LATER`].
    pub flags: u32,
    /// The program has come to its end by itself.
    pub ended: AtomicU32,
    _to_line_1: [u64; 5],
    /// The next act's number.
    pub number: AtomicU64,
    _to_line_2: [u64; 7],
    /// The list of free frames: a tag that grows with every change, and the number of the first one plus one.
    free: AtomicU64,
    /// Frames that were never used begin here.
    fresh: AtomicU32,
    /// Frames that are neither free nor fresh.
    pub taken: AtomicU32,
    /// Strands that have begun and not ended.
    pub living: AtomicU32,
    _to_line_3: [u32; 11],
    /// Grows when frames come free and somebody waits.
    pub wake: AtomicU32,
    pub waiters: AtomicU32,
    /// How often a strand had to wait, and for how many nanoseconds in all.
    pub waits: AtomicU64,
    pub waited: AtomicU64,
    /// Accesses that were dropped.
    pub dropped: AtomicU64,
    /// Counts how often the program has let go of numbers of call stacks.
    pub let_go: AtomicU64,
    /// The last of those times up to which the taker has read all that the program had written until then: whatever those
    /// numbers stood for it knows for itself, and they may stand for something else.
    pub noted: AtomicU64,
}

/// The beginning of a frame.
#[repr(C, align(64))]
pub struct FrameHeader {
    /// The strand's next frame plus one; until then the strand writes here.
    pub next: AtomicU32,
    /// The strand has ended: nothing follows.
    pub ended: AtomicU32,
    /// The next free frame plus one, while this one is free.
    link: AtomicU32,
    /// Whose it is.
    pub strand: AtomicU32,
}

/// One arena, mapped at `base`.
#[derive(Clone, Copy, Debug)]
pub struct Arena {
    // invariant: TOTAL_BYTES from here on are mapped readable and writable, for as long as any copy of this is used
    base: *mut u8,
}

// SAFETY: everything in an arena is atomic or, in frames, written by one side at a time as the table in the crate says.
unsafe impl Send for Arena {}
// SAFETY: as above.
unsafe impl Sync for Arena {}

impl Arena {
    /// # Safety
    /// `base` must be the start of a mapping of [`TOTAL_BYTES`] of an arena that stays for as long as the result is used.
    pub const unsafe fn new(base: *mut u8) -> Arena {
        Arena { base }
    }

    pub fn base(&self) -> *mut u8 {
        self.base
    }

    #[inline(always)]
    pub fn header(&self) -> &Header {
        // SAFETY: by the invariant; the header is at the start, and its plain fields are written before anybody else maps it.
        unsafe { &*self.base.cast::<Header>() }
    }

    /// Is this an arena of this build?
    pub fn is_known(&self) -> bool {
        self.header().magic == MAGIC && self.header().version == VERSION
    }

    /// The number of the strand's first frame plus one, until the taker has seen it. Strands that are far apart share a
    /// place: each unseen one has a frame, and there are fewer of those.
    pub fn first(&self, strand: u32) -> &AtomicU32 {
        // SAFETY: by the invariant; inside the table.
        unsafe {
            &*self
                .base
                .add(STRANDS_AT)
                .cast::<AtomicU32>()
                .add(strand as usize % STRANDS)
        }
    }

    /// Tells the strand's first frame. False if one that is far apart has not been seen yet.
    pub fn set_first(&self, strand: u32, frame: u32) -> bool {
        let first = self.first(strand);
        first
            .compare_exchange(0, frame + 1, Ordering::AcqRel, Ordering::Relaxed)
            .is_ok()
    }

    /// Frames that were ever used.
    pub fn used(&self) -> u32 {
        let fresh = self.header().fresh.load(Ordering::Acquire);
        fresh.min(FRAMES as u32)
    }

    /// Caller and program counter of a call stack; none for a number that has no place.
    #[inline]
    fn node_words(&self, node: u32) -> Option<&[AtomicU64; 2]> {
        if node as usize >= NODES {
            return None;
        }
        // SAFETY: by the invariant; inside the table.
        Some(unsafe {
            &*self
                .base
                .add(NODES_AT)
                .cast::<[AtomicU64; 2]>()
                .add(node as usize)
        })
    }

    /// Says what a call stack is; false if there is no place for it.
    #[inline]
    pub fn set_node(&self, node: u32, caller: u32, pc: u64) -> bool {
        let Some([caller_word, pc_word]) = self.node_words(node) else {
            return false;
        };
        caller_word.store(caller as u64, Ordering::Relaxed);
        pc_word.store(pc, Ordering::Release);
        true
    }

    /// Caller and program counter of a call stack, if it was said.
    pub fn node(&self, node: u32) -> Option<(u32, u64)> {
        let [caller, pc] = self.node_words(node)?;
        match pc.load(Ordering::Acquire) {
            0 => None,
            pc => Some((caller.load(Ordering::Relaxed) as u32, pc)),
        }
    }

    /// The frame with this number, which must be below [`FRAMES`].
    #[inline]
    pub fn frame(&self, frame: u32) -> &FrameHeader {
        debug_assert!((frame as usize) < FRAMES);
        // SAFETY: by the invariant; inside the frames (a number from shared memory is cut to fit).
        unsafe {
            &*self
                .base
                .add(FRAMES_AT + (frame as usize % FRAMES) * FRAME_BYTES)
                .cast::<FrameHeader>()
        }
    }

    /// The words of a frame: [`FRAME_WORDS`] of them.
    #[inline]
    pub fn words(&self, frame: u32) -> *mut u64 {
        let header: *const FrameHeader = self.frame(frame);
        // One header further is inside the frame.
        header.wrapping_add(1).cast_mut().cast()
    }

    /// A frame of zeroes for a strand to write; none if too many wait for the taker.
    pub fn take_frame(&self, strand: u32) -> Option<u32> {
        if self.header().flags & DROP != 0 && self.is_short() {
            // Some that are free may be of those kept for acts.
            return None;
        }
        if self.header().flags & DROP == 0 && self.is_unread() {
            return None;
        }
        let frame = self.pop().or_else(|| self.fresh(1))?;
        self.taken_by(frame, strand);
        Some(frame)
    }

    /// A frame beyond the budget, for acts of a program that drops accesses but must not wait: there are [`KEPT`] times as
    /// many, in which accesses are not to be written.
    pub fn take_kept(&self, strand: u32) -> Option<u32> {
        let frame = self.pop().or_else(|| self.fresh(KEPT))?;
        self.taken_by(frame, strand);
        Some(frame)
    }

    /// Whether as many frames wait for the taker as may.
    pub fn is_short(&self) -> bool {
        let header = self.header();
        let most = header.budget + header.living.load(Ordering::Relaxed);
        header.taken.load(Ordering::Relaxed) >= most
    }

    /// Whether the taker has not read what was written before call stacks were let go, twice: their numbers cannot be used again
    /// before that, so whoever makes ever new ones should wait.
    pub fn is_unread(&self) -> bool {
        let header = self.header();
        let noted = header.noted.load(Ordering::Relaxed);
        header.let_go.load(Ordering::Relaxed) >= noted + 2
    }

    /// Whether enough frames are free to be worth waking those who wait: waking them for each would cost more than the
    /// frame does.
    pub fn has_room(&self) -> bool {
        let header = self.header();
        let most = header.budget + header.living.load(Ordering::Relaxed);
        header.taken.load(Ordering::Relaxed) <= most - header.budget / 4
    }

    fn taken_by(&self, frame: u32, strand: u32) {
        self.header().taken.fetch_add(1, Ordering::AcqRel);
        self.frame(frame).strand.store(strand, Ordering::Relaxed);
    }

    fn pop(&self) -> Option<u32> {
        let free = &self.header().free;
        let mut head = free.load(Ordering::Acquire);
        loop {
            let frame = (head as u32).checked_sub(1)?;
            let link = self.frame(frame).link.load(Ordering::Relaxed);
            let next = ((head >> 32) + 1) << 32 | link as u64;
            match free.compare_exchange_weak(head, next, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return Some(frame),
                Err(now) => head = now,
            }
        }
    }

    fn fresh(&self, times: u64) -> Option<u32> {
        let header = self.header();
        let most = (header.budget as u64 * times + header.living.load(Ordering::Relaxed) as u64)
            .min(FRAMES as u64);
        header
            .fresh
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |fresh| {
                ((fresh as u64) < most).then_some(fresh + 1)
            })
            .ok()
    }

    /// Puts a frame of zeroes back. True if somebody waits, who must be woken through [`Header::wake`].
    pub fn give_back(&self, frame: u32) -> bool {
        let header = self.header();
        let mut head = header.free.load(Ordering::Acquire);
        loop {
            self.frame(frame).link.store(head as u32, Ordering::Relaxed);
            let next = ((head >> 32) + 1) << 32 | (frame + 1) as u64;
            match header
                .free
                .compare_exchange_weak(head, next, Ordering::AcqRel, Ordering::Acquire)
            {
                Ok(_) => break,
                Err(now) => head = now,
            }
        }
        header.taken.fetch_sub(1, Ordering::AcqRel);
        // Whoever finds no frame counts himself before he looks again: one of us sees the other.
        core::sync::atomic::fence(Ordering::SeqCst);
        header.waiters.load(Ordering::Relaxed) > 0
    }
}

//! A strand: what one thread (or fiber) of the program has done so far, as far as the detector must know.
//!
//! Only the thread that runs a strand touches it, so nothing here is atomic. The first fields are read by the compiler's
//! hooks in assembler (`abi::plain`); their places are fixed below.

use core::sync::atomic::{AtomicU32, Ordering};

use deadheat_detect::entry::{self, SEQ_MAX, SEQ_SHIFT};
use std_alloc::boxed::Box;
use std_alloc::vec::Vec;

use crate::cell::{Memo, Races, Step};
use crate::clock::Clock;
use crate::history::{self, CHUNK, Chunk, Place, Record, SlotHistory, SyncEvent, Touch};
use crate::intern::{LockSetId, StackId};
use crate::locks::{HeldLock, Mode};
use crate::loss::Loss;
use crate::record::{self, Recorder};
use crate::runtime::Runtime;
use crate::signal_state::{Kept, Mark, Running};
use crate::syncvar::{SyncId, SyncVar};
use crate::sys;
use crate::threads::ThreadId;

mod roots;

/// Bits of [`Strand::pending`].
pub const PENDING_SIGNAL: u32 = 1;
pub const PENDING_COLLECTION: u32 = 2;

/// How many call stacks that were asked for last are kept in any case.
pub const HELD: usize = 16;

/// How many lists a step can know to have read, and which bits of a list's word tell its place among them.
pub const READ_LISTS: usize = 8;
pub const READ_LISTS_SHIFT: u32 = 14;

const FIRST_FRAMES: usize = 1 << 10;
const SITES: usize = 256;
const CALLS: usize = 256;
const VARS: usize = 64;
const LOCK_STEPS: usize = 128;
const HANDLER_FRAMES: usize = 256;

/// A place that this step has used already, and its number.
#[derive(Clone, Copy)]
struct Site {
    place: Place,
    context: u64,
    seq: u64,
}

/// Caller and held locks in one word.
#[inline(always)]
fn context(caller: StackId, locks: LockSetId) -> u64 {
    (caller.0 as u64) << 32 | locks.0 as u64
}

/// A call that was numbered before.
#[derive(Clone, Copy)]
struct Call {
    pc: u64,
    caller: StackId,
    callee: StackId,
}

/// A call stack that a signal handler interrupted.
pub struct SavedFrames {
    base: *mut u64,
    top: *mut u64,
    end: *mut u64,
}

/// A lock taken or given back, with the locks held before.
#[derive(Clone, Copy, PartialEq, Eq)]
struct LockStep {
    set: LockSetId,
    lock: SyncId,
    taken_at: StackId,
    shared: bool,
}

impl LockStep {
    #[inline(always)]
    fn index(&self) -> usize {
        let mixed = (self.set.0 as u64) << 40 ^ (self.lock.0 as u64) << 20 ^ self.taken_at.0 as u64;
        (mixed.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 57) as usize % LOCK_STEPS
    }
}

/// What one thread has done so far.
#[repr(C)]
pub struct Strand {
    // ---- read by the assembler hooks ----
    /// The lowest word of the present step.
    pub step_base: u64,
    /// How far the words of the present step can reach above it.
    pub step_span: u64,
    /// The shadow's table.
    pub table: *const u8,
    /// One past the innermost frame.
    pub frames_top: *mut u64,
    pub frames_end: *mut u64,
    /// Frames below this have their number in `stacks`.
    pub frames_known: *mut u64,
    pub frames_base: *mut u64,
    /// Words that name common lists in which the present step has a plain read of all 8 bytes; 0 if none is known.
    pub read_lists: [u64; READ_LISTS],
    // ---- the rest ----
    /// Where what the strand does is written down, in a program that only records; then there is no `table`.
    pub(crate) recorder: *mut Recorder,
    /// One of `read_lists` is set.
    read_lists_set: bool,
    /// The first number of the present step.
    step_first: u64,
    /// The last number used.
    pub seq: u64,
    pub slot: u16,
    /// Inside the runtime: no signal handler of the program may run now.
    pub inside: u32,
    /// How many interposed functions it is in.
    pub interposed: u32,
    /// What waits until the strand is outside: a signal that arrived meanwhile (set by the handler, cleared by who
    /// delivers), and a collection.
    pub pending: AtomicU32,
    /// The runtime that it belongs to; none for nobody.
    pub runtime: Option<&'static Runtime>,
    /// While positive, reads/writes/synchronization of this strand are not looked at.
    pub ignore_reads: u32,
    pub ignore_writes: u32,
    pub ignore_sync: u32,
    pub thread: ThreadId,
    /// The time of the last note.
    noted_at: u64,
    noted_learned: u64,
    notes: u32,
    /// The number at which this strand last learned something from another one.
    pub learned_at: u64,
    pub clock: Clock,
    pub locks: LockSetId,
    /// What a release fence made available to later relaxed stores.
    pub released: Clock,
    /// What relaxed loads saw, for a later acquire fence.
    pub acquirable: Clock,
    stacks: Vec<StackId>,
    pub history: Option<&'static SlotHistory>,
    chunk: *mut Chunk,
    sites: [Site; SITES],
    calls: [Call; CALLS],
    /// The call stacks asked for last: somebody further up may hold one while he waits.
    held: [StackId; HELD],
    held_next: u32,
    /// What became of cells lately.
    pub memo: Memo,
    /// What the access under way races with.
    pub races: Races,
    vars: [Option<&'static SyncVar>; VARS],
    lock_steps: [(LockStep, LockSetId); LOCK_STEPS],
    unlock_steps: [(LockStep, LockSetId); LOCK_STEPS],
    /// The signal that arrived inside the runtime, if `pending_signals` says so.
    pub kept: Kept,
    /// Signal handlers that run now, one inside the other.
    pub handlers: Vec<Running>,
    /// Where `longjmp` may go.
    pub jumps: Vec<Mark>,
    /// For the interposed functions: what belongs to the OS thread.
    pub os: OsThread,
}

/// What the interposed functions know of the OS thread that runs a strand.
#[derive(Default, Clone, Copy)]
pub struct OsThread {
    pub tid: u32,
    pub stack_low: usize,
    pub stack_high: usize,
    pub tls_low: usize,
    pub tls_high: usize,
    /// The innermost `pthread_once` whose routine has not been run.
    pub once: usize,
    /// The signal that the thread sends to itself just now.
    pub raising: u32,
}

const _: () = {
    assert!(core::mem::offset_of!(Strand, step_base) == 0);
    assert!(core::mem::offset_of!(Strand, step_span) == 8);
    assert!(core::mem::offset_of!(Strand, table) == 16);
    assert!(core::mem::offset_of!(Strand, frames_top) == 24);
    assert!(core::mem::offset_of!(Strand, frames_end) == 32);
    assert!(core::mem::offset_of!(Strand, frames_known) == 40);
    assert!(core::mem::offset_of!(Strand, frames_base) == 48);
    assert!(core::mem::offset_of!(Strand, read_lists) == 56);
};

const NO_SITE: Site = Site {
    place: Place(0),
    context: 0,
    seq: 0,
};
const NO_LOCK_STEP: (LockStep, LockSetId) = (
    LockStep {
        set: LockSetId(0),
        lock: SyncId(0),
        taken_at: StackId(0),
        shared: false,
    },
    LockSetId(0),
);
const NO_CALL: Call = Call {
    pc: 0,
    caller: StackId(0),
    callee: StackId(0),
};

impl Strand {
    /// The strand of a thread that has none: it matches no cell, has no table and no room for frames, so every hook
    /// that meets it takes its slow path.
    pub const fn nobody() -> Strand {
        Strand {
            step_base: u64::MAX,
            step_span: 0,
            table: core::ptr::null(),
            frames_top: core::ptr::null_mut(),
            frames_end: core::ptr::null_mut(),
            frames_known: core::ptr::null_mut(),
            frames_base: core::ptr::null_mut(),
            read_lists: [0; READ_LISTS],
            recorder: core::ptr::null_mut(),
            read_lists_set: false,
            step_first: 0,
            seq: 0,
            slot: 0,
            // For good: whatever asks whether it is the program's own call hears no.
            inside: 1,
            interposed: 0,
            pending: AtomicU32::new(0),
            runtime: None,
            ignore_reads: 1,
            ignore_writes: 1,
            ignore_sync: 1,
            thread: ThreadId(0),
            noted_at: 0,
            noted_learned: 0,
            notes: 0,
            learned_at: 0,
            clock: Clock::new(),
            locks: LockSetId(0),
            released: Clock::new(),
            acquirable: Clock::new(),
            stacks: Vec::new(),
            history: None,
            chunk: core::ptr::null_mut(),
            sites: [NO_SITE; SITES],
            calls: [NO_CALL; CALLS],
            held: [StackId(0); HELD],
            held_next: 0,
            memo: Memo::new(),
            races: Races::NONE,
            vars: [None; VARS],
            lock_steps: [NO_LOCK_STEP; LOCK_STEPS],
            unlock_steps: [NO_LOCK_STEP; LOCK_STEPS],
            kept: Kept::none(),
            handlers: Vec::new(),
            jumps: Vec::new(),
            os: OsThread {
                tid: 0,
                stack_low: 0,
                stack_high: 0,
                tls_low: 0,
                tls_high: 0,
                once: 0,
                raising: 0,
            },
        }
    }

    /// A strand on `slot` whose last number there was `seq`, knowing what `clock` knows.
    pub fn new(
        rt: &'static Runtime,
        slot: u16,
        seq: u64,
        clock: Clock,
        thread: ThreadId,
    ) -> Box<Strand> {
        let mut strand = Box::new(Strand::nobody());
        let frames: Vec<u64> = Vec::with_capacity(FIRST_FRAMES);
        let base = frames.leak().as_mut_ptr();
        strand.frames_base = base;
        strand.frames_top = base;
        strand.frames_known = base;
        strand.frames_end = base.wrapping_add(FIRST_FRAMES);
        strand.table = rt.shadow.table().cast();
        strand.runtime = Some(rt);
        strand.slot = slot;
        strand.seq = seq;
        strand.thread = thread;
        strand.clock = clock;
        strand.clock.set(slot, seq);
        strand.inside = 0;
        strand.ignore_reads = 0;
        strand.ignore_writes = 0;
        strand.ignore_sync = 0;
        let history = rt.histories.of(slot);
        history.set_owner(seq + 1, thread);
        strand.history = Some(history);
        strand.learned_at = seq;
        if !(seq + 1).is_multiple_of(CHUNK as u64) {
            strand.chunk = history.chunk_for(seq + 1, &rt.histories.bytes);
        }
        // A slot that had another owner: what this strand publishes must not pass for what that one published.
        strand.learned(rt);
        strand.begin_step();
        if let Some(arena) = record::arena() {
            Recorder::attach(&mut strand, arena);
        }
        strand
    }

    /// Is this the strand of a thread that has none?
    #[inline(always)]
    pub fn is_nobody(&self) -> bool {
        self.table.is_null() && self.history.is_none()
    }

    // ---- inside and outside ----

    #[inline(always)]
    pub fn enter(&mut self) {
        self.inside += 1;
        core::sync::atomic::compiler_fence(Ordering::SeqCst);
    }

    /// True if something arrived while inside that the caller, now outside, must see to.
    #[inline(always)]
    pub fn leave(&mut self) -> bool {
        core::sync::atomic::compiler_fence(Ordering::SeqCst);
        self.inside -= 1;
        self.inside == 0 && self.pending.load(Ordering::Relaxed) != 0
    }

    // ---- steps ----

    /// What came before this is published: later accesses need numbers of their own.
    #[inline]
    pub fn begin_step(&mut self) {
        if let Some(recorder) = self.recorder() {
            return recorder.new_step();
        }
        if self.seq >= SEQ_MAX {
            sys::die("a thread made more than 68 thousand million recorded accesses");
        }
        self.step_first = self.seq + 1;
        self.step_base = entry::stamp(self.slot, self.seq + 1);
        self.step_span = (SEQ_MAX - self.seq) << SEQ_SHIFT;
        if self.read_lists_set {
            self.read_lists = [0; READ_LISTS];
            self.read_lists_set = false;
        }
    }

    /// The common list that `word` names has a plain read of all 8 bytes by the present step.
    #[inline(always)]
    pub fn has_read_list(&mut self, word: u64) {
        self.read_lists[(word >> READ_LISTS_SHIFT) as usize % READ_LISTS] = word;
        self.read_lists_set = true;
    }

    #[inline(always)]
    pub fn step(&self) -> Step<'_> {
        Step {
            base: self.step_base,
            span: self.step_span,
            slot: self.slot,
            clock: &self.clock,
        }
    }

    /// The number of this place in the present step, a new one if the step has not been there.
    #[inline(always)]
    pub fn number(&mut self, rt: &Runtime, place: Place) -> u64 {
        let caller = self.stack(rt);
        let context = context(caller, self.locks);
        let index = (place.0 ^ place.0 >> 8 ^ context >> 32) as usize % SITES;
        let site = &self.sites[index];
        if site.place == place && site.context == context && site.seq >= self.step_first {
            return site.seq;
        }
        self.new_number(rt, place, caller, index)
    }

    #[inline(never)]
    fn new_number(&mut self, rt: &Runtime, place: Place, caller: StackId, index: usize) -> u64 {
        let seq = self.append(
            rt,
            Record {
                place,
                caller,
                locks: self.locks,
            },
        );
        self.sites[index] = Site {
            place,
            context: context(caller, self.locks),
            seq,
        };
        seq
    }

    #[inline(always)]
    fn append(&mut self, rt: &Runtime, record: Record) -> u64 {
        let seq = self.seq + 1;
        if seq.is_multiple_of(CHUNK as u64) || self.chunk.is_null() {
            self.next_chunk(rt, seq);
        }
        if seq >= SEQ_MAX {
            sys::die("a thread made more than 68 thousand million recorded accesses");
        }
        // SAFETY: the chunk is the one of `seq`, which is published only by a cell written after this.
        unsafe { history::write_record(self.chunk, seq, record) };
        self.seq = seq;
        seq
    }

    #[cold]
    fn next_chunk(&mut self, rt: &Runtime, seq: u64) {
        if let Some(history) = self.history {
            if rt.collector.is_due(rt) {
                // Not here: a lock may be held.
                self.pending.fetch_or(PENDING_COLLECTION, Ordering::Relaxed);
            }
            self.chunk = history.chunk_for(seq, &rt.histories.bytes);
        }
        if self.chunk.is_null() {
            sys::die("no memory left for the history of accesses");
        }
    }

    /// The strand took over knowledge from elsewhere: from here on its numbers stand for more.
    pub fn learned(&mut self, rt: &Runtime) {
        let record = Record {
            place: Place::new(0, Touch::Learned, 0),
            caller: StackId(0),
            locks: LockSetId(0),
        };
        self.learned_at = self.append(rt, record);
    }

    /// The clock that a release publishes now.
    pub fn published(&mut self) -> &Clock {
        self.clock.set(self.slot, self.seq);
        &self.clock
    }

    // ---- call stacks ----

    /// The present call stack, without the innermost program counter.
    #[inline(always)]
    pub fn stack(&mut self, rt: &Runtime) -> StackId {
        if self.frames_known != self.frames_top {
            self.number_frames(rt);
        }
        let depth = (self.frames_top as usize - self.frames_base as usize) / 8;
        if depth == 0 {
            StackId(0)
        } else {
            // SAFETY: `number_frames` filled as many as there are frames.
            unsafe { *self.stacks.as_ptr().add(depth - 1) }
        }
    }

    #[inline(never)]
    fn number_frames(&mut self, rt: &Runtime) {
        let mut depth = (self.frames_known as usize - self.frames_base as usize) / 8;
        let top = (self.frames_top as usize - self.frames_base as usize) / 8;
        let mut caller = if depth == 0 {
            StackId(0)
        } else {
            self.stacks[depth - 1]
        };
        if self.stacks.len() < top {
            let len = top.next_power_of_two().max(64);
            // The collector may be looking at them.
            rt.threads.unseen(|| self.stacks.resize(len, StackId(0)));
        }
        while depth < top {
            // SAFETY: frames up to the top were pushed.
            let pc = unsafe { *self.frames_base.add(depth) };
            caller = self.call(rt, caller, pc);
            self.stacks[depth] = caller;
            depth += 1;
        }
        self.frames_known = self.frames_top;
    }

    fn call(&mut self, rt: &Runtime, caller: StackId, pc: u64) -> StackId {
        let hash = (pc ^ (caller.0 as u64) << 20).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56;
        let cached = self.calls[hash as usize % CALLS];
        if cached.pc == pc && cached.caller == caller {
            return cached.callee;
        }
        let callee = rt.stacks.push(caller, pc);
        self.calls[hash as usize % CALLS] = Call { pc, caller, callee };
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
        unsafe { *self.frames_top = pc };
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
        (self.frames_top as usize - self.frames_base as usize) / 8
    }

    /// Where the call at this depth will return to; 0 if there is none so deep.
    pub fn frame(&self, at: usize) -> u64 {
        if at >= self.depth() {
            return 0;
        }
        // SAFETY: frames up to the depth were pushed.
        unsafe { *self.frames_base.add(at) }
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

    /// An empty call stack, for a signal handler; the interrupted one, to be given to [`Self::restore_frames`].
    pub fn fresh_frames(&mut self, rt: &Runtime) -> SavedFrames {
        let saved = SavedFrames {
            base: self.frames_base,
            top: self.frames_top,
            end: self.frames_end,
        };
        let mut frames: Vec<u64> = Vec::new();
        if frames.try_reserve_exact(HANDLER_FRAMES).is_err() {
            rt.losses.count(Loss::DeepStack);
            return saved;
        }
        let base = frames.leak().as_mut_ptr();
        self.frames_base = base;
        self.frames_top = base;
        self.frames_known = base;
        self.frames_end = base.wrapping_add(HANDLER_FRAMES);
        saved
    }

    /// Back to the call stack that a handler interrupted.
    pub fn restore_frames(&mut self, saved: SavedFrames) {
        if saved.base != self.frames_base {
            let len = (self.frames_end as usize - self.frames_base as usize) / 8;
            // SAFETY: a leaked vector of that capacity, which nobody uses any more.
            drop(unsafe { Vec::from_raw_parts(self.frames_base, 0, len) });
        }
        self.frames_base = saved.base;
        self.frames_top = saved.top;
        self.frames_end = saved.end;
        // The numbers were those of the handler's frames.
        self.frames_known = saved.base;
    }

    /// More room for frames; false if there is no memory or nobody to have frames.
    #[cold]
    pub fn grow_frames(&mut self, rt: &Runtime) -> bool {
        if self.is_nobody() {
            return false;
        }
        let old = (self.frames_end as usize - self.frames_base as usize) / 8;
        let known = (self.frames_known as usize - self.frames_base as usize) / 8;
        // SAFETY: the frames were a vector of that capacity; all of it is in use.
        let mut frames = unsafe { Vec::from_raw_parts(self.frames_base, old, old) };
        if frames.try_reserve_exact(old).is_err() {
            core::mem::forget(frames);
            rt.losses.count(Loss::DeepStack);
            self.pop_frame();
            return true;
        }
        frames.resize(old * 2, 0);
        self.frames_base = frames.leak().as_mut_ptr();
        self.frames_top = self.frames_base.wrapping_add(old);
        self.frames_known = self.frames_base.wrapping_add(known);
        self.frames_end = self.frames_base.wrapping_add(old * 2);
        true
    }

    // ---- locks and synchronization objects ----

    /// The strand holds one more lock; true if it may not have taken this one, here and with these others, before.
    #[inline]
    pub fn took_lock(&mut self, rt: &Runtime, lock: SyncId, mode: Mode, taken_at: StackId) -> bool {
        let step = LockStep {
            set: self.locks,
            lock,
            taken_at,
            shared: mode == Mode::Shared,
        };
        let index = step.index();
        let (cached, with) = self.lock_steps[index];
        if cached == step {
            self.locks = with;
            return false;
        }
        self.locks = rt.lock_sets.with(
            self.locks,
            HeldLock {
                lock,
                mode,
                taken_at,
            },
        );
        self.lock_steps[index] = (step, self.locks);
        true
    }

    #[inline]
    pub fn gave_lock(&mut self, rt: &Runtime, lock: SyncId) {
        let step = LockStep {
            set: self.locks,
            lock,
            taken_at: StackId(0),
            shared: false,
        };
        let index = step.index();
        let (cached, without) = self.unlock_steps[index];
        if cached == step {
            self.locks = without;
            return;
        }
        self.locks = rt.lock_sets.without(self.locks, lock);
        self.unlock_steps[index] = (step, self.locks);
    }

    /// The synchronization object at `addr`, from this strand's cache. One that was removed has another address.
    #[inline]
    pub fn cached_var(&mut self, addr: usize) -> Option<&'static SyncVar> {
        match self.vars[var_index(addr)] {
            Some(var) if var.addr() == addr => Some(var),
            _ => None,
        }
    }

    pub fn cache_var(&mut self, addr: usize, var: &'static SyncVar) {
        self.vars[var_index(addr)] = Some(var);
    }

    /// Notes a synchronization for timelines.
    #[inline(always)]
    pub fn note(&mut self, what: &'static str, object: SyncId, stack: StackId) {
        if self.recording() {
            return;
        }
        // Reading the counter costs as much as all the rest: an unlock follows its lock closely enough, and so do a few
        // locks each other while nothing comes from another strand.
        self.notes = self.notes.wrapping_add(1);
        let close = what == "unlock"
            || (what == "lock"
                && self.learned_at == self.noted_learned
                && !self.notes.is_multiple_of(8));
        self.noted_at = if close && self.noted_at != 0 {
            self.noted_at + 1
        } else {
            sys::cycles()
        };
        self.noted_learned = self.learned_at;
        if let Some(history) = self.history {
            history.add_event(SyncEvent {
                at: self.seq,
                time: self.noted_at,
                what,
                object,
                stack,
            });
        }
    }
}

fn var_index(addr: usize) -> usize {
    (addr >> 3 ^ addr >> 9) % VARS
}

impl Drop for Strand {
    fn drop(&mut self) {
        if !self.is_nobody() {
            let len = (self.frames_end as usize - self.frames_base as usize) / 8;
            // SAFETY: the frames are a leaked vector of that capacity.
            drop(unsafe { Vec::from_raw_parts(self.frames_base, 0, len) });
        }
    }
}

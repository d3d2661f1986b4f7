//! What one strand records with: its frame, a filter of what the present step has recorded, and its table of places.
//!
//! The filter is a direct-mapped cache of 64-byte lines of the program's memory. An entry's tag is the line's number and the
//! step's; a new step makes all entries stale at once. What was recorded as written counts as read too: whatever races
//! with the read races with the write. A line that was pushed out is recorded again, which costs space and nothing else.

use core::sync::atomic::{AtomicU64, Ordering, compiler_fence};

use deadheat_frames::{Arena, DROP, FRAME_WORDS};
use deadheat_trace::wire::{self, LARGEST, Spot, StackNode, Words};
use deadheat_trace::{Addr, Range};

use crate::access::leave;
use crate::history::Touch;
use crate::record::heard::{HEARD, Heard};
use crate::record::turns::{LOOPS, Told};
use crate::record::wait;
use crate::runtime::Runtime;
use crate::strand::Strand;
use crate::sys;

/// Lines in the filter: 2 MiB of the program's memory in half of that.
pub const LINES: usize = 1 << 15;
pub const LINE_BITS: u32 = 6;
pub(super) const LINE: usize = 1 << LINE_BITS;
/// A tag is the line's number, and the step's from this bit on.
const STEP_SHIFT: u32 = 47 - LINE_BITS;
const FIRST_STEP: u64 = 1 << STEP_SHIFT;
const PLACE_BITS: u32 = 12;
const PLACES: usize = 1 << PLACE_BITS;
/// A spot's place is the highest bits of its product with this.
pub const PLACE_FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;
pub const PLACE_SHIFT: u32 = u64::BITS - PLACE_BITS;
/// Words that must be free in a frame before an item (with its place and calls) is written.
const MARGIN: usize = 8;
/// Words that a strand should have before it takes a lock: one in forty of a frame.
const SECTION: usize = 100;
/// Accesses that loops tell in one frame, more or less: as many as it has words.
const HEAVY: u64 = 1 << 12;
/// Longer ranges are neither looked up in the filter nor put into it.
const FILTERED: usize = 512;

/// One line of memory, as far as the present step has recorded it.
#[repr(C, align(32))]
pub struct Line {
    pub tag: u64,
    /// A bit for each byte.
    pub reads: u64,
    pub writes: u64,
}

const FILTER_BYTES: usize = LINES * size_of::<Line>();
const BYTES: usize = size_of::<Recorder>();

/// What one strand records with.
#[repr(C)]
pub struct Recorder {
    // ---- read by the assembler hooks ----
    /// The number of the present step, where a tag has it.
    pub step: u64,
    /// The next word to write.
    pub at: *mut u64,
    /// Here the frame is too full for one more item.
    pub end: *mut u64,
    /// The call stack of the last recorded access.
    pub caller: u32,
    // ---- the rest ----
    /// The frame, unless deaf.
    frame: u32,
    strand: u32,
    /// Nobody takes what is written: it goes to a frame of our own again and again.
    deaf: bool,
    /// The frame is one of those kept for acts when accesses are dropped: `end` is where it began, for accesses find no room.
    for_acts: bool,
    /// Accesses dropped since the last word.
    pub lost: u64,
    pub arena: Arena,
    scratch: *mut u64,
    /// Where the frame is too full for anything.
    full: *mut u64,
    /// Accesses that loops have told in this frame.
    weight: u64,
    /// Counts what made loops that were told before worth telling again, beside new steps.
    pub(super) renewed: u64,
    pub(super) loops: [Told; LOOPS],
    pub(super) heard: [Heard; HEARD],
    pub places: [u64; PLACES],
    pub filter: [Line; LINES],
}

impl Strand {
    /// Is what this strand does written down for a checker outside?
    #[inline(always)]
    pub fn recording(&self) -> bool {
        !self.recorder.is_null()
    }

    #[inline(always)]
    pub(crate) fn recorder(&mut self) -> Option<&mut Recorder> {
        // SAFETY: null, or made by `Recorder::attach` for this strand, which alone uses it.
        unsafe { self.recorder.as_mut() }
    }
}

const SCRATCH_BYTES: usize = FRAME_WORDS * 8;

impl Recorder {
    /// Lets a strand record. It must have no recorder yet.
    pub fn attach(s: &mut Strand, arena: Arena) {
        let p: *mut Recorder = sys::map(BYTES).cast();
        if p.is_null() {
            sys::die("no memory left for a thread's recording");
        }
        // SAFETY: mapped just now, zeroed, for this strand alone; what is not written here is right as zeroes.
        let new = unsafe {
            (&raw mut (*p).step).write(FIRST_STEP);
            (&raw mut (*p).strand).write(s.thread.0);
            (&raw mut (*p).arena).write(arena);
            &mut *p
        };
        arena.header().living.fetch_add(1, Ordering::AcqRel);
        match wait::frame(new) {
            Some(frame) if arena.set_first(new.strand, frame) => new.enter_frame(frame),
            Some(frame) => {
                arena.give_back(frame);
                arena.header().dropped.fetch_add(1, Ordering::Relaxed);
                new.deafen();
            }
            None => new.deafen(),
        }
        s.recorder = p;
        s.table = core::ptr::null();
    }

    /// The strand ends. Gives up all that belongs to it.
    pub fn detach(s: &mut Strand) {
        let mut take = || core::mem::replace(&mut s.recorder, core::ptr::null_mut());
        let recorder = match s.runtime {
            // Others may be looking at it.
            Some(rt) => rt.threads.unseen(take),
            None => take(),
        };
        if recorder.is_null() {
            return;
        }
        // SAFETY: made by `attach`, and the strand has forgotten it.
        let recorder = unsafe { &mut *recorder };
        if !recorder.deaf {
            recorder.tell_lost();
            let arena = recorder.arena;
            arena
                .frame(recorder.frame)
                .ended
                .store(1, Ordering::Release);
            arena.header().living.fetch_sub(1, Ordering::AcqRel);
        }
        let scratch = recorder.scratch;
        // SAFETY: mapped for this recorder alone.
        unsafe {
            sys::unmap(core::ptr::from_mut(recorder).cast(), BYTES);
            if !scratch.is_null() {
                sys::unmap(scratch.cast(), SCRATCH_BYTES);
            }
        }
    }

    /// The strand goes on without a recorder; its frames are somebody else's.
    pub fn abandon(s: &mut Strand) {
        if let Some(recorder) = s.recorder() {
            recorder.deaf = true;
        }
        Recorder::detach(s);
    }

    /// One without a frame, for tests of what it keeps out.
    #[cfg(test)]
    pub(super) fn bare() -> &'static mut Recorder {
        let p: *mut Recorder = sys::map(BYTES).cast();
        assert!(!p.is_null());
        // SAFETY: mapped just now, zeroed, for the caller alone; no test looks at the arena.
        unsafe {
            (&raw mut (*p).step).write(FIRST_STEP);
            &mut *p
        }
    }

    pub fn strand(&self) -> u32 {
        self.strand
    }

    pub fn is_deaf(&self) -> bool {
        self.deaf
    }

    /// From here on nothing is recorded, at the same cost.
    #[cold]
    pub fn deafen(&mut self) {
        if self.scratch.is_null() {
            self.scratch = sys::map(SCRATCH_BYTES).cast();
            if self.scratch.is_null() {
                sys::die("no memory left for a thread's recording");
            }
        }
        self.deaf = true;
        self.use_words(self.scratch);
    }

    fn use_words(&mut self, words: *mut u64) {
        self.at = words;
        self.weight = 0;
        self.end = words.wrapping_add(FRAME_WORDS - MARGIN);
        (self.full, self.for_acts) = (self.end, false);
    }

    fn enter_frame(&mut self, frame: u32) {
        self.frame = frame;
        self.use_words(self.arena.words(frame));
    }

    /// Leaves the full frame for another one. False if there is none and accesses are to be dropped.
    #[cold]
    #[inline(never)]
    fn next_frame(&mut self, must: wait::Must) -> bool {
        if self.deaf {
            self.use_words(self.scratch);
            return true;
        }
        if self.for_acts && self.at < self.full {
            if must == wait::Must::Write {
                return true;
            }
            // Is the checker near enough again for accesses? One more item must fit: the count of those dropped.
            if self.arena.is_short() || self.at.wrapping_add(MARGIN) >= self.full {
                return false;
            }
            (self.end, self.for_acts) = (self.full, false);
            self.tell_lost();
            return true;
        }
        match wait::next(self, must) {
            wait::Got::Frame(frame, for_acts) => {
                let old = self.frame;
                self.enter_frame(frame);
                if for_acts {
                    (self.end, self.for_acts) = (self.at, true);
                }
                self.arena
                    .frame(old)
                    .next
                    .store(frame + 1, Ordering::Release);
            }
            wait::Got::Nothing => return false,
            wait::Got::Deaf => self.deafen(),
        }
        self.tell_lost();
        true
    }

    /// Says how many accesses were dropped before this.
    fn tell_lost(&mut self) {
        if self.lost > 0 {
            let lost = core::mem::take(&mut self.lost);
            self.put(&wire::lost(lost));
        }
    }

    /// Makes room for one item with all that it needs before it.
    #[inline(always)]
    pub(super) fn room(&mut self, must: wait::Must) -> bool {
        self.at < self.end || self.next_frame(must)
    }

    /// Makes room for an act, so that none has to be waited for while its object is locked.
    #[inline(always)]
    pub fn prepare(&mut self) {
        self.room(wait::Must::Write);
    }

    /// Makes room for all that most critical sections write; the rest of the frame stays empty, which its reader skips.
    #[inline(always)]
    pub fn ready(&mut self) {
        if self.at.wrapping_add(SECTION) >= self.end {
            self.make_ready();
        }
    }

    #[cold]
    fn make_ready(&mut self) {
        // Who drops accesses does not wait for room to write them.
        if self.arena.header().flags & DROP == 0 {
            self.next_frame(wait::Must::Write);
        }
    }

    /// So many accesses were told by one item. A frame with very many is full, so that those that wait for the checker are no
    /// more work for it than they seem.
    pub(super) fn weigh(&mut self, accesses: u64) {
        self.weight += accesses;
        if self.weight >= HEAVY && !self.for_acts {
            self.end = self.at;
        }
    }

    /// Writes one item. There is room.
    #[inline(always)]
    pub fn put(&mut self, words: &Words) {
        let words = words.as_slice();
        for (i, &word) in words.iter().enumerate().skip(1) {
            self.store(i, word);
        }
        // The first word makes the item one: whoever reads it finds the others.
        compiler_fence(Ordering::Release);
        self.store(0, words[0]);
        self.at = self.at.wrapping_add(words.len());
    }

    #[inline(always)]
    fn store(&self, offset: usize, word: u64) {
        // SAFETY: `room` left at least MARGIN words, and no item with what it needs has more.
        unsafe { (*self.at.add(offset).cast::<AtomicU64>()).store(word, Ordering::Release) };
    }

    /// From here on everything is recorded anew.
    #[inline(always)]
    pub fn new_step(&mut self) {
        self.step = self.step.wrapping_add(FIRST_STEP);
        if self.step == 0 {
            self.first_step();
        }
    }

    #[cold]
    fn first_step(&mut self) {
        self.step = FIRST_STEP;
        // SAFETY: the filter is ours; all zeroes is a filter that knows nothing, for no step has number 0.
        unsafe { sys::zero(self.filter.as_mut_ptr().cast(), FILTER_BYTES) };
        self.loops.fill(Told::NONE);
        self.heard.fill(Heard::NONE);
    }

    #[inline(always)]
    fn line(&mut self, line: usize) -> (&mut Line, u64) {
        let tag = (line as u64).wrapping_add(self.step);
        (&mut self.filter[line % LINES], tag)
    }

    /// Has this step recorded these bytes (of one line) already?
    #[inline(always)]
    pub(super) fn has(&mut self, line: usize, mask: u64, write: bool) -> bool {
        let (line, tag) = self.line(line);
        let known = if write { line.writes } else { line.reads };
        line.tag == tag && mask & !known == 0
    }

    #[inline(always)]
    pub(super) fn add(&mut self, line: usize, mask: u64, write: bool) {
        let (line, tag) = self.line(line);
        if line.tag != tag {
            (line.tag, line.reads, line.writes) = (tag, 0, 0);
        }
        line.reads |= mask;
        if write {
            line.writes |= mask;
        }
    }

    /// Has this step recorded the whole range already?
    pub(super) fn has_range(&mut self, addr: usize, size: usize, write: bool) -> bool {
        size <= FILTERED && pieces(addr, size).all(|(line, mask)| self.has(line, mask, write))
    }

    pub(super) fn add_range(&mut self, addr: usize, size: usize, write: bool) {
        if size <= FILTERED {
            pieces(addr, size).for_each(|(line, mask)| self.add(line, mask, write));
        }
    }

    /// The memory is new: what was recorded of it in this step was about something else.
    pub fn forget_range(&mut self, addr: usize, size: usize) {
        self.renewed += 1;
        if size > FILTERED {
            return self.new_step();
        }
        for (line, _) in pieces(addr, size) {
            let (line, tag) = self.line(line);
            if line.tag == tag {
                line.tag = 0;
            }
        }
    }

    /// Writes an access.
    #[inline(always)]
    fn write_touch(&mut self, caller: u32, addr: u64, size: u64, spot: Spot) {
        let index = self.write_place(caller, spot);
        match wire::plain(addr, index) {
            Some(word) if size < LARGEST => {
                self.store(0, word);
                self.at = self.at.wrapping_add(1);
            }
            _ => {
                if let Some(range) = Range::new(Addr(addr), size) {
                    self.put(&wire::range(range, index));
                }
            }
        }
    }

    /// Writes what an access leans on, if it is new; the index of its place.
    #[inline(always)]
    pub(super) fn write_place(&mut self, caller: u32, spot: Spot) -> u16 {
        if caller != self.caller {
            self.caller = caller;
            self.put(&wire::calls(StackNode(caller)));
        }
        let index = (spot.0.wrapping_mul(PLACE_FACTOR) >> PLACE_SHIFT) as usize % PLACES;
        if self.places[index] != spot.0 {
            self.places[index] = spot.0;
            self.put(&wire::place(index as u16, spot));
        }
        index as u16
    }
}

/// The lines of a range, each with a bit for every byte that is in the range.
fn pieces(addr: usize, size: usize) -> impl Iterator<Item = (usize, u64)> {
    let end = addr + size;
    let line = 1usize << LINE_BITS;
    (addr >> LINE_BITS..end.div_ceil(line)).map(move |n| {
        let start = n << LINE_BITS;
        let low = u64::MAX << addr.saturating_sub(start).min(63);
        let high = u64::MAX >> (start + line).saturating_sub(end).min(63);
        (n, low & high)
    })
}

/// `s`, which records, touches `[addr, addr + size)` at `pc`.
#[inline]
pub fn touch(rt: &Runtime, s: &mut Strand, addr: usize, size: usize, touch: Touch, pc: u64) {
    let (kind, write, plain) = match touch {
        Touch::Read => (wire::Touch::Read, false, true),
        Touch::Write => (wire::Touch::Write, true, true),
        Touch::VptrWrite => (wire::Touch::VptrWrite, true, true),
        Touch::Destroy => (wire::Touch::Destroy, true, true),
        Touch::AtomicRead => (wire::Touch::AtomicRead, false, false),
        Touch::AtomicWrite | Touch::AtomicReadWrite => (wire::Touch::AtomicWrite, true, false),
        // Acts, not accesses.
        Touch::Free | Touch::Alloc | Touch::Learned | Touch::Both => return,
    };
    let ignored = if write {
        s.ignore_writes
    } else {
        s.ignore_reads
    };
    if ignored > 0 || size == 0 || addr.checked_add(size).is_none() {
        return;
    }
    let Some(recorder) = s.recorder() else {
        return;
    };
    let (line, offset) = (addr >> LINE_BITS, addr % LINE);
    let small = offset + size <= LINE;
    let mask = u64::MAX >> (LINE - size.min(LINE)) << offset;
    let known = if small {
        recorder.has(line, mask, write)
    } else {
        recorder.has_range(addr, size, write)
    };
    if known {
        return;
    }
    s.enter();
    let caller = s.stack(rt).0;
    if let Some(recorder) = s.recorder() {
        if recorder.room(wait::Must::WriteOrDrop) {
            if plain && small {
                recorder.add(line, mask, write);
            } else if plain {
                recorder.add_range(addr, size, write);
            }
            let spot = Spot::new(pc, kind as u8, size as u64);
            recorder.write_touch(caller, addr as u64, size as u64, spot);
        } else {
            recorder.lost += 1;
            recorder
                .arena
                .header()
                .dropped
                .fetch_add(1, Ordering::Relaxed);
        }
    }
    leave(s);
}

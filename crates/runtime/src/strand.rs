//! A strand: what one thread (or fiber) of the program has done so far, as far as the detector must know.
//!
//! Only the thread that runs a strand touches it, so nothing here is atomic. The first fields are read by the compiler's
//! hooks in assembler (`abi::plain`); their places are fixed below.

use core::sync::atomic::{AtomicU32, Ordering};

use deadheat_detect::entry::{self, Entry, MASK, PLAIN, SEQ_MAX, SEQ_SHIFT};
use std_alloc::boxed::Box;
use std_alloc::vec::Vec;

use crate::access::Halves;
use crate::callstack::{self, CALLS, Call, Frame};
use crate::cell::{Lately, Memo, Races, Step};
use crate::clock::Clock;
use crate::floor::Floor;
use crate::history::{
    BOTH_REACH, CHUNK, CHUNK_BITS, Chunk, Notes, Place, Site, SiteId, SlotHistory,
};
use crate::intern::StackId;
use crate::locks::Holding;
use crate::pages::{self, AtWork};
use crate::record::{self, Recorder};
use crate::runtime::Runtime;
use crate::signal_state::{Kept, Mark, Running};
use crate::sys;
use crate::threads::ThreadId;

mod holding;
mod joined;
pub(crate) mod known_lists;
mod lock_steps;
mod roots;
pub(crate) mod sites;
mod vars;

use self::holding::Latest;
use self::joined::Joined;
use self::known_lists::KnownLists;
use self::lock_steps::LockSteps;
use self::sites::Sites;
use self::vars::Vars;

/// Bits of [`Strand::pending`].
pub const PENDING_SIGNAL: u32 = 1;
pub const PENDING_COLLECTION: u32 = 2;
pub const PENDING_MOVE: u32 = 4;

/// How many call stacks that were asked for last are kept in any case.
pub const HELD: usize = 16;

/// How many lists a step can know to have read, and which bits of a list's word tell its place among them.
pub const READ_LISTS: usize = 32;
pub const READ_LISTS_SHIFT: u32 = 14;

/// What one thread has done so far.
#[repr(C, align(64))]
pub struct Strand {
    // ---- read by the assembler hooks ----
    /// The lowest word of the present step.
    pub step_base: u64,
    /// How far the words of the present step can reach above it.
    pub step_span: u64,
    /// The shadow's table.
    pub table: *const u8,
    /// One past the innermost frame.
    pub frames_top: *mut Frame,
    pub frames_end: *mut Frame,
    /// Frames below this know their stack's number.
    pub frames_known: *mut Frame,
    pub frames_base: *mut Frame,
    /// Words that name common lists in which the present step has a plain read of all 8 bytes; 0 if none is known.
    pub read_lists: [u64; READ_LISTS],
    // ---- the rest ----
    /// Where what the strand does is written down, in a program that only records; then there is no `table`.
    pub(crate) recorder: *mut Recorder,
    /// One of `read_lists` is set.
    read_lists_set: bool,
    /// Sites with a lower stamp are of an earlier step or had other locks. No stamp reaches it while accesses are ignored.
    pub(crate) sites_from: u64,
    /// Where this strand says which cells it is changing.
    pub at_work: &'static AtWork,
    /// What the strand is called among owners of pages.
    pub owner_name: u16,
    /// The stamp of number 0.
    pub slot_stamp: u64,
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
    pub locks: Holding,
    /// What a release fence made available to later relaxed stores.
    pub released: Clock,
    /// What relaxed loads saw, for a later acquire fence.
    pub acquirable: Clock,
    pub history: Option<&'static SlotHistory>,
    /// Where the next numbers are written down.
    chunk: *mut Chunk<SiteId>,
    /// Where number 0 would be if all numbers were in a row with those.
    pub(crate) numbers: *mut SiteId,
    /// The hooks' assembler gives numbers below this; 0 while accesses are ignored.
    pub(crate) quick_end: u64,
    /// The last record made, and where the next ones are.
    pub(crate) site: SiteId,
    pub(crate) site_chunk: *mut Chunk<Site>,
    /// Where the locks it holds are noted.
    pub(crate) held_notes: Notes,
    pub(crate) sites: Sites,
    pub(crate) calls: [Call; CALLS],
    /// The call stacks asked for last: somebody further up may hold one while he waits.
    held: [StackId; HELD],
    held_next: u32,
    /// How often [`Self::now_and_then`] was asked.
    asked: u32,
    /// What became of cells lately.
    pub memo: Memo,
    pub lately: Lately,
    pub(crate) known_lists: KnownLists,
    joined: Joined,
    /// What a loop does to the first halves of cells, until it is told of the second ones.
    pub(crate) low_halves: Option<Halves>,
    /// What no cell needs to remember.
    pub floor: Floor,
    /// What the access under way races with.
    pub races: Races,
    vars: Vars,
    lock_steps: LockSteps,
    latest: Latest,
    /// The signal that arrived inside the runtime, if `pending` says so.
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
    /// The innermost call that may be left: see [`crate::interpose::callbacks`].
    pub callback: usize,
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

/// Where nobody works.
static NOWHERE: AtWork = AtWork::new();

impl Strand {
    /// The strand of a thread that has none: it matches no cell, has no table and no room for frames, so every hook
    /// that meets it takes its slow path.
    pub const fn nobody() -> Strand {
        Strand {
            step_base: u64::MAX,
            step_span: 0,
            table: core::ptr::null(),
            frames_top: callstack::NO_FRAMES,
            frames_end: callstack::NO_FRAMES,
            frames_known: callstack::NO_FRAMES,
            frames_base: callstack::NO_FRAMES,
            read_lists: [0; READ_LISTS],
            recorder: core::ptr::null_mut(),
            read_lists_set: false,
            sites_from: u64::MAX,
            at_work: &NOWHERE,
            owner_name: 0,
            slot_stamp: 0,
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
            locks: Holding::NOTHING,
            released: Clock::new(),
            acquirable: Clock::new(),
            history: None,
            chunk: core::ptr::null_mut(),
            numbers: core::ptr::null_mut(),
            quick_end: 0,
            site: SiteId::NONE,
            site_chunk: core::ptr::null_mut(),
            held_notes: Notes::after(0),
            sites: Sites::nobodys(),
            calls: [Call::NONE; CALLS],
            held: [StackId(0); HELD],
            held_next: 0,
            asked: 0,
            memo: Memo::new(),
            lately: Lately::new(),
            known_lists: KnownLists::new(),
            joined: Joined::new(),
            low_halves: None,
            floor: Floor::new(),
            races: Races::NONE,
            vars: Vars::new(),
            lock_steps: LockSteps::nobodys(),
            latest: Latest::NONE,
            kept: Kept::none(),
            handlers: Vec::new(),
            jumps: Vec::new(),
            os: OsThread {
                tid: 0,
                stack_low: 0,
                stack_high: 0,
                tls_low: 0,
                tls_high: 0,
                callback: 0,
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
        strand.first_frames();
        strand.table = rt.shadow.table().cast();
        strand.runtime = Some(rt);
        strand.thread = thread;
        strand.lock_steps = LockSteps::new();
        strand.clock = clock;
        strand.inside = 0;
        strand.ignore_reads = 0;
        strand.ignore_writes = 0;
        strand.ignore_sync = 0;
        strand.live_in(rt, slot, seq);
        if let Some(arena) = record::arena() {
            Recorder::attach(&mut strand, arena);
        }
        strand
    }

    /// Its numbers are those of `slot` from now on, where the last one was `seq`.
    fn live_in(&mut self, rt: &'static Runtime, slot: u16, seq: u64) {
        self.slot = slot;
        self.seq = seq;
        self.clock.set(slot, seq);
        let history = rt.histories.of(slot);
        history.set_owner(seq + 1, self.thread);
        self.history = Some(history);
        self.at_work = &history.at_work;
        self.owner_name = pages::name(slot);
        self.slot_stamp = entry::stamp(slot, 0);
        self.learned_at = seq;
        self.chunk = core::ptr::null_mut();
        if !(seq + 1).is_multiple_of(CHUNK as u64) {
            self.use_chunk(seq + 1, history.chunk_for(seq + 1, &rt.histories.bytes));
        }
        self.sites = Sites::new();
        self.site = history.last_site();
        self.site_chunk = core::ptr::null_mut();
        if !self.site.ends_chunk() {
            self.site_chunk = history.sites_after(self.site, &rt.histories.bytes);
        }
        self.held_notes = history.begin_notes(seq + 1, &rt.histories.bytes);
        // A slot that had another owner: what this strand publishes must not pass for what that one published.
        self.learned(rt);
        self.begin_step();
    }

    /// Goes on in another slot ([`crate::threads`]). What it did so far is published, at least to itself.
    pub(crate) fn move_to(&mut self, rt: &'static Runtime, slot: u16, seq: u64) {
        self.published();
        self.leave_history();
        self.live_in(rt, slot, seq);
        self.note_locks(rt);
    }

    /// What its history must know when the strand adds no more to it.
    pub(crate) fn leave_history(&self) {
        if let Some(history) = self.history {
            history.note_site(self.site);
            history.end_notes(&self.held_notes);
        }
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

    /// Must the caller, who is not at work any more, deliver signals?
    #[inline(always)]
    pub fn signals_wait(&self) -> bool {
        core::sync::atomic::compiler_fence(Ordering::SeqCst);
        self.pending.load(Ordering::Relaxed) != 0 && self.inside == 0
    }

    // ---- steps ----

    /// What came before this is published: later accesses need numbers of their own.
    #[inline]
    pub fn begin_step(&mut self) {
        if let Some(recorder) = self.recorder() {
            recorder.new_step();
            // Nobody names its earlier numbers, which say when it learned something.
            self.step_base = entry::stamp(self.slot, self.seq + 1);
            return;
        }
        if self.seq >= SEQ_MAX {
            sys::die("a thread made more than 68 thousand million recorded accesses");
        }
        self.step_base = entry::stamp(self.slot, self.seq + 1);
        self.step_span = (SEQ_MAX - self.seq) << SEQ_SHIFT;
        self.clock.set(self.slot, u64::MAX);
        self.forget_sites();
        if self.read_lists_set {
            self.read_lists = [0; READ_LISTS];
            self.read_lists_set = false;
        }
    }

    /// The strand holds other locks than before. Whoever records has told that by an act, and has no accesses to note it for.
    #[inline(always)]
    pub(crate) fn note_locks(&mut self, rt: &Runtime) {
        if self.recording() {
            return;
        }
        self.forget_sites();
        if let Some(history) = self.history {
            let first = self.seq + 1;
            history.note_held(&mut self.held_notes, first, self.locks, &rt.histories.bytes);
        }
    }

    /// From here on every place needs a new number.
    #[inline(always)]
    fn forget_sites(&mut self) {
        self.sites_from = if self.ignore_reads | self.ignore_writes == 0 {
            entry::stamp(self.slot, self.seq + 1)
        } else {
            u64::MAX
        };
        self.set_quick_end();
    }

    #[inline(always)]
    fn set_quick_end(&mut self) {
        self.quick_end = if self.sites_from == u64::MAX {
            0
        } else {
            (self.seq | (CHUNK as u64 - 1)) + 1
        };
    }

    /// Numbers from `seq` on are written down there.
    fn use_chunk(&mut self, seq: u64, chunk: *mut Chunk<SiteId>) {
        self.chunk = chunk;
        let first = seq & !(CHUNK as u64 - 1);
        self.numbers = chunk.cast::<SiteId>().wrapping_sub(first as usize);
    }

    /// The common list that `word` names has such an access by the present step.
    #[inline(always)]
    pub fn is_in_list(&mut self, word: u64, need: u64) {
        if need == PLAIN | MASK {
            self.read_lists[(word >> READ_LISTS_SHIFT) as usize % READ_LISTS] = word;
            self.read_lists_set = true;
        } else {
            self.known_lists.note(word, self.step_base, need);
        }
    }

    #[inline(always)]
    pub fn step(&self) -> Step<'_> {
        Step {
            base: self.step_base,
            span: self.step_span,
            slot: self.slot,
            clock: &self.clock,
            floor: &self.floor.clock,
        }
    }

    /// The same, and what is needed to change a cell.
    #[inline(always)]
    pub fn step_and_means(&mut self) -> (Step<'_>, &mut Memo, &mut Races) {
        let step = Step {
            base: self.step_base,
            span: self.step_span,
            slot: self.slot,
            clock: &self.clock,
            floor: &self.floor.clock,
        };
        (step, &mut self.memo, &mut self.races)
    }

    /// The number of this place in the present step, a new one if the step has not been there.
    #[inline(always)]
    pub fn number(&mut self, rt: &Runtime, place: Place) -> u64 {
        let caller = self.stack(rt);
        match self.known_number(place, caller) {
            Some(stamp) => Entry(stamp).seq(),
            None => self.new_number(rt, place, caller),
        }
    }

    /// The stamp of the number of this place in the present step, if it has one.
    #[inline(always)]
    pub fn known_number(&self, place: Place, caller: StackId) -> Option<u64> {
        let stamp = self.sites.newest_stamp(Site { place, caller });
        (stamp >= self.sites_from).then_some(stamp)
    }

    /// A new number for this place, if that needs no new chunk of history: its stamp.
    #[inline(always)]
    pub fn quick_number(&mut self, place: Place, caller: StackId) -> Option<u64> {
        let seq = self.seq + 1;
        if seq >= self.quick_end {
            return None;
        }
        let site = Site { place, caller };
        if self.sites.number(site).is_none() && self.site.ends_chunk() {
            return None;
        }
        self.seq = seq;
        Some(self.number_site(site, seq))
    }

    /// The stamp of the number that stands for these two ([`Place::both`]) in the present step, a new one if it has none; none if that needs a
    /// new chunk of history.
    #[inline(always)]
    pub fn number_of_both(&mut self, both: Place) -> Option<u64> {
        if let Some(stamp) = self.joined.find(both, self.sites_from) {
            return Some(stamp);
        }
        let seq = self.seq + 1;
        if seq >= self.quick_end || self.site.ends_chunk() || self.site_chunk.is_null() {
            return None;
        }
        self.seq = seq;
        let site = Site {
            place: both,
            caller: StackId(0),
        };
        let id = self.new_site(site);
        // SAFETY: the chunk is the one of `seq`, which is published only by a cell written after this.
        unsafe { Chunk::write(self.chunk, seq, id) };
        let stamp = entry::stamp(self.slot, seq);
        self.joined.note(both, stamp);
        Some(stamp)
    }

    /// The number in the present step that stands for an access at `first` to these bytes of a cell and one at `second` to all others.
    pub fn number_of_two(&mut self, rt: &Runtime, first: Place, bytes: u8, second: Place) -> u64 {
        let caller = self.stack(rt);
        let [first, second] = [first, second].map(|place| {
            let known = self.known_number(place, caller);
            match known.map(|stamp| Entry(stamp).seq()) {
                Some(seq) if self.seq - seq < BOTH_REACH / 2 => seq,
                _ => self.new_number(rt, place, caller),
            }
        });
        let both = Place::both(first, bytes, second);
        if let Some(stamp) = self.joined.find(both, self.sites_from) {
            return Entry(stamp).seq();
        }
        if let Some(history) = self.history {
            history.expect_both();
        }
        let seq = self.next_seq(rt);
        if self.site.ends_chunk() || self.site_chunk.is_null() {
            self.next_sites(rt);
        }
        let id = self.new_site(Site {
            place: both,
            caller: StackId(0),
        });
        // SAFETY: the chunk is the one of `seq`, which is published only by a cell written after this.
        unsafe { Chunk::write(self.chunk, seq, id) };
        self.joined.note(both, entry::stamp(self.slot, seq));
        seq
    }

    /// The two numbers that `seq` stands for, and the bytes of the first ([`Place::both`]), if it does and that was written down
    /// lately.
    #[inline(always)]
    pub fn recent_two(&self, seq: u64) -> Option<(u64, u8, u64)> {
        if (seq ^ self.seq) >> CHUNK_BITS != 0 {
            return None;
        }
        // SAFETY: the chunk of the last number, so of this one, and of the last record; only this strand writes to both.
        unsafe {
            let id = Chunk::read(self.chunk, seq);
            if (id.0 ^ self.site.0) >> CHUNK_BITS != 0 || self.site_chunk.is_null() {
                return None;
            }
            Chunk::read(self.site_chunk, id.0 as u64).place.two(seq)
        }
    }

    /// `seq` stands for this site from now on: its stamp. The strand must have used the site lately, or there must be
    /// room for it.
    #[inline(always)]
    fn number_site(&mut self, site: Site, seq: u64) -> u64 {
        let id = match self.sites.number(site) {
            Some(id) => id,
            None => self.new_site(site),
        };
        // SAFETY: the chunk is the one of `seq`, which is published only by a cell written after this.
        unsafe { Chunk::write(self.chunk, seq, id) };
        let stamp = entry::stamp(self.slot, seq);
        self.sites.note(site, id, stamp);
        stamp
    }

    /// Writes down one more site, for which there must be room.
    #[inline(always)]
    fn new_site(&mut self, site: Site) -> SiteId {
        self.site = self.site.next();
        // SAFETY: the chunk is the one of this site, which no number stands for yet.
        unsafe { Chunk::write(self.site_chunk, self.site.0 as u64, site) };
        self.site
    }

    #[inline(never)]
    fn new_number(&mut self, rt: &Runtime, place: Place, caller: StackId) -> u64 {
        let seq = self.next_seq(rt);
        let site = Site { place, caller };
        let full = self.site.ends_chunk() || self.site_chunk.is_null();
        if full && self.sites.number(site).is_none() {
            self.next_sites(rt);
        }
        self.number_site(site, seq);
        seq
    }

    /// The next number, with room to write down what it stands for.
    #[inline(always)]
    fn next_seq(&mut self, rt: &Runtime) -> u64 {
        let seq = self.seq + 1;
        if seq.is_multiple_of(CHUNK as u64) || self.chunk.is_null() {
            self.next_chunk(rt, seq);
        }
        if seq >= SEQ_MAX {
            sys::die("a thread made more than 68 thousand million recorded accesses");
        }
        self.seq = seq;
        self.set_quick_end();
        seq
    }

    /// Another chunk for records.
    #[cold]
    fn next_sites(&mut self, rt: &Runtime) {
        let before = self.site;
        if !self.site_chunk.is_null() {
            // It has filled a chunk.
            self.sites.grow();
        }
        if let Some(history) = self.history {
            (self.site, self.site_chunk) = history.more_sites(before, &rt.histories.bytes);
            history.note_site(self.site);
        }
        if self.site_chunk.is_null() {
            sys::die("no memory left for the history of accesses");
        }
        if self.site.0 < before.0 {
            // They begin again: what is known by its number may be another one soon.
            self.sites.forget();
        }
        if self.sites.ages(before, self.site) {
            self.sites.drop_old(self.site);
        }
    }

    #[cold]
    fn next_chunk(&mut self, rt: &Runtime, seq: u64) {
        if let Some(history) = self.history {
            if rt.collector.is_due(rt) {
                // Not here: a lock may be held.
                self.pending.fetch_or(PENDING_COLLECTION, Ordering::Relaxed);
            }
            if rt.threads.is_worn(seq) {
                self.pending.fetch_or(PENDING_MOVE, Ordering::Relaxed);
            }
            self.use_chunk(seq, history.chunk_for(seq, &rt.histories.bytes));
        }
        if self.chunk.is_null() {
            sys::die("no memory left for the history of accesses");
        }
    }

    /// The strand took over knowledge from elsewhere: from here on its numbers stand for more.
    pub fn learned(&mut self, rt: &Runtime) {
        let seq = self.next_seq(rt);
        // SAFETY: the chunk is the one of `seq`, which is published only after this.
        unsafe { Chunk::write(self.chunk, seq, SiteId::NONE) };
        self.learned_at = seq;
    }

    /// The clock that a release publishes now.
    pub fn published(&mut self) -> &Clock {
        self.clock.set(self.slot, self.seq);
        &self.clock
    }
}

impl Drop for Strand {
    fn drop(&mut self) {
        if !self.is_nobody() {
            self.drop_frames();
        }
    }
}

//! The threads of the program, from creation to join, and the slots their strands live in.
//!
//! A slot is a component of every clock. A new thread N takes over the slot of a finished one O if its creator knows all
//! of O that any cell still names: so millions of threads over a run need only as many slots as run at once, and
//! those of threads that left traces which nobody has been told of.
//!
//! Why that is exact. Let E be O's last number, `needs` the largest number of O that a cell names (E until a collection
//! has looked), and c what N's clock says of the slot when N begins; c >= needs. N's numbers begin above E.
//! 1. N meets an entry of O: its number is at most `needs`, hence at most c, so it did happen before N; the cell takes it for
//!    N's own, which is ordered too.
//! 2. T learns from N, so that its clock says more than E for the slot, and meets an entry of O: it is at most c, so N knew
//!    it when it began, and T knows what N knew.
//! 3. T knows of O up to some number, at most E: that covers nothing of N's, whose numbers are larger.
//! 4. Entries of O never appear again once they are gone: only O makes them, and O is finished.
//!
//! What does break is that who knows number q of a slot knows all that its strand knew then: it holds up to c for O, and
//! from E + 1 on for N, but not between. Only [`crate::syncvar::State`] concludes so, from the number at which an object was
//! last released: the collection that lowers `needs` also makes objects forget such numbers above it.
//!
//! What nobody can ever learn of. A strand that has ended and cannot be joined has told nothing of its numbers after its last
//! release. Whatever comes later is concurrent with all of them, of whichever such strand: so of two such entries of a cell
//! that conflict with the same accesses one is enough, and the collection drops the other. A counter that every
//! detached thread adds to at its end keeps one slot in use, not all of them.
//!
//! A slot's numbers come to an end, after some hours of a thread that does nothing else. Then its strand goes on in another slot, as if
//! the thread had ended and another one gone on where it was; the slot is worn and nobody gets it again.
//!
//! A thread itself is forgotten when it has ended, nobody can join it, and nothing that a report may show names it.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use std_alloc::boxed::Box;
use std_alloc::collections::BTreeMap;
use std_alloc::vec::Vec;

use deadheat_detect::entry::SEQ_MAX;

use crate::clock::Clock;
use crate::history::SLOTS;
use crate::intern::StackId;
use crate::loss::Loss;
use crate::record::acts;
use crate::runtime::Runtime;
use crate::strand::Strand;
use crate::sync::{Locked, SpinLock};
use crate::sys;

/// A thread of the program; 0 is the one that started it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Default, PartialOrd, Ord)]
#[repr(transparent)]
pub struct ThreadId(pub u32);

/// What sort of strand it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sort {
    Thread,
    Fiber,
}

/// Where a thread is in its life.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Life {
    Created,
    Running,
    Finished,
}

/// Who will wait for its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    Joinable,
    Joined,
    Detached,
}

/// One thread.
pub struct Thread {
    pub parent: ThreadId,
    pub created: StackId,
    pub sort: Sort,
    pub life: Life,
    pub fate: Fate,
    pub name: Vec<u8>,
    pub tid: u32,
    /// The stream has been told of it.
    pub announced: bool,
    /// `pthread_t`, to find it again at a join.
    pub handle: usize,
    /// The strand while it runs.
    pub strand: *mut Strand,
    /// It waits for the end of that one, and for nothing else.
    pub waits_for: Option<ThreadId>,
    /// All that it knew at its end, for who joins it.
    end: Clock,
    /// A slot of its own and what its creator knew, until it begins.
    slot: u16,
    /// The last number of its slot: before it began, and after it ended.
    seq: u64,
    /// After it ended: the last number that it told anybody of.
    told: u64,
    start: Clock,
}

impl Thread {
    /// Until it begins: what its creator knew, its slot, and the last number there.
    pub fn before_it_began(&self) -> (&Clock, u16, u64) {
        (&self.start, self.slot, self.seq)
    }

    /// It runs, or will, or can be joined.
    fn in_use(&self) -> bool {
        self.life != Life::Finished || self.fate == Fate::Joinable && self.sort == Sort::Thread
    }
}

// SAFETY: the strand pointer is only followed by the thread itself or with care by the history's collector.
unsafe impl Send for Thread {}

/// A slot that has no strand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FreeSlot {
    pub slot: u16,
    /// The last number used there.
    pub seq: u64,
    /// The largest number that a cell may still name.
    // invariant: at most `seq`
    pub needs: u64,
    /// The largest number that anybody can ever know.
    // invariant: at most `seq`
    pub known: u64,
}

struct Slots {
    next: usize,
    /// The slots of finished strands, the latest last.
    free: Vec<FreeSlot>,
    /// Those that no cell names: anybody may have them.
    open: Vec<FreeSlot>,
}

impl Slots {
    /// The latest free slot that a strand which knows `clock` may have, if it is among the latest `most`.
    fn known_to(&mut self, clock: &Clock, most: usize, worn_at: u64) -> Option<FreeSlot> {
        let mut latest = self.free.iter().rev().take(most);
        let back =
            latest.position(|free| clock.get(free.slot) >= free.needs && free.seq < worn_at)?;
        Some(self.free.remove(self.free.len() - 1 - back))
    }

    /// A slot that a strand which knows `clock` may have; none if all of them are in use.
    fn take(&mut self, clock: &Clock, worn_at: u64) -> Option<FreeSlot> {
        self.known_to(clock, LATEST, worn_at)
            .or_else(|| {
                let fit = self.open.iter().rposition(|open| open.seq < worn_at)?;
                Some(self.open.remove(fit))
            })
            .or_else(|| self.known_to(clock, LOOK_AT, worn_at))
            .or_else(|| {
                let slot = self.next;
                if slot == SLOTS {
                    return self.known_to(clock, usize::MAX, worn_at);
                }
                self.next += 1;
                Some(FreeSlot {
                    slot: slot as u16,
                    seq: 0,
                    needs: 0,
                    known: 0,
                })
            })
    }
}

/// The threads that something may still name, and the number of the next one.
struct All {
    // Boxed: a thread is large.
    threads: BTreeMap<u32, Box<Thread>>,
    next: u32,
}

/// All threads.
pub struct Threads {
    all: Locked<All>,
    slots: Locked<Slots>,
    /// A slot with such a number, or a larger one, is worn.
    worn_at: AtomicU64,
    /// What is remembered of threads, in bytes.
    bytes: AtomicU64,
    /// The program has handlers for signals.
    handlers: AtomicBool,
}

/// How many finished slots a creation looks at, the latest first: before it takes one that is open to anybody, and
/// before it takes a new one.
const LATEST: usize = 64;
const LOOK_AT: usize = 4096;
/// What is left then is enough for all that a strand does before it can move.
const WORN_AT: u64 = SEQ_MAX - (1 << 32);
/// What one thread takes here.
const THREAD_BYTES: u64 = size_of::<Thread>() as u64 + 64;

impl Threads {
    pub const fn new() -> Self {
        Threads {
            all: Locked::new(All {
                threads: BTreeMap::new(),
                next: 0,
            }),
            slots: Locked::new(Slots {
                next: 0,
                free: Vec::new(),
                open: Vec::new(),
            }),
            worn_at: AtomicU64::new(WORN_AT),
            bytes: AtomicU64::new(0),
            handlers: AtomicBool::new(false),
        }
    }

    /// From now on a thread that waits may do something before the wait is over.
    pub fn handlers_exist(&self) {
        self.handlers.store(true, Ordering::Relaxed);
    }

    pub fn has_handlers(&self) -> bool {
        self.handlers.load(Ordering::Relaxed)
    }

    /// A slot for a strand that knows `clock`, and its last number there.
    fn take_slot(&self, rt: &Runtime, clock: &Clock) -> (u16, u64) {
        let worn_at = self.worn_at.load(Ordering::Relaxed);
        let mut slots = self.slots.lock();
        if let Some(free) = slots.take(clock, worn_at) {
            return (free.slot, free.seq);
        }
        let Some(any) = slots.free.iter().position(|free| free.seq < worn_at) else {
            sys::die("more than 65536 threads at once");
        };
        rt.losses.count(Loss::SharedSlot);
        let free = slots.free.remove(any);
        (free.slot, free.seq)
    }

    fn free_slot(&self, slot: u16, seq: u64, known: u64) {
        self.slots.lock().free.push(FreeSlot {
            slot,
            seq,
            needs: seq,
            known,
        });
    }

    pub fn slots_used(&self) -> usize {
        self.slots.lock().next
    }

    /// The slots that have no strand now.
    pub fn free_slots(&self) -> Vec<FreeSlot> {
        let slots = self.slots.lock();
        slots.free.iter().chain(&slots.open).copied().collect()
    }

    /// Calls `f` for each slot of `before` that is as free as it was; it may lower what the slot needs. No strand can get
    /// one of them meanwhile.
    pub fn each_still_free(&self, before: &[FreeSlot], mut f: impl FnMut(&mut FreeSlot)) {
        let mut slots = self.slots.lock();
        let mut last = std_alloc::vec![None; slots.next];
        for free in before {
            last[free.slot as usize] = Some(free.seq);
        }
        let Slots { free, open, .. } = &mut *slots;
        for slot in free.iter_mut().chain(open.iter_mut()) {
            if last[slot.slot as usize] == Some(slot.seq) {
                f(slot);
            }
        }
        open.extend(free.extract_if(.., |free| free.needs == 0));
        // The lowest is taken first, so that clocks stay short.
        open.sort_unstable_by_key(|open| core::cmp::Reverse(open.slot));
    }

    /// What is remembered of threads, in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// A new thread, whose beginning happens after what `parent` did so far.
    pub fn create(
        &self,
        rt: &Runtime,
        parent: Option<&mut Strand>,
        sort: Sort,
        created: StackId,
    ) -> ThreadId {
        let (start, parent_id) = match parent {
            Some(s) => {
                let clock = s.published().clone();
                s.begin_step();
                (clock, s.thread)
            }
            None => (Clock::new(), ThreadId(0)),
        };
        let (slot, seq) = self.take_slot(rt, &start);
        let mut all = self.all.lock();
        let id = ThreadId(all.next);
        all.next += 1;
        let thread = Box::new(Thread {
            parent: parent_id,
            created,
            sort,
            life: Life::Created,
            fate: Fate::Joinable,
            name: Vec::new(),
            tid: 0,
            announced: false,
            handle: 0,
            strand: core::ptr::null_mut(),
            waits_for: None,
            end: Clock::new(),
            slot,
            seq,
            told: seq,
            start,
        });
        all.threads.insert(id.0, thread);
        self.bytes.fetch_add(THREAD_BYTES, Ordering::Relaxed);
        id
    }

    /// The thread runs: its strand.
    pub fn begin(&self, rt: &'static Runtime, id: ThreadId) -> &'static mut Strand {
        let (slot, seq, start) = self.with(id, |t| {
            t.life = Life::Running;
            (t.slot, t.seq, core::mem::take(&mut t.start))
        });
        let strand = Box::leak(Strand::new(rt, slot, seq, start, id));
        let p: *mut Strand = strand;
        self.with(id, |t| t.strand = p);
        strand
    }

    /// Are the numbers of a slot that has come so far used up?
    pub fn is_worn(&self, seq: u64) -> bool {
        seq >= self.worn_at.load(Ordering::Relaxed)
    }

    /// Slots are worn as soon as that.
    #[cfg(test)]
    pub fn wear_out_at(&self, seq: u64) {
        self.worn_at.store(seq, Ordering::Relaxed);
    }

    /// How many slots are worn, and how many were ever used.
    #[cfg(test)]
    pub fn worn_and_used(&self) -> (usize, usize) {
        let slots = self.slots.lock();
        let all = slots.free.iter().chain(&slots.open);
        (
            all.filter(|free| self.is_worn(free.seq)).count(),
            slots.next,
        )
    }

    /// The strand, which is not at work, goes on in another slot.
    pub fn move_on(&self, rt: &'static Runtime, s: &mut Strand) {
        let (old, last) = (s.slot, s.seq);
        let (slot, seq) = self.take_slot(rt, s.published());
        // Who looks at the strands of all threads sees it in the one slot or in the other.
        self.with(s.thread, |t| {
            t.slot = slot;
            s.move_to(rt, slot, seq);
        });
        // It knows all of them itself, and will tell.
        self.free_slot(old, last, last);
    }

    /// The thread ends. Its strand must not be used any more.
    ///
    /// # Safety
    /// `s` must come from [`Self::begin`], and nothing may point to it any more.
    pub unsafe fn end(&self, s: *mut Strand) {
        // SAFETY: by the contract we alone have it.
        let mut strand = unsafe { Box::from_raw(s) };
        acts::ended(&mut strand);
        let told = strand.told();
        let end = strand.published().clone();
        let (id, slot, seq) = (strand.thread, strand.slot, strand.seq);
        strand.leave_history();
        let joinable = self.with(id, |t| {
            t.life = Life::Finished;
            t.strand = core::ptr::null_mut();
            let joinable = t.fate == Fate::Joinable && t.sort == Sort::Thread;
            if joinable {
                t.end = end;
            }
            (t.seq, t.told) = (seq, told);
            joinable
        });
        self.free_slot(slot, seq, if joinable { seq } else { told });
    }

    /// A thread that was created but never began: its slot is free again.
    pub fn abandon(&self, id: ThreadId) {
        let (slot, seq) = self.with(id, |t| {
            t.life = Life::Finished;
            t.fate = Fate::Joined;
            (t.slot, t.seq)
        });
        self.free_slot(slot, seq, seq);
    }

    /// Nobody will join the thread.
    pub fn detach(&self, id: ThreadId) {
        let ended = self.with(id, |t| {
            t.fate = Fate::Detached;
            t.end = Clock::new();
            (t.life == Life::Finished).then_some((t.slot, t.seq, t.told))
        });
        if let Some((slot, seq, told)) = ended {
            let mut slots = self.slots.lock();
            let mut free = slots.free.iter_mut();
            if let Some(free) = free.find(|free| free.slot == slot && free.seq == seq) {
                free.known = told;
            }
        }
    }

    /// `s` waited for the end of `id`: it knows now all that the other did.
    pub fn join(&self, rt: &Runtime, s: &mut Strand, id: ThreadId) {
        acts::joined(s, id);
        let end = self.with(id, |t| {
            t.fate = Fate::Joined;
            core::mem::take(&mut t.end)
        });
        if s.clock.join(&end) {
            s.learned(rt);
        }
    }

    /// Runs `f` on a thread that has not been forgotten; the caller must be inside the runtime.
    pub fn with<R>(&self, id: ThreadId, f: impl FnOnce(&mut Thread) -> R) -> R {
        match self.find(id, f) {
            Some(result) => result,
            None => sys::die("a thread number that was never given"),
        }
    }

    /// Runs `f` on a thread unless it is forgotten; the caller must be inside the runtime.
    pub fn find<R>(&self, id: ThreadId, f: impl FnOnce(&mut Thread) -> R) -> Option<R> {
        let mut all = self.all.lock();
        all.threads.get_mut(&id.0).map(|thread| f(thread))
    }

    /// Calls `f` for every thread that is not forgotten, the oldest first; the caller must be inside the runtime.
    pub fn each(&self, mut f: impl FnMut(ThreadId, &mut Thread)) {
        for (&id, thread) in &mut self.all.lock().threads {
            f(ThreadId(id), thread);
        }
    }

    /// Runs `f` while nobody is in [`Self::each`], so that a strand may move what others look at there.
    pub fn unseen<R>(&self, f: impl FnOnce() -> R) -> R {
        let _nobody = self.all.lock();
        f()
    }

    /// Forgets the threads that have ended, that nobody can join, and that are not `named`.
    pub fn forget(&self, named: impl Fn(ThreadId) -> bool) {
        let mut all = self.all.lock();
        // A thread that is shown is shown with who created it, and where that one came from.
        let mut parents: Vec<u32> = all
            .threads
            .iter()
            .filter(|&(&id, t)| t.in_use() || named(ThreadId(id)))
            .map(|(_, t)| t.parent.0)
            .collect();
        parents.sort_unstable();
        let shown = |id: u32| id == 0 || named(ThreadId(id)) || parents.binary_search(&id).is_ok();
        let before = all.threads.len();
        all.threads.retain(|&id, t| t.in_use() || shown(id));
        let gone = (before - all.threads.len()) as u64;
        self.bytes.fetch_sub(gone * THREAD_BYTES, Ordering::Relaxed);
    }

    /// The running or unjoined thread with this handle, the latest first.
    pub fn by_handle(&self, handle: usize) -> Option<ThreadId> {
        let all = self.all.lock();
        all.threads
            .iter()
            .rev()
            .find(|(_, t)| t.handle == handle && t.fate != Fate::Joined)
            .map(|(&id, _)| ThreadId(id))
    }

    /// Calls `f` for each lock that is held over a fork.
    pub fn each_lock(&self, f: &dyn Fn(&SpinLock)) {
        f(self.all.spin());
        f(self.slots.spin());
    }

    /// # Safety
    /// No other thread may exist.
    pub unsafe fn after_fork(&self) {
        // SAFETY: by the contract.
        unsafe {
            self.all.force_unlock();
            self.slots.force_unlock();
        }
    }
}

impl Default for Threads {
    fn default() -> Self {
        Threads::new()
    }
}

//! The threads of the program, from creation to join, and the slots their strands live in.
//!
//! A slot is a component of every clock. A new thread takes over the slot of a finished one if its creator knows that
//! one's end, for then the two are as ordered as the steps of one thread; so thousands of threads over a run need only
//! as many slots as run at once.

use std_alloc::boxed::Box;
use std_alloc::vec::Vec;

use crate::clock::Clock;
use crate::history::SLOTS;
use crate::intern::StackId;
use crate::loss::Loss;
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
    /// All that it knew at its end, for who joins it.
    end: Clock,
    /// A slot of its own and what its creator knew, until it begins.
    slot: u16,
    seq: u64,
    start: Clock,
}

// SAFETY: the strand pointer is only followed by the thread itself or with care by the history's collector.
unsafe impl Send for Thread {}

struct Slots {
    next: usize,
    /// Slots of finished threads, with their last number.
    free: Vec<(u16, u64)>,
}

/// All threads ever.
pub struct Threads {
    // Boxed: a thread is large, and moving all of them whenever the list grows would hold up who looks one up.
    #[allow(clippy::vec_box)]
    all: Locked<Vec<Box<Thread>>>,
    slots: Locked<Slots>,
}

/// How many finished slots a creation looks at, the latest first.
const LOOK_AT: usize = 64;

impl Threads {
    pub const fn new() -> Self {
        Threads {
            all: Locked::new(Vec::new()),
            slots: Locked::new(Slots {
                next: 0,
                free: Vec::new(),
            }),
        }
    }

    /// A slot for a strand that knows `clock`, and its last number there.
    fn take_slot(&self, rt: &Runtime, clock: &Clock) -> (u16, u64) {
        let mut slots = self.slots.lock();
        let known = slots
            .free
            .iter()
            .rev()
            .take(LOOK_AT)
            .position(|&(slot, seq)| clock.get(slot) >= seq);
        if let Some(back) = known {
            let at = slots.free.len() - 1 - back;
            return slots.free.remove(at);
        }
        if slots.next < SLOTS {
            slots.next += 1;
            return ((slots.next - 1) as u16, 0);
        }
        if let Some(at) = slots
            .free
            .iter()
            .position(|&(slot, seq)| clock.get(slot) >= seq)
        {
            return slots.free.remove(at);
        }
        if slots.free.is_empty() {
            sys::die("more than 65536 threads at once");
        }
        rt.losses.count(Loss::SharedSlot);
        slots.free.remove(0)
    }

    pub fn slots_used(&self) -> usize {
        self.slots.lock().next
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
        all.push(Box::new(Thread {
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
            end: Clock::new(),
            slot,
            seq,
            start,
        }));
        ThreadId(all.len() as u32 - 1)
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

    /// The thread ends. Its strand must not be used any more.
    ///
    /// # Safety
    /// `s` must come from [`Self::begin`], and nothing may point to it any more.
    pub unsafe fn end(&self, s: *mut Strand) {
        // SAFETY: by the contract we alone have it.
        let mut strand = unsafe { Box::from_raw(s) };
        let end = strand.published().clone();
        let (id, slot, seq) = (strand.thread, strand.slot, strand.seq);
        self.with(id, |t| {
            t.life = Life::Finished;
            t.strand = core::ptr::null_mut();
            t.end = end;
        });
        self.slots.lock().free.push((slot, seq));
    }

    /// A thread that was created but never began: its slot is free again.
    pub fn abandon(&self, id: ThreadId) {
        let (slot, seq) = self.with(id, |t| {
            t.life = Life::Finished;
            t.fate = Fate::Joined;
            (t.slot, t.seq)
        });
        self.slots.lock().free.push((slot, seq));
    }

    /// `s` waited for the end of `id`: it knows now all that the other did.
    pub fn join(&self, rt: &Runtime, s: &mut Strand, id: ThreadId) {
        let end = self.with(id, |t| {
            t.fate = Fate::Joined;
            core::mem::take(&mut t.end)
        });
        if s.clock.join(&end) {
            s.learned(rt);
        }
    }

    /// Runs `f` on a thread; the caller must be inside the runtime.
    pub fn with<R>(&self, id: ThreadId, f: impl FnOnce(&mut Thread) -> R) -> R {
        let mut all = self.all.lock();
        match all.get_mut(id.0 as usize) {
            Some(thread) => f(thread),
            None => sys::die("a thread number that was never given"),
        }
    }

    /// Calls `f` for every thread; the caller must be inside the runtime.
    pub fn each(&self, mut f: impl FnMut(ThreadId, &mut Thread)) {
        for (i, thread) in self.all.lock().iter_mut().enumerate() {
            f(ThreadId(i as u32), thread);
        }
    }

    /// The running or unjoined thread with this handle, the latest first.
    pub fn by_handle(&self, handle: usize) -> Option<ThreadId> {
        let all = self.all.lock();
        all.iter()
            .rposition(|t| t.handle == handle && t.fate != Fate::Joined)
            .map(|i| ThreadId(i as u32))
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

//! The one `Runtime`: everything the hooks share, reached through one static.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use std_alloc::vec;
use std_alloc::vec::Vec;

use crate::cell;
use crate::deadlock::Waits;
use crate::exempt::Exempt;
use crate::finding::Findings;
use crate::heap::Heap;
use crate::history::{CHUNK_BITS, Histories};
use crate::intern::Stacks;
use crate::lock_order::LockOrder;
use crate::locks::LockSets;
use crate::loss::Losses;
use crate::modules::Modules;
use crate::options::Options;
use crate::shadow::Shadow;
use crate::strand::Strand;
use crate::stream::Stream;
use crate::sync::SpinLock;
use crate::syncvar::SyncVars;
use crate::threads::Threads;

/// Everything the hooks share.
pub struct Runtime {
    pub shadow: Shadow,
    pub histories: Histories,
    pub stacks: Stacks,
    pub lock_sets: LockSets,
    pub lock_order: LockOrder,
    pub waits: Waits,
    pub syncs: SyncVars,
    pub threads: Threads,
    pub heap: Heap,
    pub losses: Losses,
    pub findings: Findings,
    pub exempt: Exempt,
    pub stream: Stream,
    pub modules: Modules,
    pub options: Options,
    pub started: AtomicBool,
    /// History chunks at which the next collection is due.
    collect_at: AtomicU64,
    collecting: SpinLock,
}

/// Chunks of 16 KiB before the first collection of histories.
const FIRST_COLLECTION: u64 = 2048;

impl Runtime {
    pub const fn new() -> Self {
        Runtime {
            shadow: Shadow::new(),
            histories: Histories::new(),
            stacks: Stacks::new(),
            lock_sets: LockSets::new(),
            lock_order: LockOrder::new(),
            waits: Waits::new(),
            syncs: SyncVars::new(),
            threads: Threads::new(),
            heap: Heap::new(),
            losses: Losses::new(),
            findings: Findings::new(),
            exempt: Exempt::new(),
            stream: Stream::new(),
            modules: Modules::new(),
            options: Options::new(),
            started: AtomicBool::new(false),
            collect_at: AtomicU64::new(FIRST_COLLECTION),
            collecting: SpinLock::new(),
        }
    }

    /// Frees histories that no cell needs, if there has been much growth since the last time.
    pub fn maybe_collect_history(&self, _s: &mut Strand) {
        if self.histories.chunks.load(Ordering::Relaxed) >= self.collect_at.load(Ordering::Relaxed) && self.collecting.try_lock() {
            self.collect_history();
            self.collecting.unlock();
        }
    }

    /// Frees the history chunks that no cell names and no strand can still name in its present step.
    fn collect_history(&self) {
        let slots = self.threads.slots_used();
        let mut named: Vec<Vec<u64>> = vec![Vec::new(); slots];
        let mut name = |slot: usize, chunk: usize| {
            let Some(bits) = named.get_mut(slot) else { return };
            if bits.len() <= chunk / 64 {
                bits.resize(chunk / 64 + 1, 0);
            }
            bits[chunk / 64] |= 1 << (chunk % 64);
        };
        // What a strand's present step may still put into cells. Read before the cells: a step only moves forward.
        let mut from: Vec<usize> = vec![usize::MAX; slots];
        self.threads.each(|_, t| {
            if !t.strand.is_null() {
                // SAFETY: the strand lives while it is in the registry, whose lock `each` holds; its step's start is
                // one word, which its thread may be moving forward: an older value only keeps more.
                let (slot, base) = unsafe { ((*t.strand).slot, core::ptr::read_volatile(&raw const (*t.strand).step_base)) };
                let first = deadheat_detect::entry::Entry(base).seq() as usize >> CHUNK_BITS;
                if let Some(f) = from.get_mut(slot as usize) {
                    *f = first;
                }
            }
        });
        self.shadow.each_cell(|cell| {
            // SAFETY: a cell of the shadow, and whoever collects is inside the runtime.
            unsafe { cell::each_entry(cell, |e| name(e.slot() as usize, e.seq() as usize >> CHUNK_BITS)) };
        });
        let mut freed = 0;
        for (slot, bits) in named.iter().enumerate() {
            let history = self.histories.of(slot as u16);
            freed += history.free_unnamed(|chunk| {
                chunk >= from[slot] || bits.get(chunk / 64).is_some_and(|word| word >> (chunk % 64) & 1 != 0)
            });
        }
        let live = self.histories.chunks.fetch_sub(freed, Ordering::Relaxed) - freed;
        self.collect_at.store((live * 2).max(FIRST_COLLECTION), Ordering::Relaxed);
    }

    /// Calls `f` for each lock that is held over a fork, so that the child finds whole tables: those that are held while
    /// another one is taken come before it.
    pub fn each_lock(&self, f: &dyn Fn(&SpinLock)) {
        #[cfg(feature = "export")]
        {
            crate::interpose::descriptors::each_lock(f);
            crate::interpose::mmap::each_lock(f);
        }
        self.findings.each_lock(f);
        self.lock_order.each_lock(f);
        self.waits.each_lock(f);
        self.stream.each_lock(f);
        self.modules.each_lock(f);
        self.heap.each_lock(f);
        self.threads.each_lock(f);
        self.syncs.each_lock(f);
        self.lock_sets.each_lock(f);
        self.stacks.each_lock(f);
        self.shadow.each_lock(f);
        crate::alloc::each_lock(f);
    }

    /// In the child of a fork: locks that other threads held are free.
    ///
    /// # Safety
    /// No other thread may exist.
    pub unsafe fn after_fork(&self) {
        // SAFETY: by the contract, for each of them.
        unsafe {
            crate::alloc::after_fork();
            cell::after_fork();
            self.shadow.after_fork();
            self.stacks.after_fork();
            self.lock_sets.after_fork();
            self.lock_order.after_fork();
            self.waits.after_fork();
            self.syncs.after_fork();
            self.threads.after_fork();
            self.heap.after_fork();
            self.findings.after_fork();
            self.exempt.after_fork();
            self.stream.after_fork();
            self.modules.after_fork();
            for slot in 0..self.threads.slots_used() {
                self.histories.of(slot as u16).after_fork();
            }
        }
    }
}

impl Default for Runtime {
    fn default() -> Self {
        Runtime::new()
    }
}

/// The runtime of this process.
pub static RT: Runtime = Runtime::new();

//! The one `Runtime`: everything the hooks share, reached through one static.

use core::sync::atomic::AtomicBool;

use crate::cell;
use crate::collect::Collector;
use crate::deadlock::Waits;
use crate::exempt::Exempt;
use crate::finding::Findings;
use crate::heap::Heap;
use crate::history::Histories;
use crate::intern::Stacks;
use crate::lock_order::LockOrder;
use crate::locks::LockSets;
use crate::loss::Losses;
use crate::modules::Modules;
use crate::options::Options;
use crate::shadow::Shadow;
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
    pub collector: Collector,
}

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
            collector: Collector::new(),
        }
    }

    /// Calls `f` for each lock that is held over a fork, so that the child finds whole tables: those that are held while
    /// another one is taken come before it.
    pub fn each_lock(&self, f: &dyn Fn(&SpinLock)) {
        #[cfg(feature = "export")]
        {
            crate::interpose::descriptors::each_lock(f);
            crate::interpose::mmap::each_lock(f);
            crate::interpose::timers::each_lock(f);
        }
        self.collector.each_lock(f);
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
            self.collector.after_fork();
            for slot in 0..self.threads.slots_used() {
                self.histories.of(slot as u16).after_fork();
            }
            // Alone before the fork, nobody can have been at a cell.
            if self.threads.slots_used() > 1 {
                self.shadow.each_cell(|cell| cell::unlock_after_fork(cell));
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

//! Who may change the cells of a page of the program's memory without locking them.
//!
//! Most memory is used by one thread for a long time, and a locked instruction for each first touch would cost more than
//! all the rest of the check. So each 4 KiB of the program has an owner among the slots. The owner changes cells with plain
//! stores; somebody else who comes takes the page away from him, which costs a system call, and a page that
//! changes hands too often is shared from then on: its cells are locked one by one.
//!
//! ```text
//!   NOBODY --claim--> slot a --take away--> slot b --again, too soon--> SHARED
//!     ^                 |
//!     '---- FREED <-----'  its owner has freed what is in it; whoever comes marks that in the cells first
//! ```
//!
//! Taking away: the taker writes CHANGING, makes every processor see it (`membarrier`), and waits until the owner is not
//! at work in this block. The owner says where he works before he looks at the owner's name, so either he sees CHANGING or
//! the taker sees him at work; he needs no fence for this because `membarrier` gives him one when it matters.
//!
//! | who | may |
//! |---|---|
//! | anybody | change NOBODY to himself or to FREED, by compare-and-exchange |
//! | the owner | change himself to FREED, likewise |
//! | who has locked what was freed ([`crate::freed`]) | change FREED to CHANGING and then to NOBODY |
//! | who holds the block's lock | all other changes |

use core::sync::atomic::{
    AtomicBool, AtomicPtr, AtomicU16, AtomicU32, AtomicU64, AtomicUsize, Ordering, compiler_fence,
};

use crate::cell::Right;
use crate::lifetime;
use crate::runtime::Runtime;
use crate::shadow::{REGION_BITS, Shadow};
use crate::sync::{SpinLock, Waiting};
use crate::sync_places::SyncPage;
use crate::sys;

pub const PAGE_BITS: u32 = 12;
pub const PAGES: usize = crate::shadow::REGION >> PAGE_BITS;

const NOBODY: u16 = 0;
/// Memory in it was freed, and its cells do not say so yet.
const FREED: u16 = 0xfffd;
const CHANGING: u16 = 0xfffe;
pub const SHARED: u16 = 0xffff;
/// Slots from this on own nothing; their pages are shared at once.
const OWNING_SLOTS: u16 = 0xfff0;

/// A page that changes hands again within this many cycles of the last time is shared.
const TOO_SOON: u32 = 1 << 16;
/// So many shared pages in a block, and those that somebody loses there are shared too.
const MOSTLY: usize = 4;
/// Cycles are counted in units of this many, so that 32 bits last.
const UNIT_BITS: u32 = 10;

/// The owners of one block's pages. Lies right before the block's cells.
#[repr(C, align(64))]
pub struct Owners {
    owner: [AtomicU16; PAGES],
    /// When the page last changed hands.
    since: [AtomicU32; PAGES],
    changing: SpinLock,
    /// A bit for each page that ever was somebody's: the cells of the others are empty.
    touched: AtomicU16,
    /// Where the synchronization objects in each page are.
    pub syncs: [AtomicPtr<SyncPage>; PAGES],
}

/// The owners' names come first, so many bytes before the block's cells.
pub const OWNERS_BYTES: usize = size_of::<Owners>();
const _: () = assert!(core::mem::offset_of!(Owners, owner) == 0 && PAGES == 16);

/// Where a slot's strand is at work; 0 if nowhere. On a line of its own, since it is written all the time.
#[repr(align(64))]
pub struct AtWork(AtomicUsize);

impl AtWork {
    pub const fn new() -> Self {
        AtWork(AtomicUsize::new(0))
    }

    /// The strand begins to change cells of the block for `addr`, which is not 0. No handler of a signal runs on it until
    /// the end.
    #[inline(always)]
    pub fn begin(&self, addr: usize) {
        self.0.store(addr, Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
    }

    /// Is the strand changing cells?
    pub fn is_somewhere(&self) -> bool {
        self.0.load(Ordering::Relaxed) != 0
    }

    /// Is it in the block for `addr`, or the next ones, so many altogether?
    fn is_near(&self, addr: usize, blocks: usize) -> bool {
        let at = self.0.load(Ordering::Acquire);
        at != 0 && (at >> REGION_BITS).wrapping_sub(addr >> REGION_BITS) < blocks
    }

    /// And has done so.
    #[inline(always)]
    pub fn end(&self) {
        self.0.store(0, Ordering::Release);
    }
}

/// How fast a slot loses pages to others: how many blocks are taken from it at once.
pub struct Losses(AtomicU64);

/// Blocks that are taken at once at most.
const MOST_AT_ONCE: usize = 16;
/// One more loss within this many units of time is one of a row.
const IN_A_ROW: u64 = 1 << 11;

impl Losses {
    pub const fn new() -> Self {
        Losses(AtomicU64::new(0))
    }

    /// One more: how many blocks to take.
    fn another(&self) -> usize {
        let now = sys::cycles() >> UNIT_BITS;
        let last = self.0.load(Ordering::Relaxed);
        let (then, blocks) = (last >> 8, (last & 0xff) as usize);
        let blocks = if now.wrapping_sub(then) < IN_A_ROW {
            (blocks * 2).clamp(1, MOST_AT_ONCE)
        } else {
            1
        };
        self.0.store(now << 8 | blocks as u64, Ordering::Relaxed);
        blocks
    }
}

impl Default for Losses {
    fn default() -> Self {
        Losses::new()
    }
}

impl Default for AtWork {
    fn default() -> Self {
        AtWork::new()
    }
}

/// What a slot is called among owners. Slots that own nothing share a name that no page's owner ever has.
pub const fn name(slot: u16) -> u16 {
    if slot < OWNING_SLOTS {
        slot + 1
    } else {
        OWNING_SLOTS + 1
    }
}

impl Owners {
    /// Is the page of `addr` the slot's own? Only believable between [`AtWork::begin`] and [`AtWork::end`].
    #[inline(always)]
    pub fn is_own(&self, addr: usize, slot: u16) -> bool {
        self.owner[addr >> PAGE_BITS & (PAGES - 1)].load(Ordering::Relaxed) == name(slot)
    }

    /// By what right whoever has this [`name`] may change cells of the page of `addr`, if he has one already. Only
    /// believable between [`AtWork::begin`] and [`AtWork::end`].
    #[inline(always)]
    pub fn right(&self, addr: usize, name: u16) -> Option<Right> {
        match self.owner[addr >> PAGE_BITS & (PAGES - 1)].load(Ordering::Relaxed) {
            owner if owner == name => Some(Right::Owner),
            SHARED => Some(Right::Locker),
            _ => None,
        }
    }

    /// The page is not the slot's own: makes it so, or finds that it is shared.
    #[inline(never)]
    pub fn settle(&self, rt: &Runtime, addr: usize, slot: u16) -> Right {
        let page = addr >> PAGE_BITS & (PAGES - 1);
        let mut waiting = Waiting::default();
        loop {
            let owner = self.owner[page].load(Ordering::Acquire);
            if owner == SHARED {
                return Right::Locker;
            }
            if owner == name(slot) {
                return Right::Owner;
            }
            if owner == FREED {
                self.mark_freed(rt, addr);
                continue;
            }
            if slot >= OWNING_SLOTS || !barrier_works() {
                self.change(rt, addr, owner, SHARED);
            } else if owner == NOBODY {
                self.touch(page);
                let claimed = self.owner[page].compare_exchange(
                    NOBODY,
                    name(slot),
                    Ordering::AcqRel,
                    Ordering::Relaxed,
                );
                if claimed.is_ok() {
                    return Right::Owner;
                }
            } else if owner != CHANGING {
                let now = (sys::cycles() >> UNIT_BITS) as u32;
                let soon = now.wrapping_sub(self.since[page].load(Ordering::Relaxed)) < TOO_SOON;
                self.change(rt, addr, owner, if soon { SHARED } else { name(slot) });
                self.since[page].store(now, Ordering::Relaxed);
            } else {
                // Who changes it may have to run first.
                waiting.turn();
            }
        }
    }

    /// Was the page of `addr` ever somebody's? If not, its cells are empty.
    #[inline(always)]
    pub fn is_touched(&self, addr: usize) -> bool {
        self.touched.load(Ordering::Acquire) >> (addr >> PAGE_BITS & (PAGES - 1)) & 1 != 0
    }

    /// The page becomes somebody's who may write to its cells.
    fn touch(&self, page: usize) {
        self.touched.fetch_or(1 << page, Ordering::AcqRel);
    }

    /// Makes the page shared, for somebody who must lock one of its cells.
    pub fn share(&self, rt: &Runtime, addr: usize) {
        let page = addr >> PAGE_BITS & (PAGES - 1);
        let mut waiting = Waiting::default();
        loop {
            match self.owner[page].load(Ordering::Acquire) {
                SHARED => return,
                CHANGING => waiting.turn(),
                FREED => self.mark_freed(rt, addr),
                owner => self.change(rt, addr, owner, SHARED),
            }
        }
    }

    /// Takes the page from `from`, unless it has changed hands meanwhile, and gives it to `to`. The other pages of the
    /// block that `from` owns become nobody's on the way, and if he loses one after the other those of the blocks
    /// behind it too: whoever comes for one will likely come for all, and what costs is the system call.
    #[cold]
    fn change(&self, rt: &Runtime, addr: usize, from: u16, to: u16) {
        let page = addr >> PAGE_BITS & (PAGES - 1);
        self.changing.lock();
        if from == NOBODY {
            self.touch(page);
            let _ =
                self.owner[page].compare_exchange(NOBODY, to, Ordering::AcqRel, Ordering::Relaxed);
        } else if self.owner[page].load(Ordering::Acquire) == from && from < CHANGING {
            let history = rt.histories.of(from - 1);
            let mut others: [Option<(&Owners, u32)>; MOST_AT_ONCE] = [None; MOST_AT_ONCE];
            let blocks = history.losses.another();
            for (i, other) in others.iter_mut().enumerate().take(blocks).skip(1) {
                *other = Owners::near(rt, addr, i)
                    .filter(|block| block.changing.try_lock())
                    .map(|block| (block, block.take_all(from)));
            }
            let taken = self.take_all(from);
            sys::barrier_everywhere();
            let mut waiting = Waiting::default();
            while history.at_work.is_near(addr, blocks) {
                waiting.turn();
            }
            for (block, taken) in others.iter().flatten() {
                block.leave_all(*taken);
                block.changing.unlock();
            }
            if taken >> page & 1 != 0 {
                self.owner[page].store(to, Ordering::Release);
            }
            let rest = taken & !(1 << page);
            if self.is_mostly_shared() {
                self.share_all(rest);
            } else {
                self.leave_all(rest);
            }
        }
        self.changing.unlock();
    }

    /// The owners of the block that is `i` blocks behind that of `addr`, if there is one.
    fn near(rt: &Runtime, addr: usize, i: usize) -> Option<&Owners> {
        let addr = addr.checked_add(i << REGION_BITS)?;
        let cell = rt.shadow.existing(addr)?;
        // SAFETY: the shadow gave the cell for this address.
        Some(unsafe { Shadow::owners(addr, cell) })
    }

    /// Begins to take all pages that `from` owns: which those are.
    fn take_all(&self, from: u16) -> u32 {
        let mut taken = 0u32;
        for (i, owner) in self.owner.iter().enumerate() {
            // The owner may be giving it up just now.
            let taking = owner.load(Ordering::Relaxed) == from
                && owner
                    .compare_exchange(from, CHANGING, Ordering::AcqRel, Ordering::Relaxed)
                    .is_ok();
            taken |= (taking as u32) << i;
        }
        taken
    }

    /// These pages are nobody's now.
    fn leave_all(&self, taken: u32) {
        for (i, owner) in self.owner.iter().enumerate() {
            if taken >> i & 1 != 0 {
                owner.store(NOBODY, Ordering::Release);
            }
        }
    }

    /// Are so many pages shared that the others will be?
    fn is_mostly_shared(&self) -> bool {
        let shared = |owner: &&AtomicU16| owner.load(Ordering::Relaxed) == SHARED;
        self.owner.iter().filter(shared).count() >= MOSTLY
    }

    /// These pages are shared now.
    fn share_all(&self, taken: u32) {
        for (i, owner) in self.owner.iter().enumerate() {
            if taken >> i & 1 != 0 {
                owner.store(SHARED, Ordering::Release);
            }
        }
    }

    /// `slot` has freed memory in the page of `addr` whose cells it did not mark. False if the page is not its own, so that
    /// somebody else may be at work in it.
    pub fn give_up(&self, addr: usize, slot: u16) -> bool {
        let owner = &self.owner[addr >> PAGE_BITS & (PAGES - 1)];
        let now = owner.load(Ordering::Acquire);
        let free = |from| {
            owner
                .compare_exchange(from, FREED, Ordering::AcqRel, Ordering::Relaxed)
                .is_ok()
        };
        now == FREED || slot < OWNING_SLOTS && (now == name(slot) || now == NOBODY) && free(now)
    }

    /// A fresh block: `[from, to)` was freed before.
    pub fn begin_freed(&self, from: usize, to: usize) {
        for page in from >> PAGE_BITS..=(to - 1) >> PAGE_BITS {
            self.owner[page & (PAGES - 1)].store(FREED, Ordering::Relaxed);
        }
    }

    /// Marks in the cells of the page of `addr` what was freed there.
    #[cold]
    fn mark_freed(&self, rt: &Runtime, addr: usize) {
        let page = addr >> PAGE_BITS & (PAGES - 1);
        let mut freed = rt.shadow.freed.lock();
        let mine =
            self.owner[page].compare_exchange(FREED, CHANGING, Ordering::AcqRel, Ordering::Relaxed);
        if mine.is_ok() {
            self.touch(page);
            let start = addr >> PAGE_BITS << PAGE_BITS;
            let end = start + (1 << PAGE_BITS);
            for range in freed.overlapping(start, end) {
                lifetime::mark(rt, range);
            }
            freed.cut(start, end);
            self.owner[page].store(NOBODY, Ordering::Release);
        }
    }

    /// # Safety
    /// No other thread may exist.
    pub unsafe fn after_fork(&self) {
        // SAFETY: by the contract.
        unsafe { self.changing.force_unlock() };
        for owner in &self.owner {
            if owner.load(Ordering::Relaxed) == CHANGING {
                owner.store(NOBODY, Ordering::Relaxed);
            }
        }
    }
}

/// Can the kernel make all processors see a change? Asked once.
fn barrier_works() -> bool {
    static ASKED: AtomicBool = AtomicBool::new(false);
    static WORKS: AtomicBool = AtomicBool::new(false);
    if !ASKED.load(Ordering::Acquire) {
        WORKS.store(sys::prepare_barrier_everywhere(), Ordering::Relaxed);
        ASKED.store(true, Ordering::Release);
    }
    WORKS.load(Ordering::Relaxed)
}

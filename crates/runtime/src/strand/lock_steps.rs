//! What the locks held became when one more was taken, here and while those others were held: a cache, as large as the program's
//! many locks make worth it. Of some steps only that they were made is known: then the set after it is the empty one.
//!
//! Who collects reads the caches of all strands while they go on. So a table never moves: a larger one is made, which has
//! all that is known, and the smaller one stays until the strand ends. All of them together are less than twice the last.

use core::alloc::Layout;
use core::sync::atomic::{AtomicPtr, Ordering};

use crate::intern::{LockSetId, StackId};
use crate::locks::{HeldLock, Mode};
use crate::syncvar::SyncId;
use crate::sys;

/// A lock taken, with the locks held before.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct LockStep {
    pub(super) set: LockSetId,
    lock: SyncId,
    pub(super) taken_at: StackId,
    shared: bool,
}

const NO_STEP: LockStep = LockStep {
    set: LockSetId(0),
    lock: SyncId(0),
    taken_at: StackId(0),
    shared: false,
};

impl LockStep {
    #[inline(always)]
    pub(super) fn new(set: LockSetId, taken: HeldLock) -> LockStep {
        LockStep {
            set,
            lock: taken.lock,
            taken_at: taken.taken_at,
            shared: taken.mode == Mode::Shared,
        }
    }

    #[inline(always)]
    fn index(&self, bits: u32) -> usize {
        let mixed = (self.set.0 as u64) << 40 ^ (self.lock.0 as u64) << 20 ^ self.taken_at.0 as u64;
        (mixed.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - bits)) as usize
    }
}

/// A step, and the locks held after it.
type Known = (LockStep, LockSetId);

const NOTHING: Known = (NO_STEP, LockSetId(0));

/// The entries follow.
#[repr(C)]
struct Table {
    smaller: *mut Table,
    /// It has `1 << bits` entries.
    bits: u32,
    entries: [Known; 0],
}

/// The table of who holds no locks, with room for the two that bits of 1 stand for.
#[repr(C)]
struct Nobodys {
    table: Table,
    entries: [Known; 2],
}

// SAFETY: nobody changes it.
unsafe impl Sync for Nobodys {}

static NOBODYS: Nobodys = Nobodys {
    table: Table {
        smaller: core::ptr::null_mut(),
        bits: 1,
        entries: [],
    },
    entries: [NOTHING; 2],
};

/// Sizes of the smallest and the largest table.
const FEWEST: u32 = 7;
const MOST: u32 = 14;

/// The steps that one strand made lately.
pub(super) struct LockSteps {
    table: AtomicPtr<Table>,
    /// How many entries of the table made room for others.
    lost: u32,
}

fn layout(bits: u32) -> Layout {
    let entries = size_of::<Known>() << bits;
    // SAFETY: far below the largest, and the alignment is a type's.
    unsafe { Layout::from_size_align_unchecked(size_of::<Table>() + entries, align_of::<Table>()) }
}

const _: () = assert!(align_of::<Known>() <= align_of::<Table>());

impl LockSteps {
    /// Of a strand that takes no locks.
    pub(super) const fn nobodys() -> LockSteps {
        LockSteps {
            table: AtomicPtr::new((&raw const NOBODYS.table).cast_mut()),
            lost: 0,
        }
    }

    pub(super) fn new() -> LockSteps {
        LockSteps {
            table: AtomicPtr::new(made(FEWEST, core::ptr::null_mut())),
            lost: 0,
        }
    }

    /// # Safety
    /// The table must be there, and the step's index one of its entries.
    #[inline(always)]
    unsafe fn entry(table: *mut Table, step: &LockStep) -> *mut Known {
        // SAFETY: by the contract.
        unsafe {
            let entries: *mut Known = (&raw mut (*table).entries).cast();
            entries.add(step.index((*table).bits))
        }
    }

    /// The locks held after this step.
    #[inline(always)]
    pub(super) fn find(&self, step: &LockStep) -> Option<LockSetId> {
        // SAFETY: its table, which only this strand changes.
        let (known, after) = unsafe { *Self::entry(self.table.load(Ordering::Relaxed), step) };
        (known == *step).then_some(after)
    }

    /// This step ends with these locks held.
    pub(super) fn note(&mut self, step: LockStep, after: LockSetId) {
        let table = self.table.load(Ordering::Relaxed);
        if core::ptr::eq(table, &raw const NOBODYS.table) {
            return;
        }
        // SAFETY: its table, which only this strand changes.
        unsafe {
            let entry = Self::entry(table, &step);
            self.lost += u32::from((*entry).0 != NO_STEP && (*entry).0 != step);
            *entry = (step, after);
            if self.lost >> (*table).bits > 1 && (*table).bits < MOST {
                self.grow(table);
            }
        }
    }

    /// # Safety
    /// The table must be its own.
    #[cold]
    unsafe fn grow(&mut self, table: *mut Table) {
        self.lost = 0;
        // SAFETY: by the contract; each entry of both tables is written by this strand alone.
        unsafe {
            let larger = made((*table).bits + 1, table);
            each(table, |(step, after)| {
                if step != NO_STEP {
                    *Self::entry(larger, &step) = (step, after);
                }
            });
            self.table.store(larger, Ordering::Release);
        }
    }

    /// Calls `f` with each step, as another thread sees them.
    ///
    /// # Safety
    /// The strand must stay there meanwhile. It may go on.
    pub(super) unsafe fn each_seen(steps: *const LockSteps, f: impl FnMut(Known)) {
        // SAFETY: by the contract; a table lives as long as its strand.
        unsafe { each((*steps).table.load(Ordering::Acquire), f) };
    }
}

fn made(bits: u32, smaller: *mut Table) -> *mut Table {
    // SAFETY: the layout has a size; all zeroes is [`NOTHING`].
    unsafe {
        let table: *mut Table = std_alloc::alloc::alloc_zeroed(layout(bits)).cast();
        if table.is_null() {
            sys::die("no memory left for the locks of a thread");
        }
        (*table).smaller = smaller;
        (*table).bits = bits;
        table
    }
}

/// # Safety
/// The table must be there.
unsafe fn each(table: *mut Table, mut f: impl FnMut(Known)) {
    // SAFETY: by the contract; every value of these words is a good one.
    unsafe {
        let entries: *const Known = (&raw const (*table).entries).cast();
        for i in 0..1usize << (*table).bits {
            f(sys::glimpse(entries.add(i)));
        }
    }
}

impl Drop for LockSteps {
    fn drop(&mut self) {
        let mut table = self.table.load(Ordering::Relaxed);
        while !table.is_null() && !core::ptr::eq(table, &raw const NOBODYS.table) {
            // SAFETY: made by [`made`]; nothing points to it any more.
            unsafe {
                let smaller = (*table).smaller;
                std_alloc::alloc::dealloc(table.cast(), layout((*table).bits));
                table = smaller;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(n: u32) -> LockStep {
        LockStep {
            set: LockSetId(n % 7),
            lock: SyncId(n),
            taken_at: StackId(n % 3),
            shared: n.is_multiple_of(2),
        }
    }

    #[test]
    fn a_step_is_found_as_it_was_noted_or_not_at_all() {
        let mut steps = LockSteps::new();
        let many = 5000;
        for round in 0..8 {
            for n in 1..many {
                if let Some(after) = steps.find(&step(n)) {
                    assert_eq!(after, LockSetId(n + 1), "round {round}");
                    continue;
                }
                steps.note(step(n), LockSetId(n + 1));
                assert_eq!(steps.find(&step(n)), Some(LockSetId(n + 1)));
            }
        }
        let known = (1..many)
            .filter(|&n| steps.find(&step(n)).is_some())
            .count();
        assert!(known > 2500, "the table did not grow: {known} are known");
        let mut seen = 0;
        // SAFETY: they stay there.
        unsafe { LockSteps::each_seen(&steps, |(step, _)| seen += usize::from(step != NO_STEP)) };
        assert_eq!(seen, known);
    }

    #[test]
    fn nobody_knows_a_step() {
        let mut nobodys = LockSteps::nobodys();
        nobodys.note(step(1), LockSetId(1));
        assert_eq!(nobodys.find(&step(1)), None);
    }
}

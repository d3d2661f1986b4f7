//! From an address to its shadow cell, with no fixed layout of the address space.
//!
//! One flat table has a word for each 64 KiB of the program's addresses: what must be added to twice an address for the
//! address of its cell (16 bytes for 8), or 0 if there is no block of cells. The
//! table is 16 GiB of address space that reads as zero and costs neither memory nor commit charge; the pages of it that
//! are written become real one by one. Blocks come from arenas that start small and grow.

use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use crate::cell::{self, Cell};
use crate::freed::Freed;
use crate::pages::{Owners, PAGE_BITS};
use crate::sync::{Locked, SpinLock};
use crate::sys;

/// Bytes of the program that one block of cells stands for.
pub const REGION: usize = 1 << REGION_BITS;
pub const REGION_BITS: u32 = 16;
pub const CELLS: usize = REGION / 8;
/// The owners of its pages, then the cells.
const BLOCK_BYTES: usize = size_of::<Owners>() + CELLS * size_of::<Cell>();
/// User addresses have 47 bits.
pub const ADDRESS_BITS: u32 = 47;
const TABLE_BYTES: usize = 8 << (ADDRESS_BITS - REGION_BITS);
const PAGE: usize = 4096;
const FIRST_ARENA: usize = 4 * BLOCK_BYTES;
const LARGEST_ARENA: usize = 64 * BLOCK_BYTES;

type Block = *mut Cell;

const _: () = assert!(size_of::<Cell>() == 2 * 8);

/// The shadow of one process.
pub struct Shadow {
    table: AtomicPtr<AtomicUsize>,
    arena: Locked<Arena>,
    /// What was freed without being marked in its cells.
    pub freed: Freed,
}

struct Arena {
    next: *mut u8,
    end: *mut u8,
    size: usize,
    /// Regions that have a block, for walks over all cells.
    regions: std_alloc::vec::Vec<usize>,
}

// SAFETY: plain memory that only the arena owns.
unsafe impl Send for Arena {}

impl Shadow {
    pub const fn new() -> Self {
        Shadow {
            table: AtomicPtr::new(core::ptr::null_mut()),
            arena: Locked::new(Arena {
                next: core::ptr::null_mut(),
                end: core::ptr::null_mut(),
                size: FIRST_ARENA,
                regions: std_alloc::vec::Vec::new(),
            }),
            freed: Freed::new(),
        }
    }

    /// Reserves the table. False if there is not even address space for it.
    pub fn init(&self) -> bool {
        let table = sys::reserve_zeroes(TABLE_BYTES);
        self.table.store(table.cast(), Ordering::Release);
        !table.is_null()
    }

    /// The table, for the fast path.
    pub fn table(&self) -> *const AtomicUsize {
        self.table.load(Ordering::Relaxed)
    }

    /// The cell of `addr` if its region has been touched.
    #[inline(always)]
    pub fn existing(&self, addr: usize) -> Option<*mut Cell> {
        let region = addr >> REGION_BITS;
        if region >= 1 << (ADDRESS_BITS - REGION_BITS) {
            return None;
        }
        // SAFETY: the table has an entry for each region.
        let distance = unsafe { (*self.table().add(region)).load(Ordering::Acquire) };
        if distance == 0 {
            return None;
        }
        Some(distance.wrapping_add((addr & !7) * 2) as *mut Cell)
    }

    /// The owners of the pages in the region of `addr`, whose cell is `cell`.
    ///
    /// # Safety
    /// `cell` must be what the shadow gave for `addr`.
    #[inline(always)]
    pub unsafe fn owners<'a>(addr: usize, cell: *mut Cell) -> &'a Owners {
        // SAFETY: the owners lie right before the block's first cell.
        unsafe { &*cell.sub((addr % REGION) / 8).cast::<Owners>().sub(1) }
    }

    /// The cell of `addr`, whose block is made if need be; none if there is no memory for it, or no such address.
    #[inline(always)]
    pub fn cell(&self, addr: usize) -> Option<*mut Cell> {
        match self.existing(addr) {
            Some(cell) => Some(cell),
            None => self.make(addr),
        }
    }

    #[cold]
    fn make(&self, addr: usize) -> Option<*mut Cell> {
        let region = addr >> REGION_BITS;
        if region >= 1 << (ADDRESS_BITS - REGION_BITS) {
            return None;
        }
        let mut arena = self.arena.lock();
        // SAFETY: the table has an entry for each region.
        let entry = unsafe { &*self.table().add(region) };
        if entry.load(Ordering::Acquire) == 0 {
            let start = region << REGION_BITS;
            let mut block = arena.take()?;
            if block as usize == start * 2 {
                // Its distance would say that there is none.
                block = arena.take()?;
            }
            let page = entry.as_ptr() as usize & !(PAGE - 1);
            // SAFETY: the page is one of the table's. Made writable again and again is harmless.
            if !unsafe { sys::make_writable(page as *mut u8, PAGE) } {
                return None;
            }
            arena.regions.push(region);
            // Before somebody else looks whether there is a block, or after he has said what was freed.
            let freed = self.freed.lock();
            for (from, to, _) in freed.overlapping(start, start + REGION) {
                // SAFETY: a fresh block that nobody knows, with its owners before it.
                unsafe { Self::owners(start, block) }.begin_freed(from, to);
            }
            entry.store((block as usize).wrapping_sub(start * 2), Ordering::Release);
            drop(freed);
        }
        drop(arena);
        self.existing(addr)
    }

    /// Forgets all accesses to `[start, start + len)`: the memory is fresh.
    pub fn clear(&self, start: usize, len: usize) {
        self.freed.forget(start, start.saturating_add(len));
        self.each_existing(start, len, |cells, count, first_mask, last_mask| {
            for i in 0..count {
                let mut gone = 0xff;
                if i == 0 {
                    gone &= first_mask;
                }
                if i + 1 == count {
                    gone &= last_mask;
                }
                // SAFETY: the cell is inside the block.
                unsafe { cell::forget(cells.add(i), gone) };
            }
        });
    }

    /// Calls `f(cells, count, mask of the first, mask of the last)` for each existing run of cells in the range.
    pub fn each_existing(
        &self,
        start: usize,
        len: usize,
        mut f: impl FnMut(*mut Cell, usize, u8, u8),
    ) {
        let end = start.saturating_add(len).min(1 << ADDRESS_BITS);
        let mut at = start;
        while at < end {
            let stop = ((at | (REGION - 1)) + 1).min(end);
            if let Some(cells) = self.existing(at) {
                let count = (stop - 1) / 8 - at / 8 + 1;
                let first_mask = 0xffu8 << (at % 8);
                let last_mask = 0xffu8 >> (7 - (stop - 1) % 8);
                f(cells, count, first_mask, last_mask);
            }
            at = stop;
        }
    }

    /// Calls `f` for every cell that may be other than empty.
    pub fn each_cell(&self, mut f: impl FnMut(*mut Cell)) {
        self.each_page(|_, cells| {
            cells
                .iter()
                .for_each(|cell| f((&raw const *cell).cast_mut()))
        });
    }

    /// Calls `f` for the cells of every page that was ever touched, with the page's address.
    pub fn each_page(&self, mut f: impl FnMut(usize, &[Cell])) {
        let mut done = 0;
        loop {
            let Some(region) = self.arena.lock().regions.get(done).copied() else {
                return;
            };
            done += 1;
            let start = region << REGION_BITS;
            let Some(cells) = self.existing(start) else {
                continue;
            };
            // SAFETY: the shadow gave the cell for this address.
            let owners = unsafe { Self::owners(start, cells) };
            for page in (start..start + REGION).step_by(1 << PAGE_BITS) {
                if owners.is_touched(page) {
                    const COUNT: usize = (1 << PAGE_BITS) / 8;
                    // SAFETY: the page's cells are inside the block, which is never freed.
                    let cells = unsafe {
                        core::slice::from_raw_parts(cells.add((page - start) / 8), COUNT)
                    };
                    f(page, cells);
                }
            }
        }
    }

    /// Bytes of shadow blocks.
    pub fn bytes(&self) -> usize {
        self.arena.lock().regions.len() * BLOCK_BYTES
    }

    /// Calls `f` for each lock that is held over a fork.
    pub fn each_lock(&self, f: &dyn Fn(&SpinLock)) {
        f(self.arena.spin());
        f(self.freed.spin());
    }

    /// # Safety
    /// No other thread may exist.
    pub unsafe fn after_fork(&self) {
        // SAFETY: by the contract.
        unsafe { self.arena.force_unlock() };
        // SAFETY: as above.
        unsafe { self.freed.after_fork() };
        for &region in &self.arena.lock().regions {
            if let Some(cell) = self.existing(region << REGION_BITS) {
                // SAFETY: the region's first cell; no other thread exists.
                unsafe { Self::owners(region << REGION_BITS, cell).after_fork() };
            }
        }
    }
}

impl Default for Shadow {
    fn default() -> Self {
        Shadow::new()
    }
}

impl Arena {
    fn take(&mut self) -> Option<Block> {
        if self.next == self.end {
            let bytes = self.size;
            let p = sys::map(bytes);
            if p.is_null() {
                return None;
            }
            self.next = p;
            self.end = p.wrapping_add(bytes);
            self.size = (self.size * 2).min(LARGEST_ARENA);
        }
        let block = self.next;
        self.next = block.wrapping_add(BLOCK_BYTES);
        Some(block.wrapping_add(size_of::<Owners>()).cast())
    }
}

#[cfg(test)]
impl Drop for Shadow {
    fn drop(&mut self) {
        let table = self.table.load(Ordering::Relaxed);
        if !table.is_null() {
            // SAFETY: reserved by `init`, and the shadow is gone.
            unsafe { sys::unmap(table.cast(), TABLE_BYTES) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_address_has_its_own_cell() {
        let shadow = Shadow::new();
        assert!(shadow.init());
        assert!(shadow.existing(0x7fff_1234_5678).is_none());
        let a = shadow.cell(0x7fff_1234_5678).unwrap();
        let b = shadow.cell(0x7fff_1234_5680).unwrap();
        assert_eq!(b as usize - a as usize, size_of::<Cell>());
        assert_eq!(shadow.existing(0x7fff_1234_567f), Some(a));
        assert!(shadow.cell(0).is_some());
        assert!(shadow.cell(usize::MAX).is_none());
    }

    #[test]
    fn runs_have_exact_masks() {
        let shadow = Shadow::new();
        assert!(shadow.init());
        shadow.cell(0x10000).unwrap();
        shadow.cell(0x20000).unwrap();
        let mut seen = Vec::new();
        shadow.each_existing(0x1fffd, 5, |_, count, first, last| {
            seen.push((count, first, last))
        });
        assert_eq!(seen, [(1, 0xe0, 0xff), (1, 0xff, 0x03)]);
    }
}

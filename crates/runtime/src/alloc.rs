//! The runtime's own memory: size classes carved from mappings, never from the program's `malloc`.
//!
//! Small blocks come from power-of-two and half-step classes with a free list each; large ones are mappings of their
//! own. The link crate makes [`RuntimeAllocator`] its global allocator. Must not call anything hooked.

use core::alloc::{GlobalAlloc, Layout};
use core::ptr::null_mut;

use crate::sync::{Locked, SpinLock};
use crate::sys;

const CLASSES: [usize; 22] = [
    16, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192,
    12288, 16384, 24576, 32768,
];
const PAGE: usize = 4096;
/// The first slab of a class is small, later ones grow: a program with few threads stays small.
const FIRST_SLAB: usize = 16 << 10;
const LARGEST_SLAB: usize = 1 << 20;

struct Class {
    free: *mut FreeBlock,
    bump: *mut u8,
    bump_end: *mut u8,
    next_slab: usize,
}

struct FreeBlock {
    next: *mut FreeBlock,
}

// SAFETY: the pointers are to memory that only the class owns.
unsafe impl Send for Class {}

impl Class {
    const fn new() -> Self {
        Class {
            free: null_mut(),
            bump: null_mut(),
            bump_end: null_mut(),
            next_slab: FIRST_SLAB,
        }
    }

    fn take(&mut self, size: usize) -> *mut u8 {
        if !self.free.is_null() {
            let block = self.free;
            // SAFETY: blocks in the list were written by `give`.
            self.free = unsafe { (*block).next };
            return block.cast();
        }
        if (self.bump_end as usize) - (self.bump as usize) < size {
            let slab = self.next_slab.max(size * 4).next_multiple_of(PAGE);
            let p = sys::map(slab);
            if p.is_null() {
                return null_mut();
            }
            self.bump = p;
            self.bump_end = p.wrapping_add(slab);
            self.next_slab = (slab * 2).min(LARGEST_SLAB);
        }
        let p = self.bump;
        self.bump = p.wrapping_add(size);
        p
    }

    fn give(&mut self, p: *mut u8) {
        let block: *mut FreeBlock = p.cast();
        // SAFETY: the block is at least 16 bytes, aligned, and its owner gave it up.
        unsafe { (*block).next = self.free };
        self.free = block;
    }
}

static POOL: [Locked<Class>; CLASSES.len()] = [const { Locked::new(Class::new()) }; CLASSES.len()];

/// Allocates from the runtime's own pool.
pub struct RuntimeAllocator;

fn class_of(layout: &Layout) -> Option<usize> {
    // Blocks of a class are aligned to the largest power of two that divides its size; 16 is sure for all of them.
    let want = if layout.align() <= 16 {
        layout.size()
    } else {
        layout.size().max(layout.align()).next_power_of_two()
    };
    if layout.align() > PAGE {
        return None;
    }
    CLASSES
        .iter()
        .position(|&c| c >= want && (layout.align() <= 16 || c.is_power_of_two()))
}

// SAFETY: blocks are disjoint, aligned as asked (slabs are page aligned and hold one size), and live until dealloc.
unsafe impl GlobalAlloc for RuntimeAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        match class_of(&layout) {
            Some(c) => POOL[c].lock().take(CLASSES[c]),
            None => sys::map(layout.size().next_multiple_of(PAGE)),
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        match class_of(&layout) {
            Some(c) => {
                let p = POOL[c].lock().take(CLASSES[c]);
                if !p.is_null() {
                    // SAFETY: the block is as large as its class.
                    unsafe { sys::zero(p.cast(), layout.size()) };
                }
                p
            }
            None => sys::map(layout.size().next_multiple_of(PAGE)),
        }
    }

    unsafe fn dealloc(&self, p: *mut u8, layout: Layout) {
        match class_of(&layout) {
            Some(c) => POOL[c].lock().give(p),
            // SAFETY: such a block is a whole mapping of that length.
            None => unsafe { sys::unmap(p, layout.size().next_multiple_of(PAGE)) },
        }
    }
}

/// Calls `f` for each lock that is held over a fork.
pub fn each_lock(f: &dyn Fn(&SpinLock)) {
    for class in &POOL {
        f(class.spin());
    }
}

/// After fork only one thread is left; whoever held a pool's lock is gone.
///
/// # Safety
/// No other thread may exist.
pub unsafe fn after_fork() {
    for class in &POOL {
        // SAFETY: by the contract.
        unsafe { class.force_unlock() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_aligned_disjoint_and_reused() {
        let a = RuntimeAllocator;
        for (size, align) in [
            (1, 1),
            (16, 16),
            (40, 8),
            (100, 64),
            (5000, 4096),
            (100_000, 16),
        ] {
            let layout = Layout::from_size_align(size, align).unwrap();
            let blocks: Vec<*mut u8> = (0..50)
                .map(|i| {
                    // SAFETY: the layout has a size.
                    let p = unsafe { a.alloc(layout) };
                    assert!(
                        !p.is_null() && (p as usize).is_multiple_of(align),
                        "{size} {align}"
                    );
                    // SAFETY: just allocated.
                    unsafe { core::ptr::write_bytes(p, i, size) };
                    p
                })
                .collect();
            for (i, &p) in blocks.iter().enumerate() {
                // SAFETY: still allocated, written above.
                let bytes = unsafe { core::slice::from_raw_parts(p, size) };
                assert!(bytes.iter().all(|&b| b == i as u8));
            }
            for p in blocks {
                // SAFETY: allocated with this layout, not used again.
                unsafe { a.dealloc(p, layout) };
            }
        }
    }
}

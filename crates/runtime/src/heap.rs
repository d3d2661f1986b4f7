//! The program's heap blocks: where each begins, how large it is, who allocated it and who freed it.
//!
//! Blocks of the C library begin at multiples of 16 and at least 32 bytes apart, so each 32 bytes of the heap have one
//! place for the number of a record, in a page of places that is made when the first block of its 64 KiB appears. A
//! record belongs to a start address for ever: whoever allocates there again writes over it, so the description of a
//! freed block stays as long as its memory is not used again, and nothing is ever searched or locked on the way of
//! `malloc` and `free`. Only [`Heap::describe`] walks, backwards from an address to the block that holds it.

use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

use std_alloc::vec::Vec;

use crate::intern::StackId;
use crate::sync::{Locked, SpinLock};
use crate::sys;
use crate::threads::ThreadId;

/// A heap block, as a report describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    pub start: usize,
    pub size: usize,
    pub thread: ThreadId,
    pub stack: StackId,
    pub freed: Option<(ThreadId, StackId)>,
}

/// What an address that the program wants to free is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Release {
    /// The start of a block, which is freed now.
    Freed { size: usize },
    /// The start of a block that was freed before.
    Again(Block),
    /// Inside a block that is in use.
    Inside(Block),
    /// Nothing we have seen: not ours to judge.
    Unknown,
}

const REGION_BITS: u32 = 16;
const REGION: usize = 1 << REGION_BITS;
const ADDRESS_BITS: u32 = 47;
const PLACE_BITS: u32 = 5;
const PLACES: usize = REGION >> PLACE_BITS;
const TABLE_BYTES: usize = 8 << (ADDRESS_BITS - REGION_BITS);
const PAGE: usize = 4096;
const CHUNK: usize = 1 << 16;
const CHUNKS: usize = 1 << 16;
const SLAB: usize = 64;

/// Numbers of records, one for each 32 bytes of a region; 0 is none.
type Places = [AtomicU32; PLACES];

/// One start address. `state` is 0 before the first block there.
#[derive(Default)]
struct Record {
    state: AtomicU64,
    allocated: AtomicU64,
    freed: AtomicU64,
}

const LIVE: u64 = 1;
/// The start is the upper half of its 32 bytes.
const UPPER: u64 = 2;
const KNOWN: u64 = 4;
const SIZE_SHIFT: u32 = 3;

struct Regions {
    /// All that have places.
    made: Vec<usize>,
    next: *mut Places,
    left: usize,
}

// SAFETY: plain memory that only the heap owns.
unsafe impl Send for Regions {}

/// All heap blocks.
pub struct Heap {
    table: AtomicPtr<AtomicPtr<Places>>,
    regions: Locked<Regions>,
    chunks: [AtomicPtr<Record>; CHUNKS],
    records: AtomicU32,
}

fn origin(thread: ThreadId, stack: StackId) -> u64 {
    (thread.0 as u64) << 32 | stack.0 as u64
}

fn from_origin(word: u64) -> (ThreadId, StackId) {
    (ThreadId((word >> 32) as u32), StackId(word as u32))
}

impl Heap {
    pub const fn new() -> Self {
        Heap {
            table: AtomicPtr::new(core::ptr::null_mut()),
            regions: Locked::new(Regions {
                made: Vec::new(),
                next: core::ptr::null_mut(),
                left: 0,
            }),
            chunks: [const { AtomicPtr::new(core::ptr::null_mut()) }; CHUNKS],
            records: AtomicU32::new(1),
        }
    }

    fn places(&self, addr: usize) -> Option<&Places> {
        let table = self.table.load(Ordering::Acquire);
        let region = addr >> REGION_BITS;
        if table.is_null() || region >= 1 << (ADDRESS_BITS - REGION_BITS) {
            return None;
        }
        // SAFETY: the table has an entry for each region; places are never freed.
        unsafe { (*table.add(region)).load(Ordering::Acquire).as_ref() }
    }

    #[cold]
    fn make_places(&self, addr: usize) -> Option<&Places> {
        let region = addr >> REGION_BITS;
        if region >= 1 << (ADDRESS_BITS - REGION_BITS) {
            return None;
        }
        let mut regions = self.regions.lock();
        if self.table.load(Ordering::Acquire).is_null() {
            self.table
                .store(sys::reserve_zeroes(TABLE_BYTES).cast(), Ordering::Release);
        }
        let table = self.table.load(Ordering::Acquire);
        if table.is_null() {
            return None;
        }
        // SAFETY: the table has an entry for each region.
        let entry = unsafe { &*table.add(region) };
        if entry.load(Ordering::Acquire).is_null() {
            if regions.left == 0 {
                regions.next = sys::map(SLAB * size_of::<Places>()).cast();
                if regions.next.is_null() {
                    return None;
                }
                regions.left = SLAB;
            }
            let page = entry.as_ptr() as usize & !(PAGE - 1);
            // SAFETY: the page is one of the table's. Made writable again and again is harmless.
            if !unsafe { sys::make_writable(page as *mut u8, PAGE) } {
                return None;
            }
            regions.made.push(region);
            entry.store(regions.next, Ordering::Release);
            regions.next = regions.next.wrapping_add(1);
            regions.left -= 1;
        }
        drop(regions);
        self.places(addr)
    }

    fn record(&self, number: u32) -> Option<&Record> {
        let chunk = self.chunks[number as usize / CHUNK].load(Ordering::Acquire);
        if number == 0 || chunk.is_null() {
            None
        } else {
            // SAFETY: a chunk has a record for each of its numbers and is never freed.
            Some(unsafe { &*chunk.add(number as usize % CHUNK) })
        }
    }

    #[cold]
    fn new_record(&self) -> Option<u32> {
        let number = self
            .records
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_add(1))
            .ok()?;
        let chunk = &self.chunks[number as usize / CHUNK];
        if chunk.load(Ordering::Acquire).is_null() {
            let bytes = CHUNK * size_of::<Record>();
            let new: *mut Record = sys::map(bytes).cast();
            if new.is_null() {
                return None;
            }
            if chunk
                .compare_exchange(
                    core::ptr::null_mut(),
                    new,
                    Ordering::AcqRel,
                    Ordering::Acquire,
                )
                .is_err()
            {
                // SAFETY: nobody else saw ours.
                unsafe { sys::unmap(new.cast(), bytes) };
            }
        }
        Some(number)
    }

    fn record_at(&self, addr: usize) -> Option<&Record> {
        let places = self.places(addr)?;
        self.record(places[(addr % REGION) >> PLACE_BITS].load(Ordering::Acquire))
    }

    /// A block was allocated. Its memory is the caller's alone.
    pub fn allocated(&self, start: usize, size: usize, thread: ThreadId, stack: StackId) {
        let Some(places) = self.places(start).or_else(|| self.make_places(start)) else {
            return;
        };
        let place = &places[(start % REGION) >> PLACE_BITS];
        let mut number = place.load(Ordering::Acquire);
        if number == 0 {
            let Some(new) = self.new_record() else { return };
            place.store(new, Ordering::Release);
            number = new;
        }
        let Some(record) = self.record(number) else {
            return;
        };
        record
            .allocated
            .store(origin(thread, stack), Ordering::Relaxed);
        record
            .state
            .store(state(start, size) | LIVE, Ordering::Release);
    }

    /// The program wants to free the block at `start`.
    pub fn freed(&self, start: usize, thread: ThreadId, stack: StackId) -> Release {
        if let Some(record) = self.record_at(start) {
            let old = record.state.load(Ordering::Acquire);
            if old & KNOWN != 0 && (old ^ state(start, 0)) & UPPER == 0 {
                if old & LIVE == 0
                    || record
                        .state
                        .compare_exchange(old, old & !LIVE, Ordering::AcqRel, Ordering::Acquire)
                        .is_err()
                {
                    return Release::Again(block(start, record));
                }
                record.freed.store(origin(thread, stack), Ordering::Relaxed);
                return Release::Freed {
                    size: (old >> SIZE_SHIFT) as usize,
                };
            }
        }
        match self.describe(start) {
            Some(block) if block.freed.is_none() => Release::Inside(block),
            _ => Release::Unknown,
        }
    }

    /// The size of the block that begins at `start` and is in use.
    pub fn size_of(&self, start: usize) -> Option<usize> {
        let state_now = self.record_at(start)?.state.load(Ordering::Acquire);
        let ours = state_now & LIVE != 0 && (state_now ^ state(start, 0)) & UPPER == 0;
        if ours {
            Some((state_now >> SIZE_SHIFT) as usize)
        } else {
            None
        }
    }

    /// The block that `addr` lies in, or lay in if it was freed and is not used again.
    pub fn describe(&self, addr: usize) -> Option<Block> {
        let mut dead: Option<Block> = None;
        let mut region = addr >> REGION_BITS;
        let mut place = (addr % REGION) >> PLACE_BITS;
        loop {
            if let Some(places) = self.places(region << REGION_BITS) {
                for at in (0..=place).rev() {
                    let Some(record) = self.record(places[at].load(Ordering::Acquire)) else {
                        continue;
                    };
                    let state = record.state.load(Ordering::Acquire);
                    let start = (region << REGION_BITS)
                        + (at << PLACE_BITS)
                        + if state & UPPER != 0 { 16 } else { 0 };
                    if state & KNOWN == 0 || start > addr {
                        continue;
                    }
                    let holds = addr - start < (state >> SIZE_SHIFT) as usize;
                    if state & LIVE != 0 {
                        // Blocks in use do not overlap: what lies below the nearest one cannot reach further.
                        return if holds {
                            Some(block(start, record))
                        } else {
                            dead
                        };
                    }
                    if holds && dead.is_none() {
                        dead = Some(block(start, record));
                    }
                }
            }
            let regions = self.regions.lock();
            match regions.made.iter().copied().filter(|&r| r < region).max() {
                Some(lower) => (region, place) = (lower, PLACES - 1),
                None => return dead,
            }
        }
    }

    /// Calls `f` for who allocated and who freed each block that [`Self::describe`] may find. Blocks that were freed and
    /// whose beginning lies inside one that is in use are forgotten.
    pub fn each_origin(&self, mut f: impl FnMut(ThreadId, StackId)) {
        let mut regions = self.regions.lock().made.clone();
        regions.sort_unstable();
        let mut used_up_to = 0;
        for region in regions {
            let Some(places) = self.places(region << REGION_BITS) else {
                continue;
            };
            for (at, place) in places.iter().enumerate() {
                let Some(record) = self.record(place.load(Ordering::Acquire)) else {
                    continue;
                };
                let state = record.state.load(Ordering::Acquire);
                let start = (region << REGION_BITS)
                    + (at << PLACE_BITS)
                    + if state & UPPER != 0 { 16 } else { 0 };
                if state & KNOWN == 0 {
                    continue;
                }
                if state & LIVE != 0 {
                    used_up_to = used_up_to.max(start + (state >> SIZE_SHIFT) as usize);
                } else if start < used_up_to
                    && record
                        .state
                        .compare_exchange(state, 0, Ordering::AcqRel, Ordering::Relaxed)
                        .is_ok()
                {
                    continue;
                }
                for word in [&record.allocated, &record.freed] {
                    let (thread, stack) = from_origin(word.load(Ordering::Relaxed));
                    f(thread, stack);
                }
            }
        }
    }

    /// Calls `f` for each lock that is held over a fork.
    pub fn each_lock(&self, f: &dyn Fn(&SpinLock)) {
        f(self.regions.spin());
    }

    /// # Safety
    /// No other thread may exist.
    pub unsafe fn after_fork(&self) {
        // SAFETY: by the contract.
        unsafe { self.regions.force_unlock() };
    }
}

fn state(start: usize, size: usize) -> u64 {
    (size as u64) << SIZE_SHIFT | KNOWN | if start % 32 >= 16 { UPPER } else { 0 }
}

fn block(start: usize, record: &Record) -> Block {
    let state = record.state.load(Ordering::Acquire);
    let (thread, stack) = from_origin(record.allocated.load(Ordering::Relaxed));
    let freed = if state & LIVE != 0 {
        None
    } else {
        Some(from_origin(record.freed.load(Ordering::Relaxed)))
    };
    Block {
        start,
        size: (state >> SIZE_SHIFT) as usize,
        thread,
        stack,
        freed,
    }
}

impl Default for Heap {
    fn default() -> Self {
        Heap::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heap() -> Box<Heap> {
        Box::new(Heap::new())
    }

    const T: ThreadId = ThreadId(3);
    const S: StackId = StackId(9);

    #[test]
    fn blocks_are_found_by_any_of_their_addresses() {
        let heap = heap();
        heap.allocated(0x7000_0000, 40, T, S);
        heap.allocated(0x7000_0030, 200_000, T, StackId(1));
        assert_eq!(
            heap.describe(0x7000_0027).map(|b| (b.start, b.size)),
            Some((0x7000_0000, 40))
        );
        assert_eq!(heap.describe(0x7000_0028), None);
        assert_eq!(
            heap.describe(0x7000_0030 + 199_999).map(|b| b.stack),
            Some(StackId(1))
        );
        assert_eq!(heap.describe(0x7000_0030 + 200_000), None);
        assert_eq!(heap.describe(0x6fff_ffff), None);
        assert_eq!(heap.size_of(0x7000_0030), Some(200_000));
        assert_eq!(heap.size_of(0x7000_0020), None);
    }

    #[test]
    fn a_freed_block_is_remembered_until_its_memory_is_used_again() {
        let heap = heap();
        heap.allocated(0x10000, 64, T, S);
        assert_eq!(
            heap.freed(0x10010, T, S),
            Release::Inside(heap.describe(0x10000).unwrap())
        );
        assert_eq!(
            heap.freed(0x10000, ThreadId(4), StackId(5)),
            Release::Freed { size: 64 }
        );
        assert_eq!(
            heap.describe(0x10020).unwrap().freed,
            Some((ThreadId(4), StackId(5)))
        );
        assert!(matches!(heap.freed(0x10000, T, S), Release::Again(b) if b.stack == S));
        heap.allocated(0xfff0, 256, T, StackId(7));
        let block = heap.describe(0x10020).unwrap();
        assert_eq!(
            (block.start, block.stack, block.freed),
            (0xfff0, StackId(7), None)
        );
        assert_eq!(heap.freed(0x5_0000, T, S), Release::Unknown);
    }
}

//! What every sequence number stands for: where the access was made, by which calls, and with which locks held.
//!
//! A shadow cell remembers only (slot, number). The history of a slot maps the number back to a [`Record`], so both
//! stacks of a race are always there. Records are written once per (step, place in the code), kept in chunks, and a
//! chunk that no cell names any more is freed by [`crate::runtime::Runtime::collect_history`].
//!
//! | who | may |
//! |---|---|
//! | the strand that owns the slot | append, without a lock, into the chunk it got |
//! | everybody else | read under the slot's lock |

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use std_alloc::boxed::Box;
use std_alloc::vec::Vec;

use crate::intern::{LockSetId, StackId};
use crate::pages::AtWork;
use crate::sync::Locked;
use crate::threads::ThreadId;
pub use crate::timeline::SyncEvent;
use crate::timeline::Timeline;

/// How memory was touched, for the report.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Touch {
    /// No access: a number used up by learning something from another strand.
    Learned = 0,
    Read = 1,
    Write = 2,
    AtomicRead = 3,
    AtomicWrite = 4,
    AtomicReadWrite = 5,
    Free = 6,
    VptrWrite = 7,
    Destroy = 8,
    Alloc = 9,
}

impl Touch {
    fn from_bits(bits: u64) -> Touch {
        match bits {
            1 => Touch::Read,
            2 => Touch::Write,
            3 => Touch::AtomicRead,
            4 => Touch::AtomicWrite,
            5 => Touch::AtomicReadWrite,
            6 => Touch::Free,
            7 => Touch::VptrWrite,
            8 => Touch::Destroy,
            9 => Touch::Alloc,
            _ => Touch::Learned,
        }
    }
}

const PC_BITS: u32 = 48;
const SIZE_SHIFT: u32 = 52;
/// Sizes up to this are exact; larger ones are stored as it.
pub const LARGEST_SIZE: u64 = (1 << (64 - SIZE_SHIFT)) - 1;

/// The place of an access: program counter, how, how many bytes; one word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(transparent)]
pub struct Place(pub u64);

impl Place {
    #[inline(always)]
    pub const fn new(pc: u64, touch: Touch, size: u64) -> Place {
        let size = if size > LARGEST_SIZE { LARGEST_SIZE } else { size };
        Place(pc & ((1 << PC_BITS) - 1) | (touch as u64) << PC_BITS | size << SIZE_SHIFT)
    }
    pub fn pc(self) -> u64 {
        self.0 & ((1 << PC_BITS) - 1)
    }
    pub fn touch(self) -> Touch {
        Touch::from_bits(self.0 >> PC_BITS & 0xf)
    }
    pub fn size(self) -> u64 {
        self.0 >> SIZE_SHIFT
    }
}

/// What one sequence number stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct Record {
    pub place: Place,
    pub caller: StackId,
    pub locks: LockSetId,
}

const _: () = assert!(size_of::<Record>() == 16);

pub const CHUNK_BITS: u32 = 10;
pub const CHUNK: usize = 1 << CHUNK_BITS;

/// Records of [`CHUNK`] numbers in a row.
pub struct Chunk {
    records: [UnsafeCell<Record>; CHUNK],
}

impl Chunk {
    fn new() -> *mut Chunk {
        let layout = core::alloc::Layout::new::<Chunk>();
        // SAFETY: the layout has a size; all zeroes is a valid chunk of `Learned` records.
        unsafe { std_alloc::alloc::alloc_zeroed(layout).cast() }
    }
}

/// The history of one slot.
pub struct SlotHistory {
    chunks: Locked<Vec<*mut Chunk>>,
    /// From which number on the slot belongs to which thread, oldest first.
    owners: Locked<Vec<(u64, ThreadId)>>,
    timeline: Timeline,
    /// Where the slot's strand is changing cells just now.
    pub at_work: AtWork,
}

// SAFETY: chunks are plain memory, owned by the history; see the table above for who touches what.
unsafe impl Sync for SlotHistory {}
// SAFETY: as above.
unsafe impl Send for SlotHistory {}

impl SlotHistory {
    fn new() -> Self {
        SlotHistory {
            chunks: Locked::new(Vec::new()),
            owners: Locked::new(Vec::new()),
            timeline: Timeline::new(),
            at_work: AtWork::new(),
        }
    }

    /// The chunk for number `seq`, made if it is not there; `made` counts the new ones.
    pub fn chunk_for(&self, seq: u64, made: &AtomicU64) -> *mut Chunk {
        let index = (seq >> CHUNK_BITS) as usize;
        let mut chunks = self.chunks.lock();
        if index >= chunks.len() {
            chunks.resize(index + 1, core::ptr::null_mut());
        }
        if chunks[index].is_null() {
            chunks[index] = Chunk::new();
            made.fetch_add(1, Ordering::Relaxed);
        }
        chunks[index]
    }

    /// What `seq` stands for; none if its chunk was freed.
    pub fn record(&self, seq: u64) -> Option<Record> {
        let chunks = self.chunks.lock();
        let chunk = *chunks.get((seq >> CHUNK_BITS) as usize)?;
        if chunk.is_null() {
            return None;
        }
        // SAFETY: the chunk lives while its slot's lock is held; a record is written before its number is published.
        Some(unsafe { *(&(*chunk).records)[seq as usize % CHUNK].get() })
    }

    pub fn set_owner(&self, from: u64, thread: ThreadId) {
        self.owners.lock().push((from, thread));
    }

    pub fn owner(&self, seq: u64) -> ThreadId {
        let owners = self.owners.lock();
        owners.iter().rev().find(|(from, _)| *from <= seq).map_or(ThreadId(0), |&(_, t)| t)
    }

    /// Frees the chunks for which `named` is false, but never the newest; how many were freed.
    pub fn free_unnamed(&self, named: impl Fn(usize) -> bool) -> u64 {
        let mut chunks = self.chunks.lock();
        let newest = chunks.len().saturating_sub(1);
        let mut freed = 0;
        for (index, chunk) in chunks.iter_mut().enumerate() {
            if index != newest && !chunk.is_null() && !named(index) {
                // SAFETY: made by `Chunk::new`; no cell names it and the owner has left it behind.
                unsafe { std_alloc::alloc::dealloc((*chunk).cast(), core::alloc::Layout::new::<Chunk>()) };
                *chunk = core::ptr::null_mut();
                freed += 1;
            }
        }
        freed
    }

    pub fn chunk_count(&self) -> usize {
        self.chunks.lock().len()
    }

    /// Only the strand that owns the slot may call this.
    #[inline(always)]
    pub fn add_event(&self, event: SyncEvent) {
        self.timeline.add(event);
    }

    /// The remembered synchronizations, oldest first.
    pub fn events(&self) -> Vec<SyncEvent> {
        self.timeline.events()
    }

    /// # Safety
    /// No other thread may exist.
    pub unsafe fn after_fork(&self) {
        // SAFETY: by the contract.
        unsafe {
            self.chunks.force_unlock();
            self.owners.force_unlock();
        }
        self.at_work.end();
    }
}

/// Writes the record of `seq` into its chunk.
///
/// # Safety
/// Only the strand that owns the slot may call it, with the chunk that belongs to `seq`, before `seq` is published.
#[inline(always)]
pub unsafe fn write_record(chunk: *mut Chunk, seq: u64, record: Record) {
    // SAFETY: by the contract nobody else reads or writes this record now.
    unsafe { *(&(*chunk).records)[seq as usize % CHUNK].get() = record };
}

/// Slots there can be: 16 bits of a cell's word.
pub const SLOTS: usize = 1 << 16;

/// The histories of all slots.
pub struct Histories {
    slots: [AtomicPtr<SlotHistory>; SLOTS],
    /// Chunks alive, in all slots.
    pub chunks: AtomicU64,
}

impl Histories {
    pub const fn new() -> Self {
        Histories { slots: [const { AtomicPtr::new(core::ptr::null_mut()) }; SLOTS], chunks: AtomicU64::new(0) }
    }

    /// The history of `slot`, made at the first use. Never freed.
    pub fn of(&self, slot: u16) -> &SlotHistory {
        let place = &self.slots[slot as usize];
        let mut p = place.load(Ordering::Acquire);
        if p.is_null() {
            let new = Box::into_raw(Box::new(SlotHistory::new()));
            p = match place.compare_exchange(core::ptr::null_mut(), new, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => new,
                Err(theirs) => {
                    // SAFETY: nobody else saw ours.
                    drop(unsafe { Box::from_raw(new) });
                    theirs
                }
            };
        }
        // SAFETY: set once, never freed.
        unsafe { &*p }
    }

    /// The histories that exist, with their slots.
    pub fn existing(&self) -> impl Iterator<Item = (u16, &SlotHistory)> {
        self.slots.iter().enumerate().filter_map(|(slot, p)| {
            let p = p.load(Ordering::Acquire);
            // SAFETY: set once, never freed.
            if p.is_null() { None } else { Some((slot as u16, unsafe { &*p })) }
        })
    }
}

impl Default for Histories {
    fn default() -> Self {
        Histories::new()
    }
}

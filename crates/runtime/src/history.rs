//! What every sequence number stands for: where the access was made, by which calls, and with which locks held.
//!
//! A shadow cell remembers only (slot, number). The history of a slot maps the number back to a [`Record`], so both
//! stacks of a race are always there. Records are written once per (step, place in the code) and kept in chunks; those that no
//! cell names any more are given up by [`crate::collect`]. A chunk that was reduced while its slot had no strand is whole
//! again as soon as a strand goes on there.
//!
//! | who | may |
//! |---|---|
//! | the strand that owns the slot | append, without a lock, into the chunk it got |
//! | everybody else | read under the slot's lock |

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};

use deadheat_detect::entry::{Entry, MASK};
use std_alloc::boxed::Box;
use std_alloc::collections::BTreeMap;
use std_alloc::vec::Vec;

use crate::intern::{LockSetId, StackId};
use crate::pages::{AtWork, Losses};
use crate::sync::Locked;
use crate::threads::ThreadId;
pub use crate::timeline::SyncEvent;
use crate::timeline::{RING_BYTES, Retired, Timeline};

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
    /// Two earlier numbers of the same step, for different bytes ([`Place::both`]).
    Both = 10,
}

impl Touch {
    /// Does its record tell a program counter?
    pub fn is_access(self) -> bool {
        !matches!(self, Touch::Learned | Touch::Both)
    }

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
            10 => Touch::Both,
            _ => Touch::Learned,
        }
    }
}

const PC_BITS: u32 = 48;
pub const SIZE_SHIFT: u32 = 52;
/// How far numbers can be apart that one number stands for.
pub const BOTH_REACH: u64 = 1 << BOTH_BITS;
const BOTH_BITS: u32 = PC_BITS / 2;
/// Sizes up to this are exact; larger ones are stored as it.
pub const LARGEST_SIZE: u64 = (1 << (64 - SIZE_SHIFT)) - 1;

/// The place of an access: program counter, how, how many bytes; one word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(transparent)]
pub struct Place(pub u64);

impl Place {
    #[inline(always)]
    pub const fn new(pc: u64, touch: Touch, size: u64) -> Place {
        let size = if size > LARGEST_SIZE {
            LARGEST_SIZE
        } else {
            size
        };
        Place(pc & ((1 << PC_BITS) - 1) | (touch as u64) << PC_BITS | size << SIZE_SHIFT)
    }

    /// The place of a number that stands for two earlier ones of its slot, less than [`BOTH_REACH`] before it: the first
    /// for `bytes`, the second for all others.
    #[inline(always)]
    pub const fn both(first: u64, bytes: u8, second: u64) -> Place {
        let (low, high) = (first % BOTH_REACH, second % BOTH_REACH);
        let touch = (Touch::Both as u64) << PC_BITS;
        Place(low | high << BOTH_BITS | touch | (bytes as u64) << SIZE_SHIFT)
    }

    /// The two numbers, and the bytes of the first, if this is the place of `seq` and made by [`Self::both`].
    pub fn two(self, seq: u64) -> Option<(u64, u8, u64)> {
        let before = |low: u64| seq - (seq.wrapping_sub(low) % BOTH_REACH);
        (self.touch() == Touch::Both).then(|| {
            let (low, high) = (self.0 % BOTH_REACH, self.0 >> BOTH_BITS & (BOTH_REACH - 1));
            (before(low), self.size() as u8, before(high))
        })
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

/// What is kept of [`CHUNK`] numbers in a row.
enum Kept {
    /// All of them: the strand is or was lately at work here.
    All(*mut Chunk),
    /// Those that a cell still named at the last collection.
    Some(Box<Reduced>),
}

/// Some of the records of a chunk, in their order, and which they are.
struct Reduced {
    named: Named,
    records: Box<[Record]>,
}

impl Reduced {
    fn record(&self, place: usize) -> Option<Record> {
        let (word, bit) = (place / 64, place % 64);
        if self.named[word] >> bit & 1 == 0 {
            return None;
        }
        let before = count(&self.named[..word]);
        let here = (self.named[word] & ((1 << bit) - 1)).count_ones() as usize;
        Some(self.records[before + here])
    }
}

/// How many bits are set.
fn count(bits: &[u64]) -> usize {
    bits.iter().map(|word| word.count_ones() as usize).sum()
}

/// Calls `f` with the place of each bit that is set.
fn each_place(named: &Named, mut f: impl FnMut(usize)) {
    for (word, &bits) in named.iter().enumerate() {
        let mut left = bits;
        while left != 0 {
            f(word * 64 + left.trailing_zeros() as usize);
            left &= left - 1;
        }
    }
}

impl Kept {
    fn bytes(&self) -> u64 {
        match self {
            Kept::All(_) => size_of::<Chunk>() as u64,
            Kept::Some(kept) => (size_of::<Reduced>() + size_of_val::<[_]>(&kept.records)) as u64,
        }
    }

    fn record(&self, place: usize) -> Option<Record> {
        match self {
            // SAFETY: the chunk lives while its slot's lock is held; a record is written before its number is published.
            Kept::All(chunk) => Some(unsafe { *(&(**chunk).records)[place].get() }),
            Kept::Some(kept) => kept.record(place),
        }
    }

    /// Gives up the records for which there is no bit in `named`.
    fn reduce(&mut self, named: &Named) {
        let mut named = *named;
        if let Kept::Some(kept) = self {
            for (bits, there) in named.iter_mut().zip(kept.named) {
                *bits &= there;
            }
            if named == kept.named {
                return;
            }
        }
        let mut records = Vec::with_capacity(count(&named));
        match self {
            Kept::Some(kept) => {
                let mut next = 0;
                each_place(&kept.named, |place| {
                    if named[place / 64] >> (place % 64) & 1 != 0 {
                        records.push(kept.records[next]);
                    }
                    next += 1;
                });
            }
            Kept::All(_) => each_place(&named, |place| records.extend(self.record(place))),
        }
        *self = Kept::Some(Box::new(Reduced {
            named,
            records: records.into_boxed_slice(),
        }));
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        if let Kept::All(chunk) = *self {
            // SAFETY: made by `Chunk::new`; the owner has left it behind, and the slot's lock is held.
            unsafe { std_alloc::alloc::dealloc(chunk.cast(), core::alloc::Layout::new::<Chunk>()) };
        }
    }
}

/// A thread that had the slot, from its first number to before another one.
#[derive(Clone, Copy)]
struct Owner {
    first: u64,
    end: u64,
    thread: ThreadId,
}

/// A bit for each number of a chunk: does a cell name it?
pub type Named = [u64; CHUNK / 64];

/// The history of one slot.
pub struct SlotHistory {
    /// By the upper bits of the number.
    chunks: Locked<BTreeMap<u64, Kept>>,
    /// Which thread has had which numbers, oldest first.
    owners: Locked<Vec<Owner>>,
    timeline: Timeline,
    /// Some record may stand for two numbers.
    has_both: AtomicBool,
    /// The timeline's ring is counted among the bytes of histories.
    ring_counted: AtomicBool,
    /// Where the slot's strand is changing cells just now.
    pub at_work: AtWork,
    /// How fast others take pages from it.
    pub losses: Losses,
}

// SAFETY: chunks are plain memory, owned by the history; see the table above for who touches what.
unsafe impl Sync for SlotHistory {}
// SAFETY: as above.
unsafe impl Send for SlotHistory {}

impl SlotHistory {
    fn new() -> Self {
        SlotHistory {
            chunks: Locked::new(BTreeMap::new()),
            owners: Locked::new(Vec::new()),
            timeline: Timeline::new(),
            has_both: AtomicBool::new(false),
            ring_counted: AtomicBool::new(false),
            at_work: AtWork::new(),
            losses: Losses::new(),
        }
    }

    /// The chunk for number `seq`, made if it is not there or was reduced; `bytes` grows by what that takes.
    pub fn chunk_for(&self, seq: u64, bytes: &AtomicU64) -> *mut Chunk {
        let mut chunks = self.chunks.lock();
        let index = seq >> CHUNK_BITS;
        if let Some(Kept::All(chunk)) = chunks.get(&index) {
            return *chunk;
        }
        if !self.ring_counted.swap(true, Ordering::Relaxed) {
            bytes.fetch_add(RING_BYTES, Ordering::Relaxed);
        }
        let chunk = Chunk::new();
        if !chunk.is_null() {
            let new = Kept::All(chunk);
            bytes.fetch_add(new.bytes(), Ordering::Relaxed);
            if let Some(reduced) = chunks.insert(index, new) {
                bytes.fetch_sub(reduced.bytes(), Ordering::Relaxed);
                if let Kept::Some(kept) = &reduced {
                    let mut records = kept.records.iter();
                    each_place(&kept.named, |place| {
                        if let Some(&record) = records.next() {
                            // SAFETY: a fresh chunk that only the holder of the slot's lock can reach.
                            unsafe { write_record(chunk, place as u64, record) };
                        }
                    });
                }
            }
        }
        chunk
    }

    /// The upper bits of the numbers in the newest chunk.
    pub fn newest(&self) -> u64 {
        self.chunks.lock().keys().next_back().copied().unwrap_or(0)
    }

    /// What `seq` stands for; none if it was given up.
    pub fn record(&self, seq: u64) -> Option<Record> {
        self.chunks
            .lock()
            .get(&(seq >> CHUNK_BITS))?
            .record(seq as usize % CHUNK)
    }

    /// A number that stands for two is about to be used.
    #[inline(always)]
    pub fn expect_both(&self) {
        if !self.has_both.load(Ordering::Relaxed) {
            self.has_both.store(true, Ordering::Relaxed);
        }
    }

    /// May some record stand for two numbers?
    pub fn may_have_both(&self) -> bool {
        self.has_both.load(Ordering::Relaxed)
    }

    /// Calls `f` with the parts of each number of a chunk that has a bit in `named` and stands for two, the highest first.
    pub fn each_two(&self, chunk: u64, named: &mut Named, mut f: impl FnMut(&mut Named, [u64; 2])) {
        let chunks = self.chunks.lock();
        let Some(kept) = chunks.get(&chunk) else {
            return;
        };
        for word in (0..CHUNK / 64).rev() {
            for bit in (0..64).rev() {
                if named[word] >> bit & 1 == 0 {
                    continue;
                }
                let place = word * 64 + bit;
                let seq = chunk << CHUNK_BITS | place as u64;
                let two = kept.record(place).and_then(|record| record.place.two(seq));
                if let Some((first, _, second)) = two {
                    f(named, [first, second]);
                }
            }
        }
    }

    /// Calls `f` for each access that an entry of this slot stands for, with its own number and bytes, and its record
    /// unless that was given up.
    pub fn each_access(&self, entry: Entry, f: &mut impl FnMut(Entry, Option<Record>)) {
        if entry.mask() == 0 {
            return;
        }
        let record = self.record(entry.seq());
        match record.and_then(|record| record.place.two(entry.seq())) {
            None => f(entry, record),
            Some((first, bytes, second)) => {
                let of = |seq, bytes: u8| Entry(entry.with_seq(seq).0 & !(MASK & !(bytes as u64)));
                self.each_access(of(first, bytes), f);
                self.each_access(of(second, !bytes), f);
            }
        }
    }

    /// From number `first` on the slot is that thread's.
    pub fn set_owner(&self, first: u64, thread: ThreadId) {
        let mut owners = self.owners.lock();
        if let Some(last) = owners.last_mut() {
            last.end = last.end.min(first);
        }
        owners.push(Owner {
            first,
            end: u64::MAX,
            thread,
        });
    }

    pub fn owner(&self, seq: u64) -> ThreadId {
        self.ownership(seq)
            .map_or(ThreadId(0), |owner| owner.thread)
    }

    fn ownership(&self, seq: u64) -> Option<Owner> {
        let owners = self.owners.lock();
        let after = owners.partition_point(|owner| owner.first <= seq);
        let owner = owners[after.checked_sub(1)?];
        (seq < owner.end).then_some(owner)
    }

    /// Gives up the records below chunk `from` that have no bit in `named`. The bytes that this frees.
    ///
    /// `from` is above all chunks only if no strand has the slot, and none can get it meanwhile.
    pub fn collect(&self, from: u64, named: impl Fn(u64) -> Option<Named>) -> u64 {
        let mut chunks = self.chunks.lock();
        let mut freed = 0;
        chunks.retain(|&index, kept| {
            if index >= from {
                return true;
            }
            freed += kept.bytes();
            let Some(named) = named(index) else {
                return false;
            };
            kept.reduce(&named);
            freed -= kept.bytes().min(freed);
            true
        });
        // Who has no record left is not asked for, unless he is the one who goes on here.
        self.owners.lock().retain(|owner| {
            (owner.end == u64::MAX && from != u64::MAX) || any_kept(&chunks, owner.first, owner.end)
        });
        freed
    }

    /// Calls `f` for each pair of calls and locks that a record has which is kept, and `who` for each thread that has some.
    pub fn each_kept(&self, mut f: impl FnMut(StackId, LockSetId), mut who: impl FnMut(ThreadId)) {
        let chunks = self.chunks.lock();
        // Neighbours often have the same.
        let mut last = (StackId(0), LockSetId(0));
        let mut look = |record: Record| {
            let has = (record.caller, record.locks);
            if has != last {
                f(record.caller, record.locks);
                last = has;
            }
        };
        for kept in chunks.values() {
            match kept {
                Kept::Some(kept) => kept.records.iter().for_each(|&record| look(record)),
                Kept::All(chunk) => {
                    // SAFETY: the chunk lives while its slot's lock is held.
                    for record in unsafe { &(**chunk).records } {
                        // SAFETY: a record that is being written is of a present step, whose strand is asked itself.
                        look(unsafe { *record.get() });
                    }
                }
            }
        }
        drop(chunks);
        let owners = self.owners.lock();
        owners.iter().for_each(|owner| who(owner.thread));
    }

    /// Only the strand that owns the slot may call this.
    #[inline(always)]
    pub fn add_event(&self, event: SyncEvent) {
        self.timeline.add(event);
    }

    /// The remembered synchronizations of the thread that has number `seq`, oldest first.
    pub fn events(&self, seq: u64) -> Vec<SyncEvent> {
        let mut events = self.timeline.events();
        if let Some(owner) = self.ownership(seq) {
            events.retain(|event| (owner.first..owner.end).contains(&event.at));
        }
        events
    }

    /// All remembered synchronizations.
    pub fn all_events(&self) -> Vec<SyncEvent> {
        self.timeline.events()
    }

    /// No strand has the slot, and none can get it meanwhile: what its timeline can spare.
    pub fn reduce_timeline(&self, bytes: &AtomicU64) -> Option<Retired> {
        if self.ring_counted.swap(false, Ordering::Relaxed) {
            bytes.fetch_sub(RING_BYTES, Ordering::Relaxed);
        }
        let asked = !self.owners.lock().is_empty();
        self.timeline.reduce(asked)
    }

    /// # Safety
    /// No other thread may exist.
    pub unsafe fn after_fork(&self) {
        // SAFETY: by the contract.
        unsafe {
            self.chunks.force_unlock();
            self.owners.force_unlock();
            self.timeline.after_fork();
        }
        self.at_work.end();
    }
}

/// Is a record of a number in `[first, end)` kept?
fn any_kept(chunks: &BTreeMap<u64, Kept>, first: u64, end: u64) -> bool {
    let mut range = chunks.range(first >> CHUNK_BITS..=(end - 1) >> CHUNK_BITS);
    range.any(|(&index, kept)| match kept {
        Kept::All(_) => true,
        Kept::Some(kept) => {
            let mut any = false;
            each_place(&kept.named, |place| {
                let seq = index << CHUNK_BITS | place as u64;
                any |= (first..end).contains(&seq);
            });
            any
        }
    })
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
    /// Bytes of records, in all slots.
    pub bytes: AtomicU64,
}

impl Histories {
    pub const fn new() -> Self {
        Histories {
            slots: [const { AtomicPtr::new(core::ptr::null_mut()) }; SLOTS],
            bytes: AtomicU64::new(0),
        }
    }

    /// The history of `slot`, made at the first use. Never freed.
    pub fn of(&self, slot: u16) -> &SlotHistory {
        let place = &self.slots[slot as usize];
        let mut p = place.load(Ordering::Acquire);
        if p.is_null() {
            let new = Box::into_raw(Box::new(SlotHistory::new()));
            p = match place.compare_exchange(
                core::ptr::null_mut(),
                new,
                Ordering::AcqRel,
                Ordering::Acquire,
            ) {
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
            unsafe { p.as_ref() }.map(|history| (slot as u16, history))
        })
    }
}

impl Default for Histories {
    fn default() -> Self {
        Histories::new()
    }
}

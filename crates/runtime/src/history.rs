//! What every sequence number stands for: where the access was made, by which calls, and with which locks held.
//!
//! A shadow cell remembers only (slot, number). The history of a slot maps the number back to a [`Record`], so both
//! stacks of a race are always there. A program is at few places again and again, step after step: so a number is mapped to
//! the [`SiteId`] of a site, which is written only if the strand has not used it lately, and the locks held are noted when they
//! change (`held`). All are kept in chunks
//! (`chunks`); those that no cell names any more are given up by [`crate::collect`]. A chunk that was reduced while its slot had no
//! strand is whole again as soon as a strand goes on there.
//!
//! | who | may |
//! |---|---|
//! | the strand that owns the slot | append, without a lock, into the chunks it got |
//! | everybody else | read under the slot's lock |

use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};

use deadheat_detect::entry::{Entry, MASK};
use hashbrown::HashMap;
use std_alloc::boxed::Box;
use std_alloc::vec::Vec;

pub use self::chunks::{CHUNK, CHUNK_BITS, Chunk, Named, highest};
use self::chunks::{Chunks, name_in};
use self::held::Change;
pub use self::held::Notes;
pub use self::place::{BOTH_REACH, LARGEST_SIZE, Place, SIZE_SHIFT, Touch};
use crate::intern::StackId;
use crate::locks::Holding;
use crate::pages::{AtWork, Losses};
use crate::spread::Spread;
use crate::sync::Locked;
use crate::threads::ThreadId;
pub use crate::timeline::SyncEvent;
use crate::timeline::{RING_BYTES, Retired, Timeline};

mod chunks;
mod held;
mod place;

/// What one sequence number stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Record {
    pub place: Place,
    pub caller: StackId,
    pub locks: Holding,
}

impl Record {
    pub fn site(&self) -> Site {
        Site {
            place: self.place,
            caller: self.caller,
        }
    }
}

/// What numbers of one place have in common.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct Site {
    pub place: Place,
    pub caller: StackId,
}

const _: () = assert!(size_of::<Site>() == 16);

impl Site {
    /// Of a number that is no access.
    const LEARNED: Site = Site {
        place: Place::new(0, Touch::Learned, 0),
        caller: StackId(0),
    };
}

/// The number of a site among those of its slot. They are given out in order, from 1 on; after the highest they begin
/// again, with those that are not in use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(transparent)]
pub struct SiteId(pub u32);

impl SiteId {
    /// Stands for [`Site::LEARNED`].
    pub const NONE: SiteId = SiteId(0);
    /// A strand uses a site again only if it is among so many that it made last.
    pub const REUSED: u32 = 8 * CHUNK as u32;

    fn chunk(self) -> u64 {
        self.0 as u64 >> CHUNK_BITS
    }

    pub fn next(self) -> SiteId {
        SiteId(self.0.wrapping_add(1))
    }

    /// Does the next one need another chunk?
    #[inline(always)]
    pub fn ends_chunk(self) -> bool {
        (self.0.wrapping_add(1) as usize).is_multiple_of(CHUNK)
    }

    /// May a strand whose last one is `last` use this one again?
    #[inline(always)]
    pub fn is_recent(self, last: SiteId) -> bool {
        last.0.wrapping_sub(self.0) < Self::REUSED
    }

    /// The lowest one that a strand may use again whose last one is this.
    pub fn oldest_recent(self) -> SiteId {
        SiteId(self.0.wrapping_sub(Self::REUSED - 1))
    }
}

/// From which chunk of numbers, and of which site, on a strand may name what no cell names yet.
#[derive(Clone, Copy)]
pub struct Present {
    pub chunk: u64,
    pub site: SiteId,
    /// So many changes of what is held were noted ([`Notes`]): the next one may still be in the chunk of the last.
    pub held: u64,
}

impl Present {
    /// May a strand use sites of this chunk? Those that are half of all numbers away are old.
    fn has_sites(&self, chunk: u64) -> bool {
        chunk.wrapping_sub(self.site.chunk()) % SITE_CHUNKS < SITE_CHUNKS / 2
    }
}

/// How many chunks of sites there can be.
const SITE_CHUNKS: u64 = 1 << (32 - CHUNK_BITS);

/// A thread that had the slot, from its first number to before another one.
#[derive(Clone, Copy)]
struct Owner {
    first: u64,
    end: u64,
    thread: ThreadId,
}

/// What is kept of a slot's numbers.
struct Kept {
    /// What each number stands for.
    numbers: Chunks<SiteId>,
    sites: Chunks<Site>,
    held: Chunks<Change>,
}

impl Kept {
    fn site(&self, seq: u64) -> Option<Site> {
        match self.numbers.get(seq)? {
            SiteId::NONE => Some(Site::LEARNED),
            site => self.sites.get(site.0 as u64),
        }
    }

    fn record(&self, seq: u64) -> Option<Record> {
        let Site { place, caller } = self.site(seq)?;
        Some(Record {
            place,
            caller,
            locks: held::held_at(&self.held, seq),
        })
    }

    /// A bit for each site that a number stands for.
    fn named_sites(&self) -> NamedSites {
        let mut named = NamedSites::new();
        self.numbers.each(|site| {
            if site != SiteId::NONE {
                named.add(site);
            }
        });
        named
    }
}

/// Sites that are named, by chunk. Numbers in a row are of few chunks.
struct NamedSites {
    places: HashMap<u64, usize, Spread>,
    chunks: Vec<Named>,
    /// Where the chunks are that were named lately.
    near: [(u64, usize); NEAR],
}

const NEAR: usize = 16;

impl NamedSites {
    fn new() -> Self {
        NamedSites {
            places: HashMap::with_hasher(Spread),
            chunks: Vec::new(),
            near: [(u64::MAX, 0); NEAR],
        }
    }

    #[inline(always)]
    fn add(&mut self, site: SiteId) {
        let near = &mut self.near[site.chunk() as usize % NEAR];
        if near.0 != site.chunk() {
            let chunks = &mut self.chunks;
            let place = *self.places.entry(site.chunk()).or_insert_with(|| {
                chunks.push([0; CHUNK / 64]);
                chunks.len() - 1
            });
            *near = (site.chunk(), place);
        }
        name_in(&mut self.chunks[near.1], site.0 as u64);
    }

    fn of_chunk(&self, chunk: u64) -> Option<Named> {
        self.places.get(&chunk).map(|&place| self.chunks[place])
    }
}

/// The history of one slot.
pub struct SlotHistory {
    kept: Locked<Kept>,
    /// The last site of the strand that had the slot before, or one that a strand made some chunks ago.
    last_site: AtomicU32,
    /// How many changes of what is held were noted when its last strand ended.
    held_noted: AtomicU64,
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
            kept: Locked::new(Kept {
                numbers: Chunks::new(),
                sites: Chunks::new(),
                held: Chunks::new(),
            }),
            last_site: AtomicU32::new(0),
            held_noted: AtomicU64::new(0),
            owners: Locked::new(Vec::new()),
            timeline: Timeline::new(),
            has_both: AtomicBool::new(false),
            ring_counted: AtomicBool::new(false),
            at_work: AtWork::new(),
            losses: Losses::new(),
        }
    }

    /// The chunk for number `seq`, made if it is not there or was reduced; `bytes` grows by what that takes.
    pub fn chunk_for(&self, seq: u64, bytes: &AtomicU64) -> *mut Chunk<SiteId> {
        if !self.ring_counted.swap(true, Ordering::Relaxed) {
            bytes.fetch_add(RING_BYTES, Ordering::Relaxed);
        }
        self.kept.lock().numbers.whole(seq >> CHUNK_BITS, bytes)
    }

    /// The last site that a strand made which had the slot.
    pub fn last_site(&self) -> SiteId {
        SiteId(self.last_site.load(Ordering::Relaxed))
    }

    /// A strand that has, or had, the slot made this one last.
    pub fn note_site(&self, last: SiteId) {
        self.last_site.store(last.0, Ordering::Relaxed);
    }

    /// The chunk with the site after `last`, the same as that one's.
    pub fn sites_after(&self, last: SiteId, bytes: &AtomicU64) -> *mut Chunk<Site> {
        self.kept.lock().sites.whole(last.next().chunk(), bytes)
    }

    /// A chunk for the sites after `last`, another than that one's, and the number before the first of them.
    pub fn more_sites(&self, last: SiteId, bytes: &AtomicU64) -> (SiteId, *mut Chunk<Site>) {
        let mut kept = self.kept.lock();
        let mut chunk = last.next().chunk();
        while kept.sites.has(chunk) {
            chunk = (chunk + 1) % SITE_CHUNKS;
        }
        let first = (chunk << CHUNK_BITS) as u32;
        // Number 0 is none.
        let before = if first == 0 { 0 } else { first - 1 };
        (SiteId(before), kept.sites.whole(chunk, bytes))
    }

    /// Where a strand that begins now, with number `seq`, notes what it holds: nothing yet.
    pub fn begin_notes(&self, seq: u64, bytes: &AtomicU64) -> Notes {
        let mut count = self.held_noted.load(Ordering::Relaxed);
        let kept = self.kept.lock();
        if !kept.held.has_whole(count >> CHUNK_BITS) {
            // What is left of a chunk that was reduced is not added to.
            count = count.next_multiple_of(CHUNK as u64);
        }
        let before = held::held_at(&kept.held, seq);
        drop(kept);
        let mut notes = Notes::after(count);
        if before != Holding::NOTHING {
            // Who was here before has ended with locks held.
            self.note_held(&mut notes, seq, Holding::NOTHING, bytes);
        }
        notes
    }

    /// The slot's strand holds this from number `first` on.
    #[inline(always)]
    pub fn note_held(&self, notes: &mut Notes, first: u64, held: Holding, bytes: &AtomicU64) {
        if !notes.add(first, held) {
            notes.add_to(&mut self.kept.lock().held, bytes, first, held);
        }
    }

    /// The slot's strand ends.
    pub fn end_notes(&self, notes: &Notes) {
        self.held_noted.store(notes.count, Ordering::Relaxed);
    }

    /// From where on a strand may use what is here that begins now.
    pub fn present(&self) -> Present {
        Present {
            chunk: self.kept.lock().numbers.newest(),
            site: self.last_site(),
            held: self.held_noted.load(Ordering::Relaxed),
        }
    }

    /// What `seq` stands for; none if it was given up.
    pub fn record(&self, seq: u64) -> Option<Record> {
        self.kept.lock().record(seq)
    }

    /// Where the access was made that `seq` stands for; none if it stands for two, or was given up.
    pub fn site_of_one(&self, seq: u64) -> Option<Site> {
        let site = self.kept.lock().site(seq)?;
        site.place.two(seq).is_none().then_some(site)
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
        let kept = self.kept.lock();
        let Some(site_at) = kept.numbers.within(chunk) else {
            return;
        };
        // Numbers in a row are of few chunks of sites.
        let mut near = [(u64::MAX, None); NEAR];
        for word in (0..CHUNK / 64).rev() {
            // Parts are lower than what stands for them, so they may be added to those that are left.
            let mut left = named[word];
            while left != 0 {
                let bit = left.ilog2() as usize;
                let seq = chunk << CHUNK_BITS | (word * 64 + bit) as u64;
                let id = site_at(word * 64 + bit).unwrap_or(SiteId::NONE);
                let (of, sites) = &mut near[id.chunk() as usize % NEAR];
                if *of != id.chunk() {
                    (*of, *sites) = (id.chunk(), kept.sites.within(id.chunk()));
                }
                let site = sites.as_ref().and_then(|site| site(id.0 as usize % CHUNK));
                let two = site.and_then(|site| site.place.two(seq));
                if let Some((first, _, second)) = two.filter(|_| id != SiteId::NONE) {
                    f(named, [first, second]);
                }
                left = named[word] & ((1 << bit) - 1);
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

    /// Gives up the numbers that have no bit in `named`, and the sites and notes of locks that no number needs any more. A strand may
    /// still name what is `present`; none only if no strand has the slot, and none can get it meanwhile. The bytes that
    /// this frees.
    pub fn collect(&self, present: Option<Present>, named: impl Fn(u64) -> Option<Named>) -> u64 {
        let mut kept = self.kept.lock();
        let whole = |chunk| present.is_some_and(|present| chunk >= present.chunk);
        let mut freed = kept.numbers.reduce(whole, named);
        let sites = kept.named_sites();
        let whole = |chunk| present.is_some_and(|present| present.has_sites(chunk));
        freed += kept.sites.reduce(whole, |chunk| sites.of_chunk(chunk));
        let held = held::needed(&kept.held, &kept.numbers);
        let whole = |chunk| {
            present.is_some_and(|present| chunk >= present.held.saturating_sub(1) >> CHUNK_BITS)
        };
        freed += kept.held.reduce(whole, |chunk| held.of_chunk(chunk));
        // Who has no number left is not asked for, unless he is the one who goes on here.
        self.owners.lock().retain(|owner| {
            (owner.end == u64::MAX && present.is_some())
                || kept.numbers.any_within(owner.first, owner.end)
        });
        freed
    }

    /// Calls `calls` and `locks` for the call stacks and locks of all records that are kept, and `who` for each thread that
    /// has some.
    pub fn each_kept(
        &self,
        mut calls: impl FnMut(StackId),
        locks: impl FnMut(Holding),
        mut who: impl FnMut(ThreadId),
    ) {
        let kept = self.kept.lock();
        // Neighbours often have the same.
        let mut last = StackId(0);
        kept.sites.each(|site| {
            if site.caller != last {
                last = site.caller;
                calls(last);
            }
        });
        held::each_held(&kept.held, locks);
        drop(kept);
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
            self.kept.force_unlock();
            self.owners.force_unlock();
            self.timeline.after_fork();
        }
        self.at_work.end();
    }
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

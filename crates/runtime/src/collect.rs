//! Giving up what nobody can ask for any more, so that a program can run for days in the same memory.
//!
//! A collection looks at every entry of every cell and keeps exactly the records that are named, and those that a strand
//! can still name in its present step. It is due when as much has been added as the last one found to be needed, and a
//! good part of the shadow, since it must read both as a whole. Other strands go on meanwhile: an entry that
//! moves is never missing from its cell, and a new one is of a present step.
//!
//! What cells name also tells which slots of finished strands can be used again ([`crate::threads`]), and what records name
//! which call stacks, lock sets, names of objects and threads are still needed ([`crate::marks`]).
//!
//! | order | what | why then |
//! |---|---|---|
//! | 1 | note the free slots, and where each strand is | what is newer is not touched |
//! | 2 | read the cells | |
//! | 3 | reduce histories, open slots | only with what the cells name |
//! | 4 | mark what strands, histories and tables name | after what they drop |
//! | 5 | wait until nobody is in the runtime who was there before | who read a number before it was dropped is done |
//! | 6 | let go of the unmarked | |

use core::sync::atomic::{AtomicU64, Ordering};

use deadheat_detect::entry::{self, Entry};
use hashbrown::HashMap;
use std_alloc::boxed::Box;
use std_alloc::vec::Vec;

use crate::cell;
use crate::history::{CHUNK, CHUNK_BITS, Named, Present, highest};
use crate::marks;
use crate::runtime::Runtime;
use crate::shadow::Shadow;
use crate::spread::Spread;
use crate::strand::{PENDING_COLLECTION, PENDING_MOVE, Strand};
use crate::sync::{Locked, SpinLock, Waiting};
use crate::sys;
use crate::threads::FreeSlot;
use crate::timeline::Retired;

/// When the next collection is due, and whether one is under way.
pub struct Collector {
    due_at: AtomicU64,
    under_way: SpinLock,
    /// How many there were, and how many of them could let go of numbers.
    done: AtomicU64,
    swept: AtomicU64,
    /// Rings that were taken away when somebody did not leave the runtime in time.
    retired: Locked<Vec<Retired>>,
}

/// Bytes that are remembered before the first collection, and in addition to what is needed before each other one.
pub(crate) const FIRST: u64 = 16 << 20;
/// As many as the shadow's size divided by this, if that is more.
const SHADOW_PART: u64 = 3;
/// So often it is looked whether others have left the runtime ([`Waiting`]).
const PATIENCE: usize = 1000;

/// The bytes of all that a collection can reduce.
fn remembered(rt: &Runtime) -> u64 {
    rt.histories.bytes.load(Ordering::Relaxed)
        + rt.stacks.bytes()
        + rt.lock_sets.bytes()
        + rt.syncs.name_bytes()
        + rt.threads.bytes()
}

impl Collector {
    pub const fn new() -> Self {
        Collector {
            due_at: AtomicU64::new(FIRST),
            under_way: SpinLock::new(),
            done: AtomicU64::new(0),
            swept: AtomicU64::new(0),
            retired: Locked::new(Vec::new()),
        }
    }

    /// Collects if it is due and nobody else does. `s` must be inside the runtime, hold none of its locks, and have no
    /// access under way.
    #[inline]
    pub fn maybe_collect(&self, rt: &Runtime, s: &mut Strand) {
        if self.is_due(rt) {
            // All numbers of a present step are kept: so a step that lasts for ever would keep all that it was.
            s.begin_step();
            self.collect_now(rt, Some(s));
        }
    }

    #[inline]
    pub fn is_due(&self, rt: &Runtime) -> bool {
        remembered(rt) >= self.due_at.load(Ordering::Relaxed)
    }

    #[cold]
    fn collect_now(&self, rt: &Runtime, me: Option<&Strand>) {
        if !self.under_way.try_lock() {
            return;
        }
        collect(rt, me);
        let left = remembered(rt);
        // What is only there because it is new will be gone the next time: it must not make that time later.
        let needed = left.saturating_sub(rt.stacks.spared_bytes() + rt.lock_sets.spared_bytes());
        let more = needed + FIRST.max(rt.shadow.bytes() as u64 / SHADOW_PART);
        self.due_at.store(left + more, Ordering::Relaxed);
        self.under_way.unlock();
    }

    pub fn done(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }

    pub fn swept(&self) -> u64 {
        self.swept.load(Ordering::Relaxed)
    }

    pub fn each_lock(&self, f: &dyn Fn(&SpinLock)) {
        f(&self.under_way);
        f(self.retired.spin());
    }

    /// # Safety
    /// No other thread may exist.
    pub unsafe fn after_fork(&self) {
        // SAFETY: by the contract.
        unsafe { self.retired.force_unlock() };
    }
}

impl Default for Collector {
    fn default() -> Self {
        Collector::new()
    }
}

/// `s`, just outside of the runtime, does what it found to be due inside: a collection, or a move to another slot.
pub fn do_pending(s: &mut Strand) {
    let due = PENDING_COLLECTION | PENDING_MOVE;
    let pending = s.pending.fetch_and(!due, Ordering::Relaxed) & due;
    if pending != 0
        && let Some(rt) = s.runtime
    {
        s.enter();
        if pending & PENDING_MOVE != 0 {
            rt.threads.move_on(rt, s);
        }
        if pending & PENDING_COLLECTION != 0 {
            rt.collector.maybe_collect(rt, s);
        }
        s.leave();
    }
}

fn chunk_key(slot: u16, chunk: u64) -> u64 {
    (slot as u64) << 48 | chunk
}

/// The numbers that are in use.
type InUse = HashMap<u64, Box<Named>, Spread>;

/// Where the numbers of a few chunks are in [`InUse`]: neighbours in memory are of chunks that were met lately.
struct Near {
    chunks: Vec<(u64, *mut Named)>,
}

const NEAR: usize = 4096;
/// So many cells ahead a table is looked for, so that it is there when it is needed.
const AHEAD: usize = 8;

impl Near {
    fn new() -> Self {
        Near {
            chunks: std_alloc::vec![(u64::MAX, core::ptr::null_mut()); NEAR],
        }
    }

    #[inline(always)]
    fn name(&mut self, named: &mut InUse, e: Entry) {
        let chunk = e.seq() >> CHUNK_BITS;
        let key = chunk_key(e.slot(), chunk);
        let near = &mut self.chunks[(chunk as usize ^ (e.slot() as usize) << 9) % NEAR];
        if key != near.0 {
            let bits = named
                .entry(key)
                .or_insert_with(|| Box::new([0; CHUNK / 64]));
            *near = (key, &raw mut **bits);
        }
        let place = e.seq() as usize % CHUNK;
        // SAFETY: the map owns it and drops nothing meanwhile, and nobody else uses the map.
        unsafe { (*near.1)[place / 64] |= 1 << (place % 64) };
    }
}

/// Gives up what nobody names. `me` is the strand that does so, if one does.
pub(crate) fn collect(rt: &Runtime, me: Option<&Strand>) {
    let free = rt.threads.free_slots();
    let present = present_steps(rt);
    let unknowable = Unknowable::new(&free, present.len());
    let mut crowded = Vec::new();
    let in_use = in_use(rt, &unknowable, &mut crowded);
    for addr in crowded {
        unknowable.thin_out(rt, addr);
    }
    let mut freed = 0;
    for (slot, &present) in present.iter().enumerate() {
        let named = |chunk| {
            in_use
                .get(&chunk_key(slot as u16, chunk))
                .map(|named| **named)
        };
        freed += rt.histories.of(slot as u16).collect(Some(present), named);
    }
    let mut retired = core::mem::take(&mut *rt.collector.retired.lock());
    freed += open_slots(rt, &free, &in_use, present.len(), &mut retired);
    rt.histories.bytes.fetch_sub(freed, Ordering::Relaxed);
    drop(in_use);

    let named = marks::mark(rt);
    rt.collector.done.fetch_add(1, Ordering::Relaxed);
    if others_have_left(rt, me) {
        rt.collector.swept.fetch_add(1, Ordering::Relaxed);
        marks::sweep(rt, named);
        for ring in retired {
            // SAFETY: who saw it before it was taken away was inside the runtime and is not any more.
            unsafe { ring.free() };
        }
    } else {
        rt.collector.retired.lock().extend(retired);
    }
}

/// From where on, in each slot, a strand may name what no cell has yet.
fn present_steps(rt: &Runtime) -> Vec<Present> {
    // Read before the cells: a step only moves forward, so what its strand names later is not older than this.
    // A slot without a strand may get one at any moment: it goes on where the last one ended.
    let mut all: Vec<Present> = (0..rt.threads.slots_used())
        .map(|slot| rt.histories.of(slot as u16).present())
        .collect();
    rt.threads.each(|_, t| {
        if !t.strand.is_null() {
            // SAFETY: the strand lives while it is in the registry, whose lock `each` holds; its step's start and its last
            // record are one word each, which its thread may be moving forward: an older value only keeps more.
            let (slot, base, site, held) = unsafe {
                (
                    (*t.strand).slot,
                    sys::glimpse(&raw const (*t.strand).step_base),
                    sys::glimpse(&raw const (*t.strand).site),
                    sys::glimpse(&raw const (*t.strand).held_notes.count),
                )
            };
            if let Some(present) = all.get_mut(slot as usize) {
                present.chunk = present.chunk.min(Entry(base).seq() >> CHUNK_BITS);
                present.site = site.oldest_recent();
                present.held = held;
            }
        }
    });
    all
}

/// All numbers that cells name, or that a strand is about to report.
fn in_use(rt: &Runtime, unknowable: &Unknowable, crowded: &mut Vec<usize>) -> InUse {
    let mut named: InUse = HashMap::with_hasher(Spread);
    let mut near = Near::new();
    let mut name = |e: Entry| near.name(&mut named, e);
    rt.shadow.each_page(|page, cells| {
        // Neighbours often say the same.
        let mut last = None;
        for (i, cell) in cells.iter().enumerate() {
            if let Some(ahead) = cells.get(i + AHEAD) {
                // SAFETY: a cell of the shadow.
                unsafe { cell::expect_table(ahead) };
            }
            // SAFETY: a cell of the shadow.
            let said = unsafe { cell::says(cell) };
            if said.is_some_and(|said| said.is_nothing()) || said.is_some() && said == last {
                continue;
            }
            let mut unheard = 0;
            let look = |e: Entry| {
                name(e);
                unheard += unknowable.has(e) as usize;
            };
            match said {
                Some(said) => said.each_entry(look),
                // SAFETY: a cell of the shadow, and whoever collects is inside the runtime.
                None => unsafe { cell::each_entry_at_least(cell, look) },
            }
            if unheard > 1 && said.is_none() {
                unheard = 0;
                // SAFETY: as above.
                unsafe { cell::each_entry(cell, |e| unheard += unknowable.has(e) as usize) };
            }
            if unheard > 1 {
                crowded.push(page + i * 8);
            }
            last = said.filter(|_| unheard <= 1);
        }
    });
    rt.shadow.freed.each_stamp(|stamp| name(Entry(stamp)));
    // What an access found to race with has left its cell, and is looked up only then. It was put down before it left:
    // if the walk did not meet it, it is here.
    rt.threads.each(|_, t| {
        if !t.strand.is_null() {
            // SAFETY: the strand lives, as above; a count or an entry that is being changed is of no access that counts.
            unsafe { cell::Races::each_of(&raw const (*t.strand).races, &mut name) };
        }
    });
    name_parts(rt, &mut named);
    named
}

/// The numbers of strands that have ended which nobody knows and nobody can ever learn of ([`crate::threads`]).
struct Unknowable {
    /// By slot: above the one, up to the other.
    ranges: Vec<(u64, u64)>,
}

impl Unknowable {
    fn new(free: &[FreeSlot], slots: usize) -> Self {
        let mut ranges = std_alloc::vec![(0, 0); slots];
        for free in free {
            if let Some(range) = ranges.get_mut(free.slot as usize) {
                *range = (free.known, free.seq);
            }
        }
        Unknowable { ranges }
    }

    #[inline(always)]
    fn has(&self, e: Entry) -> bool {
        let range = self.ranges.get(e.slot() as usize);
        range.is_some_and(|&(known, seq)| known < e.seq() && e.seq() <= seq)
    }

    /// Of the cell's entries that are unknowable, those stay that conflict with more than another one does.
    fn thin_out(&self, rt: &Runtime, addr: usize) {
        let Some(cell) = rt.shadow.existing(addr) else {
            return;
        };
        // SAFETY: the shadow gave the cell for this address.
        unsafe { Shadow::owners(addr, cell) }.share(rt, addr);
        // Of two that are alike the one with the larger word stays.
        let replaces = |other: Entry, e: Entry| {
            entry::subsumes(other, e, true) && (!entry::subsumes(e, other, true) || other.0 > e.0)
        };
        // SAFETY: as above; the page is shared now, and who collects is inside the runtime.
        unsafe {
            cell::drop_moot(cell, |e, all| {
                self.has(e)
                    && all
                        .iter()
                        .any(|&other| self.has(other) && replaces(other, e))
            });
        }
    }
}

/// What stands for two numbers needs both. They are lower, and of the same slot.
fn name_parts(rt: &Runtime, named: &mut InUse) {
    let mut keys: Vec<u64> = named.keys().copied().collect();
    keys.retain(|key| rt.histories.of((key >> 48) as u16).may_have_both());
    keys.sort_unstable();
    while let Some(key) = keys.pop() {
        let (slot, chunk) = ((key >> 48) as u16, key & ((1 << 48) - 1));
        let mut here = *named[&key];
        let mut below: Vec<u64> = Vec::new();
        let history = rt.histories.of(slot);
        history.each_two(chunk, &mut here, |here, parts| {
            for part in parts {
                if part >> CHUNK_BITS == chunk {
                    here[part as usize % CHUNK / 64] |= 1 << (part % 64);
                } else {
                    below.push(part);
                }
            }
        });
        if let Some(bits) = named.get_mut(&key) {
            **bits = here;
        }
        for part in below {
            let key = chunk_key(slot, part >> CHUNK_BITS);
            let bits = named.entry(key).or_insert_with(|| {
                let at = keys.partition_point(|&other| other < key);
                keys.insert(at, key);
                Box::new([0; CHUNK / 64])
            });
            bits[part as usize % CHUNK / 64] |= 1 << (part % 64);
        }
    }
}

/// Reduces the slots that had no strand all the while, and says how much of them is still needed. The bytes freed.
fn open_slots(
    rt: &Runtime,
    free: &[FreeSlot],
    in_use: &InUse,
    slots: usize,
    retired: &mut Vec<Retired>,
) -> u64 {
    if free.is_empty() {
        return 0;
    }
    let mut newest = std_alloc::vec![0; slots];
    for (&key, named) in in_use {
        let (slot, chunk) = ((key >> 48) as usize, key & ((1 << 48) - 1));
        if let (Some(newest), Some(top)) = (newest.get_mut(slot), highest(named)) {
            *newest = (*newest).max(chunk << CHUNK_BITS | top as u64);
        }
    }
    let mut freed = 0;
    let mut lowered: HashMap<u64, u64, Spread> = HashMap::with_hasher(Spread);
    rt.threads.each_still_free(free, |free| {
        let history = rt.histories.of(free.slot);
        let named = |chunk| {
            in_use
                .get(&chunk_key(free.slot, chunk))
                .map(|named| **named)
        };
        freed += history.collect(None, named);
        retired.extend(history.reduce_timeline(&rt.histories.bytes));
        let needs = newest
            .get(free.slot as usize)
            .copied()
            .unwrap_or(free.needs);
        if needs < free.needs {
            lowered.insert(free.slot as u64, needs);
        }
    });
    // First objects forget what must not be concluded any more, then the slots may be used so.
    if !lowered.is_empty() {
        let above = |slot: u16| lowered.get(&(slot as u64)).copied();
        rt.syncs.each(|state| state.forget_releaser(above));
        rt.threads.each_still_free(free, |free| {
            if let Some(&needs) = lowered.get(&(free.slot as u64)) {
                free.needs = needs;
            }
        });
    }
    freed
}

/// Waits until every other strand has been seen outside of the runtime; false if one does not leave.
fn others_have_left(rt: &Runtime, me: Option<&Strand>) -> bool {
    let mut inside: Vec<*mut Strand> = Vec::new();
    // Whoever enters from here on sees all that was dropped until now as dropped.
    if !sys::prepare_barrier_everywhere() {
        return false;
    }
    sys::barrier_everywhere();
    rt.threads.each(|_, t| {
        if !t.strand.is_null() && me.is_none_or(|me| !core::ptr::eq(t.strand, me)) {
            inside.push(t.strand);
        }
    });
    let mut waiting = Waiting::default();
    for _ in 0..PATIENCE {
        rt.threads.each(|_, t| {
            // SAFETY: the strand lives while it is in the registry, whose lock `each` holds.
            if !t.strand.is_null() && !unsafe { Strand::is_inside(t.strand) } {
                inside.retain(|&other| other != t.strand);
            }
        });
        // One that has ended is not inside any more, wherever its memory is now.
        let mut alive = Vec::new();
        rt.threads.each(|_, t| alive.push(t.strand));
        inside.retain(|other| alive.contains(other));
        if inside.is_empty() {
            return true;
        }
        waiting.turn();
    }
    false
}

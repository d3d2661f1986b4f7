//! A shadow cell: what is remembered of 8 bytes of the program, and the only code that changes it.
//!
//! A cell is two words. Each is an entry (`deadheat_detect::entry`) or empty; when two do not suffice, the first word is
//! the address of a list of entries with [`LIST`] set, and the second repeats the entry that was added last, which is
//! only a hint for the fast path. A list word has an empty mask, so the fast path never takes it for an entry.
//!
//! | who | may |
//! |---|---|
//! | anybody | read both words and, if the version stays the same, a list |
//! | who set [`LOCK`] in the first word | change everything, then clear it |
//!
//! The rules are [`entry::races`] and [`entry::subsumes`]; nothing is ever evicted.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use deadheat_detect::entry::{self, Entry, LIST, LOCK, MASK, SEQ_SHIFT};

use crate::clock::Clock;
use crate::sync::Locked;
use crate::sys;

/// Two words of shadow for 8 bytes of the program.
#[repr(C, align(16))]
pub struct Cell {
    first: AtomicU64,
    second: AtomicU64,
}

const _: () = assert!(size_of::<Cell>() == 16);

/// Lists live in memory that is never given back to anything but other lists, so a reader may look at a list that has
/// just been freed: the version tells him.
#[repr(C)]
struct List {
    version: AtomicU32,
    len: AtomicU32,
    class: u32,
    _pad: u32,
    entries: [AtomicU64; 0],
}

/// How many races one access reports at most; further ones on the same cell are the same bug or come again.
pub const MOST_RACES: usize = 4;

/// The older sides of the races that one access found in one cell.
#[derive(Clone, Copy)]
pub struct Races {
    pub older: [Entry; MOST_RACES],
    pub count: usize,
}

impl Races {
    const NONE: Races = Races { older: [Entry::EMPTY; MOST_RACES], count: 0 };

    fn add(&mut self, older: Entry) {
        if self.count < MOST_RACES {
            self.older[self.count] = older;
            self.count += 1;
        }
    }
}

/// The present step of a strand, as the cell needs it.
#[derive(Clone, Copy)]
pub struct Step<'a> {
    pub base: u64,
    pub span: u64,
    pub slot: u16,
    pub clock: &'a Clock,
}

impl Step<'_> {
    #[inline(always)]
    fn covers(&self, old: Entry) -> bool {
        old.slot() == self.slot || old.covered_by(self.clock.get(old.slot()))
    }
}

/// Has this step already recorded an access here that makes one described by `need` redundant?
///
/// # Safety
/// `cell` must be a cell of the shadow.
#[inline(always)]
pub unsafe fn already_recorded(cell: *const Cell, step: &Step, need: u64) -> bool {
    // SAFETY: by the contract.
    let cell = unsafe { &*cell };
    let second = cell.second.load(Ordering::Relaxed);
    if entry::same_step_covers(second, step.base, step.span, need) {
        return true;
    }
    let first = cell.first.load(Ordering::Acquire);
    if entry::same_step_covers(first & !LOCK, step.base, step.span, need) {
        return true;
    }
    first & LIST != 0 && list_has(cell, first, step, need)
}

fn list_has(cell: &Cell, first: u64, step: &Step, need: u64) -> bool {
    if first & LOCK != 0 {
        return false;
    }
    let list = list_of(first);
    // SAFETY: list memory is never unmapped.
    let header = unsafe { &*list };
    let version = header.version.load(Ordering::Acquire);
    let len = (header.len.load(Ordering::Relaxed) as usize).min(capacity(header.class as usize));
    let found = (0..len).any(|i| entry::same_step_covers(item(list, i).load(Ordering::Relaxed), step.base, step.span, need));
    found && cell.first.load(Ordering::Acquire) == first && header.version.load(Ordering::Acquire) == version
}

/// Compares `new` with all that the cell remembers, remembers it, and forgets what it subsumes.
///
/// # Safety
/// `cell` must be a cell of the shadow, and the caller must be inside the runtime (no signal handler runs meanwhile).
#[inline]
pub unsafe fn record(cell: *const Cell, step: &Step, new: Entry) -> Races {
    // SAFETY: by the contract.
    let cell = unsafe { &*cell };
    let first = lock(cell);
    let mut races = Races::NONE;
    if first & LIST != 0 {
        record_in_list(cell, first, step, new, &mut races);
        return races;
    }
    let second = cell.second.load(Ordering::Relaxed);
    let a = judge(Entry(first), step, new, &mut races);
    let b = judge(Entry(second), step, new, &mut races);
    match (a, b) {
        (Fate::Gone, Fate::Gone) => cell.set_pair(new.0, 0),
        (Fate::Gone, Fate::Stays) => place(cell, new, Entry(second)),
        (Fate::Stays, Fate::Gone) => place(cell, new, Entry(first)),
        (Fate::Merges, Fate::Gone) => cell.set_pair(first | new.0, 0),
        (Fate::Gone, Fate::Merges) => cell.set_pair(second | new.0, 0),
        (Fate::Merges, _) => cell.set_pair(first | new.0, second),
        (_, Fate::Merges) => cell.set_pair(first, second | new.0),
        (Fate::Stays, Fate::Stays) => {
            let list = new_list(&[first, second, new.0]);
            cell.set_pair(list_word(list), new.0);
        }
    }
    races
}

/// What becomes of an old entry beside a new one.
#[must_use]
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Gone,
    Stays,
    /// The same access of the same step on other bytes: one entry for both.
    Merges,
}

#[inline(always)]
fn judge(old: Entry, step: &Step, new: Entry, races: &mut Races) -> Fate {
    if old.0 & MASK == 0 {
        return Fate::Gone;
    }
    // Same number and same kind: only the bytes differ.
    if (old.0 ^ new.0) & !MASK == 0 {
        return Fate::Merges;
    }
    let covered = step.covers(old);
    if entry::races(old, new, covered) {
        races.add(old);
        // The race is reported; the newer access stands for both from here on, if it touches as much.
        return if entry::subsumes(new, old, true) { Fate::Gone } else { Fate::Stays };
    }
    if entry::subsumes(new, old, covered) { Fate::Gone } else { Fate::Stays }
}

/// Writes go first, reads second: most fast paths then need one comparison.
#[inline(always)]
fn place(cell: &Cell, new: Entry, old: Entry) {
    if new.0 & entry::WRITE != 0 {
        cell.set_pair(new.0, old.0);
    } else {
        cell.set_pair(old.0, new.0);
    }
}

impl Cell {
    /// Changes both words and unlocks.
    #[inline(always)]
    fn set_pair(&self, first: u64, second: u64) {
        self.second.store(second, Ordering::Relaxed);
        self.first.store(first, Ordering::Release);
    }
}

#[inline(always)]
fn lock(cell: &Cell) -> u64 {
    let mut seen = cell.first.load(Ordering::Relaxed);
    let mut spins = 0;
    loop {
        if seen & LOCK == 0 {
            match cell.first.compare_exchange_weak(seen, seen | LOCK, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return seen,
                Err(now) => seen = now,
            }
        } else {
            spins += 1;
            if spins % 64 == 0 {
                sys::yield_now();
            }
            core::hint::spin_loop();
            seen = cell.first.load(Ordering::Relaxed);
        }
    }
}

#[inline(never)]
fn record_in_list(cell: &Cell, first: u64, step: &Step, new: Entry, races: &mut Races) {
    let list = list_of(first);
    // SAFETY: the cell is locked, so the list is ours.
    let header = unsafe { &*list };
    let len = header.len.load(Ordering::Relaxed) as usize;
    let mut kept = 0;
    let mut merged = new;
    let mut at = None;
    for i in 0..len {
        let old = Entry(item(list, i).load(Ordering::Relaxed));
        match judge(old, step, new, races) {
            Fate::Gone => {}
            Fate::Stays => {
                item(list, kept).store(old.0, Ordering::Relaxed);
                kept += 1;
            }
            Fate::Merges => {
                merged = Entry(old.0 | merged.0);
                at = Some(kept);
                item(list, kept).store(merged.0, Ordering::Relaxed);
                kept += 1;
            }
        }
    }
    match at {
        Some(i) => item(list, i).store(merged.0, Ordering::Relaxed),
        None if kept < capacity(header.class as usize) => {
            item(list, kept).store(merged.0, Ordering::Relaxed);
            kept += 1;
        }
        None => {
            header.len.store(kept as u32, Ordering::Relaxed);
            let larger = grow(list, merged.0);
            return cell.set_pair(list_word(larger), merged.0);
        }
    }
    if kept <= 2 {
        let a = item(list, 0).load(Ordering::Relaxed);
        let b = if kept == 2 { item(list, 1).load(Ordering::Relaxed) } else { 0 };
        free_list(list);
        return if b & entry::WRITE != 0 { cell.set_pair(b, a) } else { cell.set_pair(a, b) };
    }
    header.len.store(kept as u32, Ordering::Relaxed);
    cell.set_pair(list_word(list), merged.0);
}

/// Forgets all accesses to the bytes in `gone`.
///
/// # Safety
/// `cell` must be a cell of the shadow, and the caller must be inside the runtime.
#[inline]
pub unsafe fn forget(cell: *const Cell, gone: u8) {
    // SAFETY: by the contract.
    let cell = unsafe { &*cell };
    if cell.first.load(Ordering::Relaxed) | cell.second.load(Ordering::Relaxed) == 0 {
        return;
    }
    let first = lock(cell);
    if first & LIST == 0 {
        let second = cell.second.load(Ordering::Relaxed);
        return cell.set_pair(shrink(first, gone), shrink(second, gone));
    }
    let list = list_of(first);
    // SAFETY: the cell is locked, so the list is ours.
    let len = unsafe { (*list).len.load(Ordering::Relaxed) } as usize;
    let mut kept = 0;
    for i in 0..len {
        let left = shrink(item(list, i).load(Ordering::Relaxed), gone);
        if left != 0 {
            item(list, kept).store(left, Ordering::Relaxed);
            kept += 1;
        }
    }
    let at = |i| if i < kept { item(list, i).load(Ordering::Relaxed) } else { 0 };
    if kept <= 2 {
        let pair = (at(0), at(1));
        free_list(list);
        return cell.set_pair(pair.0, pair.1);
    }
    // SAFETY: as above.
    unsafe { (*list).len.store(kept as u32, Ordering::Relaxed) };
    cell.set_pair(list_word(list), at(0));
}

fn shrink(word: u64, gone: u8) -> u64 {
    let left = Entry(word).without(gone);
    if left.mask() == 0 { 0 } else { left.0 }
}

/// Calls `f` for each entry the cell remembers, as of one moment.
///
/// # Safety
/// `cell` must be a cell of the shadow, and the caller must be inside the runtime.
pub unsafe fn each_entry(cell: *const Cell, mut f: impl FnMut(Entry)) {
    // SAFETY: by the contract.
    let cell = unsafe { &*cell };
    loop {
        let first = cell.first.load(Ordering::Acquire);
        let second = cell.second.load(Ordering::Acquire);
        if first | second == 0 {
            return;
        }
        if first & (LIST | LOCK) == 0 {
            if cell.first.load(Ordering::Acquire) != first {
                continue;
            }
            for word in [first, second] {
                if word & MASK != 0 {
                    f(Entry(word));
                }
            }
            return;
        }
        let first = lock(cell);
        if first & LIST != 0 {
            let list = list_of(first);
            // SAFETY: the cell is locked, so the list is ours.
            let len = unsafe { (*list).len.load(Ordering::Relaxed) } as usize;
            for i in 0..len {
                f(Entry(item(list, i).load(Ordering::Relaxed)));
            }
        } else {
            f(Entry(first));
            f(Entry(cell.second.load(Ordering::Relaxed)));
        }
        return cell.first.store(first, Ordering::Release);
    }
}

// ---- lists: blocks of 32, 64, 128 ... bytes, header included, from a pool that only lists use ----

const SMALLEST: usize = 32;
const LIST_CLASSES: usize = 16;
const HEADER: usize = size_of::<List>();
const SLAB: usize = 64 << 10;

const fn capacity(class: usize) -> usize {
    ((SMALLEST << class) - HEADER) / 8
}

#[inline(always)]
fn item<'a>(list: *mut List, i: usize) -> &'a AtomicU64 {
    // SAFETY: callers stay below the capacity; list memory is never unmapped.
    unsafe { &*(*list).entries.as_ptr().add(i) }
}

#[inline(always)]
fn list_of(word: u64) -> *mut List {
    (word >> SEQ_SHIFT << 4) as *mut List
}

#[inline(always)]
fn list_word(list: *mut List) -> u64 {
    (list as u64) >> 4 << SEQ_SHIFT | LIST
}

struct Pool {
    free: *mut List,
    bump: *mut u8,
    end: *mut u8,
}

// SAFETY: plain memory that only the pool owns.
unsafe impl Send for Pool {}

static POOLS: [Locked<Pool>; LIST_CLASSES] = [const {
    Locked::new(Pool { free: core::ptr::null_mut(), bump: core::ptr::null_mut(), end: core::ptr::null_mut() })
}; LIST_CLASSES];

fn take_list(class: usize) -> *mut List {
    if class >= LIST_CLASSES {
        sys::die("one memory cell was touched by more strands than a list can hold");
    }
    let mut pool = POOLS[class].lock();
    let list = if !pool.free.is_null() {
        let list = pool.free;
        // The first entry of a free list is the next free one.
        pool.free = item(list, 0).load(Ordering::Relaxed) as *mut List;
        list
    } else {
        let bytes = SMALLEST << class;
        if pool.bump == pool.end {
            let slab = SLAB.max(bytes);
            pool.bump = sys::map(slab);
            if pool.bump.is_null() {
                sys::die("no memory left for the accesses of a cell that many threads use");
            }
            pool.end = pool.bump.wrapping_add(slab);
        }
        let list: *mut List = pool.bump.cast();
        pool.bump = pool.bump.wrapping_add(bytes);
        // SAFETY: fresh memory of that size.
        unsafe { (*list).class = class as u32 };
        list
    };
    drop(pool);
    list
}

fn free_list(list: *mut List) {
    // SAFETY: the caller's cell is locked and no longer names the list; memory of lists stays mapped.
    let header = unsafe { &*list };
    header.version.fetch_add(1, Ordering::AcqRel);
    let mut pool = POOLS[header.class as usize].lock();
    item(list, 0).store(pool.free as u64, Ordering::Relaxed);
    pool.free = list;
}

fn new_list(words: &[u64]) -> *mut List {
    let class = (0..LIST_CLASSES).find(|&c| capacity(c) >= words.len() + 1).unwrap_or(LIST_CLASSES);
    let list = take_list(class);
    for (i, &word) in words.iter().enumerate() {
        item(list, i).store(word, Ordering::Relaxed);
    }
    // SAFETY: just taken.
    unsafe { (*list).len.store(words.len() as u32, Ordering::Release) };
    list
}

fn grow(list: *mut List, more: u64) -> *mut List {
    // SAFETY: the caller's cell is locked, so the list is ours.
    let header = unsafe { &*list };
    let len = header.len.load(Ordering::Relaxed) as usize;
    let larger = take_list(header.class as usize + 1);
    for i in 0..len {
        item(larger, i).store(item(list, i).load(Ordering::Relaxed), Ordering::Relaxed);
    }
    item(larger, len).store(more, Ordering::Relaxed);
    // SAFETY: just taken.
    unsafe { (*larger).len.store(len as u32 + 1, Ordering::Release) };
    free_list(list);
    larger
}

/// # Safety
/// No other thread may exist.
pub unsafe fn after_fork() {
    for pool in &POOLS {
        // SAFETY: by the contract.
        unsafe { pool.force_unlock() };
    }
}

//! Lists of entries, for cells that two words cannot describe.
//!
//! Two sorts. A *common* list never changes and is named by as many cells as have the same history: an array that four
//! threads read has one list, not one for each element, since the same entries are always the same list. An *own* list belongs to one cell and changes in place: the
//! node of a tree that threads visit in no particular order. [`super::Memo`] finds out which sort pays.
//!
//! Memory of lists is never given back to anything else, so a reader may look at an own list that has just been freed: its
//! version tells him.

use core::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

use deadheat_detect::entry::{LIST, SEQ_SHIFT};
use hashbrown::HashTable;

use crate::sync::Locked;
use crate::sys;

/// The header of a list; its entries follow.
#[repr(C)]
pub struct List {
    pub version: AtomicU32,
    len: AtomicU32,
    class: u32,
    common: AtomicU32,
    entries: [AtomicU64; 0],
}

/// A list's address is a multiple of so many bits.
pub const LIST_UNIT: u32 = 4;

const SMALLEST: usize = 32;
const CLASSES: usize = 16;
const HEADER: usize = size_of::<List>();
const SLAB: usize = 64 << 10;
/// Common lists are never freed; past this many bytes of them, new lists are own.
const MOST_COMMON_BYTES: usize = 12 << 20;

static COMMON_BYTES: AtomicUsize = AtomicUsize::new(0);

/// Who may name a list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sort {
    Common,
    Own,
}

const fn capacity(class: usize) -> usize {
    ((SMALLEST << class) - HEADER) / 8
}

/// The list that a cell's first word names.
///
/// # Safety
/// The word must have [`LIST`] set and come from [`word_of`].
#[inline(always)]
pub unsafe fn named_by<'a>(word: u64) -> &'a List {
    // SAFETY: list memory is never unmapped.
    unsafe { &*((word >> SEQ_SHIFT << LIST_UNIT) as *const List) }
}

#[inline(always)]
pub fn word_of(list: &List) -> u64 {
    (list as *const List as u64) >> LIST_UNIT << SEQ_SHIFT | LIST
}

impl List {
    #[inline(always)]
    pub fn item(&self, i: usize) -> &AtomicU64 {
        // SAFETY: callers stay below the capacity of the class.
        unsafe { &*self.entries.as_ptr().add(i) }
    }

    #[inline(always)]
    pub fn len(&self) -> usize {
        self.len.load(Ordering::Relaxed) as usize
    }

    /// The length as far as it can be believed without the cell's lock.
    #[inline(always)]
    pub fn believable_len(&self) -> usize {
        self.len().min(capacity(self.class as usize))
    }

    #[inline(always)]
    pub fn sort(&self) -> Sort {
        if self.common.load(Ordering::Relaxed) != 0 {
            Sort::Common
        } else {
            Sort::Own
        }
    }

    pub fn set_len(&self, len: usize) {
        self.len.store(len as u32, Ordering::Relaxed);
    }

    pub fn has_room(&self, len: usize) -> bool {
        len < capacity(self.class as usize)
    }
}

struct Pool {
    free: *mut List,
    bump: *mut u8,
    end: *mut u8,
}

// SAFETY: plain memory that only the pool owns.
unsafe impl Send for Pool {}

static POOLS: [Locked<Pool>; CLASSES] = [const {
    Locked::new(Pool {
        free: core::ptr::null_mut(),
        bump: core::ptr::null_mut(),
        end: core::ptr::null_mut(),
    })
}; CLASSES];

fn take(class: usize) -> &'static List {
    if class >= CLASSES {
        sys::die("one memory cell was touched by more strands than a list can hold");
    }
    let mut pool = POOLS[class].lock();
    if !pool.free.is_null() {
        // SAFETY: only lists of this class are put there, and they stay mapped.
        let list = unsafe { &*pool.free };
        // The first entry of a free list is the next free one.
        pool.free = list.item(0).load(Ordering::Relaxed) as *mut List;
        return list;
    }
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
    // SAFETY: fresh memory of that size, which nobody else has seen.
    unsafe {
        (*list).class = class as u32;
        &*list
    }
}

static COMMON: Locked<HashTable<&'static List>> = Locked::new(HashTable::new());

fn hash(words: impl Iterator<Item = u64>) -> u64 {
    words.fold(0, |h, word| {
        (h ^ word)
            .rotate_left(27)
            .wrapping_mul(0x9E37_79B9_7F4A_7C15)
    })
}

/// The common list of these words in any order, and whether it existed already; none if there is no room for another.
pub fn common(words: &[u64]) -> Option<(&'static List, bool)> {
    if words.len() <= super::SHORT {
        common_of::<{ super::SHORT }>(words)
    } else {
        common_of::<{ super::LONGEST_COMMON }>(words)
    }
}

fn common_of<const MOST: usize>(words: &[u64]) -> Option<(&'static List, bool)> {
    let mut sorted = [0u64; MOST];
    let sorted = sorted.get_mut(..words.len())?;
    sorted.copy_from_slice(words);
    sorted.sort_unstable();
    let items = |list: &'static List| (0..list.len()).map(|i| list.item(i).load(Ordering::Relaxed));
    let key = hash(sorted.iter().copied());
    let mut table = COMMON.lock();
    if let Some(&list) = table.find(key, |list| items(list).eq(sorted.iter().copied())) {
        return Some((list, true));
    }
    if COMMON_BYTES.load(Ordering::Relaxed) >= MOST_COMMON_BYTES {
        return None;
    }
    let list = make(sorted, Sort::Common);
    table.insert_unique(key, list, |list| hash(items(list)));
    Some((list, false))
}

/// A list of these words.
pub fn make(words: &[u64], sort: Sort) -> &'static List {
    let class = (0..CLASSES)
        .find(|&c| capacity(c) >= words.len())
        .unwrap_or(CLASSES);
    let list = take(class);
    for (i, &word) in words.iter().enumerate() {
        list.item(i).store(word, Ordering::Relaxed);
    }
    list.common
        .store((sort == Sort::Common) as u32, Ordering::Relaxed);
    if sort == Sort::Common {
        COMMON_BYTES.fetch_add(SMALLEST << class, Ordering::Relaxed);
    }
    list.len.store(words.len() as u32, Ordering::Release);
    list
}

/// Frees an own list that no cell names any more.
pub fn free(list: &'static List) {
    list.version.fetch_add(1, Ordering::AcqRel);
    let mut pool = POOLS[list.class as usize].lock();
    list.item(0).store(pool.free as u64, Ordering::Relaxed);
    pool.free = list as *const List as *mut List;
}

/// A larger own list with the same entries and one more; the old one is freed.
pub fn grow(list: &'static List, more: u64) -> &'static List {
    let len = list.len();
    let larger = take(list.class as usize + 1);
    larger.common.store(0, Ordering::Relaxed);
    for i in 0..len {
        larger
            .item(i)
            .store(list.item(i).load(Ordering::Relaxed), Ordering::Relaxed);
    }
    larger.item(len).store(more, Ordering::Relaxed);
    larger.len.store(len as u32 + 1, Ordering::Release);
    free(list);
    larger
}

/// # Safety
/// No other thread may exist.
pub unsafe fn after_fork() {
    // SAFETY: by the contract.
    unsafe {
        COMMON.force_unlock();
        for pool in &POOLS {
            pool.force_unlock();
        }
    }
}

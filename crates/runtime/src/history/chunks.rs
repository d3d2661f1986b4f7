//! Items in a row, by their numbers, of which some are given up later.
//!
//! They are in chunks: whole while somebody may add to them, then only what is still named.

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicU64, Ordering};

use std_alloc::boxed::Box;
use std_alloc::collections::{BTreeMap, btree_map};
use std_alloc::vec::Vec;

pub const CHUNK_BITS: u32 = 10;
pub const CHUNK: usize = 1 << CHUNK_BITS;

/// A bit for each number of a chunk: is it named?
pub type Named = [u64; CHUNK / 64];

/// The place of the highest bit that is set.
pub fn highest(named: &Named) -> Option<usize> {
    let word = named.iter().rposition(|&bits| bits != 0)?;
    Some(word * 64 + named[word].ilog2() as usize)
}

/// Sets the bit of a number of the chunk.
#[inline(always)]
pub fn name_in(named: &mut Named, number: u64) {
    let place = number as usize % CHUNK;
    named[place / 64] |= 1 << (place % 64);
}

/// The items of [`CHUNK`] numbers in a row.
pub struct Chunk<T> {
    items: [UnsafeCell<T>; CHUNK],
}

impl<T: Copy> Chunk<T> {
    /// All zeroes, which must be an item.
    fn new() -> *mut Chunk<T> {
        let layout = core::alloc::Layout::new::<Chunk<T>>();
        // SAFETY: the layout has a size.
        unsafe { std_alloc::alloc::alloc_zeroed(layout).cast() }
    }

    /// The item is this one from now on.
    ///
    /// # Safety
    /// `chunk` must be the one of `number`, which must not be published yet, and only one thread may write to it.
    #[inline(always)]
    pub unsafe fn write(chunk: *mut Chunk<T>, number: u64, item: T) {
        // SAFETY: by the contract nobody else reads or writes this item now.
        unsafe { *(&(*chunk).items)[number as usize % CHUNK].get() = item };
    }

    /// # Safety
    /// `chunk` must be the one of `number`, and the caller the thread that writes to it.
    #[inline(always)]
    pub unsafe fn read(chunk: *const Chunk<T>, number: u64) -> T {
        // SAFETY: by the contract nobody writes this item now.
        unsafe { *(&(*chunk).items)[number as usize % CHUNK].get() }
    }
}

/// What is kept of [`CHUNK`] numbers in a row.
enum Kept<T> {
    /// All of them: a strand is or was lately at work here.
    All(*mut Chunk<T>),
    /// Those that were still named when it was reduced.
    Some(Box<Reduced<T>>),
}

/// Some of the items of a chunk, in their order, and which they are.
struct Reduced<T> {
    named: Named,
    /// How many there are before those of each word of bits.
    before: [u16; CHUNK / 64],
    items: Box<[T]>,
}

impl<T: Copy> Reduced<T> {
    fn new(named: Named, items: Box<[T]>) -> Self {
        let mut before = [0; CHUNK / 64];
        let mut all = 0;
        for (before, bits) in before.iter_mut().zip(named) {
            *before = all;
            all += bits.count_ones() as u16;
        }
        Reduced {
            named,
            before,
            items,
        }
    }

    fn get(&self, place: usize) -> Option<T> {
        let (word, bit) = (place / 64, place % 64);
        if self.named[word] >> bit & 1 == 0 {
            return None;
        }
        let before = self.before[word] as usize;
        let here = (self.named[word] & ((1 << bit) - 1)).count_ones() as usize;
        Some(self.items[before + here])
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

impl<T: Copy> Kept<T> {
    fn bytes(&self) -> u64 {
        match self {
            Kept::All(_) => size_of::<Chunk<T>>() as u64,
            Kept::Some(kept) => (size_of::<Reduced<T>>() + size_of_val::<[_]>(&kept.items)) as u64,
        }
    }

    fn get(&self, place: usize) -> Option<T> {
        match self {
            Kept::All(chunk) => {
                // SAFETY: the chunk lives while it is kept. An item that is being written is not published yet: whatever is
                // read of it is not believed.
                Some(unsafe { crate::sys::glimpse((&(**chunk).items)[place].get()) })
            }
            Kept::Some(kept) => kept.get(place),
        }
    }

    /// Gives up the items for which there is no bit in `named`.
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
        let mut items = Vec::with_capacity(count(&named));
        match self {
            Kept::Some(kept) => {
                let mut next = 0;
                each_place(&kept.named, |place| {
                    if named[place / 64] >> (place % 64) & 1 != 0 {
                        items.push(kept.items[next]);
                    }
                    next += 1;
                });
            }
            Kept::All(_) => each_place(&named, |place| items.extend(self.get(place))),
        }
        *self = Kept::Some(Box::new(Reduced::new(named, items.into_boxed_slice())));
    }
}

impl<T> Drop for Kept<T> {
    fn drop(&mut self) {
        if let Kept::All(chunk) = *self {
            let layout = core::alloc::Layout::new::<Chunk<T>>();
            // SAFETY: made by `Chunk::new`; who added to it has left it behind.
            unsafe { std_alloc::alloc::dealloc(chunk.cast(), layout) };
        }
    }
}

/// All items, by the upper bits of their numbers.
pub struct Chunks<T> {
    chunks: BTreeMap<u64, Kept<T>>,
}

impl<T: Copy> Chunks<T> {
    pub const fn new() -> Self {
        Chunks {
            chunks: BTreeMap::new(),
        }
    }

    /// This chunk as a whole, made if it is not there or was reduced; `bytes` grows by what that takes. Null if there is no
    /// memory.
    pub fn whole(&mut self, index: u64, bytes: &AtomicU64) -> *mut Chunk<T> {
        if let Some(Kept::All(chunk)) = self.chunks.get(&index) {
            return *chunk;
        }
        let chunk = Chunk::new();
        if chunk.is_null() {
            return chunk;
        }
        let new = Kept::All(chunk);
        bytes.fetch_add(new.bytes(), Ordering::Relaxed);
        if let Some(reduced) = self.chunks.insert(index, new) {
            bytes.fetch_sub(reduced.bytes(), Ordering::Relaxed);
            if let Kept::Some(kept) = &reduced {
                let mut items = kept.items.iter();
                each_place(&kept.named, |place| {
                    if let Some(&item) = items.next() {
                        // SAFETY: a fresh chunk that only we can reach.
                        unsafe { Chunk::write(chunk, place as u64, item) };
                    }
                });
            }
        }
        chunk
    }

    pub fn has(&self, index: u64) -> bool {
        self.chunks.contains_key(&index)
    }

    pub fn has_whole(&self, index: u64) -> bool {
        matches!(self.chunks.get(&index), Some(Kept::All(_)))
    }

    /// The highest chunk.
    pub fn newest(&self) -> u64 {
        self.chunks.keys().next_back().copied().unwrap_or(0)
    }

    /// None if it was given up.
    pub fn get(&self, number: u64) -> Option<T> {
        self.chunks
            .get(&(number >> CHUNK_BITS))?
            .get(number as usize % CHUNK)
    }

    /// What [`Self::get`] gives for the numbers of this chunk, by their places in it; none if it has none.
    pub fn within(&self, index: u64) -> Option<impl Fn(usize) -> Option<T> + Copy + '_> {
        let kept = self.chunks.get(&index)?;
        Some(move |place| kept.get(place))
    }

    /// Gives up the items of the chunks that need not be `whole` that have no bit in `named`: how many bytes that frees.
    pub fn reduce(
        &mut self,
        whole: impl Fn(u64) -> bool,
        named: impl Fn(u64) -> Option<Named>,
    ) -> u64 {
        let mut freed = 0;
        self.chunks.retain(|&index, kept| {
            if whole(index) {
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
        freed
    }

    /// The items that are kept and their numbers, in their order.
    pub fn numbered(&self) -> Numbered<'_, T> {
        Numbered {
            chunks: self.chunks.iter(),
            kept: None,
            first: 0,
            word: CHUNK / 64,
            left: 0,
            before: 0,
        }
    }

    /// Calls `f` for the number of each item that is kept, in their order.
    pub fn each_number(&self, mut f: impl FnMut(u64)) {
        for (&index, kept) in &self.chunks {
            let first = index << CHUNK_BITS;
            match kept {
                Kept::All(_) => (first..first + CHUNK as u64).for_each(&mut f),
                Kept::Some(kept) => each_place(&kept.named, |place| f(first | place as u64)),
            }
        }
    }

    /// The last item for which `yes` holds, which it does for all before it that are kept, and for none after it. No chunk
    /// may have been made whole again.
    pub fn last_that(&self, yes: impl Fn(T) -> bool) -> Option<T> {
        self.chunks.values().rev().find_map(|kept| match kept {
            Kept::Some(kept) => {
                let count = kept.items.partition_point(|&item| yes(item));
                kept.items.get(count.checked_sub(1)?).copied()
            }
            Kept::All(_) => {
                let (mut from, mut to) = (0, CHUNK);
                while from < to {
                    let middle = (from + to) / 2;
                    if kept.get(middle).is_some_and(&yes) {
                        from = middle + 1;
                    } else {
                        to = middle;
                    }
                }
                kept.get(from.checked_sub(1)?)
            }
        })
    }

    /// Calls `f` for each item.
    pub fn each(&self, mut f: impl FnMut(T)) {
        for kept in self.chunks.values() {
            match kept {
                Kept::Some(kept) => kept.items.iter().for_each(|&item| f(item)),
                Kept::All(_) => (0..CHUNK).for_each(|place| {
                    if let Some(item) = kept.get(place) {
                        f(item);
                    }
                }),
            }
        }
    }

    /// Is an item of a number in `[first, end)` kept?
    pub fn any_within(&self, first: u64, end: u64) -> bool {
        let mut range = self
            .chunks
            .range(first >> CHUNK_BITS..=(end - 1) >> CHUNK_BITS);
        range.any(|(&index, kept)| match kept {
            Kept::All(_) => true,
            Kept::Some(kept) => {
                let mut any = false;
                each_place(&kept.named, |place| {
                    let number = index << CHUNK_BITS | place as u64;
                    any |= (first..end).contains(&number);
                });
                any
            }
        })
    }
}

/// What [`Chunks::numbered`] gives.
pub struct Numbered<'a, T> {
    chunks: btree_map::Iter<'a, u64, Kept<T>>,
    /// The chunk, and the number of its first item.
    kept: Option<&'a Kept<T>>,
    first: u64,
    /// Which word of its bits, what is left of that, and how many items there were before.
    word: usize,
    left: u64,
    before: usize,
}

impl<T: Copy> Iterator for Numbered<'_, T> {
    type Item = (u64, T);

    #[inline]
    fn next(&mut self) -> Option<(u64, T)> {
        while self.left == 0 {
            self.word += 1;
            if self.word >= CHUNK / 64 {
                let (&index, kept) = self.chunks.next()?;
                (self.kept, self.first) = (Some(kept), index << CHUNK_BITS);
                (self.word, self.before) = (0, 0);
            }
            self.left = match self.kept? {
                Kept::All(_) => u64::MAX,
                Kept::Some(kept) => kept.named[self.word],
            };
        }
        let place = self.word * 64 + self.left.trailing_zeros() as usize;
        self.left &= self.left - 1;
        let item = match self.kept? {
            Kept::Some(kept) => *kept.items.get(self.before)?,
            all => all.get(place)?,
        };
        self.before += 1;
        Some((self.first | place as u64, item))
    }
}

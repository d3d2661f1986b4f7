//! Tables: cells whose bytes have pasts of their own, each in order.
//!
//! The fields of a struct, or the bytes of a buffer, are touched one by one, in other steps and at other places; one list
//! for all of them would be searched and rewritten at each touch. A table has two words for each part of the cell
//! instead: its last write, and its last read since. That is all there is to know of a part as long as each access to it
//! knows of those before; when one does not, or is atomic, the cell goes back to a list.
//!
//! ```text
//!   first word of the cell   | parts 2 | version 8 |  address / 32  42 | list | - | sole | plain |    0    |
//!   table                    | write | read | write | read | ...        2, 4 or 8 parts
//! ```
//!
//! If *sole* is set, all that the table holds is of the slot that the cell's second word, the last access, is of: that one knows of all of
//! it without looking. A write of all bytes makes the table needless, and so does a read of all bytes if one write was the last of
//! all of them.
//!
//! Parts are of 4, 2 or 1 bytes, as large as the accesses allow. A word is the whole access, so its mask may have bytes of
//! other parts; which of them it still stands for is told by where it is.
//!
//! | who | may |
//! |---|---|
//! | anybody | read a word and believe it if the cell's first word is the same afterwards |
//! | who may change the cell | change the table |
//!
//! The memory of tables is never given back to anything else, and the version tells one use of it from the next.

use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
use core::sync::atomic::{AtomicU64, Ordering};

use deadheat_detect::entry::{self, Entry, LIST, LOCK, MASK, PLAIN, SEQ_SHIFT, WRITE};

use super::{Cell, Right, Step, Words, lock};
use crate::clock::Clock;
use crate::sync::Locked;
use crate::sys;

/// Set in a cell's first word, together with [`LIST`], if it names a table.
pub const TABLE: u64 = PLAIN;
const NAMES_TABLE: u64 = LIST | TABLE;
/// Set in such a word if all that the table holds is of one slot.
pub const SOLE: u64 = WRITE;

/// Where the size of the parts and the version are in the first word.
pub const PART_SHIFT: u32 = 62;
pub const VERSION_SHIFT: u32 = 54;
pub const ADDRESS_UNIT: u32 = 5;

/// The most entries that a table can stand for.
pub const MOST: usize = 16;
const SLAB: usize = 64 << 10;
/// So many accesses are better said by two words or a list, which take less room.
const FEW: usize = 2;

/// Can a table be better than a list for so many accesses?
pub const fn is_worth_it(accesses: usize) -> bool {
    accesses > FEW
}

/// A table and the bytes of its parts, as a cell's first word tells.
#[derive(Clone, Copy)]
struct Table {
    words: *const AtomicU64,
    /// A part has `1 << part` bytes.
    part: u32,
}

/// What a part holds.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
enum Row {
    Write = 0,
    Read = 1,
}

/// Does the word name a table?
#[inline(always)]
pub const fn named_by(first: u64) -> bool {
    first & NAMES_TABLE == NAMES_TABLE
}

impl Table {
    /// # Safety
    /// The word must name a table.
    #[inline(always)]
    const unsafe fn of(first: u64) -> Table {
        let address =
            first << (64 - VERSION_SHIFT) >> (64 - VERSION_SHIFT + SEQ_SHIFT) << ADDRESS_UNIT;
        Table {
            words: address as *const AtomicU64,
            part: (first >> PART_SHIFT) as u32,
        }
    }

    const fn parts(self) -> usize {
        8 >> self.part
    }

    /// The bytes of a part.
    const fn bytes(self, part: usize) -> u8 {
        (((1u32 << (1 << self.part)) - 1) << (part << self.part)) as u8
    }

    #[inline(always)]
    fn word(self, part: usize, row: Row) -> &'static AtomicU64 {
        // SAFETY: callers stay below the count of parts, and tables stay mapped.
        unsafe { &*self.words.add(part * 2 + row as usize) }
    }

    #[inline(always)]
    fn get(self, part: usize, row: Row) -> u64 {
        self.word(part, row).load(Ordering::Relaxed)
    }

    #[inline(always)]
    fn put(self, part: usize, row: Row, word: u64) {
        self.word(part, row).store(word, Ordering::Release);
    }

    /// The parts that these bytes are, if they are whole ones.
    #[inline(always)]
    fn parts_of(self, mask: u8) -> Option<core::ops::Range<usize>> {
        if mask == 0xff {
            return Some(0..self.parts());
        }
        let from = mask.trailing_zeros() >> self.part;
        let to = (7 - mask.leading_zeros().min(7)) >> self.part;
        let whole = self.bytes(from as usize) | self.bytes(to as usize);
        let run = (0xffu32 >> (7 - (mask.ilog2()))) & (0xff << mask.trailing_zeros());
        (mask as u32 == run && whole & !mask == 0).then_some(from as usize..to as usize + 1)
    }

    /// Calls `f` with each access, and the bytes that it still stands for.
    fn each(self, mut f: impl FnMut(Entry)) {
        for row in [Row::Write, Row::Read] {
            let mut part = 0;
            while part < self.parts() {
                let word = self.get(part, row);
                let mut bytes = self.bytes(part);
                part += 1;
                while part < self.parts() && self.get(part, row) == word {
                    bytes |= self.bytes(part);
                    part += 1;
                }
                if word & bytes as u64 != 0 {
                    f(Entry(word & !(MASK & !(bytes as u64))));
                }
            }
        }
    }
}

/// Brings the table of the cell nearer, if it has one.
///
/// # Safety
/// `cell` must be a cell of the shadow.
#[inline(always)]
pub unsafe fn expect(cell: *const Cell) {
    // SAFETY: by the contract; any address can be asked for.
    unsafe {
        let first = (*cell).first.load(Ordering::Relaxed);
        if named_by(first) {
            let words: *const i8 = Table::of(first).words.cast();
            _mm_prefetch::<_MM_HINT_T0>(words);
            _mm_prefetch::<_MM_HINT_T0>(words.wrapping_add(64));
        }
    }
}

/// Has the step made an access that makes the one described by `need` redundant?
///
/// One word suffices: what somebody else did since to one of its bytes would not know of it, so this would be no table.
///
/// # Safety
/// `first` must name a table, and have been read from the cell.
#[inline(always)]
pub unsafe fn has(cell: &Cell, first: u64, step: &Step, need: u64) -> bool {
    // SAFETY: by the contract.
    let table = unsafe { Table::of(first) };
    let part = (need as u8).trailing_zeros() as usize >> table.part;
    let covers = |row| entry::same_step_covers(table.get(part, row), step.base, step.span, need);
    (covers(Row::Write) || covers(Row::Read)) && cell.first.load(Ordering::Acquire) == first
}

/// Records a plain access that knows of all that was done to its parts before. False, with nothing changed, if it does not, or
/// if the parts are too large for it.
///
/// # Safety
/// `cell` must be a cell of the shadow, and the strand at work there by the right that it claims.
#[inline(always)]
pub unsafe fn settle_table(
    cell: *const Cell,
    right: Right,
    clock: &Clock,
    stamp: u64,
    need: u64,
) -> bool {
    // SAFETY: by the contract.
    let cell = unsafe { &*cell };
    let first = match right {
        Right::Owner => cell.first.load(Ordering::Relaxed),
        Right::Locker => lock(cell),
    };
    let new = stamp | need;
    let mut after = None;
    if first & LOCK == 0 && named_by(first) {
        let past = Past::of(cell, first, new);
        let covers = |word| clock.covers_word(word);
        // SAFETY: just asked.
        after =
            settle(unsafe { Table::of(first) }, past, covers, new).map(|settled| match settled {
                Settled::Here => Words {
                    first: past.after(first),
                    second: new,
                },
                Settled::Instead(words) => words,
            });
        if let Some(after) = after {
            cell.second.store(after.second, Ordering::Release);
        }
    }
    let word = after.map_or(first, |after| after.first);
    if right == Right::Locker || word != first {
        cell.first.store(word, Ordering::Release);
    }
    if after.is_some() && !named_by(word) {
        // SAFETY: no cell names it any more.
        unsafe { free(first, Entry(new).slot()) };
    }
    after.is_some()
}

/// Whose the accesses are that a table holds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Past {
    /// All of the slot that makes the next one.
    Own,
    Any,
}

impl Past {
    /// Of the cell's table, which `first` names, for somebody who adds `new`.
    #[inline(always)]
    fn of(cell: &Cell, first: u64, new: u64) -> Past {
        let last = Entry(cell.second.load(Ordering::Relaxed));
        if first & SOLE != 0 && last.slot() == Entry(new).slot() {
            Past::Own
        } else {
            Past::Any
        }
    }

    /// The cell's first word when that was added.
    #[inline(always)]
    fn after(self, first: u64) -> u64 {
        match self {
            Past::Own => first | SOLE,
            Past::Any => first & !SOLE,
        }
    }
}

/// Where an access that a table was asked to take is now.
enum Settled {
    Here,
    /// Two words say all that there is to know of the cell: the table is needless.
    Instead(Words),
}

/// The access is put into its parts, unless it makes the table needless. None, with nothing changed, if the table cannot
/// take it.
#[inline(always)]
fn settle(table: Table, past: Past, covers: impl Fn(u64) -> bool, new: u64) -> Option<Settled> {
    let parts = table.parts_of(new as u8)?;
    if new & PLAIN == 0 {
        return None;
    }
    if past == Past::Any {
        // Neighbours often have the same last write, and the same read.
        let mut known = [0; 2];
        for part in parts.clone() {
            for (row, known) in [Row::Write, Row::Read].into_iter().zip(&mut known) {
                let word = table.get(part, row);
                if word != *known {
                    if !covers(word) {
                        return None;
                    }
                    *known = word;
                }
            }
        }
    }
    if let Some(words) = needless_after(table, new) {
        return Some(Settled::Instead(words));
    }
    for part in parts {
        if new & WRITE != 0 {
            table.put(part, Row::Write, new);
            table.put(part, Row::Read, 0);
        } else {
            table.put(part, Row::Read, new);
        }
    }
    Some(Settled::Here)
}

/// What two words say of a cell after an access of all bytes, which knows of all before it: a write is all there is to know,
/// and a read if one write was the last of all bytes.
#[inline(always)]
fn needless_after(table: Table, new: u64) -> Option<Words> {
    if new & MASK != MASK {
        return None;
    }
    if new & WRITE != 0 {
        return Some(Words {
            first: new,
            second: 0,
        });
    }
    let written = table.get(0, Row::Write);
    let same = (1..table.parts()).all(|part| table.get(part, Row::Write) == written);
    same.then_some(match written {
        0 => Words {
            first: new,
            second: 0,
        },
        _ => Words {
            first: written,
            second: new,
        },
    })
}

/// As [`settle_table`], in a cell that the caller may change, and with smaller parts if need be: the cell's first word
/// afterwards. If it names another table or none, the old one is to be freed.
///
/// # Safety
/// `first` must be the cell's and name a table.
pub unsafe fn recorded(cell: &Cell, first: u64, step: &Step, new: Entry) -> Option<u64> {
    let covers = |word| step.covers(Entry(word));
    let past = Past::of(cell, first, new.0);
    let mut after = first;
    // SAFETY: by the contract.
    let mut settled = settle(unsafe { Table::of(first) }, past, covers, new.0);
    if settled.is_none() {
        // SAFETY: by the contract.
        after = unsafe { refined(first, new) }?;
        // SAFETY: a table that no cell names yet.
        settled = settle(unsafe { Table::of(after) }, past, covers, new.0);
        if settled.is_none() {
            // SAFETY: as above.
            unsafe { free(after, new.slot()) };
        }
    }
    let words = match settled? {
        Settled::Here => Words {
            first: past.after(after),
            second: new.0,
        },
        Settled::Instead(words) => words,
    };
    cell.second.store(words.second, Ordering::Release);
    Some(words.first)
}

/// Do both words name the same table?
pub fn is_same(first: u64, other: u64) -> bool {
    named_by(other) && (first ^ other) & !SOLE == 0
}

/// Calls `f` for each access of the table that the cell's first word names, if it names the same one afterwards. False if
/// not.
///
/// # Safety
/// `first` must name a table, and have been read from the cell.
pub unsafe fn each_unless_changed(cell: &Cell, first: u64, f: &mut impl FnMut(Entry)) -> bool {
    // SAFETY: by the contract.
    let (entries, count) = unsafe { entries(first) };
    let same = cell.first.load(Ordering::Acquire) == first;
    if same {
        entries[..count].iter().for_each(|&word| f(Entry(word)));
    }
    same
}

/// The same, with `f` called at once: some may be told more than once, and the table may have changed meanwhile. False if it
/// is another one now, and there may be more.
///
/// # Safety
/// As for [`each_unless_changed`].
#[inline(always)]
pub unsafe fn each_at_least(cell: &Cell, first: u64, f: &mut impl FnMut(Entry)) -> bool {
    // SAFETY: by the contract.
    unsafe { Table::of(first) }.each(f);
    cell.first.load(Ordering::Acquire) == first
}

/// The accesses of the table, and how many.
///
/// # Safety
/// `first` must name a table.
pub unsafe fn entries(first: u64) -> ([u64; MOST], usize) {
    let mut entries = [0; MOST];
    let mut count = 0;
    // SAFETY: by the contract.
    unsafe { Table::of(first) }.each(|entry| {
        let same = |&word: &u64| (word ^ entry.0) & !MASK == 0;
        if let Some(at) = entries[..count].iter().position(same) {
            entries[at] |= entry.0;
        } else if count < MOST {
            entries[count] = entry.0;
            count += 1;
        }
    });
    (entries, count)
}

/// For each byte of a cell its last write, and its last read since.
struct Rows {
    writes: [u64; 8],
    reads: [u64; 8],
}

impl Rows {
    /// Puts the access to its bytes, where it takes the place of what is there if that `gives_way`; false if that is not known.
    #[inline(always)]
    fn put(&mut self, word: u64, gives_way: impl Fn(u64) -> Option<bool>) -> bool {
        let row = if word & WRITE != 0 {
            &mut self.writes
        } else {
            &mut self.reads
        };
        let (mut last, mut yes) = (0, true);
        let mut bytes = word as u8;
        while bytes != 0 {
            let place = &mut row[bytes.trailing_zeros() as usize % 8];
            bytes &= bytes - 1;
            if *place != last {
                match gives_way(*place) {
                    Some(known) => (last, yes) = (*place, known),
                    None => return false,
                }
            }
            if yes {
                *place = word;
            }
        }
        true
    }

    /// Forgets what is read of the bytes that the access writes; false if it does not know of that.
    #[inline(always)]
    fn forget_reads(&mut self, new: u64, covers: impl Fn(u64) -> bool) -> bool {
        let mut known = 0;
        let mut bytes = new as u8;
        while bytes != 0 {
            let read = &mut self.reads[bytes.trailing_zeros() as usize % 8];
            bytes &= bytes - 1;
            if *read != known && !covers(*read) {
                return false;
            }
            known = *read;
            *read = 0;
        }
        true
    }

    /// How large parts can be if the bytes of a part are alike.
    fn largest_part(&self) -> u32 {
        // A bit for each byte that is like the one before it.
        let alike = (1..8).fold(0u32, |alike, at| {
            let same =
                self.writes[at] == self.writes[at - 1] && self.reads[at] == self.reads[at - 1];
            alike | (same as u32) << at
        });
        if alike & 0b1110_1110 == 0b1110_1110 {
            2
        } else if alike & 0b1010_1010 == 0b1010_1010 {
            1
        } else {
            0
        }
    }
}

/// The first word of a cell with a table of these accesses, the last of which is `step`'s own and new; none if a table
/// cannot say all of it.
pub fn made_of(words: &[u64], step: &Step) -> Option<u64> {
    let (&new, old) = words.split_last()?;
    let mut rows = Rows {
        writes: [0; 8],
        reads: [0; 8],
    };
    for &word in old {
        // Of one strand's accesses the later one counts. Who came first of two strands is not known any more.
        let later = |there: u64| {
            let known = there == 0 || Entry(there).slot() == Entry(word).slot();
            known.then_some(there <= word)
        };
        if word & (PLAIN | LIST | LOCK) != PLAIN || !rows.put(word, later) {
            return None;
        }
    }
    let covers = |word| step.covers(Entry(word));
    if new & PLAIN == 0 || !rows.put(new, |there| covers(there).then_some(true)) {
        return None;
    }
    if new & WRITE != 0 && !rows.forget_reads(new, covers) {
        return None;
    }
    let part = rows.largest_part();
    if words.len() <= FEW {
        return None;
    }
    let own = |&word: &u64| Entry(word).slot() == Entry(new).slot();
    let past = match old.iter().all(own) {
        true => Past::Own,
        false => Past::Any,
    };
    Some(past.after(make(&rows, part, step.slot)))
}

/// The same for two accesses and a new one that one strand made, all of them plain; `first` and `second` are not of the new one's number.
pub fn made_of_own(first: u64, second: u64, new: u64) -> u64 {
    let (older, newer) = (first.min(second), first.max(second));
    // The bytes of an old access that a later one does not stand for.
    let beside = |old: u64, later: u64| match later & WRITE != 0 || old & WRITE == 0 {
        true => old & !later & MASK,
        false => old & MASK,
    };
    let in_new = new & MASK;
    let in_newer = beside(newer, new);
    let in_older = beside(older, new) & beside(older, newer);
    // A bit for each byte, all but the last, that one of them touches and not the next byte, or the other way round.
    let borders = [in_new, in_newer, in_older]
        .into_iter()
        .fold(0, |all, bytes| all | bytes ^ bytes >> 1);
    let part = match borders {
        _ if borders & 0x77 == 0 => 2,
        _ if borders & 0x55 == 0 => 1,
        _ => 0,
    };
    let first = take(part, Entry(new).slot());
    // SAFETY: that named a fresh table.
    let table = unsafe { Table::of(first) };
    for at in 0..table.parts() {
        let byte = 1 << (at << part);
        let [mut write, mut read] = [0; 2];
        for (bytes, word) in [(in_older, older), (in_newer, newer), (in_new, new)] {
            if bytes & byte != 0 {
                match word & WRITE != 0 {
                    true => write = word,
                    false => read = word,
                }
            }
        }
        table.put(at, Row::Write, write);
        table.put(at, Row::Read, read);
    }
    Past::Own.after(first)
}

/// A table of these words.
fn make(rows: &Rows, part: u32, slot: u16) -> u64 {
    let first = take(part, slot);
    // SAFETY: that named a fresh table.
    let table = unsafe { Table::of(first) };
    for at in 0..table.parts() {
        table.put(at, Row::Write, rows.writes[at << part]);
        table.put(at, Row::Read, rows.reads[at << part]);
    }
    first
}

/// The same table in smaller parts, so that `new` touches whole ones; the old one is to be freed. None if they are small already.
///
/// # Safety
/// `first` must name a table that the caller may change.
unsafe fn refined(first: u64, new: Entry) -> Option<u64> {
    // SAFETY: by the contract.
    let old = unsafe { Table::of(first) };
    let even = |mask: u8| (mask ^ mask >> 1) & 0x55 == 0;
    let part = if even(new.mask()) { 1 } else { 0 };
    if old.part <= part {
        return None;
    }
    let finer = take(part, new.slot());
    // SAFETY: that named a fresh table.
    let new = unsafe { Table::of(finer) };
    for at in 0..new.parts() {
        for row in [Row::Write, Row::Read] {
            new.put(at, row, old.get(at << part >> old.part, row));
        }
    }
    Some(finer)
}

/// So many free tables are known without looking at them.
const AT_HAND: usize = 62;
/// Slots share pools, so that strands that run at the same time rarely meet in one.
const POOLS_OF_SLOTS: usize = 8;

/// Tables of one size that nobody uses.
#[repr(align(64))]
struct Pool {
    /// The words of the first `count`, with the version of the use that comes.
    at_hand: [u64; AT_HAND],
    count: usize,
    /// More of them, each naming the next.
    free: *const AtomicU64,
    bump: *mut u8,
    end: *mut u8,
}

// SAFETY: plain memory that only the pool owns.
unsafe impl Send for Pool {}

static POOLS: [[Locked<Pool>; 3]; POOLS_OF_SLOTS] = [const {
    [const {
        Locked::new(Pool {
            at_hand: [0; AT_HAND],
            count: 0,
            free: core::ptr::null(),
            bump: core::ptr::null_mut(),
            end: core::ptr::null_mut(),
        })
    }; 3]
}; POOLS_OF_SLOTS];

fn pool(slot: u16, part: u32) -> &'static Locked<Pool> {
    &POOLS[slot as usize % POOLS_OF_SLOTS][part as usize]
}

fn word_for(words: *const AtomicU64, part: u32, version: u64) -> u64 {
    (part as u64) << PART_SHIFT
        | (version & 0xff) << VERSION_SHIFT
        | (words as u64 >> ADDRESS_UNIT) << SEQ_SHIFT
        | NAMES_TABLE
}

/// The word for a table with parts of `1 << part` bytes that nobody uses.
fn take(part: u32, slot: u16) -> u64 {
    let mut pool = pool(slot, part).lock();
    if let Some(last) = pool.count.checked_sub(1) {
        pool.count = last;
        return pool.at_hand[last];
    }
    if !pool.free.is_null() {
        let words = pool.free;
        // SAFETY: only tables are put there: the next free one, and the version of the use that comes.
        let (next, version) = unsafe {
            (
                (*words).load(Ordering::Relaxed),
                (*words.add(1)).load(Ordering::Relaxed),
            )
        };
        pool.free = next as *const AtomicU64;
        return word_for(words, part, version);
    }
    if pool.bump == pool.end {
        pool.bump = sys::map(SLAB);
        if pool.bump.is_null() {
            sys::die("no memory left for the accesses to the parts of a cell");
        }
        pool.end = pool.bump.wrapping_add(SLAB);
    }
    let words = pool.bump;
    pool.bump = words.wrapping_add(16 * (8 >> part));
    word_for(words as *const AtomicU64, part, 0)
}

/// Frees a table that no cell names any more; somebody of that slot does so.
///
/// # Safety
/// `first` must name a table that no cell names.
pub unsafe fn free(first: u64, slot: u16) {
    // SAFETY: by the contract.
    let table = unsafe { Table::of(first) };
    let version = (first >> VERSION_SHIFT & 0xff) + 1;
    let mut pool = pool(slot, table.part).lock();
    if pool.count < AT_HAND {
        let at = pool.count;
        pool.at_hand[at] = word_for(table.words, table.part, version);
        pool.count = at + 1;
    } else {
        table.put(0, Row::Read, version & 0xff);
        table.put(0, Row::Write, pool.free as u64);
        pool.free = table.words;
    }
}

/// # Safety
/// No other thread may exist.
pub unsafe fn after_fork() {
    for pool in POOLS.iter().flatten() {
        // SAFETY: by the contract.
        unsafe { pool.force_unlock() };
    }
}

//! A shadow cell: what is remembered of 8 bytes of the program, and the only code that changes it.
//!
//! A cell is two words. Each is an entry (`deadheat_detect::entry`) or empty; when two do not suffice, the first word names
//! a list of entries (`cell::list`) with [`LIST`] set, and the second repeats the entry that was added last, which is
//! only a hint for the fast path. A list word has an empty mask, so the fast path never takes it for an entry. A list with
//! [`table::TABLE`] set in its word is a table, one past for each part of the cell.
//!
//! | who | may |
//! |---|---|
//! | anybody | read both words and, if the version stays the same, a list |
//! | who owns the cell's page ([`crate::shadow`]) | change both words, unless they name an own list |
//! | who set [`LOCK`] in the first word, the page being shared | change everything, then clear it |
//!
//! The rules are [`entry::races`] and [`entry::subsumes`]; nothing is ever evicted. Both words change in an order in which
//! an entry that moves from one to the other is never missing from both.

use core::sync::atomic::{AtomicU64, Ordering};

use deadheat_detect::entry::{self, Entry, LIST, LOCK, MASK};

pub use self::both::{join_own, make_own_table, settle_both};
pub use self::forget::{drop_moot, forget, replace_own, unlock_after_fork};
pub use self::lately::Lately;
pub use self::list::LIST_UNIT;
use self::list::Sort;
use self::own::{record_in_own, settle_in_own};

pub use self::look::{
    Been, already_recorded, each_entry, each_entry_at_least, has_list, has_more, has_table,
    is_empty, own_list, says, touched_run, used_run, words,
};
pub use self::memo::{Memo, Words};
use self::quick::left_by;
pub use self::quick::{Change, Rest, Sweep, settle_own, settle_run, settle_shared};
pub use self::table::{
    ADDRESS_UNIT, PART_SHIFT, SOLE, TABLE, VERSION_SHIFT, expect as expect_table, settle_table,
};
use crate::clock::Clock;
use crate::sync::Waiting;
use crate::sys;

mod both;
mod forget;
mod lately;
mod list;
mod look;
mod memo;
mod own;
mod quick;
pub mod table;
#[cfg(test)]
mod tests;

/// # Safety
/// No other thread may exist.
pub unsafe fn after_fork() {
    // SAFETY: by the contract.
    unsafe {
        list::after_fork();
        table::after_fork();
    }
}

/// Two words of shadow for 8 bytes of the program.
#[repr(C, align(16))]
pub struct Cell {
    first: AtomicU64,
    second: AtomicU64,
}

const _: () = assert!(size_of::<Cell>() == 16);

/// So many races of one access in one cell are told, whichever they are; after that only those on further bytes.
const TOLD_FREELY: usize = 4;
/// The first race told is on one byte at least, which leaves seven to be told.
pub const MOST_RACES: usize = TOLD_FREELY + 7;

/// The older sides of the races that one access found in one cell: every byte that races is in one of them.
#[derive(Clone, Copy)]
pub struct Races {
    pub older: [Entry; MOST_RACES],
    pub count: usize,
    /// The bytes that the races so far are on; only believable if there are any.
    bytes: u8,
}

impl Races {
    pub const NONE: Races = Races {
        older: [Entry::EMPTY; MOST_RACES],
        count: 0,
        bytes: 0,
    };

    #[inline(always)]
    pub fn clear(&mut self) {
        self.count = 0;
    }

    /// Calls `f` for each of them, as another thread sees them.
    ///
    /// # Safety
    /// `races` must stay readable meanwhile; it may be changed.
    pub unsafe fn each_of(races: *const Races, mut f: impl FnMut(Entry)) {
        // SAFETY: by the contract; every value of these words is a good one.
        unsafe {
            let count = sys::glimpse(&raw const (*races).count).min(MOST_RACES);
            for i in 0..count {
                f(sys::glimpse(
                    (&raw const (*races).older).cast::<Entry>().add(i),
                ));
            }
        }
    }

    #[cold]
    fn add(&mut self, older: Entry, new: Entry) {
        let known = if self.count == 0 { 0 } else { self.bytes };
        let bytes = older.mask() & new.mask();
        if self.count < TOLD_FREELY || bytes & !known != 0 {
            self.older[self.count] = older;
            self.count += 1;
            self.bytes = known | bytes;
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
    /// What every strand knows ([`crate::floor`]): no cell needs it.
    pub floor: &'a Clock,
}

impl Step<'_> {
    #[inline(always)]
    fn covers(&self, old: Entry) -> bool {
        old.slot() == self.slot || old.covered_by(self.clock.get(old.slot()))
    }
}

/// By what right a cell is changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Right {
    /// The strand owns the page: nobody else changes its cells.
    Owner,
    /// The page is shared: the cell must be locked.
    Locker,
}

/// Compares `new` with all that the cell remembers, remembers it, and forgets what it subsumes. Adds to `races`.
///
/// # Safety
/// `cell` must be a cell of the shadow, the caller must be inside the runtime (no signal handler runs meanwhile) and have
/// the right that he claims.
#[inline(always)]
pub unsafe fn record(
    cell: *const Cell,
    right: Right,
    memo: &mut Memo,
    step: &Step,
    new: Entry,
    races: &mut Races,
) {
    // SAFETY: by the contract.
    let cell = unsafe { &*cell };
    let first = match right {
        Right::Owner => cell.first.load(Ordering::Relaxed),
        Right::Locker => lock(cell),
    };
    if first & (LIST | LOCK) != 0 {
        return record_in_list(cell, first, right, memo, step, new, races);
    }
    let second = cell.second.load(Ordering::Relaxed);
    let whole = merged([first, second].into_iter(), new);
    let a = judge(Entry(first), step, new, whole, races);
    let b = judge(Entry(second), step, new, whole, races);
    let after = match (a, b) {
        (0, 0) => Words {
            first: whole.0,
            second: 0,
        },
        (0, old) | (old, 0) => pair(whole.0, old),
        _ => to_list(memo, step, Words { first, second }, &[a, b, new.0]),
    };
    cell.set(right, second, after);
}

/// What is left of an old entry beside a new one; 0 if nothing. `new` is the access; `whole` is what will be remembered of it,
/// together with earlier ones of the same number.
#[inline(always)]
fn judge(old: Entry, step: &Step, new: Entry, whole: Entry, races: &mut Races) -> u64 {
    let covered = step.covers(old);
    // If a race is told, the newer access stands for both from here on, if it touches as much.
    let told = entry::races(old, new, covered);
    if told {
        races.add(old, new);
    }
    if entry::subsumes(whole, old, covered || told) || step.floor.covers_word(old.0) {
        0
    } else if covered {
        left_by(old.0, whole.0)
    } else {
        old.0
    }
}

/// Writes go first, reads second: most fast paths then need one comparison.
#[inline(always)]
fn pair(new: u64, old: u64) -> Words {
    if new & entry::WRITE != 0 {
        Words {
            first: new,
            second: old,
        }
    } else {
        Words {
            first: old,
            second: new,
        }
    }
}

#[inline(never)]
fn to_list(memo: &mut Memo, step: &Step, before: Words, words: &[u64; 3]) -> Words {
    let new = words[2];
    match memo.recall(before, new) {
        Some(after) => after,
        None => listed(memo, step, before, new, words),
    }
}

/// A list or a table of `words`, whose last one is the newest.
fn listed(memo: &mut Memo, step: &Step, before: Words, new: u64, words: &[u64]) -> Words {
    let newest = words[words.len() - 1];
    // What one strand did is in order, so a table can say it, and takes what it does next where it is: a common list would
    // have to be looked for at each access.
    let own = |&word: &u64| Entry(word).slot() == step.slot;
    if words.iter().all(own)
        && let Some(first) = table::made_of(words, step)
    {
        return Words {
            first,
            second: newest,
        };
    }
    if memo.hopeful()
        && let Some((list, found)) = list::common(words)
    {
        let after = Words {
            first: list::word_of(list),
            second: newest,
        };
        memo.remember(before, new, after);
        if found {
            memo.encourage();
        }
        return after;
    }
    let first =
        table::made_of(words, step).unwrap_or_else(|| list::word_of(list::make(words, Sort::Own)));
    Words {
        first,
        second: newest,
    }
}

impl Cell {
    #[inline(always)]
    fn both_words(&self) -> Words {
        Words {
            first: self.first.load(Ordering::Relaxed),
            second: self.second.load(Ordering::Relaxed),
        }
    }

    /// Changes both words, and unlocks if the first was locked. `second` is what the second word was.
    #[inline(always)]
    fn set(&self, right: Right, second: u64, after: Words) {
        if (after.first ^ second) & !MASK == 0 {
            // The old second entry moves to the front, perhaps with more bytes: it must be there before it is overwritten,
            // and the cell must not be anybody else's before both are done.
            let locked = if right == Right::Locker { LOCK } else { 0 };
            self.first.store(after.first | locked, Ordering::Release);
            self.second.store(after.second, Ordering::Release);
            if right == Right::Locker {
                self.first.store(after.first, Ordering::Release);
            }
        } else {
            self.second.store(after.second, Ordering::Release);
            self.first.store(after.first, Ordering::Release);
        }
    }
}

#[inline(always)]
fn lock(cell: &Cell) -> u64 {
    let seen = cell.first.load(Ordering::Relaxed);
    if try_lock(cell, seen) {
        return seen;
    }
    lock_contended(cell)
}

/// Locks a cell whose first word is this one.
#[inline(always)]
fn try_lock(cell: &Cell, seen: u64) -> bool {
    seen & LOCK == 0
        && cell
            .first
            .compare_exchange_weak(seen, seen | LOCK, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
}

#[cold]
fn lock_contended(cell: &Cell) -> u64 {
    let mut spins = 0u32;
    let mut waiting = Waiting::default();
    loop {
        let seen = cell.first.load(Ordering::Relaxed);
        if try_lock(cell, seen) {
            return seen;
        }
        spins += 1;
        if spins.is_multiple_of(64) {
            waiting.turn();
        }
        core::hint::spin_loop();
    }
}

/// Longer lists than this are never common.
const LONGEST_COMMON: usize = 64;

/// `first` is the cell's first word; for a locker the cell is locked, and an owner locks it here if its list is own.
#[inline(never)]
fn record_in_list(
    cell: &Cell,
    first: u64,
    right: Right,
    memo: &mut Memo,
    step: &Step,
    new: Entry,
    races: &mut Races,
) {
    if table::named_by(first) && first & LOCK == 0 {
        return record_in_table(cell, first, right, memo, step, new, races);
    }
    if first & (LIST | LOCK) == LIST {
        // A common list never changes, so neither does what becomes of it: most cells end here.
        if let Some(after) = memo.recall(Words { first, second: 0 }, new.0) {
            return cell.set(Right::Locker, 0, after);
        }
    }
    // SAFETY: a word with LIST set names a list.
    let common =
        first & (LIST | LOCK) == LIST && unsafe { list::named_by(first) }.sort() == Sort::Common;
    let first = if right == Right::Owner && !common {
        lock(cell)
    } else {
        first
    };
    record_locked(cell, first, memo, step, new, races);
}

fn record_locked(
    cell: &Cell,
    first: u64,
    memo: &mut Memo,
    step: &Step,
    new: Entry,
    races: &mut Races,
) {
    if first & LIST == 0 {
        // It was a list, or locked, before we had the lock: judge the pair that it is now.
        let second = cell.second.load(Ordering::Relaxed);
        let mut words = [0u64; 3];
        let count = judge_all(&[first, second], step, new, races, &mut words);
        return cell.set(
            Right::Locker,
            0,
            words_after(
                memo,
                step,
                Words { first, second },
                new.0,
                &words[..count],
                races.count,
            ),
        );
    }
    if table::named_by(first) {
        return record_in_table(cell, first, Right::Locker, memo, step, new, races);
    }
    // SAFETY: the word names a list.
    let list = unsafe { list::named_by(first) };
    if list.sort() == Sort::Own {
        return record_in_own(cell, list, step, new, races);
    }
    if list.len() < SHORT {
        record_in_common::<SHORT>(cell, first, list, memo, step, new, races);
    } else {
        record_in_common::<{ LONGEST_COMMON + 1 }>(cell, first, list, memo, step, new, races);
    }
}

/// Most common lists are shorter than this.
const SHORT: usize = 8;

/// `list`, which the cell's first word names, has less than `ROOM` entries, and others may name it too.
fn record_in_common<const ROOM: usize>(
    cell: &Cell,
    first: u64,
    list: &list::List,
    memo: &mut Memo,
    step: &Step,
    new: Entry,
    races: &mut Races,
) {
    let mut old = [0u64; ROOM];
    let len = list.len().min(ROOM - 1);
    for (i, word) in old[..len].iter_mut().enumerate() {
        *word = list.item(i).load(Ordering::Relaxed);
    }
    let mut words = [0u64; ROOM];
    let count = judge_all(&old[..len], step, new, races, &mut words);
    cell.set(
        Right::Locker,
        0,
        words_after(
            memo,
            step,
            Words { first, second: 0 },
            new.0,
            &words[..count],
            races.count,
        ),
    );
}

/// Makes the change in the list of the cell's own that `first`, its first word, names, if that is simple; false if not, with nothing
/// changed. The strand may have been here, too: then nothing is to be changed.
///
/// # Safety
/// As for [`settle_listed`], by whichever right: such a cell is locked by its page's owner, too.
#[inline(always)]
pub unsafe fn settle_own_list(cell: *const Cell, first: u64, step: &Step, new: u64) -> bool {
    // SAFETY: by the contract.
    let cell = unsafe { &*cell };
    if !try_lock(cell, first) {
        return false;
    }
    // SAFETY: the word names a list.
    let list = unsafe { list::named_by(first) };
    // Until the cell was locked, it may have become another one.
    if list.sort() == Sort::Own && settle_in_own(cell, list, step, Entry(new)) {
        return true;
    }
    cell.first.store(first, Ordering::Release);
    false
}

/// Makes the change that the memo knows, if it knows one for what the cell remembers and this access: the first word then. If
/// it does, the step has not been here either: else nothing would have been changed the last time. Or makes the change in
/// a list of the cell's own, if that is as simple: 0 then. None if not, with nothing changed.
///
/// # Safety
/// `cell` must be a cell of the shadow, and the strand at work there by the right that it claims.
#[inline(always)]
pub unsafe fn settle_listed(
    cell: *const Cell,
    right: Right,
    memo: &mut Memo,
    step: &Step,
    new: u64,
) -> Option<u64> {
    // SAFETY: by the contract.
    let cell = unsafe { &*cell };
    let first = match right {
        Right::Owner => cell.first.load(Ordering::Relaxed),
        Right::Locker => lock(cell),
    };
    if first & (LIST | LOCK) == LIST && !table::named_by(first) {
        // SAFETY: the word names a list.
        let list = unsafe { list::named_by(first) };
        if list.sort() == Sort::Common {
            // It never changes, so neither does what becomes of it.
            if let Some(after) = memo.recall(Words { first, second: 0 }, new) {
                cell.set(right, 0, after);
                return Some(after.first);
            }
        } else if right == Right::Locker || try_lock(cell, first) {
            if settle_in_own(cell, list, step, Entry(new)) {
                return Some(0);
            }
            cell.first.store(first, Ordering::Release);
            return None;
        }
    }
    if right == Right::Locker {
        cell.first.store(first, Ordering::Release);
    }
    None
}

/// The cell has a table: it stays one if the access knows of all that was done to its parts.
fn record_in_table(
    cell: &Cell,
    first: u64,
    right: Right,
    memo: &mut Memo,
    step: &Step,
    new: Entry,
    races: &mut Races,
) {
    // SAFETY: the word names a table, and the caller may change it.
    unsafe {
        let after = match table::recorded(cell, first, step, new) {
            Some(after) => after,
            None => {
                let (old, count) = table::entries(first);
                let mut words = [0u64; table::MOST + 1];
                let count = judge_all(&old[..count], step, new, races, &mut words);
                let before = Words { first, second: 0 };
                let after = words_after(memo, step, before, new.0, &words[..count], races.count);
                cell.set(right, 0, after);
                return table::free(first, step.slot);
            }
        };
        if right == Right::Locker || after != first {
            cell.first.store(after, Ordering::Release);
        }
        if !table::is_same(first, after) {
            table::free(first, step.slot);
        }
    }
}

/// The entries of `old` that stay beside `new`, and `new` last; how many.
fn judge_all(old: &[u64], step: &Step, new: Entry, races: &mut Races, words: &mut [u64]) -> usize {
    let mut count = 0;
    let last = merged(old.iter().copied(), new);
    for &word in old {
        let left = judge(Entry(word), step, new, last, races);
        if left != 0 {
            words[count] = left;
            count += 1;
        }
    }
    words[count] = last.0;
    count + 1
}

/// `new` together with the entry of the same number and kind, if there is one: then they are one access to more bytes.
#[inline(always)]
fn merged(old: impl Iterator<Item = u64>, new: Entry) -> Entry {
    Entry(
        old.filter(|word| (word ^ new.0) & !MASK == 0)
            .fold(new.0, |all, word| all | word),
    )
}

/// The cell's words for these entries.
fn words_after(
    memo: &mut Memo,
    step: &Step,
    before: Words,
    new: u64,
    words: &[u64],
    races: usize,
) -> Words {
    match *words {
        [only] => remembered(
            memo,
            before,
            new,
            Words {
                first: only,
                second: 0,
            },
            races,
        ),
        [old, last] => remembered(memo, before, new, pair(last, old), races),
        _ if words.len() > LONGEST_COMMON || races > 0 => {
            let list = list::make(words, Sort::Own);
            Words {
                first: list::word_of(list),
                second: words[words.len() - 1],
            }
        }
        _ => listed(memo, step, before, new, words),
    }
}

/// A change with a race must be judged again, so that it is told again.
fn remembered(memo: &mut Memo, before: Words, new: u64, after: Words, races: usize) -> Words {
    if races == 0 && before.first & LIST != 0 {
        memo.remember(before, new, after);
    }
    after
}

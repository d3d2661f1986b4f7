//! Making a cell forget: its bytes become fresh, or are given up as a whole.

use core::sync::atomic::Ordering;

use deadheat_detect::entry::{Entry, LIST, LOCK, MASK};
use std_alloc::vec::Vec;

use super::list::{self, Sort};
use super::{Cell, LONGEST_COMMON, Right, Words, lock, pair, table};

/// Puts `new`, a plain write, in the place of all that the cell remembers, if that is nothing but accesses of the same slot
/// to no other bytes. False if it is not, and nothing was done.
///
/// # Safety
/// `cell` must be a cell of the shadow in a page that the slot owns, and the caller inside the runtime and at work there.
#[inline(always)]
pub unsafe fn replace_own(cell: *const Cell, new: Entry) -> bool {
    // SAFETY: by the contract.
    let cell = unsafe { &*cell };
    let first = cell.first.load(Ordering::Relaxed);
    let second = cell.second.load(Ordering::Relaxed);
    let ours = |word: u64| {
        word == 0
            || (Entry(word).slot() == new.slot()
                && word & (LIST | LOCK) == 0
                && word & MASK & !new.0 == 0)
    };
    if !ours(first) || !ours(second) {
        return false;
    }
    cell.set(
        Right::Owner,
        second,
        Words {
            first: new.0,
            second: 0,
        },
    );
    true
}

/// Forgets all accesses to the bytes in `gone`. Nobody else may be using these bytes: they are about to become fresh.
///
/// # Safety
/// `cell` must be a cell of the shadow, and the caller must be inside the runtime.
#[inline]
pub unsafe fn forget(cell: *const Cell, gone: u8) {
    // SAFETY: by the contract.
    let cell = unsafe { &*cell };
    let first = cell.first.load(Ordering::Relaxed);
    let second = cell.second.load(Ordering::Relaxed);
    if first | second == 0 {
        return;
    }
    if gone == 0xff && first & (LIST | LOCK) == 0 {
        cell.second.store(0, Ordering::Relaxed);
        return cell.first.store(0, Ordering::Release);
    }
    forget_part(cell, gone);
}

#[inline(never)]
fn forget_part(cell: &Cell, gone: u8) {
    reduce(cell, lock(cell), |word| Entry(word).without(gone).0);
}

/// Drops the entries that `is_moot` says so of, given all of the cell.
///
/// # Safety
/// `cell` must be a cell of the shadow in a page that is shared, and the caller must be inside the runtime.
pub unsafe fn drop_moot(cell: *const Cell, is_moot: impl Fn(Entry, &[Entry]) -> bool) {
    // SAFETY: by the contract.
    let cell = unsafe { &*cell };
    let first = lock(cell);
    let mut all = Vec::new();
    super::look::each_word(first, cell.second.load(Ordering::Relaxed), |entry| {
        all.push(entry);
    });
    reduce(cell, first, |word| {
        if word & MASK != 0 && is_moot(Entry(word), &all) {
            0
        } else {
            word
        }
    });
}

/// What `left` leaves of each entry, in a cell that is locked and whose first word was `first`.
fn reduce(cell: &Cell, first: u64, left: impl Fn(u64) -> u64) {
    let mut words = [0u64; LONGEST_COMMON];
    let mut count = 0;
    let mut keep = |word: u64| {
        let left = left(word);
        if left & MASK != 0 && count < LONGEST_COMMON {
            words[count] = left;
            count += 1;
        }
    };
    if first & LIST == 0 {
        keep(first);
        keep(cell.second.load(Ordering::Relaxed));
    } else if table::named_by(first) {
        // SAFETY: just asked, and the cell is locked.
        let (entries, count) = unsafe { table::entries(first) };
        entries[..count].iter().copied().for_each(&mut keep);
    } else {
        // SAFETY: the word names a list, which is common or whose cell is locked.
        let list = unsafe { list::named_by(first) };
        if list.sort() == Sort::Own {
            return reduce_own(cell, list, left);
        }
        for i in 0..list.len() {
            keep(list.item(i).load(Ordering::Relaxed));
        }
    }
    let after = match words[..count] {
        [] => Words::default(),
        [only] => Words {
            first: only,
            second: 0,
        },
        [a, b] => pair(a, b),
        ref many => Words {
            first: list::word_of(list::make(many, Sort::Own)),
            second: many[0],
        },
    };
    cell.set(Right::Locker, 0, after);
    if table::named_by(first) {
        // SAFETY: no cell names it any more.
        unsafe { table::free(first, 0) };
    }
}

/// The cell is locked and its list its own: changed in place, however long it is.
fn reduce_own(cell: &Cell, list: &'static list::List, left: impl Fn(u64) -> u64) {
    let mut kept = 0;
    for i in 0..list.len() {
        let left = left(list.item(i).load(Ordering::Relaxed));
        if left & MASK != 0 {
            list.item(kept).store(left, Ordering::Relaxed);
            kept += 1;
        }
    }
    let item = |i: usize| list.item(i).load(Ordering::Relaxed);
    let after = match kept {
        0 => Words::default(),
        1 => Words {
            first: item(0),
            second: 0,
        },
        2 => pair(item(1), item(0)),
        _ => {
            list.set_len(kept);
            return cell.set(
                Right::Locker,
                0,
                Words {
                    first: list::word_of(list),
                    second: item(kept - 1),
                },
            );
        }
    };
    list::free(list);
    cell.set(Right::Locker, 0, after);
}

/// In the child of a fork: whoever had locked the cell is gone. What he was about to change is as it was, since he
/// unlocks with his last store.
///
/// # Safety
/// `cell` must be a cell of the shadow, and no other thread may exist.
pub unsafe fn unlock_after_fork(cell: *const Cell) {
    // SAFETY: by the contract.
    let cell = unsafe { &*cell };
    let first = cell.first.load(Ordering::Relaxed);
    if first & LOCK != 0 {
        cell.first.store(first & !LOCK, Ordering::Relaxed);
    }
}

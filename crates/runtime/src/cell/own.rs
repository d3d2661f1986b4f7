//! Changing a list that belongs to one cell: in place, and back to a pair, or on to a table or a longer list.

use core::sync::atomic::Ordering;

use deadheat_detect::entry::{self, Entry, MASK};

use super::{Cell, Fate, Races, Right, SHORT, Step, Words, judge, list, merged, pair, table};

/// What [`record_in_own`] does if the list is short, nothing races, and no entry is of the same number; false if not, with
/// nothing changed. The cell is locked, and unlocked only if that was done.
#[inline(always)]
pub(super) fn settle_in_own(
    cell: &Cell,
    list: &'static list::List,
    step: &Step,
    new: Entry,
) -> bool {
    let len = list.len();
    if len > SHORT {
        return false;
    }
    let mut words = [0u64; SHORT];
    let mut kept = 0;
    for i in 0..len {
        let old = Entry(list.item(i).load(Ordering::Relaxed));
        let covered = step.covers(old);
        if (old.0 ^ new.0) & !MASK == 0 || entry::races(old, new, covered) {
            return false;
        }
        words[kept] = old.0;
        kept += usize::from(!entry::subsumes(new, old, covered) && !step.floor.covers_word(old.0));
    }
    for (i, &word) in words[..kept].iter().enumerate() {
        list.item(i).store(word, Ordering::Relaxed);
    }
    leave(cell, list, kept, step, new.0);
    true
}

/// The cell is locked and its list its own: changed in place.
pub(super) fn record_in_own(
    cell: &Cell,
    list: &'static list::List,
    step: &Step,
    new: Entry,
    races: &mut Races,
) {
    let mut kept = 0;
    let whole = merged(
        (0..list.len()).map(|i| list.item(i).load(Ordering::Relaxed)),
        new,
    );
    for i in 0..list.len() {
        let old = list.item(i).load(Ordering::Relaxed);
        if judge(Entry(old), step, new, whole, races) == Fate::Stays {
            list.item(kept).store(old, Ordering::Relaxed);
            kept += 1;
        }
    }
    leave(cell, list, kept, step, whole.0);
}

/// Leaves in the cell what its own list has in its first places, and `last`. Unlocks it.
#[inline(always)]
fn leave(cell: &Cell, list: &'static list::List, kept: usize, step: &Step, last: u64) {
    if kept <= 1 {
        let old = if kept == 1 {
            list.item(0).load(Ordering::Relaxed)
        } else {
            0
        };
        list::free(list);
        return cell.set(
            Right::Locker,
            0,
            if kept == 1 {
                pair(last, old)
            } else {
                Words {
                    first: last,
                    second: 0,
                }
            },
        );
    }
    let grown = kept == list.len();
    list.set_len(kept);
    let first = match try_table(list, last, step, grown && table::is_worth_it(kept + 1)) {
        Some(first) => first,
        None if list.has_room(kept) => {
            list.item(kept).store(last, Ordering::Relaxed);
            list.set_len(kept + 1);
            list::word_of(list)
        }
        None => list::word_of(list::grow(list, last)),
    };
    cell.set(
        Right::Locker,
        0,
        Words {
            first,
            second: last,
        },
    );
}

/// The word of a table of what an own list has, and of `last`, if one is wanted and can say it; the list is freed.
fn try_table(list: &'static list::List, last: u64, step: &Step, wanted: bool) -> Option<u64> {
    if !wanted {
        return None;
    }
    let mut words = [0u64; table::MOST];
    let len = list.len();
    let words = words.get_mut(..len + 1)?;
    for (i, word) in words[..len].iter_mut().enumerate() {
        *word = list.item(i).load(Ordering::Relaxed);
    }
    words[len] = last;
    let first = table::made_of(words, step)?;
    list::free(list);
    Some(first)
}

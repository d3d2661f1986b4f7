//! Changing a list that belongs to one cell: in place, and back to a pair, or on to a table or a longer list.

use core::sync::atomic::Ordering;

use deadheat_detect::entry::{self, Entry, MASK, Op, SLOT_SHIFT, WHAT, WRITE};

use super::{Cell, Races, Right, Step, Words, judge, list, merged, pair, table};

/// Longer lists are changed by [`record_in_own`].
const MOST_SETTLED: usize = 14;
/// So many numbers of a strand go by before it looks at all of a list that does not grow: what can be forgotten, and whether a table can
/// say the rest.
const NOW_AND_THEN: u64 = 32;

/// So many accesses of several strands are few.
const FEW_TRIED: usize = 3;

/// What an access finds in an own list.
enum Found {
    /// The step has been here.
    Been,
    /// It races, or must be joined with an entry of its own number.
    More,
    /// It can take the place of these.
    Replaces(u32),
}

/// What [`record_in_own`] does if the list is short, nothing races, and no entry of the same number has other bytes; false if not, with
/// nothing changed. The cell is locked, and unlocked only if that was done.
///
/// Mostly an earlier access of the same strand is all that goes, and the new one takes its place. What else can be forgotten is
/// only looked for when the list would grow; now and then all is left to [`record_in_own`].
#[inline(always)]
pub(super) fn settle_in_own(
    cell: &Cell,
    list: &'static list::List,
    step: &Step,
    new: Entry,
) -> bool {
    let len = list.len();
    if len > MOST_SETTLED || new.seq().is_multiple_of(NOW_AND_THEN) {
        return false;
    }
    let found = match new.op() {
        Op::Read => find_for_read(list, len, step, new),
        Op::Write => find_for_write(list, len, step, new),
    };
    let mut gone = match found {
        Found::Been => {
            cell.first.store(list::word_of(list), Ordering::Release);
            return true;
        }
        Found::More => return false,
        Found::Replaces(gone) => gone,
    };
    if gone == 0 {
        gone = find_needless(list, len, step, new);
    }
    if gone.is_power_of_two() && len > 2 {
        list.item(gone.trailing_zeros() as usize)
            .store(new.0, Ordering::Relaxed);
        let first = list::word_of(list);
        cell.second.store(new.0, Ordering::Release);
        cell.first.store(first, Ordering::Release);
        return true;
    }
    leave_without(cell, list, gone, step, new.0);
    true
}

/// The step's own entry makes this access needless, or is of the same number, which is not for here.
#[inline(always)]
fn of_this_step(old: u64, step: &Step, new: Entry) -> Option<Found> {
    if old.wrapping_sub(step.base) >= step.span {
        return None;
    }
    if entry::same_step_covers(old, step.base, step.span, new.0 & WHAT) {
        return Some(Found::Been);
    }
    (old ^ new.0 <= MASK).then_some(Found::More)
}

/// A read: only the writes of others matter, and the strand's own accesses.
#[inline(always)]
fn find_for_read(list: &list::List, len: usize, step: &Step, new: Entry) -> Found {
    let mut gone = 0;
    for i in 0..len {
        let old = list.item(i).load(Ordering::Relaxed);
        if (old ^ new.0) >> SLOT_SHIFT == 0 {
            if let Some(found) = of_this_step(old, step, new) {
                return found;
            }
            gone |= u32::from(old & !new.0 & WHAT == 0) << i;
        } else if old & WRITE != 0
            && entry::races(Entry(old), new, false)
            && !step.clock.covers_word(old)
        {
            return Found::More;
        }
    }
    Found::Replaces(gone)
}

#[inline(always)]
fn find_for_write(list: &list::List, len: usize, step: &Step, new: Entry) -> Found {
    let mut gone = 0;
    for i in 0..len {
        let old = list.item(i).load(Ordering::Relaxed);
        if let Some(found) = of_this_step(old, step, new) {
            return found;
        }
        if step.clock.covers_word(old) {
            gone |= u32::from(old & !new.0 & WHAT == 0) << i;
        } else if entry::races(Entry(old), new, false) {
            return Found::More;
        }
    }
    Found::Replaces(gone)
}

/// The entries that are not needed beside the access: it subsumes them, or every strand knows them.
#[inline(never)]
fn find_needless(list: &list::List, len: usize, step: &Step, new: Entry) -> u32 {
    let mut gone = 0;
    for i in 0..len {
        let old = list.item(i).load(Ordering::Relaxed);
        let subsumed = old & !new.0 & WHAT == 0 && step.clock.covers_word(old);
        gone |= u32::from(subsumed || step.floor.covers_word(old)) << i;
    }
    gone
}

/// Takes these entries out of the list, and leaves the rest and `last` in the cell. Unlocks it.
#[inline(never)]
fn leave_without(cell: &Cell, list: &'static list::List, gone: u32, step: &Step, last: u64) {
    let mut kept = 0;
    for i in 0..list.len() {
        if gone >> i & 1 == 0 {
            let old = list.item(i).load(Ordering::Relaxed);
            list.item(kept).store(old, Ordering::Relaxed);
            kept += 1;
        }
    }
    let wanted = kept == list.len() && is_worth_trying(list, kept, last);
    leave(cell, list, kept, wanted, step, last);
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
        let left = judge(Entry(old), step, new, whole, races);
        if left != 0 {
            list.item(kept).store(left, Ordering::Relaxed);
            kept += 1;
        }
    }
    leave(cell, list, kept, races.count == 0, step, whole.0);
}

/// Leaves in the cell what its own list has in its first places, and `last`; in a table if that is wanted and can say it. Unlocks it.
#[inline(always)]
fn leave(
    cell: &Cell,
    list: &'static list::List,
    kept: usize,
    wanted: bool,
    step: &Step,
    last: u64,
) {
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
    list.set_len(kept);
    let table = match wanted && table::is_worth_it(kept + 1) {
        true => try_table(list, last, step),
        false => None,
    };
    let first = match table {
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

/// What one strand did is in order, so a table can say it. For accesses of several strands one is tried while they are few, and when the
/// list has no room: what a table cannot say of four accesses it can seldom say of one more.
#[inline(always)]
fn is_worth_trying(list: &list::List, len: usize, last: u64) -> bool {
    let own = |i: usize| (list.item(i).load(Ordering::Relaxed) ^ last) >> SLOT_SHIFT == 0;
    len <= FEW_TRIED || !list.has_room(len) || (0..len).all(own)
}

/// The word of a table of what an own list has, and of `last`, if one can say it; the list is freed.
fn try_table(list: &'static list::List, last: u64, step: &Step) -> Option<u64> {
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

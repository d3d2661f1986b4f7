//! Looking at a cell without changing it: has the present step been here, and what is remembered.

use core::sync::atomic::Ordering;

use deadheat_detect::entry::{self, Entry, LIST, LOCK, MASK, PLAIN};

use super::list::{self, Sort};
use super::{Cell, Step, Words, table};
use crate::strand::{READ_LISTS, READ_LISTS_SHIFT};
use crate::sync::Waiting;

/// Where a step finds that it has been at a cell before.
#[must_use]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Been {
    Never,
    Here,
    /// In the common list that this word names, which will say so for every cell that names it.
    InList(u64),
}

/// Has this step already recorded an access here that makes one described by `need` redundant?
///
/// # Safety
/// `cell` must be a cell of the shadow.
#[inline(always)]
pub unsafe fn already_recorded(cell: *const Cell, step: &Step, need: u64) -> Been {
    // SAFETY: by the contract.
    let cell = unsafe { &*cell };
    let second = cell.second.load(Ordering::Relaxed);
    if entry::same_step_covers(second, step.base, step.span, need) {
        return Been::Here;
    }
    let first = cell.first.load(Ordering::Acquire);
    if entry::same_step_covers(first, step.base, step.span, need) {
        return Been::Here;
    }
    if table::named_by(first) {
        // SAFETY: just asked.
        match unsafe { table::has(cell, first, step, need) } {
            true => Been::Here,
            false => Been::Never,
        }
    } else if first & (LIST | LOCK) == LIST {
        list_has(cell, first, step, need)
    } else {
        Been::Never
    }
}

#[inline(never)]
fn list_has(cell: &Cell, first: u64, step: &Step, need: u64) -> Been {
    // SAFETY: the word names a list.
    let list = unsafe { list::named_by(first) };
    let version = list.version.load(Ordering::Acquire);
    let len = list.believable_len();
    if !(0..len).any(|i| {
        entry::same_step_covers(
            list.item(i).load(Ordering::Relaxed),
            step.base,
            step.span,
            need,
        )
    }) {
        return Been::Never;
    }
    if list.sort() == Sort::Common {
        return Been::InList(first);
    }
    let unchanged = cell.first.load(Ordering::Acquire) == first
        && list.version.load(Ordering::Acquire) == version;
    if unchanged { Been::Here } else { Been::Never }
}

/// As many of `count` cells, from the first on and each `stride` cells beyond the one before, as the step has touched already
/// in a way that makes an access described by `need` redundant. `lists` are known to have a plain read of all bytes.
///
/// # Safety
/// They must be cells of the shadow, in one block.
#[inline(never)]
pub unsafe fn touched_run(
    cells: *const Cell,
    count: usize,
    stride: isize,
    step: &Step,
    need: u64,
    lists: &[u64; READ_LISTS],
) -> usize {
    // SAFETY: by the contract.
    let word = |i: usize, which: Which| unsafe {
        let cell = &*cells.wrapping_offset(stride * i as isize);
        match which {
            Which::First => cell.first.load(Ordering::Relaxed),
            Which::Second => cell.second.load(Ordering::Relaxed),
        }
    };
    let mut i = 0;
    while i < count {
        let (first, second) = (word(i, Which::First), word(i, Which::Second));
        let (which, known) = if entry::same_step_covers(second, step.base, step.span, need) {
            (Which::Second, second)
        } else if entry::same_step_covers(first, step.base, step.span, need)
            || need == MASK | PLAIN && names_one_of(first, lists)
        {
            (Which::First, first)
        } else if table::named_by(first)
            // SAFETY: by the contract, and just asked.
            && unsafe { table::has(&*cells.wrapping_offset(stride * i as isize), first, step, need) }
        {
            i += 1;
            continue;
        } else {
            return i;
        };
        i += 1;
        // Cells that were touched together have the same word.
        const AT_ONCE: usize = 8;
        while i + AT_ONCE <= count
            && (i..i + AT_ONCE).fold(0, |other, i| other | (word(i, which) ^ known)) == 0
        {
            i += AT_ONCE;
        }
        while i < count && word(i, which) == known {
            i += 1;
        }
    }
    count
}

#[derive(Clone, Copy)]
enum Which {
    First,
    Second,
}

/// Is the word that of one of these lists, each of which is where its word belongs?
#[inline(always)]
fn names_one_of(first: u64, lists: &[u64; READ_LISTS]) -> bool {
    first & LIST != 0 && lists[(first >> READ_LISTS_SHIFT) as usize % READ_LISTS] == first
}

/// Has nobody touched these bytes since they were fresh?
///
/// # Safety
/// `cell` must be a cell of the shadow.
#[inline(always)]
pub unsafe fn is_empty(cell: *const Cell) -> bool {
    // SAFETY: by the contract.
    let cell = unsafe { &*cell };
    cell.first.load(Ordering::Relaxed) | cell.second.load(Ordering::Relaxed) == 0
}

/// How many of `count` cells, from the first on, somebody has touched; looked at are not more than [`LOOKED_AT`].
///
/// # Safety
/// They must be cells of the shadow, in one block.
pub unsafe fn used_run(cells: *const Cell, count: usize) -> usize {
    let count = count.min(LOOKED_AT);
    (0..count)
        // SAFETY: by the contract.
        .find(|&i| unsafe { is_empty(cells.wrapping_add(i)) })
        .unwrap_or(count)
}

/// Who comes back after each cell must not look at all of them each time.
const LOOKED_AT: usize = 32;

/// Does the cell name a list or a table?
///
/// # Safety
/// `cell` must be a cell of the shadow.
#[inline(always)]
pub unsafe fn has_more(cell: *const Cell) -> bool {
    // SAFETY: by the contract.
    unsafe { (*cell).first.load(Ordering::Relaxed) & LIST != 0 }
}

/// Does the cell name a list that is no table?
///
/// # Safety
/// `cell` must be a cell of the shadow.
#[inline(always)]
pub unsafe fn has_list(cell: *const Cell) -> bool {
    // SAFETY: by the contract.
    let first = unsafe { (*cell).first.load(Ordering::Relaxed) };
    first & LIST != 0 && !table::named_by(first)
}

/// The cell's first word, if it names a list of its own and nobody has locked it.
///
/// # Safety
/// `cell` must be a cell of the shadow.
#[inline(always)]
pub unsafe fn own_list(cell: *const Cell) -> Option<u64> {
    // SAFETY: by the contract.
    let first = unsafe { (*cell).first.load(Ordering::Relaxed) };
    // SAFETY: the word names a list, whose memory stays one.
    let own = first & (LIST | LOCK) == LIST
        && !table::named_by(first)
        && unsafe { list::named_by(first) }.sort() == Sort::Own;
    own.then_some(first)
}

/// Does the cell name a table?
///
/// # Safety
/// `cell` must be a cell of the shadow.
#[inline(always)]
pub unsafe fn has_table(cell: *const Cell) -> bool {
    // SAFETY: by the contract.
    table::named_by(unsafe { (*cell).first.load(Ordering::Relaxed) })
}

/// All that a cell says at one moment, if its two words are all of it or name what never changes.
///
/// # Safety
/// `cell` must be a cell of the shadow.
#[inline(always)]
pub unsafe fn says(cell: *const Cell) -> Option<Words> {
    // SAFETY: by the contract.
    let cell = unsafe { &*cell };
    let first = cell.first.load(Ordering::Acquire);
    let second = cell.second.load(Ordering::Acquire);
    // An entry may have moved from the second word to the first meanwhile.
    let settled = first & LOCK == 0
        && cell.first.load(Ordering::Acquire) == first
        && (first & LIST == 0 || is_common(first));
    settled.then_some(Words { first, second })
}

impl Words {
    pub fn is_nothing(self) -> bool {
        self.first | self.second == 0
    }

    /// Calls `f` for each entry that the words, which [`says`] gave, stand for.
    #[inline(always)]
    pub fn each_entry(self, f: impl FnMut(Entry)) {
        each_word(self.first, self.second, f);
    }
}

/// Does the word, which has LIST set, name a list that never changes?
#[inline]
fn is_common(first: u64) -> bool {
    // SAFETY: the word names a list.
    !table::named_by(first) && unsafe { list::named_by(first) }.sort() == Sort::Common
}

/// The words as the compiler's hooks see them.
///
/// # Safety
/// `cell` must be a cell of the shadow.
#[inline(always)]
pub unsafe fn words(cell: *const Cell) -> Words {
    // SAFETY: by the contract.
    unsafe {
        Words {
            first: (*cell).first.load(Ordering::Acquire),
            second: (*cell).second.load(Ordering::Acquire),
        }
    }
}

/// Calls `f` for each entry the cell remembers, as of one moment.
///
/// # Safety
/// `cell` must be a cell of the shadow, and the caller must be inside the runtime.
pub unsafe fn each_entry(cell: *const Cell, mut f: impl FnMut(Entry)) {
    // SAFETY: by the contract.
    let cell = unsafe { &*cell };
    let mut waiting = Waiting::default();
    loop {
        let first = cell.first.load(Ordering::Acquire);
        let second = cell.second.load(Ordering::Acquire);
        if first | second == 0 {
            return;
        }
        if first & LOCK != 0 {
            waiting.turn();
            continue;
        }
        if table::named_by(first) {
            // SAFETY: just asked.
            if unsafe { table::each_unless_changed(cell, first, &mut f) } {
                return;
            }
            continue;
        }
        // SAFETY: a word with LIST set names a list.
        if first & LIST == 0 || unsafe { list::named_by(first) }.sort() == Sort::Common {
            if cell.first.load(Ordering::Acquire) == first
                && cell.second.load(Ordering::Acquire) == second
            {
                return each_word(first, second, f);
            }
        } else if cell
            .first
            .compare_exchange(first, first | LOCK, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
        {
            // Only while it names an own list may the cell be locked here: its page's owner, who changes pairs without
            // a lock, locks it then too.
            each_word(first, second, &mut f);
            return cell.first.store(first, Ordering::Release);
        }
    }
}

/// As [`each_entry`], faster: some may be told more than once, or although they have just gone.
///
/// # Safety
/// As for that.
#[inline(always)]
pub unsafe fn each_entry_at_least(cell: *const Cell, mut f: impl FnMut(Entry)) {
    // SAFETY: by the contract.
    let first = unsafe { &*cell }.first.load(Ordering::Acquire);
    // SAFETY: by the contract, and the word names a table.
    unsafe {
        if first & LOCK != 0
            || !table::named_by(first)
            || !table::each_at_least(&*cell, first, &mut f)
        {
            each_entry(cell, f);
        }
    }
}

#[inline(always)]
pub(super) fn each_word(first: u64, second: u64, mut f: impl FnMut(Entry)) {
    if table::named_by(first) {
        // SAFETY: just asked.
        let (entries, count) = unsafe { table::entries(first) };
        return entries[..count].iter().for_each(|&word| f(Entry(word)));
    }
    if first & LIST != 0 {
        // SAFETY: the word names a list, which is common or whose cell is locked.
        let list = unsafe { list::named_by(first) };
        for i in 0..list.len() {
            f(Entry(list.item(i).load(Ordering::Relaxed)));
        }
        return;
    }
    for word in [first, second] {
        if word & MASK != 0 {
            f(Entry(word));
        }
    }
}

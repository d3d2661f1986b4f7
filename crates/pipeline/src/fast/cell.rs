//! One cell: two remembered accesses or a list of them, and the rules of FastTrack on it.

use deadheat_detect::entry::{self, Entry, LIST, MASK, SEQ_SHIFT, SLOT_SHIFT, WHAT};

use super::lists::Lists;
use super::sites::{Site, Sites};
use crate::batch::{Access, Batch, Run, Slot};
use crate::detector::{Clocks, DetectorKind};
use crate::found::{Candidate, Found, Info, Side};

/// Two remembered accesses and what is behind them.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Cell {
    pub words: [u64; 2],
    /// If the second word is a list's, the second of these is its number.
    pub sites: [Site; 2],
}

const _: () = assert!(size_of::<Cell>() == 24);

impl Cell {
    pub fn is_empty(&self) -> bool {
        self.words == [0; 2]
    }

    /// The list of a cell that has one.
    #[inline(always)]
    pub fn list(&self) -> Option<u32> {
        (self.words[1] & LIST != 0).then_some(self.sites[1].0)
    }

    fn set(&mut self, at: usize, (word, site): (u64, Site)) {
        (self.words[at], self.sites[at]) = (word, site);
    }

    fn get(&self, at: usize) -> (u64, Site) {
        (self.words[at], self.sites[at])
    }

    /// Rule same epoch, for the words of the cell itself.
    #[inline(always)]
    pub fn settled(&self, stamp: u64, need: u64) -> bool {
        let hit = |word: u64| (word ^ stamp) >> SEQ_SHIFT == 0 && word & need == need;
        hit(self.words[0]) || hit(self.words[1])
    }
}

/// The word of a cell that has a list. Its slot and time are 0, which no access has.
fn list_word(index: u32) -> (u64, Site) {
    (LIST, Site(index))
}

/// The run being checked: who, when, and what he knows.
pub struct Now<'a> {
    pub stamp: u64,
    pub run: &'a Run,
    pub batch: &'a Batch,
    pub clock: &'a [u64],
    /// What all know.
    pub floor: &'a [u64],
    pub clocks: &'a Clocks,
    /// In whose name races are told.
    pub name: DetectorKind,
}

impl Now<'_> {
    #[inline(always)]
    pub fn knows(&self, old: Entry) -> bool {
        self.clock
            .get(old.slot() as usize)
            .is_some_and(|&time| old.covered_by(time))
    }

    /// Whether nobody can race with it any more.
    #[inline(always)]
    fn is_past(&self, old: u64) -> bool {
        let old = Entry(old);
        self.floor
            .get(old.slot() as usize)
            .is_some_and(|&time| old.covered_by(time))
    }

    /// What is behind an access.
    #[inline(always)]
    pub fn info(&self, access: &Access) -> Info {
        Info {
            spot: access.spot,
            caller: access.caller,
            locks: self.run.locks,
        }
    }
}

/// An access to one cell.
#[derive(Clone, Copy)]
pub struct Touch<'a> {
    pub now: &'a Now<'a>,
    pub access: &'a Access,
    /// The number of the cell.
    pub number: u64,
    /// Bytes of the cell, and bits for plain and write.
    pub need: u64,
    /// What is behind it.
    pub site: Site,
    pub sites: &'a Sites,
}

impl Touch<'_> {
    #[cold]
    #[inline(never)]
    fn race(&self, found: &mut Found, old: Entry, behind: Site, bytes: u8) {
        let Touch {
            now, access, need, ..
        } = *self;
        if now.is_past(old.0) {
            // Only if a strand did not wait for the end of another one as it had said: what it should know was forgotten, or will be.
            return;
        }
        found.pair(Candidate {
            detector: now.name,
            order: now
                .batch
                .order_of(access, self.number * 8 + u64::from(bytes.trailing_zeros())),
            acts: now.run.acts,
            cell: self.number * 8,
            bytes,
            new: Side {
                strand: now.run.strand,
                time: now.run.time,
                info: now.info(access),
                what: Entry(need),
            },
            old: Side {
                strand: now.clocks.owner(old.slot(), old.seq()),
                time: match old.slot() {
                    // At the end of its strand.
                    slot if slot == Slot::BURIED.0 => u64::MAX,
                    _ => old.seq(),
                },
                info: self.sites.of(behind),
                what: Entry(old.0 & entry::WHAT),
            },
            memory: None,
        });
    }

    /// The same for an entry of a list, and rule forget: whether it stays. The first one that can be both becomes so.
    #[inline(always)]
    fn keeps(&self, word: &mut u64, behind: Site, merged: &mut bool, found: &mut Found) -> bool {
        let new = self.now.stamp | self.need;
        let meeting = if *word & self.need & MASK != 0 {
            self.meet(word, behind, found)
        } else if (*word ^ new) & !MASK == 0 && behind == self.site {
            Meeting::Same
        } else {
            Meeting::Stays
        };
        match meeting {
            Meeting::Gone => false,
            Meeting::Stays => !self.now.is_past(*word),
            Meeting::Same => {
                if !*merged {
                    *word |= self.need;
                    *merged = true;
                }
                true
            }
        }
    }

    /// Rules race, subsume and merge for one remembered access.
    #[inline(always)]
    fn meet(&self, word: &mut u64, behind: Site, found: &mut Found) -> Meeting {
        let (old, new) = (Entry(*word), Entry(self.now.stamp | self.need));
        let known = self.now.knows(old);
        let bytes = entry::racing_bytes(old, new, known);
        if bytes != 0 {
            self.race(found, old, behind, bytes);
        }
        if (old.0 ^ new.0) & !MASK == 0 && behind == self.site {
            return Meeting::Same;
        }
        *word = entry::remains(old, new, known).0;
        if *word & MASK == 0 {
            Meeting::Gone
        } else {
            Meeting::Stays
        }
    }
}

/// What a remembered access and the new one are to each other.
enum Meeting {
    /// Nothing of it is left to remember.
    Gone,
    /// Of the same epoch, kind and place: one entry can be both.
    Same,
    Stays,
}

/// Rules race, subsume, merge and put.
#[inline(always)]
pub fn touch(cell: &mut Cell, touch: Touch<'_>, lists: &mut Lists, found: &mut Found) {
    if cell.words[1] & LIST != 0 {
        return touch_list(cell, touch, lists, found);
    }
    let new = touch.now.stamp | touch.need;
    let [first, second] = cell.words;
    if (first | second) & touch.need & MASK == 0 {
        // Nothing to meet: rules merge and put.
        if (first ^ new) & !MASK == 0 && cell.sites[0] == touch.site {
            cell.words[0] |= touch.need;
            return;
        }
        if (second ^ new) & !MASK == 0 && cell.sites[1] == touch.site {
            cell.words[1] |= touch.need;
            return;
        }
        if first == 0 {
            return cell.set(0, (new, touch.site));
        }
        if second == 0 {
            return cell.set(1, (new, touch.site));
        }
    } else if second == 0 {
        // Rule merge, or rule subsume for an access of the strand itself, which it knows.
        if (first ^ new) & !MASK == 0 && cell.sites[0] == touch.site {
            cell.words[0] |= touch.need;
            return;
        }
        if (first ^ new) >> SLOT_SHIFT == 0 && first & !new & WHAT == 0 {
            return cell.set(0, (new, touch.site));
        }
    }
    if touch.now.knows(Entry(first)) && touch.now.knows(Entry(second)) {
        return touch_known(cell, touch, lists);
    }
    touch_unknown(cell, touch, lists, found);
}

/// The same for a cell without a list of which all is known: nothing races.
#[inline(always)]
fn touch_known(cell: &mut Cell, touch: Touch<'_>, lists: &mut Lists) {
    let new = touch.now.stamp | touch.need;
    let left = |old: u64| {
        let left = entry::remains(Entry(old), Entry(new), true).0;
        if left & MASK == 0 { 0 } else { left }
    };
    let [first, second] = cell.words;
    let same = |old: u64, behind: Site| (old ^ new) & !MASK == 0 && behind == touch.site;
    if same(first, cell.sites[0]) {
        cell.words = [first | touch.need, left(second)];
    } else if same(second, cell.sites[1]) {
        cell.words = [left(first), second | touch.need];
    } else {
        cell.words = [left(first), left(second)];
        put(cell, touch, lists);
    }
}

/// The same for one of which something is not.
#[inline(never)]
fn touch_unknown(cell: &mut Cell, touch: Touch<'_>, lists: &mut Lists, found: &mut Found) {
    let mut same = None;
    for i in [1, 0] {
        if cell.words[i] != 0 {
            match touch.meet(&mut cell.words[i], cell.sites[i], found) {
                Meeting::Gone => cell.words[i] = 0,
                Meeting::Same => same = Some(i),
                Meeting::Stays => {}
            }
        }
    }
    match same {
        Some(i) => cell.words[i] |= touch.need,
        None => put(cell, touch, lists),
    }
}

/// Rule put, and rule forget before there is a list.
#[inline(always)]
fn put(cell: &mut Cell, touch: Touch<'_>, lists: &mut Lists) {
    let new = (touch.now.stamp | touch.need, touch.site);
    let [first, second] = cell.words;
    if first == 0 || second != 0 && touch.now.is_past(first) {
        cell.set(0, new);
    } else if second == 0 || touch.now.is_past(second) {
        cell.set(1, new);
    } else {
        let index = lists.new_list([cell.get(1), new]);
        cell.set(1, list_word(index));
    }
}

/// The same for a cell with a list.
#[inline(never)]
fn touch_list(cell: &mut Cell, touch: Touch<'_>, lists: &mut Lists, found: &mut Found) {
    let (stamp, need) = (touch.now.stamp, touch.need);
    let index = cell.sites[1].0;
    let list = lists.of(index);
    let same_epoch = |word: u64| (word ^ stamp) >> SEQ_SHIFT == 0 && word & need == need;
    // Whoever comes back finds it in the cell itself.
    if list.swap(&mut cell.words[0], &mut cell.sites[0], same_epoch) {
        return;
    }
    let mut merged = false;
    if cell.words[0] != 0 && !touch.keeps(&mut cell.words[0], cell.sites[0], &mut merged, found) {
        cell.words[0] = 0;
    }
    list.retain(
        #[inline(always)]
        |word, site| touch.keeps(word, *site, &mut merged, found),
    );
    if !merged {
        // The newest is the one that is looked for next.
        if cell.words[0] != 0 {
            list.push(cell.words[0], cell.sites[0]);
        }
        cell.set(0, (stamp | need, touch.site));
    }
    settle_list(cell, lists, index);
}

/// Takes a list that has become short into the cell.
#[inline(always)]
fn settle_list(cell: &mut Cell, lists: &mut Lists, index: u32) {
    let list = lists.of(index);
    if cell.words[0] == 0
        && let Some(entry) = list.pop()
    {
        cell.set(0, entry);
    }
    if list.len() > 1 {
        return;
    }
    match list.pop() {
        Some(last) => cell.set(1, last),
        None => cell.words[1] = 0,
    }
    lists.give_up(index);
}

/// A whole page that is one cell. False if it must become cells.
pub fn whole(all: &mut Cell, touch: Touch<'_>, lists: &mut Lists, found: &mut Found) -> bool {
    let now = touch.now;
    if all.settled(now.stamp, touch.need) {
        return true;
    }
    // One cell can speak for all of them only if nothing is to be told and there is room.
    let new = Entry(now.stamp | touch.need);
    let gone = |word: u64| {
        word == 0 || {
            let old = Entry(word);
            entry::subsumes(new, old, now.knows(old))
        }
    };
    let quiet = |word: u64| {
        let old = Entry(word);
        !entry::races(old, new, now.knows(old))
    };
    let room = all.words.iter().any(|&word| gone(word));
    if !room || !all.words.iter().all(|&word| quiet(word)) {
        return false;
    }
    self::touch(all, touch, lists, found);
    true
}

/// Whether the access would leave nothing of what the cell remembers, and nothing is to be told. `last` is a word of which that is known.
#[inline(always)]
pub fn is_over(cell: &Cell, touch: &Touch<'_>, lists: &mut Lists, last: &mut u64) -> bool {
    let new = Entry(touch.now.stamp | touch.need);
    let mut gone = |word: u64| {
        let old = Entry(word);
        let over = word == 0 || word == *last || {
            let known = touch.now.knows(old);
            !entry::races(old, new, known) && entry::subsumes(new, old, known)
        };
        *last = if over && word != 0 { word } else { *last };
        over
    };
    match cell.list() {
        None => cell.words.iter().all(|&word| gone(word)),
        Some(index) => gone(cell.words[0]) && lists.of(index).all(gone),
    }
}

/// What a cell is after such an access.
pub fn only(touch: &Touch<'_>) -> Cell {
    let mut cell = Cell::default();
    cell.set(0, (touch.now.stamp | touch.need, touch.site));
    cell
}

/// Adds an access that somebody else has remembered.
pub fn adopt(cell: &mut Cell, old: Entry, site: Site, lists: &mut Lists) {
    if let Some(index) = cell.list() {
        lists.of(index).push(old.0, site);
    } else if let Some(free) = cell.words.iter().position(|&word| word == 0) {
        cell.set(free, (old.0, site));
    } else {
        let index = lists.new_list([cell.get(1), (old.0, site)]);
        cell.set(1, list_word(index));
    }
}

/// Keeps the entries of a cell that `stays` says, which may also change them.
pub fn keep(cell: &mut Cell, lists: &mut Lists, mut stays: impl FnMut(&mut u64) -> bool) {
    if cell.words[0] != 0 && !stays(&mut cell.words[0]) {
        cell.words[0] = 0;
    }
    if let Some(index) = cell.list() {
        lists.of(index).retain(|word, _| stays(word));
        settle_list(cell, lists, index);
    } else if cell.words[1] != 0 && !stays(&mut cell.words[1]) {
        cell.words[1] = 0;
    }
}

/// Calls `visit` with what is behind each entry of a cell.
pub fn sites(cell: &Cell, lists: &Lists, visit: &mut dyn FnMut(Site)) {
    if cell.words[0] != 0 {
        visit(cell.sites[0]);
    }
    if let Some(index) = cell.list() {
        lists.sites(index, visit);
    } else if cell.words[1] != 0 {
        visit(cell.sites[1]);
    }
}

/// The cell is forgotten.
pub fn give_up_list(cell: &Cell, lists: &mut Lists) {
    if let Some(index) = cell.list() {
        lists.give_up(index);
    }
}

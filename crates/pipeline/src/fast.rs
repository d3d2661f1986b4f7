//! FastTrack at speed: the rules of [`deadheat_detect::fasttrack`] on flat pages of packed entries.
//!
//! Guarantee: the racing bytes of the naive detector, as the slow one has them.
//! Cost: a step's second access to a cell is one look at two words; the first one compares each remembered access with one
//! component of the clock. No hashing, unless a page is new or none of the pages near it in the table was used lately.
//!
//! | rule       | when                                                           | then                           |
//! |------------|----------------------------------------------------------------|--------------------------------|
//! | same epoch | an entry of this very epoch subsumes the access                | nothing                        |
//! | race       | `entry::races`, by the strand's clock                          | tell                           |
//! | subsume    | `entry::subsumes`                                              | the old entry's place is free  |
//! | merge      | same epoch, kind and place in the code, other bytes of the cell | one entry with both masks     |
//! | put        | else                                                           | a free place, or a list        |
//! | fresh      | memory is allocated                                            | clear its bytes in all entries |
//! | forget     | every strand that is left knows the entry                      | drop it, and pages without any |
//!
//! A page is 128 cells of 8 bytes. A cell has two words and what is behind them; a third entry turns the second word
//! into the number of a list. A page whose cells are all alike (a large memset, a free) is one cell.

use std::collections::HashMap;

use deadheat_detect::entry::{self, Entry, LIST, MASK, PLAIN, SEQ_SHIFT, WRITE};
use deadheat_trace::Range;

use crate::batch::{Access, Run, bits};
use crate::detector::{Clocks, DetectorKind};
use crate::found::{Candidate, Found, Info, Side};
use crate::lists::Lists;

const CELLS: usize = 128;
const PAGE_SHIFT: u32 = 10;
const PAGE: u64 = 1 << PAGE_SHIFT;
/// Pages whose place is remembered; a power of two.
const NEAR: usize = 1 << 12;

/// Two remembered accesses and what is behind them.
#[derive(Clone, Copy, Debug, Default)]
struct Cell {
    words: [u64; 2],
    infos: [Info; 2],
}

/// The cells of a page, words apart from what is behind them: most accesses look at words only.
#[derive(Clone, Debug)]
struct Cells {
    words: [[u64; 2]; CELLS],
    infos: [[Info; 2]; CELLS],
}

#[derive(Clone, Debug)]
struct Page {
    number: u64,
    /// What all cells are, while there are no `cells`.
    // invariant: never a list
    all: Cell,
    cells: Option<Box<Cells>>,
}

impl Page {
    fn cells(&mut self) -> &mut Cells {
        let all = self.all;
        self.cells.get_or_insert_with(|| {
            Box::new(Cells {
                words: [all.words; CELLS],
                infos: [all.infos; CELLS],
            })
        })
    }
}

/// The word of a cell that has a list. Its slot and time are 0, which no access has.
fn list_word(index: u32) -> (u64, Info) {
    let info = Info {
        spot: deadheat_trace::wire::Spot(u64::from(index)),
        ..Info::default()
    };
    (LIST, info)
}

/// The access being checked.
struct Present<'a> {
    stamp: u64,
    bits: u64,
    info: Info,
    order: u32,
    run: &'a Run,
    clock: &'a [u64],
    clocks: &'a Clocks,
    name: DetectorKind,
}

impl Present<'_> {
    #[inline(always)]
    fn knows(&self, old: Entry) -> bool {
        self.clock
            .get(old.slot() as usize)
            .is_some_and(|&time| old.covered_by(time))
    }

    #[cold]
    #[inline(never)]
    fn race(&self, found: &mut Found, cell: u64, need: u64, old: Entry, behind: &Info, bytes: u8) {
        found.pair(Candidate {
            detector: self.name,
            order: self.order,
            cell: cell * 8,
            bytes,
            new: Side {
                strand: self.run.strand,
                time: self.run.time,
                info: self.info,
                what: Entry(need),
            },
            old: Side {
                strand: self.clocks.owner(old.slot(), old.seq()),
                time: old.seq(),
                info: *behind,
                what: Entry(old.0 & entry::WHAT),
            },
            memory: None,
        });
    }
}

/// The detector's memory.
#[derive(Debug)]
pub struct Fast {
    places: HashMap<u64, u32>,
    pages: Vec<Page>,
    // invariant: a page that is there and its place, or (u64::MAX, _)
    near: Vec<(u64, u32)>,
    lists: Lists,
    /// Pages at which the next sweep is due.
    sweep_at: usize,
    /// Fewer pages are not worth a sweep.
    few: usize,
    /// In whose name races are told.
    pub name: DetectorKind,
}

/// Fewer pages are not worth a sweep.
pub const FEW: usize = 1 << 12;

impl Default for Fast {
    fn default() -> Self {
        Fast {
            places: HashMap::new(),
            pages: Vec::new(),
            near: vec![(u64::MAX, 0); NEAR],
            lists: Lists::default(),
            sweep_at: FEW,
            few: FEW,
            name: DetectorKind::FastTrack,
        }
    }
}

impl Fast {
    pub fn new() -> Fast {
        Fast::default()
    }

    /// Sweeps as soon as there are this many pages.
    pub fn sweep_from(&mut self, pages: usize) {
        (self.few, self.sweep_at) = (pages, pages);
    }

    /// Checks the accesses of a run.
    pub fn run(&mut self, run: &Run, accesses: &[Access], clocks: &Clocks, found: &mut Found) {
        let clock = clocks.of(run.slot);
        let stamp = entry::stamp(run.slot.0, run.time);
        for access in accesses {
            let bits = bits(access.spot.kind());
            let offset = (access.addr & 7) as u32;
            if offset + access.len <= 8 {
                let need = bits | ((1u64 << access.len) - 1) << offset;
                let number = access.addr >> 3;
                let place = self.place(access.addr >> PAGE_SHIFT);
                let cells = self.pages[place].cells();
                let at = number as usize % CELLS;
                if settled(&cells.words[at], stamp, need) {
                    continue;
                }
                let present = present(run, clocks, clock, stamp, bits, access, self.name);
                let (words, infos) = (&mut cells.words[at], &mut cells.infos[at]);
                touch(words, infos, &present, need, number, &mut self.lists, found);
            } else if access.len <= 64
                && (access.addr ^ (access.addr + u64::from(access.len - 1))) >> PAGE_SHIFT == 0
            {
                let last = access.addr + u64::from(access.len - 1);
                let place = self.place(access.addr >> PAGE_SHIFT);
                let cells = self.pages[place].cells();
                for number in access.addr >> 3..=last >> 3 {
                    let need = bits | mask(number, access.addr, last);
                    let at = number as usize % CELLS;
                    if !settled(&cells.words[at], stamp, need) {
                        let present = present(run, clocks, clock, stamp, bits, access, self.name);
                        let (words, infos) = (&mut cells.words[at], &mut cells.infos[at]);
                        touch(words, infos, &present, need, number, &mut self.lists, found);
                    }
                }
            } else {
                let present = present(run, clocks, clock, stamp, bits, access, self.name);
                self.range(&present, access.addr, u64::from(access.len), found);
            }
        }
    }

    /// Goes on from an access that somebody else has remembered: a cell's number, an entry, and what is behind it. To be
    /// called for cells of which nothing but such accesses is remembered.
    pub fn adopt(&mut self, cell: u64, old: Entry, behind: Info) {
        let place = self.place(cell >> (PAGE_SHIFT - 3));
        let Fast { pages, lists, .. } = self;
        let cells = pages[place].cells();
        let at = cell as usize % CELLS;
        let (words, infos) = (&mut cells.words[at], &mut cells.infos[at]);
        if words[1] & LIST != 0 {
            lists.lists[infos[1].spot.0 as usize].push((old.0, behind));
        } else if let Some(free) = words.iter().position(|&word| word == 0) {
            (words[free], infos[free]) = (old.0, behind);
        } else {
            let index = lists.new_list([(words[1], infos[1]), (old.0, behind)]);
            (words[1], infos[1]) = list_word(index);
        }
    }

    /// An access to more than one cell.
    fn range(&mut self, present: &Present<'_>, addr: u64, len: u64, found: &mut Found) {
        let last = addr + (len - 1);
        for page in addr >> PAGE_SHIFT..=last >> PAGE_SHIFT {
            let base = page << PAGE_SHIFT;
            let (from, to) = (addr.max(base), last.min(base + (PAGE - 1)));
            let place = self.place(page);
            let Fast { pages, lists, .. } = self;
            let page = &mut pages[place];
            if to - from == PAGE - 1
                && page.cells.is_none()
                && whole(&mut page.all, present, from >> 3, lists, found)
            {
                continue;
            }
            let cells = page.cells();
            for number in from >> 3..=to >> 3 {
                let need = present.bits | mask(number, from, to);
                let at = number as usize % CELLS;
                let (words, infos) = (&mut cells.words[at], &mut cells.infos[at]);
                if !settled(words, present.stamp, need) {
                    touch(words, infos, present, need, number, lists, found);
                }
            }
        }
    }

    #[inline(always)]
    fn place(&mut self, page: u64) -> usize {
        let near = self.near[page as usize % NEAR];
        if near.0 == page {
            near.1 as usize
        } else {
            self.find(page)
        }
    }

    #[cold]
    #[inline(never)]
    fn find(&mut self, page: u64) -> usize {
        let pages = &mut self.pages;
        let place = *self.places.entry(page).or_insert_with(|| {
            pages.push(Page {
                number: page,
                all: Cell::default(),
                cells: None,
            });
            (pages.len() - 1) as u32
        });
        self.near[page as usize % NEAR] = (page, place);
        place as usize
    }

    /// Rule fresh.
    pub fn fresh(&mut self, range: Range) {
        let (start, end) = range.bounds();
        let last = end - 1;
        let (first_page, last_page) = (start >> PAGE_SHIFT, last >> PAGE_SHIFT);
        let Fast {
            places,
            pages,
            lists,
            ..
        } = self;
        let mut clear = |page: &mut Page| {
            let base = page.number << PAGE_SHIFT;
            let (from, to) = (start.max(base), last.min(base + (PAGE - 1)));
            if to - from == PAGE - 1 {
                give_up_lists(page, lists);
                page.all = Cell::default();
                page.cells = None;
            } else if page.cells.is_some() || page.all.words != [0; 2] {
                let cells = page.cells();
                for number in from >> 3..=to >> 3 {
                    let at = number as usize % CELLS;
                    let gone = mask(number, from, to);
                    keep(&mut cells.words[at], &mut cells.infos[at], lists, |word| {
                        *word &= !gone;
                        *word & MASK != 0
                    });
                }
            }
        };
        if last_page - first_page < pages.len() as u64 {
            for page in first_page..=last_page {
                if let Some(&place) = places.get(&page) {
                    clear(&mut pages[place as usize]);
                }
            }
        } else {
            let within = |page: &&mut Page| (first_page..=last_page).contains(&page.number);
            pages.iter_mut().filter(within).for_each(clear);
        }
    }

    /// Rule forget, if there is enough to make it worth while.
    pub fn forget(&mut self, known: &[u64]) {
        if self.pages.len() < self.sweep_at {
            return;
        }
        let lists = &mut self.lists;
        self.pages.retain_mut(|page| {
            let news = |word: &mut u64| {
                let entry = Entry(*word);
                !known
                    .get(entry.slot() as usize)
                    .is_some_and(|&time| entry.covered_by(time))
            };
            match &mut page.cells {
                None => {
                    keep(&mut page.all.words, &mut page.all.infos, lists, news);
                    page.all.words != [0; 2]
                }
                Some(cells) => {
                    let mut stays = false;
                    for (words, infos) in cells.words.iter_mut().zip(&mut cells.infos) {
                        if *words != [0; 2] {
                            keep(words, infos, lists, news);
                            stays |= *words != [0; 2];
                        }
                    }
                    stays
                }
            }
        });
        self.places = (0..)
            .zip(&self.pages)
            .map(|(place, page)| (page.number, place))
            .collect();
        self.near.fill((u64::MAX, 0));
        self.sweep_at = self.few.max(self.pages.len() * 2);
    }

    /// Pages of memory that are remembered.
    pub fn pages(&self) -> usize {
        self.pages.len()
    }
}

#[inline(always)]
fn present<'a>(
    run: &'a Run,
    clocks: &'a Clocks,
    clock: &'a [u64],
    stamp: u64,
    bits: u64,
    access: &Access,
    name: DetectorKind,
) -> Present<'a> {
    Present {
        stamp,
        bits,
        info: Info {
            spot: access.spot,
            caller: access.caller,
            locks: run.locks,
        },
        order: access.order,
        run,
        clock,
        clocks,
        name,
    }
}

/// The bytes of a cell that lie in `from..=to`.
#[inline(always)]
fn mask(number: u64, from: u64, to: u64) -> u64 {
    let low = from.saturating_sub(number << 3).min(7);
    let high = (to - (number << 3)).min(7);
    (0xff << low) & (0xff >> (7 - high))
}

/// Rule same epoch, for the words of the cell itself.
#[inline(always)]
fn settled(words: &[u64; 2], stamp: u64, need: u64) -> bool {
    let hit = |word: u64| (word ^ stamp) >> SEQ_SHIFT == 0 && word & need == need;
    hit(words[0]) || hit(words[1])
}

/// A whole page that is one cell. False if it must become cells.
fn whole(
    all: &mut Cell,
    present: &Present<'_>,
    first: u64,
    lists: &mut Lists,
    found: &mut Found,
) -> bool {
    let need = present.bits | MASK;
    if settled(&all.words, present.stamp, need) {
        return true;
    }
    // One cell can speak for all of them only if nothing is to be told and there is room.
    let new = Entry(present.stamp | need);
    let gone = |word: u64| {
        word == 0 || {
            let old = Entry(word);
            entry::subsumes(new, old, present.knows(old))
        }
    };
    let quiet = |word: u64| {
        let old = Entry(word);
        !entry::races(old, new, present.knows(old))
    };
    let room = all.words.iter().any(|&word| gone(word));
    if !room || !all.words.iter().all(|&word| quiet(word)) {
        return false;
    }
    let Cell { words, infos } = all;
    touch(words, infos, present, need, first, lists, found);
    true
}

/// Rules race, subsume, merge and put.
#[inline(always)]
fn touch(
    words: &mut [u64; 2],
    infos: &mut [Info; 2],
    present: &Present<'_>,
    need: u64,
    number: u64,
    lists: &mut Lists,
    found: &mut Found,
) {
    if words[1] & LIST != 0 {
        return touch_list(words, infos, present, need, number, lists, found);
    }
    let new = Entry(present.stamp | need);
    let mut free = None;
    let mut merge = None;
    for i in 0..2 {
        let old = Entry(words[i]);
        if old.0 != 0 {
            match meet(old, new, &infos[i], present, need, number, found) {
                Meeting::Subsumed => {}
                Meeting::Same => {
                    merge = Some(i);
                    continue;
                }
                Meeting::Stays => continue,
            }
        }
        words[i] = 0;
        free = free.or(Some(i));
    }
    match (merge, free) {
        (Some(i), _) => words[i] |= need,
        (None, Some(i)) => {
            words[i] = new.0;
            infos[i] = present.info;
        }
        (None, None) => {
            let index = lists.new_list([(words[1], infos[1]), (new.0, present.info)]);
            (words[1], infos[1]) = list_word(index);
        }
    }
}

/// What an older entry and the new one are to each other.
enum Meeting {
    /// The older one can be forgotten.
    Subsumed,
    /// Of the same epoch, kind and place: one entry can be both.
    Same,
    Stays,
}

#[inline(always)]
fn meet(
    old: Entry,
    new: Entry,
    behind: &Info,
    present: &Present<'_>,
    need: u64,
    number: u64,
    found: &mut Found,
) -> Meeting {
    let known = present.knows(old);
    let bytes = entry::racing_bytes(old, new, known);
    if bytes != 0 {
        present.race(found, number, need, old, behind, bytes);
    }
    if entry::subsumes(new, old, known) {
        Meeting::Subsumed
    } else if (old.0 ^ new.0) & !MASK == 0 && *behind == present.info {
        Meeting::Same
    } else {
        Meeting::Stays
    }
}

const _: () = assert!(entry::WHAT == MASK | PLAIN | WRITE);

/// The same for a cell with a list.
#[inline(never)]
fn touch_list(
    words: &mut [u64; 2],
    infos: &mut [Info; 2],
    present: &Present<'_>,
    need: u64,
    number: u64,
    lists: &mut Lists,
    found: &mut Found,
) {
    let index = infos[1].spot.0 as u32;
    let same_epoch = |word: u64| (word ^ present.stamp) >> SEQ_SHIFT == 0 && word & need == need;
    let list = &mut lists.lists[index as usize];
    if let Some(at) = list.iter().position(|&(word, _)| same_epoch(word)) {
        // Whoever comes back finds it in the cell itself.
        std::mem::swap(&mut words[0], &mut list[at].0);
        std::mem::swap(&mut infos[0], &mut list[at].1);
        return;
    }
    let mut list = std::mem::take(list);
    let new = Entry(present.stamp | need);
    let mut merged = false;
    let mut one = |word: &mut u64, info: &Info| match meet(
        Entry(*word),
        new,
        info,
        present,
        need,
        number,
        found,
    ) {
        Meeting::Subsumed => false,
        Meeting::Same => {
            if !merged {
                *word |= need;
                merged = true;
            }
            true
        }
        Meeting::Stays => true,
    };
    if words[0] != 0 && !one(&mut words[0], &infos[0]) {
        words[0] = 0;
    }
    list.retain_mut(|(word, info)| one(word, info));
    if !merged {
        // The newest is the one that is looked for next.
        let older = (words[0], infos[0]);
        (words[0], infos[0]) = (new.0, present.info);
        if older.0 != 0 {
            list.push(older);
        }
    }
    settle_list(words, infos, lists, index, list);
}

/// Puts a list back, or into the cell if it fits.
fn settle_list(
    words: &mut [u64; 2],
    infos: &mut [Info; 2],
    lists: &mut Lists,
    index: u32,
    mut list: Vec<(u64, Info)>,
) {
    if words[0] == 0
        && let Some((word, info)) = list.pop()
    {
        (words[0], infos[0]) = (word, info);
    }
    match list.len() {
        0 => words[1] = 0,
        1 => (words[1], infos[1]) = list[0],
        _ => {
            lists.lists[index as usize] = list;
            return;
        }
    }
    lists.lists[index as usize] = list;
    lists.give_up(index);
}

/// Keeps the entries of a cell that `stays` says, which may also change them.
fn keep(
    words: &mut [u64; 2],
    infos: &mut [Info; 2],
    lists: &mut Lists,
    mut stays: impl FnMut(&mut u64) -> bool,
) {
    if words[0] != 0 && !stays(&mut words[0]) {
        words[0] = 0;
    }
    if words[1] & LIST != 0 {
        let index = infos[1].spot.0 as u32;
        let mut list = std::mem::take(&mut lists.lists[index as usize]);
        list.retain_mut(|(word, _)| stays(word));
        settle_list(words, infos, lists, index, list);
    } else if words[1] != 0 && !stays(&mut words[1]) {
        words[1] = 0;
    }
}

fn give_up_lists(page: &mut Page, lists: &mut Lists) {
    let Some(cells) = &page.cells else { return };
    for (words, infos) in cells.words.iter().zip(&cells.infos) {
        if words[1] & LIST != 0 {
            lists.give_up(infos[1].spot.0 as u32);
        }
    }
}

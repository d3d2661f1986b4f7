//! One cell: two remembered accesses or a list of them, and the rules of FastTrack on it.

use deadheat_detect::entry::{self, Entry, LIST, MASK, SEQ_SHIFT};
use deadheat_trace::wire::Spot;

use super::lists::Lists;
use crate::batch::{Access, Run};
use crate::detector::{Clocks, DetectorKind};
use crate::found::{Candidate, Found, Info, Side};

/// Two remembered accesses and what is behind them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cell {
    pub words: [u64; 2],
    pub infos: [Info; 2],
}

impl Cell {
    /// Keeps the entries that `stays` says, which may also change them.
    pub fn keep(&mut self, lists: &mut Lists, stays: impl FnMut(&mut u64) -> bool) {
        keep(&mut self.words, &mut self.infos, lists, stays);
    }
}

/// The word of a cell that has a list. Its slot and time are 0, which no access has.
fn list_word(index: u32) -> (u64, Info) {
    let info = Info {
        spot: Spot(u64::from(index)),
        ..Info::default()
    };
    (LIST, info)
}

fn index_of(infos: &[Info; 2]) -> u32 {
    infos[1].spot.0 as u32
}

/// The list of a cell that has one.
#[inline(always)]
pub fn list(words: &[u64; 2], infos: &[Info; 2]) -> Option<u32> {
    (words[1] & LIST != 0).then(|| index_of(infos))
}

/// The run being checked: who, when, and what he knows.
pub struct Now<'a> {
    pub stamp: u64,
    pub run: &'a Run,
    pub clock: &'a [u64],
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

    #[inline(always)]
    fn info(&self, access: &Access) -> Info {
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
}

impl Touch<'_> {
    #[cold]
    #[inline(never)]
    fn race(&self, found: &mut Found, old: Entry, behind: &Info, bytes: u8) {
        let Touch {
            now, access, need, ..
        } = *self;
        found.pair(Candidate {
            detector: now.name,
            order: access.order,
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
                time: old.seq(),
                info: *behind,
                what: Entry(old.0 & entry::WHAT),
            },
            memory: None,
        });
    }

    /// Rules race, subsume and merge for one remembered access.
    #[inline(always)]
    fn meet(&self, word: &mut u64, behind: &Info, found: &mut Found) -> Meeting {
        let (old, new) = (Entry(*word), Entry(self.now.stamp | self.need));
        let known = self.now.knows(old);
        let bytes = entry::racing_bytes(old, new, known);
        if bytes != 0 {
            self.race(found, old, behind, bytes);
        }
        if (old.0 ^ new.0) & !MASK == 0 && *behind == self.now.info(self.access) {
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

/// Rule same epoch, for the words of the cell itself.
#[inline(always)]
pub fn settled(words: &[u64; 2], stamp: u64, need: u64) -> bool {
    let hit = |word: u64| (word ^ stamp) >> SEQ_SHIFT == 0 && word & need == need;
    hit(words[0]) || hit(words[1])
}

/// Rules race, subsume, merge and put.
#[inline(always)]
pub fn touch(
    words: &mut [u64; 2],
    infos: &mut [Info; 2],
    touch: Touch<'_>,
    lists: &mut Lists,
    found: &mut Found,
) {
    if words[1] & LIST != 0 {
        return touch_list(words, infos, touch, lists, found);
    }
    let mut free = None;
    let mut same = None;
    for i in [1, 0] {
        if words[i] != 0 {
            match touch.meet(&mut words[i], &infos[i], found) {
                Meeting::Gone => words[i] = 0,
                Meeting::Same => {
                    same = Some(i);
                    continue;
                }
                Meeting::Stays => continue,
            }
        }
        free = Some(i);
    }
    let new = (touch.now.stamp | touch.need, touch.now.info(touch.access));
    match (same, free) {
        (Some(i), _) => words[i] |= touch.need,
        (None, Some(i)) => (words[i], infos[i]) = new,
        (None, None) => {
            let index = lists.new_list([(words[1], infos[1]), new]);
            (words[1], infos[1]) = list_word(index);
        }
    }
}

/// The same for a cell with a list.
#[inline(never)]
fn touch_list(
    words: &mut [u64; 2],
    infos: &mut [Info; 2],
    touch: Touch<'_>,
    lists: &mut Lists,
    found: &mut Found,
) {
    let (stamp, need) = (touch.now.stamp, touch.need);
    let index = index_of(infos);
    let list = lists.of(index);
    let same_epoch = |word: u64| (word ^ stamp) >> SEQ_SHIFT == 0 && word & need == need;
    // Whoever comes back finds it in the cell itself.
    if list.swap(&mut words[0], &mut infos[0], same_epoch) {
        return;
    }
    let mut merged = false;
    let mut stays = |word: &mut u64, info: &Info| match touch.meet(word, info, found) {
        Meeting::Gone => false,
        Meeting::Same => {
            if !merged {
                *word |= need;
                merged = true;
            }
            true
        }
        Meeting::Stays => true,
    };
    if words[0] != 0 && !stays(&mut words[0], &infos[0]) {
        words[0] = 0;
    }
    list.retain(stays);
    if !merged {
        // The newest is the one that is looked for next.
        if words[0] != 0 {
            list.push(words[0], infos[0]);
        }
        (words[0], infos[0]) = (stamp | need, touch.now.info(touch.access));
    }
    settle_list(words, infos, lists, index);
}

/// Takes a list that has become short into the cell.
#[inline(always)]
fn settle_list(words: &mut [u64; 2], infos: &mut [Info; 2], lists: &mut Lists, index: u32) {
    let list = lists.of(index);
    if words[0] == 0
        && let Some((word, info)) = list.pop()
    {
        (words[0], infos[0]) = (word, info);
    }
    if list.len() > 1 {
        return;
    }
    match list.pop() {
        Some(last) => (words[1], infos[1]) = last,
        None => words[1] = 0,
    }
    lists.give_up(index);
}

/// A whole page that is one cell. False if it must become cells.
pub fn whole(all: &mut Cell, touch: Touch<'_>, lists: &mut Lists, found: &mut Found) -> bool {
    let now = touch.now;
    if settled(&all.words, now.stamp, touch.need) {
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
    let Cell { words, infos } = all;
    self::touch(words, infos, touch, lists, found);
    true
}

/// Adds an access that somebody else has remembered.
pub fn adopt(
    words: &mut [u64; 2],
    infos: &mut [Info; 2],
    old: Entry,
    behind: Info,
    lists: &mut Lists,
) {
    if words[1] & LIST != 0 {
        lists.of(index_of(infos)).push(old.0, behind);
    } else if let Some(free) = words.iter().position(|&word| word == 0) {
        (words[free], infos[free]) = (old.0, behind);
    } else {
        let index = lists.new_list([(words[1], infos[1]), (old.0, behind)]);
        (words[1], infos[1]) = list_word(index);
    }
}

/// Keeps the entries of a cell that `stays` says, which may also change them.
pub fn keep(
    words: &mut [u64; 2],
    infos: &mut [Info; 2],
    lists: &mut Lists,
    mut stays: impl FnMut(&mut u64) -> bool,
) {
    if words[0] != 0 && !stays(&mut words[0]) {
        words[0] = 0;
    }
    if words[1] & LIST != 0 {
        let index = index_of(infos);
        lists.of(index).retain(|word, _| stays(word));
        settle_list(words, infos, lists, index);
    } else if words[1] != 0 && !stays(&mut words[1]) {
        words[1] = 0;
    }
}

/// The cell is forgotten.
pub fn give_up_list(words: &[u64; 2], infos: &[Info; 2], lists: &mut Lists) {
    if let Some(index) = list(words, infos) {
        lists.give_up(index);
    }
}

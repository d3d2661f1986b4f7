//! What a checker found: pairs of accesses with both their sides, each pair of places in the code once.

use std::collections::{BTreeMap, HashMap};

use deadheat_detect::entry::Entry;
use deadheat_trace::wire::{Spot, StackNode, StackSet};
use deadheat_trace::{Range, Strand};

use crate::batch::{LocksId, kind};
use crate::detector::DetectorKind;

/// Where and how an access was made: what is remembered of it beside its entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(C)]
pub struct Info {
    pub spot: Spot,
    pub caller: StackNode,
    pub locks: LocksId,
}

const _: () = assert!(size_of::<Info>() == 16);

/// One side of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Side {
    pub strand: Strand,
    /// The strand's own time.
    pub time: u64,
    pub info: Info,
    /// The bytes of the cell, and bits for plain and write.
    pub what: Entry,
}

/// What memory is, as its last description said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Described {
    pub block: crate::batch::Block,
    /// Who gave it back, and where.
    pub freed: Option<(Strand, StackNode)>,
}

impl Described {
    pub fn stacks(&self, used: &mut StackSet) {
        used.add(self.block.stack);
        if let Some((_, stack)) = self.freed {
            used.add(stack);
        }
    }
}

/// Two accesses that race, or (from Eraser) two that no lock guards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    pub detector: DetectorKind,
    /// The place of the newer access in its batch.
    pub order: u32,
    /// Acts with smaller numbers came before the newer access.
    pub acts: u64,
    /// The first byte of the cell, and the bytes of it that they fight over.
    pub cell: u64,
    pub bytes: u8,
    pub new: Side,
    pub old: Side,
    pub memory: Option<Described>,
}

impl Candidate {
    /// Same key, same bug: the two places in the code in any order, and whether one is a free.
    pub fn key(&self) -> u64 {
        key(self.detector, &self.new.info, &self.old.info)
    }

    /// One side gives the memory back.
    pub fn freed(&self) -> bool {
        [self.new, self.old]
            .iter()
            .any(|side| side.info.spot.kind() == kind::FREE)
    }
}

fn key(detector: DetectorKind, a: &Info, b: &Info) -> u64 {
    let place = |info: &Info| mix(mix(0, info.spot.pc()), u64::from(info.caller.0));
    let free = |info: &Info| u64::from(info.spot.kind() == kind::FREE);
    let (a_place, b_place) = (place(a), place(b));
    let what = (detector as u64) << 1 | (free(a) | free(b));
    mix(
        mix(mix(1, what), a_place.min(b_place)),
        a_place.max(b_place),
    )
}

fn mix(hash: u64, part: u64) -> u64 {
    let hash = (hash ^ part).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    hash ^ (hash >> 29)
}

/// Different pairs that one checker keeps; a program with more has one bug in many places.
const MOST: usize = 10_000;

/// What a checker has found.
#[derive(Debug, Default)]
pub struct Found {
    /// New since they were last taken.
    pub candidates: Vec<Candidate>,
    counts: HashMap<u64, u64>,
    /// The calls of all pairs in `counts`, whose keys are made of their numbers: those must not become another stack's.
    callers: StackSet,
    /// Memory whose races are meant, by start.
    exempt: BTreeMap<u64, u64>,
    /// The racing bytes of each detector, by cell; only if there are several to compare.
    pub bytes: Option<HashMap<(DetectorKind, u64), u8>>,
    /// Pairs that were not kept.
    pub lost: u64,
    /// Whether races with atomic accesses are left out.
    skip_atomics: bool,
}

impl Found {
    /// `compare`: whether racing bytes are kept for each detector; `skip_atomics`: whether races with atomic accesses
    /// are left out.
    pub fn new(compare: bool, skip_atomics: bool) -> Found {
        Found {
            bytes: compare.then(HashMap::new),
            skip_atomics,
            ..Found::default()
        }
    }

    /// A pair; told if its places are new, else counted.
    #[cold]
    pub fn pair(&mut self, candidate: Candidate) {
        let byte = candidate.cell + u64::from(candidate.bytes.trailing_zeros() % 8);
        if let Some((_, &end)) = self.exempt.range(..=byte).next_back()
            && byte < end
        {
            return;
        }
        let atomic = |side: &Side| side.what.0 & deadheat_detect::entry::PLAIN == 0;
        if self.skip_atomics
            && !candidate.freed()
            && (atomic(&candidate.new) || atomic(&candidate.old))
        {
            return;
        }
        if let Some(bytes) = &mut self.bytes {
            *bytes
                .entry((candidate.detector, candidate.cell))
                .or_default() |= candidate.bytes;
        }
        let key = candidate.key();
        if let Some(count) = self.counts.get_mut(&key) {
            *count += 1;
            // Ranges are checked as a whole: what comes later may have been made earlier.
            let told = self.candidates.iter_mut().find(|one| one.key() == key);
            if let Some(told) = told
                && (candidate.order, candidate.cell) < (told.order, told.cell)
            {
                *told = candidate;
            }
        } else if self.counts.len() >= MOST {
            self.lost += 1;
        } else {
            self.counts.insert(key, 1);
            self.callers.add(candidate.new.info.caller);
            self.callers.add(candidate.old.info.caller);
            self.candidates.push(candidate);
        }
    }

    /// Races in this memory are meant.
    pub fn exempt(&mut self, range: Range) {
        let (start, end) = range.bounds();
        self.exempt.insert(start, end);
    }

    /// Adds the call stacks that are needed to know a pair again, or to tell it.
    pub fn stacks(&self, used: &mut StackSet) {
        used.join(&self.callers);
        for described in self.candidates.iter().filter_map(|one| one.memory) {
            described.stacks(used);
        }
    }

    /// How often each pair of places was seen.
    pub fn counts(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.counts.iter().map(|(&key, &count)| (key, count))
    }
}

//! Eraser's sets of locks as the kernels want them: two Bloom filters for each.
//!
//! Numbers of sets that neither the device nor any strand has are used again, and so are the bits of locks that are in no set any
//! more.

use std::collections::{HashMap, HashSet};

use deadheat_detect::entry::{Care, Op};
use deadheat_detect::eraser::{Holding, Lock, Mode, Set};
use deadheat_trace::Strand;

use crate::layout::{LOCK_BITS, SET, has_bit};

/// What strands hold, and all sets of locks.
#[derive(Debug, Default)]
pub struct Filters {
    holding: Holding,
    /// By number: the last batch that has the set.
    batches: Vec<u64>,
    /// `SET` words for each.
    words: Vec<u32>,
    /// Numbers that stand for nothing, and will for other sets.
    stale: Vec<Set>,
    bits: HashMap<Lock, u32>,
    free_bits: Vec<u32>,
}

impl Filters {
    pub fn took(&mut self, strand: Strand, lock: Lock, mode: Mode) {
        self.holding.took(strand, lock, mode);
    }

    pub fn gave(&mut self, strand: Strand, lock: Lock, mode: Mode) {
        self.holding.gave(strand, lock, mode);
    }

    pub fn ended(&mut self, strand: Strand) {
        self.holding.ended(strand);
    }

    /// Fewer sets than these are not worth looking for those that nobody has.
    pub fn collect_from(&mut self, sets: usize) {
        self.holding.collect_from(sets);
    }

    /// The sets that guard accesses of the strand now, by kind, in a batch.
    pub fn sets(&mut self, strand: Strand, batch: u64) -> [u32; 4] {
        let kinds = [
            (Op::Read, Care::Plain),
            (Op::Write, Care::Plain),
            (Op::Read, Care::Atomic),
            (Op::Write, Care::Atomic),
        ];
        kinds.map(|(op, care)| {
            let Set(number) = self.holding.set(strand, op, care);
            let at = number as usize;
            if self.batches.len() <= at {
                self.batches.resize(at + 1, 0);
            }
            self.batches[at] = batch;
            number
        })
    }

    /// The locks of a set, sorted.
    pub fn locks(&self, set: u32) -> &[Lock] {
        self.holding.locks(Set(set))
    }

    /// How many sets there are, and numbers of sets that were ever given.
    pub fn len(&self) -> usize {
        self.holding.count()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn numbers(&self) -> usize {
        self.holding.sets()
    }

    pub fn is_due(&self) -> bool {
        self.holding.is_due()
    }

    /// After that batch the device had the sets whose bits are set.
    pub fn collect(&mut self, batch: u64, marks: &[u32]) {
        let Filters {
            holding,
            batches,
            bits,
            free_bits,
            stale,
            ..
        } = self;
        stale.extend(holding.keep(|Set(number)| {
            has_bit(marks, number) || batches.get(number as usize).is_some_and(|&at| at > batch)
        }));
        let used: HashSet<Lock> = holding.all().flatten().copied().collect();
        bits.retain(|lock, bit| {
            let stays = used.contains(lock);
            if !stays {
                free_bits.push(*bit);
            }
            stays
        });
        // The lowest are used first: those of a lock's own.
        free_bits.sort_unstable_by_key(|&bit| std::cmp::Reverse(bit));
    }

    /// The filters of all sets, one after another.
    pub fn words(&self) -> &[u32] {
        &self.words
    }

    /// Works out the filters of sets that are new, and says which ones that are.
    pub fn update(&mut self) -> Vec<u32> {
        let holding = &self.holding;
        let mut again = Vec::new();
        self.stale.retain(|&set| {
            let used = holding.has(set);
            if used {
                again.push(set.0);
            }
            !used
        });
        let new = (self.words.len() / SET..holding.sets()).map(|set| set as u32);
        again.extend(new);
        self.words.resize(holding.sets() * SET, 0);
        for &set in &again {
            let mut words = [0u32; SET];
            for lock in holding.locks(Set(set)) {
                let (bits, free) = (&mut self.bits, &mut self.free_bits);
                let count = bits.len() as u32;
                let number = *bits
                    .entry(*lock)
                    .or_insert_with(|| free.pop().unwrap_or(count));
                let bit = number as usize % LOCK_BITS;
                if (number as usize) < LOCK_BITS {
                    words[bit / 32] |= 1 << (bit % 32);
                }
                words[SET / 2 + bit / 32] |= 1 << (bit % 32);
            }
            let at = set as usize * SET;
            self.words[at..at + SET].copy_from_slice(&words);
        }
        again.sort_unstable();
        again
    }
}

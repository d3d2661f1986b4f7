//! Vector clocks as long as the slots that ever met, not as the slots that exist.
//!
//! Component `s` is the last sequence number of slot `s` that is known here; a missing one is 0, which covers nothing
//! because numbers start at 1. Must not know strands, locks or cells.

use std_alloc::vec::Vec;

/// What a strand, or an object that orders strands, knows of every slot.
#[derive(Default, Clone, PartialEq, Eq, Debug)]
pub struct Clock {
    known: Vec<u64>,
}

impl Clock {
    pub const fn new() -> Self {
        Clock { known: Vec::new() }
    }

    #[inline(always)]
    pub fn get(&self, slot: u16) -> u64 {
        match self.known.get(slot as usize) {
            Some(&seq) => seq,
            None => 0,
        }
    }

    pub fn set(&mut self, slot: u16, seq: u64) {
        let slot = slot as usize;
        if slot >= self.known.len() {
            self.known.resize(slot + 1, 0);
        }
        self.known[slot] = seq;
    }

    /// Takes over all that `other` knows; true if that was anything new.
    pub fn join(&mut self, other: &Clock) -> bool {
        if other.known.len() > self.known.len() {
            self.known.resize(other.known.len(), 0);
        }
        let mut learned = false;
        for (mine, &theirs) in self.known.iter_mut().zip(&other.known) {
            learned |= theirs > *mine;
            *mine = (*mine).max(theirs);
        }
        learned
    }

    /// Does this clock know all that `other` knows?
    pub fn covers(&self, other: &Clock) -> bool {
        other
            .known
            .iter()
            .enumerate()
            .all(|(slot, &seq)| seq <= self.get(slot as u16))
    }

    pub fn copy_from(&mut self, other: &Clock) {
        self.known.clear();
        self.known.extend_from_slice(&other.known);
    }

    pub fn clear(&mut self) {
        self.known.clear();
    }

    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn join_is_the_least_upper_bound() {
        let (mut a, mut b) = (Clock::new(), Clock::new());
        a.set(1, 5);
        b.set(3, 2);
        b.set(1, 4);
        assert!(!a.covers(&b));
        assert!(a.join(&b));
        assert!(a.covers(&b) && a.get(1) == 5 && a.get(3) == 2 && a.get(9) == 0);
        assert!(!a.join(&b));
    }
}

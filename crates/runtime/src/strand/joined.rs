//! The pairs of numbers that a strand joined lately ([`Place::both`]), and the numbers that stand for them.
//!
//! A loop over cells joins the same two in each of them; most other pairs never come again, and would only take the room of
//! places that do.

use crate::history::Place;

const SIZE: usize = 16;

/// Pairs, and the stamps of their numbers.
pub struct Joined {
    pairs: [(Place, u64); SIZE],
}

impl Joined {
    pub const fn new() -> Joined {
        Joined {
            pairs: [(Place(0), 0); SIZE],
        }
    }

    /// A loop that goes on to other numbers goes on to other spots, too.
    #[inline(always)]
    fn spot(pair: Place) -> usize {
        (pair.0 ^ pair.0 >> 24) as usize % SIZE
    }

    /// The stamp of the pair's number, if it has one that is not below `from`.
    #[inline(always)]
    pub fn find(&self, pair: Place, from: u64) -> Option<u64> {
        let (known, stamp) = self.pairs[Self::spot(pair)];
        (known == pair && stamp >= from).then_some(stamp)
    }

    #[inline(always)]
    pub fn note(&mut self, pair: Place, stamp: u64) {
        self.pairs[Self::spot(pair)] = (pair, stamp);
    }
}

impl Default for Joined {
    fn default() -> Self {
        Joined::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_is_found_as_it_was_noted_while_its_step_lasts() {
        let mut joined = Joined::new();
        for n in 1..100 {
            let pair = Place::both(n, 1 << (n % 8), n + 7);
            assert_eq!(joined.find(pair, 0), None);
            joined.note(pair, n << 12);
            assert_eq!(joined.find(pair, n << 12), Some(n << 12));
            assert_eq!(joined.find(pair, (n << 12) + 1), None);
        }
    }
}

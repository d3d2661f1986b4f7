//! Pairs of places whose race was told lately: when it is seen again it is only counted.
//!
//! A program with one racy counter makes the same race a hundred thousand times. Which finding it is depends on the calls that
//! led to both accesses, and walking these each time would cost more than all the rest of the access. It is a cache: what
//! it forgets is walked anew. Call stacks are known here by their numbers, which stand for others once they are let go, so
//! [`crate::marks::sweep`] empties it before it lets go of any.

use std_alloc::vec::Vec;

use crate::history::Site;
use crate::sync::{Locked, SpinLock};

/// How many are known at once.
const SIZE: usize = 512;

/// The two sites, and the key of the finding that their race is.
#[derive(Clone, Copy)]
struct Pair {
    older: Site,
    newer: Site,
    key: u64,
}

/// The pairs told lately.
pub struct ToldPairs {
    /// As many as [`SIZE`], or none.
    pairs: Locked<Vec<Option<Pair>>>,
}

fn index(older: Site, newer: Site) -> usize {
    let mix = |site: Site| site.place.0 ^ (site.caller.0 as u64) << 20;
    let mixed = (mix(older).rotate_left(23) ^ mix(newer)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed >> 40) as usize % SIZE
}

impl ToldPairs {
    pub const fn new() -> Self {
        ToldPairs {
            pairs: Locked::new(Vec::new()),
        }
    }

    /// The key of the finding that a race between these is.
    pub fn key(&self, older: Site, newer: Site) -> Option<u64> {
        let pairs = self.pairs.lock();
        let pair = (*pairs.get(index(older, newer))?)?;
        (pair.older == older && pair.newer == newer).then_some(pair.key)
    }

    pub fn note(&self, older: Site, newer: Site, key: u64) {
        let mut pairs = self.pairs.lock();
        pairs.resize(SIZE, None);
        pairs[index(older, newer)] = Some(Pair { older, newer, key });
    }

    /// Numbers of call stacks are about to stand for nothing.
    pub fn forget(&self) {
        self.pairs.lock().clear();
    }

    /// Calls `f` for each lock that is held over a fork.
    pub fn each_lock(&self, f: &dyn Fn(&SpinLock)) {
        f(self.pairs.spin());
    }

    /// # Safety
    /// No other thread may exist.
    pub unsafe fn after_fork(&self) {
        // SAFETY: by the contract.
        unsafe { self.pairs.force_unlock() };
    }
}

impl Default for ToldPairs {
    fn default() -> Self {
        ToldPairs::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::{Place, Touch};
    use crate::intern::StackId;

    fn site(n: u64) -> Site {
        Site {
            place: Place::new(0x4000 + n, Touch::Write, 4),
            caller: StackId(n as u32 % 7),
        }
    }

    #[test]
    fn a_pair_is_found_as_it_was_told_or_not_at_all() {
        let told = ToldPairs::new();
        assert_eq!(told.key(site(1), site(2)), None);
        for n in 0..5000 {
            told.note(site(n), site(n + 1), n);
            assert_eq!(told.key(site(n), site(n + 1)), Some(n));
            assert_eq!(told.key(site(n + 1), site(n)), None);
            let before = n.saturating_sub(300);
            let found = told.key(site(before), site(before + 1));
            assert!(found.is_none_or(|key| key == before));
        }
        told.forget();
        assert!((0..5000).all(|n| told.key(site(n), site(n + 1)).is_none()));
    }
}

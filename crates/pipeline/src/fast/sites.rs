//! What is behind remembered accesses: a cell holds its number, which takes a quarter of the room.
//!
//! Whatever was numbered lately keeps its number; what was not gets a new one, even if it had one before: to look for it
//! would cost more than the place that it takes. Numbers that no cell holds are used again.

use crate::found::Info;

/// The number of what is behind an access.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Site(pub u32);

/// Those that were numbered lately; a power of two.
const NEAR: usize = 1 << NEAR_BITS;
const NEAR_BITS: u32 = 12;
/// Fewer are not worth a collection, and more than these are whatever it costs.
const FEW: usize = 1 << 14;
const MANY: usize = 1 << 18;
/// As many pay for a look at a page of memory.
const FOR_A_PAGE: usize = 32;

/// All that is behind the accesses that are remembered.
#[derive(Debug)]
pub struct Sites {
    all: Vec<Info>,
    free: Vec<Site>,
    // invariant: each is what has its number
    near: Box<[(Info, Site); NEAR]>,
    /// So many make a collection due.
    most: usize,
}

impl Default for Sites {
    fn default() -> Self {
        Sites {
            all: vec![Info::default()],
            free: Vec::new(),
            near: Box::new([(Info::default(), Site(0)); NEAR]),
            most: FEW,
        }
    }
}

impl Sites {
    /// A number for this.
    #[inline(always)]
    pub fn number(&mut self, info: Info) -> Site {
        let at = place(&info);
        let (near, site) = self.near[at];
        if near == info {
            site
        } else {
            self.new_number(info, at)
        }
    }

    #[inline(never)]
    fn new_number(&mut self, info: Info, at: usize) -> Site {
        let site = match self.free.pop() {
            Some(site) => {
                self.all[site.0 as usize] = info;
                site
            }
            None => {
                self.all.push(info);
                Site((self.all.len() - 1) as u32)
            }
        };
        self.near[at] = (info, site);
        site
    }

    /// What has this number.
    pub fn of(&self, site: Site) -> Info {
        self.all[site.0 as usize]
    }

    /// Whether there are so many that those nobody needs should be dropped.
    #[inline(always)]
    pub fn is_due(&self) -> bool {
        self.all.len() - self.free.len() >= self.most
    }

    /// Drops all but those that `each` calls its argument with, which looks at so many pages; what is behind those that stay.
    #[cold]
    pub fn collect(
        &mut self,
        pages: usize,
        each: impl FnOnce(&mut dyn FnMut(Site)),
    ) -> impl Iterator<Item = Info> {
        let mut used = vec![false; self.all.len()];
        used[0] = true;
        each(&mut |site| used[site.0 as usize] = true);
        // The lowest are used first.
        let numbers = (0..used.len() as u32).rev();
        self.free.clear();
        self.free
            .extend(numbers.filter(|&n| !used[n as usize]).map(Site));
        // What a cell holds keeps its number, so that nobody can tell when this was done.
        for (info, site) in self.near.iter_mut() {
            if !used[site.0 as usize] {
                (*info, *site) = (self.all[0], Site(0));
            }
        }
        let worth = (pages * FOR_A_PAGE).clamp(FEW, MANY);
        self.most = worth.max(2 * (self.all.len() - self.free.len()));
        let kept = self.all.iter().zip(used).filter(|(_, used)| *used);
        kept.map(|(info, _)| *info)
    }
}

#[inline(always)]
fn place(info: &Info) -> usize {
    let calls = u64::from(info.caller.0) << 32 | u64::from(info.locks.0);
    let mixed = (info.spot.0 ^ calls.rotate_left(17)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed >> (u64::BITS - NEAR_BITS)) as usize % NEAR
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::LocksId;
    use deadheat_trace::wire::{Spot, StackNode};
    use std::collections::HashSet;

    fn info(n: u64) -> Info {
        Info {
            spot: Spot(n * 7),
            caller: StackNode(n as u32 % 50),
            locks: LocksId(n as u32 % 3),
        }
    }

    #[test]
    fn what_is_used_keeps_its_number() {
        let mut sites = Sites::default();
        let mut kept: Vec<(u64, Site)> = Vec::new();
        for round in 0..6 {
            let from = round * 30_000;
            for n in from..from + 60_000 {
                let site = sites.number(info(n));
                assert_eq!((sites.number(info(n)), sites.of(site)), (site, info(n)));
                if n % 2 == 0 {
                    kept.push((n, site));
                }
            }
            kept.retain(|(n, _)| n % 60_000 != round);
            let marked = sites.collect(0, |mark| kept.iter().for_each(|&(_, site)| mark(site)));
            let marked: HashSet<Info> = marked.collect();
            assert!(kept.iter().all(|&(n, _)| marked.contains(&info(n))));
            for &(n, site) in &kept {
                assert_eq!(sites.of(site), info(n));
            }
        }
        // Each round needed room for the half that was kept before it, and for itself.
        assert!(
            sites.all.len() <= 1 + 5 * 30_000 + 60_000,
            "{}",
            sites.all.len()
        );
        assert!(!sites.is_due());
        (0..2 * MANY as u64).for_each(|n| {
            sites.number(info(n));
        });
        assert!(sites.is_due());
    }
}

//! Order that barriers do not make: a fence and then a strong write (or atomic) releases; whoever sees the location
//! with a strong read (or atomic) acquires. Locks, flags, "last block" counters and grid barriers are built so.
//!
//! A location keeps all its releases; a warp's knowledge is how many of each location's releases it has seen. A
//! release carries what its warp knew, so knowledge is transitive. The acquiring side is taken at its word without a
//! fence behind it (a miss at worst); the releasing side must have its fence, because leaving it out is a bug that
//! real programs have.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex};

use super::cell::Point;

/// How many releases of each location a warp has seen.
pub type Known = Arc<BTreeMap<u64, u32>>;

/// What one release covers.
#[derive(Clone, Debug)]
pub struct Release {
    pub block: u32,
    pub warp: u16,
    pub lanes: u64,
    /// The warp's own accesses up to this stamp.
    pub stamp: u32,
    /// Epochs of the block's warps that were known at the fence.
    pub epochs: Arc<Vec<u32>>,
    pub known: Known,
}

#[derive(Debug, Default)]
struct Location {
    releases: Vec<Release>,
    by_block: HashMap<u32, Vec<u32>>,
}

const SHARDS: usize = 64;

/// All locations of a launch.
#[derive(Debug)]
pub struct Cross {
    shards: Vec<Mutex<HashMap<u64, Location>>>,
}

impl Default for Cross {
    fn default() -> Self {
        Cross {
            shards: (0..SHARDS).map(|_| Mutex::new(HashMap::new())).collect(),
        }
    }
}

impl Cross {
    fn shard(&self, loc: u64) -> &Mutex<HashMap<u64, Location>> {
        &self.shards[((loc >> 2).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58) as usize % SHARDS]
    }

    pub fn release(&self, loc: u64, r: Release) {
        if let Ok(mut m) = self.shard(loc).lock() {
            let l = m.entry(loc).or_default();
            // A spinning warp releases the same thing again and again.
            if let Some(last) = l.by_block.get(&r.block).and_then(|v| v.last())
                && let Some(old) = l.releases.get_mut(*last as usize)
                && old.warp == r.warp
                && old.lanes == r.lanes
                && old.stamp == r.stamp
                && old.epochs == r.epochs
                && Arc::ptr_eq(&old.known, &r.known)
            {
                return;
            }
            let k = l.releases.len() as u32;
            l.by_block.entry(r.block).or_default().push(k);
            l.releases.push(r);
        }
    }

    /// Number of releases so far: what an acquire at this moment sees.
    pub fn seen(&self, loc: u64) -> u32 {
        self.shard(loc)
            .lock()
            .ok()
            .and_then(|m| m.get(&loc).map(|l| l.releases.len() as u32))
            .unwrap_or(0)
    }

    /// Is the access `p` ordered before a warp that has `known`?
    pub fn covers(&self, known: &Known, p: &Point) -> bool {
        let mut visited = HashSet::new();
        let mut work: Vec<Known> = vec![Arc::clone(known)];
        while let Some(k) = work.pop() {
            for (&loc, &len) in k.iter() {
                if !visited.insert((loc, len)) {
                    continue;
                }
                let Ok(m) = self.shard(loc).lock() else {
                    continue;
                };
                let Some(l) = m.get(&loc) else { continue };
                let mine = l.by_block.get(&p.block);
                for &i in mine.into_iter().flatten() {
                    if i >= len {
                        break;
                    }
                    let r = &l.releases[i as usize];
                    let own = r.warp == p.warp && r.lanes >> p.lane & 1 == 1 && p.stamp <= r.stamp;
                    if own
                        || r.epochs
                            .get(usize::from(p.warp))
                            .is_some_and(|e| *e > p.epoch)
                    {
                        return true;
                    }
                }
                for r in l.releases.iter().take(len as usize) {
                    if !r.known.is_empty() && work.len() < 4096 {
                        work.push(Arc::clone(&r.known));
                    }
                }
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(block: u32, warp: u16, stamp: u32) -> Point {
        Point {
            block,
            epoch: 1,
            warp,
            stamp,
            ..Point::default()
        }
    }

    #[test]
    fn knowledge_is_transitive() {
        let c = Cross::default();
        let r = |block, known| Release {
            block,
            warp: 0,
            lanes: 1,
            stamp: 10,
            epochs: Arc::new(vec![1]),
            known,
        };
        c.release(100, r(0, Known::default()));
        let one: Known = Arc::new(BTreeMap::from([(100, c.seen(100))]));
        assert!(c.covers(&one, &point(0, 0, 5)));
        assert!(!c.covers(&one, &point(0, 0, 11)));
        assert!(!c.covers(&one, &point(1, 0, 5)));
        c.release(200, r(1, one));
        let two: Known = Arc::new(BTreeMap::from([(200, c.seen(200))]));
        assert!(c.covers(&two, &point(0, 0, 5)) && c.covers(&two, &point(1, 0, 5)));
        assert!(!c.covers(&Known::default(), &point(0, 0, 5)));
    }
}

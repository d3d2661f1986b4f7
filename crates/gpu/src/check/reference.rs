//! The paper's Algorithm 4 with its four maps, literally except for the comparison that must be strict, as the
//! specification that the cells are tested against.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::machine::program::Strength;
use crate::machine::{Access, Links, Observer, Shape, What};
use crate::ptx::Space;

use super::watcher::{Shared, Watcher};
use super::{Options, Relation, Scheme};

const WARPS: usize = 4;
const WORDS: usize = 24;

#[derive(Default)]
struct Maps {
    r_warp: [[u32; WORDS]; WARPS],
    w_warp: [[u32; WORDS]; WARPS],
    r_block: [u32; WORDS],
    w_block: [u32; WORDS],
}

impl Maps {
    fn check(&self) -> BTreeSet<u64> {
        let mut out = BTreeSet::new();
        for w in 0..WARPS {
            for idx in 0..WORDS {
                if self.w_block[idx] == 0 || (self.r_warp[w][idx] == 0 && self.w_warp[w][idx] == 0)
                {
                    continue;
                }
                let others_wrote =
                    self.w_warp[w][idx] < self.w_block[idx] && self.w_warp[w][idx] > 0;
                let only_others_wrote = self.w_warp[w][idx] == 0;
                let others_read = self.r_warp[w][idx] < self.r_block[idx];
                if others_wrote || only_others_wrote || others_read {
                    out.insert(idx as u64 * 4);
                }
            }
        }
        out
    }
}

fn shared(plain: bool) -> Arc<Shared> {
    Arc::new(Shared {
        options: Options {
            scheme: Scheme::Addr,
            ..Options::default()
        },
        plain,
        threads: WARPS as u32 * 32,
        ..Shared::default()
    })
}

#[test]
fn cells_find_the_addresses_that_the_maps_find() {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut dice = |n: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % n
    };
    for round in 0..800 {
        let s = shared(round % 2 == 0);
        let mut watcher: Watcher<32> = Watcher::new(Arc::clone(&s), 0, WORDS as u32 * 4, 4);
        let mut want = BTreeSet::new();
        // nobody writes zeros
        let memory = [0u8; WORDS * 4];
        for _phase in 0..3 {
            let mut maps = Maps::default();
            for stamp in 1..=dice(14) {
                let warp = dice(WARPS as u64) as usize;
                let write = dice(3) == 0;
                let (first, count) = (dice(WORDS as u64), 1 + dice(3));
                let mut addrs = [0u64; 32];
                let mut mask = 0u64;
                for l in 0..count.min(WORDS as u64 - first) {
                    addrs[l as usize] = (first + l) * 4;
                    mask |= 1 << l;
                    let k = (first + l) as usize;
                    let (of_warp, of_block) = if write {
                        (&mut maps.w_warp, &mut maps.w_block)
                    } else {
                        (&mut maps.r_warp, &mut maps.r_block)
                    };
                    of_warp[warp][k] += 1;
                    of_block[k] += 1;
                }
                // every write has a value of its own
                let values = [[stamp * 1000 + warp as u64; 32]];
                watcher.access(&Access {
                    pc: dice(5) as u32,
                    stamp: stamp + 100,
                    warp: warp as u16,
                    mask,
                    addrs: &addrs,
                    origin: 0,
                    lo: addrs[0],
                    hi: addrs[31],
                    shape: Shape::Run,
                    links: Links::default(),
                    size: 4,
                    what: if write { What::Write } else { What::Read },
                    strength: Strength::Weak,
                    space: Space::Shared,
                    values: if write { &values } else { &[] },
                    before: &memory,
                });
            }
            want.extend(maps.check());
            watcher.barrier(&[0, 1, 2, 3], &[]);
        }
        watcher.finish();
        let races = s.results.lock().expect("results");
        let got: BTreeSet<u64> = races
            .map
            .values()
            .filter(|r| r.relation == Relation::Warps)
            .flat_map(|r| r.addrs.iter().copied())
            .collect();
        assert_eq!(got, want);
    }
}

//! Cuts the access of a warp into pieces that lie in one line of the shadow each, with as few pieces as its lanes allow.

use crate::machine::{Access, Shape};

use super::line::{Kind, LINE, Site};

/// A part of an access that lies in one line.
pub struct Piece {
    pub line: usize,
    pub mask: u32,
    pub site: Site,
}

/// How the accesses of an instruction are cut: its place, its kind, and grains by powers of two.
#[derive(Clone, Copy)]
pub struct Cut {
    pub pc: u32,
    pub kind: Kind,
    /// Bytes of a grain, and grains of an element.
    pub shift: u32,
    pub power: u32,
}

impl Cut {
    /// The pieces of what the lanes in `mask` access; `base` is where the lines begin.
    #[inline(always)]
    pub fn pieces<const W: usize>(
        self,
        a: &Access<'_, W>,
        mask: u64,
        base: u64,
        mut f: impl FnMut(Piece),
    ) {
        let grain = |lane: u32| ((a.at(lane as usize) - base) >> self.shift) as u32;
        let first = mask.trailing_zeros();
        match a.shape {
            Shape::Point => self.one(first, grain(first), &mut f),
            Shape::Run if self.power == 0 => self.side_by_side(mask, grain(first), &mut f),
            Shape::Run => {
                let mut rest = mask;
                while rest != 0 {
                    let lane = rest.trailing_zeros();
                    let count = (!(rest >> lane)).trailing_zeros().min(64 - lane);
                    self.run(lane, count, grain(lane), &mut f);
                    rest &= !((u64::MAX >> (64 - count)) << lane);
                }
            }
            Shape::Scattered if self.spread(a.links.stride).is_some() => {
                let power = self.spread(a.links.stride).unwrap_or(0);
                self.strided(mask, grain(first), power, &mut f);
            }
            Shape::Scattered => {
                let pairs = mask & (mask << 1);
                let (same, next) = (a.links.same & pairs, a.links.next & pairs);
                let mut rest = mask;
                while rest != 0 {
                    let lane = rest.trailing_zeros();
                    // How many lanes behind this one go with it.
                    let after = |links: u64| (!(links >> lane >> 1)).trailing_zeros();
                    let (still, on) = (after(same), after(next));
                    if on > 0 {
                        self.run(lane, on + 1, grain(lane), &mut f);
                    } else {
                        self.one(lane, grain(lane), &mut f);
                    }
                    rest &= u64::MAX << lane << 1 << still.max(on);
                }
            }
        }
    }

    /// The element of one lane; it is aligned, so it lies in one line.
    #[inline(always)]
    fn one(self, lane: u32, grain: u32, f: &mut impl FnMut(Piece)) {
        f(Piece {
            line: (grain / LINE) as usize,
            mask: (u32::MAX >> (LINE - (1 << self.power))) << (grain % LINE),
            site: Site::single(self.pc, self.kind, lane),
        });
    }

    /// Lanes with one grain each, one behind the other but for those that are not in the mask; `grain` is the first's.
    #[inline(always)]
    fn side_by_side(self, mask: u64, grain: u32, f: &mut impl FnMut(Piece)) {
        let lane = mask.trailing_zeros();
        if mask & (mask - 1) == 0 {
            self.one(lane, grain, f);
            return;
        }
        let mut line = (grain / LINE) as usize;
        let into = grain % LINE;
        let mut bits = u128::from(mask >> lane) << into;
        let (mut lane, mut at) = (lane, into);
        while bits != 0 {
            let part = bits as u32;
            if part != 0 {
                f(Piece {
                    line,
                    mask: part,
                    site: Site::new(self.pc, self.kind, 0, lane, at),
                });
            }
            bits >>= LINE;
            line += 1;
            lane += LINE - at;
            at = 0;
        }
    }

    /// The stride in grains as a power, if it is one that leaves several lanes in a line.
    #[inline(always)]
    fn spread(self, stride: u64) -> Option<u32> {
        let grains = stride >> self.shift;
        let fits = grains.is_power_of_two() && grains < u64::from(LINE);
        (fits && grains << self.shift == stride).then(|| grains.trailing_zeros())
    }

    /// Lanes `1 << stride` grains apart.
    #[inline(always)]
    fn strided(self, mask: u64, grain: u32, stride: u32, f: &mut impl FnMut(Piece)) {
        let element = u32::MAX >> (LINE - (1 << self.power));
        let mut lane = mask.trailing_zeros();
        let (mut rest, mut grain) = (mask >> lane, grain);
        while rest != 0 {
            let into = grain % LINE;
            let here = ((LINE - into - 1) >> stride) + 1;
            let mut bits = 0;
            for k in (0..here).filter(|k| rest >> k & 1 == 1) {
                bits |= element << (into + (k << stride));
            }
            if bits != 0 {
                f(Piece {
                    line: (grain / LINE) as usize,
                    mask: bits,
                    site: Site::new(self.pc, self.kind, stride, lane, into),
                });
            }
            rest >>= here;
            lane += here;
            grain += here << stride;
        }
    }

    /// Lanes one behind the other.
    #[inline(always)]
    fn run(self, mut lane: u32, count: u32, mut grain: u32, f: &mut impl FnMut(Piece)) {
        if count == 1 {
            self.one(lane, grain, f);
            return;
        }
        let mut left = count << self.power;
        while left > 0 {
            let first = grain % LINE;
            let n = left.min(LINE - first);
            f(Piece {
                line: (grain / LINE) as usize,
                mask: (u32::MAX >> (LINE - n)) << first,
                site: Site::new(self.pc, self.kind, self.power, lane, first),
            });
            grain += n;
            left -= n;
            lane += n >> self.power;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::access::lanes;
    use crate::machine::program::Strength;
    use crate::machine::{Links, What};
    use crate::ptx::Space;

    /// How lanes lie to each other, lane by lane.
    fn lie(addrs: &[u64; 64], mask: u64, size: u64) -> (Shape, Links) {
        let all: Vec<usize> = lanes(mask).collect();
        let apart = |d: u64| {
            let far = |l: &usize| addrs[all[0]] + d * (l - all[0]) as u64 == addrs[*l];
            all.iter().all(far)
        };
        let mut k = Links::default();
        for p in all.windows(2).filter(|p| p[1] == p[0] + 1) {
            let d = addrs[p[1]].wrapping_sub(addrs[p[0]]);
            k.same |= u64::from(d == 0) << p[1];
            k.next |= u64::from(d == size) << p[1];
            if d < 1 << 32 && apart(d) {
                k.stride = d;
            }
        }
        match (apart(size), apart(0)) {
            (true, _) => (Shape::Run, Links::default()),
            (_, true) => (Shape::Point, Links::default()),
            _ => (Shape::Scattered, k),
        }
    }

    /// Every way of cutting must give every lane exactly its grains.
    #[test]
    fn pieces_give_every_lane_its_grains() {
        let mut state = 0x1234_5678_9abc_def1u64;
        let mut dice = |n: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 9) % n
        };
        for round in 0..4000u64 {
            let shift = dice(3) as u32;
            let power = dice(3) as u32;
            let size = 1u64 << (shift + power);
            let start = dice(100) * size;
            let stride = [0, size, 2 * size, 4 * size, 3 * size, 64 * size][dice(6) as usize];
            let mut addrs = [0u64; 64];
            for (l, a) in addrs.iter_mut().enumerate() {
                *a = match round % 2 {
                    0 => start + l as u64 * stride,
                    _ => start + dice(40) * size,
                };
            }
            let mask = dice(u64::MAX) | 1 << dice(64);
            let mask = if dice(2) == 0 { u64::MAX } else { mask };
            let (shape, links) = lie(&addrs, mask, size);
            let a = Access {
                pc: 5,
                stamp: 0,
                warp: 0,
                mask,
                addrs: &addrs,
                origin: 0,
                lo: *addrs.iter().min().unwrap_or(&0),
                hi: *addrs.iter().max().unwrap_or(&0),
                shape,
                links: if dice(4) == 0 {
                    Links::default()
                } else {
                    links
                },
                size: size as u32,
                what: What::Read,
                strength: Strength::Weak,
                space: Space::Global,
                values: &[],
                before: &[],
            };
            let cut = Cut {
                pc: 5,
                kind: Kind::Read,
                shift,
                power,
            };
            let mut got = std::collections::BTreeSet::new();
            cut.pieces(&a, mask, 0, |p| {
                for g in (0..LINE).filter(|g| p.mask >> g & 1 == 1) {
                    let grain = p.line as u64 * u64::from(LINE) + u64::from(g);
                    let lane = p.site.lane(g) as usize;
                    assert!(mask >> lane & 1 == 1, "lane {lane} is not there");
                    let from = addrs[lane] >> shift;
                    assert!((from..from + (1 << power)).contains(&grain));
                    got.insert(grain);
                }
            });
            let want: std::collections::BTreeSet<u64> = lanes(mask)
                .flat_map(|l| (addrs[l] >> shift)..(addrs[l] >> shift) + (1 << power))
                .collect();
            assert_eq!(got, want);
        }
    }
}

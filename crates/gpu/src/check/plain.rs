//! The checker for programs that only block-wide barriers order, in lockstep: most programs. Lines of grains instead
//! of single cells; see `line` for the rules.

use crate::machine::access::lanes;
use crate::machine::program::{Kind as OpKind, Program, Scope, Strength};
use crate::machine::{Access, Shape, What};
use crate::ptx::Space;

use super::line::{Clash, Kind, LINE, MAX_PC, Me, Sheet, Site, who};
use super::log::{Actor, Log};
use super::pages::{PAGE, PageCache, Pages};
use super::race::Relation;
use super::spin::Spin;

/// Shadow of a page of global memory.
#[derive(Debug)]
pub struct Ground {
    sheet: Sheet,
    /// What was last written, once anything was.
    values: Vec<u8>,
}

pub type GroundPages = Pages<Spin<Ground>>;

impl Ground {
    fn new(grain: u32) -> Spin<Ground> {
        Spin::new(Ground {
            sheet: Sheet::new((PAGE / u64::from(grain * LINE)) as usize, false),
            values: Vec::new(),
        })
    }
}

/// Bytes of shadow for global memory.
pub fn bytes(pages: &GroundPages) -> u64 {
    pages.bytes(|p| {
        let g = p.lock();
        g.sheet.bytes() + g.values.len()
    })
}

/// Do barriers alone order what this program does? (The caller has seen that there are no fences, named barriers or
/// independent lanes.)
pub fn fits(p: &Program, threads: u32) -> bool {
    let fits = |o: &OpKind| match *o {
        OpKind::Ld {
            space,
            ty,
            n,
            strength,
            ..
        }
        | OpKind::St {
            space,
            ty,
            n,
            strength,
        } => {
            let local = matches!(space, Space::Shared | Space::Local | Space::Param);
            ty.bytes() * u32::from(n) <= p.grain * LINE && (strength == Strength::Weak || local)
        }
        OpKind::Atom {
            space, strength, ..
        } => {
            space == Space::Shared || matches!(strength, Strength::Relaxed(Scope::Gpu | Scope::Sys))
        }
        OpKind::CpAsync => 16 <= p.grain * LINE,
        _ => true,
    };
    threads <= 1024 && p.ops.len() < MAX_PC && p.ops.iter().all(|o| fits(&o.kind))
}

fn kind(what: What) -> Kind {
    match what {
        What::Read => Kind::Read,
        What::Write => Kind::Write,
        What::Atomic => Kind::Atomic,
    }
}

fn what(kind: Kind) -> What {
    match kind {
        Kind::Read => What::Read,
        Kind::Write => What::Write,
        Kind::Atomic => What::Atomic,
    }
}

/// A part of an access that lies in one line.
struct Piece {
    line: usize,
    mask: u32,
    site: Site,
}

/// How the accesses of an instruction are cut: its place, its kind, and grains by powers of two.
#[derive(Clone, Copy)]
struct Cut {
    pc: u32,
    kind: Kind,
    /// Bytes of a grain, and grains of an element.
    shift: u32,
    power: u32,
}

impl Cut {
    /// The pieces of what the lanes in `mask` access; `base` is where the lines begin.
    #[inline(always)]
    fn pieces<const W: usize>(
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

/// The part of a lane's value that lies `off` bytes into its access.
#[inline(always)]
pub fn value_at<const W: usize>(
    a: &Access<'_, W>,
    lane: usize,
    off: u32,
    grain: u32,
) -> Option<u64> {
    let n = a.values.len() as u32;
    let each = a.size.checked_div(n)?;
    let v = a.values[((off / each) as usize).min(a.values.len() - 1)][lane];
    let v = v >> ((off % each) * 8);
    Some(if grain >= 8 {
        v
    } else {
        v & ((1 << (grain * 8)) - 1)
    })
}

fn stored(m: &[u8], at: usize, grain: u32) -> Option<u64> {
    let mut b = [0u8; 8];
    let n = grain.min(8) as usize;
    b[..n].copy_from_slice(m.get(at..at + n)?);
    Some(u64::from_le_bytes(b))
}

/// A clash with what the report needs of it.
struct Found {
    clash: Clash,
    mine: Site,
    addr: u64,
    same: bool,
}

/// Watches one block.
pub struct Plain {
    grain: u32,
    shift: u32,
    sheet: Sheet,
    cache: PageCache<Spin<Ground>>,
    found: Vec<Found>,
}

impl Plain {
    pub fn new(shared_bytes: u32, grain: u32) -> Plain {
        Plain {
            grain,
            shift: grain.trailing_zeros(),
            sheet: Sheet::new(shared_bytes.div_ceil(grain * LINE) as usize, true),
            cache: PageCache::default(),
            found: Vec::new(),
        }
    }

    pub fn restart(&mut self) {
        self.sheet.clear();
    }

    pub fn shadow_bytes(&self) -> usize {
        self.sheet.bytes()
    }

    fn cut<const W: usize>(&self, a: &Access<'_, W>) -> Cut {
        Cut {
            pc: a.pc,
            kind: kind(a.what),
            shift: self.shift,
            power: (a.size >> self.shift).trailing_zeros(),
        }
    }

    /// Shared memory.
    #[inline(always)]
    pub fn shared<const W: usize>(&mut self, a: &Access<'_, W>, mask: u64, me: &Me, log: &mut Log) {
        let cut = self.cut(a);
        let mut sheet = std::mem::take(&mut self.sheet);
        cut.pieces(a, mask, 0, |p| {
            sheet.touch(p.line, p.mask, me, cut.kind, p.site, &mut |clash| {
                let addr = u64::from(p.line as u32 * LINE + clash.grain) << cut.shift;
                let old = stored(a.before, addr as usize, self.grain);
                self.clash(a, clash, p.site, addr, old);
            });
        });
        self.sheet = sheet;
        self.finish(a, mask, me, Space::Shared, log);
    }

    /// Global memory, page by page.
    #[inline(always)]
    pub fn global<const W: usize>(
        &mut self,
        a: &Access<'_, W>,
        mask: u64,
        me: &Me,
        pages: &GroundPages,
        log: &mut Log,
    ) {
        let cut = self.cut(a);
        let grain = self.grain;
        let mut cache = std::mem::take(&mut self.cache);
        let mut rest = mask;
        while rest != 0 {
            let number = a.at(rest.trailing_zeros() as usize) / PAGE;
            let here = on_page(a, rest, number);
            rest &= !here;
            let Some(page) = cache.get(pages, number, || Ground::new(grain)) else {
                break;
            };
            let mut page = page.lock();
            let Ground { sheet, values } = &mut *page;
            let base = number * PAGE;
            cut.pieces(a, here, base, |p| {
                sheet.touch(p.line, p.mask, me, cut.kind, p.site, &mut |clash| {
                    let off = u64::from(p.line as u32 * LINE + clash.grain) << cut.shift;
                    let old = stored(values, off as usize, grain);
                    self.clash(a, clash, p.site, base + off, old);
                });
            });
            if cut.kind == Kind::Write {
                keep(a, here, base, values);
            }
        }
        self.cache = cache;
        self.finish(a, mask, me, Space::Global, log);
    }

    #[cold]
    fn clash<const W: usize>(
        &mut self,
        a: &Access<'_, W>,
        clash: Clash,
        mine: Site,
        addr: u64,
        old: Option<u64>,
    ) {
        let writes = a.what == What::Write && clash.site.what() == Kind::Write;
        let lane = mine.lane(clash.grain) as usize;
        let off = addr.wrapping_sub(a.at(lane)) as u32;
        let same = writes && old.is_some() && value_at(a, lane, off, self.grain) == old;
        self.found.push(Found {
            clash,
            mine,
            addr,
            same,
        });
    }

    /// Reports what was found, and what two lanes of one write did to each other.
    #[inline(always)]
    fn finish<const W: usize>(
        &mut self,
        a: &Access<'_, W>,
        mask: u64,
        me: &Me,
        space: Space,
        log: &mut Log,
    ) {
        if !self.found.is_empty() {
            self.report(a.pc, a.what, me, space, log);
        }
        if a.what == What::Write && a.shape != Shape::Run {
            twins(a, mask, |x, y, same| {
                let (block, phase, warp) = who(me.key);
                let actor = |lane: usize| Actor {
                    block,
                    phase,
                    warp,
                    lane: lane as u32,
                    pc: a.pc,
                    what: a.what,
                };
                let pair = (actor(x), actor(y));
                log.race(
                    pair,
                    space,
                    Relation::SameInstruction,
                    same,
                    a.at(x),
                    a.size,
                );
            });
        }
    }

    #[cold]
    fn report(&mut self, pc: u32, doing: What, me: &Me, space: Space, log: &mut Log) {
        let (block, phase, warp) = who(me.key);
        for f in self.found.drain(..) {
            let (b, p, w) = who(f.clash.key);
            let earlier = Actor {
                block: b,
                phase: p,
                warp: w,
                lane: f.clash.site.lane(f.clash.grain),
                pc: f.clash.site.pc(),
                what: what(f.clash.site.what()),
            };
            let mine = Actor {
                block,
                phase,
                warp,
                lane: f.mine.lane(f.clash.grain),
                pc,
                what: doing,
            };
            let relation = if b == block {
                Relation::Warps
            } else {
                Relation::Blocks
            };
            log.race((earlier, mine), space, relation, f.same, f.addr, self.grain);
        }
    }
}

/// The lanes whose address is on a page.
#[inline(always)]
fn on_page<const W: usize>(a: &Access<'_, W>, mask: u64, number: u64) -> u64 {
    let last = 63 - mask.leading_zeros() as usize;
    if a.shape != Shape::Scattered && a.at(last) / PAGE == number {
        return mask;
    }
    let mut here = 0u64;
    for l in 0..W {
        here |= u64::from(a.at(l) / PAGE == number) << l;
    }
    here & mask
}

/// Keeps the values of a write for whoever writes next.
#[inline(always)]
fn keep<const W: usize>(a: &Access<'_, W>, mask: u64, base: u64, values: &mut Vec<u8>) {
    if values.is_empty() {
        values.resize(PAGE as usize, 0);
    }
    let (first, n) = (mask.trailing_zeros() as usize, mask.count_ones() as usize);
    let at = |l: usize| (a.at(l) - base) as usize;
    let whole = mask >> first == u64::MAX >> (64 - n);
    if let ([row], 4, Shape::Run, true) = (a.values, a.size, a.shape, whole) {
        let dst = &mut values[at(first)..at(first) + n * 4];
        for (d, v) in dst.chunks_exact_mut(4).zip(&row[first..first + n]) {
            d.copy_from_slice(&(*v as u32).to_le_bytes());
        }
        return;
    }
    let Some(each) = a.size.checked_div(a.values.len() as u32) else {
        return;
    };
    let each = each as usize;
    for l in lanes(mask) {
        let dst = &mut values[at(l)..at(l) + a.size as usize];
        for (d, row) in dst.chunks_exact_mut(each).zip(a.values) {
            d.copy_from_slice(&row[l].to_le_bytes()[..each]);
        }
    }
}

/// Algorithm 2: pairs of lanes of one write that meet at one address, each with the last lane before it.
#[inline(always)]
pub fn twins<const W: usize>(a: &Access<'_, W>, mask: u64, mut f: impl FnMut(usize, usize, bool)) {
    if mask & (mask - 1) == 0 || rising(a, mask) {
        return;
    }
    // Lane + 1 by address; as many free places as taken ones, so that searches are short.
    let mut seen = [0u8; 128];
    for l in lanes(mask) {
        let at = a.at(l);
        let mut h = ((at / u64::from(a.size)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 57) as usize;
        loop {
            match seen[h] {
                0 => break,
                k if a.at(usize::from(k) - 1) == at => {
                    let x = usize::from(k) - 1;
                    let same = !a.values.is_empty() && a.values.iter().all(|v| v[x] == v[l]);
                    f(x, l, same);
                    break;
                }
                _ => h = (h + 1) % 128,
            }
        }
        seen[h] = l as u8 + 1;
    }
}

/// Every lane is above the last: no two can meet.
fn rising<const W: usize>(a: &Access<'_, W>, mask: u64) -> bool {
    let mut next = 0u64;
    lanes(mask).all(|l| {
        let ok = a.at(l) >= next;
        next = a.at(l) + 1;
        ok
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Links;

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

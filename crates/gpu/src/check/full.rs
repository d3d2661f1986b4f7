//! The checker for programs that more than block-wide barriers order: fences, named barriers, scoped and volatile
//! accesses, independent lanes. One cell per grain; see `cell` for the rules.

use std::sync::{Arc, Mutex};

use crate::machine::access::lanes;
use crate::machine::program::{Scope, Strength};
use crate::machine::{Access, What};
use crate::ptx::Space;

use super::cell::{ATOMIC, Cell, Point, SCOPE_CTA, STRONG, UNKNOWN, both_strong};
use super::clock::Clocks;
use super::cross::{Cross, Known, Release};
use super::log::{Actor, Log};
use super::pages::{PAGE, PageCache, Pages};
use super::plain::value_at;
use super::race::Relation;

pub type CellPage = Mutex<Vec<Cell>>;

/// Bytes of shadow for global memory.
pub fn bytes(pages: &Pages<CellPage>) -> u64 {
    pages.bytes(|p| p.lock().map_or(0, |c| c.len() * size_of::<Cell>()))
}

#[derive(Clone)]
struct Fences {
    stamp: u32,
    lanes: u64,
    epochs: Arc<Vec<u32>>,
}

/// What holds for the whole launch.
#[derive(Clone, Copy)]
pub struct Ways<'a> {
    pub cross: &'a Cross,
    pub pages: &'a Pages<CellPage>,
    /// Fences or ordered accesses exist, so order beyond barriers is possible.
    pub fences: bool,
    pub independent: bool,
}

/// Watches one block.
pub struct Full<const W: usize> {
    block: u32,
    grain: u32,
    cells: Vec<Cell>,
    pub clocks: Clocks,
    cache: PageCache<CellPage>,
    cta_fence: Vec<Option<Fences>>,
    gpu_fence: Vec<Option<Fences>>,
    known: Vec<Known>,
}

impl<const W: usize> Full<W> {
    pub fn new(block: u32, warps: usize, shared_bytes: u32, grain: u32) -> Self {
        Full {
            block,
            grain,
            cells: vec![Cell::default(); shared_bytes.div_ceil(grain) as usize],
            clocks: Clocks::new(warps, W),
            cache: PageCache::default(),
            cta_fence: vec![None; warps],
            gpu_fence: vec![None; warps],
            known: vec![Known::default(); warps],
        }
    }

    /// Another block begins.
    pub fn restart(&mut self, block: u32) {
        let warps = self.known.len();
        self.block = block;
        self.cells.fill(Cell::default());
        self.clocks = Clocks::new(warps, W);
        self.cta_fence.fill(None);
        self.gpu_fence.fill(None);
        self.known.fill(Known::default());
    }

    pub fn shadow_bytes(&self) -> usize {
        self.cells.len() * size_of::<Cell>()
    }

    /// The access as cells remember it, but for the lane.
    pub fn point(&self, a: &Access<'_, W>, flags: u8) -> Point {
        Point {
            block: self.block,
            epoch: self.clocks.epoch[usize::from(a.warp)],
            pc: a.pc,
            stamp: a.stamp as u32,
            time: self.clocks.lane_time(a.warp),
            warp: a.warp,
            lane: 0,
            flags: if a.values.is_empty() {
                flags | UNKNOWN
            } else {
                flags
            },
        }
    }

    /// None if the earlier access `p` is ordered before `me`; else how the two stand to each other.
    #[inline(always)]
    fn unordered(&self, ways: Ways<'_>, p: &Point, me: &Point) -> Option<Relation> {
        if p.epoch == 0 {
            return None;
        }
        let relation = if p.block != me.block {
            Relation::Blocks
        } else if p.warp != me.warp {
            if self.clocks.covers(me.warp, p.warp, p.epoch) {
                return None;
            }
            Relation::Warps
        } else {
            if p.lane == me.lane {
                return None;
            }
            if p.stamp == me.stamp {
                return Some(Relation::SameInstruction);
            }
            if !ways.independent
                || p.epoch < me.epoch
                || self.clocks.lane_covers(me.warp, me.lane, p.lane, p.time)
            {
                return None;
            }
            Relation::SameWarp
        };
        if ways.fences && ways.cross.covers(&self.known[usize::from(me.warp)], p) {
            return None;
        }
        Some(relation)
    }

    /// Checks one access against a cell and leaves its own mark.
    #[allow(clippy::too_many_arguments)]
    #[inline(always)]
    fn touch(
        &self,
        ways: Ways<'_>,
        log: &mut Log,
        c: &mut Cell,
        me: Point,
        what: What,
        value: u64,
        addr: u64,
        space: Space,
    ) {
        let mut report = |p: &Point, earlier: What, rel: Relation, same: bool| {
            let pair = (actor(p, earlier), actor(&me, what));
            log.race(pair, space, rel, same, addr, self.grain);
        };
        if let Some(rel) = self.unordered(ways, &c.w, &me)
            && !both_strong(&c.w, &me)
        {
            let earlier = if c.w.flags & ATOMIC != 0 {
                What::Atomic
            } else {
                What::Write
            };
            let known = (c.w.flags | me.flags) & UNKNOWN == 0;
            let same = known && earlier == What::Write && what == What::Write && c.value == value;
            report(&c.w, earlier, rel, same);
        }
        if what == What::Read {
            self.read_mark(ways, c, me);
            return;
        }
        for k in 0..2 {
            let mut r = if k == 0 { c.r } else { c.r2 };
            if r.epoch == 0 || both_strong(&r, &me) {
                continue;
            }
            if k == 0 && r.block == me.block && r.warp == me.warp && ways.independent {
                // any other lane that read
                let others = c.readers & !(1 << me.lane);
                if others == 0 {
                    continue;
                }
                r.lane = others.trailing_zeros() as u8;
            }
            if let Some(rel) = self.unordered(ways, &r, &me)
                && rel != Relation::SameInstruction
            {
                report(&r, What::Read, rel, false);
            }
        }
        // A plain write stays visible behind an atomic of the same warp and epoch.
        let keeps = what == What::Atomic
            && c.w.epoch == me.epoch
            && c.w.block == me.block
            && c.w.warp == me.warp
            && c.w.flags & STRONG == 0;
        if !keeps {
            c.w = me;
            c.value = value;
        }
    }

    #[inline(always)]
    fn read_mark(&self, ways: Ways<'_>, c: &mut Cell, me: Point) {
        let same = |p: &Point| p.block == me.block && p.warp == me.warp;
        if same(&c.r) {
            if c.r.epoch == me.epoch && c.r.time == me.time {
                c.readers |= 1 << me.lane;
                if c.r.flags & STRONG == 0 {
                    return;
                }
            } else {
                c.readers = 1 << me.lane;
            }
            c.r = me;
        } else if c.r.epoch == 0 {
            c.r = me;
            c.readers = 1 << me.lane;
        } else if same(&c.r2) || c.r2.epoch == 0 {
            if self.unordered(ways, &c.r, &me).is_none() {
                // the first reader is history for everybody who comes after me
                c.r = me;
                c.readers = 1 << me.lane;
                c.r2 = Point::default();
            } else {
                c.r2 = me;
            }
        } else if self.unordered(ways, &c.r, &me).is_none() {
            c.r = me;
            c.readers = 1 << me.lane;
        } else if self.unordered(ways, &c.r2, &me).is_none()
            || (c.r.block == c.r2.block && c.r.block != me.block)
        {
            // Readers of two blocks are met by every writer that must meet one.
            c.r2 = me;
        }
    }

    /// One lane's access of the cells that begin at `first`.
    #[allow(clippy::too_many_arguments)]
    #[inline(always)]
    fn lane(
        &self,
        ways: Ways<'_>,
        log: &mut Log,
        cells: &mut [Cell],
        first: usize,
        a: &Access<'_, W>,
        me: Point,
        l: usize,
    ) {
        let p = Point {
            lane: l as u8,
            ..me
        };
        for k in 0..(a.size / self.grain).max(1) {
            if let Some(c) = cells.get_mut(first + k as usize) {
                let off = k * self.grain;
                let value = value_at(a, l, off, self.grain).unwrap_or(0);
                let addr = a.at(l) + u64::from(off);
                self.touch(ways, log, c, p, a.what, value, addr, a.space);
            }
        }
    }

    pub fn shared(
        &mut self,
        ways: Ways<'_>,
        log: &mut Log,
        a: &Access<'_, W>,
        me: Point,
        mask: u64,
    ) {
        let mut cells = std::mem::take(&mut self.cells);
        for l in lanes(mask) {
            let first = (a.at(l) / u64::from(self.grain)) as usize;
            self.lane(ways, log, &mut cells, first, a, me, l);
        }
        self.cells = cells;
    }

    pub fn global(
        &mut self,
        ways: Ways<'_>,
        log: &mut Log,
        a: &Access<'_, W>,
        me: Point,
        mask: u64,
    ) {
        let mut cache = std::mem::take(&mut self.cache);
        let grain = u64::from(self.grain);
        let make = || Mutex::new(vec![Cell::default(); (PAGE / grain) as usize]);
        let mut rest = mask;
        while rest != 0 {
            let number = a.at(rest.trailing_zeros() as usize) / PAGE;
            let Some(page) = cache.get(ways.pages, number, make) else {
                break;
            };
            let Ok(mut cells) = page.lock() else { break };
            for l in lanes(rest).filter(|l| a.at(*l) / PAGE == number) {
                rest &= !(1 << l);
                let first = ((a.at(l) % PAGE) / grain) as usize;
                self.lane(ways, log, &mut cells, first, a, me, l);
            }
        }
        self.cache = cache;
    }

    fn location(&self, space: Space, addr: u64) -> u64 {
        // Shared memory of different blocks is different memory.
        if space == Space::Shared {
            (1 << 63) | u64::from(self.block) << 24 | addr
        } else {
            addr
        }
    }

    /// A strong access of a program with fences: a write releases, a read acquires.
    pub fn strong(&mut self, cross: &Cross, a: &Access<'_, W>, me: &Point) {
        if a.what == What::Read {
            let locs: Vec<u64> = lanes(a.mask)
                .map(|l| self.location(a.space, a.at(l)))
                .collect();
            self.acquire(cross, a.warp, &locs);
        } else {
            self.release(cross, a, me);
        }
    }

    /// A strong write after a fence, or a releasing one, publishes what the warp did and knew.
    fn release(&mut self, cross: &Cross, a: &Access<'_, W>, me: &Point) {
        let w = usize::from(a.warp);
        let f = match a.strength {
            Strength::Release(_) | Strength::AcqRel(_) => Some(Fences {
                stamp: me.stamp,
                lanes: a.mask,
                epochs: Arc::new(self.clocks.row(a.warp).to_vec()),
            }),
            _ if me.flags & SCOPE_CTA != 0 || a.space == Space::Shared => self.cta_fence[w].clone(),
            _ => self.gpu_fence[w].clone(),
        };
        let Some(f) = f else { return };
        for l in lanes(a.mask & f.lanes) {
            let loc = self.location(a.space, a.at(l));
            cross.release(
                loc,
                Release {
                    block: self.block,
                    warp: a.warp,
                    lanes: f.lanes,
                    stamp: f.stamp,
                    epochs: Arc::clone(&f.epochs),
                    known: Arc::clone(&self.known[w]),
                },
            );
        }
    }

    fn acquire(&mut self, cross: &Cross, warp: u16, locs: &[u64]) {
        let w = usize::from(warp);
        for &loc in locs {
            let n = cross.seen(loc);
            if n > self.known[w].get(&loc).copied().unwrap_or(0) {
                Arc::make_mut(&mut self.known[w]).insert(loc, n);
            }
        }
    }

    /// The atomic that was announced has happened.
    pub fn acquired(&mut self, cross: &Cross, warp: u16, mask: u64, addrs: &[u64; W]) {
        let locs: Vec<u64> = lanes(mask)
            .map(|l| {
                let shared = addrs[l] >> 56 == 1;
                self.location(
                    if shared { Space::Shared } else { Space::Global },
                    addrs[l] & 0xff_ffff_ffff_ffff,
                )
            })
            .collect();
        self.acquire(cross, warp, &locs);
    }

    pub fn fence(&mut self, warp: u16, stamp: u64, mask: u64, scope: Scope) {
        let w = usize::from(warp);
        let f = Fences {
            stamp: stamp as u32,
            lanes: mask,
            epochs: Arc::new(self.clocks.row(warp).to_vec()),
        };
        if scope != Scope::Cta {
            self.gpu_fence[w] = Some(f.clone());
        }
        self.cta_fence[w] = Some(f);
    }

    pub fn barrier(&mut self, waited: &[u16], arrived: &[u16], fences: bool) {
        self.clocks.barrier(waited, arrived);
        if !fences {
            return;
        }
        let mut all = Known::default();
        for &w in waited.iter().chain(arrived) {
            let k = &self.known[usize::from(w)];
            if k.is_empty() || Arc::ptr_eq(k, &all) {
                continue;
            }
            let m = Arc::make_mut(&mut all);
            for (loc, n) in k.iter() {
                let e = m.entry(*loc).or_insert(0);
                *e = (*e).max(*n);
            }
        }
        for &w in waited {
            self.known[usize::from(w)] = Arc::clone(&all);
        }
    }
}

fn actor(p: &Point, what: What) -> Actor {
    Actor {
        block: p.block,
        phase: p.epoch - 1,
        warp: p.warp,
        lane: u32::from(p.lane),
        pc: p.pc,
        what,
    }
}

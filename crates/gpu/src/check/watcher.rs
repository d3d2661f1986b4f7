//! The dynamic checker: one watcher per block, told every access and barrier by the machine.
//!
//! Both warp models: in lockstep, lanes of a warp race only within one instruction; with independent scheduling, any
//! two lanes that no `bar.warp.sync` orders may.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use crate::machine::access::lanes;
use crate::machine::program::{Scope, Strength};
use crate::machine::{Access, Observer, What};
use crate::ptx::Space;

use super::cell::{Cell, Point, both_strong, flags};
use super::clock::Clocks;
use super::cross::{Cross, Known, Release};
use super::pages::{PAGE, PageCache, Pages};
use super::race::{Races, Relation, Side};
use super::stmt::Table;
use super::{Monitor, Options, Scheme};

/// What the watchers of a launch share.
pub struct Shared {
    pub options: Options,
    pub pages: Pages,
    pub cross: Cross,
    /// The program has fences or ordered accesses, so order beyond barriers is possible.
    pub fences: bool,
    /// It has barriers of a part of the block: phases are not block-wide, the table cannot tell order.
    pub named: bool,
    pub plan: Vec<Monitor>,
    pub threads: u32,
    pub results: Mutex<Races>,
    /// Accesses the checker looked at, and those the static analyzer spared it.
    pub checked: AtomicU64,
    pub spared: AtomicU64,
    pub lost: AtomicU64,
    pub stmt_peak: AtomicU64,
    pub shadow_bytes: AtomicU64,
}

#[derive(Clone)]
struct Fences {
    stamp: u32,
    lanes: u64,
    epochs: Arc<Vec<u32>>,
}

/// Watches one block.
pub struct Watcher<const W: usize> {
    s: Arc<Shared>,
    block: u32,
    grain: u32,
    cells: Vec<Cell>,
    clocks: Clocks,
    table: Table,
    races: Races,
    /// Grains found racing in this phase, for the statement table.
    racy: Vec<u32>,
    phase: u32,
    cache: PageCache,
    cta_fence: Vec<Option<Fences>>,
    gpu_fence: Vec<Option<Fences>>,
    known: Vec<Known>,
    /// Loop-invariant sites already recorded by a warp in its epoch.
    once: std::collections::HashMap<(u32, u16), (u32, u64)>,
    checked: u64,
    spared: u64,
}

impl<const W: usize> Watcher<W> {
    pub fn new(s: Arc<Shared>, block: u32, shared_bytes: u32, grain: u32) -> Self {
        let warps = s.threads.div_ceil(W as u32) as usize;
        let cells = if s.options.scheme == Scheme::Stmt {
            0
        } else {
            shared_bytes.div_ceil(grain) as usize
        };
        Watcher {
            block,
            grain,
            cells: vec![Cell::default(); cells],
            clocks: Clocks::new(warps, W),
            table: Table::default(),
            races: Races::default(),
            racy: Vec::new(),
            phase: 0,
            cache: PageCache::default(),
            cta_fence: vec![None; warps],
            gpu_fence: vec![None; warps],
            known: vec![Known::default(); warps],
            once: Default::default(),
            checked: 0,
            spared: 0,
            s,
        }
    }

    fn side(&self, p: &Point, what: What) -> Side {
        Side {
            pc: p.pc,
            what,
            block: p.block,
            thread: u32::from(p.warp) * W as u32 + u32::from(p.lane),
            phase: p.epoch - 1,
        }
    }

    /// None if the earlier access `p` is ordered before `me`; else how the two stand to each other.
    #[inline(always)]
    fn unordered(&self, p: &Point, me: &Point) -> Option<Relation> {
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
            if !self.s.options.independent
                || p.epoch < me.epoch
                || self.clocks.lane_covers(me.warp, me.lane, p.lane, p.time)
            {
                return None;
            }
            Relation::SameWarp
        };
        if self.s.fences && self.s.cross.covers(&self.known[usize::from(me.warp)], p) {
            return None;
        }
        Some(relation)
    }

    /// Checks one access against a cell and leaves its own mark.
    #[allow(clippy::too_many_arguments)]
    #[inline(always)]
    fn touch(
        &mut self,
        c: &mut Cell,
        me: Point,
        what: What,
        value: u64,
        addr: u64,
        size: u32,
        space: Space,
    ) {
        let mut found = false;
        if let Some(rel) = self.unordered(&c.w, &me)
            && !both_strong(&c.w, &me)
        {
            let earlier = if c.w.flags & super::cell::ATOMIC != 0 {
                What::Atomic
            } else {
                What::Write
            };
            let same = earlier == What::Write && what == What::Write && c.value == value;
            found |= self.report(&c.w, earlier, &me, what, rel, same, addr, size, space);
        }
        if what == What::Read {
            self.read_mark(c, me);
        } else {
            for k in 0..2 {
                let mut r = if k == 0 { c.r } else { c.r2 };
                if r.epoch == 0 || both_strong(&r, &me) {
                    continue;
                }
                if k == 0 && r.block == me.block && r.warp == me.warp && self.s.options.independent
                {
                    // any other lane that read
                    let others = c.readers & !(1 << me.lane);
                    if others == 0 {
                        continue;
                    }
                    r.lane = others.trailing_zeros() as u8;
                }
                if let Some(rel) = self.unordered(&r, &me)
                    && rel != Relation::SameInstruction
                {
                    found |= self.report(&r, What::Read, &me, what, rel, false, addr, size, space);
                }
            }
            // A plain write stays visible behind an atomic of the same warp and epoch.
            let keeps = what == What::Atomic
                && c.w.epoch == me.epoch
                && c.w.block == me.block
                && c.w.warp == me.warp
                && c.w.flags & super::cell::STRONG == 0;
            if !keeps {
                c.w = me;
                c.value = value;
            }
        }
        if found && space == Space::Shared {
            self.racy.push((addr / u64::from(self.grain)) as u32);
        }
    }

    /// A read of shared memory in lockstep that finds nothing and changes nothing: the usual case.
    #[inline(always)]
    fn quiet_read(&self, c: &Cell, me: &Point) -> bool {
        let known = self.clocks.row(me.warp);
        let old = |p: &Point| p.epoch == 0 || known[usize::from(p.warp)] > p.epoch;
        if c.w.warp != me.warp && !old(&c.w) {
            return false;
        }
        let mine = |p: &Point| p.warp == me.warp && p.epoch == me.epoch;
        mine(&c.r) || mine(&c.r2) || (!old(&c.r) && !old(&c.r2))
    }

    #[inline(always)]
    fn read_mark(&mut self, c: &mut Cell, me: Point) {
        let same = |p: &Point| p.block == me.block && p.warp == me.warp;
        if same(&c.r) {
            if c.r.epoch == me.epoch && c.r.time == me.time {
                c.readers |= 1 << me.lane;
                if c.r.flags & super::cell::STRONG == 0 {
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
            if self.unordered(&c.r, &me).is_none() {
                // the first reader is history for everybody who comes after me
                c.r = me;
                c.readers = 1 << me.lane;
                c.r2 = Point::default();
            } else {
                c.r2 = me;
            }
        } else if self.unordered(&c.r, &me).is_none() {
            c.r = me;
            c.readers = 1 << me.lane;
        } else if self.unordered(&c.r2, &me).is_none() {
            c.r2 = me;
        }
    }

    #[cold]
    #[allow(clippy::too_many_arguments)]
    fn report(
        &mut self,
        p: &Point,
        earlier: What,
        me: &Point,
        what: What,
        rel: Relation,
        same: bool,
        addr: u64,
        size: u32,
        space: Space,
    ) -> bool {
        // With the statement table, pairs of warps in shared memory are explained there.
        let explained = self.s.options.scheme == Scheme::Both
            && space == Space::Shared
            && rel == Relation::Warps
            && !self.s.named
            && !self.s.fences
            && self.table.lost == 0;
        if !explained {
            let (a, b) = (self.side(p, earlier), self.side(me, what));
            self.races
                .add(a, b, W as u32, space, rel, same, addr, size, 1);
        }
        true
    }

    fn point(&self, a: &Access<'_, W>, flags: u8) -> Point {
        Point {
            block: self.block,
            epoch: self.clocks.epoch[usize::from(a.warp)],
            pc: a.pc,
            stamp: a.stamp as u32,
            time: self.clocks.lane_time(a.warp),
            warp: a.warp,
            lane: 0,
            flags,
        }
    }

    fn shared_access(&mut self, a: &Access<'_, W>, me: Point, mask: u64) {
        let scheme = self.s.options.scheme;
        if scheme != Scheme::Addr {
            let strong = me.flags & super::cell::STRONG != 0;
            self.table.push(
                a.pc,
                a.warp,
                a.what,
                strong,
                a.size,
                mask,
                a.addrs,
                a.values.first(),
            );
        }
        if scheme == Scheme::Stmt {
            if a.what == What::Write {
                self.within_instruction(a, me, mask);
            }
            return;
        }
        let g = u64::from(self.grain);
        let mut cells = std::mem::take(&mut self.cells);
        let quick = a.what == What::Read
            && !self.s.options.independent
            && !self.s.fences
            && a.size == self.grain;
        let shift = self.grain.trailing_zeros();
        for l in lanes(mask) {
            let mut p = me;
            p.lane = l as u8;
            let addr = a.addrs[l];
            let first = (addr >> shift) as usize;
            if quick && cells.get(first).is_some_and(|c| self.quiet_read(c, &p)) {
                continue;
            }
            let count = (a.size >> shift).max(1) as usize;
            for k in 0..count {
                if let Some(c) = cells.get_mut(first + k) {
                    let value = value_at(a, l, k as u32 * self.grain, self.grain);
                    self.touch(
                        c,
                        p,
                        a.what,
                        value,
                        addr + k as u64 * g,
                        self.grain,
                        Space::Shared,
                    );
                }
            }
        }
        self.cells = cells;
    }

    /// Algorithm 2 without a shadow: two lanes of one write at the same address.
    fn within_instruction(&mut self, a: &Access<'_, W>, me: Point, mask: u64) {
        let mut last: Option<u64> = None;
        let rising = lanes(mask).all(|l| {
            let ok = last.is_none_or(|x| a.addrs[l] > x);
            last = Some(a.addrs[l]);
            ok
        });
        if rising {
            return;
        }
        for x in lanes(mask) {
            for y in lanes(mask & !((2u64 << x) - 1)) {
                if a.addrs[x] == a.addrs[y] {
                    let same = a.values.iter().all(|v| v[x] == v[y]);
                    let (mut p, mut q) = (me, me);
                    (p.lane, q.lane) = (x as u8, y as u8);
                    let (s, t) = (self.side(&p, a.what), self.side(&q, a.what));
                    self.races.add(
                        s,
                        t,
                        W as u32,
                        Space::Shared,
                        Relation::SameInstruction,
                        same,
                        a.addrs[x],
                        a.size,
                        1,
                    );
                }
            }
        }
    }

    fn global_access(&mut self, a: &Access<'_, W>, me: Point, mask: u64) {
        let s = Arc::clone(&self.s);
        let g = u64::from(self.grain);
        let mut cache = std::mem::take(&mut self.cache);
        let mut rest = mask;
        while rest != 0 {
            let number = a.addrs[rest.trailing_zeros() as usize] / PAGE;
            let Some(page) = cache.get(&s.pages, number) else {
                break;
            };
            let Ok(mut cells) = page.lock() else { break };
            for l in lanes(rest) {
                let addr = a.addrs[l];
                if addr / PAGE != number {
                    continue;
                }
                rest &= !(1 << l);
                let mut p = me;
                p.lane = l as u8;
                let first = ((addr % PAGE) / g) as usize;
                let count = (a.size / self.grain).max(1) as usize;
                for k in 0..count {
                    if let Some(c) = cells.get_mut(first + k) {
                        let value = value_at(a, l, k as u32 * self.grain, self.grain);
                        self.touch(
                            c,
                            p,
                            a.what,
                            value,
                            addr + k as u64 * g,
                            self.grain,
                            Space::Global,
                        );
                    }
                }
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

    /// A strong write after a fence, or a releasing one, publishes what the warp did and knew.
    fn release(&mut self, a: &Access<'_, W>, me: &Point) {
        let w = usize::from(a.warp);
        let f = match a.strength {
            Strength::Release(_) | Strength::AcqRel(_) => Some(Fences {
                stamp: me.stamp,
                lanes: a.mask,
                epochs: Arc::new(self.clocks.row(a.warp).to_vec()),
            }),
            _ if me.flags & super::cell::SCOPE_CTA != 0 || a.space == Space::Shared => {
                self.cta_fence[w].clone()
            }
            _ => self.gpu_fence[w].clone(),
        };
        let Some(f) = f else { return };
        for l in lanes(a.mask & f.lanes) {
            let loc = self.location(a.space, a.addrs[l]);
            self.s.cross.release(
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

    fn acquire(&mut self, warp: u16, locs: impl Iterator<Item = u64>) {
        let w = usize::from(warp);
        for loc in locs {
            let n = self.s.cross.seen(loc);
            if n > self.known[w].get(&loc).copied().unwrap_or(0) {
                Arc::make_mut(&mut self.known[w]).insert(loc, n);
            }
        }
    }

    fn end_phase(&mut self) {
        let only = match self.s.options.scheme {
            Scheme::Addr | Scheme::Off => return,
            Scheme::Stmt => None,
            Scheme::Both => Some(()),
        };
        if only.is_none() || (!self.racy.is_empty() && !self.s.named && !self.s.fences) {
            self.racy.sort_unstable();
            self.racy.dedup();
            let mut races = std::mem::take(&mut self.races);
            let list = only.map(|()| self.racy.as_slice());
            self.table.compare(
                &mut races, self.block, self.phase, W as u32, self.grain, list,
            );
            self.races = races;
        }
        self.racy.clear();
        self.table.clear();
    }
}

/// The part of a lane's value that lies `off` bytes into its access.
#[inline(always)]
fn value_at<const W: usize>(a: &Access<'_, W>, lane: usize, off: u32, grain: u32) -> u64 {
    if a.values.is_empty() {
        return 0;
    }
    let each = a.size / a.values.len() as u32;
    let v = a.values[((off / each) as usize).min(a.values.len() - 1)][lane];
    let v = v >> ((off % each) * 8);
    if grain >= 8 {
        v
    } else {
        v & ((1 << (grain * 8)) - 1)
    }
}

impl<const W: usize> Observer<W> for Watcher<W> {
    const ON: bool = true;

    fn access(&mut self, a: &Access<'_, W>) {
        let shared = a.space == Space::Shared;
        let f = flags(a.what, a.strength, shared);
        let me = self.point(a, f);
        if self.s.fences && f & super::cell::STRONG != 0 {
            if a.what == What::Read {
                let locs: Vec<u64> = lanes(a.mask)
                    .map(|l| self.location(a.space, a.addrs[l]))
                    .collect();
                self.acquire(a.warp, locs.into_iter());
            } else {
                self.release(a, &me);
            }
        }
        let mut mask = a.mask;
        match self.s.plan.get(a.pc as usize) {
            Some(Monitor::Never) => {
                self.spared += u64::from(mask.count_ones());
                return;
            }
            Some(&Monitor::Reduced {
                one_lane,
                once_per_phase,
            }) => {
                if once_per_phase {
                    let key = (me.epoch, mask);
                    let old = self.once.insert((a.pc, a.warp), key);
                    if old == Some(key) {
                        self.spared += u64::from(mask.count_ones());
                        return;
                    }
                }
                if one_lane {
                    self.spared += u64::from(mask.count_ones()) - 1;
                    mask &= mask.wrapping_neg();
                }
            }
            Some(Monitor::Always) | None => {}
        }
        self.checked += u64::from(mask.count_ones());
        if shared {
            self.shared_access(a, me, mask);
        } else {
            self.global_access(a, me, mask);
        }
    }

    fn barrier(&mut self, waited: &[u16], arrived: &[u16]) {
        let everybody = waited.len() + arrived.len() == self.clocks.epoch.len();
        self.clocks.barrier(waited, arrived);
        if self.s.fences {
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
        if everybody {
            self.end_phase();
            self.phase += 1;
        }
    }

    fn warp_sync(&mut self, warp: u16, active: u64, members: u64, _live: u64) {
        // Lanes that have ended take no part: what they did stays unordered.
        let count = self.s.threads - u32::from(warp) * W as u32;
        let all = if count >= W as u32 {
            u64::MAX >> (64 - W)
        } else {
            (1 << count) - 1
        };
        self.clocks.warp_sync(warp, active, members, all);
    }

    fn fence(&mut self, warp: u16, stamp: u64, mask: u64, scope: Scope) {
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

    fn acquired(&mut self, warp: u16, mask: u64, addrs: &[u64; W]) {
        if !self.s.fences {
            return;
        }
        let locs: Vec<u64> = lanes(mask)
            .map(|l| {
                let shared = addrs[l] >> 56 == 1;
                self.location(
                    if shared { Space::Shared } else { Space::Global },
                    addrs[l] & 0xff_ffff_ffff_ffff,
                )
            })
            .collect();
        self.acquire(warp, locs.into_iter());
    }

    fn finish(&mut self) {
        self.end_phase();
        let s = &self.s;
        s.checked.fetch_add(self.checked, Ordering::Relaxed);
        s.spared.fetch_add(self.spared, Ordering::Relaxed);
        s.lost.fetch_add(self.table.lost, Ordering::Relaxed);
        s.stmt_peak
            .fetch_max(self.table.peak as u64, Ordering::Relaxed);
        s.shadow_bytes.fetch_max(
            (self.cells.len() * size_of::<Cell>()) as u64,
            Ordering::Relaxed,
        );
        if !self.races.is_empty()
            && let Ok(mut r) = s.results.lock()
        {
            r.merge(std::mem::take(&mut self.races));
        }
    }
}

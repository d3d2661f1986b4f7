//! The dynamic checker: one watcher per core, told every access and barrier of a block by the machine.
//!
//! What barriers alone order is checked by `plain`, everything else by `full`. Both warp models: in lockstep, lanes
//! of a warp race only within one instruction; with independent scheduling, any two lanes that no `bar.warp.sync`
//! orders may.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use crate::machine::program::{Pc, Scope};
use crate::machine::{Access, Observer, Shape, What};
use crate::ptx::Space;

use super::cell::{STRONG, flags};
use super::cross::Cross;
use super::full::{CellPage, Full, Ways};
use super::line::{MAX_PHASES, Me};
use super::log::{Actor, Log};
use super::pages::Pages;
use super::plain::{GroundPages, Plain, twins};
use super::race::{Races, Relation};
use super::script::Scripts;
use super::{Monitor, Options, Scheme};

/// What the watchers of a launch share.
#[derive(Default)]
pub struct Shared {
    pub options: Options,
    /// One core does all the work, so nothing need be locked.
    pub alone: bool,
    /// Barriers alone order what the program does.
    pub plain: bool,
    pub ground: GroundPages,
    pub pages: Pages<CellPage>,
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

enum Shadow<const W: usize> {
    Plain(Box<Plain>),
    Full(Box<Full<W>>),
}

/// Watches one block after the other.
pub struct Watcher<const W: usize> {
    s: Arc<Shared>,
    block: u32,
    shadow: Shadow<W>,
    log: Log,
    phase: u32,
    warps: usize,
    spare: Spare,
    checked: u64,
    lost: u64,
}

/// What the static analyzer spares.
struct Spare {
    warps: usize,
    /// For each instruction and warp: phase + 1 and lanes of the last record of a loop-invariant access.
    once: Vec<(u32, u64)>,
    scripts: Scripts,
    spared: u64,
}

impl Spare {
    /// Was this loop-invariant access recorded in this phase already?
    fn again(&mut self, s: &Shared, phase: u32, pc: Pc, warp: u16, mask: u64) -> bool {
        if self.once.is_empty() {
            self.once = vec![(0, 0); s.plan.len() * self.warps];
        }
        let now = (phase + 1, mask);
        let k = pc as usize * self.warps + usize::from(warp);
        std::mem::replace(&mut self.once[k], now) == now
    }

    /// The lanes whose access is to be recorded.
    #[inline(always)]
    fn recorded<const W: usize>(&mut self, s: &Shared, phase: u32, a: &Access<'_, W>) -> u64 {
        let mut mask = a.mask;
        let count = || u64::from(a.mask.count_ones());
        match s.plan.get(a.pc as usize) {
            Some(Monitor::Never) => {
                self.spared += count();
                return 0;
            }
            Some(&Monitor::Reduced {
                one_lane,
                once_per_phase,
            }) => {
                let count = count();
                if once_per_phase && self.again(s, phase, a.pc, a.warp, mask) {
                    self.spared += count;
                    return 0;
                }
                if one_lane {
                    let at = a.at(mask.trailing_zeros() as usize);
                    let alike = a.what == What::Read && (a.shape == Shape::Point || count == 1);
                    if s.plain && alike && !self.scripts.new_to(a.pc, phase, a.warp, at) {
                        self.spared += count;
                        return 0;
                    }
                    self.spared += count - 1;
                    mask &= mask.wrapping_neg();
                }
            }
            Some(Monitor::Always) | None => {}
        }
        mask
    }
}

impl<const W: usize> Watcher<W> {
    pub fn new(s: Arc<Shared>, block: u32, shared_bytes: u32, grain: u32) -> Self {
        let warps = s.threads.div_ceil(W as u32) as usize;
        let shared = if s.options.scheme == Scheme::Stmt {
            0
        } else {
            shared_bytes
        };
        Watcher {
            block,
            shadow: if s.plain {
                Shadow::Plain(Box::new(Plain::new(shared, grain)))
            } else {
                Shadow::Full(Box::new(Full::new(block, warps, shared, grain)))
            },
            log: Log::new(s.options.scheme, !s.named && !s.fences, W as u32, grain),
            phase: 0,
            warps,
            spare: Spare {
                warps,
                once: Vec::new(),
                scripts: Scripts::new(if s.plain { s.plan.len() } else { 0 }, warps),
                spared: 0,
            },
            checked: 0,
            lost: 0,
            s,
        }
    }

    /// Algorithm 2 without a shadow.
    fn within_instruction(&mut self, a: &Access<'_, W>, mask: u64) {
        let (block, phase) = (self.block, self.phase);
        let log = &mut self.log;
        twins(a, mask, |x, y, same| {
            let actor = |lane: usize| Actor {
                block,
                phase,
                warp: a.warp,
                lane: lane as u32,
                pc: a.pc,
                what: a.what,
            };
            let pair = (actor(x), actor(y));
            log.race(
                pair,
                a.space,
                Relation::SameInstruction,
                same,
                a.at(x),
                a.size,
            );
        });
    }
}

impl<const W: usize> Observer<W> for Watcher<W> {
    const ON: bool = true;

    fn restart(&mut self, block: u32) {
        self.block = block;
        self.phase = 0;
        self.spare.once.fill((0, 0));
        self.spare.scripts.clear();
        match &mut self.shadow {
            Shadow::Plain(p) => p.restart(),
            Shadow::Full(f) => f.restart(block),
        }
    }

    #[inline(always)]
    fn wants(&mut self, pc: Pc, mask: u64) -> bool {
        // With fences, what is not recorded may still release or acquire.
        if !self.s.fences && self.s.plan.get(pc as usize) == Some(&Monitor::Never) {
            self.spare.spared += u64::from(mask.count_ones());
            return false;
        }
        true
    }

    #[inline]
    fn access(&mut self, a: &Access<'_, W>) {
        let shared = a.space == Space::Shared;
        let f = flags(a.what, a.strength, shared);
        // Not a clone of the `Arc`: its count would travel between the cores with every access.
        let s: &Shared = &self.s;
        let strong = f & STRONG != 0;
        if s.fences
            && strong
            && let Shadow::Full(full) = &mut self.shadow
        {
            let me = full.point(a, f);
            full.strong(&s.cross, a, &me);
        }
        let mask = self.spare.recorded(s, self.phase, a);
        if mask == 0 {
            return;
        }
        // Counting bits takes a dozen instructions where the processor is not asked what it can do.
        self.checked += if mask == u64::MAX >> (64 - W) {
            W as u64
        } else {
            u64::from(mask.count_ones())
        };
        let scheme = s.options.scheme;
        if shared && scheme != Scheme::Addr {
            self.log.table.push(a, mask, strong);
            if scheme == Scheme::Stmt {
                if a.what == What::Write {
                    self.within_instruction(a, mask);
                }
                return;
            }
        }
        match &mut self.shadow {
            Shadow::Plain(p) => {
                if self.phase >= MAX_PHASES {
                    self.lost += 1;
                    return;
                }
                let me = Me::new(self.block, self.phase, a.warp);
                if shared {
                    p.shared(a, mask, &me, &mut self.log);
                } else {
                    p.global(a, mask, &me, (&s.ground, s.alone), &mut self.log);
                }
            }
            Shadow::Full(full) => {
                let me = full.point(a, f);
                let ways = Ways {
                    cross: &s.cross,
                    pages: &s.pages,
                    fences: s.fences,
                    independent: s.options.independent,
                };
                if shared {
                    full.shared(ways, &mut self.log, a, me, mask);
                } else {
                    full.global(ways, &mut self.log, a, me, mask);
                }
            }
        }
    }

    fn barrier(&mut self, waited: &[u16], arrived: &[u16]) {
        let everybody = waited.len() + arrived.len() == self.warps;
        if let Shadow::Full(full) = &mut self.shadow {
            full.barrier(waited, arrived, self.s.fences);
        }
        if everybody {
            self.log.end_phase(self.block, self.phase);
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
        if let Shadow::Full(full) = &mut self.shadow {
            full.clocks.warp_sync(warp, active, members, all);
        }
    }

    fn fence(&mut self, warp: u16, stamp: u64, mask: u64, scope: Scope) {
        if let Shadow::Full(full) = &mut self.shadow {
            full.fence(warp, stamp, mask, scope);
        }
    }

    fn acquired(&mut self, warp: u16, mask: u64, addrs: &[u64; W]) {
        if self.s.fences
            && let Shadow::Full(full) = &mut self.shadow
        {
            full.acquired(&self.s.cross, warp, mask, addrs);
        }
    }

    fn in_flight(&mut self, copy: (Pc, u32), by: (Pc, u32, What), at: u64) {
        let actor = |pc: Pc, thread: u32, what: What| Actor {
            block: self.block,
            phase: self.phase,
            warp: (thread / W as u32) as u16,
            lane: thread % W as u32,
            pc,
            what,
        };
        let pair = (actor(copy.0, copy.1, What::Write), actor(by.0, by.1, by.2));
        let (shared, rel) = (Space::Shared, Relation::AsyncCopy);
        self.log.race(pair, shared, rel, false, at, 4);
    }

    fn finish(&mut self) {
        self.log.end_phase(self.block, self.phase);
        let s = &self.s;
        let add = |to: &AtomicU64, n: &mut u64| {
            to.fetch_add(std::mem::take(n), Ordering::Relaxed);
        };
        add(&s.checked, &mut self.checked);
        add(&s.spared, &mut self.spare.spared);
        add(&s.lost, &mut self.lost);
        add(&s.lost, &mut self.log.table.lost);
        s.stmt_peak
            .fetch_max(self.log.table.peak as u64, Ordering::Relaxed);
        let bytes = match &self.shadow {
            Shadow::Plain(p) => p.shadow_bytes(),
            Shadow::Full(f) => f.shadow_bytes(),
        };
        s.shadow_bytes.fetch_max(bytes as u64, Ordering::Relaxed);
        if !self.log.races.is_empty()
            && let Ok(mut r) = s.results.lock()
        {
            r.merge(std::mem::take(&mut self.log.races));
        }
    }
}

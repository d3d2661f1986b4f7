//! One block: its shared memory, its warps in turn, and its barriers.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::alu::AluFn;
use super::flight::Flight;
use super::memory::{Memory, Range};
use super::observe::{FaultKind, FaultLog, Observer};
use super::ops::{Row, full};
use super::program::{BarMode, Pc, Program, Special};
use super::survey::SurveyFn;
use super::warp::{Stop, Warp};

/// What all blocks of a launch share.
pub struct Ctx<'a, const W: usize> {
    pub program: &'a Program,
    pub memory: &'a Memory,
    pub consts: Vec<Row<W>>,
    pub params: &'a [u8],
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub dynamic_shared: u32,
    pub alu: AluFn<W>,
    pub survey: SurveyFn<W>,
    pub independent: bool,
    pub grid_id: u64,
    /// Where grid-wide barriers count, 0 if the program has none.
    pub workspace: u64,
    /// printf goes here, one call per text.
    pub output: &'a (dyn Fn(&str) + Sync),
    pub steps: AtomicU64,
    pub lane_steps: AtomicU64,
    pub step_limit: u64,
    pub abort: AtomicBool,
}

impl<const W: usize> Ctx<'_, W> {
    pub fn threads(&self) -> u32 {
        self.block[0] * self.block[1] * self.block[2]
    }
}

/// A block's state besides its warps.
pub struct Env<'a, const W: usize, O> {
    pub ctx: &'a Ctx<'a, W>,
    pub block: u32,
    pub shared: Vec<u8>,
    /// One byte per byte of shared memory: was it ever written?
    pub init: Vec<u8>,
    /// How many bytes were not; none when nobody watches.
    pub fresh: usize,
    pub obs: O,
    pub faults: FaultLog,
    /// The allocation that each instruction used last; an instruction mostly stays in one. Looking one up takes a lock
    /// that all cores share.
    pub ranges: Vec<Range>,
    /// By words of shared memory: asynchronous copies that are under way; and how many words have one.
    pub flights: Vec<Flight>,
    pub airborne: usize,
}

impl<const W: usize, O: Observer<W>> Env<'_, W, O> {
    /// Reports a fault of the first lane in `mask`.
    pub fn fault(
        &mut self,
        kind: FaultKind,
        pc: Pc,
        w: &Warp<W>,
        mask: u64,
        text: impl FnOnce() -> String,
    ) {
        let thread = u32::from(w.id) * W as u32 + mask.trailing_zeros();
        self.faults.add(kind, pc, self.block, thread, text);
    }
}

#[derive(Clone, Debug, Default)]
struct Barrier {
    waiting: Vec<(u16, Pc)>,
    arrived: Vec<u16>,
    /// Named count of threads, 0 for all.
    threads: u32,
    votes: u32,
    voters: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Ready,
    Waiting,
    Done,
}

/// A block that runs, or waits for its turn.
pub struct Block<'a, const W: usize, O> {
    pub env: Env<'a, W, O>,
    warps: Vec<Warp<W>>,
    states: Vec<State>,
    bars: Vec<Barrier>,
    /// Steps and lane steps not yet added to the launch's.
    pending: [u64; 2],
}

/// What became of a block's turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    Finished,
    /// Its time slice is over; others should run before it goes on.
    Later,
    Aborted,
}

/// Operations of one warp before the next warp runs, and of a block before another block does.
const WARP_SLICE: u64 = 20_000;
const BLOCK_SLICE: u64 = 300_000;
/// Steps of a block between two looks at the launch's counters.
const COUNT_EVERY: u64 = 1 << 14;

/// The lanes that the warp has.
fn lanes_of<const W: usize>(threads: u32, warp: u32) -> u64 {
    let count = (threads - warp * W as u32).min(W as u32);
    if count as usize == W {
        full::<W>()
    } else {
        (1u64 << count) - 1
    }
}

/// The special registers that differ between blocks.
fn move_specials<const W: usize>(ctx: &Ctx<'_, W>, block: u32, rows: &mut [Row<W>]) {
    let [gx, gy, _] = ctx.grid;
    for (s, row) in ctx.program.specials.iter().zip(rows) {
        let v = match *s {
            Special::Ctaid(0) => block % gx,
            Special::Ctaid(1) => block / gx % gy,
            Special::Ctaid(_) => block / gx / gy,
            Special::Smid => block % 16,
            _ => continue,
        };
        *row = [u64::from(v); W];
    }
}

impl<'a, const W: usize, O: Observer<W>> Block<'a, W, O> {
    pub fn new(ctx: &'a Ctx<'a, W>, block: u32, obs: O) -> Self {
        let p = ctx.program;
        let threads = ctx.threads();
        let warps = threads.div_ceil(W as u32);
        let size = (p.shared_static + ctx.dynamic_shared) as usize;
        let env = Env {
            ctx,
            block,
            shared: vec![0; size],
            init: if O::ON { vec![0; size] } else { Vec::new() },
            fresh: if O::ON { size } else { 0 },
            obs,
            faults: FaultLog::default(),
            ranges: vec![Range::default(); p.ops.len()],
            flights: Vec::new(),
            airborne: 0,
        };
        let warps: Vec<Warp<W>> = (0..warps)
            .map(|w| {
                let live = lanes_of::<W>(threads, w);
                Warp::new(p, w as u16, live, specials(ctx, block, w))
            })
            .collect();
        let states = vec![State::Ready; warps.len()];
        Block {
            env,
            warps,
            states,
            bars: vec![Barrier::default(); 16],
            pending: [0; 2],
        }
    }

    /// Becomes another block of the launch; what the last one allocated is used again.
    pub fn restart(&mut self, block: u32) {
        let ctx = self.env.ctx;
        self.env.block = block;
        self.env.shared.fill(0);
        self.env.init.fill(0);
        self.env.fresh = self.env.init.len();
        self.env.flights.fill(Flight::default());
        self.env.airborne = 0;
        self.env.obs.restart(block);
        for w in &mut self.warps {
            let live = lanes_of::<W>(ctx.threads(), u32::from(w.id));
            w.restart(ctx.program, live);
            move_specials(ctx, block, &mut w.specials);
        }
        self.states.fill(State::Ready);
        self.bars.fill(Barrier::default());
    }

    /// Adds what was counted to the launch's counters; now and then, because all cores share them. True if the
    /// launch has taken more steps than it may.
    fn count(&mut self, at_least: u64) -> bool {
        if self.pending[0] < at_least {
            return false;
        }
        let ctx = self.env.ctx;
        let total = ctx.steps.fetch_add(self.pending[0], Ordering::Relaxed) + self.pending[0];
        ctx.lane_steps.fetch_add(self.pending[1], Ordering::Relaxed);
        self.pending = [0; 2];
        total > ctx.step_limit
    }

    /// Runs warps in turn until the block ends, aborts, or has had its slice.
    pub fn turn(&mut self) -> Turn {
        let mut used = 0u64;
        loop {
            let mut progress = false;
            for k in 0..self.warps.len() {
                if self.states[k] != State::Ready {
                    continue;
                }
                progress = true;
                let w = &mut self.warps[k];
                let (before, lanes) = (w.steps, w.lane_steps);
                let stop = w.run(&mut self.env, WARP_SLICE);
                used += w.steps - before;
                self.pending[0] += w.steps - before;
                self.pending[1] += w.lane_steps - lanes;
                let (pc, mask) = (w.pc, w.mask.max(1));
                let ctx = self.env.ctx;
                let limit = ctx.step_limit;
                if self.count(COUNT_EVERY.min(limit)) {
                    self.env
                        .fault(FaultKind::StepLimit, pc, &self.warps[k], mask, || {
                            format!(
                                "stopped after {limit} warp instructions (raise with --max-steps)"
                            )
                        });
                    return self.aborted();
                }
                match stop {
                    Stop::Slice => {}
                    Stop::Done => {
                        self.states[k] = State::Done;
                        self.release_all();
                    }
                    Stop::Abort => return self.aborted(),
                    Stop::Barrier {
                        id,
                        threads,
                        mode,
                        op,
                        votes,
                    } => self.arrive(k, id, threads, mode, op, votes),
                }
                if ctx.abort.load(Ordering::Relaxed) {
                    return Turn::Aborted;
                }
            }
            if self.states.iter().all(|s| *s == State::Done) {
                self.count(0);
                self.env.obs.finish();
                return Turn::Finished;
            }
            if !progress {
                self.deadlock();
                return self.aborted();
            }
            if used > BLOCK_SLICE {
                return Turn::Later;
            }
        }
    }

    fn aborted(&mut self) -> Turn {
        self.count(0);
        self.env.ctx.abort.store(true, Ordering::Relaxed);
        self.env.obs.finish();
        Turn::Aborted
    }

    fn arrive(&mut self, k: usize, id: u32, threads: u32, mode: BarMode, op: Pc, votes: u64) {
        let b = &mut self.bars[id as usize];
        b.threads = b.threads.max(threads);
        if mode == BarMode::Arrive {
            b.arrived.push(k as u16);
        } else {
            b.waiting.push((k as u16, op));
            b.votes += votes.count_ones();
            b.voters += self.warps[k].live.count_ones();
            self.states[k] = State::Waiting;
        }
        self.release(id as usize);
    }

    fn release_all(&mut self) {
        for id in 0..self.bars.len() {
            self.release(id);
        }
    }

    /// Lets the waiting warps go if all that must come have come.
    fn release(&mut self, id: usize) {
        let b = &self.bars[id];
        let came = b.waiting.len() + b.arrived.len();
        if b.waiting.is_empty() {
            return;
        }
        let complete = if b.threads == 0 {
            came >= self.states.iter().filter(|s| **s != State::Done).count()
        } else {
            came * W >= (b.threads as usize).next_multiple_of(W)
        };
        if !complete {
            return;
        }
        let b = std::mem::take(&mut self.bars[id]);
        let p = self.env.ctx.program;
        let warps: Vec<u16> = b.waiting.iter().map(|w| w.0).collect();
        for (k, at) in &b.waiting {
            let w = &mut self.warps[usize::from(*k)];
            let op = &p.ops[*at as usize];
            if let super::program::Kind::Bar { mode, .. } = op.kind {
                let live = w.live;
                match mode {
                    BarMode::RedPopc => w.put(op.d, &[u64::from(b.votes); W], live),
                    BarMode::RedAnd => {
                        w.put_pred(op.d, if b.votes == b.voters { u64::MAX } else { 0 }, live)
                    }
                    BarMode::RedOr => {
                        w.put_pred(op.d, if b.votes > 0 { u64::MAX } else { 0 }, live)
                    }
                    BarMode::Sync | BarMode::Arrive => {}
                }
            }
            self.states[usize::from(*k)] = State::Ready;
        }
        if O::ON {
            let mut arrived = b.arrived;
            if b.threads == 0 {
                // Warps that have ended count as arrived for good.
                let done = self
                    .states
                    .iter()
                    .enumerate()
                    .filter(|(_, s)| **s == State::Done);
                arrived.extend(done.map(|(k, _)| k as u16));
            }
            self.env.obs.barrier(&warps, &arrived);
        }
    }

    fn deadlock(&mut self) {
        let stuck: Vec<(u16, Pc)> = self
            .bars
            .iter()
            .flat_map(|b| b.waiting.iter().copied())
            .collect();
        for (k, at) in stuck {
            let live = self.warps[usize::from(k)].live.max(1);
            let waiting = self.states.iter().filter(|s| **s == State::Waiting).count();
            self.env.fault(
                FaultKind::BarrierDeadlock,
                at,
                &self.warps[usize::from(k)],
                live,
                || format!("{waiting} warps wait at barriers that the others never reach"),
            );
        }
    }
}

fn specials<const W: usize>(ctx: &Ctx<'_, W>, block: u32, warp: u32) -> Vec<Row<W>> {
    let [bx, by, _] = ctx.block;
    let [gx, gy, _] = ctx.grid;
    let thread = |l: usize| warp * W as u32 + l as u32;
    let lanes = |f: &dyn Fn(usize) -> u64| {
        let mut r = [0u64; W];
        for (l, x) in r.iter_mut().enumerate() {
            *x = f(l);
        }
        r
    };
    let all = full::<W>();
    let cut = |m: u64| if W == 64 { m } else { m & 0xffff_ffff };
    ctx.program
        .specials
        .iter()
        .map(|s| match *s {
            Special::Tid(0) => lanes(&|l| u64::from(thread(l) % bx)),
            Special::Tid(1) => lanes(&|l| u64::from(thread(l) / bx % by)),
            Special::Tid(_) => lanes(&|l| u64::from(thread(l) / (bx * by))),
            Special::Ntid(k) => [u64::from(ctx.block[usize::from(k)]); W],
            Special::Ctaid(0) => [u64::from(block % gx); W],
            Special::Ctaid(1) => [u64::from(block / gx % gy); W],
            Special::Ctaid(_) => [u64::from(block / gx / gy); W],
            Special::Nctaid(k) => [u64::from(ctx.grid[usize::from(k)]); W],
            Special::Laneid => lanes(&|l| l as u64),
            Special::Warpid => [u64::from(warp); W],
            Special::Nwarpid => [64; W],
            Special::LanemaskEq => lanes(&|l| 1 << l),
            Special::LanemaskLt => lanes(&|l| (1 << l) - 1),
            Special::LanemaskLe => lanes(&|l| all >> (W - 1 - l)),
            Special::LanemaskGt => lanes(&|l| cut(!(all >> (W - 1 - l)))),
            Special::LanemaskGe => lanes(&|l| cut(!((1 << l) - 1))),
            Special::Smid => [u64::from(block % 16); W],
            Special::Nsmid => [16; W],
            Special::Gridid => [ctx.grid_id; W],
            Special::Workspace(0) => [ctx.workspace >> 32; W],
            Special::Workspace(_) => [ctx.workspace & 0xffff_ffff; W],
            Special::Reserved => [0x00f0_0000; W],
            Special::DynShared => [u64::from(ctx.dynamic_shared); W],
            Special::TotalShared => [u64::from(ctx.dynamic_shared + ctx.program.shared_static); W],
            Special::Frame | Special::Zero => [0; W],
        })
        .collect()
}

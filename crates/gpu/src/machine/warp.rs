//! One warp: its registers, its reconvergence stack, and the loop that runs it.
//!
//! Lanes that part at a branch run one side after the other and meet at the branch's immediate post-dominator. The
//! stack holds the sides that wait; a call puts a token on it, so that lanes which return early wait for the rest.

use super::alu::Lanes;
use super::block::Env;
use super::calls::Frame;
use super::flight::Copies;
use super::observe::{FaultKind, Observer};
use super::ops::{Row, full};
use super::program::{BarMode, CONST, Kind, LOCAL_WINDOW, NONE, Op, Pc, Program, SPECIAL, Special};
use super::stack::Entry;

/// Why a warp stopped running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Waits at a barrier.
    Barrier {
        id: u32,
        threads: u32,
        mode: BarMode,
        op: Pc,
        votes: u64,
    },
    Done,
    /// Its time slice is over.
    Slice,
    /// The launch must end.
    Abort,
}

/// A warp's whole state.
pub struct Warp<const W: usize> {
    pub id: u16,
    pub regs: Vec<Row<W>>,
    pub preds: Vec<u64>,
    pub specials: Vec<Row<W>>,
    pub local: Vec<Vec<u8>>,
    pub frames: Vec<Frame>,
    pub(super) stack: Vec<Entry>,
    pub pc: Pc,
    pub mask: u64,
    pub(super) meet: Pc,
    /// Lanes that have not exited.
    pub live: u64,
    pub carry: u64,
    /// Operations run so far.
    pub steps: u64,
    /// Operations times active lanes.
    pub lane_steps: u64,
    pub(super) backward: u32,
    pub(super) copies: Copies<W>,
}

/// Does nothing but the kernel's end follow?
fn leads_to_exit(p: &Program, mut pc: Pc) -> bool {
    for _ in 0..4 {
        let op = &p.ops[pc as usize];
        match op.kind {
            _ if op.guard != 0 => return false,
            Kind::Exit => return true,
            Kind::Bra { target } => pc = target,
            Kind::Nop => pc += 1,
            _ => return false,
        }
    }
    false
}

impl<const W: usize> Warp<W> {
    pub fn new(p: &Program, id: u16, live: u64, specials: Vec<Row<W>>) -> Self {
        let f = &p.funcs[p.kernel_func as usize];
        let mut w = Warp {
            id,
            regs: vec![[0; W]; f.regs as usize],
            preds: vec![0; f.preds as usize],
            specials,
            local: vec![Vec::new(); W],
            frames: vec![Frame {
                func: p.kernel_func,
                regs: 0,
                preds: 0,
                local: 0,
                site: NONE,
            }],
            stack: Vec::new(),
            pc: f.entry,
            mask: live,
            meet: NONE,
            live,
            carry: 0,
            steps: 0,
            lane_steps: 0,
            backward: 0,
            copies: Copies::default(),
        };
        w.grow_local(f.frame);
        w.set_frame(p);
        w
    }

    /// Back to the start, for the same warp of another block.
    pub fn restart(&mut self, p: &Program, live: u64) {
        let f = &p.funcs[p.kernel_func as usize];
        self.regs.truncate(f.regs as usize);
        self.regs.fill([0; W]);
        self.preds.truncate(f.preds as usize);
        self.preds.fill(0);
        self.local.iter_mut().for_each(|l| l.fill(0));
        self.frames.truncate(1);
        self.stack.clear();
        (self.pc, self.mask, self.meet, self.live) = (f.entry, live, NONE, live);
        (self.carry, self.steps, self.lane_steps, self.backward) = (0, 0, 0, 0);
        self.copies.clear();
        self.set_frame(p);
    }

    pub(super) fn grow_local(&mut self, size: u32) {
        for l in &mut self.local {
            if l.len() < size as usize {
                l.resize(size as usize, 0);
            }
        }
    }

    pub(super) fn set_frame(&mut self, p: &Program) {
        let base = LOCAL_WINDOW | u64::from(self.frames.last().map_or(0, |f| f.local));
        for (s, row) in p.specials.iter().zip(&mut self.specials) {
            if *s == Special::Frame {
                *row = [base; W];
            }
        }
    }

    /// The lanes of the current function's row `k`.
    #[inline(always)]
    pub fn row<'a>(&'a self, consts: &'a [Row<W>], k: u32) -> &'a Row<W> {
        if k & CONST != 0 {
            &consts[(k & !CONST) as usize]
        } else if k & SPECIAL != 0 {
            &self.specials[(k & !SPECIAL) as usize]
        } else {
            let base = self.frames.last().map_or(0, |f| f.regs);
            &self.regs[(base + k) as usize]
        }
    }

    #[inline(always)]
    pub fn put(&mut self, d: u32, t: &Row<W>, mask: u64) {
        if d != NONE {
            let base = self.frames.last().map_or(0, |f| f.regs);
            super::ops::blend(&mut self.regs[(base + d) as usize], t, mask);
        }
    }

    pub fn pred(&self, k: u32) -> u64 {
        let base = self.frames.last().map_or(0, |f| f.preds);
        self.preds[(base + k) as usize]
    }

    pub fn put_pred(&mut self, d: u32, bits: u64, mask: u64) {
        if d != NONE {
            let base = self.frames.last().map_or(0, |f| f.preds);
            let p = &mut self.preds[(base + d) as usize];
            *p = (*p & !mask) | (bits & mask);
        }
    }

    /// Runs until the warp must wait, ends, or has used `slice` operations.
    pub fn run<O: Observer<W>>(&mut self, env: &mut Env<'_, W, O>, slice: u64) -> Stop {
        let ctx = env.ctx;
        let p = ctx.program;
        let alu = ctx.alu;
        let end = self.steps + slice;
        loop {
            if self.pc == self.meet || self.mask == 0 {
                if !self.resume(env) {
                    return Stop::Done;
                }
                continue;
            }
            if self.steps >= end {
                return Stop::Slice;
            }
            self.steps += 1;
            let op = &p.ops[self.pc as usize];
            let frame = self.frames[self.frames.len() - 1];
            let mut mask = self.mask;
            if op.guard != 0 {
                let bits = self.preds[(frame.preds + (op.guard >> 1) - 1) as usize];
                mask &= if op.guard & 1 == 1 { !bits } else { bits };
            }
            self.lane_steps += u64::from(mask.count_ones());
            let lanes = Lanes {
                regs: &mut self.regs[frame.regs as usize..],
                preds: &mut self.preds[frame.preds as usize..],
                specials: &self.specials,
                consts: &ctx.consts,
                carry: &mut self.carry,
                clock: self.steps,
            };
            match op.kind {
                Kind::Un(_) | Kind::Bin(_) | Kind::Ter(_) | Kind::SetP { .. } | Kind::SelP => {
                    alu(op, lanes, mask);
                    self.pc += 1;
                }
                Kind::Bra { target } => {
                    if target <= self.pc {
                        self.backward += 1;
                        if ctx.independent && self.backward & 0xff == 0 {
                            self.rotate();
                            continue;
                        }
                    }
                    let rest = self.mask & !mask;
                    if rest == 0 {
                        self.pc = target;
                    } else if mask == 0 {
                        self.pc += 1;
                    } else {
                        let meet = p.meet[self.pc as usize];
                        let (mut taken, mut other) = ((target, mask), (self.pc + 1, rest));
                        // Lanes that go straight to the end are gone: no barrier waits for them.
                        for side in [&mut taken, &mut other] {
                            if frame.site == NONE && leads_to_exit(p, side.0) {
                                self.live &= !side.1;
                                self.mask &= !side.1;
                                side.1 = 0;
                            }
                        }
                        match (taken.1, other.1) {
                            (0, _) => self.pc = other.0,
                            (_, 0) => self.pc = taken.0,
                            _ => self.part(meet, taken, other),
                        }
                    }
                }
                Kind::Exit => {
                    self.live &= !mask;
                    self.mask &= !mask;
                    self.pc += 1;
                }
                Kind::Ret => {
                    self.mask &= !mask;
                    self.pc += 1;
                }
                Kind::Brx => {
                    if mask == 0 {
                        self.pc += 1;
                    } else {
                        self.brx(env, op, mask);
                    }
                }
                Kind::Call => {
                    if mask == 0 {
                        self.pc += 1;
                    } else if let Some(stop) = self.call(env, op, mask) {
                        return stop;
                    }
                }
                Kind::Nop => self.pc += 1,
                Kind::Trap => {
                    if mask != 0 {
                        env.fault(FaultKind::Trap, self.pc, self, mask, || {
                            "the kernel executed `trap`".into()
                        });
                        return Stop::Abort;
                    }
                    self.pc += 1;
                }
                Kind::Bar { mode, negate } => {
                    if mask == 0 {
                        self.pc += 1;
                        continue;
                    }
                    return self.barrier(env, op, mask, mode, negate);
                }
                _ => {
                    if mask != 0 && !alu(op, lanes, mask) {
                        env.memory_or_warp(self, op, mask);
                    }
                    self.pc += 1;
                }
            }
        }
    }

    fn barrier<O: Observer<W>>(
        &mut self,
        env: &mut Env<'_, W, O>,
        op: &Op,
        mask: u64,
        mode: BarMode,
        negate: bool,
    ) -> Stop {
        let lane = mask.trailing_zeros() as usize;
        let id = self.row(&env.ctx.consts, op.a)[lane] as u32 & 15;
        let threads = if op.b == NONE {
            0
        } else {
            self.row(&env.ctx.consts, op.b)[lane] as u32
        };
        if mask != self.live && threads == 0 {
            let missing = (self.live & !mask).trailing_zeros();
            env.fault(FaultKind::BarrierDivergence, self.pc, self, mask, || {
                format!(
                    "only {} of {} threads of the warp reach this barrier; lane {missing} does not",
                    mask.count_ones(),
                    self.live.count_ones()
                )
            });
        }
        let votes = if op.c == NONE {
            0
        } else {
            let v = self.pred(op.c);
            (if negate { !v } else { v }) & mask
        };
        let at = self.pc;
        self.pc += 1;
        Stop::Barrier {
            id,
            threads,
            mode,
            op: at,
            votes,
        }
    }

    /// All lanes of the warp that are still there.
    pub fn all_live(&self) -> u64 {
        self.live & full::<W>()
    }
}

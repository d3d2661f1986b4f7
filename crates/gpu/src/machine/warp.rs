//! One warp: its registers, its reconvergence stack, and the loop that runs it.
//!
//! Lanes that part at a branch run one side after the other and meet at the branch's immediate post-dominator. The
//! stack holds the sides that wait; a call puts a token on it, so that lanes which return early wait for the rest.

use super::alu::Lanes;
use super::block::Env;
use super::observe::{FaultKind, Observer};
use super::ops::{Row, full};
use super::program::{BarMode, CONST, Kind, LOCAL_WINDOW, NONE, Op, Pc, Program, SPECIAL, Special};

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

#[derive(Clone, Copy, Debug)]
struct Entry {
    pc: Pc,
    meet: Pc,
    mask: u64,
    call: bool,
}

#[derive(Clone, Copy, Debug)]
pub struct Frame {
    pub func: u32,
    pub regs: u32,
    pub preds: u32,
    pub local: u32,
    /// Index into `Program::calls` of the call that made it, NONE for the kernel.
    pub site: u32,
}

/// A warp's whole state.
pub struct Warp<const W: usize> {
    pub id: u16,
    pub regs: Vec<Row<W>>,
    pub preds: Vec<u64>,
    pub specials: Vec<Row<W>>,
    pub local: Vec<Vec<u8>>,
    pub frames: Vec<Frame>,
    stack: Vec<Entry>,
    pub pc: Pc,
    pub mask: u64,
    meet: Pc,
    /// Lanes that have not exited.
    pub live: u64,
    pub carry: u64,
    /// Operations run so far.
    pub steps: u64,
    /// Operations times active lanes.
    pub lane_steps: u64,
    backward: u32,
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

/// Backward branches (all ones below a power of two) before lanes at a meeting point go on alone.
const PATIENCE: u32 = 0x3fff;

/// Deepest call nesting and largest local memory of a thread.
const MAX_FRAMES: usize = 4096;
const MAX_LOCAL: u32 = 64 << 20;

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
        };
        w.grow_local(f.frame);
        w.set_frame(p);
        w
    }

    fn grow_local(&mut self, size: u32) {
        for l in &mut self.local {
            if l.len() < size as usize {
                l.resize(size as usize, 0);
            }
        }
    }

    fn set_frame(&mut self, p: &Program) {
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

    /// The side of the stack's top that still has lanes becomes current; false when none is left.
    fn resume(&mut self, env: &mut Env<'_, W, impl Observer<W>>) -> bool {
        loop {
            let Some(e) = self.stack.pop() else {
                return false;
            };
            if e.call {
                self.leave_call(env, e.mask);
            }
            let mask = e.mask & self.live;
            if mask != 0 {
                (self.pc, self.meet, self.mask) = (e.pc, e.meet, mask);
                return true;
            }
        }
    }

    /// Copies results to the caller and drops the callee's frame.
    fn leave_call(&mut self, env: &mut Env<'_, W, impl Observer<W>>, mask: u64) {
        let p = env.ctx.program;
        let Some(f) = self.frames.pop() else { return };
        let caller = self.frames.last().map_or(0, |f| f.local);
        if f.site != NONE {
            let info = &p.funcs[f.func as usize];
            for (from, to) in info.rets.iter().zip(&p.calls[f.site as usize].rets) {
                let n = from.1.min(to.1) as usize;
                let (a, b) = ((f.local + from.0) as usize, (caller + to.0) as usize);
                for l in (0..W).filter(|l| mask >> l & 1 == 1) {
                    self.local[l].copy_within(a..a + n, b);
                }
            }
        }
        self.regs.truncate(f.regs as usize);
        self.preds.truncate(f.preds as usize);
        self.set_frame(p);
    }

    fn enter(
        &mut self,
        env: &mut Env<'_, W, impl Observer<W>>,
        func: u32,
        site: u32,
        mask: u64,
        next: Pc,
    ) -> bool {
        let p = env.ctx.program;
        let info = &p.funcs[func as usize];
        let caller = *self.frames.last().unwrap_or(&Frame {
            func,
            regs: 0,
            preds: 0,
            local: 0,
            site: NONE,
        });
        let local = (caller.local + p.funcs[caller.func as usize].frame).next_multiple_of(16);
        if self.frames.len() >= MAX_FRAMES || local + info.frame > MAX_LOCAL {
            env.fault(FaultKind::StackOverflow, self.pc, self, mask, || {
                format!("calls of `{}` nest {} deep", info.name, MAX_FRAMES)
            });
            return false;
        }
        self.grow_local(local + info.frame);
        for l in (0..W).filter(|l| mask >> l & 1 == 1) {
            let a = local as usize;
            self.local[l][a..a + info.frame as usize].fill(0);
            for (from, to) in p.calls[site as usize].args.iter().zip(&info.params) {
                let n = from.1.min(to.1) as usize;
                let (x, y) = ((caller.local + from.0) as usize, (local + to.0) as usize);
                self.local[l].copy_within(x..x + n, y);
            }
        }
        // The token waits with all lanes of the call; `rest` of an indirect call run theirs afterwards.
        self.stack.push(Entry {
            pc: next,
            meet: self.meet,
            mask,
            call: true,
        });
        self.frames.push(Frame {
            func,
            regs: self.regs.len() as u32,
            preds: self.preds.len() as u32,
            local,
            site,
        });
        self.regs
            .resize(self.regs.len() + info.regs as usize, [0; W]);
        self.preds.resize(self.preds.len() + info.preds as usize, 0);
        self.set_frame(p);
        (self.pc, self.meet, self.mask) = (info.entry, NONE, mask);
        true
    }

    /// Both ways of a branch have lanes: wait with one, run the other.
    fn part(&mut self, meet: Pc, taken: (Pc, u64), other: (Pc, u64)) {
        if meet != NONE && meet != self.meet {
            self.stack.push(Entry {
                pc: meet,
                meet: self.meet,
                mask: self.mask,
                call: false,
            });
        }
        self.meet = meet;
        let (first, second) = if taken.0 == meet {
            (other, taken)
        } else {
            (taken, other)
        };
        if second.0 != meet {
            self.stack.push(Entry {
                pc: second.0,
                meet,
                mask: second.1,
                call: false,
            });
        }
        (self.pc, self.mask) = first;
    }

    fn brx(&mut self, env: &mut Env<'_, W, impl Observer<W>>, op: &Op, mask: u64) {
        let p = env.ctx.program;
        let table = &p.tables[op.d as usize];
        let idx = *self.row(&env.ctx.consts, op.a);
        let meet = p.meet[self.pc as usize];
        let mut groups: Vec<(Pc, u64)> = Vec::new();
        for l in (0..W).filter(|l| mask >> l & 1 == 1) {
            let t = table
                .get(idx[l] as u32 as usize)
                .or(table.last())
                .copied()
                .unwrap_or(self.pc + 1);
            match groups.iter_mut().find(|g| g.0 == t) {
                Some(g) => g.1 |= 1 << l,
                None => groups.push((t, 1 << l)),
            }
        }
        if self.mask != mask {
            groups.push((self.pc + 1, self.mask & !mask));
        }
        if let [(t, _)] = groups[..] {
            self.pc = t;
            return;
        }
        if meet != NONE && meet != self.meet {
            self.stack.push(Entry {
                pc: meet,
                meet: self.meet,
                mask: self.mask,
                call: false,
            });
        }
        self.meet = meet;
        let last = groups.pop();
        for g in groups {
            if g.0 != meet {
                self.stack.push(Entry {
                    pc: g.0,
                    meet,
                    mask: g.1,
                    call: false,
                });
            }
        }
        if let Some((t, m)) = last {
            (self.pc, self.mask) = (t, m);
        }
    }

    /// In the independent model a lane that waits for another lane of its warp must not starve it: the side next on
    /// the stack, if it belongs to the same branch, gets its turn. After long patience, so do lanes that wait at the
    /// meeting point; the two groups then meet at the next one.
    fn rotate(&mut self) {
        let Some(top) = self.stack.last().copied() else {
            return;
        };
        let k = self.stack.len() - 1;
        if !top.call && top.meet == self.meet && top.pc != self.meet {
            self.stack[k] = Entry {
                pc: self.pc,
                meet: self.meet,
                mask: self.mask,
                call: false,
            };
            (self.pc, self.mask) = (top.pc, top.mask & self.live);
        } else if !top.call && top.pc == self.meet && self.backward & PATIENCE == 0 {
            let waiting = top.mask & self.live & !self.mask;
            if waiting != 0 {
                self.stack[k] = Entry {
                    pc: self.pc,
                    meet: top.meet,
                    mask: self.mask,
                    call: false,
                };
                (self.pc, self.meet, self.mask) = (top.pc, top.meet, waiting);
            }
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

    fn call<O: Observer<W>>(
        &mut self,
        env: &mut Env<'_, W, O>,
        op: &Op,
        mask: u64,
    ) -> Option<Stop> {
        let p = env.ctx.program;
        let next = self.pc + 1;
        let site = op.d;
        match &p.calls[site as usize].callee {
            super::program::Callee::Func(f) => {
                if self.mask != mask {
                    // lanes whose guard is false wait behind the call
                    self.stack.push(Entry {
                        pc: next,
                        meet: self.meet,
                        mask: self.mask,
                        call: false,
                    });
                    self.meet = next;
                }
                if !self.enter(env, *f, site, mask, next) {
                    return Some(Stop::Abort);
                }
            }
            super::program::Callee::Builtin(name) => {
                let ok = super::builtins::call(env, self, name, &p.calls[site as usize], mask);
                if !ok {
                    return Some(Stop::Abort);
                }
                self.pc = next;
            }
            super::program::Callee::Row(r) => {
                let targets = *self.row(&env.ctx.consts, *r);
                let first = targets[mask.trailing_zeros() as usize];
                let same = (0..W)
                    .filter(|&l| mask >> l & 1 == 1 && targets[l] == first)
                    .fold(0u64, |m, l| m | 1 << l);
                let k = (first & 0xffff_ffff) as usize;
                let good = first >> 56 == super::program::FUNC_WINDOW >> 56
                    && p.funcs.get(k).is_some_and(|f| f.present);
                if !good {
                    env.fault(FaultKind::BadCall, self.pc, self, mask, || {
                        format!("{first:#x} is not a function")
                    });
                    return Some(Stop::Abort);
                }
                // The other lanes wait behind the call (guard false) or at it (other target).
                let idle = self.mask & !mask;
                let rest = mask & !same;
                if idle != 0 || rest != 0 {
                    self.stack.push(Entry {
                        pc: next,
                        meet: self.meet,
                        mask: self.mask,
                        call: false,
                    });
                    self.meet = next;
                    if rest != 0 {
                        self.stack.push(Entry {
                            pc: self.pc,
                            meet: next,
                            mask: rest,
                            call: false,
                        });
                    }
                }
                if !self.enter(env, k as u32, site, same, next) {
                    return Some(Stop::Abort);
                }
            }
        }
        None
    }

    /// All lanes of the warp that are still there.
    pub fn all_live(&self) -> u64 {
        self.live & full::<W>()
    }
}

//! Calls: a frame of registers and local memory for each activation, and parameters copied between them.

use super::block::Env;
use super::observe::{FaultKind, Observer};
use super::program::{NONE, Op, Pc};
use super::stack::Entry;
use super::warp::{Stop, Warp};

/// One activation of a function.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    pub func: u32,
    pub regs: u32,
    pub preds: u32,
    pub local: u32,
    /// Index into `Program::calls` of the call that made it, NONE for the kernel.
    pub site: u32,
}

/// Deepest call nesting and largest local memory of a thread.
const MAX_FRAMES: usize = 4096;
const MAX_LOCAL: u32 = 64 << 20;

impl<const W: usize> Warp<W> {
    /// Copies results to the caller and drops the callee's frame.
    pub(super) fn leave_call(&mut self, env: &mut Env<'_, W, impl Observer<W>>, mask: u64) {
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

    pub(super) fn enter(
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

    pub(super) fn call<O: Observer<W>>(
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
}

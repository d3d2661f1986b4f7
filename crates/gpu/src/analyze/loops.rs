//! Loops: which registers they carry from iteration to iteration, how often they run, and the values they give.
//!
//! If numbers alone decide a loop, it is run here and its values are listed; else a constant step makes a line.

use std::collections::HashMap;

use crate::cfg::BlockId;
use crate::ptx::{Operand, Reg, Ty};

use super::expr::{Bv, Ex, Node, Pred, Var};
use super::values::{Loop, Phi, PhiKind, Values, width};

/// Longer loops are not listed.
const MAX_ITERATIONS: usize = 1 << 16;

impl Values<'_> {
    /// Registers with one definition in the loop and one before it: (number, definition inside, definition outside).
    pub(super) fn loop_variables(&mut self, l: usize) -> Vec<(u32, u32, u32)> {
        let mut mine = Vec::new();
        for r in 0..self.defs.len() {
            let &[x, y] = self.defs[r].as_slice() else {
                continue;
            };
            let (a, b) = (self.inside(l, x), self.inside(l, y));
            if a == b || self.memo.contains_key(&Reg(r as u32)) {
                continue;
            }
            let (inner, outer) = if a { (x, y) } else { (y, x) };
            // the definition before the loop must always come first
            let first = self
                .cfg
                .dominates(self.block_of(outer), self.loops[l].header);
            let guarded = self.f.body[inner as usize].guard.is_some()
                || self.f.body[outer as usize].guard.is_some();
            if !first || guarded || self.f.regs[r].1 == Ty::Pred {
                continue;
            }
            let w = width(self.f.regs[r].1);
            let id = self.phis.len() as u32;
            self.phis.push(Phi {
                loop_id: l as u32,
                width: w,
                kind: PhiKind::Unknown,
            });
            let e = self.arena.var(Var::Listed(id), w);
            self.memo.insert(Reg(r as u32), e);
            mine.push((id, inner, outer));
        }
        mine
    }

    /// Gives the loop's variables their values.
    pub(super) fn solve_loop(&mut self, l: usize, mine: &[(u32, u32, u32)]) {
        let mut forms = Vec::new();
        for (id, inner, outer) in mine {
            let init = self.definition(*outer);
            let step = self.definition(*inner);
            forms.push((*id, init, step));
        }
        // One exit, with a condition?
        let exits: Vec<BlockId> = self.loops[l]
            .blocks
            .iter()
            .copied()
            .filter(|b| {
                self.cfg.blocks[b.0 as usize]
                    .succs
                    .iter()
                    .any(|s| !self.loops[l].blocks.contains(s))
            })
            .collect();
        let exit = match exits[..] {
            [b] => self.exit_condition(l, b).map(|c| (b, c)),
            _ => None,
        };
        self.loops[l].header_exit = exits.len() == 1 && self.same_test(l, exits[0]);
        if let Some((_, cond)) = exit {
            self.simulate(l, &forms, cond);
        }
        for (id, init, step) in forms {
            if !matches!(self.phis[id as usize].kind, PhiKind::Unknown) {
                continue;
            }
            let me = self
                .arena
                .var(Var::Listed(id), self.phis[id as usize].width);
            let c = match self.arena.node(step) {
                Node::Bin(Bv::Add, a, b, _) if a == me => self.arena.as_const(b),
                Node::Bin(Bv::Add, a, b, _) if b == me => self.arena.as_const(a),
                Node::Bin(Bv::Sub, a, b, _) if a == me => {
                    self.arena.as_const(b).map(u64::wrapping_neg)
                }
                _ if step == me => Some(0),
                _ => None,
            };
            let Some(step) = c else { continue };
            let mut guard = false;
            if self.loops[l].trip.is_none()
                && let Some((_, cond)) = exit
            {
                let tests = self.arena.vars(cond).contains(&Var::Listed(id));
                if tests && !self.ordered_test(cond) {
                    continue; // `!=` and the like say nothing about the values in between
                }
                guard = tests;
            }
            self.phis[id as usize].kind = PhiKind::Linear { init, step, guard };
        }
    }

    /// The exit test stands where every iteration begins: in the header or the blocks it runs straight into.
    fn same_test(&self, l: usize, exit: BlockId) -> bool {
        let mut b = self.loops[l].header;
        for _ in 0..8 {
            if b == exit {
                return true;
            }
            match self.cfg.blocks[b.0 as usize].succs[..] {
                [s] => b = s,
                _ => return false,
            }
        }
        false
    }

    fn exit_condition(&mut self, l: usize, b: BlockId) -> Option<Ex> {
        let last = self.cfg.blocks[b.0 as usize].end - 1;
        let i = &self.f.body[last as usize];
        let (r, neg) = i.guard?;
        if i.op != "bra" {
            return None;
        }
        let Some(Operand::Sym(label, _)) = i.args.last() else {
            return None;
        };
        let target = self.block_of(*self.f.labels.get(label)?);
        let taken_leaves = !self.loops[l].blocks.contains(&target);
        let p = self.reg(r);
        let taken = if neg { self.arena.not(p) } else { p };
        Some(if taken_leaves {
            taken
        } else {
            self.arena.not(taken)
        })
    }

    /// Runs the loop's variables by themselves, if numbers alone decide them.
    fn simulate(&mut self, l: usize, forms: &[(u32, Ex, Ex)], exit: Ex) {
        let mut known: HashMap<u32, u64> = HashMap::new();
        let mut steps: Vec<(u32, Ex)> = Vec::new();
        let mut candidates: Vec<&(u32, Ex, Ex)> = forms
            .iter()
            .filter(|f| self.arena.as_const(f.1).is_some())
            .collect();
        loop {
            let ids: Vec<u32> = candidates.iter().map(|f| f.0).collect();
            let before = candidates.len();
            candidates.retain(|f| {
                self.arena
                    .vars(f.2)
                    .iter()
                    .all(|v| matches!(v, Var::Listed(i) if ids.contains(i)))
            });
            if candidates.len() == before {
                break;
            }
        }
        for f in &candidates {
            known.insert(f.0, self.arena.as_const(f.1).unwrap_or(0));
            steps.push((f.0, f.2));
        }
        let decided = self
            .arena
            .vars(exit)
            .iter()
            .all(|v| matches!(v, Var::Listed(i) if known.contains_key(i)));
        if !decided {
            return;
        }
        let mut tables: HashMap<u32, Vec<u64>> = known.keys().map(|k| (*k, Vec::new())).collect();
        for n in 0..MAX_ITERATIONS {
            for (k, v) in &known {
                if let Some(t) = tables.get_mut(k) {
                    t.push(*v);
                }
            }
            let of = |v: Var| match v {
                Var::Listed(i) => known.get(&i).copied(),
                _ => None,
            };
            let Some(out) = self.arena.eval(exit, &of) else {
                return;
            };
            if out == 1 {
                self.loops[l].trip = Some(if self.loops[l].header_exit { n } else { n + 1 } as u64);
                for (id, t) in tables {
                    self.phis[id as usize].kind = PhiKind::Table(t);
                }
                return;
            }
            let mut next = HashMap::new();
            for (id, e) in &steps {
                let Some(v) = self.arena.eval(*e, &of) else {
                    return;
                };
                next.insert(*id, v);
            }
            known = next;
        }
    }

    fn ordered_test(&self, cond: Ex) -> bool {
        match self.arena.node(cond) {
            Node::Not(a) => self.ordered_test(a),
            Node::Cmp(p, ..) => p != Pred::Eq,
            _ => false,
        }
    }

    pub(super) fn exits(&self, l: &Loop) -> usize {
        let leaves = |b: &&BlockId| {
            self.cfg.blocks[b.0 as usize]
                .succs
                .iter()
                .any(|s| !l.blocks.contains(s))
        };
        l.blocks.iter().filter(leaves).count()
    }
}

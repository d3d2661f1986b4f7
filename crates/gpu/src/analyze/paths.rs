//! Which branches decide whether control comes to a place.

use crate::cfg::BlockId;
use crate::ptx::Operand;

use super::expr::Ex;
use super::values::Values;

/// A branch on the way that must go one way.
#[derive(Clone, Copy, Debug)]
pub struct Decision {
    /// Holds for those who go on.
    pub cond: Ex,
    /// The branch instruction.
    pub branch: u32,
    /// Where the others go.
    pub other: BlockId,
}

impl Values<'_> {
    fn postdominates(&self, a: BlockId, mut b: BlockId) -> bool {
        for _ in 0..=self.cfg.blocks.len() {
            if a == b {
                return true;
            }
            match self.cfg.ipdom[b.0 as usize] {
                Some(p) => b = p,
                None => return false,
            }
        }
        false
    }

    /// The branches that decide whether control comes from `top` to `b`; exact if they are all and decide it.
    pub fn decisions(&mut self, top: BlockId, b: BlockId) -> (Vec<Decision>, bool) {
        let mut chain = Vec::new();
        let mut x = b;
        while x != top {
            let Some(d) = self.cfg.idom[x.0 as usize] else {
                return (Vec::new(), false);
            };
            if d == x {
                return (Vec::new(), false);
            }
            chain.push((d, x));
            x = d;
        }
        chain.reverse();
        let mut out = Vec::new();
        let mut exact = true;
        let mut at = top;
        for (d, s) in chain {
            let blk = &self.cfg.blocks[d.0 as usize];
            if blk.succs.len() < 2 {
                continue;
            }
            let branch = blk.end - 1;
            let other = blk.succs.iter().copied().find(|x| *x != s).unwrap_or(s);
            let i = self.f.body[branch as usize].clone();
            let Some((r, neg)) = i.guard else {
                exact = false; // a table of branches
                continue;
            };
            if self.cfg.blocks[s.0 as usize].preds != [d] {
                continue; // a join: both ways lead here
            }
            let taken = match (i.op.as_str(), i.args.last()) {
                ("bra", Some(Operand::Sym(l, _))) => self
                    .f
                    .labels
                    .get(l)
                    .is_some_and(|t| self.cfg.block_of.get(*t as usize) == Some(&s)),
                _ => false,
            };
            if !self.postdominates(d, at) {
                exact = false;
            }
            at = s;
            // Leaving a loop by its only exit happens sooner or later: it is no condition.
            if self
                .loops
                .iter()
                .any(|l| l.blocks.contains(&d) && !l.blocks.contains(&s) && self.exits(l) == 1)
            {
                continue;
            }
            let p = self.reg(r);
            let cond = if taken != neg { p } else { self.arena.not(p) };
            out.push(Decision {
                cond,
                branch,
                other,
            });
        }
        if !self.postdominates(b, at) {
            exact = false;
        }
        (out, exact)
    }

    /// The same as conditions alone.
    pub fn between(&mut self, top: BlockId, b: BlockId) -> (Vec<Ex>, bool) {
        let (all, exact) = self.decisions(top, b);
        (all.iter().map(|d| d.cond).collect(), exact)
    }
}

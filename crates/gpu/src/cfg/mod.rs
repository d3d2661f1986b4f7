//! Control-flow graph of a function: basic blocks, dominators, post-dominators, loops.
//!
//! The reconvergence point of a branch is its immediate post-dominator: the first place that every path from it must
//! pass. Guarded `ret` and `exit` end a block too, with the next instruction as their other way.

mod dom;

use crate::ptx::{Function, Instr, Operand, PtxError};

/// A basic block, by index into `Cfg::blocks`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlockId(pub u32);

/// Instructions `start..end` and the ways out.
#[derive(Clone, Debug)]
pub struct Block {
    pub start: u32,
    pub end: u32,
    pub succs: Vec<BlockId>,
    pub preds: Vec<BlockId>,
}

/// The graph with both dominator trees.
#[derive(Clone, Debug)]
pub struct Cfg {
    pub blocks: Vec<Block>,
    /// Block of each instruction.
    pub block_of: Vec<BlockId>,
    /// Immediate dominator; the entry has itself, unreachable blocks have none.
    pub idom: Vec<Option<BlockId>>,
    /// Immediate post-dominator; none when it is the function's end or when the end cannot be reached.
    pub ipdom: Vec<Option<BlockId>>,
    /// Reverse post-order from the entry.
    pub order: Vec<BlockId>,
}

/// Where control can go after an instruction, besides the next one.
enum Ends {
    No,
    /// Jump to these instruction indices.
    Jump(Vec<u32>),
    /// Leaves the function.
    Leave,
}

fn ends(f: &Function, i: &Instr) -> Result<Ends, PtxError> {
    let target = |name: &str| {
        f.labels
            .get(name)
            .copied()
            .ok_or_else(|| PtxError::new(i.line, format!("no label `{name}` in `{}`", f.name)))
    };
    Ok(match i.op.as_str() {
        "bra" => match i.args.last() {
            Some(Operand::Sym(name, _)) => Ends::Jump(vec![target(name)?]),
            _ => return Err(PtxError::new(i.line, "this branch has no label")),
        },
        "brx" => {
            let Some(Operand::Sym(list, _)) = i.args.get(1) else {
                return Err(PtxError::new(i.line, "brx.idx wants a list of targets"));
            };
            let Some(names) = f.target_lists.get(list) else {
                return Err(PtxError::new(i.line, format!("no .branchtargets `{list}`")));
            };
            Ends::Jump(names.iter().map(|n| target(n)).collect::<Result<_, _>>()?)
        }
        "ret" | "exit" | "trap" => Ends::Leave,
        _ => Ends::No,
    })
}

impl Cfg {
    /// Builds the graph.
    ///
    /// # Errors
    /// A branch to a label that is not there.
    pub fn build(f: &Function) -> Result<Cfg, PtxError> {
        let n = f.body.len() as u32;
        let mut leader = vec![false; n as usize + 1];
        leader[0] = true;
        for &at in f.labels.values() {
            leader[at as usize] = true;
        }
        let mut exits = Vec::with_capacity(n as usize);
        for (k, i) in f.body.iter().enumerate() {
            let e = ends(f, i)?;
            if !matches!(e, Ends::No) {
                leader[k + 1] = true;
            }
            exits.push(e);
        }
        let mut blocks: Vec<Block> = Vec::new();
        let mut block_of = Vec::with_capacity(n as usize);
        for k in 0..n {
            if leader[k as usize] {
                blocks.push(Block {
                    start: k,
                    end: k,
                    succs: Vec::new(),
                    preds: Vec::new(),
                });
            }
            let id = blocks.len() - 1;
            blocks[id].end = k + 1;
            block_of.push(BlockId(id as u32));
        }
        for b in 0..blocks.len() {
            let last = blocks[b].end as usize - 1;
            let mut succs = Vec::new();
            let falls = match &exits[last] {
                Ends::No => true,
                Ends::Leave => f.body[last].guard.is_some(),
                Ends::Jump(to) => {
                    for &t in to {
                        if t < n {
                            succs.push(block_of[t as usize]);
                        }
                    }
                    f.body[last].guard.is_some()
                }
            };
            if falls && last + 1 < n as usize {
                succs.push(block_of[last + 1]);
            }
            succs.sort_unstable();
            succs.dedup();
            for s in &succs {
                blocks[s.0 as usize].preds.push(BlockId(b as u32));
            }
            blocks[b].succs = succs;
        }
        let mut cfg = Cfg {
            blocks,
            block_of,
            idom: Vec::new(),
            ipdom: Vec::new(),
            order: Vec::new(),
        };
        cfg.dominators(|last| match &exits[last as usize] {
            Ends::Leave => true,
            Ends::No => last + 1 == n,
            Ends::Jump(to) => {
                to.iter().any(|&t| t >= n)
                    || (f.body[last as usize].guard.is_some() && last + 1 == n)
            }
        });
        Ok(cfg)
    }

    fn dominators(&mut self, leaves: impl Fn(u32) -> bool) {
        let n = self.blocks.len();
        let succs: Vec<Vec<usize>> = self
            .blocks
            .iter()
            .map(|b| b.succs.iter().map(|s| s.0 as usize).collect())
            .collect();
        let (idom, order) = dom::dominators(n, 0, &succs);
        self.idom = idom.iter().map(|d| d.map(|d| BlockId(d as u32))).collect();
        self.order = order.iter().map(|&b| BlockId(b as u32)).collect();
        // The reverse graph has one more node: the end of the function.
        let mut rev: Vec<Vec<usize>> = self
            .blocks
            .iter()
            .map(|b| b.preds.iter().map(|p| p.0 as usize).collect())
            .collect();
        rev.push((0..n).filter(|&b| leaves(self.blocks[b].end - 1)).collect());
        let (ipdom, _) = dom::dominators(n + 1, n, &rev);
        self.ipdom = (0..n)
            .map(|b| {
                ipdom[b]
                    .filter(|&d| d != n && d != b)
                    .map(|d| BlockId(d as u32))
            })
            .collect();
    }

    /// Does block `a` dominate block `b`?
    pub fn dominates(&self, a: BlockId, mut b: BlockId) -> bool {
        loop {
            if a == b {
                return true;
            }
            match self.idom[b.0 as usize] {
                Some(d) if d != b => b = d,
                _ => return false,
            }
        }
    }

    /// First instruction after which the lanes that parted at `instr` are together again.
    pub fn reconvergence(&self, instr: u32) -> Option<u32> {
        let b = self.block_of.get(instr as usize)?;
        self.ipdom[b.0 as usize].map(|p| self.blocks[p.0 as usize].start)
    }

    /// Natural loops: (header, blocks), inner loops after outer ones with the same header merged.
    pub fn loops(&self) -> Vec<(BlockId, Vec<BlockId>)> {
        let mut out: Vec<(BlockId, Vec<BlockId>)> = Vec::new();
        for &tail in &self.order {
            for &head in &self.blocks[tail.0 as usize].succs {
                if !self.dominates(head, tail) {
                    continue;
                }
                let mut body = vec![head];
                let mut work = vec![tail];
                while let Some(b) = work.pop() {
                    if !body.contains(&b) {
                        body.push(b);
                        work.extend(self.blocks[b.0 as usize].preds.iter().copied());
                    }
                }
                match out.iter_mut().find(|(h, _)| *h == head) {
                    Some((_, all)) => {
                        for b in body {
                            if !all.contains(&b) {
                                all.push(b);
                            }
                        }
                    }
                    None => out.push((head, body)),
                }
            }
        }
        out.sort_by_key(|(_, b)| std::cmp::Reverse(b.len()));
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ptx::parse;

    fn cfg(body: &str) -> Cfg {
        let text = format!(
            ".version 6.0 .target sm_70 .address_size 64 .entry k() {{ .reg .pred %p<9>; {body} }}"
        );
        Cfg::build(&parse(&text).unwrap().functions[0]).unwrap()
    }

    #[test]
    fn a_diamond_meets_at_its_join() {
        let c = cfg("@%p1 bra A; bra B; A: bar.sync 0; bra C; B: bar.sync 1; C: ret;");
        assert_eq!(c.reconvergence(0), Some(5));
        assert_eq!(c.reconvergence(5), None);
    }

    #[test]
    fn a_loop_meets_behind_it() {
        let c = cfg("H: @%p1 bra E; bar.sync 0; bra H; E: ret;");
        assert_eq!(c.reconvergence(0), Some(3));
        assert_eq!(c.loops().len(), 1);
        assert_eq!(c.loops()[0].1.len(), 2);
    }

    #[test]
    fn an_endless_loop_has_no_meeting_point() {
        let c = cfg("H: @%p1 bra H; bra H;");
        assert_eq!(c.reconvergence(0), None);
    }

    #[test]
    fn a_missing_label_is_named() {
        let m = parse(".version 6.0 .target sm_70 .address_size 64 .entry k() {\n bra NOPE; }")
            .unwrap();
        let e = Cfg::build(&m.functions[0]).unwrap_err();
        assert_eq!(e.line, 2);
        assert!(e.what.contains("NOPE"));
    }
}

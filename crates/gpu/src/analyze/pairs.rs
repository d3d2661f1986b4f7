//! Algorithm 1: every pair of accesses of a synchronization block, one of them a write, given to the solver.
//!
//! Three verdicts: a race with a witness, no race, or "monitor at run time". A race is claimed only when the
//! conditions under which both accesses happen are known exactly; "no race" holds even when some are not.

use std::collections::HashMap;
use std::fmt::Write as _;

use crate::check::Relation;
use crate::machine::{Launch, What};
use crate::ptx::Space;

use super::expr::{Ex, Var};
use super::phases::{Phases, Way};
use super::solver::Solver;
use super::values::{PhiKind, Values};

/// A memory instruction of the kernel.
#[derive(Clone, Debug)]
pub struct Site {
    pub instr: u32,
    pub pc: u32,
    pub what: What,
    pub size: u32,
    pub addr: Ex,
    pub space: Option<Space>,
    pub value: Option<Ex>,
    pub conds: Vec<Ex>,
    pub exact: bool,
    /// An atomic that reaches its own block only.
    pub narrow: bool,
}

/// Two threads that race.
#[derive(Clone, Debug)]
pub struct Witness {
    /// Linear thread and block of each side.
    pub threads: [u32; 2],
    pub blocks: [u32; 2],
    pub addr: u64,
    pub relation: Relation,
}

#[derive(Clone, Debug)]
pub enum Verdict {
    Race(Witness),
    Safe,
    Monitor,
}

pub struct Judge<'v, 'a> {
    pub v: &'v Values<'a>,
    pub phases: &'v Phases,
    pub launch: &'v Launch,
    pub warp_size: u32,
    pub independent: bool,
    /// The kernel has `bar.warp.sync`.
    pub warp_barriers: bool,
    /// The kernel has fences or ordered atomics.
    pub fences: bool,
    pub solver: Option<Solver>,
    pub undecided: u32,
    pub asked: u32,
}

/// Which threads a question is about.
#[derive(Clone, Copy, PartialEq)]
enum Between {
    Warps,
    /// Lanes of one warp, in one instruction.
    Instruction,
    /// Lanes of one warp, anywhere.
    Lanes,
    Blocks,
}

impl Judge<'_, '_> {
    /// Decides one pair.
    pub fn judge(&mut self, a: &Site, b: &Site) -> Verdict {
        if a.what == What::Read && b.what == What::Read {
            return Verdict::Safe;
        }
        if a.what == What::Atomic && b.what == What::Atomic {
            let narrow = (a.narrow || b.narrow) && a.space != Some(Space::Shared);
            return if narrow {
                Verdict::Monitor
            } else {
                Verdict::Safe
            };
        }
        match (a.space, b.space) {
            (Some(x), Some(y)) if x != y => return Verdict::Safe,
            (Some(_), Some(_)) => {}
            _ => return Verdict::Monitor,
        }
        if self.v.unknowable(a.addr) || self.v.unknowable(b.addr) {
            return Verdict::Monitor;
        }
        let mut monitor = false;
        let same = a.instr == b.instr;
        let mut questions: Vec<(Between, Option<usize>, Way, Way)> = Vec::new();
        for (k, (_, reached)) in self.phases.starts.iter().enumerate() {
            let (Some(x), Some(y)) = (reached.get(&a.instr), reached.get(&b.instr)) else {
                continue;
            };
            for &p in x {
                for &q in y {
                    if self.launch.block.iter().product::<u32>() > self.warp_size {
                        questions.push((Between::Warps, Some(k), p, q));
                    }
                    if same && p == q {
                        questions.push((Between::Instruction, Some(k), p, q));
                    }
                    if self.independent {
                        questions.push((Between::Lanes, Some(k), p, q));
                    }
                }
            }
        }
        let none = Way { later: 0, first: 0 };
        if a.space == Some(Space::Global) && self.launch.grid.iter().product::<u32>() > 1 {
            questions.push((Between::Blocks, None, none, none));
        }
        for (between, start, p, q) in questions {
            match self.ask(a, b, between, start, p, q) {
                None => monitor = true,
                Some(None) => {}
                Some(Some(w)) => {
                    let ordered_maybe = self.fences && between != Between::Instruction
                        || between == Between::Lanes && self.warp_barriers;
                    // Equal values are for the run to judge when they cannot be told apart here.
                    let values_matter = a.what == What::Write && b.what == What::Write;
                    let told = !values_matter || self.values_known(a, b);
                    if a.exact && b.exact && told && !ordered_maybe {
                        return Verdict::Race(w);
                    }
                    monitor = true;
                }
            }
        }
        if monitor {
            Verdict::Monitor
        } else {
            Verdict::Safe
        }
    }

    fn values_known(&self, a: &Site, b: &Site) -> bool {
        matches!((a.value, b.value), (Some(x), Some(y)) if !self.v.unknowable(x) && !self.v.unknowable(y))
    }

    /// None: not decided. Some(None): impossible. Some(Some(w)): possible, for example w.
    fn ask(
        &mut self,
        a: &Site,
        b: &Site,
        between: Between,
        start: Option<usize>,
        p: Way,
        q: Way,
    ) -> Option<Option<Witness>> {
        let mut text = String::new();
        let names = self.problem(&mut text, a, b, between, start, p, q)?;
        self.asked += 1;
        let Some(s) = &mut self.solver else {
            self.undecided += 1;
            return None;
        };
        let Some(answer) = s.solve(&text, &names) else {
            self.undecided += 1;
            return None;
        };
        Some(answer.map(|v| {
            let relation = match between {
                Between::Warps => Relation::Warps,
                Between::Instruction => Relation::SameInstruction,
                Between::Lanes => Relation::SameWarp,
                Between::Blocks => Relation::Blocks,
            };
            Witness {
                threads: [v[0] as u32, v[1] as u32],
                blocks: [v[2] as u32, v[3] as u32],
                addr: v[4],
                relation,
            }
        }))
    }

    #[allow(clippy::too_many_arguments)]
    fn problem(
        &self,
        t: &mut String,
        a: &Site,
        b: &Site,
        between: Between,
        start: Option<usize>,
        p: Way,
        q: Way,
    ) -> Option<Vec<String>> {
        let [bx, by, bz] = self.launch.block;
        let [gx, gy, gz] = self.launch.grid;
        let across = between == Between::Blocks;
        for n in 1..=2 {
            for (ax, limit) in [("x", bx), ("y", by), ("z", bz)] {
                let _ = writeln!(
                    t,
                    "(declare-const t{n}{ax} (_ BitVec 32))(assert (bvult t{n}{ax} (_ bv{limit} 32)))"
                );
            }
            let _ = writeln!(
                t,
                "(define-fun lin{n} () (_ BitVec 32) (bvadd t{n}x (bvadd (bvmul t{n}y (_ bv{bx} 32)) (bvmul t{n}z (_ bv{} 32)))))",
                bx * by
            );
            if n == 1 || across {
                for (ax, limit) in [("x", gx), ("y", gy), ("z", gz)] {
                    let _ = writeln!(
                        t,
                        "(declare-const c{n}{ax} (_ BitVec 32))(assert (bvult c{n}{ax} (_ bv{limit} 32)))"
                    );
                }
            } else {
                for ax in ["x", "y", "z"] {
                    let _ = writeln!(t, "(define-fun c2{ax} () (_ BitVec 32) c1{ax})");
                }
            }
            let _ = writeln!(
                t,
                "(define-fun blk{n} () (_ BitVec 32) (bvadd c{n}x (bvadd (bvmul c{n}y (_ bv{gx} 32)) (bvmul c{n}z (_ bv{} 32)))))",
                u64::from(gx) * u64::from(gy)
            );
        }
        let shift = self.warp_size.trailing_zeros();
        let warp = |n: u32| format!("(bvlshr lin{n} (_ bv{shift} 32))");
        let _ = match between {
            Between::Warps => writeln!(t, "(assert (not (= {} {})))", warp(1), warp(2)),
            Between::Instruction | Between::Lanes => {
                writeln!(
                    t,
                    "(assert (= {} {}))(assert (not (= lin1 lin2)))",
                    warp(1),
                    warp(2)
                )
            }
            Between::Blocks => writeln!(t, "(assert (not (= blk1 blk2)))"),
        };
        let mut loops: HashMap<(u32, u32), String> = HashMap::new();
        let mut addrs = Vec::new();
        let mut values = Vec::new();
        for (n, s, way) in [(1u32, a, p), (2, b, q)] {
            let mut done = HashMap::new();
            self.left_loops(t, s, start, way, &mut loops);
            let mut listed: Vec<u32> = Vec::new();
            let mut all = vec![s.addr];
            all.extend(s.conds.iter().copied().filter(|c| !self.v.unknowable(*c)));
            if let Some(v) = s.value.filter(|v| !self.v.unknowable(*v)) {
                all.push(v);
            }
            for e in &all {
                self.collect(*e, &mut listed);
            }
            // Definitions come before uses: inner variables may start from outer ones.
            for id in listed {
                self.loop_variable(t, n, id, s, start, way, between, &mut loops, &mut done)?;
            }
            let name = |v: Var| var_name(n, v);
            let tag = format!("e{n}_");
            let addr = self.v.arena.smt(s.addr, &tag, t, &mut done, &name);
            addrs.push(addr);
            for c in s.conds.iter().filter(|c| !self.v.unknowable(**c)) {
                let c = self.v.arena.smt(*c, &tag, t, &mut done, &name);
                let _ = writeln!(t, "(assert {c})");
            }
            if let Some(v) = s.value.filter(|v| !self.v.unknowable(*v)) {
                values.push((
                    self.v.arena.smt(v, &tag, t, &mut done, &name),
                    self.v.arena.width(v),
                ));
            }
        }
        let (x, y) = (&addrs[0], &addrs[1]);
        if a.size == b.size {
            let _ = writeln!(t, "(assert (= {x} {y}))");
        } else {
            let _ = writeln!(
                t,
                "(assert (and (bvult {x} (bvadd {y} (_ bv{} 64))) (bvult {y} (bvadd {x} (_ bv{} 64)))))",
                b.size, a.size
            );
        }
        if a.what == What::Write
            && b.what == What::Write
            && let [(v, w), (u, z)] = &values[..]
            && w == z
            && a.size == b.size
        {
            let _ = writeln!(t, "(assert (not (= {v} {u})))");
        }
        let _ = writeln!(t, "(define-fun hit () (_ BitVec 64) {x})");
        Some(
            ["lin1", "lin2", "blk1", "blk2", "hit"]
                .iter()
                .map(|s| (*s).to_string())
                .collect(),
        )
    }

    /// Declares the iteration in which the phase starts.
    fn phase_iteration(&self, t: &mut String, l: u32, loops: &mut HashMap<(u32, u32), String>) {
        if loops.insert((0, l), format!("k0_{l}")).is_none() {
            let limit = self.v.loops[l as usize].trip.unwrap_or(0) + 1;
            let _ = writeln!(
                t,
                "(declare-const k0_{l} (_ BitVec 64))(assert (bvult k0_{l} (_ bv{limit} 64)))"
            );
        }
    }

    /// An access behind a loop in which the phase starts is reached only from the loop's last iteration.
    fn left_loops(
        &self,
        t: &mut String,
        s: &Site,
        start: Option<usize>,
        way: Way,
        loops: &mut HashMap<(u32, u32), String>,
    ) {
        let Some(at) = start.and_then(|k| self.phases.starts[k].0) else {
            return;
        };
        let (from, to) = (
            self.v.cfg.block_of[at as usize],
            self.v.cfg.block_of[s.instr as usize],
        );
        for (l, lp) in self.v.loops.iter().enumerate() {
            if !self.phases.barrier_loops[l]
                || !lp.blocks.contains(&from)
                || lp.blocks.contains(&to)
            {
                continue;
            }
            self.phase_iteration(t, l as u32, loops);
            let trip = lp.trip.unwrap_or(0);
            let later = u64::from(way.later >> l & 1 == 1);
            let last = if lp.header_exit {
                trip.wrapping_sub(later)
            } else {
                trip.wrapping_sub(1)
            };
            let _ = writeln!(t, "(assert (= k0_{l} (_ bv{last} 64)))");
        }
    }

    /// Loop variables of an expression, those they start from first.
    fn collect(&self, e: Ex, out: &mut Vec<u32>) {
        for v in self.v.arena.vars(e) {
            if let Var::Listed(id) = v
                && !out.contains(&id)
            {
                if let PhiKind::Linear { init, .. } = self.v.phis[id as usize].kind {
                    self.collect(init, out);
                }
                out.push(id);
            }
        }
    }

    /// Name of the iteration of loop `l` for side `n`, declared on first use.
    #[allow(clippy::too_many_arguments)]
    fn iteration(
        &self,
        t: &mut String,
        n: u32,
        l: u32,
        s: &Site,
        start: Option<usize>,
        way: Way,
        between: Between,
        loops: &mut HashMap<(u32, u32), String>,
    ) -> Option<String> {
        if let Some(x) = loops.get(&(n, l)) {
            return Some(x.clone());
        }
        let lp = &self.v.loops[l as usize];
        let block = self.v.cfg.block_of[s.instr as usize];
        let at_header = lp.header_exit && block == lp.header;
        let outside = !lp.blocks.contains(&block);
        let name = format!("k{n}_{l}");
        if outside {
            // Behind the loop, its variables have the values with which the test ended it.
            let last = lp.trip.filter(|_| lp.header_exit)?;
            let _ = writeln!(t, "(define-fun {name} () (_ BitVec 64) (_ bv{last} 64))");
            loops.insert((n, l), name.clone());
            return Some(name);
        }
        let limit = lp.trip.map_or(1 << 24, |x| x + u64::from(at_header));
        let bit = 1u64 << l;
        let in_step = start.is_some() && self.phases.barrier_loops[l as usize];
        if in_step && way.first & bit != 0 {
            let _ = writeln!(
                t,
                "(define-fun {name} () (_ BitVec 64) (_ bv{} 64))",
                u64::from(way.later & bit != 0)
            );
        } else if in_step {
            self.phase_iteration(t, l, loops);
            let off = u64::from(way.later & bit != 0);
            let _ = writeln!(
                t,
                "(define-fun {name} () (_ BitVec 64) (bvadd k0_{l} (_ bv{off} 64)))"
            );
        } else if n == 2 && between == Between::Instruction && loops.contains_key(&(1, l)) {
            // the same instruction at the same time is the same iteration
            let _ = writeln!(t, "(define-fun {name} () (_ BitVec 64) k1_{l})");
        } else {
            let _ = writeln!(t, "(declare-const {name} (_ BitVec 64))");
        }
        let _ = writeln!(t, "(assert (bvult {name} (_ bv{limit} 64)))");
        loops.insert((n, l), name.clone());
        Some(name)
    }

    #[allow(clippy::too_many_arguments)]
    fn loop_variable(
        &self,
        t: &mut String,
        n: u32,
        id: u32,
        s: &Site,
        start: Option<usize>,
        way: Way,
        between: Between,
        loops: &mut HashMap<(u32, u32), String>,
        done: &mut HashMap<Ex, String>,
    ) -> Option<()> {
        let phi = &self.v.phis[id as usize];
        let w = phi.width;
        let k = self.iteration(t, n, phi.loop_id, s, start, way, between, loops)?;
        let me = var_name(n, Var::Listed(id));
        // The iteration cut to the variable's width.
        let cut = if w == 64 {
            k.clone()
        } else {
            format!("((_ extract {} 0) {k})", w - 1)
        };
        match &phi.kind {
            PhiKind::Table(list) => {
                let step = if list.len() > 1 {
                    list[1].wrapping_sub(list[0])
                } else {
                    0
                };
                let m = if w == 64 { u64::MAX } else { (1 << w) - 1 };
                let even = list
                    .windows(2)
                    .all(|x| x[1].wrapping_sub(x[0]) & m == step & m);
                if even {
                    let _ = writeln!(
                        t,
                        "(define-fun {me} () (_ BitVec {w}) (bvadd (_ bv{} {w}) (bvmul (_ bv{} {w}) {cut})))",
                        list.first()? & m,
                        step & m
                    );
                } else if list.len() <= 128 {
                    let _ = writeln!(t, "(declare-const {me} (_ BitVec {w}))");
                    let mut or = String::from("(or");
                    for (i, v) in list.iter().enumerate() {
                        let _ = write!(or, " (and (= {k} (_ bv{i} 64)) (= {me} (_ bv{v} {w})))");
                    }
                    let _ = writeln!(t, "(assert {or}))");
                } else {
                    return None;
                }
            }
            PhiKind::Linear { init, step, guard } => {
                let m = if w == 64 { u64::MAX } else { (1 << w) - 1 };
                let name = |v: Var| var_name(n, v);
                let i = self.v.arena.smt(*init, &format!("e{n}_"), t, done, &name);
                let _ = writeln!(
                    t,
                    "(define-fun {me} () (_ BitVec {w}) (bvadd {i} (bvmul (_ bv{} {w}) {cut})))",
                    step & m
                );
                if *guard && w < 64 {
                    let sh = 64 - u32::from(w);
                    let wide = ((*step << sh) as i64 >> sh) as u64;
                    let _ = writeln!(
                        t,
                        "(assert (= ((_ sign_extend {sh}) {me}) (bvadd ((_ sign_extend {sh}) {i}) (bvmul (_ bv{wide} 64) {k}))))"
                    );
                }
            }
            PhiKind::Unknown => return None,
        }
        Some(())
    }
}

pub(super) fn var_name(n: u32, v: Var) -> String {
    let axis = |k: u8| ["x", "y", "z"][usize::from(k.min(2))];
    match v {
        Var::Tid(k) => format!("t{n}{}", axis(k)),
        Var::Ctaid(k) => format!("c{n}{}", axis(k)),
        Var::Listed(id) => format!("p{n}_{id}"),
        Var::Unknown(d) => format!("u{n}_{d}"),
    }
}

//! Barriers that some threads of a block reach and others do not, decided before the launch.
//!
//! Guarantee: what is reported happens in this launch, by the rule of CUDA and OpenCL: a barrier in conditional code is
//! allowed only if all threads of the block decide alike. Not counted as divergence: threads that have nothing left to
//! do (an early return; the hardware counts them as arrived), and threads whose other way leads to a barrier in any
//! case, because warps may meet at different ones. What cannot be told here, such as loops whose number of turns
//! depends on the thread, is left to the run.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

use deadheat_model::Finding;

use crate::cfg::BlockId;
use crate::frontend::finding::{Scene, lines, static_divergence};
use crate::machine::Launch;

use super::expr::{Ex, Var};
use super::pairs::var_name;
use super::paths::Decision;
use super::phases::is_barrier;
use super::solver::Solver;
use super::values::{PhiKind, Values};

/// Iterations of a loop that are tried.
const MOST_TURNS: usize = 64;

/// All barriers that are certain to diverge, and how often z3 was asked.
pub fn find(
    scene: &Scene<'_>,
    launch: &Launch,
    v: &mut Values<'_>,
    solver: &mut Solver,
) -> (Vec<Finding>, u32) {
    let mut out: Vec<Finding> = Vec::new();
    let mut asked = 0;
    let barriers: Vec<u32> = (0..v.f.body.len() as u32)
        .filter(|k| is_barrier(v, *k))
        .collect();
    for b in barriers {
        let i = &v.f.body[b as usize];
        if i.guard.is_some() || i.args.len() > 1 {
            continue;
        }
        let block = v.cfg.block_of[b as usize];
        let (all, exact) = v.decisions(BlockId(0), block);
        let known = |d: &Decision| !v.unknowable(d.cond);
        if !exact || !all.iter().all(known) || all.iter().all(|d| v.uniform(d.cond)) {
            continue;
        }
        let (wrong, fine): (Vec<Decision>, Vec<Decision>) =
            all.iter().partition(|d| goes_past(v, d.other));
        if wrong.iter().all(|d| v.uniform(d.cond)) {
            continue;
        }
        let Some(turns) = turns(v, &all) else {
            continue;
        };
        for turn in turns {
            asked += 1;
            let (text, names) = problem(v, launch, &all, &fine, &wrong, &turn);
            let Some(Some(w)) = solver.solve(&text, &names) else {
                continue;
            };
            let pc = |k: u32| {
                let sites = &scene.program.sites;
                let func = scene.program.kernel_func;
                let at = sites.iter().position(|s| s.func == func && s.index == k);
                at.map(|p| p as u32)
            };
            let Some(at) = pc(b) else { break };
            let branch = wrong
                .iter()
                .find(|d| !v.uniform(d.cond))
                .and_then(|d| pc(d.branch));
            let f = static_divergence(scene, at, w[2] as u32, w[0] as u32, w[1] as u32, branch);
            if !out.iter().any(|g| lines(g) == lines(&f)) {
                out.push(f);
            }
            break;
        }
    }
    (out, asked)
}

/// Do threads that go here have work left, and can they do it without passing a barrier?
fn goes_past(v: &Values<'_>, start: BlockId) -> bool {
    let (mut seen, mut work) = (HashSet::new(), vec![start]);
    let (mut effects, mut ends) = (false, false);
    while let Some(b) = work.pop() {
        if !seen.insert(b) {
            continue;
        }
        let blk = &v.cfg.blocks[b.0 as usize];
        let mut stopped = false;
        for k in blk.start..blk.end {
            let i = &v.f.body[k as usize];
            if is_barrier(v, k) {
                stopped = true;
                break;
            }
            effects |= matches!(i.op.as_str(), "st" | "atom" | "red" | "call");
        }
        if stopped {
            continue;
        }
        ends |= blk.succs.is_empty();
        work.extend(blk.succs.iter().copied());
    }
    effects && ends
}

type Turn = HashMap<u32, u64>;

/// Values of the loop variables in each turn of the one loop that the decisions depend on; a single empty turn if they
/// depend on none.
fn turns(v: &Values<'_>, all: &[Decision]) -> Option<Vec<Turn>> {
    let mut ids: Vec<u32> = Vec::new();
    for d in all {
        for x in v.arena.vars(d.cond) {
            if let Var::Listed(id) = x
                && !ids.contains(&id)
            {
                ids.push(id);
            }
        }
    }
    let mut tables = Vec::new();
    for id in ids {
        let phi = &v.phis[id as usize];
        let PhiKind::Table(t) = &phi.kind else {
            return None;
        };
        tables.push((id, phi.loop_id, t));
    }
    let Some(&(_, first, _)) = tables.first() else {
        return Some(vec![Turn::new()]);
    };
    if tables.iter().any(|t| t.1 != first) {
        return None;
    }
    let n = tables.iter().map(|t| t.2.len()).min()?.min(MOST_TURNS);
    Some(
        (0..n)
            .map(|k| tables.iter().map(|(id, _, t)| (*id, t[k])).collect())
            .collect(),
    )
}

/// Two threads of a block: the first comes to the barrier, the second goes past it.
fn problem(
    v: &Values<'_>,
    launch: &Launch,
    all: &[Decision],
    fine: &[Decision],
    wrong: &[Decision],
    turn: &Turn,
) -> (String, Vec<String>) {
    let mut t = String::new();
    let [bx, by, bz] = launch.block;
    let [gx, gy, gz] = launch.grid;
    for (ax, limit) in [("x", gx), ("y", gy), ("z", gz)] {
        let _ = writeln!(
            t,
            "(declare-const c1{ax} (_ BitVec 32))(assert (bvult c1{ax} (_ bv{limit} 32)))(define-fun c2{ax} () (_ BitVec 32) c1{ax})"
        );
    }
    for n in 1..=2u32 {
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
        for (id, value) in turn {
            let w = v.phis[*id as usize].width;
            let _ = writeln!(
                t,
                "(define-fun {} () (_ BitVec {w}) (_ bv{value} {w}))",
                var_name(n, Var::Listed(*id))
            );
        }
        let mut done = HashMap::new();
        let name = |x: Var| var_name(n, x);
        let mut smt = |t: &mut String, e: Ex| {
            let tag = format!("e{n}_");
            v.arena.smt(e, &tag, t, &mut done, &name)
        };
        let must: &[Decision] = if n == 1 { all } else { fine };
        for d in must {
            let c = smt(&mut t, d.cond);
            let _ = writeln!(t, "(assert {c})");
        }
        if n == 2 {
            let names: Vec<String> = wrong.iter().map(|d| smt(&mut t, d.cond)).collect();
            let _ = writeln!(t, "(assert (not (and true {})))", names.join(" "));
        }
    }
    let _ = writeln!(
        t,
        "(define-fun blk1 () (_ BitVec 32) (bvadd c1x (bvadd (bvmul c1y (_ bv{gx} 32)) (bvmul c1z (_ bv{} 32)))))",
        u64::from(gx) * u64::from(gy)
    );
    let names = ["lin1", "lin2", "blk1"];
    (t, names.iter().map(|s| (*s).to_string()).collect())
}

//! The static analyzer: what can be decided about a launch before it runs.
//!
//! Paper: GRace (PPoPP 2011), Algorithm 1.
//! Guarantee: a race it claims happens in this launch; a pair it calls safe cannot race in this launch; everything
//! else is left to the run, and counted.
//!
//! | paper                          | here                                              |
//! |--------------------------------|---------------------------------------------------|
//! | synchronization block          | `phases`: accesses reached from one barrier       |
//! | static_determinable            | `Values::unknowable` is false                     |
//! | gen_constraints, solver        | `pairs`, `expr`, `solver` (bit vectors, z3)       |
//! | loop and thread invariant      | `Monitor::Reduced`                                |
//!
//! Deviations: 1. The launch is known, so sizes and scalar arguments are numbers. 2. Bit vectors instead of linear
//! integers: shifts, masks and wrap-around are exact. 3. Global memory is analyzed too. 4. A thread-invariant write is
//! a race only if the values differ; else it is for the run to say.

mod divergence;
mod expr;
mod loops;
mod pairs;
mod paths;
mod phases;
mod solver;
mod values;

use deadheat_model::Finding;
use serde::Serialize;

use crate::cfg::{BlockId, Cfg};
use crate::check::{Monitor, Side};
use crate::frontend::finding::{Scene, lines, static_race};
use crate::machine::program::{Kind, SHARED_WINDOW, Scope, Strength};
use crate::machine::{Launch, What};
use crate::ptx::{Operand, Space};

use pairs::{Judge, Site, Verdict};
use values::Values;

/// More pairs than this are left to the run.
const MAX_PAIRS: usize = 400;

/// What the analyzer decided, in numbers.
#[derive(Clone, Debug, Default, Serialize, PartialEq)]
pub struct Summary {
    pub pairs: u32,
    pub races: u32,
    pub safe: u32,
    pub monitored: u32,
    /// Memory instructions of the kernel, and those that the run must record.
    pub accesses: u32,
    pub recorded: u32,
    pub questions: u32,
}

impl Summary {
    pub fn sentence(&self) -> String {
        format!(
            "analysis of {} pairs of accesses: {} race, {} cannot, {} left to the run ({} of {} instructions recorded)",
            self.pairs, self.races, self.safe, self.monitored, self.recorded, self.accesses
        )
    }
}

/// Findings, the recording plan, and what could not be decided.
#[derive(Debug, Default)]
pub struct Analysis {
    pub findings: Vec<Finding>,
    pub plan: Vec<Monitor>,
    pub notes: Vec<String>,
    pub summary: Summary,
}

/// Analyzes a launch.
pub fn run(scene: &Scene<'_>, launch: &Launch) -> Analysis {
    let mut out = Analysis::default();
    let p = scene.program;
    let Some(f) = scene.module.functions.get(p.kernel_func as usize) else {
        return out;
    };
    let Ok(cfg) = Cfg::build(f) else { return out };
    let leave = |out: &mut Analysis, why: &str| {
        out.notes.push(format!(
            "the analyzer leaves `{}` to the run: {why}",
            crate::frontend::names::short(&p.kernel)
        ));
    };
    let elsewhere = p.sites.iter().zip(&p.ops).any(|(s, o)| {
        s.func != p.kernel_func
            && matches!(
                o.kind,
                Kind::Ld {
                    space: Space::Shared | Space::Global | Space::Generic,
                    ..
                } | Kind::St {
                    space: Space::Shared | Space::Global | Space::Generic,
                    ..
                } | Kind::Atom { .. }
                    | Kind::Bar { .. }
            )
    });
    if elsewhere {
        leave(&mut out, "it calls functions that were not inlined");
        return out;
    }
    let mut v = Values::new(f, &cfg, scene, launch);
    let sites = sites(scene, &mut v);
    out.summary.accesses = sites.len() as u32;
    out.summary.recorded = sites.len() as u32;
    let instrs: Vec<u32> = sites.iter().map(|s| s.instr).collect();
    let mut solver = solver::Solver::find();
    if let Some(s) = &mut solver {
        let (found, asked) = divergence::find(scene, launch, &mut v, s);
        out.findings = found;
        out.summary.questions = asked;
    }
    if let Some(why) = p.ops.iter().find_map(|o| beyond(&o.kind)) {
        leave(&mut out, why);
        return out;
    }
    let phases = match phases::phases(&mut v, &instrs) {
        Ok(p) => p,
        Err(why) => {
            leave(&mut out, &why);
            return out;
        }
    };
    let no_solver = solver.is_none();
    let ordered = |s: Strength| {
        matches!(
            s,
            Strength::Acquire(_) | Strength::Release(_) | Strength::AcqRel(_)
        )
    };
    let fences = p.ops.iter().any(|o| match o.kind {
        Kind::Fence(_) => true,
        Kind::Ld { strength, .. } | Kind::St { strength, .. } | Kind::Atom { strength, .. } => {
            ordered(strength)
        }
        _ => false,
    });
    let mut judge = Judge {
        v: &v,
        phases: &phases,
        launch,
        warp_size: scene.warp_size,
        independent: scene.independent,
        warp_barriers: p.ops.iter().any(|o| matches!(o.kind, Kind::BarWarp)),
        fences,
        solver,
        undecided: 0,
        asked: 0,
    };
    let mut keep = vec![false; sites.len()];
    let mut pairs = 0;
    for i in 0..sites.len() {
        for j in i..sites.len() {
            let (a, b) = (&sites[i], &sites[j]);
            if a.what == What::Read && b.what == What::Read {
                continue;
            }
            pairs += 1;
            let verdict = if pairs > MAX_PAIRS {
                Verdict::Monitor
            } else {
                judge.judge(a, b)
            };
            match verdict {
                Verdict::Safe => out.summary.safe += 1,
                Verdict::Monitor => {
                    out.summary.monitored += 1;
                    keep[i] = true;
                    keep[j] = true;
                }
                Verdict::Race(w) => {
                    out.summary.races += 1;
                    let side = |s: &Site, k: usize| Side {
                        pc: s.pc,
                        what: s.what,
                        block: w.blocks[k],
                        thread: w.threads[k],
                        phase: 0,
                    };
                    let space = a.space.unwrap_or(Space::Shared);
                    let f = static_race(
                        scene,
                        [&side(a, 0), &side(b, 1)],
                        a.size.min(b.size),
                        w.relation,
                        space,
                        w.addr,
                    );
                    if !out.findings.iter().any(|g| lines(g) == lines(&f)) {
                        out.findings.push(f);
                    }
                }
            }
        }
    }
    out.summary.pairs = pairs as u32;
    out.summary.questions += judge.asked;
    if no_solver && judge.undecided > 0 {
        out.notes.push(format!(
            "z3 was not found, so {} pairs could not be decided before running and are left to the run (install it with: apt install libz3-4)",
            out.summary.monitored
        ));
    } else if judge.undecided > 0 {
        out.notes.push(format!(
            "z3 gave no answer for {} questions; those pairs are left to the run",
            judge.undecided
        ));
    }
    if pairs > MAX_PAIRS {
        out.notes.push(format!(
            "{} pairs of accesses beyond the first {MAX_PAIRS} are left to the run",
            pairs - MAX_PAIRS
        ));
    }
    out.plan = vec![Monitor::Always; p.ops.len()];
    out.summary.recorded = keep.iter().filter(|k| **k).count() as u32;
    for (s, keep) in sites.iter().zip(keep) {
        out.plan[s.pc as usize] = if keep {
            reduced(&v, &phases, s, scene)
        } else {
            Monitor::Never
        };
    }
    out
}

/// Thread-invariant reads need one lane; loop-invariant addresses need one iteration of a phase.
fn reduced(v: &Values<'_>, phases: &phases::Phases, s: &Site, scene: &Scene<'_>) -> Monitor {
    let one_lane = s.what == What::Read && v.uniform(s.addr) && !scene.independent;
    let depends = v.depends_on_loops(s.addr);
    let block = v.cfg.block_of[s.instr as usize];
    let free = v
        .loops
        .iter()
        .enumerate()
        .any(|(l, lp)| lp.blocks.contains(&block) && !phases.barrier_loops[l]);
    let varies = depends.iter().any(|l| {
        !phases.barrier_loops[*l as usize] && v.loops[*l as usize].blocks.contains(&block)
    });
    // Writes of changing values must be seen each time; reads of one place need not.
    let once_per_phase = free && !varies && s.what == What::Read && !scene.independent;
    if one_lane || once_per_phase {
        Monitor::Reduced {
            one_lane,
            once_per_phase,
        }
    } else {
        Monitor::Always
    }
}

/// What pairs of loads and stores between barriers do not describe.
fn beyond(k: &Kind) -> Option<&'static str> {
    match k {
        Kind::CpAsync => Some("it copies to shared memory asynchronously"),
        Kind::Mbarrier(_) => Some("it has barriers in shared memory (mbarrier)"),
        Kind::Tex(_) | Kind::Surf(_) => Some("it uses textures or surfaces"),
        Kind::Tile(_) => Some("it multiplies matrices warp by warp"),
        _ => None,
    }
}

/// The kernel's accesses to shared and global memory.
fn sites(scene: &Scene<'_>, v: &mut Values<'_>) -> Vec<Site> {
    let p = scene.program;
    let mut out = Vec::new();
    for (pc, (info, op)) in p.sites.iter().zip(&p.ops).enumerate() {
        if info.func != p.kernel_func {
            continue;
        }
        let (space, what, size) = match op.kind {
            Kind::Ld { space, ty, n, .. } => (space, What::Read, ty.bytes() * u32::from(n)),
            Kind::St { space, ty, n, .. } => (space, What::Write, ty.bytes() * u32::from(n)),
            Kind::Atom { space, ty, .. } => (space, What::Atomic, ty.bytes()),
            _ => continue,
        };
        if !matches!(space, Space::Shared | Space::Global | Space::Generic) {
            continue;
        }
        let narrow = matches!(
            op.kind,
            Kind::Atom {
                strength: Strength::Relaxed(Scope::Cta)
                    | Strength::Acquire(Scope::Cta)
                    | Strength::Release(Scope::Cta)
                    | Strength::AcqRel(Scope::Cta),
                ..
            }
        );
        let i = v.f.body[info.index as usize].clone();
        let Some(mem) = i.args.iter().find(|a| matches!(a, Operand::Mem(..))) else {
            continue;
        };
        let addr = v.address(info.index, mem);
        let space = match space {
            Space::Shared => Some(Space::Shared),
            Space::Global => Some(Space::Global),
            _ => guess_space(v, addr),
        };
        // Offsets of shared memory, whatever window they came through.
        let addr = if space == Some(Space::Shared) {
            let m = v.arena.constant(0xffff_ffff, 64);
            v.arena.bin(expr::Bv::And, addr, m)
        } else {
            addr
        };
        let value = match (what, i.args.last()) {
            (What::Write, Some(Operand::Reg(r))) if !v.f.regs[r.0 as usize].1.float() => {
                Some(v.reg(*r))
            }
            (What::Write, Some(Operand::Imm(x))) => {
                Some(v.arena.constant(*x as u64, (size * 8).min(64) as u8))
            }
            _ => None,
        };
        let block = v.cfg.block_of[info.index as usize];
        let (mut conds, mut exact) = v.between(BlockId(0), block);
        if let Some((r, neg)) = i.guard {
            let g = v.reg(r);
            conds.push(if neg { v.arena.not(g) } else { g });
        }
        if conds.iter().any(|c| v.unknowable(*c)) {
            exact = false;
        }
        // In a loop whose end is not known, an iteration may not happen.
        if v.loops
            .iter()
            .any(|l| l.blocks.contains(&block) && l.trip.is_none() && !l.header_exit)
        {
            exact = false;
        }
        out.push(Site {
            instr: info.index,
            pc: pc as u32,
            what,
            size,
            addr,
            space,
            value,
            conds,
            exact,
            narrow,
        });
    }
    out
}

/// Where a generic address points: arithmetic cannot lead from one space to another, so the one pointer in the sum
/// decides.
fn guess_space(v: &Values<'_>, addr: expr::Ex) -> Option<Space> {
    let mut pointers = Vec::new();
    let mut work = vec![addr];
    while let Some(e) = work.pop() {
        match v.arena.node(e) {
            // No offset is that large; no pointer is smaller, whether of a window or of this process.
            expr::Node::Const(c, 64) if (c as i64) > 1 << 32 => pointers.push(c),
            expr::Node::Bin(expr::Bv::Add, a, b, 64) => work.extend([a, b]),
            expr::Node::Bin(expr::Bv::Sub, a, _, 64) => work.push(a),
            expr::Node::Bin(expr::Bv::Or | expr::Bv::And | expr::Bv::Xor, ..)
            | expr::Node::Ite(..) => return None,
            // A loop's pointer: all its values must agree.
            expr::Node::Var(expr::Var::Listed(id), 64) => match &v.phis[id as usize].kind {
                values::PhiKind::Table(t) => {
                    let first = *t.first()?;
                    if t.iter().any(|x| window(*x) != window(first)) {
                        return None;
                    }
                    if (first as i64) > 1 << 32 {
                        pointers.push(first);
                    }
                }
                values::PhiKind::Linear { init, .. } => work.push(*init),
                values::PhiKind::Unknown => return None,
            },
            _ => {}
        }
    }
    let [p] = pointers.as_slice() else {
        return None;
    };
    window(*p)
}

/// The space that a pointer lies in, or nearly: an array's element -1 is still the array's.
fn window(p: u64) -> Option<Space> {
    const NEAR: u64 = 1 << 32;
    if p.abs_diff(SHARED_WINDOW) < NEAR {
        Some(Space::Shared)
    } else {
        // Addresses of a process have 47 bits.
        (p > NEAR && p < 1 << 47).then_some(Space::Global)
    }
}

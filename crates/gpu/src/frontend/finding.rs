//! A finding about a kernel, as data: what every sink prints and what the report model is made from.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::check::{Checked, Race, Relation, Side};
use crate::machine::program::{Program, SHARED_WINDOW};
use crate::machine::{FaultKind, Memory, What};
use crate::ptx::{Module, Space};

use super::names::short;

/// One side of a finding.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct GpuAccess {
    /// `read`, `write`, `atomic`, `barrier`, ...
    pub op: String,
    pub file: String,
    pub line: u32,
    pub column: u32,
    pub function: String,
    /// Line of the PTX, for those who read it.
    pub ptx_line: u32,
    pub block: [u32; 3],
    pub thread: [u32; 3],
    pub warp: u32,
    pub lane: u32,
    /// Barriers that the thread had passed.
    pub phase: u32,
}

/// How much of the launch took part.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq)]
pub struct GpuCounts {
    pub thread_pairs: u64,
    pub threads: u64,
    pub warp_pairs: u64,
    pub blocks: u64,
    pub addresses: u64,
    pub times: u64,
}

/// A bug in a kernel.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct GpuFinding {
    /// `data-race`, `barrier-divergence`, `out-of-bounds`, `misaligned`, `uninitialized-shared`, `barrier-deadlock`,
    /// `assert`, `trap`, `bad-call`, `bad-free`, `stack-overflow`, `step-limit`.
    pub kind: String,
    pub kernel: String,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    /// `lockstep` or `independent`, and the warp size.
    pub warp_model: String,
    /// `static` or `dynamic`.
    pub found_by: String,
    pub message: String,
    /// `shared` or `global`; empty when no memory is concerned.
    pub space: String,
    /// `same instruction`, `same warp`, `warps`, `blocks`: all that were seen.
    pub relations: Vec<String>,
    pub accesses: Vec<GpuAccess>,
    /// What was touched, in words: "`s`, offset 4".
    pub memory: String,
    pub counts: GpuCounts,
    /// Only same-value writes: harmless in most programs, not counted as a bug.
    pub benign: bool,
}

/// What findings need to know about their launch.
pub struct Scene<'a> {
    pub module: &'a Module,
    pub program: &'a Program,
    pub memory: &'a Memory,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub warp_size: u32,
    pub independent: bool,
}

fn unflatten(n: u32, d: [u32; 3]) -> [u32; 3] {
    [n % d[0], n / d[0] % d[1], n / d[0] / d[1]]
}

impl Scene<'_> {
    pub fn model(&self) -> String {
        let m = if self.independent {
            "independent"
        } else {
            "lockstep"
        };
        format!("{m}, {} lanes", self.warp_size)
    }

    pub fn at(&self, pc: u32, op: &str, block: u32, thread: u32, phase: u32) -> GpuAccess {
        let s = &self.program.sites[pc as usize];
        GpuAccess {
            op: op.to_string(),
            file: if s.loc.line > 0 {
                self.module.file(s.loc.file).to_string()
            } else {
                String::new()
            },
            line: s.loc.line,
            column: s.loc.column,
            function: short(&self.program.funcs[s.func as usize].name),
            ptx_line: s.ptx_line,
            block: unflatten(block, self.grid),
            thread: unflatten(thread, self.block),
            warp: thread / self.warp_size,
            lane: thread % self.warp_size,
            phase,
        }
    }

    /// Names the memory at an address.
    pub fn memory(&self, space: Space, addr: u64) -> String {
        if space == Space::Shared {
            let off = addr & !SHARED_WINDOW;
            let v = self
                .program
                .shared
                .iter()
                .filter(|v| u64::from(v.offset) <= off)
                .filter(|v| v.dynamic || off < u64::from(v.offset) + u64::from(v.size));
            return match v.max_by_key(|v| v.offset) {
                Some(v) => format!("`{}`, byte {}", short(&v.name), off - u64::from(v.offset)),
                None => format!("shared memory, byte {off}"),
            };
        }
        match self.memory.find(addr) {
            Some(a) => format!("`{}`, byte {}", short(&a.name), addr - a.start),
            None => format!("address {addr:#x}"),
        }
    }

    fn empty(&self, kind: &str, found_by: &str) -> GpuFinding {
        GpuFinding {
            kind: kind.to_string(),
            kernel: short(&self.program.kernel),
            grid: self.grid,
            block: self.block,
            warp_model: self.model(),
            found_by: found_by.to_string(),
            message: String::new(),
            space: String::new(),
            relations: Vec::new(),
            accesses: Vec::new(),
            memory: String::new(),
            counts: GpuCounts::default(),
            benign: false,
        }
    }

    fn side(&self, s: &Side) -> GpuAccess {
        let op = match s.what {
            What::Read => "read",
            What::Write => "write",
            What::Atomic => "atomic",
        };
        self.at(s.pc, op, s.block, s.thread, s.phase)
    }
}

fn relation(r: Relation) -> &'static str {
    match r {
        Relation::SameInstruction => "same instruction",
        Relation::SameWarp => "same warp",
        Relation::Warps => "warps",
        Relation::Blocks => "blocks",
    }
}

fn sentence(r: Relation) -> &'static str {
    match r {
        Relation::SameInstruction => "two lanes of a warp in the same instruction",
        Relation::SameWarp => "two lanes of a warp with no __syncwarp between them",
        Relation::Warps => "two warps of a block with no barrier between them",
        Relation::Blocks => "two blocks with nothing that orders them",
    }
}

/// A static race found before the launch: two places, a witness, and the memory.
pub fn static_race(
    scene: &Scene<'_>,
    a: &Side,
    b: &Side,
    r: Relation,
    memory: String,
) -> GpuFinding {
    let mut f = scene.empty("data-race", "static");
    f.space = "shared".into();
    f.relations = vec![relation(r).to_string()];
    f.accesses = vec![scene.side(a), scene.side(b)];
    f.message = format!("data race between {}, proved without running", sentence(r));
    f.memory = memory;
    f
}

/// A barrier that not all threads reach, found before the launch.
pub fn static_divergence(scene: &Scene<'_>, pc: u32, text: String) -> GpuFinding {
    let mut f = scene.empty("barrier-divergence", "static");
    f.accesses = vec![scene.at(pc, "barrier", 0, 0, 0)];
    f.message = text;
    f
}

/// Findings of a checked launch: races grouped by pairs of source lines, then faults.
pub fn findings(scene: &Scene<'_>, c: &Checked) -> Vec<GpuFinding> {
    type Key = (String, u32, String, u32, bool, bool, u32, u32);
    let mut groups: BTreeMap<Key, (GpuFinding, Vec<&Race>)> = BTreeMap::new();
    let mut races: Vec<&Race> = c.races.map.values().collect();
    races.sort_by_key(|r| {
        (
            r.relation,
            r.sides[0].pc,
            r.sides[1].pc,
            r.sides[0].block,
            r.addr,
        )
    });
    for r in races {
        let (mut a, mut b) = (scene.side(&r.sides[0]), scene.side(&r.sides[1]));
        if (b.file.as_str(), b.line, b.column) < (a.file.as_str(), a.line, a.column) {
            std::mem::swap(&mut a, &mut b);
        }
        // Without line tables the PTX line tells statements apart.
        let ptx = |x: &GpuAccess| if x.line == 0 { x.ptx_line } else { 0 };
        let shared = r.space == Space::Shared;
        let key = (
            a.file.clone(),
            a.line,
            b.file.clone(),
            b.line,
            shared,
            r.same_value,
            ptx(&a),
            ptx(&b),
        );
        let entry = groups.entry(key).or_insert_with(|| {
            let mut f = scene.empty("data-race", "dynamic");
            f.message = format!("data race between {}", sentence(r.relation));
            f.space = r.space.to_string();
            f.memory = scene.memory(r.space, r.addr);
            f.accesses = vec![a, b];
            f.benign = r.same_value;
            (f, Vec::new())
        });
        let name = relation(r.relation).to_string();
        if !entry.0.relations.contains(&name) {
            entry.0.relations.push(name);
        }
        entry.1.push(r);
    }
    let mut out: Vec<GpuFinding> = groups
        .into_values()
        .map(|(mut f, rs)| {
            let union = |get: &dyn Fn(&Race) -> Vec<u64>| {
                let mut v: Vec<u64> = rs.iter().flat_map(|r| get(r)).collect();
                v.sort_unstable();
                v.dedup();
                v.len() as u64
            };
            f.counts = GpuCounts {
                thread_pairs: rs.iter().map(|r| r.thread_pairs).sum(),
                threads: union(&|r| {
                    r.threads
                        .iter()
                        .map(|t| u64::from(t.0) << 32 | u64::from(t.1))
                        .collect()
                }),
                warp_pairs: union(&|r| {
                    r.warp_pairs
                        .iter()
                        .map(|t| u64::from(t.0) << 32 | u64::from(t.1) << 16 | u64::from(t.2))
                        .collect()
                }),
                blocks: union(&|r| r.blocks.iter().map(|b| u64::from(*b)).collect()),
                addresses: union(&|r| r.addrs.iter().copied().collect()),
                times: rs.iter().map(|r| r.count).sum(),
            };
            f
        })
        .collect();
    // A benign twin of a real finding adds nothing.
    let real: Vec<(String, u32, String, u32)> =
        out.iter().filter(|f| !f.benign).map(lines).collect();
    out.retain(|f| !f.benign || !real.contains(&lines(f)));
    out.extend(faults(scene, c));
    out
}

/// A read that races with the first write of its address may well come first; the race says it all.
pub fn explained(f: &GpuFinding, all: &[GpuFinding]) -> bool {
    f.kind == "uninitialized-shared"
        && all
            .iter()
            .filter(|g| g.kind == "data-race" && g.space == "shared" && !g.benign)
            .any(|g| {
                g.accesses.iter().any(|a| {
                    f.accesses
                        .iter()
                        .any(|b| a.file == b.file && a.line == b.line)
                })
            })
}

fn lines(f: &GpuFinding) -> (String, u32, String, u32) {
    let a = &f.accesses[0];
    let b = f.accesses.last().unwrap_or(a);
    (a.file.clone(), a.line, b.file.clone(), b.line)
}

fn faults(scene: &Scene<'_>, c: &Checked) -> Vec<GpuFinding> {
    let mut groups: BTreeMap<(FaultKind, String, u32, u32), GpuFinding> = BTreeMap::new();
    for x in &c.outcome.faults {
        let (kind, op, what) = match x.kind {
            FaultKind::OutOfBounds => ("out-of-bounds", "access", "access out of bounds"),
            FaultKind::Misaligned => ("misaligned", "access", "misaligned access"),
            FaultKind::UninitializedShared => (
                "uninitialized-shared",
                "read",
                "read of uninitialised shared memory",
            ),
            FaultKind::BarrierDivergence => {
                ("barrier-divergence", "barrier", "barrier in divergent code")
            }
            FaultKind::BarrierDeadlock => ("barrier-deadlock", "barrier", "barrier deadlock"),
            FaultKind::Assert => ("assert", "call", "assertion failed"),
            FaultKind::Trap => ("trap", "trap", "the kernel stopped itself"),
            FaultKind::BadCall => ("bad-call", "call", "call of something that is no function"),
            FaultKind::BadFree => ("bad-free", "call", "invalid free"),
            FaultKind::StackOverflow => ("stack-overflow", "call", "stack overflow"),
            FaultKind::StepLimit => ("step-limit", "instruction", "step limit reached"),
        };
        let at = scene.at(x.pc, op, x.block, x.thread, 0);
        let ptx = if at.line == 0 { at.ptx_line } else { 0 };
        let f = groups
            .entry((x.kind, at.file.clone(), at.line, ptx))
            .or_insert_with(|| {
                let mut f = scene.empty(kind, "dynamic");
                f.message = format!("{what}: {}", x.text);
                f.accesses = vec![at];
                f
            });
        f.counts.times += x.count;
    }
    groups.into_values().collect()
}

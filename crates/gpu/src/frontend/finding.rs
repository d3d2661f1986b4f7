//! From what the checker saw to findings of the report model: one per pair of source lines, with one example.

use std::collections::BTreeMap;

use deadheat_model::{
    Access, AccessKind, Address, Extent, Finding, FindingId, FindingKind, FoundBy, Frame,
    GridPlace, LabelledStack, Launch, Memory as Touched, MemoryKind, Relation as Between,
    Scheduling, Thread, ThreadId, ThreadKind,
};

use crate::check::{Checked, Race, Relation, Side};
use crate::machine::program::{Program, SHARED_WINDOW};
use crate::machine::{FaultKind, Memory, What};
use crate::ptx::{Module, Space};

use super::names::short;

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

fn id(d: [u32; 3]) -> String {
    match d {
        [x, 0, 0] => x.to_string(),
        [x, y, 0] => format!("({x},{y})"),
        [x, y, z] => format!("({x},{y},{z})"),
    }
}

impl Scene<'_> {
    /// Where an instruction comes from. Without line tables the PTX line must do.
    pub fn frame(&self, pc: u32) -> Frame {
        let s = &self.program.sites[pc as usize];
        let function = short(&self.program.funcs[s.func as usize].name);
        if s.loc.line == 0 {
            return Frame {
                function,
                module: Some(format!("PTX line {}", s.ptx_line)),
                ..Frame::default()
            };
        }
        Frame {
            function,
            file: Some(self.module.file(s.loc.file).to_string()),
            line: Some(s.loc.line),
            column: (s.loc.column > 0).then_some(s.loc.column),
            ..Frame::default()
        }
    }

    fn place(&self, pc: u32, block: u32, thread: u32, phase: u32) -> GridPlace {
        GridPlace {
            block: unflatten(block, self.grid),
            thread: unflatten(thread, self.block),
            warp: thread / self.warp_size,
            lane: thread % self.warp_size,
            phase,
            ptx_line: self.program.sites[pc as usize].ptx_line,
        }
    }

    fn thread(&self, block: u32, thread: u32) -> Thread {
        let per = self.block.iter().map(|x| u64::from(*x)).product::<u64>();
        let name = format!(
            "thread {} of block {} (warp {}, lane {})",
            id(unflatten(thread, self.block)),
            id(unflatten(block, self.grid)),
            thread / self.warp_size,
            thread % self.warp_size
        );
        Thread {
            id: ThreadId(u64::from(block) * per + u64::from(thread)),
            name,
            kind: ThreadKind::Gpu,
            ..Thread::default()
        }
    }

    /// The access of one side.
    pub fn access(&self, s: &Side, size: u32, addr: u64) -> Access {
        Access {
            kind: match s.what {
                What::Read => AccessKind::Read,
                What::Write => AccessKind::Write,
                What::Atomic => AccessKind::ReadWrite,
            },
            atomic: s.what == What::Atomic,
            size: u64::from(size),
            address: Address(addr),
            thread: self.thread(s.block, s.thread),
            locks: Vec::new(),
            stack: vec![self.frame(s.pc)],
            grid: Some(self.place(s.pc, s.block, s.thread, s.phase)),
            operation: None,
        }
    }

    /// Names the memory at an address.
    pub fn memory(&self, space: Space, addr: u64) -> Touched {
        if space == Space::Shared {
            let off = addr & !SHARED_WINDOW;
            let v = self
                .program
                .shared
                .iter()
                .filter(|v| u64::from(v.offset) <= off)
                .filter(|v| v.dynamic || off < u64::from(v.offset) + u64::from(v.size))
                .max_by_key(|v| v.offset);
            return match v {
                Some(v) => touched(
                    MemoryKind::Shared,
                    Some(short(&v.name)),
                    off,
                    u64::from(v.offset),
                    (!v.dynamic).then_some(u64::from(v.size)),
                ),
                None => touched(MemoryKind::Shared, None, off, 0, None),
            };
        }
        device_memory(self.memory, addr)
    }

    fn finding(&self, kind: FindingKind, found_by: FoundBy) -> Finding {
        let mut f = blank(kind);
        f.launch = Some(Launch {
            kernel: short(&self.program.kernel),
            grid: self.grid,
            block: self.block,
            scheduling: if self.independent {
                Scheduling::Independent
            } else {
                Scheduling::Lockstep
            },
            warp_size: self.warp_size,
            found_by,
            relations: Vec::new(),
            extent: Extent::default(),
        });
        f
    }

    /// A finding about one instruction of one thread.
    fn at(&self, f: &mut Finding, pc: u32, block: u32, thread: u32, label: &str) {
        f.stacks = vec![LabelledStack {
            label: label.to_string(),
            thread: self.thread(block, thread),
            lock: None,
            stack: vec![self.frame(pc)],
        }];
    }
}

/// Names device memory by its allocation.
pub fn device_memory(memory: &Memory, addr: u64) -> Touched {
    match memory.find(addr) {
        Some(a) => touched(
            MemoryKind::Device,
            Some(short(&a.name)),
            addr,
            a.start,
            Some(a.len),
        ),
        None => touched(MemoryKind::Device, None, addr, 0, None),
    }
}

fn touched(
    kind: MemoryKind,
    name: Option<String>,
    addr: u64,
    start: u64,
    size: Option<u64>,
) -> Touched {
    let words = match kind {
        MemoryKind::Shared => "shared memory of the block",
        _ => "device memory",
    };
    let description = match (&name, size) {
        (Some(n), Some(s)) => format!("byte {} of `{n}`, {s} bytes of {words}", addr - start),
        (Some(n), None) => format!("byte {} of `{n}` in {words}", addr - start),
        (None, _) => format!("byte {addr} of {words}"),
    };
    Touched {
        kind,
        name: name.clone(),
        object: name,
        address: Address(addr),
        start: Some(Address(start)),
        size,
        offset: Some(addr - start),
        thread: None,
        declared: None,
        module: None,
        fd: None,
        allocation: None,
        freed: None,
        description,
    }
}

/// A finding with nothing in it yet.
pub fn blank(kind: FindingKind) -> Finding {
    Finding {
        id: FindingId(0),
        kind,
        severity: kind.severity(),
        title: kind.title().to_string(),
        why: String::new(),
        count: 1,
        fingerprint: String::new(),
        pid: None,
        accesses: Vec::new(),
        memory: None,
        locks: Vec::new(),
        timeline: Vec::new(),
        stacks: Vec::new(),
        threads: Vec::new(),
        detail: None,
        launch: None,
        suppression: String::new(),
    }
}

fn between(r: Relation) -> Between {
    match r {
        // Between the copy, which is nobody's doing, and a thread: as unordered as two warps are.
        Relation::AsyncCopy => Between::Warps,
        Relation::SameInstruction => Between::SameInstruction,
        Relation::SameWarp => Between::SameWarp,
        Relation::Warps => Between::Warps,
        Relation::Blocks => Between::Blocks,
    }
}

fn sentence(r: Relation) -> &'static str {
    match r {
        Relation::SameInstruction => "Two lanes of a warp do it in the same instruction.",
        Relation::SameWarp => "Two lanes of a warp do it with no __syncwarp between them.",
        Relation::Warps => "Two warps of a block do it with no barrier between them.",
        Relation::AsyncCopy => {
            "A thread does it while an asynchronous copy to this place is under way: nobody has waited for the copy."
        }
        Relation::Blocks => "Two blocks do it and nothing orders blocks: a barrier does not reach.",
    }
}

fn title(kind: FindingKind, memory: &Touched) -> String {
    match &memory.name {
        Some(name) => format!("{}: `{name}`", kind.title()),
        None => kind.title().to_string(),
    }
}

/// The source line, or the PTX line where there is none.
type Line = (String, u32);

fn line(f: &Frame) -> Line {
    match (&f.file, f.line) {
        (Some(file), Some(line)) => (file.clone(), line),
        _ => (f.module.clone().unwrap_or_default(), 0),
    }
}

/// The lines a finding is about.
pub fn lines(f: &Finding) -> Vec<Line> {
    f.stacks_told()
        .filter_map(|s| s.first())
        .map(line)
        .collect()
}

/// The same bug: kind and lines agree.
pub fn same(a: &Finding, b: &Finding) -> bool {
    a.kind == b.kind && lines(a) == lines(b)
}

fn sort_sides(a: &mut [Access]) {
    a.sort_by_key(|x| {
        let f = x.stack.first();
        (f.map(line), f.and_then(|f| f.column))
    });
}

/// A race found before the launch: two places, a witness, and the memory.
pub fn static_race(
    scene: &Scene<'_>,
    sides: [&Side; 2],
    size: u32,
    r: Relation,
    space: Space,
    addr: u64,
) -> Finding {
    let mut f = scene.finding(FindingKind::KernelRace, FoundBy::Static);
    f.why = sentence(r).to_string();
    let memory = scene.memory(space, addr);
    f.title = title(f.kind, &memory);
    f.memory = Some(memory);
    f.accesses = sides.iter().map(|s| scene.access(s, size, addr)).collect();
    sort_sides(&mut f.accesses);
    if let Some(l) = &mut f.launch {
        l.relations = vec![between(r)];
    }
    f
}

/// A barrier that not all threads reach, found before the launch: `thread` does, `other` does not.
pub fn static_divergence(
    scene: &Scene<'_>,
    pc: u32,
    block: u32,
    thread: u32,
    other: u32,
    branch: Option<u32>,
) -> Finding {
    let mut f = scene.finding(FindingKind::BarrierDivergence, FoundBy::Static);
    scene.at(&mut f, pc, block, thread, "reaches the barrier");
    let at = branch.map_or_else(String::new, |b| {
        let frame = scene.frame(b);
        match (frame.file, frame.line) {
            (Some(file), Some(line)) => format!(" (the condition is at {file}:{line})"),
            _ => String::new(),
        }
    });
    f.why = format!(
        "Thread {} of block {} reaches this barrier and thread {} does not{at}.",
        id(unflatten(thread, scene.block)),
        id(unflatten(block, scene.grid)),
        id(unflatten(other, scene.block))
    );
    f
}

/// Findings of a checked launch: races grouped by pairs of source lines, then faults.
pub fn findings(scene: &Scene<'_>, c: &Checked) -> Vec<Finding> {
    type Key = (Vec<Line>, bool, bool);
    let mut groups: BTreeMap<Key, (Finding, Vec<&Race>)> = BTreeMap::new();
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
        let mut accesses: Vec<Access> = r
            .sides
            .iter()
            .map(|s| scene.access(s, r.size, r.addr))
            .collect();
        sort_sides(&mut accesses);
        let places = accesses.iter().map(|a| line(&a.stack[0])).collect();
        let key = (places, r.space == Space::Shared, r.same_value);
        let (f, all) = groups.entry(key).or_insert_with(|| {
            let kind = if r.same_value {
                FindingKind::UniformWrite
            } else {
                FindingKind::KernelRace
            };
            let mut f = scene.finding(kind, FoundBy::Dynamic);
            f.why = sentence(r.relation).to_string();
            let memory = scene.memory(r.space, r.addr);
            f.title = title(f.kind, &memory);
            f.memory = Some(memory);
            f.accesses = accesses;
            (f, Vec::new())
        });
        if let Some(l) = &mut f.launch
            && !l.relations.contains(&between(r.relation))
        {
            l.relations.push(between(r.relation));
        }
        all.push(r);
    }
    let mut out: Vec<Finding> = groups
        .into_values()
        .map(|(mut f, rs)| {
            f.count = rs.iter().map(|r| r.count).sum::<u64>().max(1);
            if let Some(l) = &mut f.launch {
                l.extent = extent(&rs);
            }
            f
        })
        .collect();
    // A same-value twin of a real race adds nothing.
    let real: Vec<Vec<Line>> = out
        .iter()
        .filter(|f| f.kind == FindingKind::KernelRace)
        .map(lines)
        .collect();
    out.retain(|f| f.kind == FindingKind::KernelRace || !real.contains(&lines(f)));
    out.extend(faults(scene, c));
    out
}

fn extent(rs: &[&Race]) -> Extent {
    let union = |get: &dyn Fn(&Race) -> Vec<u64>| {
        let mut v: Vec<u64> = rs.iter().flat_map(|r| get(r)).collect();
        v.sort_unstable();
        v.dedup();
        v.len() as u64
    };
    Extent {
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
    }
}

/// A read that races with the first write of its address may well come first; the race says it all.
pub fn explained(f: &Finding, all: &[Finding]) -> bool {
    let shared = |g: &Finding| {
        g.memory
            .as_ref()
            .is_some_and(|m| m.kind == MemoryKind::Shared)
    };
    f.kind == FindingKind::UninitializedShared
        && all
            .iter()
            .filter(|g| g.kind == FindingKind::KernelRace && shared(g))
            .any(|g| lines(g).iter().any(|l| lines(f).contains(l)))
}

fn faults(scene: &Scene<'_>, c: &Checked) -> Vec<Finding> {
    let mut groups: BTreeMap<(FaultKind, Line), Finding> = BTreeMap::new();
    for x in &c.outcome.faults {
        let (kind, label) = match x.kind {
            FaultKind::OutOfBounds => (FindingKind::OutOfBounds, "touches memory"),
            FaultKind::Misaligned => (FindingKind::Misaligned, "touches memory"),
            FaultKind::UninitializedShared => (FindingKind::UninitializedShared, "reads"),
            FaultKind::BarrierDivergence => (FindingKind::BarrierDivergence, "reaches the barrier"),
            FaultKind::BarrierDeadlock => (FindingKind::BarrierDeadlock, "waits"),
            FaultKind::Assert => (FindingKind::DeviceAssert, "fails an assertion"),
            FaultKind::Trap => (FindingKind::DeviceTrap, "stops"),
            FaultKind::BadCall => (FindingKind::BadCall, "calls"),
            FaultKind::BadFree => (FindingKind::BadFree, "frees"),
            FaultKind::StackOverflow => (FindingKind::StackOverflow, "calls"),
            FaultKind::StepLimit => (FindingKind::StepLimit, "was stopped"),
        };
        let f = groups
            .entry((x.kind, line(&scene.frame(x.pc))))
            .or_insert_with(|| {
                let mut f = scene.finding(kind, FoundBy::Dynamic);
                scene.at(&mut f, x.pc, x.block, x.thread, label);
                f.title = format!("{}: `{}`", kind.title(), short(&scene.program.kernel));
                f.why = sentence_case(&x.text);
                f.count = 0;
                f
            });
        f.count += x.count;
    }
    groups.into_values().collect()
}

fn sentence_case(text: &str) -> String {
    let mut c = text.chars();
    let first: String = c.next().into_iter().flat_map(char::to_uppercase).collect();
    let end = if text.ends_with('.') { "" } else { "." };
    format!("{first}{}{end}", c.as_str())
}

//! Candidates become lines of the raw stream (docs/raw-stream.md), as the runtime of an inline run would have sent them:
//! everything behind that stream is the same for both.

use std::collections::{HashMap, HashSet};

use deadheat_detect::entry::PLAIN;
use deadheat_detect::eraser::Lock;
use deadheat_trace::Strand;
use deadheat_trace::wire::{MemoryKind, Source, StackNode, StackSet};
use serde_json::{Value, json};

use crate::batch::{LocksId, kind};
use crate::detector::DetectorKind;
use crate::found::{Candidate, Side};
use crate::locks::{Held, HeldMode, Locks};
use crate::strands::{Known, Strands};
use crate::timeline::{Moment, MomentSide, Timelines};

/// Findings of the checker have numbers from here on; those of the runtime are smaller.
const FIRST: u64 = 1_000_000;
/// Synchronizations shown around an access.
const SHOWN: usize = 8;
/// The C library's own part of thread-local memory, above the thread pointer.
const DESCRIPTOR: u64 = 0x900;
/// Frames of a stack; a longer one is no stack.
const DEEPEST: usize = 1 << 14;

/// What the reports stand on beside the candidate itself.
pub struct Context<'a, S: Source> {
    pub source: &'a mut S,
    pub locks: &'a Locks,
    pub timelines: &'a Timelines,
}

/// Tells each finding once, and counts.
#[derive(Debug, Default)]
pub struct Teller {
    /// Their numbers, by key.
    told: HashMap<u64, u64>,
    /// Mapped ranges of modules.
    modules: Vec<(u64, u64)>,
    /// Threads that the lines have told of.
    threads: HashSet<u64>,
    strands: Strands,
    /// Lines that end the stream: told when all is told.
    last: Vec<String>,
}

impl Teller {
    /// Takes a line of the runtime; returns it if it is to be passed on now.
    pub fn runtime_line(&mut self, line: String) -> Option<String> {
        // Few lines, so parsing them twice costs nothing.
        let Ok(value) = serde_json::from_str::<Value>(&line) else {
            return Some(line);
        };
        let number = |key: &str| value.get(key).and_then(Value::as_u64);
        match value.get("event").and_then(Value::as_str) {
            Some("module") => {
                if let (Some(start), Some(end)) = (number("start"), number("end")) {
                    self.modules.push((start, end));
                }
            }
            Some("thread") => self.threads.extend(number("id")),
            Some("strand") => {
                if let Some(id) = number("id") {
                    self.strands.said(Strand(id as u32), line);
                }
                return None;
            }
            Some("thread-name") => {
                if let (Some(id), Some(name)) = (number("id"), value.get("name")) {
                    self.strands.named(Strand(id as u32), name);
                }
            }
            Some("end") => {
                self.last.push(line);
                return None;
            }
            _ => {}
        }
        Some(line)
    }

    /// A strand was forked.
    pub fn forked(&mut self, child: Strand, parent: Strand, at: StackNode) {
        self.strands.forked(child, parent, at);
    }

    /// A strand has ended.
    pub fn ended(&mut self, strand: Strand) {
        self.strands.ended(strand);
    }

    /// Adds the call stacks that may still be told. Those of what was told are kept by whoever found it.
    pub fn stacks(&self, used: &mut StackSet) {
        self.strands.stacks(used);
    }

    /// The lines that end the stream.
    pub fn finish(&mut self) -> Vec<String> {
        std::mem::take(&mut self.last)
    }

    /// How many different findings were told.
    pub fn len(&self) -> usize {
        self.told.len()
    }

    pub fn is_empty(&self) -> bool {
        self.told.is_empty()
    }

    /// The lines for a candidate; none if its like was told before.
    pub fn finding<S: Source>(
        &mut self,
        candidate: &Candidate,
        context: &mut Context<'_, S>,
        out: &mut Vec<String>,
    ) {
        let key = candidate.key();
        if self.told.contains_key(&key) {
            return;
        }
        let id = FIRST + self.told.len() as u64;
        self.told.insert(key, id);
        let sides = [candidate.new, candidate.old];
        for side in &sides {
            self.thread(side.strand, context, out);
        }
        if let Some(memory) = &candidate.memory {
            self.thread(memory.block.strand, context, out);
            if let Some((by, _)) = memory.freed {
                self.thread(by, context, out);
            }
        }
        let mut finding = json!({
            "event": "finding",
            "id": id,
            "kind": if candidate.freed() { "use-after-free" } else { "data-race" },
            "accesses": sides.map(|side| access(candidate, &side, context)),
            "memory": self.memory(candidate, context),
            "timeline": timeline(candidate, context),
        });
        if candidate.detector == DetectorKind::Eraser {
            finding["text"] = json!(
                "No lock is held at every access of this memory (Eraser). It may still be ordered by something else."
            );
        }
        out.push(finding.to_string());
    }

    /// The line that says how often a finding was seen, if more than once.
    pub fn again(&self, key: u64, count: u64) -> Option<String> {
        let id = self.told.get(&key)?;
        (count > 1).then(|| json!({"event": "again", "id": id, "count": count}).to_string())
    }

    /// A `thread` line, unless the runtime has sent one.
    fn thread<S: Source>(
        &mut self,
        strand: Strand,
        context: &mut Context<'_, S>,
        out: &mut Vec<String>,
    ) {
        if !self.threads.insert(u64::from(strand.0)) {
            return;
        }
        let known = self.strands.get(strand);
        let line = known.and_then(Known::line);
        let (parent, at) = known
            .and_then(|known| known.forked)
            .unwrap_or((Strand(0), StackNode(0)));
        let parent = match &line {
            Some(line) => Strand(line["parent"].as_u64().unwrap_or(0) as u32),
            None => parent,
        };
        if parent != strand {
            self.thread(parent, context, out);
        }
        let line = line.unwrap_or_else(|| {
            json!({
                "event": "thread",
                "id": strand.0,
                "parent": parent.0,
                "name": "",
                "created": stack(context.source, 0, at),
                "kind": "thread",
            })
        });
        out.push(line.to_string());
    }

    fn memory<S: Source>(&self, candidate: &Candidate, context: &mut Context<'_, S>) -> Value {
        let byte = candidate.cell + u64::from(candidate.bytes.trailing_zeros() % 8);
        // No program has memory there: the number of a descriptor.
        if byte < 1 << 16 {
            return json!({"addr": byte, "kind": "fd", "fd": byte});
        }
        if let Some(found) = candidate.memory {
            let block = found.block;
            let (start, end) = block.range.bounds();
            let thread = block.strand.0;
            match block.kind {
                MemoryKind::Heap => {
                    let mut memory = json!({
                        "addr": byte, "kind": "heap", "start": start, "size": end - start, "thread": thread,
                        "stack": stack(context.source, 0, block.stack),
                    });
                    if let Some((by, at)) = found.freed {
                        memory["freed"] =
                            json!({"thread": by.0, "stack": stack(context.source, 0, at)});
                    }
                    return memory;
                }
                MemoryKind::Stack => {
                    return json!({"addr": byte, "kind": "stack", "thread": thread, "start": start, "end": end});
                }
                MemoryKind::ThreadLocal => {
                    let mut memory = json!({"addr": byte, "kind": "tls", "thread": thread});
                    if let Some(below) = (end - byte).checked_sub(DESCRIPTOR).filter(|&n| n > 0) {
                        memory["below"] = json!(below);
                    }
                    return memory;
                }
                MemoryKind::Mapping if !self.in_module(byte) => {
                    return json!({"addr": byte, "kind": "mapping", "start": start, "size": end - start});
                }
                MemoryKind::Mapping | MemoryKind::Other | MemoryKind::Exempt => {}
            }
        }
        let kind = if self.in_module(byte) {
            "global"
        } else {
            "unknown"
        };
        json!({"addr": byte, "kind": kind})
    }

    fn in_module(&self, byte: u64) -> bool {
        self.modules
            .iter()
            .any(|&(start, end)| (start..end).contains(&byte))
    }
}

/// The frames of a stack, innermost first: a program counter (0 for none) inside the calls of a node.
fn stack<S: Source>(source: &mut S, pc: u64, mut calls: StackNode) -> Vec<u64> {
    let mut frames: Vec<u64> = (pc != 0).then_some(pc).into_iter().collect();
    while frames.len() < DEEPEST
        && let Some((caller, pc)) = source.node(calls)
    {
        frames.push(pc);
        calls = caller;
    }
    frames
}

fn access<S: Source>(candidate: &Candidate, side: &Side, context: &mut Context<'_, S>) -> Value {
    let spot = side.info.spot;
    let op = match spot.kind() {
        kind::READ | kind::ATOMIC_READ => "read",
        kind::ATOMIC_READ_WRITE => "read-write",
        kind::FREE => "free",
        kind::VPTR_WRITE => "vptr-write",
        kind::DESTROY => "destroy",
        _ => "write",
    };
    let mask = side.what.mask();
    // An entry may stand for several accesses of one place to neighbouring bytes: then the racing one is meant.
    let first = if u64::from(mask.count_ones()) > spot.size() {
        candidate.bytes
    } else {
        mask
    };
    json!({
        "op": op,
        "atomic": side.what.0 & PLAIN == 0,
        "size": spot.size(),
        "addr": candidate.cell + u64::from(first.trailing_zeros() % 8),
        "thread": side.strand.0,
        "stack": stack(context.source, spot.pc(), side.info.caller),
        "locks": locks(side.info.locks, context),
    })
}

fn locks<S: Source>(list: LocksId, context: &mut Context<'_, S>) -> Vec<Value> {
    let held = context.locks.list(list);
    held.iter().map(|one| lock(one, context.source)).collect()
}

fn lock<S: Source>(held: &Held, source: &mut S) -> Value {
    json!({
        "lock": number(held.lock),
        "addr": held.object.addr,
        "type": held.object.kind.name(),
        "mode": match held.mode {
            HeldMode::Read => "read",
            HeldMode::Write => "write",
        },
        "stack": stack(source, 0, held.taken_at),
    })
}

fn number(lock: Lock) -> u64 {
    match lock {
        Lock::Atomic => 0,
        Lock::Mutex(mutex) => mutex.0,
        Lock::RwLock(lock) => lock.0,
    }
}

/// The synchronizations of both strands around the two accesses, in the order in which they happened.
fn timeline<S: Source>(candidate: &Candidate, context: &mut Context<'_, S>) -> Vec<Value> {
    let sides = [candidate.new, candidate.old];
    let mut shown: Vec<(u64, usize, Option<Moment>)> = Vec::new();
    for (at, side) in sides.iter().enumerate() {
        // Whatever has happened since does not belong to it, however late it is told.
        let moments = context.timelines.before(side.strand, candidate.acts);
        let earlier = |moment: &Moment| {
            moment.time < side.time || moment.time == side.time && moment.side == MomentSide::Learns
        };
        let after = moments.iter().take_while(|moment| earlier(moment)).count();
        let before = &moments[after.saturating_sub(SHOWN)..after];
        // The access itself lies between its neighbours; the newer one is now.
        let now = match at {
            0 => u64::MAX,
            _ => before.last().map_or(0, |moment| moment.number),
        };
        shown.extend(
            before
                .iter()
                .map(|moment| (moment.number, at, Some(*moment))),
        );
        shown.push((now, at, None));
        if at == 1 {
            let later = moments[after..].iter().take(SHOWN / 2);
            shown.extend(later.map(|moment| (moment.number, at, Some(*moment))));
        }
    }
    shown
        .sort_by_key(|&(number, side, moment)| (number, std::cmp::Reverse(side), moment.is_none()));
    shown
        .into_iter()
        .enumerate()
        .map(|(at, (_, side, moment))| {
            let thread = sides[side].strand.0;
            let Some(moment) = moment else {
                return json!({"thread": thread, "at": at, "what": "access", "access": side});
            };
            let frames = stack(context.source, 0, moment.stack);
            match moment.what {
                "create" | "join" => {
                    json!({"thread": thread, "at": at, "what": moment.what, "peer": moment.id, "stack": frames})
                }
                what => json!({
                    "thread": thread, "at": at, "what": what, "object": moment.id, "addr": moment.object.addr,
                    "type": moment.object.kind.name(), "stack": frames,
                }),
            }
        })
        .collect()
}

//! RAPID's STD format: one event a line, `thread|operation(operand)|location`.
//!
//! STD knows `r`, `w`, `acq`, `rel`, `fork`, `join`, `begin` and `end`. What else a trace has is exported so:
//!
//! | here                                   | there                                                              |
//! |----------------------------------------|--------------------------------------------------------------------|
//! | an access of some bytes                | one event for each cell of [`CELL`] bytes that it touches          |
//! | read-write lock, reader                | `acq` and `rel` of the lock: readers are ordered, too              |
//! | wait                                   | `rel`, and `acq` at its return                                     |
//! | barrier, channel, atomic, fence, annotation | `acq` and `rel` of a lock of their own, one right after the other: they are ordered, too |
//! | alloc, free, detach                    | left out                                                           |
//!
//! So an export has every order of the trace, and in the last rows some more: a detector of happens-before races finds
//! nothing there that is none, and may miss some.

use std::collections::HashMap;
use std::io::{self, Write};

use crate::event::{
    Action, Addr, Event, FenceOrder, LoadOrder, Mutex, Range, RmwOrder, Site, StoreOrder, Strand,
    Trace,
};
use crate::merge::InOrder;
use crate::wire::{Item, Source};

/// A variable of an exported trace is so many bytes.
pub const CELL: u64 = 8;

/// Writes an execution in STD. How many events were written, and what could not be read.
pub fn export(source: &mut impl Source, out: &mut impl Write) -> io::Result<(u64, Vec<String>)> {
    let mut count = 0;
    let mut order = InOrder::new(source);
    while let Some((strand, item)) = order.next() {
        let mut event = |operation: &str, operand: &str, location: u64| {
            count += 1;
            writeln!(out, "T{}|{operation}({operand})|{location}", strand.0)
        };
        match item {
            Item::Touch(touched) => {
                let operation = match touched.action() {
                    Action::Read(_) => "r",
                    Action::Write(_) => "w",
                    // Atomic accesses race with plain ones only.
                    _ => continue,
                };
                let (start, end) = touched.range.bounds();
                for cell in start / CELL..end.div_ceil(CELL) {
                    event(operation, &format!("V{:x}", cell * CELL), touched.pc)?;
                }
            }
            Item::Act(act) => {
                let location = order.source.node(act.at).map_or(0, |(_, pc)| pc);
                for (operation, operand) in operations(act.action) {
                    event(operation, &operand, location)?;
                }
            }
            Item::Memory(..) | Item::Lost(_) => {}
        }
    }
    Ok((count, order.damages))
}

/// What an act is in STD.
fn operations(action: Action) -> Vec<(&'static str, String)> {
    let both = |name: String| vec![("acq", name.clone()), ("rel", name)];
    match action {
        Action::Begin | Action::End | Action::Detach(_) => Vec::new(),
        Action::Fork(strand) => vec![("fork", format!("T{}", strand.0))],
        Action::Join(strand) => vec![("join", format!("T{}", strand.0))],
        Action::Lock(m) | Action::Woken(_, m) => vec![("acq", format!("L{}", m.0))],
        Action::Unlock(m) | Action::Wait(_, m) => vec![("rel", format!("L{}", m.0))],
        Action::ReadLock(l) | Action::WriteLock(l) => vec![("acq", format!("R{}", l.0))],
        Action::ReadUnlock(l) | Action::WriteUnlock(l) => vec![("rel", format!("R{}", l.0))],
        Action::Arrive(round) | Action::Leave(round) => {
            both(format!("B{}p{}", round.barrier.0, round.phase))
        }
        Action::Release(c) | Action::Acquire(c) => both(format!("C{}", c.0)),
        Action::ReleaseAt(a) | Action::AcquireAt(a) | Action::ReplaceAt(a) => {
            both(format!("A{:x}", a.0))
        }
        Action::Load(_, LoadOrder::Relaxed)
        | Action::Store(_, StoreOrder::Relaxed)
        | Action::Rmw(_, RmwOrder::Relaxed)
        | Action::Fence(FenceOrder::Relaxed)
        | Action::Notify(_)
        | Action::Alloc(_)
        | Action::Free(_)
        | Action::Read(_)
        | Action::Write(_)
        | Action::AtomicRead(_)
        | Action::AtomicWrite(_) => Vec::new(),
        Action::Load(p, _) | Action::Store(p, _) | Action::Rmw(p, _) => {
            both(format!("A{:x}", p.addr().0))
        }
        // Through a fence anything may be told.
        Action::Fence(_) => both("F".to_string()),
    }
}

/// Reads a trace in STD. Threads, variables and locks may have any names; the error names the line.
pub fn import(text: &str) -> Result<Trace, String> {
    let mut names = Names::default();
    let mut events = Vec::new();
    for (at, line) in text.lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        let event = names
            .event(line.trim())
            .map_err(|what| format!("line {}: {what}", at + 1))?;
        events.extend(event);
    }
    Ok(Trace { events })
}

#[derive(Default)]
struct Names {
    threads: HashMap<String, u32>,
    variables: HashMap<String, u64>,
    locks: HashMap<String, u64>,
}

/// Variables lie here, [`CELL`] bytes apart.
const FIRST: u64 = 0x10_0000;

impl Names {
    fn thread(&mut self, name: &str) -> Strand {
        let next = self.threads.len() as u32;
        Strand(*self.threads.entry(name.to_string()).or_insert(next))
    }

    fn event(&mut self, line: &str) -> Result<Option<Event>, String> {
        let mut parts = line.split('|');
        let (Some(thread), Some(operation)) = (parts.next(), parts.next()) else {
            return Err(format!(
                "`{line}` is not thread|operation(operand)|location"
            ));
        };
        let site = parts.next().and_then(|word| word.trim().parse().ok());
        let (name, operand) = match operation.trim().split_once('(') {
            Some((name, rest)) => (name, rest.strip_suffix(')').unwrap_or(rest)),
            None => (operation.trim(), ""),
        };
        let strand = self.thread(thread.trim());
        let range = |names: &mut Names| {
            let next = names.variables.len() as u64;
            let n = *names.variables.entry(operand.to_string()).or_insert(next);
            Range::new(Addr(FIRST + n * CELL), CELL)
                .ok_or_else(|| "there are too many variables".to_string())
        };
        let lock = |names: &mut Names| {
            let next = names.locks.len() as u64 + 1;
            Mutex(*names.locks.entry(operand.to_string()).or_insert(next))
        };
        let action = match name {
            "r" => Action::Read(range(self)?),
            "w" => Action::Write(range(self)?),
            "acq" => Action::Lock(lock(self)),
            "rel" => Action::Unlock(lock(self)),
            "fork" => Action::Fork(self.thread(operand)),
            "join" => Action::Join(self.thread(operand)),
            "begin" => Action::Begin,
            "end" => Action::End,
            // Borders of transactions order nothing.
            "enter" | "exit" | "branch" | "dummy" => return Ok(None),
            other => {
                return Err(format!(
                    "`{other}` is no operation of STD: r, w, acq, rel, fork, join, begin, end"
                ));
            }
        };
        Ok(Some(Event {
            strand,
            action,
            site: site.map(Site),
        }))
    }
}

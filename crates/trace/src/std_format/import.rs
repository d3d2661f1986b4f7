//! STD becomes a trace.

use std::collections::HashMap;

use crate::event::{Action, Addr, Event, Mutex, Range, Site, Strand, Trace};

/// Variables lie here, so many bytes apart.
const FIRST: u64 = 0x10_0000;
const CELL: u64 = 8;

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
    let events = ended(events);
    let roots = names.roots;
    if let [Strand(0)] | [] = roots[..] {
        return Ok(Trace { events });
    }
    // Somebody who does nothing else forks them: nothing orders them then.
    let moved = |strand: Strand| Strand(strand.0 + 1);
    let forks = roots
        .into_iter()
        .map(|root| Event::new(Strand(0), Action::Fork(moved(root))));
    let events = events.into_iter().map(|event| Event {
        strand: moved(event.strand),
        action: match event.action {
            Action::Fork(child) => Action::Fork(moved(child)),
            Action::Join(child) => Action::Join(moved(child)),
            other => other,
        },
        ..event
    });
    Ok(Trace {
        events: forks.chain(events).collect(),
    })
}

/// Who is joined has ended, which STD does not say: without its end, what a strand did last would belong to no act, and could be
/// taken for something that it did after it was joined. A strand that goes on all the same does not end.
fn ended(events: Vec<Event>) -> Vec<Event> {
    let (mut last, mut joined) = (HashMap::new(), HashMap::new());
    for (at, event) in events.iter().enumerate() {
        last.insert(event.strand, at);
        if let Action::Join(child) = event.action {
            joined.entry(child).or_insert(at);
        }
    }
    let mut out = Vec::with_capacity(events.len());
    for (at, event) in events.into_iter().enumerate() {
        out.push(event);
        let strand = event.strand;
        if last[&strand] == at && joined.get(&strand).is_some_and(|&joined| joined > at) {
            out.push(Event::new(strand, Action::End));
        }
    }
    out
}

#[derive(Default)]
struct Names {
    threads: HashMap<String, u32>,
    /// Threads that did something before anybody forked them.
    roots: Vec<Strand>,
    variables: HashMap<String, u64>,
    locks: HashMap<String, u64>,
}

impl Names {
    /// The thread, and whether it is new.
    fn thread(&mut self, name: &str) -> (Strand, bool) {
        let next = self.threads.len() as u32;
        let strand = Strand(*self.threads.entry(name.to_string()).or_insert(next));
        (strand, strand.0 == next)
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
        let (strand, new) = self.thread(thread.trim());
        if new {
            self.roots.push(strand);
        }
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
            "fork" => Action::Fork(self.thread(operand).0),
            "join" => match self.thread(operand) {
                // Nothing was ever heard of it, so it did nothing.
                (_, true) => return Ok(None),
                (child, false) => Action::Join(child),
            },
            // Borders of transactions order nothing.
            "begin" | "end" | "enter" | "exit" | "branch" | "dummy" => return Ok(None),
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

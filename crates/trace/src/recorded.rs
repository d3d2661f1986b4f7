//! The text form of a recorded execution: [`crate::text`] with all that a recording knows beside in comments, so that whoever
//! reads the plain form can read this, and reading it here gives the same recording again.
//!
//! ```text
//! line      = event [ "#" { attribute } ] | "#" fact
//! attribute = "calls=" node               the calls around an access; 0 if left out
//!           | "at=" node                  the whole call stack of an act; 0 if left out
//!           | "touch=" word               vptr-write or destroy, for a write
//!           | "object=" number            what sort of object (its number in `wire::ObjectKind`)
//!           | "addr=" address             where the object is
//!           | "memory=" word              what is allocated: heap, mapping, stack, tls
//!           | "n=" number                 the act's number, if it is not one more than the last
//! fact      = "node" node node address    a call stack: its number, its caller's, its innermost program counter
//!           | "line" text                 a line of docs/raw-stream.md
//!           | "memory" strand word range  what some memory is
//!           | "lost" strand number        accesses that were dropped here
//! ```
//!
//! Sites are program counters. Acts stand in the order of their numbers.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use crate::event::{Addr, Event, Range, Site, Strand};
use crate::merge::InOrder;
use crate::wire::{
    self, Act, Item, Memory, MemoryKind, Object, ObjectKind, Source, StackNode, Touch, Touched,
};

/// Writes an execution as text. What could not be read, one sentence each.
pub fn dump(source: &mut impl Source, out: &mut impl Write) -> io::Result<Vec<String>> {
    let mut lines = Vec::new();
    source.lines(&mut lines);
    for line in &lines {
        writeln!(out, "# line {line}")?;
    }
    let mut known = BTreeSet::new();
    let mut expected = 0;
    let mut order = InOrder::new(source);
    while let Some((strand, item)) = order.next() {
        let node = match item {
            Item::Touch(touched) => touched.caller,
            Item::Act(act) => act.at,
            Item::Memory(..) | Item::Lost(_) => StackNode(0),
        };
        nodes(order.source, node, &mut known, out)?;
        let pc = order.source.node(node).map(|(_, pc)| pc);
        write_item(strand, &item, pc, &mut expected, out)?;
    }
    Ok(order.damages)
}

/// Defines the nodes of a stack that were not defined before, callers first.
fn nodes(
    source: &mut impl Source,
    node: StackNode,
    known: &mut BTreeSet<StackNode>,
    out: &mut impl Write,
) -> io::Result<()> {
    let mut chain = Vec::new();
    let mut at = node;
    while at != StackNode(0) && known.insert(at) {
        let Some((caller, pc)) = source.node(at) else {
            break;
        };
        chain.push((at, caller, pc));
        at = caller;
    }
    for (node, caller, pc) in chain.into_iter().rev() {
        writeln!(out, "# node {} {} {pc:#x}", node.0, caller.0)?;
    }
    Ok(())
}

fn write_item(
    strand: Strand,
    item: &Item,
    innermost: Option<u64>,
    expected: &mut u64,
    out: &mut impl Write,
) -> io::Result<()> {
    let mut extra = String::new();
    let mut add = |text: String| {
        extra.push(' ');
        extra.push_str(&text);
    };
    let event = match *item {
        Item::Memory(kind, range) => {
            return writeln!(out, "# memory {strand} {} {range}", kind.word());
        }
        Item::Lost(count) => return writeln!(out, "# lost {strand} {count}"),
        Item::Touch(touched) => {
            if touched.caller != StackNode(0) {
                add(format!("calls={}", touched.caller.0));
            }
            if matches!(touched.touch, Touch::VptrWrite | Touch::Destroy) {
                add(format!("touch={}", touched.touch.word()));
            }
            Event {
                strand,
                action: touched.action(),
                site: Some(Site(touched.pc)),
            }
        }
        Item::Act(act) => {
            if act.at != StackNode(0) {
                add(format!("at={}", act.at.0));
            }
            if act.object.kind != ObjectKind::Unknown {
                add(format!("object={}", act.object.kind as u8));
            }
            if act.object.addr != 0 {
                add(format!("addr={:#x}", act.object.addr));
            }
            if act.memory != MemoryKind::Other {
                add(format!("memory={}", act.memory.word()));
            }
            if act.number != *expected {
                add(format!("n={}", act.number));
            }
            *expected = act.number.wrapping_add(1);
            Event {
                strand,
                action: act.action,
                site: innermost.map(Site),
            }
        }
    };
    if extra.is_empty() {
        writeln!(out, "{event}")
    } else {
        writeln!(out, "{event} #{extra}")
    }
}

/// Reads what [`dump`] wrote, or a plain text. The error names the line.
pub fn parse(text: &str) -> Result<Memory, String> {
    let mut reading = Reading::default();
    for (at, line) in text.lines().enumerate() {
        reading
            .line(line)
            .map_err(|what| format!("line {}: {what}", at + 1))?;
    }
    Ok(reading.memory())
}

#[derive(Default)]
struct Reading {
    streams: BTreeMap<Strand, (wire::Writer, Vec<u64>)>,
    nodes: BTreeMap<u32, (StackNode, u64)>,
    lines: Vec<String>,
    next: u64,
    /// Call stacks for acts that name only a site.
    sites: BTreeMap<u64, StackNode>,
    bare: u32,
}

/// Nodes for plain sites get numbers from here on.
const BARE: u32 = 1 << 31;

impl Reading {
    fn line(&mut self, line: &str) -> Result<(), String> {
        let (code, comment) = match line.split_once('#') {
            Some((code, comment)) => (code.trim(), comment.trim()),
            None => (line.trim(), ""),
        };
        if code.is_empty() {
            return self.fact(comment);
        }
        let event: Event = code.parse()?;
        let mut attributes = BTreeMap::new();
        for word in comment.split_whitespace() {
            if let Some((key, value)) = word.split_once('=') {
                attributes.insert(key, value);
            }
        }
        let number = |key: &str| -> Result<Option<u64>, String> {
            attributes
                .get(key)
                .map(|value| {
                    parse_number(value).ok_or_else(|| format!("`{key}={value}` is no number"))
                })
                .transpose()
        };
        let pc = event.site.map_or(0, |site| site.0);
        let item = match touch_of(&event, attributes.get("touch").copied()) {
            Some((touch, range)) => Item::Touch(Touched {
                range,
                touch,
                pc,
                caller: StackNode(number("calls")?.unwrap_or(0) as u32),
            }),
            None => {
                let at = match number("at")? {
                    Some(node) => StackNode(node as u32),
                    None if pc == 0 => StackNode(0),
                    None => self.site(pc),
                };
                let n = number("n")?.unwrap_or(self.next);
                self.next = n.wrapping_add(1);
                let mut act = Act::new(n, event.action, at);
                act.object = Object {
                    kind: number("object")?
                        .and_then(|kind| ObjectKind::ALL.get(kind as usize).copied())
                        .unwrap_or_default(),
                    addr: number("addr")?.unwrap_or(0),
                };
                if let Some(word) = attributes.get("memory") {
                    act.memory = memory_kind(word)?;
                }
                Item::Act(act)
            }
        };
        self.add(event.strand, &item);
        Ok(())
    }

    fn site(&mut self, pc: u64) -> StackNode {
        let (bare, nodes) = (&mut self.bare, &mut self.nodes);
        *self.sites.entry(pc).or_insert_with(|| {
            *bare += 1;
            nodes.insert(BARE + *bare, (StackNode(0), pc));
            StackNode(BARE + *bare)
        })
    }

    fn add(&mut self, strand: Strand, item: &Item) {
        let (writer, words) = self.streams.entry(strand).or_default();
        writer.write(item, words);
    }

    fn fact(&mut self, comment: &str) -> Result<(), String> {
        let (word, rest) = comment.split_once(' ').unwrap_or((comment, ""));
        let words: Vec<&str> = rest.split_whitespace().collect();
        let number = |at: usize| words.get(at).copied().and_then(parse_number);
        let strand = || {
            let n = words.first()?.strip_prefix(Strand::PREFIX)?.parse().ok()?;
            Some(Strand(n))
        };
        match word {
            "line" => self.lines.push(rest.to_string()),
            "node" => {
                if let (Some(node), Some(caller), Some(pc)) = (number(0), number(1), number(2)) {
                    self.nodes
                        .insert(node as u32, (StackNode(caller as u32), pc));
                }
            }
            "lost" => {
                if let (Some(strand), Some(count)) = (strand(), number(1)) {
                    self.add(strand, &Item::Lost(count));
                }
            }
            "memory" => {
                let range = number(2)
                    .zip(number(3))
                    .and_then(|(addr, size)| Range::new(Addr(addr), size));
                if let (Some(strand), Some(range), Some(word)) = (strand(), range, words.get(1)) {
                    let kind = memory_kind(word)?;
                    self.add(strand, &Item::Memory(kind, range));
                }
            }
            // Any other comment.
            _ => {}
        }
        Ok(())
    }

    fn memory(self) -> Memory {
        let mut memory = Memory::default();
        for (node, (caller, pc)) in self.nodes {
            memory.set_node(StackNode(node), caller, pc);
        }
        self.lines
            .into_iter()
            .for_each(|line| memory.add_line(line));
        for (strand, (_, words)) in self.streams {
            memory.set_stream(strand, words);
        }
        memory
    }
}

fn parse_number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

fn memory_kind(word: &str) -> Result<MemoryKind, String> {
    MemoryKind::ALL
        .into_iter()
        .find(|kind| kind.word() == word)
        .ok_or_else(|| format!("`{word}` is no sort of memory"))
}

fn touch_of(event: &Event, special: Option<&str>) -> Option<(Touch, Range)> {
    let (touch, range) = wire::touch_of(event.action)?;
    let special = Touch::ALL
        .into_iter()
        .find(|touch| Some(touch.word()) == special);
    Some((special.unwrap_or(touch), range))
}

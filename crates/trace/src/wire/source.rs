//! Where the streams of an execution come from: shared memory while the program runs, a file, or a list in memory.

use std::collections::BTreeMap;

use crate::event::{Action, Event, Site, Strand, Trace};

use super::{
    Act, Item, Spot, StackNode, StackSet, Touch, Touched, act, calls, place, plain, range,
};

/// What became of a wish for more of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Some items were added.
    Some,
    /// The strand has not done more yet.
    NotYet,
    /// The stream is at its end: its strand has ended, or the program has.
    End,
}

/// The streams of one execution.
pub trait Source {
    /// Adds what comes next in the strand's stream to `out`: whole items, about a frame of them. Whoever calls knows that
    /// the strand was forked (or is strand 0), and uses one [`super::Decoder`] for the whole stream.
    fn next(&mut self, strand: Strand, out: &mut Vec<u64>) -> Next;

    /// The caller of a stack and its innermost program counter.
    fn node(&mut self, node: StackNode) -> Option<(StackNode, u64)>;

    /// Adds the lines of the raw stream (docs/raw-stream.md) that have come since the last call.
    fn lines(&mut self, out: &mut Vec<String>);

    /// Waits a moment for something new, because every strand's stream said [`Next::NotYet`].
    fn wait(&mut self);

    /// Whether there are so many call stacks that those nobody needs should go. To find out costs about as much as to look at so
    /// many pages of memory.
    fn stacks_due(&self, _pages: usize) -> bool {
        false
    }

    /// Of the stacks that were ever given to anybody, only these will be asked for, and their callers: the numbers of others may
    /// stand for something else from here on. What was not given yet is the source's own affair.
    fn keep_stacks(&mut self, _used: StackSet) {}
}

/// An execution in memory.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    streams: BTreeMap<Strand, Vec<u64>>,
    taken: BTreeMap<Strand, usize>,
    nodes: BTreeMap<StackNode, (StackNode, u64)>,
    lines: Vec<String>,
    /// Whole items come at most this many words at a time; 0 for all at once.
    pub portion: usize,
}

impl Memory {
    /// The streams that strands would have recorded, had they done this: numbers in the order of the trace. The sites of
    /// events are their program counters; events without one have their place in the trace, plus one.
    pub fn of(trace: &Trace) -> Memory {
        let mut memory = Memory::default();
        let (mut number, mut writers) = (0, BTreeMap::new());
        for (id, event) in trace.iter() {
            let Event {
                strand,
                action,
                site,
            } = *event;
            let Site(pc) = site.unwrap_or(Site(id.0 as u64 + 1));
            let item = match touch_of(action) {
                Some((touch, range)) => Item::Touch(Touched {
                    range,
                    touch,
                    pc,
                    caller: StackNode(0),
                }),
                None => {
                    number += 1;
                    let at = memory.add_node(StackNode(0), pc);
                    Item::Act(Act::new(number - 1, action, at))
                }
            };
            let writer: &mut Writer = writers.entry(strand).or_default();
            writer.write(&item, memory.streams.entry(strand).or_default());
        }
        memory
    }

    /// A new call stack.
    pub fn add_node(&mut self, caller: StackNode, pc: u64) -> StackNode {
        let node = StackNode(self.nodes.len() as u32 + 1);
        self.nodes.insert(node, (caller, pc));
        node
    }

    /// Says what a call stack is.
    pub fn set_node(&mut self, node: StackNode, caller: StackNode, pc: u64) {
        self.nodes.insert(node, (caller, pc));
    }

    /// Replaces the stream of a strand.
    pub fn set_stream(&mut self, strand: Strand, words: Vec<u64>) {
        self.streams.insert(strand, words);
    }

    pub fn add_line(&mut self, line: String) {
        self.lines.push(line);
    }

    /// The strands that have streams.
    pub fn strands(&self) -> impl Iterator<Item = Strand> + '_ {
        self.streams.keys().copied()
    }
}

impl Source for Memory {
    fn next(&mut self, strand: Strand, out: &mut Vec<u64>) -> Next {
        let taken = self.taken.entry(strand).or_default();
        let rest = match self.streams.get(&strand) {
            Some(stream) => &stream[*taken..],
            None => &[],
        };
        if rest.is_empty() {
            return Next::End;
        }
        let mut count = rest.len();
        if self.portion > 0 {
            count = 0;
            while count < rest.len() && count < self.portion {
                count += super::words_of(rest[count]);
            }
            count = count.min(rest.len());
        }
        out.extend_from_slice(&rest[..count]);
        *taken += count;
        Next::Some
    }

    fn node(&mut self, node: StackNode) -> Option<(StackNode, u64)> {
        self.nodes.get(&node).copied()
    }

    fn lines(&mut self, out: &mut Vec<String>) {
        out.append(&mut self.lines);
    }

    fn wait(&mut self) {}
}

/// How an action that is no act touches memory.
pub fn touch_of(action: Action) -> Option<(Touch, crate::event::Range)> {
    match action {
        Action::Read(range) => Some((Touch::Read, range)),
        Action::Write(range) => Some((Touch::Write, range)),
        Action::AtomicRead(range) => Some((Touch::AtomicRead, range)),
        Action::AtomicWrite(range) => Some((Touch::AtomicWrite, range)),
        _ => None,
    }
}

/// Writes items one after another, defining places and call stacks as they come.
#[derive(Clone, Debug, Default)]
pub struct Writer {
    places: BTreeMap<Spot, u16>,
    next: u16,
    caller: StackNode,
}

impl Writer {
    /// Adds the words of an item. A touch that is an act's (`Act` of a plain access) cannot be: it adds nothing.
    pub fn write(&mut self, item: &Item, out: &mut Vec<u64>) {
        match item {
            Item::Act(one) => {
                if let Some(words) = act(one) {
                    out.extend_from_slice(words.as_slice());
                }
            }
            Item::Memory(kind, range) => {
                out.extend_from_slice(super::memory(*kind, *range).as_slice());
            }
            Item::Lost(count) => out.extend_from_slice(super::lost(*count).as_slice()),
            Item::Touch(touched) => self.touch(touched, out),
        }
    }

    fn touch(&mut self, touched: &Touched, out: &mut Vec<u64>) {
        if touched.caller != self.caller {
            self.caller = touched.caller;
            out.extend_from_slice(calls(self.caller).as_slice());
        }
        let (addr, size) = (touched.range.addr().0, touched.range.size());
        let spot = Spot::new(touched.pc, touched.touch as u8, size);
        let index = match self.places.get(&spot) {
            Some(&index) => index,
            None => {
                let index = self.next;
                // What had the index before is defined anew when it comes again.
                self.next = self.next.wrapping_add(1);
                if self.places.len() > u16::MAX as usize {
                    self.places.retain(|_, old| *old != index);
                }
                self.places.insert(spot, index);
                out.extend_from_slice(place(index, spot).as_slice());
                index
            }
        };
        match plain(addr, index) {
            Some(word) if size < super::LARGEST => out.push(word),
            _ => out.extend_from_slice(range(touched.range, index).as_slice()),
        }
    }
}

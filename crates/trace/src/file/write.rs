//! Writing a trace: frames as they come, the index at the end. What was written before a crash can be read.

use std::collections::{BTreeMap, HashSet};
use std::io::{self, Write};

use crate::event::Strand;
use crate::wire::{self, Decoder, Item, Source, StackNode};

use super::frame::{self, Kind};
use super::index::{ENTRY, Entry, FOOTER, TRAIL};
use super::{LONGEST, MAGIC, VERSION};

/// What was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    pub bytes: u64,
    pub accesses: u64,
    pub acts: u64,
    /// Accesses that the program dropped because nobody took them in time.
    pub dropped: u64,
    pub strands: u64,
    pub nodes: u64,
}

/// One strand's stream on its way into the file.
#[derive(Default)]
struct Stream {
    decoder: Decoder,
    /// Words that do not fill a frame yet, with all definitions that they need.
    words: Vec<u64>,
    /// The places that `words` defines.
    defined: HashSet<u16>,
}

/// Writes one trace.
pub struct Writer<W: Write> {
    out: W,
    offset: u64,
    index: Vec<Entry>,
    streams: BTreeMap<Strand, Stream>,
    nodes: HashSet<u32>,
    written: Written,
}

/// Words that are gathered for a frame.
const FRAME_WORDS: usize = 32 << 10;

impl<W: Write> Writer<W> {
    pub fn new(mut out: W) -> io::Result<Writer<W>> {
        out.write_all(&MAGIC)?;
        out.write_all(&VERSION.to_le_bytes())?;
        out.write_all(&[0; 4])?;
        Ok(Writer {
            out,
            offset: 16,
            index: Vec::new(),
            streams: BTreeMap::new(),
            nodes: HashSet::new(),
            written: Written::default(),
        })
    }

    fn frame(&mut self, kind: Kind, strand: u32, count: usize, payload: &[u8]) -> io::Result<()> {
        let bytes = frame::write(&mut self.out, kind, strand, count as u32, payload)?;
        if kind != Kind::Index {
            self.index.push(Entry {
                offset: self.offset,
                kind,
                strand,
                count: count as u32,
            });
        }
        self.offset += bytes;
        self.written.bytes = self.offset;
        Ok(())
    }

    /// Adds lines of the raw stream.
    pub fn lines(&mut self, lines: &[String]) -> io::Result<()> {
        let mut text = String::new();
        let mut count = 0;
        for line in lines {
            if text.len() + line.len() + 1 > LONGEST && count > 0 {
                self.frame(Kind::Lines, 0, count, text.as_bytes())?;
                (text, count) = (String::new(), 0);
            }
            if line.len() < LONGEST {
                text.push_str(line);
                text.push('\n');
                count += 1;
            }
        }
        if count > 0 {
            self.frame(Kind::Lines, 0, count, text.as_bytes())?;
        }
        Ok(())
    }

    /// Adds what came next in a strand's stream. `forked` is called for every strand that this says was made. Words that are
    /// no stream are an error: they come from the program's memory, which it may have overwritten.
    pub fn words(
        &mut self,
        strand: Strand,
        words: &[u64],
        source: &mut impl Source,
        mut forked: impl FnMut(Strand),
    ) -> io::Result<()> {
        let mut stream = self.streams.remove(&strand).unwrap_or_else(|| {
            self.written.strands += 1;
            Stream::default()
        });
        let mut named = Vec::new();
        let mut rest = words;
        let result = loop {
            let before = rest;
            let caller = stream.decoder.caller();
            stream.decoder.definitions(&mut rest);
            let defined = before.len() - rest.len();
            let end = if let Some(turns) = stream.decoder.turns(&mut rest) {
                self.written.accesses += u64::from(turns.count);
                name(&mut named, stream.decoder.caller());
                None
            } else {
                match stream.decoder.next(&mut rest) {
                    Ok(Some(item)) => {
                        self.count(&item, &mut named, &mut forked);
                        None
                    }
                    // What was defined may be for what comes later.
                    Ok(None) if defined > 0 => {
                        rest = &before[defined..];
                        Some(Ok(()))
                    }
                    Ok(None) => break Ok(()),
                    Err(damage) => break Err(damage),
                }
            };
            if stream.words.is_empty() {
                // A frame stands on its own: what it leans on is said again.
                stream
                    .words
                    .extend_from_slice(wire::calls(caller).as_slice());
            }
            let taken = &before[..before.len() - rest.len()];
            stream.add(taken);
            if let Some(end) = end {
                break end;
            }
        };
        self.nodes(named, source)?;
        if stream.words.len() >= FRAME_WORDS {
            self.flush(strand, &mut stream)?;
        }
        self.streams.insert(strand, stream);
        result.map_err(|damage| io::Error::new(io::ErrorKind::InvalidData, damage))
    }

    fn count(&mut self, item: &Item, named: &mut Vec<StackNode>, forked: &mut impl FnMut(Strand)) {
        match item {
            Item::Touch(touched) => {
                self.written.accesses += 1;
                name(named, touched.caller);
            }
            Item::Act(act) => {
                self.written.acts += 1;
                name(named, act.at);
                if let crate::event::Action::Fork(child) = act.action {
                    forked(child);
                }
            }
            Item::Lost(count) => self.written.dropped += count,
            Item::Memory(..) => {}
        }
    }

    /// Writes the nodes that are named and not yet in the file, with their callers.
    fn nodes(&mut self, named: Vec<StackNode>, source: &mut impl Source) -> io::Result<()> {
        let mut payload = Vec::new();
        for mut node in named {
            while node.0 != 0 && self.nodes.insert(node.0) {
                let Some((caller, pc)) = source.node(node) else {
                    break;
                };
                payload.extend_from_slice(&node.0.to_le_bytes());
                payload.extend_from_slice(&caller.0.to_le_bytes());
                payload.extend_from_slice(&pc.to_le_bytes());
                node = caller;
            }
        }
        for part in payload.chunks(LONGEST / 2) {
            self.written.nodes += part.len() as u64 / 16;
            self.frame(Kind::Nodes, 0, part.len() / 16, part)?;
        }
        Ok(())
    }

    fn flush(&mut self, strand: Strand, stream: &mut Stream) -> io::Result<()> {
        for part in stream.words.chunks(LONGEST / 8) {
            let payload: Vec<u8> = part.iter().flat_map(|word| word.to_le_bytes()).collect();
            self.frame(Kind::Words, strand.0, part.len(), &payload)?;
        }
        stream.words.clear();
        stream.defined.clear();
        Ok(())
    }

    /// Writes what has been gathered so far, so that a crash loses nothing of it.
    pub fn sync(&mut self) -> io::Result<()> {
        for (strand, mut stream) in std::mem::take(&mut self.streams) {
            if !stream.words.is_empty() {
                self.flush(strand, &mut stream)?;
            }
            self.streams.insert(strand, stream);
        }
        self.out.flush()
    }

    pub fn written(&self) -> Written {
        self.written
    }

    /// Ends the file with its index.
    pub fn finish(mut self) -> io::Result<(W, Written)> {
        self.sync()?;
        let at = self.offset;
        let mut payload = Vec::new();
        self.index
            .iter()
            .for_each(|entry| entry.write(&mut payload));
        // An index that is too long for one frame is left out: the file is then read from its start.
        if payload.len() <= LONGEST {
            self.frame(Kind::Index, 0, payload.len() / ENTRY, &payload)?;
            self.out.write_all(&at.to_le_bytes())?;
            self.out.write_all(&TRAIL)?;
            self.written.bytes += FOOTER as u64;
        }
        self.out.flush()?;
        Ok((self.out, self.written))
    }
}

/// Adds a call stack, unless it is the one that was added last.
fn name(named: &mut Vec<StackNode>, node: StackNode) {
    if named.last() != Some(&node) {
        named.push(node);
    }
}

impl Stream {
    /// Adds the words of one item, with the definitions right before it, after those that it leans on.
    fn add(&mut self, taken: &[u64]) {
        let mut at = 0;
        while at < taken.len() {
            let count = wire::words_of(taken[at]).min(taken.len() - at);
            let item = &taken[at..at + count];
            match wire::place_of(item[0]) {
                Some(wire::PlaceUse::Defines(index)) => {
                    self.defined.insert(index);
                }
                Some(wire::PlaceUse::Uses(index)) => {
                    if self.defined.insert(index)
                        && let Some(spot) = self.decoder.place(index)
                    {
                        self.words
                            .extend_from_slice(wire::place(index, spot).as_slice());
                    }
                }
                None => {}
            }
            self.words.extend_from_slice(item);
            at += count;
        }
    }
}

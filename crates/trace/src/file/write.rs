//! Writing a trace: frames as they come, the index at the end. What was written before a crash can be read.
//!
//! Memory is bounded, however long the program runs: of a strand that has ended nothing is kept, the index is written out when
//! it is long, and call stacks are forgotten when there are many ([`Writer::keep`]).

use std::collections::{BTreeMap, HashSet};
use std::io::{self, Write};

use crate::event::Strand;
use crate::wire::{self, Decoder, Item, Source, StackNode, StackSet};

use super::frame::{self, Kind};
use super::index::{Entry, FOOTER, MOST, TRAIL, payload};
use super::stacks::Numbers;
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
    /// Call stacks that are missing because there were no numbers left.
    pub nameless: u64,
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
    /// The frames since the last part of the index that was written, and where that is.
    index: Vec<Entry>,
    indexed: Option<u64>,
    /// As many frames make a part of the index.
    pub index_after: usize,
    streams: BTreeMap<Strand, Stream>,
    numbers: Numbers,
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
            indexed: None,
            index_after: MOST,
            streams: BTreeMap::new(),
            numbers: Numbers::default(),
            written: Written::default(),
        })
    }

    fn frame(&mut self, kind: Kind, strand: u32, count: usize, payload: &[u8]) -> io::Result<()> {
        if self.index.len() >= self.index_after {
            self.write_index()?;
        }
        let offset = self.put(kind, strand, count, payload)?;
        self.index.push(Entry {
            offset,
            kind,
            strand,
            count: count as u32,
        });
        Ok(())
    }

    /// Writes a frame; where it is.
    fn put(&mut self, kind: Kind, strand: u32, count: usize, payload: &[u8]) -> io::Result<u64> {
        let at = self.offset;
        self.offset += frame::write(&mut self.out, kind, strand, count as u32, payload)?;
        self.written.bytes = self.offset;
        Ok(at)
    }

    /// Writes where the frames since the last part of the index are, and where that part is.
    fn write_index(&mut self) -> io::Result<u64> {
        let before = self.indexed.map(|offset| Entry {
            offset,
            kind: Kind::Index,
            strand: 0,
            count: 0,
        });
        let entries: Vec<Entry> = before.into_iter().chain(self.index.drain(..)).collect();
        let at = self.put(Kind::Index, 0, entries.len(), &payload(&entries))?;
        self.indexed = Some(at);
        Ok(at)
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
        let mut rest = words;
        let result = loop {
            let before = rest;
            let caller = stream.decoder.caller();
            stream.decoder.definitions(&mut rest);
            let defined = before.len() - rest.len();
            let end = if let Some(turns) = stream.decoder.turns(&mut rest) {
                self.written.accesses += u64::from(turns.count);
                None
            } else {
                match stream.decoder.next(&mut rest) {
                    Ok(Some(item)) => {
                        self.count(&item, &mut forked);
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
                let caller = self.numbers.of(caller, source);
                stream
                    .words
                    .extend_from_slice(wire::calls(caller).as_slice());
            }
            let taken = &before[..before.len() - rest.len()];
            stream.add(taken, |stack| self.numbers.of(stack, source));
            if let Some(end) = end {
                break end;
            }
        };
        self.nodes()?;
        if stream.words.len() >= FRAME_WORDS {
            self.flush(strand, &mut stream)?;
        }
        self.streams.insert(strand, stream);
        result.map_err(|damage| io::Error::new(io::ErrorKind::InvalidData, damage))
    }

    fn count(&mut self, item: &Item, forked: &mut impl FnMut(Strand)) {
        match item {
            Item::Touch(_) => self.written.accesses += 1,
            Item::Act(act) => {
                self.written.acts += 1;
                if let crate::event::Action::Fork(child) = act.action {
                    forked(child);
                }
            }
            Item::Lost(count) => self.written.dropped += count,
            Item::Memory(..) => {}
        }
    }

    /// Writes the call stacks that are new.
    fn nodes(&mut self) -> io::Result<()> {
        let payload = self.numbers.take_new();
        for part in payload.chunks(LONGEST / 2) {
            self.written.nodes += part.len() as u64 / 16;
            self.frame(Kind::Nodes, 0, part.len() / 16, part)?;
        }
        self.written.nameless = self.numbers.nameless;
        Ok(())
    }

    /// The strand's stream is at its end.
    pub fn ended(&mut self, strand: Strand) -> io::Result<()> {
        match self.streams.remove(&strand) {
            Some(mut stream) if !stream.words.is_empty() => self.flush(strand, &mut stream),
            _ => Ok(()),
        }
    }

    /// Forgets the call stacks that no stream is in now. If one of them comes again, it is one more in the file. The source will be
    /// asked for those that stay alone, which this says.
    pub fn keep(&mut self, source: &mut impl Source) -> StackSet {
        let mut used = StackSet::default();
        for stream in self.streams.values() {
            used.add(stream.decoder.caller());
        }
        self.numbers.keep(&used, source);
        used
    }

    /// What is kept in memory: streams, call stacks, and entries of the index.
    pub fn kept(&self) -> usize {
        self.streams.len() + self.numbers.len() + self.index.len()
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
        let at = self.write_index()?;
        self.out.write_all(&at.to_le_bytes())?;
        self.out.write_all(&TRAIL)?;
        self.written.bytes += FOOTER as u64;
        self.out.flush()?;
        Ok((self.out, self.written))
    }
}

impl Stream {
    /// Adds the words of one item, with the definitions right before it, after those that it leans on; with call stacks by the
    /// file's numbers.
    fn add(&mut self, taken: &[u64], mut number: impl FnMut(StackNode) -> StackNode) {
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
            self.words.push(match wire::stack_of(item[0]) {
                Some(stack) => wire::with_stack(item[0], number(stack)),
                None => item[0],
            });
            self.words.extend_from_slice(&item[1..]);
            at += count;
        }
    }
}

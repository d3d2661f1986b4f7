//! Reading a trace. Whatever the bytes are, this neither panics nor runs away: lengths are bounded before anything is
//! allocated, and each frame is checked before it is used.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use crate::event::Strand;
use crate::wire::{Next, Source, StackNode};

use super::frame::{HEADER, Header, Kind, MARKER};
use super::index::{Entry, FOOTER, TRAIL};
use super::stacks::Stacks;
use super::{LONGEST, MAGIC, OLDEST, VERSION};

/// Why a file is not read at all.
#[derive(Debug)]
pub enum OpenError {
    Io(io::Error),
    /// It does not begin as a trace does.
    NoTrace,
    /// It was written by another version of Deadheat.
    Version(u32),
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OpenError::Io(error) => write!(f, "{error}"),
            OpenError::NoTrace => write!(f, "this is no trace of deadheat record"),
            OpenError::Version(version) => write!(
                f,
                "this trace has version {version} of the format, and this deadheat reads versions {OLDEST} to {VERSION}"
            ),
        }
    }
}

impl std::error::Error for OpenError {}

impl From<io::Error> for OpenError {
    fn from(error: io::Error) -> OpenError {
        OpenError::Io(error)
    }
}

/// What a file should hold and does not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    pub what: String,
    pub count: u64,
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "lost {}: {}", self.what, self.count)
    }
}

/// One strand's frames.
#[derive(Clone, Debug, Default)]
struct Stream {
    frames: Vec<Entry>,
    taken: usize,
}

/// A trace in a file, or in anything that can be read at any place.
pub struct Reader<R = File> {
    input: R,
    length: u64,
    streams: BTreeMap<Strand, Stream>,
    stacks: Stacks,
    lines: Vec<String>,
    losses: Vec<Loss>,
    words: u64,
}

impl Reader<File> {
    pub fn open(path: &Path) -> Result<Reader<File>, OpenError> {
        Reader::new(File::open(path)?)
    }
}

impl<R: Read + Seek> Reader<R> {
    pub fn new(mut input: R) -> Result<Reader<R>, OpenError> {
        let length = input.seek(SeekFrom::End(0))?;
        input.seek(SeekFrom::Start(0))?;
        let mut head = [0; 16];
        if length < 16 {
            return Err(OpenError::NoTrace);
        }
        input.read_exact(&mut head)?;
        if head[..8] != MAGIC {
            return Err(OpenError::NoTrace);
        }
        let version = u32::from_le_bytes([head[8], head[9], head[10], head[11]]);
        if !(OLDEST..=VERSION).contains(&version) {
            return Err(OpenError::Version(version));
        }
        let mut reader = Reader {
            input,
            length,
            streams: BTreeMap::new(),
            stacks: Stacks::default(),
            lines: Vec::new(),
            losses: Vec::new(),
            words: 0,
        };
        match reader.read_index()? {
            Some(entries) => reader.take_index(entries)?,
            None => reader.scan()?,
        }
        reader.stacks.unite();
        Ok(reader)
    }

    /// What the file should hold and does not. Of its streams that is known when they have been read.
    pub fn losses(&self) -> &[Loss] {
        &self.losses
    }

    fn lost(&mut self, count: u64, what: String) {
        self.losses.push(Loss { what, count });
    }

    /// Words in all streams: about as many as there are accesses.
    pub fn words(&self) -> u64 {
        self.words
    }

    pub fn bytes(&self) -> u64 {
        self.length
    }

    /// The strands that have streams here.
    pub fn strands(&self) -> Vec<Strand> {
        self.streams.keys().copied().collect()
    }

    /// All call stacks: node, caller, program counter.
    pub fn nodes(&self) -> impl Iterator<Item = (StackNode, StackNode, u64)> + '_ {
        self.stacks.iter()
    }

    /// Starts all streams from their beginnings again.
    pub fn rewind(&mut self) {
        self.streams
            .values_mut()
            .for_each(|stream| stream.taken = 0);
    }

    /// The header at `offset`, if there is one.
    fn header_at(&mut self, offset: u64) -> io::Result<Option<Header>> {
        if self.length.saturating_sub(offset) < HEADER as u64 {
            return Ok(None);
        }
        let mut bytes = [0; HEADER];
        self.input.seek(SeekFrom::Start(offset))?;
        self.input.read_exact(&mut bytes)?;
        Ok(Header::parse(&bytes))
    }

    /// The frame at `offset`: its header and payload; none if it is not whole.
    fn frame_at(&mut self, offset: u64) -> io::Result<Option<(Header, Vec<u8>)>> {
        let Some(header) = self.header_at(offset)? else {
            return Ok(None);
        };
        let left = self.length - offset - HEADER as u64;
        if u64::from(header.stored) > left {
            return Ok(None);
        }
        let mut stored = vec![0; header.stored as usize];
        self.input.read_exact(&mut stored)?;
        Ok(header.unpack(&stored).map(|payload| (header, payload)))
    }

    /// All parts of the index, if the file has one that is whole.
    fn read_index(&mut self) -> io::Result<Option<Vec<Entry>>> {
        if self.length < (16 + FOOTER) as u64 {
            return Ok(None);
        }
        let mut footer = [0; FOOTER];
        self.input
            .seek(SeekFrom::Start(self.length - FOOTER as u64))?;
        self.input.read_exact(&mut footer)?;
        if footer[8..] != TRAIL {
            return Ok(None);
        }
        let mut offset = [0; 8];
        offset.copy_from_slice(&footer[..8]);
        let mut next = Some(u64::from_le_bytes(offset));
        let mut parts = Vec::new();
        while let Some(offset) = next {
            let entries = match self.frame_at(offset)? {
                Some((header, payload)) if header.kind == Kind::Index => Entry::parse_all(&payload),
                _ => None,
            };
            // Each names what is before it, so this comes to an end.
            let Some(entries) = entries.filter(|all| all.iter().all(|one| one.offset < offset))
            else {
                return Ok(None);
            };
            let before = entries.first().filter(|one| one.kind == Kind::Index);
            next = before.map(|one| one.offset);
            parts.push(entries);
        }
        Ok(Some(parts.into_iter().rev().flatten().collect()))
    }

    fn take_index(&mut self, entries: Vec<Entry>) -> io::Result<()> {
        for entry in entries {
            match entry.kind {
                Kind::Words => self.add_stream(entry),
                Kind::Nodes | Kind::Lines => match self.frame_at(entry.offset)? {
                    Some((header, payload)) if header.kind == entry.kind => {
                        self.take(entry.kind, &payload)
                    }
                    _ => {
                        let what = what(entry.kind);
                        let text = format!("{what}, in a damaged frame at byte {}", entry.offset);
                        self.lost(entry.count.into(), text);
                    }
                },
                Kind::Index => {}
            }
        }
        Ok(())
    }

    /// Reads the file from its start, because it has no index.
    fn scan(&mut self) -> io::Result<()> {
        let what =
            "index at the end of the trace (whoever recorded it was stopped, or the file was cut)";
        self.lost(1, what.to_owned());
        let mut offset = 16;
        let mut damaged = 0;
        while offset < self.length {
            match self.frame_at(offset)? {
                Some((header, payload)) => {
                    let entry = Entry {
                        offset,
                        kind: header.kind,
                        strand: header.strand,
                        count: header.count,
                    };
                    match header.kind {
                        Kind::Words => self.add_stream(entry),
                        kind => self.take(kind, &payload),
                    }
                    offset += HEADER as u64 + u64::from(header.stored);
                }
                None => {
                    let next = self.next_marker(offset + 1)?;
                    damaged += next - offset;
                    offset = next;
                }
            }
        }
        if damaged > 0 {
            self.lost(
                damaged,
                "bytes of the trace that are damaged or cut off".to_owned(),
            );
        }
        Ok(())
    }

    /// Where the next frame may begin; the end of the file if nowhere.
    fn next_marker(&mut self, from: u64) -> io::Result<u64> {
        const STEP: usize = 64 << 10;
        let mut at = from;
        let mut buffer = vec![0; STEP];
        while at < self.length {
            let count = STEP.min((self.length - at) as usize);
            self.input.seek(SeekFrom::Start(at))?;
            self.input.read_exact(&mut buffer[..count])?;
            if let Some(found) = buffer[..count].windows(4).position(|four| *four == MARKER) {
                return Ok(at + found as u64);
            }
            if count < 4 {
                break;
            }
            // A marker may lie across two parts.
            at += count as u64 - 3;
            if count < STEP {
                break;
            }
        }
        Ok(self.length)
    }

    fn add_stream(&mut self, entry: Entry) {
        self.words += u64::from(entry.count);
        self.streams
            .entry(Strand(entry.strand))
            .or_default()
            .frames
            .push(entry);
    }

    fn take(&mut self, kind: Kind, payload: &[u8]) {
        match kind {
            Kind::Nodes => {
                for node in payload.chunks_exact(16) {
                    let word = |at: usize| {
                        u32::from_le_bytes([node[at], node[at + 1], node[at + 2], node[at + 3]])
                    };
                    let pc = u64::from(word(8)) | u64::from(word(12)) << 32;
                    self.stacks.add(StackNode(word(0)), StackNode(word(4)), pc);
                }
            }
            Kind::Lines => {
                let text = String::from_utf8_lossy(payload);
                self.lines.extend(text.lines().map(str::to_string));
            }
            Kind::Words | Kind::Index => {}
        }
    }
}

fn what(kind: Kind) -> &'static str {
    match kind {
        Kind::Words => "words of events",
        Kind::Nodes => "call stacks",
        Kind::Lines => "lines about modules and threads",
        Kind::Index => "entries of the index",
    }
}

impl<R: Read + Seek> Source for Reader<R> {
    fn next(&mut self, strand: Strand, out: &mut Vec<u64>) -> Next {
        loop {
            let Some(stream) = self.streams.get_mut(&strand) else {
                return Next::End;
            };
            let Some(&entry) = stream.frames.get(stream.taken) else {
                return Next::End;
            };
            stream.taken += 1;
            match self.frame_at(entry.offset) {
                Ok(Some((header, payload))) if header.kind == Kind::Words => {
                    let before = out.len();
                    out.extend(payload.chunks_exact(8).map(|w| {
                        u64::from_le_bytes([w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7]])
                    }));
                    self.stacks.unite_words(&mut out[before..]);
                    return Next::Some;
                }
                _ => {
                    let (at, strand) = (entry.offset, strand.0);
                    let what = what(Kind::Words);
                    let text = format!("{what} of t{strand}, in a damaged frame at byte {at}");
                    self.lost(entry.count.into(), text);
                }
            }
        }
    }

    fn node(&mut self, node: StackNode) -> Option<(StackNode, u64)> {
        self.stacks.node(node)
    }

    fn lines(&mut self, out: &mut Vec<String>) {
        out.append(&mut self.lines);
    }

    fn wait(&mut self) {}
}

const _: () = assert!(LONGEST <= u32::MAX as usize);

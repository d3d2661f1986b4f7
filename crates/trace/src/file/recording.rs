//! From the streams of an execution into a file, as they come.

use std::io::{self, Write};

use crate::event::Strand;
use crate::wire::{Next, Source};

use super::write::{Writer, Written};

/// To forget call stacks costs a recorder as much as a look at so many pages costs a checker: those that come again are written again.
const AS_PAGES: usize = 1 << 16;

/// What a round over all strands gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Round {
    /// Something came.
    Some,
    /// Nothing has come since the last round.
    NotYet,
    /// All streams are at their ends.
    End,
}

/// Writes an execution into a file.
pub struct Recording<W: Write> {
    writer: Writer<W>,
    /// Strands whose streams are not at their end.
    live: Vec<Strand>,
    words: Vec<u64>,
    lines: Vec<String>,
    losses: Vec<String>,
}

impl<W: Write> Recording<W> {
    pub fn new(out: W) -> io::Result<Recording<W>> {
        Ok(Recording {
            writer: Writer::new(out)?,
            live: vec![Strand(0)],
            words: Vec::new(),
            lines: Vec::new(),
            losses: Vec::new(),
        })
    }

    pub fn written(&self) -> Written {
        self.writer.written()
    }

    /// What is kept in memory: streams, call stacks, and entries of the index.
    pub fn kept(&self) -> usize {
        self.live.len() + self.writer.kept()
    }

    /// As many frames make a part of the index: fewer than usual for tests.
    pub fn index_after(&mut self, frames: usize) {
        self.writer.index_after = frames;
    }

    /// What could not be written, one sentence each.
    pub fn losses(&self) -> &[String] {
        &self.losses
    }

    /// Takes what there is: about a frame of each strand.
    pub fn round(&mut self, source: &mut impl Source) -> io::Result<Round> {
        let mut some = self.lines(source)?;
        let mut at = 0;
        while at < self.live.len() {
            let strand = self.live[at];
            self.words.clear();
            match source.next(strand, &mut self.words) {
                Next::Some => {
                    some = true;
                    let live = &mut self.live;
                    let words = std::mem::take(&mut self.words);
                    let result = self
                        .writer
                        .words(strand, &words, source, |child| live.push(child));
                    self.words = words;
                    match result {
                        Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                            self.losses.push(format!(
                                "the recording of t{} was damaged by the program and ends there: {error}",
                                strand.0
                            ));
                            self.live.remove(at);
                            self.writer.ended(strand)?;
                            continue;
                        }
                        other => other?,
                    }
                }
                Next::NotYet => {}
                Next::End => {
                    self.live.remove(at);
                    self.writer.ended(strand)?;
                    continue;
                }
            }
            at += 1;
        }
        if source.stacks_due(AS_PAGES) {
            let used = self.writer.keep(source);
            source.keep_stacks(used);
        }
        Ok(match (some, self.live.is_empty()) {
            (_, true) => Round::End,
            (true, false) => Round::Some,
            (false, false) => Round::NotYet,
        })
    }

    fn lines(&mut self, source: &mut impl Source) -> io::Result<bool> {
        source.lines(&mut self.lines);
        let some = !self.lines.is_empty();
        if some {
            self.writer.lines(&self.lines)?;
            self.lines.clear();
        }
        Ok(some)
    }

    /// Writes out what was gathered: a recorder that is killed now loses nothing of it.
    pub fn sync(&mut self) -> io::Result<()> {
        self.writer.sync()
    }

    /// Ends the file.
    pub fn finish(mut self, source: &mut impl Source) -> io::Result<(W, Written)> {
        self.lines(source)?;
        self.writer.finish()
    }
}

/// Writes a whole execution that is over.
pub fn save<W: Write>(source: &mut impl Source, out: W) -> io::Result<(W, Written)> {
    let mut recording = Recording::new(out)?;
    while recording.round(source)? != Round::End {
        source.wait();
    }
    recording.finish(source)
}

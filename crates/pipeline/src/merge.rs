//! Merges the streams of all strands by what their synchronization says, not by wall clock.
//!
//! Acts are numbered without gaps. A strand's accesses before its next act are passed on when that act's turn comes, so
//! that the merged order is close to the real one and does not depend on when frames arrive. A strand that touches memory
//! for long without any act would have to be kept in memory: past [`MUCH`] words its accesses are passed on at once,
//! which is as good an order as any, since nothing orders them with others.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use deadheat_order::PerStrand;
use deadheat_trace::wire::{
    Damage, Decoder, Item, Next, Source, StackSet, is_access, is_act, turns_in, words_of,
};
use deadheat_trace::{Action, Strand};

use crate::sequence::Sequencer;

/// Words of a strand that are kept for the turn of its next act; a loop counts as many as it has turns.
const MUCH: usize = 1 << 14;

/// The stream of one strand.
#[derive(Debug)]
struct Stream {
    strand: Strand,
    decoder: Decoder,
    words: Vec<u64>,
    /// What was passed on already.
    passed: usize,
    /// What was looked through for the next act.
    looked: usize,
    /// The turns of loops in what was looked through and not passed on.
    turns: usize,
    /// The next act: where it begins, and its number.
    act: Option<(usize, u64)>,
}

impl Stream {
    fn new(strand: Strand) -> Stream {
        Stream {
            strand,
            decoder: Decoder::new(),
            words: Vec::new(),
            passed: 0,
            looked: 0,
            turns: 0,
            act: None,
        }
    }

    /// Looks for the next act in what has come.
    fn look(&mut self) {
        while self.act.is_none() {
            let rest = &self.words[self.looked.min(self.words.len())..];
            self.looked += rest.iter().take_while(|&&word| is_access(word)).count();
            let Some(&word) = self.words.get(self.looked) else {
                break;
            };
            let size = words_of(word);
            if is_act(word)
                && let Some(&number) = self.words.get(self.looked + 1)
            {
                self.act = Some((self.looked, number));
            } else {
                if let Some(count) = turns_in(&self.words[self.looked..]) {
                    self.turns += count as usize;
                }
                self.looked += size;
            }
        }
        self.looked = self.looked.min(self.words.len());
    }

    /// Drops what was passed on.
    #[inline]
    fn compact(&mut self) {
        if self.passed == self.words.len() {
            self.words.clear();
        } else if self.passed > MUCH {
            self.words.drain(..self.passed);
        } else {
            return;
        }
        let gone = self.passed;
        self.passed = 0;
        self.looked = self.looked.saturating_sub(gone);
        if let Some((at, _)) = &mut self.act {
            *at -= gone;
        }
    }
}

/// What can be wrong with the streams.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Damages {
    /// Words that were no events, and those after them in their frames.
    pub words: u64,
    /// What the first one was.
    pub first: Option<(Strand, Damage)>,
    /// Numbers that no stream had.
    pub missing: u64,
    /// Acts whose number had been before.
    pub late: u64,
}

/// Whether there is more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Something was passed on.
    Some,
    /// Every strand's stream must come further first.
    Waiting,
    /// All streams have ended and all is passed on.
    Done,
}

/// A stream's place in [`Merger::streams`].
type Index = u32;

/// Merges.
#[derive(Debug)]
pub struct Merger {
    streams: Vec<Option<Box<Stream>>>,
    /// Which place a strand's stream has, until it has ended.
    places: PerStrand<Index>,
    free: Vec<Index>,
    /// Streams whose next act is known, by its number.
    waiting: BinaryHeap<Reverse<(u64, Index)>>,
    /// Streams to be looked through for their next act.
    hungry: Vec<Index>,
    /// Streams that had nothing more when they were last asked.
    idle: Vec<Index>,
    /// Streams whose strand has ended: there is nothing more in them, but that must be heard before they are given up.
    ended: Vec<Index>,
    next: u64,
    pub damages: Damages,
}

impl Default for Merger {
    fn default() -> Self {
        let mut merger = Merger {
            streams: Vec::new(),
            places: PerStrand::default(),
            free: Vec::new(),
            waiting: BinaryHeap::new(),
            hungry: Vec::new(),
            idle: Vec::new(),
            ended: Vec::new(),
            next: 0,
            damages: Damages::default(),
        };
        merger.add(Strand(0));
        merger
    }
}

impl Merger {
    pub fn new() -> Merger {
        Merger::default()
    }

    /// A stream for a strand that has none.
    fn add(&mut self, strand: Strand) {
        let stream = Some(Box::new(Stream::new(strand)));
        let index = match self.free.pop() {
            Some(index) => {
                self.streams[index as usize] = stream;
                index
            }
            None => {
                self.streams.push(stream);
                (self.streams.len() - 1) as Index
            }
        };
        self.places.insert(strand, index);
        self.hungry.push(index);
    }

    /// Passes on what can be, until the sequencer is full.
    pub fn advance(&mut self, source: &mut impl Source, sequencer: &mut Sequencer) -> Progress {
        let mut progress = Progress::Waiting;
        self.hungry.append(&mut self.idle);
        // Nobody waits for what these have, so as long as others have enough they would never be asked, and keep their memory.
        for index in std::mem::take(&mut self.ended) {
            if self.feed(index, source, sequencer) {
                progress = Progress::Some;
            }
        }
        while !sequencer.full() {
            let first = self.waiting.peek().map(|&Reverse(first)| first);
            if let Some((number, index)) = first
                && number <= self.next
            {
                self.waiting.pop();
                if number == self.next {
                    self.next = self.next.saturating_add(1);
                } else {
                    self.damages.late += 1;
                }
                self.pass_act(index, sequencer);
                progress = Progress::Some;
            } else if let Some(index) = self.hungry.pop().or_else(|| self.ended.pop()) {
                if self.feed(index, source, sequencer) {
                    progress = Progress::Some;
                }
            } else if !self.idle.is_empty() {
                // Whoever has the next number has not come so far.
                return progress;
            } else if let Some((number, _)) = first {
                let missing = &mut self.damages.missing;
                *missing = missing.saturating_add(number - self.next);
                self.next = number;
            } else {
                return match progress {
                    Progress::Some => Progress::Some,
                    Progress::Waiting | Progress::Done => Progress::Done,
                };
            }
        }
        Progress::Some
    }

    /// Adds the call stacks of what was not passed on.
    pub fn stacks(&self, used: &mut StackSet) {
        for stream in self.streams.iter().flatten() {
            used.add(stream.decoder.caller());
            used.add_words(&stream.words[stream.passed..]);
        }
    }

    /// Looks for the next act of a stream, asking for more as long as there is none. Was anything passed on?
    fn feed(&mut self, index: Index, source: &mut impl Source, sequencer: &mut Sequencer) -> bool {
        let Some(stream) = self.streams[index as usize].as_mut() else {
            return false;
        };
        let mut passed = false;
        loop {
            stream.look();
            if let Some((_, number)) = stream.act {
                self.waiting.push(Reverse((number, index)));
                return passed;
            }
            if stream.words.len() - stream.passed + stream.turns >= MUCH {
                pass(stream, stream.looked, sequencer, &mut self.damages);
                stream.compact();
                passed = true;
                if sequencer.full() {
                    self.hungry.push(index);
                    return passed;
                }
            }
            let before = stream.words.len();
            match source.next(stream.strand, &mut stream.words) {
                Next::Some => sequencer.passed.words += (stream.words.len() - before) as u64,
                Next::NotYet => {
                    self.idle.push(index);
                    return passed;
                }
                Next::End => {
                    pass(stream, stream.words.len(), sequencer, &mut self.damages);
                    self.places.remove(stream.strand);
                    self.streams[index as usize] = None;
                    self.free.push(index);
                    return true;
                }
            }
        }
    }

    /// Passes on a stream's accesses and the act after them, and again as long as the next act of all is this stream's.
    fn pass_act(&mut self, index: Index, sequencer: &mut Sequencer) {
        let Some(mut stream) = self.streams[index as usize].take() else {
            return;
        };
        while let Some((at, _)) = stream.act.take() {
            let end = (at + words_of(stream.words[at])).min(stream.words.len());
            let fate = pass(&mut stream, end, sequencer, &mut self.damages);
            stream.looked = end;
            stream.compact();
            if let Some(child) = fate.forked
                && !self.places.contains(child)
            {
                self.add(child);
            }
            stream.look();
            match stream.act {
                Some((_, number)) if number == self.next && !sequencer.full() => {
                    self.next = self.next.saturating_add(1);
                }
                Some((_, number)) => {
                    self.waiting.push(Reverse((number, index)));
                    break;
                }
                None if fate.ended => self.ended.push(index),
                None => self.hungry.push(index),
            }
        }
        self.streams[index as usize] = Some(stream);
    }
}

/// What became of strands in a piece of a stream.
#[derive(Clone, Copy, Debug, Default)]
struct Fate {
    /// The one that was forked last.
    forked: Option<Strand>,
    /// The stream's own has ended.
    ended: bool,
}

/// Passes on a stream up to a word.
fn pass(stream: &mut Stream, end: usize, sequencer: &mut Sequencer, damages: &mut Damages) -> Fate {
    let mut fate = Fate::default();
    let strand = stream.strand;
    let mut rest = &stream.words[stream.passed..end];
    loop {
        stream.decoder.definitions(&mut rest);
        let taken = sequencer.accesses(strand, rest, &mut stream.decoder);
        rest = &rest[taken..];
        if taken > 0 {
            continue;
        }
        if let Some(turns) = stream.decoder.turns(&mut rest) {
            sequencer.turns(strand, &turns, stream.decoder.caller());
            continue;
        }
        match rest.first() {
            // The unused rest of a frame.
            Some(0) => {
                let unused = rest.iter().take_while(|&&word| word == 0).count();
                rest = &rest[unused..];
                continue;
            }
            Some(_) => {}
            None => break,
        }
        match stream.decoder.next(&mut rest) {
            Ok(Some(item)) => {
                if let Item::Act(act) = &item {
                    match act.action {
                        Action::Fork(child) => fate.forked = Some(child),
                        Action::End => fate.ended = true,
                        _ => {}
                    }
                }
                sequencer.item(strand, &item);
            }
            Ok(None) => {}
            Err(damage) => {
                damages.first.get_or_insert((strand, damage));
                damages.words += rest.len().max(1) as u64;
                break;
            }
        }
    }
    stream.passed = end;
    stream.turns = 0;
    fate
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::detector::{DetectorKind, Needs};
    use crate::shard::Across;
    use deadheat_trace::Mutex;
    use deadheat_trace::wire::{Act, Memory, StackNode, Writer};

    #[test]
    fn streams_of_strands_that_have_ended_are_given_up_though_others_go_on() {
        const COUNT: u32 = 2000;
        let mut memory = Memory::default();
        let mut number = 0;
        let mut put = |writer: &mut Writer, words: &mut Vec<u64>, action: Action| {
            let act = Act::new(number, action, StackNode(0));
            number += 1;
            writer.write(&Item::Act(act), words);
        };
        // The first strand always has the next act at hand, or the one after that.
        let (mut main, mut first) = (Writer::default(), Vec::new());
        for child in 1..=COUNT {
            put(&mut main, &mut first, Action::Fork(Strand(child)));
            let (mut writer, mut words) = (Writer::default(), Vec::new());
            put(&mut writer, &mut words, Action::Begin);
            put(&mut writer, &mut words, Action::End);
            memory.set_stream(Strand(child), words);
            for _ in 0..8 {
                put(&mut main, &mut first, Action::Lock(Mutex(1)));
                put(&mut main, &mut first, Action::Unlock(Mutex(1)));
            }
        }
        memory.set_stream(Strand(0), first);
        let needs = Needs::of(&[DetectorKind::FastTrack]);
        let mut sequencer = Sequencer::new(1, needs, Across::Frames);
        sequencer.news_after = 64;
        let mut merger = Merger::new();
        while merger.advance(&mut memory, &mut sequencer) != Progress::Done {
            sequencer.take(&mut Vec::new());
        }
        assert_eq!(merger.damages, Damages::default());
        assert!(merger.streams.len() < 64, "{}", merger.streams.len());
    }
}

//! Merges the streams of all strands by what their synchronization says, not by wall clock.
//!
//! Acts are numbered without gaps. A strand's accesses before its next act are passed on when that act's turn comes, so
//! that the merged order is close to the real one and does not depend on when frames arrive. A strand that touches memory
//! for long without any act would have to be kept in memory: past [`MUCH`] words its accesses are passed on at once,
//! which is as good an order as any, since nothing orders them with others.

use std::collections::{BTreeMap, HashMap};

use deadheat_trace::wire::{
    Damage, Decoder, Item, LARGEST, Next, Source, access_of, is_act, words_of,
};
use deadheat_trace::{Action, Strand};

use crate::sequence::Sequencer;

/// Words of a strand that are kept for the turn of its next act.
const MUCH: usize = 1 << 16;

/// The stream of one strand.
#[derive(Debug, Default)]
struct Stream {
    decoder: Decoder,
    words: Vec<u64>,
    /// What was passed on already.
    passed: usize,
    /// What was looked through for the next act.
    looked: usize,
    /// The next act: where it begins, and its number.
    act: Option<(usize, u64)>,
    ended: bool,
}

impl Stream {
    /// Looks for the next act in what has come.
    fn look(&mut self) {
        while self.act.is_none() && self.looked < self.words.len() {
            let word = self.words[self.looked];
            let size = words_of(word);
            if is_act(word)
                && let Some(&number) = self.words.get(self.looked + 1)
            {
                self.act = Some((self.looked, number));
            } else {
                self.looked += size;
            }
        }
        self.looked = self.looked.min(self.words.len());
    }

    /// Drops what was passed on.
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

/// Merges.
#[derive(Debug)]
pub struct Merger {
    streams: HashMap<Strand, Stream>,
    /// Strands that wait with their next act, by its number.
    waiting: BTreeMap<u64, Strand>,
    /// Strands that must be asked for more.
    hungry: Vec<Strand>,
    next: u64,
    pub damages: Damages,
}

impl Default for Merger {
    fn default() -> Self {
        Merger {
            streams: HashMap::from([(Strand(0), Stream::default())]),
            waiting: BTreeMap::new(),
            hungry: vec![Strand(0)],
            next: 0,
            damages: Damages::default(),
        }
    }
}

impl Merger {
    pub fn new() -> Merger {
        Merger::default()
    }

    /// Passes on what can be, until the sequencer is full.
    pub fn advance(&mut self, source: &mut impl Source, sequencer: &mut Sequencer) -> Progress {
        let mut progress = Progress::Waiting;
        while !sequencer.full() {
            self.feed(source, sequencer, &mut progress);
            if let Some(strand) = self.waiting.remove(&self.next) {
                self.next = self.next.saturating_add(1);
                self.pass_act(strand, sequencer);
                progress = Progress::Some;
            } else if !self.hungry.is_empty() {
                // Whoever has the next number has not come so far.
                return progress;
            } else if let Some((&number, _)) = self.waiting.first_key_value() {
                if number < self.next {
                    self.damages.late += 1;
                } else {
                    let missing = &mut self.damages.missing;
                    *missing = missing.saturating_add(number - self.next);
                }
                if let Some((number, strand)) = self.waiting.pop_first() {
                    self.next = self.next.max(number.saturating_add(1));
                    self.pass_act(strand, sequencer);
                }
                progress = Progress::Some;
            } else {
                return match progress {
                    Progress::Some => Progress::Some,
                    Progress::Waiting | Progress::Done => Progress::Done,
                };
            }
        }
        Progress::Some
    }

    /// Asks for more of those strands whose next act is not known.
    fn feed(
        &mut self,
        source: &mut impl Source,
        sequencer: &mut Sequencer,
        progress: &mut Progress,
    ) {
        let mut still = Vec::new();
        while let Some(strand) = self.hungry.pop() {
            let Some(stream) = self.streams.get_mut(&strand) else {
                continue;
            };
            loop {
                stream.look();
                if let Some((_, number)) = stream.act {
                    match self.waiting.entry(number) {
                        std::collections::btree_map::Entry::Vacant(place) => {
                            place.insert(strand);
                        }
                        std::collections::btree_map::Entry::Occupied(_) => {
                            // Two acts of one number: this one comes when nothing else does.
                            self.damages.late += 1;
                            let mut free = u64::MAX;
                            while self.waiting.contains_key(&free) {
                                free -= 1;
                            }
                            self.waiting.insert(free, strand);
                        }
                    }
                    break;
                }
                if stream.words.len() - stream.passed >= MUCH {
                    pass(strand, stream, stream.looked, sequencer, &mut self.damages);
                    stream.compact();
                    *progress = Progress::Some;
                    if sequencer.full() {
                        still.push(strand);
                        break;
                    }
                }
                let before = stream.words.len();
                match source.next(strand, &mut stream.words) {
                    Next::Some => sequencer.passed.words += (stream.words.len() - before) as u64,
                    Next::NotYet => {
                        still.push(strand);
                        break;
                    }
                    Next::End => {
                        stream.ended = true;
                        pass(
                            strand,
                            stream,
                            stream.words.len(),
                            sequencer,
                            &mut self.damages,
                        );
                        self.streams.remove(&strand);
                        *progress = Progress::Some;
                        break;
                    }
                }
            }
            if sequencer.full() {
                break;
            }
        }
        self.hungry.append(&mut still);
    }

    /// Passes on a strand's accesses and the act after them.
    fn pass_act(&mut self, strand: Strand, sequencer: &mut Sequencer) {
        let Some(stream) = self.streams.get_mut(&strand) else {
            return;
        };
        let Some((at, _)) = stream.act.take() else {
            return;
        };
        let end = (at + words_of(stream.words[at])).min(stream.words.len());
        let forked = pass(strand, stream, end, sequencer, &mut self.damages);
        stream.looked = end;
        stream.compact();
        self.hungry.push(strand);
        if let Some(child) = forked
            && !self.streams.contains_key(&child)
        {
            self.streams.insert(child, Stream::default());
            self.hungry.push(child);
        }
    }
}

/// Passes on a stream up to a word; the strand that was forked last.
fn pass(
    strand: Strand,
    stream: &mut Stream,
    end: usize,
    sequencer: &mut Sequencer,
    damages: &mut Damages,
) -> Option<Strand> {
    let mut forked = None;
    let mut rest = &stream.words[stream.passed..end];
    loop {
        while let Some((&word, more)) = rest.split_first() {
            if let Some((addr, index)) = access_of(word)
                && let Some(spot) = stream.decoder.place(index)
                && (1..LARGEST).contains(&spot.size())
            {
                let caller = stream.decoder.caller();
                sequencer.access(strand, addr, spot.size(), spot, caller);
            } else if word != 0 {
                break;
            } // else it is the unused rest of a frame
            rest = more;
        }
        match stream.decoder.next(&mut rest) {
            Ok(Some(item)) => {
                if let Item::Act(act) = &item
                    && let Action::Fork(child) = act.action
                {
                    forked = Some(child);
                }
                sequencer.item(strand, &item);
            }
            Ok(None) => break,
            Err(damage) => {
                damages.first.get_or_insert((strand, damage));
                damages.words += rest.len().max(1) as u64;
                break;
            }
        }
    }
    stream.passed = end;
    forked
}

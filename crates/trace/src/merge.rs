//! One order of all events out of the streams of an execution that is over: one that could have happened.

use std::collections::{BTreeMap, VecDeque};

use crate::event::{Action, Strand};
use crate::wire::{Act, Decoder, Item, Next, Source};

/// One strand's stream.
#[derive(Default)]
struct Stream {
    decoder: Decoder,
    words: Vec<u64>,
    at: usize,
    /// The next act, if what lies before it was given out.
    act: Option<Act>,
    ended: bool,
}

/// The items of all strands, acts in the order of their numbers.
pub struct InOrder<'a, S: Source> {
    pub source: &'a mut S,
    streams: BTreeMap<Strand, Stream>,
    ready: VecDeque<(Strand, Item)>,
    /// What could not be read.
    pub damages: Vec<String>,
}

impl<'a, S: Source> InOrder<'a, S> {
    /// From strand 0 on, and whatever is forked from there.
    pub fn new(source: &'a mut S) -> InOrder<'a, S> {
        InOrder {
            source,
            streams: BTreeMap::from([(Strand(0), Stream::default())]),
            ready: VecDeque::new(),
            damages: Vec::new(),
        }
    }

    /// Reads a stream up to its next act.
    fn fill(&mut self, strand: Strand) {
        let Some(mut stream) = self.streams.remove(&strand) else {
            return;
        };
        while stream.act.is_none() && !stream.ended {
            let mut rest = &stream.words[stream.at..];
            let item = stream.decoder.next(&mut rest);
            stream.at = stream.words.len() - rest.len();
            match item {
                Ok(Some(Item::Act(act))) => stream.act = Some(act),
                Ok(Some(item)) => self.ready.push_back((strand, item)),
                Ok(None) => {
                    stream.words.clear();
                    stream.at = 0;
                    match self.source.next(strand, &mut stream.words) {
                        Next::Some => {}
                        Next::NotYet => self.source.wait(),
                        Next::End => stream.ended = true,
                    }
                }
                Err(damage) => {
                    self.damages
                        .push(format!("the stream of {strand} is damaged: {damage}"));
                    stream.ended = true;
                }
            }
        }
        self.streams.insert(strand, stream);
    }

    fn next_act(&mut self) -> Option<(Strand, Item)> {
        let (&strand, _) = self
            .streams
            .iter()
            .filter(|(_, stream)| stream.act.is_some())
            .min_by_key(|(_, stream)| stream.act.map_or(u64::MAX, |act| act.number))?;
        let act = self.streams.get_mut(&strand)?.act.take()?;
        if let Action::Fork(child) = act.action {
            self.streams.entry(child).or_default();
        }
        Some((strand, Item::Act(act)))
    }
}

impl<S: Source> Iterator for InOrder<'_, S> {
    type Item = (Strand, Item);

    fn next(&mut self) -> Option<(Strand, Item)> {
        loop {
            if let Some(item) = self.ready.pop_front() {
                return Some(item);
            }
            let waiting = self
                .streams
                .iter()
                .find(|(_, stream)| stream.act.is_none() && !stream.ended)
                .map(|(&strand, _)| strand);
            match waiting {
                Some(strand) => self.fill(strand),
                None => return self.next_act(),
            }
        }
    }
}

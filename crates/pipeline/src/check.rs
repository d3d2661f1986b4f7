//! The whole engine: a source in, lines of the raw stream out.

use std::collections::HashMap;

use deadheat_trace::wire::Source;

use crate::detector::{DetectorKind, Needs};
use crate::found::{Candidate, Found};
use crate::merge::{Damages, Merger, Progress};
use crate::pool::{Pool, Worker};
use crate::sequence::{BATCH, FRAME, Passed, Sequencer};
use crate::shard::{Across, Shard};
use crate::tell::{Context, Teller};

/// How to check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// At least one.
    pub detectors: Vec<DetectorKind>,
    /// Threads; 1 does all on the calling thread.
    pub checkers: usize,
    pub across: Across,
    /// Whether races with atomic accesses are left out.
    pub skip_atomics: bool,
}

impl Settings {
    /// Parts of the memory, each checked on a thread of its own if there are several threads. FastTrack is so quick that
    /// whoever merges and orders the events is as busy as a checker, and counts as one of the threads.
    fn shards(&self) -> usize {
        match self.detectors[..] {
            [DetectorKind::FastTrack] if self.checkers > 1 => self.checkers - 1,
            _ => self.checkers.max(1),
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            detectors: vec![DetectorKind::FastTrack],
            checkers: 1,
            across: Across::Frames,
            skip_atomics: false,
        }
    }
}

/// What came of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    pub passed: Passed,
    pub damages: Damages,
    /// Different findings that were told.
    pub findings: usize,
    /// The most pages of memory that were remembered at once, of 1 or 4 KiB.
    pub most_pages: usize,
    /// Holders of knowledge (strands, locks, atomics) at the end.
    pub holders: usize,
    /// Racing bytes of each exact detector, if there were several: all the same, or one of them is broken.
    pub racing_bytes: Vec<(DetectorKind, u64)>,
    /// Bytes on which exact detectors disagree.
    pub disagreements: u64,
    /// Different alarms that Eraser alone raised.
    pub eraser_alone: u64,
    /// Why a checker could not go on; what came then was not checked.
    pub failed: Option<String>,
}

/// Who wants to know how it goes.
pub trait Listener {
    /// A line of the raw stream.
    fn line(&mut self, line: &str);
    /// So much has passed.
    fn passed(&mut self, _passed: &Passed) {}
}

impl<F: FnMut(&str)> Listener for F {
    fn line(&mut self, line: &str) {
        self(line);
    }
}

/// Checks an execution to its end.
pub fn check<S: Source>(
    source: &mut S,
    settings: &Settings,
    listener: &mut impl Listener,
) -> Summary {
    check_with(source, settings, None, listener)
}

/// An engine on other hardware, in the place of the shards.
pub struct Other {
    /// Takes all batches, whatever the number of checkers.
    pub worker: Box<dyn Worker>,
    pub needs: Needs,
    /// Accesses of a batch, more or less.
    pub batch: u32,
    /// News of a batch, more or less: whichever comes first ends it.
    pub news: u32,
}

/// The same with another engine, if there is one.
pub fn check_with<S: Source>(
    source: &mut S,
    settings: &Settings,
    other: Option<Other>,
    listener: &mut impl Listener,
) -> Summary {
    std::thread::scope(|scope| {
        let checkers = match other {
            Some(_) => 1,
            None => settings.shards(),
        };
        // The kernels take one access at a time.
        let apart = other.is_some();
        let shard = || Shard::new(&settings.detectors, settings.across, settings.skip_atomics);
        let (needs, batch, news) = match &other {
            Some(other) => {
                let needs = Needs {
                    sweeps: false,
                    ..other.needs
                };
                (needs, other.batch, other.news)
            }
            None => (Needs::of(&settings.detectors), BATCH, BATCH),
        };
        let mut pool = match other {
            Some(other) => Pool::of(scope, vec![other.worker]),
            None if settings.checkers <= 1 => Pool::here(shard()),
            None => Pool::of(
                scope,
                (0..checkers).map(|_| Box::new(shard()) as _).collect(),
            ),
        };
        let mut sequencer = Sequencer::new(checkers, needs, settings.across);
        sequencer.apart = apart;
        (sequencer.batch_after, sequencer.news_after) = (batch, news);
        let mut run = Running {
            sequencer,
            merger: Merger::new(),
            teller: Teller::default(),
            settings,
            summary: Summary::default(),
            lines: Vec::new(),
        };
        loop {
            let progress = run.merger.advance(source, &mut run.sequencer);
            run.runtime_lines(source, listener);
            if run.sequencer.full() || progress != Progress::Some {
                let batches = run.sequencer.take(&mut pool.empty);
                pool.give(batches);
                run.tell(pool.found(), source, listener);
                run.sequencer.told(pool.untold());
                while let Some(named) = pool.named() {
                    run.sequencer.named(&named);
                }
                run.summary.most_pages = run.summary.most_pages.max(pool.pages());
                if source.stacks_due(pool.pages()) {
                    run.keep_stacks(&mut pool, source, listener);
                }
                listener.passed(&run.sequencer.passed);
            }
            match progress {
                Progress::Some => {}
                Progress::Waiting => source.wait(),
                Progress::Done => break,
            }
        }
        let (candidates, left) = pool.finish();
        run.tell(candidates, source, listener);
        run.runtime_lines(source, listener);
        for text in &left.notes {
            let note = serde_json::json!({"event": "note", "text": text});
            listener.line(&note.to_string());
        }
        run.summary.failed = left.failed;
        run.finish(left.found, listener)
    })
}

struct Running<'a> {
    sequencer: Sequencer,
    merger: Merger,
    teller: Teller,
    settings: &'a Settings,
    summary: Summary,
    lines: Vec<String>,
}

impl Running<'_> {
    /// Eraser's alarms are findings of their own only if nobody exact was asked.
    fn told(&self, candidate: &Candidate) -> bool {
        let first = self.settings.detectors.iter().find(|kind| kind.exact());
        match first {
            Some(&first) => candidate.detector == first,
            None => true,
        }
    }

    fn runtime_lines<S: Source>(&mut self, source: &mut S, listener: &mut impl Listener) {
        source.lines(&mut self.lines);
        for line in self.lines.drain(..) {
            if let Some(line) = self.teller.runtime_line(line) {
                listener.line(&line);
            }
        }
        for (child, parent, at) in self.sequencer.forks.drain(..) {
            self.teller.forked(child, parent, at);
        }
        for strand in self.sequencer.ended.drain(..) {
            self.teller.ended(strand);
        }
    }

    fn tell<S: Source>(
        &mut self,
        candidates: Vec<Candidate>,
        source: &mut S,
        listener: &mut impl Listener,
    ) {
        if candidates.is_empty() {
            return;
        }
        // Modules and threads first.
        self.runtime_lines(source, listener);
        let mut out = Vec::new();
        for candidate in candidates {
            if self.told(&candidate) {
                let mut context = Context {
                    source: &mut *source,
                    locks: &self.sequencer.locks,
                    timelines: &self.sequencer.timelines,
                };
                self.teller.finding(&candidate, &mut context, &mut out);
            }
        }
        out.iter().for_each(|line| listener.line(line));
    }

    /// Tells the source which call stacks anybody still has: to be called when the batches were just taken.
    fn keep_stacks<S: Source>(
        &mut self,
        pool: &mut Pool<'_>,
        source: &mut S,
        listener: &mut impl Listener,
    ) {
        let Some(mut used) = pool.stacks() else {
            return;
        };
        // What was found has stacks that nobody else may have.
        self.tell(pool.found(), source, listener);
        self.sequencer.stacks(&mut used);
        self.merger.stacks(&mut used);
        self.teller.stacks(&mut used);
        source.keep_stacks(used);
    }

    /// Counts, losses, and what the detectors say of each other.
    fn finish(mut self, found: Vec<Found>, listener: &mut impl Listener) -> Summary {
        let mut counts: HashMap<u64, u64> = HashMap::new();
        for (key, count) in found.iter().flat_map(Found::counts) {
            *counts.entry(key).or_default() += count;
        }
        let mut again: Vec<String> = counts
            .iter()
            .filter_map(|(&key, &count)| self.teller.again(key, count))
            .collect();
        again.sort();
        again.iter().for_each(|line| listener.line(line));
        self.summary.passed = self.sequencer.passed;
        self.summary.damages = self.merger.damages.clone();
        self.summary.findings = self.teller.len();
        self.summary.holders = self.sequencer.holders();
        self.compare(&found);
        for line in self.losses(&found) {
            listener.line(&line);
        }
        for line in self.teller.finish() {
            listener.line(&line);
        }
        self.summary
    }

    /// The exact detectors must have found the same bytes.
    fn compare(&mut self, found: &[Found]) {
        let exact: Vec<DetectorKind> = self
            .settings
            .detectors
            .iter()
            .copied()
            .filter(|kind| kind.exact())
            .collect();
        let mut bytes: HashMap<(DetectorKind, u64), u8> = HashMap::new();
        for (&key, &mask) in found.iter().filter_map(|one| one.bytes.as_ref()).flatten() {
            *bytes.entry(key).or_default() |= mask;
        }
        let of = |kind: DetectorKind, cell: u64| bytes.get(&(kind, cell)).copied().unwrap_or(0);
        if exact.len() > 1 {
            for &kind in &exact {
                let cells = bytes.iter().filter(|((of, _), _)| *of == kind);
                let count = cells.map(|(_, mask)| u64::from(mask.count_ones())).sum();
                self.summary.racing_bytes.push((kind, count));
            }
            let cells: std::collections::HashSet<u64> = bytes
                .keys()
                .filter(|(kind, _)| kind.exact())
                .map(|&(_, cell)| cell)
                .collect();
            for cell in cells {
                let masks = exact.iter().map(|&kind| of(kind, cell));
                let all = masks.clone().fold(0xff, |all, mask| all & mask);
                let any = masks.fold(0, |any, mask| any | mask);
                self.summary.disagreements += u64::from((any & !all).count_ones());
            }
        }
        let alone = bytes
            .iter()
            .filter(|((kind, cell), mask)| {
                *kind == DetectorKind::Eraser
                    && exact.iter().all(|&kind| of(kind, *cell) & **mask == 0)
            })
            .count();
        self.summary.eraser_alone = alone as u64;
    }

    /// Whatever was lost, dropped or bounded, as lines of the raw stream.
    fn losses(&self, found: &[Found]) -> Vec<String> {
        let Summary {
            passed, damages, ..
        } = &self.summary;
        let mut lines = Vec::new();
        let mut lost = |what: &str, count: u64| {
            if count > 0 {
                let line = serde_json::json!({"event": "loss", "what": what, "count": count});
                lines.push(line.to_string());
            }
        };
        lost(
            "accesses that the program dropped because the checker was behind",
            passed.dropped,
        );
        lost(
            "accesses of threads for which there was no room (more than 65536 at once)",
            passed.unplaced,
        );
        lost(
            "accesses to more than 4 GiB at once, of which only the beginning was checked",
            passed.cut,
        );
        lost(
            "pairs of places in the code beyond the 10000 that a checker tells",
            found.iter().map(|one| one.lost).sum(),
        );
        lost(
            "accesses in findings whose locks were forgotten because the program has made very many since",
            self.sequencer.locks.forgotten.get(),
        );
        lost("words of the recording that are damaged", damages.words);
        lost(
            "events that were numbered and never recorded (the program was killed, or the recording is damaged)",
            damages.missing,
        );
        lost("events that came twice or too late", damages.late);
        if self.settings.across == Across::Nothing {
            lost(
                &format!(
                    "ends of frames of {FRAME} events, each checked alone as you asked: races across them are missed"
                ),
                passed.frames,
            );
        }
        lost(
            "bytes on which the detectors disagree; please report this",
            self.summary.disagreements,
        );
        let note = |text: String| serde_json::json!({"event": "note", "text": text}).to_string();
        if let Some((_, count)) = self.summary.racing_bytes.first()
            && self.summary.disagreements == 0
        {
            let names: Vec<&str> = self
                .summary
                .racing_bytes
                .iter()
                .map(|(kind, _)| kind.name())
                .collect();
            lines.push(note(format!(
                "{} agree on {count} racing bytes",
                names.join(", ")
            )));
        }
        if self.summary.eraser_alone > 0 {
            lines.push(note(format!(
                "eraser also sees {} places of 8 bytes that no lock guards and that did not race in this run: \
                 --detector eraser shows them",
                self.summary.eraser_alone
            )));
        }
        lines
    }
}

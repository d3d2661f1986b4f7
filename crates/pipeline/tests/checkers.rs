//! What is told does not depend on the number of checkers: not a byte of it, timelines and counts included.

mod calls;
mod traces;

use calls::with_calls;
use deadheat_pipeline::{Across, DetectorKind, Settings, check};
use deadheat_trace::generate::Rng;
use deadheat_trace::wire::{Memory, Next, Source, StackNode};
use deadheat_trace::{Action, Addr, Event, Mutex, Range, Shape, Strand, Trace, generate};
use traces::drawn;

/// A source that often has nothing yet, so that batches are small.
struct Halting {
    memory: Memory,
    rng: Rng,
}

impl Source for Halting {
    fn next(&mut self, strand: Strand, out: &mut Vec<u64>) -> Next {
        if self.memory.portion > 0 && self.rng.below(3) != 0 {
            return Next::NotYet;
        }
        self.memory.next(strand, out)
    }

    fn node(&mut self, node: StackNode) -> Option<(StackNode, u64)> {
        self.memory.node(node)
    }

    fn lines(&mut self, out: &mut Vec<String>) {
        self.memory.lines(out);
    }

    fn wait(&mut self) {}
}

/// The same trace with its memory in many stripes, so that every checker has some.
fn spread(mut trace: Trace) -> Trace {
    let apart = |range: Range| {
        let addr = range.addr().0;
        Range::new(Addr(addr + addr / 32 * 4096), range.size()).unwrap_or(range)
    };
    for event in &mut trace.events {
        match &mut event.action {
            Action::Read(range)
            | Action::Write(range)
            | Action::AtomicRead(range)
            | Action::AtomicWrite(range)
            | Action::Alloc(range)
            | Action::Free(range) => *range = apart(*range),
            _ => {}
        }
    }
    trace
}

fn judge(memory: &Memory, detectors: &[DetectorKind], checkers: usize) -> Vec<String> {
    let settings = Settings {
        detectors: detectors.to_vec(),
        checkers,
        across: Across::Frames,
        ..Settings::default()
    };
    let mut lines = Vec::new();
    let mut source = Halting {
        memory: memory.clone(),
        rng: Rng::new(5),
    };
    check(&mut source, &settings, &mut |line: &str| {
        lines.push(line.to_owned());
    });
    lines
}

/// Compares all detectors, each alone and all together; how many lines with timelines there were.
fn compare(name: &str, memory: &Memory) -> u64 {
    let mut choices = vec![DetectorKind::ALL.to_vec()];
    choices.extend(DetectorKind::ALL.map(|kind| vec![kind]));
    let mut timelines = 0;
    for detectors in choices {
        let one = judge(memory, &detectors, 1);
        timelines += one
            .iter()
            .filter(|line| line.contains("\"stack\"") && line.contains("finding"))
            .count() as u64;
        for checkers in 2..=4 {
            let several = judge(memory, &detectors, checkers);
            let name = format!("{name}, {detectors:?}, {checkers} checkers");
            for (one, other) in one.iter().zip(&several) {
                assert_eq!(one, other, "{name}");
            }
            assert_eq!(one.len(), several.len(), "{name}");
        }
    }
    timelines
}

#[test]
fn random_programs() {
    let mut rng = Rng::new(2);
    let mut timelines = 0;
    for seed in 0..drawn(120) {
        let shape = match seed % 4 {
            0 => Shape::small(),
            1 => Shape::atomics(),
            _ => Shape::large(),
        };
        let trace = spread(generate(seed, &shape));
        let mut memory = with_calls(&trace, &mut rng);
        memory.portion = [4, 0][seed as usize % 2];
        timelines += compare(&format!("seed {seed}"), &memory);
    }
    assert!(timelines > drawn(1000), "{timelines} timelines");
}

/// Threads that race and go on locking, more often than is remembered, and thousands that end in between: what is drawn must
/// not depend on how far the program is when a race is told.
#[test]
fn much_happens_after_a_race() {
    let mut rng = Rng::new(3);
    let mut trace = Trace::default();
    let mut add = |strand: u32, action: Action| {
        trace.events.push(Event::new(Strand(strand), action));
    };
    let range = |addr: u64| Range::new(Addr(addr), 8).expect("a range");
    let mut child = 3;
    add(0, Action::Fork(Strand(1)));
    add(0, Action::Fork(Strand(2)));
    for round in 0..drawn(120) as u32 {
        for _ in 0..rng.below(400) {
            let strand = 1 + rng.below(2) as u32;
            let mutex = Mutex(u64::from(strand));
            add(strand, Action::Lock(mutex));
            add(strand, Action::Unlock(mutex));
        }
        for _ in 0..rng.below(60) {
            add(0, Action::Fork(Strand(child)));
            add(child, Action::Lock(Mutex(0)));
            add(
                child,
                Action::Write(range(0x10_0000 + rng.below(64) * 4096)),
            );
            add(child, Action::Unlock(Mutex(0)));
            add(child, Action::End);
            child += 1;
        }
        let strand = 1 + round % 2;
        add(
            strand,
            Action::Write(range(0x10_0000 + rng.below(64) * 4096)),
        );
    }
    let mut memory = with_calls(&trace, &mut rng);
    memory.portion = 0;
    assert!(compare("much", &memory) > drawn(100));
}

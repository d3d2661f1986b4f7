//! The engine against the naive detector on random traces: the same racing bytes, for every detector, any number of
//! checkers, any portions in which the streams come.

use std::collections::BTreeSet;

use deadheat_detect::naive::Naive;
use deadheat_detect::{racing_bytes, run};
use deadheat_pipeline::batch::Batch;
use deadheat_pipeline::detector::{DetectorKind, Needs};
use deadheat_pipeline::merge::{Merger, Progress};
use deadheat_pipeline::sequence::Sequencer;
use deadheat_pipeline::shard::{Across, Shard};
use deadheat_trace::wire::{Memory, Source};
use deadheat_trace::{Shape, Trace, generate};

/// All racing bytes that shards see, by detector; found without the limits of what is told.
fn racing(
    trace: &Trace,
    checkers: usize,
    portion: usize,
    forget_after: u32,
) -> Vec<(DetectorKind, BTreeSet<u64>)> {
    let detectors = DetectorKind::ALL;
    let mut source = Memory::of(trace);
    source.portion = portion;
    let mut sequencer = Sequencer::new(checkers, Needs::of(&detectors), Across::Frames);
    sequencer.forget_after = forget_after;
    let mut merger = Merger::new();
    let mut shards: Vec<Shard> = (0..checkers)
        .map(|_| Shard::new(&detectors, Across::Frames, false))
        .collect();
    shards.iter_mut().for_each(Shard::forget_eagerly);
    loop {
        let progress = merger.advance(&mut source, &mut sequencer);
        let batches: Vec<Batch> = sequencer.take(&mut Vec::new());
        for (shard, batch) in shards.iter_mut().zip(&batches) {
            shard.check(batch);
        }
        match progress {
            Progress::Some => {}
            Progress::Waiting => source.wait(),
            Progress::Done => break,
        }
    }
    assert_eq!(merger.damages, Default::default(), "{trace}");
    let founds: Vec<_> = shards.into_iter().map(Shard::finish).collect();
    detectors
        .into_iter()
        .map(|kind| {
            let bytes = founds
                .iter()
                .flat_map(|found| found.bytes.as_ref().expect("several detectors"))
                .filter(|((of, _), _)| *of == kind)
                .flat_map(|(&(_, cell), &mask)| {
                    (0..8)
                        .filter(move |bit| mask >> bit & 1 == 1)
                        .map(move |bit| cell + bit)
                })
                .collect();
            (kind, bytes)
        })
        .collect()
}

/// What naive says of the order in which the merger passes events on. Unordered frees and allocations make the
/// order matter: so the trace is given as it is merged.
fn compare(name: &str, trace: &Trace) -> bool {
    let merged = merged(trace);
    let expected = racing_bytes(&run(&mut Naive::new(), &merged));
    let alarms = racing_bytes(&run(&mut deadheat_detect::eraser::OnTrace::new(), &merged));
    for (checkers, portion, forget_after) in [(1, 0, u32::MAX), (3, 1, 1), (2, 5, 7)] {
        for (kind, bytes) in racing(trace, checkers, portion, forget_after) {
            let wanted = if kind.exact() { &expected } else { &alarms };
            assert_eq!(
                &bytes, wanted,
                "{kind} with {checkers} checkers on {name}:\n{merged}"
            );
        }
    }
    !expected.is_empty()
}

/// The events in the order of the merger: accesses just before the next act of their strand.
fn merged(trace: &Trace) -> Trace {
    use deadheat_trace::Action;
    let is_access = |action| {
        matches!(
            action,
            Action::Read(_) | Action::Write(_) | Action::AtomicRead(_) | Action::AtomicWrite(_)
        )
    };
    let mut events = Vec::new();
    let mut passed = vec![false; trace.events.len()];
    for (id, event) in trace.iter() {
        if is_access(event.action) {
            continue;
        }
        for (earlier, done) in trace.events[..id.0].iter().zip(&mut passed) {
            if earlier.strand == event.strand && is_access(earlier.action) && !*done {
                *done = true;
                events.push(*earlier);
            }
        }
        events.push(*event);
    }
    let rest = trace.events.iter().zip(passed);
    events.extend(
        rest.filter(|(event, done)| is_access(event.action) && !done)
            .map(|(event, _)| *event),
    );
    Trace { events }
}

fn sweep(shape: &Shape, seeds: u64) -> u64 {
    let racy = (0..seeds)
        .filter(|&seed| {
            let trace = generate(seed, shape);
            compare(&format!("seed {seed} of {shape:?}"), &trace)
        })
        .count();
    racy as u64 * 1000 / seeds
}

#[test]
fn small_programs() {
    let racy = sweep(&Shape::small(), 1500);
    assert!((200..800).contains(&racy), "{racy} of 1000 race");
}

#[test]
fn programs_of_atomics_and_fences() {
    let racy = sweep(&Shape::atomics(), 1500);
    assert!((200..900).contains(&racy), "{racy} of 1000 race");
}

#[test]
fn large_programs() {
    sweep(&Shape::large(), 80);
}

#[test]
fn wild_programs_on_little_memory() {
    let shape = Shape {
        wild: 1000,
        regions: 1,
        blocks: 1,
        strands: 5,
        decisions: 40,
        ..Shape::small()
    };
    assert!(sweep(&shape, 600) > 700);
}

/// Strands come and go, so that slots are used again.
#[test]
fn programs_of_many_short_strands() {
    let mut shape = Shape {
        strands: 30,
        decisions: 120,
        ..Shape::small()
    };
    shape.mix.spawn = 30;
    sweep(&shape, 200);
}

#[test]
fn disciplined_programs_never_race() {
    assert_eq!(sweep(&Shape::disciplined(), 500), 0);
}

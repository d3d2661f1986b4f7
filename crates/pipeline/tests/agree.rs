//! The engine against the naive detector on random traces: the same racing bytes, for every detector, any number of
//! checkers, any portions in which the streams come.

mod traces;

use std::collections::BTreeSet;

use deadheat_detect::naive::Naive;
use deadheat_detect::{racing_bytes, run};
use deadheat_pipeline::batch::{Batch, Named};
use deadheat_pipeline::detector::{DetectorKind, Needs};
use deadheat_pipeline::merge::{Merger, Progress};
use deadheat_pipeline::sequence::Sequencer;
use deadheat_pipeline::shard::{Across, Shard};
use deadheat_trace::generate::Rng;
use deadheat_trace::wire::{
    Decoder, Memory, Next, Source, Touch, Turns, access_of, touch_of, turns, words_of,
};
use deadheat_trace::{Action, Addr, Event, Range, Shape, Site, Trace, generate};
use traces::drawn;

/// All racing bytes that shards see, by detector; found without the limits of what is told.
fn racing(
    mut source: Memory,
    checkers: usize,
    portion: usize,
    forget_after: u32,
    detectors: &[DetectorKind],
) -> Vec<(DetectorKind, BTreeSet<u64>)> {
    source.portion = portion;
    let mut sequencer = Sequencer::new(checkers, Needs::of(detectors), Across::Frames);
    if forget_after == 1 {
        sequencer.forget_eagerly();
    }
    sequencer.forget_after = forget_after;
    let mut merger = Merger::new();
    let mut shards: Vec<Shard> = (0..checkers)
        .map(|_| Shard::new(detectors, Across::Frames, false).comparing(true))
        .collect();
    shards.iter_mut().for_each(Shard::forget_eagerly);
    loop {
        let progress = merger.advance(&mut source, &mut sequencer);
        let batches: Vec<Batch> = sequencer.take(&mut Vec::new());
        for (shard, batch) in shards.iter_mut().zip(&batches) {
            shard.check(batch);
        }
        // All have checked all: they answer the same sweeps.
        let mut answers: Vec<Vec<Named>> = shards
            .iter_mut()
            .map(|shard| std::mem::take(&mut shard.named))
            .collect();
        let mut all = answers.pop().expect("a checker");
        for answer in &answers {
            all.iter_mut()
                .zip(answer)
                .for_each(|(all, one)| all.merge(one));
        }
        all.iter().for_each(|named| sequencer.named(named));
        match progress {
            Progress::Some => {}
            Progress::Waiting => source.wait(),
            Progress::Done => break,
        }
    }
    assert_eq!(merger.damages, Default::default());
    let founds: Vec<_> = shards.into_iter().map(Shard::finish).collect();
    detectors
        .iter()
        .map(|&kind| {
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
fn compare(name: &str, trace: &Trace, source: impl Fn(&Trace) -> Memory) -> bool {
    let merged = merged(trace);
    let expected = racing_bytes(&run(&mut Naive::new(), &merged));
    let alarms = racing_bytes(&run(&mut deadheat_detect::eraser::OnTrace::new(), &merged));
    for (checkers, portion, forget_after) in [(1, 0, u32::MAX), (3, 1, 1), (2, 5, 7)] {
        // Those that remember less than the others are also tried without them.
        let some = [DetectorKind::FastTrack, DetectorKind::Eraser];
        // Alone, it has parts of a cell joined.
        let alone = [DetectorKind::FastTrack];
        for detectors in [&DetectorKind::ALL[..], &some, &alone] {
            let found = racing(source(trace), checkers, portion, forget_after, detectors);
            for (kind, bytes) in found {
                let wanted = if kind.exact() { &expected } else { &alarms };
                assert_eq!(
                    &bytes, wanted,
                    "{kind} with {checkers} checkers on {name}:\n{merged}"
                );
            }
        }
    }
    !expected.is_empty()
}

/// The events in the order of the merger: accesses just before the next act of their strand.
fn merged(trace: &Trace) -> Trace {
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

/// How many of a thousand programs race.
fn sweep(shape: &Shape, seeds: u64) -> u64 {
    let seeds = drawn(seeds);
    let racy = (0..seeds)
        .filter(|&seed| {
            let trace = generate(seed, shape);
            compare(&format!("seed {seed} of {shape:?}"), &trace, Memory::of)
        })
        .count();
    racy as u64 * 1000 / seeds
}

/// Some accesses become loops, each turn an event of the same place.
fn with_loops(trace: &Trace, rng: &mut Rng) -> Trace {
    let mut events = Vec::new();
    for (id, event) in trace.iter() {
        events.push(*event);
        let Some((touch, range)) = touch_of(event.action).filter(|_| rng.below(3) == 0) else {
            continue;
        };
        events.pop();
        let size = range.size();
        let strides = [size, size, 1, 4, 8, 16, 24, 100, 5000];
        let stride = strides[rng.below(strides.len() as u64) as usize];
        for turn in 0..1 + rng.below(12) {
            let range = Range::new(Addr(range.addr().0 + turn * stride), size).expect("a range");
            let action = match touch {
                Touch::Read => Action::Read(range),
                Touch::AtomicRead => Action::AtomicRead(range),
                Touch::AtomicWrite => Action::AtomicWrite(range),
                _ => Action::Write(range),
            };
            let site = Some(Site(1_000_000 + id.0 as u64));
            events.push(Event {
                action,
                site,
                ..*event
            });
        }
    }
    Trace { events }
}

/// The streams with every loop told at once.
fn told_at_once(trace: &Trace) -> Memory {
    let singles = Memory::of(trace);
    let mut memory = singles.clone();
    let mut loops = 0;
    for strand in singles.strands() {
        let mut source = singles.clone();
        let (mut words, mut out) = (Vec::new(), Vec::new());
        while source.next(strand, &mut words) == Next::Some {}
        let (mut decoder, mut rest) = (Decoder::new(), &words[..]);
        while !rest.is_empty() {
            let before = rest;
            decoder.definitions(&mut rest);
            out.extend_from_slice(&before[..before.len() - rest.len()]);
            // Accesses of one place that follow each other at one distance.
            let mut same: Vec<u64> = Vec::new();
            let first = rest.first().copied().and_then(access_of);
            for &word in rest {
                let Some((addr, index)) = access_of(word) else {
                    break;
                };
                let distance = |a: u64, b: u64| b.checked_sub(a).filter(|&stride| stride > 0);
                let fits = match same[..] {
                    [] => true,
                    [a] => distance(a, addr).is_some(),
                    [a, b, ..] => distance(a, b) == same.last().and_then(|&z| distance(z, addr)),
                };
                if first.map(|(_, index)| index) != Some(index) || !fits {
                    break;
                }
                same.push(addr);
            }
            if let (Some((addr, index)), [a, b, ..]) = (first, &same[..]) {
                let all = Turns {
                    addr,
                    count: same.len() as u32,
                    stride: (b - a) as u32,
                    spot: decoder.place(index).expect("a place"),
                };
                out.extend_from_slice(turns(all, index).expect("a loop").as_slice());
                rest = &rest[same.len()..];
                loops += 1;
            } else if let Some(&word) = rest.first() {
                let count = words_of(word);
                out.extend_from_slice(&rest[..count]);
                rest = &rest[count..];
            }
        }
        memory.set_stream(strand, out);
    }
    assert!(loops > 0 || trace.events.len() < 60, "{trace}");
    memory
}

/// What loops touch is told at once and checked as ranges: the same bytes race as with one word for each turn.
#[test]
fn programs_of_loops() {
    let mut rng = Rng::new(5);
    let mut racy = 0;
    for seed in 0..drawn(700) {
        let shape = match seed % 3 {
            0 => Shape::large(),
            1 => Shape::atomics(),
            _ => Shape::small(),
        };
        if seed % 3 == 0 && seed % 30 != 0 {
            continue;
        }
        let trace = with_loops(&generate(seed, &shape), &mut rng);
        let name = format!("loops of seed {seed}");
        racy += u64::from(compare(&name, &trace, told_at_once));
        compare(&name, &trace, Memory::of);
    }
    assert!(racy > drawn(200), "{racy} race");
}

/// Accesses of whole pages of the fast detector's memory, and of parts of them.
#[test]
fn programs_of_whole_pages() {
    let mut rng = Rng::new(8);
    let mut racy = 0;
    for seed in 0..drawn(80) {
        let mut trace = generate(seed, &Shape::small());
        for event in &mut trace.events {
            let Some((touch, range)) = touch_of(event.action) else {
                continue;
            };
            let page = 0x10_0000 + range.addr().0 / 16 % 3 * 1024;
            let (addr, size) = match rng.below(4) {
                0 => (page + range.addr().0 % 16, range.size()),
                1 => (page + 8, 2040),
                2 => (page, 2048),
                _ => (page, 1024),
            };
            let range = Range::new(Addr(addr), size).expect("a range");
            event.action = match touch {
                Touch::Read => Action::Read(range),
                Touch::AtomicRead => Action::AtomicRead(range),
                Touch::AtomicWrite => Action::AtomicWrite(range),
                _ => Action::Write(range),
            };
        }
        let name = format!("pages of seed {seed}");
        racy += u64::from(compare(&name, &trace, Memory::of));
    }
    assert!((drawn(20)..drawn(80)).contains(&racy), "{racy}");
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

/// Strands that nobody joins, and of which that is said at some time: what nobody can know of them leaves their slots, which
/// others get.
#[test]
fn programs_of_strands_that_nobody_joins() {
    let mut rng = Rng::new(11);
    let mut shape = Shape {
        strands: 30,
        decisions: 120,
        ..Shape::small()
    };
    shape.mix.spawn = 30;
    let (mut racy, mut detached) = (0, 0);
    for seed in 0..drawn(400) {
        let mut trace = generate(seed, &shape);
        let keep = rng.below(4);
        let (mut children, mut events) = (Vec::new(), Vec::new());
        trace
            .events
            .retain(|event| !matches!(event.action, Action::Join(_)) || rng.below(4) < keep);
        let joined = trace.joined();
        for event in &trace.events {
            events.push(*event);
            if let Action::Fork(child) = event.action
                && !joined.contains(&child)
            {
                children.push(child);
            }
            // By whoever is there, now or later.
            if event.action != Action::End && rng.below(6) == 0 {
                let some = rng.below(children.len() as u64 + 1) as usize;
                for child in children.drain(..some) {
                    events.push(Event::new(event.strand, Action::Detach(child)));
                    detached += 1;
                }
            }
        }
        let trace = Trace { events };
        racy += u64::from(compare(
            &format!("seed {seed}, detached"),
            &trace,
            Memory::of,
        ));
    }
    assert!(
        racy > drawn(200) && detached > drawn(2000),
        "{racy} race, {detached} detached"
    );
}

/// Strands that say for whose end they wait: until then nothing is remembered for them.
#[test]
fn programs_of_strands_that_wait_for_others() {
    let mut rng = Rng::new(12);
    let mut shape = Shape {
        strands: 12,
        decisions: 120,
        ..Shape::small()
    };
    shape.mix.spawn = 30;
    let (mut racy, mut waits) = (0, 0);
    for seed in 0..drawn(400) {
        let trace = generate(seed, &shape);
        // Somewhere after what the strand did last, and after the other one was forked.
        let mut before: Vec<Vec<Event>> = vec![Vec::new(); trace.events.len() + 1];
        for (at, event) in trace.events.iter().enumerate() {
            let Action::Join(child) = event.action else {
                continue;
            };
            let earlier = &trace.events[..at];
            let is_last =
                |one: &Event| one.strand == event.strand || one.action == Action::Fork(child);
            let last = earlier.iter().rposition(is_last).expect("a fork");
            if rng.below(4) > 0 {
                let place = last + 1 + rng.below((at - last) as u64) as usize;
                before[place].push(Event::new(event.strand, Action::Await(child)));
                waits += 1;
            }
        }
        let mut events = Vec::new();
        for (at, waits) in before.into_iter().enumerate() {
            events.extend(waits);
            events.extend(trace.events.get(at));
        }
        let trace = Trace { events };
        deadheat_trace::legal::check(&trace).expect("legal");
        let name = format!("seed {seed}, waiting");
        racy += u64::from(compare(&name, &trace, Memory::of));
    }
    assert!(
        racy > drawn(100) && waits > drawn(1000),
        "{racy} race, {waits} wait"
    );
}

/// Who goes on though it said that it waits counts again: what comes then is remembered for it.
#[test]
fn a_strand_that_breaks_its_wait_counts_again() {
    let text = "t0 begin\nt0 fork t1\nt1 begin\nt0 await t1\nt0 write 0x1000 8\nt0 lock m1\nt0 unlock m1\n\
                t1 write 0x2000 8\nt1 lock m2\nt1 unlock m2\nt1 lock m2\nt1 unlock m2\nt0 write 0x2000 8\n";
    let trace: Trace = text.parse().unwrap_or_else(|why| panic!("{why}"));
    assert!(compare("a broken wait", &trace, Memory::of));
}

#[test]
fn disciplined_programs_never_race() {
    assert_eq!(sweep(&Shape::disciplined(), 500), 0);
}

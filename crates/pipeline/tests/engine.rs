//! The engine as a whole: what it tells does not depend on the number of checkers, its memory stays bounded, frames alone
//! miss only what crosses them, and streams that are cut or damaged end in an answer.

mod streams;
mod traces;

use deadheat_pipeline::{Across, DetectorKind, Settings, Summary, check};
use deadheat_trace::generate::Rng;
use deadheat_trace::std_format;
use deadheat_trace::wire::{Memory, Next, Source, Touch, touch_of};
use deadheat_trace::{Action, Addr, Event, Mutex, Range, Shape, Site, Strand, Trace, generate};
use streams::{Maker, detached};
use traces::drawn;

fn judge(mut memory: Memory, settings: &Settings) -> (Summary, Vec<String>) {
    let mut lines = Vec::new();
    let summary = check(&mut memory, settings, &mut |line: &str| {
        lines.push(line.to_owned());
    });
    (summary, lines)
}

fn all(checkers: usize) -> Settings {
    Settings {
        detectors: DetectorKind::ALL.to_vec(),
        checkers,
        ..Settings::default()
    }
}

#[test]
fn what_is_told_does_not_depend_on_the_checkers() {
    let mut told = 0;
    for seed in 0..drawn(60) {
        let trace = generate(seed, &Shape::large());
        let (summary, lines) = judge(Memory::of(&trace), &all(1));
        assert_eq!(summary.disagreements, 0);
        told += summary.findings as u64;
        for checkers in [2, 5] {
            let mut memory = Memory::of(&trace);
            memory.portion = 3;
            let (_, others) = judge(memory, &all(checkers));
            assert_eq!(lines, others, "seed {seed} with {checkers} checkers");
        }
    }
    assert!(told > drawn(100));
}

/// Accesses become several of few places in the code, two by two, each going on where its last one ended, across the parts of
/// the memory that different checkers have.
fn of_few_places(trace: &Trace, rng: &mut Rng) -> Trace {
    let mut events = Vec::new();
    for event in &trace.events {
        let Some((touch, range)) = touch_of(event.action) else {
            events.push(*event);
            continue;
        };
        let start = 0x10_0000 + range.addr().0 % 61 * 520;
        let sizes = [8, 8, 8, 16, 4];
        let size = sizes[rng.below(sizes.len() as u64) as usize];
        for turn in 0..1 + rng.below(9) {
            for side in 0..1 + rng.below(2) {
                let addr = Addr(start + side * 9000 + turn * size);
                let range = Range::new(addr, size).expect("a range");
                let action = match touch {
                    Touch::Read => Action::Read(range),
                    Touch::AtomicRead => Action::AtomicRead(range),
                    Touch::AtomicWrite => Action::AtomicWrite(range),
                    _ => Action::Write(range),
                };
                events.push(Event {
                    action,
                    site: Some(Site(100 + side)),
                    ..*event
                });
            }
        }
    }
    Trace { events }
}

/// The same findings, as often, in the same order: those of the execution.
#[test]
fn ranges_are_told_as_accesses_one_by_one() {
    let mut rng = Rng::new(3);
    let (mut told, mut again) = (0, 0);
    for seed in 0..drawn(60) {
        let shape = match seed % 2 {
            0 => Shape::large(),
            _ => Shape::small(),
        };
        let trace = of_few_places(&generate(seed, &shape), &mut rng);
        let mut choices = vec![DetectorKind::ALL.to_vec()];
        choices.extend(DetectorKind::ALL.map(|kind| vec![kind]));
        for detectors in choices {
            let settings = |checkers| Settings {
                detectors: detectors.clone(),
                checkers,
                ..Settings::default()
            };
            let (summary, lines) = judge(Memory::of(&trace), &settings(1));
            told += summary.findings as u64;
            again += lines.iter().filter(|line| line.contains("again")).count() as u64;
            for checkers in [2, 4] {
                let mut memory = Memory::of(&trace);
                memory.portion = 7;
                let (_, others) = judge(memory, &settings(checkers));
                let name = format!("seed {seed}, {detectors:?}, {checkers} checkers");
                for (one, other) in lines.iter().zip(&others) {
                    assert_eq!(one, other, "{name}");
                }
                assert_eq!(lines.len(), others.len(), "{name}");
            }
        }
    }
    assert!(
        told > drawn(100) && again > drawn(100),
        "{told} told, {again} again"
    );
}

/// STD does not say when a strand ends.
#[test]
fn what_an_imported_strand_did_last_is_known_to_who_joins_it() {
    let std = "A|fork(B)|1\nB|acq(l)|2\nB|rel(l)|3\nB|w(x)|4\nA|join(B)|5\nA|r(x)|6\n";
    let findings = |std: &str| {
        let trace = std_format::import(std).unwrap_or_else(|why| panic!("{why}"));
        judge(Memory::of(&trace), &Settings::default()).0.findings
    };
    assert_eq!(findings(std), 0);
    assert_eq!(findings(&std.replace("A|join(B)|5\n", "")), 1);
    // A strand that goes on has not ended.
    assert_eq!(findings(&format!("{std}B|w(x)|7\n")), 1);
}

fn text(trace: &str) -> Memory {
    let trace: Trace = trace.parse().unwrap_or_else(|why| panic!("{why}"));
    Memory::of(&trace)
}

/// The finding has both sides, as the runtime would tell them.
#[test]
fn a_finding_has_both_sides() {
    let memory = text(
        "t0 begin
         t0 fork t1
         t0 fork t2
         t1 lock m7 @11
         t1 write 0x100010 4 @12
         t1 unlock m7 @13
         t2 read 0x100012 2 @22
         t2 read 0x100012 2 @22
         t2 end",
    );
    let (summary, lines) = judge(memory, &Settings::default());
    assert_eq!(summary.findings, 1);
    let finding = lines
        .iter()
        .find(|line| line.contains("\"finding\""))
        .expect("a finding");
    let value: serde_json::Value = serde_json::from_str(finding).expect("JSON");
    let [new, old] = [&value["accesses"][0], &value["accesses"][1]];
    assert_eq!(value["kind"], "data-race");
    assert_eq!(
        (new["op"].as_str(), new["size"].as_u64()),
        (Some("read"), Some(2))
    );
    assert_eq!(
        (new["thread"].as_u64(), new["addr"].as_u64()),
        (Some(2), Some(0x100012))
    );
    assert_eq!(new["stack"], serde_json::json!([22]));
    assert_eq!(
        (old["op"].as_str(), old["thread"].as_u64()),
        (Some("write"), Some(1))
    );
    assert_eq!(old["locks"][0]["lock"], 7);
    assert_eq!(old["locks"][0]["stack"], serde_json::json!([11]));
    let moments: Vec<&str> = value["timeline"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|moment| moment["what"].as_str().expect("a word"))
        .collect();
    assert_eq!(moments, ["lock", "access", "unlock", "access"]);
}

/// Twenty thousand threads one after another, each with memory and a lock of its own: what all know is forgotten, and
/// slots are used again.
#[test]
fn what_everybody_knows_is_forgotten() {
    let mut maker = Maker::default();
    let count = drawn(20_000);
    for n in 1..=count {
        let strand = n as u32;
        maker.act(0, Action::Fork(Strand(strand)));
        maker.act(strand, Action::Begin);
        maker.act(strand, Action::Lock(Mutex(n)));
        maker.write(strand, 0x10_0000 + n * 1024, 1);
        maker.act(strand, Action::Unlock(Mutex(n)));
        maker.act(strand, Action::End);
        maker.act(0, Action::Join(Strand(strand)));
        maker.write(0, 0x10_0000 + n * 1024, 2);
    }
    for checkers in [1, 2] {
        let settings = Settings {
            checkers,
            ..Settings::default()
        };
        let mut source = maker.clone().finish();
        let summary = check(&mut source, &settings, &mut |_: &str| ());
        assert_eq!(summary.findings, 0);
        assert_eq!(summary.passed.accesses, 2 * count);
        assert!(summary.most_pages < 12_000, "{summary:?}");
        assert!(summary.holders < 4000, "{summary:?}");
    }
}

/// Twenty thousand threads that nobody joins, and of whose ends nobody hears: each does something before it hears of the others, and
/// something after it last told them anything.
#[test]
fn threads_that_nobody_joins_are_forgotten() {
    let count = drawn(20_000);
    let mut maker = detached(count);
    // Whoever reads what nobody has told races with it.
    maker.write(0, 0x10_0080, 4);
    maker.act(0, Action::Lock(Mutex(1)));
    maker.write(0, 0x10_0000, 5);
    maker.write(0, 0x10_0040, 6);
    for checkers in [1, 2] {
        let settings = Settings {
            checkers,
            ..Settings::default()
        };
        let mut lines = Vec::new();
        let summary = check(&mut maker.clone().finish(), &settings, &mut |line: &str| {
            lines.push(line.to_owned())
        });
        assert_eq!(summary.findings, 1, "{lines:?}");
        assert!(summary.holders < 4000, "{summary:?}");
    }
}

/// Two writes of different strands with `between` other events, all in one order by a lock that orders nothing of them.
fn apart(between: u64) -> Memory {
    let mut maker = Maker::default();
    maker.act(0, Action::Fork(Strand(1)));
    maker.act(0, Action::Fork(Strand(2)));
    maker.write(1, 0x10_0000, 1);
    maker.act(1, Action::Lock(Mutex(1)));
    maker.act(1, Action::Unlock(Mutex(1)));
    for n in 0..between {
        maker.write(0, 0x20_0000 + n * 8, 2);
    }
    maker.act(0, Action::Lock(Mutex(2)));
    maker.act(0, Action::Unlock(Mutex(2)));
    maker.write(2, 0x10_0000, 3);
    maker.act(2, Action::Lock(Mutex(3)));
    maker.finish()
}

#[test]
fn frames_alone_miss_what_crosses_them_and_say_so() {
    let alone = |checkers| Settings {
        across: Across::Nothing,
        checkers,
        ..all(checkers)
    };
    for checkers in [1, 3] {
        let (near, _) = judge(apart(10), &alone(checkers));
        assert_eq!(near.findings, 1);
        let (far, lines) = judge(apart(5000), &alone(checkers));
        assert_eq!(far.findings, 0);
        assert!(lines.iter().any(|line| line.contains("frames of 1024")));
        let (carried, _) = judge(apart(5000), &all(checkers));
        assert_eq!(carried.findings, 1);
    }
    for seed in 0..drawn(40) {
        let trace = generate(seed, &Shape::disciplined());
        let (summary, _) = judge(Memory::of(&trace), &alone(2));
        assert_eq!(summary.findings, 0, "seed {seed}");
    }
}

/// The streams of a trace, each changed.
fn changed(trace: &Trace, mut change: impl FnMut(&mut Vec<u64>)) -> Memory {
    let mut whole = Memory::of(trace);
    let mut fresh = Memory::default();
    let strands: Vec<Strand> = whole.strands().collect();
    for strand in strands {
        let mut words = Vec::new();
        assert_eq!(whole.next(strand, &mut words), Next::Some);
        change(&mut words);
        fresh.set_stream(strand, words);
    }
    fresh
}

/// A program that was killed: its streams end anywhere, and numbers are missing.
#[test]
fn streams_that_are_cut_are_checked_as_far_as_they_go() {
    let mut rng = Rng::new(5);
    let mut found = 0;
    for seed in 0..drawn(200) {
        let trace = generate(seed, &Shape::small());
        let cut = changed(&trace, |words| {
            words.truncate(rng.below(words.len() as u64 + 1) as usize);
        });
        let (summary, _) = judge(cut, &all(2));
        assert_eq!(summary.disagreements, 0);
        found += summary.findings;
    }
    assert!(found > 0);
}

#[test]
fn damaged_streams_end_in_an_answer() {
    let mut rng = Rng::new(7);
    let mut damaged = 0;
    for seed in 0..drawn(60) {
        let trace = generate(seed, &Shape::small());
        let memory = changed(&trace, |words| {
            for _ in 0..1 + words.len() / 8 {
                let at = rng.below(words.len() as u64) as usize;
                words[at] ^= 1 << rng.below(64);
            }
        });
        let settings = Settings {
            checkers: 2,
            ..Settings::default()
        };
        let (summary, _) = judge(memory, &settings);
        damaged += u64::from(summary.damages != Default::default());
    }
    assert!(damaged > drawn(20), "{damaged}");
}

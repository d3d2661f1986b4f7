//! The three exact detectors against the naive one on random traces: a byte has a race for the one exactly if it has one
//! for the others. Every pair that one of them names is one the naive detector names, with bytes inside it.

use std::collections::BTreeMap;

use deadheat_detect::fasttrack::FastTrack;
use deadheat_detect::naive::Naive;
use deadheat_detect::{Race, djit, goldilocks, racing_bytes, run};
use deadheat_trace::generate::{Mix, Rng};
use deadheat_trace::{Event, Shape, Strand, Trace, generate};

/// Whether the trace races, or what the detectors disagree about.
fn judge(trace: &Trace) -> Result<bool, String> {
    let all = run(&mut Naive::new(), trace);
    compare_with(&all, "FastTrack", &run(&mut FastTrack::new(), trace))?;
    compare_with(&all, "DJIT+", &run(&mut djit::OnTrace::new(), trace))?;
    compare_with(
        &all,
        "Goldilocks",
        &run(&mut goldilocks::OnTrace::new(), trace),
    )?;
    Ok(!all.is_empty())
}

fn compare_with(all: &[Race], name: &str, found: &[Race]) -> Result<(), String> {
    if racing_bytes(found) != racing_bytes(all) {
        return Err(format!("naive {all:#?}\n{name} {found:#?}"));
    }
    let is_real = |race: &Race| {
        let same = |other: &&Race| (other.old, other.new) == (race.old, race.new);
        all.iter()
            .filter(same)
            .any(|other| other.range.contains(race.range))
    };
    match found.iter().find(|race| !is_real(race)) {
        Some(race) => Err(format!("{race:?} of {name} is no race")),
        None => Ok(()),
    }
}

/// Leaves out events for as long as the detectors still disagree: what remains can be read.
fn shrink(trace: &Trace) -> Trace {
    let mut small = trace.clone();
    let mut at = 0;
    while at < small.events.len() {
        let mut smaller = small.clone();
        smaller.events.remove(at);
        if judge(&smaller).is_err() {
            (small, at) = (smaller, 0);
        } else {
            at += 1;
        }
    }
    small
}

/// Whether the trace races. Panics with a small trace if the detectors disagree.
fn agree(trace: &Trace, name: &str) -> bool {
    judge(trace).unwrap_or_else(|_| {
        let small = shrink(trace);
        panic!("{name}, cut down to\n{small}\n{:?}", judge(&small))
    })
}

/// Compares on many traces; returns how many of a thousand race.
fn compare(shape: &Shape, seeds: u64) -> u64 {
    let racy = (0..seeds)
        .filter(|&seed| agree(&generate(seed, shape), &format!("seed {seed} of {shape:?}")))
        .count();
    racy as u64 * 1000 / seeds
}

#[test]
fn small_programs() {
    let racy = compare(&Shape::small(), 4000);
    assert!(
        (300..700).contains(&racy),
        "{racy} of 1000 race: both outcomes should be common"
    );
}

#[test]
fn programs_of_atomics_and_fences() {
    let racy = compare(&Shape::atomics(), 4000);
    assert!(
        (300..850).contains(&racy),
        "{racy} of 1000 race: both outcomes should be common"
    );
}

#[test]
fn large_programs() {
    let racy = compare(&Shape::large(), 300);
    assert!(
        (300..950).contains(&racy),
        "{racy} of 1000 race: both outcomes should be common"
    );
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
    assert!(compare(&shape, 1500) > 700);
}

#[test]
fn disciplined_programs_never_race() {
    let shape = Shape::disciplined();
    assert_eq!(compare(&shape, 2000), 0);
    assert_eq!(
        compare(
            &Shape {
                wild: 0,
                ..Shape::large()
            },
            150
        ),
        0
    );
}

#[test]
fn every_rule_fires() {
    let mut fired: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    for seed in 0..300 {
        let mut detector = FastTrack::new();
        let trace = generate(seed, &Shape::small());
        run(&mut detector, &trace);
        let mut djit = djit::OnTrace::new();
        run(&mut djit, &trace);
        let mut goldilocks = goldilocks::OnTrace::new();
        run(&mut goldilocks, &trace);
        let rules = detector
            .counters()
            .rules()
            .into_iter()
            .map(|(rule, count)| ("FastTrack", rule, count));
        let rules = rules.chain(
            djit.counters()
                .rules()
                .map(|(rule, count)| ("DJIT+", rule, count)),
        );
        let rules = rules.chain(
            goldilocks
                .counters()
                .rules()
                .map(|(rule, count)| ("Goldilocks", rule, count)),
        );
        rules.for_each(|(name, rule, count)| *fired.entry((name, rule)).or_default() += count);
    }
    assert!(fired.values().all(|&count| count > 0), "{fired:#?}");
}

/// Every trace of four events out of a small alphabet, by three strands: no corner of the rules is left to chance.
/// `t1` goes first, which is all one loses by the symmetry of the strands.
#[test]
fn all_short_programs() {
    let alphabet = [
        "read 0x10 1",
        "write 0x10 1",
        "read 0x10 2",
        "write 0x10 2",
        "rmw 0x10 1 relaxed",
        "load 0x10 2 relaxed",
        "release ch1",
        "acquire ch1",
    ];
    let strands = [1, 2, 3].map(Strand);
    let event = |strand, text: &str| Event {
        strand,
        ..format!("t0 {text}").parse().expect("an event")
    };
    let letters: Vec<Event> = strands
        .iter()
        .flat_map(|&s| alphabet.map(|text| event(s, text)))
        .collect();
    let firsts: Vec<Event> = letters
        .iter()
        .copied()
        .filter(|letter| letter.strand == strands[0])
        .collect();
    let mut racy = 0;
    for &a in &firsts {
        for &b in &letters {
            for &c in &letters {
                for &d in &letters {
                    racy += u64::from(agree(
                        &Trace {
                            events: vec![a, b, c, d],
                        },
                        "a short program",
                    ));
                }
            }
        }
    }
    let total = (firsts.len() * letters.len().pow(3)) as u64;
    assert!(
        racy > total / 10 && racy < total * 9 / 10,
        "{racy} of {total}"
    );
}

/// Shapes are drawn too, so that rare mixes meet.
#[test]
fn programs_of_random_shapes() {
    let racy = (0..2000)
        .filter(|&seed| {
            let mut rng = Rng::new(!seed);
            let mut up_to = |most: u64| rng.below(most + 1) as u32;
            let shape = Shape {
                strands: 1 + up_to(6),
                decisions: up_to(60),
                regions: up_to(4),
                atomics: up_to(3),
                blocks: up_to(2),
                mutexes: up_to(3),
                rwlocks: up_to(2),
                condvars: up_to(2),
                barriers: up_to(2),
                channels: up_to(2),
                wild: up_to(1000),
                mix: Mix {
                    touch: 1 + up_to(10),
                    atomic: up_to(10),
                    fence: up_to(5),
                    section: up_to(5),
                    condvar: up_to(3),
                    barrier: up_to(3),
                    channel: up_to(3),
                    heap: up_to(6),
                    spawn: 1 + up_to(5),
                },
            };
            agree(&generate(seed, &shape), &format!("seed {seed}"))
        })
        .count();
    assert!((400..1800).contains(&racy), "{racy} of 2000 race");
}

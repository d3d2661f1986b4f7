//! FastTrack against the naive detector on random traces: a byte has a race for the one exactly if it has one for the
//! other. Every pair FastTrack names is one the naive detector names, with bytes inside it.

use std::collections::BTreeMap;

use deadheat_detect::fasttrack::FastTrack;
use deadheat_detect::naive::Naive;
use deadheat_detect::{Race, racing_bytes, run};
use deadheat_trace::{Shape, Trace, generate};

/// Returns whether the trace races.
fn agree(trace: &Trace, name: &str) -> bool {
    let all = run(&mut Naive::new(), trace);
    let found = run(&mut FastTrack::new(), trace);
    assert_eq!(
        racing_bytes(&found),
        racing_bytes(&all),
        "{name}:\n{trace}\nnaive {all:#?}\nfasttrack {found:#?}"
    );
    for race in &found {
        let same = |other: &&Race| (other.old, other.new) == (race.old, race.new);
        let inside = all
            .iter()
            .filter(same)
            .any(|other| other.range.contains(race.range));
        assert!(inside, "{name}: {race:?} is no race of\n{trace}");
    }
    !all.is_empty()
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
    let mut fired: BTreeMap<&str, u64> = BTreeMap::new();
    for seed in 0..300 {
        let mut detector = FastTrack::new();
        run(&mut detector, &generate(seed, &Shape::small()));
        detector
            .counters()
            .rules()
            .into_iter()
            .for_each(|(rule, count)| *fired.entry(rule).or_default() += count);
    }
    assert!(fired.values().all(|&count| count > 0), "{fired:#?}");
}

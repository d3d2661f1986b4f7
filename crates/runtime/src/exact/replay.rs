//! Random programs: the runtime reports exactly the bytes that race by the specification, and says the truth about
//! both accesses of every race.

use std::collections::{BTreeSet, HashSet};

use deadheat_detect::naive::Naive;
use deadheat_detect::{Race, racing_bytes, run};
use deadheat_trace::{Shape, generate};

use super::player::{Fact, Played, Player, Sites};
use crate::finding::Observed;
use crate::history::Record;
use crate::locks::{HeldLock, Mode};
use crate::runtime::Runtime;
use crate::threads::ThreadId;

fn compare(rt: &'static Runtime, shape: &Shape, seeds: u64) {
    let mut player = Player::new(rt);
    let mut races = 0;
    for seed in 0..seeds {
        let trace = generate(seed, shape);
        let expected = run(&mut Naive::new(), &trace);
        for sites in [Sites::Own, Sites::Three] {
            let played = player.play(&trace, sites);
            let about = || format!("seed {seed}, {sites:?}, of {shape:?}:\n{trace}");
            let found: BTreeSet<u64> = played
                .races
                .iter()
                .flat_map(|race| bytes(&played, race))
                .collect();
            assert_eq!(found, racing_bytes(&expected), "{}", about());
            check(rt, &played, &expected, &about);
            races += played.races.len();
        }
    }
    println!(
        "{seeds} traces twice, {races} races, {} slots",
        rt.threads.slots_used()
    );
    assert!(
        rt.threads.slots_used() <= shape.strands as usize + 1,
        "slots are not used again"
    );
}

fn bytes<'a>(played: &'a Played, race: &'a Observed) -> impl Iterator<Item = u64> + 'a {
    let common = race.new.mask() & race.old.mask();
    (0..8)
        .filter(move |byte| common >> byte & 1 == 1)
        .map(|byte| played.byte(race.addr + byte))
}

/// On each byte of a race there is one of the specification between two accesses of which the report says all that is
/// true.
fn check(rt: &Runtime, played: &Played, expected: &[Race], about: &dyn Fn() -> String) {
    let mut real = HashSet::new();
    for race in expected {
        let (start, end) = race.range.bounds();
        real.extend(
            (start..end).map(|byte| (byte, &played.facts[&race.new], &played.facts[&race.old])),
        );
    }
    for race in &played.races {
        let (Some(newer), Some(older)) = (race.newer, race.older) else {
            panic!("no record of {race:?} in {}", about());
        };
        let (newer, older) = (
            fact(rt, newer, race.new_thread),
            fact(rt, older, race.old_thread),
        );
        for byte in bytes(played, race) {
            let told = real.contains(&(byte, &newer, &older));
            assert!(
                told,
                "a race that is none, or told wrongly, on byte {byte:#x}: {newer:?} and {older:?} in {}",
                about()
            );
        }
    }
}

/// What a report would say of an access.
fn fact(rt: &Runtime, record: Record, thread: ThreadId) -> Fact {
    let lock = |held: HeldLock| {
        (
            rt.syncs.describe(held.lock).map_or(0, |(addr, ..)| addr),
            held.mode == Mode::Exclusive,
        )
    };
    let mut locks: Vec<(u64, bool)> = rt.lock_sets.iter(record.locks).map(lock).collect();
    locks.sort_unstable();
    Fact {
        pc: record.place.pc(),
        touch: record.place.touch() as u8,
        size: record.place.size(),
        thread,
        calls: rt.stacks.frames(record.caller).collect(),
        locks,
    }
}

#[test]
fn small_programs() {
    static RT: Runtime = Runtime::new();
    compare(&RT, &Shape::small(), 1500);
}

#[test]
fn programs_of_atomics_and_fences() {
    static RT: Runtime = Runtime::new();
    compare(&RT, &Shape::atomics(), 1500);
}

#[test]
fn programs_without_races() {
    static RT: Runtime = Runtime::new();
    compare(&RT, &Shape::disciplined(), 300);
}

#[test]
fn large_programs() {
    static RT: Runtime = Runtime::new();
    compare(&RT, &Shape::large(), 100);
}

#[test]
fn programs_with_long_steps_on_little_memory() {
    static RT: Runtime = Runtime::new();
    let mut shape = Shape {
        wild: 1000,
        regions: 1,
        decisions: 50,
        ..Shape::small()
    };
    shape.mix.touch = 60;
    compare(&RT, &shape, 400);
}

#[test]
fn programs_that_live_on_the_heap() {
    static RT: Runtime = Runtime::new();
    let mut shape = Shape {
        wild: 600,
        regions: 1,
        blocks: 2,
        decisions: 60,
        strands: 4,
        ..Shape::small()
    };
    shape.mix.heap = 40;
    compare(&RT, &shape, 400);
}

/// Cells that more strands touch than a common list holds.
#[test]
fn programs_of_a_hundred_strands_on_little_memory() {
    static RT: Runtime = Runtime::new();
    let mut shape = Shape {
        wild: 1000,
        regions: 1,
        atomics: 1,
        blocks: 1,
        decisions: 700,
        strands: 100,
        ..Shape::small()
    };
    shape.mix.touch = 40;
    shape.mix.spawn = 40;
    compare(&RT, &shape, 6);
}

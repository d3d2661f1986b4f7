//! Random programs: the runtime reports exactly the bytes that race by the specification, and says the truth about
//! both accesses of every race.

use std::collections::{BTreeSet, HashSet};

use deadheat_detect::naive::Naive;
use deadheat_detect::{Race, racing_bytes, run};
use deadheat_trace::{Action, Shape, Trace, generate};

use super::player::{Player, Sites, Upkeep};
use super::told::Played;
use crate::runtime::Runtime;

fn compare(rt: &'static Runtime, shape: &Shape, seeds: u64) {
    compare_with(rt, shape, seeds, Upkeep::Nothing, |_| ());
}

fn compare_with(
    rt: &'static Runtime,
    shape: &Shape,
    seeds: u64,
    upkeep: Upkeep,
    change: impl Fn(&mut Trace),
) {
    let mut player = Player::new(rt);
    let mut races = 0;
    for seed in 0..seeds {
        let mut trace = generate(seed, shape);
        change(&mut trace);
        let expected = run(&mut Naive::new(), &trace);
        for sites in [Sites::Own, Sites::Three] {
            let played = player.play(&trace, sites, upkeep);
            let about = || format!("seed {seed}, {sites:?}, of {shape:?}:\n{trace}");
            judge(&played, &expected, &about);
            races += played.races.len();
        }
    }
    println!(
        "{seeds} traces twice, {races} races, {} slots",
        rt.threads.slots_used()
    );
    if upkeep != Upkeep::MoveEvery(MOVES) && !rt.threads.is_worn(WEARS) {
        assert!(
            rt.threads.slots_used() <= shape.strands as usize + 1,
            "slots are not used again"
        );
    }
}

/// A strand moves before every so many events.
const MOVES: usize = 3;
/// A slot is worn after so many numbers.
const WEARS: u64 = 3000;

/// Exactly the bytes that race are told, and the truth about each race.
pub fn judge(played: &Played, expected: &[Race], about: &dyn Fn() -> String) {
    let found: BTreeSet<u64> = played
        .races
        .iter()
        .flat_map(|race| played.bytes(race))
        .collect();
    assert_eq!(found, racing_bytes(expected), "{}", about());
    check(played, expected, about);
}

/// On each byte of a race there is one of the specification between two accesses of which the report says all that is
/// true.
fn check(played: &Played, expected: &[Race], about: &dyn Fn() -> String) {
    let mut real = HashSet::new();
    for race in expected {
        let (start, end) = race.range.bounds();
        real.extend(
            (start..end).map(|byte| (byte, &played.facts[&race.new], &played.facts[&race.old])),
        );
    }
    for race in &played.races {
        let (Some(newer), Some(older)) = (&race.newer, &race.older) else {
            panic!("no record of a race in {}", about());
        };
        for byte in played.bytes(race) {
            let told = real.contains(&(byte, newer, older));
            assert!(
                told,
                "a race that is none, or told wrongly, on byte {byte:#x}: {newer:?} and {older:?} in {}",
                about()
            );
        }
    }
}

/// Nobody is waited for: who ended is known only as far as something else told of it.
fn unjoined(trace: &mut Trace) {
    trace
        .events
        .retain(|event| !matches!(event.action, Action::Join(_)));
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

#[test]
fn programs_of_atomics_whose_strands_nobody_joins() {
    static RT: Runtime = Runtime::new();
    let mut shape = Shape {
        strands: 12,
        decisions: 120,
        blocks: 2,
        regions: 1,
        ..Shape::atomics()
    };
    shape.mix.spawn = 30;
    shape.mix.heap = 20;
    compare_with(&RT, &shape, 50, Upkeep::CollectEvery(6), unjoined);
}

#[test]
fn collections_change_nothing() {
    static RT: Runtime = Runtime::new();
    compare_with(&RT, &Shape::large(), 30, Upkeep::CollectEvery(7), |_| ());
}

#[test]
fn strands_move_to_other_slots() {
    static RT: Runtime = Runtime::new();
    for shape in [Shape::small(), Shape::atomics(), Shape::disciplined()] {
        compare_with(&RT, &shape, 200, Upkeep::MoveEvery(MOVES), |_| ());
    }
}

#[test]
fn strands_leave_slots_that_are_worn() {
    static RT: Runtime = Runtime::new();
    RT.threads.wear_out_at(WEARS);
    compare_with(&RT, &Shape::large(), 30, Upkeep::CollectEvery(7), |_| ());
    compare(&RT, &Shape::large(), 60);
    let (worn, used) = RT.threads.worn_and_used();
    assert!(worn > 4, "only {worn} of {used} slots were worn");
}

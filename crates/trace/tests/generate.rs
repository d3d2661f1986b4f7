//! The generator: legal, complete, the same every time, and with a bit of everything.

use std::collections::BTreeMap;

use deadheat_trace::{Action, Shape, Trace, generate, legal};

fn shapes() -> [Shape; 4] {
    [
        Shape::small(),
        Shape::atomics(),
        Shape::disciplined(),
        Shape::large(),
    ]
}

#[test]
fn every_trace_is_legal_and_complete() {
    for shape in shapes() {
        for seed in 0..1000 {
            let trace = generate(seed, &shape);
            legal::check(&trace)
                .unwrap_or_else(|why| panic!("seed {seed} of {shape:?}: {why}\n{trace}"));
            let count = |wanted: fn(&Action) -> bool| {
                trace.events.iter().filter(|e| wanted(&e.action)).count()
            };
            let begins = count(|a| matches!(a, Action::Begin));
            assert_eq!(begins, count(|a| matches!(a, Action::End)));
            assert_eq!(begins, count(|a| matches!(a, Action::Join(_))) + 1);
        }
    }
}

#[test]
fn a_round_of_a_barrier_is_left_by_all_who_arrived_and_always_takes_as_many() {
    for seed in 0..500 {
        let trace = generate(seed, &Shape::large());
        let mut parties = BTreeMap::new();
        let mut inside: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for event in &trace.events {
            match event.action {
                Action::Arrive(round) => inside.entry(round).or_default().push(event.strand),
                Action::Leave(round) => {
                    let size = inside[&round].len();
                    assert!(inside[&round].contains(&event.strand));
                    assert_eq!(
                        *parties.entry(round.barrier).or_insert(size),
                        size,
                        "seed {seed}"
                    );
                }
                _ => {}
            }
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_trace_and_others_give_others() {
    let shape = Shape::small();
    let traces: Vec<Trace> = (0..50).map(|seed| generate(seed, &shape)).collect();
    for (seed, trace) in (0..).zip(&traces) {
        assert_eq!(&generate(seed, &shape), trace);
    }
    let mut texts: Vec<String> = traces.iter().map(Trace::to_string).collect();
    texts.sort();
    texts.dedup();
    assert!(texts.len() > 45);
}

#[test]
fn everything_that_can_be_said_is_said() {
    let mut seen: BTreeMap<String, u32> = BTreeMap::new();
    for seed in 0..300 {
        for event in generate(seed, &Shape::large()).events {
            let text = event.action.to_string();
            let verb = text.split(' ').next().unwrap_or_default();
            let order = match event.action {
                Action::Load(..) | Action::Store(..) | Action::Rmw(..) | Action::Fence(_) => {
                    text.rsplit(' ').next()
                }
                _ => None,
            };
            *seen
                .entry(format!("{verb} {}", order.unwrap_or_default()))
                .or_default() += 1;
        }
    }
    // 21 verbs without an order; 4 orders of loads, 3 of stores, 6 of read-modify-writes, 6 of fences.
    assert_eq!(seen.len(), 21 + 4 + 3 + 6 + 6, "{seen:#?}");
}

#[test]
fn shapes_without_anything_still_make_a_trace() {
    let mut shape = Shape::small();
    shape.strands = 0;
    (
        shape.regions,
        shape.atomics,
        shape.blocks,
        shape.mutexes,
        shape.rwlocks,
    ) = (0, 0, 0, 0, 0);
    (shape.condvars, shape.barriers, shape.channels) = (0, 0, 0);
    for seed in 0..100 {
        let trace = generate(seed, &shape);
        legal::check(&trace).expect("legal");
    }
}

//! What RAPID would say of an exported trace: nothing that is no race, and with threads and mutexes alone, all that are.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use deadheat_detect::naive::Naive;
use deadheat_detect::{racing_bytes, run};
use deadheat_trace::merge::InOrder;
use deadheat_trace::std_format::{Parts, export};
use deadheat_trace::wire::{Item, Memory};
use deadheat_trace::{Action, Event, Shape, Trace, generate};

type Clock = BTreeMap<String, u64>;

fn join(into: &mut Clock, from: &Clock) {
    for (thread, &time) in from {
        let mine = into.entry(thread.clone()).or_default();
        *mine = time.max(*mine);
    }
}

/// Happens-before races by the rules of RAPID's engine: a lock remembers only what whoever gave it back last knew. The variables
/// that race.
fn races(std: &str) -> BTreeSet<String> {
    let (mut threads, mut locks) = (
        HashMap::<String, Clock>::new(),
        HashMap::<String, Clock>::new(),
    );
    let mut accesses: HashMap<String, Vec<(String, u64, bool)>> = HashMap::new();
    let mut racing = BTreeSet::new();
    let new = |name: &str| Clock::from([(name.to_owned(), 1)]);
    for line in std.lines() {
        let [thread, operation, _] = line.split('|').collect::<Vec<_>>()[..] else {
            panic!("{line}");
        };
        let (operation, operand) = operation.split_once('(').expect("an operand");
        let operand = operand.strip_suffix(')').expect("its end").to_owned();
        let mut clock = threads.remove(thread).unwrap_or_else(|| new(thread));
        let tick = |clock: &mut Clock| *clock.entry(thread.to_owned()).or_default() += 1;
        match operation {
            "acq" => join(&mut clock, locks.entry(operand).or_default()),
            "rel" => {
                locks.insert(operand, clock.clone());
                tick(&mut clock);
            }
            "fork" => {
                let child = threads
                    .entry(operand.clone())
                    .or_insert_with(|| new(&operand));
                join(child, &clock);
                tick(&mut clock);
            }
            "join" => join(&mut clock, threads.get(&operand).unwrap_or(&Clock::new())),
            "r" | "w" => {
                let write = operation == "w";
                let past = accesses.entry(operand.clone()).or_default();
                let knows = |other: &str, time: u64| clock.get(other).is_some_and(|&t| time <= t);
                if past
                    .iter()
                    .any(|(other, time, wrote)| (write || *wrote) && !knows(other, *time))
                {
                    racing.insert(operand);
                }
                past.push((thread.to_owned(), clock[thread], write));
            }
            other => panic!("{other}"),
        }
        threads.insert(thread.to_owned(), clock);
    }
    racing
}

/// The racing variables of the export, by their first bytes, and the racing bytes of the trace in the same order.
fn both(trace: &Trace) -> (BTreeSet<u64>, BTreeSet<u64>) {
    let memory = Memory::of(trace);
    let parts = Parts::of(&mut memory.clone());
    let mut out = Vec::new();
    let exported = export(&mut memory.clone(), &parts, &mut out).expect("written");
    let std = String::from_utf8(out).expect("text");
    assert_eq!(
        (std.lines().count() as u64, exported.damages.len()),
        (exported.events, 0)
    );
    let first = |name: String| {
        let hex = name[1..].split('.').next().expect("an address");
        u64::from_str_radix(hex, 16).expect("an address")
    };
    let theirs = races(&std).into_iter().map(first).collect();
    let mut again = memory.clone();
    let events = InOrder::new(&mut again).filter_map(|(strand, item)| match item {
        Item::Touch(touched) => Some(Event::new(strand, touched.action())),
        Item::Act(act) => Some(Event::new(strand, act.action)),
        Item::Memory(..) | Item::Lost(_) => None,
    });
    let events = events.collect();
    (
        theirs,
        racing_bytes(&run(&mut Naive::new(), &Trace { events })),
    )
}

#[test]
fn an_export_has_every_order() {
    let (mut racy, mut seen) = (0, 0);
    for shape in [Shape::small(), Shape::atomics(), Shape::large()] {
        for seed in 0..300 {
            let (theirs, ours) = both(&generate(seed, &shape));
            let wrong: Vec<_> = theirs.difference(&ours).collect();
            assert!(wrong.is_empty(), "seed {seed} of {shape:?}: {wrong:x?}");
            racy += usize::from(!ours.is_empty());
            seen += usize::from(!theirs.is_empty());
        }
    }
    assert!(racy > 200 && seen > 100, "{racy} racy, {seen} seen");
}

#[test]
fn threads_and_mutexes_are_all_there() {
    let mut shape = Shape::large();
    (shape.atomics, shape.blocks, shape.rwlocks) = (0, 0, 0);
    (shape.condvars, shape.barriers, shape.channels) = (0, 0, 0);
    let mut racy = 0;
    for seed in 0..300 {
        let mut trace = generate(seed, &shape);
        // Nothing is atomic.
        trace.events.retain(|event| {
            let action = event.action;
            !matches!(
                action,
                Action::Load(..) | Action::Store(..) | Action::Rmw(..) | Action::Fence(_)
            )
        });
        for event in &mut trace.events {
            event.action = match event.action {
                Action::AtomicRead(range) => Action::Read(range),
                Action::AtomicWrite(range) => Action::Write(range),
                other => other,
            };
        }
        let (theirs, ours) = both(&trace);
        // A variable of several bytes races as a whole.
        let missed = ours.iter().filter(|&&byte| {
            let before = theirs.range(byte & !7..=byte);
            before.count() == 0
        });
        assert_eq!(missed.count(), 0, "seed {seed}: {theirs:x?} for {ours:x?}");
        assert!(theirs.is_subset(&ours), "seed {seed}");
        racy += usize::from(!ours.is_empty());
    }
    assert!(racy > 50, "{racy}");
}

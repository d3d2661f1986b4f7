//! What Eraser's file claims about its misses and false alarms, checked on random traces:
//! 1. it is what its definition says, byte by byte, over the whole trace;
//! 2. a race that it misses has a side in the exclusive phase, or is with a free;
//! 3. where only locks order strands, and are used with discipline, it is silent, as the exact ones are;
//! 4. where anything else orders them, it raises false alarms, and it also sees what this schedule hid.

use std::collections::{BTreeMap, BTreeSet};

use deadheat_detect::access::{Effect, effect};
use deadheat_detect::entry::{Care, Op};
use deadheat_detect::eraser::{self, Lock, Locking, Mode, locking};
use deadheat_detect::naive::Naive;
use deadheat_detect::{racing_bytes, run};
use deadheat_trace::generate::Mix;
use deadheat_trace::{Action, EventId, Shape, Strand, Trace, generate};

/// An access to a byte with the locks that count for it.
struct Touch {
    id: EventId,
    strand: Strand,
    op: Op,
    locks: BTreeSet<Lock>,
}

/// The definition, without states: split at allocations and frees, the accesses of a byte from the second strand's first
/// on; they have no lock in common and one writes.
#[derive(Default)]
struct Definition {
    held: BTreeMap<Strand, Vec<(Lock, Mode)>>,
    touches: BTreeMap<u64, Vec<Touch>>,
    alarms: BTreeSet<u64>,
    /// Accesses of the exclusive phase, by byte.
    exclusive: BTreeSet<(u64, EventId)>,
}

impl Definition {
    fn run(trace: &Trace) -> Definition {
        let mut me = Definition::default();
        for (id, event) in trace.iter() {
            let held = me.held.entry(event.strand).or_default();
            match locking(event.action) {
                Some(Locking::Took(lock, mode)) => held.push((lock, mode)),
                Some(Locking::Gave(lock, mode)) => {
                    let place = held.iter().rposition(|&has| has == (lock, mode));
                    place.map(|place| held.remove(place));
                }
                None => {}
            }
            match (event.action, effect(event.action)) {
                (Action::Free(range), _) | (_, Effect::Fresh(range)) => {
                    (range.bounds().0..range.bounds().1).for_each(|byte| me.judge(byte));
                }
                (_, Effect::Access(access)) => {
                    let counts = |mode| access.op == Op::Read || mode == Mode::Write;
                    let held = held
                        .iter()
                        .filter(|(_, mode)| counts(*mode))
                        .map(|(lock, _)| *lock);
                    let atomic = (access.care == Care::Atomic).then_some(Lock::Atomic);
                    let locks: BTreeSet<Lock> = held.chain(atomic).collect();
                    for byte in access.range.bounds().0..access.range.bounds().1 {
                        me.touches.entry(byte).or_default().push(Touch {
                            id,
                            strand: event.strand,
                            op: access.op,
                            locks: locks.clone(),
                        });
                    }
                }
                (_, Effect::Nothing) => {}
            }
        }
        let left: Vec<u64> = me.touches.keys().copied().collect();
        left.into_iter().for_each(|byte| me.judge(byte));
        me
    }

    /// The life of a byte is over.
    fn judge(&mut self, byte: u64) {
        let life = self.touches.remove(&byte).unwrap_or_default();
        let Some(first) = life.first() else { return };
        let alone = life
            .iter()
            .take_while(|touch| touch.strand == first.strand)
            .count();
        self.exclusive
            .extend(life[..alone].iter().map(|touch| (byte, touch.id)));
        let shared = &life[alone..];
        let writes = shared.iter().any(|touch| touch.op == Op::Write);
        let common = shared
            .iter()
            .map(|touch| touch.locks.clone())
            .reduce(|a, b| a.intersection(&b).copied().collect());
        if writes && common.is_some_and(|common| common.is_empty()) {
            self.alarms.insert(byte);
        }
    }
}

#[derive(Debug, Default)]
struct Tally {
    racing: usize,
    alarms: usize,
    misses: usize,
    false_alarms: usize,
}

/// Compares on one trace.
fn judge(trace: &Trace, tally: &mut Tally) {
    let alarms = racing_bytes(&run(&mut eraser::OnTrace::new(), trace));
    let definition = Definition::run(trace);
    assert_eq!(alarms, definition.alarms, "the definition on\n{trace}");

    let races = run(&mut Naive::new(), trace);
    let racing = racing_bytes(&races);
    for race in &races {
        let freed = [race.old, race.new]
            .into_iter()
            .any(|id| matches!(trace.events[id.0].action, Action::Free(_)));
        for byte in race.range.bounds().0..race.range.bounds().1 {
            let excused = freed || definition.exclusive.contains(&(byte, race.old));
            assert!(
                excused || alarms.contains(&byte),
                "{race:?} is missed without excuse in\n{trace}"
            );
        }
    }
    tally.racing += racing.len();
    tally.alarms += alarms.len();
    tally.misses += racing.difference(&alarms).count();
    tally.false_alarms += alarms.difference(&racing).count();
}

fn measure(shape: &Shape, seeds: u64) -> Tally {
    let mut tally = Tally::default();
    (0..seeds).for_each(|seed| judge(&generate(seed, shape), &mut tally));
    tally
}

/// Nothing but locks and memory.
fn locks_only() -> Shape {
    Shape {
        atomics: 0,
        blocks: 0,
        condvars: 0,
        barriers: 0,
        channels: 0,
        mix: Mix {
            atomic: 0,
            fence: 0,
            condvar: 0,
            barrier: 0,
            channel: 0,
            heap: 0,
            ..Shape::small().mix
        },
        ..Shape::small()
    }
}

#[test]
fn with_locks_and_discipline_it_is_silent() {
    let tally = measure(
        &Shape {
            wild: 0,
            strands: 5,
            decisions: 60,
            ..locks_only()
        },
        1000,
    );
    assert_eq!((tally.racing, tally.alarms), (0, 0), "{tally:?}");
}

/// Where only locks (and forks and joins) order anything, wild accesses are found by both, Eraser's misses are those of
/// the exclusive phase (asserted pair by pair), and its false alarms come from forks, joins and changing locks.
#[test]
fn with_locks_alone_it_sees_most_races() {
    let tally = measure(&locks_only(), 1500);
    assert!(tally.racing > 1000, "{tally:?}");
    assert!(tally.misses * 2 < tally.racing, "{tally:?}");
    assert!(tally.misses > 0 && tally.false_alarms > 0, "{tally:?}");
}

#[test]
fn without_locks_it_raises_false_alarms() {
    // Written once by one strand and read by others after a message: shared, never modified.
    let disciplined = measure(&Shape::disciplined(), 500);
    assert_eq!((disciplined.racing, disciplined.alarms), (0, 0));
    // Handed on and written by each: ordered, and guarded by no lock.
    let handed_on = "t0 write 0x10 1
         t0 release ch1
         t1 acquire ch1
         t1 write 0x10 1
         t1 release ch1
         t2 acquire ch1
         t2 write 0x10 1";
    check(handed_on, &[0x10]);
    let trace: Trace = handed_on.parse().expect("a trace");
    assert!(run(&mut Naive::new(), &trace).is_empty());
    for shape in [Shape::small(), Shape::atomics()] {
        let tally = measure(&shape, 1500);
        assert!(tally.misses > 0 && tally.false_alarms > 0, "{tally:?}");
    }
}

#[test]
fn on_large_programs_too() {
    let tally = measure(&Shape::large(), 60);
    assert!(tally.alarms > 0, "{tally:?}");
}

#[test]
fn every_rule_fires() {
    let mut fired: BTreeMap<&str, u64> = BTreeMap::new();
    for seed in 0..300 {
        let mut detector = eraser::OnTrace::new();
        run(&mut detector, &generate(seed, &Shape::small()));
        for (rule, count) in detector.counters().rules() {
            *fired.entry(rule).or_default() += count;
        }
    }
    assert!(fired.values().all(|&count| count > 0), "{fired:#?}");
}

/// All states and both kinds of locks, by hand.
#[track_caller]
fn check(text: &str, alarms: &[u64]) {
    let trace: Trace = text.parse().unwrap_or_else(|why| panic!("{why}"));
    let found = racing_bytes(&run(&mut eraser::OnTrace::new(), &trace));
    assert_eq!(found, alarms.iter().copied().collect(), "\n{trace}");
}

#[test]
fn initialization_without_a_lock_is_no_alarm() {
    check(
        "t0 write 0x10 1\n t1 lock m1\n t1 write 0x10 1\n t1 unlock m1\n t2 lock m1\n t2 write 0x10 1\n t2 unlock m1",
        &[],
    );
}

#[test]
fn reading_what_is_never_written_again_is_no_alarm() {
    check(
        "t0 write 0x10 1\n t1 read 0x10 1\n t2 read 0x10 1\n t0 read 0x10 1",
        &[],
    );
}

#[test]
fn the_lock_must_be_the_same() {
    check(
        "t1 lock m1\n t1 write 0x10 1\n t1 unlock m1\n t2 lock m2\n t2 write 0x10 1\n t2 unlock m2",
        &[],
    );
    check(
        "t1 lock m1\n t1 write 0x10 1\n t1 unlock m1\n t2 lock m2\n t2 write 0x10 1\n t2 unlock m2
         t1 lock m1\n t1 write 0x10 1\n t1 unlock m1",
        &[0x10],
    );
}

#[test]
fn a_read_lock_guards_reads_and_not_writes() {
    let section = |strand: u32, kind: &str, op: &str| {
        format!("t{strand} {kind}lock rw1\n t{strand} {op} 0x10 1\n t{strand} {kind}unlock rw1\n")
    };
    let good = section(0, "wr", "write") + &section(1, "rd", "read") + &section(2, "wr", "write");
    check(&good, &[]);
    let bad = section(0, "wr", "write") + &section(1, "rd", "read") + &section(2, "rd", "write");
    check(&bad, &[0x10]);
}

#[test]
fn atomics_guard_themselves_and_nothing_else() {
    check(
        "t0 rmw 0x10 1 relaxed\n t1 rmw 0x10 1 relaxed\n t2 store 0x10 1 relaxed",
        &[],
    );
    check(
        "t0 rmw 0x10 1 relaxed\n t1 rmw 0x10 1 relaxed\n t2 write 0x10 1",
        &[0x10],
    );
}

#[test]
fn bytes_are_told_apart_and_memory_is_new_after_a_free() {
    check(
        "t0 write 0x10 1\n t1 write 0x11 1\n t0 write 0x10 1\n t1 write 0x11 1",
        &[],
    );
    check("t0 write 0x10 4\n t1 write 0x12 1", &[0x12]);
    check(
        "t0 alloc 0x10 8\n t0 write 0x10 8\n t0 free 0x10 8\n t1 write 0x10 8",
        &[],
    );
}

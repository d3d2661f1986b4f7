//! Real threads on the same cells at the same time, with exactly known races in each round.
//!
//! A round has two phases. What is ordered between threads is drawn at random: each thread learns at the beginning of
//! the second phase what some of the others did in the first. Barriers that the detector cannot see keep the phases
//! apart, so the races of a round are known, whichever thread comes first to which cell. Between rounds everything is
//! ordered. Cells are few accesses each, so one lost entry is one byte that should have been told.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Barrier, Mutex};

use deadheat_detect::entry::Entry;
use deadheat_trace::generate::Rng;

use super::player::plain;
use crate::access;
use crate::cell;
use crate::history::Touch;
use crate::intern::StackId;
use crate::lifetime;
use crate::runtime::Runtime;
use crate::settle;
use crate::strand::Strand;
use crate::syncvar::Kind;
use crate::threads::Sort;

const THREADS: usize = 4;
const CELLS: usize = 384;
const ROUNDS: u64 = 500;
/// Rounds on the same memory, which goes from nobody's to one thread's, to shared, meanwhile.
const ROUNDS_IN_PLACE: u64 = 10;
const DATA: usize = 0x11_0000_0000;
const GATE: usize = 0x21_0000_0000;

#[derive(Clone, Copy)]
struct Act {
    thread: usize,
    phase: usize,
    mask: u8,
    write: bool,
    atomic: bool,
}

/// What happens in a round: the accesses to each cell, and who learns from whom between the phases.
struct Plan {
    base: usize,
    cells: Vec<Vec<Act>>,
    /// `learns[i][j]`: i learns what j did in the first phase.
    learns: [[bool; THREADS]; THREADS],
}

impl Plan {
    fn new(round: u64) -> Plan {
        let mut rng = Rng::new(round);
        let learns = std::array::from_fn(|_| std::array::from_fn(|_| rng.chance(500)));
        // Now and then one thread has the page for itself.
        let alone = round % 5 == 4;
        let mut cell = || {
            let mut acts = Vec::new();
            for (thread, phase) in (0..THREADS).flat_map(|thread| [(thread, 0), (thread, 1)]) {
                if !rng.chance(if phase == 0 { 600 } else { 250 })
                    || (alone && thread != round as usize % THREADS)
                {
                    continue;
                }
                let mask = match rng.below(6) {
                    0 => 0xff,
                    1 => 0x0f << (4 * rng.below(2)),
                    2 => 1 << rng.below(8),
                    // Most of the time each has bytes of its own.
                    _ => 1 << (thread * 2) << phase,
                };
                acts.push(Act {
                    thread,
                    phase,
                    mask,
                    write: rng.chance(250),
                    atomic: rng.chance(100),
                });
            }
            acts
        };
        let cells = (0..CELLS).map(|_| cell()).collect();
        // Across the border of two pages.
        Plan {
            base: DATA + (round / ROUNDS_IN_PLACE) as usize * 0x1000 - CELLS * 4,
            cells,
            learns,
        }
    }

    fn addr(&self, cell: usize) -> usize {
        self.base + cell * 8
    }

    fn concurrent(&self, a: Act, b: Act) -> bool {
        a.thread != b.thread
            && match (a.phase, b.phase) {
                (0, 1) => !self.learns[b.thread][a.thread],
                (1, 0) => !self.learns[a.thread][b.thread],
                _ => true,
            }
    }

    /// All bytes that race.
    fn races(&self) -> BTreeSet<usize> {
        let mut bytes = BTreeSet::new();
        for (cell, acts) in self.cells.iter().enumerate() {
            for (i, &a) in acts.iter().enumerate() {
                for &b in &acts[..i] {
                    if (a.write || b.write) && !(a.atomic && b.atomic) && self.concurrent(a, b) {
                        let common = a.mask & b.mask;
                        bytes.extend(
                            (0..8)
                                .filter(|byte| common >> byte & 1 == 1)
                                .map(|byte| self.addr(cell) + byte),
                        );
                    }
                }
            }
        }
        bytes
    }
}

/// The accesses of one thread in one phase.
fn perform(rt: &'static Runtime, s: &mut Strand, plan: &Plan, me: usize, phase: usize) {
    for (cell, acts) in plan.cells.iter().enumerate() {
        for act in acts
            .iter()
            .filter(|act| act.thread == me && act.phase == phase)
        {
            let addr = plan.addr(cell) + act.mask.trailing_zeros() as usize;
            let size = act.mask.count_ones() as usize;
            let pc = 0x50_0000 + (phase * 16 + act.write as usize * 4) as u64;
            match (act.atomic, act.write) {
                (false, false) => plain(rt, s, addr, size, Touch::Read, pc),
                (false, true) => plain(rt, s, addr, size, Touch::Write, pc),
                (true, false) => settle::atomic(rt, s, addr, size, Touch::AtomicRead, pc),
                (true, true) => settle::atomic(rt, s, addr, size, Touch::AtomicWrite, pc),
            }
        }
    }
}

pub(super) fn release(rt: &'static Runtime, s: &mut Strand, object: usize) {
    rt.syncs
        .get(s, object, Kind::Semaphore)
        .with(|state| state.release(s));
}

pub(super) fn acquire(rt: &'static Runtime, s: &mut Strand, object: usize) {
    rt.syncs
        .get(s, object, Kind::Semaphore)
        .with(|state| state.acquire(rt, s));
}

#[test]
fn no_race_is_lost_or_invented_between_threads() {
    static RT: Runtime = Runtime::new();
    let root = super::start(&RT);
    let ids: Vec<_> = (0..THREADS)
        .map(|_| RT.threads.create(&RT, Some(root), Sort::Thread, StackId(0)))
        .collect();
    let hidden = Barrier::new(THREADS);
    let wrong: Mutex<Vec<String>> = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for (me, &id) in ids.iter().enumerate() {
            let (hidden, wrong) = (&hidden, &wrong);
            scope.spawn(move || {
                let s = RT.threads.begin(&RT, id);
                for round in 0..ROUNDS {
                    let plan = Plan::new(round);
                    hidden.wait();
                    acquire(&RT, s, GATE);
                    perform(&RT, s, &plan, me, 0);
                    release(&RT, s, GATE + 64 * (me + 1));
                    hidden.wait();
                    for other in (0..THREADS).filter(|&other| plan.learns[me][other]) {
                        acquire(&RT, s, GATE + 64 * (other + 1));
                    }
                    perform(&RT, s, &plan, me, 1);
                    release(&RT, s, GATE);
                    hidden.wait();
                    if me == 0 {
                        if let Some(what) = judge(&plan) {
                            wrong
                                .lock()
                                .expect("nobody panics")
                                .push(format!("round {round}: {what}"));
                        }
                        if round % 7 == 0 {
                            s.enter();
                            lifetime::fresh(&RT, plan.base, CELLS * 4 + 4);
                            access::leave(s);
                        }
                    }
                }
                // SAFETY: begun above, and not used again.
                unsafe { RT.threads.end(s) };
            });
        }
    });
    let wrong = wrong.into_inner().expect("nobody panics");
    assert!(
        wrong.is_empty(),
        "{} rounds went wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );

    fn judge(plan: &Plan) -> Option<String> {
        let seen = std::mem::take(&mut *RT.findings.observed.lock());
        let bytes = |race: &crate::finding::Observed| {
            let (addr, common) = (race.addr, race.new.mask() & race.old.mask());
            (0..8)
                .filter(move |byte| common >> byte & 1 == 1)
                .map(move |byte| addr + byte)
        };
        let found: BTreeSet<usize> = seen.iter().flat_map(bytes).collect();
        let expected = plan.races();
        let unknown = seen
            .iter()
            .filter(|race| race.newer.is_none() || race.older.is_none())
            .count();
        if found == expected && unknown == 0 {
            return None;
        }
        let lost: Vec<_> = expected
            .difference(&found)
            .map(|byte| format!("{byte:#x}"))
            .collect();
        let invented: Vec<_> = found
            .difference(&expected)
            .map(|byte| format!("{byte:#x}"))
            .collect();
        Some(format!(
            "of {} lost {lost:?}, invented {invented:?}, without record {unknown}",
            expected.len()
        ))
    }
}

/// One byte of a cell becomes fresh again and again while another thread, who owns the page, uses the rest.
#[test]
fn forgetting_a_part_takes_nothing_from_others() {
    static RT: Runtime = Runtime::new();
    const ROUNDS: u64 = 60_000;
    const DATA: usize = 0x13_0000_0000;
    const PC: u64 = 0x70_0000;
    let s = super::start(&RT);
    plain(&RT, s, DATA, 8, Touch::Write, PC);
    let done = AtomicBool::new(false);
    let lost = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                lifetime::forget(&RT, DATA + 7, 1);
            }
        });
        let mut lost = 0;
        for round in 0..ROUNDS {
            let pc = PC + round;
            s.published();
            s.begin_step();
            plain(&RT, s, DATA, 1, Touch::Write, pc);
            let mut there = false;
            let place = |e: Entry| {
                RT.histories
                    .of(e.slot())
                    .record(e.seq())
                    .map(|record| record.place.pc())
            };
            let cell = RT.shadow.existing(DATA).expect("a cell that was touched");
            // SAFETY: the shadow gave the cell.
            unsafe { cell::each_entry(cell, |e| there |= place(e) == Some(pc)) };
            lost += !there as usize;
        }
        done.store(true, Ordering::Relaxed);
        lost
    });
    assert_eq!(lost, 0, "accesses are gone from the cell");
}

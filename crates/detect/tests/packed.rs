//! The packed entries at work: a small engine that uses nothing but the words and functions of `entry`, the way a
//! runtime does (slots, numbers for each step and site, the test for the same step first), against the naive detector.
//!
//! A strand's numbers go up by one for each site that its present step records. A step ends at a release: what a
//! release tells of a strand is the last number it has used. Here that is looked up from the order's epochs, which
//! change at releases too.

use std::collections::{BTreeMap, BTreeSet};

use deadheat_detect::access::{Effect, effect};
use deadheat_detect::entry::{self, Entry, SEQ_SHIFT};
use deadheat_detect::naive::Naive;
use deadheat_detect::{racing_bytes, run};
use deadheat_order::{HappensBefore, Time};
use deadheat_trace::{Action, Range, Shape, Strand, Trace, generate};

/// A strand's numbers.
#[derive(Default)]
struct Numbers {
    /// The last number used; the first one is 1, since 0 is what an empty clock covers.
    last: u64,
    /// The present step: its epoch, its first number, and the number of each site that it recorded.
    epoch: Time,
    first: u64,
    sites: BTreeMap<u64, u64>,
    /// The last number of each epoch.
    ends: BTreeMap<Time, u64>,
}

impl Numbers {
    /// A new step, if the epoch is new.
    fn step(&mut self, epoch: Time) {
        if self.epoch != epoch {
            (self.epoch, self.first) = (epoch, self.last + 1);
            self.sites.clear();
        }
    }

    fn number(&mut self, site: u64) -> u64 {
        let next = self.last + 1;
        let number = *self.sites.entry(site).or_insert(next);
        self.last = self.last.max(number);
        self.ends.insert(self.epoch, self.last);
        number
    }

    /// The component of a clock that knows the strand up to this time.
    fn known(&self, time: Time) -> u64 {
        self.ends
            .range(..=time)
            .next_back()
            .map_or(0, |(_, &last)| last)
    }
}

#[derive(Default)]
struct Engine {
    order: HappensBefore,
    numbers: BTreeMap<Strand, Numbers>,
    cells: BTreeMap<u64, Vec<Entry>>,
    racing: BTreeSet<u64>,
    skipped: u64,
}

impl Engine {
    fn run(trace: &Trace) -> Engine {
        let mut engine = Engine::default();
        for (id, event) in trace.iter() {
            let epoch = engine.order.event(event);
            engine
                .numbers
                .entry(event.strand)
                .or_default()
                .step(epoch.time);
            // Few sites, so that a step meets the same one again.
            let site = id.0 as u64 % 3;
            match effect(event.action) {
                Effect::Access(access) => {
                    for cell in cells(access.range) {
                        let need = entry::need(access.op, access.care, mask(cell, access.range));
                        engine.access(event.strand, cell, need, site);
                    }
                }
                Effect::Fresh(range) => {
                    for (&cell, words) in &mut engine.cells {
                        let gone = mask(cell, range);
                        words.iter_mut().for_each(|word| *word = word.without(gone));
                    }
                }
                Effect::Nothing => {}
            }
        }
        engine
    }

    fn access(&mut self, me: Strand, cell: u64, need: u64, site: u64) {
        let slot = me.0 as u16;
        let mine = self.numbers.entry(me).or_default();
        let (base, span) = (
            entry::stamp(slot, mine.first),
            (mine.last + 1 - mine.first) << SEQ_SHIFT,
        );
        let words = self.cells.entry(cell).or_default();
        if words
            .iter()
            .any(|word| entry::same_step_covers(word.0, base, span, need))
        {
            self.skipped += 1;
            return;
        }
        let new = Entry(entry::stamp(slot, mine.number(site)) | need);
        let clock = self.order.clock(me);
        let covered = |old: Entry| {
            let strand = Strand(u32::from(old.slot()));
            let known = clock.get(strand);
            old.covered_by(
                self.numbers
                    .get(&strand)
                    .map_or(0, |numbers| numbers.known(known)),
            )
        };
        let racing = words.iter().fold(0, |bytes, &old| {
            bytes | entry::racing_bytes(old, new, covered(old))
        });
        self.racing.extend(
            (0..8)
                .filter(|byte| racing >> byte & 1 == 1)
                .map(|byte| cell * 8 + byte),
        );
        words.retain(|&old| !entry::subsumes(new, old, covered(old)));
        words.push(new);
    }
}

fn cells(range: Range) -> std::ops::RangeInclusive<u64> {
    let (start, end) = range.bounds();
    start / 8..=(end - 1) / 8
}

fn mask(cell: u64, range: Range) -> u8 {
    let (start, end) = range.bounds();
    (0..8)
        .filter(|byte| (start..end).contains(&(cell * 8 + byte)))
        .fold(0, |mask, byte| mask | 1 << byte)
}

fn compare(shape: &Shape, seeds: u64) {
    let mut skipped = 0;
    for seed in 0..seeds {
        let trace = generate(seed, shape);
        let engine = Engine::run(&trace);
        let expected = racing_bytes(&run(&mut Naive::new(), &trace));
        assert_eq!(
            engine.racing, expected,
            "seed {seed} of {shape:?}:\n{trace}"
        );
        skipped += engine.skipped;
    }
    assert!(skipped > 0, "no access was ever redundant");
}

#[test]
fn small_programs() {
    compare(&Shape::small(), 2000);
}

#[test]
fn programs_of_atomics_and_fences() {
    compare(&Shape::atomics(), 2000);
}

#[test]
fn large_programs() {
    compare(&Shape::large(), 150);
}

#[test]
fn programs_with_long_steps_on_little_memory() {
    let mut shape = Shape {
        wild: 1000,
        regions: 1,
        decisions: 50,
        ..Shape::small()
    };
    shape.mix.touch = 60;
    compare(&shape, 500);
}

/// The generator frees what it allocates, or else fresh memory would not be tried here.
#[test]
fn the_programs_allocate() {
    let is_alloc = |trace: &Trace| {
        trace
            .events
            .iter()
            .any(|event| matches!(event.action, Action::Alloc(_)))
    };
    assert!(
        (0..100)
            .filter(|&seed| is_alloc(&generate(seed, &Shape::small())))
            .count()
            > 50
    );
}

//! The cell against a plain list of entries: the same survivors, the same races, by either right.

use deadheat_detect::entry::{Care, Op};
use deadheat_trace::generate::Rng;

use super::*;

/// What a cell stands for.
#[derive(Default)]
struct Model {
    entries: Vec<Entry>,
}

impl Model {
    /// The bytes on which the access races.
    fn record(&mut self, step: &Step, new: Entry) -> u8 {
        let whole = self
            .entries
            .iter()
            .filter(|e| (e.0 ^ new.0) & !MASK == 0)
            .fold(new.0, |all, e| all | e.0);
        let mut racing = 0;
        self.entries.retain(|&old| {
            let covered = step.covers(old);
            racing |= entry::racing_bytes(old, new, covered);
            !entry::subsumes(
                Entry(whole),
                old,
                covered || entry::races(old, new, covered),
            )
        });
        self.entries.push(Entry(whole));
        racing
    }

    fn forget(&mut self, gone: u8) {
        self.entries.iter_mut().for_each(|e| *e = e.without(gone));
        self.entries.retain(|e| e.mask() != 0);
    }

    fn sorted(&self) -> Vec<u64> {
        let mut words: Vec<u64> = self.entries.iter().map(|e| e.0).collect();
        words.sort_unstable();
        words
    }
}

fn sorted(cell: &Cell) -> Vec<u64> {
    let mut words = Vec::new();
    // SAFETY: a cell of the test's own.
    unsafe { each_entry(cell, |e| words.push(e.0)) };
    words.sort_unstable();
    words
}

/// A strand: its clock, its numbers and its memo.
struct Mind {
    slot: u16,
    clock: Clock,
    seq: u64,
    first: u64,
    memo: Memo,
}

impl Mind {
    fn new(slot: u16) -> Mind {
        Mind {
            slot,
            clock: Clock::new(),
            seq: 0,
            first: 1,
            memo: Memo::new(),
        }
    }
}

/// The short way, as the hooks take it.
unsafe fn settle(cell: &Cell, right: Right, step: &Step, new: Entry) -> bool {
    let mut clock = step.clock.clone();
    clock.set(step.slot, u64::MAX);
    let (stamp, need) = (new.0 & !entry::WHAT, new.0 & entry::WHAT);
    // SAFETY: a cell of the test's own.
    unsafe {
        match right {
            Right::Owner => settle_own(cell, &clock, step.base, stamp, need),
            Right::Locker => settle_shared(cell, &clock, step.base, stamp, need),
        }
    }
}

/// Random accesses of random strands to a few cells that have the same past for a while, so that lists are shared.
fn compare(seed: u64, strands: u16, rounds: u64) -> usize {
    let mut rng = Rng::new(seed);
    let mut minds: Vec<Box<Mind>> = (0..strands).map(|slot| Box::new(Mind::new(slot))).collect();
    const MANY: usize = 4;
    let cells: [Cell; MANY] = std::array::from_fn(|_| Cell {
        first: AtomicU64::new(0),
        second: AtomicU64::new(0),
    });
    let mut models: [Model; MANY] = Default::default();
    let mut longest = 0;
    for _ in 0..rounds {
        let me = rng.below(strands as u64) as usize;
        match rng.below(40) {
            0 => {
                // Learns all that another one knows and has told.
                let other = rng.below(strands as u64) as usize;
                if other != me {
                    let (seq, slot) = (minds[other].seq, minds[other].slot);
                    minds[other].clock.set(slot, seq);
                    minds[other].first = seq + 1;
                    let told = minds[other].clock.clone();
                    minds[me].clock.join(&told);
                }
            }
            1 => {
                let at = rng.below(MANY as u64) as usize;
                let gone = if rng.below(3) == 0 {
                    0xff
                } else {
                    rng.below(256) as u8
                };
                // SAFETY: a cell of the test's own.
                unsafe { forget(&cells[at], gone) };
                models[at].forget(gone);
                assert_eq!(
                    sorted(&cells[at]),
                    models[at].sorted(),
                    "after forgetting {gone:#x}, seed {seed}"
                );
            }
            choice => {
                let mind = &mut minds[me];
                // A place of this step, new or used before.
                let seq = if rng.below(3) > 0 && mind.seq >= mind.first {
                    mind.first + rng.below(mind.seq - mind.first + 1)
                } else {
                    mind.seq += 1;
                    mind.seq
                };
                let op = if rng.below(5) == 0 {
                    Op::Write
                } else {
                    Op::Read
                };
                let care = if rng.below(6) == 0 {
                    Care::Atomic
                } else {
                    Care::Plain
                };
                let mask = match rng.below(4) {
                    0 => 0xff,
                    1 => 0x0f << (4 * rng.below(2)),
                    2 => 1 << rng.below(8),
                    _ => rng.below(255) as u8 + 1,
                };
                let new = Entry::new(mind.slot, seq, op, care, mask);
                let only = rng.below(MANY as u64) as usize;
                for at in (0..MANY).filter(|&at| choice < 30 || at == only) {
                    let right = if rng.below(2) == 0 {
                        Right::Owner
                    } else {
                        Right::Locker
                    };
                    longest = longest.max(one(&cells[at], &mut models[at], mind, right, new, seed));
                }
            }
        }
    }
    longest
}

/// One access to one cell; how many entries it has now.
fn one(
    cell: &Cell,
    model: &mut Model,
    mind: &mut Mind,
    right: Right,
    new: Entry,
    seed: u64,
) -> usize {
    let Mind {
        slot,
        clock,
        first,
        memo,
        ..
    } = mind;
    let span = (entry::SEQ_MAX + 1 - *first) << entry::SEQ_SHIFT;
    let step = Step {
        base: entry::stamp(*slot, *first),
        span,
        slot: *slot,
        clock,
    };
    let need = new.0 & entry::WHAT;
    let known = model
        .entries
        .iter()
        .any(|e| entry::same_step_covers(e.0, step.base, step.span, need));
    // SAFETY: a cell of the test's own.
    let been = unsafe { already_recorded(cell, &step, need) };
    assert_eq!(been != Been::Never, known, "seed {seed}");
    if known {
        return model.entries.len();
    }
    let before = model.sorted();
    let racing = model.record(&step, new);
    let mut races = Races::NONE;
    // SAFETY: as above; there is only this thread, so it has either right.
    unsafe {
        // The short way first, as the hooks do it.
        if !settle(cell, right, &step, new) {
            record(cell, right, memo, &step, new, &mut races);
        }
    }
    let told = races.older[..races.count].iter().fold(0, |all, old| {
        all | entry::racing_bytes(*old, new, step.covers(*old))
    });
    assert_eq!(
        told, racing,
        "races of {new:x?} with {before:x?}, seed {seed}"
    );
    assert!(
        races.older[..races.count]
            .iter()
            .all(|old| before.contains(&old.0)),
        "races with what was not there, seed {seed}"
    );
    assert_eq!(
        sorted(cell),
        model.sorted(),
        "{new:x?} by {right:?} after {before:x?}, seed {seed}"
    );
    model.entries.len()
}

#[test]
fn a_cell_is_the_list_of_entries_that_nothing_subsumes() {
    let longest = (0..400)
        .map(|seed| compare(seed, 2 + (seed % 7) as u16, 300))
        .max();
    assert!(longest >= Some(6), "{longest:?}");
}

/// More strands than a common list holds.
#[test]
fn a_cell_of_a_hundred_strands_is_too() {
    let longest = (0..8).map(|seed| compare(seed, 150, 3000)).max();
    assert!(longest > Some(LONGEST_COMMON + 10), "{longest:?}");
}

/// As many races as bytes and more: each byte is told.
#[test]
fn every_racing_byte_is_told() {
    let cell = Cell {
        first: AtomicU64::new(0),
        second: AtomicU64::new(0),
    };
    let mut model = Model::default();
    for slot in 0..20 {
        let new = Entry::new(slot, 1, Op::Read, Care::Plain, 1 << (slot / 8 * (slot % 8)));
        one(
            &cell,
            &mut model,
            &mut Mind::new(slot),
            Right::Owner,
            new,
            0,
        );
    }
    one(
        &cell,
        &mut model,
        &mut Mind::new(99),
        Right::Owner,
        Entry::new(99, 1, Op::Write, Care::Plain, 0xff),
        0,
    );
}

/// Memory that many strands read becomes fresh in part: all of them stay known for the rest.
#[test]
fn forgetting_a_part_keeps_the_rest_of_everybody() {
    for strands in 0..200 {
        let cell = Cell {
            first: AtomicU64::new(0),
            second: AtomicU64::new(0),
        };
        let mut model = Model::default();
        for slot in 0..strands {
            let mask = if slot % 3 == 0 { 0x0f } else { 0xff };
            let new = Entry::new(slot, 1, Op::Read, Care::Plain, mask);
            one(
                &cell,
                &mut model,
                &mut Mind::new(slot),
                Right::Owner,
                new,
                0,
            );
        }
        for gone in [0x03, 0x0f, 0xff] {
            // SAFETY: a cell of the test's own.
            unsafe { forget(&cell, gone) };
            model.forget(gone);
            assert_eq!(sorted(&cell), model.sorted(), "{strands} strands");
        }
    }
}

/// A free takes the place of what its own slot did, and of nothing else.
#[test]
fn replacing_keeps_what_others_did() {
    let all = Entry::new(1, 9, Op::Write, Care::Plain, 0xff);
    let low = Entry::new(1, 9, Op::Write, Care::Plain, 0x0f);
    let mine = Entry::new(1, 3, Op::Read, Care::Plain, 0xf0);
    let theirs = Entry::new(2, 3, Op::Read, Care::Plain, 0x0f);
    for (first, second, new, replaced) in [
        (mine, Entry::EMPTY, all, true),
        (mine, mine, all, true),
        (mine, Entry::EMPTY, low, false),
        (theirs, mine, all, false),
        (mine, theirs, all, false),
        (Entry(mine.0 | LOCK), Entry::EMPTY, all, false),
    ] {
        let cell = Cell {
            first: AtomicU64::new(first.0),
            second: AtomicU64::new(second.0),
        };
        // SAFETY: a cell of the test's own.
        assert_eq!(unsafe { replace_own(&cell, new) }, replaced);
        let after = if replaced {
            (new.0, 0)
        } else {
            (first.0, second.0)
        };
        assert_eq!(
            (
                cell.first.load(Ordering::Relaxed),
                cell.second.load(Ordering::Relaxed)
            ),
            after
        );
    }
}

/// Threads that lock one cell at the same time: the last access of each is there, whatever the others did meanwhile.
#[test]
fn lockers_lose_nothing_to_each_other() {
    const THREADS: u16 = 3;
    const ROUNDS: u64 = 100;
    let cell = Cell {
        first: AtomicU64::new(0),
        second: AtomicU64::new(0),
    };
    let hidden = std::sync::Barrier::new(THREADS as usize);
    let lost = std::sync::atomic::AtomicUsize::new(0);
    let read = |slot: u16, seq| Entry::new(slot, seq, Op::Read, Care::Plain, 1 << slot);
    std::thread::scope(|scope| {
        for slot in 0..THREADS {
            let (cell, hidden, lost) = (&cell, &hidden, &lost);
            scope.spawn(move || {
                let mut mind = Box::new(Mind::new(slot));
                let mut last = 0;
                for round in 0..ROUNDS {
                    hidden.wait();
                    // With one thread less the cell stays a pair, with all of them it is a list.
                    let quiet = slot == 2 && round % 2 == 0;
                    for _ in 0..if quiet { 0 } else { 3000 } {
                        last += 1;
                        let step = Step {
                            base: entry::stamp(slot, last),
                            span: 1 << entry::SEQ_SHIFT,
                            slot,
                            clock: &mind.clock,
                        };
                        let mut races = Races::NONE;
                        let new = read(slot, last);
                        // SAFETY: a cell of the test's own, that all lock.
                        unsafe {
                            if last % 2 == 0 || !settle(cell, Right::Locker, &step, new) {
                                record(cell, Right::Locker, &mut mind.memo, &step, new, &mut races);
                            }
                        }
                        let mut there = 0;
                        // SAFETY: as above.
                        unsafe { each_entry(cell, |e| there += (e == read(slot, last)) as usize) };
                        lost.fetch_add(races.count + (there == 0) as usize, Ordering::Relaxed);
                    }
                    hidden.wait();
                    if slot == 0 && round % 2 == 0 {
                        // SAFETY: nobody else uses the bytes of the third.
                        unsafe { forget(cell, 1 << 2) };
                    }
                }
            });
        }
    });
    assert_eq!(lost.into_inner(), 0, "lost or invented");
}

//! The cell against a plain list of entries: the same survivors, the same races, by either right.

use std::collections::BTreeSet;

use deadheat_detect::entry::{Care, Op, PLAIN, WHAT, WRITE};
use deadheat_trace::generate::Rng;

use super::*;

static NOTHING: Clock = Clock::new();

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
}

/// An access that touches a byte.
type Touched = (u64, u32);

/// The bytes of an access, one by one.
fn touched(entry: Entry) -> impl Iterator<Item = Touched> {
    (0..8)
        .filter(move |byte| entry.mask() >> byte & 1 != 0)
        .map(move |byte| (entry.0 & !MASK, byte))
}

/// The same for each byte by itself: what a cell must remember, however it does so.
#[derive(Default)]
struct Needed {
    touched: BTreeSet<Touched>,
    /// Whatever it may remember: all that happened.
    ever: BTreeSet<Touched>,
}

impl Needed {
    /// `before` is what the other twin had: an old access whose race is told counts as covered for all bytes of the number.
    /// The bytes on which it races.
    fn record(&mut self, step: &Step, new: Entry, before: &[Entry]) -> u8 {
        let whole = before
            .iter()
            .filter(|e| (e.0 ^ new.0) & !MASK == 0)
            .fold(new, |all, e| Entry(all.0 | e.0));
        let told = |what: u64| {
            before
                .iter()
                .any(|&e| e.0 & !MASK == what & !MASK && entry::races(e, new, step.covers(e)))
        };
        let mut racing = 0;
        self.touched.retain(|&(what, byte)| {
            let old = Entry(what | 1 << byte);
            racing |= entry::racing_bytes(old, new, step.covers(old));
            !entry::subsumes(whole, old, step.covers(old) || told(what))
        });
        // What the same step did under a later number says as much.
        let said = |&(what, byte): &Touched| {
            self.ever.iter().any(|&(old, at)| {
                at == byte
                    && old > what
                    && Entry(old).slot() == new.slot()
                    && what & !old & WHAT == 0
            })
        };
        let more: Vec<Touched> = touched(new).filter(|touch| !said(touch)).collect();
        self.touched.extend(more);
        self.ever.extend(touched(new));
        racing
    }

    fn forget(&mut self, gone: u8) {
        self.touched.retain(|&(_, byte)| gone >> byte & 1 == 0);
        self.ever.retain(|&(_, byte)| gone >> byte & 1 == 0);
    }
}

/// What both say of one cell.
#[derive(Default)]
struct Twins {
    model: Model,
    needed: Needed,
}

impl Twins {
    fn forget(&mut self, gone: u8) {
        self.model.forget(gone);
        self.needed.forget(gone);
    }

    /// The cell has forgotten nothing that is needed, and made nothing up.
    fn check(&self, cell: &Cell, context: impl Fn() -> String) {
        let mut there = BTreeSet::new();
        // SAFETY: a cell of the test's own.
        unsafe { each_entry(cell, |e| there.extend(touched(e))) };
        let lost: Vec<_> = self.needed.touched.difference(&there).collect();
        let invented: Vec<_> = there.difference(&self.needed.ever).collect();
        assert!(lost.is_empty(), "lost {lost:x?}, {}", context());
        assert!(invented.is_empty(), "invented {invented:x?}, {}", context());
    }
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
unsafe fn settle(cell: &Cell, right: Right, memo: &mut Memo, step: &Step, new: Entry) -> bool {
    let mut clock = step.clock.clone();
    clock.set(step.slot, u64::MAX);
    let own = Step {
        clock: &clock,
        ..*step
    };
    let (stamp, need) = (new.0 & !entry::WHAT, new.0 & entry::WHAT);
    let sweep = Sweep {
        stamp,
        need,
        rest: Rest::Unknown,
    };
    // SAFETY: a cell of the test's own.
    unsafe {
        match right {
            _ if has_table(cell) => settle_table(cell, right, &clock, stamp, need),
            _ if has_list(cell) => settle_listed(cell, right, memo, &own, new.0).is_some(),
            _ if new.seq().is_multiple_of(2) => {
                settle_run(cell, 1, 1, right, &own, sweep, Change::NONE) == 1
            }
            Right::Owner => settle_own(cell, &own, stamp, need),
            Right::Locker => settle_shared(cell, &own, stamp, need),
        }
    }
}

/// How long lists became, and how often a cell was a table.
#[derive(Default)]
struct Seen {
    longest: usize,
    tables: usize,
}

/// Random accesses of random strands to a few cells that have the same past for a while, so that lists are shared.
fn compare(seed: u64, strands: u16, rounds: u64) -> Seen {
    let mut rng = Rng::new(seed);
    let mut minds: Vec<Box<Mind>> = (0..strands).map(|slot| Box::new(Mind::new(slot))).collect();
    if seed % 4 == 3 {
        minds.iter_mut().for_each(|mind| mind.memo.despair());
    }
    const MANY: usize = 4;
    let cells: [Cell; MANY] = std::array::from_fn(|_| Cell {
        first: AtomicU64::new(0),
        second: AtomicU64::new(0),
    });
    let mut twins: [Twins; MANY] = Default::default();
    let mut seen = Seen::default();
    for _ in 0..rounds {
        let me = rng.below(strands as u64) as usize;
        match rng.below(40) {
            0 => {
                // Learns all that another one knows and has told.
                let other = rng.below(strands as u64) as usize;
                let (seq, slot) = (minds[other].seq, minds[other].slot);
                minds[other].clock.set(slot, seq);
                minds[other].first = seq + 1;
                let told = minds[other].clock.clone();
                minds[me].clock.join(&told);
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
                twins[at].forget(gone);
                twins[at].check(&cells[at], || {
                    format!("after forgetting {gone:#x}, seed {seed}")
                });
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
                let care = if seed.is_multiple_of(2) && rng.below(6) == 0 {
                    Care::Atomic
                } else {
                    Care::Plain
                };
                let mask = match rng.below(4) {
                    0 => 0xff,
                    1 => 0x0f << (4 * rng.below(2)),
                    2 => 1 << rng.below(8),
                    _ if seed % 4 == 3 => 0x03 << (2 * rng.below(4)),
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
                    let len = one(&cells[at], &mut twins[at], mind, right, new, seed);
                    seen.longest = seen.longest.max(len);
                    // SAFETY: a cell of the test's own.
                    seen.tables += unsafe { has_table(&cells[at]) } as usize;
                }
            }
        }
    }
    seen
}

/// One access to one cell; how many entries it has now.
fn one(
    cell: &Cell,
    twins: &mut Twins,
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
        floor: &NOTHING,
    };
    let need = new.0 & entry::WHAT;
    let known = twins
        .model
        .entries
        .iter()
        .any(|e| entry::same_step_covers(e.0, step.base, step.span, need));
    // SAFETY: a cell of the test's own.
    let been = unsafe { already_recorded(cell, &step, need) } != Been::Never;
    // A table may not remember that it has been there, but never makes that up.
    assert!(known || !been, "seed {seed}");
    if been {
        return twins.model.entries.len();
    }
    let before = twins.model.entries.clone();
    let racing = twins.model.record(&step, new);
    let must_be_told = twins.needed.record(&step, new, &before);
    let mut races = Races::NONE;
    // SAFETY: as above; there is only this thread, so it has either right.
    unsafe {
        // The short way first, as the hooks do it.
        if !settle(cell, right, memo, &step, new) {
            record(cell, right, memo, &step, new, &mut races);
        }
    }
    let told = races.older[..races.count].iter().fold(0, |all, old| {
        all | entry::racing_bytes(*old, new, step.covers(*old))
    });
    assert!(
        must_be_told & !told == 0 && told & !racing == 0,
        "told {told:x} of {new:x?} with {before:x?}, seed {seed}"
    );
    let was_there = |&old: &Entry| touched(old).all(|touch| twins.needed.ever.contains(&touch));
    assert!(
        races.older[..races.count].iter().all(was_there),
        "races with what was not there, seed {seed}"
    );
    twins.check(cell, || {
        format!("{new:x?} by {right:?} after {before:x?}, seed {seed}")
    });
    twins.model.entries.len()
}

#[test]
fn a_cell_is_the_list_of_entries_that_nothing_subsumes() {
    let seen: Vec<Seen> = (0..600)
        .map(|seed| compare(seed, 1 + (seed % 3 * (seed / 3 % 4)) as u16, 300))
        .collect();
    assert!(seen.iter().any(|seen| seen.longest >= 6));
    let tables: usize = seen.iter().map(|seen| seen.tables).sum();
    assert!(tables > 2000, "{tables}");
}

/// More strands than a common list holds.
#[test]
fn a_cell_of_a_hundred_strands_is_too() {
    let longest = (0..8).map(|seed| compare(seed, 150, 3000).longest).max();
    assert!(longest > Some(LONGEST_COMMON + 10), "{longest:?}");
}

/// An access to many cells in a row does to each what it would do to that one alone.
#[test]
fn a_run_is_one_cell_after_the_other() {
    const MANY: usize = 40;
    for seed in 0..2000 {
        let mut rng = Rng::new(seed);
        let mut clock = Clock::new();
        clock.set(0, u64::MAX);
        clock.set(1, Entry::new(1, 20, Op::Read, Care::Plain, 0).seq());
        let step = Step {
            base: entry::stamp(0, 30),
            span: entry::stamp(0, 100) - entry::stamp(0, 30),
            slot: 0,
            clock: &clock,
            floor: &NOTHING,
        };
        let mut random = || {
            let (slot, below) = [(0, 35), (0, 35), (1, 20), (1, 24)][rng.below(4) as usize];
            let op = [Op::Read, Op::Write][rng.below(2) as usize];
            let mask = [0xff, 0xff, 0x0f, 0x30][rng.below(4) as usize];
            match rng.below(5) {
                0 => 0,
                _ => Entry::new(slot, 1 + rng.below(below), op, Care::Plain, mask).0,
            }
        };
        let kinds: Vec<(u64, u64)> = (0..4).map(|_| (random(), random())).collect();
        let mut rng = Rng::new(seed + 1);
        // Neighbours are often alike.
        let mut kind = kinds[0];
        let words: Vec<(u64, u64)> = (0..MANY)
            .map(|_| {
                if rng.below(3) == 0 {
                    kind = kinds[rng.below(4) as usize];
                }
                kind
            })
            .collect();
        let cells = || -> Vec<Cell> {
            let cell = |&(first, second): &(u64, u64)| Cell {
                first: AtomicU64::new(first),
                second: AtomicU64::new(second),
            };
            words.iter().map(cell).collect()
        };
        let (together, alone) = (cells(), cells());
        let sweep = Sweep {
            stamp: entry::stamp(0, 40),
            need: [PLAIN, PLAIN | WRITE][rng.below(2) as usize]
                | [MASK, MASK, 0x0f][rng.below(3) as usize],
            rest: Rest::Unknown,
        };
        let run = |from: &[Cell]| {
            // SAFETY: cells of the test's own.
            unsafe {
                let count = from.len();
                settle_run(
                    from.as_ptr(),
                    count,
                    1,
                    Right::Owner,
                    &step,
                    sweep,
                    Change::NONE,
                )
            }
        };
        let mut at = 0;
        while at < MANY {
            // One that cannot be settled is passed over.
            at += run(&together[at..]) + 1;
        }
        for i in 0..MANY {
            let (was, before) = (words[i], alone[i].both_words());
            assert_eq!((before.first, before.second), was);
            run(&alone[i..=i]);
            let (here, there) = (together[i].both_words(), alone[i].both_words());
            assert_eq!(here, there, "cell {i} of {was:x?}, seed {seed}");
            if let Some(whole) = outcome_of(was, &step, sweep) {
                assert_eq!(here.sorted(), whole, "cell {i} of {was:x?}, seed {seed}");
            }
        }
    }
}

impl Words {
    /// Which of the two is the first does not matter.
    fn sorted(self) -> [u64; 2] {
        let mut words = [self.first, self.second];
        words.sort_unstable();
        words
    }
}

/// What the rules of `judge` leave of two words, if two are enough, the step was not there and nothing races.
fn outcome_of(was: (u64, u64), step: &Step, sweep: Sweep) -> Option<[u64; 2]> {
    let new = Entry(sweep.stamp | sweep.need);
    let known = |word: u64| step.clock.covers_word(word);
    let been = |word: u64| entry::same_step_covers(word, step.base, step.span, sweep.need);
    if !known(was.0) || !known(was.1) || been(was.0) || been(was.1) {
        return None;
    }
    let mut races = Races::NONE;
    let mut left: Vec<u64> = [was.0, was.1]
        .iter()
        .map(|&old| judge(Entry(old), step, new, new, &mut races))
        .filter(|&old| old != 0)
        .collect();
    assert_eq!(races.count, 0);
    left.push(new.0);
    left.resize(left.len().max(2), 0);
    left.sort_unstable();
    left.try_into().ok()
}

/// As many races as bytes and more: each byte is told.
#[test]
fn every_racing_byte_is_told() {
    let cell = Cell {
        first: AtomicU64::new(0),
        second: AtomicU64::new(0),
    };
    let mut twins = Twins::default();
    for slot in 0..20 {
        let new = Entry::new(slot, 1, Op::Read, Care::Plain, 1 << (slot / 8 * (slot % 8)));
        one(
            &cell,
            &mut twins,
            &mut Mind::new(slot),
            Right::Owner,
            new,
            0,
        );
    }
    one(
        &cell,
        &mut twins,
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
        let mut twins = Twins::default();
        for slot in 0..strands {
            let mask = if slot % 3 == 0 { 0x0f } else { 0xff };
            let new = Entry::new(slot, 1, Op::Read, Care::Plain, mask);
            one(
                &cell,
                &mut twins,
                &mut Mind::new(slot),
                Right::Owner,
                new,
                0,
            );
        }
        for gone in [0x03, 0x0f, 0xff] {
            // SAFETY: a cell of the test's own.
            unsafe { forget(&cell, gone) };
            twins.forget(gone);
            twins.check(&cell, || format!("{strands} strands"));
        }
    }
}

/// Pairs and lists have their accesses in any order: a table of them has the last one of each byte.
#[test]
fn a_table_has_the_last_access_to_each_byte_in_whichever_order_they_come() {
    let access = |seq, op, mask| Entry::new(1, seq, op, Care::Plain, mask).0;
    let old = [
        access(3, Op::Write, 0xff),
        access(5, Op::Write, 0x0f),
        access(6, Op::Read, 0xf0),
    ];
    let new = access(8, Op::Write, 0x03);
    let expected: BTreeSet<Touched> = [
        access(3, Op::Write, 0xf0),
        access(5, Op::Write, 0x0c),
        access(6, Op::Read, 0xf0),
        new,
    ]
    .into_iter()
    .flat_map(|word| touched(Entry(word)))
    .collect();
    let step = Step {
        base: entry::stamp(1, 8),
        span: 1 << entry::SEQ_SHIFT,
        slot: 1,
        clock: &NOTHING,
        floor: &NOTHING,
    };
    for order in [
        [0, 1, 2],
        [0, 2, 1],
        [1, 0, 2],
        [1, 2, 0],
        [2, 0, 1],
        [2, 1, 0],
    ] {
        let [a, b, c] = order.map(|at| old[at]);
        let first = table::made_of(&[a, b, c, new], &step).expect("one strand's are in order");
        // SAFETY: a table of the test's own.
        let (words, count) = unsafe { table::entries(first) };
        let there: BTreeSet<Touched> = words[..count]
            .iter()
            .flat_map(|&word| touched(Entry(word)))
            .collect();
        assert_eq!(there, expected, "in the order {order:?}");
        // SAFETY: no cell names it.
        unsafe { table::free(first, 1) };
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
                            floor: &NOTHING,
                        };
                        let mut races = Races::NONE;
                        let new = read(slot, last);
                        // SAFETY: a cell of the test's own, that all lock.
                        unsafe {
                            if last % 2 == 0
                                || !settle(cell, Right::Locker, &mut mind.memo, &step, new)
                            {
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

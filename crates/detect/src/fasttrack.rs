//! FastTrack: happens-before races with epochs, on cells of 8 bytes.
//!
//! Paper: Flanagan and Freund, "FastTrack: efficient and precise dynamic race detection", PLDI 2009.
//! Guarantee: on the observed execution no false alarm, and every byte that has a race is reported at least once: the
//! set of racing bytes is that of the naive detector, always (the paper promises the first race of each variable).
//! Not every racing pair is named, since a remembered access stands for those it subsumed.
//! Cost: a step's second access to a cell is one look at the cell's entries; others compare one epoch per entry. A cell has
//! one entry while it is used in turns, and one per concurrent reader while it is shared.
//!
//! | rule             | when                                                          | then                       |
//! |------------------|---------------------------------------------------------------|----------------------------|
//! | read same epoch  | an entry of this very epoch subsumes the read                 | nothing                    |
//! | write same epoch | an entry of this very epoch subsumes the write                | nothing                    |
//! | read exclusive   | no read of another access stays beside the new one            | one read entry             |
//! | read share       | one read of another strand stays beside it                    | two read entries           |
//! | read shared      | several reads stay beside it                                  | one more read entry        |
//! | write exclusive  | at most one read was there                                    | check, forget the subsumed |
//! | write shared     | several reads were there                                      | check all, forget the subsumed |
//! | race             | an entry conflicts and its epoch is not covered by the clock  | report, and keep the entry |
//! | subsume          | `entry::subsumes` allows it                                   | forget the old entry       |
//! | fresh            | memory is allocated                                           | clear its bytes in all entries |
//!
//! Paper -> code: C_t = `HappensBefore::clock(t)`, E(t) = the epoch of the event, R_x and W_x = `Cell::entries`.
//! Deviations:
//! 1. A variable is a byte; a cell keeps a list of entries with byte masks in place of one R and one W, because accesses
//!    of several sizes overlap in part.
//! 2. The adaptive read clock is the list itself: a read stays as an epoch for as long as no later one subsumes it.
//! 3. An entry is forgotten only if the new one subsumes it (the law is proved in `entry`). The paper also forgets
//!    an old write after a race, and all reads at a write; here a racing entry stays, so that no later race is lost.
//! 4. Atomic accesses are accesses too; they race with plain ones.
//! 5. The same-epoch test compares with the epoch, not the clock: an acquire in between may have made the strand's clock
//!    larger, which can only remove races, and those before were reported when the entry was made.
//!
//! Not covered: accesses of code that is not in the trace; other interleavings.

use std::collections::BTreeMap;

use deadheat_order::{Epoch, HappensBefore, VectorClock};
use deadheat_trace::{Event, EventId, Range};

use crate::access::{Access, Effect, effect};
use crate::cells::{self, CELL, Clash, cells_of, mask_of};
use crate::detector::{Detector, Race};
use crate::entry::{self, Entry, Op};

/// How often each rule fired, per cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    pub read_same_epoch: u64,
    pub write_same_epoch: u64,
    pub read_exclusive: u64,
    pub read_share: u64,
    pub read_shared: u64,
    pub write_exclusive: u64,
    pub write_shared: u64,
    pub race: u64,
    pub subsume: u64,
    pub fresh: u64,
}

impl Counters {
    /// Every rule by name.
    pub fn rules(&self) -> [(&'static str, u64); 10] {
        [
            ("read same epoch", self.read_same_epoch),
            ("write same epoch", self.write_same_epoch),
            ("read exclusive", self.read_exclusive),
            ("read share", self.read_share),
            ("read shared", self.read_shared),
            ("write exclusive", self.write_exclusive),
            ("write shared", self.write_shared),
            ("race", self.race),
            ("subsume", self.subsume),
            ("fresh", self.fresh),
        ]
    }
}

/// A remembered access to a cell.
#[derive(Clone, Copy, Debug)]
struct Past {
    id: EventId,
    epoch: Epoch,
    /// Mask, operation and care; slot and number are not used, since `epoch` has no bounds.
    what: Entry,
}

/// The present access to a cell.
#[derive(Clone, Copy)]
struct Present<'a> {
    past_to_be: Past,
    clock: &'a VectorClock,
}

/// The past of 8 bytes.
#[derive(Clone, Debug, Default)]
struct Cell {
    // invariant: no entry has an empty mask
    entries: Vec<Past>,
}

/// The detector: an order, and the cells that were ever touched.
#[derive(Clone, Debug, Default)]
pub struct FastTrack {
    order: HappensBefore,
    cells: BTreeMap<u64, Cell>,
    counters: Counters,
}

impl FastTrack {
    pub fn new() -> FastTrack {
        FastTrack::default()
    }

    pub fn counters(&self) -> Counters {
        self.counters
    }
}

impl Detector for FastTrack {
    fn event(&mut self, id: EventId, event: &Event, found: &mut Vec<Race>) {
        let epoch = self.order.event(event);
        match effect(event.action) {
            Effect::Access(access) => self.access(id, epoch, access, found),
            Effect::Fresh(range) => self.fresh(range),
            Effect::Nothing => {}
        }
    }
}

impl FastTrack {
    fn access(&mut self, id: EventId, epoch: Epoch, access: Access, found: &mut Vec<Race>) {
        let clock = self.order.clock(epoch.strand);
        let mut clashes = Vec::new();
        for (number, mask) in cells_of(access.range) {
            let what = Entry(entry::need(access.op, access.care, mask));
            let present = Present {
                past_to_be: Past { id, epoch, what },
                clock,
            };
            let cell = self.cells.entry(number).or_default();
            if cell.same_epoch(&present) {
                match access.op {
                    Op::Read => self.counters.read_same_epoch += 1,
                    Op::Write => self.counters.write_same_epoch += 1,
                }
                continue;
            }
            let reads_before = cell.reads();
            self.counters.race += cell.race(&present, number, &mut clashes);
            self.counters.subsume += cell.subsume(&present);
            let reads_beside = cell.reads();
            cell.entries.push(present.past_to_be);
            match (access.op, reads_before, reads_beside) {
                (Op::Read, _, 0) => self.counters.read_exclusive += 1,
                (Op::Read, _, 1) => self.counters.read_share += 1,
                (Op::Read, _, _) => self.counters.read_shared += 1,
                (Op::Write, 0 | 1, _) => self.counters.write_exclusive += 1,
                (Op::Write, _, _) => self.counters.write_shared += 1,
            }
        }
        cells::races(id, &mut clashes, found);
    }

    /// Rule fresh: what was there before was other memory.
    fn fresh(&mut self, range: Range) {
        let (start, end) = range.bounds();
        let (first, last) = (start / CELL, (end - 1) / CELL);
        self.counters.fresh += 1;
        for (&number, cell) in self.cells.range_mut(first..=last) {
            let gone = mask_of(number, range);
            cell.entries
                .iter_mut()
                .for_each(|past| past.what = past.what.without(gone));
            cell.entries.retain(|past| past.what.mask() != 0);
        }
    }
}

impl Cell {
    /// Rules read and write same epoch.
    fn same_epoch(&self, present: &Present<'_>) -> bool {
        let new = present.past_to_be;
        self.entries
            .iter()
            .any(|past| past.epoch == new.epoch && entry::subsumes(past.what, new.what, true))
    }

    fn reads(&self) -> usize {
        self.entries
            .iter()
            .filter(|past| past.what.op() == Op::Read)
            .count()
    }

    /// Rule race. Returns how many entries raced.
    fn race(&self, present: &Present<'_>, number: u64, found: &mut Vec<Clash<EventId>>) -> u64 {
        let new = present.past_to_be;
        let before = found.len();
        for past in &self.entries {
            let bytes = entry::racing_bytes(past.what, new.what, present.clock.covers(past.epoch));
            if bytes != 0 {
                found.push(Clash {
                    old: past.id,
                    cell: number,
                    bytes,
                });
            }
        }
        (found.len() - before) as u64
    }

    /// Rule subsume. Returns how many entries were forgotten.
    fn subsume(&mut self, present: &Present<'_>) -> u64 {
        let before = self.entries.len();
        let new = present.past_to_be.what;
        self.entries
            .retain(|past| !entry::subsumes(new, past.what, present.clock.covers(past.epoch)));
        (before - self.entries.len()) as u64
    }
}

//! DJIT+: happens-before races with a full clock of readers and one of writers for every variable.
//!
//! Paper: Pozniansky and Schuster, "MultiRace: efficient on-the-fly data race detection in multithreaded C++ programs",
//! Concurrency and Computation: Practice and Experience 19(3), 2007 (DJIT+; first in PPoPP 2003).
//! Guarantee: on the observed execution no false alarm, and every byte that has a race is reported at least once: the
//! set of racing bytes is that of the naive detector (the paper promises the first race of each variable).
//! Cost: proportional to the strands that ever touched the cell, for the first access of each kind in a time frame.
//!
//! | rule        | when                                                        | then                                |
//! |-------------|-------------------------------------------------------------|-------------------------------------|
//! | not first   | this strand did the same to these bytes in this time frame  | nothing: it was logged and checked  |
//! | read        | first read in the time frame                                | check all writers, log among readers |
//! | write       | first write in the time frame                               | check all writers and readers, log among writers |
//! | race        | a logged time is not covered by the strand's clock          | report                              |
//! | fresh       | memory is allocated                                         | its logs are empty                  |
//!
//! Paper -> code: a time frame = the time between two releases of a strand = the epoch; st_t = what `knows` answers;
//! ar_x\[t\] and aw_x\[t\] = the logs of `Cell`, by strand and kind.
//! Deviations:
//! 1. A variable is a byte. A cell of 8 keeps one log per strand, kind and time with a mask of bytes; a new log takes its
//!    bytes out of the older ones of its strand and kind, so that each byte has at most one of each: the paper's.
//! 2. Atomic accesses are accesses too and have logs of their own: they race with plain ones, not with each other.
//! 3. A race does not end the checking of a variable, so that every racing byte is found.
//!
//! Why the last access of each strand and kind is enough: an older one happened before it, so whoever knows the last
//! knows the older one, and whoever races with the older one races with the last, on the same bytes.
//!
//! Not covered: accesses of code that is not in the trace; other interleavings.

use deadheat_order::{Epoch, HappensBefore};
use deadheat_trace::{Event, EventId, Range};

use crate::access::{Access, Effect, effect};
use crate::cells::{self, Clash, Pages, cells_of, mask_of};
use crate::detector::{Detector, Race};
use crate::entry::{self, Entry};

/// How often each rule fired, per cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    pub not_first: u64,
    pub read: u64,
    pub write: u64,
    pub race: u64,
    pub fresh: u64,
}

impl Counters {
    /// Every rule by name.
    pub fn rules(&self) -> [(&'static str, u64); 5] {
        [
            ("not first", self.not_first),
            ("read", self.read),
            ("write", self.write),
            ("race", self.race),
            ("fresh", self.fresh),
        ]
    }
}

/// One strand's last access of one kind to some bytes of a cell.
#[derive(Clone, Copy, Debug)]
struct Log<I> {
    epoch: Epoch,
    /// Mask, operation and care.
    what: Entry,
    id: I,
}

/// The past of 8 bytes.
// invariant: a byte is in at most one log of each strand and kind, but for those that were buried; no log has an empty mask
type Cell<I> = Vec<Log<I>>;

/// The detector's memory. `I` is whatever its user wants to have back of an older access.
#[derive(Clone, Debug)]
pub struct Djit<I> {
    cells: Pages<Cell<I>>,
    /// Logs in all cells.
    logs: usize,
    counters: Counters,
}

impl<I> Default for Djit<I> {
    fn default() -> Self {
        Djit {
            cells: Pages::default(),
            logs: 0,
            counters: Counters::default(),
        }
    }
}

impl<I: Copy> Djit<I> {
    pub fn new() -> Djit<I> {
        Djit::default()
    }

    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// The strand of `epoch` touches memory now; `knows` says whether an older moment is covered by its clock.
    pub fn access(
        &mut self,
        epoch: Epoch,
        access: Access,
        id: I,
        knows: impl Fn(Epoch) -> bool,
        found: &mut Vec<Clash<I>>,
    ) {
        for (number, mask) in cells_of(access.range) {
            let what = Entry(entry::need(access.op, access.care, mask));
            let cell = self.cells.cell(number);
            if not_first(cell, epoch, what) {
                self.counters.not_first += 1;
                continue;
            }
            match access.op {
                entry::Op::Read => self.counters.read += 1,
                entry::Op::Write => self.counters.write += 1,
            }
            self.counters.race += race(cell, what, number, &knows, found);
            let before = cell.len();
            log(cell, Log { epoch, what, id });
            self.logs = self.logs + cell.len() - before;
        }
    }

    /// Rule fresh.
    pub fn fresh(&mut self, range: Range) {
        self.counters.fresh += 1;
        let logs = &mut self.logs;
        self.cells.existing(range, |number, cell| {
            let before = cell.len();
            take_bytes(cell, mask_of(number, range), |_| true);
            *logs -= before - cell.len();
        });
    }

    /// Forgets what every strand that is left knows: nobody can race with it any more.
    pub fn forget(&mut self, known_to_all: impl Fn(Epoch) -> bool) {
        self.sweep(|cell| cell.retain(|log| !known_to_all(log.epoch)));
    }

    /// Of strands that have ended, what is known to nobody but those who know something else that is as good.
    ///
    /// `buried` says which name an access has from here on that nobody can ever know of, if that is a new one; `knows_too`
    /// whether whoever knows the first access knows the second. `named` is called with every access that stays.
    pub fn bury(
        &mut self,
        buried: impl Fn(Epoch) -> Option<Epoch>,
        is_buried: impl Fn(Epoch) -> bool,
        knows_too: impl Fn(Epoch, Epoch) -> bool,
        mut named: impl FnMut(Epoch),
    ) {
        let mut enough: Vec<(Epoch, Entry)> = Vec::new();
        self.sweep(|cell| {
            if cell.len() > 1 {
                enough.clear();
                enough.extend(cell.iter().map(|log| (log.epoch, log.what)));
                cell.retain(|log| {
                    !enough.iter().any(|&(epoch, what)| {
                        (epoch, what) != (log.epoch, log.what)
                            && entry::subsumes(what, log.what, true)
                            && knows_too(epoch, log.epoch)
                    })
                });
            }
            // Of two of which nobody can ever know, one is enough that races with whatever the other races with.
            enough.clear();
            cell.retain_mut(|log| {
                log.epoch = buried(log.epoch).unwrap_or(log.epoch);
                if is_buried(log.epoch) {
                    let as_good =
                        |&(_, what): &(Epoch, Entry)| entry::subsumes(what, log.what, true);
                    if enough.iter().any(as_good) {
                        return false;
                    }
                    enough.push((log.epoch, log.what));
                }
                named(log.epoch);
                true
            });
        });
    }

    /// Changes every cell that has a past; a page without any is given up.
    fn sweep(&mut self, mut change: impl FnMut(&mut Cell<I>)) {
        let logs = &mut self.logs;
        *logs = 0;
        self.cells.sweep(|cell| {
            if !cell.is_empty() {
                change(cell);
                // A cell that was crowded once does not keep the room for ever.
                cell.shrink_to(2 * cell.len());
                *logs += cell.len();
            }
            !cell.is_empty()
        });
    }

    /// How many accesses are remembered.
    pub fn remembered(&self) -> usize {
        self.logs
    }

    /// What is remembered of older accesses.
    pub fn ids(&self) -> impl Iterator<Item = I> {
        self.cells.iter().flatten().map(|log| log.id)
    }

    /// Pages of memory that are remembered.
    pub fn pages(&self) -> usize {
        self.cells.pages()
    }
}

/// Rule not first: an access of the same strand, kind and time frame has all the bytes.
fn not_first<I>(cell: &Cell<I>, epoch: Epoch, what: Entry) -> bool {
    cell.iter().any(|log| {
        log.epoch == epoch && kind(log.what) == kind(what) && what.mask() & !log.what.mask() == 0
    })
}

/// Rule race, for reads and writes: a read does not conflict with readers, nor an atomic with atomics. Returns how many
/// logs raced.
fn race<I: Copy>(
    cell: &Cell<I>,
    what: Entry,
    number: u64,
    knows: impl Fn(Epoch) -> bool,
    found: &mut Vec<Clash<I>>,
) -> u64 {
    let mut racing = 0;
    for log in cell {
        let bytes = entry::racing_bytes(log.what, what, false);
        if bytes != 0 && !knows(log.epoch) {
            racing += 1;
            found.push(Clash {
                old: log.id,
                cell: number,
                bytes,
            });
        }
    }
    racing
}

fn log<I>(cell: &mut Cell<I>, new: Log<I>) {
    take_bytes(cell, new.what.mask(), |old| {
        old.epoch.strand == new.epoch.strand && kind(old.what) == kind(new.what)
    });
    cell.push(new);
}

/// Takes bytes out of those logs that `of` names.
fn take_bytes<I>(cell: &mut Cell<I>, bytes: u8, of: impl Fn(&Log<I>) -> bool) {
    cell.retain_mut(|old| {
        if of(old) {
            old.what = old.what.without(bytes);
        }
        old.what.mask() != 0
    });
}

fn kind(what: Entry) -> u64 {
    what.0 & (entry::PLAIN | entry::WRITE)
}

/// DJIT+ on the events of a trace.
#[derive(Clone, Debug, Default)]
pub struct OnTrace {
    order: HappensBefore,
    djit: Djit<EventId>,
    clashes: Vec<Clash<EventId>>,
}

impl OnTrace {
    pub fn new() -> OnTrace {
        OnTrace::default()
    }

    pub fn counters(&self) -> Counters {
        self.djit.counters()
    }
}

impl Detector for OnTrace {
    fn event(&mut self, id: EventId, event: &Event, found: &mut Vec<Race>) {
        let epoch = self.order.event(event);
        match effect(event.action) {
            Effect::Access(access) => {
                let clock = self.order.clock(epoch.strand);
                let knows = |past| clock.covers(past);
                self.djit
                    .access(epoch, access, id, knows, &mut self.clashes);
                cells::races(id, &mut self.clashes, found);
            }
            Effect::Fresh(range) => self.djit.fresh(range),
            Effect::Nothing => {}
        }
    }
}

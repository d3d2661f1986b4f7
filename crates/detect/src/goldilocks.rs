//! Goldilocks: happens-before races with sets of who knows an access, in place of clocks.
//!
//! Paper: Elmas, Qadeer and Tasiran, "Goldilocks: a race and transaction-aware Java runtime", PLDI 2007. KUDA runs it on
//! a GPU.
//! Guarantee: on the observed execution no false alarm, and every byte that has a race is reported at least once: the
//! set of racing bytes is that of the naive detector.
//! Cost: nothing at a synchronization but a line in a log; at an access of another strand's memory, the log since the
//! older access was last looked at, once for all accesses of its step.
//!
//! Each remembered access has a lockset: the strands, locks, atomics, fences, barriers and channels through which one can
//! know of it. It happened before whatever a strand does exactly if the strand is in the set.
//!
//! | rule         | when                                       | then                                                  |
//! |--------------|--------------------------------------------|-------------------------------------------------------|
//! | access       | an older access conflicts, t not in LS     | race                                                  |
//! | own          | after an access of t                       | its LS = {t}                                          |
//! | acquire m    | m in LS                                    | t enters LS (mutex, read-write lock, channel, round)  |
//! | release m    | t in LS                                    | m enters LS                                           |
//! | fork u       | t in LS                                    | u enters LS                                           |
//! | join u       | u in LS                                    | t enters LS                                           |
//! | atomic read  | v in LS                                    | t enters LS; if relaxed, heard(t) does                |
//! | atomic write | t in LS (if relaxed: fenced(t))            | v enters LS; a store that does not tell so takes v out |
//! | acquire fence | heard(t) in LS                            | t enters LS                                           |
//! | release fence | t in LS, else not                         | fenced(t) enters LS, else leaves it                   |
//! | short cut    | the older access is of t, or t is in LS already | no walk                                          |
//! | same step    | t did as much to these bytes in this step  | nothing                                               |
//! | subsume      | `entry::subsumes` allows it                | forget the older access                               |
//! | fresh        | memory is allocated                        | its accesses are forgotten                            |
//!
//! Paper -> code: LS(o, d) = `Origin::set` of the access; the list of synchronization events = `log`, whose rules are
//! those of [`deadheat_order::transfer`]; lazy evaluation = `catch_up`; IL's partially eager evaluation = `shorten`.
//! Deviations:
//! 1. The paper's volatiles are C++ atomics of any order here, with fences: three more kinds of members (v, heard, fenced).
//! 2. The paper keeps the last access of a variable; here several are kept while none subsumes another, so that reads do
//!    not race with reads, atomics do not race with each other, bytes are told apart, and no racing byte is lost.
//! 3. Accesses of a strand between two of its releases share one lockset: nobody can know one without the others. (The
//!    same holds in the paper, where each has its own copy.)
//! 4. Transactions are not covered: no program that we see has them.
//!
//! Not covered: accesses of code that is not in the trace; other interleavings.

use std::collections::HashMap;

use deadheat_order::{Holder, Transfer, Transfers};
use deadheat_trace::{Event, EventId, Range};

use crate::access::{Access, Effect, effect};
use crate::cells::{self, Clash, Pages, cells_of, mask_of};
use crate::detector::{Detector, Race};
use crate::entry::{self, Entry};

/// How often each rule fired.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    pub same_step: u64,
    pub short_cut: u64,
    pub walk: u64,
    pub enter: u64,
    pub leave: u64,
    pub race: u64,
    pub subsume: u64,
    pub fresh: u64,
}

impl Counters {
    /// Every rule by name.
    pub fn rules(&self) -> [(&'static str, u64); 8] {
        [
            ("same step", self.same_step),
            ("short cut", self.short_cut),
            ("walk", self.walk),
            ("enter", self.enter),
            ("leave", self.leave),
            ("race", self.race),
            ("subsume", self.subsume),
            ("fresh", self.fresh),
        ]
    }
}

/// What all accesses of one strand between two of its releases have in common.
#[derive(Clone, Debug)]
struct Origin {
    strand: Holder,
    // invariant: sorted
    set: Vec<Holder>,
    /// The set takes account of the log up to here.
    at: u64,
    /// How many accesses stand on it, and one more while it is its strand's present.
    users: u64,
}

/// A remembered access to a cell.
#[derive(Clone, Copy, Debug)]
struct Past<I> {
    origin: u32,
    /// Mask, operation and care.
    what: Entry,
    id: I,
}

type Cell<I> = Vec<Past<I>>;

/// Locksets, and the log of what they have not taken account of.
#[derive(Clone, Debug, Default)]
struct Knowledge {
    origins: Vec<Origin>,
    free: Vec<u32>,
    /// The present origin of each strand.
    present: HashMap<Holder, u32>,
    log: Vec<Transfer>,
    /// The place of the log's first line among all lines ever.
    first: u64,
    counters: Counters,
}

/// The detector's memory. `I` is whatever its user wants to have back of an older access.
#[derive(Clone, Debug)]
pub struct Goldilocks<I> {
    cells: Pages<Cell<I>>,
    knowledge: Knowledge,
}

impl<I> Default for Goldilocks<I> {
    fn default() -> Self {
        Goldilocks {
            cells: Pages::default(),
            knowledge: Knowledge::default(),
        }
    }
}

/// The log is taken account of everywhere when it is this long, or twice as long as there are locksets.
const LONG: usize = 1 << 12;

impl<I: Copy> Goldilocks<I> {
    pub fn new() -> Goldilocks<I> {
        Goldilocks::default()
    }

    pub fn counters(&self) -> Counters {
        self.knowledge.counters
    }

    /// Knowledge moves.
    pub fn transfer(&mut self, transfer: Transfer) {
        self.knowledge.transfer(transfer);
    }

    /// The strand touches memory now.
    pub fn access(&mut self, me: Holder, access: Access, id: I, found: &mut Vec<Clash<I>>) {
        let knowledge = &mut self.knowledge;
        let origin = knowledge.present(me);
        for (number, mask) in cells_of(access.range) {
            let what = Entry(entry::need(access.op, access.care, mask));
            let cell = self.cells.cell(number);
            let same_step =
                |past: &Past<I>| past.origin == origin && entry::subsumes(past.what, what, true);
            if cell.iter().any(same_step) {
                knowledge.counters.same_step += 1;
                continue;
            }
            cell.retain(|past| {
                let known = knowledge.knows(me, past.origin);
                let bytes = entry::racing_bytes(past.what, what, known);
                if bytes != 0 {
                    knowledge.counters.race += 1;
                    found.push(Clash {
                        old: past.id,
                        cell: number,
                        bytes,
                    });
                }
                let gone = entry::subsumes(what, past.what, known);
                if gone {
                    knowledge.counters.subsume += 1;
                    knowledge.release(past.origin);
                }
                !gone
            });
            knowledge.origins[origin as usize].users += 1;
            cell.push(Past { origin, what, id });
        }
    }

    /// Rule fresh.
    pub fn fresh(&mut self, range: Range) {
        let knowledge = &mut self.knowledge;
        knowledge.counters.fresh += 1;
        self.cells.existing(range, |number, cell| {
            let bytes = mask_of(number, range);
            cell.retain_mut(|past| {
                past.what = past.what.without(bytes);
                let gone = past.what.mask() == 0;
                if gone {
                    knowledge.release(past.origin);
                }
                !gone
            });
        });
    }

    /// Forgets what every strand that is left knows: nobody can race with it any more. `gone` are strands whose
    /// present nobody will add to.
    pub fn forget(&mut self, living: &[Holder], gone: &[Holder]) {
        let knowledge = &mut self.knowledge;
        for strand in gone {
            if let Some(origin) = knowledge.present.remove(strand) {
                knowledge.release(origin);
            }
        }
        let known: Vec<bool> = (0..knowledge.origins.len() as u32)
            .map(|origin| {
                knowledge.catch_up(origin);
                let set = &knowledge.origins[origin as usize].set;
                living
                    .iter()
                    .all(|holder| set.binary_search(holder).is_ok())
            })
            .collect();
        self.cells.sweep(|cell| {
            cell.retain(|past| {
                let gone = known[past.origin as usize];
                if gone {
                    knowledge.release(past.origin);
                }
                !gone
            });
            if cell.is_empty() {
                cell.shrink_to_fit();
            }
            !cell.is_empty()
        });
    }

    /// Pages of memory that are remembered.
    pub fn pages(&self) -> usize {
        self.cells.pages()
    }
}

impl Knowledge {
    fn transfer(&mut self, transfer: Transfer) {
        let from = match transfer {
            Transfer::Learn { from, .. } | Transfer::Replace { from, .. } => Some(from),
            Transfer::Clear(_) => None,
        };
        self.log.push(transfer);
        // What the strand does from here on is not what it told.
        if let Some(origin) = from.and_then(|from| self.present.remove(&from)) {
            self.release(origin);
        }
        if self.log.len() >= LONG.max(self.origins.len() * 2) {
            self.shorten();
        }
    }

    /// The origin of what the strand does now: LS = {t}.
    fn present(&mut self, me: Holder) -> u32 {
        if let Some(&origin) = self.present.get(&me) {
            return origin;
        }
        let new = Origin {
            strand: me,
            set: vec![me],
            at: self.first + self.log.len() as u64,
            users: 1,
        };
        let origin = match self.free.pop() {
            Some(origin) => {
                self.origins[origin as usize] = new;
                origin
            }
            None => {
                self.origins.push(new);
                (self.origins.len() - 1) as u32
            }
        };
        self.present.insert(me, origin);
        origin
    }

    fn release(&mut self, origin: u32) {
        let users = &mut self.origins[origin as usize].users;
        *users -= 1;
        if *users == 0 {
            self.origins[origin as usize].set = Vec::new();
            self.free.push(origin);
        }
    }

    /// Did what the origin stands for happen before the strand's present?
    fn knows(&mut self, me: Holder, origin: u32) -> bool {
        let past = &self.origins[origin as usize];
        if past.strand == me || past.set.binary_search(&me).is_ok() {
            self.counters.short_cut += 1;
            return true;
        }
        self.catch_up(origin);
        self.origins[origin as usize].set.binary_search(&me).is_ok()
    }

    /// Takes account of the log from where the origin has stopped.
    fn catch_up(&mut self, origin: u32) {
        let Origin { set, at, users, .. } = &mut self.origins[origin as usize];
        let news = (*at - self.first) as usize;
        *at = self.first + self.log.len() as u64;
        if *users == 0 || news == self.log.len() {
            return;
        }
        self.counters.walk += 1;
        for &transfer in &self.log[news..] {
            match transfer {
                Transfer::Learn { from, to } => {
                    if set.binary_search(&from).is_ok() {
                        self.counters.enter += u64::from(enter(set, to));
                    }
                }
                Transfer::Replace { from, to } => {
                    if set.binary_search(&from).is_ok() {
                        self.counters.enter += u64::from(enter(set, to));
                    } else {
                        self.counters.leave += u64::from(leave(set, to));
                    }
                }
                Transfer::Clear(gone) => self.counters.leave += u64::from(leave(set, gone)),
            }
        }
    }

    /// Takes account of the whole log everywhere, and empties it.
    fn shorten(&mut self) {
        for origin in 0..self.origins.len() as u32 {
            if self.origins[origin as usize].at < self.first {
                self.origins[origin as usize].at = self.first;
            }
            self.catch_up(origin);
        }
        self.first += self.log.len() as u64;
        self.log.clear();
    }
}

fn enter(set: &mut Vec<Holder>, new: Holder) -> bool {
    match set.binary_search(&new) {
        Ok(_) => false,
        Err(place) => {
            set.insert(place, new);
            true
        }
    }
}

fn leave(set: &mut Vec<Holder>, gone: Holder) -> bool {
    match set.binary_search(&gone) {
        Ok(place) => {
            set.remove(place);
            true
        }
        Err(_) => false,
    }
}

/// Goldilocks on the events of a trace.
#[derive(Clone, Debug, Default)]
pub struct OnTrace {
    transfers: Transfers,
    goldilocks: Goldilocks<EventId>,
    moved: Vec<Transfer>,
    clashes: Vec<Clash<EventId>>,
}

impl OnTrace {
    pub fn new() -> OnTrace {
        OnTrace::default()
    }

    pub fn counters(&self) -> Counters {
        self.goldilocks.counters()
    }

    fn transfer(&mut self) {
        for transfer in self.moved.drain(..) {
            self.goldilocks.transfer(transfer);
        }
    }
}

impl Detector for OnTrace {
    fn event(&mut self, id: EventId, event: &Event, found: &mut Vec<Race>) {
        let me = self.transfers.strand(event.strand);
        self.transfers.before(event, &mut self.moved);
        self.transfer();
        match effect(event.action) {
            Effect::Access(access) => {
                self.goldilocks.access(me, access, id, &mut self.clashes);
                cells::races(id, &mut self.clashes, found);
            }
            Effect::Fresh(range) => self.goldilocks.fresh(range),
            Effect::Nothing => {}
        }
        self.transfers.after(event, &mut self.moved);
        self.transfer();
    }
}

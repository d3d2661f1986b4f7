//! Goldilocks: happens-before races with sets of who knows an access, in place of clocks.
//!
//! Paper: Elmas, Qadeer and Tasiran, "Goldilocks: a race and transaction-aware Java runtime", PLDI 2007. KUDA runs it on
//! a GPU.
//! Guarantee: on the observed execution no false alarm, and every byte that has a race is reported at least once: the
//! set of racing bytes is that of the naive detector.
//! Cost: one bit test per older access; at a synchronization, one `or` of 64 steps each that are still remembered.
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
//! | same step    | t did as much to these bytes in this step  | nothing                                               |
//! | subsume      | `entry::subsumes` allows it                | forget the older access                               |
//! | forget       | all strands that are left are in LS        | forget the access                                     |
//! | bury         | LS has all of another's, which races with as much | forget the access                              |
//! | fresh        | memory is allocated                        | its accesses are forgotten                            |
//!
//! Paper -> code: LS(o, d) = the holders whose row in `Knowledge::rows` has the bit of the access; the rules of the
//! synchronization events = [`deadheat_order::transfer`].
//! Deviations:
//! 1. The paper's volatiles are C++ atomics of any order here, with fences: three more kinds of members (v, heard, fenced).
//! 2. The paper keeps the last access of a variable; here several are kept while none subsumes another, so that reads do
//!    not race with reads, atomics do not race with each other, bytes are told apart, and no racing byte is lost.
//! 3. Accesses of a strand between two of its releases share one lockset: nobody can know one without the others. (The
//!    same holds in the paper, where each has its own copy.)
//! 4. The paper evaluates locksets lazily, by walking a list of synchronization events at an access. Here they are kept the
//!    other way round, for each member the accesses in whose locksets it is, as bits: a synchronization moves 64 locksets
//!    with one instruction, and no list has to be kept or cut.
//! 5. Transactions are not covered: no program that we see has them.
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
    pub learn: u64,
    pub replace: u64,
    pub clear: u64,
    pub race: u64,
    pub subsume: u64,
    pub fresh: u64,
}

impl Counters {
    /// Every rule by name.
    pub fn rules(&self) -> [(&'static str, u64); 7] {
        [
            ("same step", self.same_step),
            ("learn", self.learn),
            ("replace", self.replace),
            ("clear", self.clear),
            ("race", self.race),
            ("subsume", self.subsume),
            ("fresh", self.fresh),
        ]
    }
}

/// All accesses of one strand between two of its releases: they have one lockset.
#[derive(Clone, Copy, Debug, Default)]
struct Origin {
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

/// One bit for each origin.
#[derive(Clone, Debug, Default)]
struct Row {
    words: Vec<u64>,
}

impl Row {
    fn has(&self, origin: u32) -> bool {
        let word = self.words.get(origin as usize / 64);
        word.is_some_and(|word| word >> (origin % 64) & 1 == 1)
    }

    fn set(&mut self, origin: u32) {
        let at = origin as usize / 64;
        if self.words.len() <= at {
            self.words.resize(at + 1, 0);
        }
        self.words[at] |= 1 << (origin % 64);
    }

    fn join(&mut self, other: &Row) {
        if self.words.len() < other.words.len() {
            self.words.resize(other.words.len(), 0);
        }
        for (mine, theirs) in self.words.iter_mut().zip(&other.words) {
            *mine |= theirs;
        }
    }

    fn remove(&mut self, others: &Row) {
        for (mine, theirs) in self.words.iter_mut().zip(&others.words) {
            *mine &= !theirs;
        }
        while self.words.last() == Some(&0) {
            self.words.pop();
        }
    }
}

/// Locksets, the other way round.
#[derive(Clone, Debug, Default)]
struct Knowledge {
    /// By holder: the origins in whose locksets it is.
    rows: Vec<Row>,
    origins: Vec<Origin>,
    /// Origins that can be used again.
    free: Vec<u32>,
    /// Origins on which nothing stands any more; rows may still have their bits.
    dead: Vec<u32>,
    /// The present origin of each strand.
    present: HashMap<Holder, u32>,
    counters: Counters,
}

/// The detector's memory. `I` is whatever its user wants to have back of an older access.
#[derive(Clone, Debug)]
pub struct Goldilocks<I> {
    cells: Pages<Cell<I>>,
    /// Accesses in all cells.
    pasts: usize,
    knowledge: Knowledge,
}

impl<I> Default for Goldilocks<I> {
    fn default() -> Self {
        Goldilocks {
            cells: Pages::default(),
            pasts: 0,
            knowledge: Knowledge::default(),
        }
    }
}

/// Dead origins are taken out of all rows when there are this many, or half as many as there are origins.
const MANY: usize = 1 << 10;
/// So many neighbours in a cell are looked at for one that is as good as an access.
const NEIGHBOURS: usize = 16;

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
            let before = cell.len();
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
            self.pasts = self.pasts + cell.len() - before;
        }
    }

    /// Rule fresh.
    pub fn fresh(&mut self, range: Range) {
        let (knowledge, pasts) = (&mut self.knowledge, &mut self.pasts);
        knowledge.counters.fresh += 1;
        self.cells.existing(range, |number, cell| {
            let bytes = mask_of(number, range);
            *pasts -= cell.len();
            cell.retain_mut(|past| {
                past.what = past.what.without(bytes);
                let gone = past.what.mask() == 0;
                if gone {
                    knowledge.release(past.origin);
                }
                !gone
            });
            *pasts += cell.len();
        });
    }

    /// Forgets what every strand that is left knows: nobody can race with it any more.
    pub fn forget(&mut self, living: &[Holder]) {
        let knowledge = &self.knowledge;
        let known: Vec<bool> = (0..knowledge.origins.len() as u32)
            .map(|origin| living.iter().all(|&one| knowledge.knows(one, origin)))
            .collect();
        self.sweep(|cell, knowledge| {
            cell.retain(|past| {
                let gone = known[past.origin as usize];
                if gone {
                    knowledge.release(past.origin);
                }
                !gone
            });
        });
    }

    /// Forgets what is known to all who know another access that races with as much: whoever races with the first races with the
    /// second. So of accesses of which nobody can ever know, one is enough.
    ///
    /// It holds for good once it holds: whoever learns of the second access learns it from somebody who knows both, and with it
    /// all that one knows.
    pub fn bury(&mut self) {
        let mut known_with = HashMap::new();
        self.sweep(|cell, knowledge| {
            // First those that a later one is as good as, then those that an earlier one is.
            for _ in 0..2 {
                drop_known_with(cell, knowledge, &mut known_with);
                cell.reverse();
            }
        });
    }

    /// Changes every cell that has a past; a page without any is given up.
    fn sweep(&mut self, mut change: impl FnMut(&mut Cell<I>, &mut Knowledge)) {
        let (knowledge, pasts) = (&mut self.knowledge, &mut self.pasts);
        *pasts = 0;
        self.cells.sweep(|cell| {
            if !cell.is_empty() {
                change(cell, knowledge);
                // A cell that was crowded once does not keep the room for ever.
                cell.shrink_to(2 * cell.len());
                *pasts += cell.len();
            }
            !cell.is_empty()
        });
    }

    /// How many accesses are remembered, and how many rows and origins there are to tell who knows of them.
    pub fn remembered(&self) -> (usize, usize, usize) {
        let Knowledge { rows, origins, .. } = &self.knowledge;
        (self.pasts, rows.len(), origins.len())
    }

    /// What is remembered of older accesses.
    pub fn ids(&self) -> impl Iterator<Item = I> {
        self.cells.iter().flatten().map(|past| past.id)
    }

    /// Pages of memory that are remembered.
    pub fn pages(&self) -> usize {
        self.cells.pages()
    }
}

/// Drops the accesses of a cell that are known to all who know a later one which races with as much. `known_with` remembers the
/// answers for two origins.
fn drop_known_with<I>(
    cell: &mut Cell<I>,
    knowledge: &mut Knowledge,
    known_with: &mut HashMap<(u32, u32), bool>,
) {
    let mut at = 0;
    while at < cell.len() {
        let Past { origin, what, .. } = cell[at];
        let later = cell[at + 1..].iter().take(NEIGHBOURS);
        let as_good = |other: &Past<I>| {
            entry::subsumes(other.what, what, true)
                && *known_with
                    .entry((origin, other.origin))
                    .or_insert_with(|| knowledge.known_with(origin, other.origin))
        };
        if later.into_iter().any(as_good) {
            knowledge.release(origin);
            cell.remove(at);
        } else {
            at += 1;
        }
    }
}

impl Knowledge {
    fn transfer(&mut self, transfer: Transfer) {
        match transfer {
            Transfer::Learn { from, to } => {
                self.counters.learn += 1;
                if let Some((teller, learner)) = self.two(from, to) {
                    learner.join(teller);
                }
                self.told(from);
            }
            Transfer::Replace { from, to } => {
                self.counters.replace += 1;
                if let Some((teller, learner)) = self.two(from, to) {
                    learner.words.clone_from(&teller.words);
                }
                self.told(from);
            }
            Transfer::Clear(gone) => {
                self.counters.clear += 1;
                if let Some(row) = self.rows.get_mut(gone.0 as usize) {
                    row.words = Vec::new();
                }
                // If it was a strand, it does nothing more.
                self.told(gone);
            }
        }
    }

    /// What the strand does from here on is not what it told.
    fn told(&mut self, from: Holder) {
        if let Some(origin) = self.present.remove(&from) {
            self.release(origin);
        }
    }

    /// The rows of two different holders.
    fn two(&mut self, from: Holder, to: Holder) -> Option<(&Row, &mut Row)> {
        let (from, to) = (from.0 as usize, to.0 as usize);
        if self.rows.len() <= from.max(to) {
            self.rows.resize_with(from.max(to) + 1, Row::default);
        }
        match self.rows.get_disjoint_mut([from, to]) {
            Ok([from, to]) => Some((from, to)),
            Err(_) => None,
        }
    }

    /// The origin of what the strand does now: LS = {t}.
    fn present(&mut self, me: Holder) -> u32 {
        if let Some(&origin) = self.present.get(&me) {
            return origin;
        }
        if self.free.is_empty() && self.dead.len() >= MANY.max(self.origins.len() / 2) {
            self.clean();
        }
        let origin = match self.free.pop() {
            Some(origin) => origin,
            None => {
                self.origins.push(Origin::default());
                (self.origins.len() - 1) as u32
            }
        };
        self.origins[origin as usize] = Origin { users: 1 };
        let at = me.0 as usize;
        if self.rows.len() <= at {
            self.rows.resize_with(at + 1, Row::default);
        }
        self.rows[at].set(origin);
        self.present.insert(me, origin);
        origin
    }

    fn release(&mut self, origin: u32) {
        let users = &mut self.origins[origin as usize].users;
        *users -= 1;
        if *users == 0 {
            self.dead.push(origin);
        }
    }

    /// Takes the dead origins out of all rows; then their numbers can mean something else.
    fn clean(&mut self) {
        let mut dead = Row::default();
        self.dead.iter().for_each(|&origin| dead.set(origin));
        self.rows.iter_mut().for_each(|row| row.remove(&dead));
        self.free.append(&mut self.dead);
    }

    /// Is the one in the lockset of everybody who is in the other's?
    fn known_with(&self, one: u32, other: u32) -> bool {
        self.rows.iter().all(|row| row.has(one) || !row.has(other))
    }

    /// Did what the origin stands for happen before the strand's present?
    fn knows(&self, me: Holder, origin: u32) -> bool {
        self.rows
            .get(me.0 as usize)
            .is_some_and(|row| row.has(origin))
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

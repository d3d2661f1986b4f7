//! The clocks of the merged execution: who knows what now, and the news that follows for the checkers.
//!
//! Strands have slots, and holders of knowledge (strands, locks, atomics, ...) have clocks: flat arrays by slot. What a
//! strand learns is told to the checkers component by component, so that a checker's clock costs what changed and not
//! what there is.
//!
//! | file       | what                                                        |
//! |------------|-------------------------------------------------------------|
//! | `forget`   | what every strand knows, so that it can be forgotten        |
//! | `bury`     | what nobody can know, and slots of strands that have ended  |

mod bury;
mod forget;

use deadheat_order::{Holder, PerStrand, Transfer, Transfers};
use deadheat_trace::{Action, Event, Strand};

use crate::batch::{News, Slot, Start};
use crate::detector::Needs;

/// What a holder knows.
#[derive(Clone, Debug, Default)]
struct Clock {
    times: Vec<u64>,
    /// If set, this is exactly what the strand in that slot knew at that time: whoever knows the moment knows it all.
    by: Option<(Slot, u64)>,
    /// The slot, if the holder is a strand.
    slot: Option<Slot>,
    /// Of a strand: its time when it last touched memory, and when it last told anybody.
    used: u64,
    told: u64,
    /// The time before that at which it told anybody.
    told_before: u64,
    /// Of a strand: it has learned something since it last told anybody.
    learned: bool,
}

impl Clock {
    /// The moment of an ended strand that is as good as its last: who knows it knows every access of the strand and all
    /// that the strand knew. What a strand that told somebody before its end did since is most often nothing.
    fn last(&self, now: u64) -> u64 {
        if self.learned {
            now
        } else {
            self.used.max(self.told)
        }
    }

    fn get(&self, slot: Slot) -> u64 {
        self.times.get(slot.0 as usize).copied().unwrap_or(0)
    }
}

/// What is known of a strand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Present {
    pub holder: Holder,
    pub slot: Slot,
    pub time: u64,
}

#[derive(Clone, Copy, Debug)]
struct Life {
    holder: Holder,
    /// None if there was none left.
    slot: Option<Slot>,
    /// The last moment that anybody must know, when it has ended.
    ended: Option<u64>,
    /// The first time that it has in its slot, and the moment of whoever had it before that its parent knew.
    first: u64,
    before: u64,
    /// Nobody can join it; somebody has.
    detached: bool,
    joined: bool,
    /// Sweeps that there had been when it ended.
    since: u64,
    /// What it told nobody of is not in its slot any more.
    buried: bool,
}

impl Life {
    fn can_be_buried(&self) -> bool {
        self.detached && !self.buried
    }

    /// It has ended, and nobody will ever ask for what it knew.
    fn is_over(&self) -> bool {
        self.ended.is_some() && (self.detached || self.joined) && self.slot.is_some()
    }
}

/// What is left of a strand in its slot.
#[derive(Clone, Copy, Debug)]
struct Free {
    /// Who knows this moment of it may have the slot.
    known: u64,
    /// Its last time: the next one begins after it.
    last: u64,
    strand: Strand,
}

/// Who knows what.
#[derive(Debug)]
pub struct Order {
    transfers: Transfers,
    clocks: Vec<Clock>,
    strands: PerStrand<Life>,
    /// Who waits for whose end, and does nothing before.
    awaiting: Vec<(Strand, Strand)>,
    /// For each slot, what is left of the strand that had it, if that has ended.
    free: Vec<Option<Free>>,
    needs: Needs,
    moved: Vec<Transfer>,
    /// Strands that found no slot.
    pub without_slot: u64,
    /// What the holders that this batch has named so far knew at its beginning; see [`Needs::starts`].
    starts: Vec<Start>,
    /// For each holder, the batch in which it was last named.
    named: Vec<u64>,
    batch: u64,
    /// So many strands make a sweep due: at first, and now.
    pub sweep_from: usize,
    sweep_at: usize,
    /// Strands that have ended and that nobody can join, since the last burial.
    unburied: usize,
    /// How many sweeps there were, and which one the checkers have not answered.
    sweeps: u64,
    sweeping: Option<u64>,
}

/// Slots there can be: what fits an entry, without the last one ([`Slot::BURIED`]).
const SLOTS: usize = Slot::BURIED.0 as usize;
/// As many strands must have ended before all memory is looked at for them.
const FEW: usize = 256;
/// Slots that are looked at for a new strand.
const TRIED: usize = 1024;

impl Order {
    pub fn new(needs: Needs) -> Order {
        Order {
            transfers: Transfers::new(),
            clocks: Vec::new(),
            strands: PerStrand::default(),
            awaiting: Vec::new(),
            free: Vec::new(),
            needs,
            moved: Vec::new(),
            without_slot: 0,
            starts: Vec::new(),
            named: Vec::new(),
            batch: 1,
            sweep_from: FEW,
            sweep_at: FEW,
            unburied: 0,
            sweeps: 0,
            sweeping: None,
        }
    }

    /// The strand now; it is new if nobody forked it. None if there was no slot for it.
    #[inline]
    pub fn present(&mut self, strand: Strand, news: &mut Vec<News>) -> Option<Present> {
        let life = match self.strands.get(strand) {
            Some(life) => *life,
            None => self.begin(strand, None, news),
        };
        let slot = life.slot?;
        self.start_of(life.holder);
        Some(Present {
            holder: life.holder,
            slot,
            time: self.clocks[life.holder.0 as usize].get(slot),
        })
    }

    /// The same for a strand that touches memory now.
    #[inline]
    pub fn touches(&mut self, strand: Strand, news: &mut Vec<News>) -> Option<Present> {
        self.goes_on(strand);
        let present = self.present(strand, news)?;
        self.clocks[present.holder.0 as usize].used = present.time;
        Some(present)
    }

    /// A strand that was not there before.
    fn begin(&mut self, strand: Strand, parent: Option<Strand>, news: &mut Vec<News>) -> Life {
        let holder = self.transfers.strand(strand);
        let slot = self.slot_for(parent);
        let life = Life {
            holder,
            slot: slot.map(|(slot, ..)| slot),
            ended: None,
            first: slot.map_or(0, |(_, first, _)| first),
            before: slot.map_or(0, |(.., before)| before),
            detached: false,
            joined: false,
            since: 0,
            buried: false,
        };
        self.strands.insert(strand, life);
        let clock = self.clock(holder);
        *clock = Clock::default();
        if let Some((slot, from, _)) = slot {
            clock.times.resize(slot.0 as usize + 1, 0);
            clock.times[slot.0 as usize] = from;
            clock.slot = Some(slot);
            clock.learned = true;
            news.push(News::Slot { slot, strand, from });
        } else {
            self.without_slot += 1;
        }
        life
    }

    /// A slot whose last strand ended before the parent's present, else a new one; its first time, and the moment of it that the
    /// parent had to know.
    fn slot_for(&mut self, parent: Option<Strand>) -> Option<(Slot, u64, u64)> {
        let knows = parent
            .and_then(|parent| self.strands.get(parent))
            .map(|life| &self.clocks[life.holder.0 as usize]);
        let left = self.free.iter().enumerate();
        let fit = left
            .filter_map(|(at, left)| Some((Slot(at as u16), (*left)?)))
            .take(TRIED)
            .find(|&(slot, left)| knows.is_some_and(|clock| clock.get(slot) >= left.known));
        if let Some((slot, left)) = fit {
            self.free[slot.0 as usize] = None;
            return Some((slot, left.last + 1, left.known));
        }
        if self.free.len() >= SLOTS {
            return None;
        }
        self.free.push(None);
        Some((Slot((self.free.len() - 1) as u16), 1, 0))
    }

    /// Keeps what the holder knew when the batch began. To be called before the batch changes it.
    #[inline(always)]
    fn start_of(&mut self, holder: Holder) {
        if self.needs.starts {
            self.keep_start(holder);
        }
    }

    #[cold]
    fn keep_start(&mut self, holder: Holder) {
        let at = holder.0 as usize;
        if self.named.len() <= at {
            self.named.resize(at + 1, 0);
        }
        if self.named[at] != self.batch {
            self.named[at] = self.batch;
            let times = self.clock(holder).times.clone();
            self.starts.push(Start { holder, times });
        }
    }

    /// A batch ends here: what its holders knew when it began.
    pub fn take_starts(&mut self) -> Vec<Start> {
        self.batch += 1;
        std::mem::take(&mut self.starts)
    }

    fn clock(&mut self, holder: Holder) -> &mut Clock {
        let at = holder.0 as usize;
        if self.clocks.len() <= at {
            self.clocks.resize_with(at + 1, Clock::default);
        }
        &mut self.clocks[at]
    }

    /// What the event learns, before its own accesses.
    pub fn before(&mut self, event: &Event, news: &mut Vec<News>) {
        self.goes_on(event.strand);
        if let Action::Join(child) = event.action
            && let Some(life) = self.strands.get_mut(child)
        {
            life.joined = true;
        }
        self.transfers.before(event, &mut self.moved);
        self.transfer(news);
    }

    /// What the event tells, its own accesses included.
    pub fn after(&mut self, event: &Event, news: &mut Vec<News>) {
        match event.action {
            Action::Fork(child) if !self.strands.contains(child) => {
                self.begin(child, Some(event.strand), news);
            }
            Action::Detach(child) => {
                if let Some(life) = self.strands.get_mut(child) {
                    self.unburied += usize::from(life.ended.is_some() && !life.detached);
                    life.detached = true;
                }
            }
            Action::Await(child) => self.awaiting.push((event.strand, child)),
            Action::End => {
                self.end(event.strand);
                if self.needs.locks {
                    news.push(News::Ended(event.strand));
                }
            }
            _ => {}
        }
        self.transfers.after(event, &mut self.moved);
        self.transfer(news);
    }

    /// The strand does nothing more: its clock stands still, and its slot is free for who knows its last moment.
    fn end(&mut self, strand: Strand) {
        let Some(life) = self.strands.get_mut(strand) else {
            return;
        };
        life.since = self.sweeps;
        self.unburied += usize::from(life.detached && life.ended.is_none());
        let clock = &mut self.clocks[life.holder.0 as usize];
        if let Some(slot) = clock.slot.take() {
            let last = clock.get(slot);
            let known = clock.last(last);
            clock.by = Some((slot, known));
            life.ended = Some(known);
            self.free[slot.0 as usize] = Some(Free {
                known,
                last,
                strand,
            });
        } else {
            life.ended = Some(0);
        }
    }

    fn transfer(&mut self, news: &mut Vec<News>) {
        let moved = std::mem::take(&mut self.moved);
        for &transfer in &moved {
            if self.needs.transfers {
                news.push(News::Transfer(transfer));
            }
            match transfer {
                Transfer::Learn { from, to } | Transfer::Replace { from, to } => {
                    self.start_of(from);
                    self.start_of(to);
                }
                Transfer::Clear(gone) => self.start_of(gone),
            }
            match transfer {
                Transfer::Learn { from, to } => self.learn(from, to, news),
                Transfer::Replace { from, to } => self.replace(from, to, news),
                Transfer::Clear(gone) => *self.clock(gone) = Clock::default(),
            }
        }
        self.moved = moved;
        self.moved.clear();
    }

    fn learn(&mut self, from: Holder, to: Holder, news: &mut Vec<News>) {
        self.clock(from.max(to));
        if from != to {
            let (teller, learner) = two(&mut self.clocks, from, to);
            match (learner.slot, teller.slot) {
                (Some(slot), _) => {
                    let known = teller.by.is_some_and(|(by, time)| learner.get(by) >= time);
                    if !known {
                        let mut learned = false;
                        join(learner, teller, |of, time| {
                            learned = true;
                            if self.needs.clocks {
                                news.push(News::Clock { slot, of, time });
                            }
                        });
                        learner.learned |= learned;
                    }
                }
                (None, Some(slot)) => {
                    // What an object was told by somebody whom the strand knows is no more than what the strand knows.
                    let covered = learner.times.is_empty()
                        || learner.by.is_some_and(|(by, time)| teller.get(by) >= time);
                    if covered {
                        learner.times.clone_from(&teller.times);
                        learner.by = Some((slot, teller.get(slot)));
                    } else {
                        join(learner, teller, |_, _| ());
                        learner.by = None;
                    }
                }
                (None, None) => {
                    if learner.times.is_empty() {
                        learner.times.clone_from(&teller.times);
                        learner.by = teller.by;
                    } else {
                        join(learner, teller, |_, _| ());
                        learner.by = None;
                    }
                }
            }
        }
        self.told(from, news);
    }

    fn replace(&mut self, from: Holder, to: Holder, news: &mut Vec<News>) {
        self.clock(from.max(to));
        if from != to {
            let (teller, learner) = two(&mut self.clocks, from, to);
            learner.times.clone_from(&teller.times);
            learner.by = match teller.slot {
                Some(slot) => Some((slot, teller.get(slot))),
                None => teller.by,
            };
        }
        self.told(from, news);
    }

    /// After telling, a strand's time goes on: what it does next was not told.
    fn told(&mut self, from: Holder, news: &mut Vec<News>) {
        let clock = &mut self.clocks[from.0 as usize];
        if let Some(slot) = clock.slot {
            let time = &mut clock.times[slot.0 as usize];
            clock.told_before = clock.told;
            (clock.told, clock.learned) = (*time, false);
            *time += 1;
            if self.needs.clocks {
                let (of, time) = (slot, *time);
                news.push(News::Clock { slot, of, time });
            }
        }
    }

    /// Nobody needs what the holder knows any more; its number will stand for something else.
    fn retire(&mut self, holder: Holder, news: &mut Vec<News>) {
        self.start_of(holder);
        self.clocks[holder.0 as usize] = Clock::default();
        self.transfers.retire(holder);
        if self.needs.transfers {
            news.push(News::Transfer(Transfer::Clear(holder)));
        }
    }

    /// How many clocks are kept: strands, locks, atomics and so on.
    pub fn holders(&self) -> usize {
        self.clocks
            .iter()
            .filter(|clock| !clock.times.is_empty())
            .count()
    }

    /// Numbers of holders that were ever given.
    pub fn numbers(&self) -> usize {
        self.clocks.len()
    }

    /// Slots that were ever used.
    pub fn slots(&self) -> usize {
        self.free.len()
    }
}

/// Two different holders' clocks.
fn two(clocks: &mut [Clock], from: Holder, to: Holder) -> (&Clock, &mut Clock) {
    let (from, to) = (from.0 as usize, to.0 as usize);
    if from < to {
        let (low, high) = clocks.split_at_mut(to);
        (&low[from], &mut high[0])
    } else {
        let (low, high) = clocks.split_at_mut(from);
        (&high[0], &mut low[to])
    }
}

/// The later of the two, slot by slot; tells what changed.
fn join(learner: &mut Clock, teller: &Clock, mut changed: impl FnMut(Slot, u64)) {
    if learner.times.len() < teller.times.len() {
        learner.times.resize(teller.times.len(), 0);
    }
    for (at, (mine, &theirs)) in learner.times.iter_mut().zip(&teller.times).enumerate() {
        if theirs > *mine {
            *mine = theirs;
            changed(Slot(at as u16), theirs);
        }
    }
}

//! What every strand knows that is left: nobody can race with that any more, so it can be forgotten.
//!
//! A strand that waits for the end of another one will know what that one knows before it does anything, so it does not count.
//! A program can break that: a join that is cancelled, or interrupted by a handler that was installed meanwhile. Then races can
//! be missed, which the program counts as a loss. So that there is no false alarm even then, what synchronization carries
//! is dropped only when those who wait know it, too.

use deadheat_order::Holder;
use deadheat_order::transfer::Name;
use deadheat_trace::Strand;

use crate::batch::{News, Slot};

use super::Order;

/// More clocks than these are not worked through for every batch.
const FEW_CLOCKS: usize = 48;
/// More components of clocks than these are not looked at for every batch.
const FEW_TIMES: usize = 1 << 10;

impl Order {
    /// The strand does something: it waits for nobody.
    #[inline(always)]
    pub(super) fn goes_on(&mut self, strand: Strand) {
        if !self.awaiting.is_empty() {
            self.awaiting.retain(|&(waits, _)| waits != strand);
        }
    }

    /// The strands that have not ended; but for those that wait for one of them, if so `asked`.
    fn living(&self, asked: Asked) -> Vec<Holder> {
        let lives = |strand: Strand| {
            let life = self.strands.get(strand)?;
            life.ended.is_none().then_some(life.holder)
        };
        let all = self.strands.values().filter(|life| life.ended.is_none());
        let mut living: Vec<Holder> = all.map(|life| life.holder).collect();
        if asked == Asked::Runs {
            let waits = self.awaiting.iter().filter_map(|&(waits, other)| {
                lives(other)?;
                lives(waits)
            });
            let waits: Vec<Holder> = waits.collect();
            // If all wait for each other, nobody knows what.
            if waits.len() < living.len() {
                living.retain(|holder| !waits.contains(holder));
            }
        }
        living
    }

    /// What all of these know, by slot.
    fn known_to(&self, all: &[Holder]) -> Vec<u64> {
        let mut times = vec![if all.is_empty() { 0 } else { u64::MAX }; self.free.len()];
        for holder in all {
            let clock = &self.clocks[holder.0 as usize];
            for (at, time) in times.iter_mut().enumerate() {
                *time = (*time).min(clock.get(Slot(at as u16)));
            }
        }
        times
    }

    /// Tells what everybody knows.
    pub fn tell_known(&self, news: &mut Vec<News>) {
        let living = self.living(Asked::Runs);
        news.push(News::Known {
            times: self.known_to(&living).into(),
            living: living.into(),
        });
    }

    /// The same, and the end of what nobody needs any more.
    pub fn forget(&mut self, news: &mut Vec<News>) {
        let times = self.known_to(&self.living(Asked::All));
        let runs = self.known_to(&self.living(Asked::Runs));
        let mut gone = Vec::new();
        self.strands.retain(|life| {
            // Nobody will ask for what a strand knew that was joined.
            let known = if life.joined { &runs } else { &times };
            let known = |slot: Slot, last: u64| {
                known.get(slot.0 as usize).is_some_and(|&time| time >= last)
            };
            let passed = match (life.slot, life.ended) {
                (Some(slot), Some(last)) => known(slot, last),
                (None, Some(_)) => true,
                (_, None) => false,
            };
            if passed {
                // Whoever will join it knows all that it did.
                gone.push(life.holder);
            }
            !passed
        });
        for holder in gone {
            self.retire(holder, news);
        }
        for at in 0..self.clocks.len() {
            let holder = Holder(at as u32);
            let clock = &self.clocks[at];
            let strange = matches!(self.transfers.name(holder), None | Some(Name::Strand(_)));
            let known = |(&mine, &all): (&u64, &u64)| mine <= all;
            if !strange && clock.times.iter().zip(&times).all(known) {
                self.retire(holder, news);
            }
        }
        self.tell_known(news);
    }

    /// Whether so many acts make it worth while to work out what everybody knows out of turn: only where few things are
    /// synchronized with, since those that are forgotten have to be made again.
    pub fn forgets_cheaply(&self, acts: u32) -> bool {
        self.clocks.len() <= FEW_CLOCKS && acts as usize >= self.clocks.len() / 4
    }

    /// Whether it takes so little to work out what everybody knows that every batch can be told.
    pub fn knows_cheaply(&self) -> bool {
        self.strands.values().count() * self.free.len() <= FEW_TIMES
    }
}

/// Which strands count.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Asked {
    All,
    /// Those that can do something before others end.
    Runs,
}

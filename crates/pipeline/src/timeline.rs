//! The latest synchronizations of each strand, to be drawn around a race.
//!
//! A race is told some time after it was passed on, and the later the more checkers there are. So that the same is drawn whenever
//! that is, what was the latest then is kept until every race from before it is told.

use std::collections::VecDeque;

use deadheat_order::PerStrand;
use deadheat_trace::wire::{Act, Object, StackNode, StackSet};
use deadheat_trace::{Action, Strand};

use crate::batch::News;
use crate::order::Order;

/// How many of each strand are drawn at most.
const KEPT: usize = 256;
/// A strand is remembered until so many have ended after it.
const ENDED: usize = 256;

/// A synchronization of a strand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// The place among the acts of all strands.
    pub number: u64,
    /// The strand's own time when it happened.
    pub time: u64,
    /// What accesses of the same time are before it, as far as that can be told.
    pub side: MomentSide,
    /// In the words of the raw stream.
    pub what: &'static str,
    /// The object's number, or the other strand's.
    pub id: u64,
    pub object: Object,
    pub stack: StackNode,
}

/// Does an act begin or end what the strand knows?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MomentSide {
    /// It learns: accesses of the same time most likely follow.
    Learns,
    /// It tells: accesses of the same time came before.
    Tells,
}

/// The latest synchronizations of all strands.
#[derive(Debug, Default)]
pub struct Timelines {
    strands: PerStrand<VecDeque<Moment>>,
    /// Which strands have ended, with which act.
    ended: VecDeque<(u64, Strand)>,
    /// So many of these, the first ones, have no more than is drawn.
    short: usize,
    /// All races of accesses before this act were told.
    told: u64,
}

impl Timelines {
    /// An act, before it tells anything.
    pub fn note(&mut self, strand: Strand, act: &Act, order: &mut Order, news: &mut Vec<News>) {
        let Some((what, id, side)) = words(act.action) else {
            return;
        };
        let time = order
            .present(strand, news)
            .map_or(0, |present| present.time);
        let moments = self.strands.get_or_insert_with(strand, VecDeque::new);
        while moments
            .get(KEPT)
            .is_some_and(|later| later.number < self.told)
        {
            moments.pop_front();
        }
        moments.push_back(Moment {
            number: act.number,
            time,
            side,
            what,
            id,
            object: act.object,
            stack: act.at,
        });
    }

    /// All races of accesses before this act were told.
    pub fn told(&mut self, until: u64) {
        self.told = until;
        while let Some(&(at, strand)) = self.ended.get(self.short)
            && at < until
        {
            // Whatever is told from here on is later than all that it did.
            if let Some(moments) = self.strands.get_mut(strand) {
                moments.drain(..moments.len().saturating_sub(KEPT));
                moments.shrink_to_fit();
            }
            self.short += 1;
        }
        while self.ended.get(ENDED).is_some_and(|&(at, _)| at < until)
            && let Some((_, old)) = self.ended.pop_front()
        {
            self.strands.remove(old);
            self.short = self.short.saturating_sub(1);
        }
    }

    /// The latest synchronizations of a strand before an act, oldest first.
    pub fn before(&self, strand: Strand, act: u64) -> Vec<Moment> {
        let Some(moments) = self.strands.get(strand) else {
            return Vec::new();
        };
        let mut ended = self.ended.iter().skip_while(|(_, one)| *one != strand);
        if ended.nth(ENDED).is_some_and(|&(at, _)| at < act) {
            return Vec::new();
        }
        let earlier = moments.iter().take_while(|moment| moment.number < act);
        let count = earlier.clone().count();
        earlier.skip(count.saturating_sub(KEPT)).copied().collect()
    }

    /// Adds the call stacks of all that is kept.
    pub fn stacks(&self, used: &mut StackSet) {
        for moment in self.strands.values().flatten() {
            used.add(moment.stack);
        }
    }

    /// The strand will do nothing more after this act. It is remembered for a while.
    pub fn ended(&mut self, strand: Strand, act: u64) {
        self.ended.push_back((act, strand));
    }
}

/// What the raw stream calls it; nothing for what is not drawn.
fn words(action: Action) -> Option<(&'static str, u64, MomentSide)> {
    use MomentSide::{Learns, Tells};
    Some(match action {
        Action::Fork(child) => ("create", u64::from(child.0), Tells),
        Action::Join(child) => ("join", u64::from(child.0), Learns),
        Action::Lock(mutex) | Action::Woken(_, mutex) => ("lock", mutex.0, Learns),
        Action::Unlock(mutex) => ("unlock", mutex.0, Tells),
        Action::ReadLock(lock) => ("rdlock", lock.0, Learns),
        Action::ReadUnlock(lock) => ("rdunlock", lock.0, Tells),
        Action::WriteLock(lock) => ("lock", lock.0, Learns),
        Action::WriteUnlock(lock) => ("unlock", lock.0, Tells),
        Action::Wait(condvar, _) => ("wait", condvar.0, Tells),
        Action::Notify(condvar) => ("signal", condvar.0, Tells),
        Action::Arrive(round) => ("barrier", round.barrier.0, Tells),
        Action::Release(channel) => ("release", channel.0, Tells),
        Action::Acquire(channel) => ("acquire", channel.0, Learns),
        Action::Begin
        | Action::End
        | Action::Detach(_)
        | Action::Await(_)
        | Action::Leave(_)
        | Action::ReleaseAt(_)
        | Action::AcquireAt(_)
        | Action::ReplaceAt(_)
        | Action::Load(..)
        | Action::Store(..)
        | Action::Rmw(..)
        | Action::Fence(_)
        | Action::Read(_)
        | Action::Write(_)
        | Action::AtomicRead(_)
        | Action::AtomicWrite(_)
        | Action::Alloc(_)
        | Action::Free(_) => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::detector::{DetectorKind, Needs};
    use deadheat_trace::Mutex;

    #[test]
    fn who_has_ended_keeps_what_is_drawn_and_no_more() {
        let mut order = Order::new(Needs::of(&[DetectorKind::FastTrack]));
        let (mut timelines, mut news) = (Timelines::default(), Vec::new());
        let last = 20 * KEPT as u64;
        for strand in [1, 2].map(Strand) {
            for number in 0..last {
                let act = Act::new(number, Action::Lock(Mutex(number)), StackNode(7));
                timelines.note(strand, &act, &mut order, &mut news);
            }
        }
        timelines.ended(Strand(1), last);
        let before = timelines.before(Strand(1), last + 1);
        assert_eq!(before.len(), KEPT);
        timelines.told(last);
        // Something that happened before its end may still be told.
        assert_eq!(timelines.before(Strand(1), KEPT as u64).len(), KEPT);
        timelines.told(last + 1);
        assert_eq!(timelines.before(Strand(1), last + 1), before);
        let room = |strand| timelines.strands.get(strand).map(VecDeque::capacity);
        assert!(room(Strand(1)).is_some_and(|room| room <= 2 * KEPT));
        assert!(room(Strand(2)).is_some_and(|room| room >= last as usize));
    }
}

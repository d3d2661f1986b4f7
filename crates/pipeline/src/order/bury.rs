//! Slots of strands that have ended: what nobody can ever know of leaves them, and who may have them next.

use crate::batch::{Buried, Named, News};

use super::Order;

impl Order {
    /// Has all memory looked at if there are many strands that have ended and are not known to all, so that their slots can be
    /// used again.
    ///
    /// Whatever a strand that nobody can join did after it last told anybody, nobody can ever know of. It is buried. Exact: such
    /// an access is concurrent with all that comes later, and so is one in a slot that is in no clock. And who knows of what it
    /// did since it last but one told anybody heard that, from whomever, from what it told last, and knows all that it knew
    /// then: of two accesses of which the later one is known only to those who know the earlier one, the later one is enough.
    pub fn sweep(&mut self, news: &mut Vec<News>) {
        if !self.needs.sweeps {
            return;
        }
        let over = || self.strands.values().filter(|life| life.is_over()).count();
        // When something is buried must not depend on how far the checkers are: it can change what they count.
        let bury = self.unburied >= self.sweep_from;
        let sweep = self.sweeping.is_none() && over() >= self.sweep_at;
        if !bury && !sweep {
            return;
        }
        let mut buried = Vec::new();
        let Order { clocks, free, .. } = self;
        self.strands.each_mut(|strand, life| {
            let Some(slot) = life
                .slot
                .filter(|_| bury && life.is_over() && life.can_be_buried())
            else {
                return;
            };
            let clock = &clocks[life.holder.0 as usize];
            let mut knew = Vec::new();
            if !clock.learned && clock.told >= life.first {
                knew.clone_from(&clock.times);
                knew[slot.0 as usize] = clock.told;
            }
            buried.push(Buried {
                strand,
                slot,
                after: clock.told.max(life.first - 1),
                last: clock.used,
                told: clock.told_before.max(life.first - 1),
                knew,
            });
            life.buried = true;
            // Who knows what is left in the slot may have it.
            let known = match clock.told {
                told if told >= life.first => told,
                _ => life.before,
            };
            life.ended = Some(known);
            if let Some(left) = &mut free[slot.0 as usize]
                && left.strand == strand
            {
                left.known = known;
            }
        });
        if bury {
            self.unburied = 0;
        }
        self.sweeps += 1;
        self.sweeping = Some(self.sweeps);
        news.push(News::Sweep {
            number: self.sweeps,
            buried: buried.into(),
        });
    }

    /// All checkers have looked at their memory: no access is remembered in slots that they do not name. Whoever ended before they
    /// were asked to look, and cannot be joined any more, leaves its slot to anybody.
    ///
    /// Exact: who has the slot next has later times, so who knows of the earlier ones only knows nothing of it; and who knows it
    /// seems to know all earlier times of the slot, of which there is no access. What does not hold any more is that who
    /// knows a moment of the slot knows all that was known then: nobody concludes that any more.
    pub fn named(&mut self, named: &Named, news: &mut Vec<News>) {
        if self.sweeping == Some(named.sweep) {
            self.sweeping = None;
        }
        let mut open = vec![false; self.free.len()];
        let mut gone = Vec::new();
        // Whoever will join a strand that ended in the slot must be able to tell whether it knows it.
        let mut wanted = vec![false; self.free.len()];
        for life in self.strands.values() {
            if let (Some(slot), Some(_), false) = (life.slot, life.ended, life.is_over()) {
                wanted[slot.0 as usize] = true;
            }
        }
        let Order { strands, free, .. } = self;
        let mut left = 0;
        strands.each_mut(|strand, life| {
            let Some(slot) = life.slot.filter(|_| life.is_over()) else {
                return;
            };
            left += 1;
            let free_for_all = !named.has(slot) && !wanted[slot.0 as usize];
            if life.since < named.sweep && free_for_all {
                open[slot.0 as usize] = true;
                gone.push((strand, life.holder));
                // Another strand may have it by now.
                if let Some(left) = &mut free[slot.0 as usize]
                    && left.strand == strand
                {
                    left.known = 0;
                }
            }
        });
        self.sweep_at = self.sweep_from.max(2 * (left - gone.len()));
        for (strand, holder) in gone {
            self.strands.remove(strand);
            self.retire(holder, news);
        }
        for clock in &mut self.clocks {
            if clock.by.is_some_and(|(slot, _)| open[slot.0 as usize]) {
                clock.by = None;
            }
        }
    }
}

//! Cuts accesses by address: which checker gets what, and in which run. What follows from words of a stream to accesses is the
//! same for any number of checkers.

use deadheat_trace::Strand;
use deadheat_trace::wire::{Decoder, LARGEST, Spot, StackNode, Touched, Turns, access_of};

use super::{Now, STRIPE_SHIFT, Sequencer};
use crate::batch::{Access, LocksId, Step};
use crate::joins::Parts;
use crate::runs::{RunOf, run_in};
use crate::shard::Across;

const STRIPE: u64 = 1 << STRIPE_SHIFT;
/// Turns of a loop that a checker gets in one piece.
const TOGETHER: u32 = 1 << 9;
/// More bytes than this of one access are not checked: no program touches so many at once, and a damaged recording must
/// not keep us busy for ever.
const MOST_BYTES: u64 = 1 << 32;

impl Sequencer {
    #[inline]
    pub(super) fn touched(&mut self, strand: Strand, touched: &Touched) {
        let (addr, size) = (touched.range.addr().0, touched.range.size());
        let spot = Spot::new(touched.pc, touched.touch as u8, size);
        self.access(strand, addr, size, spot, touched.caller);
    }

    /// The accesses at the beginning of some words of a stream, with the places and calls that are defined between them; how many
    /// words they are. What is not as most accesses are ends it.
    pub fn accesses(&mut self, strand: Strand, words: &[u64], decoder: &mut Decoder) -> usize {
        if self.across == Across::Nothing || self.apart {
            return self.one_by_one(strand, words, decoder);
        }
        if self.batches.len() > 1 {
            return self.for_several(strand, words, decoder);
        }
        if words.first().copied().and_then(access_of).is_none() {
            return 0;
        }
        match self.now {
            Some(now) if now.strand == strand => {}
            _ => self.enter(strand),
        }
        let Some(Now {
            present: Some(present),
            locks,
            ..
        }) = self.now
        else {
            return self.one_by_one(strand, words, decoder);
        };
        let (serial, of) = self.run_number(strand, locks);
        let batch = &mut self.batches[0];
        let before = batch.accesses.len() as u32;
        if !of.is_last_of(&batch.steps) {
            batch.steps.push(of.empty(present, before));
        }
        let Some(Step::Run(run)) = batch.steps.last_mut() else {
            return 0;
        };
        let mut parts = Parts {
            accesses: &mut batch.accesses,
            joined: &mut batch.joined,
        };
        let mut caller = decoder.caller();
        let mut order = self.order_in_batch;
        let mut rest = words;
        while let Some((&word, after)) = rest.split_first() {
            let Some((addr, index)) = access_of(word) else {
                let left = rest.len();
                decoder.definitions(&mut rest);
                if rest.len() == left {
                    break;
                }
                caller = decoder.caller();
                continue;
            };
            let Some(spot) = decoder.place(index) else {
                break;
            };
            if !(1..LARGEST).contains(&spot.size()) {
                break;
            }
            let access = Access::whole(addr, spot, caller, order);
            order += 1;
            rest = after;
            self.joins.add(&mut parts, serial, access);
        }
        run.count += batch.accesses.len() as u32 - before;
        if run.count == 0 {
            batch.steps.pop();
        }
        self.passed.accesses += u64::from(order - self.order_in_batch);
        self.order_in_batch = order;
        words.len() - rest.len()
    }

    /// The same for several checkers.
    fn for_several(&mut self, strand: Strand, words: &[u64], decoder: &Decoder) -> usize {
        let caller = decoder.caller();
        for (at, &word) in words.iter().enumerate() {
            let Some((addr, index)) = access_of(word) else {
                return at;
            };
            let Some(spot) = decoder.place(index) else {
                return at;
            };
            let size = spot.size();
            if !(1..LARGEST).contains(&size) {
                return at;
            }
            if addr >> STRIPE_SHIFT != (addr + (size - 1)) >> STRIPE_SHIFT {
                self.access(strand, addr, size, spot, caller);
                self.joins.cut(spot);
                continue;
            }
            match self.now {
                Some(now) if now.strand == strand => {}
                _ => self.enter(strand),
            }
            let order = self.order_in_batch;
            let access = Access::whole(addr, spot, caller, order);
            self.order_in_batch += 1;
            self.passed.accesses += 1;
            let Some(Now {
                present: Some(present),
                locks,
                ..
            }) = self.now
            else {
                self.passed.unplaced += 1;
                continue;
            };
            let (serial, of) = self.run_number(strand, locks);
            let checker = self.checker(addr >> STRIPE_SHIFT);
            let batch = &mut self.batches[checker];
            let run = run_in(&mut batch.steps, of, present);
            let first = batch.accesses.len() as u32;
            let mut parts = Parts {
                accesses: &mut batch.accesses,
                joined: &mut batch.joined,
            };
            let added = self.joins.add(&mut parts, serial, access);
            if let Some(Step::Run(run)) = batch.steps.get_mut(run) {
                if run.count == 0 {
                    run.first = first;
                }
                run.count += u32::from(added);
            }
        }
        words.len()
    }

    /// The number of the run that an access of the strand belongs to.
    #[inline(always)]
    fn run_number(&mut self, strand: Strand, locks: LocksId) -> (u32, RunOf) {
        let of = RunOf {
            strand,
            news: self.news.len() as u32,
            locks,
            acts: self.acts,
        };
        if self.run_of != Some(of) {
            self.run_of = Some(of);
            self.run = self.run.wrapping_add(1).max(1);
        }
        (self.run, of)
    }

    /// What comes next is another run, whosever it is.
    pub(super) fn end_run(&mut self) {
        self.run_of = None;
    }

    /// The same for frames that are checked alone, or for whoever wants accesses one by one.
    fn one_by_one(&mut self, strand: Strand, words: &[u64], decoder: &Decoder) -> usize {
        let caller = decoder.caller();
        for (at, &word) in words.iter().enumerate() {
            if let Some((addr, index)) = access_of(word)
                && let Some(spot) = decoder.place(index)
                && (1..LARGEST).contains(&spot.size())
            {
                self.access(strand, addr, spot.size(), spot, caller);
            } else {
                return at;
            }
        }
        words.len()
    }

    /// An access of any size, cut into what each checker has.
    #[inline]
    pub fn access(&mut self, strand: Strand, addr: u64, size: u64, spot: Spot, caller: StackNode) {
        match self.now {
            Some(now) if now.strand == strand => {}
            _ => self.enter(strand),
        }
        self.passed.accesses += 1;
        let order = self.order_in_batch;
        self.order_in_batch += 1;
        let last = addr + (size - 1).min(MOST_BYTES - 1);
        if size <= LARGEST
            && (self.batches.len() == 1 || addr >> STRIPE_SHIFT == last >> STRIPE_SHIFT)
        {
            let checker = self.checker(addr >> STRIPE_SHIFT);
            let access = Access {
                len: size as u32,
                ..Access::whole(addr, spot, caller, order)
            };
            self.put(checker, access);
        } else {
            self.stripes(addr, last, spot, caller, order);
        }
        if self.across == Across::Nothing {
            self.counted();
        }
    }

    /// What a loop touched in all its turns.
    pub fn turns(&mut self, strand: Strand, turns: &Turns, caller: StackNode) {
        let size = turns.spot.size();
        let at = |turn: u32| turns.addr + u64::from(turn) * u64::from(turns.stride);
        if self.across == Across::Nothing {
            // Each turn is an event of a frame.
            for turn in 0..turns.count {
                self.access(strand, at(turn), size, turns.spot, caller);
            }
            return;
        }
        match self.now {
            Some(now) if now.strand == strand => {}
            _ => self.enter(strand),
        }
        let order = self.order_in_batch;
        self.passed.accesses += u64::from(turns.count);
        self.order_in_batch += turns.count;
        let last = turns.addr + (turns.reach() - 1);
        if turns.is_dense() {
            return self.stripes(turns.addr, last, turns.spot, caller, order);
        }
        // Turns of one checker together, as far as they follow each other.
        let one = self.batches.len() == 1;
        let stripe = |addr: u64| if one { 0 } else { addr >> STRIPE_SHIFT };
        let mut turn = 0;
        while turn < turns.count {
            let (first, addr) = (turn, at(turn));
            let here = stripe(addr);
            let mut end = addr + (size - 1);
            if stripe(end) != here {
                self.stripes(addr, end, turns.spot, caller, order);
                turn += 1;
                continue;
            }
            turn += 1;
            while turn < turns.count
                && turn - first < TOGETHER
                && stripe(at(turn) + (size - 1)) == here
            {
                end = at(turn) + (size - 1);
                turn += 1;
            }
            let access = Access {
                addr,
                spot: turns.spot,
                len: (end - addr + 1) as u32,
                caller,
                order,
                stride: if turn - first > 1 { turns.stride } else { 0 },
            };
            self.put(self.checker(addr >> STRIPE_SHIFT), access);
        }
    }

    fn stripes(&mut self, addr: u64, last: u64, spot: Spot, caller: StackNode, order: u32) {
        self.passed.cut += u64::from(last - addr >= MOST_BYTES - 1);
        for stripe in addr >> STRIPE_SHIFT..=last >> STRIPE_SHIFT {
            let base = stripe << STRIPE_SHIFT;
            let (from, to) = (addr.max(base), last.min(base + (STRIPE - 1)));
            let access = Access {
                addr: from,
                spot,
                len: (to - from + 1) as u32,
                caller,
                order,
                stride: 0,
            };
            self.put(self.checker(stripe), access);
        }
    }

    #[inline(always)]
    pub(super) fn checker(&self, stripe: u64) -> usize {
        match (self.batches.len(), self.across) {
            (1, _) => 0,
            (count, Across::Frames) => {
                (stripe.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as usize % count
            }
            (count, Across::Nothing) => self.passed.frames as usize % count,
        }
    }

    #[cold]
    fn enter(&mut self, strand: Strand) {
        self.now = Some(Now {
            strand,
            present: self.order.touches(strand, &mut self.news),
            locks: self.locks.of(strand),
        });
    }

    #[inline(always)]
    fn put(&mut self, checker: usize, access: Access) {
        let Some(Now {
            strand,
            present,
            locks,
        }) = self.now
        else {
            return;
        };
        let Some(present) = present else {
            self.passed.unplaced += 1;
            return;
        };
        let (_, of) = self.run_number(strand, locks);
        let batch = &mut self.batches[checker];
        let run = run_in(&mut batch.steps, of, present);
        if let Some(Step::Run(run)) = batch.steps.get_mut(run) {
            if run.count == 0 {
                run.first = batch.accesses.len() as u32;
            }
            run.count += 1;
        }
        batch.accesses.push(access);
    }
}

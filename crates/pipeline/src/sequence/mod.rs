//! Turns the merged events of all strands into batches for the checkers: stamps them with the order, and cuts them by
//! address (or, if frames are checked alone, by frame), which is in `cut`.

mod cut;

use std::collections::VecDeque;
use std::sync::Arc;

use deadheat_detect::eraser::{Locking, locking};
use deadheat_trace::wire::{Act, Item, MemoryKind, Spot, StackNode, StackSet};
use deadheat_trace::{Action, Event, Range, Strand};

use crate::batch::{Batch, Block, LocksId, Named, News, Step, kind};
use crate::detector::Needs;
use crate::joins::Joins;
use crate::locks::Locks;
use crate::order::{Order, Present};
use crate::runs::RunOf;
use crate::shard::Across;
use crate::timeline::Timelines;

/// Memory goes to the checkers in stripes of this many bytes.
pub(crate) const STRIPE_SHIFT: u32 = 12;
/// Accesses of a batch, more or less: 128 KiB of them, which stay in the second cache between whoever cuts them and whoever checks.
pub const BATCH: u32 = 1 << 12;
/// Events of a frame, as in the paper.
pub const FRAME: u32 = 1024;
/// After so many acts, what everybody knows is worked out.
pub const FORGET: u32 = 1 << 13;

/// The run being filled.
#[derive(Clone, Copy, Debug)]
struct Now {
    strand: Strand,
    present: Option<Present>,
    locks: LocksId,
}

/// Counts of what went through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Passed {
    /// Words taken from the streams.
    pub words: u64,
    pub accesses: u64,
    pub acts: u64,
    pub frames: u64,
    /// Accesses that the program dropped, as its streams say.
    pub dropped: u64,
    /// Accesses of strands that found no slot.
    pub unplaced: u64,
    /// Accesses that were so large that only their beginning was checked.
    pub cut: u64,
}

/// Makes batches.
#[derive(Debug)]
pub struct Sequencer {
    order: Order,
    pub locks: Locks,
    pub timelines: Timelines,
    needs: Needs,
    across: Across,
    batches: Vec<Batch>,
    news: Vec<News>,
    now: Option<Now>,
    number: u64,
    joins: Joins,
    /// Whose run is filled, and its number: the same for any number of checkers.
    run_of: Option<RunOf>,
    run: u32,
    /// The number after that of the last act.
    acts: u64,
    /// The same when each batch began whose races were not all told, and the first of those.
    began: VecDeque<u64>,
    untold: u64,
    /// Places given in this batch.
    order_in_batch: u32,
    in_frame: u32,
    since_forget: u32,
    /// Acts since it was told what everybody knows.
    since_known: u32,
    /// Whether every access comes by itself, for engines that want it so.
    pub apart: bool,
    /// Accesses of a batch, more or less; [`BATCH`], unless an engine wants larger ones.
    pub batch_after: u32,
    /// So much news ends a batch, too.
    pub news_after: u32,
    /// After so many acts, what everybody knows is worked out; [`FORGET`], unless a test wants it sooner.
    pub forget_after: u32,
    pub passed: Passed,
    /// Who forked whom and where, since it was last taken.
    pub forks: Vec<(Strand, Strand, StackNode)>,
    /// Who has ended since it was last taken.
    pub ended: Vec<Strand>,
}

impl Sequencer {
    /// For that many checkers.
    pub fn new(checkers: usize, mut needs: Needs, across: Across) -> Sequencer {
        needs.sweeps &= across == Across::Frames;
        let mut sequencer = Sequencer {
            order: Order::new(needs),
            locks: Locks::default(),
            timelines: Timelines::default(),
            needs,
            across,
            batches: vec![Batch::default(); checkers.max(1)],
            news: Vec::new(),
            now: None,
            number: 0,
            joins: Joins::new(needs),
            run_of: None,
            run: 0,
            acts: 0,
            began: VecDeque::from([0]),
            untold: 0,
            order_in_batch: 0,
            in_frame: 0,
            since_forget: 0,
            since_known: 0,
            apart: false,
            batch_after: BATCH,
            news_after: BATCH,
            forget_after: FORGET,
            passed: Passed::default(),
            forks: Vec::new(),
            ended: Vec::new(),
        };
        // Strand 0 is there from the beginning.
        sequencer.order.present(Strand(0), &mut sequencer.news);
        sequencer
    }

    /// The next item of a strand. An act must be the next one of all strands.
    #[inline]
    pub fn item(&mut self, strand: Strand, item: &Item) {
        match item {
            Item::Touch(touched) => self.touched(strand, touched),
            Item::Act(act) => self.act(strand, act),
            Item::Memory(kind, range) => self.block(
                Block {
                    range: *range,
                    kind: *kind,
                    strand,
                    stack: StackNode(0),
                },
                Step::Block,
            ),
            Item::Lost(count) => self.passed.dropped += count,
        }
    }

    /// Whether the batches should be taken now.
    pub fn full(&self) -> bool {
        self.order_in_batch >= self.batch_after || self.news.len() >= self.news_after as usize
    }

    /// The batches of all checkers, each with the same news. `empty` are batches whose memory can be used again.
    pub fn take(&mut self, empty: &mut Vec<Batch>) -> Vec<Batch> {
        self.now = None;
        self.end_run();
        // Where little is kept, what everybody knows is news for each batch, and lets checkers forget sooner.
        if !self.apart && self.since_known > 0 {
            if self.order.forgets_cheaply(self.since_known) {
                self.known();
            } else if self.order.knows_cheaply() {
                self.order.tell_known(&mut self.news);
            }
        }
        let spare = empty.iter_mut().find_map(|batch| {
            let mut news = Arc::try_unwrap(std::mem::take(&mut batch.news)).ok()?;
            news.clear();
            (news.capacity() > 0).then_some(news)
        });
        let news = std::mem::replace(&mut self.news, spare.unwrap_or_default());
        let news = Arc::new(news);
        let starts = Arc::new(self.order.take_starts());
        let number = self.number;
        self.number += 1;
        self.began.push_back(self.acts);
        self.order_in_batch = 0;
        let fresh = |empty: &mut Vec<Batch>| {
            let mut batch = empty.pop().unwrap_or_default();
            batch.steps.clear();
            batch.accesses.clear();
            batch.joined.clear();
            batch
        };
        self.batches
            .iter_mut()
            .map(|batch| {
                let mut full = std::mem::replace(batch, fresh(empty));
                (full.number, full.news) = (number, news.clone());
                full.starts = starts.clone();
                full
            })
            .collect()
    }

    /// All races of the batches before this one were told.
    pub fn told(&mut self, batch: u64) {
        while self.untold < batch && self.began.len() > 1 {
            self.began.pop_front();
            self.untold += 1;
        }
        self.timelines.told(self.began[0]);
    }

    /// What all checkers have found at a sweep.
    pub fn named(&mut self, named: &Named) {
        self.order.named(named, &mut self.news);
    }

    /// Works out what everybody knows as soon as it can, and has memory looked at for every strand: for tests.
    pub fn forget_eagerly(&mut self) {
        self.forget_after = 1;
        self.order.sweep_from = 1;
    }

    /// Adds the call stacks of all that is kept for reports. To be called when the batches were just taken: theirs belong to
    /// whoever checks them.
    pub fn stacks(&self, used: &mut StackSet) {
        debug_assert!(self.batches.iter().all(|batch| batch.steps.is_empty()));
        self.locks.stacks(used);
        self.timelines.stacks(used);
        for &(.., at) in &self.forks {
            used.add(at);
        }
    }

    /// What is kept to say who knows what.
    pub fn holders(&self) -> usize {
        self.order.holders()
    }

    /// Numbers that holders of knowledge ever had, and slots of strands: what they cost every checker.
    pub fn widths(&self) -> (usize, usize) {
        (self.order.numbers(), self.order.slots())
    }

    /// Strands that found no slot.
    pub fn without_slot(&self) -> u64 {
        self.order.without_slot
    }

    fn act(&mut self, strand: Strand, act: &Act) {
        self.passed.acts += 1;
        self.acts = act.number.saturating_add(1);
        let event = Event::new(strand, act.action);
        self.order.before(&event, &mut self.news);
        self.timelines
            .note(strand, act, &mut self.order, &mut self.news);
        if let Some(change) = locking(act.action) {
            self.locks.locking(strand, change, act.object, act.at);
            if self.needs.locks {
                self.news.push(match change {
                    Locking::Took(lock, mode) => News::Took(strand, lock, mode),
                    Locking::Gave(lock, mode) => News::Gave(strand, lock, mode),
                });
            }
        }
        self.now = None;
        self.effect(strand, act);
        self.order.after(&event, &mut self.news);
        self.now = None;
        if let Action::Fork(child) = act.action {
            self.forks.push((child, strand, act.at));
        }
        if act.action == Action::End {
            self.locks.ended(strand);
            self.timelines.ended(strand, act.number);
            self.ended.push(strand);
        }
        self.since_forget += 1;
        self.since_known += 1;
        if self.since_forget >= self.forget_after {
            self.since_forget = 0;
            self.order.sweep(&mut self.news);
            self.known();
        }
        if self.across == Across::Nothing {
            self.counted();
        }
    }

    /// Tells what everybody knows.
    fn known(&mut self) {
        self.since_known = 0;
        self.order.forget(&mut self.news);
    }

    /// What an act does to memory. It has the whole call stack, so its spot has no program counter.
    fn effect(&mut self, strand: Strand, act: &Act) {
        let (range, kind) = match act.action {
            Action::Load(place, _) => (place.range(), kind::ATOMIC_READ),
            Action::Store(place, _) => (place.range(), kind::ATOMIC_WRITE),
            Action::Rmw(place, _) => (place.range(), kind::ATOMIC_READ_WRITE),
            Action::Alloc(range) => {
                let block = Block {
                    range,
                    kind: act.memory,
                    strand,
                    stack: act.at,
                };
                self.block(block, |block| Step::Fresh(block.range));
                if act.memory != MemoryKind::Other {
                    self.block(block, Step::Block);
                }
                return;
            }
            Action::Free(range) => (range, kind::FREE),
            _ => return,
        };
        let spot = Spot::new(0, kind, range.size());
        self.access(strand, range.addr().0, range.size(), spot, act.at);
        if kind == kind::FREE {
            let block = Block {
                range,
                kind: MemoryKind::Other,
                strand,
                stack: act.at,
            };
            self.block(block, Step::Freed);
        }
    }

    /// A step for every checker that has some of the memory. What it has none of it does not care for.
    fn block(&mut self, block: Block, step: impl Fn(Block) -> Step) {
        self.end_run();
        let (first, last) = stripes_of(block.range);
        let count = self.batches.len();
        if count > 1 && self.across == Across::Frames && last - first < count as u64 {
            let mut told = vec![false; count];
            for stripe in first..=last {
                told[self.checker(stripe)] = true;
            }
            for (batch, _) in self.batches.iter_mut().zip(told).filter(|(_, told)| *told) {
                batch.steps.push(step(block));
            }
        } else {
            for batch in &mut self.batches {
                batch.steps.push(step(block));
            }
        }
    }

    fn counted(&mut self) {
        self.in_frame += 1;
        if self.in_frame >= FRAME {
            self.in_frame = 0;
            self.passed.frames += 1;
            self.news.push(News::Frame);
        }
    }
}

fn stripes_of(range: Range) -> (u64, u64) {
    let (start, end) = range.bounds();
    (start >> STRIPE_SHIFT, (end - 1) >> STRIPE_SHIFT)
}

//! A checker: some of the memory, all detectors that were asked for, and all that they must remember.
//!
//! It has no thread and no lock of its own: [`Shard::check`] takes a batch and returns what it found.

use deadheat_detect::access::Access as Touch;
use deadheat_detect::cells::Clash;
use deadheat_detect::djit::Djit;
use deadheat_detect::entry::{self, Care, Entry, Op};
use deadheat_detect::eraser::{Eraser, Watched};
use deadheat_detect::goldilocks::Goldilocks;
use deadheat_order::{Epoch, Time};
use deadheat_trace::wire::{MemoryKind, StackSet};
use deadheat_trace::{Addr, Range, Strand};

use crate::batch::{Access, Batch, Buried, Named, News, Run, Slot, Step, bits, by_slot, kind};
use crate::blocks::Blocks;
use crate::detector::{Clocks, DetectorKind};
use crate::fast::Fast;
use crate::found::{Candidate, Found, Info, Side};
use crate::frames::Frames;

/// One checker's part of the memory.
#[derive(Debug)]
pub struct Shard {
    clocks: Clocks,
    fast: Option<Fast>,
    frames: Option<Frames>,
    djit: Option<Djit<Side>>,
    goldilocks: Option<Goldilocks<Side>>,
    eraser: Option<Eraser<Side>>,
    blocks: Blocks,
    found: Found,
    clashes: Vec<Clash<Side>>,
    /// What was there after the last sweep of the slower detectors.
    swept: Slow,
    few: Slow,
    /// What was found at sweeps, until it is taken.
    pub named: Vec<Named>,
}

/// What the slower detectors remember.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Slow {
    pages: usize,
    accesses: usize,
}

/// Less of the slower detectors is not worth a sweep.
const FEW: Slow = Slow {
    pages: 1 << 9,
    accesses: 1 << 16,
};

/// Whether what crosses frames is checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Across {
    /// Yes: nothing is missed.
    #[default]
    Frames,
    /// No, as in KUDA: each frame is checked alone.
    Nothing,
}

impl Shard {
    pub fn new(detectors: &[DetectorKind], across: Across, skip_atomics: bool) -> Shard {
        let has = |kind| detectors.contains(&kind);
        let alone = across == Across::Nothing;
        let fast = has(DetectorKind::FastTrack);
        Shard {
            clocks: Clocks::default(),
            fast: (fast && !alone).then(Fast::default),
            frames: (fast && alone).then(Frames::default),
            djit: has(DetectorKind::Djit).then(Djit::default),
            goldilocks: has(DetectorKind::Goldilocks).then(Goldilocks::default),
            eraser: has(DetectorKind::Eraser).then(Eraser::default),
            blocks: Blocks::default(),
            found: Found::new(
                detectors.iter().filter(|kind| kind.exact()).count() > 1,
                skip_atomics,
            ),
            clashes: Vec::new(),
            swept: Slow::default(),
            few: FEW,
            named: Vec::new(),
        }
    }

    /// One that confirms what another engine suspects in the name of a detector: races exactly, by clocks, whatever the
    /// engine goes by; or Eraser's alarms.
    pub fn confirming(
        name: DetectorKind,
        across: Across,
        compare: bool,
        skip_atomics: bool,
    ) -> Shard {
        let by = match name {
            DetectorKind::Eraser => DetectorKind::Eraser,
            _ => DetectorKind::FastTrack,
        };
        let mut shard = Shard::new(&[by], across, skip_atomics);
        shard = shard.comparing(compare);
        if let Some(fast) = &mut shard.fast {
            fast.name = name;
        }
        if let Some(frames) = &mut shard.frames {
            frames.name = name;
        }
        shard
    }

    /// Whether racing bytes are kept for each detector, to be compared.
    pub fn comparing(mut self, compare: bool) -> Shard {
        self.found.bytes = compare.then(Default::default);
        self
    }

    /// Goes on from an access that another engine has remembered: the number of its cell, and what it was. The cell
    /// must be one of which nothing but such accesses is remembered here.
    pub fn adopt(&mut self, cell: u64, old: Entry, behind: Info) {
        if let Some(fast) = &mut self.fast {
            fast.adopt(cell, old, behind);
        }
        if let Some(frames) = &mut self.frames {
            frames.adopt(cell, old, behind);
        }
    }

    /// The same for Eraser.
    pub fn adopt_watched(&mut self, cell: u64, watched: Watched<'_, Side>) {
        if let Some(eraser) = &mut self.eraser {
            eraser.adopt(cell, watched);
        }
    }

    /// Checks nothing.
    pub fn none() -> Shard {
        Shard::new(&[], Across::Frames, false)
    }

    /// Forgets as soon as it can, however little there is: for tests.
    pub fn forget_eagerly(&mut self) {
        self.few = Slow::default();
        if let Some(fast) = &mut self.fast {
            fast.sweep_from(0);
        }
        if let Some(eraser) = &mut self.eraser {
            eraser.collect_from(0);
        }
    }

    /// Checks a batch; the candidates that are new, in the order of the batch.
    pub fn check(&mut self, batch: &Batch) -> Vec<Candidate> {
        let mut told = 0;
        for step in &batch.steps {
            match step {
                Step::Run(run) => {
                    self.news(&batch.news[told..run.news as usize]);
                    told = run.news as usize;
                    self.run(run, batch);
                }
                Step::Fresh(range) => self.fresh(*range),
                Step::Freed(block) => {
                    self.blocks.freed(*block);
                    if let Some(eraser) = &mut self.eraser {
                        eraser.fresh(block.range);
                    }
                }
                Step::Block(block) if block.kind == MemoryKind::Exempt => {
                    self.found.exempt(block.range);
                }
                Step::Block(block) => self.blocks.born(*block),
            }
        }
        self.news(&batch.news[told..]);
        let mut found = std::mem::take(&mut self.found.candidates);
        // Several detectors go through a run one after the other.
        found.sort_by_key(|candidate| (candidate.order, candidate.detector));
        found
    }

    /// Adds the call stacks of all that is remembered.
    pub fn stacks(&mut self, used: &mut StackSet) {
        let Shard {
            clocks: _,
            fast,
            frames,
            djit,
            goldilocks,
            eraser,
            blocks,
            found,
            clashes: _,
            swept: _,
            few: _,
            named: _,
        } = self;
        if let Some(fast) = fast {
            fast.stacks(used);
        }
        if let Some(frames) = frames {
            frames.stacks(used);
        }
        let slow = djit.iter().flat_map(Djit::ids);
        let slow = slow.chain(goldilocks.iter().flat_map(Goldilocks::ids));
        for side in slow.chain(eraser.iter().flat_map(Eraser::ids)) {
            used.add(side.info.caller);
        }
        blocks.stacks(used);
        found.stacks(used);
    }

    /// What was found in all, when everything was checked.
    pub fn finish(mut self) -> Found {
        self.take_found()
    }

    /// The same; nothing is found afterwards.
    pub(crate) fn take_found(&mut self) -> Found {
        std::mem::replace(&mut self.found, Found::new(false, false))
    }

    /// Pages of memory that are remembered, by all detectors together.
    pub fn pages(&self) -> usize {
        self.fast.as_ref().map_or(0, Fast::pages) + self.slow_pages()
    }

    fn slow_pages(&self) -> usize {
        self.slow().pages
    }

    fn slow(&self) -> Slow {
        let (djit, goldilocks) = (self.djit.as_ref(), self.goldilocks.as_ref());
        Slow {
            pages: djit.map_or(0, Djit::pages) + goldilocks.map_or(0, Goldilocks::pages),
            accesses: djit.map_or(0, Djit::remembered)
                + goldilocks.map_or(0, |one| one.remembered().0),
        }
    }

    /// Whether the slower detectors have so much more than after the last sweep that the next one is worth while.
    fn sweep_is_due(&self) -> bool {
        let (now, swept, few) = (self.slow(), self.swept, self.few);
        now.pages > (2 * swept.pages).max(few.pages)
            || now.accesses > (2 * swept.accesses).max(few.accesses)
    }

    /// What the slower detectors remember: accesses, what says who knows of them, sets of locks, and who holds them.
    pub fn remembered(&self) -> usize {
        let goldilocks = self.goldilocks.as_ref().map(Goldilocks::remembered);
        let (pasts, rows, origins) = goldilocks.unwrap_or_default();
        let eraser = self.eraser.as_ref();
        let sets = eraser.map_or(0, |eraser| eraser.sets() + eraser.strands());
        self.djit.as_ref().map_or(0, Djit::remembered) + pasts + rows + origins + sets
    }

    fn news(&mut self, news: &[News]) {
        for one in news {
            self.clocks.news(one);
            match one {
                News::Slot { .. } | News::Clock { .. } => {}
                News::Transfer(transfer) => {
                    if let Some(goldilocks) = &mut self.goldilocks {
                        goldilocks.transfer(*transfer);
                    }
                }
                News::Sweep { number, buried } => {
                    let mut named = Named {
                        sweep: *number,
                        ..Named::default()
                    };
                    if let Some(fast) = &mut self.fast {
                        fast.sweep(buried, &mut named);
                    }
                    if let Some(djit) = &mut self.djit {
                        bury(djit, buried, &mut named);
                    }
                    // With those that are buried alone, for that must not depend on how far the checkers are.
                    if let Some(goldilocks) = &mut self.goldilocks
                        && !buried.is_empty()
                    {
                        goldilocks.bury();
                    }
                    self.clocks.forget_unnamed(&named);
                    self.named.push(named);
                }
                News::Took(strand, lock, mode) => {
                    if let Some(eraser) = &mut self.eraser {
                        eraser.took(*strand, *lock, *mode);
                    }
                }
                News::Gave(strand, lock, mode) => {
                    if let Some(eraser) = &mut self.eraser {
                        eraser.gave(*strand, *lock, *mode);
                    }
                }
                News::Ended(strand) => {
                    if let Some(eraser) = &mut self.eraser {
                        eraser.ended(*strand);
                    }
                }
                News::Known { times, living } => {
                    if let Some(fast) = &mut self.fast {
                        fast.forget(times);
                    }
                    if self.sweep_is_due() {
                        if let Some(djit) = &mut self.djit {
                            djit.forget(|past| {
                                times
                                    .get(past.strand.0 as usize)
                                    .is_some_and(|&time| past.time.0 <= time)
                            });
                        }
                        if let Some(goldilocks) = &mut self.goldilocks {
                            goldilocks.forget(living);
                        }
                        self.swept = self.slow();
                    }
                }
                News::Frame => {
                    if let Some(frames) = &mut self.frames {
                        frames.next();
                    }
                    self.djit.as_mut().map(std::mem::take);
                    self.goldilocks.as_mut().map(std::mem::take);
                    if let Some(eraser) = &mut self.eraser {
                        eraser.forget();
                    }
                }
            }
        }
    }

    fn fresh(&mut self, range: Range) {
        if let Some(fast) = &mut self.fast {
            fast.fresh(range);
        }
        if let Some(frames) = &mut self.frames {
            frames.fresh(range);
        }
        if let Some(djit) = &mut self.djit {
            djit.fresh(range);
        }
        if let Some(goldilocks) = &mut self.goldilocks {
            goldilocks.fresh(range);
        }
        if let Some(eraser) = &mut self.eraser {
            eraser.fresh(range);
        }
    }

    fn run(&mut self, run: &Run, batch: &Batch) {
        let accesses = batch.accesses_of(run);
        let before = self.found.candidates.len();
        if let Some(fast) = &mut self.fast {
            fast.run(run, batch, &self.clocks, &mut self.found);
        }
        if let Some(frames) = &mut self.frames {
            frames.run(run, accesses, &self.clocks, &mut self.found);
        }
        if self.djit.is_some() || self.goldilocks.is_some() || self.eraser.is_some() {
            for access in accesses {
                for (addr, len) in access.stretches() {
                    self.slowly(run, batch, access, addr, len);
                }
            }
        }
        for candidate in &mut self.found.candidates[before..] {
            let byte = candidate.cell + u64::from(candidate.bytes.trailing_zeros() % 8);
            candidate.memory = self.blocks.describe(byte);
        }
    }

    /// The detectors that take one access at a time.
    fn slowly(&mut self, run: &Run, batch: &Batch, access: &Access, addr: u64, len: u32) {
        let Some(range) = Range::new(Addr(addr), u64::from(len)) else {
            return;
        };
        let bits = bits(access.spot.kind());
        let touch = Touch {
            range,
            op: if bits & entry::WRITE != 0 {
                Op::Write
            } else {
                Op::Read
            },
            care: if bits & entry::PLAIN != 0 {
                Care::Plain
            } else {
                Care::Atomic
            },
        };
        let me = Side {
            strand: run.strand,
            time: run.time,
            info: Info {
                spot: access.spot,
                caller: access.caller,
                locks: run.locks,
            },
            what: Entry(bits),
        };
        if let Some(djit) = &mut self.djit {
            // Clocks know slots, not strands.
            let epoch = Epoch {
                strand: Strand(u32::from(run.slot.0)),
                time: Time(run.time),
            };
            let clock = self.clocks.of(run.slot);
            let knows = |past: Epoch| {
                let time = clock.get(past.strand.0 as usize);
                time.is_some_and(|&time| past.time.0 <= time)
            };
            djit.access(epoch, touch, me, knows, &mut self.clashes);
            clashes(
                DetectorKind::Djit,
                (batch, run, access),
                me,
                &mut self.clashes,
                &mut self.found,
            );
        }
        if let Some(goldilocks) = &mut self.goldilocks {
            goldilocks.access(run.holder, touch, me, &mut self.clashes);
            clashes(
                DetectorKind::Goldilocks,
                (batch, run, access),
                me,
                &mut self.clashes,
                &mut self.found,
            );
        }
        if let Some(eraser) = &mut self.eraser
            && access.spot.kind() != kind::FREE
        {
            eraser.access(run.strand, touch, me, &mut self.clashes);
            clashes(
                DetectorKind::Eraser,
                (batch, run, access),
                me,
                &mut self.clashes,
                &mut self.found,
            );
        }
    }
}

/// What nobody can ever know of leaves its slot, as [`Fast::sweep`] does it; says which slots are named then. DJIT+ has slots in
/// the place of strands.
fn bury(djit: &mut Djit<Side>, buried: &[Buried], named: &mut Named) {
    let by_slot = by_slot(buried);
    let of = |epoch: Epoch| by_slot.get(epoch.strand.0 as usize).copied().flatten();
    let nobody = Strand(u32::from(Slot::BURIED.0));
    djit.bury(
        |epoch| {
            let one = of(epoch).filter(|one| one.has_unknown(epoch.time.0))?;
            Some(Epoch {
                strand: nobody,
                time: Time(u64::from(one.strand.0) + 1),
            })
        },
        |epoch| epoch.strand == nobody,
        |mine, other| {
            let other = (other.strand.0 as u16, other.time.0);
            of(mine).is_some_and(|one| one.implies(mine.time.0, other))
        },
        |epoch| {
            if epoch.strand != nobody {
                named.add(epoch.strand.0 as u16);
            }
        },
    );
}

/// Tells what a detector found for one access.
fn clashes(
    detector: DetectorKind,
    (batch, run, access): (&Batch, &Run, &Access),
    me: Side,
    clashes: &mut Vec<Clash<Side>>,
    found: &mut Found,
) {
    for clash in clashes.drain(..) {
        let with = |side: Side, bytes: u8| Side {
            what: Entry(side.what.0 | u64::from(bytes)),
            ..side
        };
        found.pair(Candidate {
            detector,
            order: batch.order_of(access, clash.cell * 8),
            acts: run.acts,
            cell: clash.cell * 8,
            bytes: clash.bytes,
            new: with(me, clash.bytes),
            old: with(clash.old, clash.bytes),
            memory: None,
        });
    }
}

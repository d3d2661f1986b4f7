//! One detector on the GPU, and the CPU's part of it: what the kernels suspect or cannot hold goes to a shard, which has
//! the last word.
//!
//! A cell belongs to the GPU until a kernel hands it over, with its state at the beginning of the batch. From then on it is
//! the shard's: it goes on from that state with all accesses of that batch and of later ones. The next batch may be under
//! way already when the CPU learns this; the kernels leave the cell alone in it, and the CPU finds its accesses among those
//! that it kept.

use std::collections::VecDeque;

use deadheat_detect::entry::{Entry, stamp};
use deadheat_detect::eraser::{Lock, State, Watched};
use deadheat_pipeline::batch::{Access, Batch, Run, Step, bits};
use deadheat_pipeline::detector::DetectorKind;
use deadheat_pipeline::found::{Candidate, Found, Info, Side};
use deadheat_pipeline::shard::{Across, Shard};
use deadheat_trace::Strand;
use deadheat_trace::wire::StackSet;

use crate::device::{Bench, Gpu, GpuError, Kernels, Order};
use crate::layout::{ENTRY, GROUP, GUARDS, HANDED, RECORD, why};
use crate::pack::{Packed, Packer};
use crate::sites::Sites;

/// What became of the cells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Pieces of accesses that the GPU checked.
    pub checked: u64,
    /// Pieces that the CPU checked.
    pub confirmed: u64,
    /// Cells that were handed over because a race or alarm is certain, the filters did not say, or for other reasons.
    pub certain: u64,
    pub unsure: u64,
    pub other: u64,
}

/// One detector.
#[derive(Debug)]
pub struct Lane {
    kind: DetectorKind,
    bench: Bench,
    packer: Packer,
    shard: Shard,
    /// Laid out and under way; whether the GPU has something to do for it.
    flights: VecDeque<(Packed, bool)>,
    most: u64,
    pub counts: Counts,
}

/// Sizes that tests make smaller.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Pages on the GPU.
    pub pages: u32,
    /// Fewer pages are not worth a sweep.
    pub few: usize,
    /// Fewer places in the code, and fewer sets of locks, are not worth looking for those that no cell has.
    pub numbered: usize,
    /// Accesses of a cell that a thread goes through.
    pub walk: u32,
    /// The largest time of a strand; when one is larger, everything goes to the CPU.
    pub times: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            pages: u32::MAX,
            few: 1 << 10,
            numbered: crate::sites::FEW,
            walk: crate::device::WALK,
            times: crate::pack::MOST_TIME,
        }
    }
}

impl Lane {
    pub fn new(
        gpu: &Gpu,
        kind: DetectorKind,
        across: Across,
        compare: bool,
        skip_atomics: bool,
        limits: Limits,
    ) -> Result<Lane, GpuError> {
        let kernels = match kind {
            DetectorKind::Eraser => Kernels::Eraser,
            DetectorKind::Goldilocks => Kernels::Goldilocks,
            DetectorKind::FastTrack | DetectorKind::Djit => Kernels::Clocks,
        };
        let bench = Bench::new(gpu, kernels)?;
        let mut packer = Packer::new(kernels, bench.most_pages().min(limits.pages));
        (packer.few, packer.walk) = (limits.few, limits.walk);
        packer.sites = Sites::new(limits.numbered);
        packer.filters.collect_from(limits.numbered / 16);
        packer.most_time = limits.times.min(crate::pack::MOST_TIME);
        Ok(Lane {
            kind,
            packer,
            shard: Shard::confirming(kind, across, compare, skip_atomics),
            flights: VecDeque::new(),
            most: gpu.most(),
            bench,
            counts: Counts::default(),
        })
    }

    pub fn kind(&self) -> DetectorKind {
        self.kind
    }

    /// Pages of memory that are remembered.
    pub fn pages(&self) -> usize {
        self.packer.pages.count()
    }

    /// Begins with a batch.
    pub fn submit(&mut self, batch: &Batch) {
        let packed = self.packer.pack(batch, self.most);
        let clear = std::mem::take(&mut self.packer.pages.clear);
        let busy = packed.touched > 0 || packed.live > 0;
        if busy {
            self.bench.submit(&Order {
                input: &packed.input,
                pieces: packed.pieces,
                touched: packed.touched,
                clear: &clear,
                pages: self.packer.pages.places(),
                check: packed.check,
                live: packed.live,
                sets: self.packer.filters.words(),
                new_sets: &packed.new_sets,
            });
        } else {
            // They are to be cleared before they are used.
            self.packer.pages.clear = clear;
        }
        self.counts.checked += u64::from(packed.pieces);
        self.flights.push_back((packed, busy));
    }

    /// Ends with the oldest batch that is under way, which must be this one; what was found in it.
    pub fn collect(&mut self, batch: &Batch) -> Result<Vec<Candidate>, GpuError> {
        let Some((packed, busy)) = self.flights.pop_front() else {
            return Ok(Vec::new());
        };
        let mut taken = packed.some_owned;
        if busy {
            let outcome = self.bench.collect()?;
            for record in outcome.handed.chunks_exact(RECORD) {
                self.take(record);
                taken = true;
            }
            if let Some(live) = outcome.live {
                self.packer.swept(packed.serial, packed.marks, &live);
            }
        }
        let rest = self.rest(batch, &packed, taken);
        for place in packed.given_up {
            self.packer.pages.free(place);
        }
        Ok(self.shard.check(&rest))
    }

    /// Adds the call stacks of all that is remembered.
    pub fn stacks(&mut self, used: &mut StackSet) {
        self.shard.stacks(used);
        for info in self.packer.sites.iter() {
            used.add(info.caller);
        }
    }

    /// How many places in the code, and sets of locks, are remembered.
    pub fn numbered(&self) -> (usize, usize) {
        (self.packer.sites.len(), self.packer.filters.len())
    }

    /// What was found in all.
    pub fn finish(self) -> Found {
        self.shard.finish()
    }

    /// A cell is handed over.
    fn take(&mut self, record: &[u32]) {
        let (cell, why, header) = (record[0], record[1], record[2]);
        if header & HANDED != 0 {
            // It was the CPU's before.
            return;
        }
        if why & why::CERTAIN != 0 {
            self.counts.certain += 1;
        } else if why & why::UNSURE != 0 {
            self.counts.unsure += 1;
        } else {
            self.counts.other += 1;
        }
        let number = self.packer.pages.number_of(cell);
        self.packer.pages.own(cell);
        let records = &record[3..];
        match self.kind {
            DetectorKind::Eraser => {
                for group in records.chunks_exact(GROUP).take(header as usize) {
                    self.adopt_group(number, group);
                }
            }
            _ => {
                for entry in records.chunks_exact(ENTRY).take(header as usize) {
                    let what = u64::from(entry[0] & 0xffff);
                    let stamp = stamp((entry[0] >> 16) as u16, entry[1].into());
                    let info = self.info(entry[2]);
                    self.shard.adopt(number, Entry(stamp | what), info);
                }
            }
        }
    }

    fn info(&self, site: u32) -> Info {
        self.packer.sites.of(site)
    }

    fn adopt_group(&mut self, number: u64, group: &[u32]) {
        let state = match group[0] >> 8 & 3 {
            1 => State::Exclusive,
            2 => State::Shared,
            _ => State::SharedModified,
        };
        let count = (group[0] >> 12) as usize;
        let guards: Vec<&[Lock]> = group[1..1 + GUARDS]
            .iter()
            .take(count)
            .map(|&set| self.packer.filters.locks(set))
            .collect();
        let side = |at: usize| {
            let info = self.info(group[at + 2]);
            let strand = Strand(group[at]);
            let side = Side {
                strand,
                time: group[at + 1].into(),
                info,
                what: Entry(bits(info.spot.kind())),
            };
            (strand, side)
        };
        let watched = Watched {
            bytes: group[0] as u8,
            state,
            guards: &guards,
            last: side(6),
            other: side(9),
        };
        self.shard.adopt_watched(number, watched);
    }

    /// The batch with the accesses that are the CPU's.
    fn rest(&mut self, batch: &Batch, packed: &Packed, some: bool) -> Batch {
        let mut rest = Batch {
            number: batch.number,
            news: batch.news.clone(),
            ..Batch::default()
        };
        let mut runs = 0;
        for step in &batch.steps {
            let Step::Run(run) = step else {
                rest.steps.push(*step);
                continue;
            };
            let from = packed.runs[runs] as usize;
            runs += 1;
            let to = packed
                .runs
                .get(runs)
                .map_or(packed.touches.len(), |&to| to as usize);
            if !some {
                continue;
            }
            let first = rest.accesses.len();
            for touch in &packed.touches[from..to] {
                if self.packer.pages.is_owned(touch.cell) {
                    let whole = &batch.accesses[touch.access as usize];
                    rest.accesses.push(Access {
                        addr: touch.addr,
                        len: touch.len,
                        stride: 0,
                        ..*whole
                    });
                }
            }
            let count = rest.accesses.len() - first;
            if count > 0 {
                self.counts.confirmed += count as u64;
                rest.steps.push(Step::Run(Run {
                    first: first as u32,
                    count: count as u32,
                    ..*run
                }));
            }
        }
        rest
    }
}

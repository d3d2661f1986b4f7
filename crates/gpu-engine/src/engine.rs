//! All detectors that were asked for, behind one another on the same batches: a worker of the pipeline.

use std::collections::VecDeque;

use deadheat_pipeline::batch::Batch;
use deadheat_pipeline::check::{Other, Settings};
use deadheat_pipeline::detector::{DetectorKind, Needs};
use deadheat_pipeline::found::{Candidate, Found};
use deadheat_pipeline::pool::{Checked, Left, Worker};
use deadheat_pipeline::sequence::FRAME;
use deadheat_pipeline::shard::Shard;
use deadheat_trace::wire::StackSet;

use crate::device::{Gpu, GpuError};
use crate::lane::{Counts, Lane, Limits};

/// Frames of a batch, as in the paper.
const FRAMES: u32 = 128;
/// So much news ends a batch for Goldilocks: each thread may go through all of it.
const FEW_NEWS: u32 = 1 << 12;
/// Batches under way: one is checked while the next is sent.
const UNDER_WAY: usize = 2;

/// An engine for these settings.
pub fn engine(gpu: &Gpu, settings: &Settings, limits: Limits) -> Result<Other, GpuError> {
    let detectors = &settings.detectors;
    let compare = detectors.iter().filter(|kind| kind.exact()).count() > 1;
    let mut lanes = Vec::new();
    for &kind in detectors {
        if kind != DetectorKind::Djit {
            let (across, skip) = (settings.across, settings.skip_atomics);
            lanes.push(Lane::new(gpu, kind, across, compare, skip, limits)?);
        }
    }
    let djit = detectors.contains(&DetectorKind::Djit).then(|| {
        Shard::new(
            &[DetectorKind::Djit],
            settings.across,
            settings.skip_atomics,
        )
        .comparing(compare)
    });
    let mut needs = Needs::of(detectors);
    // Cells are confirmed by clocks.
    needs.clocks |= needs.transfers;
    needs.starts = needs.transfers;
    Ok(Other {
        worker: Box::new(Engine {
            name: gpu.name().to_owned(),
            lanes,
            djit,
            under_way: VecDeque::new(),
            failed: None,
        }),
        needs,
        batch: FRAMES * FRAME,
        news: if needs.starts {
            FEW_NEWS
        } else {
            FRAMES * FRAME
        },
    })
}

/// The worker.
#[derive(Debug)]
struct Engine {
    name: String,
    lanes: Vec<Lane>,
    djit: Option<Shard>,
    under_way: VecDeque<(Batch, Vec<Candidate>)>,
    failed: Option<GpuError>,
}

impl Engine {
    /// Ends with the oldest batch.
    fn collect(&mut self, done: &mut dyn FnMut(Checked)) {
        let Some((batch, mut candidates)) = self.under_way.pop_front() else {
            return;
        };
        for lane in &mut self.lanes {
            if self.failed.is_some() {
                break;
            }
            match lane.collect(&batch) {
                Ok(found) => candidates.extend(found),
                Err(error) => self.failed = Some(error),
            }
        }
        let pages = self.lanes.iter().map(Lane::pages).sum();
        done(Checked {
            candidates,
            batch,
            pages,
            named: Vec::new(),
        });
    }
}

impl Worker for Engine {
    fn take(&mut self, batch: Batch, done: &mut dyn FnMut(Checked)) {
        if self.failed.is_none() {
            self.lanes.iter_mut().for_each(|lane| lane.submit(&batch));
        }
        let candidates = match &mut self.djit {
            Some(djit) => djit.check(&batch),
            None => Vec::new(),
        };
        self.under_way.push_back((batch, candidates));
        while self.under_way.len() >= UNDER_WAY {
            self.collect(done);
        }
    }

    fn settle(&mut self, done: &mut dyn FnMut(Checked)) {
        while !self.under_way.is_empty() {
            self.collect(done);
        }
    }

    fn stacks(&mut self, used: &mut StackSet) {
        self.lanes.iter_mut().for_each(|lane| lane.stacks(used));
        if let Some(djit) = &mut self.djit {
            djit.stacks(used);
        }
    }

    fn finish(self: Box<Self>) -> Left {
        let mut notes = Vec::new();
        for lane in &self.lanes {
            let Counts {
                checked,
                confirmed,
                certain,
                unsure,
                other,
            } = lane.counts;
            notes.push(format!(
                "{} ran on {}: {checked} accesses of 8 bytes or less; {} places of 8 bytes went to the CPU \
                 ({certain} certain, {unsure} unsure, {other} too large), which checked {confirmed} accesses",
                lane.kind(),
                self.name,
                certain + unsure + other,
            ));
        }
        if self.djit.is_some() {
            notes.push("djit ran on the CPU; its check is that of fasttrack's kernel".to_owned());
        }
        let found: Vec<Found> = self
            .lanes
            .into_iter()
            .map(Lane::finish)
            .chain(self.djit.map(Shard::finish))
            .collect();
        Left {
            found,
            notes,
            failed: self.failed.map(|error| error.to_string()),
        }
    }
}

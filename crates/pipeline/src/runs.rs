//! Which accesses are one run: the same whatever the number of checkers, so that all tell the same of a race.

use deadheat_trace::Strand;

use crate::batch::{LocksId, Run, Step};
use crate::order::Present;

/// Whose run it is, and what makes it another one: something that checkers must know, other locks, or an act of anybody.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunOf {
    pub strand: Strand,
    /// So much news came before it.
    pub news: u32,
    pub locks: LocksId,
    /// Acts of all strands with smaller numbers came before it.
    pub acts: u64,
}

impl RunOf {
    /// Whether a checker's last step is this run.
    #[inline(always)]
    pub fn is_last_of(&self, steps: &[Step]) -> bool {
        let RunOf {
            strand,
            news,
            locks,
            acts,
        } = *self;
        matches!(
            steps.last(),
            Some(Step::Run(run)) if (run.strand, run.news, run.locks, run.acts) == (strand, news, locks, acts)
        )
    }

    /// The run without accesses.
    pub fn empty(&self, present: Present, first: u32) -> Step {
        Step::Run(Run {
            strand: self.strand,
            holder: present.holder,
            slot: present.slot,
            time: present.time,
            locks: self.locks,
            acts: self.acts,
            news: self.news,
            first,
            count: 0,
        })
    }
}

/// Where the strand's run is among a checker's steps; a new one without accesses if the last step is another one.
#[inline(always)]
pub fn run_in(steps: &mut Vec<Step>, of: RunOf, present: Present) -> usize {
    if !of.is_last_of(steps) {
        steps.push(of.empty(present, 0));
    }
    steps.len() - 1
}

//! The streams of a program that runs.

use deadheat_frames::Taker;
use deadheat_trace::Strand;
use deadheat_trace::wire::{Next, Source, StackNode, StackSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;

/// What a running program records.
pub struct Live {
    taker: Taker,
    lines: Receiver<String>,
    over: Arc<AtomicBool>,
}

impl Live {
    pub(super) fn new(taker: Taker, lines: Receiver<String>, over: Arc<AtomicBool>) -> Live {
        Live { taker, lines, over }
    }

    /// Accesses that the program dropped, how often its threads waited for us, and for how many nanoseconds in all.
    #[must_use]
    pub fn waits(&self) -> (u64, u64, u64) {
        let arena = self.taker.arena();
        let header = arena.header();
        (
            header.dropped.load(Ordering::Relaxed),
            header.waits.load(Ordering::Relaxed),
            header.waited.load(Ordering::Relaxed),
        )
    }
}

impl Source for Live {
    fn next(&mut self, strand: Strand, out: &mut Vec<u64>) -> Next {
        // Before the frames are read: what the program wrote before it was gone is there then.
        if !self.taker.is_over() && self.over.load(Ordering::Acquire) {
            self.taker.over();
        }
        self.taker.next(strand, out)
    }

    fn node(&mut self, node: StackNode) -> Option<(StackNode, u64)> {
        self.taker.node(node)
    }

    fn lines(&mut self, out: &mut Vec<String>) {
        out.extend(self.lines.try_iter());
    }

    fn wait(&mut self) {
        self.taker.nap();
    }

    fn stacks_due(&self, pages: usize) -> bool {
        self.taker.stacks_due(pages)
    }

    fn keep_stacks(&mut self, used: StackSet) {
        self.taker.keep_stacks(used);
    }
}

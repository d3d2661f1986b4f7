//! Call stacks that nobody needs any more are forgotten, and nobody can tell: against a twin that forgets none.

mod calls;
mod traces;

use std::collections::HashMap;

use calls::with_calls;
use deadheat_pipeline::{Across, DetectorKind, Settings, check};
use deadheat_trace::generate::Rng;
use deadheat_trace::wire::{
    Memory, Next, Source, StackNode, StackSet, stack_of, with_stack, words_of,
};
use deadheat_trace::{Shape, Strand, generate};
use traces::drawn;

/// A program counter in no stack: whoever asks for what was forgotten finds it.
const FORGOTTEN: u64 = 0xdead;

/// An execution that comes in pieces. Numbers of stacks are given when they are first met, and those that were let go are given
/// again at once.
struct Pieces {
    memory: Memory,
    /// By number, less one.
    nodes: Vec<Option<(StackNode, u64)>>,
    numbers: HashMap<(StackNode, u64), StackNode>,
    rng: Rng,
    forgets: bool,
    forgotten: u64,
}

impl Pieces {
    fn new(memory: Memory, forgets: bool) -> Pieces {
        Pieces {
            memory,
            nodes: Vec::new(),
            numbers: HashMap::new(),
            rng: Rng::new(9),
            forgets,
            forgotten: 0,
        }
    }

    fn ours(&mut self, theirs: StackNode) -> StackNode {
        let Some((caller, pc)) = self.memory.node(theirs) else {
            return StackNode(0);
        };
        let what = (self.ours(caller), pc);
        if let Some(&ours) = self.numbers.get(&what) {
            return ours;
        }
        let free = self.nodes.iter().position(Option::is_none);
        let at = free.unwrap_or_else(|| {
            self.nodes.push(None);
            self.nodes.len() - 1
        });
        self.nodes[at] = Some(what);
        let ours = StackNode(at as u32 + 1);
        self.numbers.insert(what, ours);
        ours
    }
}

impl Source for Pieces {
    fn next(&mut self, strand: Strand, out: &mut Vec<u64>) -> Next {
        if self.rng.below(3) != 0 {
            return Next::NotYet;
        }
        let mut words = Vec::new();
        let next = self.memory.next(strand, &mut words);
        let mut at = 0;
        while at < words.len() {
            let size = words_of(words[at]);
            if let Some(stack) = stack_of(words[at]) {
                words[at] = with_stack(words[at], self.ours(stack));
            }
            at += size;
        }
        out.extend(words);
        next
    }

    fn node(&mut self, StackNode(number): StackNode) -> Option<(StackNode, u64)> {
        let at = (number as usize).checked_sub(1)?;
        Some(self.nodes[at].unwrap_or((StackNode(0), FORGOTTEN)))
    }

    fn lines(&mut self, out: &mut Vec<String>) {
        self.memory.lines(out);
    }

    fn wait(&mut self) {}

    fn stacks_due(&self, _pages: usize) -> bool {
        self.forgets
    }

    fn keep_stacks(&mut self, used: StackSet) {
        let mut kept = StackSet::default();
        for mut stack in used.iter() {
            while stack != StackNode(0) {
                kept.add(stack);
                let node = self.nodes[stack.0 as usize - 1];
                stack = node.expect("whatever is used was kept before").0;
            }
        }
        self.numbers.retain(|_, number| kept.has(*number));
        for (node, number) in self.nodes.iter_mut().zip(1..) {
            if !kept.has(StackNode(number)) && node.take().is_some() {
                self.forgotten += 1;
            }
        }
    }
}

#[test]
fn nobody_can_tell_that_stacks_were_forgotten() {
    let mut rng = Rng::new(1);
    let (mut told, mut again, mut forgotten) = (0, 0, 0);
    for seed in 0..drawn(40) {
        let shape = match seed % 4 {
            0 => Shape::small(),
            _ => Shape::large(),
        };
        let memory = with_calls(&generate(seed, &shape), &mut rng);
        let mut choices = vec![(DetectorKind::ALL.to_vec(), Across::Frames)];
        for kind in DetectorKind::ALL {
            choices.push((vec![kind], Across::Frames));
        }
        choices.push((vec![DetectorKind::FastTrack], Across::Nothing));
        for (detectors, across) in choices {
            let judge = |checkers, forgets| {
                let settings = Settings {
                    detectors: detectors.clone(),
                    checkers,
                    across,
                    ..Settings::default()
                };
                let mut source = Pieces::new(memory.clone(), forgets);
                let mut lines = Vec::new();
                let summary = check(&mut source, &settings, &mut |line: &str| {
                    lines.push(line.to_owned());
                });
                assert_eq!(summary.disagreements, 0);
                (lines, summary.findings, source.forgotten)
            };
            for checkers in [1, 3] {
                let (lines, findings, _) = judge(checkers, false);
                told += findings as u64;
                again += lines.iter().filter(|line| line.contains("again")).count() as u64;
                let (others, _, count) = judge(checkers, true);
                forgotten += count;
                let name = format!("seed {seed}, {detectors:?}, {across:?}, {checkers} checkers");
                for (one, other) in lines.iter().zip(&others) {
                    assert_eq!(one, other, "{name}");
                }
                assert_eq!(lines.len(), others.len(), "{name}");
            }
        }
    }
    assert!(
        told > drawn(500) && again > drawn(50),
        "{told} told, {again} again"
    );
    assert!(forgotten > drawn(10_000), "{forgotten} forgotten");
}

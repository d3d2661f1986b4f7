//! Call stacks that nobody needs any more are forgotten, and nobody can tell: against a twin that forgets none.

mod calls;
mod traces;

use std::collections::HashMap;
use std::io::Cursor;

use calls::with_calls;
use deadheat_pipeline::{Across, DetectorKind, Settings, check};
use deadheat_trace::file::{Reader, Recording, Round};
use deadheat_trace::generate::Rng;
use deadheat_trace::wire::{
    Act, Item, Memory, Next, Source, StackNode, StackSet, Writer, stack_of, with_stack, words_of,
};
use deadheat_trace::{Action, Shape, Strand, generate};
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

/// The file that a recorder writes of it, and the most that it kept in memory. Its index has several parts.
fn recorded(memory: &Memory, forgets: bool) -> (Vec<u8>, usize, u64) {
    let mut source = Pieces::new(memory.clone(), forgets);
    let mut recording = Recording::new(Vec::new()).expect("written to memory");
    recording.index_after(5);
    let mut most = 0;
    while recording.round(&mut source).expect("written to memory") != Round::End {
        recording.sync().expect("written to memory");
        most = most.max(recording.kept());
    }
    let (file, _) = recording.finish(&mut source).expect("written to memory");
    (file, most, source.forgotten)
}

/// What is told of it.
fn judged(source: &mut impl Source) -> Vec<String> {
    let mut lines = Vec::new();
    let settings = Settings {
        detectors: DetectorKind::ALL.to_vec(),
        ..Settings::default()
    };
    check(source, &settings, &mut |line: &str| {
        lines.push(line.to_owned());
    });
    lines
}

#[test]
fn nobody_can_tell_that_the_recorder_forgot_stacks() {
    let mut rng = Rng::new(2);
    let (mut told, mut again, mut forgotten) = (0, 0, 0);
    for seed in 0..drawn(40) {
        let memory = with_calls(&generate(seed, &Shape::large()), &mut rng);
        let open = |file: Vec<u8>| Reader::new(Cursor::new(file)).expect("a trace");
        let (file, _, none) = recorded(&memory, false);
        assert_eq!(none, 0);
        let expected = judged(&mut open(file));
        let (file, _, count) = recorded(&memory, true);
        forgotten += count;
        // A recorder that was killed has written no end; indices it may have.
        let cut = file[..file.len() - 16].to_vec();
        let mut reader = open(file);
        assert!(reader.losses().is_empty());
        assert_eq!(judged(&mut reader), expected, "seed {seed}");
        let mut reader = open(cut);
        assert_eq!(reader.losses().len(), 1);
        assert_eq!(judged(&mut reader), expected, "seed {seed}, cut");
        told += expected.iter().filter(|l| l.contains("finding")).count();
        again += expected.iter().filter(|l| l.contains("again")).count();
    }
    let (told, again) = (told as u64, again as u64);
    assert!(
        told > drawn(100) && again > drawn(20),
        "{told} told, {again} again"
    );
    assert!(forgotten > drawn(1000), "{forgotten} forgotten");
}

/// Threads one after another, each with call stacks of its own.
fn threads(count: u32) -> Memory {
    let mut memory = Memory::default();
    let (mut number, mut first) = (0, Vec::new());
    for n in 1..=count {
        let mut words = Vec::new();
        let mut act = |strand: u32, action| {
            let caller = memory.add_node(StackNode(0), u64::from(n));
            let at = memory.add_node(caller, 7);
            number += 1;
            let item = Item::Act(Act::new(number - 1, action, at));
            let out = if strand == 0 { &mut first } else { &mut words };
            Writer::default().write(&item, out);
        };
        act(0, Action::Fork(Strand(n)));
        act(n, Action::Begin);
        act(n, Action::End);
        act(0, Action::Join(Strand(n)));
        memory.set_stream(Strand(n), words);
    }
    memory.set_stream(Strand(0), first);
    memory.portion = 4;
    memory
}

#[test]
fn a_recorder_that_runs_for_ever_stays_small() {
    let most = |count| recorded(&threads(count), true).1;
    let (few, many) = (most(100), most(1000));
    assert!(
        many <= few + 20,
        "{few} kept of 100 threads, {many} of 1000"
    );
}

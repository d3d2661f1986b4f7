//! The taker's own numbers of call stacks. The program uses its numbers again when it needs them no more; ours stand for one
//! stack for as long as whoever checks remembers it, which he says when there are many ([`Calls::keep`]).

use std::hash::{BuildHasher, RandomState};

use deadheat_trace::wire::{DEEPEST, StackNode, StackSet};
use hashbrown::HashTable;

use crate::layout::Arena;

/// Fewer are not worth looking for those that nobody needs.
const FEW: usize = 1 << 16;
/// As many new ones pay for a look at a page of memory.
const FOR_A_PAGE: usize = 8;

/// All call stacks that were met, but for those that nobody needed any more.
#[derive(Debug)]
pub struct Calls {
    /// By our number, less one.
    nodes: Vec<(StackNode, u64)>,
    /// Numbers to be used again.
    free: Vec<StackNode>,
    /// How many were kept the last time.
    kept: usize,
    few: usize,
    /// Our numbers, to be found by what they stand for. There may be millions, so that stands in `nodes` alone.
    numbers: HashTable<StackNode>,
    /// Drawn anew for every process, so that no program can know which of its calls will meet.
    start: u64,
    /// By the program's number: ours, and in which time of the program's numbers that held.
    ours: Vec<(u32, StackNode)>,
    time: u32,
    /// The program's numbers on the way to one that is known.
    path: Vec<(u32, u64)>,
}

impl Default for Calls {
    fn default() -> Self {
        Calls {
            nodes: Vec::new(),
            free: Vec::new(),
            kept: 0,
            few: FEW,
            numbers: HashTable::new(),
            start: RandomState::new().hash_one(0),
            ours: Vec::new(),
            time: 0,
            path: Vec::new(),
        }
    }
}

impl Calls {
    /// From here on the program's numbers may stand for something else.
    pub fn numbers_are_new(&mut self) {
        self.time += 1;
    }

    /// Our number for the program's.
    #[inline]
    pub fn ours(&mut self, theirs: StackNode, arena: &Arena) -> StackNode {
        match self.known(theirs.0) {
            Some(ours) => ours,
            None if theirs.0 == 0 => theirs,
            None => self.learn(theirs.0, arena),
        }
    }

    #[inline(always)]
    fn known(&self, theirs: u32) -> Option<StackNode> {
        match self.ours.get(theirs as usize) {
            Some(&(time, ours)) if time == self.time && ours.0 != 0 => Some(ours),
            _ => None,
        }
    }

    /// The same for a number that was not met since the numbers were new. What was not said is the empty stack, as is one that
    /// is among its own callers, which no program means.
    #[cold]
    fn learn(&mut self, theirs: u32, arena: &Arena) -> StackNode {
        let mut path = std::mem::take(&mut self.path);
        path.clear();
        let mut at = theirs;
        let mut ours = loop {
            if let Some(known) = self.known(at) {
                break known;
            }
            match arena.node(at) {
                Some((caller, pc)) if at != 0 && path.len() < DEEPEST => {
                    path.push((at, pc));
                    at = caller;
                }
                _ => break StackNode(0),
            }
        };
        for &(number, pc) in path.iter().rev() {
            ours = self.number(ours, pc);
            let at = number as usize;
            if self.ours.len() <= at {
                self.ours.resize(at + 1, (0, StackNode(0)));
            }
            self.ours[at] = (self.time, ours);
        }
        self.path = path;
        ours
    }

    fn number(&mut self, caller: StackNode, pc: u64) -> StackNode {
        let Calls {
            nodes,
            free,
            numbers,
            start,
            ..
        } = self;
        let what = (caller, pc);
        let is = |ours: &StackNode| nodes[ours.0 as usize - 1] == what;
        if let Some(&ours) = numbers.find(hash(*start, what), is) {
            return ours;
        }
        let ours = match free.pop() {
            Some(ours) => {
                nodes[ours.0 as usize - 1] = what;
                ours
            }
            None => {
                nodes.push(what);
                StackNode(nodes.len() as u32)
            }
        };
        numbers.insert_unique(hash(*start, what), ours, |ours| {
            hash(*start, nodes[ours.0 as usize - 1])
        });
        ours
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.nodes.len() - self.free.len()
    }

    /// Whether it is time to look for those that nobody needs, if that takes a look at so many pages of memory.
    pub fn is_due(&self, pages: usize) -> bool {
        let new = self.few.max(self.kept).max(pages * FOR_A_PAGE);
        self.len() >= self.kept + new
    }

    /// Forgets all stacks but these and their callers; the numbers of others stand for something else from here on.
    pub fn keep(&mut self, used: &StackSet) {
        let mut kept = StackSet::default();
        for mut stack in used.iter() {
            // Whoever is among the kept has all his callers there.
            while let Some((caller, _)) = self.node(stack)
                && kept.add(stack)
            {
                stack = caller;
            }
        }
        self.numbers.retain(|ours| kept.has(*ours));
        // What is at the end is given back to the system, what is low is used first.
        let last = (0..=self.nodes.len() as u32).rev().map(StackNode);
        let last = last.take_while(|&ours| ours.0 > 0 && !kept.has(ours));
        self.nodes.truncate(self.nodes.len() - last.count());
        self.nodes.shrink_to(2 * self.nodes.len());
        self.free.clear();
        let numbers = (1..=self.nodes.len() as u32).rev().map(StackNode);
        self.free.extend(numbers.filter(|&ours| !kept.has(ours)));
        self.kept = self.len();
        let Calls { nodes, start, .. } = self;
        self.numbers.shrink_to(2 * self.kept, |ours| {
            hash(*start, nodes[ours.0 as usize - 1])
        });
        // Which of them the program's numbers stand for has to be found out again.
        self.numbers_are_new();
    }

    /// The caller of a stack and its innermost program counter.
    pub fn node(&self, ours: StackNode) -> Option<(StackNode, u64)> {
        let at = (ours.0 as usize).checked_sub(1)?;
        self.nodes.get(at).copied()
    }
}

fn hash(start: u64, (caller, pc): (StackNode, u64)) -> u64 {
    const ODD: u64 = 0x9E37_79B9_7F4A_7C15;
    let fold = |word: u64| {
        let wide = u128::from(start ^ word) * u128::from(ODD);
        (wide as u64) ^ (wide >> 64) as u64
    };
    let both = pc.rotate_left(32) ^ u64::from(caller.0);
    fold(fold(both) ^ pc)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same numbers as the obvious map gives.
    #[test]
    fn each_stack_has_one_number() {
        let mut calls = Calls::default();
        let mut twin = std::collections::HashMap::new();
        let mut rng = deadheat_trace::generate::Rng::new(11);
        for _ in 0..20_000 {
            let caller = StackNode(rng.below(twin.len() as u64 + 1) as u32);
            let pc = 1 + rng.below(5);
            let next = StackNode(twin.len() as u32 + 1);
            let expected = *twin.entry((caller, pc)).or_insert(next);
            assert_eq!(calls.number(caller, pc), expected);
            assert_eq!(calls.node(expected), Some((caller, pc)));
        }
        assert!((1000..20_000).contains(&twin.len()), "{}", twin.len());
        assert_eq!(calls.node(StackNode(0)), None);
    }

    /// Whatever is kept stands for what it stood for, and is found again; whatever is not makes room.
    #[test]
    fn stacks_that_nobody_needs_make_room() {
        let mut calls = Calls {
            few: 1000,
            ..Calls::default()
        };
        let mut rng = deadheat_trace::generate::Rng::new(12);
        let whole = |calls: &Calls, mut stack: StackNode| {
            let mut frames = Vec::new();
            while let Some((caller, pc)) = calls.node(stack) {
                frames.push(pc);
                stack = caller;
            }
            frames
        };
        let (mut held, mut most, mut made) = (Vec::new(), 0, 0);
        for round in 0..200 {
            while !calls.is_due(10) {
                let before = calls.len();
                let mut stack = StackNode(0);
                for _ in 0..1 + rng.below(20) {
                    stack = calls.number(stack, 1 + rng.below(9));
                }
                made += calls.len() - before;
                if rng.below(50) == 0 {
                    held.push((stack, whole(&calls, stack)));
                }
            }
            most = most.max(calls.nodes.len());
            held.retain(|_| rng.below(3) != 0);
            let mut used = StackSet::default();
            held.iter().for_each(|(stack, _)| {
                used.add(*stack);
            });
            calls.keep(&used);
            assert_eq!(calls.numbers.len(), calls.len());
            let mut needed = std::collections::HashSet::new();
            for (stack, frames) in &held {
                assert_eq!(&whole(&calls, *stack), frames, "round {round}");
                needed.extend((0..frames.len()).map(|at| &frames[at..]));
                let again = frames.iter().rev();
                let again = again.fold(StackNode(0), |caller, &pc| calls.number(caller, pc));
                assert_eq!(again, *stack);
            }
            assert_eq!(needed.len(), calls.len());
        }
        assert!(made > 50_000, "{made} made");
        assert!(most < 4000, "{most} at once");
    }
}

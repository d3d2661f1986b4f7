//! The taker's own numbers of call stacks. The program uses its numbers again when it needs them no more; ours stand for one
//! stack for good, because whoever checks remembers them for as long as he likes.

use std::hash::{BuildHasher, RandomState};

use deadheat_trace::wire::StackNode;
use hashbrown::HashTable;

use crate::layout::Arena;

/// All call stacks that were met.
#[derive(Debug)]
pub struct Calls {
    /// By our number, less one.
    nodes: Vec<(StackNode, u64)>,
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
            numbers,
            start,
            ..
        } = self;
        let what = (caller, pc);
        let is = |ours: &StackNode| nodes[ours.0 as usize - 1] == what;
        if let Some(&ours) = numbers.find(hash(*start, what), is) {
            return ours;
        }
        nodes.push(what);
        let ours = StackNode(nodes.len() as u32);
        numbers.insert_unique(hash(*start, what), ours, |ours| {
            hash(*start, nodes[ours.0 as usize - 1])
        });
        ours
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

/// Calls in one stack; a longer one is no stack.
const DEEPEST: usize = 1 << 20;

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
}

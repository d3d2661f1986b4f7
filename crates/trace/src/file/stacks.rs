//! The numbers of call stacks in a file. Whoever writes gives them, and forgets them now and then; whoever reads finds those that
//! stand for the same.

use std::collections::{HashMap, HashSet};

use crate::wire::{self, Source, StackNode, StackSet};

/// The file's numbers for those of a source. As long as none was forgotten, they are the same.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    by_source: HashMap<StackNode, StackNode>,
    /// The largest number that was given.
    last: u32,
    /// Some were forgotten: the source may have used their numbers again.
    renumber: bool,
    /// What is to be written of those that are new: number, caller, program counter.
    new: Vec<u8>,
    /// Stacks for which there was no number.
    pub nameless: u64,
    path: Vec<(StackNode, u64)>,
}

impl Numbers {
    /// The file's number for a stack of the source.
    #[inline]
    pub fn of(&mut self, stack: StackNode, source: &mut impl Source) -> StackNode {
        match self.by_source.get(&stack) {
            Some(&number) => number,
            None if stack.0 == 0 => stack,
            None => self.add(stack, source),
        }
    }

    #[cold]
    fn add(&mut self, stack: StackNode, source: &mut impl Source) -> StackNode {
        let mut path = std::mem::take(&mut self.path);
        path.clear();
        let mut at = stack;
        let mut caller = loop {
            if let Some(&number) = self.by_source.get(&at) {
                break number;
            }
            match source.node(at) {
                Some((caller, pc)) if path.len() < wire::DEEPEST => {
                    path.push((at, pc));
                    at = caller;
                }
                _ => break StackNode(0),
            }
        };
        for &(node, pc) in path.iter().rev() {
            // One that is among its own callers, which no program means, is there by now.
            if let Some(&number) = self.by_source.get(&node) {
                caller = number;
                continue;
            }
            let number = match self.renumber {
                true => self.last.checked_add(1).map(StackNode),
                false => Some(node),
            };
            let Some(number) = number else {
                self.nameless += 1;
                caller = StackNode(0);
                break;
            };
            self.last = self.last.max(number.0);
            self.new.extend_from_slice(&number.0.to_le_bytes());
            self.new.extend_from_slice(&caller.0.to_le_bytes());
            self.new.extend_from_slice(&pc.to_le_bytes());
            self.by_source.insert(node, number);
            caller = number;
        }
        self.path = path;
        caller
    }

    /// What is to be written of those that are new.
    pub fn take_new(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.new)
    }

    /// Forgets all but these and their callers, which the source keeps, too.
    pub fn keep(&mut self, used: &StackSet, source: &mut impl Source) {
        let mut kept = StackSet::default();
        for mut stack in used.iter() {
            while let Some((caller, _)) = source.node(stack)
                && kept.add(stack)
            {
                stack = caller;
            }
        }
        self.by_source.retain(|stack, _| kept.has(*stack));
        self.by_source.shrink_to(2 * self.by_source.len());
        self.renumber = true;
    }

    pub fn len(&self) -> usize {
        self.by_source.len()
    }
}

/// All call stacks of a file.
#[derive(Debug, Default)]
pub(super) struct Stacks {
    nodes: HashMap<StackNode, (StackNode, u64)>,
    /// Which one stands for those that came more than once.
    same: HashMap<StackNode, StackNode>,
}

impl Stacks {
    pub fn add(&mut self, stack: StackNode, caller: StackNode, pc: u64) {
        self.nodes.insert(stack, (caller, pc));
    }

    pub fn node(&self, stack: StackNode) -> Option<(StackNode, u64)> {
        self.nodes.get(&stack).copied()
    }

    pub fn iter(&self) -> impl Iterator<Item = (StackNode, StackNode, u64)> + '_ {
        self.nodes
            .iter()
            .map(|(&stack, &(caller, pc))| (stack, caller, pc))
    }

    /// Makes those one that stand for the same calls. To be called when all were added.
    pub fn unite(&mut self) {
        // If any do, then two with the very same caller.
        let mut firsts: HashMap<(StackNode, u64), StackNode> = HashMap::new();
        let unlike =
            |(stack, what): (&StackNode, &(StackNode, u64))| firsts.insert(*what, *stack).is_none();
        if self.nodes.iter().all(unlike) {
            return;
        }
        firsts.clear();
        let mut numbers: Vec<StackNode> = self.nodes.keys().copied().collect();
        numbers.sort_unstable();
        // Callers before those they call; who is among his own callers stays as he is.
        let mut done = HashSet::new();
        let mut path = Vec::new();
        for stack in numbers {
            path.clear();
            let mut at = stack;
            while let Some(&(caller, _)) = self.nodes.get(&at)
                && done.insert(at)
            {
                path.push(at);
                at = caller;
            }
            for &stack in path.iter().rev() {
                let Some((caller, pc)) = self.nodes.get_mut(&stack) else {
                    continue;
                };
                if let Some(&one) = self.same.get(caller) {
                    *caller = one;
                }
                let first = *firsts.entry((*caller, *pc)).or_insert(stack);
                if first != stack {
                    self.same.insert(stack, first);
                }
            }
        }
        self.nodes.retain(|stack, _| !self.same.contains_key(stack));
    }

    /// Some words of a stream, from the beginning of an item on, with the numbers that are left.
    pub fn unite_words(&self, words: &mut [u64]) {
        if self.same.is_empty() {
            return;
        }
        let mut at = 0;
        while let Some(word) = words.get_mut(at) {
            if let Some(one) = wire::stack_of(*word).and_then(|stack| self.same.get(&stack)) {
                *word = wire::with_stack(*word, *one);
            }
            at += wire::words_of(*word);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::Rng;

    /// The calls of a stack, innermost first.
    fn calls(stacks: &Stacks, mut stack: StackNode) -> Vec<u64> {
        let mut calls = Vec::new();
        while let Some((caller, pc)) = stacks.node(stack) {
            calls.push(pc);
            stack = caller;
        }
        calls
    }

    #[test]
    fn stacks_that_came_more_than_once_become_one() {
        for seed in 0..50 {
            let mut rng = Rng::new(seed);
            let mut stacks = Stacks::default();
            // Numbers in any order, so that callers may have larger ones.
            let mut numbers: Vec<u32> = (1..300).collect();
            for at in 0..numbers.len() {
                numbers.swap(at, rng.below(at as u64 + 1) as usize);
            }
            let mut made = vec![StackNode(0)];
            for &number in &numbers {
                let caller = made[rng.below(made.len() as u64) as usize];
                stacks.add(StackNode(number), caller, 1 + rng.below(3));
                made.push(StackNode(number));
            }
            let all: Vec<(StackNode, Vec<u64>)> = made[1..]
                .iter()
                .map(|&stack| (stack, calls(&stacks, stack)))
                .collect();
            stacks.unite();
            let mut firsts: HashMap<&Vec<u64>, StackNode> = HashMap::new();
            for (stack, frames) in &all {
                let now = stacks.same.get(stack).copied().unwrap_or(*stack);
                assert_eq!(&calls(&stacks, now), frames);
                assert_eq!(*firsts.entry(frames).or_insert(now), now, "{frames:?}");
                let mut words = wire::calls(*stack).as_slice().to_vec();
                stacks.unite_words(&mut words);
                assert_eq!(words, wire::calls(now).as_slice());
            }
            assert_eq!(firsts.len(), stacks.iter().count());
            assert!(firsts.len() < all.len());
        }
    }

    /// No recorder writes it, but somebody may.
    #[test]
    fn a_stack_among_its_own_callers_ends_in_an_answer() {
        let mut stacks = Stacks::default();
        for (stack, caller) in [(1, 2), (2, 3), (3, 1), (4, 1), (5, 1), (6, 0), (7, 0)] {
            stacks.add(StackNode(stack), StackNode(caller), 9);
        }
        stacks.unite();
        assert_eq!(stacks.same.get(&StackNode(7)), Some(&StackNode(6)));
        for stack in [4, 5] {
            assert_eq!(stacks.same.get(&StackNode(stack)), Some(&StackNode(3)));
        }
    }
}

//! The taker's own numbers of call stacks. The program uses its numbers again when it needs them no more; ours stand for one
//! stack for good, because whoever checks remembers them for as long as he likes.

use std::collections::HashMap;

use deadheat_trace::wire::StackNode;

use crate::layout::Arena;

/// All call stacks that were met.
#[derive(Debug, Default)]
pub struct Calls {
    /// By our number, less one.
    nodes: Vec<(StackNode, u64)>,
    numbers: HashMap<(StackNode, u64), StackNode>,
    /// By the program's number: ours, and in which time of the program's numbers that held.
    ours: Vec<(u32, StackNode)>,
    time: u32,
    /// The program's numbers on the way to one that is known.
    path: Vec<(u32, u64)>,
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
        *self.numbers.entry((caller, pc)).or_insert_with(|| {
            self.nodes.push((caller, pc));
            StackNode(self.nodes.len() as u32)
        })
    }

    /// The caller of a stack and its innermost program counter.
    pub fn node(&self, ours: StackNode) -> Option<(StackNode, u64)> {
        let at = (ours.0 as usize).checked_sub(1)?;
        self.nodes.get(at).copied()
    }
}

/// Calls in one stack; a longer one is no stack.
const DEEPEST: usize = 1 << 20;

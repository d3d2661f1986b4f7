//! The blocks of a function, which goes on in which, and its loops.

use crate::Handle;
use crate::llvm::Llvm;
use crate::memory::Array;

/// Functions with more blocks, or with more ways back to where a loop begins, are left as they are.
const MOST_BLOCKS: usize = 20_000;
const MOST_WAYS_BACK: usize = 1024;

pub struct Graph {
    pub blocks: Array<Handle>,
    /// Where each of the blocks stands in `blocks`, by its address.
    places: Array<(usize, u32)>,
    /// For each block where those before it begin in `before`, and at the end where they end.
    begins: Array<u32>,
    before: Array<u32>,
}

/// A loop with one block by which it is entered.
pub struct Loop {
    pub head: usize,
    /// Of each block, whether it belongs to the loop.
    pub has: Array<bool>,
    pub size: usize,
}

impl Graph {
    /// The blocks of a function; none if there are too many, or if one goes on at an address that it computes.
    ///
    /// # Safety
    /// `body` is a function of LLVM's with blocks.
    pub unsafe fn of(llvm: &Llvm, body: Handle) -> Option<Graph> {
        // SAFETY: the blocks of that function, which have terminators.
        unsafe {
            let mut count = 0;
            let mut edges = 0;
            let mut next = (llvm.first_block)(body);
            while !next.is_null() {
                let end = (llvm.terminator)(next);
                if end.is_null() || (llvm.opcode)(end) == crate::llvm::op::INDIRECT_BRANCH {
                    return None;
                }
                edges += (llvm.successors)(end) as usize;
                count += 1;
                next = (llvm.next_block)(next);
            }
            if count > MOST_BLOCKS {
                return None;
            }
            let mut blocks = Array::filled(core::ptr::null_mut(), count);
            let mut places = Array::filled((0, 0), count);
            let mut next = (llvm.first_block)(body);
            for i in 0..count {
                blocks[i] = next;
                places[i] = (next as usize, i as u32);
                next = (llvm.next_block)(next);
            }
            places.sort_unstable();
            let mut graph = Graph {
                blocks,
                places,
                begins: Array::filled(0, count + 2),
                before: Array::filled(0, edges),
            };
            // Those before each block, sorted by it: first how many there are.
            for from in 0..count {
                graph.each_after(llvm, from, |graph, to| graph.begins[to + 2] += 1);
            }
            for i in 0..count {
                graph.begins[i + 2] += graph.begins[i + 1];
            }
            for from in 0..count {
                graph.each_after(llvm, from, |graph, to| {
                    let at = graph.begins[to + 1];
                    graph.before[at as usize] = from as u32;
                    graph.begins[to + 1] += 1;
                });
            }
            Some(graph)
        }
    }

    pub fn place(&self, block: Handle) -> Option<usize> {
        let found = self
            .places
            .binary_search_by_key(&(block as usize), |place| place.0);
        found.ok().map(|i| self.places[i].1 as usize)
    }

    unsafe fn each_after(
        &mut self,
        llvm: &Llvm,
        from: usize,
        mut f: impl FnMut(&mut Graph, usize),
    ) {
        // SAFETY: a block of the function.
        unsafe {
            let end = (llvm.terminator)(self.blocks[from]);
            for i in 0..(llvm.successors)(end) {
                if let Some(to) = self.place((llvm.successor)(end, i)) {
                    f(self, to);
                }
            }
        }
    }

    /// The blocks that go on in this one.
    pub fn before(&self, block: usize) -> impl Iterator<Item = usize> + '_ {
        let (from, to) = (self.begins[block], self.begins[block + 1]);
        self.before[from as usize..to as usize]
            .iter()
            .map(|&block| block as usize)
    }

    /// Calls `f` with each loop, unless there are too many.
    ///
    /// # Safety
    /// The graph is that of a function as it is now.
    pub unsafe fn each_loop(&self, llvm: &Llvm, mut f: impl FnMut(Loop)) {
        // SAFETY: by the contract.
        let (backward, count) = unsafe { self.backward(llvm) };
        // Without one of them a loop would lack some of its blocks.
        let backward = &backward[..if count > MOST_WAYS_BACK { 0 } else { count }];
        for (i, &(_, head)) in backward.iter().enumerate() {
            let first = backward[..i].iter().all(|edge| edge.1 != head);
            if first && let Some(found) = self.loop_of(head as usize, backward) {
                f(found);
            }
        }
    }

    /// Where a way through the blocks comes back to one that it came from: from where to where, and how often that is.
    unsafe fn backward(&self, llvm: &Llvm) -> (Array<(u32, u32)>, usize) {
        let count = self.blocks.len();
        let mut found = Array::filled((0, 0), MOST_WAYS_BACK);
        let mut known = 0;
        let mut states = Array::filled(State::New, count);
        // The way, and which block comes next after each on it.
        let mut way = Array::filled((0u32, 0u32), count);
        let mut length = 1;
        states[0] = State::OnTheWay;
        while length > 0 {
            let (from, next) = way[length - 1];
            // SAFETY: by the contract.
            let to = unsafe {
                let end = (llvm.terminator)(self.blocks[from as usize]);
                (next < (llvm.successors)(end)).then(|| (llvm.successor)(end, next))
            };
            let Some(to) = to else {
                states[from as usize] = State::Done;
                length -= 1;
                continue;
            };
            way[length - 1].1 += 1;
            let Some(to) = self.place(to) else {
                continue;
            };
            match states[to] {
                State::Done => {}
                State::OnTheWay => {
                    if known < MOST_WAYS_BACK {
                        found[known] = (from, to as u32);
                    }
                    known += 1;
                }
                State::New => {
                    states[to] = State::OnTheWay;
                    way[length] = (to as u32, 0);
                    length += 1;
                }
            }
        }
        (found, known)
    }

    /// All blocks from which one comes back to `head` without leaving; none if there is another way in.
    fn loop_of(&self, head: usize, backward: &[(u32, u32)]) -> Option<Loop> {
        let count = self.blocks.len();
        let mut has = Array::filled(false, count);
        let mut to_do = Array::filled(0u32, count);
        let (mut left, mut size) = (0, 1);
        has[head] = true;
        let mut add = |block: usize, has: &mut [bool], to_do: &mut [u32], left: &mut usize| {
            if !has[block] {
                has[block] = true;
                to_do[*left] = block as u32;
                *left += 1;
                size += 1;
            }
        };
        for &(from, to) in backward {
            if to == head as u32 {
                add(from as usize, &mut has, &mut to_do, &mut left);
            }
        }
        while left > 0 {
            left -= 1;
            let block = to_do[left] as usize;
            if block == 0 {
                // The function begins inside.
                return None;
            }
            for before in self.before(block) {
                add(before, &mut has, &mut to_do, &mut left);
            }
        }
        Some(Loop { head, has, size })
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    New,
    OnTheWay,
    Done,
}

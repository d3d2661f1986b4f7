//! Races as data: one entry per pair of instructions, with counts and one example.

use std::collections::{HashMap, HashSet};

use crate::machine::What;
use crate::machine::program::Pc;
use crate::ptx::Space;

/// How the two threads stand to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Relation {
    /// Two lanes of a warp, the same instruction at the same time.
    SameInstruction,
    /// Two lanes of a warp, different instructions (independent scheduling only).
    SameWarp,
    /// Two warps of a block.
    Warps,
    /// Two blocks.
    Blocks,
    /// An asynchronous copy that was not waited for, and any thread of the block.
    AsyncCopy,
}

/// One side of a race.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Side {
    pub pc: Pc,
    pub what: What,
    pub block: u32,
    /// Thread of the block.
    pub thread: u32,
    /// Barrier phase of the thread, from 0.
    pub phase: u32,
}

/// What tells races apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RaceKey {
    pub first: (Pc, u8),
    pub second: (Pc, u8),
    pub shared: bool,
    pub relation: Relation,
    /// Both wrote the same value: harmless in most programs.
    pub same_value: bool,
}

/// Counting stops here; a count that reached it is "at least".
pub const MAX_COUNTED: usize = 1 << 16;

/// All that is known of one race.
#[derive(Clone, Debug)]
pub struct Race {
    pub sides: [Side; 2],
    pub space: Space,
    pub relation: Relation,
    pub same_value: bool,
    /// Offset into shared memory, or address.
    pub addr: u64,
    pub size: u32,
    pub count: u64,
    pub addrs: HashSet<u64>,
    pub threads: HashSet<(u32, u32)>,
    pub thread_pairs: u64,
    pub warp_pairs: HashSet<(u32, u32, u32)>,
    pub blocks: HashSet<u32>,
}

/// Races of a block or a launch.
#[derive(Clone, Debug, Default)]
pub struct Races {
    pub map: HashMap<RaceKey, Race>,
}

fn code(w: What) -> u8 {
    match w {
        What::Read => 0,
        What::Write => 1,
        What::Atomic => 2,
    }
}

fn bounded<T: std::hash::Hash + Eq>(set: &mut HashSet<T>, v: T) {
    if set.len() < MAX_COUNTED {
        set.insert(v);
    }
}

impl Races {
    #[allow(clippy::too_many_arguments)]
    pub fn add(
        &mut self,
        a: Side,
        b: Side,
        warp_size: u32,
        space: Space,
        relation: Relation,
        same_value: bool,
        addr: u64,
        size: u32,
        pairs: u64,
    ) {
        let swap = (b.pc, code(b.what)) < (a.pc, code(a.what));
        let (a, b) = if swap { (b, a) } else { (a, b) };
        let key = RaceKey {
            first: (a.pc, code(a.what)),
            second: (b.pc, code(b.what)),
            shared: space == Space::Shared,
            relation,
            same_value,
        };
        let r = self.map.entry(key).or_insert_with(|| Race {
            sides: [a, b],
            space,
            relation,
            same_value,
            addr,
            size,
            count: 0,
            addrs: HashSet::new(),
            threads: HashSet::new(),
            thread_pairs: 0,
            warp_pairs: HashSet::new(),
            blocks: HashSet::new(),
        });
        r.count += 1;
        r.thread_pairs += pairs;
        bounded(&mut r.addrs, addr);
        for s in [a, b] {
            bounded(&mut r.threads, (s.block, s.thread));
            bounded(&mut r.blocks, s.block);
        }
        let (x, y) = (a.thread / warp_size, b.thread / warp_size);
        bounded(&mut r.warp_pairs, (a.block, x.min(y), x.max(y)));
        // The example of the lowest block and thread is the same in every run.
        let old = (
            r.sides[0].block,
            r.sides[1].block,
            r.addr,
            r.sides[0].thread,
            r.sides[1].thread,
        );
        if (a.block, b.block, addr, a.thread, b.thread) < old {
            r.sides = [a, b];
            r.addr = addr;
        }
    }

    pub fn merge(&mut self, other: Races) {
        for (k, o) in other.map {
            match self.map.get_mut(&k) {
                None => {
                    self.map.insert(k, o);
                }
                Some(r) => {
                    r.count += o.count;
                    r.thread_pairs += o.thread_pairs;
                    o.addrs.into_iter().for_each(|x| bounded(&mut r.addrs, x));
                    o.threads
                        .into_iter()
                        .for_each(|x| bounded(&mut r.threads, x));
                    o.warp_pairs
                        .into_iter()
                        .for_each(|x| bounded(&mut r.warp_pairs, x));
                    o.blocks.into_iter().for_each(|x| bounded(&mut r.blocks, x));
                    let key = |s: &[Side; 2], a: u64| {
                        (s[0].block, s[1].block, a, s[0].thread, s[1].thread)
                    };
                    if key(&o.sides, o.addr) < key(&r.sides, r.addr) {
                        r.sides = o.sides;
                        r.addr = o.addr;
                    }
                }
            }
        }
    }

    pub fn is_empty(&self) -> bool {
        self.map.is_empty()
    }
}

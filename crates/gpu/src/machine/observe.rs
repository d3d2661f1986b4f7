//! What the machine tells a watcher, and the faults it reports itself.

use std::collections::HashMap;

use crate::ptx::Space;

use super::program::{Pc, Scope, Strength};
use super::survey::{Links, Shape};

/// What an access does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    Read,
    Write,
    /// Read-modify-write.
    Atomic,
}

/// One memory instruction of a warp, after its addresses were found good.
pub struct Access<'a, const W: usize> {
    pub pc: Pc,
    /// Counts the warp's instructions.
    pub stamp: u64,
    pub warp: u16,
    /// Lanes that touch this space; at least one.
    pub mask: u64,
    /// Generic addresses; less `origin` they are offsets into shared memory, or addresses of global memory.
    pub addrs: &'a [u64; W],
    pub origin: u64,
    /// The lowest and highest of the addresses of the lanes in `mask`, or of more lanes.
    pub lo: u64,
    pub hi: u64,
    /// How the addresses of the lanes in `mask` lie to each other.
    pub shape: Shape,
    pub links: Links,
    /// Bytes per lane.
    pub size: u32,
    pub what: What,
    pub strength: Strength,
    pub space: Space,
    /// What a write stores: one row per vector element; none if it is not known.
    pub values: &'a [[u64; W]],
    /// The block's shared memory, before this access if it writes.
    pub before: &'a [u8],
}

impl<const W: usize> Access<'_, W> {
    /// Offset into shared memory, or address, of a lane.
    #[inline(always)]
    pub fn at(&self, lane: usize) -> u64 {
        self.addrs[lane].wrapping_sub(self.origin)
    }
}

/// Sees all accesses and all synchronization of one block, in the order in which they happen.
pub trait Observer<const W: usize>: Send {
    /// False lets the compiler drop every call.
    const ON: bool;
    /// Another block begins; nothing of the last one counts.
    fn restart(&mut self, block: u32);
    /// Is the access of this instruction by these lanes worth telling?
    fn wants(&mut self, pc: Pc, mask: u64) -> bool;
    fn access(&mut self, a: &Access<'_, W>);
    /// These warps passed a barrier: `waited` learn all that `waited` and `arrived` did before.
    fn barrier(&mut self, waited: &[u16], arrived: &[u16]);
    /// `bar.warp.sync` by the lanes of `active`; `members` is the mask it names, cut to `live` lanes.
    fn warp_sync(&mut self, warp: u16, active: u64, members: u64, live: u64);
    fn fence(&mut self, warp: u16, stamp: u64, mask: u64, scope: Scope);
    /// The atomic that `access` announced has happened; generic addresses.
    fn acquired(&mut self, warp: u16, mask: u64, addrs: &[u64; W]);
    /// The second side, a thread at an instruction, touches the byte of shared memory that an asynchronous copy of the
    /// first side is about to write.
    fn in_flight(&mut self, copy: (Pc, u32), by: (Pc, u32, What), at: u64);
    /// The block is over.
    fn finish(&mut self);
}

/// Watches nothing.
pub struct Blind;

impl<const W: usize> Observer<W> for Blind {
    const ON: bool = false;
    fn restart(&mut self, _: u32) {}
    fn wants(&mut self, _: Pc, _: u64) -> bool {
        false
    }
    fn access(&mut self, _: &Access<'_, W>) {}
    fn barrier(&mut self, _: &[u16], _: &[u16]) {}
    fn warp_sync(&mut self, _: u16, _: u64, _: u64, _: u64) {}
    fn fence(&mut self, _: u16, _: u64, _: u64, _: Scope) {}
    fn acquired(&mut self, _: u16, _: u64, _: &[u64; W]) {}
    fn in_flight(&mut self, _: (Pc, u32), _: (Pc, u32, What), _: u64) {}
    fn finish(&mut self) {}
}

/// Something a correct kernel does not do, besides races.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FaultKind {
    OutOfBounds,
    Misaligned,
    UninitializedShared,
    BarrierDivergence,
    BarrierDeadlock,
    Assert,
    Trap,
    BadCall,
    BadFree,
    StackOverflow,
    StepLimit,
}

/// A fault with its first example.
#[derive(Clone, Debug)]
pub struct Fault {
    pub kind: FaultKind,
    pub pc: Pc,
    pub block: u32,
    /// Thread of the block.
    pub thread: u32,
    pub text: String,
    pub count: u64,
}

/// Faults of a block or launch, one entry per kind and place.
#[derive(Debug, Default)]
pub struct FaultLog {
    map: HashMap<(FaultKind, Pc), Fault>,
}

impl FaultLog {
    pub fn add(
        &mut self,
        kind: FaultKind,
        pc: Pc,
        block: u32,
        thread: u32,
        text: impl FnOnce() -> String,
    ) {
        self.map
            .entry((kind, pc))
            .and_modify(|f| f.count += 1)
            .or_insert_with(|| Fault {
                kind,
                pc,
                block,
                thread,
                text: text(),
                count: 1,
            });
    }

    /// Takes over another log; the example of the lowest block stays.
    pub fn merge(&mut self, other: FaultLog) {
        for (k, f) in other.map {
            match self.map.get_mut(&k) {
                None => {
                    self.map.insert(k, f);
                }
                Some(mine) => {
                    let count = mine.count + f.count;
                    if (f.block, f.thread) < (mine.block, mine.thread) {
                        *mine = f;
                    }
                    mine.count = count;
                }
            }
        }
    }

    pub fn sorted(self) -> Vec<Fault> {
        let mut v: Vec<Fault> = self.map.into_values().collect();
        v.sort_by_key(|f| (f.pc, f.kind));
        v
    }

    pub fn is_empty(&self) -> bool {
        self.map.is_empty()
    }
}

//! The shadow of one grain of memory: GRace-addr's maps, folded into stamps.
//!
//! Paper: Zheng, Ravi, Qin and Agrawal, "GRace: a low-overhead mechanism for detecting data races in GPU programs",
//! PPoPP 2011, Algorithms 2 and 4.
//! Guarantee: reports a grain as racing only if two accesses of it, one of them a write, were unordered; every grain
//! that Algorithm 4 reports is reported.
//! Cost: constant time and space for each access and each grain.
//!
//! | paper                            | here                                          |
//! |----------------------------------|-----------------------------------------------|
//! | wWarpShmMap, wBlockShmMap        | `w`: the last write, with its warp and epoch  |
//! | rWarpShmMap, rBlockShmMap        | `r`, `r2`: two readers of different warps     |
//! | clearing the maps at a barrier   | epochs: a stamp of an old epoch is no access  |
//! | warpTable (Algorithm 2)          | the write's `stamp`: same instruction or not  |
//!
//! Deviations: 1. Algorithm 4 line 8 and 12 compare a warp's counter with the block's by "<="; equality means that
//! this warp alone accessed the address, which is no race, so the comparison must be "<". Stamps say it directly:
//! the other access has another warp. 2. Sites and lanes are kept, so that a race found by address already names two
//! statements. 3. Two readers are enough to know that a writer of any warp meets a reader of another.

use crate::machine::What;
use crate::machine::program::{Pc, Scope, Strength};

/// An access, as the shadow remembers it. Epoch 0: none.
#[derive(Clone, Copy, Debug, Default)]
pub struct Point {
    pub block: u32,
    pub epoch: u32,
    pub pc: Pc,
    pub stamp: u32,
    /// Lane time inside the warp.
    pub time: u32,
    pub warp: u16,
    pub lane: u8,
    pub flags: u8,
}

/// Flags of a point.
pub const ATOMIC: u8 = 1;
pub const STRONG: u8 = 2;
pub const SCOPE_CTA: u8 = 4;
/// What it wrote is not known.
pub const UNKNOWN: u8 = 8;

/// A grain's shadow.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cell {
    pub w: Point,
    pub r: Point,
    pub r2: Point,
    /// Lanes of `r.warp` that read at `r.time`.
    pub readers: u64,
    /// Value of the last write.
    pub value: u64,
}

/// Flags for an access.
pub fn flags(what: What, s: Strength, shared: bool) -> u8 {
    let mut f = 0;
    if what == What::Atomic {
        f |= ATOMIC;
    }
    // Volatile shared accesses are how warp-synchronous code was written; they order nothing, so they count as plain.
    let scope = match s {
        Strength::Weak => None,
        Strength::Relaxed(Scope::Sys) if shared && what != What::Atomic => None,
        Strength::Relaxed(c)
        | Strength::Acquire(c)
        | Strength::Release(c)
        | Strength::AcqRel(c) => Some(c),
    };
    if let Some(c) = scope {
        f |= STRONG;
        if c == Scope::Cta {
            f |= SCOPE_CTA;
        }
    }
    f
}

/// Two strong accesses whose scopes reach each other do not race.
#[inline(always)]
pub fn both_strong(a: &Point, b: &Point) -> bool {
    a.flags & b.flags & STRONG != 0 && (a.block == b.block || (a.flags | b.flags) & SCOPE_CTA == 0)
}

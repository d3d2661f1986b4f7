//! Accesses of one place in the code that go on where the last one ended become one: what a loop touches is checked as a
//! range, whatever else it touches in between.
//!
//! They are of one strand with nothing between them that others could see, so their order does not matter to what races. It does
//! matter to what Eraser counts, so what is joined must not depend on the number of checkers: whether two accesses are, is decided
//! by what all of them are given, in one order. When each access was made is kept, for findings are told in that order.

use deadheat_trace::wire::Spot;

use crate::batch::{Access, Joined, kind};
use crate::detector::Needs;
use crate::sequence::STRIPE_SHIFT;

/// Places whose last access is remembered; a power of two.
const NEAR: usize = 1 << NEAR_BITS;
const NEAR_BITS: u32 = 8;

/// Where the last access of a place ended, and which one it is.
#[derive(Clone, Copy, Debug, Default)]
struct Last {
    end: u64,
    at: u32,
    /// The run that it belongs to; 0 for none.
    run: u32,
}

/// What is filled of a batch.
pub struct Parts<'a> {
    pub accesses: &'a mut Vec<Access>,
    pub joined: &'a mut Vec<Joined>,
}

/// The last access of each place, as far as it is remembered.
#[derive(Debug)]
pub struct Joins {
    near: [Last; NEAR],
    /// Bits of an address or a length that keep an access apart.
    apart: u64,
}

impl Default for Joins {
    fn default() -> Self {
        Joins {
            near: [Last::default(); NEAR],
            apart: 0,
        }
    }
}

impl Joins {
    /// Those of detectors that need that much.
    pub fn new(needs: Needs) -> Joins {
        Joins {
            // Parts of a cell stay apart if somebody counts what clashes access by access.
            apart: if needs.parts { 7 } else { 0 },
            ..Joins::default()
        }
    }

    /// Joins the access with an earlier one of the run with this number, or adds it; true if it was added. `batch` is that of the
    /// checker that has the memory.
    #[inline(always)]
    pub fn add(&mut self, batch: &mut Parts<'_>, run: u32, access: Access) -> bool {
        let near = &mut self.near[place(access.spot)];
        if near.end == access.addr
            && near.run == run
            && (access.addr | u64::from(access.len)) & self.apart == 0
            && join(near, batch, &access)
        {
            return false;
        }
        // What gives memory back is told by itself.
        if access.spot.kind() != kind::FREE {
            *near = Last {
                end: access.addr.wrapping_add(u64::from(access.len)),
                at: batch.accesses.len() as u32,
                run,
            };
        }
        batch.accesses.push(access);
        true
    }

    /// An access of this place went to several checkers: nothing is joined with it.
    pub fn cut(&mut self, spot: Spot) {
        self.near[place(spot)] = Last::default();
    }
}

/// Joins the access with the last one of its place, of the same run, which ends where it begins; false if they stay apart.
#[inline(always)]
fn join(near: &mut Last, batch: &mut Parts<'_>, access: &Access) -> bool {
    let end = access.addr.wrapping_add(u64::from(access.len));
    if let Some(last) = batch.accesses.get_mut(near.at as usize)
        && (last.spot, last.caller) == (access.spot, access.caller)
        && last.addr + u64::from(last.len) == access.addr
        && last.stride == 0
        && last.addr >> STRIPE_SHIFT == end.wrapping_sub(1) >> STRIPE_SHIFT
    {
        last.len += access.len;
        near.end = end;
        batch.joined.push(Joined {
            first: last.order,
            order: access.order,
            addr: access.addr,
        });
        return true;
    }
    false
}

#[inline(always)]
fn place(spot: Spot) -> usize {
    (spot.0.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (u64::BITS - NEAR_BITS)) as usize
}

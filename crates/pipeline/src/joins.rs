//! Accesses of one place in the code that go on where the last one ended become one: what a loop touches is checked as a
//! range, whatever else it touches in between.
//!
//! They are of one strand with nothing between them that others could see, so their order does not matter. Only if one checker
//! has all memory: where accesses go to several, each gets them as they were.

use deadheat_trace::wire::Spot;

use crate::batch::{Access, kind};
use crate::sequence::STRIPE_SHIFT;

/// Places whose last access is remembered; a power of two.
const NEAR: usize = 1 << NEAR_BITS;
const NEAR_BITS: u32 = 8;

/// Where the last access of a place ended, and which one it is.
#[derive(Clone, Copy, Debug, Default)]
struct Last {
    end: u64,
    at: u32,
}

/// The last access of each place, as far as it is remembered.
#[derive(Debug)]
pub struct Joins {
    near: [Last; NEAR],
}

impl Default for Joins {
    fn default() -> Self {
        Joins {
            near: [Last::default(); NEAR],
        }
    }
}

impl Joins {
    /// Joins the access with an earlier one of the run that begins at `first`, or adds it.
    #[inline(always)]
    pub fn add(&mut self, accesses: &mut Vec<Access>, first: u32, access: Access) {
        if !self.join(accesses, first, &access) {
            self.note(accesses, &access);
            accesses.push(access);
        }
    }

    /// Joins the access with an earlier one of the run that begins at `first`; false if there is none.
    #[inline(always)]
    fn join(&mut self, accesses: &mut [Access], first: u32, access: &Access) -> bool {
        let near = &mut self.near[place(access.spot)];
        let end = access.addr.wrapping_add(u64::from(access.len));
        // Parts of a cell stay apart: whoever counts what clashes counts them so.
        if near.end == access.addr
            && (access.addr | u64::from(access.len)).is_multiple_of(8)
            && near.at >= first
            && let Some(last) = accesses.get_mut(near.at as usize)
            && (last.spot, last.caller) == (access.spot, access.caller)
            && last.addr + u64::from(last.len) == access.addr
            && last.stride == 0
            && last.addr >> STRIPE_SHIFT == end.wrapping_sub(1) >> STRIPE_SHIFT
        {
            last.len += access.len;
            near.end = end;
            return true;
        }
        false
    }

    /// The access comes next: whatever goes on from there can be joined with it.
    #[inline(always)]
    fn note(&mut self, accesses: &[Access], access: &Access) {
        // What gives memory back is told by itself.
        if access.spot.kind() != kind::FREE {
            self.near[place(access.spot)] = Last {
                end: access.addr.wrapping_add(u64::from(access.len)),
                at: accesses.len() as u32,
            };
        }
    }
}

#[inline(always)]
fn place(spot: Spot) -> usize {
    (spot.0.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (u64::BITS - NEAR_BITS)) as usize
}

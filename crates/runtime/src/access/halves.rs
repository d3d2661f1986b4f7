//! Cells whose two halves a loop touches at two places, in each turn: told in two calls, one right after the other, and recorded at
//! once, as accesses to all of a cell under a number that stands for both ([`crate::history::Place::both`]).
//!
//! The compiler makes both calls before the loop, with nothing but arithmetic between them. A handler of a signal can run there,
//! and loops of its own: whoever comes with first halves while others wait tells those by themselves.

use deadheat_detect::entry::MASK;

use super::runs::{Numbered, Rest, TURNS_AT_ONCE, one_cell_a_turn, touch_strided};
use super::{ignored, leave};
use crate::history::{Place, Touch};
use crate::runtime::Runtime;
use crate::strand::Strand;

/// How large a half is.
pub const HALF: usize = 4;
/// The bytes of the first one.
const LOW: u8 = 0x0f;

/// Halves that a loop touches in its turns: `HALF` bytes in each, from `addr` on and `stride` from one to the next.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Halves {
    pub addr: usize,
    pub turns: usize,
    pub stride: isize,
    pub touch: Touch,
    pub place: Place,
}

/// Keeps first halves until the second ones come, which they do next. False if they are no halves of cells: then both are told
/// by themselves.
pub fn first(rt: &Runtime, s: &mut Strand, low: Halves) -> bool {
    if !low.addr.is_multiple_of(8) || low.stride % 8 != 0 || low.turns == 0 {
        return false;
    }
    s.enter();
    let waiting = s.low_halves.replace(low);
    leave(s);
    if let Some(other) = waiting {
        alone(rt, s, other);
    }
    true
}

/// Records second halves together with the first ones that wait for them; false if there are none.
pub fn second(rt: &Runtime, s: &mut Strand, high: Halves) -> bool {
    let is_mate = |low: &mut Halves| {
        let place = high.place;
        let addr = low.addr + HALF;
        Halves {
            addr,
            place,
            ..*low
        } == high
    };
    s.enter();
    let low = s.low_halves.take_if(is_mate);
    leave(s);
    match low {
        Some(low) => {
            together(rt, s, low, high.place);
            true
        }
        None => false,
    }
}

fn alone(rt: &Runtime, s: &mut Strand, halves: Halves) {
    let Halves {
        addr,
        turns,
        stride,
        touch,
        place,
    } = halves;
    touch_strided(rt, s, addr, turns, stride, HALF, touch, place, None);
}

/// All of the cells: the first halves at the one place and the second ones at the other.
fn together(rt: &Runtime, s: &mut Strand, low: Halves, high: Place) {
    if ignored(s, low.touch) {
        return;
    }
    let need = MASK | low.touch.bits();
    let mut turn = 0;
    while turn < low.turns {
        s.enter();
        let mut number = Numbered::of_two(low.place, LOW, high);
        let pause = (turn + TURNS_AT_ONCE).min(low.turns);
        while turn < pause {
            let start = low
                .addr
                .wrapping_add_signed(low.stride.wrapping_mul(turn as isize));
            let (left, stride) = (pause - turn, low.stride / 8);
            turn += one_cell_a_turn(rt, s, start, left, stride, need, Rest::Unknown, &mut number);
        }
        leave(s);
    }
}

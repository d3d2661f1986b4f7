//! Atomic accesses. The assembler for plain accesses to some bytes of a cell without a list does not ask of what kind they are.

use deadheat_detect::entry;

use super::*;
use crate::cell;
use crate::history::Touch;
use crate::runtime::Runtime;

/// As [`access::access`], for an atomic access of a strand that does not record.
#[inline]
pub fn atomic(rt: &Runtime, s: &mut Strand, addr: usize, size: usize, touch: Touch, pc: u64) {
    let offset = addr % 8;
    let cell = rt.shadow.existing(addr);
    let (Some(cell), true, false) = (cell, offset + size <= 8, access::ignored(s, touch)) else {
        return access::access(rt, s, addr, size, touch, pc);
    };
    let need = ((1u64 << size) - 1) << offset | touch.bits();
    // SAFETY: the shadow gave the cell.
    unsafe {
        let words = cell::words(cell);
        let been = |word| entry::same_step_covers(word, s.step_base, s.step_span, need);
        if been(words.first) || been(words.second) {
            return;
        }
        let place = Place::new(pc, touch, size as u64);
        // What others did here at the same time is no race, but more than the assembler settles: it would lock the cell in vain.
        let known = |word| s.clock.covers_word(word);
        if words.first & LIST == 0 && known(words.first) && known(words.second) {
            no_hook::in_words(addr, need, s, cell, place);
        } else {
            unsettled(addr & !7, need, s, cell, place);
        }
    }
}

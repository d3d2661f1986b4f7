//! What tests need to hold this against its specification.

use super::across::tested_across;
use super::list::{tested_known, tested_list};
use super::one_cell::{tested_part, tested_read8, tested_write8};
use super::table::tested_table;
use super::two_cells::{tested_read16, tested_write16};
use super::*;
use crate::cell;

std::thread_local! {
    static LEFT: core::cell::Cell<bool> = const { core::cell::Cell::new(false) };
}

pub(super) unsafe extern "C" fn left(_: usize, _: u64, _: &mut Strand, _: *mut Cell, _: Place) {
    LEFT.set(true);
}

/// Lets the hooks' assembler settle the access; false if it left that to [`access::unsettled`].
///
/// # Safety
/// As for that.
pub unsafe fn settle(
    addr: usize,
    need: u64,
    s: &mut Strand,
    cell: *mut Cell,
    place: Place,
) -> bool {
    LEFT.set(false);
    // SAFETY: by the contract.
    unsafe {
        // Once: others may change the cell, and a word that names no table is none to look into.
        let first = cell::words(cell).first;
        if cell::table::named_by(first) {
            tested_table(addr, need, s, cell, place, first);
        } else if first & LIST != 0 {
            let known = s.known_lists.has(first, s.step_base, need);
            assert_eq!(
                tested_known(need, s, first),
                known,
                "the assembler asks for the same"
            );
            if !known {
                tested_list(addr, need, s, cell, place, first);
            }
        } else if need == MASK | PLAIN | WRITE {
            tested_write8(addr, need, s, cell, place, first);
        } else if need == MASK | PLAIN {
            tested_read8(addr, need, s, cell, place, first);
        } else {
            tested_part(addr, need, s, cell, place, first);
        }
    }
    !LEFT.get()
}

/// The same for all bytes of the cell and of the next one; false if it left both.
///
/// # Safety
/// As for [`settle`], and both cells must be of one block.
pub unsafe fn settle_two(
    addr: usize,
    need: u64,
    s: &mut Strand,
    cell: *mut Cell,
    place: Place,
) -> bool {
    LEFT.set(false);
    // SAFETY: by the contract.
    unsafe {
        let first = cell::words(cell).first;
        if need & WRITE != 0 {
            tested_write16(addr, need, s, cell, place, first);
        } else {
            tested_read16(addr, need, s, cell, place, first);
        }
    }
    !LEFT.get()
}

/// Lets the hooks' assembler do all of an access across cells of one block.
///
/// # Safety
/// As for [`settle`], with the cell of the first byte.
pub unsafe fn across(
    addr: usize,
    size: usize,
    kind: u64,
    s: &mut Strand,
    cell: *mut Cell,
    place: Place,
) {
    let bytes = ((1 << size) - 1) << (addr % 8);
    // SAFETY: by the contract.
    unsafe { tested_across(addr, bytes, s, cell, place, kind) };
}

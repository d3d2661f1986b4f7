//! The same ways for whoever is no hook: the ends of ranges, copies of a few bytes, atomic accesses.

use super::*;
use crate::cell;

/// An access to some bytes of a cell that the present step has not made.
///
/// # Safety
/// As for [`unsettled`].
#[inline(always)]
pub unsafe fn settle_one(addr: usize, need: u64, s: &mut Strand, cell: *mut Cell, place: Place) {
    // SAFETY: by the contract.
    unsafe {
        if cell::words(cell).first & LIST == 0 {
            in_words(addr, need, s, cell, place);
        } else {
            let access = InCell {
                addr,
                cell,
                need,
                place,
            };
            access::not_been(s.runtime.unwrap_or(&RT), s, access);
        }
    }
}

/// [`settle_part`], which asks neither of what kind the access is nor whether it is one to all bytes.
///
/// # Safety
/// As for [`unsettled`].
#[unsafe(naked)]
pub unsafe extern "C" fn in_words(
    addr: usize,
    need: u64,
    s: &mut Strand,
    cell: *mut Cell,
    place: Place,
) {
    naked_asm!(
        "mov rax, rcx",
        "mov r9, r8",
        "jmp {part}",
        part = sym settle_part,
    )
}

//! Cells with a list: only the number of the access is found here.

use super::*;
use crate::cell::LIST_UNIT;
use crate::strand::known_lists;

/// Goes to $yes if the list that r10 names is known to have the access (`strand::known_lists`). Uses rcx and r11.
macro_rules! known_list {
    ($yes:literal) => {
        concat!(
            "mov r11, r10
             shr r11, {word_shift}
             xor r11d, esi
             and r11d, {spot_mask}
             shl r11d, {spot_bits}
             mov rcx, qword ptr [rdx + {step_base}]
             or rcx, rsi
             cmp r10, qword ptr [rdx + r11 + {known_lists}]
             jne 50f
             cmp rcx, qword ptr [rdx + r11 + {known_lists} + 8]
             je ",
            $yes,
            "\n50:\n"
        )
    };
}

/// A plain access to a cell with a list that is no table. The list is seldom near: it comes while the number is looked for.
///
/// # Safety
/// For the hooks only, with the registers in the table of this module.
#[unsafe(naked)]
pub unsafe extern "C" fn settle_list() {
    naked_asm!(
        "mov r10, qword ptr [rax]",
        known_list!("51f"),
        "shr r10, {seq_shift}
         shl r10, {unit}
         prefetcht0 byte ptr [r10]
         jmp {numbered}
      51:
         ret",
        seq_shift = const SEQ_SHIFT,
        unit = const LIST_UNIT,
        word_shift = const known_lists::WORD_SHIFT,
        spot_mask = const known_lists::MASK,
        spot_bits = const known_lists::SPOT_BITS,
        step_base = const offset_of!(Strand, step_base),
        known_lists = const offset_of!(Strand, known_lists),
        numbered = sym numbered_list,
    )
}

/// Whether the hooks would find that the list is known to have the access.
///
/// # Safety
/// None is needed.
#[cfg(test)]
#[unsafe(naked)]
pub unsafe extern "C" fn tested_known(need: u64, s: &Strand, word: u64) -> bool {
    naked_asm!(
        "mov r10, rdx
         mov rdx, rsi
         mov rsi, rdi",
        known_list!("51f"),
        "xor eax, eax
         ret
      51:
         mov eax, 1
         ret",
        word_shift = const known_lists::WORD_SHIFT,
        spot_mask = const known_lists::MASK,
        spot_bits = const known_lists::SPOT_BITS,
        step_base = const offset_of!(Strand, step_base),
        known_lists = const offset_of!(Strand, known_lists),
    )
}

settle! {
    /// The same when the list is on its way.
    numbered_list, tested_list, unsettled,
    concat!(
        "jmp 82f\n",
        tail!(),
        "85:
         cmp cx, {shared}
         jne 80b
      82:
         mov rcx, rax
         mov rdi, qword ptr [r8]
         mov r8, qword ptr [rsp - 8]
         jmp {listed}\n"
    )
}

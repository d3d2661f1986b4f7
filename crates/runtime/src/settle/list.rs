//! Cells with a list: only the number of the access is found here.

use super::*;
use crate::cell::LIST_UNIT;

/// A plain access to a cell with a list that is no table. The list is seldom near: it comes while the number is looked for.
///
/// # Safety
/// For the hooks only, with the registers in the table of this module.
#[unsafe(naked)]
pub unsafe extern "C" fn settle_list() {
    naked_asm!(
        "mov r10, qword ptr [rax]
         shr r10, {seq_shift}
         shl r10, {unit}
         prefetcht0 byte ptr [r10]
         jmp {numbered}",
        seq_shift = const SEQ_SHIFT,
        unit = const LIST_UNIT,
        numbered = sym numbered_list,
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

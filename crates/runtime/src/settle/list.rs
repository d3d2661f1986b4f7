//! Cells with a list: only the number of the access is found here.

use super::*;

settle! {
    /// A plain access to a cell with a list that is no table.
    settle_list, tested_list, unsettled,
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

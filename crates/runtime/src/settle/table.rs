//! Cells with a table.

use super::*;

/// Goes to 80 if the first word does not name a table or is locked.
macro_rules! has_table {
    ($else:literal) => {
        concat!(
            "mov ecx, r10d\n and ecx, {list_or_lock} + {table}\n cmp ecx, {list} + {table}\n jne ",
            $else,
            "\n"
        )
    };
}

/// Puts r9 into the parts of the cell's table that the access is, if it is whole ones but not all, and all that was done to them
/// happened before (`table::settle_table`); else goes to 89, with nothing changed.
macro_rules! into_table {
    () => {
        concat!(
            "cmp sil, {mask}
             je 89f
             mov r11, r10
             shl r11, {no_version}
             shr r11, {no_version} + {seq_shift}
             shl r11, {address_unit}
             mov rcx, r10
             shr rcx, {part_shift}
             mov r10d, 1
             shl r10d, cl
             dec r10d
             mov rdi, qword ptr [r8]
             and edi, 7
             test edi, r10d
             jnz 89f
             shr edi, cl
             shl edi, 4
             add r11, rdi
             mov rdi, qword ptr [rsp - 8]
             shr rdi, {size_shift}
             test edi, r10d
             jnz 89f
             shr edi, cl
             shl edi, 4
             lea r10, [r11 + rdi]
             mov qword ptr [rsp - 16], r11
             mov rdi, qword ptr [rax]
             test edi, {sole}
             jz 50f
             mov rcx, qword ptr [rax + 8]
             xor rcx, r9
             shr rcx, {slot_shift}
             jz 54f
          50:\n",
            into_table!("r11"),
            into_table!("r11 + 8"),
            "add r11, 16
             cmp r11, r10
             jne 50b
             mov r11, qword ptr [rsp - 16]
             and qword ptr [rax], -{sole} - 1
          54:
             or r9, rsi
             test esi, {write}
             jz 52f
          51:
             mov qword ptr [r11], r9
             mov qword ptr [r11 + 8], 0
             add r11, 16
             cmp r11, r10
             jne 51b
             jmp 53f
          52:
             mov qword ptr [r11 + 8], r9
             add r11, 16
             cmp r11, r10
             jne 52b
          53:
             mov qword ptr [rax + 8], r9\n"
        )
    };
    ($word:literal) => {
        concat!(
            "mov rdi, qword ptr [",
            $word,
            "]
             mov rcx, rdi
             shr rcx, {slot_shift}
             cmp rcx, qword ptr [rdx + {clock_len}]
             jae 89f
             shl rcx, 3
             add rcx, qword ptr [rdx + {clock}]
             cmp rdi, qword ptr [rcx]
             ja 89f\n"
        )
    };
}

settle! {
    /// A plain access to a cell with a table.
    settle_table, tested_table, unsettled,
    concat!(
        has_table!("80f"),
        into_table!(),
        "jmp 60f
      89:
         jmp 80f\n",
        tail!(),
        shared!(has_table!("80b")),
        into_table!(),
        "mov rcx, qword ptr [rax]
         and rcx, -{lock} - 1
         mov qword ptr [rax], rcx
         jmp 60b
      89:
         mov rcx, qword ptr [rax]
         and rcx, -{lock} - 1
         mov qword ptr [rax], rcx
         jmp 80b\n"
    )
}

//! Cells with a table.

use super::*;

/// Goes on if the first word still names the table that the hook saw, and is not locked.
macro_rules! same_table {
    ($else:literal) => {
        concat!(
            "cmp r10, qword ptr [rsp - 24]\n jne ",
            $else,
            "\n test r10d, {lock}\n jnz ",
            $else,
            "\n"
        )
    };
}

/// Goes on if all that a word of the table says happened before; else to 89.
macro_rules! part_known {
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

/// Goes to $yes if all that the table holds is of the strand's slot.
macro_rules! sole {
    ($yes:literal) => {
        concat!(
            "test r10d, {sole}
             jz 50f
             mov rcx, qword ptr [rax + 8]
             xor rcx, r9
             shr rcx, {slot_shift}
             jz ",
            $yes,
            "\n50:\n"
        )
    };
}

/// Puts r9 into the parts of the cell's table that the access is, if it is whole ones but not all, and all that was done to them
/// happened before (`table::settle_table`); else goes to 89, with nothing changed. Most accesses are one part.
macro_rules! into_table {
    () => {
        concat!(
            "mov rcx, r10
             shr rcx, {part_shift}
             mov r11, qword ptr [rsp - 8]
             shr r11, {size_shift}
             mov edi, 1
             shl edi, cl
             cmp r11d, edi
             jne 55f
             dec edi
             test dword ptr [r8], edi
             jnz 89f
             mov r11, qword ptr [rsp - 16]\n",
            sole!("54f"),
            part_known!("r11"),
            part_known!("r11 + 8"),
            "and qword ptr [rax], -{sole} - 1
          54:
             or r9, rsi
             test esi, {write}
             jz 52f
             mov qword ptr [r11], r9
             mov qword ptr [r11 + 8], 0
             jmp 53f
          52:
             mov qword ptr [r11 + 8], r9
             jmp 53f
          55:
             cmp sil, {mask}
             je 89f
             dec edi
             test dword ptr [r8], edi
             jnz 89f
             test r11d, edi
             jnz 89f
             shr r11d, cl
             shl r11d, 4
             mov r10, qword ptr [rsp - 16]
             lea rdi, [r10 + r11]
             mov r11, r10
             mov r10, qword ptr [rsp - 24]
             mov qword ptr [rsp - 24], rdi\n",
            sole!("56f"),
            "51:\n",
            part_known!("r11"),
            part_known!("r11 + 8"),
            "add r11, 16
             cmp r11, qword ptr [rsp - 24]
             jne 51b
             mov r11, qword ptr [rsp - 16]
             and qword ptr [rax], -{sole} - 1
          56:
             mov r10, qword ptr [rsp - 24]
             or r9, rsi
             test esi, {write}
             jz 58f
          57:
             mov qword ptr [r11], r9
             mov qword ptr [r11 + 8], 0
             add r11, 16
             cmp r11, r10
             jne 57b
             jmp 53f
          58:
             mov qword ptr [r11 + 8], r9
             add r11, 16
             cmp r11, r10
             jne 58b
          53:
             mov qword ptr [rax + 8], r9\n"
        )
    };
}

settle! {
    /// A plain access to a cell with a table. Right below the stack are the words of the first part that it touches, and below
    /// those the cell's first word, as they were seen.
    settle_table, tested_table, unsettled,
    concat!(
        part_of_table!(),
        "mov qword ptr [rsp - 16], r8
         mov qword ptr [rsp - 24], r10\n"
    ),
    concat!(
        same_table!("80f"),
        into_table!(),
        "jmp 60f
      89:
         jmp 80f\n",
        tail!(),
        shared!(same_table!("80b")),
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

/// An access to all bytes of a cell with a table.
///
/// # Safety
/// For the hooks only, with the registers in the table of this module.
#[unsafe(naked)]
pub unsafe extern "C" fn settle_whole_table() {
    naked_asm!(
        "mov rcx, rax
         mov r8, r9
         jmp {unsettled}",
        unsettled = sym unsettled
    )
}

//! Accesses that lie across two or three cells: one after the other, with one number.

use super::*;

/// Goes to 5 if the word is of the present step and has all that r10 asks for.
macro_rules! has_touched {
    ($word:literal, $else:literal) => {
        concat!(
            "mov r11, ",
            $word,
            "\n mov rcx, r11
             and rcx, r10
             cmp rcx, r10
             jne ",
            $else,
            "f\n sub r11, qword ptr [rdx]
             cmp r11, qword ptr [rdx + 8]
             jb 5f\n",
            $else,
            ":"
        )
    };
}

/// Each cell that the present step has not touched so yet is settled by itself. All are of one block.
///
/// | register | on entry |
/// |---|---|
/// | rdi | the address |
/// | esi | a bit for each byte, counted from the first byte of the first cell |
/// | rdx | the strand |
/// | rax | the first cell |
/// | r8 | the kind |
/// | r9 | the place |
///
/// # Safety
/// For the hooks only.
#[unsafe(naked)]
pub unsafe extern "C" fn settle_across() {
    naked_asm!(
        "2:
         movzx r10d, sil
         or r10d, r8d",
        has_touched!("qword ptr [rax]", "3"),
        has_touched!("qword ptr [rax + 8]", "4"),
        keeping_registers!(
            "mov qword ptr [rsp + 40], r8
             mov esi, r10d
             call {settle}
             mov r8, qword ptr [rsp + 40]"
        ),
        "5:
         shr esi, 8
         jz 6f
         add rdi, 8
         and rdi, -8
         add rax, 16
         jmp 2b
      6:
         ret",
        settle = sym settle_part,
    )
}

/// The same for tests.
///
/// # Safety
/// As for that.
#[cfg(test)]
#[unsafe(naked)]
pub unsafe extern "C" fn tested_across(
    addr: usize,
    bytes: u64,
    s: &mut Strand,
    cell: *mut Cell,
    place: Place,
    kind: u64,
) {
    naked_asm!(
        "mov rax, rcx
         xchg r8, r9
         jmp {settle}",
        settle = sym settle_across,
    )
}

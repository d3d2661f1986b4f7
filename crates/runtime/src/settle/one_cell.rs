//! Cells without a list.

use super::*;

/// What the words become: r10 and r11, the second being 0 or another one at 62, and the one that was the second having
/// become the first at 61: then it must be there before it is overwritten.
macro_rules! put_own {
    () => {
        "jmp 62f
      61:
         mov qword ptr [rax], r10
         mov qword ptr [rax + 8], r11
         jmp 60f
      88:
         jmp 81f
      89:
         jmp 80f
      62:
         mov qword ptr [rax + 8], r11
         mov qword ptr [rax], r10
        "
    };
}

/// The same, and the cell is unlocked by the last store.
macro_rules! put_shared {
    () => {
        "jmp 62f
      61:
         mov rcx, r10
         or rcx, {lock}
         mov qword ptr [rax], rcx
      62:
         mov qword ptr [rax + 8], r11
         mov qword ptr [rax], r10
         jmp 60b
      88:
      89:
         mov qword ptr [rax], r10
         jmp 80b
        "
    };
}

/// For a cell without a list; the middle part says what the words become: r10 and r11 were there, r9 is new. It goes to
/// 89, with nothing changed, if it cannot.
macro_rules! two_words {
    ($middle:expr) => {
        concat!(
            no_list!("80f"),
            words!(),
            $middle,
            put_own!(),
            tail!(),
            shared!(no_list!("80b")),
            words!(),
            $middle,
            put_shared!()
        )
    };
}

settle! {
    /// A plain write of all 8 bytes: whatever happened before it may be forgotten.
    settle_write8, tested_write8, unsettled,
    two_words!(becomes_written!())
}

settle! {
    /// A plain read of all 8 bytes: writes stay, and at most one of the words can be one.
    settle_read8, tested_read8, unsettled,
    two_words!(becomes_read!())
}

/// What an access leaves of an older one in $word, of which something stays, by what it does not have in ecx: of another strand's the bytes go that
/// it touches as much (`quick::left_by`). Uses rdi.
macro_rules! leaves {
    ($word:literal) => {
        concat!(
            "mov rdi, ",
            $word,
            "\n xor rdi, r9
             shr rdi, {slot_shift}
             jz 57f
             mov edi, ecx
             and edi, ",
            $word,
            "d\n test edi, {kind}
             jnz 57f
             mov rdi, rcx
             or rdi, -256
             and ",
            $word,
            ", rdi
          57:\n"
        )
    };
}

settle! {
    /// A plain access to some bytes.
    settle_part, tested_part, unsettled,
    two_words!(concat!(
    "mov rcx, r10
     xor rcx, r9
     cmp rcx, 255
     jbe 53f
     mov rcx, r11
     xor rcx, r9
     cmp rcx, 255
     jbe 54f
     mov ecx, esi
     not ecx
     and ecx, {what}
     test r11d, ecx
     jnz 51f
     test r10d, ecx
     jz 52f\n",
    leaves!("r10"),
    "test esi, {write}
     jz 50f
     mov r11, r10
     mov r10, r9
     jmp 62f
  50:
     mov r11, r9
     jmp 62f
  51:
     test r10d, ecx
     jnz 88f\n",
    leaves!("r11"),
    "test esi, {write}
     jz 55f
     mov r10, r9
     jmp 62f
  55:
     mov r10, r11
     mov r11, r9
     jmp 61f
  53:
     or r10, r9
     mov ecx, r10d
     not ecx
     and ecx, {what}
     test r11d, ecx
     jz 56f\n",
    leaves!("r11"),
    "jmp 62f
  56:
     xor r11d, r11d
     jmp 62f
  54:
     or r11, r9
     mov ecx, r11d
     not ecx
     and ecx, {what}
     test r10d, ecx
     jz 59f\n",
    leaves!("r10"),
    "jmp 62f
  59:
     mov r10, r11
     xor r11d, r11d
     jmp 61f
  52:
     xor r11d, r11d
     mov r10, r9
    "))
}

//! What all ways to settle are made of: whose the page is, what the cell's words are and whether they happened before, and the ways out.

/// Goes on if the strand owns the page, with the first word in r10; else to 85, with the owner in cx.
macro_rules! own {
    () => {
        "mov ecx, edi
         and ecx, 0xfff8
         add ecx, ecx
         mov r11, rax
         sub r11, rcx
         mov ecx, edi
         shr ecx, {page_shift}
         and ecx, {page_mask}
         movzx ecx, word ptr [r11 + rcx - {owners}]
         cmp cx, word ptr [rdx + {owner_name}]
         jne 85f
         mov r10, qword ptr [rax]
        "
    };
}

/// Goes to 80 if the first word names a list or is locked.
macro_rules! no_list {
    ($else:literal) => {
        concat!("test r10d, {list_or_lock}\n jnz ", $else, "\n")
    };
}

/// The same if the page is shared: the cell is locked then.
macro_rules! shared {
    ($fits:expr) => {
        concat!(
            "85:
         cmp cx, {shared}
         jne 80b
         mov r10, qword ptr [rax]\n",
            $fits,
            "mov rcx, rax
         mov rax, r10
         mov rdi, r10
         or rdi, {lock}
         lock cmpxchg qword ptr [rcx], rdi
         mov rax, rcx
         jne 80b\n"
        )
    };
}

/// Loads the second word into r11, and goes on if all that both say happened before; else to 89.
macro_rules! words {
    () => {
        concat!("mov r11, qword ptr [rax + 8]\n", known!())
    };
}

/// Goes on if all that the words in r10 and r11 say happened before; else to 89.
macro_rules! known {
    () => {
        "mov rdi, qword ptr [rdx + {clock}]
         mov rcx, r10
         or rcx, r11
         shr rcx, {slot_shift}
         cmp rcx, qword ptr [rdx + {clock_len}]
         jae 89f
         mov rcx, r10
         shr rcx, {slot_shift}
         cmp r10, qword ptr [rdi + rcx*8]
         ja 89f
         mov rcx, r11
         shr rcx, {slot_shift}
         cmp r11, qword ptr [rdi + rcx*8]
         ja 89f
         or r9, rsi
        "
    };
}

/// Whatever happened before a write of all bytes may be forgotten.
macro_rules! becomes_written {
    () => {
        "mov r10, r9
         xor r11d, r11d
        "
    };
}

/// Writes stay beside a read of all bytes, and at most one of the words can be one.
macro_rules! becomes_read {
    () => {
        "test r11d, {write}
     jnz 51f
     test r10d, {write}
     jz 52f
     mov r11, r9
     jmp 62f
  51:
     test r10d, {write}
     jnz 89f
     mov r10, r11
     mov r11, r9
     jmp 61f
  52:
     xor r11d, r11d
     mov r10, r9
    "
    };
}

/// The words of the first part that is touched at rdi, into r8, in the table that r10 names. Uses rcx and r11.
#[cfg(any(test, feature = "export"))]
macro_rules! part_of_table {
    () => {
        "mov r8, r10
         shl r8, {no_version}
         shr r8, {no_version} + {seq_shift}
         shl r8, {address_unit}
         mov r11d, edi
         and r11d, 7
         mov rcx, r10
         shr rcx, {part_shift}
         shr r11d, cl
         shl r11d, 4
         add r8, r11\n"
    };
}
#[cfg(feature = "export")]
pub(crate) use part_of_table;

/// Does the call in between with all registers of an entry and what was put down right below the stack kept, and the stack as
/// calls want it.
macro_rules! keeping_registers {
    ($call:literal) => {
        concat!(
            "sub rsp, 88
             mov qword ptr [rsp], rdi
             mov qword ptr [rsp + 8], rsi
             mov qword ptr [rsp + 16], rdx
             mov qword ptr [rsp + 24], rax
             mov qword ptr [rsp + 32], r9\n",
            $call,
            "\n mov rdi, qword ptr [rsp]
             mov rsi, qword ptr [rsp + 8]
             mov rdx, qword ptr [rsp + 16]
             mov rax, qword ptr [rsp + 24]
             mov r9, qword ptr [rsp + 32]
             add rsp, 88\n"
        )
    };
}

/// Gives the frames that have no number the ones that these calls had before (`Strand::number_frames`), and goes to 91; or on, with the frames
/// as they are, if one of them is not among the calls that were numbered lately. No handler of a signal runs meanwhile.
macro_rules! name_frames {
    () => {
        "mov r8, qword ptr [rdx + {at_work}]
         mov qword ptr [r8], rdi
         mov r11, qword ptr [rdx + {frames_known}]
      93:
         mov r10d, dword ptr [r11 - 8]
         shl r10, {caller_shift}
         xor r10, qword ptr [r11]
         movabs rcx, {call_factor}
         imul r10, rcx
         shr r10, 64 - {call_bits}
         shl r10, 4
         add r10, rdx
         mov rcx, qword ptr [r11]
         cmp rcx, qword ptr [r10 + {calls}]
         jne 94f
         mov ecx, dword ptr [r11 - 8]
         cmp ecx, dword ptr [r10 + {calls} + {call_caller}]
         jne 94f
         mov ecx, dword ptr [r10 + {calls} + {call_callee}]
         mov dword ptr [r11 + 8], ecx
         add r11, 16
         mov qword ptr [rdx + {frames_known}], r11
         mov rcx, qword ptr [rdx + {frames_top}]
         cmp rcx, r11
         jne 93b
         jmp 91b
      94:
         mov qword ptr [r8], 0\n"
    };
}

/// What the others jump to: see the table of labels in `settle`.
macro_rules! tail {
    () => {
        concat!(
            "60:
             mov qword ptr [r8], 0
             cmp dword ptr [rdx + {pending}], 0
             jne 65f
             ret
          65:
             mov rdi, rdx
             jmp {deliver}\n",
            other_site!(),
            "80:
             mov rdi, qword ptr [r8]
             mov qword ptr [r8], 0
             mov r9, qword ptr [rsp - 8]
             jmp 92f
          81:
             mov rcx, rax
             mov rdi, qword ptr [r8]
             mov r8, qword ptr [rsp - 8]
             jmp {both}
          90:\n",
            name_frames!(),
            keeping_registers!("mov rdi, rdx\n call {name_frames}"),
            "mov rcx, qword ptr [rdx + {frames_top}]
             cmp rcx, qword ptr [rdx + {frames_known}]
             je 91b
          92:
             mov rcx, rax
             mov r8, r9
             jmp {unsettled}\n"
        )
    };
}

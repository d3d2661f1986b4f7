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

/// Does the call in between with all registers of an entry kept, and the stack as calls want it.
macro_rules! keeping_registers {
    ($call:literal) => {
        concat!(
            "sub rsp, 56
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
             add rsp, 56\n"
        )
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
            new_number!(),
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

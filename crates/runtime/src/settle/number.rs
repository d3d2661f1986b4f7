//! The number of the access: the one that its place has in this step, or a new one.

/// Goes on with the stamp in r10 if the half of a pair of sites at rcx is of this place, compared with the lowest one that the present step may
/// use.
macro_rules! site_here {
    ($else:literal) => {
        concat!(
            "cmp qword ptr [rcx], r9
             jne ",
            $else,
            "\n cmp dword ptr [rcx + {site_caller}], r11d
             jne ",
            $else,
            "\n mov r10, qword ptr [rcx + {site_stamp}]
             cmp r10, qword ptr [rdx + {sites_from}]\n"
        )
    };
}

/// Up to where the number is known: in r9 its stamp, in r8 where the strand says what it does.
macro_rules! number {
    () => {
        concat!(
            "mov rcx, qword ptr [rdx + {frames_top}]
         cmp rcx, qword ptr [rdx + {frames_known}]
         jne 90f
      91:
         mov qword ptr [rsp - 8], r9
         mov r11d, dword ptr [rcx - 8]
         mov r8, qword ptr [rdx + {at_work}]
         mov ecx, r9d
         shr ecx, 8
         xor ecx, r9d
         xor ecx, r11d
         and ecx, dword ptr [rdx + {last_pair}]
         shl ecx, 6
         add rcx, qword ptr [rdx + {pairs}]
         mov qword ptr [r8], rdi\n",
            site_here!("70f"),
            "jb 73f
      71:
         mov r9, r10\n"
        )
    };
}

/// At 70 the number is not in the first half of its pair of sites, at 73 it is of an earlier step there: goes to 71 with one in
/// r10, or to 80 if that needs another chunk of history (`Strand::quick_number`).
macro_rules! new_number {
    () => {
        concat!(
            "70:
         xor rcx, {other_site}\n",
            site_here!("72f"),
            "jae 71b
      73:
         mov rdi, qword ptr [rdx + {seq}]
         inc rdi
         test edi, {chunk_mask}
         jz 80f
         cmp qword ptr [rdx + {sites_from}], -1
         je 80f
         mov r10d, dword ptr [rdx + {site}]
         sub r10d, dword ptr [rcx + {site_id}]
         cmp r10d, {reused}
         jae 77f
         mov r10d, dword ptr [rcx + {site_id}]
      75:
         mov qword ptr [rdx + {seq}], rdi
         mov r9d, edi
         and r9d, {chunk_mask}
         shl r9d, 2
         add r9, qword ptr [rdx + {chunk}]
         mov dword ptr [r9], r10d
         shl rdi, {seq_shift}
         or rdi, qword ptr [rdx + {slot_stamp}]
         mov qword ptr [rcx + {site_stamp}], rdi
         mov r10, rdi
         mov rdi, qword ptr [r8]
         jmp 71b
      72:
         mov rdi, qword ptr [rdx + {seq}]
         inc rdi
         test edi, {chunk_mask}
         jz 80f
         cmp qword ptr [rdx + {sites_from}], -1
         je 80f
         mov r10d, dword ptr [rdx + {site}]
         inc r10d
         test r10d, {chunk_mask}
         jz 80f
         movaps xmm0, xmmword ptr [rcx - {other_site}]
         movaps xmm1, xmmword ptr [rcx - {other_site} + 16]
         movaps xmmword ptr [rcx], xmm0
         movaps xmmword ptr [rcx + 16], xmm1
         sub rcx, {other_site}
      76:
         mov dword ptr [rdx + {site}], r10d
         mov qword ptr [rcx], r9
         mov dword ptr [rcx + {site_caller}], r11d
         mov dword ptr [rcx + {site_id}], r10d
         and r10d, {chunk_mask}
         shl r10d, 4
         add r10, qword ptr [rdx + {site_chunk}]
         mov qword ptr [r10], r9
         mov dword ptr [r10 + 8], r11d
         mov r10d, dword ptr [rcx + {site_id}]
         jmp 75b
      77:
         mov r10d, dword ptr [rdx + {site}]
         inc r10d
         test r10d, {chunk_mask}
         jnz 76b\n"
        )
    };
}

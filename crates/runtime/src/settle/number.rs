//! The number of the access: the one that its place has in this step, or a new one.

/// Goes on if what is at rcx among sites is of the place in r9 and the calls in r11.
macro_rules! site_here {
    ($else:literal) => {
        concat!(
            "cmp qword ptr [rcx], r9
             jne ",
            $else,
            "\n cmp dword ptr [rcx + {site_caller}], r11d
             jne ",
            $else,
            "\n"
        )
    };
}

/// Up to where the number is known: in r9 its stamp, in r8 where the strand says what it does. The site is looked for where
/// the one was that came after the last one before. At 73 a place that has a
/// site gets a new number, or goes to 80 if that needs another chunk of history (`Strand::quick_number`).
macro_rules! number {
    () => {
        concat!(
            "mov rcx, qword ptr [rdx + {frames_top}]
         cmp rcx, qword ptr [rdx + {frames_known}]
         jne 90f
      91:
         mov qword ptr [rsp - 8], r9
         mov r11d, dword ptr [rcx - 8]
         mov rcx, qword ptr [rdx + {guessed_site}]
         mov r8, qword ptr [rdx + {at_work}]
         mov qword ptr [r8], rdi\n",
            site_here!("70f"),
            "74:
         mov r10, qword ptr [rcx + {site_then}]
         mov r9, qword ptr [rcx + {site_stamp}]
         mov qword ptr [rdx + {last_site}], rcx
         mov qword ptr [rdx + {guessed_site}], r10
         prefetcht0 byte ptr [r10]
         cmp r9, qword ptr [rdx + {sites_from}]
         jae 71f
      73:
         mov r11, qword ptr [rdx + {seq}]
         inc r11
         cmp r11, qword ptr [rdx + {quick_end}]
         jae 80f
         mov r9d, dword ptr [rcx + {site_id}]
         mov r10, qword ptr [rdx + {numbers}]
         mov qword ptr [rdx + {seq}], r11
         mov dword ptr [r10 + r11*4], r9d
         shl r11, {seq_shift}
         or r11, qword ptr [rdx + {slot_stamp}]
         mov qword ptr [rcx + {site_stamp}], r11
         mov r9, r11
      71:\n"
        )
    };
}

/// At 70 it was another site that came next: it is in one half of its pair, or gets a site in the first, unless that
/// needs another chunk. From 75 on the last one knows of it.
macro_rules! other_site {
    () => {
        concat!(
            "70:
         mov ecx, r9d
         shr ecx, 8
         xor ecx, r9d
         xor ecx, r11d
         and ecx, dword ptr [rdx + {last_pair}]
         shl ecx, 6
         add rcx, qword ptr [rdx + {pairs}]\n",
            site_here!("76f"),
            "75:
         mov r10, qword ptr [rdx + {last_site}]
         mov qword ptr [r10 + {site_then}], rcx
         jmp 74b
      76:
         add rcx, {other_site}\n",
            site_here!("72f"),
            "jmp 75b
      72:
         mov r10d, dword ptr [rdx + {site}]
         inc r10d
         test r10d, {chunk_mask}
         jz 80f
         movaps xmm0, xmmword ptr [rcx - {other_site}]
         movaps xmm1, xmmword ptr [rcx - {other_site} + 16]
         movaps xmmword ptr [rcx], xmm0
         movaps xmmword ptr [rcx + 16], xmm1
         sub rcx, {other_site}
         mov dword ptr [rdx + {site}], r10d
         mov qword ptr [rcx], r9
         mov dword ptr [rcx + {site_caller}], r11d
         mov dword ptr [rcx + {site_id}], r10d
         mov qword ptr [rcx + {site_stamp}], 0
         mov qword ptr [rcx + {site_then}], rcx
         and r10d, {chunk_mask}
         shl r10d, 4
         add r10, qword ptr [rdx + {site_chunk}]
         mov qword ptr [r10], r9
         mov dword ptr [r10 + 8], r11d
         jmp 75b\n"
        )
    };
}

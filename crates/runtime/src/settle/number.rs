//! The number of the access: the one that its place has in this step, or a new one.

/// Goes on if the half of a pair of sites at rcx is of the place in r9 and the calls in r11.
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

/// Loads the stamp of the site's last number into r9, and compares it with the lowest one that the present step may use.
macro_rules! newest_stamp {
    () => {
        "mov r9, qword ptr [rcx + {site_stamp}]
         cmp r9, qword ptr [rdx + {sites_from}]\n"
    };
}

/// Up to where the number is known: in r9 its stamp, in r8 where the strand says what it does. At 73 a place that has a
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
            newest_stamp!(),
            "jae 71f
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

/// At 70 the place is not in the first half of its pair of sites: it is in the other one, or gets a site there, unless that
/// needs another chunk.
macro_rules! other_site {
    () => {
        concat!(
            "70:
         xor rcx, {other_site}\n",
            site_here!("72f"),
            newest_stamp!(),
            "jae 71b
         jmp 73b
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
         and r10d, {chunk_mask}
         shl r10d, 4
         add r10, qword ptr [rdx + {site_chunk}]
         mov qword ptr [r10], r9
         mov dword ptr [r10 + 8], r11d
         jmp 73b\n"
        )
    };
}

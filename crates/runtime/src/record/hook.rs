//! The compiler's hooks in a program that records: most accesses are of bytes that this step has recorded already, and those
//! end here, in assembler.
//!
//! A hook that finds no shadow comes here with the address in rdi, its caller's program counter in rsi and the size in
//! edx. The specification of the test is `Recorder::has`; whatever it does not settle goes on to the slow path.

use core::arch::naked_asm;
use core::mem::offset_of;

use crate::record::recorder::{LINE_BITS, LINES, Line, Recorder};
use crate::strand::Strand;

// A line's number becomes the place of its entry by one shift.
const ENTRY_BITS: u32 = size_of::<Line>().trailing_zeros();
const TO_ENTRY: u32 = LINE_BITS - ENTRY_BITS;
const ENTRIES: usize = (LINES - 1) << ENTRY_BITS;
const RECORDER: usize = offset_of!(Strand, recorder);
const FILTER: usize = offset_of!(Recorder, filter);
const _: () = assert!(offset_of!(Recorder, step) == 0 && offset_of!(Line, tag) == 0);

/// Ends the hook if all bytes of the access have their bit in the line's word at `{known}`, else goes on to `{slow}`. What
/// crosses the end of a line finds zeroes there.
macro_rules! settled {
    () => {
        "mov r11, qword ptr [rip + __deadheat_strand@GOTTPOFF]
         mov r11, qword ptr fs:[r11]
         mov r11, qword ptr [r11 + {recorder}]
         test r11, r11
         jz {slow}
         mov eax, edi
         shr eax, {to_entry}
         and eax, {entries}
         mov r8, rdi
         shr r8, {line_bits}
         add r8, qword ptr [r11]
         cmp qword ptr [r11 + rax + {filter}], r8
         jne {slow}
         mov r9, qword ptr [r11 + rax + {filter} + {known}]
         mov ecx, edi
         shr r9, cl
         not r9
         mov ecx, edx
         neg ecx
         shl r9, cl
         jnz {slow}
         ret"
    };
}

/// # Safety
/// Only for the hooks of `abi::plain`, with their registers.
#[unsafe(naked)]
pub unsafe extern "C" fn read(addr: usize, pc: u64, size: usize) {
    naked_asm!(
        settled!(),
        recorder = const RECORDER, to_entry = const TO_ENTRY, entries = const ENTRIES, line_bits = const LINE_BITS,
        filter = const FILTER, known = const offset_of!(Line, reads), slow = sym crate::abi::plain::slow_read
    )
}

/// # Safety
/// Only for the hooks of `abi::plain`, with their registers.
#[unsafe(naked)]
pub unsafe extern "C" fn write(addr: usize, pc: u64, size: usize) {
    naked_asm!(
        settled!(),
        recorder = const RECORDER, to_entry = const TO_ENTRY, entries = const ENTRIES, line_bits = const LINE_BITS,
        filter = const FILTER, known = const offset_of!(Line, writes), slow = sym crate::abi::plain::slow_write
    )
}

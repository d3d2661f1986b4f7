//! The compiler's hooks in a program that records: most accesses are of bytes that this step has recorded already, and those
//! end here, in assembler.
//!
//! A hook that finds no shadow comes here with the address in rdi, its caller's program counter in rsi and the size in
//! edx. The specification of the test is `Recorder::has`; whatever it does not settle goes on to the slow path.

use core::arch::naked_asm;
use core::mem::offset_of;

use crate::record::recorder::{LINE_BITS, LINES, Line, Recorder, STEP_BITS};
use crate::strand::Strand;

const _: () = assert!(size_of::<Line>() == 32 && offset_of!(Line, tag) == 0);

/// Ends the hook if all bytes of the access have their bit in the line's word at `$known`, else goes on to `{slow}`.
macro_rules! settled {
    () => {
        "mov rcx, qword ptr [rip + __deadheat_strand@GOTTPOFF]
         mov rcx, qword ptr fs:[rcx]
         mov rcx, qword ptr [rcx + {recorder}]
         test rcx, rcx
         jz {slow}
         mov rax, rdi
         shr rax, {line_bits}
         mov r8, rax
         shl r8, {step_bits}
         or r8, qword ptr [rcx + {step}]
         and eax, {lines}
         shl eax, 5
         add rax, qword ptr [rcx + {filter}]
         cmp qword ptr [rax], r8
         jne {slow}
         mov r9, qword ptr [rax + {known}]
         mov ecx, edi
         shr r9, cl
         mov ecx, edx
         mov r10, -1
         shl r10, cl
         or r9, r10
         inc r9
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
        recorder = const offset_of!(Strand, recorder), line_bits = const LINE_BITS, step_bits = const STEP_BITS,
        step = const offset_of!(Recorder, step), filter = const offset_of!(Recorder, filter), lines = const LINES - 1,
        known = const offset_of!(Line, reads), slow = sym crate::abi::plain::slow_read
    )
}

/// # Safety
/// Only for the hooks of `abi::plain`, with their registers.
#[unsafe(naked)]
pub unsafe extern "C" fn write(addr: usize, pc: u64, size: usize) {
    naked_asm!(
        settled!(),
        recorder = const offset_of!(Strand, recorder), line_bits = const LINE_BITS, step_bits = const STEP_BITS,
        step = const offset_of!(Recorder, step), filter = const offset_of!(Recorder, filter), lines = const LINES - 1,
        known = const offset_of!(Line, writes), slow = sym crate::abi::plain::slow_write
    )
}

//! The compiler's hooks in a program that records, in assembler: what this step has recorded already ends here, and so
//! does most of what it has not.
//!
//! A hook that finds no shadow comes here with the address in rdi, its caller's program counter in rsi and the size in
//! edx. The specification of the test is `Recorder::has`; that of the rest is [`super::touch`], to which everything goes
//! that is not as most accesses are: bytes of two lines, accesses that are ignored, calls without a number, a place that must
//! be written first, a full frame. Until then nothing is changed.

use core::arch::naked_asm;
use core::mem::offset_of;

use deadheat_trace::wire::{self, Touch};

use crate::access;
use crate::record::recorder::{LINE_BITS, LINES, Line, PLACE_FACTOR, PLACE_SHIFT, Recorder};
use crate::strand::Strand;

// A line's number becomes the place of its entry by one shift.
const ENTRY_BITS: u32 = size_of::<Line>().trailing_zeros();
const TO_ENTRY: u32 = LINE_BITS - ENTRY_BITS;
const ENTRIES: usize = (LINES - 1) << ENTRY_BITS;
const _: () = assert!(offset_of!(Recorder, step) == 0 && offset_of!(Line, tag) == 0);

/// Delivers signals that arrived while the strand was at work.
extern "C" fn deliver(s: &mut Strand) {
    access::deliver_waiting(s);
}

/// Ends the hook if all bytes of the access have their bit in the line's word at `{known}`, else goes on to 1. What
/// crosses the end of a line finds zeroes there. Leaves the strand in r10, the recorder in r11, the offset of the line's
/// entry in rax and its tag in r8.
macro_rules! settled {
    () => {
        "mov r10, qword ptr [rip + __deadheat_strand@GOTTPOFF]
         mov r10, qword ptr fs:[r10]
         mov r11, qword ptr [r10 + {recorder}]
         test r11, r11
         jz {slow}
         mov eax, edi
         shr eax, {to_entry}
         and eax, {entries}
         mov r8, rdi
         shr r8, {line_bits}
         add r8, qword ptr [r11]
         cmp qword ptr [r11 + rax + {filter}], r8
         jne 1f
         mov r9, qword ptr [r11 + rax + {filter} + {known}]
         mov ecx, edi
         shr r9, cl
         not r9
         mov ecx, edx
         neg ecx
         shl r9, cl
         jnz 1f
         ret
        "
    };
}

/// Writes the access if its calls have a number and its place is known: the index of that is in r9 then, the bytes are
/// in rsi, and the number of the calls, which are written first if they are others than before, is in edx. While the
/// strand is at work no handler of a signal runs.
macro_rules! recorded {
    ($forget:literal, $add:literal) => {
        concat!(
            "1:
         mov ecx, edi
         and ecx, {line_mask}
         add ecx, edx
         cmp ecx, {line_mask} + 1
         ja {slow}
         mov rcx, rdi
         shr rcx, {address_bits}
         jnz {slow}
         cmp dword ptr [r10 + {ignored}], 0
         jne {slow}
         mov rcx, qword ptr [r10 + {frames_top}]
         cmp rcx, qword ptr [r10 + {frames_known}]
         jne {slow}
         mov rcx, qword ptr [r11 + {at}]
         cmp rcx, qword ptr [r11 + {end}]
         jae {slow}
         mov rcx, rdx
         shl rcx, 4
         or rcx, {touch}
         shl rcx, {touch_shift}
         or rcx, rsi
         movabs r9, {place_factor}
         imul r9, rcx
         shr r9, {place_shift}
         cmp qword ptr [r11 + r9*8 + {places}], rcx
         jne {slow}
         mov ecx, edx
         neg ecx
         mov rsi, -1
         shr rsi, cl
         mov ecx, edi
         shl rsi, cl
         mov rdx, qword ptr [r10 + {frames_top}]
         mov edx, dword ptr [rdx - 8]
         mov rcx, qword ptr [r10 + {at_work}]
         mov qword ptr [rcx], rdi
         lea rax, [r11 + rax + {filter}]
         cmp qword ptr [rax], r8
         je 2f
         mov qword ptr [rax], r8
         mov qword ptr [rax + {reads}], rsi
         mov qword ptr [rax + {writes}], ",
            $forget,
            "
         jmp 3f
      2: ",
            $add,
            "
      3:
         shl rdi, {address_shift}
         lea rdi, [rdi + r9*2 + 1]
         mov r9, qword ptr [r11 + {at}]
         cmp edx, dword ptr [r11 + {caller}]
         je 5f
         mov dword ptr [r11 + {caller}], edx
         shl rdx, 32
         or rdx, {calls}
         mov qword ptr [r9], rdx
         add r9, 8
      5:
         mov qword ptr [r9], rdi
         add r9, 8
         mov qword ptr [r11 + {at}], r9
         mov qword ptr [rcx], 0
         cmp dword ptr [r10 + {pending}], 0
         jne 4f
         ret
      4:
         mov rdi, r10
         jmp {deliver}
        "
        )
    };
}

macro_rules! hook {
    ($name:ident, $slow:path, $ignored:ident, $known:ident, $touch:expr, $forget:literal, $add:literal) => {
        /// # Safety
        /// Only for the hooks of `abi::plain`, with their registers.
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name(addr: usize, pc: u64, size: usize) {
            naked_asm!(
                settled!(),
                recorded!($forget, $add),
                recorder = const offset_of!(Strand, recorder),
                frames_top = const offset_of!(Strand, frames_top),
                frames_known = const offset_of!(Strand, frames_known),
                ignored = const offset_of!(Strand, $ignored),
                at_work = const offset_of!(Strand, at_work),
                pending = const offset_of!(Strand, pending),
                to_entry = const TO_ENTRY,
                entries = const ENTRIES,
                line_bits = const LINE_BITS,
                line_mask = const (1 << LINE_BITS) - 1,
                filter = const offset_of!(Recorder, filter),
                places = const offset_of!(Recorder, places),
                caller = const offset_of!(Recorder, caller),
                at = const offset_of!(Recorder, at),
                end = const offset_of!(Recorder, end),
                known = const offset_of!(Line, $known),
                reads = const offset_of!(Line, reads),
                writes = const offset_of!(Line, writes),
                touch = const $touch as u8,
                touch_shift = const wire::KIND_SHIFT,
                address_shift = const wire::ADDRESS_SHIFT,
                address_bits = const wire::ADDRESS_BITS,
                place_factor = const PLACE_FACTOR,
                place_shift = const PLACE_SHIFT,
                calls = const wire::CALLS,
                deliver = sym deliver,
                slow = sym $slow
            )
        }
    };
}

hook!(
    read,
    crate::abi::plain::slow_read,
    ignore_reads,
    reads,
    Touch::Read,
    "0",
    "or qword ptr [rax + {reads}], rsi"
);
hook!(
    write,
    crate::abi::plain::slow_write,
    ignore_writes,
    writes,
    Touch::Write,
    "rsi",
    "or qword ptr [rax + {reads}], rsi
         or qword ptr [rax + {writes}], rsi"
);

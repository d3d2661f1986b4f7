//! Plain reads and writes, as the compiler announces them.
//!
//! The fast path is assembler, because only so it can hand on its caller's program counter and keep to a few
//! registers: find the cell, and return if one of its two words says that this step has been here with
//! at least these bytes and this kind (`entry::same_step_covers`, which is its specification). A first touch goes on in
//! [`settle`], all else is slow.
//! The instruction budget is checked by a test on the release library.

use core::arch::naked_asm;

use deadheat_detect::entry::{LIST, MASK, PLAIN, WRITE};

use crate::abi::tls;
use crate::access;
use crate::history::{Place, Touch};
use crate::record::hook;
use crate::runtime::RT;
use crate::settle;
use crate::strand::{READ_LISTS, READ_LISTS_SHIFT};

const READ: u64 = PLAIN;
const WRITTEN: u64 = PLAIN | WRITE;

pub(crate) extern "C" fn slow_read(addr: usize, pc: u64, size: usize) {
    if let Some(s) = tls::me() {
        access::access(&RT, s, addr, size, Touch::Read, pc);
    }
}

pub(crate) extern "C" fn slow_write(addr: usize, pc: u64, size: usize) {
    if let Some(s) = tls::me() {
        access::access(&RT, s, addr, size, Touch::Write, pc);
    }
}

/// A size that the assembler templates have as text.
const fn size(text: &str) -> u64 {
    match text.as_bytes() {
        [d] => (*d - b'0') as u64,
        [t, d] => (*t - b'0') as u64 * 10 + (*d - b'0') as u64,
        _ => panic!("sizes have one or two digits"),
    }
}

/// Loads the strand into rdx and the cell's address into rax; jumps to 9 if there is no block.
macro_rules! find_cell {
    () => {
        "mov rdx, qword ptr [rip + __deadheat_strand@GOTTPOFF]
         mov rdx, qword ptr fs:[rdx]
         mov rcx, qword ptr [rdx + 16]
         test rcx, rcx
         jz 9f
         mov rax, rdi
         shr rax, 16
         mov rax, qword ptr [rcx + rax*8]
         test rax, rax
         jz 9f
         movzx ecx, di
         and ecx, 0xfff8
         lea rax, [rax + rcx*2]
        "
    };
}

/// Goes on at label $done if one of the words of the cell at rax + $cell is of this step and covers rsi, else to $else with
/// the first word in r10.
macro_rules! check_cell {
    (write, $cell:literal, $done:literal, $else:literal) => {
        check_cell!($cell, "", "r10", "r8", $done, $else)
    };
    // The first word of a cell with a list is no entry: only `check_list` can say something of it.
    (read, $cell:literal, $done:literal, $else:literal) => {
        check_cell!(
            $cell,
            concat!("test r10d, {list}\n jnz ", $else, "f"),
            "r8",
            "r10",
            $done,
            $else
        )
    };
    ($cell:literal, $between:expr, $likely:literal, $other:literal, $done:literal, $else:literal) => {
        concat!(
            "mov r10, qword ptr [rax + ",
            $cell,
            "]\n",
            "mov r8, qword ptr [rax + ",
            $cell,
            " + 8]\n",
            "mov r9, ",
            $likely,
            "\n",
            "and r9, rsi\n",
            "cmp r9, rsi\n",
            "jne 2f\n",
            "sub ",
            $likely,
            ", qword ptr [rdx]\n",
            "cmp ",
            $likely,
            ", qword ptr [rdx + 8]\n",
            "jb ",
            $done,
            "f\n",
            "2:\n",
            $between,
            "\n",
            "mov r9, ",
            $other,
            "\n",
            "and r9, rsi\n",
            "cmp r9, rsi\n",
            "jne ",
            $else,
            "f\n",
            "mov r9, ",
            $other,
            "\n",
            "sub r9, qword ptr [rdx]\n",
            "cmp r9, qword ptr [rdx + 8]\n",
            "jae ",
            $else,
            "f\n",
            $done,
            ":\n",
        )
    };
}

/// At label $here with a cell's first word in r10: back to $done if it names a list that this step is known to have read,
/// else to $else.
macro_rules! check_list {
    ($here:literal, $done:literal, $else:literal) => {
        concat!(
            $here,
            ":\n",
            "test r10d, {list}\n",
            "jz ",
            $else,
            "f\n",
            "mov r8, r10\n",
            "shr r8, {lists_shift}\n",
            "and r8d, {lists_mask}\n",
            "cmp r10, qword ptr [rdx + r8*8 + 56]\n",
            "je ",
            $done,
            "b\n",
            "jmp ",
            $else,
            "f\n",
        )
    };
}

/// The ways out of the fast path: 8 with the cell in rax, 9 without.
macro_rules! slow_tail {
    ($size:literal) => {
        concat!(
            "8:
                 movabs r9, {place}
                 or r9, qword ptr [rsp]
                 jmp {settle}
                 9: mov rsi, qword ptr [rsp]
                 mov edx, ",
            $size,
            "
                 jmp {slow}"
        )
    };
}

/// The first of two cells in a row is not settled; after that the second is looked at from label 19 on. Or there is no
/// block: 9.
macro_rules! wide_slow_tail {
    ($size:literal) => {
        concat!(
            "movabs r9, {place}
             or r9, qword ptr [rsp]
             sub rsp, 24
             mov qword ptr [rsp], rdi
             mov qword ptr [rsp + 8], rax
             mov qword ptr [rsp + 16], rdx
             mov esi, {need}
             call {settle}
             mov rdi, qword ptr [rsp]
             mov rax, qword ptr [rsp + 8]
             mov rdx, qword ptr [rsp + 16]
             add rsp, 24
             jmp 19f
          9: mov rsi, qword ptr [rsp]
             mov edx, ",
            $size,
            "
             jmp {slow}
            "
        )
    };
}

/// The second of two cells in a row is not settled.
macro_rules! wide_second_tail {
    () => {
        "mov esi, {need}
         movabs r9, {place}
         or r9, qword ptr [rsp]
         add rdi, 8
         add rax, 16
         jmp {settle}"
    };
}

/// Hooks for one size of 1, 2 or 4 bytes: somewhere inside a cell, or across two (then slow).
macro_rules! small_hooks {
    ($($size:literal, $mask:literal, $highest:literal: $read:ident $write:ident;)*) => { $(
        /// # Safety
        /// For the compiler's instrumentation only: called right before the access, so that the memory is the program's.
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $read(addr: usize) {
            naked_asm!(
                find_cell!(),
                "mov ecx, edi",
                "and ecx, 7",
                concat!("cmp ecx, ", $highest),
                "ja 9f",
                concat!("mov esi, ", $mask),
                "shl esi, cl",
                "or esi, {kind}",
                check_cell!(read, "0", "30", "40"),
                "ret",
                check_list!("40", "30", "8"),
                slow_tail!($size),
                kind = const READ, slow = sym hook::read, settle = sym settle::settle_part, place = const Place::new(0, Touch::Read, size($size)).0,
                lists_shift = const READ_LISTS_SHIFT, lists_mask = const READ_LISTS - 1, list = const LIST
            )
        }
        /// # Safety
        /// For the compiler's instrumentation only: called right before the access, so that the memory is the program's.
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $write(addr: usize) {
            naked_asm!(
                find_cell!(),
                "mov ecx, edi",
                "and ecx, 7",
                concat!("cmp ecx, ", $highest),
                "ja 9f",
                concat!("mov esi, ", $mask),
                "shl esi, cl",
                "or esi, {kind}",
                check_cell!(write, "0", "30", "8"),
                "ret",
                slow_tail!($size),
                kind = const WRITTEN, slow = sym hook::write, settle = sym settle::settle_part, place = const Place::new(0, Touch::Write, size($size)).0
            )
        }
    )* };
}

small_hooks! {
    "1", "1", "7": __tsan_read1 __tsan_write1;
    "2", "3", "6": __tsan_read2 __tsan_write2;
    "4", "15", "4": __tsan_read4 __tsan_write4;
}

/// Goes to $yes if the word in $word is of this step and has all the bits of $need, which are the lowest ones: then adding one
/// clears them.
macro_rules! whole_word {
    ($word:literal, $need:literal, $yes:expr) => {
        concat!(
            "lea r9, [",
            $word,
            " + 1]\n",
            "test r9d, {",
            $need,
            "}\n",
            "jnz 2f\n",
            "sub r9, qword ptr [rdx]\n",
            "cmp r9, qword ptr [rdx + 8]\n",
            "jb ",
            $yes,
            "\n2:\n",
        )
    };
}

/// Loads the words of the cell at rax + $cell into r10 and r8 and looks for a read (or write) of all its bytes: goes to
/// $read if r8 is one, to $written if r10 is one, and to $list if r10 names a list that has one.
macro_rules! read_whole {
    ($cell:literal, $read:literal, $written:literal, $list:literal) => {
        concat!(
            "mov r8, qword ptr [rax + ",
            $cell,
            " + 8]\n",
            "mov r10, qword ptr [rax + ",
            $cell,
            "]\n",
            whole_word!("r8", "need", $read),
            "test r10d, {list}\n",
            "jnz 3f\n",
            whole_word!("r10", "need", $written),
            "jmp 4f\n",
            "3: mov r9, r10\n",
            "shr r9, {lists_shift}\n",
            "and r9d, {lists_mask}\n",
            "cmp r10, qword ptr [rdx + r9*8 + 56]\n",
            "je ",
            $list,
            "\n4:\n",
        )
    };
}

/// The same for a write: goes to $written if r10 is one, or to $other if r8 is.
macro_rules! write_whole {
    ($cell:literal, $written:literal, $other:literal) => {
        concat!(
            "mov r10, qword ptr [rax + ",
            $cell,
            "]\n",
            "mov r8, qword ptr [rax + ",
            $cell,
            " + 8]\n",
            whole_word!("r10", "need", $written),
            whole_word!("r8", "need", $other),
        )
    };
}

/// # Safety
/// For the compiler's instrumentation only: called right before the access, so that the memory is the program's.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __tsan_read8(addr: usize) {
    naked_asm!(
        find_cell!(),
        "test dil, 7",
        "jnz 9f",
        read_whole!("0", "30f", "30f", "30f"),
        "mov esi, {need}",
        slow_tail!("8"),
        "30: ret",
        need = const MASK | READ, slow = sym hook::read, settle = sym settle::settle_read8,
        place = const Place::new(0, Touch::Read, 8).0,
        lists_shift = const READ_LISTS_SHIFT, lists_mask = const READ_LISTS - 1, list = const LIST
    )
}

/// # Safety
/// For the compiler's instrumentation only: called right before the access, so that the memory is the program's.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __tsan_write8(addr: usize) {
    naked_asm!(
        find_cell!(),
        "test dil, 7",
        "jnz 9f",
        write_whole!("0", "30f", "30f"),
        "mov esi, {need}",
        slow_tail!("8"),
        "30: ret",
        need = const MASK | WRITTEN, slow = sym hook::write, settle = sym settle::settle_write8,
        place = const Place::new(0, Touch::Write, 8).0,
    )
}

// 16 bytes that begin in the last cell of a region need the next region's block: slow. Two cells in a row mostly have the
// same word: what settles the first then settles the second.

/// # Safety
/// For the compiler's instrumentation only: called right before the access, so that the memory is the program's.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __tsan_read16(addr: usize) {
    naked_asm!(
        find_cell!(),
        "test dil, 7",
        "jnz 9f",
        "cmp ecx, 0xfff8",
        "je 9f",
        read_whole!("0", "30f", "31f", "31f"),
        wide_slow_tail!("16"),
        "30: cmp r8, qword ptr [rax + 24]",
        "jne 19f",
        "33: ret",
        "31: cmp r10, qword ptr [rax + 16]",
        "je 33b",
        "19:",
        read_whole!("16", "33b", "33b", "33b"),
        wide_second_tail!(),
        need = const MASK | READ, slow = sym hook::read, settle = sym settle::settle_read8,
        place = const Place::new(0, Touch::Read, 16).0,
        lists_shift = const READ_LISTS_SHIFT, lists_mask = const READ_LISTS - 1, list = const LIST
    )
}

/// # Safety
/// For the compiler's instrumentation only: called right before the access, so that the memory is the program's.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __tsan_write16(addr: usize) {
    naked_asm!(
        find_cell!(),
        "test dil, 7",
        "jnz 9f",
        "cmp ecx, 0xfff8",
        "je 9f",
        write_whole!("0", "31f", "30f"),
        wide_slow_tail!("16"),
        "31: cmp r10, qword ptr [rax + 16]",
        "jne 19f",
        "33: ret",
        "30: cmp r8, qword ptr [rax + 24]",
        "je 33b",
        "19:",
        write_whole!("16", "33b", "33b"),
        wide_second_tail!(),
        need = const MASK | WRITTEN, slow = sym hook::write, settle = sym settle::settle_write8,
        place = const Place::new(0, Touch::Write, 16).0,
    )
}

/// Hooks with another name and the same meaning.
macro_rules! same_as {
    ($($name:ident = $target:ident;)*) => { $(
        /// # Safety
        /// For the compiler's instrumentation only: called right before the access, so that the memory is the program's.
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(addr: usize) {
            naked_asm!("jmp {target}", target = sym $target)
        }
    )* };
}

same_as! {
    __tsan_unaligned_read1 = __tsan_read1; __tsan_unaligned_write1 = __tsan_write1;
    __tsan_unaligned_read2 = __tsan_read2; __tsan_unaligned_write2 = __tsan_write2;
    __tsan_unaligned_read4 = __tsan_read4; __tsan_unaligned_write4 = __tsan_write4;
    __tsan_unaligned_read8 = __tsan_read8; __tsan_unaligned_write8 = __tsan_write8;
    __tsan_unaligned_read16 = __tsan_read16; __tsan_unaligned_write16 = __tsan_write16;
    __tsan_volatile_read1 = __tsan_read1; __tsan_volatile_write1 = __tsan_write1;
    __tsan_volatile_read2 = __tsan_read2; __tsan_volatile_write2 = __tsan_write2;
    __tsan_volatile_read4 = __tsan_read4; __tsan_volatile_write4 = __tsan_write4;
    __tsan_volatile_read8 = __tsan_read8; __tsan_volatile_write8 = __tsan_write8;
    __tsan_volatile_read16 = __tsan_read16; __tsan_volatile_write16 = __tsan_write16;
    __tsan_unaligned_volatile_read2 = __tsan_read2; __tsan_unaligned_volatile_write2 = __tsan_write2;
    __tsan_unaligned_volatile_read4 = __tsan_read4; __tsan_unaligned_volatile_write4 = __tsan_write4;
    __tsan_unaligned_volatile_read8 = __tsan_read8; __tsan_unaligned_volatile_write8 = __tsan_write8;
    __tsan_unaligned_volatile_read16 = __tsan_read16; __tsan_unaligned_volatile_write16 = __tsan_write16;
    // A read and a write of one place: whatever races with the read races with the write too.
    __tsan_read_write1 = __tsan_write1; __tsan_unaligned_read_write1 = __tsan_write1;
    __tsan_read_write2 = __tsan_write2; __tsan_unaligned_read_write2 = __tsan_write2;
    __tsan_read_write4 = __tsan_write4; __tsan_unaligned_read_write4 = __tsan_write4;
    __tsan_read_write8 = __tsan_write8; __tsan_unaligned_read_write8 = __tsan_write8;
    __tsan_read_write16 = __tsan_write16; __tsan_unaligned_read_write16 = __tsan_write16;
}

/// The same accesses with a program counter that the caller chose.
macro_rules! with_pc {
    ($($size:literal: $read:ident $write:ident;)*) => { $(
        #[unsafe(no_mangle)]
        pub extern "C" fn $read(addr: usize, pc: u64) {
            slow_read(addr, pc, $size);
        }
        #[unsafe(no_mangle)]
        pub extern "C" fn $write(addr: usize, pc: u64) {
            slow_write(addr, pc, $size);
        }
    )* };
}

with_pc! {
    1: __tsan_read1_pc __tsan_write1_pc;
    2: __tsan_read2_pc __tsan_write2_pc;
    4: __tsan_read4_pc __tsan_write4_pc;
    8: __tsan_read8_pc __tsan_write8_pc;
    16: __tsan_read16_pc __tsan_write16_pc;
}

extern "C" fn range_of(addr: usize, size: usize, pc: u64, touch: Touch) {
    if let Some(s) = tls::me() {
        access::access_range(&RT, s, addr, size, touch, pc);
    }
}

extern "C" fn read_range(addr: usize, size: usize, pc: u64) {
    range_of(addr, size, pc, Touch::Read);
}

extern "C" fn write_range(addr: usize, size: usize, pc: u64) {
    range_of(addr, size, pc, Touch::Write);
}

/// # Safety
/// For the compiler's instrumentation only: called right before the access, so that the memory is the program's.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __tsan_read_range(addr: usize, size: usize) {
    naked_asm!("mov rdx, qword ptr [rsp]", "jmp {f}", f = sym read_range)
}

/// # Safety
/// For the compiler's instrumentation only: called right before the access, so that the memory is the program's.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __tsan_write_range(addr: usize, size: usize) {
    naked_asm!("mov rdx, qword ptr [rsp]", "jmp {f}", f = sym write_range)
}

#[unsafe(no_mangle)]
pub extern "C" fn __tsan_read_range_pc(addr: usize, size: usize, pc: u64) {
    read_range(addr, size, pc);
}

#[unsafe(no_mangle)]
pub extern "C" fn __tsan_write_range_pc(addr: usize, size: usize, pc: u64) {
    write_range(addr, size, pc);
}

/// A constructor or destructor sets the pointer to the virtual functions. Setting it to what it is already is no write.
extern "C" fn vptr_update(slot: *const usize, new: usize, pc: u64) {
    // SAFETY: the program is about to write the slot, so it can be read.
    if unsafe { slot.read() } != new
        && let Some(s) = tls::me()
    {
        access::access(&RT, s, slot as usize, 8, Touch::VptrWrite, pc);
    }
}

/// # Safety
/// For the compiler's instrumentation only: called right before the access, so that the memory is the program's.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __tsan_vptr_update(slot: *const usize, new: usize) {
    naked_asm!("mov rdx, qword ptr [rsp]", "jmp {f}", f = sym vptr_update)
}

same_as! { __tsan_vptr_read = __tsan_read8; }

//! Plain reads and writes, as the compiler announces them.
//!
//! The fast path is assembler, because only so it can hand on its caller's program counter and keep to a few
//! registers: find the cell, and return if one of its two words says that this step has been here with
//! at least these bytes and this kind (`entry::same_step_covers`, which is its specification). A first touch goes on in
//! [`settle`], all else is slow.
//! The instruction budget is checked by a test on the release library.

use core::arch::naked_asm;

use deadheat_detect::entry::{LIST, MASK, PLAIN, SEQ_SHIFT, WRITE};

use crate::abi::tls;
use crate::access::{self, halves};
use crate::ahead;
use crate::cell::{ADDRESS_UNIT, PART_SHIFT, TABLE, VERSION_SHIFT};
use crate::history::{Place, Touch};
use crate::record::turns::{self, Loop};
use crate::record::{self, hook};
use crate::runtime::RT;
use crate::settle::{self, part_of_table};
use crate::strand::{READ_LISTS, READ_LISTS_SHIFT, Strand};

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

/// Loads the strand into rdx, and into rax what must be added to twice the address for the cell's address; jumps to 9 if
/// there is no block.
macro_rules! find_block {
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
        "
    };
}

/// Goes to $yes if the word in $word, or at it, is of this step and covers $need; uses r9 and r11.
macro_rules! word_covers {
    ($word:literal, $need:literal, $yes:literal) => {
        concat!(
            "mov r9, ",
            $word,
            "\n mov r11, r9\n and r11, ",
            $need,
            "\n cmp r11, ",
            $need,
            "\n jne 2f\n sub r9, qword ptr [rdx]\n cmp r9, qword ptr [rdx + 8]\n jb ",
            $yes,
            "\n2:\n"
        )
    };
}

/// At label 40 with a cell whose words do not say it: goes to 33 if the cell names a list that this step is known to have
/// read, or a table that has the access (`table::has`), else on.
macro_rules! check_list {
    (read) => {
        concat!(
            "40: mov r10, qword ptr [rax]
                 test r10d, {list}
                 jz 8f
                 test r10d, {table}
                 jnz 50f
                 mov r8, r10
                 shr r8, {lists_shift}
                 and r8d, {lists_mask}
                 cmp r10, qword ptr [rdx + r8*8 + 56]
                 je 33b
                 jmp 53f
             50:\n",
            check_list!()
        )
    };
    (write) => {
        concat!(
            "40: mov r10, qword ptr [rax]
                 test r10d, {list}
                 jz 8f
                 test r10d, {table}
                 jz 53f # {lists_shift} {lists_mask}\n",
            check_list!()
        )
    };
    () => {
        concat!(
            part_of_table!(),
            word_covers!("qword ptr [r8 + 8]", "rsi", "51f"),
            word_covers!("qword ptr [r8]", "rsi", "51f"),
            "52: movabs r9, {place}
                 or r9, qword ptr [rsp]
                 mov qword ptr [rsp - 16], r8
                 mov qword ptr [rsp - 24], r10
                 jmp {settle_table}
             51: cmp r10, qword ptr [rax]
                 je 33b
                 jmp 8f
             53: movabs r9, {place}
                 or r9, qword ptr [rsp]
                 jmp {settle_list}\n"
        )
    };
}

/// At label 7, with twice the bytes' place in the first cell too much in rax, for an access across cells. The next region's
/// block is not looked for: 9.
macro_rules! across {
    ($mask:literal, $last:literal) => {
        concat!(
            "7:  movzx ecx, di
                 cmp ecx, ",
            $last,
            "\n  jae 9f
                 and ecx, 7
                 mov esi, ",
            $mask,
            "\n  shl esi, cl
                 and rax, -16
                 mov r8d, {kind}
                 movabs r9, {place}
                 or r9, qword ptr [rsp]
                 jmp {across}\n"
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

/// The first of two cells in a row is not settled: mostly the second is not, either. Or there is no block: 9.
macro_rules! wide_slow_tail {
    ($size:literal) => {
        concat!(
            "mov esi, {need}
             movabs r9, {place}
             or r9, qword ptr [rsp]
             jmp {settle_both}
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

/// Hooks for one size of 1, 2 or 4 bytes: somewhere inside a cell, or across two.
macro_rules! small_hooks {
    ($($size:literal, $mask:literal, $highest:literal: $read:ident $write:ident;)*) => { $(
        small_hooks!(read, "qword ptr [rax + 8]", "qword ptr [rax]", $size, $mask, $highest, $read, READ, Touch::Read, hook::read);
        small_hooks!(write, "qword ptr [rax]", "qword ptr [rax + 8]", $size, $mask, $highest, $write, WRITTEN, Touch::Write, hook::write);
    )* };
    ($way:ident, $likely:literal, $other:literal, $size:literal, $mask:literal, $highest:literal, $name:ident, $kind:expr, $touch:expr, $slow:path) => {
        /// # Safety
        /// For the compiler's instrumentation only: called right before the access, so that the memory is the program's.
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(addr: usize) {
            naked_asm!(
                find_block!(),
                "lea rax, [rax + rdi*2]",
                "mov ecx, edi",
                "and ecx, 7",
                concat!("cmp ecx, ", $highest),
                "ja 7f",
                concat!("mov esi, ", $mask),
                "shl esi, cl",
                "or esi, {kind}",
                "and rax, -16",
                word_covers!($likely, "rsi", "33f"),
                word_covers!($other, "rsi", "33f"),
                "jmp 40f",
                "33: ret",
                across!($mask, "0xfff8"),
                check_list!($way),
                slow_tail!($size),
                kind = const $kind, slow = sym $slow, settle = sym settle::settle_part, across = sym settle::settle_across, settle_table = sym settle::settle_table, settle_list = sym settle::settle_list, place = const Place::new(0, $touch, size($size)).0,
                list = const LIST, table = const TABLE, no_version = const 64 - VERSION_SHIFT, seq_shift = const SEQ_SHIFT,
                address_unit = const ADDRESS_UNIT, part_shift = const PART_SHIFT,
                lists_shift = const READ_LISTS_SHIFT, lists_mask = const READ_LISTS - 1
            )
        }
    };
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

/// What is read may be an address, and what lies there is mostly what the program looks at next: it comes while this access is
/// settled, and so does its cell. Only addresses near the one that is read are taken for such.
macro_rules! expect_next {
    (read) => {
        "cmp byte ptr [rip + {never}], 0
         jne 5f
         mov r10, qword ptr [rdi]
         mov rcx, r10
         xor rcx, rdi
         shr rcx, 32
         jnz 5f
         mov rcx, qword ptr [rdx + 16]
         mov r11, r10
         shr r11, 16
         mov rcx, qword ptr [rcx + r11*8]
         test rcx, rcx
         jz 5f
         prefetcht0 byte ptr [r10]
         lea rcx, [rcx + r10*2]
         prefetcht0 byte ptr [rcx]
         prefetcht0 byte ptr [rcx + 48]
      5:
        "
    };
    (write) => {
        "# {never}\n"
    };
}

/// Hooks for 8 bytes: a cell, or across two.
macro_rules! whole_hook {
    ($way:ident, $likely:literal, $other:literal, $name:ident, $kind:expr, $touch:expr, $slow:path, $settle:path) => {
        /// # Safety
        /// For the compiler's instrumentation only: called right before the access, so that the memory is the program's.
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(addr: usize) {
            naked_asm!(
                find_block!(),
                "lea rax, [rax + rdi*2]",
                "test dil, 7",
                "jnz 7f",
                concat!("mov r10, qword ptr [rax + ", $likely, "]"),
                whole_word!("r10", "need", "33f"),
                concat!("mov r10, qword ptr [rax + ", $other, "]"),
                whole_word!("r10", "need", "33f"),
                "mov esi, {need}",
                "jmp 41f",
                "33: ret",
                across!("255", "0xfff8"),
                "41:",
                expect_next!($way),
                check_list!($way),
                slow_tail!("8"),
                need = const MASK | $kind, kind = const $kind, slow = sym $slow, settle = sym $settle, across = sym settle::settle_across, settle_table = sym settle::settle_whole_table, settle_list = sym settle::settle_list,
                place = const Place::new(0, $touch, 8).0, never = sym ahead::NEVER,
                list = const LIST, table = const TABLE, no_version = const 64 - VERSION_SHIFT, seq_shift = const SEQ_SHIFT,
                address_unit = const ADDRESS_UNIT, part_shift = const PART_SHIFT,
                lists_shift = const READ_LISTS_SHIFT, lists_mask = const READ_LISTS - 1
            )
        }
    };
}

whole_hook!(
    read,
    "8",
    "0",
    __tsan_read8,
    READ,
    Touch::Read,
    hook::read,
    settle::settle_read8
);
whole_hook!(
    write,
    "0",
    "8",
    __tsan_write8,
    WRITTEN,
    Touch::Write,
    hook::write,
    settle::settle_write8
);

// 16 bytes that begin in the last cell of a region need the next region's block: slow. Two cells in a row mostly have the
// same word: what settles the first then settles the second.

/// # Safety
/// For the compiler's instrumentation only: called right before the access, so that the memory is the program's.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __tsan_read16(addr: usize) {
    naked_asm!(
        find_block!(),
        "lea rax, [rax + rdi*2]",
        "test dil, 7",
        "jnz 7f",
        "movzx ecx, di",
        "cmp ecx, 0xfff8",
        "jae 9f",
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
        across!("65535", "0xffe8"),
        kind = const READ, across = sym settle::settle_across,
        need = const MASK | READ, slow = sym hook::read, settle = sym settle::settle_read8, settle_both = sym settle::settle_read16,
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
        find_block!(),
        "lea rax, [rax + rdi*2]",
        "test dil, 7",
        "jnz 7f",
        "movzx ecx, di",
        "cmp ecx, 0xfff8",
        "jae 9f",
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
        across!("65535", "0xffe8"),
        kind = const WRITTEN, across = sym settle::settle_across,
        need = const MASK | WRITTEN, slow = sym hook::write, settle = sym settle::settle_write8, settle_both = sym settle::settle_write16,
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

/// What the compiler's loops touch in all their turns (`batch` of the compiler's hook): `how` is the size of each access,
/// and 256 more if it writes. Above that it may say where in what each turn touches it is ([`part_of`]).
fn touch_of(how: usize) -> (Touch, u64) {
    let touch = if how & 256 != 0 {
        Touch::Write
    } else {
        Touch::Read
    };
    (touch, (how & 255) as u64)
}

/// One more than how far into what a turn touches, if other hooks tell the rest of it.
fn part_of(how: usize) -> Option<usize> {
    (how >> 16).checked_sub(1)
}

/// Set in `how` of a call whose bytes are the first half of so many that the next one's are the second of, and in that one's.
const FIRST_HALF: usize = 1 << 9;
const SECOND_HALF: usize = 1 << 10;

extern "C" fn touch_range(addr: usize, bytes: usize, how: usize, pc: u64) {
    let (touch, size) = touch_of(how);
    match tls::me() {
        Some(s) if !s.recording() => {
            access::touch_all(&RT, s, addr, bytes, touch, Place::new(pc, touch, size));
        }
        Some(s) => {
            let count = bytes / size as usize;
            record_turns(s, addr, count, size as isize, how, pc);
            let rest = bytes % size as usize;
            record::touch(&RT, s, addr + (bytes - rest), rest, touch, pc);
        }
        None => {}
    }
}

extern "C" fn touch_strided(addr: usize, count: usize, stride: isize, how: usize, pc: u64) {
    let (touch, size) = touch_of(how);
    match tls::me() {
        Some(s) if !s.recording() => {
            let place = Place::new(pc, touch, size);
            let halves = access::Halves {
                addr,
                turns: count,
                stride,
                touch,
                place,
            };
            let done = match how & (FIRST_HALF | SECOND_HALF) {
                FIRST_HALF => halves::first(&RT, s, halves),
                SECOND_HALF => halves::second(&RT, s, halves),
                _ => false,
            };
            if done {
                return;
            }
            let (size, part) = (size as usize, part_of(how));
            access::touch_strided(&RT, s, addr, count, stride, size, touch, place, part);
        }
        Some(s) => record_turns(s, addr, count, stride, how, pc),
        None => {}
    }
}

/// A program that records writes down the loop as a whole.
fn record_turns(s: &mut Strand, addr: usize, count: usize, stride: isize, how: usize, pc: u64) {
    let (touch, size) = touch_of(how);
    if let Some(all) = Loop::new(addr, count, stride, size as usize, touch == Touch::Write) {
        turns::turns(&RT, s, &all, pc);
    }
}

/// # Safety
/// For the compiler's instrumentation only: called right before the accesses, so that the memory is the program's.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __deadheat_touch_range(addr: usize, bytes: usize, how: usize) {
    naked_asm!("mov rcx, qword ptr [rsp]", "jmp {f}", f = sym touch_range)
}

/// # Safety
/// For the compiler's instrumentation only: called right before the accesses, so that the memory is the program's.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __deadheat_touch_strided(
    addr: usize,
    count: usize,
    stride: isize,
    how: usize,
) {
    naked_asm!("mov r8, qword ptr [rsp]", "jmp {f}", f = sym touch_strided)
}

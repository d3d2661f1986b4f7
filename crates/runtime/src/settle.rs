//! The first touch of a cell in a step, in assembler: the commonest cases of `cell::quick`, which is the specification of
//! what is written to the cell, and of `Strand::known_number` and `quick_number`, which are that of the number.
//!
//! | register | on entry |
//! |---|---|
//! | rdi | the address |
//! | rsi | bytes and kind, as for `entry::same_step_covers` |
//! | rdx | the strand |
//! | rax | the cell |
//! | r9 | the place (`history::Place`) |
//!
//! Nothing else is needed on the stack than the return address. While `at_work` is set no handler of a signal runs and
//! nobody takes the page away. Whatever is not settled here goes on in [`unsettled`], with nothing changed but
//! a number that may be used there.

use core::arch::naked_asm;
use core::mem::offset_of;

use deadheat_detect::entry::{LIST, LOCK, MASK, PLAIN, SEQ_SHIFT, SLOT_SHIFT, WHAT, WRITE};

use crate::access;
use crate::cell::{ADDRESS_UNIT, Cell, PART_SHIFT, SOLE, TABLE, VERSION_SHIFT};
use crate::clock::Clock;
use crate::history::{CHUNK, Place, SIZE_SHIFT, SiteId};
use crate::pages::{OWNERS_BYTES, PAGE_BITS, PAGES, SHARED};
use crate::runtime::RT;
use crate::strand::{Strand, sites};

/// The rest, not in assembler.
///
/// # Safety
/// As for [`access::unsettled`].
pub unsafe extern "C" fn unsettled(
    addr: usize,
    need: u64,
    s: &mut Strand,
    cell: *mut Cell,
    place: Place,
) {
    // SAFETY: the hook got strand and cell where everybody gets them.
    unsafe { access::unsettled(&RT, s, addr, cell, need, place) };
}

/// The cell, in a page of the strand, has no room for the access, unless it can be joined with another one. Its number is
/// in `new`, and the strand says that it is at work there.
///
/// # Safety
/// As for [`access::unsettled`].
unsafe extern "C" fn both(
    addr: usize,
    need: u64,
    s: &mut Strand,
    cell: *mut Cell,
    place: Place,
    new: u64,
) {
    // SAFETY: the hook got strand and cell where everybody gets them, and found the page to be the strand's.
    unsafe {
        access::join_own(
            s.runtime.unwrap_or(&RT),
            s,
            addr,
            cell,
            need,
            place,
            new & !WHAT,
        )
    };
}

/// Two cells in a row, one after the other.
macro_rules! apart {
    ($(#[$doc:meta])* $name:ident, $settle:path) => {
        $(#[$doc])*
        #[unsafe(naked)]
        unsafe extern "C" fn $name(
            addr: usize,
            need: u64,
            s: &mut Strand,
            cell: *mut Cell,
            place: Place,
        ) {
            naked_asm!(
                "sub rsp, 40
                 mov qword ptr [rsp], rdi
                 mov qword ptr [rsp + 8], rsi
                 mov qword ptr [rsp + 16], rdx
                 mov qword ptr [rsp + 24], rcx
                 mov qword ptr [rsp + 32], r8
                 mov rax, rcx
                 mov r9, r8
                 call {settle}
                 mov rdi, qword ptr [rsp]
                 mov rsi, qword ptr [rsp + 8]
                 mov rdx, qword ptr [rsp + 16]
                 mov rax, qword ptr [rsp + 24]
                 mov r9, qword ptr [rsp + 32]
                 add rsp, 40
                 add rdi, 8
                 add rax, 16
                 jmp {settle}",
                settle = sym $settle,
            )
        }
    };
}

apart! {
    /// # Safety
    /// As for [`unsettled`], with a read of all bytes of the cell and the next one in the same block.
    read_apart, settle_read8
}

apart! {
    /// # Safety
    /// As for [`unsettled`], with a write of all bytes of the cell and the next one in the same block.
    write_apart, settle_write8
}

/// Gives numbers to the calls that the strand is in.
extern "C" fn name_frames(s: &mut Strand) {
    access::name_frames(s.runtime.unwrap_or(&RT), s);
}

/// Delivers signals that arrived while the strand was at work.
extern "C" fn deliver(s: &mut Strand) {
    access::deliver_waiting(s);
}

/// Up to where the number is known: in r9 its stamp, in r8 where the strand says what it does.
macro_rules! number {
    () => {
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
         mov qword ptr [r8], rdi
         cmp qword ptr [rcx], r9
         jne 70f
         cmp dword ptr [rcx + {site_caller}], r11d
         jne 70f
         mov r10, qword ptr [rcx + {site_stamp}]
         cmp r10, qword ptr [rdx + {sites_from}]
         jb 73f
      71:
         mov r9, r10
        "
    };
}

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

/// Goes to 80 if the first word does not name a table or is locked.
macro_rules! has_table {
    ($else:literal) => {
        concat!(
            "mov ecx, r10d\n and ecx, {list_or_lock} + {table}\n cmp ecx, {list} + {table}\n jne ",
            $else,
            "\n"
        )
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

/// Puts r9 into the parts of the cell's table that the access is, if it is whole ones but not all, and all that was done to them
/// happened before (`table::settle_table`); else goes to 89, with nothing changed.
macro_rules! into_table {
    () => {
        concat!(
            "cmp esi, {whole}
             je 89f
             mov r11, r10
             shl r11, {no_version}
             shr r11, {no_version} + {seq_shift}
             shl r11, {address_unit}
             mov rcx, r10
             shr rcx, {part_shift}
             mov r10d, 1
             shl r10d, cl
             dec r10d
             mov rdi, qword ptr [r8]
             and edi, 7
             test edi, r10d
             jnz 89f
             shr edi, cl
             shl edi, 4
             add r11, rdi
             mov rdi, qword ptr [rsp - 8]
             shr rdi, {size_shift}
             test edi, r10d
             jnz 89f
             shr edi, cl
             shl edi, 4
             lea r10, [r11 + rdi]
             mov qword ptr [rsp - 16], r11
             mov rdi, qword ptr [rax]
             test edi, {sole}
             jz 50f
             mov rcx, qword ptr [rax + 8]
             xor rcx, r9
             shr rcx, {slot_shift}
             jz 54f
          50:\n",
            into_table!("r11"),
            into_table!("r11 + 8"),
            "add r11, 16
             cmp r11, r10
             jne 50b
             mov r11, qword ptr [rsp - 16]
             and qword ptr [rax], -{sole} - 1
          54:
             or r9, rsi
             test esi, {write}
             jz 52f
          51:
             mov qword ptr [r11], r9
             mov qword ptr [r11 + 8], 0
             add r11, 16
             cmp r11, r10
             jne 51b
             jmp 53f
          52:
             mov qword ptr [r11 + 8], r9
             add r11, 16
             cmp r11, r10
             jne 52b
          53:
             mov qword ptr [rax + 8], r9\n"
        )
    };
    ($word:literal) => {
        concat!(
            "mov rdi, qword ptr [",
            $word,
            "]
             mov rcx, rdi
             shr rcx, {slot_shift}
             cmp rcx, qword ptr [rdx + {clock_len}]
             jae 89f
             shl rcx, 3
             add rcx, qword ptr [rdx + {clock}]
             cmp rdi, qword ptr [rcx]
             ja 89f\n"
        )
    };
}

/// What the words become: r10 and r11, the second being 0 or another one at 62, and the one that was the second having
/// become the first at 61: then it must be there before it is overwritten.
macro_rules! put_own {
    () => {
        "jmp 62f
      61:
         mov qword ptr [rax], r10
         mov qword ptr [rax + 8], r11
         jmp 60f
      88:
         jmp 81f
      89:
         jmp 80f
      62:
         mov qword ptr [rax + 8], r11
         mov qword ptr [rax], r10
        "
    };
}

/// The same, and the cell is unlocked by the last store.
macro_rules! put_shared {
    () => {
        "jmp 62f
      61:
         mov rcx, r10
         or rcx, {lock}
         mov qword ptr [rax], rcx
      62:
         mov qword ptr [rax + 8], r11
         mov qword ptr [rax], r10
         jmp 60b
      88:
      89:
         mov qword ptr [rax], r10
         jmp 80b
        "
    };
}

/// At 60 all is done, at 81 an entry of the page's owner may be joined with one of the same step, at 70 the number is not in the first half of its pair of sites, at 73 it is of an earlier
/// step there, at 90 the calls have no number yet, at 80 and 92 the rest is for
/// [`unsettled`].
macro_rules! tail {
    () => {
        "60:
         mov qword ptr [r8], 0
         cmp dword ptr [rdx + {pending}], 0
         jne 65f
         ret
      65:
         mov rdi, rdx
         jmp {deliver}
      73:
         mov r10d, dword ptr [rdx + {locks}]
         cmp dword ptr [rcx + {site_locks}], r10d
         je 74f
      70:
         xor rcx, {other_site}
         cmp qword ptr [rcx], r9
         jne 72f
         cmp dword ptr [rcx + {site_caller}], r11d
         jne 72f
         mov r10, qword ptr [rcx + {site_stamp}]
         cmp r10, qword ptr [rdx + {sites_from}]
         jae 71b
         mov r10d, dword ptr [rdx + {locks}]
         cmp dword ptr [rcx + {site_locks}], r10d
         jne 72f
      74:
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
         mov r11d, dword ptr [rdx + {locks}]
         mov dword ptr [r10 + 12], r11d
         mov dword ptr [rcx + {site_locks}], r11d
         mov r10d, dword ptr [rcx + {site_id}]
         jmp 75b
      77:
         mov r10d, dword ptr [rdx + {site}]
         inc r10d
         test r10d, {chunk_mask}
         jnz 76b
      80:
         mov rdi, qword ptr [r8]
         mov qword ptr [r8], 0
         mov r9, qword ptr [rsp - 8]
         jmp 92f
      81:
         mov rcx, rax
         mov rdi, qword ptr [r8]
         mov r8, qword ptr [rsp - 8]
         jmp {both}
      90:
         sub rsp, 56
         mov qword ptr [rsp], rdi
         mov qword ptr [rsp + 8], rsi
         mov qword ptr [rsp + 16], rdx
         mov qword ptr [rsp + 24], rax
         mov qword ptr [rsp + 32], r9
         mov rdi, rdx
         call {name_frames}
         mov rdi, qword ptr [rsp]
         mov rsi, qword ptr [rsp + 8]
         mov rdx, qword ptr [rsp + 16]
         mov rax, qword ptr [rsp + 24]
         mov r9, qword ptr [rsp + 32]
         add rsp, 56
         mov rcx, qword ptr [rdx + {frames_top}]
         cmp rcx, qword ptr [rdx + {frames_known}]
         je 91b
      92:
         mov rcx, rax
         mov r8, r9
         jmp {unsettled}
        "
    };
}

/// A function of the hooks', what does the rest, and the same for tests: arguments as functions have them, and [`tested::left`]
/// instead of the rest.
macro_rules! settle {
    ($(#[$doc:meta])* $name:ident, $tested:ident, $rest:path, $body:expr) => {
        settle!($(#[$doc])* $name(), "", $rest, $body);
        #[cfg(test)]
        settle!(
            /// The same for tests.
            $tested(addr: usize, need: u64, s: &mut Strand, cell: *mut Cell, place: Place),
            "mov rax, rcx\n mov r9, r8",
            tested::left,
            $body
        );
    };
    ($(#[$doc:meta])* $name:ident($($arg:ident: $ty:ty),*), $before:expr, $rest:path, $body:expr) => {
        $(#[$doc])*
        ///
        /// # Safety
        /// For the hooks only, with the registers in the table above.
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name($($arg: $ty),*) {
            naked_asm!(
                $before,
                number!(),
                own!(),
                $body,
                // Each way uses some of them.
                "# {list} {lock} {shared} {page_bytes} {table} {sole} {whole} {no_version} {address_unit} {part_shift} {size_shift} {what} {write} {kind}",
                frames_top = const offset_of!(Strand, frames_top),
                frames_known = const offset_of!(Strand, frames_known),
                at_work = const offset_of!(Strand, at_work),
                pairs = const offset_of!(Strand, sites) + sites::PAIRS,
                last_pair = const offset_of!(Strand, sites) + sites::LAST_PAIR,
                sites_from = const offset_of!(Strand, sites_from),
                owner_name = const offset_of!(Strand, owner_name),
                clock = const offset_of!(Strand, clock) + Clock::WORDS,
                clock_len = const offset_of!(Strand, clock) + Clock::LEN,
                pending = const offset_of!(Strand, pending),
                seq = const offset_of!(Strand, seq),
                chunk = const offset_of!(Strand, chunk),
                locks = const offset_of!(Strand, locks),
                site = const offset_of!(Strand, site),
                site_chunk = const offset_of!(Strand, site_chunk),
                site_caller = const sites::CALLER,
                site_locks = const sites::LOCKS,
                site_stamp = const sites::STAMP,
                site_id = const sites::ID,
                reused = const SiteId::REUSED,
                slot_stamp = const offset_of!(Strand, slot_stamp),
                page_shift = const PAGE_BITS - 1,
                page_mask = const (PAGES - 1) * 2,
                page_bytes = const 1 << PAGE_BITS,
                owners = const OWNERS_BYTES,
                shared = const SHARED as i16,
                list_or_lock = const LIST | LOCK,
                list = const LIST,
                lock = const LOCK,
                table = const TABLE,
                sole = const SOLE,
                whole = const MASK | PLAIN | WRITE,
                no_version = const 64 - VERSION_SHIFT,
                address_unit = const ADDRESS_UNIT,
                part_shift = const PART_SHIFT,
                size_shift = const SIZE_SHIFT,
                slot_shift = const SLOT_SHIFT,
                seq_shift = const SEQ_SHIFT,
                chunk_mask = const CHUNK - 1,
                other_site = const sites::OTHER,
                what = const WHAT,
                write = const WRITE,
                kind = const PLAIN | WRITE,
                deliver = sym deliver,
                both = sym both,
                name_frames = sym name_frames,
                unsettled = sym $rest,
            )
        }
    };
}

/// For a cell without a list; the middle part says what the words become: r10 and r11 were there, r9 is new. It goes to
/// 89, with nothing changed, if it cannot.
macro_rules! two_words {
    ($middle:expr) => {
        concat!(
            no_list!("80f"),
            words!(),
            $middle,
            put_own!(),
            tail!(),
            shared!(no_list!("80b")),
            words!(),
            $middle,
            put_shared!()
        )
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

settle! {
    /// A plain access to a cell with a table.
    settle_table, tested_table, unsettled,
    concat!(
        has_table!("80f"),
        into_table!(),
        "jmp 60f
      89:
         jmp 80f\n",
        tail!(),
        shared!(has_table!("80b")),
        into_table!(),
        "mov rcx, qword ptr [rax]
         and rcx, -{lock} - 1
         mov qword ptr [rax], rcx
         jmp 60b
      89:
         mov rcx, qword ptr [rax]
         and rcx, -{lock} - 1
         mov qword ptr [rax], rcx
         jmp 80b\n"
    )
}

settle! {
    /// A plain write of all 8 bytes: whatever happened before it may be forgotten.
    settle_write8, tested_write8, unsettled,
    two_words!(becomes_written!())
}

settle! {
    /// A plain read of all 8 bytes: writes stay, and at most one of the words can be one.
    settle_read8, tested_read8, unsettled,
    two_words!(becomes_read!())
}

settle! {
    /// A plain access to some bytes.
    settle_part, tested_part, unsettled,
    two_words!(
    "mov rcx, r10
     xor rcx, r9
     cmp rcx, 255
     jbe 53f
     mov rcx, r11
     xor rcx, r9
     cmp rcx, 255
     jbe 54f
     mov ecx, esi
     not ecx
     and ecx, {what}
     test r11d, ecx
     jnz 51f
     test r10d, ecx
     jz 52f
     mov rcx, r10
     sub rcx, qword ptr [rdx]
     cmp rcx, qword ptr [rdx + 8]
     jae 58f
     mov ecx, r10d
     xor ecx, esi
     test ecx, {kind}
     jz 88f
  58:
     test esi, {write}
     jz 50f
     mov r11, r10
     mov r10, r9
     jmp 62f
  50:
     mov r11, r9
     jmp 62f
  51:
     test r10d, ecx
     jnz 88f
     mov rcx, r11
     sub rcx, qword ptr [rdx]
     cmp rcx, qword ptr [rdx + 8]
     jae 59f
     mov ecx, r11d
     xor ecx, esi
     test ecx, {kind}
     jz 88f
  59:
     test esi, {write}
     jz 55f
     mov r10, r9
     jmp 62f
  55:
     mov r10, r11
     mov r11, r9
     jmp 61f
  53:
     or r10, r9
     mov ecx, r10d
     not ecx
     and ecx, {what}
     test r11d, ecx
     jnz 62f
     xor r11d, r11d
     jmp 62f
  54:
     or r11, r9
     mov ecx, r11d
     not ecx
     and ecx, {what}
     test r10d, ecx
     jnz 62f
     mov r10, r11
     xor r11d, r11d
     jmp 61f
  52:
     xor r11d, r11d
     mov r10, r9
    ")
}

/// For two cells in a row, in a page of the strand's own; else one after the other. The middle part says what becomes of both.
macro_rules! two_cells {
    ($known:expr, $middle:expr) => {
        concat!(
            "mov ecx, edi
             and ecx, {page_bytes} - 1
             cmp ecx, {page_bytes} - 16
             ja 80f\n",
            no_list!("80f"),
            $known,
            $middle,
            "jmp 62f
          61:
             mov qword ptr [rax], r10
             mov qword ptr [rax + 16], r10
             mov qword ptr [rax + 8], r11
             mov qword ptr [rax + 24], r11
             jmp 60f
          88:
          89:
             jmp 80f
          62:
             mov qword ptr [rax + 8], r11
             mov qword ptr [rax + 24], r11
             mov qword ptr [rax], r10
             mov qword ptr [rax + 16], r10\n",
            tail!(),
            "85:
             jmp 80b\n"
        )
    };
}

/// Both happened before the access, whatever they are.
macro_rules! both_known {
    () => {
        concat!(
            words!(),
            "mov r10, qword ptr [rax + 16]
             mov r11, qword ptr [rax + 24]\n",
            no_list!("80f"),
            known!()
        )
    };
}

/// The second one is as the first, and what that says happened before.
macro_rules! both_alike {
    () => {
        concat!(
            "cmp r10, qword ptr [rax + 16]
             jne 80f
             mov rcx, qword ptr [rax + 8]
             cmp rcx, qword ptr [rax + 24]
             jne 80f\n",
            words!()
        )
    };
}

settle! {
    /// A plain write of all bytes of two cells in a row.
    settle_write16, tested_write16, write_apart,
    two_cells!(both_known!(), becomes_written!())
}

settle! {
    /// A plain read of all bytes of two cells in a row.
    settle_read16, tested_read16, read_apart,
    two_cells!(both_alike!(), becomes_read!())
}

/// What tests need to hold this against its specification.
#[cfg(test)]
pub mod tested {
    use super::*;

    std::thread_local! {
        static LEFT: core::cell::Cell<bool> = const { core::cell::Cell::new(false) };
    }

    pub(super) unsafe extern "C" fn left(_: usize, _: u64, _: &mut Strand, _: *mut Cell, _: Place) {
        LEFT.set(true);
    }

    /// Lets the hooks' assembler settle the access; false if it left that to [`access::unsettled`].
    ///
    /// # Safety
    /// As for that.
    pub unsafe fn settle(
        addr: usize,
        need: u64,
        s: &mut Strand,
        cell: *mut Cell,
        place: Place,
    ) -> bool {
        use deadheat_detect::entry::{MASK, PLAIN};
        LEFT.set(false);
        // SAFETY: by the contract.
        unsafe {
            if crate::cell::has_table(cell) {
                tested_table(addr, need, s, cell, place);
            } else if need == MASK | PLAIN | WRITE {
                tested_write8(addr, need, s, cell, place);
            } else if need == MASK | PLAIN {
                tested_read8(addr, need, s, cell, place);
            } else {
                tested_part(addr, need, s, cell, place);
            }
        }
        !LEFT.get()
    }

    /// The same for all bytes of the cell and of the next one; false if it left both.
    ///
    /// # Safety
    /// As for [`settle`], and both cells must be of one block.
    pub unsafe fn settle_two(
        addr: usize,
        need: u64,
        s: &mut Strand,
        cell: *mut Cell,
        place: Place,
    ) -> bool {
        LEFT.set(false);
        // SAFETY: by the contract.
        unsafe {
            if need & WRITE != 0 {
                tested_write16(addr, need, s, cell, place);
            } else {
                tested_read16(addr, need, s, cell, place);
            }
        }
        !LEFT.get()
    }
}

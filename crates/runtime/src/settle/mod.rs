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
//!
//! All ways share these labels:
//!
//! | label | where | what |
//! |---|---|---|
//! | 60, 65 | `pieces` | all is done; and there is a signal to deliver |
//! | 61, 62 | each way | r10 and r11 are what the words become; at 61 the second one becomes the first |
//! | 70 to 76 | `number` | the number is not where it was looked for first |
//! | 80, 92 | `pieces` | the rest is for [`unsettled`], with the strand at work or not |
//! | 81 | `pieces` | in a page of the strand's own: may be joined with an access of the same step |
//! | 82 | `list` | the number is known, the rest is for [`listed`] |
//! | 85 | each way | the page is not the strand's own |
//! | 88, 89 | each way | as 81 and 80, once what was locked is unlocked |
//! | 90, 91 | `pieces` | the calls have no number yet; they have one |
//! | 93, 94 | `pieces` | on the way from the one to the other |

use core::arch::naked_asm;
use core::mem::offset_of;

use deadheat_detect::entry::{LIST, LOCK, MASK, PLAIN, SEQ_SHIFT, SLOT_SHIFT, WHAT, WRITE};

use crate::access::{self, InCell};
use crate::callstack::Call;
use crate::cell::{ADDRESS_UNIT, Cell, PART_SHIFT, SOLE, VERSION_SHIFT};
use crate::clock::Clock;
use crate::history::{CHUNK, Place, SIZE_SHIFT};
use crate::pages::{OWNERS_BYTES, PAGE_BITS, PAGES, SHARED};
use crate::runtime::RT;
use crate::strand::{Strand, sites};

pub use self::across::settle_across;
pub use self::atomic::atomic;
pub use self::list::settle_list;
pub use self::no_hook::settle_one;
pub use self::one_cell::{settle_part, settle_read8, settle_write8};
#[cfg(feature = "export")]
pub(crate) use self::pieces::part_of_table;
pub use self::table::{settle_table, settle_whole_table};
pub use self::two_cells::{settle_read16, settle_write16};

#[macro_use]
mod number;
#[macro_use]
mod pieces;

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
    let access = InCell {
        addr,
        cell,
        need,
        place,
    };
    // SAFETY: the hook got strand and cell where everybody gets them.
    unsafe { access::unsettled(s.runtime.unwrap_or(&RT), s, access) };
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
    let access = InCell {
        addr,
        cell,
        need,
        place,
    };
    // SAFETY: the hook got strand and cell where everybody gets them, and found the page to be the strand's.
    unsafe { access::join_own(s.runtime.unwrap_or(&RT), s, access, new & !WHAT) };
}

/// The cell had a list. The access has the number in `stamp`, and the strand says that it is at work there.
///
/// # Safety
/// As for [`access::unsettled`].
unsafe extern "C" fn listed(
    addr: usize,
    need: u64,
    s: &mut Strand,
    cell: *mut Cell,
    place: Place,
    stamp: u64,
) {
    let access = InCell {
        addr,
        cell,
        need,
        place,
    };
    // SAFETY: the hook got strand and cell where everybody gets them.
    unsafe { access::in_list(s.runtime.unwrap_or(&RT), s, access, stamp) };
}

/// Gives numbers to the calls that the strand is in.
extern "C" fn name_frames(s: &mut Strand) {
    access::name_frames(s.runtime.unwrap_or(&RT), s);
}

/// Delivers signals that arrived while the strand was at work.
extern "C" fn deliver(s: &mut Strand) {
    access::deliver_waiting(s);
}

/// A function of the hooks', what does the rest, and the same for tests: arguments as functions have them, the last of which is the
/// cell's first word as the hook has seen it, what the hook makes of that if it is needed, and [`tested::left`] instead of the rest.
macro_rules! settle {
    ($(#[$doc:meta])* $name:ident, $tested:ident, $rest:path, $body:expr) => {
        settle!($(#[$doc])* $name, $tested, $rest, "", $body);
    };
    ($(#[$doc:meta])* $name:ident, $tested:ident, $rest:path, $seen:expr, $body:expr) => {
        settle!($(#[$doc])* $name(), "", $rest, $body);
        #[cfg(test)]
        settle!(
            /// The same for tests.
            $tested(addr: usize, need: u64, s: &mut Strand, cell: *mut Cell, place: Place, first: u64),
            concat!("mov r10, r9\n mov rax, rcx\n mov r9, r8\n", $seen),
            tested::left,
            $body
        );
    };
    ($(#[$doc:meta])* $name:ident($($arg:ident: $ty:ty),*), $before:expr, $rest:path, $body:expr) => {
        $(#[$doc])*
        ///
        /// # Safety
        /// For the hooks only, with the registers in the table of this module.
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name($($arg: $ty),*) {
            naked_asm!(
                $before,
                number!(),
                own!(),
                $body,
                // Each way uses some of them.
                "# {list_or_lock} {list} {lock} {shared} {page_bytes} {sole} {mask} {no_version} {address_unit} {part_shift} {size_shift} {what} {write} {kind} {listed} {clock} {clock_len} {slot_shift}",
                frames_top = const offset_of!(Strand, frames_top),
                frames_known = const offset_of!(Strand, frames_known),
                at_work = const offset_of!(Strand, at_work),
                calls = const offset_of!(Strand, calls),
                call_caller = const offset_of!(Call, caller),
                call_callee = const offset_of!(Call, callee),
                call_factor = const Call::FACTOR,
                call_bits = const Call::BITS,
                caller_shift = const Call::CALLER_SHIFT,
                pairs = const offset_of!(Strand, sites) + sites::PAIRS,
                last_pair = const offset_of!(Strand, sites) + sites::LAST_PAIR,
                sites_from = const offset_of!(Strand, sites_from),
                owner_name = const offset_of!(Strand, owner_name),
                clock = const offset_of!(Strand, clock) + Clock::WORDS,
                clock_len = const offset_of!(Strand, clock) + Clock::LEN,
                pending = const offset_of!(Strand, pending),
                seq = const offset_of!(Strand, seq),
                quick_end = const offset_of!(Strand, quick_end),
                numbers = const offset_of!(Strand, numbers),
                site = const offset_of!(Strand, site),
                site_chunk = const offset_of!(Strand, site_chunk),
                site_caller = const sites::CALLER,
                site_stamp = const sites::STAMP,
                site_id = const sites::ID,
                site_then = const sites::THEN,
                last_site = const offset_of!(Strand, sites) + sites::LAST,
                guessed_site = const offset_of!(Strand, sites) + sites::GUESS,
                slot_stamp = const offset_of!(Strand, slot_stamp),
                page_shift = const PAGE_BITS - 1,
                page_mask = const (PAGES - 1) * 2,
                page_bytes = const 1 << PAGE_BITS,
                owners = const OWNERS_BYTES,
                shared = const SHARED as i16,
                list_or_lock = const LIST | LOCK,
                list = const LIST,
                lock = const LOCK,
                sole = const SOLE,
                mask = const MASK as i8,
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
                listed = sym listed,
                name_frames = sym name_frames,
                unsettled = sym $rest,
            )
        }
    };
}

mod across;
mod atomic;
mod list;
mod no_hook;
mod one_cell;
mod table;
#[cfg(test)]
pub mod tested;
mod two_cells;

//! Tells the processor which memory will be needed soon. The only unsafe code of this crate, because the intrinsic takes a raw
//! pointer; it changes nothing but the time that things take.
//!
//! Where the page of an access is, is looked up once, when its cell is fetched, and remembered until its turn comes.

use super::lists::Lists;
use super::pages::{PAGE_SHIFT, Pages, Place};
use crate::batch::Access;

/// The cell of an access is fetched while so many accesses before it are checked, and its list while half as many are:
/// long enough for memory, and not so long that what was fetched is pushed out again.
pub const AHEAD: usize = 12;
/// Room for as many; a power of two.
const ROOM: usize = 16;

/// The accesses of a batch that come next.
#[derive(Debug, Default)]
pub struct Ahead {
    /// Where they are: the cell's number, and the place of its page.
    near: [(u64, Place); ROOM],
    /// Which access is the next one: of which batch; none if nothing is known of any.
    next: Option<(u64, usize)>,
    at: usize,
}

impl Ahead {
    /// The accesses from this one on come next.
    #[inline]
    pub fn begin(&mut self, first: (u64, usize), accesses: &[Access], pages: &mut Pages) {
        if self.next != Some(first) {
            self.next = Some(first);
            for (at, access) in accesses.iter().take(AHEAD).enumerate() {
                self.look(self.at + at, access, pages);
            }
        }
    }

    /// The place of the page of the next access. `later` is the one that is [`AHEAD`].
    #[inline(always)]
    pub fn next(&mut self, later: Option<&Access>, pages: &mut Pages, lists: &Lists) -> Place {
        let (_, place) = self.near[self.at % ROOM];
        if let Some(later) = later {
            self.look(self.at + AHEAD, later, pages);
        }
        if !lists.is_empty() {
            let (cell, page) = self.near[(self.at + AHEAD / 2) % ROOM];
            pages.fetch_list(page, cell, lists);
        }
        self.at += 1;
        place
    }

    /// So many were taken.
    #[inline]
    pub fn end(&mut self, count: usize) {
        if let Some((_, next)) = &mut self.next {
            *next += count;
        }
    }

    /// Pages are in other places now.
    pub fn forget(&mut self) {
        *self = Ahead::default();
    }

    #[inline(always)]
    fn look(&mut self, at: usize, access: &Access, pages: &mut Pages) {
        let place = pages.place(access.addr >> PAGE_SHIFT);
        let cell = access.addr >> 3;
        pages.fetch(place, cell);
        self.near[at % ROOM] = (cell, place);
    }
}

/// The memory at `place` will be needed.
#[inline(always)]
#[allow(unsafe_code)]
pub fn fetch<T>(place: &T) {
    #[cfg(target_arch = "x86_64")]
    {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a hint about the address of something that is there; it neither reads nor writes for the program.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(core::ptr::from_ref(place).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = place;
}

//! The places that a strand used lately: their numbers among sites, and their last numbers.
//!
//! A table in which a place can be in two spots, next to each other. It is small at first, and larger for a strand that
//! has made many sites: it seems to be at more places than the table holds.
//!
//! A program is at its places in the same order again and again. So each remembers which one came after it the last time: the
//! assembler of the hooks, which is most of who asks, looks there first, and has had it fetched meanwhile. Whether it is the right
//! one it sees by what is there; any spot of the table will do as a guess.

use core::alloc::Layout;
use core::cell::UnsafeCell;
use core::mem::offset_of;

use crate::history::{CHUNK, Place, Site, SiteId};
use crate::intern::StackId;
use crate::sys;

/// A place that the strand used, its number among sites, and the `entry::stamp` of its last number.
#[derive(Clone, Copy)]
#[repr(C, align(32))]
struct Used {
    place: Place,
    caller: StackId,
    id: SiteId,
    stamp: u64,
    /// The address of the one that came after it; 0 where there is no place.
    then: usize,
}

// For the hooks' assembler.
pub const CALLER: usize = offset_of!(Used, caller);
pub const STAMP: usize = offset_of!(Used, stamp);
pub const ID: usize = offset_of!(Used, id);
pub const THEN: usize = offset_of!(Used, then);
/// The two halves of a pair are that far apart.
pub const OTHER: usize = size_of::<Used>();
const _: () = assert!(OTHER == 32 && offset_of!(Used, place) == 0);

type Pair = [Used; 2];

const FEWEST: usize = 256;
const MOST: usize = 2048;
/// After so many sites it is looked which are too old to be used again.
const AGE: u32 = 2 * CHUNK as u32;
const _: () =
    assert!(2 * MOST + 2 * AGE as usize <= SiteId::REUSED as usize && CHUNK >= 2 * FEWEST);

#[repr(C)]
pub struct Sites {
    pairs: *mut Pair,
    /// One less than there are.
    mask: u32,
    /// The one that an assembler's hook used last, and the one that came after it before. Never null.
    last: *mut Used,
    guess: *mut Used,
}

pub const LAST: usize = offset_of!(Sites, last);
pub const GUESS: usize = offset_of!(Sites, guess);
pub const PAIRS: usize = offset_of!(Sites, pairs);
pub const LAST_PAIR: usize = offset_of!(Sites, mask);

const NO_SITE: Used = Used {
    place: Place(0),
    caller: StackId(0),
    id: SiteId::NONE,
    stamp: 0,
    then: 0,
};

struct Nobodys(UnsafeCell<Pair>);

// SAFETY: who is nobody has no places.
unsafe impl Sync for Nobodys {}

static NOBODYS: Nobodys = Nobodys(UnsafeCell::new([NO_SITE; 2]));

impl Sites {
    /// Of somebody who has no place anywhere.
    pub const fn nobodys() -> Sites {
        Sites::in_table(NOBODYS.0.get(), 1)
    }

    pub fn new() -> Sites {
        Sites::of(FEWEST)
    }

    fn of(pairs: usize) -> Sites {
        // SAFETY: the layout has a size; all zeroes is [`NO_SITE`].
        let table: *mut Pair = unsafe { std_alloc::alloc::alloc_zeroed(layout(pairs)).cast() };
        if table.is_null() {
            sys::die("no memory left for the places of a thread");
        }
        Sites::in_table(table, pairs)
    }

    const fn in_table(table: *mut Pair, pairs: usize) -> Sites {
        Sites {
            pairs: table,
            mask: pairs as u32 - 1,
            last: table.cast(),
            guess: table.cast(),
        }
    }

    #[inline(always)]
    fn pair(&self, place: Place, caller: StackId) -> *mut Pair {
        let at = (place.0 as u32 ^ (place.0 >> 8) as u32 ^ caller.0) & self.mask;
        // SAFETY: below the number of pairs.
        unsafe { self.pairs.add(at as usize) }
    }

    /// The stamp of the last number of this place; 0 if that is not known.
    #[inline(always)]
    pub fn newest_stamp(&self, site: Site) -> u64 {
        self.used(site).map_or(0, |used| used.stamp)
    }

    #[inline(always)]
    fn used(&self, site: Site) -> Option<&Used> {
        // SAFETY: a pair of the table, which only its strand uses.
        let pair = unsafe { &*self.pair(site.place, site.caller) };
        pair.iter().find(|used| used.is(site))
    }

    /// The number of this site, which may be used again.
    #[inline(always)]
    pub fn number(&self, site: Site) -> Option<SiteId> {
        self.used(site).map(|used| used.id)
    }

    /// The site has this number among sites, and is the one of this stamp's number. Of two others the one that came later
    /// stays.
    #[inline(always)]
    pub fn note(&mut self, site: Site, id: SiteId, stamp: u64) {
        // SAFETY: a pair of the table, which only its strand uses.
        let pair = unsafe { &mut *self.pair(site.place, site.caller) };
        match pair.iter_mut().find(|used| used.is(site)) {
            Some(used) => (used.id, used.stamp) = (id, stamp),
            None => {
                pair[1] = pair[0];
                pair[0] = Used {
                    place: site.place,
                    caller: site.caller,
                    id,
                    stamp,
                    then: &raw const pair[0] as usize,
                };
            }
        }
    }

    /// There are more places than the table may hold.
    pub fn grow(&mut self) {
        let pairs = self.mask as usize + 1;
        if pairs < MOST {
            *self = Sites::of(pairs * 2);
        }
    }

    /// Must [`Self::drop_old`] be called when the one after `last` is the next that is made after `before`?
    pub fn ages(&self, before: SiteId, last: SiteId) -> bool {
        last.next().0 / AGE != before.0 / AGE
    }

    /// Forgets those that must not be used any more before it is called again.
    pub fn drop_old(&mut self, last: SiteId) {
        let by_then = SiteId((last.0 / AGE * AGE).wrapping_add(2 * AGE));
        for at in 0..=self.mask as usize {
            // SAFETY: a pair of the table, which only its strand uses.
            for used in unsafe { &mut *self.pairs.add(at) } {
                if !used.id.is_recent(by_then) {
                    *used = NO_SITE;
                }
            }
        }
    }

    pub fn forget(&mut self) {
        *self = Sites::of(self.mask as usize + 1);
    }
}

impl Used {
    #[inline(always)]
    fn is(&self, site: Site) -> bool {
        self.place == site.place && self.caller == site.caller
    }
}

fn layout(pairs: usize) -> Layout {
    // SAFETY: a few thousand of 64 bytes, and aligned to those.
    unsafe { Layout::from_size_align_unchecked(pairs * size_of::<Pair>(), 64) }
}

impl Drop for Sites {
    fn drop(&mut self) {
        if self.mask != 0 {
            // SAFETY: made by `of`, and nobody uses it any more.
            unsafe { std_alloc::alloc::dealloc(self.pairs.cast(), layout(self.mask as usize + 1)) };
        }
    }
}

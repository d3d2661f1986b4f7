//! The places that a strand used lately: their records, and their last numbers.
//!
//! A table in which a place can be in two spots, next to each other. It is small at first, and larger for a strand that
//! has made many records: it seems to be at more places than the table holds.

use core::alloc::Layout;
use core::mem::offset_of;

use crate::history::{CHUNK, Place, Record, SiteId};
use crate::intern::{LockSetId, StackId};
use crate::sys;

/// A place that the strand used with these locks held, its record, and the `entry::stamp` of its last number.
#[derive(Clone, Copy)]
#[repr(C, align(32))]
struct Site {
    place: Place,
    caller: StackId,
    locks: LockSetId,
    stamp: u64,
    id: SiteId,
}

// For the hooks' assembler.
pub const CALLER: usize = offset_of!(Site, caller);
pub const LOCKS: usize = offset_of!(Site, locks);
pub const STAMP: usize = offset_of!(Site, stamp);
pub const ID: usize = offset_of!(Site, id);
/// The two halves of a pair are that far apart.
pub const OTHER: usize = size_of::<Site>();
const _: () = assert!(OTHER == 32 && offset_of!(Site, place) == 0);

type Pair = [Site; 2];

const FEWEST: usize = 256;
const MOST: usize = 2048;
const _: () = assert!(2 * MOST <= SiteId::REUSED as usize && CHUNK >= 2 * FEWEST);

#[repr(C)]
pub struct Sites {
    pairs: *mut Pair,
    /// One less than there are.
    mask: u32,
}

pub const PAIRS: usize = offset_of!(Sites, pairs);
pub const LAST_PAIR: usize = offset_of!(Sites, mask);

const NO_SITE: Site = Site {
    place: Place(0),
    caller: StackId(0),
    locks: LockSetId(0),
    stamp: 0,
    id: SiteId::NONE,
};

static NOBODYS: Pair = [NO_SITE; 2];

impl Sites {
    /// Of somebody who has no place anywhere.
    pub const fn nobodys() -> Sites {
        Sites {
            pairs: (&raw const NOBODYS).cast_mut(),
            mask: 0,
        }
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
        Sites {
            pairs: table,
            mask: pairs as u32 - 1,
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
    pub fn newest_stamp(&self, place: Place, caller: StackId) -> u64 {
        // SAFETY: a pair of the table, which only its strand uses.
        let pair = unsafe { &*self.pair(place, caller) };
        let stamp = |site: &Site| {
            if site.place == place && site.caller == caller {
                site.stamp
            } else {
                0
            }
        };
        stamp(&pair[0]).max(stamp(&pair[1]))
    }

    /// The number of this record, if a strand whose last one is `last` may use it again.
    #[inline(always)]
    pub fn recent(&self, record: &Record, last: SiteId) -> Option<SiteId> {
        // SAFETY: a pair of the table, which only its strand uses.
        let pair = unsafe { &*self.pair(record.place, record.caller) };
        let site = pair.iter().find(|site| site.is(record))?;
        site.id.is_recent(last).then_some(site.id)
    }

    /// The record has this number among records, and is the one of this stamp's number. Of two others the one that came later
    /// stays.
    #[inline(always)]
    pub fn note(&mut self, record: &Record, id: SiteId, stamp: u64) {
        // SAFETY: a pair of the table, which only its strand uses.
        let pair = unsafe { &mut *self.pair(record.place, record.caller) };
        let at = match pair.iter().position(|site| site.is(record)) {
            Some(at) => at,
            None => {
                pair[1] = pair[0];
                0
            }
        };
        pair[at] = Site {
            place: record.place,
            caller: record.caller,
            locks: record.locks,
            stamp,
            id,
        };
    }

    /// There are more places than the table may hold.
    pub fn grow(&mut self) {
        let pairs = self.mask as usize + 1;
        if pairs < MOST {
            *self = Sites::of(pairs * 2);
        }
    }

    pub fn forget(&mut self) {
        *self = Sites::of(self.mask as usize + 1);
    }
}

impl Site {
    #[inline(always)]
    fn is(&self, record: &Record) -> bool {
        self.place == record.place && self.caller == record.caller && self.locks == record.locks
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

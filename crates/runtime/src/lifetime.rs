//! Memory's life, as the detector sees it: fresh when it is handed out, written as a whole when it is given up.

use deadheat_detect::entry::{self, Entry, MASK, WHAT};

use crate::access::{self, leave};
use crate::cell::{self, Cell, Rest, Right, Sweep};
use crate::freed::Range;
use crate::history::{Place, Touch};
use crate::lock_order;
use crate::locking;
use crate::pages::PAGE_BITS;
use crate::record::acts;
use crate::runtime::Runtime;
use crate::shadow::{REGION, Shadow};
use crate::strand::Strand;

/// `[start, start + size)` is fresh: nothing that was there before counts. Callers are inside the runtime.
pub fn fresh(rt: &Runtime, start: usize, size: usize) {
    if size > 0 {
        forget(rt, start, size);
        rt.syncs.remove_range(&rt.shadow, start, size, |var| {
            lock_order::forget(rt, var.with(|state| state.id));
        });
    }
}

const PAGE: usize = 1 << PAGE_BITS;

/// So much of a freed block is marked at once, and of the rest what was ever touched; see [`crate::freed`].
/// In unit tests less, so that replayed traces come to the rest.
const MARKED_WHOLE: usize = if cfg!(test) { 8 } else { 1024 };

/// Forgets all accesses to `[start, start + size)`. Callers are inside the runtime.
pub fn forget(rt: &Runtime, start: usize, size: usize) {
    for end in [start, start + size] {
        // Of this cell a part stays, which somebody else may be using: then only who locks it may change it.
        if !end.is_multiple_of(8)
            && let Some(cell) = rt.shadow.existing(end)
        {
            // SAFETY: the shadow gave the cell for this address.
            unsafe { Shadow::owners(end, cell) }.share(rt, end);
        }
    }
    rt.shadow.clear(start, size);
}

/// The bytes of the cell at `addr` that lie in `[start, end)`.
fn part(addr: usize, start: usize, end: usize) -> u64 {
    let low = if addr < start {
        0xff << (start - addr)
    } else {
        0xff
    };
    let high = if addr + 8 > end {
        0xff >> (addr + 8 - end)
    } else {
        0xff
    };
    (low & high & 0xff) as u64
}

/// Marks a range of [`crate::freed`], of one page that is nobody's, in the cells that are empty: the others were marked when
/// it was freed.
pub fn mark(rt: &Runtime, (start, end, stamp): Range) {
    let Some(cells) = rt.shadow.existing(start) else {
        return;
    };
    for (i, addr) in (start & !7..end).step_by(8).enumerate() {
        let cell = cells.wrapping_add(i);
        // SAFETY: the cell is inside the block that the shadow gave, and nobody else comes to this page meanwhile.
        unsafe {
            if cell::is_empty(cell) {
                cell::replace_own(cell, Entry(stamp | part(addr, start, end)));
            }
        }
    }
}

/// What becomes of memory that is given up.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Then {
    /// It can still be touched, wrongly.
    Stays,
    /// Whoever touches it crashes.
    Unmapped,
}

/// A free of `[start, end)`, on its way from page to page.
struct Giving {
    start: usize,
    end: usize,
    stamp: u64,
    then: Then,
    /// What lies behind this is kept in [`crate::freed`].
    kept: bool,
}

impl Giving {
    /// Cells from `at` on are not marked now but when somebody comes. False if nobody will.
    fn keep(&mut self, rt: &Runtime, at: usize) -> bool {
        if self.then == Then::Stays && !self.kept {
            let from = at.max(self.start);
            rt.shadow.freed.insert(from, self.end, self.stamp);
            self.kept = true;
        }
        self.then == Then::Stays
    }

    /// Marks `[at, stop)` of one page, whose first cell is `cells`; up to `whole` all of it, behind that what was touched.
    /// The address of the first cell that was left out.
    fn page(
        &self,
        rt: &Runtime,
        s: &mut Strand,
        cells: *mut Cell,
        (at, stop): (usize, usize),
        whole: usize,
    ) -> Option<usize> {
        let (stamp, need) = (self.stamp & !WHAT, self.stamp & WHAT);
        let mut left_out = None;
        let first = at & !7;
        let count = (stop - first).div_ceil(8);
        let mut i = 0;
        while i < count {
            let (cell, addr) = (cells.wrapping_add(i), first + i * 8);
            let to_whole = whole.saturating_sub(addr).div_ceil(8);
            // SAFETY: the cells are inside the block that the shadow gave, and we are inside.
            unsafe {
                if to_whole == 0 && cell::is_empty(cell) {
                    left_out = left_out.or(Some(addr));
                    i += 1;
                    continue;
                }
                let bytes = part(addr, self.start, self.end);
                if bytes == MASK {
                    // The last cell may be given up in part.
                    let most = (stop - addr) / 8;
                    let run = match to_whole {
                        0 => cell::used_run(cell, most),
                        _ => most.min(to_whole),
                    };
                    let sweep = Sweep {
                        stamp,
                        need: need | MASK,
                        rest: Rest::Unknown,
                    };
                    let done = access::settle_run(s, addr, cell, run, 1, sweep);
                    i += done;
                    if done > 0 {
                        continue;
                    }
                }
                access::record_quickly(rt, s, addr, cell, stamp, need | bytes);
            }
            i += 1;
        }
        left_out
    }
}

/// `[start, start + size)` is given up by `s` at `pc`: a write to all of it.
pub fn given_up(rt: &Runtime, s: &mut Strand, start: usize, size: usize, pc: u64) {
    give_up(rt, s, (start, size), pc, Then::Stays);
}

/// The same, with what becomes of it.
pub fn give_up(rt: &Runtime, s: &mut Strand, (start, size): (usize, usize), pc: u64, then: Then) {
    if s.ignore_writes > 0 || size == 0 {
        return;
    }
    s.enter();
    if s.recording() {
        let at = s.stack_at(rt, pc);
        acts::given_up(s, start, size, at);
    } else {
        let seq = s.number(rt, Place::new(pc, Touch::Free, size as u64));
        let mut giving = Giving {
            start,
            end: start + size,
            stamp: entry::stamp(s.slot, seq) | Touch::Free.bits(),
            then,
            kept: false,
        };
        give_up_pages(rt, s, &mut giving);
    }
    rt.syncs.remove_range(&rt.shadow, start, size, |var| {
        let at = s.stack_at(rt, pc);
        locking::memory_gone(rt, s, var, at);
    });
    leave(s);
}

fn give_up_pages(rt: &Runtime, s: &mut Strand, giving: &mut Giving) {
    let whole = match giving.then {
        Then::Stays => (giving.start & !7) + MARKED_WHOLE,
        Then::Unmapped => 0,
    };
    let mut at = giving.start;
    while at < giving.end {
        let Some(cells) = rt.shadow.existing(at) else {
            // Whoever makes the cells afterwards is told.
            if !giving.keep(rt, at) || rt.shadow.existing(at).is_none() {
                at = (at | (REGION - 1)) + 1;
            }
            continue;
        };
        // One page at a time: that is what a strand can own.
        let stop = ((at | (PAGE - 1)) + 1).min(giving.end);
        let left_out = giving.page(rt, s, cells, (at, stop), whole);
        if let Some(left_out) = left_out
            && giving.keep(rt, left_out)
        {
            // SAFETY: the shadow gave the cells for this address.
            let owners = unsafe { Shadow::owners(at, cells) };
            if !owners.give_up(at, s.slot) {
                if owners.settle(rt, at, s.slot) == Right::Owner {
                    continue;
                }
                giving.page(rt, s, cells, (at, stop), usize::MAX);
            }
        }
        at = stop;
    }
}

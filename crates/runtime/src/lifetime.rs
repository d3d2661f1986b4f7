//! Memory's life, as the detector sees it: fresh when it is handed out, written as a whole when it is given up.

use deadheat_detect::entry::{self, Entry, WHAT};

use crate::access::{self, leave};
use crate::cell;
use crate::history::{Place, Touch};
use crate::lock_order;
use crate::locking;
use crate::pages::PAGE_BITS;
use crate::record::acts;
use crate::runtime::Runtime;
use crate::shadow::Shadow;
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

/// Blocks up to this are marked as freed everywhere; of larger ones the beginning, and what was ever touched.
const MARKED_WHOLE: usize = 1024;

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

/// `[start, start + size)` is given up by `s` at `pc`: a write to all of it, where there is shadow.
pub fn given_up(rt: &Runtime, s: &mut Strand, start: usize, size: usize, pc: u64) {
    if s.ignore_writes > 0 || size == 0 {
        return;
    }
    s.enter();
    if s.recording() {
        let at = s.stack_at(rt, pc);
        acts::given_up(s, start, size, at);
    }
    let place = Place::new(pc, Touch::Free, size as u64);
    let end = start + size;
    let mut at = start;
    while at < end {
        // One page at a time: that is what a strand can own.
        let stop = ((at | (PAGE - 1)) + 1).min(end);
        if let Some(cells) = rt.shadow.existing(at) {
            let seq = s.number(rt, place);
            let stamp = entry::stamp(s.slot, seq) | Touch::Free.bits();
            // SAFETY: the shadow gave the cells for this address.
            let owners = unsafe { Shadow::owners(at, cells) };
            let begin = |s: &Strand| {
                s.history.is_some_and(|h| {
                    h.at_work.begin(at);
                    owners.is_own(at, s.slot)
                })
            };
            let finish = |s: &Strand| {
                if let Some(h) = s.history {
                    h.at_work.end();
                }
            };
            let mut own = begin(s);
            for (cell, addr) in (at & !7..stop)
                .step_by(8)
                .enumerate()
                .map(|(i, addr)| (cells.wrapping_add(i), addr))
            {
                // SAFETY: the cell is inside the block that the shadow gave.
                if addr - (start & !7) >= MARKED_WHOLE && unsafe { cell::is_empty(cell) } {
                    continue;
                }
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
                let new = Entry(stamp | (low & high & 0xff) as u64);
                // SAFETY: as above, and we are inside; a page that is our own stays so while we are at work in it.
                unsafe {
                    if !own || !cell::replace_own(cell, new) {
                        finish(s);
                        access::record_quickly(rt, s, addr, cell, new.0 & !WHAT, new.0 & WHAT);
                        own = begin(s);
                    }
                }
            }
            finish(s);
        }
        at = stop;
    }
    rt.syncs.remove_range(&rt.shadow, start, size, |var| {
        let at = s.stack_at(rt, pc);
        locking::memory_gone(rt, s, var, at);
    });
    leave(s);
}

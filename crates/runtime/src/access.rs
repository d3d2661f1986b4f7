//! Checking one access, or a range of them: the slow path behind every hook.

use deadheat_detect::entry::{self, Entry, PLAIN, WRITE};

use crate::cell::{self, Races};
use crate::finding;
use crate::history::{Place, Touch};
use crate::loss::Loss;
use crate::runtime::Runtime;
use crate::shadow::REGION;
use crate::strand::Strand;

impl Touch {
    /// The kind bits of an entry for this touch.
    #[inline(always)]
    pub const fn bits(self) -> u64 {
        match self {
            Touch::Learned => 0,
            Touch::Read => PLAIN,
            Touch::Write | Touch::Free | Touch::VptrWrite | Touch::Destroy | Touch::Alloc => PLAIN | WRITE,
            Touch::AtomicRead => 0,
            Touch::AtomicWrite | Touch::AtomicReadWrite => WRITE,
        }
    }
}

/// Does the strand look at such accesses now?
#[inline(always)]
fn ignored(s: &Strand, touch: Touch) -> bool {
    if touch.bits() & WRITE == 0 { s.ignore_reads > 0 } else { s.ignore_writes > 0 }
}

/// `s` touches `[addr, addr + size)` at `pc`.
#[inline]
pub fn access(rt: &Runtime, s: &mut Strand, addr: usize, size: usize, touch: Touch, pc: u64) {
    if ignored(s, touch) {
        return;
    }
    let place = Place::new(pc, touch, size as u64);
    let offset = addr % 8;
    if offset + size <= 8 {
        let mask = ((1u64 << size) - 1) << offset;
        return in_cell(rt, s, addr & !7, mask | touch.bits(), place);
    }
    range(rt, s, addr, size, touch, place);
}

/// The bytes and kind in `need` of the cell at `addr`.
#[inline(always)]
fn in_cell(rt: &Runtime, s: &mut Strand, addr: usize, need: u64, place: Place) {
    let Some(cell) = rt.shadow.cell(addr) else {
        return rt.losses.count(Loss::NoShadow);
    };
    // SAFETY: the shadow gave the cell.
    if unsafe { cell::already_recorded(cell, &s.step(), need) } {
        return;
    }
    s.enter();
    let seq = s.number(rt, place);
    let new = Entry(entry::stamp(s.slot, seq) | need);
    // SAFETY: the shadow gave the cell, and we are inside.
    let races = unsafe { cell::record(cell, &s.step(), new) };
    if races.count > 0 {
        found(rt, s, addr, new, &races);
    }
    leave(s);
}

/// Leaves the runtime, and runs the handlers of signals that arrived meanwhile.
#[inline(always)]
pub fn leave(s: &mut Strand) {
    if s.leave() {
        deliver(s);
    }
}

#[cold]
fn deliver(s: &mut Strand) {
    #[cfg(feature = "export")]
    crate::interpose::signals::deliver_pending(s);
    #[cfg(not(feature = "export"))]
    let _ = s;
}

#[cold]
#[inline(never)]
fn found(rt: &Runtime, s: &mut Strand, addr: usize, new: Entry, races: &Races) {
    for &old in &races.older[..races.count] {
        finding::race(rt, s, addr, new, old);
    }
}

/// A range that does not fit one cell. All its cells share one number.
pub fn range(rt: &Runtime, s: &mut Strand, addr: usize, size: usize, touch: Touch, place: Place) {
    if size == 0 || ignored(s, touch) {
        return;
    }
    let end = addr.saturating_add(size);
    s.enter();
    let mut new = None;
    let mut at = addr;
    while at < end {
        let stop = ((at | (REGION - 1)) + 1).min(end);
        match rt.shadow.cell(at) {
            None => rt.losses.count(Loss::NoShadow),
            Some(cells) => {
                let count = (stop - 1) / 8 - at / 8 + 1;
                for i in 0..count {
                    let mut mask = 0xffu64;
                    if i == 0 {
                        mask &= 0xff << (at % 8);
                    }
                    if i + 1 == count {
                        mask &= 0xff >> (7 - (stop - 1) % 8);
                    }
                    let need = mask | touch.bits();
                    let cell = cells.wrapping_add(i);
                    // SAFETY: the cell is inside the block that the shadow gave.
                    if unsafe { cell::already_recorded(cell, &s.step(), need) } {
                        continue;
                    }
                    let seq = match new {
                        Some(seq) => seq,
                        None => *new.insert(s.number(rt, place)),
                    };
                    let entry = Entry(entry::stamp(s.slot, seq) | need);
                    // SAFETY: as above, and we are inside.
                    let races = unsafe { cell::record(cell, &s.step(), entry) };
                    if races.count > 0 {
                        found(rt, s, (at & !7) + i * 8, entry, &races);
                    }
                }
            }
        }
        at = stop;
    }
    leave(s);
}

/// `s` touches a range at `pc`.
pub fn access_range(rt: &Runtime, s: &mut Strand, addr: usize, size: usize, touch: Touch, pc: u64) {
    range(rt, s, addr, size, touch, Place::new(pc, touch, size as u64));
}

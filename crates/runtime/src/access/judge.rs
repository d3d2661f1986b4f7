//! What an access does in a cell: it is compared with all that the cell remembers, put there, and its races are told.

use deadheat_detect::entry::Entry;

use super::settle_as;
use crate::cell::{self, Cell, Memo, Races, Right, Step};
use crate::finding;
use crate::history::SlotHistory;
use crate::pages::Owners;
use crate::runtime::Runtime;
use crate::shadow::Shadow;
use crate::strand::Strand;

/// Records one access in one cell, and tells the races it finds.
///
/// # Safety
/// `cell` must be the cell of `addr`, and the strand inside the runtime.
#[inline(always)]
pub unsafe fn record(rt: &Runtime, s: &mut Strand, addr: usize, cell: *mut Cell, new: Entry) {
    // SAFETY: by the contract.
    unsafe { judge(rt, s, addr, cell, new) };
    if s.races.count > 0 {
        found(rt, s, addr, new);
    }
}

/// The same, the short way if that will do.
///
/// # Safety
/// As for [`record`].
#[inline(always)]
pub unsafe fn record_quickly(
    rt: &Runtime,
    s: &mut Strand,
    addr: usize,
    cell: *mut Cell,
    stamp: u64,
    need: u64,
) {
    s.at_work.begin(addr);
    // SAFETY: by the contract, and the strand says where it works.
    let done = unsafe { settle_as(s, addr, cell, need, stamp) };
    s.at_work.end();
    if !done {
        s.needs_floor(rt);
        // SAFETY: by the contract.
        unsafe { record(rt, s, addr, cell, Entry(stamp | need)) };
    }
}

/// The strand has taken the lock at `addr`, whose memory it touched before, and has learned something by it: what that
/// orders before the touch's step is not needed beside it.
///
/// Whoever knows the touch was told by a release after it, so after the lock was taken: he knows what the strand knows now.
/// So who does not know one of the entries that are dropped does not know the touch either. Races were told before.
#[cold]
pub fn touched_before_learning(rt: &Runtime, s: &mut Strand, addr: usize) {
    let Some(cell) = rt.shadow.existing(addr) else {
        return;
    };
    let mut touch = None;
    // SAFETY: the shadow gave the cell for this address, and the caller is inside the runtime.
    unsafe {
        cell::each_entry(cell, |e| {
            if e.slot() == s.slot && e.seq() > s.told() {
                touch = Some(e);
            }
        });
        if let Some(touch) = touch {
            judge(rt, s, addr & !7, cell, touch);
            s.races.clear();
        }
    }
}

/// Compares `new` with what the cell remembers and puts it there; the races are in `s.races`.
///
/// # Safety
/// As for [`record`].
#[inline(always)]
unsafe fn judge(rt: &Runtime, s: &mut Strand, addr: usize, cell: *mut Cell, new: Entry) {
    // SAFETY: by the contract.
    let owners = unsafe { Shadow::owners(addr, cell) };
    s.races.clear();
    let Some(history) = s.history else { return };
    let (step, memo, races) = s.step_and_means();
    history.at_work.begin(addr);
    if owners.is_own(addr, step.slot) {
        // SAFETY: the page is our own while we are at work in it.
        unsafe { cell::record(cell, Right::Owner, memo, &step, new, races) };
        history.at_work.end();
    } else {
        history.at_work.end();
        // SAFETY: by the contract.
        unsafe { record_elsewhere(rt, owners, addr, cell, memo, &step, history, new, races) };
    }
}

/// The page is not our own yet, or shared.
///
/// # Safety
/// As for [`record`].
#[inline(never)]
#[allow(clippy::too_many_arguments)]
unsafe fn record_elsewhere(
    rt: &Runtime,
    owners: &Owners,
    addr: usize,
    cell: *mut Cell,
    memo: &mut Memo,
    step: &Step,
    history: &SlotHistory,
    new: Entry,
    races: &mut Races,
) {
    loop {
        if owners.settle(rt, addr, step.slot) == Right::Locker {
            // SAFETY: a shared page, whose cells are locked one by one.
            return unsafe { cell::record(cell, Right::Locker, memo, step, new, races) };
        }
        history.at_work.begin(addr);
        if owners.is_own(addr, step.slot) {
            // SAFETY: the page is our own while we are at work in it.
            unsafe { cell::record(cell, Right::Owner, memo, step, new, races) };
            return history.at_work.end();
        }
        history.at_work.end();
    }
}

#[cold]
#[inline(never)]
fn found(rt: &Runtime, s: &mut Strand, addr: usize, new: Entry) {
    let races = s.races;
    for &old in &races.older[..races.count] {
        finding::race(rt, s, addr, new, old);
    }
}

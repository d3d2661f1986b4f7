//! FastTrack at speed: the rules of [`deadheat_detect::fasttrack`] on flat pages of packed entries.
//!
//! Guarantee: the racing bytes of the naive detector, as the slow one has them.
//! Cost: a step's second access to a cell is one look at two words; the first one compares each remembered access with one
//! component of the clock. No hashing, unless a page is new or none of the pages near it in the table was used lately.
//!
//! | rule       | when                                                           | then                           |
//! |------------|----------------------------------------------------------------|--------------------------------|
//! | same epoch | an entry of this very epoch subsumes the access                | nothing                        |
//! | race       | `entry::races`, by the strand's clock                          | tell                           |
//! | subsume    | `entry::subsumes`, for each byte (`entry::remains`)            | the byte leaves the old entry  |
//! | merge      | same epoch, kind and place in the code, other bytes of the cell | one entry with both masks     |
//! | put        | else                                                           | a free place, or a list        |
//! | fresh      | memory is allocated                                            | clear its bytes in all entries |
//! | forget     | every strand that is left knows the entry                      | drop it if it is in the way, sometimes all of them, and pages without any |
//! | bury       | nobody can ever know of the entry                              | it leaves its slot             |
//!
//! A page is 128 cells of 8 bytes. A cell has two words and the numbers of what is behind them, 24 bytes; a third entry turns
//! the second word into the number of a list. A page whose cells are all alike (a large memset, a free) is one cell, and becomes
//! one again when an access of all its bytes leaves nothing else.
//!
//! | file      | what                                              |
//! |-----------|---------------------------------------------------|
//! | [`cell`]  | the rules on one cell                             |
//! | [`lists`] | what does not fit a cell                          |
//! | [`pages`] | where the cells of an address are                 |
//! | [`sites`] | what is behind the accesses                       |
//! | [`ahead`] | memory that will be needed soon                   |

mod ahead;
mod cell;
mod lists;
mod pages;
mod sites;

use deadheat_detect::entry::{self, Entry, MASK, PLAIN, WRITE};
use deadheat_trace::Range;
use deadheat_trace::wire::StackSet;

use crate::batch::{Batch, Buried, Named, Run, Slot, bits, by_slot};
use crate::detector::{Clocks, DetectorKind};
use crate::found::{Found, Info};
use ahead::{AHEAD, Ahead};
use cell::{Now, Touch};
use lists::Lists;
use pages::{Cells, PAGE, PAGE_SHIFT, Pages};
use sites::Sites;

/// The detector's memory.
#[derive(Debug)]
pub struct Fast {
    pages: Pages,
    lists: Lists,
    sites: Sites,
    ahead: Ahead,
    /// Pages at which the next sweep is due.
    sweep_at: usize,
    /// Fewer pages are not worth a sweep.
    few: usize,
    /// In whose name races are told.
    pub name: DetectorKind,
}

/// Fewer pages are not worth a sweep.
pub const FEW: usize = 1 << 9;

impl Default for Fast {
    fn default() -> Self {
        Fast {
            pages: Pages::default(),
            lists: Lists::default(),
            sites: Sites::default(),
            ahead: Ahead::default(),
            sweep_at: FEW,
            few: FEW,
            name: DetectorKind::FastTrack,
        }
    }
}

impl Fast {
    pub fn new() -> Fast {
        Fast::default()
    }

    /// Sweeps as soon as there are this many pages.
    pub fn sweep_from(&mut self, pages: usize) {
        (self.few, self.sweep_at) = (pages, pages);
    }

    /// Checks the accesses of a run of the batch.
    pub fn run(&mut self, run: &Run, batch: &Batch, clocks: &Clocks, found: &mut Found) {
        if self.sites.is_due() {
            let Fast {
                pages,
                lists,
                sites,
                ..
            } = self;
            drop(sites.collect(pages.len(), |mark| pages.sites(lists, mark)));
        }
        let now = Now {
            stamp: entry::stamp(run.slot.0, run.time),
            run,
            batch,
            clock: clocks.of(run.slot),
            floor: clocks.floor(),
            clocks,
            name: self.name,
        };
        let Fast {
            pages,
            lists,
            sites,
            ahead,
            ..
        } = self;
        let first = run.first as usize;
        // Those of later runs are fetched, too.
        let all = &batch.accesses[first..];
        ahead.begin((batch.number, first), all, pages);
        for (at, access) in all[..run.count as usize].iter().enumerate() {
            let place = ahead.next(all.get(at + AHEAD), pages, lists);
            if access.stride != 0 {
                let touch = Touch {
                    now: &now,
                    access,
                    number: 0,
                    need: bits(access.spot.kind()),
                    site: sites.number(now.info(access)),
                    sites,
                };
                strided(pages, lists, touch, found);
                continue;
            }
            let bits = bits(access.spot.kind());
            let offset = (access.addr & 7) as u32;
            if offset + access.len <= 8 {
                let need = bits | ((1u64 << access.len) - 1) << offset;
                let number = access.addr >> 3;
                let cell = pages.cells(place).cell(number);
                if !cell.settled(now.stamp, need) {
                    let touch = Touch {
                        now: &now,
                        access,
                        number,
                        need,
                        site: sites.number(now.info(access)),
                        sites,
                    };
                    cell::touch(cell, touch, lists, found);
                }
            } else {
                let touch = Touch {
                    now: &now,
                    access,
                    number: 0,
                    need: bits,
                    site: sites.number(now.info(access)),
                    sites,
                };
                let last = access.addr + u64::from(access.len - 1);
                if access.len < PAGE as u32 && access.addr >> PAGE_SHIFT == last >> PAGE_SHIFT {
                    let cells = pages.cells(place);
                    in_page(cells, lists, touch, (access.addr, last), found);
                } else {
                    range(pages, lists, touch, access.addr, access.len, found);
                }
            }
        }
        ahead.end(run.count as usize);
    }

    /// Goes on from an access that somebody else has remembered: a cell's number, an entry, and what is behind it. To be
    /// called for cells of which nothing but such accesses is remembered.
    pub fn adopt(&mut self, cell: u64, old: Entry, behind: Info) {
        let place = self.pages.place(cell >> (PAGE_SHIFT - 3));
        let site = self.sites.number(behind);
        cell::adopt(
            self.pages.cells(place).cell(cell),
            old,
            site,
            &mut self.lists,
        );
    }

    /// Rule fresh.
    pub fn fresh(&mut self, range: Range) {
        let (start, end) = range.bounds();
        let last = end - 1;
        let Fast { pages, lists, .. } = self;
        pages.between(
            start >> PAGE_SHIFT,
            last >> PAGE_SHIFT,
            |number, all, cells| {
                let base = number << PAGE_SHIFT;
                let (from, to) = (start.max(base), last.min(base + (PAGE - 1)));
                if to - from == PAGE - 1 {
                    pages::empty(all, cells, lists);
                } else if let Some(cells) = pages::filled(all, cells) {
                    for number in from >> 3..=to >> 3 {
                        let gone = mask(number, from, to);
                        cell::keep(cells.cell(number), lists, |word| {
                            *word &= !gone;
                            *word & MASK != 0
                        });
                    }
                }
            },
        );
    }

    /// Rule forget, if there is enough to make it worth while.
    pub fn forget(&mut self, known: &[u64]) {
        if self.pages.len() < self.sweep_at {
            return;
        }
        self.pages.forget(&mut self.lists, |word| {
            let entry = Entry(*word);
            !known
                .get(entry.slot() as usize)
                .is_some_and(|&time| entry.covered_by(time))
        });
        self.ahead.forget();
        self.sweep_at = self.few.max(self.pages.len() * 2);
    }

    /// Accesses of which nobody can ever know leave their slots; of two that race with the same, one is enough, and of two of
    /// which one is known only to those who know the other, the one. Says which slots are named then.
    pub fn sweep(&mut self, buried: &[Buried], named: &mut Named) {
        let by_slot = by_slot(buried);
        let of = |entry: Entry| by_slot.get(usize::from(entry.slot())).copied().flatten();
        // Those that may be enough for others of their cell.
        let mut tellers: Vec<(Entry, &Buried)> = Vec::new();
        let mut unknown: Vec<Entry> = Vec::new();
        self.pages.each_cell(&mut self.lists, |cell, lists| {
            tellers.clear();
            unknown.clear();
            if !buried.is_empty() && cell.list().is_some() {
                cell::keep(cell, lists, |word| {
                    let entry = Entry(*word);
                    tellers.extend(of(entry).map(|one| (entry, one)));
                    true
                });
            }
            cell::keep(cell, lists, |word| {
                let entry = Entry(*word);
                let enough = |&(other, by): &(Entry, &Buried)| {
                    by.implies(other.seq(), (entry.slot(), entry.seq()))
                        && other.0 != entry.0
                        && entry::subsumes(other, entry, true)
                };
                if tellers.iter().rev().any(enough) {
                    return false;
                }
                if let Some(one) = of(entry).filter(|one| one.has_unknown(entry.seq())) {
                    let what = *word & ((1 << entry::SEQ_SHIFT) - 1);
                    *word = entry::stamp(Slot::BURIED.0, u64::from(one.strand.0) + 1) | what;
                } else if entry.slot() != Slot::BURIED.0 {
                    named.add(entry.slot());
                    return true;
                } else if buried.is_empty() {
                    return true;
                }
                let entry = Entry(*word);
                if unknown
                    .iter()
                    .any(|&other| entry::subsumes(other, entry, true))
                {
                    return false;
                }
                unknown.push(entry);
                true
            });
        });
    }

    /// Adds the call stacks of all accesses that are remembered.
    pub fn stacks(&mut self, used: &mut StackSet) {
        let Fast {
            pages,
            lists,
            sites,
            ..
        } = self;
        for info in sites.collect(pages.len(), |mark| pages.sites(lists, mark)) {
            used.add(info.caller);
        }
    }

    /// Pages of memory that are remembered.
    pub fn pages(&self) -> usize {
        self.pages.len()
    }
}

/// What a loop touched in turns that leave bytes out between them. `like` is without cell and bytes.
fn strided(pages: &mut Pages, lists: &mut Lists, like: Touch<'_>, found: &mut Found) {
    let Touch { now, access, .. } = like;
    let ahead = AHEAD as u64 / 2 * u64::from(access.stride);
    let mut stretches = access.stretches().peekable();
    while let Some((addr, len)) = stretches.next() {
        if (addr & 7) + u64::from(len) > 8 {
            range(pages, lists, like, addr, len, found);
            continue;
        }
        // All that lie in the same page and are no such either.
        let page = addr >> PAGE_SHIFT;
        let place = pages.place(page);
        pages.fetch_at(addr.wrapping_add(ahead));
        let cells = pages.cells(place);
        let mut here = Some((addr, len));
        while let Some((addr, len)) = here {
            cells.fetch_near((addr.wrapping_add(ahead)) >> 3);
            let number = addr >> 3;
            let need = like.need | ((1u64 << len) - 1) << (addr & 7);
            let cell = cells.cell(number);
            if !cell.settled(now.stamp, need) {
                let touch = Touch {
                    number,
                    need,
                    ..like
                };
                cell::touch(cell, touch, lists, found);
            }
            here = stretches.next_if(|&(addr, len)| {
                addr >> PAGE_SHIFT == page && (addr & 7) + u64::from(len) <= 8
            });
        }
    }
}

/// An access, or a part of one, to more than one cell. `like` is without cell and bytes.
fn range(
    pages: &mut Pages,
    lists: &mut Lists,
    like: Touch<'_>,
    addr: u64,
    len: u32,
    found: &mut Found,
) {
    let last = addr + u64::from(len - 1);
    for page in addr >> PAGE_SHIFT..=last >> PAGE_SHIFT {
        let base = page << PAGE_SHIFT;
        let (from, to) = (addr.max(base), last.min(base + (PAGE - 1)));
        let place = pages.place(page);
        if to - from == PAGE - 1 {
            let touch = Touch {
                number: from >> 3,
                need: like.need | MASK,
                ..like
            };
            if let Some(all) = pages.all(place) {
                if cell::whole(all, touch, lists, found) {
                    continue;
                }
            } else if pages.unite(place, lists, touch) {
                // A free, or a large memset: of all that was before it nothing is left.
                continue;
            }
        }
        in_page(pages.cells(place), lists, like, (from, to), found);
    }
}

/// An access, or a part of one, to cells of one page: from one byte to another.
#[inline(always)]
fn in_page(
    cells: &mut Cells,
    lists: &mut Lists,
    like: Touch<'_>,
    (from, to): (u64, u64),
    found: &mut Found,
) {
    let (first, last) = (from >> 3, to >> 3);
    for (number, cell) in (first..).zip(cells.cells(first, last)) {
        let need = like.need | mask(number, from, to);
        if !cell.settled(like.now.stamp, need) {
            let touch = Touch {
                number,
                need,
                ..like
            };
            cell::touch(cell, touch, lists, found);
        }
    }
}

/// The bytes of a cell that lie in `from..=to`.
#[inline(always)]
fn mask(number: u64, from: u64, to: u64) -> u64 {
    let low = from.saturating_sub(number << 3).min(7);
    let high = (to - (number << 3)).min(7);
    (0xff << low) & (0xff >> (7 - high))
}

const _: () = assert!(entry::WHAT == MASK | PLAIN | WRITE);

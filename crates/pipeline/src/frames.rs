//! FastTrack on one frame at a time, as KUDA checks: whatever crosses the end of a frame is missed.
//!
//! Paper: Bekar, Elmas, Okur and Tasiran, "KUDA: GPU accelerated split race checker", WoDet 2012.
//! Guarantee: no false alarm: what orders two accesses of a frame lies between them, and so in the frame. Two accesses
//! that race are found if they are in the same frame and the newer one is; nothing else is.
//! Cost: a table that stays in the nearest cache, and memory that does not grow with the program's.
//!
//! The rules are those of [`crate::fast`] without lists and pages: a cell's entries are a short chain in the table of
//! the frame, which is emptied by counting up.

use deadheat_detect::entry::{self, Entry, MASK, SEQ_SHIFT};
use deadheat_trace::Range;
use deadheat_trace::wire::StackSet;

use crate::batch::{Access, Run, bits};
use crate::detector::{Clocks, DetectorKind};
use crate::found::{Candidate, Found, Info, Side};

/// Places of the table; a power of two, larger than the cells that most frames touch.
const PLACES: usize = 1 << 12;
/// No entry.
const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Link {
    cell: u64,
    word: u64,
    info: Info,
    next: u32,
}

/// The table of the present frame.
#[derive(Debug)]
pub struct Frames {
    /// The first link of each chain, and the frame that it belongs to.
    heads: Vec<(u64, u32)>,
    links: Vec<Link>,
    frame: u64,
    /// In whose name races are told.
    pub name: DetectorKind,
}

impl Default for Frames {
    fn default() -> Self {
        Frames {
            heads: vec![(0, NONE); PLACES],
            links: Vec::new(),
            frame: 1,
            name: DetectorKind::FastTrack,
        }
    }
}

impl Frames {
    /// The next frame begins.
    pub fn next(&mut self) {
        self.frame += 1;
        self.links.clear();
    }

    /// Goes on from an access of this frame that somebody else has remembered.
    pub fn adopt(&mut self, cell: u64, old: Entry, behind: Info) {
        let place = place(cell);
        let (frame, head) = self.heads[place];
        let next = if frame == self.frame { head } else { NONE };
        self.heads[place] = (self.frame, self.links.len() as u32);
        self.links.push(Link {
            cell,
            word: old.0,
            info: behind,
            next,
        });
    }

    /// Checks the accesses of a run against the frame so far.
    pub fn run(&mut self, run: &Run, accesses: &[Access], clocks: &Clocks, found: &mut Found) {
        let clock = clocks.of(run.slot);
        let stamp = entry::stamp(run.slot.0, run.time);
        for (access, (addr, len)) in accesses
            .iter()
            .flat_map(|access| access.stretches().map(move |stretch| (access, stretch)))
        {
            let last = addr + u64::from(len - 1);
            for cell in addr >> 3..=last >> 3 {
                let low = addr.saturating_sub(cell << 3).min(7);
                let high = (last - (cell << 3)).min(7);
                let mask = (0xff << low) & (0xff >> (7 - high)) & MASK;
                let new = Entry(stamp | bits(access.spot.kind()) | mask);
                self.touch(run, access, cell, new, clock, clocks, found);
            }
        }
    }

    #[allow(clippy::too_many_arguments)]
    #[inline(always)]
    fn touch(
        &mut self,
        run: &Run,
        access: &Access,
        cell: u64,
        new: Entry,
        clock: &[u64],
        clocks: &Clocks,
        found: &mut Found,
    ) {
        let place = place(cell);
        let (frame, head) = self.heads[place];
        let head = if frame == self.frame { head } else { NONE };
        let info = Info {
            spot: access.spot,
            caller: access.caller,
            locks: run.locks,
        };
        let (mut at, mut free) = (head, None);
        while at != NONE {
            let link = &mut self.links[at as usize];
            if link.cell == cell && link.word != 0 {
                let old = Entry(link.word);
                if (old.0 ^ new.0) >> SEQ_SHIFT == 0 && entry::subsumes(old, new, true) {
                    return;
                }
                let known = clock
                    .get(old.slot() as usize)
                    .is_some_and(|&time| old.covered_by(time));
                let bytes = entry::racing_bytes(old, new, known);
                if bytes != 0 {
                    found.pair(Candidate {
                        detector: self.name,
                        order: access.order,
                        acts: run.acts,
                        cell: cell * 8,
                        bytes,
                        new: Side {
                            strand: run.strand,
                            time: run.time,
                            info,
                            what: Entry(new.0 & entry::WHAT),
                        },
                        old: Side {
                            strand: clocks.owner(old.slot(), old.seq()),
                            time: old.seq(),
                            info: link.info,
                            what: Entry(old.0 & entry::WHAT),
                        },
                        memory: None,
                    });
                }
                if entry::subsumes(new, old, known) {
                    link.word = 0;
                    free = Some(at);
                }
            }
            at = link.next;
        }
        match free {
            Some(at) => {
                let link = &mut self.links[at as usize];
                (link.word, link.info) = (new.0, info);
            }
            None => {
                self.heads[place] = (self.frame, self.links.len() as u32);
                self.links.push(Link {
                    cell,
                    word: new.0,
                    info,
                    next: head,
                });
            }
        }
    }

    /// Adds the call stacks of all accesses of this frame.
    pub fn stacks(&self, used: &mut StackSet) {
        for link in &self.links {
            used.add(link.info.caller);
        }
    }

    /// Memory is new.
    pub fn fresh(&mut self, range: Range) {
        let (start, end) = range.bounds();
        for link in &mut self.links {
            let base = link.cell << 3;
            for byte in 0..8 {
                if (start..end).contains(&(base + byte)) {
                    link.word &= !(1 << byte);
                }
            }
            if link.word & MASK == 0 {
                link.word = 0;
            }
        }
    }
}

/// Where the chain of a cell begins.
#[inline(always)]
fn place(cell: u64) -> usize {
    (cell.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 52) as usize % PLACES
}

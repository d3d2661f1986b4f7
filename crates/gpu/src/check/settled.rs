//! What needs no second look: grains of which two others are recorded that everybody who comes later must meet.
//!
//! Guarantee: nothing that `line` would report for the first time at an address is lost by not looking again. If readers
//! of two different blocks are recorded for a grain, they stay recorded for the whole launch, and every write races with
//! one of them, whoever does it; another reader changes nothing. Of two warps of one block the same holds until their
//! next barrier. Updates by atomics are like reads here. The instruction is part of what is remembered, so every
//! statement looks at least once.
//! Cost: one comparison instead of a lock, a line and its entries.

use super::line::{Kind, Me};

/// What a look at a line has shown: grains that are settled for good, and until my block's next barrier.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settled {
    pub ever: u32,
    pub phase: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    line: u64,
    /// Block and phase, or zero for good.
    until: u64,
    /// Instruction and kind, never zero.
    what: u32,
    mask: u32,
}

const ENTRIES: usize = 512;

/// The last lines of which something was settled.
#[derive(Debug)]
pub struct Memo {
    entries: Box<[Entry; ENTRIES]>,
}

impl Default for Memo {
    fn default() -> Self {
        Memo {
            entries: Box::new([Entry::default(); ENTRIES]),
        }
    }
}

#[inline(always)]
fn what(pc: u32, kind: Kind) -> u32 {
    pc << 2 | kind as u32 | 1
}

#[inline(always)]
fn place(line: u64, what: u32) -> usize {
    // Lines of one array follow each other; instructions must not all use the same entries.
    (line as usize).wrapping_add(what as usize * 23) % ENTRIES
}

impl Memo {
    /// Are all of these grains settled for me?
    #[inline(always)]
    pub fn knows(&self, line: u64, mask: u32, me: &Me, pc: u32, kind: Kind) -> bool {
        let what = what(pc, kind);
        let e = &self.entries[place(line, what)];
        e.line == line
            && e.what == what
            && e.mask & mask == mask
            && (e.until == 0 || e.until == me.until())
    }

    #[inline(always)]
    pub fn learn(&mut self, line: u64, s: Settled, me: &Me, pc: u32, kind: Kind) {
        if s == Settled::default() {
            return;
        }
        let (until, mask) = if s.ever != 0 && s.phase & !s.ever == 0 {
            (0, s.ever)
        } else {
            (me.until(), s.ever | s.phase)
        };
        let what = what(pc, kind);
        let e = &mut self.entries[place(line, what)];
        let same = e.line == line && e.what == what && e.until == until;
        *e = Entry {
            line,
            until,
            what,
            mask: if same { e.mask | mask } else { mask },
        };
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::Scheme;
    use super::super::log::Log;
    use super::super::plain::{GroundPages, Plain};
    use super::*;
    use crate::machine::program::Strength;
    use crate::machine::{Access, Links, Shape, What};
    use crate::ptx::Space;

    /// Block, phase, warp, grain, what.
    type Did = (u32, u32, u16, u64, What);

    fn racy(all: &[Did]) -> BTreeSet<u64> {
        let mut out = BTreeSet::new();
        for (k, a) in all.iter().enumerate() {
            for b in &all[..k] {
                let alike = a.4 == b.4 && a.4 != What::Write;
                let apart = a.0 != b.0 || (a.1 == b.1 && a.2 != b.2);
                if a.3 == b.3 && apart && !alike {
                    out.insert(a.3);
                }
            }
        }
        out
    }

    /// What is not looked at twice must not be missed: addresses that race are those of a list of all accesses.
    #[test]
    fn nothing_is_lost_by_remembering() {
        let mut state = 0x9e37_79b9_97f4_a7c1u64;
        let mut dice = |n: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 11) % n
        };
        for round in 0..300 {
            let pages = GroundPages::default();
            // Two cores, each with what it remembers.
            let mut cores = [Plain::new(0, 4), Plain::new(0, 4)];
            let mut log = Log::new(Scheme::Addr, true, 32, 4);
            let mut all: Vec<Did> = Vec::new();
            let mut phases = [0u32; 4];
            let rare = 2 + round % 40;
            for _ in 0..250 {
                let block = dice(4) as u32;
                if dice(12) == 0 {
                    phases[block as usize] += 1;
                }
                let (phase, warp) = (phases[block as usize], dice(3) as u16);
                let what = match dice(rare) {
                    0 => What::Write,
                    1 => What::Atomic,
                    _ => What::Read,
                };
                let start = (1 << 20) + 4 * dice(40);
                let apart = 4 * dice(3);
                let mut addrs = [0u64; 32];
                for (l, a) in addrs.iter_mut().enumerate() {
                    *a = start + apart * l as u64;
                }
                let lanes = 1 + dice(8);
                let mask = if what == What::Write && apart == 0 {
                    1
                } else {
                    (1 << lanes) - 1
                };
                let last = 63 - u64::leading_zeros(mask) as usize;
                let a = Access {
                    pc: dice(3) as u32,
                    stamp: 0,
                    warp,
                    mask,
                    addrs: &addrs,
                    origin: 0,
                    lo: addrs[0],
                    hi: addrs[last],
                    shape: match apart {
                        0 => Shape::Point,
                        4 => Shape::Run,
                        _ => Shape::Scattered,
                    },
                    links: Links::default(),
                    size: 4,
                    what,
                    strength: Strength::Weak,
                    space: Space::Global,
                    values: &[],
                    before: &[],
                };
                let me = Me::new(block, phase, warp);
                let core = &mut cores[block as usize % 2];
                core.global(&a, mask, &me, (&pages, round % 2 == 0), &mut log);
                for l in (0..32).filter(|l| mask >> l & 1 == 1) {
                    all.push((block, phase, warp, addrs[l], what));
                }
            }
            let got: BTreeSet<u64> = log
                .races
                .map
                .values()
                .flat_map(|r| r.addrs.iter().copied())
                .collect();
            assert_eq!(got, racy(&all), "round {round}");
        }
    }
}

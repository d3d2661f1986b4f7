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
    let h = (line ^ u64::from(what) << 40).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (h >> 55) as usize % ENTRIES
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

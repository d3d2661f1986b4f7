//! What the compiler tells of all turns of a loop at once, recorded at once: three words for thousands of accesses.
//!
//! Two things keep out what the step has recorded already. A loop that comes again as it was (the inner one of a nest) is
//! found by one look in a table of those told last. Of any other, the lines of the filter are looked through, and only
//! stretches of turns that it does not know are written. Whatever is written once too often costs space and nothing else.

use core::sync::atomic::Ordering;

use deadheat_trace::wire::{self, MOST_REACH, MOST_TURNS, Spot, Turns};

use crate::access::leave;
use crate::record::recorder::{LINE, LINE_BITS, Recorder};
use crate::record::wait;
use crate::runtime::Runtime;
use crate::strand::Strand;

/// Loops that are remembered.
pub const LOOPS: usize = 1 << 11;

/// A loop that was told; zeroes are none.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct Told {
    addr: u64,
    count: u64,
    /// The distance of its turns, their size, and whether they write.
    how: u64,
    /// The step that told it, and what was renewed in it until then.
    step: u64,
}

impl Told {
    pub const NONE: Told = Told {
        addr: 0,
        count: 0,
        how: 0,
        step: 0,
    };
}

/// A loop: what all turns have in common.
#[derive(Clone, Copy, Debug)]
pub struct Loop {
    pub addr: usize,
    pub count: usize,
    /// From one turn to the next; at least 1 if there is more than one.
    pub stride: usize,
    pub size: usize,
    pub write: bool,
}

impl Loop {
    /// Upwards, whatever its direction was: the turns of a loop are in no order. None if it leaves memory.
    pub fn new(addr: usize, count: usize, stride: isize, size: usize, write: bool) -> Option<Loop> {
        let last = addr.checked_add_signed(stride.checked_mul(count.checked_sub(1)? as isize)?)?;
        addr.max(last).checked_add(size)?;
        Some(Loop {
            addr: addr.min(last),
            count: if stride == 0 { 1 } else { count },
            stride: stride.unsigned_abs(),
            size,
            write,
        })
    }

    fn at(&self, turn: usize) -> usize {
        self.addr + turn * self.stride
    }
}

impl Recorder {
    /// Where such a loop is remembered, and what is to be found there.
    #[inline(always)]
    fn told(&self, all: &Loop) -> (usize, Told) {
        let told = Told {
            addr: all.addr as u64,
            count: all.count as u64,
            how: (all.stride as u64) << 16 | (all.size as u64) << 1 | u64::from(all.write),
            step: self.step.wrapping_add(self.renewed),
        };
        let mixed =
            (told.addr ^ told.count << 40 ^ told.how << 20).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        ((mixed >> 48) as usize % LOOPS, told)
    }

    /// Calls `tell` with those stretches of turns (the first, and how many) of which the filter does not know all, and adds
    /// them to it. Ends when `tell` says false.
    pub(super) fn unknown(
        &mut self,
        all: &Loop,
        mut tell: impl FnMut(&mut Recorder, usize, usize) -> bool,
    ) -> bool {
        let Loop {
            count,
            stride,
            size,
            write,
            ..
        } = *all;
        let bytes = u64::MAX >> (LINE - size.min(LINE));
        // Turns that fill a line, if they do.
        let full = if stride == size && LINE.is_multiple_of(size) {
            LINE / size
        } else {
            usize::MAX
        };
        let (mut turn, mut open) = (0, None);
        while turn < count {
            let at = all.at(turn);
            let (line, mut offset) = (at >> LINE_BITS, at % LINE);
            let mut next = turn;
            let known = if offset + size > LINE {
                next += 1;
                let known = self.has_range(at, size, write);
                if !known {
                    self.add_range(at, size, write);
                }
                known
            } else {
                let mut mask = 0;
                if offset == 0 && count - turn >= full {
                    (mask, next) = (u64::MAX, turn + full);
                }
                while next < count && mask != u64::MAX && offset + size <= LINE {
                    mask |= bytes << offset;
                    next += 1;
                    offset = offset.saturating_add(stride);
                }
                let known = self.has(line, mask, write);
                if !known {
                    self.add(line, mask, write);
                }
                known
            };
            if !known && open.is_none() {
                open = Some(turn);
            }
            if known
                && let Some(first) = open.take()
                && !tell(self, first, turn - first)
            {
                return false;
            }
            turn = next;
        }
        match open {
            Some(first) => tell(self, first, count - first),
            None => true,
        }
    }

    /// Writes some turns. False if they are dropped.
    fn write_turns(
        &mut self,
        caller: u32,
        all: &Loop,
        first: usize,
        count: usize,
        spot: Spot,
    ) -> bool {
        let within_reach = (MOST_REACH as usize - all.size) / all.stride.max(1) + 1;
        let most = within_reach.min(MOST_TURNS as usize);
        let (mut turn, end) = (first, first + count);
        while turn < end {
            let some = most.min(end - turn);
            if !self.room(wait::Must::WriteOrDrop) {
                self.drop_turns((end - turn) as u64);
                return false;
            }
            let index = self.write_place(caller, spot);
            let turns = Turns {
                addr: all.at(turn) as u64,
                count: some as u32,
                stride: if some > 1 { all.stride as u32 } else { 1 },
                spot,
            };
            if let Some(words) = wire::turns(turns, index) {
                self.put(&words);
                self.weigh(some as u64);
            }
            turn += some;
        }
        true
    }

    /// The filter has taken in what was not written: it must forget.
    #[cold]
    fn drop_turns(&mut self, count: u64) {
        self.new_step();
        self.lost += count;
        self.arena
            .header()
            .dropped
            .fetch_add(count, Ordering::Relaxed);
    }
}

/// `s`, which records, is about to run a loop at `pc`.
pub fn turns(rt: &Runtime, s: &mut Strand, all: &Loop, pc: u64) {
    let ignored = if all.write {
        s.ignore_writes
    } else {
        s.ignore_reads
    };
    if ignored > 0 || all.count == 0 || all.size == 0 {
        return;
    }
    let Some(recorder) = s.recorder() else {
        return;
    };
    let (place, told) = recorder.told(all);
    if recorder.loops[place] == told {
        return;
    }
    s.enter();
    let caller = s.stack(rt).0;
    if let Some(recorder) = s.recorder() {
        let kind = if all.write {
            wire::Touch::Write
        } else {
            wire::Touch::Read
        };
        let spot = Spot::new(pc, kind as u8, all.size as u64);
        let whole = recorder.unknown(all, |recorder, first, count| {
            recorder.write_turns(caller, all, first, count, spot)
        });
        if whole {
            recorder.loops[place] = told;
        }
    }
    leave(s);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    /// Random loops: all that a step did not know is told, nothing else is, and what was told is known.
    #[test]
    fn stretches_hold_what_a_naive_set_does_not() {
        let recorder = Recorder::bare();
        let mut seed = 7u64;
        let mut draw = |below: u64| {
            seed = seed
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            (seed >> 33) % below
        };
        let (mut quiet, mut partly) = (0, 0);
        let mut known: [HashSet<usize>; 2] = Default::default();
        for _ in 0..20_000 {
            if draw(50) == 0 {
                recorder.new_step();
                known = Default::default();
            }
            let size = [1, 2, 4, 8, 16, 3, 32][draw(7) as usize];
            let stride = match draw(4) {
                0 | 1 => size as isize,
                2 => [1, 4, 8, 16, 24, 64, 100, 4096][draw(8) as usize],
                _ => -([1, 4, 8, 16, 24, 64, 100, 4096][draw(8) as usize]),
            };
            let (addr, count) = (0x10_0000 + draw(2000) as usize, 1 + draw(60) as usize);
            let write = draw(2) == 0;
            let all = Loop::new(addr, count, stride, size, write).expect("a loop");
            let mut told = HashSet::new();
            assert!(recorder.unknown(&all, |_, first, count| {
                assert!(count > 0 && first + count <= all.count);
                for turn in first..first + count {
                    told.extend(all.at(turn)..all.at(turn) + size);
                }
                true
            }));
            let meant: HashSet<usize> = (0..count as isize)
                .flat_map(|turn| {
                    let at = addr.wrapping_add_signed(turn * stride);
                    at..at + size
                })
                .collect();
            assert!(told.is_subset(&meant));
            let new = meant.difference(&known[usize::from(write)]);
            assert!(new.into_iter().all(|byte| told.contains(byte)));
            quiet += usize::from(told.is_empty());
            partly += usize::from(!told.is_empty() && told.len() < meant.len());
            known[0].extend(&meant);
            if write {
                known[1].extend(&meant);
            }
        }
        assert!(quiet > 100 && partly > 100, "{quiet} {partly}");
    }
}

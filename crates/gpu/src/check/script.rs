//! Thread-invariant reads: what the first two warps of a phase read at an instruction, step by step.
//!
//! All threads that get to such an instruction in the same iterations read the same places. Two readers of a block
//! are company enough for a third (see `line`), so a warp that reads what the first two read at the same step need
//! not be recorded. Nothing is assumed: a warp whose step differs is recorded.

use crate::machine::program::Pc;

/// Steps that are remembered; later ones are recorded.
const MOST: usize = 1 << 16;

#[derive(Debug, Default)]
struct Script {
    /// Phase + 1; zero before the first.
    phase: u32,
    leaders: [Option<u16>; 2],
    read: [Vec<u64>; 2],
    /// How far each warp has got.
    steps: Vec<u32>,
}

/// The scripts of a block, by instruction.
#[derive(Debug, Default)]
pub struct Scripts {
    all: Vec<Script>,
    warps: usize,
}

impl Scripts {
    pub fn new(instructions: usize, warps: usize) -> Scripts {
        Scripts {
            all: (0..instructions).map(|_| Script::default()).collect(),
            warps,
        }
    }

    /// Another block begins.
    pub fn clear(&mut self) {
        self.all.iter_mut().for_each(|s| s.phase = 0);
    }

    /// Must this read be recorded?
    pub fn new_to(&mut self, pc: Pc, phase: u32, warp: u16, at: u64) -> bool {
        let s = &mut self.all[pc as usize];
        if s.phase != phase + 1 {
            s.phase = phase + 1;
            s.leaders = [None; 2];
            s.read.iter_mut().for_each(Vec::clear);
            s.steps.clear();
            s.steps.resize(self.warps, 0);
        }
        for k in 0..2 {
            if s.leaders[k].is_none_or(|w| w == warp) {
                s.leaders[k] = Some(warp);
                if s.read[k].len() < MOST {
                    s.read[k].push(at);
                }
                return true;
            }
        }
        let step = &mut s.steps[usize::from(warp)];
        let k = *step as usize;
        *step += 1;
        s.read.iter().any(|r| r.get(k) != Some(&at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_third_warp_is_known_if_it_does_the_same() {
        let mut s = Scripts::new(1, 4);
        for warp in [0, 1] {
            assert!([8, 16, 24].iter().all(|at| s.new_to(0, 0, warp, *at)));
        }
        assert!(!s.new_to(0, 0, 2, 8) && !s.new_to(0, 0, 2, 16));
        assert!(s.new_to(0, 0, 2, 32), "another place");
        assert!(s.new_to(0, 0, 2, 24), "further than the leaders got");
        assert!(s.new_to(0, 1, 2, 8), "another phase");
    }
}

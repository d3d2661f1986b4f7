//! What one block's watcher has found so far: races, and the statements of the phase that explain them.

use crate::machine::What;
use crate::machine::program::Pc;
use crate::ptx::Space;

use super::Scheme;
use super::race::{Races, Relation, Side};
use super::stmt::Table;

/// A thread at an instruction.
#[derive(Clone, Copy, Debug)]
pub struct Actor {
    pub block: u32,
    pub phase: u32,
    pub warp: u16,
    pub lane: u32,
    pub pc: Pc,
    pub what: What,
}

/// Findings of a block.
#[derive(Debug)]
pub struct Log {
    pub races: Races,
    pub table: Table,
    /// Grains of shared memory found racing in this phase, for the table.
    pub racy: Vec<u32>,
    scheme: Scheme,
    /// Only block-wide barriers order anything, so the table can tell what is ordered.
    by_phase: bool,
    warp_size: u32,
    grain: u32,
}

impl Log {
    pub fn new(scheme: Scheme, by_phase: bool, warp_size: u32, grain: u32) -> Log {
        Log {
            races: Races::default(),
            table: Table::default(),
            racy: Vec::new(),
            scheme,
            by_phase,
            warp_size,
            grain,
        }
    }

    fn side(&self, a: Actor) -> Side {
        Side {
            pc: a.pc,
            what: a.what,
            block: a.block,
            thread: u32::from(a.warp) * self.warp_size + a.lane,
            phase: a.phase,
        }
    }

    /// Two accesses of a grain, or of an element, raced.
    #[cold]
    pub fn race(
        &mut self,
        (a, b): (Actor, Actor),
        space: Space,
        relation: Relation,
        same: bool,
        addr: u64,
        size: u32,
    ) {
        if space == Space::Shared {
            self.racy.push((addr / u64::from(self.grain)) as u32);
        }
        // With the statement table, pairs of warps in shared memory are explained there.
        let explained = self.scheme == Scheme::Both
            && space == Space::Shared
            && relation == Relation::Warps
            && self.by_phase
            && self.table.lost == 0;
        if !explained {
            let (s, t) = (self.side(a), self.side(b));
            self.races
                .add(s, t, self.warp_size, space, relation, same, addr, size, 1);
        }
    }

    /// A block-wide barrier, or the end.
    pub fn end_phase(&mut self, block: u32, phase: u32) {
        let all = match self.scheme {
            Scheme::Addr | Scheme::Off => {
                self.racy.clear();
                return;
            }
            Scheme::Stmt => true,
            Scheme::Both => false,
        };
        if all || (!self.racy.is_empty() && self.by_phase) {
            self.racy.sort_unstable();
            self.racy.dedup();
            let list = (!all).then_some(self.racy.as_slice());
            self.table.compare(
                &mut self.races,
                block,
                phase,
                self.warp_size,
                self.grain,
                list,
            );
        }
        self.racy.clear();
        self.table.clear();
    }
}

//! Synchronization blocks: which accesses can happen between the same two barriers, and in which iterations.
//!
//! Phases start at the kernel's entry or at a barrier. An access belongs to the phase of every start from which it
//! can be reached without passing a barrier; on the way a path may go round a loop once, or enter one anew.

use std::collections::HashMap;

use crate::cfg::BlockId;

use super::values::Values;

/// How a loop's iteration at an access follows from the phase's start, per loop with barriers (bit = loop number).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Way {
    /// One iteration later than the start.
    pub later: u64,
    /// In its first iteration.
    pub first: u64,
}

/// The ways to each access.
pub type Reached = HashMap<u32, Vec<Way>>;

/// The phases of a kernel.
#[derive(Debug)]
pub struct Phases {
    /// For each start: its instruction (none for the entry) and how each access is reached.
    pub starts: Vec<(Option<u32>, Reached)>,
    /// Loops in which every iteration passes a barrier.
    pub barrier_loops: Vec<bool>,
}

pub(super) fn is_barrier(v: &Values<'_>, k: u32) -> bool {
    let i = &v.f.body[k as usize];
    matches!(i.op.as_str(), "bar" | "barrier") && !i.has("warp") && !i.has("arrive")
}

/// Finds the phases.
///
/// # Errors
/// A sentence that says why they cannot be told before running.
pub fn phases(v: &mut Values<'_>, accesses: &[u32]) -> Result<Phases, String> {
    let n = v.f.body.len() as u32;
    let barriers: Vec<u32> = (0..n).filter(|k| is_barrier(v, *k)).collect();
    if v.loops.len() > 60 {
        return Err("it has too many loops".into());
    }
    for k in 0..n {
        let i = &v.f.body[k as usize];
        let named = matches!(i.op.as_str(), "bar" | "barrier")
            && !i.has("warp")
            && (i.has("arrive") || i.args.len() > 1 && !i.has("red") || i.guard.is_some());
        if named {
            return Err("it uses named or conditional barriers".into());
        }
    }
    let entry = BlockId(0);
    for &b in &barriers {
        let (conds, _) = v.between(entry, v.cfg.block_of[b as usize]);
        if conds.iter().any(|c| !v.uniform(*c) || v.unknowable(*c)) {
            return Err(format!(
                "not all threads may reach the barrier on line {}",
                v.f.body[b as usize].loc.line
            ));
        }
    }
    let mut barrier_loops = vec![false; v.loops.len()];
    for (l, in_step) in barrier_loops.iter_mut().enumerate() {
        let lp = &v.loops[l];
        if !barriers
            .iter()
            .any(|b| lp.blocks.contains(&v.cfg.block_of[*b as usize]))
        {
            continue;
        }
        if lp.trip.is_none() || round_without_barrier(v, l) {
            return Err("how often a loop with barriers runs is decided only at run time".into());
        }
        *in_step = true;
    }
    let mut starts = Vec::new();
    for s in std::iter::once(None).chain(barriers.iter().map(|b| Some(*b))) {
        starts.push((s, reach(v, s, &barrier_loops, accesses)));
    }
    Ok(Phases {
        starts,
        barrier_loops,
    })
}

/// Can an iteration of the loop pass no barrier?
fn round_without_barrier(v: &Values<'_>, l: usize) -> bool {
    let lp = &v.loops[l];
    let mut seen = Vec::new();
    let mut work = vec![lp.header];
    while let Some(b) = work.pop() {
        if seen.contains(&b) {
            continue;
        }
        seen.push(b);
        let blk = &v.cfg.blocks[b.0 as usize];
        if (blk.start..blk.end).any(|k| is_barrier(v, k)) {
            continue;
        }
        for s in &blk.succs {
            if *s == lp.header {
                return true;
            }
            if lp.blocks.contains(s) {
                work.push(*s);
            }
        }
    }
    false
}

fn reach(
    v: &Values<'_>,
    start: Option<u32>,
    barrier_loops: &[bool],
    accesses: &[u32],
) -> HashMap<u32, Vec<Way>> {
    let mut out: HashMap<u32, Vec<Way>> = HashMap::new();
    let mut seen = std::collections::HashSet::new();
    let none = Way { later: 0, first: 0 };
    let mut work = vec![match start {
        None => (BlockId(0), 0, none),
        Some(k) => (v.cfg.block_of[k as usize], k + 1, none),
    }];
    if start.is_none() {
        // the entry may itself be a loop's header
        for (l, lp) in v.loops.iter().enumerate() {
            if lp.header == BlockId(0) && barrier_loops[l] {
                work[0].2.first |= 1 << l;
            }
        }
    }
    while let Some((b, from, way)) = work.pop() {
        let blk = &v.cfg.blocks[b.0 as usize];
        let from = from.max(blk.start);
        if !seen.insert((b, from, way)) {
            continue;
        }
        let mut stopped = false;
        for k in from..blk.end {
            if is_barrier(v, k) {
                stopped = true;
                break;
            }
            if accesses.contains(&k) {
                let ways = out.entry(k).or_default();
                if !ways.contains(&way) {
                    ways.push(way);
                }
            }
        }
        if stopped {
            continue;
        }
        for s in &blk.succs {
            let mut next = way;
            let mut dead = false;
            for (l, lp) in v.loops.iter().enumerate() {
                if !barrier_loops[l] || lp.header != *s {
                    continue;
                }
                let bit = 1u64 << l;
                if lp.blocks.contains(&b) {
                    // round the loop: a second time is impossible without a barrier
                    dead |= next.later & bit != 0;
                    if next.first & bit != 0 {
                        dead = true;
                    }
                    next.later |= bit;
                } else {
                    next.first |= bit;
                    next.later &= !bit;
                }
            }
            if !dead {
                work.push((*s, 0, next));
            }
        }
    }
    out
}

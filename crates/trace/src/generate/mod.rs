//! Random traces of small multithreaded programs, from a seed. The same seed and shape give the same trace on every
//! machine; every trace is legal (see [`crate::legal`]) and complete: all strands end and are joined.
//!
//! Memory is cut into regions of two cells. Each has a *discipline*, by which all strands touch it: under a
//! mutex, under a read-write lock, by its own bytes for each strand, written before the first fork, or published once
//! through an atomic or a channel. A disciplined region never races. A *wild* region is touched by anyone at any time,
//! with whatever locks, atomics and barriers happen to be around: it often races and often is saved by them. Heap
//! blocks are guarded by a mutex or wild in the same way, and so are atomics: with `wild` at 0 no plain access
//! touches them. So `wild: 0` makes traces that no exact detector may complain about, and 1000 makes mostly racy ones.
//!
//! | file     | what it holds                                                     |
//! |----------|-------------------------------------------------------------------|
//! | `rng`    | the numbers                                                       |
//! | `decide` | what a strand decides for, when it has nothing to do              |
//! | `plan`   | what a strand wants to do next, as a short script                 |
//! | `world`  | the scheduler: who can do the next item of its script, and effect |

mod decide;
mod plan;
mod rng;
mod world;

use crate::event::Trace;

pub use rng::Rng;

/// What the random programs are made of. All counts may be 0, but there is always `t0`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// At most so many strands, `t0` included.
    pub strands: u32,
    /// About so many decisions of all strands together; each makes from none to a handful of events.
    pub decisions: u32,
    /// Regions of 16 bytes of ordinary memory.
    pub regions: u32,
    /// Atomic variables of 4 bytes, two in a cell.
    pub atomics: u32,
    /// Heap blocks, allocated and freed again and again at the same addresses.
    pub blocks: u32,
    pub mutexes: u32,
    pub rwlocks: u32,
    pub condvars: u32,
    pub barriers: u32,
    pub channels: u32,
    /// Of a thousand regions, blocks and accesses to atomics, so many follow no discipline.
    pub wild: u32,
    /// How often a strand decides for what.
    pub mix: Mix,
}

/// Weights of a strand's decisions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mix {
    /// Touch a region, by its discipline.
    pub touch: u32,
    /// An operation on an atomic, of any order.
    pub atomic: u32,
    /// A fence of any order.
    pub fence: u32,
    /// A critical section of a mutex or read-write lock, around a few accesses.
    pub section: u32,
    /// A wait on a condition variable, or a notification.
    pub condvar: u32,
    /// A round of a barrier for some strands.
    pub barrier: u32,
    /// A release or an acquire of a channel.
    pub channel: u32,
    /// Something with a heap block.
    pub heap: u32,
    /// Fork a strand, or join one that has ended.
    pub spawn: u32,
}

impl Shape {
    /// Three strands, a few dozen events, a little of everything; about half of the traces race.
    pub fn small() -> Shape {
        Shape {
            strands: 3,
            decisions: 24,
            regions: 3,
            atomics: 2,
            blocks: 1,
            mutexes: 2,
            rwlocks: 1,
            condvars: 1,
            barriers: 1,
            channels: 1,
            wild: 250,
            mix: Mix {
                touch: 12,
                atomic: 5,
                fence: 2,
                section: 4,
                condvar: 2,
                barrier: 1,
                channel: 2,
                heap: 3,
                spawn: 4,
            },
        }
    }

    /// Nothing but memory, atomics of all orders and fences, few places and much traffic on them.
    pub fn atomics() -> Shape {
        Shape {
            strands: 4,
            decisions: 30,
            regions: 2,
            atomics: 2,
            mutexes: 0,
            rwlocks: 0,
            condvars: 0,
            barriers: 0,
            channels: 0,
            blocks: 0,
            wild: 400,
            mix: Mix {
                touch: 6,
                atomic: 12,
                fence: 5,
                section: 0,
                condvar: 0,
                barrier: 0,
                channel: 0,
                heap: 0,
                spawn: 4,
            },
        }
    }

    /// Like [`Shape::small`], but nothing is wild: no trace races.
    pub fn disciplined() -> Shape {
        Shape {
            wild: 0,
            strands: 5,
            decisions: 60,
            regions: 6,
            atomics: 4,
            blocks: 2,
            ..Shape::small()
        }
    }

    /// Eight strands, several hundred events.
    pub fn large() -> Shape {
        Shape {
            strands: 8,
            decisions: 250,
            regions: 8,
            atomics: 4,
            blocks: 3,
            mutexes: 4,
            rwlocks: 2,
            condvars: 2,
            barriers: 2,
            channels: 3,
            wild: 60,
            ..Shape::small()
        }
    }
}

/// A random trace.
pub fn generate(seed: u64, shape: &Shape) -> Trace {
    world::World::new(seed, shape).run()
}

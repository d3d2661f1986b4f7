//! Orders: which of two points of an execution came first, or neither.
//!
//! | module             | what it holds                                                          |
//! |--------------------|------------------------------------------------------------------------|
//! | [`clock`]          | epochs, vector clocks, stamps, and `concurrent(a, b)`                  |
//! | [`happens_before`] | C++20's happens-before of the events of a trace, built by clocks       |
//! | [`transfer`]       | the same as movements of knowledge between numbered holders, for engines |
//! | [`hash`], [`per_strand`] | tables that engines look into for every event                    |
//!
//! Nothing here knows any detector. `tests/definition.rs` derives the same relation a second time, straight from the
//! standard's definitions by pairs of events and a transitive closure, and compares.
#![forbid(unsafe_code)]

pub mod clock;
pub mod happens_before;
pub mod hash;
pub mod per_strand;
pub mod transfer;

pub use clock::{Epoch, Stamp, Time, VectorClock, concurrent};
pub use happens_before::HappensBefore;
pub use hash::QuickMap;
pub use per_strand::PerStrand;
pub use transfer::{Holder, Transfer, Transfers};

//! The check engine on a GPU, as KUDA proposed it: kernels judge the accesses, the CPU confirms what they suspect.
//!
//! ```text
//!  batch ──> pack ──> device: check (one thread an access) ──> fold (one thread a cell) ──> cells handed over
//!  (128 frames)       state of all cells stays there                                            │
//!                                                              shard on the CPU <── lane <──────┘
//! ```
//!
//! | module     | what it holds                                                                             |
//! |------------|-------------------------------------------------------------------------------------------|
//! | [`engine`] | all detectors that were asked for, as a worker of the pipeline                            |
//! | [`lane`]   | one detector: what the GPU has, what the CPU has, and how cells go from one to the other  |
//! | [`pack`]   | a batch as the kernels want it                                                            |
//! | [`pages`]  | which memory is on the GPU                                                                |
//! | [`sites`]  | where and how accesses were made, as numbers                                              |
//! | [`filters`] | Eraser's sets of locks, as Bloom filters                                                 |
//! | [`device`] | the GPU itself, through wgpu                                                              |
//! | `kernels`  | WGSL: clocks and Goldilocks on remembered accesses, Eraser on groups of bytes             |
//!
//! # Why nothing is lost and nothing is invented
//!
//! A cell is safe in a batch only if every thread that looked at one of its accesses says so, and a thread says so only on
//! exact grounds: a clock that covers the older access, or a lockset filter whose bits belong to one member each (see
//! `kernels/goldilocks.wgsl`, `kernels/eraser.wgsl`). Whatever else happens (a race, a filter that does not say, too many
//! accesses to walk through or to remember, a table too large for the device) makes the cell the CPU's, with its exact
//! state at the beginning of the batch, and a [`deadheat_pipeline::shard::Shard`] judges it by the same code as without a GPU.
//! Only the shard reports. What crosses batches is carried in the cells' state, by the same law (`entry::subsumes`).
//!
//! The paper's kernels look at one frame of 1,024 events and miss what crosses frames; `Across::Nothing` does that here.
//!
//! Goldilocks' cells are confirmed by clocks, which find the same bytes as Goldilocks does; the findings carry its name.
//! DJIT+ has no kernel of its own (its check is that of the clocks): it runs on the CPU.
#![forbid(unsafe_code)]

pub mod device;
pub mod engine;
pub mod filters;
pub mod lane;
pub mod layout;
pub mod pack;
pub mod pages;
pub mod sites;

pub use device::{Gpu, GpuError};
pub use engine::engine;
pub use lane::Limits;

//! The SIMT machine: runs PTX kernels on the CPU, warp by warp, and tells a watcher every access.
//!
//! `decode` turns PTX into a `Program`; `grid` runs blocks on all cores; `block` runs warps in turn; `warp` runs
//! instructions; `alu`, `access`, `swap`, `flight`, `mbarrier`, `texture`, `matrix`, `warpwide` and `builtins` execute
//! them. Nothing here knows what a race is.

pub mod access;
mod alu;
mod atomics;
mod block;
mod builtins;
mod calls;
mod cvt;
pub mod decode;
mod decode_alu;
mod decode_ftz;
mod decode_matrix;
mod decode_mem;
mod decode_tables;
mod decode_tile;
mod flight;
mod float;
pub mod grid;
pub mod load;
mod matrix;
mod mbarrier;
pub mod memory;
pub mod observe;
mod ops;
mod printf;
pub mod program;
mod reach;
mod share;
mod stack;
mod survey;
mod swap;
pub mod texture;
mod warp;
mod warpwide;

pub use grid::{Launch, LaunchError, Outcome, run};
pub use load::{LoadError, Loaded};
pub use memory::Memory;
pub use observe::{Access, Blind, Fault, FaultKind, Observer, What};
pub use program::Program;
pub use survey::{Links, Shape};

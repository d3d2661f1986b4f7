//! LLVM, as it comes with the toolchain: the same version that made the bitcode.
//!
//! Runs in a process of its own (`deadheat instrument-rlib`), because LLVM ends the process when it meets something
//! that it cannot bear.

#![allow(unsafe_code)]

mod api;
mod atomics;
mod hook;
mod module;

pub use api::Api;
pub use atomics::{FUNCTIONS, function_name};
pub use hook::Hook;
pub use module::instrument;

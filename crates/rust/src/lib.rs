//! Rust programs under Deadheat: everything between cargo and the runtime.
//!
//! Stable rustc instruments code when it is told to run LLVM's own pass for that ([`compile`]). The standard library
//! comes compiled, so it is instrumented once per toolchain from the bitcode in its rlibs ([`prepare`]), with the
//! toolchain's own LLVM ([`llvm`]); where that cannot be, it is followed from outside ([`shims`]). Cargo learns about all that through a few variables ([`environment`]); whatever the
//! user told it by flags, variables and `.cargo/config.toml` stays as it is.
//!
//! Nothing here starts the program under test or reads a report.

pub mod archive;
pub mod compile;
pub mod config;
pub mod environment;
mod error;
pub mod hash;
pub mod llvm;
pub mod prepare;
pub mod rlib;
pub mod shims;
pub mod toolchain;

pub use error::{Error, Result};

/// The one processor, system and C library for which Deadheat has a runtime: which of rustc's names are for it.
#[must_use]
pub fn supported(target: &str) -> bool {
    target.starts_with("x86_64-") && target.ends_with("-linux-gnu")
}

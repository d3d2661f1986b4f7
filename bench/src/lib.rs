//! Measures Deadheat against its peers: native, an empty runtime, ThreadSanitizer, Helgrind and DRD.
//!
//! The path of a number: `catalogue` names the programs, `sources` fetches what is not ours, `compile` builds each program
//! once per `tool`, `measure` runs it and asks the kernel for CPU time and memory, `table` sets the numbers against native
//! and checks the goals, `results` keeps them. Nothing here is linked into a measured program.

pub mod args;
pub mod catalogue;
pub mod checking;
pub mod compile;
pub mod error;
pub mod findings;
pub mod layout;
pub mod measure;
pub mod micro;
pub mod packages;
pub mod real;
pub mod results;
pub mod session;
pub mod setup;
pub mod soak;
pub mod sources;
pub mod split;
pub mod table;
pub mod tool;
pub mod workload;

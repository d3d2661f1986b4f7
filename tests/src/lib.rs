//! What the UI tests are made of. A test program says in its first comments what must be found in it; the harness builds
//! it with `deadheat cc`, runs it under `deadheat run`, and compares.
//!
//! | module | holds |
//! |---|---|
//! | `directive` | the expectations in a program's first comments |
//! | `seen` | findings in the short form that is compared |
//! | `judge` | expectations against findings |
//! | `process` | a child process under a time limit |
//! | `build` | compiling a program and its libraries |
//! | `check` | one program with one compiler, from the source to the verdict |
//! | `golden` | text reports, kept as files |
//! | `random` | random programs, judged by the naive detector |
//! | `random_loops`, `random_rust` | random loops in C and in Rust |
//! | `oracle` | ThreadSanitizer in Deadheat's place, to check the programs themselves |
#![forbid(unsafe_code)]

pub mod build;
pub mod check;
pub mod directive;
pub mod golden;
pub mod judge;
pub mod oracle;
pub mod process;
pub mod random;
pub mod random_loops;
pub mod random_rust;
pub mod seen;

//! Findings become text, JSON, SARIF or HTML.
//!
//! The raw stream of `docs/raw-stream.md` goes in, line by line ([`Collector`]); a [`Report`](deadheat_model::Report)
//! comes out, and [`render`] writes it in one of its forms. This crate names, merges, silences and prints. It never
//! decides what is a bug, and it runs outside the program under test.
#![forbid(unsafe_code)]

mod collector;
mod explain;
mod gpu;
mod html;
mod json;
mod known;
mod merge;
mod raw;
mod resolve;
mod rust_test;
mod sarif;
mod sinks;
mod source;
mod steps;
mod suppress;
pub mod symbolize;
mod text;
mod trim;
mod why;
mod words;

pub use collector::{Collector, Outcome, Reply, Settings};
pub use deadheat_model as model;
pub use explain::explain;
pub use gpu::GpuRun;
pub use json::read as read_json;
pub use merge::Key as BugKey;
pub use sinks::{Format, Options, render};
pub use suppress::{Rule, SuppressionError, Suppressions, to_suppressions};
pub use text::summary;

//! The words every other crate speaks: ids, accesses, findings, reports.
//!
//! Plain data and nothing else. This crate does no I/O, decides nothing about programs and prints nothing;
//! `docs/json-schema.md` describes the JSON form that serde makes of a [`Report`].
#![forbid(unsafe_code)]

mod finding;
mod gpu;
mod gpu_kinds;
mod ids;
mod kind;
mod report;

pub use finding::{
    Access, AccessKind, Allocation, Finding, Frame, LabelledStack, Location, Lock, LockMode,
    Memory, MemoryKind, Moment, MomentKind,
};
pub use gpu::{CheckedLaunch, Extent, FoundBy, GridPlace, Launch, Operation, Relation, Scheduling};
pub use ids::{Address, FindingId, LockId, ThreadId};
pub use kind::{FindingKind, Severity, UnknownKind};
pub use report::{
    Exit, ExitHow, Loss, Module, Program, Report, SCHEMA_VERSION, Summary, Suppressed, Thread,
    ThreadKind, Tool,
};

//! Traces of multithreaded executions: the events, their one-line text form, whether an interleaving is possible, and
//! random traces for tests.
//!
//! | module       | what it holds                                                        |
//! |--------------|----------------------------------------------------------------------|
//! | [`event`]    | the closed enum of everything a strand can do                        |
//! | [`text`]     | the grammar, the parser with line-numbered errors, the writer        |
//! | [`legal`]    | could this interleaving have happened? (locks held once, joins late) |
//! | [`mod@generate`] | random legal traces from a seed, some racy, some not                 |
//! | `merge`      | one order of all events out of the streams of strands                |
//! | `recorded`   | the text form of a recording, exact                                  |
//! | `std_format` | RAPID's STD format                                                   |
//! | `file`       | traces in files: checksummed, compressed frames of streams           |
//! | [`wire`]     | the binary form of one strand's events, as the runtime records it    |
//!
//! Nothing here knows any detector, or what happens before what.
#![cfg_attr(not(feature = "std"), no_std)]
#![forbid(unsafe_code)]

pub mod event;
#[cfg(feature = "std")]
pub mod file;
#[cfg(feature = "std")]
pub mod generate;
#[cfg(feature = "std")]
pub mod legal;
#[cfg(feature = "std")]
pub mod merge;
#[cfg(feature = "std")]
pub mod recorded;
#[cfg(feature = "std")]
pub mod std_format;
#[cfg(feature = "std")]
pub mod text;
pub mod wire;

#[cfg(feature = "std")]
pub use event::Trace;
pub use event::{
    Action, Addr, Barrier, Channel, Condvar, Event, EventId, FenceOrder, LoadOrder, Mutex, Place,
    Range, RmwOrder, Round, RwLock, Site, StoreOrder, Strand, Width,
};
#[cfg(feature = "std")]
pub use generate::{Shape, generate};

//! Traces of multithreaded executions: the events, their one-line text form, whether an interleaving is possible, and
//! random traces for tests.
//!
//! | module       | what it holds                                                        |
//! |--------------|----------------------------------------------------------------------|
//! | [`event`]    | the closed enum of everything a strand can do                        |
//! | [`text`]     | the grammar, the parser with line-numbered errors, the writer        |
//! | [`legal`]    | could this interleaving have happened? (locks held once, joins late) |
//! | [`mod@generate`] | random legal traces from a seed, some racy, some not                 |
//!
//! Nothing here knows any detector, or what happens before what.
#![forbid(unsafe_code)]

pub mod event;
pub mod generate;
pub mod legal;
pub mod text;

pub use event::{
    Action, Addr, Barrier, Channel, Condvar, Event, EventId, FenceOrder, LoadOrder, Mutex, Place,
    Range, RmwOrder, Round, RwLock, Site, StoreOrder, Strand, Trace, Width,
};
pub use generate::{Shape, generate};

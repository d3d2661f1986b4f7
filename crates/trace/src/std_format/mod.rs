//! RAPID's STD format: one event a line, `thread|operation(operand)|location`.
//!
//! STD knows `r`, `w`, `acq`, `rel`, `fork`, `join`, and `begin` and `end` of transactions. A lock there remembers only who gave it
//! back last, so an `acq` and its `rel` must not overlap with another strand's. A location is at most [`MOST_LOCATION`]. What else
//! a trace has is exported so:
//!
//! | here                                   | there                                                              |
//! |----------------------------------------|--------------------------------------------------------------------|
//! | an access of some bytes                | one event for each cell of 8 bytes that it touches, or for the parts of it that any access of the trace tells apart |
//! | alloc                                  | the memory's variables have other names from there on              |
//! | read-write lock, reader                | `acq` and `rel` of the lock, when it is taken and when it is given back: readers are ordered, too |
//! | wait                                   | `rel`, and `acq` at its return                                     |
//! | barrier, channel, atomic, annotation   | `acq` and `rel` of a lock of their own, one right after the other: they are ordered, too |
//! | relaxed atomic                         | the same, if it comes after a fence that tells, or before one that learns: then at the fence |
//! | atomic accesses, free, detach, await   | left out                                                           |
//!
//! So an export has every order of the trace, and in some rows some more: a detector of happens-before races finds
//! nothing there that is none, and may miss some. If there are only threads and mutexes, it finds the same.
//!
//! What is imported has 8 bytes for each variable. Threads that nobody forks are forked by one that does nothing else; those that are
//! joined end after the last that they did.

mod export;
mod import;

pub use export::{Exported, MOST_LOCATION, Parts, export};
pub use import::import;

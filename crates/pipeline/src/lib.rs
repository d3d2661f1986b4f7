//! The check engine: an execution's streams in, findings out, with any detector, on any number of threads.
//!
//! ```text
//!  streams ──> merge ──> sequence ──> batches ──> shard 0 ──> candidates ──> tell ──> raw stream
//!  (one per    (by act   (clocks,      (cut by    shard 1                   (both sides,
//!   strand)    numbers)  locks)        address)   ...                        stacks, memory)
//! ```
//!
//! | module       | what it holds                                                                        |
//! |--------------|--------------------------------------------------------------------------------------|
//! | [`check`]    | the whole engine in one call                                                         |
//! | [`merge`]    | one order of all events out of the streams' act numbers                              |
//! | [`sequence`] | stamps events with the order and cuts them into batches                              |
//! | `joins`      | accesses of one place that follow each other                                         |
//! | [`order`]    | the clocks of strands, locks, atomics                                                |
//! | [`batch`]    | what a checker gets: steps with accesses, and news about the order                   |
//! | [`shard`]    | a checker: its part of the memory under all detectors                                |
//! | `blocks`     | what memory is, for reports                                                          |
//! | [`fast`]     | FastTrack on flat pages                                                              |
//! | [`frames`]   | FastTrack on one frame at a time, as in KUDA                                         |
//! | [`detector`] | the detectors' names and needs                                                       |
//! | [`pool`]     | shards on threads                                                                    |
//! | [`locks`], [`timeline`] | what was held, and what happened around it, for reports                   |
//! | `strands`    | who the strands are, for reports                                                     |
//! | [`found`], [`tell`] | candidates, and how they become lines of the raw stream                       |
//!
//! # To build another engine
//!
//! A [`sequence::Sequencer`] makes [`batch::Batch`]es; whoever is a [`pool::Worker`] can take them ([`check::Other`]): `steps`
//! in order; for a [`batch::Step::Run`] first `news[..run.news]` that it has not seen, then `accesses_of(run)`. Each news is
//! for one kind of detector: `Clock` (component by component, [`detector::Clocks`] shows how) for vector clocks, `Transfer`
//! for Goldilocks, `Took` and `Gave` for Eraser, `Known` to forget. What it suspects it can hand to a [`shard::Shard`] of its
//! own ([`shard::Shard::confirming`]), which says what really races. `crates/gpu-engine` does so.
//!
//! # Memory
//!
//! Bounded by what the program touches and what strands still can race with: every some thousand acts the sequencer works
//! out what all strands that are left know ([`batch::News::Known`]); entries, pages, locks' clocks and slots of strands that
//! are older are dropped.
//!
//! Call stacks are numbers, and the numbers are used again. When there are many, between two batches everybody says which ones he
//! has ([`trace::wire::StackSet`](deadheat_trace::wire::StackSet)): checkers for what they remember, the merger for what it has not passed on, whoever keeps locks,
//! synchronizations and strands for reports. The source forgets the others. Pairs that were found are known again by the numbers of
//! their stacks, which therefore stay.
#![deny(unsafe_code)] // and allowed in fast/ahead.rs alone

pub mod batch;
mod blocks;
pub mod check;
pub mod detector;
pub mod fast;
pub mod found;
pub mod frames;
mod joins;
pub mod locks;
pub mod merge;
pub mod order;
pub mod pool;
mod runs;
pub mod sequence;
pub mod shard;
mod strands;
pub mod tell;
pub mod timeline;

pub use check::{Listener, Other, Settings, Summary, check, check_with};
pub use detector::DetectorKind;
pub use shard::Across;

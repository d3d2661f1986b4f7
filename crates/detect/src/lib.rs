//! Detectors: each compares accesses under an order and returns what races, as data.
//!
//! One file per detector. No detector prints, does I/O, reads a clock, or knows where its events came from.
//!
//! | module        | what it is                                                                            |
//! |---------------|---------------------------------------------------------------------------------------|
//! | [`entry`]     | one remembered access in 64 bits, and the laws of racing and forgetting; no_std       |
//! | [`naive`]     | compares all pairs of accesses with full vector clocks: the specification             |
//! | [`fasttrack`] | FastTrack on 8-byte cells with byte masks: the same racing bytes at a fraction of the cost |
//! | [`djit`]      | DJIT+: the same racing bytes with a clock of readers and one of writers                |
//! | [`goldilocks`] | Goldilocks: the same racing bytes with sets of who knows an access                    |
//! | [`eraser`]    | Eraser: memory that no lock guards, whether it raced or not                            |
//! | [`locksets`]  | what strands hold, as numbered sets, for Eraser                                        |
//! | [`cells`]     | memory in cells of 8 bytes, for all of them                                            |
//!
//! Without the feature `std` only [`entry`] is left, for the runtime inside the program under test.
#![cfg_attr(not(feature = "std"), no_std)]
#![forbid(unsafe_code)]

#[cfg(feature = "std")]
pub mod access;
#[cfg(feature = "std")]
pub mod cells;
#[cfg(feature = "std")]
pub mod detector;
#[cfg(feature = "std")]
pub mod djit;
pub mod entry;
#[cfg(feature = "std")]
pub mod eraser;
#[cfg(feature = "std")]
pub mod fasttrack;
#[cfg(feature = "std")]
pub mod goldilocks;
#[cfg(feature = "std")]
pub mod locksets;
#[cfg(feature = "std")]
pub mod naive;

#[cfg(feature = "std")]
pub use detector::{Detector, Race, racing_bytes, run};

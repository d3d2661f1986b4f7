//! Detectors: each compares accesses under an order and returns what races, as data.
//!
//! One file per detector. No detector prints, does I/O, reads a clock, or knows where its events came from.
//!
//! | module  | what it is                                                                    |
//! |---------|-------------------------------------------------------------------------------|
//! | [`entry`] | one remembered access in 64 bits, and the laws of racing and forgetting; no_std |
#![cfg_attr(not(feature = "std"), no_std)]
#![forbid(unsafe_code)]

pub mod entry;

//! The memory that a recorded program and whoever takes its events share: frames of words in a memfd, so that what was
//! recorded outlives the program, however that ends.
//!
//! | part         | where        | what                                                                        |
//! |--------------|--------------|-----------------------------------------------------------------------------|
//! | [`Header`]   | 0            | the counters that all threads of the program and the taker share            |
//! | first frames | [`STRANDS_AT`] | for each strand that the taker has not met the number of its first frame, plus one |
//! | call stacks  | [`NODES_AT`] | for each node its caller and program counter                                |
//! | frames       | [`FRAMES_AT`] | [`FRAME_BYTES`] each: a [`FrameHeader`], then words                        |
//!
//! Nobody locks anything. A strand fills a frame of its own; the taker reads after it. An item's first word is written last,
//! and an empty frame is all zeroes, so whoever reads from the start and stops at a zero has read whole items only. So there
//! is no position to publish and no system call to make, and a program that is killed loses nothing that it has written.
//! A full frame names its successor. The taker zeroes a frame that it has read to the end and puts it back into the list of
//! free ones.
//!
//! | who     | may                                                                                        |
//! |---------|--------------------------------------------------------------------------------------------|
//! | strand  | take a free frame; write its own frame upwards; name its successor; say that it has ended  |
//! | taker   | read all; zero and free a frame whose successor it has seen or whose strand has ended       |
//!
//! When no frame is free the program waits on [`Header::wake`] or drops accesses, as [`Header::flags`] says. The number
//! of an act is taken only when there is room to write it, so the smallest number that the taker has not seen is always
//! in a frame: however many strands wait, the taker can go on.
//!
//! Numbers of call stacks are the program's, and it uses them again. Before that it counts up [`Header::let_go`]; the taker then
//! reads all that was written until now, gives each stack a number of its own, and says so in [`Header::noted`]. A taker that has much
//! to check before that puts it off, so that frames stay full and the program waits for it.
#![cfg_attr(not(feature = "std"), no_std)]

#[cfg(feature = "std")]
mod calls;
mod layout;
#[cfg(feature = "std")]
mod map;
#[cfg(feature = "std")]
mod taker;

pub use layout::{
    Arena, DROP, FRAME_BYTES, FRAME_WORDS, FRAMES, FRAMES_AT, FrameHeader, Header, LATER, MAGIC,
    NODES, NODES_AT, STOP, STRANDS, STRANDS_AT, TOTAL_BYTES, VERSION,
};
#[cfg(feature = "std")]
pub use map::{FEW, MANY, Setup, Shared};
#[cfg(feature = "std")]
pub use taker::Taker;

//! Traces in files (`.dht`): the streams of all strands as the program recorded them, with the call stacks and the raw stream
//! that reports need, so that they can be checked later and elsewhere.
//!
//! # Format
//!
//! All numbers are little-endian. Raise [`VERSION`] whenever a reader of the old one would misread the new one.
//!
//! ```text
//! file    = magic "DEADHEAT", version u32, 0 u32, { frame }
//! frame   = header, payload
//! header  = marker "FRME"                 4 bytes
//!           kind u8                       1 words, 2 nodes, 3 lines, 4 index
//!           codec u8                      0 as it is, 1 lz4 block
//!           0 u16
//!           strand u32                    for words; else 0
//!           count u32                     words, nodes, lines, or entries of the index
//!           raw length u32                of the payload, decompressed; at most 8 MiB
//!           stored length u32             of the payload as it follows
//!           checksum u64                  xxh3 of the 24 bytes before it and the payload as stored
//!
//! words   = { u64 }                       items of one strand (see `wire`); defines all places and calls that it uses
//! nodes   = { node u32, caller u32, program counter u64 }
//! lines   = { text "\n" }                 of docs/raw-stream.md
//! index   = [ entry of the index before it ], { offset u64, kind u8, 0 u8 u16, strand u32, count u32 }
//! end     = offset of the last index u64, "DHTRAIL." 8 bytes
//! ```
//!
//! An index is the last frame; a recording of very many frames has others before it, each of which begins with an entry for the
//! one before. Frames of a strand follow each other in its order; frames of different strands are in no
//! order. A node's frame comes before the first frame of words that names the node. A number is one node for good; who records
//! for long forgets numbers, so a node may come again under another one, and [`Reader`] makes them one. If the index is missing (the recorder
//! was killed) or damaged, the file is read from its start; damaged frames are skipped by looking for the next marker, and
//! [`Reader::losses`] says what was lost.

mod frame;
mod index;
mod read;
mod recording;
mod stacks;
mod write;

pub use frame::Kind;
pub use read::{Loss, OpenError, Reader};
pub use recording::{Recording, Round, save};
pub use write::{Writer, Written};

pub const MAGIC: [u8; 8] = *b"DEADHEAT";
pub const VERSION: u32 = 5;
/// The oldest version that is read: the first one had no `TURNS`, the second no `DETACH`, the third one index alone, the
/// fourth no `AWAIT`.
pub const OLDEST: u32 = 1;
/// The longest payload, decompressed: hostile files must not make a reader allocate more.
pub const LONGEST: usize = 8 << 20;

//! What findings about GPU programs add: the launch, the thread of the grid, and how much of the launch took part.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The kernel launch a finding is about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Launch {
    /// The kernel as its source names it.
    pub kernel: String,
    /// Blocks in x, y, z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y, z.
    pub block: [u32; 3],
    pub scheduling: Scheduling,
    /// Lanes of a warp.
    pub warp_size: u32,
    pub found_by: FoundBy,
    /// How the threads of the pairs that were seen stand to each other; empty for faults.
    #[serde(default)]
    pub relations: Vec<Relation>,
    #[serde(default)]
    pub extent: Extent,
}

/// What lanes of one warp may do between two `__syncwarp`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scheduling {
    /// All lanes do one instruction at a time.
    Lockstep,
    /// Each lane goes on by itself, as since Volta.
    Independent,
}

impl Scheduling {
    /// The word used in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Scheduling::Lockstep => "lockstep",
            Scheduling::Independent => "independent",
        }
    }
}

/// Before the run, or by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FoundBy {
    Static,
    Dynamic,
}

/// How the two threads of a race stand to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Relation {
    /// Two lanes of a warp in one instruction.
    SameInstruction,
    /// Two lanes of a warp in different instructions.
    SameWarp,
    /// Two warps of a block.
    Warps,
    /// Two blocks.
    Blocks,
}

impl Relation {
    /// As in "between two warps of a block".
    pub const fn words(self) -> &'static str {
        match self {
            Relation::SameInstruction => "lanes of one instruction",
            Relation::SameWarp => "lanes of a warp",
            Relation::Warps => "warps of a block",
            Relation::Blocks => "blocks",
        }
    }
}

/// How much of a launch took part in a finding.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extent {
    pub addresses: u64,
    pub threads: u64,
    pub thread_pairs: u64,
    pub warp_pairs: u64,
    pub blocks: u64,
}

/// Which thread of the grid did an access, and when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GridPlace {
    pub block: [u32; 3],
    pub thread: [u32; 3],
    pub warp: u32,
    pub lane: u32,
    /// Barriers of the block that it had passed.
    pub phase: u32,
    /// Line of the PTX, for those who read it.
    pub ptx_line: u32,
}

/// A copy, a set, or a kernel, as something that a stream does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Operation {
    /// Its number in the order in which the program asked for it, from 1.
    pub number: u64,
    /// `kernel`, `cudaMemcpyAsync`, ..., or `host` for the program itself.
    pub what: String,
    /// The stream it was given to, in words; empty for the host.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stream: String,
}

/// One launch that was checked, with what it cost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CheckedLaunch {
    pub kernel: String,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    /// What was decided before the run, in one sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub analysis: Option<String>,
    #[serde(default)]
    pub stats: BTreeMap<String, f64>,
}

//! What the library inside a program tells the tool that started it: one JSON object a line, in a file that
//! `DEADHEAT_GPU_LOG` names.

use deadheat_model::{CheckedLaunch, Finding, Loss};
use serde::{Deserialize, Serialize};

/// One line.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Told {
    Finding(Box<Finding>),
    Launch(CheckedLaunch),
    /// Why something of the program cannot run here.
    Error(String),
    Note(String),
    /// A bound that was hit.
    Loss(Loss),
    /// A module of the program, to name the host's calls.
    Module(Module),
}

/// An executable or library as it lies in the program's memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Module {
    pub path: String,
    /// Load address minus link address.
    pub bias: u64,
    pub start: u64,
    pub end: u64,
}

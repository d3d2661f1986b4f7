//! The report of one run: every finding, and everything a reader must know to trust it.

use crate::{CheckedLaunch, Finding, FindingKind, Frame, ThreadId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Grows by one whenever a reader of the JSON would have to change.
pub const SCHEMA_VERSION: u32 = 1;

/// What one run found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Version of this form; see [`SCHEMA_VERSION`].
    pub schema: u32,
    #[serde(default)]
    pub tool: Tool,
    pub program: Program,
    pub findings: Vec<Finding>,
    #[serde(default)]
    pub threads: Vec<Thread>,
    #[serde(default)]
    pub modules: Vec<Module>,
    /// Bounds that were hit: what the run could not keep.
    #[serde(default)]
    pub losses: Vec<Loss>,
    #[serde(default)]
    pub notes: Vec<String>,
    #[serde(default)]
    pub suppressed: Vec<Suppressed>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub stats: BTreeMap<String, f64>,
    /// The kernel launches that were checked, for GPU programs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub launches: Vec<CheckedLaunch>,
    pub summary: Summary,
}

/// Who wrote the report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tool {
    pub name: String,
    pub version: String,
}

impl Default for Tool {
    fn default() -> Self {
        Tool {
            name: "deadheat".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }
}

/// The program under test and how it ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    #[serde(default)]
    pub path: String,
    #[serde(default)]
    pub argv: Vec<String>,
    #[serde(default)]
    pub pid: u64,
    #[serde(default)]
    pub cwd: String,
    #[serde(default)]
    pub exit: Exit,
}

/// How the program ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exit {
    pub how: ExitHow,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// Whether the runtime saw the exit: if not, findings of the last moments may be missing.
    pub complete: bool,
}

/// The ways to end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ExitHow {
    Exited,
    Signalled,
    #[default]
    Unknown,
}

/// A thread of the program.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Thread {
    pub id: ThreadId,
    #[serde(default)]
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<ThreadId>,
    /// The operating system's number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tid: Option<u64>,
    #[serde(default)]
    pub kind: ThreadKind,
    /// Where it was created; empty for the main thread.
    #[serde(default)]
    pub created: Vec<Frame>,
}

/// What sort of strand a thread is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ThreadKind {
    #[default]
    Thread,
    Fiber,
    /// A thread of a kernel, or an operation of a stream; its name says all.
    Gpu,
}

/// An executable or library that was loaded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Module {
    pub path: String,
    #[serde(default)]
    pub build_id: String,
    /// False: accesses inside it are not seen.
    pub instrumented: bool,
}

/// Something the run could not keep.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Loss {
    pub what: String,
    pub count: u64,
}

/// What one line of a suppression file silenced.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Suppressed {
    /// The line, such as `race:foo`.
    pub rule: String,
    /// Where the line stands, `file:line`.
    pub source: String,
    /// How many different findings.
    pub findings: u64,
    /// How often they were seen.
    pub count: u64,
}

/// The numbers of the last line.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    pub findings: u64,
    /// How often they were seen in all.
    pub count: u64,
    /// Findings that a suppression silenced.
    pub suppressed: u64,
    /// Sum of the losses' counts.
    pub losses: u64,
    pub kinds: BTreeMap<FindingKind, u64>,
}

impl Report {
    /// The finding with this number.
    pub fn finding(&self, id: crate::FindingId) -> Option<&Finding> {
        self.findings.iter().find(|finding| finding.id == id)
    }

    /// Recomputes the numbers of the summary from the rest.
    pub fn summarize(&mut self) {
        let mut kinds = BTreeMap::new();
        for finding in &self.findings {
            *kinds.entry(finding.kind).or_insert(0) += 1;
        }
        self.summary = Summary {
            findings: self.findings.len() as u64,
            count: sum(self.findings.iter().map(|f| f.count)),
            suppressed: sum(self.suppressed.iter().map(|s| s.findings)),
            losses: sum(self.losses.iter().map(|l| l.count)),
            kinds,
        };
    }
}

fn sum(numbers: impl Iterator<Item = u64>) -> u64 {
    numbers.fold(0, u64::saturating_add)
}

//! From a source file and a launch to findings: compiling, launching, reporting, and the command line.

pub mod cli;
pub mod compile;
pub mod finding;
pub mod launch;
pub mod names;
pub mod programs;
pub mod session;

/// Why the tool could not do its work; the text says what to try next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolError(pub String);

impl std::fmt::Display for ToolError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ToolError {}

impl From<String> for ToolError {
    fn from(s: String) -> Self {
        ToolError(s)
    }
}

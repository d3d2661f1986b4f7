//! The four forms of a report, and how to ask for one.

use crate::source::Sources;
use deadheat_model::Report;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// A form of the report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    #[default]
    Text,
    Json,
    Sarif,
    Html,
}

impl Format {
    pub const ALL: [Format; 4] = [Format::Text, Format::Json, Format::Sarif, Format::Html];

    pub const fn name(self) -> &'static str {
        match self {
            Format::Text => "text",
            Format::Json => "json",
            Format::Sarif => "sarif",
            Format::Html => "html",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Format {
    type Err = String;
    fn from_str(name: &str) -> Result<Self, String> {
        Format::ALL
            .into_iter()
            .find(|format| format.name() == name)
            .ok_or_else(|| format!("`{name}` is no format; choose text, json, sarif or html"))
    }
}

/// How a report is shown.
#[derive(Clone, Debug)]
pub struct Options {
    /// Colour for a terminal.
    pub color: bool,
    /// Columns of the terminal.
    pub width: usize,
    /// Paths are shown as seen from here; the program's own folder if none.
    pub cwd: Option<PathBuf>,
    /// Where else to look for source files.
    pub source_roots: Vec<PathBuf>,
    /// Lines of source before and after the one that matters.
    pub source_lines: u32,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            color: false,
            width: 100,
            cwd: None,
            source_roots: Vec::new(),
            source_lines: 2,
        }
    }
}

impl Options {
    pub(crate) fn cwd(&self, report: &Report) -> String {
        match &self.cwd {
            Some(cwd) => cwd.display().to_string(),
            None => report.program.cwd.clone(),
        }
    }

    pub(crate) fn sources(&self, report: &Report) -> Sources {
        let mut roots: Vec<PathBuf> = self.cwd.iter().cloned().collect();
        if !report.program.cwd.is_empty() {
            roots.push(PathBuf::from(&report.program.cwd));
        }
        roots.extend(self.source_roots.iter().cloned());
        Sources::new(roots)
    }
}

/// Writes a report in one of its forms.
pub fn render(report: &Report, format: Format, options: &Options) -> String {
    match format {
        Format::Text => crate::text::render(report, options),
        Format::Json => crate::json::render(report),
        Format::Sarif => crate::sarif::render(report, options),
        Format::Html => crate::html::render(report, options),
    }
}

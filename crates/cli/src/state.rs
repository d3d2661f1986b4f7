//! The findings of the last run, kept so that `deadheat explain 1` works right after it.

use crate::error::{Failure, Result};
use crate::unpack::write_atomically;
use deadheat_report::model::Report;
use deadheat_report::{Format, Options, read_json, render};
use std::env;
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

fn path() -> Option<PathBuf> {
    let named = |name: &str| {
        env::var_os(name)
            .map(PathBuf::from)
            .filter(|p| p.is_absolute())
    };
    let base =
        named("XDG_STATE_HOME").or_else(|| named("HOME").map(|home| home.join(".local/state")))?;
    Some(base.join("deadheat/last.json"))
}

/// Keeps a report. That it cannot be kept is no failure of the run.
pub fn save(report: &Report) {
    let Some(path) = path() else { return };
    let Some(dir) = path.parent() else { return };
    let text = render(report, Format::Json, &Options::default());
    let made = DirBuilder::new().recursive(true).mode(0o700).create(dir);
    let _ = made.and_then(|()| write_atomically(&path, text.as_bytes()));
}

/// The report that was kept last.
pub fn last() -> Result<Report> {
    let none = || {
        Failure::new("no run has been kept yet")
            .next("deadheat run PROGRAM first, or name a report: deadheat explain 1 FINDINGS.json")
    };
    let path = path().ok_or_else(none)?;
    if !path.exists() {
        return Err(none());
    }
    read(&path)
}

/// Reads a JSON report from a file, or from standard input if the name is `-`.
pub fn read(path: &Path) -> Result<Report> {
    let text = if path == Path::new("-") {
        std::io::read_to_string(std::io::stdin())
    } else {
        std::fs::read_to_string(path)
    };
    let shown = path.display();
    let text = text.map_err(|error| Failure::new(format!("cannot read {shown}: {error}")))?;
    read_json(&text).map_err(|error| Failure::new(format!("{shown}: {error}")))
}

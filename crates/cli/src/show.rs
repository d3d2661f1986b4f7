//! `deadheat report`, `explain` and `suppressions`: findings that were written before, shown again.

use crate::error::{Failure, Result};
use crate::flags::{self, FlagsEnd, Parsed};
use crate::options::{self, Key, Settings};
use crate::output::{self, Output};
use crate::state;
use deadheat_report::model::{FindingId, Report, Suppressed};
use deadheat_report::{explain, to_suppressions};
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

/// Reads the arguments; `None` if only the help was wanted, which was printed.
fn parse(name: &str, args: &[OsString]) -> Result<Option<(Parsed, Settings, Output)>> {
    let command = options::command(name).unwrap_or(&options::COMMANDS[0]);
    let parsed = flags::parse(command, args, FlagsEnd::Never)?;
    if parsed.help {
        crate::print(&crate::docs::command_help(command))?;
        return Ok(None);
    }
    let settings = parsed.layers.resolve()?;
    let output = Output::open_or_stdout(&settings, parsed.layers.names(Key::Log))?;
    Ok(Some((parsed, settings, output)))
}

/// Says why what was asked for could not be written.
fn written(result: std::io::Result<()>) -> Result<ExitCode> {
    match result {
        Ok(()) => Ok(ExitCode::SUCCESS),
        // The reader of a pipe had enough.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(ExitCode::SUCCESS),
        Err(error) => Err(Failure::new(format!("cannot write the output: {error}"))),
    }
}

/// Runs `deadheat report`.
pub fn report(args: &[OsString]) -> Result<ExitCode> {
    let Some((parsed, settings, mut output)) = parse("report", args)? else {
        return Ok(ExitCode::SUCCESS);
    };
    let [name] = parsed.rest.as_slice() else {
        return Err(Failure::new("deadheat report needs one JSON report")
            .next("deadheat report FINDINGS.json --format html --log report.html"));
    };
    let mut report = state::read(Path::new(name))?;
    suppress(&mut report, &settings)?;
    written(output.write(&report))
}

/// Leaves out what the suppressions name, as the run would have done.
fn suppress(report: &mut Report, settings: &Settings) -> Result<()> {
    let rules = output::read_suppressions(settings)?;
    let mut silenced = Vec::new();
    report
        .findings
        .retain(|finding| match rules.matching_finding(finding) {
            Some(rule) => {
                silenced.push((rule, finding.count));
                false
            }
            None => true,
        });
    for (at, rule) in rules.rules().iter().enumerate() {
        let counts: Vec<u64> = silenced
            .iter()
            .filter(|(r, _)| *r == at)
            .map(|(_, count)| *count)
            .collect();
        if !counts.is_empty() {
            report.suppressed.push(Suppressed {
                rule: rule.text().to_owned(),
                source: rule.place(),
                findings: counts.len() as u64,
                count: counts.iter().sum(),
            });
        }
    }
    report.summarize();
    Ok(())
}

/// Runs `deadheat explain`.
pub fn explain_finding(args: &[OsString]) -> Result<ExitCode> {
    let Some((parsed, _, mut output)) = parse("explain", args)? else {
        return Ok(ExitCode::SUCCESS);
    };
    let (number, file) = match parsed.rest.as_slice() {
        [number] => (number, None),
        [number, file] => (number, Some(file)),
        _ => {
            return Err(
                Failure::new("deadheat explain needs the number of a finding")
                    .next("deadheat explain 1 [FINDINGS.json]"),
            );
        }
    };
    let number = number.to_string_lossy();
    let id: u64 = number.trim_start_matches('#').parse().map_err(|_| {
        Failure::new(format!("`{number}` is not the number of a finding"))
            .next("deadheat explain 1 [FINDINGS.json]")
    })?;
    let report = match file {
        Some(file) => state::read(Path::new(file))?,
        None => state::last()?,
    };
    let Some(text) = explain(&report, FindingId(id), output.options()) else {
        return Err(Failure::new(format!("there is no finding {id}")).next(
            match report.findings.len() {
                0 => "the report has no findings".to_owned(),
                1 => "the report has one: deadheat explain 1".to_owned(),
                count => format!("the report has {count}: deadheat explain 1 to {count}"),
            },
        ));
    };
    written(output.write_text(&text, report.program.pid))
}

/// Runs `deadheat suppressions`.
pub fn suppressions(args: &[OsString]) -> Result<ExitCode> {
    let Some((parsed, _, mut output)) = parse("suppressions", args)? else {
        return Ok(ExitCode::SUCCESS);
    };
    if let Some(word) = parsed.rest.first() {
        return Err(Failure::new(format!(
            "deadheat suppressions does not know what to do with {}",
            word.to_string_lossy()
        ))
        .next(format!(
            "deadheat suppressions --from {}",
            word.to_string_lossy()
        )));
    }
    let report = match parsed.own("--from") {
        Some(file) => state::read(Path::new(file))?,
        None => state::last()?,
    };
    written(output.write_text(&to_suppressions(&report), report.program.pid))
}

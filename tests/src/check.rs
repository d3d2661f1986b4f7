//! One program with one compiler: build it, run it, judge what came out.

use crate::build::{Tool, build};
use crate::directive::{Compiler, Program};
use crate::golden;
use crate::judge::judge;
use crate::oracle;
use crate::process::{Outcome, run, tail};
use crate::seen::{Seen, from_report};
use deadheat_model::Report;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// No program takes nearly as long unless it hangs.
const LIMIT: Duration = Duration::from_secs(60);

/// Checks a program; `folder` is its own and is emptied before, and afterwards if all is well.
pub fn check(
    tool: &Tool,
    program: &Program,
    compiler: Compiler,
    folder: &Path,
) -> Result<(), String> {
    clear(folder)?;
    std::fs::create_dir_all(folder)
        .map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
    let built = build(tool, program, compiler, folder)?;
    let shared = built
        .shared
        .as_ref()
        .map_or(String::new(), |path| path.display().to_string());
    let arguments = program
        .words("args")
        .into_iter()
        .map(|word| word.replace("{shared}", &shared));
    match tool {
        Tool::Deadheat(deadheat) => {
            let log = folder.join("findings.json");
            let mut command = Command::new(deadheat);
            command
                .args(["run", "--format", "json", "--log"])
                .arg(&log)
                .arg(&built.program)
                .args(arguments);
            surroundings(&mut command, program, folder);
            let outcome = run(command, folder, "run", program.value("stdin"), LIMIT)?;
            let report = read(&log, &outcome)?;
            judge(
                program,
                program.expectations(compiler),
                &from_report(&report),
            )?;
            status(program, compiler, &outcome)?;
            streams(program, &outcome)?;
            footer(program, &report)?;
            if program.value("golden") == Some(compiler.name()) {
                golden::check(deadheat, program, &log, folder)?;
            }
        }
        Tool::Recorded(deadheat) => {
            let report = recorded(deadheat, program, &built.program, arguments, folder)?;
            let mut expected = program.expectations(compiler).to_vec();
            // Which variable of a stack it was can be told only while the stack is there.
            for one in &mut expected {
                if one.keys.remove("stack").is_some() {
                    one.keys
                        .insert("memory".to_owned(), vec!["stack".to_owned()]);
                }
            }
            judge(program, &expected, &from_report(&report))?;
        }
        Tool::Tsan => {
            let mut command = Command::new("setarch");
            command.arg("-R").arg(&built.program).args(arguments);
            command.env("TSAN_OPTIONS", "exitcode=66:suppress_equal_stacks=0:suppress_equal_addresses=0:report_signal_unsafe=1:detect_deadlocks=1");
            let outcome = run(command, folder, "run", program.value("stdin"), LIMIT)?;
            let seen: Vec<Seen> = oracle::parse(&outcome.stderr);
            judge(
                program,
                &oracle::wanted(program.expectations(compiler)),
                &seen,
            )?;
            if program.expectations(compiler).is_empty() && outcome.code() != program.exit(compiler)
            {
                return Err(format!(
                    "ends with {}\n{}",
                    outcome.code(),
                    tail(&outcome.stderr)
                ));
            }
        }
    }
    clear(folder)
}

/// Records the program and checks the recording with all detectors, which must agree.
fn recorded(
    deadheat: &Path,
    program: &Program,
    built: &Path,
    arguments: impl Iterator<Item = String>,
    folder: &Path,
) -> Result<Report, String> {
    let (trace, log) = (folder.join("app.dht"), folder.join("findings.json"));
    let mut command = Command::new(deadheat);
    command
        .args(["record", "-o"])
        .arg(&trace)
        .arg(built)
        .args(arguments);
    surroundings(&mut command, program, folder);
    let outcome = run(command, folder, "record", program.value("stdin"), LIMIT)?;
    if !trace.exists() {
        return Err(format!("nothing was recorded\n{}", tail(&outcome.stderr)));
    }
    let mut command = Command::new(deadheat);
    command
        .args(["check", "--detector", "all", "--jobs", "2"])
        .args(["--format", "json", "--log"])
        .arg(&log)
        .arg(&trace);
    surroundings(&mut command, program, folder);
    let outcome = run(command, folder, "check", None, LIMIT)?;
    let report = read(&log, &outcome)?;
    match report
        .losses
        .iter()
        .find(|loss| loss.what.contains("disagree"))
    {
        Some(loss) => Err(format!("{} {}", loss.count, loss.what)),
        None => Ok(report),
    }
}

fn clear(folder: &Path) -> Result<(), String> {
    if !folder.exists() {
        return Ok(());
    }
    std::fs::remove_dir_all(folder)
        .map_err(|error| format!("cannot empty {}: {error}", folder.display()))
}

/// Options of whoever runs the tests must not change what the programs report.
fn surroundings(command: &mut Command, program: &Program, folder: &Path) {
    command
        .env_remove("TSAN_OPTIONS")
        .env_remove("DEADHEAT_OPTIONS")
        .current_dir(folder);
    if let Some(options) = program.value("options") {
        command.env("DEADHEAT_OPTIONS", options);
    }
}

fn read(log: &Path, outcome: &Outcome) -> Result<Report, String> {
    let lost = |what: String| {
        format!(
            "{what}; status {}\n{}",
            outcome.code(),
            tail(&outcome.stderr)
        )
    };
    let text = std::fs::read_to_string(log).map_err(|error| lost(format!("no report: {error}")))?;
    serde_json::from_str(&text).map_err(|error| lost(format!("the report cannot be read: {error}")))
}

fn status(program: &Program, compiler: Compiler, outcome: &Outcome) -> Result<(), String> {
    let wanted = program.exit(compiler);
    if outcome.code() == wanted {
        return Ok(());
    }
    Err(format!(
        "ends with status {} instead of {wanted}\n{}",
        outcome.code(),
        tail(&outcome.stderr)
    ))
}

fn streams(program: &Program, outcome: &Outcome) -> Result<(), String> {
    for (name, got) in [("stdout", &outcome.stdout), ("stderr", &outcome.stderr)] {
        let wanted: Vec<&str> = program.values(name).iter().map(String::as_str).collect();
        let lines: Vec<&str> = got.lines().collect();
        let right = match name {
            "stdout" => lines == wanted,
            _ => wanted.iter().all(|line| lines.contains(line)),
        };
        if !right {
            return Err(format!("{name} is {lines:?} instead of {wanted:?}"));
        }
    }
    Ok(())
}

fn footer(program: &Program, report: &Report) -> Result<(), String> {
    for words in program.values("footer") {
        let plain = report
            .modules
            .iter()
            .any(|module| !module.instrumented && module.path.contains(words.as_str()));
        let said = report
            .notes
            .iter()
            .chain(report.losses.iter().map(|loss| &loss.what))
            .any(|t| t.contains(words.as_str()));
        if !plain && !said {
            return Err(format!(
                "the footer does not say `{words}`: {:?} {:?}",
                report.notes, report.losses
            ));
        }
    }
    Ok(())
}

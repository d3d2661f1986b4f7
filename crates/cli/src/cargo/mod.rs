//! `cargo deadheat`: cargo, with everything that it builds to be run instrumented, and one report at the end.
//!
//! Cargo does all the work and is told by variables: which target to build for (so that build scripts and procedural
//! macros stay as they are), what stands before rustc and rustdoc ([`roles`]), and where to build. What is specific to
//! Rust is decided in the crate `deadheat-rust`; this module asks it, starts cargo, and reports.

mod project;
pub mod roles;
mod standard;

use crate::error::{EXIT_FAILED, Failure, Result};
use crate::flags::{self, FlagsEnd};
use crate::options::{self, Key, Settings};
use crate::output::Output;
use crate::run::{self, Target};
use crate::say::say;
use crate::state;
use crate::temp::TempDir;
use project::{Project, cargo_program};
use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

impl From<deadheat_rust::Error> for Failure {
    fn from(error: deadheat_rust::Error) -> Self {
        let failure = Self::new(error.what);
        match error.next {
            Some(next) => failure.next(next),
            None => failure,
        }
    }
}

/// Commands of cargo that run nothing of the user's: they need the variables, but there is nothing to listen to.
#[rustfmt::skip] // one word a line would hide the rest of the file
const ONLY_BUILD: &[&str] = &[
    "build", "b", "check", "c", "clippy", "doc", "d", "rustc", "rustdoc", "fetch", "tree", "metadata", "update", "fix",
    "generate-lockfile", "locate-project", "pkgid", "vendor", "verify-project", "version", "add", "remove", "fmt",
];

/// Runs `deadheat cargo ARGS`, which is what `cargo deadheat ARGS` comes down to.
pub fn main(args: &[OsString]) -> Result<ExitCode> {
    let command = options::command("cargo").unwrap_or(&options::COMMANDS[0]);
    if args
        .first()
        .is_some_and(|word| word == "--version" || word == "-V")
    {
        crate::print(&crate::docs::version())?;
        return Ok(ExitCode::SUCCESS);
    }
    let parsed = flags::parse(command, args, FlagsEnd::FirstWord)?;
    let Some(word) = parsed.rest.first().filter(|_| !parsed.help) else {
        crate::print(&crate::docs::command_help(command))?;
        return Ok(ExitCode::from(if parsed.help { 0 } else { EXIT_FAILED }));
    };
    let subcommand = word.to_string_lossy().into_owned();
    if subcommand.starts_with('+') {
        let rest: Vec<_> = parsed.rest[1..]
            .iter()
            .map(|word| word.to_string_lossy())
            .collect();
        return Err(
            Failure::new("a toolchain is named before deadheat, not after it")
                .next(format!("cargo {subcommand} deadheat {}", rest.join(" "))),
        );
    }
    if subcommand == "clean" {
        return clean(&parsed.rest[1..]);
    }
    let only_builds = ONLY_BUILD.contains(&subcommand.as_str())
        || parsed
            .rest
            .iter()
            .take_while(|arg| *arg != "--")
            .any(|arg| arg == "--no-run");
    let settings = parsed.layers.resolve()?;
    let suppressions = crate::output::suppressions(&settings)?;
    let project = Project::find(&parsed.rest)?;
    let cargo = project.prepare(&settings)?;
    let words: Vec<OsString> = std::iter::once(cargo_program())
        .chain(parsed.rest)
        .collect();
    if only_builds {
        let error = Command::new(&words[0])
            .args(&words[1..])
            .envs(cargo.variables)
            .exec();
        return Err(Failure::new(format!("cannot start cargo: {error}")));
    }
    let mut output = Output::open(&settings)?;
    let temp = TempDir::new()?;
    let target = Target {
        words,
        direct: false,
        variables: cargo.variables,
    };
    let ending = run::listen(&target, &settings, &suppressions, &temp)?;
    drop(temp);
    if ending.processes == 0 {
        if ending.status == 0 {
            say(
                "deadheat: cargo started nothing that was built with Deadheat, so nothing was checked",
            );
        }
        return Ok(ExitCode::from(ending.status));
    }
    let mut ending = ending;
    ending.report.notes.extend(cargo.unseen);
    Ok(report(&ending, &settings, &mut output))
}

/// Reports, remembers, and chooses the exit status.
fn report(ending: &run::Ending, settings: &Settings, output: &mut Output) -> ExitCode {
    let found = !ending.report.findings.is_empty();
    if found || !settings.on(Key::Quiet) || output.is_for_machines() {
        output.write_or_say(&ending.report);
    }
    if found {
        state::save(&ending.report);
    }
    let code = settings.exit_code();
    ExitCode::from(if found && code != 0 {
        code
    } else {
        ending.status
    })
}

/// Runs `cargo deadheat clean`: what was prepared for any toolchain, and what was built here.
fn clean(args: &[OsString]) -> Result<ExitCode> {
    if let Some(word) = args
        .first()
        .filter(|word| !OsStr::new("--manifest-path").eq(*word))
    {
        return Err(Failure::new(format!(
            "cargo deadheat clean takes no {}",
            word.to_string_lossy()
        ))
        .next("cargo clean --target-dir target/deadheat does all that cargo clean can"));
    }
    let count = standard::clean()?;
    say(format_args!(
        "deadheat: removed the standard libraries that were prepared: {count}"
    ));
    if let Ok(project) = Project::find(args) {
        let dir = project.target_dir;
        if dir.exists() {
            std::fs::remove_dir_all(&dir).map_err(|error| {
                Failure::new(format!("cannot remove {}: {error}", dir.display()))
            })?;
            say(format_args!("deadheat: removed {}", dir.display()));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Runs the worker that instruments one library of a toolchain.
pub fn instrument_rlib(args: &[OsString]) -> Result<ExitCode> {
    standard::work(args)
}

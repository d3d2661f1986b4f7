//! `deadheat run`: starts a program, listens to the runtimes in it and in what it starts, and reports.

mod launch;
mod merge;
mod on_finding;
mod session;
mod signals;
mod sources;
mod stream;

pub use launch::{SOCKET, Target};
pub use merge::merge;
pub use on_finding::OnFinding;
pub use session::{Ending, run as listen, watched};
pub use sources::is_source;
pub use stream::{Listen, Stream};

use crate::error::{Failure, Result};
use crate::flags::{self, FlagsEnd};
use crate::options::{self, Key, Settings};
use crate::output::Output;
use crate::program::{self, Built};
use crate::say::say;
use crate::split;
use crate::state;
use crate::temp::TempDir;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

/// Runs `deadheat run ARGS`.
pub fn main(args: &[OsString]) -> Result<ExitCode> {
    let command = options::command("run").unwrap_or(&options::COMMANDS[0]);
    let parsed = flags::parse(command, args, FlagsEnd::FirstWord)?;
    if parsed.help {
        return crate::print(&crate::docs::command_help(command));
    }
    let settings = parsed.layers.resolve()?;
    let suppressions = crate::output::suppressions(&settings)?;
    let mut output = Output::open(&settings)?;
    let temp = TempDir::new()?;
    let named = settings
        .compiler
        .as_deref()
        .filter(|_| parsed.layers.names(Key::Compiler));
    let target = target(&parsed.rest, named, &settings, &temp)?;
    let on_finding = match parsed.own("--on-finding") {
        Some(text) => OnFinding::parse(text)?,
        // A program that only records does not see findings itself.
        None if parsed.own("--split").is_some() && settings.on(Key::HaltOnError) => OnFinding::Stop,
        None => OnFinding::Report,
    };
    let watch = match split::check::asked(&parsed, &settings)? {
        Some(asked) if target.direct => {
            Some(split::check::start(asked, split::check::setup(&parsed)?)?)
        }
        Some(_) => {
            return Err(Failure::new(
                "--split checks a program that was built with Deadheat itself, not what a script or launcher starts",
            ));
        }
        None => None,
    };
    let ending = session::watched(&target, &settings, &suppressions, &temp, watch, on_finding)?;
    if let Some(why) = &ending.failed {
        say(format_args!("deadheat: the checker could not go on: {why}"));
    }
    if parsed.own("--split").is_some() && settings.on(Key::Stats) {
        say(format_args!(
            "deadheat: the checker was done {:.1} ms after the program, which had {:.3} s of the processor",
            ending.lag.as_secs_f64() * 1e3,
            time_of_program().as_secs_f64()
        ));
    }
    drop(temp);
    if !ending.settings.same_place(&settings) {
        output = Output::open(&ending.settings)?;
    }
    finish(ending, &target, &mut output)
}

/// User and system time of the program that was waited for.
fn time_of_program() -> Duration {
    let time = |value: nix::sys::time::TimeVal| {
        Duration::from_micros(u64::try_from(value.num_microseconds()).unwrap_or(0))
    };
    getrusage(UsageWho::RUSAGE_CHILDREN)
        .map(|usage| time(usage.user_time()) + time(usage.system_time()))
        .unwrap_or_default()
}

/// What the words after the flags mean.
pub fn target(
    words: &[OsString],
    compiler: Option<&str>,
    settings: &Settings,
    temp: &TempDir,
) -> Result<Target> {
    let Some(first) = words.first() else {
        return Err(Failure::new("deadheat run needs a program or sources")
            .next("deadheat run bank.c -- 100\ndeadheat run ./prog ARGS"));
    };
    if sources::is_source(first) {
        let (program, args) = sources::compile(words, compiler, temp)?;
        return Ok(Target {
            words: std::iter::once(program.into_os_string())
                .chain(args)
                .collect(),
            direct: true,
            variables: Vec::new(),
        });
    }
    let path = program::locate(&first.to_string_lossy())?;
    let direct = admit(&path, settings)?;
    Ok(Target {
        words: words.to_vec(),
        direct,
        variables: Vec::new(),
    })
}

/// Whether the program speaks for itself; fails if there is nothing in it to check.
fn admit(path: &Path, settings: &Settings) -> Result<bool> {
    let built = program::inspect(path)?;
    let may_start_others =
        settings.on(Key::Follow) || settings.on(Key::Preload) || program::is_launcher(path);
    match built {
        Built::WithDeadheat => Ok(true),
        Built::Script | Built::Unknown => Ok(false),
        Built::Plain | Built::WithThreadSanitizer if may_start_others => Ok(false),
        Built::Plain | Built::WithThreadSanitizer => Err(program::not_instrumented(path, built)),
    }
}

/// Reports, remembers, and chooses the exit status.
fn finish(ending: Ending, target: &Target, output: &mut Output) -> Result<ExitCode> {
    let Ending {
        report,
        processes,
        status,
        settings,
        ..
    } = ending;
    if processes == 0 {
        let name = target.words[0].to_string_lossy();
        return Err(match ending.signal {
            Some(signal) => Failure::new(format!("{name} was killed by signal {signal} before Deadheat's runtime in it had started")),
            None if target.direct => Failure::new(format!("{name} ended before Deadheat's runtime in it had started (status {status})")),
            None => Failure::new(format!("nothing that {name} started was built with Deadheat, so nothing was checked (its status was {status})"))
                .next("build the programs with CC=\"deadheat cc\" CXX=\"deadheat c++\", then run this again"),
        });
    }
    let found = !report.findings.is_empty();
    if found || !settings.on(Key::Quiet) || output.is_for_machines() {
        output.write_or_say(&report);
    }
    if found {
        state::save(&report);
    }
    let code = settings.exit_code();
    Ok(ExitCode::from(if found && code != 0 {
        code
    } else {
        status
    }))
}

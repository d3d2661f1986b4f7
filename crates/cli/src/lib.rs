//! The `deadheat` command: a compiler wrapper, a runner, and the commands that show what was found.
//!
//! Nothing here decides what a bug is: the runtime in the program finds, the report crate explains, and this crate
//! starts them, hands the options around, and chooses the exit status.

#![deny(unsafe_code)]

pub mod cargo;
pub mod check;
pub mod collect;
pub mod docs;
pub mod engine;
pub mod env_cmd;
pub mod error;
pub mod fd;
pub mod flags;
pub mod gpu;
mod heap;
pub mod links;
pub mod options;
pub mod output;
pub mod program;
pub mod record;
pub mod run;
pub mod say;
pub mod show;
pub mod split;
pub mod stamp;
pub mod state;
pub mod temp;
pub mod trace;
pub mod unpack;
pub mod wrapper;

use error::{EXIT_FAILED, Failure, Result};
use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use wrapper::Language;

/// Runs the command whose words are `args` (the first is the name it was called by).
#[must_use]
pub fn command(args: Vec<OsString>) -> ExitCode {
    dispatch(args).unwrap_or_else(|failure| {
        say::say(failure);
        ExitCode::from(EXIT_FAILED)
    })
}

fn dispatch(mut args: Vec<OsString>) -> Result<ExitCode> {
    let called = if args.is_empty() {
        OsString::new()
    } else {
        args.remove(0)
    };
    match Path::new(&called).file_name().and_then(OsStr::to_str) {
        Some("deadheat-cc") => return wrapper::main(Language::C, args),
        Some("deadheat-c++") => return wrapper::main(Language::Cxx, args),
        Some(name) => {
            if let Some(end) = cargo::roles::play(name, &args) {
                return end;
            }
        }
        None => {}
    }
    let Some(name) = args.first().map(|a| a.to_string_lossy().into_owned()) else {
        print(&docs::help())?;
        return Ok(ExitCode::from(EXIT_FAILED));
    };
    let rest = args.split_off(1);
    match name.as_str() {
        "run" => run::main(&rest),
        "record" => record::main(&rest),
        "trace" => trace::main(&rest),
        "cc" => wrapper::main(Language::C, rest),
        "c++" | "cxx" => wrapper::main(Language::Cxx, rest),
        "check" => check::main(&rest),
        "report" => show::report(&rest),
        "explain" => show::explain_finding(&rest),
        "suppressions" => show::suppressions(&rest),
        "cargo" => cargo::main(&rest),
        "instrument-rlib" => cargo::instrument_rlib(&rest),
        "gpu" => gpu::main(&rest),
        "env" => env_cmd::main(&rest),
        "collect" => collect::main(&rest),
        "completions" => completions(&rest),
        "man" => print(&docs::manual()),
        "help" | "--help" | "-h" => help(&rest),
        "--version" | "-V" | "version" => print(&docs::version()),
        // For `make docs`; the page is for people, not the command.
        "options-page" => print(&docs::options_page()),
        _ => Err(unknown(&name)),
    }
}

fn unknown(name: &str) -> Failure {
    let failure = Failure::new(format!("there is no command `{name}`"));
    let known = options::COMMANDS
        .iter()
        .filter(|c| !c.hidden)
        .map(|c| c.name);
    if run::is_source(OsStr::new(name)) || Path::new(name).is_file() {
        return failure.next(format!("to run it: deadheat run {name}"));
    }
    match options::nearest(name, known) {
        Some(meant) => failure.next(format!("did you mean deadheat {meant}?")),
        None => failure.next("deadheat help lists the commands"),
    }
}

fn help(args: &[OsString]) -> Result<ExitCode> {
    let Some(name) = args.first().map(|a| a.to_string_lossy().into_owned()) else {
        return print(&docs::help());
    };
    match options::command(&name) {
        Some(command) => print(&docs::command_help(command)),
        None => Err(unknown(&name)),
    }
}

fn completions(args: &[OsString]) -> Result<ExitCode> {
    let shell = args
        .first()
        .map(|a| a.to_string_lossy().into_owned())
        .unwrap_or_default();
    match docs::completions(&shell) {
        Some(text) => print(&text),
        None => Err(
            Failure::new(format!("there are no completions for `{shell}`"))
                .next("deadheat completions bash, zsh or fish"),
        ),
    }
}

/// Prints what was asked for. A reader that stops early is no failure.
pub fn print(text: &str) -> Result<ExitCode> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(Failure::new(format!(
            "cannot write to standard output: {error}"
        ))),
        _ => Ok(ExitCode::SUCCESS),
    }
}

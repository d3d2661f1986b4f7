//! `deadheat cc` and `deadheat c++`: a compiler that instruments, and links Deadheat's runtime.
//!
//! The real compiler does all the work. The wrapper reads its command line only to learn three things: does this
//! command compile, does it link, and if so what. It then tells the *compiler proper* (cc1), not the driver, to
//! instrument: gcc by a specs file, clang by `-Xclang`. The driver never learns about the sanitizer, so it neither links
//! a foreign runtime nor refuses `-static`, and one command may compile and link at once.
//!
//! An executable gets, before all its own inputs, the runtime archive (pulled in by `-u`), an object that names the
//! collector, and a list of symbols to export, so that libraries loaded later find the runtime in the executable.
//! Shared libraries get nothing: they use the executable's runtime.

mod args;
mod command;
mod compiler;
mod response;

pub use args::{CommandLine, Language, Output, classify};
pub use command::{Plan, Runtime, link_plan, plan};
pub use compiler::{Compiler, Family, find, on_path};

use crate::error::{Failure, Result};
use crate::unpack;
use std::env;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode};

/// Runs `deadheat cc ARGS` or `deadheat c++ ARGS`. On success the compiler replaces this process.
pub fn main(language: Language, mut args: Vec<OsString>) -> Result<ExitCode> {
    let named = take_compiler_flag(&mut args)?;
    let compiler = find(language, named.as_deref())?;
    let mut command = prepare(&compiler, args)?;
    let error = command.exec();
    Err(cannot_start(&command, &error))
}

/// The command that compiles `args` with instrumentation.
pub fn prepare(compiler: &Compiler, args: Vec<OsString>) -> Result<Command> {
    let runtime = unpack::runtime()?;
    let expanded = response::expand(&args);
    let plan = plan(compiler, &expanded, &runtime)?;
    let mut command = compiler.command();
    command.args(response::shorten(plan.args, runtime.dir())?);
    if compiler.family == Family::Clang && plan.output != Output::Answer {
        load_hook(&mut command, runtime.compiler_hook());
    }
    Ok(command)
}

/// Loads a library into a compiler, before what the user loads into it. A compiler that carries its LLVM inside takes no
/// notice of it.
pub fn load_hook(command: &mut Command, hook: &Path) {
    // Such a path cannot be said there.
    if hook
        .as_os_str()
        .as_encoded_bytes()
        .iter()
        .any(|c| b" :".contains(c))
    {
        return;
    }
    let mut list = hook.as_os_str().to_owned();
    if let Some(before) = env::var_os("LD_PRELOAD").filter(|value| !value.is_empty()) {
        list.push(":");
        list.push(before);
    }
    command.env("LD_PRELOAD", list);
}

/// The arguments that make a compiler's driver link what somebody else compiled, with the runtime.
pub fn link_only(args: Vec<OsString>) -> Result<Vec<OsString>> {
    let runtime = unpack::runtime()?;
    let plan = link_plan(&response::expand(&args), &runtime)?;
    let mut args = plan.args;
    if plan.output == Output::StaticExecutable {
        // Rust's library names some functions weakly, and lld takes nothing from an archive for the sake of `__real_X`.
        let flags = std::fs::read_to_string(runtime.wrap_flags()).unwrap_or_default();
        let names = flags
            .lines()
            .filter_map(|flag| flag.strip_prefix("-Wl,--wrap="));
        args.splice(..0, names.map(|name| format!("-Wl,-u,{name}").into()));
    }
    response::shorten(args, runtime.dir())
}

/// What to say when the compiler cannot be started.
pub fn cannot_start(command: &Command, error: &std::io::Error) -> Failure {
    Failure::new(format!(
        "cannot start the compiler {}: {error}",
        command.get_program().to_string_lossy()
    ))
    .next("name another one with --compiler NAME or in DEADHEAT_CC and DEADHEAT_CXX")
}

/// Takes `--compiler NAME` or `--compiler=NAME` from the front; everything else is the compiler's.
fn take_compiler_flag(args: &mut Vec<OsString>) -> Result<Option<String>> {
    let Some(first) = args.first().and_then(|a| a.to_str()) else {
        return Ok(None);
    };
    if let Some(name) = first.strip_prefix("--compiler=") {
        let name = name.to_owned();
        args.remove(0);
        return Ok(Some(name));
    }
    if first != "--compiler" {
        return Ok(None);
    }
    args.remove(0);
    if args.is_empty() {
        return Err(Failure::new("--compiler needs a name")
            .next("for example: deadheat cc --compiler gcc -c bank.c"));
    }
    Ok(Some(args.remove(0).to_string_lossy().into_owned()))
}

//! What Deadheat does when cargo, rustc or a build script starts it under one of its other names.

use crate::error::{Failure, Result};
use crate::wrapper::{self, Language};
use deadheat_rust::{compile, environment, shims};
use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// The name of the linker. Rustc speaks to it as to a C compiler because it ends in `-cc`.
pub const LINKER: &str = "deadheat-rust-cc";

/// Programs that keep what rustc made under a name that knows nothing of Deadheat's hook: not used.
const CACHES: [&str; 2] = ["sccache", "cachepot"];

/// Plays the role of that name, if it is one of them.
pub fn play(name: &str, args: &[OsString]) -> Option<Result<ExitCode>> {
    match name {
        "deadheat-rustc" => Some(rustc(args)),
        "deadheat-rustdoc" => Some(rustdoc(args)),
        LINKER => Some(link(args.to_vec())),
        "deadheat-target-cc" => Some(compile_c(Language::C, args.to_vec())),
        "deadheat-target-c++" => Some(compile_c(Language::Cxx, args.to_vec())),
        _ => None,
    }
}

/// Stands before rustc: `deadheat-rustc RUSTC ARGS`.
fn rustc(args: &[OsString]) -> Result<ExitCode> {
    let Some((program, rest)) = args.split_first() else {
        return Err(Failure::new(
            "this name of Deadheat is for cargo, which says which rustc to start",
        ));
    };
    if rest.iter().any(|arg| arg == "-vV") {
        return version(program, rest);
    }
    let mut command = behind_wrapper(program);
    instrument(&mut command, rest);
    Err(become_it(command))
}

/// The compiler's version, with what else decides whether something must be compiled again.
fn version(program: &OsStr, rest: &[OsString]) -> Result<ExitCode> {
    let output = Command::new(program).args(rest).output().map_err(|error| {
        Failure::new(format!(
            "cannot start {}: {error}",
            program.to_string_lossy()
        ))
    })?;
    let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
    if let (true, Ok(identity)) = (output.status.success(), env::var(environment::IDENTITY)) {
        text.push_str(&format!("deadheat: {identity}\n"));
    }
    crate::say::say(String::from_utf8_lossy(&output.stderr).trim_end());
    crate::print(&text)?;
    Ok(ExitCode::from(
        u8::try_from(output.status.code().unwrap_or(1)).unwrap_or(1),
    ))
}

/// The user's own wrapper stays between Deadheat and rustc.
fn behind_wrapper(program: &OsStr) -> Command {
    let wrapper = env::var_os(environment::WRAPPER).filter(|wrapper| {
        let name = Path::new(wrapper)
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        !CACHES.contains(&name.as_str())
    });
    match wrapper {
        Some(wrapper) => {
            let mut command = Command::new(wrapper);
            command.arg(program);
            command
        }
        None => Command::new(program),
    }
}

/// Adds the arguments, changed if they are about a crate that is to be checked.
fn instrument(command: &mut Command, args: &[OsString]) {
    let plan = environment::plan(beside(LINKER));
    let Some(found) = plan.and_then(|plan| compile::instrumented(args, &plan)) else {
        command.args(args);
        return;
    };
    command.args(found.args);
    if let Some(linker) = found.linker {
        command.env(environment::LINKER, linker);
    }
    if let Some(hook) = env::var_os(environment::HOOK) {
        wrapper::load_hook(command, hook.as_ref());
    }
}

/// Another name of Deadheat, which lies beside the one it was called by.
fn beside(name: &str) -> PathBuf {
    let own = env::args_os().next().map(PathBuf::from).unwrap_or_default();
    own.with_file_name(name)
}

/// Stands before rustdoc, which compiles and runs the examples in the documentation.
fn rustdoc(args: &[OsString]) -> Result<ExitCode> {
    let mut command =
        Command::new(env::var_os(environment::RUSTDOC).unwrap_or_else(|| "rustdoc".into()));
    if args.iter().any(|arg| arg == "--test") {
        instrument(&mut command, args);
    } else {
        command.args(args);
    }
    Err(become_it(command))
}

/// Links for rustc.
fn link(args: Vec<OsString>) -> Result<ExitCode> {
    let linker = env::var_os(environment::LINKER).or_else(|| {
        ["cc", "gcc", "clang"]
            .into_iter()
            .find(|name| wrapper::on_path(name).is_some())
            .map(OsString::from)
    });
    let linker = linker.ok_or_else(|| {
        Failure::new("no C compiler is on the PATH, and rustc needs one to link")
            .next("apt-get install gcc libc6-dev")
    })?;
    let mut command = Command::new(linker);
    command.env_remove("LD_PRELOAD");
    command.args(wrapper::link_only(args)?);
    if let Some(shims) = env::var_os(environment::SHIMS) {
        command.args(shims::link_arguments(shims.as_ref())?);
    }
    Err(become_it(command))
}

/// Compiles C or C++ for a build script: instrumented when it is for a crate that is checked.
fn compile_c(language: Language, args: Vec<OsString>) -> Result<ExitCode> {
    if environment::builds_for_target() {
        return wrapper::main(language, args);
    }
    let mut command = wrapper::find(language, None)?.command();
    command.args(args);
    Err(become_it(command))
}

/// Becomes the command; comes back only when that failed.
fn become_it(mut command: Command) -> Failure {
    let error = command.exec();
    Failure::new(format!(
        "cannot start {}: {error}",
        command.get_program().to_string_lossy()
    ))
}

//! `cargo deadheat`: cargo, with everything that it builds to be run instrumented, and one report at the end.
//!
//! Cargo does all the work and is told by variables: which target to build for (so that build scripts and procedural
//! macros stay as they are), what stands before rustc and rustdoc ([`roles`]), and where to build. What is specific to
//! Rust is decided in the crate `deadheat-rust`; this module asks it, starts cargo, and reports.

pub mod roles;
mod standard;

use crate::error::{EXIT_FAILED, Failure, Result};
use crate::flags::{self, FlagsEnd};
use crate::links;
use crate::options::{self, Key, Settings};
use crate::output::Output;
use crate::run::{self, Target};
use crate::say::say;
use crate::state;
use crate::temp::TempDir;
use crate::unpack;
use deadheat_rust::config::Config;
use deadheat_rust::environment::{self, Roles, Setting};
use deadheat_rust::prepare::Prepared;
use deadheat_rust::toolchain::Toolchain;
use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
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
    let suppressions = crate::output::read_suppressions(&settings)?;
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

/// What cargo is started with.
struct Cargo {
    variables: Vec<(String, OsString)>,
    unseen: Vec<String>,
}

/// The workspace that a command is about.
struct Project {
    root: PathBuf,
    config: Config,
    /// `--target`, if it was given.
    target: Option<String>,
}

impl Project {
    fn find(args: &[OsString]) -> Result<Self> {
        let here = env::current_dir()
            .map_err(|error| Failure::new(format!("the working directory is gone: {error}")))?;
        let mut ask = Command::new(cargo_program());
        ask.args(["locate-project", "--workspace", "--message-format", "plain"]);
        if let Some(path) = value_of(args, "--manifest-path") {
            ask.arg("--manifest-path").arg(path);
        }
        let answer = ask.output().map_err(|error| {
            Failure::new(format!("cannot start cargo: {error}"))
                .next("install Rust from https://rustup.rs")
        })?;
        if !answer.status.success() {
            let said = String::from_utf8_lossy(&answer.stderr);
            let why = said
                .trim()
                .trim_start_matches("error: ")
                .lines()
                .next()
                .unwrap_or_default()
                .to_owned();
            return Err(Failure::new(format!("there is no cargo project to check here: {why}"))
                .next("cd to the folder of a Cargo.toml, or name it: cargo deadheat test --manifest-path DIR/Cargo.toml"));
        }
        let manifest = PathBuf::from(String::from_utf8_lossy(&answer.stdout).trim_end());
        let root = manifest.parent().unwrap_or(Path::new("/")).to_owned();
        Ok(Self {
            root,
            config: Config::read(&here)?,
            target: value_of(args, "--target").map(|target| target.to_string_lossy().into_owned()),
        })
    }

    /// Where cargo builds under Deadheat: beside what it builds otherwise, which stays warm.
    fn target_dir(&self) -> PathBuf {
        let own = env::var_os("CARGO_TARGET_DIR")
            .filter(|dir| !dir.is_empty())
            .map(PathBuf::from);
        let base = own
            .or_else(|| self.config.path(&["build", "target-dir"]))
            .unwrap_or_else(|| self.root.join("target"));
        base.join("deadheat")
    }

    /// Makes the standard library ready and puts together what cargo has to know.
    fn prepare(&self, settings: &Settings) -> Result<Cargo> {
        let toolchain = Toolchain::find(self.config.path(&["build", "rustc"]).map(Into::into))?;
        let configured = || {
            self.config
                .text(&["build", "target"])
                .map(|target| target.to_string_lossy().into_owned())
        };
        let target = self
            .target
            .clone()
            .or_else(configured)
            .unwrap_or_else(|| toolchain.host.clone());
        if !deadheat_rust::supported(&target) {
            return Err(Failure::new(format!("Deadheat has no runtime for {target}"))
                .next("it checks programs for Linux on x86-64 with glibc: cargo deadheat test --target x86_64-unknown-linux-gnu"));
        }
        check_linker()?;
        let runtime = unpack::runtime()?;
        let std = standard::prepare(&toolchain, &target, settings)?;
        if std.sysroot.is_none() && !settings.on(Key::Quiet) {
            std.unseen
                .iter()
                .for_each(|note| say(format_args!("deadheat: {note}")));
        }
        let roles = roles()?;
        let wrapper = env::var_os("RUSTC_WRAPPER").or_else(|| {
            self.config
                .path(&["build", "rustc-wrapper"])
                .map(Into::into)
        });
        let rustdoc = env::var_os("RUSTDOC")
            .or_else(|| self.config.path(&["build", "rustdoc"]).map(Into::into))
            .unwrap_or_else(|| toolchain.tool("rustdoc").into());
        let llvm = toolchain.llvm().filter(|llvm| llvm.loaded);
        let hook = llvm.as_ref().map(|_| runtime.compiler_hook().to_owned());
        let mut variables = environment::variables(&Setting {
            target: &target,
            std: &std,
            hook: hook.as_deref(),
            late: llvm.is_some_and(|llvm| llvm.late),
            roles: &roles,
            target_dir: &self.target_dir(),
            wrapper: wrapper.as_deref().filter(|name| !name.is_empty()),
            rustdoc: &rustdoc,
            identity: env!("DEADHEAT_RUNTIME_HASH"),
        });
        variables.extend(c_compilers(&target));
        Ok(Cargo {
            variables,
            unseen: unseen(std, hook.is_none()),
        })
    }
}

fn unseen(std: Prepared, no_hook: bool) -> Vec<String> {
    let mut unseen = std.unseen;
    if no_hook {
        unseen.push(
            "this toolchain's LLVM is not a library of its own, so fetch_max and fetch_min are not followed: races that \
             they prevent may be reported all the same"
                .to_owned(),
        );
    }
    unseen
}

/// The compilers that the user chose for C and C++ go on doing the work, behind Deadheat's.
fn c_compilers(target: &str) -> Vec<(String, OsString)> {
    let under = target.replace('-', "_");
    let chosen = |name: &str| {
        [
            format!("{name}_{target}"),
            format!("{name}_{under}"),
            format!("TARGET_{name}"),
            name.to_owned(),
        ]
        .iter()
        .find_map(|variable| env::var_os(variable).filter(|value| !value.is_empty()))
    };
    [("CC", "DEADHEAT_CC"), ("CXX", "DEADHEAT_CXX")]
        .into_iter()
        .filter(|(_, own)| env::var_os(own).is_none())
        .filter_map(|(name, own)| Some((own.to_owned(), chosen(name)?)))
        .collect()
}

fn check_linker() -> Result<()> {
    let found = ["cc", "gcc", "clang"]
        .iter()
        .any(|name| crate::wrapper::on_path(name).is_some());
    if found || env::var_os(environment::LINKER).is_some() {
        return Ok(());
    }
    Err(
        Failure::new("no C compiler is on the PATH, and rustc needs one to link")
            .next("apt-get install gcc libc6-dev"),
    )
}

fn roles() -> Result<Roles> {
    let [rustc, rustdoc, linker, cc, cxx] = links::make([
        "deadheat-rustc",
        "deadheat-rustdoc",
        roles::LINKER,
        "deadheat-target-cc",
        "deadheat-target-c++",
    ])?;
    Ok(Roles {
        rustc,
        rustdoc,
        linker,
        cc,
        cxx,
    })
}

fn cargo_program() -> OsString {
    env::var_os("CARGO")
        .filter(|name| !name.is_empty())
        .unwrap_or_else(|| "cargo".into())
}

/// The value of an option among cargo's arguments.
fn value_of(args: &[OsString], option: &str) -> Option<OsString> {
    let args: Vec<&OsString> = args.iter().take_while(|arg| *arg != "--").collect();
    args.iter().enumerate().find_map(|(at, arg)| {
        if *arg == option {
            return args.get(at + 1).map(|value| (*value).clone());
        }
        let joined = arg.to_string_lossy();
        joined
            .strip_prefix(option)?
            .strip_prefix('=')
            .map(OsString::from)
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
        let dir = project.target_dir();
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

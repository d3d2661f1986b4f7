//! The workspace that a command is about, as cargo itself sees it, and what cargo has to know to build it under Deadheat.

use super::{roles, standard};
use crate::error::{Failure, Result};
use crate::links;
use crate::options::{Key, Settings};
use crate::say::say;
use crate::unpack;
use deadheat_rust::config::Config;
use deadheat_rust::environment::{self, Roles, Setting};
use deadheat_rust::prepare::Prepared;
use deadheat_rust::toolchain::Toolchain;
use std::env;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

/// What cargo is started with.
pub struct Cargo {
    pub variables: Vec<(String, OsString)>,
    /// What Deadheat cannot see, in sentences for the report's footer.
    pub unseen: Vec<String>,
}

/// The workspace.
pub struct Project {
    /// Where cargo builds under Deadheat: beside what it builds otherwise, which stays warm.
    pub target_dir: PathBuf,
    config: Config,
    /// `--target`, if it was given.
    target: Option<String>,
}

impl Project {
    /// Asks cargo, which knows where it would build by its variables, configuration files and `--config`.
    pub fn find(args: &[OsString]) -> Result<Self> {
        let here = env::current_dir()
            .map_err(|error| Failure::new(format!("the working directory is gone: {error}")))?;
        let given: Vec<String> = values_of(args, "--config")
            .map(|value| value.to_string_lossy().into_owned())
            .collect();
        let mut ask = Command::new(cargo_program());
        ask.args(["metadata", "--no-deps", "--format-version", "1"]);
        for value in &given {
            ask.arg("--config").arg(value);
        }
        if let Some(path) = values_of(args, "--manifest-path").next() {
            ask.arg("--manifest-path").arg(path);
        }
        let answer = ask.output().map_err(|error| {
            Failure::new(format!("cannot start cargo: {error}"))
                .next("install Rust from https://rustup.rs")
        })?;
        if !answer.status.success() {
            return Err(refused(&String::from_utf8_lossy(&answer.stderr)));
        }
        let metadata: serde_json::Value = serde_json::from_slice(&answer.stdout)
            .map_err(|error| Failure::new(format!("cargo metadata is not JSON: {error}")))?;
        let base = metadata["target_directory"]
            .as_str()
            .ok_or_else(|| Failure::new("cargo metadata names no target_directory"))?;
        Ok(Self {
            target_dir: PathBuf::from(base).join("deadheat"),
            config: Config::read(&here, &given)?,
            target: values_of(args, "--target")
                .next()
                .map(|target| target.to_string_lossy().into_owned()),
        })
    }

    /// Makes the standard library ready and puts together what cargo has to know.
    pub fn prepare(&self, settings: &Settings) -> Result<Cargo> {
        let toolchain = Toolchain::find(self.config.program(&["build", "rustc"]).map(Into::into))?;
        let target = self.built_for(&toolchain.host)?;
        if !deadheat_rust::supported(&target) {
            return Err(Failure::new(format!("Deadheat has no runtime for {target}"))
                .next("it checks programs for Linux on x86-64 with glibc: cargo deadheat test --target x86_64-unknown-linux-gnu"));
        }
        check_linker(self.config.program(&["target", &target, "linker"]))?;
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
                .program(&["build", "rustc-wrapper"])
                .map(Into::into)
        });
        let rustdoc = env::var_os("RUSTDOC")
            .or_else(|| self.config.program(&["build", "rustdoc"]).map(Into::into))
            .unwrap_or_else(|| toolchain.tool("rustdoc").into());
        let llvm = toolchain.llvm().filter(|llvm| llvm.loaded);
        let hook = llvm.as_ref().map(|_| runtime.compiler_hook().to_owned());
        let mut variables = environment::variables(&Setting {
            target: &target,
            std: &std,
            hook: hook.as_deref(),
            late: llvm.is_some_and(|llvm| llvm.late),
            roles: &roles,
            target_dir: &self.target_dir,
            wrapper: wrapper.as_deref().filter(|name| !name.is_empty()),
            rustdoc: &rustdoc,
            identity: env!("DEADHEAT_RUNTIME_HASH"),
        });
        variables.extend(c_compilers(&target, &self.config));
        Ok(Cargo {
            variables,
            unseen: unseen(std, hook.is_none()),
        })
    }

    /// What is built for. Cargo would build for all targets of a list, and Deadheat's among them.
    fn built_for(&self, host: &str) -> Result<String> {
        let configured = self.config.texts(&["build", "target"]);
        match (&self.target, &configured[..]) {
            (Some(target), _) | (None, [target]) => Ok(target.clone()),
            (None, []) => Ok(host.to_owned()),
            (None, [..]) => Err(Failure::new(format!(
                "the configuration of cargo names several targets ({})",
                configured.join(", ")
            ))
            .next(format!(
                "say which one is to be checked: cargo deadheat test --target {host}"
            ))),
        }
    }
}

/// Why cargo did not say where it builds.
fn refused(said: &str) -> Failure {
    let why = said.trim().trim_start_matches("error: ");
    if why.lines().count() > 1 {
        return Failure::new("cargo cannot read this project").next(why);
    }
    Failure::new(format!("there is no cargo project to check here: {why}"))
        .next("cd to the folder of a Cargo.toml, or name it: cargo deadheat test --manifest-path DIR/Cargo.toml")
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
fn c_compilers(target: &str, config: &Config) -> Vec<(String, OsString)> {
    let under = target.replace('-', "_");
    let chosen = |name: &str| {
        let names = [
            format!("{name}_{target}"),
            format!("{name}_{under}"),
            format!("TARGET_{name}"),
            name.to_owned(),
        ];
        let set = |name: &String| env::var_os(name).filter(|value| !value.is_empty());
        let found = names.iter().find_map(set);
        found.or_else(|| names.iter().find_map(|name| config.variable(name)))
    };
    [("CC", "DEADHEAT_CC"), ("CXX", "DEADHEAT_CXX")]
        .into_iter()
        .filter(|(_, own)| env::var_os(own).is_none())
        .filter_map(|(name, own)| Some((own.to_owned(), chosen(name)?)))
        .collect()
}

fn check_linker(configured: Option<PathBuf>) -> Result<()> {
    let configured = configured.map(|path| path.to_string_lossy().into_owned());
    let found = ["cc", "gcc", "clang"]
        .into_iter()
        .chain(configured.as_deref())
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

/// Cargo, by the name that it told those that it starts.
pub fn cargo_program() -> OsString {
    env::var_os("CARGO")
        .filter(|name| !name.is_empty())
        .unwrap_or_else(|| "cargo".into())
}

/// The values of an option among cargo's arguments.
fn values_of<'a>(args: &'a [OsString], option: &'a str) -> impl Iterator<Item = OsString> + 'a {
    let own = args.iter().take_while(|arg| *arg != "--").enumerate();
    own.filter_map(move |(at, arg)| {
        if arg == option {
            return args.get(at + 1).cloned();
        }
        let joined = arg.to_string_lossy();
        joined
            .strip_prefix(option)?
            .strip_prefix('=')
            .map(OsString::from)
    })
}

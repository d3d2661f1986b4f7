//! The variables by which cargo, and what it starts, learn about Deadheat.

use crate::compile::Plan;
use crate::prepare::Prepared;
use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// What is built for; its presence says that `cargo deadheat` is at work.
pub const TARGET: &str = "DEADHEAT_RUST_TARGET";
/// The prepared sysroot, if there is one.
pub const SYSROOT: &str = "DEADHEAT_RUST_SYSROOT";
/// Assembler that is linked with every program, if there is some.
pub const SHIMS: &str = "DEADHEAT_RUST_SHIMS";
/// What changes when anything about the instrumentation does.
pub const IDENTITY: &str = "DEADHEAT_RUST_IDENTITY";
/// The library that is loaded into rustc.
pub const HOOK: &str = "DEADHEAT_RUST_HOOK";
/// Says that this library can instrument when code is made, which is later than rustc would.
pub const LATE: &str = "DEADHEAT_RUST_LATE";
/// The wrapper that the user had before.
pub const WRAPPER: &str = "DEADHEAT_RUST_WRAPPER";
/// The linker that the user wanted.
pub const LINKER: &str = "DEADHEAT_RUST_LINKER";
/// The documentation tool behind the wrapper.
pub const RUSTDOC: &str = "DEADHEAT_RUST_RUSTDOC";

/// The names under which Deadheat is started by cargo and rustc; links to it.
#[derive(Debug, Clone)]
pub struct Roles {
    /// Stands before rustc.
    pub rustc: PathBuf,
    /// Stands before rustdoc.
    pub rustdoc: PathBuf,
    /// Links.
    pub linker: PathBuf,
    /// Compiles C for build scripts.
    pub cc: PathBuf,
    /// Compiles C++ for build scripts.
    pub cxx: PathBuf,
}

/// What the variables are made from.
#[derive(Debug)]
pub struct Setting<'a> {
    /// What is built for.
    pub target: &'a str,
    /// The standard library.
    pub std: &'a Prepared,
    /// The library for rustc, if it can be used.
    pub hook: Option<&'a Path>,
    /// Whether it can instrument when code is made.
    pub late: bool,
    /// Names of Deadheat.
    pub roles: &'a Roles,
    /// Where cargo builds.
    pub target_dir: &'a Path,
    /// The wrapper that the user has.
    pub wrapper: Option<&'a OsStr>,
    /// The documentation tool.
    pub rustdoc: &'a OsStr,
    /// What changes with Deadheat itself.
    pub identity: &'a str,
}

/// The variables for cargo.
#[must_use]
pub fn variables(setting: &Setting<'_>) -> Vec<(String, OsString)> {
    let roles = setting.roles;
    let under = setting.target.replace('-', "_");
    let mut out: Vec<(String, OsString)> = vec![
        ("CARGO_BUILD_TARGET".into(), setting.target.into()),
        ("CARGO_TARGET_DIR".into(), setting.target_dir.into()),
        ("RUSTC_WRAPPER".into(), roles.rustc.clone().into()),
        ("RUSTDOC".into(), roles.rustdoc.clone().into()),
        (RUSTDOC.into(), setting.rustdoc.into()),
        (TARGET.into(), setting.target.into()),
        (
            IDENTITY.into(),
            format!("{} {}", setting.identity, setting.std.name).into(),
        ),
        (format!("CC_{under}"), roles.cc.clone().into()),
        (format!("CXX_{under}"), roles.cxx.clone().into()),
    ];
    let mut optional = |name: &str, value: Option<&OsStr>| {
        if let Some(value) = value {
            out.push((name.into(), value.into()));
        }
    };
    optional(SYSROOT, setting.std.sysroot.as_deref().map(Path::as_os_str));
    optional(SHIMS, setting.std.shims.as_deref().map(Path::as_os_str));
    optional(HOOK, setting.hook.map(Path::as_os_str));
    optional(LATE, setting.late.then_some(OsStr::new("1")));
    optional(WRAPPER, setting.wrapper);
    out
}

/// The plan that the variables of this process tell; none outside of `cargo deadheat`. `linker` is Deadheat's.
#[must_use]
pub fn plan(linker: PathBuf) -> Option<Plan> {
    Some(Plan {
        target: env::var(TARGET).ok()?,
        sysroot: env::var_os(SYSROOT).map(PathBuf::from),
        linker,
    })
}

/// Whether a build script that runs now works for a crate that is checked, not for one that runs while building: only
/// the former's output lies in a folder with the name of the target.
#[must_use]
pub fn builds_for_target() -> bool {
    let (Some(out), Some(target)) = (env::var_os("OUT_DIR"), env::var_os(TARGET)) else {
        return false;
    };
    Path::new(&out)
        .components()
        .any(|part| part.as_os_str() == target)
}

//! The Rust toolchain that cargo would use here.

use crate::error::{Error, Result};
use std::env;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

mod llvm;

pub use llvm::Llvm;

/// A toolchain.
#[derive(Debug, Clone)]
pub struct Toolchain {
    /// How its compiler is started.
    pub rustc: OsString,
    /// All that `rustc -vV` says.
    pub verbose: String,
    /// Its version.
    pub release: String,
    /// What it runs on, and builds for unless told otherwise.
    pub host: String,
    /// Where it lies.
    pub sysroot: PathBuf,
}

impl Toolchain {
    /// Asks the compiler. `configured` is what the user's configuration calls it, if it does; `RUSTC` beats that.
    pub fn find(configured: Option<OsString>) -> Result<Self> {
        let rustc = env::var_os("RUSTC")
            .filter(|name| !name.is_empty())
            .or(configured)
            .unwrap_or_else(|| "rustc".into());
        let verbose = ask(&rustc, &["-vV"])?;
        let field = |name: &str| {
            verbose
                .lines()
                .find_map(|line| line.strip_prefix(name))
                .map(str::to_owned)
                .ok_or_else(|| {
                    Error::new(format!(
                        "{} -vV has no line {name:?}",
                        rustc.to_string_lossy()
                    ))
                })
        };
        Ok(Self {
            release: field("release: ")?,
            host: field("host: ")?,
            sysroot: ask(&rustc, &["--print", "sysroot"])?.trim_end().into(),
            rustc,
            verbose,
        })
    }

    /// Where the compiled standard library for a target lies.
    #[must_use]
    pub fn libraries(&self, target: &str) -> PathBuf {
        self.sysroot.join("lib/rustlib").join(target).join("lib")
    }

    /// The LLVM that the compiler loads, or another of the same version; none if there is neither.
    #[must_use]
    pub fn llvm(&self) -> Option<Llvm> {
        llvm::find(&self.sysroot, &self.host, &self.verbose)
    }

    /// The compiler's own program, not the proxy that chooses between toolchains.
    #[must_use]
    pub fn tool(&self, name: &str) -> PathBuf {
        let own = self.sysroot.join("bin").join(name);
        if own.is_file() { own } else { name.into() }
    }
}

fn ask(rustc: &OsString, args: &[&str]) -> Result<String> {
    let shown = rustc.to_string_lossy();
    let output = Command::new(rustc).args(args).output().map_err(|error| {
        Error::new(format!("cannot start {shown}: {error}"))
            .next("install Rust from https://rustup.rs, or set RUSTC to a compiler")
    })?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(Error::new(format!(
            "{shown} {} failed: {}",
            args.join(" "),
            said.trim_end()
        )));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

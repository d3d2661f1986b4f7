//! `deadheat env`: what makes a build system compile with Deadheat.
//!
//! Build systems like a compiler that is one word: two links lead to this command ([`links`]).

use crate::error::{Failure, Result};
use crate::flags::{self, FlagsEnd};
use crate::links;
use crate::options;
use std::ffi::OsString;
use std::process::ExitCode;

/// Runs `deadheat env`.
pub fn main(args: &[OsString]) -> Result<ExitCode> {
    let command = options::command("env").unwrap_or(&options::COMMANDS[0]);
    let parsed = flags::parse(command, args, FlagsEnd::Never)?;
    if parsed.help {
        return crate::print(&crate::docs::command_help(command));
    }
    if let Some(word) = parsed.rest.first() {
        return Err(Failure::new(format!(
            "deadheat env does not know what to do with {}",
            word.to_string_lossy()
        ))
        .next("deadheat env --shell, --cmake or --meson"));
    }
    let [cc, cxx] = links::make(["deadheat-cc", "deadheat-c++"])?;
    let (cc, cxx) = (cc.display(), cxx.display());
    let text = match parsed.own.last().map(|(name, _)| *name) {
        Some("--cmake") => format!(
            "# cmake -DCMAKE_TOOLCHAIN_FILE=this-file: compiles with Deadheat.\n\
             set(CMAKE_C_COMPILER \"{cc}\")\nset(CMAKE_CXX_COMPILER \"{cxx}\")\n"
        ),
        Some("--meson") => format!(
            "# meson setup --native-file this-file build: compiles with Deadheat.\n[binaries]\nc = '{cc}'\ncpp = '{cxx}'\n"
        ),
        _ => format!("export CC='{cc}'\nexport CXX='{cxx}'\n"),
    };
    crate::print(&text)
}

//! `deadheat env`: what makes a build system compile with Deadheat.
//!
//! Build systems like a compiler that is one word. Two links named `deadheat-cc` and `deadheat-c++` beside the unpacked
//! runtime lead to this command, which looks at the name that it was called by.

use crate::error::{Failure, Result};
use crate::flags::{self, FlagsEnd};
use crate::options;
use crate::unpack;
use std::env;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
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
    let (cc, cxx) = links()?;
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

/// Makes the two links, or finds them.
fn links() -> Result<(PathBuf, PathBuf)> {
    let own = env::current_exe().map_err(|error| {
        Failure::new(format!("cannot find the path of deadheat itself: {error}"))
    })?;
    let name = format!(
        "bin-{:016x}",
        unpack::fingerprint(&[own.as_os_str().as_encoded_bytes()])
    );
    let dir = unpack::runtime()?.dir().join(name);
    let make = |name: &str| {
        let path = dir.join(name);
        link(&own, &path).map(|()| path.clone()).map_err(|error| {
            Failure::new(format!("cannot make the link {}: {error}", path.display()))
        })
    };
    Ok((make("deadheat-cc")?, make("deadheat-c++")?))
}

fn link(own: &Path, path: &Path) -> std::io::Result<()> {
    if fs::read_link(path).is_ok_and(|to| to == own) {
        return Ok(());
    }
    if let Some(dir) = path.parent() {
        fs::create_dir_all(dir)?;
    }
    let beside = path.with_extension(format!("{}.new", std::process::id()));
    let _ = fs::remove_file(&beside);
    symlink(own, &beside)?;
    fs::rename(&beside, path)
}

//! Looks at a program before it is started: was it built with Deadheat?

use crate::error::{Failure, Result};
use crate::stamp;
use object::{Object, ObjectSection, ObjectSymbol};
use std::fs;
use std::path::{Path, PathBuf};

/// What a program turned out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Built {
    /// With Deadheat's runtime inside, or loading it.
    WithDeadheat,
    /// With instrumentation, but with ThreadSanitizer's runtime.
    WithThreadSanitizer,
    /// An executable without instrumentation.
    Plain,
    /// A script; what it starts may be instrumented.
    Script,
    /// Something else that the kernel may or may not start.
    Unknown,
}

/// Programs that do no work of their own but start others: to run them is to mean those others.
#[rustfmt::skip] // one word a line would hide the rest of the file
const LAUNCHERS: &[&str] = &[
    "make", "gmake", "ninja", "ctest", "cmake", "meson", "bash", "sh", "dash", "zsh", "ksh", "fish",
    "busybox", "env", "nice", "timeout", "xargs", "find", "setsid", "stdbuf", "taskset", "numactl",
    "time", "prove", "perl", "ruby", "tclsh", "node", "bazel", "nohup", "ionice", "chrt", "setarch",
    "parallel", "expect", "script", "unshare", "strace", "gdb", "cargo", "just", "watch", "sudo",
    "runuser", "su",
];

/// Whether a program is known to be one that starts others.
#[must_use]
pub fn is_launcher(path: &Path) -> bool {
    let name = path
        .file_name()
        .map(|n| n.to_string_lossy().into_owned())
        .unwrap_or_default();
    LAUNCHERS.contains(&name.as_str()) || name.starts_with("python") || name.starts_with("pytest")
}

/// Finds the program that a name stands for, as a shell would.
pub fn locate(name: &str) -> Result<PathBuf> {
    if let Some(path) = crate::wrapper::on_path(name) {
        return Ok(path);
    }
    let path = Path::new(name);
    let failure = if path.is_dir() {
        Failure::new(format!("{name} is a folder, not a program"))
    } else if path.exists() {
        Failure::new(format!("{name} is there but cannot be executed")).next(
            if name.contains('/') {
                format!("chmod +x {name}")
            } else {
                format!("if it is the program in this folder: deadheat run ./{name}")
            },
        )
    } else {
        Failure::new(format!("{name} was not found"))
            .next("deadheat run SOURCE.c -- ARGS, or deadheat run ./PROGRAM ARGS")
    };
    Err(failure)
}

/// Reads how a program was built.
pub fn inspect(path: &Path) -> Result<Built> {
    let data = match fs::read(path) {
        Ok(data) => data,
        // Executable but not readable: let the kernel try, the stream will tell.
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            return Ok(Built::Unknown);
        }
        Err(error) => {
            return Err(Failure::new(format!(
                "cannot read {}: {error}",
                path.display()
            )));
        }
    };
    if data.starts_with(b"#!") {
        return Ok(Built::Script);
    }
    let Ok(file) = object::File::parse(&*data) else {
        return Ok(Built::Unknown);
    };
    Ok(judge(&file, &data))
}

fn judge(file: &object::File<'_>, data: &[u8]) -> Built {
    let noted = file
        .section_by_name(stamp::NOTE_SECTION)
        .and_then(|section| section.data().ok())
        .is_some_and(|note| note.get(12..12 + stamp::NOTE_NAME.len()) == Some(stamp::NOTE_NAME));
    let named = |name: &[u8]| data.windows(name.len()).any(|window| window == name);
    let has = |wanted: &str| {
        file.symbols()
            .chain(file.dynamic_symbols())
            .any(|s| s.name() == Ok(wanted))
    };
    // The note outlives `strip`; a program linked by hand has no note but loads the library or holds its symbols.
    if noted || has("__deadheat_runtime") || named(b"libdeadheat_rt.so\0") {
        Built::WithDeadheat
    } else if has("__tsan_init") {
        Built::WithThreadSanitizer
    } else {
        Built::Plain
    }
}

/// What to say about a program that cannot be checked.
#[must_use]
pub fn not_instrumented(path: &Path, built: Built) -> Failure {
    let shown = path.display();
    match built {
        Built::WithThreadSanitizer => Failure::new(format!("{shown} was linked with ThreadSanitizer's runtime, not with Deadheat's"))
            .next("build it with CC=\"deadheat cc\" CXX=\"deadheat c++\" instead of -fsanitize=thread, then run it again"),
        _ => Failure::new(format!("{shown} was not built with Deadheat, so nothing in it can be checked")).next(
            "build it again: CC=\"deadheat cc\" CXX=\"deadheat c++\" make   (deadheat env --cmake and --meson for those)\n\
             or compile and run sources at once: deadheat run FILE.c -- ARGS\n\
             if it starts programs that were built with Deadheat: deadheat run --follow PROGRAM ARGS\n\
             if it loads libraries that were built with Deadheat: deadheat run --preload PROGRAM ARGS",
        ),
    }
}

//! Makes a sysroot in a new folder: links to the real one, and its rlibs instrumented, as many at once as there are cores.

use super::{DONE, Progress};
use crate::error::{Error, Result};
use crate::toolchain::Toolchain;
use std::collections::VecDeque;
use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, mpsc};
use std::thread;

/// The status with which a worker says that LLVM and the bitcode do not fit; why stands in its last line.
pub const REFUSED: u8 = 3;

const SIGABRT: i32 = 6;

/// Why there is no instrumented library.
pub(super) enum End {
    /// There cannot be one.
    Refused(String),
    /// Something went wrong on the way.
    Failed(Error),
}

impl From<Error> for End {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// Fills the folder `new`.
pub(super) fn build(
    toolchain: &Toolchain,
    target: &str,
    rlibs: &[PathBuf],
    llvm: &Path,
    new: &Path,
    worker: &(dyn Fn(&Path, &Path, &Path) -> Command + Sync),
    tell: &mut dyn FnMut(Progress),
) -> std::result::Result<(), End> {
    let folder = new.join("lib/rustlib").join(target).join("lib");
    mirror(
        &toolchain.sysroot,
        new,
        &["lib", "rustlib", target, "lib"],
        rlibs,
    )?;
    let size = |path: &Path| path.metadata().map_or(0, |meta| meta.len());
    let total = rlibs.iter().map(|path| size(path)).sum();
    let mut jobs: Vec<&PathBuf> = rlibs.iter().collect();
    jobs.sort_by_key(|path| std::cmp::Reverse(size(path)));
    let jobs = Mutex::new(VecDeque::from(jobs));
    let (send, receive) = mpsc::channel();
    let (jobs, folder) = (&jobs, &folder);
    let mut done = 0;
    let mut failure = None;
    tell(Progress::Done(0, total));
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            let send = send.clone();
            scope.spawn(move || {
                while let Some(from) = jobs.lock().ok().and_then(|mut jobs| jobs.pop_front()) {
                    let to = folder.join(from.file_name().unwrap_or_default());
                    let end = work(worker(llvm, from, &to), from);
                    let failed = end.is_err();
                    if send.send((size(from), end)).is_err() || failed {
                        break;
                    }
                }
            });
        }
        drop(send);
        for (bytes, end) in receive {
            done += bytes;
            tell(Progress::Done(done, total));
            if let Err(error) = end {
                failure.get_or_insert(error);
                if let Ok(mut jobs) = jobs.lock() {
                    jobs.clear();
                }
            }
        }
    });
    match failure {
        Some(end) => Err(end),
        None => {
            fs::write(new.join(DONE), "").map_err(|error| Error::at(new, "write to", &error).into())
        }
    }
}

fn work(mut command: Command, from: &Path) -> std::result::Result<(), End> {
    let output = command.output().map_err(|error| {
        Error::new(format!(
            "cannot start the worker for {}: {error}",
            from.display()
        ))
    })?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    // LLVM ends the process by itself when it meets something that it cannot bear.
    if output.status.code() == Some(REFUSED.into()) || output.status.signal() == Some(SIGABRT) {
        let last = said.trim().lines().last().unwrap_or_default();
        return Err(End::Refused(last.to_owned()));
    }
    Err(failure(from, &output.status.to_string(), &said).into())
}

/// What a worker said of its failure: a sentence, and below it what to do about it.
fn failure(from: &Path, status: &str, said: &str) -> Error {
    let (what, next) = said.trim().split_once('\n').unwrap_or((said.trim(), ""));
    let what = what.trim_start_matches("deadheat: ");
    let error = Error::new(format!(
        "cannot instrument {} ({status}): {what}",
        from.display()
    ));
    match next.trim() {
        "" => error,
        next => error.next(next),
    }
}

/// Fills `copy` with links to what is in `real`, but for the files `without`. The folders along `path` are made anew,
/// since something in the last of them differs.
fn mirror(real: &Path, copy: &Path, path: &[&str], without: &[PathBuf]) -> Result<()> {
    fs::create_dir_all(copy).map_err(|error| Error::at(copy, "make the folder", &error))?;
    let entries = fs::read_dir(real).map_err(|error| Error::at(real, "read", &error))?;
    for entry in entries {
        let entry = entry.map_err(|error| Error::at(real, "read", &error))?;
        let (from, to) = (entry.path(), copy.join(entry.file_name()));
        match path.split_first() {
            Some((next, rest)) if entry.file_name() == *next => mirror(&from, &to, rest, without)?,
            _ if without.contains(&from) => {}
            _ => symlink(&from, &to).map_err(|error| Error::at(&to, "make the link", &error))?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_worker_advises_is_advice() {
        let of = |said| failure(Path::new("/a.rlib"), "exit status: 2", said);
        let full = of("deadheat: cannot write /b: full\n  make room\n");
        assert_eq!(
            full.what,
            "cannot instrument /a.rlib (exit status: 2): cannot write /b: full"
        );
        assert_eq!(full.next.as_deref(), Some("make room"));
        assert_eq!(of("").next, None);
    }
}

//! Makes a toolchain's standard library ready, with a bar that tells how far it is, and in a place that can be written.

use crate::error::{Failure, Result};
use crate::options::{Key, Settings};
use crate::say::say;
use crate::unpack;
use deadheat_rust::prepare::{self, Prepared, Progress};
use deadheat_rust::rlib::{self, Outcome};
use deadheat_rust::toolchain::Toolchain;
use std::env;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// The hidden command that instruments one library.
pub const WORKER: &str = "instrument-rlib";

/// Prepares the standard library, unless that was done before.
pub fn prepare(toolchain: &Toolchain, target: &str, settings: &Settings) -> Result<Prepared> {
    let own = env::current_exe().map_err(|error| {
        Failure::new(format!("cannot find the path of deadheat itself: {error}"))
    })?;
    let runtime = unpack::runtime()?;
    let worker = |llvm: &Path, from: &Path, to: &Path| {
        let mut command = Command::new(&own);
        command.arg(WORKER).arg(llvm);
        command.arg(runtime.compiler_hook()).arg(from).arg(to);
        command
    };
    let mut bar = Bar::new(toolchain, settings.on(Key::Quiet));
    let mut refused = None;
    let places = places()?;
    for cache in &places {
        match prepare::prepare(
            toolchain,
            target,
            cache,
            &places,
            &worker,
            &mut |progress| bar.show(progress),
        ) {
            Ok(prepared) => {
                bar.end();
                return Ok(prepared);
            }
            Err(error) => {
                bar.end();
                if writable(cache) {
                    return Err(error.into());
                }
                refused.get_or_insert(error);
            }
        }
    }
    Err(refused.map_or_else(
        || Failure::new("found no place for the standard library"),
        Failure::from,
    ))
}

/// Instruments one library: `deadheat instrument-rlib LLVM HOOK FROM TO`, where HOOK may be empty.
pub fn work(args: &[std::ffi::OsString]) -> Result<ExitCode> {
    match args {
        [llvm, hook, from, to] => {
            let hook = Some(Path::new(hook)).filter(|hook| !hook.as_os_str().is_empty());
            match rlib::instrument(llvm.as_ref(), hook, from.as_ref(), to.as_ref())? {
                Outcome::Written => Ok(ExitCode::SUCCESS),
                Outcome::Refused(why) => {
                    say(why);
                    Ok(ExitCode::from(prepare::REFUSED))
                }
            }
        }
        _ => Err(Failure::new(format!(
            "usage: deadheat {WORKER} LLVM HOOK FROM TO"
        ))),
    }
}

/// Removes all that was prepared.
pub fn clean() -> Result<usize> {
    let mut count = 0;
    for place in written()? {
        count += prepare::clean(&place, &mut |_| {
            say("deadheat: waiting for another run that prepares a standard library");
        })?;
    }
    Ok(count)
}

/// Where it may be: in a cache that cannot be written, in the one that has the runtime, or in the private folder that
/// serves where there is no cache.
fn places() -> Result<Vec<PathBuf>> {
    let own = written()?;
    let unwritable = unpack::folders()
        .into_iter()
        .take_while(|folder| !own.contains(folder));
    Ok(unwritable.chain(own.clone()).collect())
}

/// Those of them in which this user can make and remove one.
fn written() -> Result<Vec<PathBuf>> {
    let runtime = unpack::runtime()?;
    let beside = runtime.dir().parent().map(Path::to_owned);
    let temporary = Some(unpack::temporary()).filter(|dir| unpack::private_dir(dir).is_ok());
    let mut own: Vec<PathBuf> = beside.into_iter().chain(temporary).collect();
    own.dedup();
    Ok(own)
}

fn writable(dir: &Path) -> bool {
    let probe = dir.join(format!("probe-{}", std::process::id()));
    std::fs::write(&probe, "")
        .and_then(|()| std::fs::remove_file(&probe))
        .is_ok()
}

/// The bar.
struct Bar {
    title: String,
    quiet: bool,
    terminal: bool,
    begun: bool,
    /// Whether the line is to be ended.
    drawn: bool,
}

impl Bar {
    fn new(toolchain: &Toolchain, quiet: bool) -> Self {
        Self {
            title: format!("the standard library of Rust {}", toolchain.release),
            quiet,
            terminal: io::stderr().is_terminal(),
            begun: false,
            drawn: false,
        }
    }

    fn show(&mut self, progress: Progress) {
        if self.quiet {
            return;
        }
        match progress {
            Progress::Waiting => {
                say(format_args!(
                    "deadheat: waiting for another run that prepares {}",
                    self.title
                ));
                return;
            }
            Progress::Done(done, total) if self.terminal => {
                let part = (done * 30 / total.max(1)) as usize;
                let line = format!(
                    "\rdeadheat: preparing {}, once: [{}{}] {:3} %",
                    self.title,
                    "#".repeat(part),
                    " ".repeat(30 - part),
                    done * 100 / total.max(1)
                );
                let _ = io::stderr().write_all(line.as_bytes()); // nobody loses a run over a bar
                self.drawn = true;
            }
            Progress::Done(..) if !self.begun => {
                say(format_args!(
                    "deadheat: preparing {}, once for this toolchain",
                    self.title
                ));
            }
            Progress::Done(..) => {}
        }
        self.begun = true;
    }

    fn end(&mut self) {
        if std::mem::take(&mut self.drawn) {
            let _ = io::stderr().write_all(b"\n");
        }
    }
}

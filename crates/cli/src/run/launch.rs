//! Starts the program with what its runtime needs to find us.

use super::signals::Signals;
use crate::error::{Failure, Result};
use crate::fd;
use crate::options::{Key, Settings};
use crate::unpack;
use std::env;
use std::ffi::OsString;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command};

/// Where runtimes in further processes find the run that they belong to; see [`crate::collect`].
pub const SOCKET: &str = "DEADHEAT_SOCKET";

/// What is to be started.
#[derive(Debug)]
pub struct Target {
    /// The program and its arguments.
    pub words: Vec<OsString>,
    /// The program itself has the runtime; otherwise only what it starts may have.
    pub direct: bool,
    /// What it finds in its environment beside what is there already.
    pub variables: Vec<(String, OsString)>,
}

/// Starts the program. `stream` is its end of the socket pair, if it is to speak to us directly; `socket` is where the
/// runtimes of the processes that it starts report to; `frames` is the memory that it is to record into, if it is.
pub fn start(
    target: &Target,
    settings: &Settings,
    stream: Option<&UnixStream>,
    socket: &Path,
    frames: Option<BorrowedFd>,
    signals: &Signals,
) -> Result<Child> {
    let own = env::current_exe().map_err(|error| {
        Failure::new(format!("cannot find the path of deadheat itself: {error}"))
    })?;
    let mut command = Command::new(&target.words[0]);
    signals.give_back(&mut command);
    command.args(&target.words[1..]);
    command.envs(target.variables.iter().map(|(name, value)| (name, value)));
    let mut options = settings.runtime_string(&own.to_string_lossy());
    if let Some(frames) = frames {
        fd::keep_over_exec(frames)
            .map_err(|error| Failure::new(format!("cannot hand over memory: {error}")))?;
        options.push_str(&format!(":record={}", frames.as_raw_fd()));
    }
    command.env("DEADHEAT_RT", options);
    command.env("DEADHEAT_COLLECTOR", &own).env(SOCKET, socket);
    // A runtime without a stream connects before main, not at its first finding, only if it is told to.
    if env::var_os("DEADHEAT_OPTIONS").is_none_or(|text| text.is_empty()) {
        command.env("DEADHEAT_OPTIONS", "quiet=off");
    }
    match stream {
        Some(stream) => {
            fd::keep_over_exec(stream)
                .map_err(|error| Failure::new(format!("cannot hand over a socket: {error}")))?;
            command.env("DEADHEAT_FD", stream.as_raw_fd().to_string());
        }
        None => {
            command.env_remove("DEADHEAT_FD");
        }
    }
    if settings.on(Key::Preload) {
        let mut list = OsString::from(unpack::runtime()?.shared());
        if let Some(before) = env::var_os("LD_PRELOAD").filter(|v| !v.is_empty()) {
            list.push(":");
            list.push(before);
        }
        command.env("LD_PRELOAD", list);
    }
    crate::engine::hide(&mut command);
    command.spawn().map_err(|error| {
        Failure::new(format!(
            "cannot start {}: {error}",
            target.words[0].to_string_lossy()
        ))
    })
}

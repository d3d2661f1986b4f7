//! `deadheat collect --fd N`: what a runtime starts when nobody listens to it yet.
//!
//! Started below a `deadheat run` (which `DEADHEAT_SOCKET` names), it hands the runtime's stream over to that run and
//! waits for it, so that a test suite of many processes gives one report. Otherwise it is the collector itself.

use crate::error::{Failure, Result};
use crate::fd;
use crate::flags::{self, FlagsEnd};
use crate::options::{self, Key, Settings};
use crate::output::{self, Output};
use crate::run::{Listen, Stream};
use crate::state;
use deadheat_report::{Collector, Outcome, Settings as CollectorSettings};
use nix::sys::socket::{ControlMessage, ControlMessageOwned, MsgFlags, UnixAddr, recvmsg, sendmsg};
use std::env;
use std::ffi::OsString;
use std::io::{IoSlice, IoSliceMut, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::process::ExitCode;

/// Runs `deadheat collect`.
pub fn main(args: &[OsString]) -> Result<ExitCode> {
    let command = options::command("collect").unwrap_or(&options::COMMANDS[0]);
    let parsed = flags::parse(command, args, FlagsEnd::Never)?;
    if parsed.help {
        return crate::print(&crate::docs::command_help(command));
    }
    let number = parsed.own("--fd").ok_or_else(|| {
        Failure::new("deadheat collect needs --fd N")
            .next("it is started by programs built with Deadheat, not by hand")
    })?;
    let socket = fd::inherited(number)?;
    ignore_keys();
    if let Some(status) = hand_over(&socket) {
        return Ok(ExitCode::from(status));
    }
    let mut socket = UnixStream::from(socket);
    match prepare(&parsed.layers) {
        Ok((settings, collector, output)) => collect(socket, &settings, collector, output),
        Err(failure) => {
            let _ = socket.write_all(b"!\n");
            Err(failure)
        }
    }
}

fn prepare(layers: &options::Layers) -> Result<(Settings, Collector, Output)> {
    let settings = layers.resolve()?;
    let suppressions = output::suppressions(&settings)?;
    let output = Output::open(&settings)?;
    Ok((
        settings,
        Collector::new(CollectorSettings {
            suppressions,
            ..CollectorSettings::default()
        }),
        output,
    ))
}

fn collect(
    mut socket: UnixStream,
    settings: &Settings,
    collector: Collector,
    mut output: Output,
) -> Result<ExitCode> {
    let own = env::current_exe().unwrap_or_default();
    let text = settings.runtime_string(&own.to_string_lossy());
    let _ = socket.write_all(format!("{text}\n").as_bytes()); // a program that is gone already is read to its end below
    let mut stream = Stream::new(socket, collector, settings);
    while stream.read() == Listen::Open {}
    if !stream.collector.started() {
        return Ok(ExitCode::SUCCESS);
    }
    if !stream.settings().same_place(settings) {
        output = Output::open(stream.settings())?;
    }
    let settings = &stream.settings().clone();
    let report = stream.collector.finish(Outcome::Unknown);
    let found = !report.findings.is_empty();
    // A program on its own that is clean stays silent, like any program.
    let wanted = found
        || output.is_for_machines()
        || output::logs_to_file(settings)
        || settings.on(Key::Stats);
    if wanted {
        output.write_or_say(&report);
    }
    if found {
        state::save(&report);
    }
    Ok(ExitCode::from(if found { settings.exit_code() } else { 0 }))
}

/// The terminal's keys are for the program; the collector reports when it ends.
fn ignore_keys() {
    use nix::sys::signal::{SigSet, Signal};
    let mut set = SigSet::empty();
    for signal in [
        Signal::SIGINT,
        Signal::SIGQUIT,
        Signal::SIGHUP,
        Signal::SIGTERM,
        Signal::SIGTSTP,
    ] {
        set.add(signal);
    }
    let _ = set.thread_block();
}

/// Gives the stream to the run above us and waits for its word; `None` if there is no such run.
fn hand_over(socket: &OwnedFd) -> Option<u8> {
    let path = env::var_os(crate::run::SOCKET).filter(|path| !path.is_empty())?;
    let mut line = UnixStream::connect(&path).ok()?;
    let fds: [RawFd; 1] = [socket.as_raw_fd()];
    let byte = [IoSlice::new(b"s")];
    sendmsg::<UnixAddr>(
        line.as_raw_fd(),
        &byte,
        &[ControlMessage::ScmRights(&fds)],
        MsgFlags::empty(),
        None,
    )
    .ok()?;
    let mut status = [0];
    // Nothing to read means that the run has ended: the program keeps its own status all the same.
    let _ = line.read(&mut status);
    Some(status[0])
}

/// The other side of [`hand_over`].
#[must_use]
pub fn receive(line: &UnixStream) -> Option<UnixStream> {
    let mut byte = [0];
    let mut space = nix::cmsg_space!([RawFd; 1]);
    let mut parts = [IoSliceMut::new(&mut byte)];
    let message = recvmsg::<UnixAddr>(
        line.as_raw_fd(),
        &mut parts,
        Some(&mut space),
        MsgFlags::MSG_CMSG_CLOEXEC,
    )
    .ok()?;
    let mut found = None;
    for part in message.cmsgs().ok()? {
        if let ControlMessageOwned::ScmRights(fds) = part {
            for raw in fds {
                found = Some(UnixStream::from(fd::received(raw)));
            }
        }
    }
    found
}

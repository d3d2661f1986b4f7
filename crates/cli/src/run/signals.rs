//! Signals while the program runs.
//!
//! A key on the terminal (Ctrl-C) reaches the program by itself, since it is in the same group; Deadheat only stays
//! alive to report. A signal that somebody sends to Deadheat alone is passed on.

#![allow(unsafe_code)]

use crate::error::{Failure, Result};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

const PASSED_ON: [Signal; 8] = [
    Signal::SIGINT,
    Signal::SIGTERM,
    Signal::SIGHUP,
    Signal::SIGQUIT,
    Signal::SIGUSR1,
    Signal::SIGUSR2,
    Signal::SIGALRM,
    Signal::SIGCONT,
];

/// What came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Came {
    /// A child ended or stopped.
    Child,
    /// Somebody sent this to us alone.
    Sent(Signal),
    /// The terminal sent this to the whole group.
    Key(Signal),
}

/// Signals as something to read.
pub struct Signals {
    fd: SignalFd,
    /// What was blocked before we came.
    before: SigSet,
}

impl Signals {
    /// Takes the signals over; they no longer interrupt this process.
    pub fn take() -> Result<Self> {
        let fail = |error| Failure::new(format!("cannot listen for signals: {error}"));
        let before = SigSet::thread_get_mask().map_err(fail)?;
        let mut set = SigSet::empty();
        set.add(Signal::SIGCHLD);
        PASSED_ON.into_iter().for_each(|signal| set.add(signal));
        set.thread_block().map_err(fail)?;
        let flags = SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK;
        let fd = SignalFd::with_flags(&set, flags).map_err(fail)?;
        Ok(Self { fd, before })
    }

    /// Lets a command start with the signals as they were before.
    pub fn give_back(&self, command: &mut Command) {
        let before = self.before;
        // SAFETY: runs in the child between fork and exec and makes one system call on memory of its own.
        unsafe { command.pre_exec(move || before.thread_set_mask().map_err(std::io::Error::from)) };
    }

    /// The next one that waits.
    pub fn next(&self) -> Option<Came> {
        let info = self.fd.read_signal().ok().flatten()?;
        let signal = Signal::try_from(i32::try_from(info.ssi_signo).ok()?).ok()?;
        Some(match signal {
            Signal::SIGCHLD => Came::Child,
            // Codes above zero come from the kernel: the terminal's keys, a lost line.
            _ if info.ssi_code > 0 => Came::Key(signal),
            _ => Came::Sent(signal),
        })
    }

    /// To wait on.
    #[must_use]
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

//! Signals while the program runs.
//!
//! A key on the terminal (Ctrl-C) reaches the program by itself, since it is in the same group; Deadheat only stays
//! alive to report. A signal that somebody sends to Deadheat alone is passed on.

use crate::error::{Failure, Result};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use std::os::fd::{AsFd, BorrowedFd};

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
pub struct Signals(SignalFd);

impl Signals {
    /// Takes the signals over; they no longer interrupt this process. A child started by std gets them back.
    pub fn take() -> Result<Self> {
        let mut set = SigSet::empty();
        set.add(Signal::SIGCHLD);
        PASSED_ON.into_iter().for_each(|signal| set.add(signal));
        let fail = |error| Failure::new(format!("cannot listen for signals: {error}"));
        set.thread_block().map_err(fail)?;
        SignalFd::with_flags(&set, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)
            .map(Self)
            .map_err(fail)
    }

    /// The next one that waits.
    pub fn next(&self) -> Option<Came> {
        let info = self.0.read_signal().ok().flatten()?;
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
        self.0.as_fd()
    }
}

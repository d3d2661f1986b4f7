//! The only place where a number becomes a descriptor: what other processes hand over.

#![allow(unsafe_code)]

use crate::error::{Failure, Result};
use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

/// Takes over an inherited descriptor, named on the command line.
pub fn inherited(number: &str) -> Result<OwnedFd> {
    let wrong = || {
        Failure::new(format!(
            "--fd {number}: that is no open descriptor of this process"
        ))
    };
    let raw: RawFd = number.parse().ok().filter(|n| *n > 2).ok_or_else(wrong)?;
    // SAFETY: borrowed only to ask whether it is open; a closed one makes fcntl fail with EBADF.
    let borrowed = unsafe { BorrowedFd::borrow_raw(raw) };
    fcntl(borrowed, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC)).map_err(|_| wrong())?;
    // SAFETY: it is open (just asked) and was inherited for us alone: this runs first thing in `collect`, before the
    // command opens any descriptor of its own.
    Ok(unsafe { OwnedFd::from_raw_fd(raw) })
}

/// Takes over a descriptor that arrived in a message.
#[must_use]
pub fn received(raw: RawFd) -> OwnedFd {
    // SAFETY: the kernel made it for this process when the message was read, and nobody else knows the number.
    unsafe { OwnedFd::from_raw_fd(raw) }
}

/// Lets a descriptor stay open over exec.
pub fn keep_over_exec(fd: impl AsFd) -> nix::Result<()> {
    fcntl(fd, FcntlArg::F_SETFD(FdFlag::empty())).map(drop)
}

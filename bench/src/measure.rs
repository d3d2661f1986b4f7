//! Runs one process and asks the kernel what it cost.
//!
//! `wait4` gives the CPU time and peak memory of exactly that child together with the children it waited for, so a
//! symbolizer or collector that a tool starts is counted too.

use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::error::{Error, Result};

/// One process to run.
#[derive(Clone, Debug)]
pub struct Job {
    /// The program and its arguments.
    pub words: Vec<String>,
    pub environment: Vec<(String, String)>,
    pub directory: PathBuf,
    pub stdout: PathBuf,
    pub stderr: PathBuf,
    /// The process group is killed after this time.
    pub limit: Duration,
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    Exit(i32),
    Signal(i32),
    OverLimit,
}

/// What a process cost.
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    /// User and system time together, in seconds.
    pub cpu: f64,
    /// Peak resident memory in KiB.
    pub rss: u64,
    pub wall: f64,
    pub ended: Ended,
}

/// A started process.
pub struct Running {
    child: Child,
    pidfd: OwnedFd,
    started: Instant,
    limit: Duration,
}

impl Job {
    /// Starts the process in its own process group.
    pub fn start(&self) -> Result<Running> {
        let mut words = self.words.iter();
        let program = words
            .next()
            .ok_or_else(|| Error::new("a job without a program"))?;
        let mut command = Command::new(program);
        command
            .args(words)
            .envs(self.environment.iter().map(|(k, v)| (k, v)))
            .current_dir(&self.directory)
            .stdin(Stdio::null())
            .stdout(create(&self.stdout)?)
            .stderr(create(&self.stderr)?)
            .process_group(0);
        let started = Instant::now();
        let child = command
            .spawn()
            .map_err(|e| Error::new(format!("cannot start {program}: {e}")))?;
        // SAFETY: pidfd_open takes a pid and flags and touches no memory of ours.
        let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, child.id() as libc::pid_t, 0) };
        if fd < 0 {
            return Err(Error::new(format!(
                "pidfd_open: {}",
                std::io::Error::last_os_error()
            )));
        }
        // SAFETY: the descriptor was just made for us and has no other owner.
        let pidfd = unsafe { OwnedFd::from_raw_fd(fd as i32) };
        Ok(Running {
            child,
            pidfd,
            started,
            limit: self.limit,
        })
    }

    /// Starts the process and waits for its end.
    pub fn run(&self) -> Result<Cost> {
        self.start()?.finish()
    }
}

impl Running {
    /// Whether the process has ended.
    pub fn has_ended(&self) -> bool {
        readable(&self.pidfd, Duration::ZERO)
    }

    /// Asks the process to stop, as a service manager would.
    pub fn terminate(&self) {
        // SAFETY: kill touches no memory; the child has not been waited for, so its pid is still its own.
        unsafe { libc::kill(self.child.id() as libc::pid_t, libc::SIGTERM) };
    }

    /// Kills the whole process group at once.
    pub fn kill(&self) {
        // SAFETY: as above; the child leads a process group of its own.
        unsafe { libc::kill(-(self.child.id() as libc::pid_t), libc::SIGKILL) };
    }

    /// Waits until the process ends or its time is over, then says what it cost.
    pub fn finish(self) -> Result<Cost> {
        let left = self.limit.saturating_sub(self.started.elapsed());
        let over = !readable(&self.pidfd, left);
        if over {
            self.kill();
        }
        let pid = self.child.id() as libc::pid_t;
        let mut status = 0;
        // SAFETY: rusage is plain numbers, for which zero bytes are valid.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: both pointers are to live locals; the child has not been waited for.
        let got = unsafe { libc::wait4(pid, &mut status, 0, &mut usage) };
        if got != pid {
            return Err(Error::new(format!(
                "wait4: {}",
                std::io::Error::last_os_error()
            )));
        }
        let wall = self.started.elapsed().as_secs_f64();
        let ended = if over {
            Ended::OverLimit
        } else if libc::WIFEXITED(status) {
            Ended::Exit(libc::WEXITSTATUS(status))
        } else {
            Ended::Signal(libc::WTERMSIG(status))
        };
        let cpu = seconds(usage.ru_utime) + seconds(usage.ru_stime);
        Ok(Cost {
            cpu,
            rss: usage.ru_maxrss as u64,
            wall,
            ended,
        })
    }
}

fn seconds(t: libc::timeval) -> f64 {
    t.tv_sec as f64 + t.tv_usec as f64 * 1e-6
}

fn create(path: &Path) -> Result<File> {
    File::create(path).map_err(|e| Error::io("cannot write", path, &e))
}

/// Whether the descriptor becomes readable within this time; a pidfd is readable when its process has ended.
fn readable(fd: &OwnedFd, within: Duration) -> bool {
    let end = Instant::now() + within;
    loop {
        let left = end.saturating_duration_since(Instant::now());
        let mut poll = libc::pollfd {
            fd: fd.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        let wait = left.as_millis().min(i32::MAX as u128 - 1) as i32 + i32::from(!left.is_zero());
        // SAFETY: one live pollfd, and its count is one.
        let n = unsafe { libc::poll(&mut poll, 1, wait) };
        if n > 0 {
            return true;
        }
        if n == 0 || left.is_zero() {
            return false;
        }
    }
}

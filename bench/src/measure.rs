//! Runs one process and asks the kernel what it cost.
//!
//! `drivers/launch.c` stands between the runner and the program and calls `wait4`, which gives the CPU time and peak
//! memory of exactly that child together with the children it waited for, so a symbolizer or collector that a tool starts
//! is counted too.

use std::fs::{self, File};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::error::{Error, Result};

/// One process to run.
#[derive(Clone, Debug)]
pub struct Job {
    /// The built `drivers/launch.c`.
    pub launcher: PathBuf,
    /// The program and its arguments.
    pub words: Vec<String>,
    pub environment: Vec<(String, String)>,
    pub directory: PathBuf,
    pub stdout: PathBuf,
    pub stderr: PathBuf,
    /// The program is killed after this time.
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
    pub ended: Ended,
}

/// A started process.
pub struct Running {
    launcher: Child,
    pidfd: OwnedFd,
    report: PathBuf,
    started: Instant,
    limit: Duration,
}

impl Job {
    /// Starts the process in its own process group.
    pub fn start(&self) -> Result<Running> {
        let report = self.stderr.with_extension("cost");
        let _ = fs::remove_file(&report);
        let mut command = Command::new(&self.launcher);
        command
            .arg(&report)
            .args(&self.words)
            .envs(self.environment.iter().map(|(k, v)| (k, v)))
            .current_dir(&self.directory)
            .stdin(Stdio::null())
            .stdout(create(&self.stdout)?)
            .stderr(create(&self.stderr)?)
            .process_group(0);
        let started = Instant::now();
        let launcher = command.spawn();
        let launcher = launcher.map_err(|e| Error::io("cannot start", &self.launcher, &e))?;
        // SAFETY: pidfd_open takes a pid and flags and touches no memory of ours.
        let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, launcher.id() as libc::pid_t, 0) };
        if fd < 0 {
            let error = std::io::Error::last_os_error();
            return Err(Error::new(format!("pidfd_open: {error}")));
        }
        // SAFETY: the descriptor was just made for us and has no other owner.
        let pidfd = unsafe { OwnedFd::from_raw_fd(fd as i32) };
        Ok(Running {
            launcher,
            pidfd,
            report,
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

    /// Waits so long for its end; whether it has come.
    pub fn ends_within(&self, time: Duration) -> bool {
        readable(&self.pidfd, time)
    }

    /// Resident memory of the process itself (the launcher's child), in KiB; none if it has ended.
    pub fn resident(&self) -> Option<u64> {
        let launcher = self.launcher.id();
        let children = format!("/proc/{launcher}/task/{launcher}/children");
        let children = fs::read_to_string(children).ok()?;
        let child = children.split_whitespace().next()?;
        let status = fs::read_to_string(format!("/proc/{child}/status")).ok()?;
        let line = status.lines().find_map(|l| l.strip_prefix("VmRSS:"))?;
        line.split_whitespace().next()?.parse().ok()
    }

    /// Asks the program to stop, as a service manager would.
    pub fn terminate(&self) {
        self.signal(libc::SIGTERM);
    }

    /// Kills the program.
    pub fn kill(&self) {
        self.signal(libc::SIGUSR1);
    }

    fn signal(&self, number: i32) {
        // SAFETY: kill touches no memory; the launcher has not been waited for, so its pid is its own.
        unsafe { libc::kill(self.launcher.id() as libc::pid_t, number) };
    }

    /// Waits until the program ends or its time is over, then says what it cost.
    pub fn finish(mut self) -> Result<Cost> {
        let left = self.limit.saturating_sub(self.started.elapsed());
        let over = !readable(&self.pidfd, left);
        if over {
            self.kill();
        }
        let group = self.launcher.id() as libc::pid_t;
        let status = self.launcher.wait();
        if over {
            // SAFETY: as in `signal`; what the killed program left behind is in the launcher's group.
            unsafe { libc::kill(-group, libc::SIGKILL) };
        }
        let status = status.map_err(|e| Error::new(format!("waiting for the launcher: {e}")))?;
        let text = fs::read_to_string(&self.report).unwrap_or_default();
        parse(&text, over)
            .ok_or_else(|| Error::new(format!("the launcher ended with {status} and no report")))
    }
}

/// Reads the launcher's report.
fn parse(text: &str, over: bool) -> Option<Cost> {
    let numbers: Vec<i64> = text
        .split_whitespace()
        .filter_map(|w| w.parse().ok())
        .collect();
    let &[user, system, rss, status] = numbers.as_slice() else {
        return None;
    };
    let status = status as i32;
    let ended = if over {
        Ended::OverLimit
    } else if libc::WIFEXITED(status) {
        Ended::Exit(libc::WEXITSTATUS(status))
    } else {
        Ended::Signal(libc::WTERMSIG(status))
    };
    Some(Cost {
        cpu: (user + system) as f64 * 1e-6,
        rss: rss as u64,
        ended,
    })
}

fn create(path: &Path) -> Result<File> {
    File::create(path).map_err(|e| Error::io("cannot write", path, &e))
}

/// Whether the descriptor becomes readable in this time; a pidfd is when its process has ended.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_launchers_report_is_read() {
        let cost = parse("1500000 500000 2048 256\n", false).expect("a report");
        assert_eq!(
            (cost.cpu, cost.rss, cost.ended),
            (2.0, 2048, Ended::Exit(1))
        );
        assert_eq!(
            parse("1 1 1 9\n", false).map(|c| c.ended),
            Some(Ended::Signal(9))
        );
        assert_eq!(
            parse("1 1 1 9\n", true).map(|c| c.ended),
            Some(Ended::OverLimit)
        );
        assert!(parse("", false).is_none());
    }
}

//! What happens to the program when it shows a bug, beside the report.

use crate::error::{Failure, Result};
use crate::say::say;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::process::{Command, Stdio};

/// What to do at each new finding.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum OnFinding {
    /// Nothing but reporting it.
    #[default]
    Report,
    /// End the program, at the first one.
    Stop,
    /// Let the program dump core, at the first one.
    Abort,
    /// Run a command and wait for its end. The program goes on meanwhile.
    Exec(String),
    /// Send a signal to the program.
    Signal(Signal),
}

impl OnFinding {
    /// What the words say.
    pub fn parse(text: &str) -> Result<OnFinding> {
        let wrong = || {
            Failure::new(format!("--on-finding {text}: there is no such action"))
                .next("report, stop, abort, exec:COMMAND or signal:NUMBER (or signal:USR1)")
        };
        if let Some(command) = text.strip_prefix("exec:")
            && !command.trim().is_empty()
        {
            return Ok(OnFinding::Exec(command.to_string()));
        }
        if let Some(name) = text.strip_prefix("signal:") {
            let by_number = name.parse::<i32>().ok();
            let by_name = || {
                format!("SIG{}", name.trim_start_matches("SIG"))
                    .parse()
                    .ok()
            };
            let signal = by_number
                .and_then(|number| Signal::try_from(number).ok())
                .or_else(by_name);
            return signal.map(OnFinding::Signal).ok_or_else(wrong);
        }
        match text {
            "report" => Ok(OnFinding::Report),
            "stop" => Ok(OnFinding::Stop),
            "abort" => Ok(OnFinding::Abort),
            _ => Err(wrong()),
        }
    }

    /// A finding was told that the program did not live to see acted upon: only a command still makes sense, and no
    /// signal may go to whoever has the program's number now.
    pub fn act_afterwards(&self, pid: u32, headline: &str) {
        if let OnFinding::Exec(_) = self {
            self.act(pid, headline);
        }
    }

    /// A new finding was told.
    pub fn act(&self, pid: u32, headline: &str) {
        let send = |signal: Signal| {
            let _ = kill(Pid::from_raw(pid.cast_signed()), signal); // it may have ended meanwhile
        };
        match self {
            OnFinding::Report => {}
            OnFinding::Stop => send(Signal::SIGKILL),
            OnFinding::Abort => send(Signal::SIGABRT),
            OnFinding::Signal(signal) => send(*signal),
            OnFinding::Exec(command) => {
                let result = Command::new("sh")
                    .args(["-c", command])
                    .env("DEADHEAT_FINDING", headline)
                    .env("DEADHEAT_PID", pid.to_string())
                    .stdin(Stdio::null())
                    .status();
                if let Err(error) = result {
                    say(format_args!("deadheat: cannot run {command}: {error}"));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn actions_are_read() {
        let parse = |text| OnFinding::parse(text).ok();
        assert_eq!(parse("report"), Some(OnFinding::Report));
        assert_eq!(parse("exec:echo a"), Some(OnFinding::Exec("echo a".into())));
        assert_eq!(parse("signal:10"), Some(OnFinding::Signal(Signal::SIGUSR1)));
        assert_eq!(parse("signal:USR1"), parse("signal:SIGUSR1"));
        assert_eq!(parse("explode"), None);
    }
}

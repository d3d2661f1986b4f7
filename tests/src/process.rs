//! Runs a child process in a group of its own, under a time limit, with its output in files.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// How a child ended.
#[derive(Debug)]
pub struct Outcome {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
}

impl Outcome {
    /// The exit status as a shell shows it.
    pub fn code(&self) -> i32 {
        use std::os::unix::process::ExitStatusExt;
        self.status
            .code()
            .unwrap_or_else(|| 128 + self.status.signal().unwrap_or(0))
    }
}

/// Runs the command to its end. Its output goes to files in `folder`, named after `label`. If it takes longer than
/// `limit`, its whole process group is ended and the error says so.
pub fn run(
    mut command: Command,
    folder: &Path,
    label: &str,
    input: Option<&str>,
    limit: Duration,
) -> Result<Outcome, String> {
    use std::os::unix::process::CommandExt;
    let shown = format!("{command:?}");
    let file = |ending: &str| folder.join(format!("{label}.{ending}"));
    command.stdin(match input {
        Some(text) => {
            write(&file("stdin"), text)?;
            Stdio::from(open(&file("stdin"))?)
        }
        None => Stdio::null(),
    });
    command
        .stdout(create(&file("stdout"))?)
        .stderr(create(&file("stderr"))?)
        .process_group(0);
    let mut child = command
        .spawn()
        .map_err(|error| format!("cannot start {shown}: {error}"))?;
    let group = rustix::process::Pid::from_child(&child);
    let (sender, receiver) = channel();
    let waiter = std::thread::spawn(move || {
        let status = child.wait();
        // The receiver may have given up already; then nobody needs the status.
        let _ = sender.send(status);
    });
    let status = match receiver.recv_timeout(limit) {
        Ok(status) => status.map_err(|error| format!("cannot wait for {shown}: {error}"))?,
        Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
            // The waiter has not reaped the leader, so the group's number is still ours.
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
            let _ = waiter.join();
            let stderr = text(&file("stderr"));
            return Err(format!(
                "HANGS: {shown} was ended after {} s\n{}",
                limit.as_secs(),
                tail(&stderr)
            ));
        }
    };
    let _ = waiter.join();
    Ok(Outcome {
        status,
        stdout: text(&file("stdout")),
        stderr: text(&file("stderr")),
    })
}

fn create(path: &PathBuf) -> Result<File, String> {
    File::create(path).map_err(|error| format!("cannot make {}: {error}", path.display()))
}

fn open(path: &PathBuf) -> Result<File, String> {
    File::open(path).map_err(|error| format!("cannot open {}: {error}", path.display()))
}

fn write(path: &PathBuf, text: &str) -> Result<(), String> {
    std::fs::write(path, format!("{text}\n"))
        .map_err(|error| format!("cannot write {}: {error}", path.display()))
}

fn text(path: &PathBuf) -> String {
    std::fs::read(path).map_or_else(
        |_| String::new(),
        |bytes| String::from_utf8_lossy(&bytes).into_owned(),
    )
}

/// The last lines of a long output.
pub fn tail(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(15)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hang_is_ended_with_its_children_and_told() {
        let folder = std::env::temp_dir().join(format!("deadheat-process-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let mut command = Command::new("sh");
        command.args(["-c", "tail -f /dev/null & wait"]);
        let told =
            run(command, &folder, "hang", None, Duration::from_millis(50)).expect_err("a hang");
        assert!(told.starts_with("HANGS: "), "{told}");
        let mut command = Command::new("sh");
        command.args(["-c", "read line; echo got $line; kill -TERM $$"]);
        let outcome = run(
            command,
            &folder,
            "fine",
            Some("words"),
            Duration::from_secs(60),
        )
        .expect("an end");
        assert_eq!(
            (outcome.code(), outcome.stdout.as_str()),
            (143, "got words\n")
        );
        std::fs::remove_dir_all(&folder).expect("the folder");
    }
}

//! One runtime's raw stream, cut into lines for its collector, and what the runtime is answered.

use crate::fd;
use crate::options::{Key, Settings};
use crate::say::say;
use deadheat_report::{Collector, Reply, Suppressions};
use nix::errno::Errno;
use nix::sys::socket::{ControlMessageOwned, MsgFlags, UnixAddr, recvmsg};
use std::collections::{BTreeMap, VecDeque};
use std::io::{IoSliceMut, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::Sender;

/// What reading gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Listen {
    /// More may come.
    Open,
    /// The other side is done.
    Closed,
}

/// One runtime's stream.
pub struct Stream {
    socket: UnixStream,
    /// What makes the findings of it.
    pub collector: Collector,
    rest: Vec<u8>,
    /// In force for this program, its own defaults among them.
    settings: Settings,
    /// Whoever takes the program's frames wants its lines, too.
    pub tap: Option<Sender<String>>,
    /// The headlines of new findings since they were last taken.
    pub news: Vec<String>,
    /// Whether findings have the numbers here that they have in the end: other processes begin with one, too.
    pub numbered: bool,
    /// Who waits for answers on the stream itself.
    asker: Asker,
    /// The process whose stream it is; those that it forked share it.
    owner: u32,
    /// Children of forks who wait for theirs, by process.
    forks: BTreeMap<u32, (UnixStream, Asker)>,
    /// Sockets that came with lines which have not been read yet.
    carried: VecDeque<UnixStream>,
}

/// What a process wants to hear of its findings.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Asker {
    /// Whether it was reported, if it is to halt then.
    #[default]
    Verdicts,
    /// A line for its handler.
    Headlines,
}

impl Stream {
    /// Listens to `socket`.
    pub fn new(socket: UnixStream, collector: Collector, settings: &Settings) -> Self {
        Self {
            socket,
            collector,
            rest: Vec::new(),
            settings: settings.clone(),
            tap: None,
            news: Vec::new(),
            numbered: false,
            asker: Asker::default(),
            owner: 0,
            forks: BTreeMap::new(),
            carried: VecDeque::new(),
        }
    }

    /// The socket, to wait on.
    #[must_use]
    pub fn socket(&self) -> &UnixStream {
        &self.socket
    }

    /// The settings in force for this program.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Reads what is there, at most one buffer full.
    pub fn read(&mut self) -> Listen {
        let mut buffer = [0; 64 * 1024];
        match self.receive(&mut buffer) {
            Ok(0) => self.close(),
            Ok(count) => {
                self.take(&buffer[..count]);
                Listen::Open
            }
            Err(Errno::EINTR | Errno::EAGAIN) => Listen::Open,
            Err(_) => self.close(), // reset: the program was killed
        }
    }

    /// Reads what is left of a program that is gone.
    pub fn drain(&mut self) {
        self.catch_up();
        let _ = self.close();
    }

    /// Reads all that is there now.
    pub fn catch_up(&mut self) {
        if self.socket.set_nonblocking(true).is_err() {
            return;
        }
        let mut buffer = [0; 64 * 1024];
        loop {
            match self.receive(&mut buffer) {
                Ok(0) => break,
                Ok(count) => self.take(&buffer[..count]),
                Err(Errno::EINTR) => {}
                Err(_) => break,
            }
        }
        let _ = self.socket.set_nonblocking(false);
    }

    /// Reads once, with the sockets that come along.
    fn receive(&mut self, buffer: &mut [u8]) -> nix::Result<usize> {
        let mut space = nix::cmsg_space!([RawFd; 4]);
        let mut parts = [IoSliceMut::new(buffer)];
        let message = recvmsg::<UnixAddr>(
            self.socket.as_raw_fd(),
            &mut parts,
            Some(&mut space),
            MsgFlags::MSG_CMSG_CLOEXEC,
        )?;
        for part in message.cmsgs().into_iter().flatten() {
            if let ControlMessageOwned::ScmRights(fds) = part {
                self.carried.extend(
                    fds.into_iter()
                        .map(|raw| UnixStream::from(fd::received(raw))),
                );
            }
        }
        Ok(message.bytes)
    }

    /// A last line that was cut off is shown to the collector too: it counts it as lost.
    fn close(&mut self) -> Listen {
        let rest = std::mem::take(&mut self.rest);
        if !rest.is_empty() {
            self.line(&rest);
        }
        Listen::Closed
    }

    fn take(&mut self, bytes: &[u8]) {
        let mut bytes = bytes;
        while let Some(end) = bytes.iter().position(|b| *b == b'\n') {
            let mut line = std::mem::take(&mut self.rest);
            line.extend_from_slice(&bytes[..end]);
            self.line(&line);
            bytes = &bytes[end + 1..];
        }
        self.rest.extend_from_slice(bytes);
    }

    fn line(&mut self, line: &[u8]) {
        let text = String::from_utf8_lossy(line);
        if let Some(tap) = &self.tap {
            let _ = tap.send(text.to_string()); // it has ended already, and was told why
        }
        self.say(&text);
    }

    /// Takes a line, whoever says it.
    pub fn say(&mut self, text: &str) {
        if text.ends_with("\"event\":\"handler\"}") {
            match self.forks.get_mut(&teller(text)) {
                Some((_, asker)) => *asker = Asker::Headlines,
                None => self.asker = Asker::Headlines,
            }
            return;
        }
        if let Some(pid) = text.strip_prefix("{\"event\":\"answers\",\"pid\":") {
            let pid = pid.trim_end_matches('}').parse();
            if let (Ok(pid), Some(socket)) = (pid, self.carried.pop_front()) {
                self.forks.insert(pid, (socket, Asker::default()));
            }
            return;
        }
        if self.owner == 0 && text.starts_with("{\"event\":\"start\"") {
            let pid = text.split("\"pid\":").nth(1).unwrap_or_default();
            self.owner = pid.split([',', '}']).next().map_or(0, number);
        }
        let reply = self.collector.line(text);
        let mut answer = "s\n".to_string();
        let shown = match reply {
            Reply::NewFinding {
                id,
                shown,
                headline,
            } => {
                if shown {
                    let id = id.map_or(0, |id| id.0);
                    let line = headline.replace(['\n', '\t'], " ");
                    answer = format!("r{id}\t{}\t{line}\n", kind_in(text));
                }
                if shown && !self.settings.on(Key::Quiet) {
                    let number = id
                        .filter(|_| self.numbered)
                        .map_or(String::new(), |id| format!(" {}", id.0));
                    say(format_args!("deadheat: finding{number}: {headline}"));
                }
                if shown {
                    self.news.push(headline);
                }
                shown
            }
            Reply::Known { shown } => shown,
            Reply::Options { text } => return self.options(&text),
            Reply::Nothing => true,
        };
        if !text.contains("\"event\":\"finding\"") {
            return;
        }
        // A program that only records does not wait for an answer: it hears what there is to hear.
        let beside = self.tap.is_some();
        let halts = self.settings.on(Key::HaltOnError);
        let pid = teller(text);
        let (socket, asker) = match self.forks.get_mut(&pid) {
            Some((socket, asker)) => (socket, *asker),
            None if pid == 0 || pid == self.owner => (&mut self.socket, self.asker),
            None => return, // a fork that waits for nothing
        };
        // A program that is gone needs no answer.
        let _ = match asker {
            Asker::Headlines if !beside || answer.starts_with('r') => {
                socket.write_all(answer.as_bytes())
            }
            Asker::Verdicts if halts => socket.write_all(if shown { b"r" } else { b"s" }),
            _ => Ok(()),
        };
    }

    /// The program has defaults of its own and waits to hear what holds.
    fn options(&mut self, text: &str) {
        let before = self.settings.suppressions.len();
        self.settings = self.settings.over_program_defaults(text);
        // The files that it names come first: those of the user are read already.
        let named = self.settings.suppressions.len().saturating_sub(before);
        for path in &self.settings.suppressions[..named] {
            match Suppressions::read(path) {
                Ok(rules) => self.collector.suppress(rules),
                Err(error) => say(format_args!(
                    "deadheat: __tsan_default_options: {error}; not used"
                )),
            }
        }
        let own = std::env::current_exe().unwrap_or_default();
        let answer = self.settings.runtime_string(&own.to_string_lossy());
        let _ = self.socket.write_all(format!("{answer}\n").as_bytes()); // a program that is gone needs no answer
    }
}

/// The process that a line is about, if the stream is shared; no process has the number 0.
fn teller(line: &str) -> u32 {
    let rest = line.strip_prefix("{\"pid\":").unwrap_or_default();
    rest.split(',').next().map_or(0, number)
}

fn number(digits: &str) -> u32 {
    digits.parse().unwrap_or(0)
}

/// The kind that a finding's line names.
fn kind_in(line: &str) -> &str {
    let key = "\"kind\":\"";
    let rest = line.find(key).map_or("", |at| &line[at + key.len()..]);
    rest.split('"').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{kind_in, teller};

    #[test]
    fn the_process_of_a_line() {
        assert_eq!(teller(r#"{"pid":71,"event":"finding","id":1}"#), 71);
        assert_eq!(teller(r#"{"event":"start","pid":71}"#), 0);
        assert_eq!(teller(""), 0);
    }

    #[test]
    fn the_kind_of_a_finding() {
        let line = r#"{"event":"finding","id":1,"kind":"data-race","accesses":[]}"#;
        assert_eq!(kind_in(line), "data-race");
        assert_eq!(kind_in("{}"), "");
    }
}

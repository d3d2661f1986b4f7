//! One runtime's raw stream, cut into lines for its collector.

use crate::options::{Key, Settings};
use crate::say::say;
use deadheat_report::{Collector, Reply};
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;

/// What reading gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Listen {
    /// More may come.
    Open,
    /// The other side is done.
    Closed,
}

/// How to behave while lines arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Manners {
    /// The runtime waits for a verdict after each finding.
    answers: bool,
    /// Findings are announced as they come.
    announces: bool,
}

/// One runtime's stream.
pub struct Stream {
    socket: UnixStream,
    /// What makes the findings of it.
    pub collector: Collector,
    rest: Vec<u8>,
    manners: Manners,
}

impl Stream {
    /// Listens to `socket`.
    pub fn new(socket: UnixStream, collector: Collector, settings: &Settings) -> Self {
        let manners = Manners {
            answers: settings.on(Key::HaltOnError),
            announces: !settings.on(Key::Quiet),
        };
        Self {
            socket,
            collector,
            rest: Vec::new(),
            manners,
        }
    }

    /// The socket, to wait on.
    #[must_use]
    pub fn socket(&self) -> &UnixStream {
        &self.socket
    }

    /// Reads what is there, at most one buffer full.
    pub fn read(&mut self) -> Listen {
        let mut buffer = [0; 64 * 1024];
        match self.socket.read(&mut buffer) {
            Ok(0) => self.close(),
            Ok(count) => {
                self.take(&buffer[..count]);
                Listen::Open
            }
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock
                ) =>
            {
                Listen::Open
            }
            Err(_) => self.close(), // reset: the program was killed
        }
    }

    /// Reads what is left of a program that is gone.
    pub fn drain(&mut self) {
        if self.socket.set_nonblocking(true).is_err() {
            return;
        }
        let mut buffer = [0; 64 * 1024];
        loop {
            match self.socket.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => self.take(&buffer[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        let _ = self.close();
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
        let reply = self.collector.line(&text);
        let shown = match reply {
            Reply::NewFinding {
                id,
                shown,
                headline,
            } => {
                if shown && self.manners.announces {
                    let number = id.map_or(String::new(), |id| format!(" {}", id.0));
                    say(format_args!("deadheat: finding{number}: {headline}"));
                }
                shown
            }
            Reply::Known { shown } => shown,
            Reply::Nothing => true,
        };
        if self.manners.answers && text.contains("\"event\":\"finding\"") {
            let _ = self.socket.write_all(if shown { b"r" } else { b"s" });
        }
    }
}

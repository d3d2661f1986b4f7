//! The time between start and report: one loop over the program, its signals, and the streams of all runtimes.

use super::launch::{self, Target};
use super::merge::merge;
use super::on_finding::OnFinding;
use super::signals::{Came, Signals};
use super::stream::{Listen, Stream};
use crate::collect;
use crate::error::{Failure, Result};
use crate::options::Settings;
use crate::say::say;
use crate::split::Watch;
use crate::temp::TempDir;
use deadheat_report::model::Report;
use deadheat_report::{Collector, Outcome, Settings as CollectorSettings, Suppressions};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::io::Write;
use std::os::fd::AsFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};
use std::time::Duration;

/// How it ended.
pub struct Ending {
    /// What all processes showed.
    pub report: Report,
    /// How many processes had a runtime.
    pub processes: usize,
    /// The exit status that the program's end stands for.
    pub status: u8,
    /// The signal that killed the program.
    pub signal: Option<i32>,
    /// What held for the program, with the defaults that it has itself.
    pub settings: Settings,
    /// Why whoever took the program's frames could not go on.
    pub failed: Option<String>,
    /// How long he needed after the program's end.
    pub lag: Duration,
}

struct Session<'a> {
    settings: &'a Settings,
    suppressions: &'a Suppressions,
    signals: Signals,
    listener: UnixListener,
    child: Child,
    status: Option<ExitStatus>,
    /// The program's own stream.
    main: Option<Stream>,
    /// Whether that stream may still say something: a program may close it long before it ends.
    main_open: bool,
    /// Streams of further processes, each with the line on which its `collect` waits for us.
    others: Vec<(Stream, UnixStream)>,
    finished: Vec<Report>,
    interrupted: bool,
    /// What held for the program in the end.
    in_force: Settings,
    /// Takes the frames of a program that records.
    watch: Option<Watch>,
    failed: Option<String>,
    lag: Duration,
    on_finding: OnFinding,
}

/// Starts the program and listens until it and what it started are done.
pub fn run(
    target: &Target,
    settings: &Settings,
    suppressions: &Suppressions,
    temp: &TempDir,
) -> Result<Ending> {
    watched(
        target,
        settings,
        suppressions,
        temp,
        None,
        OnFinding::Report,
    )
}

/// The same for a program that records what `watch` takes.
pub fn watched(
    target: &Target,
    settings: &Settings,
    suppressions: &Suppressions,
    temp: &TempDir,
    watch: Option<Watch>,
    on_finding: OnFinding,
) -> Result<Ending> {
    let signals = Signals::take()?;
    let path = temp.path().join("socket");
    let listener = UnixListener::bind(&path)
        .map_err(|error| Failure::new(format!("cannot listen on {}: {error}", path.display())))?;
    let pair = if target.direct {
        Some(
            UnixStream::pair()
                .map_err(|error| Failure::new(format!("cannot make a socket: {error}")))?,
        )
    } else {
        None
    };
    let (ours, theirs) = pair.unzip();
    let child = launch::start(
        target,
        settings,
        theirs.as_ref(),
        &path,
        watch.as_ref().map(Watch::frames),
        &signals,
    )?;
    drop(theirs);
    let mut session = Session {
        settings,
        suppressions,
        signals,
        listener,
        child,
        status: None,
        main: None,
        main_open: target.direct,
        others: Vec::new(),
        finished: Vec::new(),
        interrupted: false,
        in_force: settings.clone(),
        watch,
        failed: None,
        lag: Duration::ZERO,
        on_finding,
    };
    session.main = ours.map(|socket| {
        let mut stream = Stream::new(socket, session.collector(), settings);
        stream.tap = session.watch.as_ref().map(Watch::tap);
        stream.numbered = true;
        stream
    });
    session.listen()?;
    Ok(session.end(target))
}

impl Session<'_> {
    fn collector(&self) -> Collector {
        Collector::new(CollectorSettings {
            suppressions: self.suppressions.clone(),
            ..CollectorSettings::default()
        })
    }

    /// Runs until the program is gone and nobody is left to listen to.
    fn listen(&mut self) -> Result<()> {
        let mut told = false;
        loop {
            let done = self.status.is_some();
            if done {
                self.accept(); // whoever connected before the program ended
            }
            if done && (self.others.is_empty() || self.interrupted) {
                return Ok(());
            }
            if done && !told {
                told = true;
                let count = self.others.len();
                say(format_args!(
                    "deadheat: the program has ended; waiting for {count} it started (Ctrl-C: report now)"
                ));
            }
            self.wait()?;
        }
    }

    /// Waits for whatever comes next and deals with it.
    fn wait(&mut self) -> Result<()> {
        let mut fds = vec![
            PollFd::new(self.signals.fd(), PollFlags::POLLIN),
            PollFd::new(self.listener.as_fd(), PollFlags::POLLIN),
        ];
        let main = self.main.iter().filter(|_| self.main_open);
        let streams = main.chain(self.others.iter().map(|(stream, _)| stream));
        fds.extend(streams.map(|stream| PollFd::new(stream.socket().as_fd(), PollFlags::POLLIN)));
        fds.extend(
            self.watch
                .iter()
                .map(|watch| PollFd::new(watch.bell(), PollFlags::POLLIN)),
        );
        match poll(&mut fds, PollTimeout::NONE) {
            Ok(_) | Err(nix::errno::Errno::EINTR) => {}
            Err(error) => {
                return Err(Failure::new(format!(
                    "cannot wait for the program: {error}"
                )));
            }
        }
        let ready: Vec<bool> = fds.iter().map(|fd| fd.any().unwrap_or(false)).collect();
        drop(fds);
        let mut at = 2;
        let bell = ready.len() - usize::from(self.watch.is_some());
        if self.main_open {
            let closed = ready[at]
                && self
                    .main
                    .as_mut()
                    .is_some_and(|main| main.read() == Listen::Closed);
            self.main_open = !closed;
            at += 1;
        }
        for other in (0..self.others.len()).rev() {
            if ready[at + other] && self.others[other].0.read() == Listen::Closed {
                self.finish_other(other);
            }
        }
        if let (Some(true), Some(watch)) = (ready.get(bell), &mut self.watch) {
            let told = watch.told();
            if let Some(main) = &mut self.main {
                // What the program said before it did what was found.
                main.catch_up();
                told.iter().for_each(|line| main.say(line));
            }
        }
        self.act();
        if ready[1] {
            self.accept();
        }
        if ready[0] {
            self.signal()?;
        }
        Ok(())
    }

    /// Does what is to be done at new findings.
    fn act(&mut self) {
        let Some(main) = &mut self.main else { return };
        for headline in main.news.drain(..) {
            self.on_finding.act(self.child.id(), &headline);
        }
    }

    fn signal(&mut self) -> Result<()> {
        while let Some(came) = self.signals.next() {
            match came {
                Came::Child => self.reap()?,
                Came::Sent(signal) if self.status.is_none() => {
                    let _ = kill(Pid::from_raw(self.child.id().cast_signed()), signal);
                }
                Came::Sent(signal) | Came::Key(signal) => {
                    self.interrupted |= self.status.is_some() && signal != Signal::SIGCONT;
                }
            }
        }
        Ok(())
    }

    /// Notes the end of the program. What it sent before is in the socket already, whoever else still holds the socket.
    fn reap(&mut self) -> Result<()> {
        let status = self
            .child
            .try_wait()
            .map_err(|error| Failure::new(format!("cannot wait for the program: {error}")))?;
        if let Some(status) = status {
            self.status = Some(status);
            if let Some(mut main) = self.main.take() {
                if self.main_open {
                    main.drain();
                    self.main_open = false;
                }
                main.tap = None;
                if let Some(watch) = self.watch.take() {
                    let (told, left, lag) = watch.end();
                    told.iter().for_each(|line| main.say(line));
                    (self.failed, self.lag) = (left.err(), lag);
                }
                for headline in main.news.drain(..) {
                    self.on_finding.act_afterwards(self.child.id(), &headline);
                }
                self.in_force = main.settings().clone();
                if main.collector.started() {
                    self.finished
                        .insert(0, main.collector.finish(outcome(status)));
                }
            }
        }
        Ok(())
    }

    /// Takes in the processes that want to report to this run.
    fn accept(&mut self) {
        if self.listener.set_nonblocking(true).is_err() {
            return;
        }
        while let Ok((line, _)) = self.listener.accept() {
            let Some(mut socket) = collect::receive(&line) else {
                continue;
            };
            let text = self.settings.runtime_string(
                &std::env::current_exe()
                    .unwrap_or_default()
                    .to_string_lossy(),
            );
            if socket.write_all(format!("{text}\n").as_bytes()).is_ok() {
                self.others
                    .push((Stream::new(socket, self.collector(), self.settings), line));
            }
        }
    }

    fn finish_other(&mut self, at: usize) {
        let (stream, mut line) = self.others.remove(at);
        if stream.collector.started() {
            self.finished
                .push(stream.collector.finish(Outcome::Unknown));
        }
        let _ = line.write_all(&[0]); // the process keeps its own exit status
    }

    fn end(mut self, target: &Target) -> Ending {
        for at in (0..self.others.len()).rev() {
            self.others[at].0.drain();
            self.finish_other(at);
        }
        let status = self.status.unwrap_or_default();
        let processes = self.finished.len();
        let words: Vec<String> = target
            .words
            .iter()
            .map(|w| w.to_string_lossy().into_owned())
            .collect();
        let report = merge(
            self.finished,
            target.direct,
            &words,
            self.child.id(),
            status,
        );
        let code = status
            .code()
            .unwrap_or_else(|| 128 + status.signal().unwrap_or_default());
        Ending {
            report,
            processes,
            status: u8::try_from(code & 0xff).unwrap_or(u8::MAX),
            signal: status.signal(),
            settings: self.in_force,
            failed: self.failed,
            lag: self.lag,
        }
    }
}

fn outcome(status: ExitStatus) -> Outcome {
    match (status.code(), status.signal()) {
        (Some(code), _) => Outcome::Exited(code),
        (None, Some(signal)) => Outcome::Signalled(signal),
        (None, None) => Outcome::Unknown,
    }
}

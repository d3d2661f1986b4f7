//! `deadheat check`: judges a recorded execution, with whichever detectors, on however many cores.

use crate::error::{Failure, Result};
use crate::flags::{self, FlagsEnd, Parsed};
use crate::heap;
use crate::options::{self, Key, Settings};
use crate::output::{self, Output};
use crate::say::say;
use crate::state;
use deadheat_pipeline::sequence::Passed;
use deadheat_pipeline::{Across, DetectorKind, Listener, Settings as CheckSettings, check_with};
use deadheat_report::{Collector, Outcome, Reply, Settings as CollectorSettings};
use deadheat_trace::Trace;
use deadheat_trace::file::{Loss, OpenError, Reader};
use deadheat_trace::wire::Memory;
use std::ffi::OsString;
use std::io::{IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Runs `deadheat check ARGS`.
pub fn main(args: &[OsString]) -> Result<ExitCode> {
    let command = options::command("check").unwrap_or(&options::COMMANDS[0]);
    let parsed = flags::parse(command, args, FlagsEnd::Never)?;
    if parsed.help {
        return crate::print(&crate::docs::command_help(command));
    }
    let settings = parsed.layers.resolve()?;
    let how = how(&parsed, &settings)?;
    let [name] = parsed.rest.as_slice() else {
        return Err(Failure::new("deadheat check needs one recorded execution")
            .next("deadheat record -o app.dht ./prog ARGS, then deadheat check app.dht"));
    };
    let suppressions = output::suppressions(&settings)?;
    let mut output = Output::open(&settings)?;
    let collector = Collector::new(CollectorSettings {
        suppressions,
        ..CollectorSettings::default()
    });
    let path = Path::new(name);
    heap::in_large_pieces();
    let recorded = open(path)?;
    let engine = crate::engine::asked("--engine", parsed.own("--engine").unwrap_or("cpu"), &how)?;
    let quiet = settings.on(Key::Quiet);
    let words = match &recorded {
        Recorded::File(reader) => reader.words(),
        Recorded::Text(_) => 0,
    };
    let mut judge = Judge::new(collector, words, quiet);
    let summary = match recorded {
        Recorded::File(mut reader) => {
            let summary = check_with(&mut *reader, &how, engine, &mut judge);
            // Of its streams it is known only now.
            judge.lost(reader.losses());
            summary
        }
        Recorded::Text(mut memory) => check_with(&mut *memory, &how, engine, &mut judge),
    };
    judge.clear();
    let report = judge.collector.finish(Outcome::Unknown);
    let found = !report.findings.is_empty();
    if found || !settings.on(Key::Quiet) || output.is_for_machines() {
        output.write_or_say(&report);
    }
    if found {
        state::save(&report);
    }
    if let Some(why) = summary.failed {
        return Err(
            Failure::new(format!("not all of {} was checked: {why}", path.display()))
                .next(format!("deadheat check {} --engine cpu", path.display())),
        );
    }
    Ok(match found {
        true => ExitCode::from(settings.exit_code()),
        false => ExitCode::SUCCESS,
    })
}

/// What the flags say of the check.
fn how(parsed: &Parsed, settings: &Settings) -> Result<CheckSettings> {
    let detectors = match parsed.own("--detector") {
        Some(text) => DetectorKind::list(text).map_err(|error| {
            Failure::new(format!("--detector: {error}"))
                .next("deadheat check app.dht --detector fasttrack,eraser")
        })?,
        None => vec![DetectorKind::FastTrack],
    };
    let jobs = match parsed.own("--jobs") {
        Some(text) => text
            .parse()
            .ok()
            .filter(|jobs| (1..=256).contains(jobs))
            .ok_or_else(|| {
                Failure::new(format!("--jobs is a number from 1 to 256, not `{text}`"))
                    .next("deadheat check app.dht --jobs 4")
            })?,
        None => std::thread::available_parallelism().map_or(1, usize::from),
    };
    let across = match parsed.own("--frames") {
        None | Some("carried") => Across::Frames,
        Some("alone") => Across::Nothing,
        Some(other) => {
            return Err(
                Failure::new(format!("--frames is carried or alone, not `{other}`"))
                    .next("carried misses nothing; alone is faster and misses what crosses frames"),
            );
        }
    };
    Ok(CheckSettings {
        detectors: if settings.on(Key::Races) {
            detectors
        } else {
            Vec::new()
        },
        checkers: jobs,
        across,
        skip_atomics: !settings.on(Key::Atomics),
    })
}

/// A recorded execution.
enum Recorded {
    File(Box<Reader>),
    /// In the text form of `deadheat trace dump`.
    Text(Box<Memory>),
}

fn open(path: &Path) -> Result<Recorded> {
    let shown = path.display();
    match Reader::open(path) {
        Ok(reader) => Ok(Recorded::File(Box::new(reader))),
        Err(OpenError::NoTrace) => read_text(path),
        Err(error @ OpenError::Version(_)) => Err(Failure::new(format!("{shown}: {error}"))
            .next("record the program again with this deadheat")),
        Err(OpenError::Io(error)) => Err(Failure::new(format!("cannot read {shown}: {error}"))
            .next("deadheat record -o app.dht ./prog ARGS makes a file to check")),
    }
}

fn read_text(path: &Path) -> Result<Recorded> {
    let shown = path.display();
    let none = |why: String| {
        Failure::new(format!("{shown} is no recorded execution: {why}"))
            .next("deadheat record -o app.dht ./prog ARGS makes one")
    };
    let bytes = std::fs::read(path).map_err(|error| none(error.to_string()))?;
    let text = String::from_utf8(bytes)
        .map_err(|_| none("neither a file of deadheat record nor text".to_owned()))?;
    let trace: Trace = text.parse().map_err(|error| none(format!("{error}")))?;
    if trace.events.is_empty() {
        return Err(none("there is no event in it".to_owned()));
    }
    let mut memory = Memory::of(&trace);
    // Text says nothing of the program: it is what was named.
    let name = json_string(&shown.to_string());
    memory.add_line(format!(
        "{{\"event\":\"start\",\"version\":1,\"argv\":[{name}],\"exe\":{name}}}"
    ));
    memory.add_line("{\"event\":\"end\"}".to_owned());
    Ok(Recorded::Text(Box::new(memory)))
}

/// A string of JSON.
fn json_string(text: &str) -> String {
    let mut out = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => out.extend(['\\', character]),
            c if c.is_control() => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Collects the findings and draws the bar.
struct Judge {
    collector: Collector,
    /// All there is to take; 0 if that is not known.
    words: u64,
    quiet: bool,
    /// Whether there is a bar.
    bar: bool,
    started: Instant,
    drawn: Option<Instant>,
}

/// The bar is drawn anew after this time.
const OFTEN: Duration = Duration::from_millis(100);
const BAR: usize = 24;

impl Judge {
    fn new(collector: Collector, words: u64, quiet: bool) -> Judge {
        Judge {
            collector,
            words,
            quiet,
            bar: words > 0 && !quiet && std::io::stderr().is_terminal(),
            started: Instant::now(),
            drawn: None,
        }
    }

    /// Tells what the file should have held.
    fn lost(&mut self, losses: &[Loss]) {
        for Loss { what, count } in losses {
            let what = json_string(what);
            self.line(&format!(
                "{{\"event\":\"loss\",\"what\":{what},\"count\":{count}}}"
            ));
        }
    }

    /// Takes the bar away.
    fn clear(&mut self) {
        if self.drawn.take().is_some() {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}

impl Listener for Judge {
    fn line(&mut self, line: &str) {
        if let Reply::NewFinding {
            id,
            shown: true,
            headline,
        } = self.collector.line(line)
            && !self.quiet
        {
            self.clear();
            let number = id.map_or(String::new(), |id| format!(" {}", id.0));
            say(format_args!("deadheat: finding{number}: {headline}"));
        }
    }

    fn passed(&mut self, passed: &Passed) {
        if !self.bar || self.drawn.unwrap_or(self.started).elapsed() < OFTEN {
            return;
        }
        let seconds = self.started.elapsed().as_secs_f64();
        let millions = passed.accesses as f64 / 1e6;
        let part = passed.words as f64 / self.words.max(1) as f64;
        let full = ((part * BAR as f64) as usize).min(BAR);
        let _ = write!(
            std::io::stderr(),
            "\r\x1b[K[{}{}] {:3.0} %  {millions:.1} M accesses, {:.1} M a second, {} found",
            "#".repeat(full),
            " ".repeat(BAR - full),
            (part * 100.0).min(100.0),
            millions / seconds,
            self.collector.shown()
        );
        let _ = std::io::stderr().flush();
        self.drawn = Some(Instant::now());
    }
}

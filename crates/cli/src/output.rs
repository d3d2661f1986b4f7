//! Where a report goes and what it looks like there.

use crate::error::{Failure, Result};
use crate::options::settings::is_stream;
use crate::options::{Key, Settings};
use crate::say::say;
use deadheat_report::model::{Loss, Report};
use deadheat_report::{Format, Options, Suppressions, render};
use std::env;
use std::fs::{File, OpenOptions};
use std::io::{self, IsTerminal, Write};

/// The place of the report, opened before the program starts so that a mistake is told before, not after it.
pub struct Output {
    place: Place,
    format: Format,
    options: Options,
    most: usize,
}

enum Place {
    Stderr,
    Stdout,
    File(File),
    /// A name with `%p` in it, known only when the program is.
    Later(String),
}

impl Output {
    /// Opens what `--log` names.
    pub fn open(settings: &Settings) -> Result<Self> {
        Self::with_default(settings, settings.word(Key::Log))
    }

    /// The same for commands whose report goes to standard output unless told otherwise.
    pub fn open_or_stdout(settings: &Settings, told: bool) -> Result<Self> {
        Self::with_default(
            settings,
            if told {
                settings.word(Key::Log)
            } else {
                "stdout"
            },
        )
    }

    fn with_default(settings: &Settings, name: &str) -> Result<Self> {
        let place = match name {
            "stderr" => Place::Stderr,
            "stdout" | "-" => Place::Stdout,
            name if name.contains("%p") => Place::Later(name.to_owned()),
            name => Place::File(create(name).map_err(|error| {
                Failure::new(format!("cannot write the report to {name}: {error}"))
                    .next("--log FILE needs a place that can be written")
            })?),
        };
        let format = settings.word(Key::Format).parse().map_err(Failure::new)?;
        let terminal = match &place {
            Place::Stderr => io::stderr().is_terminal(),
            Place::Stdout => io::stdout().is_terminal(),
            Place::File(file) => file.is_terminal(),
            Place::Later(_) => false,
        };
        let options = Options {
            color: format == Format::Text && color(settings.word(Key::Color), terminal),
            cwd: env::current_dir().ok(),
            source_lines: u32::try_from(settings.number(Key::SourceLines)).unwrap_or(u32::MAX),
            ..Options::default()
        };
        let most = usize::try_from(settings.number(Key::MaxFindings)).unwrap_or(usize::MAX);
        Ok(Self {
            place,
            format,
            options,
            most,
        })
    }

    /// How text is to be shown here.
    #[must_use]
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Whether a program will read it: then it is written even when there is nothing to say.
    #[must_use]
    pub fn is_for_machines(&self) -> bool {
        self.format != Format::Text
    }

    /// Writes a report.
    pub fn write(&mut self, report: &Report) -> io::Result<()> {
        let text = match self.most {
            most if most > 0 && report.findings.len() > most => {
                render(&shortened(report, most), self.format, &self.options)
            }
            _ => render(report, self.format, &self.options),
        };
        self.write_text(&text, report.program.pid)
    }

    /// Writes a report; that it cannot be written is said, and changes no exit status.
    pub fn write_or_say(&mut self, report: &Report) {
        if let Err(error) = self.write(report) {
            say(format_args!(
                "deadheat: the report could not be written: {error}"
            ));
        }
    }

    /// Writes text; `pid` stands for `%p`.
    pub fn write_text(&mut self, text: &str, pid: u64) -> io::Result<()> {
        let text = format!("{}\n", text.trim_end_matches('\n'));
        let send = |to: &mut dyn Write| to.write_all(text.as_bytes()).and_then(|()| to.flush());
        match &mut self.place {
            Place::Stderr => send(&mut io::stderr().lock()),
            Place::Stdout => send(&mut io::stdout().lock()),
            Place::File(file) => send(file),
            Place::Later(name) => send(&mut create(&name.replace("%p", &pid.to_string()))?),
        }
    }
}

fn create(name: &str) -> io::Result<File> {
    OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .open(name)
}

/// The first `most` findings; the others are counted.
fn shortened(report: &Report, most: usize) -> Report {
    let mut short = report.clone();
    short.findings.truncate(most);
    short.losses.push(Loss {
        what: "findings that --max-findings left out".to_owned(),
        count: (report.findings.len() - most) as u64,
    });
    short
}

fn color(when: &str, terminal: bool) -> bool {
    let set = |name: &str| env::var_os(name).is_some_and(|value| !value.is_empty());
    match when {
        "always" => true,
        "never" => false,
        _ if set("NO_COLOR") => false,
        _ if env::var_os("CLICOLOR_FORCE").is_some_and(|v| !v.is_empty() && v != "0") => true,
        _ => terminal && env::var_os("TERM").is_none_or(|term| term != "dumb"),
    }
}

/// What a run leaves out: what the files of suppressions name, and the races that are known to be well-known crates' own.
pub fn suppressions(settings: &Settings) -> Result<Suppressions> {
    let mut all = read_suppressions(settings)?;
    if !settings.on(Key::CrateRaces) {
        all.extend(Suppressions::known());
    }
    Ok(all)
}

/// Reads all files of suppressions; a mistake in one is told with file and line.
pub fn read_suppressions(settings: &Settings) -> Result<Suppressions> {
    let mut all = Suppressions::default();
    for path in &settings.suppressions {
        let rules = Suppressions::read(path).map_err(|error| {
            Failure::new(error.to_string())
                .next("deadheat suppressions --from FINDINGS.json writes a file in the right form")
        })?;
        all.extend(rules);
    }
    Ok(all)
}

/// Whether `--log` names something that is not a terminal stream.
#[must_use]
pub fn logs_to_file(settings: &Settings) -> bool {
    !is_stream(settings.word(Key::Log))
}

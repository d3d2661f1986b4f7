//! `deadheat record`: runs a program and keeps all that its threads did, to be checked later.

use crate::error::{Failure, Result};
use crate::flags::{self, FlagsEnd};
use crate::options::{self, Settings};
use crate::run;
use crate::say::say;
use crate::split::{self, Left, Live, Watch};
use crate::temp::TempDir;
use deadheat_frames::{LATER, Setup};
use deadheat_trace::file::{Recording, Round, Written};
use deadheat_trace::wire::Source;
use std::ffi::OsString;
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// What is gathered is written out this often: a recorder that is killed loses no more.
const SYNC: Duration = Duration::from_millis(200);

/// Runs `deadheat record ARGS`.
pub fn main(args: &[OsString]) -> Result<ExitCode> {
    let command = options::command("record").unwrap_or(&options::COMMANDS[0]);
    let parsed = flags::parse(command, args, FlagsEnd::FirstWord)?;
    if parsed.help {
        return crate::print(&crate::docs::command_help(command));
    }
    let settings = parsed.layers.resolve()?;
    let path = PathBuf::from(parsed.own("--output").unwrap_or("deadheat.dht"));
    let temp = TempDir::new()?;
    if parsed.rest.is_empty() {
        return Err(Failure::new("deadheat record needs a program or sources")
            .next("deadheat record -o app.dht ./prog ARGS"));
    }
    let target = run::target(&parsed.rest, None, &settings, &temp)?;
    if !target.direct {
        return Err(Failure::new(format!(
            "{} was not built with Deadheat, so there is nothing to record",
            target.words[0].to_string_lossy()
        ))
        .next("deadheat record ./prog, with a program that deadheat cc built"));
    }
    record(
        &target,
        &settings,
        split::check::setup(&parsed)?,
        &path,
        &temp,
    )
}

fn record(
    target: &run::Target,
    settings: &Settings,
    setup: Setup,
    path: &Path,
    temp: &TempDir,
) -> Result<ExitCode> {
    let cannot_write = |why: String| {
        Failure::new(format!("cannot write {}: {why}", path.display()))
            .next("-o FILE needs a place that can be written, with room for what the program does")
    };
    let file = File::create(path).map_err(|error| cannot_write(error.to_string()))?;
    let result = Arc::new(Mutex::new((Written::default(), Vec::new())));
    let to = Arc::clone(&result);
    let setup = Setup {
        flags: setup.flags | LATER,
        ..setup
    };
    let watch = Watch::start(setup, move |mut live, _tell| {
        let (written, losses) = take(&mut live, file).map_err(|error| error.to_string())?;
        if let Ok(mut result) = to.lock() {
            *result = (written, losses);
        }
        Left::Ok(())
    })?;
    let suppressions = crate::output::suppressions(settings)?;
    let ending = run::watched(
        target,
        settings,
        &suppressions,
        temp,
        Some(watch),
        run::OnFinding::Report,
    )?;
    if let Some(why) = ending.failed {
        return Err(cannot_write(why));
    }
    if ending.processes == 0 {
        return Err(Failure::new(format!(
            "{} ended before Deadheat's runtime in it had started (status {})",
            target.words[0].to_string_lossy(),
            ending.status
        )));
    }
    let (written, losses) = result
        .lock()
        .map(|result| result.clone())
        .unwrap_or_default();
    losses
        .iter()
        .for_each(|loss| say(format_args!("deadheat: {loss}")));
    if written.dropped > 0 {
        say(format_args!(
            "deadheat: {} accesses were dropped because the recorder was behind",
            written.dropped
        ));
    }
    if written.nameless > 0 {
        say(format_args!(
            "deadheat: {} call stacks were left out because a file can hold no more than 4294967295",
            written.nameless
        ));
    }
    if !settings.on(options::Key::Quiet) {
        say(format_args!("deadheat: {}", summary(path, &written)));
    }
    Ok(ExitCode::from(ending.status))
}

fn summary(path: &Path, written: &Written) -> String {
    format!(
        "wrote {}: {} accesses and {} synchronizations of {} threads in {:.1} MB; to check it: deadheat check {0}",
        path.display(),
        written.accesses,
        written.acts,
        written.strands,
        written.bytes as f64 / 1e6
    )
}

/// Writes the streams of a running program into a file, until it is gone.
fn take(live: &mut Live, file: File) -> std::io::Result<(Written, Vec<String>)> {
    let mut recording = Recording::new(BufWriter::new(file))?;
    let mut last = Instant::now();
    loop {
        let round = recording.round(live)?;
        if round == Round::End {
            break;
        }
        if last.elapsed() > SYNC {
            recording.sync()?;
            last = Instant::now();
        }
        if round == Round::NotYet {
            live.wait();
        }
    }
    let losses = recording.losses().to_vec();
    let (_, written) = recording.finish(live)?;
    Ok((written, losses))
}

//! `deadheat run --split`: checks what a running program records, on other cores.

use super::{Left, Live, Tell, Watch};
use crate::error::{Failure, Result};
use crate::flags::Parsed;
use crate::options::{Key, Settings};
use deadheat_frames::{DROP, MANY, STOP, Setup};
use deadheat_pipeline::{
    Across, DetectorKind, Listener, Other, Settings as CheckSettings, check_with,
};
use deadheat_trace::Strand;
use deadheat_trace::wire::{Next, Source, StackNode, StackSet};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

/// How a running program is checked, and where if not on the cores.
pub struct Asked {
    how: CheckSettings,
    engine: Option<Other>,
}

/// What the flags say of the check of a running program; none if it is to check itself.
pub fn asked(parsed: &Parsed, settings: &Settings) -> Result<Option<Asked>> {
    let Some(place) = parsed.own("--split") else {
        for flag in [
            "--checkers",
            "--detector",
            "--when-behind",
            "--if-checker-dies",
        ] {
            if parsed.own(flag).is_some() {
                return Err(
                    Failure::new(format!("{flag} is about checking beside the program"))
                        .next(format!("deadheat run --split {flag} ... ./prog")),
                );
            }
        }
        return Ok(None);
    };
    let detectors = match parsed.own("--detector") {
        Some(text) => DetectorKind::list(text).map_err(|error| {
            Failure::new(format!("--detector: {error}"))
                .next("deadheat run --split --detector fasttrack,eraser ./prog")
        })?,
        None => vec![DetectorKind::FastTrack],
    };
    let checkers = match parsed.own("--checkers") {
        Some(text) => text
            .parse()
            .ok()
            .filter(|count| (1..=256).contains(count))
            .ok_or_else(|| {
                Failure::new(format!(
                    "--checkers is a number from 1 to 256, not `{text}`"
                ))
                .next("deadheat run --split --checkers 2 ./prog")
            })?,
        None => 1,
    };
    let how = CheckSettings {
        detectors: if settings.on(Key::Races) {
            detectors
        } else {
            Vec::new()
        },
        checkers,
        across: Across::Frames,
        skip_atomics: !settings.on(Key::Atomics),
    };
    let engine = crate::engine::asked("--split", place, &how)?;
    Ok(Some(Asked { how, engine }))
}

/// What the flags say of a program that is faster than whoever takes its frames, or loses him.
pub fn setup(parsed: &Parsed) -> Result<Setup> {
    let mut setup = Setup::default();
    match parsed.own("--when-behind") {
        None | Some("wait") => {}
        Some("drop") => {
            setup.flags |= DROP;
            setup.budget = MANY;
        }
        Some(other) => {
            return Err(
                Failure::new(format!("--when-behind is wait or drop, not `{other}`"))
                    .next("wait loses nothing; drop loses accesses and counts them"),
            );
        }
    }
    match parsed.own("--if-checker-dies") {
        None | Some("go-on") => {}
        Some("stop") => setup.flags |= STOP,
        Some(other) => {
            return Err(
                Failure::new(format!("--if-checker-dies is go-on or stop, not `{other}`"))
                    .next("go-on lets the program end unchecked; stop ends it"),
            );
        }
    }
    Ok(setup)
}

/// Starts the checker.
pub fn start(asked: Asked, setup: Setup) -> Result<Watch> {
    let Asked { how, engine } = asked;
    Watch::start(setup, move |live, tell| {
        let passed_on = Arc::new(Mutex::new(VecDeque::new()));
        let mut source = Tapped {
            live,
            passed_on: Arc::clone(&passed_on),
        };
        let mut listener = Teller { tell, passed_on };
        let summary = check_with(&mut source, &how, engine, &mut listener);
        let (dropped, waits, waited) = source.live.waits();
        // The streams have told of those that they came to tell of.
        let untold = dropped.saturating_sub(summary.passed.dropped);
        if untold > 0 {
            listener.tell.line(format!(
                "{{\"event\":\"loss\",\"what\":\"accesses at the ends of threads that were dropped because the checker was behind\",\"count\":{untold}}}"
            ));
        }
        if waits > 0 {
            let seconds = waited as f64 / 1e9;
            listener.tell.line(format!(
                "{{\"event\":\"note\",\"text\":\"the program waited {waits} times for the checker, {seconds:.2} s in all threads together\"}}"
            ));
        }
        match summary.failed {
            Some(why) => Left::Err(why),
            None => Left::Ok(()),
        }
    })
}

/// The lines that came from the program's own stream, which the loop has dealt with already.
type PassedOn = Arc<Mutex<VecDeque<String>>>;

/// How a line about a strand begins.
const STRAND: &str = "{\"event\":\"strand\"";

/// Notes which lines the checker was given, and will pass on.
struct Tapped {
    live: Live,
    passed_on: PassedOn,
}

impl Source for Tapped {
    fn next(&mut self, strand: Strand, out: &mut Vec<u64>) -> Next {
        self.live.next(strand, out)
    }

    fn node(&mut self, node: StackNode) -> Option<(StackNode, u64)> {
        self.live.node(node)
    }

    fn lines(&mut self, out: &mut Vec<String>) {
        let before = out.len();
        self.live.lines(out);
        if let Ok(mut passed_on) = self.passed_on.lock() {
            // Who a strand is the checker keeps for itself until a finding names it.
            let lines = out[before..].iter();
            passed_on.extend(lines.filter(|line| !line.starts_with(STRAND)).cloned());
        }
    }

    fn wait(&mut self) {
        self.live.wait();
    }

    fn stacks_due(&self, pages: usize) -> bool {
        self.live.stacks_due(pages)
    }

    fn keep_stacks(&mut self, used: StackSet) {
        self.live.keep_stacks(used);
    }
}

/// Passes on what the checker says of its own.
struct Teller {
    tell: Tell,
    passed_on: PassedOn,
}

impl Listener for Teller {
    fn line(&mut self, line: &str) {
        if let Ok(mut passed_on) = self.passed_on.lock()
            && let Some(at) = passed_on.iter().position(|known| known == line)
        {
            passed_on.remove(at);
            return;
        }
        self.tell.line(line.to_string());
    }
}

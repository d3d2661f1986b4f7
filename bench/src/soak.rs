//! Long runs under Deadheat that must find nothing and whose memory must stay flat.

use std::fs;
use std::time::{Duration, Instant};

use crate::compile;
use crate::error::{Error, Result};
use crate::layout::Layout;
use crate::measure::{Ended, Job, Running};
use crate::tool::Tool;

/// Growth that is allowed after the warm-up: allocators and tables settle, they must not climb.
const SLACK_KIB: u64 = 8 * 1024;
const SLACK_PERCENT: u64 = 10;

/// One line of the program: seconds since the start, resident memory, rounds done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Point {
    second: u64,
    rss_kib: u64,
    rounds: u64,
}

/// What is soaked: everything together, then one thing at a time of which nothing may be remembered for good.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    Mixed,
    /// The name that `soak_phases.c` has for it.
    One(&'static str),
}

const PHASES: [Phase; 5] = [
    Phase::Mixed,
    Phase::One("joined"),
    Phase::One("detached"),
    Phase::One("mutexes"),
    Phase::One("calls"),
];

impl Phase {
    fn name(self) -> &'static str {
        match self {
            Phase::Mixed => "mixed",
            Phase::One(name) => name,
        }
    }

    /// Its part of the time: as much for everything together as for all others.
    fn seconds(self, all: u64) -> u64 {
        match self {
            Phase::Mixed => all / 2,
            Phase::One(_) => all / 8,
        }
        .max(4)
    }
}

/// Runs the soak programs for this many seconds in all, checking themselves ([`Tool::Deadheat`]) or checked beside
/// ([`Tool::Split`]), and looks at each.
pub fn run(layout: &Layout, tool: Tool, seconds: u64, threads: u32) -> Result<String> {
    let mut lines = Vec::new();
    for phase in PHASES {
        let line = run_phase(layout, tool, phase, phase.seconds(seconds), threads)?;
        eprintln!("bench: {line}");
        lines.push(line);
    }
    Ok(lines.join("\n"))
}

fn run_phase(
    layout: &Layout,
    tool: Tool,
    phase: Phase,
    seconds: u64,
    threads: u32,
) -> Result<String> {
    let build = tool.build();
    let (binary, last) = match phase {
        Phase::Mixed => (
            compile::single(layout, "soak", "kernels/soak.c", build)?,
            threads.to_string(),
        ),
        Phase::One(name) => (
            compile::single(layout, "soak_phases", "kernels/soak_phases.c", build)?,
            name.to_owned(),
        ),
    };
    let name = match tool {
        Tool::Split => format!("{}, split", phase.name()),
        _ => phase.name().to_string(),
    };
    let scratch = layout.cached_dir("scratch")?;
    let stdout = scratch.join(format!("soak-{}-{}.out", phase.name(), tool.name()));
    let stderr = scratch.join(format!("soak-{}-{}.err", phase.name(), tool.name()));
    eprintln!(
        "bench: soak, {name}, for {seconds} s; progress is in {}",
        stdout.display()
    );
    let mut words = tool.prefix(&layout.deadheat);
    words.extend([binary.display().to_string(), seconds.to_string(), last]);
    let running = Job {
        launcher: compile::launcher(layout)?,
        words,
        environment: Vec::new(),
        directory: scratch.clone(),
        stdout: stdout.clone(),
        stderr: stderr.clone(),
        limit: Duration::from_secs(seconds * 2 + 60),
    }
    .start()?;
    let outside = watch(&running);
    let cost = running.finish()?;
    if cost.ended != Ended::Exit(0) {
        return Err(Error::new(format!(
            "soak, {name}, ended with {:?}; see {}",
            cost.ended,
            stderr.display()
        )));
    }
    let text = fs::read_to_string(&stdout).map_err(|e| Error::io("cannot read", &stdout, &e))?;
    let summary = text
        .lines()
        .find(|l| l.starts_with("rounds "))
        .unwrap_or("no rounds");
    let judge = |whose: &str, points: &[Point]| {
        flat(points, seconds).map_err(|why| Error::new(format!("soak, {name}: {whose}{why}")))
    };
    let mut memory = judge("", &points(&text))?;
    if tool == Tool::Split {
        memory += &format!("; the checker's {}", judge("the checker's ", &outside)?);
    }
    Ok(format!(
        "soak, {name}: {summary}, {memory}, {:.0} s CPU, nothing found",
        cost.cpu
    ))
}

/// The memory of what was started, every second until its end; under split checking that is the checker.
fn watch(running: &Running) -> Vec<Point> {
    let start = Instant::now();
    let mut points = Vec::new();
    while !running.ends_within(Duration::from_secs(1)) {
        let second = start.elapsed().as_secs();
        points.extend(running.resident().map(|rss_kib| Point {
            second,
            rss_kib,
            rounds: 0,
        }));
    }
    points
}

fn points(text: &str) -> Vec<Point> {
    let parse = |line: &str| {
        let mut numbers = line.strip_prefix("rss ")?.split(' ').map(str::parse::<u64>);
        let mut next = || numbers.next()?.ok();
        Some(Point {
            second: next()?,
            rss_kib: next()?,
            rounds: next()?,
        })
    };
    text.lines().filter_map(parse).collect()
}

/// Compares the memory of the last quarter with the largest of the warm-up, the first quarter.
fn flat(points: &[Point], seconds: u64) -> std::result::Result<String, String> {
    let warm_up = points
        .iter()
        .filter(|p| p.second <= seconds / 4)
        .map(|p| p.rss_kib)
        .max();
    let late = points
        .iter()
        .filter(|p| p.second >= seconds * 3 / 4)
        .map(|p| p.rss_kib)
        .max();
    let (Some(warm_up), Some(late)) = (warm_up, late) else {
        return Err(format!(
            "the run was too short to judge memory ({} points in {seconds} s)",
            points.len()
        ));
    };
    let allowed = warm_up + warm_up * SLACK_PERCENT / 100 + SLACK_KIB;
    if late > allowed {
        let rounds = points.last().map_or(0, |p| p.rounds);
        return Err(format!(
            "memory is not flat: {warm_up} KiB in the first quarter, {late} KiB in the last ({allowed} allowed) after {rounds} rounds"
        ));
    }
    Ok(format!(
        "memory flat: {} MiB early, {} MiB late",
        warm_up / 1024,
        late / 1024
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(f: impl Fn(u64) -> u64) -> String {
        (0..100)
            .map(|s| format!("rss {s} {} {s}\n", f(s)))
            .collect()
    }

    #[test]
    fn phases_share_the_time() {
        assert_eq!(PHASES.iter().map(|p| p.seconds(600)).sum::<u64>(), 600);
        assert!(PHASES.iter().all(|p| p.seconds(1) >= 4));
    }

    #[test]
    fn flat_memory_passes_and_a_leak_does_not() {
        assert!(flat(&points(&lines(|_| 50_000)), 100).is_ok());
        assert!(flat(&points(&lines(|s| 50_000 + s * 20)), 100).is_ok());
        assert!(flat(&points(&lines(|s| 50_000 + s * 1000)), 100).is_err());
        assert!(flat(&points("rss 0 1 1\n"), 100).is_err());
    }
}

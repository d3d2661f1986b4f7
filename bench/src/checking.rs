//! How fast recorded executions are checked: millions of accesses per second for each detector, on one core and on two,
//! against RAPID's happens-before engine on the same execution where there is one (`RAPID_HOME` and java).
//!
//! The kernels are recorded by `deadheat record` and checked by the library that `deadheat check` uses, from the file, so
//! that reading and decompressing are counted and symbolizing is not.

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use deadheat_gpu_engine::{Gpu, Limits};
use deadheat_pipeline::sequence::Passed;
use deadheat_pipeline::{Across, DetectorKind, Settings, check_with};
use deadheat_trace::file::Reader;
use deadheat_trace::std_format;
use serde_json::{Value, json};

use crate::catalogue::{Kind, Program};
use crate::compile;
use crate::error::{Error, Result};
use crate::layout::Layout;
use crate::measure::{Ended, Job};
use crate::tool::Tool;

/// Accesses of the part that RAPID gets: it takes seconds for each million.
const FOR_RAPID: u64 = 2_000_000;

/// A way to check.
#[derive(Clone, Debug)]
struct Way {
    name: &'static str,
    detectors: Vec<DetectorKind>,
    across: Across,
    checkers: usize,
    /// On the GPU, which is timed by the clock.
    gpu: bool,
}

/// One program's figures.
#[derive(Clone, Debug)]
struct Row {
    program: &'static str,
    accesses: u64,
    acts: u64,
    bytes: u64,
    /// Millions of accesses per second, in the order of the ways.
    speeds: Vec<f64>,
    /// Millions of RAPID's events per second; none if there is no RAPID.
    rapid: Option<f64>,
}

/// The whole table.
#[derive(Clone, Debug)]
pub struct Checking {
    ways: Vec<Way>,
    rows: Vec<Row>,
}

/// Records and checks every kernel among the programs.
///
/// Always with the small sizes: a speed does not need a long recording, and the slowest of the detectors would take
/// minutes for each of the long ones.
///
/// The best of the rounds counts, as in the other tables; the GPU, mostly software that stands in for one, has one.
pub fn run(layout: &Layout, programs: &[Program], threads: u32, rounds: u32) -> Result<Checking> {
    let gpu = gpu();
    let ways = ways(gpu.as_ref());
    let mut rows = Vec::new();
    for program in programs.iter().filter(|p| p.kind == Kind::Kernel) {
        eprintln!("bench: checking a recording of {}", program.name);
        let trace = record(layout, program, program.quick_size, threads)?;
        let mut row = Row {
            program: program.name,
            accesses: 0,
            acts: 0,
            bytes: std::fs::metadata(&trace).map_or(0, |file| file.len()),
            speeds: vec![0.0; ways.len()],
            rapid: None,
        };
        for round in 0..rounds.max(1) {
            let now = ways.iter().zip(&mut row.speeds);
            for (way, best) in now.filter(|(way, _)| round == 0 || !way.gpu) {
                let (seconds, passed) = measure(&trace, way, gpu.as_ref())?;
                (row.accesses, row.acts) = (passed.accesses, passed.acts);
                *best = best.max(passed.accesses as f64 / 1e6 / seconds.max(1e-9));
            }
        }
        if row.accesses <= FOR_RAPID {
            row.rapid = rapid(&trace)?;
        }
        let _ = std::fs::remove_file(&trace);
        rows.push(row);
    }
    Ok(Checking { ways, rows })
}

/// The GPU, or software that stands in for one.
fn gpu() -> Option<Gpu> {
    match Gpu::open() {
        Ok(gpu) => {
            eprintln!("bench: the kernels run on {}", gpu.name());
            Some(gpu)
        }
        Err(error) => {
            eprintln!("bench: {error}; its columns are left out");
            None
        }
    }
}

fn ways(gpu: Option<&Gpu>) -> Vec<Way> {
    let one = |name, kind, across, checkers| Way {
        name,
        detectors: vec![kind],
        across,
        checkers,
        gpu: false,
    };
    let fast = DetectorKind::FastTrack;
    let mut ways = vec![
        one("FastTrack", fast, Across::Frames, 1),
        one("on two", fast, Across::Frames, 2),
        one("frames alone", fast, Across::Nothing, 1),
    ];
    for (name, kind) in [
        ("DJIT+", DetectorKind::Djit),
        ("Goldilocks", DetectorKind::Goldilocks),
        ("Eraser", DetectorKind::Eraser),
    ] {
        ways.push(one(name, kind, Across::Frames, 1));
        ways.push(one("on two", kind, Across::Frames, 2));
    }
    if gpu.is_some() {
        for (name, kind) in [
            ("GPU: FT", DetectorKind::FastTrack),
            ("GPU: Goldil.", DetectorKind::Goldilocks),
            ("GPU: Eraser", DetectorKind::Eraser),
        ] {
            ways.push(Way {
                gpu: true,
                ..one(name, kind, Across::Frames, 1)
            });
        }
    }
    ways
}

fn record(layout: &Layout, program: &Program, size: u64, threads: u32) -> Result<PathBuf> {
    let binary = compile::program(layout, program, Tool::Deadheat.build())?;
    let scratch = layout.cached_dir("scratch")?;
    let trace = scratch.join(format!("{}.dht", program.name));
    let stderr = scratch.join(format!("{}-record.err", program.name));
    let words: Vec<String> = vec![
        layout.deadheat.display().to_string(),
        "record".into(),
        "-o".into(),
        trace.display().to_string(),
        binary.display().to_string(),
        size.to_string(),
        threads.to_string(),
    ];
    let cost = Job {
        launcher: compile::launcher(layout)?,
        words,
        environment: Vec::new(),
        directory: scratch.clone(),
        stdout: scratch.join(format!("{}-record.out", program.name)),
        stderr: stderr.clone(),
        limit: Duration::from_secs(120),
    }
    .run()?;
    if cost.ended != Ended::Exit(0) {
        return Err(Error::new(format!(
            "recording {} ended with {:?}; see {}",
            program.name,
            cost.ended,
            stderr.display()
        )));
    }
    Ok(trace)
}

/// Seconds of the processor with one checker (all on one thread), of the clock with several or on the GPU.
fn measure(trace: &Path, way: &Way, gpu: Option<&Gpu>) -> Result<(f64, Passed)> {
    let mut reader =
        Reader::open(trace).map_err(|e| Error::new(format!("{}: {e}", trace.display())))?;
    let settings = Settings {
        detectors: way.detectors.clone(),
        checkers: way.checkers,
        across: way.across,
        skip_atomics: false,
    };
    let other = match gpu.filter(|_| way.gpu) {
        Some(gpu) => Some(
            deadheat_gpu_engine::engine(gpu, &settings, Limits::default())
                .map_err(|error| Error::new(error.to_string()))?,
        ),
        None => None,
    };
    let (clock, processor) = (Instant::now(), thread_seconds());
    let summary = check_with(&mut reader, &settings, other, &mut |_: &str| ());
    let seconds = match (way.checkers, way.gpu) {
        (1, false) => thread_seconds() - processor,
        _ => clock.elapsed().as_secs_f64(),
    };
    Ok((seconds, summary.passed))
}

/// Seconds that this thread was on a processor.
fn thread_seconds() -> f64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the kernel writes the time into `time` alone.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Millions of events per second of RAPID's happens-before engine on the exported trace.
fn rapid(trace: &Path) -> Result<Option<f64>> {
    let Some(home) = std::env::var_os("RAPID_HOME").map(PathBuf::from) else {
        return Ok(None);
    };
    let failed = |e: &dyn std::fmt::Display| Error::new(format!("{}: {e}", trace.display()));
    let exported = trace.with_extension("std");
    let open = || Reader::open(trace).map_err(|e| failed(&e));
    let parts = std_format::Parts::of(&mut open()?);
    let file = File::create(&exported).map_err(|e| failed(&e))?;
    let mut file = BufWriter::new(file);
    let std_format::Exported { events, .. } =
        std_format::export(&mut open()?, &parts, &mut file).map_err(|e| failed(&e))?;
    drop(file);
    let classes = format!("{0}/rapid.jar:{0}/lib/*:{0}/lib/jgrapht/*", home.display());
    let started = Instant::now();
    let output = Command::new("java")
        .args(["-Xmx4g", "-classpath", &classes, "HB", "-f=std"])
        .arg(format!("-p={}", exported.display()))
        .output();
    let seconds = started.elapsed().as_secs_f64();
    let _ = std::fs::remove_file(&exported);
    match output {
        Ok(output) if output.status.success() => Ok(Some(events as f64 / 1e6 / seconds)),
        Ok(output) => {
            let text = String::from_utf8_lossy(&output.stderr);
            let first = text.lines().next().unwrap_or_default();
            eprintln!("bench: RAPID failed and is left out: {first}");
            Ok(None)
        }
        Err(_) => Ok(None),
    }
}

impl Checking {
    /// The table as text.
    pub fn render(&self) -> String {
        let mut text = format!("{:<10} {:>8} {:>8}", "program", "M acc", "B/1000");
        for way in &self.ways {
            text += &format!(" {:>12}", way.name);
        }
        text += &format!(" {:>8}\n", "RAPID");
        for row in &self.rows {
            let dense = row.bytes as f64 * 1000.0 / row.accesses.max(1) as f64;
            let millions = row.accesses as f64 / 1e6;
            text += &format!("{:<10} {millions:>8.2} {dense:>8.0}", row.program);
            for speed in &row.speeds {
                text += &format!(" {speed:>12.1}");
            }
            text += &match row.rapid {
                Some(speed) => format!(" {speed:>8.2}\n"),
                None => format!(" {:>8}\n", "-"),
            };
        }
        text += &format!("{:<10} {:>8} {:>8}", "geomean", "", "");
        for at in 0..self.ways.len() {
            let logs: f64 = self.rows.iter().map(|row| row.speeds[at].ln()).sum();
            let mean = (logs / self.rows.len().max(1) as f64).exp();
            text += &format!(" {mean:>12.1}");
        }
        text + "\n"
    }

    /// Every figure.
    pub fn as_json(&self) -> Value {
        let row = |row: &Row| {
            let ways = self.ways.iter().zip(&row.speeds);
            let speeds: Vec<Value> = ways
                .map(|(way, speed)| {
                    let names: Vec<&str> = way.detectors.iter().map(|kind| kind.name()).collect();
                    json!({
                        "detectors": names, "checkers": way.checkers,
                        "frames_alone": way.across == Across::Nothing, "gpu": way.gpu, "million_accesses_per_second": speed,
                    })
                })
                .collect();
            json!({
                "program": row.program, "accesses": row.accesses, "acts": row.acts, "bytes": row.bytes,
                "speeds": speeds, "rapid_million_events_per_second": row.rapid,
            })
        };
        self.rows.iter().map(row).collect()
    }
}

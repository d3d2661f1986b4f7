//! Every Rust program in `rust/programs`, right and racy, as a test of its own, and random loops.
//!
//!     cargo test -p deadheat-tests --test ui_rust                    all of them
//!     cargo test -p deadheat-tests --test ui_rust -- tokio           those whose name holds `tokio`
//!     DEADHEAT_BIN=path/to/deadheat cargo test ...                   a command that is built already
//!     DEADHEAT_RUNS=100 cargo test ...                               run each so often
//!
//! All are one package and one executable, built once by `cargo deadheat build`.
#![forbid(unsafe_code)]

use deadheat_model::{Finding, FindingKind, Report};
use deadheat_tests::{process, random_rust};
use libtest_mimic::{Arguments, Failed, Trial};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::time::Duration;

/// How often a program that is right runs, and how often its twin: the one must be silent always, the other never.
const RUNS: [usize; 2] = [20, 5];

/// Programs with random loops.
const RANDOM: u64 = 6;

/// Files in which a race may be beside the case's own: C and C++, and what channels have in common.
const SHARED: [&str; 3] = ["src/counter.c", "gauge/gauge.cc", "src/passing.rs"];

const LIMIT: Duration = Duration::from_secs(120);

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    let cores = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
    arguments.test_threads.get_or_insert(cores + 1);
    let trials = match trials() {
        Ok(trials) => trials,
        Err(what) => {
            eprintln!("ui_rust tests: {what}");
            return ExitCode::from(2);
        }
    };
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// What all tests share.
struct Set {
    deadheat: PathBuf,
    program: PathBuf,
    folder: PathBuf,
}

fn trials() -> Result<Vec<Trial>, String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("ui-rust");
    std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let deadheat = deadheat()?;
    let program = build(&deadheat, &folder)?;
    let list = Command::new(&program)
        .output()
        .map_err(|error| error.to_string())?;
    let set = Arc::new(Set {
        deadheat,
        program,
        folder,
    });
    let mut trials = Vec::new();
    for line in String::from_utf8_lossy(&list.stdout).lines() {
        let Some((case, file)) = line.split_once(' ') else {
            return Err(format!(
                "the list of programs has a line without a file: {line}"
            ));
        };
        for (twin, runs) in ["ok", "racy"].into_iter().zip(RUNS) {
            let (set, case, file) = (Arc::clone(&set), case.to_owned(), file.to_owned());
            trials.push(Trial::test(format!("{case} {twin}"), move || {
                let asked = std::env::var("DEADHEAT_RUNS")
                    .ok()
                    .and_then(|runs| runs.parse().ok());
                (0..asked.unwrap_or(runs)).try_for_each(|_| check(&set, &case, twin, &file))
            }));
        }
    }
    for number in 1..=RANDOM {
        let set = Arc::clone(&set);
        trials.push(Trial::test(format!("random-loops-{number}"), move || {
            let cache = set.folder.join("cache");
            random_rust::check(&set.deadheat, number, &set.folder, &cache).map_err(Into::into)
        }));
    }
    if trials.len() < 80 {
        return Err(format!("only {} tests, which cannot be all", trials.len()));
    }
    Ok(trials)
}

/// The command under test.
fn deadheat() -> Result<PathBuf, String> {
    match std::env::var_os("DEADHEAT_BIN") {
        Some(path) => Ok(path.into()),
        None => Err("set DEADHEAT_BIN to the deadheat command, as `make ui-rust` does".to_owned()),
    }
}

/// Builds the programs in a folder of their own, with a cache of their own.
fn build(deadheat: &Path, folder: &Path) -> Result<PathBuf, String> {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("rust/programs/Cargo.toml");
    let target = folder.join("target");
    let mut command = Command::new(deadheat);
    command
        .args(["cargo", "build", "--locked", "--manifest-path"])
        .arg(manifest)
        .env("CARGO_TARGET_DIR", &target)
        .env("XDG_CACHE_HOME", folder.join("cache"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("CARGO_PROFILE_") {
            command.env_remove(name); // as the programs' own manifest says
        }
    }
    let built = process::run(command, folder, "build", None, Duration::from_secs(900))?;
    if built.code() != 0 {
        return Err(format!("the programs did not build:\n{}", built.stderr));
    }
    Ok(target.join("deadheat/x86_64-unknown-linux-gnu/debug/programs"))
}

fn check(set: &Set, case: &str, twin: &str, file: &str) -> Result<(), Failed> {
    let label = format!("{case}-{twin}");
    let json = set.folder.join(format!("{label}.json"));
    let mut command = Command::new(&set.deadheat);
    command
        .args(["run", "--format", "json", "--quiet", "--log"])
        .arg(&json);
    command.arg(&set.program).args([case, twin]);
    command
        .env_remove("DEADHEAT_OPTIONS")
        .env_remove("TSAN_OPTIONS");
    let ended = process::run(command, &set.folder, &label, None, LIMIT)?;
    let text = std::fs::read_to_string(&json)?;
    let report: Report = serde_json::from_str(&text)?;
    let shown = || {
        format!(
            "status {}, findings: {:#?}\n{}",
            ended.code(),
            report.findings,
            ended.stderr
        )
    };
    match twin {
        "ok" if report.findings.is_empty() && ended.code() == 0 => Ok(()),
        "ok" => Err(format!("{case} is right, but: {}", shown()).into()),
        _ if report.findings.is_empty() || ended.code() != 1 => {
            Err(format!("{case} has a race, but: {}", shown()).into())
        }
        _ => match report
            .findings
            .iter()
            .find(|finding| !expected(finding, file))
        {
            Some(other) => Err(format!("{case} has a race in {file}, but also: {other:#?}").into()),
            None => Ok(()),
        },
    }
}

/// A race, with calls of the case's file on both sides.
fn expected(finding: &Finding, file: &str) -> bool {
    let kind = matches!(
        finding.kind,
        FindingKind::DataRace | FindingKind::UseAfterFree
    );
    let here = |access: &deadheat_model::Access| {
        access.stack.iter().any(|frame| {
            let named = frame.file.as_deref().unwrap_or_default();
            named.ends_with(file) || SHARED.iter().any(|shared| named.ends_with(shared))
        })
    };
    kind && finding.accesses.len() == 2 && finding.accesses.iter().all(here)
}

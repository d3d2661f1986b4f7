//! Every program in `ui/`, with every compiler, as a test of its own.
//!
//!     cargo test -p deadheat-tests --test ui                      all of them
//!     cargo test -p deadheat-tests --test ui -- mutex/ gcc        those whose name holds `mutex/` (see `-- --help`)
//!     DEADHEAT_BLESS=1 cargo test -p deadheat-tests --test ui     write the kept text reports anew
//!     DEADHEAT_BIN=path/to/deadheat cargo test ...                a command that is built already
//!     cargo test -p deadheat-tests --test ui -- recorded          those that are recorded and checked afterwards
//!     DEADHEAT_UI_RECORDED=all cargo test ...                     all of them so
//!     DEADHEAT_UI_ORACLE=tsan cargo test ...                      check the programs with ThreadSanitizer instead
#![forbid(unsafe_code)]

use deadheat_tests::build::Tool;
use deadheat_tests::check::check;
use deadheat_tests::directive::{Compiler, programs};
use deadheat_tests::random::{self, Family};
use deadheat_tests::random_loops;
use libtest_mimic::{Arguments, Trial};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Arc;

/// How many programs run at once unless `--test-threads` says otherwise: some more than there are cores, because each
/// waits now and then for a child to start or to be heard.
fn at_once() -> usize {
    std::thread::available_parallelism().map_or(2, std::num::NonZero::get) + 2
}

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert_with(at_once);
    let trials = match trials(&arguments) {
        Ok(trials) => trials,
        Err(what) => {
            eprintln!("ui tests: {what}");
            return ExitCode::from(2);
        }
    };
    let conclusion = libtest_mimic::run(&arguments, trials);
    if !arguments.list {
        println!(
            "{} passed, {} failed",
            conclusion.num_passed, conclusion.num_failed
        );
    }
    conclusion.exit_code()
}

fn trials(arguments: &Arguments) -> Result<Vec<Trial>, String> {
    let ui = Path::new(env!("CARGO_MANIFEST_DIR")).join("ui");
    let programs = programs(&ui)?;
    let oracle = match std::env::var("DEADHEAT_UI_ORACLE").as_deref() {
        Ok("tsan") => true,
        Ok(other) => {
            return Err(format!(
                "DEADHEAT_UI_ORACLE is `tsan` or unset, not `{other}`"
            ));
        }
        Err(_) => false,
    };
    let tool = Arc::new(match (oracle, arguments.list) {
        (true, _) => Tool::Tsan,
        (false, true) => Tool::Deadheat(PathBuf::new()),
        (false, false) => Tool::Deadheat(deadheat()?),
    });
    let work = Path::new(env!("CARGO_TARGET_TMPDIR")).join("ui");
    let mut trials = Vec::new();
    for program in programs {
        let program = Arc::new(program);
        for compiler in program.compilers() {
            // The oracle is clang's ThreadSanitizer: newer than gcc's, and it knows more functions.
            if oracle && compiler == Compiler::Gcc {
                continue;
            }
            let skip = oracle && program.value("tsan").is_some();
            let name = format!("{} {}", program.name, compiler.name());
            let folder = work.join(name.replace(['/', ' ', '.'], "-"));
            let (program, tool) = (Arc::clone(&program), Arc::clone(&tool));
            let test = move || check(&tool, &program, compiler, &folder).map_err(Into::into);
            trials.push(Trial::test(name, test).with_ignored_flag(skip));
        }
    }
    if let Tool::Deadheat(deadheat) = tool.as_ref() {
        trials.extend(recorded_trials(deadheat, &ui, &work)?);
    }
    if let Tool::Deadheat(deadheat) = tool.as_ref() {
        trials.extend(random_trials(deadheat, &ui.join("include"), &work));
    }
    Ok(trials)
}

/// Folders whose programs are also recorded and checked afterwards: they are about what orders accesses.
const RECORDED: [&str; 13] = [
    "annotate",
    "atomic",
    "barrier",
    "basic",
    "c11",
    "cond",
    "fence",
    "mutex",
    "once",
    "precision",
    "rwlock",
    "sem",
    "thread",
];

/// A recorded execution has the findings of one that is checked while it runs.
fn recorded_trials(deadheat: &Path, ui: &Path, work: &Path) -> Result<Vec<Trial>, String> {
    let all = std::env::var_os("DEADHEAT_UI_RECORDED").is_some();
    let tool = Arc::new(Tool::Recorded(deadheat.to_owned()));
    let mut trials = Vec::new();
    for program in programs(ui)? {
        let chosen = RECORDED
            .iter()
            .any(|folder| program.name.starts_with(&format!("{folder}/")));
        let compiler = Compiler::Clang;
        if !(all || chosen) || !program.compilers().contains(&compiler) {
            continue;
        }
        let name = format!("{} recorded", program.name);
        let folder = work.join(name.replace(['/', ' ', '.'], "-"));
        let tool = Arc::clone(&tool);
        let test = move || check(&tool, &program, compiler, &folder).map_err(Into::into);
        trials.push(Trial::test(name, test));
    }
    Ok(trials)
}

/// Programs of each family of random ones.
const RANDOM: u64 = 4;

fn random_trials(deadheat: &Path, include: &Path, work: &Path) -> Vec<Trial> {
    let mut trials = Vec::new();
    for family in Family::ALL {
        for number in 1..=RANDOM {
            for compiler in Compiler::ALL {
                let name = format!("random/{}-{number} {}", family.name(), compiler.name());
                let folder = work.join(name.replace(['/', ' '], "-"));
                let (deadheat, include) = (deadheat.to_owned(), include.to_owned());
                let test = move || {
                    random::check(&deadheat, family, number, compiler, &include, &folder)
                        .map_err(Into::into)
                };
                trials.push(Trial::test(name, test));
            }
        }
    }
    for number in 1..=RANDOM {
        for compiler in Compiler::ALL {
            let name = format!("random/loops-{number} {}", compiler.name());
            let folder = work.join(name.replace(['/', ' '], "-"));
            let (deadheat, include) = (deadheat.to_owned(), include.to_owned());
            let test = move || {
                random_loops::check(&deadheat, number, compiler, &include, &folder)
                    .map_err(Into::into)
            };
            trials.push(Trial::test(name, test));
        }
    }
    trials
}

/// The command under test: `DEADHEAT_BIN`, or built here.
fn deadheat() -> Result<PathBuf, String> {
    if let Some(path) = std::env::var_os("DEADHEAT_BIN") {
        let path = PathBuf::from(path);
        return path
            .canonicalize()
            .map_err(|error| format!("DEADHEAT_BIN={}: {error}", path.display()));
    }
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let target = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .parent()
        .ok_or("the target folder has no parent")?;
    let status = Command::new(&cargo)
        .args([
            "build",
            "--release",
            "--quiet",
            "-p",
            "deadheat-cli",
            "--target-dir",
        ])
        .arg(target)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .status()
        .map_err(|error| format!("cannot start {}: {error}", cargo.to_string_lossy()))?;
    if !status.success() {
        return Err(
            "deadheat does not build; try `cargo build --release -p deadheat-cli`".to_owned(),
        );
    }
    Ok(target.join("release").join("deadheat"))
}

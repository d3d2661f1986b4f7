//! `cargo deadheat` in small projects: what it does with flags, profiles and tests, and in bad conditions.
//!
//!     DEADHEAT_BIN=path/to/deadheat cargo test -p deadheat-tests --test ui_cargo
#![forbid(unsafe_code)]

#[path = "ui_cargo/configuration.rs"]
mod configuration;
#[path = "ui_cargo/known.rs"]
mod known;
#[path = "ui_cargo/standard.rs"]
mod standard;

use deadheat_tests::process::{self, Outcome};
use libtest_mimic::{Arguments, Failed, Trial};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

const TRIPLE: &str = "x86_64-unknown-linux-gnu";

/// Two threads and one place, and nothing that orders them.
const RACY: &str = r#"
use std::cell::UnsafeCell;
struct Shared(UnsafeCell<u64>);
unsafe impl Sync for Shared {}
static PLACE: Shared = Shared(UnsafeCell::new(0));
#[inline(never)]
fn touch() { unsafe { *PLACE.0.get() += 1 } }
pub fn race() {
    let child = std::thread::spawn(touch);
    touch();
    child.join().unwrap();
}
"#;

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert(2);
    let Some(deadheat) = std::env::var_os("DEADHEAT_BIN").map(PathBuf::from) else {
        eprintln!(
            "ui_cargo tests: set DEADHEAT_BIN to the deadheat command, as `make ui-rust` does"
        );
        return ExitCode::from(2);
    };
    let tests: &[(&'static str, Test)] = &[
        (
            "tests and examples in documentation",
            tests_and_documentation,
        ),
        ("each test in a process of its own", nextest),
        ("a profile with LTO, panic=abort and strip", hard_profile),
        ("a profile with line tables only", line_tables),
        ("flags of the user are kept", configuration::flags),
        (
            "flags, linker and runner of a target are kept",
            configuration::target_flags,
        ),
        ("the folder of the configuration", configuration::target_dir),
        (
            "several targets in the configuration",
            configuration::several_targets,
        ),
        (
            "the C compiler of the configuration",
            configuration::c_compiler,
        ),
        (
            "a linker alone, of the configuration",
            configuration::only_a_linker,
        ),
        (
            "build scripts and procedural macros stay as they are",
            host_code,
        ),
        ("an allocator of the program's own", own_allocator),
        ("a static C library", static_library),
        ("no project", no_project),
        ("a manifest with a mistake", configuration::mistake),
        ("a toolchain after the name", configuration::late_toolchain),
        ("another toolchain", standard::nightly),
        ("no C compiler", no_compiler),
        ("no cache", standard::no_cache),
        ("a cache that cannot be written", standard::shared_cache),
        ("a cache on a full disk", standard::full_disk),
        ("two bugs that meet in the library", two_bugs),
        ("one process is one", one_process),
        ("another processor or C library", other_target),
        ("a program that does not compile", broken),
        ("cargo-deadheat as cargo starts it", as_cargo_starts_it),
        ("a race that is a crate's own", known::crates_own),
        ("clean", standard::clean),
        ("benchmarks", benchmarks),
        (
            "a preparation that is killed, and two at once",
            standard::killed,
        ),
        ("a standard library without bitcode", standard::no_bitcode),
    ];
    let trials = tests.iter().map(|&(name, test)| {
        let deadheat = deadheat.clone();
        Trial::test(name, move || test(&Project::new(&deadheat, name)?))
    });
    libtest_mimic::run(&arguments, trials.collect()).exit_code()
}

/// What is checked in a project.
type Test = fn(&Project) -> Result<(), Failed>;

/// A package in a folder of its own.
struct Project {
    deadheat: PathBuf,
    dir: PathBuf,
}

impl Project {
    fn new(deadheat: &Path, name: &str) -> Result<Self, Failed> {
        let base = Path::new(env!("CARGO_TARGET_TMPDIR")).join("ui-cargo");
        let dir = base.join(name.replace([' ', ',', '='], "-"));
        if dir.exists() {
            fs::remove_dir_all(&dir)?;
        }
        fs::create_dir_all(dir.join("src"))?;
        Ok(Self {
            deadheat: deadheat.to_owned(),
            dir,
        })
    }

    fn write(&self, name: &str, text: &str) -> Result<&Self, Failed> {
        let path = self.dir.join(name);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(path, text)?;
        Ok(self)
    }

    fn manifest(&self, rest: &str) -> Result<&Self, Failed> {
        let text =
            "[package]\nname = \"small\"\nversion = \"0.0.0\"\nedition = \"2024\"\n[workspace]\n";
        self.write("Cargo.toml", &format!("{text}{rest}"))
    }

    /// A command that starts Deadheat here, away from what this test run was told.
    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.deadheat);
        command.arg("cargo").args(args).current_dir(&self.dir);
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            if text.starts_with("CARGO_PROFILE_") || text.starts_with("DEADHEAT") {
                command.env_remove(&name);
            }
        }
        // One prepared standard library serves all of these tests and those of the programs.
        let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("ui-rust/cache");
        command
            .env_remove("CARGO_TARGET_DIR")
            .env_remove("RUSTFLAGS")
            .env("XDG_CACHE_HOME", cache);
        command
    }

    /// The same with nothing but cargo and rustc on the `PATH`.
    fn command_without_compiler(&self, args: &[&str]) -> Result<Command, Failed> {
        let bin = self.dir.join("bin");
        fs::create_dir(&bin)?;
        // Without rustup's proxies: they find the toolchain by the PATH.
        for name in ["cargo", "rustc"] {
            let found = Command::new("rustup").args(["which", name]).output()?;
            let path = String::from_utf8_lossy(&found.stdout).trim().to_owned();
            std::os::unix::fs::symlink(path, bin.join(name))?;
        }
        let mut command = self.command(args);
        command.env("PATH", &bin).env_remove("CARGO");
        Ok(command)
    }

    /// A script that can be started.
    fn script(&self, name: &str, text: &str) -> Result<PathBuf, Failed> {
        self.write(name, &format!("#!/bin/sh\n{text}\n"))?;
        let path = self.dir.join(name);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
        Ok(path)
    }

    /// Another program, started where and with the variables that a command has.
    fn instead(&self, program: impl AsRef<OsStr>, command: &Command) -> Command {
        let mut other = Command::new(program);
        other.current_dir(&self.dir);
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => other.env(name, value),
                None => other.env_remove(name),
            };
        }
        other
    }

    /// A command as the last words of another.
    fn behind(&self, words: &[&str], command: &Command) -> Command {
        let mut other = self.instead(words[0], command);
        other.args(&words[1..]).arg(command.get_program());
        other.args(command.get_args());
        other
    }

    fn run(&self, command: Command) -> Result<Outcome, Failed> {
        Ok(process::run(
            command,
            &self.dir,
            "output",
            None,
            Duration::from_secs(300),
        )?)
    }
}

/// Fails with all that was said unless the status is the one expected and every text is among it.
fn expect(ended: &Outcome, status: i32, texts: &[&str]) -> Result<(), Failed> {
    let said = format!("{}{}", ended.stdout, ended.stderr);
    let missing = texts.iter().find(|text| !said.contains(**text));
    if ended.code() == status && missing.is_none() {
        return Ok(());
    }
    Err(format!(
        "status {} (expected {status}), missing {missing:?} in:\n{said}",
        ended.code()
    )
    .into())
}

fn tests_and_documentation(project: &Project) -> Result<(), Failed> {
    let documented = "/// ```\n/// small::race();\n/// ```\npub fn documented() {}\n";
    project
        .manifest("")?
        .write("src/lib.rs", &format!("{RACY}{documented}"))?;
    project.write(
        "tests/it.rs",
        "#[test]\nfn fine() {}\n#[test]\nfn a_test_with_a_long_name() { small::race() }\n",
    )?;
    let ended = project.run(project.command(&["test"]))?;
    expect(
        &ended,
        1,
        &[
            "small::touch",
            "src/lib.rs:7",
            "(it::a_test_with_a_long_name)",
            "1 finding (1 data race)",
            "with Deadheat's runtime took part",
            // Without a number: each process would begin with one.
            "deadheat: finding: data race: `small::PLACE`",
        ],
    )
}

fn nextest(project: &Project) -> Result<(), Failed> {
    if !Command::new("cargo-nextest")
        .arg("--version")
        .output()
        .is_ok_and(|answer| answer.status.success())
    {
        eprintln!("cargo-nextest is not installed here, so it is left out.");
        return Ok(());
    }
    project.manifest("")?.write(
        "src/lib.rs",
        &format!("{RACY}#[test]\nfn fine() {{}}\n#[test]\nfn shares() {{ race() }}\n"),
    )?;
    let ended = project.run(project.command(&["nextest", "run"]))?;
    expect(
        &ended,
        1,
        &["2 passed", "small::touch", "(small::shares)", "1 data race"],
    )
}

fn hard_profile(project: &Project) -> Result<(), Failed> {
    project
        .manifest("[profile.release]\nlto = \"fat\"\npanic = \"abort\"\nstrip = true\nsplit-debuginfo = \"packed\"\ncodegen-units = 1\n")?
        .write("src/main.rs", &format!("{RACY}\nfn main() {{ race(); println!(\"done\") }}\n"))?;
    let ended = project.run(project.command(&["run", "--release"]))?;
    expect(
        &ended,
        1,
        &[
            "done",
            "small::touch",
            "src/main.rs:7",
            "small::PLACE",
            "1 data race",
        ],
    )
}

/// Functions that were inlined have their whole names all the same.
fn line_tables(project: &Project) -> Result<(), Failed> {
    let inner = "mod inner {
    #[inline(always)]
    pub fn touch(place: *mut u64) { unsafe { *place += 1 } }
}
static mut PLACE: u64 = 0;
fn main() {
    let child = std::thread::spawn(|| inner::touch(&raw mut PLACE));
    inner::touch(&raw mut PLACE);
    child.join().unwrap();
}\n";
    project
        .manifest("[profile.dev]\nopt-level = 1\ndebug = \"line-tables-only\"\n")?
        .write("src/main.rs", inner)?;
    let ended = project.run(project.command(&["run"]))?;
    expect(&ended, 1, &["small::inner::touch", "src/main.rs:3"])
}

fn host_code(project: &Project) -> Result<(), Failed> {
    project
        .manifest("[dependencies]\nmade = { path = \"made\" }\n")?
        .write("made/Cargo.toml", "[package]\nname = \"made\"\nversion = \"0.0.0\"\nedition = \"2024\"\n[lib]\nproc-macro = true\n")?
        .write("made/src/lib.rs", "#[proc_macro]\npub fn answer(_: proc_macro::TokenStream) -> proc_macro::TokenStream { \"42\".parse().unwrap() }\n")?
        .write("build.rs", "fn main() { std::thread::spawn(|| println!(\"cargo::rustc-cfg=built\")).join().unwrap() }\n")?
        .write("src/main.rs", "fn main() { println!(\"{}\", made::answer!()) }\n")?;
    expect(
        &project.run(project.command(&["run"]))?,
        0,
        &["42", "nothing found"],
    )?;
    let host = project.dir.join("target/deadheat/debug");
    let mut seen = 0;
    for path in files(&host)? {
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if name == "build-script-build" || name.ends_with(".so") {
            seen += 1;
            let data = fs::read(&path)?;
            if data.windows(12).any(|window| window == b"__tsan_write") {
                return Err(format!("{} is instrumented", path.display()).into());
            }
        }
    }
    if seen < 2 {
        return Err(format!("only {seen} files of the build in {}", host.display()).into());
    }
    if project.dir.join("target/debug").exists() {
        return Err("the folder of normal builds was used".into());
    }
    Ok(())
}

fn files(dir: &Path) -> Result<Vec<PathBuf>, Failed> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(files(&path)?);
        } else {
            found.push(path);
        }
    }
    Ok(found)
}

fn own_allocator(project: &Project) -> Result<(), Failed> {
    let allocator = "
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};
struct Counting(AtomicUsize);
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 { self.0.fetch_add(1, Ordering::Relaxed); unsafe { System.alloc(layout) } }
    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) { unsafe { System.dealloc(place, layout) } }
}
#[global_allocator]
static ALLOCATOR: Counting = Counting(AtomicUsize::new(0));
";
    let calm = "fn main() {
    let threads: Vec<_> = (0..4).map(|n| std::thread::spawn(move || vec![n; 100])).collect();
    let sum: u64 = threads.into_iter().map(|thread| thread.join().unwrap()[7]).sum();
    println!(\"{sum} {}\", ALLOCATOR.0.load(Ordering::Relaxed) > 4);
}\n";
    project
        .manifest("")?
        .write("src/main.rs", &format!("{allocator}{calm}"))?;
    expect(
        &project.run(project.command(&["run"]))?,
        0,
        &["6 true", "nothing found"],
    )
}

fn static_library(project: &Project) -> Result<(), Failed> {
    let main = format!(
        "{RACY}\nfn main() {{ if std::env::args().len() > 1 {{ race() }} println!(\"done\") }}\n"
    );
    project.manifest("")?.write("src/main.rs", &main)?;
    let run = |args: &[&str]| {
        let mut command = project.command(args);
        command.env("RUSTFLAGS", "-Ctarget-feature=+crt-static");
        project.run(command)
    };
    expect(&run(&["run"])?, 0, &["done", "nothing found"])?;
    expect(
        &run(&["run", "--", "x"])?,
        1,
        &["done", "small::touch", "1 data race"],
    )
}

fn no_project(project: &Project) -> Result<(), Failed> {
    let mut command = project.command(&["test"]);
    command.current_dir("/");
    expect(
        &project.run(command)?,
        2,
        &["there is no cargo project to check here", "--manifest-path"],
    )
}

fn no_compiler(project: &Project) -> Result<(), Failed> {
    project
        .manifest("")?
        .write("src/main.rs", "fn main() {}\n")?;
    expect(
        &project.run(project.command_without_compiler(&["run"])?)?,
        2,
        &["no C compiler is on the PATH", "apt-get install gcc"],
    )
}

fn one_process(project: &Project) -> Result<(), Failed> {
    project
        .manifest("")?
        .write("src/main.rs", "fn main() {}\n")?;
    let ended = project.run(project.command(&["run"]))?;
    expect(&ended, 0, &["1 process with Deadheat's runtime took part"])?;
    expect(
        &project.run(project.command(&["--version"]))?,
        0,
        &["deadheat 0."],
    )
}

/// Both write in the same function of the standard library, to blocks that it allocated in one place.
fn two_bugs(project: &Project) -> Result<(), Failed> {
    let main = "use std::cell::Cell;
struct Shared(Box<Cell<u64>>);
unsafe impl Sync for Shared {}
fn first(shared: &Shared) { shared.0.set(1) }
fn second(shared: &Shared) { shared.0.set(2) }
fn main() {
    let one = Shared(Box::new(Cell::new(0)));
    let other = Shared(Box::new(Cell::new(0)));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| { first(&one); second(&other) });
        }
    });
}\n";
    project.manifest("")?.write("src/main.rs", main)?;
    expect(
        &project.run(project.command(&["run"]))?,
        1,
        &[
            "src/main.rs:4:",
            "src/main.rs:5:",
            "2 findings (2 data races)",
        ],
    )
}

fn other_target(project: &Project) -> Result<(), Failed> {
    project
        .manifest("")?
        .write("src/main.rs", "fn main() {}\n")?;
    for target in ["aarch64-unknown-linux-gnu", "x86_64-unknown-linux-musl"] {
        let ended = project.run(project.command(&["run", "--target", target]))?;
        expect(&ended, 2, &[&format!("no runtime for {target}"), TRIPLE])?;
    }
    Ok(())
}

fn broken(project: &Project) -> Result<(), Failed> {
    project
        .manifest("")?
        .write("src/main.rs", "fn main() { nonsense }\n")?;
    expect(&project.run(project.command(&["run"]))?, 101, &["nonsense"])
}

fn as_cargo_starts_it(project: &Project) -> Result<(), Failed> {
    project
        .manifest("")?
        .write("src/main.rs", "fn main() { println!(\"ran\") }\n")?;
    let own = project.deadheat.with_file_name("cargo-deadheat");
    let mut cargo = project.instead(own, &project.command(&[]));
    cargo.args(["deadheat", "run", "--quiet"]);
    expect(&project.run(cargo)?, 0, &["ran", "nothing found"])
}

fn benchmarks(project: &Project) -> Result<(), Failed> {
    project
        .manifest("[[bench]]\nname = \"quick\"\nharness = false\n")?
        .write("src/lib.rs", RACY)?;
    project.write(
        "benches/quick.rs",
        "fn main() { small::race(); println!(\"measured\") }\n",
    )?;
    expect(
        &project.run(project.command(&["bench"]))?,
        1,
        &["measured", "small::touch", "1 data race"],
    )
}

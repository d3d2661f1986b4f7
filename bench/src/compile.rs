//! Builds a program once per `Build`, object by object, and again only when a source or the command changed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use crate::catalogue::{Kind, Program};
use crate::error::{Error, Result};
use crate::layout::Layout;
use crate::sources;
use crate::tool::Build;

/// One source file with the flags it needs.
struct Unit {
    source: PathBuf,
    flags: Vec<String>,
    cxx: bool,
}

/// What a program is made of.
struct Recipe {
    units: Vec<Unit>,
    libraries: Vec<&'static str>,
}

/// The built program for this build, compiled now if need be.
pub fn program(layout: &Layout, program: &Program, build: Build) -> Result<PathBuf> {
    let recipe = recipe(layout, program)?;
    compile(layout, program.name, &recipe, build)
}

/// A single C file of ours outside the catalogue (micro-benchmarks, the soak test, the load client).
pub fn single(layout: &Layout, name: &str, source: &str, build: Build) -> Result<PathBuf> {
    let units = vec![unit(layout.bench.join(source), Vec::new())];
    compile(
        layout,
        name,
        &Recipe {
            units,
            libraries: vec!["-pthread"],
        },
        build,
    )
}

fn unit(source: PathBuf, flags: Vec<String>) -> Unit {
    let cxx = source.extension().is_some_and(|x| x == "cpp");
    Unit { source, flags, cxx }
}

fn recipe(layout: &Layout, program: &Program) -> Result<Recipe> {
    match program.kind {
        Kind::Kernel => {
            let source = layout
                .bench
                .join("kernels")
                .join(format!("{}.c", program.name));
            Ok(Recipe {
                units: vec![unit(source, Vec::new())],
                libraries: vec!["-lm", "-pthread"],
            })
        }
        Kind::Pbzip2 => pbzip2(layout),
        Kind::Sqlite => sqlite(layout),
        Kind::Zstd => zstd(layout),
        Kind::Memcached => memcached(layout),
    }
}

fn words(flags: &[&str]) -> Vec<String> {
    flags.iter().map(|f| f.to_string()).collect()
}

fn include(dir: &Path) -> String {
    format!("-I{}", dir.display())
}

fn pbzip2(layout: &Layout) -> Result<Recipe> {
    let bzip2 = sources::debian(layout, "bzip2")?;
    let pbzip2 = sources::debian(layout, "pbzip2")?;
    let mut units = Vec::new();
    for name in [
        "blocksort",
        "huffman",
        "crctable",
        "randtable",
        "compress",
        "decompress",
        "bzlib",
    ] {
        units.push(unit(
            bzip2.join(format!("{name}.c")),
            words(&["-D_FILE_OFFSET_BITS=64"]),
        ));
    }
    for name in ["pbzip2", "BZ2StreamScanner", "ErrorContext"] {
        let mut flags = words(&[
            "-D_POSIX_PTHREAD_SEMANTICS",
            "-D_LARGEFILE64_SOURCE",
            "-D_FILE_OFFSET_BITS=64",
            "-DUSE_STACKSIZE_CUSTOMIZATION",
            // Its literals predate C++11.
            "-std=gnu++98",
        ]);
        flags.push(include(&bzip2));
        units.push(unit(pbzip2.join(format!("{name}.cpp")), flags));
    }
    Ok(Recipe {
        units,
        libraries: vec!["-pthread"],
    })
}

fn sqlite(layout: &Layout) -> Result<Recipe> {
    let sqlite = sources::crates_io(layout, "libsqlite3-sys")?.join("sqlite3");
    let flags = words(&["-DSQLITE_THREADSAFE=1", "-DSQLITE_OMIT_LOAD_EXTENSION"]);
    let units = vec![
        unit(sqlite.join("sqlite3.c"), flags),
        unit(
            layout.bench.join("drivers/sqlite.c"),
            vec![include(&sqlite)],
        ),
    ];
    Ok(Recipe {
        units,
        libraries: vec!["-lm", "-pthread"],
    })
}

fn zstd(layout: &Layout) -> Result<Recipe> {
    let lib = sources::crates_io(layout, "zstd-sys")?.join("zstd/lib");
    let mut units = Vec::new();
    for folder in ["common", "compress", "decompress"] {
        let dir = lib.join(folder);
        let mut files: Vec<PathBuf> = fs::read_dir(&dir)
            .map_err(|e| Error::io("cannot read", &dir, &e))?
            .flatten()
            .map(|f| f.path())
            .filter(|p| p.extension().is_some_and(|x| x == "c"))
            .collect();
        files.sort();
        units.extend(
            files
                .into_iter()
                .map(|f| unit(f, words(&["-DZSTD_MULTITHREAD", "-DZSTD_DISABLE_ASM"]))),
        );
    }
    units.push(unit(
        layout.bench.join("drivers/zstd.c"),
        vec![include(&lib)],
    ));
    Ok(Recipe {
        units,
        libraries: vec!["-pthread"],
    })
}

fn memcached(layout: &Layout) -> Result<Recipe> {
    let event = sources::libevent(layout)?;
    let (source, build) = sources::memcached(layout, &event)?;
    let mut units = Vec::new();
    for name in [
        "buffer",
        "bufferevent",
        "bufferevent_filter",
        "bufferevent_pair",
        "bufferevent_ratelim",
        "bufferevent_sock",
        "event",
        "evmap",
        "evthread",
        "evutil",
        "evutil_rand",
        "evutil_time",
        "listener",
        "log",
        "signal",
        "epoll",
        "poll",
        "select",
        "strlcpy",
    ] {
        let mut flags = words(&["-DHAVE_CONFIG_H", "-fno-strict-aliasing"]);
        for dir in [
            event.build.clone(),
            event.build.join("include"),
            event.source.clone(),
            event.source.join("include"),
            event.source.join("compat"),
        ] {
            flags.push(include(&dir));
        }
        units.push(unit(event.source.join(format!("{name}.c")), flags));
    }
    for name in [
        "memcached",
        "hash",
        "jenkins_hash",
        "murmur3_hash",
        "slabs",
        "items",
        "assoc",
        "thread",
        "daemon",
        "stats_prefix",
        "util",
        "cache",
        "bipbuffer",
        "base64",
        "logger",
        "crawler",
        "itoa_ljust",
        "slab_automove",
        "authfile",
        "restart",
        "proto_text",
        "proto_bin",
        "extstore",
        "crc32c",
        "storage",
        "slab_automove_extstore",
    ] {
        let mut flags = words(&["-DHAVE_CONFIG_H", "-DNDEBUG", "-pthread"]);
        for dir in [build.clone(), event.prefix.join("include")] {
            flags.push(include(&dir));
        }
        units.push(unit(source.join(format!("{name}.c")), flags));
    }
    Ok(Recipe {
        units,
        libraries: vec!["-pthread"],
    })
}

fn modified(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).and_then(|m| m.modified()).ok()
}

/// Whether `output` is there, younger than all inputs and made by the same command.
fn fresh(output: &Path, inputs: &[PathBuf], command: &[String]) -> bool {
    let Some(made) = modified(output) else {
        return false;
    };
    let same =
        fs::read_to_string(output.with_extension("cmd")).is_ok_and(|c| c == command.join("\n"));
    same && inputs
        .iter()
        .all(|i| modified(i).is_some_and(|t| t <= made))
}

/// Runs one compiler command, unless its output is fresh.
fn make(
    output: &Path,
    inputs: &[PathBuf],
    command: &[String],
    environment: &[(&str, &str)],
) -> Result<()> {
    if fresh(output, inputs, command) {
        return Ok(());
    }
    let result = Command::new(&command[0])
        .args(&command[1..])
        .envs(environment.iter().copied())
        .output();
    let result = result.map_err(|e| Error::new(format!("cannot start {}: {e}", command[0])))?;
    if !result.status.success() {
        return Err(Error::new(format!(
            "compiling failed: {}\n{}",
            command.join(" "),
            String::from_utf8_lossy(&result.stderr)
        )));
    }
    let file = output.with_extension("cmd");
    fs::write(&file, command.join("\n")).map_err(|e| Error::io("cannot write", &file, &e))
}

fn compile(layout: &Layout, name: &str, recipe: &Recipe, build: Build) -> Result<PathBuf> {
    let dir = layout.cached_dir(&format!("build/{name}-{}", build.name()))?;
    let mut common: Vec<PathBuf> = vec![layout.bench.join("kernels/kernel.h")];
    if build == Build::Deadheat {
        if !layout.deadheat.is_file() {
            return Err(Error::new(format!(
                "there is no {}; build it first: cargo build --release -p deadheat-cli",
                layout.deadheat.display()
            )));
        }
        common.push(layout.deadheat.clone());
    }
    let mut objects = Vec::new();
    let mut jobs = Vec::new();
    for u in &recipe.units {
        let stem = u.source.file_stem().unwrap_or_default().to_string_lossy();
        let folder = u
            .source
            .parent()
            .and_then(Path::file_name)
            .unwrap_or_default()
            .to_string_lossy();
        let object = dir.join(format!("{folder}-{stem}.o"));
        let mut command = build.compiler(u.cxx, &layout.deadheat);
        command.extend(words(build.compile_flags()));
        command.extend(u.flags.iter().cloned());
        command.extend([
            "-w".to_string(),
            "-c".to_string(),
            u.source.display().to_string(),
        ]);
        command.extend(["-o".to_string(), object.display().to_string()]);
        let mut inputs = common.clone();
        inputs.push(u.source.clone());
        jobs.push((object.clone(), inputs, command, build.environment(u.cxx)));
        objects.push(object);
    }
    in_parallel(&jobs)?;

    let cxx = recipe.units.iter().any(|u| u.cxx);
    let output = dir.join(name);
    let empty = empty_runtime(layout)?;
    let mut command = build.compiler(cxx, &layout.deadheat);
    command.extend(objects.iter().map(|o| o.display().to_string()));
    command.extend(
        build
            .link_flags(&empty)
            .iter()
            .map(|o| o.display().to_string()),
    );
    command.extend(recipe.libraries.iter().map(|l| l.to_string()));
    command.extend(["-o".to_string(), output.display().to_string()]);
    let mut inputs = common;
    inputs.extend(objects);
    inputs.push(empty);
    make(&output, &inputs, &command, &build.environment(cxx))?;
    Ok(output)
}

type CompileJob = (
    PathBuf,
    Vec<PathBuf>,
    Vec<String>,
    Vec<(&'static str, &'static str)>,
);

/// Two compilers at a time.
fn in_parallel(jobs: &[CompileJob]) -> Result<()> {
    let next = std::sync::atomic::AtomicUsize::new(0);
    let worker = || -> Result<()> {
        loop {
            let i = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            let Some((output, inputs, command, environment)) = jobs.get(i) else {
                return Ok(());
            };
            make(output, inputs, command, environment)?;
        }
    };
    std::thread::scope(|scope| {
        let other = scope.spawn(worker);
        let mine = worker();
        let theirs = other
            .join()
            .map_err(|_| Error::new("a compile thread panicked"))?;
        mine.and(theirs)
    })
}

/// The object with the empty hooks.
fn empty_runtime(layout: &Layout) -> Result<PathBuf> {
    ours(layout, "runtime/empty.c", "empty-runtime.o", "-c")
}

/// The program that stands between the runner and what it measures; static, so that it is small.
pub fn launcher(layout: &Layout) -> Result<PathBuf> {
    ours(layout, "drivers/launch.c", "launch", "-static")
}

fn ours(layout: &Layout, source: &str, output: &str, flag: &str) -> Result<PathBuf> {
    let source = layout.bench.join(source);
    let output = layout.cached_dir("build")?.join(output);
    let (from, to) = (source.display().to_string(), output.display().to_string());
    make(
        &output,
        &[source],
        &words(&["clang-19", "-O2", flag, &from, "-o", &to]),
        &[],
    )?;
    Ok(output)
}

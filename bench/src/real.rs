//! Real programs as tests: built with `deadheat cc` the way their own build systems do it, driven by a real workload,
//! with every finding printed.
//!
//! memcached and libevent go through `./configure` and `make`, pbzip2 through its Makefile, SQLite and zstd are compiled
//! file by file as cargo's build scripts would. The workload's result is compared with a native build's.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::args::Args;
use crate::catalogue::{Kind, Program};
use crate::compile;
use crate::error::{Error, Result};
use crate::findings;
use crate::layout::Layout;
use crate::sources::{self, NO_AUTOTOOLS, run_logged};
use crate::tool::{Build, Tool};
use crate::workload::Run;

/// Builds, drives and reports every real program. Returns 1 when something was found, else 0.
pub fn run(layout: &Layout, args: &Args) -> Result<u8> {
    let mut total = 0;
    for program in args.programs.iter().filter(|p| p.is_real()) {
        let found = drive(layout, args, program)?;
        println!(
            "{}: result as native, {} findings",
            program.name,
            found.len()
        );
        for (i, finding) in found.iter().enumerate() {
            println!("{}", indent(&format!("{}. {finding}", i + 1)));
        }
        total += found.len();
    }
    Ok(u8::from(total > 0))
}

fn indent(text: &str) -> String {
    text.lines().map(|l| format!("  {l}\n")).collect()
}

/// The findings of one program, shown as text.
fn drive(layout: &Layout, args: &Args, program: &Program) -> Result<Vec<String>> {
    eprintln!("bench: building {} with deadheat cc", program.name);
    let ours = build(layout, program)?;
    let native = compile::program(layout, program, Build::Native)?;
    let scratch = layout.cached_dir("scratch")?;
    let log = scratch.join(format!("{}-findings.json", program.name));
    let _ = fs::remove_file(&log);
    let size = if args.quick {
        program.quick_size
    } else {
        program.size
    };
    let run = |tool, binary: &Path, prefix| {
        Run {
            layout,
            program,
            tool,
            binary,
            size,
            threads: args.threads,
            limit: args.limit,
            prefix,
        }
        .go()
    };
    let expected = run(Tool::Native, &native, None)?;
    let words = ["run", "--format", "json", "--log"];
    let mut prefix = vec![layout.deadheat.display().to_string()];
    prefix.extend(words.iter().map(|w| w.to_string()));
    prefix.push(log.display().to_string());
    let got = run(Tool::Deadheat, &ours, Some(prefix))?;
    if got.checksum != expected.checksum {
        return Err(Error::new(format!(
            "{} under Deadheat computed {} instead of {}; see {}",
            program.name,
            if got.checksum.is_empty() {
                "nothing in time"
            } else {
                &got.checksum
            },
            expected.checksum,
            got.stderr.display()
        )));
    }
    let report = fs::read_to_string(&log).map_err(|e| Error::io("cannot read", &log, &e))?;
    let list =
        findings::read(&report).map_err(|e| Error::new(format!("{}: {e}", log.display())))?;
    Ok(list.iter().map(findings::show).collect())
}

/// The program built with `deadheat cc` by its own build system where it has one.
fn build(layout: &Layout, program: &Program) -> Result<PathBuf> {
    match program.kind {
        Kind::Kernel | Kind::Sqlite | Kind::Zstd => {
            compile::program(layout, program, Build::Deadheat)
        }
        Kind::Pbzip2 => pbzip2(layout),
        Kind::Memcached => memcached(layout),
    }
}

fn driver(layout: &Layout, which: &str) -> String {
    format!("{} {which}", layout.deadheat.display())
}

fn copy_of(source: &Path, to: &Path) -> Result<()> {
    if to.exists() {
        fs::remove_dir_all(to).map_err(|e| Error::io("cannot remove", to, &e))?;
    }
    let status = Command::new("cp").arg("-a").arg(source).arg(to).status();
    match status {
        Ok(s) if s.success() => Ok(()),
        _ => Err(Error::new(format!(
            "cannot copy {} to {}",
            source.display(),
            to.display()
        ))),
    }
}

/// libbz2 and pbzip2 by their Makefiles.
fn pbzip2(layout: &Layout) -> Result<PathBuf> {
    let root = layout.cached_dir("real")?;
    let (bzip2, pbzip2) = (root.join("bzip2"), root.join("pbzip2"));
    let log = root.join("pbzip2.log");
    copy_of(&sources::debian(layout, "bzip2")?, &bzip2)?;
    copy_of(&sources::debian(layout, "pbzip2")?, &pbzip2)?;
    let cc = format!("CC={}", driver(layout, "cc"));
    run_logged(
        Command::new("make")
            .args(["libbz2.a", "CFLAGS=-O2 -g -D_FILE_OFFSET_BITS=64", &cc])
            .current_dir(&bzip2),
        &log,
    )?;
    let mut make = Command::new("make");
    make.arg("pbzip2")
        .arg(format!("CXX={}", driver(layout, "c++")));
    make.env(
        "CPPFLAGS",
        format!("-O2 -g -std=gnu++98 -I{}", bzip2.display()),
    )
    .env("LDFLAGS", format!("-L{}", bzip2.display()));
    run_logged(make.current_dir(&pbzip2), &log)?;
    Ok(pbzip2.join("pbzip2"))
}

/// libevent and memcached by configure and make.
fn memcached(layout: &Layout) -> Result<PathBuf> {
    let root = layout.cached_dir("real")?;
    let (event, prefix, build) = (
        root.join("libevent"),
        root.join("prefix"),
        root.join("memcached"),
    );
    let log = root.join("memcached.log");
    let cc = format!("CC={}", driver(layout, "cc"));
    for dir in [&event, &build] {
        if dir.exists() {
            fs::remove_dir_all(dir).map_err(|e| Error::io("cannot remove", dir, &e))?;
        }
        fs::create_dir_all(dir).map_err(|e| Error::io("cannot create", dir, &e))?;
    }
    let mut configure = Command::new(sources::debian(layout, "libevent")?.join("configure"));
    configure
        .args(sources::LIBEVENT_OPTIONS)
        .arg(format!("--prefix={}", prefix.display()))
        .arg(&cc);
    run_logged(configure.current_dir(&event), &log)?;
    run_logged(
        Command::new("make")
            .args(NO_AUTOTOOLS)
            .args(["-j2", "install"])
            .current_dir(&event),
        &log,
    )?;
    let mut configure = Command::new(sources::debian(layout, "memcached")?.join("configure"));
    configure
        .arg(format!("--with-libevent={}", prefix.display()))
        .arg(&cc);
    run_logged(configure.current_dir(&build), &log)?;
    run_logged(
        Command::new("make")
            .args(NO_AUTOTOOLS)
            .args(["-j2", "memcached"])
            .current_dir(&build),
        &log,
    )?;
    Ok(build.join("memcached"))
}

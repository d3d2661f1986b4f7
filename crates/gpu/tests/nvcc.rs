//! What NVIDIA's own compiler makes: its PTX through `check`, and whole programs, with their device code packed in
//! every way, through `run`. Left out, with a sentence, where its tools could not be installed.

#[path = "common/mod.rs"]
mod common;

use std::path::Path;
use std::process::{Command, Output};

use common::{corpus, files, nvidia};

fn nvcc(tools: &Path, args: &[&str], source: &Path, out: &Path) -> Output {
    let o = Command::new(tools.join("bin/nvcc"))
        .args(["-lineinfo", "-Xcicc", "-O0"])
        .args(args)
        .arg(source)
        .arg("-o")
        .arg(out)
        .output()
        .expect("nvcc starts");
    assert!(
        o.status.success(),
        "{}: {}",
        source.display(),
        String::from_utf8_lossy(&o.stderr)
    );
    o
}

struct Scratch(std::path::PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let dir = std::env::temp_dir().join(format!("deadheat-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&dir).expect("scratch");
        Scratch(dir)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn its_ptx_gives_the_same_findings() {
    let Some(tools) = nvidia() else { return };
    let dir = Scratch::new("nvcc-ptx");
    let mut failures = Vec::new();
    for f in files(&corpus(), &["cu"]) {
        let out = dir.0.join("k.ptx");
        nvcc(&tools, &["-ptx", "-arch=compute_80"], &f, &out);
        let ptx = std::fs::read_to_string(&out).expect("PTX");
        let (_, bad) = common::run(&f, &ptx, &["both", "static"]);
        let name = f.file_name().unwrap_or_default().to_string_lossy();
        failures.extend(bad.into_iter().map(|b| format!("{name}: {b}")));
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn its_programs_run_and_their_races_are_found() {
    let Some(tools) = nvidia() else { return };
    let tool = env!("CARGO_BIN_EXE_deadheat-gpu");
    let dir = Scratch::new("nvcc-run");
    let lib = format!("-L{}", tools.join("lib").display());
    let packing = [
        "-no-compress",
        "-compress-mode=speed",
        "-compress-mode=size",
        "-compress-mode=default",
    ];
    let programs = files(&corpus().join("programs"), &["cu"]);
    let streams = files(&corpus().join("streams"), &["cu"]);
    for (k, p) in programs.iter().chain(&streams).enumerate() {
        let name = p.file_stem().unwrap_or_default().to_string_lossy();
        let source = std::fs::read_to_string(p).expect("source");
        let exe = dir.0.join(&*name);
        let mut args = vec![
            "-cudart",
            "shared",
            "-gencode",
            "arch=compute_80,code=compute_80",
            packing[k % packing.len()],
            &lib,
        ];
        if source.contains("default-stream=per-thread") {
            args.extend(["-default-stream", "per-thread"]);
        }
        nvcc(&tools, &args, p, &exe);
        let o = Command::new(tool)
            .args(["run", "--threads", "1"])
            .arg(&exe)
            .output()
            .expect("run");
        let (out, err) = (
            String::from_utf8_lossy(&o.stdout),
            String::from_utf8_lossy(&o.stderr),
        );
        let (code, says) = match &*name {
            "racy" => (1, "data race in a kernel"),
            "errors" => (1, "access out of bounds"),
            _ if source.contains("// race @") => (1, "race between GPU operations"),
            _ => (0, "nothing found"),
        };
        assert_eq!(o.status.code(), Some(code), "{name}: {out}{err}");
        assert!(err.contains(says), "{name}: {err}");
        if name != "racy" {
            assert!(out.ends_with("ok\n"), "{name}: {out}");
        }
    }
}

/// With the toolkit's own headers: grid-wide barriers order blocks, and without one their race is found.
#[test]
fn cooperative_groups_order_the_grid() {
    let Some(tools) = nvidia() else { return };
    let dir = Scratch::new("nvcc-cg");
    let lib = format!("-L{}", tools.join("lib").display());
    for (define, code, says) in [
        ("-DFINE", 0, "nothing found"),
        ("-DRACY", 1, "data race in a kernel"),
    ] {
        let exe = dir.0.join("cooperative");
        let args = [
            "-std=c++17",
            "-cudart",
            "shared",
            "-gencode",
            "arch=compute_80,code=compute_80",
            define,
            &lib,
        ];
        nvcc(&tools, &args, &corpus().join("nvcc/cooperative.cu"), &exe);
        let o = Command::new(env!("CARGO_BIN_EXE_deadheat-gpu"))
            .args(["run", "--threads", "1"])
            .arg(&exe)
            .output()
            .expect("run");
        let err = String::from_utf8_lossy(&o.stderr);
        assert_eq!(o.status.code(), Some(code), "{define}: {err}");
        assert!(err.contains(says), "{define}: {err}");
        if code == 1 {
            // The lines are the program's, not those of the headers.
            assert!(err.contains("cooperative.cu:10"), "{err}");
            assert!(err.contains("cooperative.cu:14"), "{err}");
        }
    }
}

//! Oclgrind on the same kernels: its kernel runner is given the same source, launch and data.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use deadheat_gpu::frontend::launch::{Arg, Elem, Init, fill};

use super::bench::{Case, file};
use super::measure::{Cost, child};

/// Is it installed?
pub fn version() -> Option<String> {
    let out = Command::new("oclgrind-kernel")
        .arg("--version")
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&out.stdout);
    text.lines()
        .find(|l| l.contains("Oclgrind"))
        .map(|l| l.trim().to_string())
}

fn values(elem: Elem, count: u64, init: &Init) -> String {
    let data = fill(elem, count, init).expect("fills");
    let mut out = String::new();
    for w in data.chunks_exact(4) {
        let w = [w[0], w[1], w[2], w[3]];
        let _ = match elem {
            Elem::F32 => write!(out, "{} ", f32::from_le_bytes(w)),
            _ => write!(out, "{} ", i32::from_le_bytes(w)),
        };
    }
    out.push('\n');
    out
}

/// Writes the description of a launch as Oclgrind reads it.
pub fn describe(source: &str, case: &Case, dir: &Path) -> PathBuf {
    let s = &case.spec;
    let size = |d: [u32; 3]| format!("{} {} {}\n", d[0], d[1], d[2]);
    let all = [0, 1, 2].map(|k| s.grid[k] * s.block[k]);
    let kernel = s.kernel.as_deref().unwrap_or("");
    let mut text = format!(
        "{}\n{kernel}\n{}{}",
        file(source).display(),
        size(all),
        size(s.block)
    );
    for a in &s.args {
        match a {
            Arg::Buffer { elem, count, init } => {
                let ty = if *elem == Elem::F32 { "float" } else { "int" };
                let bytes = count * elem.bytes();
                let _ = match init {
                    Init::Zero => writeln!(text, "<size={bytes} {ty} fill=0>"),
                    Init::Const(v) => writeln!(text, "<size={bytes} {ty} fill={v}>"),
                    other => writeln!(
                        text,
                        "<size={bytes} {ty}>\n{}",
                        values(*elem, *count, other).trim_end()
                    ),
                };
            }
            Arg::Integer(v) => {
                let _ = writeln!(text, "<size=4 int>\n{v}");
            }
            Arg::Local(n) => {
                let _ = writeln!(text, "<size={n}>");
            }
            other => panic!("{}: {other:?} is not used here", case.name),
        }
    }
    let path = dir.join(format!("{}.sim", case.name));
    std::fs::write(&path, text).expect("writes the launch");
    path
}

fn start(sim: &Path, options: &[&str]) -> (Output, Cost) {
    child(|| {
        Command::new("oclgrind-kernel")
            .args(options)
            .args(["--num-threads", "1"])
            .arg(sim)
            .output()
            .expect("oclgrind-kernel")
    })
}

/// What it takes to check a launch, with starting and compiling.
pub fn check(sim: &Path) -> Cost {
    start(sim, &["--data-races"]).1
}

/// Does it report a data race?
pub fn finds(sim: &Path, defines: &str) -> bool {
    let (out, _) = start(
        sim,
        &[
            "--data-races",
            "--max-errors",
            "1",
            "--build-options",
            defines,
        ],
    );
    let text = String::from_utf8_lossy(&out.stderr) + String::from_utf8_lossy(&out.stdout);
    text.contains("data race")
}

/// Loads, stores and atomics of local and global memory that it executes.
pub fn accesses(sim: &Path) -> u64 {
    let (out, _) = start(sim, &["--inst-counts"]);
    let text = String::from_utf8_lossy(&out.stdout);
    text.lines()
        .filter_map(|l| l.split_once(" - "))
        .filter(|(_, what)| {
            let memory = what.starts_with("load ") || what.starts_with("store ");
            (memory && !what.contains("private") && !what.contains("constant"))
                || what.contains("atomic")
        })
        .filter_map(|(n, _)| n.trim().parse::<u64>().ok())
        .sum()
}

/// What starting it and compiling the suite takes: a launch of one work-item that does nothing worth counting.
pub fn overhead(source: &str, case: &Case, dir: &Path) -> Cost {
    let mut small = case.clone();
    small.name = "start".into();
    small.spec.grid = [1; 3];
    small.spec.block = [1; 3];
    let sim = describe(source, &small, dir);
    check(&sim).best(check(&sim))
}

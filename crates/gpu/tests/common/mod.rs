//! What the tests on kernels share: the expectations written in `tests/gpu`, and NVIDIA's tools where there are any.

// Not every test uses all of it.
#![allow(dead_code)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use deadheat_gpu::check::Scheme;
use deadheat_gpu::frontend::cli;
use deadheat_gpu::frontend::finding::lines;
use deadheat_gpu::frontend::session::check_ptx;
use deadheat_model::FindingKind;

/// `tests/gpu`.
pub fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/gpu")
}

/// The files of a folder with one of these endings, in order.
pub fn files(dir: &Path, ends: &[&str]) -> Vec<PathBuf> {
    let mut v: Vec<PathBuf> = std::fs::read_dir(dir)
        .unwrap_or_else(|e| panic!("{}: {e}", dir.display()))
        .filter_map(|e| e.ok().map(|e| e.path()))
        .filter(|p| {
            let end = p.extension().and_then(|e| e.to_str()).unwrap_or("");
            ends.contains(&end)
        })
        .collect();
    v.sort();
    v
}

/// The line that a `@mark` in a trailing comment names.
pub fn line_of(source: &str, mark: &str) -> u32 {
    let n = source.lines().position(|l| {
        l.rsplit("//")
            .next()
            .is_some_and(|c| c.split_whitespace().any(|w| w == mark))
            && !l.starts_with("// check")
            && !l.starts_with("// race")
    });
    n.unwrap_or_else(|| panic!("no mark {mark}")) as u32 + 1
}

/// What a run should find; findings marked `static` only with the analysis.
fn expected(source: &str, text: &str, analysis: bool) -> BTreeSet<String> {
    if text.trim() == "clean" {
        return BTreeSet::new();
    }
    text.split(';')
        .filter_map(|f| match f.trim().strip_prefix("static ") {
            Some(f) => analysis.then_some(f),
            None => Some(f),
        })
        .map(|f| {
            let mut words = f.split_whitespace();
            let kind = words.next().unwrap_or("");
            let mut lines: Vec<u32> = words.map(|m| line_of(source, m)).collect();
            lines.sort_unstable();
            format!("{kind} {lines:?}")
        })
        .collect()
}

/// Runs all `// check` lines of a file on its PTX, in each of the modes; gives the number of runs and what failed.
pub fn run(file: &Path, ptx: &str, modes: &[&str]) -> (usize, Vec<String>) {
    let source = std::fs::read_to_string(file).expect("corpus file");
    let mut failures = Vec::new();
    let mut count = 0;
    for line in source.lines().filter_map(|l| l.strip_prefix("// check ")) {
        let (what, expect) = line.split_once("=>").expect("=> in a check line");
        let mut words: Vec<String> = what.split_whitespace().map(str::to_string).collect();
        let kernel = words.remove(0);
        let mut args = vec![
            file.display().to_string(),
            "--kernel".into(),
            kernel.clone(),
        ];
        args.extend(words);
        for mode in modes {
            let want = expected(&source, expect, *mode == "static");
            let mut p = cli::parse(&args)
                .unwrap_or_else(|e| panic!("{line}: {e}"))
                .check;
            p.workers = 1;
            p.analyze = *mode == "static";
            p.options.scheme = match *mode {
                "addr" => Scheme::Addr,
                "stmt" => Scheme::Stmt,
                _ => Scheme::Both,
            };
            let r = match check_ptx(ptx, &p, &|_| {}) {
                Ok(r) => r,
                Err(e) => {
                    failures.push(format!("{kernel} ({mode}): {e}"));
                    continue;
                }
            };
            let got: BTreeSet<String> = r
                .findings()
                .map(|f| {
                    let mut lines: Vec<u32> = lines(f).iter().map(|l| l.1).collect();
                    lines.sort_unstable();
                    let kind = match f.kind {
                        FindingKind::KernelRace => "race",
                        other => other.name(),
                    };
                    format!("{kind} {lines:?}")
                })
                .collect();
            // By address alone, not every statement of a racing address is seen: a part is enough, but not nothing.
            let ok = if *mode == "addr" {
                got.is_subset(&want) && got.is_empty() == want.is_empty()
            } else {
                got == want
            };
            if !ok {
                failures.push(format!("{kernel} ({mode}): wanted {want:?}, got {got:?}"));
            }
            count += 1;
        }
    }
    (count, failures)
}

/// NVIDIA's tools as `scripts/setup.sh test` installs them from PyPI, below the target folder.
pub fn nvidia() -> Option<PathBuf> {
    let exe = Path::new(env!("CARGO_BIN_EXE_deadheat-gpu"));
    let dir = std::env::var_os("DEADHEAT_CUDA").map_or_else(
        || exe.parent()?.parent().map(|t| t.join("cuda/nvidia/cu13")),
        |d| Some(PathBuf::from(d)),
    )?;
    if dir.join("bin/nvcc").is_file() {
        return Some(dir);
    }
    println!(
        "NVIDIA's tools are not in {}, so this is not tried; `scripts/setup.sh test` installs them from PyPI.",
        dir.display()
    );
    None
}

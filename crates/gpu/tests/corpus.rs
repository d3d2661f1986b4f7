//! The kernels of `tests/gpu`: every `// check` line must give exactly the findings it names, with and without the
//! static analyzer. `BLESS=1` is not offered: the expectations are the specification.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use deadheat_gpu::check::Scheme;
use deadheat_gpu::frontend::cli;
use deadheat_gpu::frontend::compile::{libclc, to_ptx};
use deadheat_gpu::frontend::finding::lines;
use deadheat_gpu::frontend::session::check_ptx;
use deadheat_model::FindingKind;

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/gpu")
}

fn line_of(source: &str, mark: &str) -> u32 {
    let n = source.lines().position(|l| {
        l.rsplit("//")
            .next()
            .is_some_and(|c| c.split_whitespace().any(|w| w == mark))
            && !l.starts_with("// check")
    });
    n.unwrap_or_else(|| panic!("no mark {mark}")) as u32 + 1
}

fn expected(source: &str, text: &str) -> BTreeSet<String> {
    if text.trim() == "clean" {
        return BTreeSet::new();
    }
    text.split(';')
        .map(|f| {
            let mut words = f.split_whitespace();
            let kind = words.next().unwrap_or("");
            let mut lines: Vec<u32> = words.map(|m| line_of(source, m)).collect();
            lines.sort_unstable();
            format!("{kind} {lines:?}")
        })
        .collect()
}

fn run(file: &Path) -> (usize, Vec<String>) {
    let source = std::fs::read_to_string(file).expect("corpus file");
    let ptx =
        to_ptx(file, &Default::default()).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
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
        let want = expected(&source, expect);
        for mode in ["both", "addr", "stmt", "static"] {
            let mut p = cli::parse(&args)
                .unwrap_or_else(|e| panic!("{line}: {e}"))
                .check;
            p.workers = 1;
            p.analyze = mode == "static";
            p.options.scheme = match mode {
                "addr" => Scheme::Addr,
                "stmt" => Scheme::Stmt,
                _ => Scheme::Both,
            };
            let r = match check_ptx(&ptx, &p, &|_| {}) {
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
            let ok = if mode == "addr" {
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

#[test]
fn every_kernel_gives_what_its_line_says() {
    let mut files: Vec<PathBuf> = std::fs::read_dir(corpus())
        .expect("tests/gpu")
        .filter_map(|e| e.ok().map(|e| e.path()))
        .filter(|p| {
            p.extension()
                .is_some_and(|e| e == "cu" || (e == "cl" && libclc().is_some()))
        })
        .collect();
    files.sort();
    let only = std::env::var("CORPUS").unwrap_or_default();
    let mut failures = Vec::new();
    let mut count = 0;
    for f in files
        .iter()
        .filter(|f| f.display().to_string().contains(&only))
    {
        let (n, bad) = run(f);
        count += n;
        failures.extend(bad.into_iter().map(|b| {
            format!(
                "{}: {b}",
                f.file_name().unwrap_or_default().to_string_lossy()
            )
        }));
    }
    println!("{count} checks");
    assert!(
        failures.is_empty(),
        "{} of {count} failed:\n{}",
        failures.len(),
        failures.join("\n")
    );
}

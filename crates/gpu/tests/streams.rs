//! Whole programs of `tests/gpu/streams`, each with a race between operations of streams and, built with `-DFIXED`,
//! without it. `// race @x @y` names the lines, `// options ...` what it is compiled with, `// once-more ...` what it is
//! compiled with for a second time.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use deadheat_model::{FindingKind, Report};

fn programs() -> Vec<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/gpu/streams");
    let mut v: Vec<PathBuf> = std::fs::read_dir(dir)
        .expect("streams")
        .filter_map(|e| e.ok().map(|e| e.path()))
        .filter(|p| p.extension().is_some_and(|e| e == "cu"))
        .collect();
    v.sort();
    v
}

fn after<'a>(source: &'a str, word: &str) -> impl Iterator<Item = Vec<&'a str>> {
    let word = format!("// {word} ");
    source
        .lines()
        .filter_map(move |l| l.strip_prefix(word.as_str()))
        .map(|l| l.split_whitespace().collect())
}

fn marked(source: &str, mark: &str) -> u32 {
    let at = source
        .lines()
        .position(|l| !l.starts_with("// race") && l.split_whitespace().any(|w| w == mark));
    at.unwrap_or_else(|| panic!("no mark {mark}")) as u32 + 1
}

/// Kind and lines of each finding.
fn told(r: &Report) -> BTreeSet<(FindingKind, Vec<u32>)> {
    let line = |s: &[deadheat_model::Frame]| s.iter().find_map(|f| f.line).unwrap_or(0);
    r.findings
        .iter()
        .map(|f| {
            let mut lines: Vec<u32> = f.stacks_told().map(line).collect();
            lines.sort_unstable();
            (f.kind, lines)
        })
        .collect()
}

#[test]
fn what_nothing_orders_is_found_and_what_is_ordered_is_not() {
    let tool = env!("CARGO_BIN_EXE_deadheat-gpu");
    let dir = std::env::temp_dir().join(format!("deadheat-streams-{}", std::process::id()));
    std::fs::create_dir_all(&dir).expect("scratch");
    let only = std::env::var("CORPUS").unwrap_or_default();
    let mut failures = Vec::new();
    for p in programs() {
        let name = p.file_stem().unwrap_or_default().to_string_lossy();
        if !name.contains(&only) {
            continue;
        }
        let source = std::fs::read_to_string(&p).expect("source");
        let options: Vec<&str> = after(&source, "options").flatten().collect();
        let once_more: Vec<&str> = after(&source, "once-more").flatten().collect();
        let ways = [&[][..], &once_more];
        let ways = &ways[..if once_more.is_empty() { 1 } else { 2 }];
        for (more, fixed) in ways.iter().flat_map(|&way| [(way, false), (way, true)]) {
            let (exe, log) = (dir.join(&*name), dir.join("report.json"));
            let o = Command::new(tool)
                .arg("cc")
                .arg(&p)
                .args(&options)
                .args(more)
                .args(fixed.then_some("-DFIXED"))
                .arg("-o")
                .arg(&exe)
                .output()
                .expect("cc");
            let err = String::from_utf8_lossy(&o.stderr);
            assert!(o.status.success(), "{name}: {err}");
            let o = Command::new(tool)
                .args(["run", "--format", "json", "--log"])
                .arg(&log)
                .arg(&exe)
                .output()
                .expect("run");
            let (out, err) = (
                String::from_utf8_lossy(&o.stdout),
                String::from_utf8_lossy(&o.stderr),
            );
            // Work is done in program order, so even a race gives the right result here.
            assert_eq!(out, "ok\n", "{name}: {err}");
            let text = std::fs::read_to_string(&log).expect("report");
            let report = deadheat_report::read_json(&text).expect("a report");
            let mut want = BTreeSet::new();
            for marks in after(&source, "race").filter(|_| !fixed) {
                let mut lines: Vec<u32> = marks.iter().map(|m| marked(&source, m)).collect();
                lines.sort_unstable();
                want.insert((FindingKind::StreamRace, lines));
            }
            let got = told(&report);
            if got != want || o.status.code() != Some(i32::from(!fixed)) {
                failures.push(format!(
                    "{name} {}{}: wanted {want:?}, got {got:?}, exit {:?}",
                    more.join(" "),
                    if fixed { " (fixed)" } else { "" },
                    o.status.code()
                ));
            }
        }
    }
    let _ = std::fs::remove_dir_all(&dir);
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

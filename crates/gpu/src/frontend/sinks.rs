//! Findings as text, JSON and SARIF.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Value, json};

use super::finding::{GpuAccess, GpuFinding};
use super::session::Report;

fn xyz(d: [u32; 3]) -> String {
    match d {
        [x, 1, 1] => x.to_string(),
        [x, y, 1] => format!("{x}x{y}"),
        [x, y, z] => format!("{x}x{y}x{z}"),
    }
}

fn id(d: [u32; 3]) -> String {
    match d {
        [x, 0, 0] => x.to_string(),
        [x, y, 0] => format!("({x},{y})"),
        [x, y, z] => format!("({x},{y},{z})"),
    }
}

fn place(a: &GpuAccess) -> String {
    if a.line == 0 {
        return format!("PTX line {}", a.ptx_line);
    }
    format!("{}:{}:{}", a.file, a.line, a.column)
}

fn source_line(a: &GpuAccess) -> Option<String> {
    if a.line == 0 {
        return None;
    }
    let text = std::fs::read_to_string(Path::new(&a.file)).ok()?;
    text.lines().nth(a.line as usize - 1).map(str::to_string)
}

fn plural(n: u64, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// One finding as text; colour if asked for.
pub fn finding(f: &GpuFinding, colour: bool) -> String {
    let (red, bold, dim, off) = if colour {
        ("\x1b[31;1m", "\x1b[1m", "\x1b[2m", "\x1b[0m")
    } else {
        ("", "", "", "")
    };
    let mut s = String::new();
    let what = if f.benign { "note" } else { "error" };
    let _ = writeln!(s, "{red}{what}[{}]{off}: {bold}{}{off}", f.kind, f.message);
    let _ = writeln!(
        s,
        "  kernel {} <<<{}, {}>>>, {} warps, found {}",
        f.kernel,
        xyz(f.grid),
        xyz(f.block),
        f.warp_model,
        if f.found_by == "static" {
            "by analysis"
        } else {
            "by running"
        }
    );
    for a in &f.accesses {
        let _ = writeln!(s, "  {bold}{}{off} at {} in {}", a.op, place(a), a.function);
        if let Some(line) = source_line(a) {
            let _ = writeln!(s, "  {dim}{:>5} |{off} {}", a.line, line.trim_end());
            let pad: String = line
                .chars()
                .take(a.column.saturating_sub(1) as usize)
                .map(|c| if c == '\t' { '\t' } else { ' ' })
                .collect();
            if a.column > 0 {
                let _ = writeln!(s, "  {dim}      |{off} {pad}{red}^{off}");
            }
        }
        let _ = writeln!(
            s,
            "        thread {} of block {} (warp {}, lane {}), barrier phase {}",
            id(a.thread),
            id(a.block),
            a.warp,
            a.lane,
            a.phase
        );
    }
    if !f.memory.is_empty() {
        let _ = writeln!(s, "  {} memory: {}", f.space, f.memory);
    }
    let c = &f.counts;
    if f.kind == "data-race" && f.found_by == "dynamic" {
        let _ = writeln!(
            s,
            "  in all: {}, {}, {}, {}, {}; between {}",
            plural(c.addresses, "address").replace("addresss", "addresses"),
            plural(c.thread_pairs, "pair").replace("pair", "thread pair"),
            plural(c.threads, "thread"),
            plural(c.warp_pairs, "warp pair"),
            plural(c.blocks, "block"),
            f.relations.join(", ")
        );
    } else if c.times > 1 {
        let _ = writeln!(s, "  {} times", c.times);
    }
    s
}

/// The whole report as text.
pub fn text(r: &Report, colour: bool) -> String {
    let mut s = String::new();
    for f in r.findings() {
        s.push_str(&finding(f, colour));
        s.push('\n');
    }
    for n in &r.notes {
        let _ = writeln!(s, "note: {n}");
    }
    for l in &r.launches {
        if let Some(a) = &l.analysis {
            let _ = writeln!(s, "{}: {}", l.kernel, a.sentence());
        }
    }
    let _ = writeln!(
        s,
        "deadheat gpu: {} in {}",
        plural(r.bugs() as u64, "bug"),
        plural(r.launches.len() as u64, "launch").replace("launchs", "launches")
    );
    s
}

/// The whole report as one JSON object.
pub fn json(r: &Report) -> String {
    let launches: Vec<Value> = r
        .launches
        .iter()
        .map(|l| {
            json!({
                "kernel": l.kernel,
                "findings": l.findings,
                "analysis": l.analysis,
                "stats": {
                    "warp_instructions": l.checked.outcome.steps,
                    "lane_instructions": l.checked.outcome.lane_steps,
                    "checked_accesses": l.checked.checked,
                    "spared_accesses": l.checked.spared,
                    "shadow_bytes": l.checked.shadow_bytes + l.checked.global_shadow_bytes,
                    "statement_table_bytes": l.checked.stmt_bytes,
                    "seconds": l.time.as_secs_f64(),
                }
            })
        })
        .collect();
    let v = json!({ "tool": "deadheat gpu", "version": env!("CARGO_PKG_VERSION"), "bugs": r.bugs(), "launches": launches, "notes": r.notes });
    format!("{v:#}\n")
}

/// SARIF 2.1.0.
pub fn sarif(r: &Report) -> String {
    let location = |a: &GpuAccess| {
        json!({
            "physicalLocation": {
                "artifactLocation": { "uri": a.file },
                "region": { "startLine": a.line.max(1), "startColumn": a.column.max(1) }
            },
            "message": { "text": format!("{} by thread {} of block {}", a.op, id(a.thread), id(a.block)) }
        })
    };
    let results: Vec<Value> = r
        .findings()
        .map(|f| {
            json!({
                "ruleId": f.kind,
                "level": if f.benign { "note" } else { "error" },
                "message": { "text": format!("{} (kernel {})", f.message, f.kernel) },
                "locations": f.accesses.first().map(location).into_iter().collect::<Vec<_>>(),
                "relatedLocations": f.accesses.iter().skip(1).map(location).collect::<Vec<_>>(),
            })
        })
        .collect();
    let mut rules: Vec<&str> = r.findings().map(|f| f.kind.as_str()).collect();
    rules.sort_unstable();
    rules.dedup();
    let v = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "deadheat-gpu",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": rules.iter().map(|k| json!({ "id": k })).collect::<Vec<_>>()
            }},
            "results": results
        }]
    });
    format!("{v:#}\n")
}

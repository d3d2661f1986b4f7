//! Writes a session's results: JSON with every sample, Markdown with the table and the set-up.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use crate::error::{Error, Result};
use crate::session::{AGREEMENT, Measured};
use crate::setup;
use crate::split;
use crate::table::{self, Quantity};
use crate::tool::Tool;

/// Everything about the session as one JSON object.
pub fn as_json(m: &Measured, setup: &[(&'static str, String)]) -> Value {
    let programs: Vec<Value> = m
        .plan
        .programs
        .iter()
        .enumerate()
        .map(|(i, p)| program_json(m, i, p.name, p.what))
        .collect();
    let mean = |t: Tool, q| table::mean(m, t, q).map(|r| r.value);
    let means: Value = Value::Object(
        m.plan
            .tools
            .iter()
            .map(|t| {
                (
                    t.name().to_string(),
                    json!({"cpu": mean(*t, Quantity::Cpu), "memory": mean(*t, Quantity::Memory)}),
                )
            })
            .collect(),
    );
    let goals: Vec<Value> = table::goals(m)
        .iter()
        .chain(&split::goals(m))
        .map(|g| json!({"goal": g.what, "reached": g.reached, "numbers": g.numbers}))
        .collect();
    json!({
        "date": today(),
        "setup": setup::as_json(setup),
        "threads": m.plan.threads,
        "rounds": m.plan.rounds,
        "most_rounds": m.plan.most_rounds,
        "valgrind_rounds": m.plan.valgrind_rounds,
        "quick": m.plan.quick,
        "programs": programs,
        "geometric_means": means,
        "goals": goals,
    })
}

fn program_json(m: &Measured, index: usize, name: &str, what: &str) -> Value {
    let runs: Vec<Value> = m
        .samples
        .iter()
        .filter(|(k, _)| k.program == index)
        .map(|(k, s)| {
            json!({
                "tool": k.tool.name(), "size": k.size, "cpu_seconds": s.cpu, "peak_rss_kib": s.rss,
                "findings": s.findings, "over_limit": s.over_limit,
                "program_cpu_seconds": s.program_cpu, "lag_ms": s.lag,
            })
        })
        .collect();
    json!({"name": name, "what": what, "runs": runs})
}

/// The table with its set-up, as committed.
pub fn as_markdown(m: &Measured, setup: &[(&'static str, String)], micro: Option<&str>) -> String {
    let mut out = format!("# Benchmark results of {}\n\n", today());
    let _ = writeln!(
        out,
        "One run of {}: {} threads, best of {} interleaved rounds{} ({} for Helgrind and DRD, which get smaller inputs\n\
         and are compared with native at the same input). Peak memory is the resident set.\n",
        if m.plan.quick {
            "`make bench-quick` (inputs so small that starting up counts)"
        } else {
            "`make bench`"
        },
        m.plan.threads,
        m.plan.rounds,
        if m.plan.most_rounds > m.plan.rounds {
            format!(
                ", or up to {} where the two best\nof Deadheat or of ThreadSanitizer were more than {:.0} % apart",
                m.plan.most_rounds,
                (AGREEMENT - 1.0) * 100.0
            )
        } else {
            String::new()
        },
        m.plan.valgrind_rounds
    );
    out.push_str(&table::render(m));
    if let Some(text) = micro {
        let _ = write!(out, "\n## Nanoseconds per operation\n\n{text}");
    }
    out.push_str("\n## Programs\n\n");
    for p in &m.plan.programs {
        let _ = writeln!(
            out,
            "- {}: {}, size {}",
            p.name,
            p.what,
            m.plan.size(p, Tool::Native)
        );
    }
    out.push_str("\n## Set-up\n\n");
    for (k, v) in setup {
        let _ = writeln!(out, "- {k}: {v}");
    }
    out
}

/// Writes a text file and the folder it is in.
pub fn write(path: &Path, text: &str) -> Result<()> {
    if let Some(dir) = path.parent().filter(|d| !d.as_os_str().is_empty()) {
        fs::create_dir_all(dir).map_err(|e| Error::io("cannot create", dir, &e))?;
    }
    fs::write(path, text).map_err(|e| Error::io("cannot write", path, &e))
}

/// Today in UTC as `2025-01-31`.
pub fn today() -> String {
    let seconds = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |d| d.as_secs());
    let (y, m, d) = civil(seconds / 86_400);
    format!("{y:04}-{m:02}-{d:02}")
}

/// The calendar date of a day counted from 1970-01-01.
fn civil(days: u64) -> (u64, u64, u64) {
    // Years are counted from March, so that the leap day is the last of its year.
    let days = days + 719_468;
    let era = days / 146_097;
    let of_era = days % 146_097;
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year_of_era + era * 400 + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::civil;

    #[test]
    fn days_become_dates() {
        assert_eq!(civil(0), (1970, 1, 1));
        assert_eq!(civil(11_016), (2000, 2, 29));
        assert_eq!(civil(11_017), (2000, 3, 1));
        assert_eq!(civil(20_453), (2025, 12, 31));
    }
}

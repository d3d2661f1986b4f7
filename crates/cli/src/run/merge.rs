//! Several processes, one report: the same bug in two processes is one finding.

use deadheat_report::BugKey;
use deadheat_report::model::{
    Exit, ExitHow, FindingId, Program, Report, SCHEMA_VERSION, Summary, Tool,
};
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

/// Puts the reports of all processes together. `direct` says that the first one is about the program that was started.
#[must_use]
pub fn merge(
    reports: Vec<Report>,
    direct: bool,
    words: &[String],
    pid: u32,
    status: ExitStatus,
) -> Report {
    let processes = reports.len();
    let mut reports = reports.into_iter();
    let first = if direct { reports.next() } else { None };
    let mut whole = first.unwrap_or_else(|| empty(words, pid, status));
    let keys = whole.findings.iter().map(BugKey::of);
    let mut known = keys.zip(0..).collect();
    reports.for_each(|report| add(&mut whole, &mut known, report));
    if processes > 1 || !direct {
        let plural = if processes == 1 { "" } else { "es" };
        whole.notes.push(format!(
            "{processes} process{plural} with Deadheat's runtime took part"
        ));
    }
    whole.summarize();
    whole
}

fn empty(words: &[String], pid: u32, status: ExitStatus) -> Report {
    Report {
        schema: SCHEMA_VERSION,
        tool: Tool::default(),
        program: Program {
            path: words.first().cloned().unwrap_or_default(),
            argv: words.to_vec(),
            pid: u64::from(pid),
            cwd: std::env::current_dir()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned(),
            exit: Exit {
                how: if status.code().is_some() {
                    ExitHow::Exited
                } else {
                    ExitHow::Signalled
                },
                code: status.code(),
                signal: status.signal(),
                complete: true,
            },
        },
        findings: Vec::new(),
        threads: Vec::new(),
        modules: Vec::new(),
        losses: Vec::new(),
        notes: Vec::new(),
        suppressed: Vec::new(),
        stats: BTreeMap::new(),
        launches: Vec::new(),
        summary: Summary::default(),
    }
}

/// Adds a report; `known` is where each finding of the whole is.
fn add(whole: &mut Report, known: &mut HashMap<BugKey, usize>, part: Report) {
    let pid = part.program.pid;
    for mut finding in part.findings {
        match known.entry(BugKey::of(&finding)) {
            Entry::Occupied(at) => {
                let known = &mut whole.findings[*at.get()];
                known.count = known.count.saturating_add(finding.count);
            }
            Entry::Vacant(at) => {
                at.insert(whole.findings.len());
                finding.id = FindingId(whole.findings.len() as u64 + 1);
                finding.pid = finding.pid.or(Some(pid));
                whole.findings.push(finding);
            }
        }
    }
    for module in part.modules {
        if !whole.modules.iter().any(|m| m.path == module.path) {
            whole.modules.push(module);
        }
    }
    for loss in part.losses {
        match whole.losses.iter_mut().find(|l| l.what == loss.what) {
            Some(known) => known.count = known.count.saturating_add(loss.count),
            None => whole.losses.push(loss),
        }
    }
    for note in part.notes {
        if !whole.notes.contains(&note) {
            whole.notes.push(note);
        }
    }
    for rule in part.suppressed {
        match whole
            .suppressed
            .iter_mut()
            .find(|s| s.rule == rule.rule && s.source == rule.source)
        {
            Some(known) => {
                known.findings = known.findings.saturating_add(rule.findings);
                known.count = known.count.saturating_add(rule.count);
            }
            None => whole.suppressed.push(rule),
        }
    }
    for (name, value) in part.stats {
        *whole.stats.entry(name).or_default() += value;
    }
    whole.threads.extend(part.threads);
}

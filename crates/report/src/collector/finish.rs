//! The end of a run: counts are added up, how it ended is told, and the report is closed.

use super::{Collector, Outcome, Slot, signal_name};
use deadheat_model::{Exit, ExitHow, Finding, Report, SCHEMA_VERSION, Summary, Suppressed, Tool};
use std::collections::{BTreeMap, HashMap};

impl Collector {
    /// Counts what was seen and closes the report.
    pub fn finish(mut self, outcome: Outcome) -> Report {
        let mut totals = vec![0u64; self.slots.len()];
        for seen in self.seen.values() {
            if let Some(total) = totals.get_mut(seen.slot) {
                *total = total.saturating_add(seen.count);
            }
        }
        let mut findings = Vec::new();
        let mut silenced: BTreeMap<usize, (u64, u64)> = BTreeMap::new();
        for (slot, total) in std::mem::take(&mut self.slots).into_iter().zip(totals) {
            match slot {
                Slot::Shown(mut finding) => {
                    finding.count = total;
                    findings.push(*finding);
                }
                Slot::Silenced(rule) => {
                    let (number, count) = silenced.entry(rule).or_default();
                    *number += 1;
                    *count = count.saturating_add(total);
                }
            }
        }
        tell_apart(&mut findings);
        if !findings.is_empty() {
            for process in 0..self.processes.len() {
                self.process = process;
                self.read_created();
            }
        }
        let suppressed = self.suppressed(&silenced);
        self.program.exit = self.exit(outcome);
        self.last_notes(&silenced);
        let mut report = Report {
            schema: SCHEMA_VERSION,
            tool: Tool::default(),
            program: self.program,
            findings,
            threads: self
                .all_threads
                .iter()
                .filter_map(|(process, id)| self.processes[*process].threads.remove(id))
                .collect(),
            modules: self.modules,
            losses: self.losses,
            notes: self.notes,
            suppressed,
            stats: self.stats,
            launches: Vec::new(),
            summary: Summary::default(),
        };
        report.summarize();
        report
    }

    fn suppressed(&self, silenced: &BTreeMap<usize, (u64, u64)>) -> Vec<Suppressed> {
        silenced
            .iter()
            .filter_map(|(rule, (findings, count))| {
                let rule = self.settings.suppressions.rules().get(*rule)?;
                Some(Suppressed {
                    rule: rule.text().to_owned(),
                    source: rule.place(),
                    findings: *findings,
                    count: *count,
                })
            })
            .collect()
    }

    fn exit(&self, outcome: Outcome) -> Exit {
        let complete = self.ended.is_some();
        let known = self.ended.flatten();
        match (outcome, known) {
            (Outcome::Exited(code), _) => Exit {
                how: ExitHow::Exited,
                code: Some(code),
                signal: None,
                complete,
            },
            (Outcome::Signalled(signal), _) => Exit {
                how: ExitHow::Signalled,
                code: None,
                signal: Some(signal),
                complete,
            },
            (Outcome::Unknown, Some(code)) => Exit {
                how: ExitHow::Exited,
                code: Some(code),
                signal: None,
                complete,
            },
            (Outcome::Unknown, None) => Exit {
                complete,
                ..Exit::default()
            },
        }
    }

    fn last_notes(&mut self, silenced: &BTreeMap<usize, (u64, u64)>) {
        for problem in self.symbolizer.problems().to_vec() {
            self.note(problem);
        }
        if let Some(line) = self.unreadable.take() {
            self.note(line);
        }
        if self.started && self.ended.is_none() {
            let how = match self.program.exit.signal {
                Some(signal) => format!("was ended by {}", signal_name(signal)),
                None => "ended without telling (killed, or `_exit`)".to_owned(),
            };
            self.note(format!(
                "the program {how}; everything found until then is here, but final counts and threads that were never \
                 joined may be missing"
            ));
        }
        if self.settings.list_unused_suppressions {
            let unused: Vec<String> = self
                .settings
                .suppressions
                .rules()
                .iter()
                .enumerate()
                .filter(|(index, rule)| rule.is_the_users() && !silenced.contains_key(index))
                .map(|(_, rule)| format!("unused suppression `{}` ({})", rule.text(), rule.place()))
                .collect();
            for text in unused {
                self.note(text);
            }
        }
    }
}

/// Two bugs in the same functions on the same variable share a fingerprint; number the later ones.
fn tell_apart(findings: &mut [Finding]) {
    let mut times: HashMap<String, u32> = HashMap::new();
    for finding in findings {
        let time = times.entry(finding.fingerprint.clone()).or_insert(0);
        *time += 1;
        if *time > 1 {
            finding.fingerprint = format!("{}-{time}", finding.fingerprint);
        }
    }
}

//! The last lines: what was lost, what could not be seen, the summary, and what to type next.

use super::Page;
use super::paint::Role;
use crate::gpu;
use crate::words;
use deadheat_model::{Exit, ExitHow, FindingKind, Module, Report};

/// Libraries that are never instrumented and need not be: the runtime watches their functions instead.
const COVERED: [&str; 12] = [
    "libc.so",
    "libm.so",
    "ld-linux",
    "libstdc++.so",
    "libgcc_s.so",
    "linux-vdso",
    "[vdso]",
    "libpthread.so",
    "libdl.so",
    "librt.so",
    "libdeadheat",
    "ld-musl",
];

/// The libraries whose accesses nobody saw.
pub fn unseen(report: &Report) -> Vec<&Module> {
    report
        .modules
        .iter()
        .filter(|module| !module.instrumented)
        .filter(|module| {
            let name = module.path.rsplit('/').next().unwrap_or(&module.path);
            !name.is_empty() && !COVERED.iter().any(|known| name.starts_with(known))
        })
        .collect()
}

impl Page<'_> {
    pub(super) fn footer(&self) -> String {
        let report = self.report;
        let mut out = String::new();
        if !report.findings.is_empty() {
            let rule = "-".repeat(self.painter.width);
            out.push_str(&self.painter.paint(Role::Quiet, &rule));
            out.push('\n');
        }
        let unseen: Vec<String> = unseen(report)
            .iter()
            .map(|module| {
                module
                    .path
                    .rsplit('/')
                    .next()
                    .unwrap_or(&module.path)
                    .to_owned()
            })
            .collect();
        if !unseen.is_empty() {
            let text = format!(
                "{}: built without Deadheat, so races inside cannot be seen. Build with `deadheat cc` to see them.",
                words::join(&unseen)
            );
            self.fact(&mut out, "unseen", &text, None);
        }
        for loss in &report.losses {
            self.fact(
                &mut out,
                "lost",
                &format!("{}: {}", loss.what, loss.count),
                Some(Role::Warning),
            );
        }
        for note in &report.notes {
            self.fact(&mut out, "note", note, None);
        }
        for silenced in &report.suppressed {
            let text = format!(
                "{} by `{}` ({}), seen {}",
                words::counted(silenced.findings, "finding", "findings"),
                silenced.rule,
                silenced.source,
                words::counted(silenced.count, "time", "times")
            );
            self.fact(&mut out, "silenced", &text, None);
        }
        for launch in report.launches.iter().filter_map(gpu::checked) {
            self.fact(&mut out, "analysis", &launch, Some(Role::Quiet));
        }
        for (name, value) in &report.stats {
            self.fact(
                &mut out,
                "stats",
                &format!("{name}: {value}"),
                Some(Role::Quiet),
            );
        }
        let role = if report.findings.is_empty() {
            Role::Good
        } else {
            Role::Title
        };
        let line = format!("deadheat: {}", summary(report));
        for line in self.painter.wrap(&line, 0) {
            out.push_str(&self.painter.paint(role, &line));
            out.push('\n');
        }
        if let Some(first) = report.findings.first() {
            out.push_str(&format!(
                "next:     {}\n",
                self.painter
                    .paint(Role::Heading, &format!("deadheat explain {}", first.id))
            ));
        }
        out
    }
}

/// `2 findings (1 data race, 1 deadlock), seen 7 times; 1 suppressed; the program exited with 0`.
pub fn summary(report: &Report) -> String {
    let mut text = if report.findings.is_empty() {
        "nothing found".to_owned()
    } else {
        let kinds: Vec<String> = report
            .summary
            .kinds
            .iter()
            .map(|(kind, count)| {
                words::counted(
                    *count,
                    FindingKind::title(*kind),
                    FindingKind::plural(*kind),
                )
            })
            .collect();
        let found = words::counted(report.summary.findings, "finding", "findings");
        let seen = if report.summary.count > report.summary.findings {
            format!(", seen {} times", report.summary.count)
        } else {
            String::new()
        };
        format!("{found} ({}){seen}", kinds.join(", "))
    };
    if report.summary.suppressed > 0 {
        text.push_str(&format!("; {} suppressed", report.summary.suppressed));
    }
    if report.summary.losses > 0 {
        text.push_str("; some facts were lost");
    }
    text.push_str(&ending(&report.program.exit));
    text
}

fn ending(exit: &Exit) -> String {
    match (exit.how, exit.code, exit.signal) {
        (ExitHow::Exited, Some(code), _) => format!("; the program exited with {code}"),
        (ExitHow::Signalled, _, Some(signal)) => {
            format!(
                "; the program was ended by {}",
                crate::collector::signal_name(signal)
            )
        }
        _ => String::new(),
    }
}

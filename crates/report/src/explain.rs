//! The longer text for one finding: what happened step by step, what its kind means, and ways to fix it.

use crate::sinks::Options;
use crate::steps::{steps, thread_name};
use crate::text::paint::{Painter, Role, clean};
use crate::words;
use deadheat_model::{Finding, FindingId, MemoryKind, Report};

/// The text, or nothing if the report has no finding of that number.
pub fn explain(report: &Report, id: FindingId, options: &Options) -> Option<String> {
    let finding = report.finding(id)?;
    let page = Page {
        painter: Painter {
            color: options.color,
            width: options.width.clamp(60, 200),
        },
        cwd: options.cwd(report),
    };
    let mut out = crate::text::render_one(report, finding, options);
    page.steps(&mut out, finding);
    page.section(&mut out, "What this means");
    page.paragraph(&mut out, finding.kind.meaning());
    page.section(&mut out, "Ways to fix it");
    for advice in page.advice(finding) {
        page.item(&mut out, "-", &advice);
    }
    page.section(&mut out, "If it must stay");
    page.paragraph(
        &mut out,
        "Put this line, with the reason as a comment, into a file and pass it with --suppressions FILE:",
    );
    out.push_str(&format!("      {}\n", clean(&finding.suppression)));
    Some(out)
}

struct Page {
    painter: Painter,
    cwd: String,
}

impl Page {
    fn section(&self, out: &mut String, name: &str) {
        out.push_str(&format!(
            "\n  {}\n",
            self.painter.paint(Role::Heading, name)
        ));
    }

    fn paragraph(&self, out: &mut String, text: &str) {
        for line in self.painter.wrap(text, 4) {
            out.push_str(&format!("    {line}\n"));
        }
    }

    fn item(&self, out: &mut String, bullet: &str, text: &str) {
        let indent = 4 + bullet.chars().count() + 1;
        for (index, line) in self.painter.wrap(text, indent).iter().enumerate() {
            let margin = if index == 0 { bullet } else { "" };
            out.push_str(&format!("    {margin:<width$}{line}\n", width = indent - 4));
        }
    }

    fn steps(&self, out: &mut String, finding: &Finding) {
        let steps = steps(finding);
        if steps.is_empty() {
            return;
        }
        self.section(out, "What happened, step by step");
        for (index, step) in steps.iter().enumerate() {
            let place = words::at(step.stack, &self.cwd);
            let mut text = format!(
                "{} {} {place}",
                thread_name(finding, step.thread),
                step.text
            );
            if let Some(access) = step.access {
                text = format!("{}   <== access {}", text.trim_end(), access + 1);
            }
            self.item(out, &format!("{:>2}.", index + 1), text.trim_end());
        }
        if finding.accesses.len() == 2 {
            self.paragraph(
                out,
                "Nothing in this list makes one of the two accesses wait for the other. In another run they may come \
                 the other way round, or at the same time.",
            );
        }
    }

    /// The kind's advice, with what this finding tells put in front.
    fn advice(&self, finding: &Finding) -> Vec<String> {
        let mut out = Vec::new();
        if let [late, early] = finding.accesses.as_slice() {
            match (late.locks.as_slice(), early.locks.as_slice()) {
                ([lock, ..], []) => out.push(self.take(lock, early)),
                ([], [lock, ..]) => out.push(self.take(lock, late)),
                _ => {}
            }
        }
        if let Some(memory) = &finding.memory
            && memory.kind == MemoryKind::Stack
        {
            out.push(
                "The memory is on a thread's stack: it is gone when that function returns. Let the other thread end \
                 first (join it), or put the variable on the heap."
                    .to_owned(),
            );
        }
        out.extend(finding.kind.advice().iter().map(|text| (*text).to_owned()));
        out
    }

    fn take(&self, lock: &deadheat_model::Lock, without: &deadheat_model::Access) -> String {
        format!(
            "Take {} also around the {} of {} {}.",
            words::lock(lock),
            without.kind.noun(),
            words::thread(&without.thread),
            words::at(&without.stack, &self.cwd)
        )
    }
}

//! The report for people.
//!
//! Each finding answers, in this order: what and where (both sides with their source), why nothing orders them, what
//! memory it is, who the threads are, and how to silence it. The footer says what a reader must know to trust it.

mod finding;
mod footer;
pub mod paint;

pub use footer::{summary, unseen};

use crate::sinks::Options;
use crate::source::Sources;
use deadheat_model::{Finding, Report};
use paint::Painter;

/// What every part of the text needs.
pub(crate) struct Page<'a> {
    pub report: &'a Report,
    pub painter: Painter,
    pub sources: &'a Sources,
    pub cwd: &'a str,
    /// Lines of source before and after the one that matters.
    pub around: u32,
}

/// The whole report.
pub fn render(report: &Report, options: &Options) -> String {
    with_page(report, options, |page| {
        let mut out = String::new();
        for finding in &report.findings {
            out.push_str(&page.finding(finding));
            out.push('\n');
        }
        out.push_str(&page.footer());
        out
    })
}

/// One finding alone, as in the whole report.
pub fn render_one(report: &Report, finding: &Finding, options: &Options) -> String {
    with_page(report, options, |page| page.finding(finding))
}

fn with_page(report: &Report, options: &Options, write: impl Fn(&Page<'_>) -> String) -> String {
    let sources = options.sources(report);
    let cwd = options.cwd(report);
    write(&Page {
        report,
        painter: Painter {
            color: options.color,
            width: options.width.clamp(60, 200),
        },
        sources: &sources,
        cwd: &cwd,
        around: options.source_lines,
    })
}

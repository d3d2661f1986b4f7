//! One self-contained page: a list of findings, both sides beside each other, and a drawn timeline.
//!
//! Everything is in the page; it asks nothing of the network and its policy forbids it to. All text that comes from the
//! program goes through [`escape`]. Tests find their way by ids and `data-` attributes: `#finding-1`, `data-kind`,
//! `[data-access="0"]`, `svg.timeline`, `#filter`, `#count`.

mod finding;
mod timeline;

use crate::gpu;
use crate::sinks::Options;
use crate::source::Sources;
use crate::text;
use crate::words;
use deadheat_model::{Finding, FindingKind, Report};
use std::collections::BTreeMap;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// What every part of the page needs.
pub(super) struct Page<'a> {
    report: &'a Report,
    sources: &'a Sources,
    cwd: &'a str,
}

/// The whole page.
pub fn render(report: &Report, options: &Options) -> String {
    let sources = options.sources(report);
    let cwd = options.cwd(report);
    let page = Page {
        report,
        sources: &sources,
        cwd: &cwd,
    };
    let program = program_name(report);
    let findings: String = report
        .findings
        .iter()
        .map(|finding| page.finding(finding))
        .collect();
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; \
         script-src 'unsafe-inline'; img-src data:\">\n\
         <link rel=\"icon\" href=\"data:,\">\n\
         <title>Deadheat: {title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n{header}\n<div class=\"columns\">\n\
         {list}\n<main id=\"findings\">\n{findings}{empty}{footer}</main>\n</div>\n<script>\n{SCRIPT}</script>\n</body>\n</html>\n",
        title = escape(&program),
        header = page.header(&program),
        list = page.list(),
        empty = page.empty(),
        footer = page.footer(),
    )
}

/// Text for element content and attribute values.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c if c.is_control() && c != '\n' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// Escapes, and sets what stands between backquotes as code.
pub(super) fn prose(text: &str) -> String {
    let escaped = escape(text);
    let mut out = String::with_capacity(escaped.len());
    for (index, part) in escaped.split('`').enumerate() {
        if index % 2 == 1 {
            out.push_str("<code>");
            out.push_str(part);
            out.push_str("</code>");
        } else {
            out.push_str(part);
        }
    }
    out
}

fn program_name(report: &Report) -> String {
    match report.program.argv.first() {
        Some(name) => name.clone(),
        None => report.program.path.clone(),
    }
}

impl Page<'_> {
    fn header(&self, program: &str) -> String {
        format!(
            "<header>\n<h1>Deadheat</h1>\n<p class=\"program\" id=\"program\">{}</p>\n<p id=\"summary\">{}</p>\n\
             <button type=\"button\" id=\"theme\" title=\"Light or dark (t)\">Light/dark</button>\n</header>",
            escape(&match self.report.program.argv.as_slice() {
                [] => program.to_owned(),
                argv => argv.join(" "),
            }),
            escape(&text::summary(self.report))
        )
    }

    fn list(&self) -> String {
        let mut kinds: BTreeMap<FindingKind, usize> = BTreeMap::new();
        for finding in &self.report.findings {
            *kinds.entry(finding.kind).or_insert(0) += 1;
        }
        let chips: String = kinds
            .iter()
            .map(|(kind, count)| {
                format!(
                    "<button type=\"button\" class=\"chip\" data-filter-kind=\"{}\" aria-pressed=\"false\">{} \
                     <b>{count}</b></button>\n",
                    kind.name(),
                    escape(kind.title())
                )
            })
            .collect();
        let items: String = self
            .report
            .findings
            .iter()
            .map(|finding| self.item(finding))
            .collect();
        format!(
            "<nav aria-label=\"Findings\">\n<input id=\"filter\" type=\"search\" placeholder=\"Filter ( / )\" \
             aria-label=\"Filter findings\">\n<div class=\"chips\">\n{chips}</div>\n\
             <p id=\"count\" aria-live=\"polite\">{} of {}</p>\n<ol id=\"list\">\n{items}</ol>\n\
             <p class=\"keys\"><kbd>j</kbd> <kbd>k</kbd> next, previous &middot; <kbd>/</kbd> filter &middot; \
             <kbd>Esc</kbd> clear &middot; <kbd>t</kbd> light/dark</p>\n</nav>",
            self.report.findings.len(),
            self.report.findings.len()
        )
    }

    fn item(&self, finding: &Finding) -> String {
        let places: Vec<String> = finding
            .accesses
            .iter()
            .map(|access| &access.stack)
            .chain(finding.stacks.iter().map(|entry| &entry.stack))
            .filter_map(|stack| words::spot(stack))
            .map(|frame| words::line_of(frame, self.cwd))
            .take(2)
            .collect();
        let times = if finding.count > 1 {
            format!(" <span class=\"times\">&times;{}</span>", finding.count)
        } else {
            String::new()
        };
        format!(
            "<li data-id=\"{id}\" data-kind=\"{kind}\"><a href=\"#finding-{id}\" data-id=\"{id}\">\
             <span class=\"dot {severity}\"></span><span class=\"what\">{id}. {title}{times}</span>\
             <span class=\"where\">{places}</span></a></li>\n",
            id = finding.id,
            kind = finding.kind.name(),
            severity = finding.severity.name(),
            title = prose(&finding.title),
            places = escape(&places.join(" / ")),
        )
    }

    fn empty(&self) -> String {
        let hidden = if self.report.findings.is_empty() {
            ""
        } else {
            " hidden"
        };
        let text = if self.report.findings.is_empty() {
            "Nothing was found in this run."
        } else {
            "No finding matches the filter."
        };
        format!("<p id=\"empty\"{hidden}>{text}</p>\n")
    }

    fn footer(&self) -> String {
        let report = self.report;
        let mut rows: Vec<(String, String)> = Vec::new();
        for module in text::unseen(report) {
            rows.push((
                "not seen".to_owned(),
                format!(
                    "{}: built without Deadheat, so races inside cannot be seen",
                    module.path
                ),
            ));
        }
        for loss in &report.losses {
            rows.push(("lost".to_owned(), format!("{}: {}", loss.what, loss.count)));
        }
        rows.extend(
            report
                .notes
                .iter()
                .map(|note| ("note".to_owned(), note.clone())),
        );
        let analysed = report.launches.iter().filter_map(gpu::checked);
        rows.extend(analysed.map(|text| ("analysis".to_owned(), text)));
        for silenced in &report.suppressed {
            rows.push((
                "silenced".to_owned(),
                format!(
                    "{} by `{}` ({}), seen {}",
                    words::counted(silenced.findings, "finding", "findings"),
                    silenced.rule,
                    silenced.source,
                    words::counted(silenced.count, "time", "times")
                ),
            ));
        }
        let rows: String = rows
            .iter()
            .map(|(name, text)| format!("<dt>{}</dt><dd>{}</dd>\n", escape(name), prose(text)))
            .collect();
        format!(
            "<footer>\n<dl class=\"facts\" id=\"footer\">\n{rows}</dl>\n<p>Deadheat {}, schema {}</p>\n</footer>\n",
            escape(&report.tool.version),
            report.schema
        )
    }
}

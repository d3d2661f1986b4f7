//! The text of one finding of each kind, and of a whole report, as golden files in `tests/golden`.

mod common;

use common::{Built, bank, cases, golden};
use deadheat_report::model::{FindingId, FindingKind, Report};
use deadheat_report::{Collector, Format, Options, Outcome, Settings, explain, render};
use serde_json::{Value, json};
use std::collections::BTreeSet;

fn collect(built: &Built, findings: &[Value]) -> Report {
    let mut collector = Collector::new(Settings::default());
    for line in built.prologue() {
        let _ = collector.line(&line);
    }
    for (finding, id) in findings.iter().zip(1..) {
        let mut finding = finding.clone();
        finding["event"] = json!("finding");
        finding["id"] = json!(id);
        let _ = collector.line(&finding.to_string());
    }
    let _ = collector.line(r#"{"event":"again","id":1,"count":12}"#);
    let _ = collector.line(r#"{"event":"end","status":0}"#);
    collector.finish(Outcome::Exited(0))
}

/// The one list of what differs from machine to machine: addresses.
fn normalize(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("0x") {
        out.push_str(&rest[..at]);
        out.push_str("0xADDR");
        rest = rest[at + 2..].trim_start_matches(|c: char| c.is_ascii_hexdigit());
    }
    out.push_str(rest);
    out
}

#[test]
fn every_kind_as_text() {
    let built = bank("golden-text");
    let mut kinds = BTreeSet::new();
    for (name, finding) in cases::all(&built) {
        let report = collect(&built, &[finding]);
        assert_eq!(report.findings.len(), 1, "{name}: {:?}", report.losses);
        kinds.insert(report.findings[0].kind);
        let text = render(&report, Format::Text, &Options::default());
        golden(&format!("{name}.txt"), &normalize(&text));
    }
    assert_eq!(
        kinds.len(),
        FindingKind::ALL
            .iter()
            .filter(|kind| !kind.is_gpu())
            .count(),
        "a kind has no golden report"
    );
}

#[test]
fn explanations() {
    let built = bank("golden-explain");
    for (name, finding) in cases::all(&built) {
        if ![
            "data-race-released-too-early",
            "data-race-one-lock",
            "lock-order-inversion",
        ]
        .contains(&name)
        {
            continue;
        }
        let report = collect(&built, &[finding]);
        let text = explain(&report, FindingId(1), &Options::default()).expect("finding 1 is there");
        golden(&format!("explain-{name}.txt"), &normalize(&text));
        assert_eq!(explain(&report, FindingId(2), &Options::default()), None);
    }
}

#[test]
fn narrow_terminals_and_colour() {
    let built = bank("golden-narrow");
    let (_, finding) = cases::all(&built).remove(0);
    let report = collect(&built, &[finding]);
    let narrow = Options {
        width: 60,
        ..Options::default()
    };
    let text = render(&report, Format::Text, &narrow);
    golden("narrow.txt", &normalize(&text));
    assert!(
        text.lines().all(|line| line.chars().count() <= 60),
        "{text}"
    );
    let coloured = render(
        &report,
        Format::Text,
        &Options {
            color: true,
            ..narrow
        },
    );
    let mut plain = String::new();
    let mut rest = coloured.as_str();
    while let Some(at) = rest.find('\x1b') {
        plain.push_str(&rest[..at]);
        rest = &rest[at + rest[at..].find('m').expect("an escape ends") + 1..];
    }
    plain.push_str(rest);
    let trimmed = |text: &str| {
        text.lines()
            .map(str::trim_end)
            .collect::<Vec<_>>()
            .join("\n")
    };
    assert_eq!(
        trimmed(&plain),
        trimmed(&text),
        "colour changes nothing else"
    );
    assert_ne!(coloured, text);
}

#[test]
fn a_thread_has_the_name_that_it_has_in_its_own_process() {
    let built = bank("golden-processes");
    let (_, finding) = cases::all(&built)
        .into_iter()
        .find(|(name, _)| *name == "data-race-atomic")
        .unwrap_or_else(|| panic!("the case is gone"));
    let mut report = collect(&built, &[finding]);
    let shows = |report: &Report, text: &str| {
        let shown = render(report, Format::Text, &Options::default());
        assert!(shown.contains(text), "no {text:?} in:\n{shown}");
    };
    // Another process, whose threads have the same numbers.
    let mut other = report.threads.clone();
    other[0].name = "tests::another".to_owned();
    report.threads.splice(0..0, other);
    shows(&report, "T1 created by T0 (main) in main");
    report.findings[0].threads.retain(|thread| thread.id.0 != 0);
    shows(&report, "T1 created by T0 in main");
    report.threads[0].name = "main".to_owned();
    shows(&report, "T1 created by T0 (main) in main");
}

//! JSON against our schema, SARIF against the official one, HTML against its promises; all from one report.

mod common;

use common::{bank, cases, manifest};
use deadheat_report::model::Report;
use deadheat_report::{
    Collector, Format, Options, Outcome, Settings, Suppressions, read_json, render, to_suppressions,
};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A report with every kind, a loss, a note, an unseen library and names that try to break out.
fn sample(name: &str) -> Report {
    let built = bank(name);
    let mut collector = Collector::new(Settings {
        suppressions: Suppressions::parse("known.txt", "deadlock:^nothing$\ndouble-lock:inspect")
            .expect("parses"),
        list_unused_suppressions: true,
        ..Settings::default()
    });
    for line in built.prologue() {
        let _ = collector.line(&line);
    }
    for line in [
        json!({"event": "module", "path": "/opt/lib/libplain.so.1", "bias": 1, "start": 16, "end": 32,
               "instrumented": false}),
        json!({"event": "thread-name", "id": 1, "name": "<script>alert('x')</script>\u{1b}[31m"}),
        json!({"event": "loss", "what": "accesses <lost> & gone", "count": 3}),
        json!({"event": "note", "text": "a note with \"quotes\" & <b>tags</b>"}),
        json!({"event": "stats", "checks": 12.5}),
    ] {
        let _ = collector.line(&line.to_string());
    }
    for ((_, mut finding), id) in cases::all(&built).into_iter().zip(1..) {
        finding["event"] = json!("finding");
        finding["id"] = json!(id);
        let _ = collector.line(&finding.to_string());
    }
    let _ = collector.line(r#"{"event":"again","id":1,"count":1000000}"#);
    let _ = collector.line("not json");
    collector.finish(Outcome::Signalled(15))
}

fn validate(schema: &Path, text: &str) {
    let mut schemas = boon::Schemas::new();
    let mut compiler = boon::Compiler::new();
    let location = schema.to_str().expect("a path in UTF-8");
    let index = compiler
        .compile(location, &mut schemas)
        .expect("the schema compiles");
    let value: Value = serde_json::from_str(text).expect("it is JSON");
    if let Err(error) = schemas.validate(&value, index) {
        panic!("{error:#}");
    }
}

/// For people who want to look: the rendered files stay in cargo's temporary folder.
fn keep(name: &str, text: &str) {
    std::fs::write(PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name), text).expect("written");
}

#[test]
fn json_validates_and_reads_back() {
    let report = sample("sinks-json");
    let text = render(&report, Format::Json, &Options::default());
    keep("sample.json", &text);
    validate(&manifest().join("../../docs/findings.schema.json"), &text);
    assert_eq!(read_json(&text).expect("reads back"), report);
    let empty = Collector::new(Settings::default()).finish(Outcome::Unknown);
    validate(
        &manifest().join("../../docs/findings.schema.json"),
        &render(&empty, Format::Json, &Options::default()),
    );
}

#[test]
fn the_schema_knows_every_kind() {
    let text =
        std::fs::read_to_string(manifest().join("../../docs/findings.schema.json")).expect("there");
    let schema: Value = serde_json::from_str(&text).expect("JSON");
    let kinds: Vec<&str> = schema["$defs"]["kind"]["enum"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(Value::as_str)
        .collect();
    let ours: Vec<&str> = deadheat_report::model::FindingKind::ALL
        .map(|kind| kind.name())
        .to_vec();
    assert_eq!(kinds, ours);
    let prose =
        std::fs::read_to_string(manifest().join("../../docs/json-schema.md")).expect("there");
    for kind in ours {
        assert!(
            prose.contains(&format!("`{kind}`")),
            "docs/json-schema.md does not name {kind}"
        );
    }
}

#[test]
fn foreign_json_is_refused_with_advice() {
    for (text, part) in [
        ("no", "no JSON"),
        ("{}", "no `schema`"),
        (r#"{"schema": 99}"#, "version 99"),
        (r#"{"schema": 1}"#, "cannot be read"),
    ] {
        let error = read_json(text).expect_err("refused");
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn sarif_validates_against_the_official_schema() {
    let text = render(&sample("sinks-sarif"), Format::Sarif, &Options::default());
    keep("sample.sarif", &text);
    validate(&official_sarif_schema(), &text);
    let log: Value = serde_json::from_str(&text).expect("JSON");
    let results = log["runs"][0]["results"].as_array().expect("results");
    let rules = log["runs"][0]["tool"]["driver"]["rules"]
        .as_array()
        .expect("rules");
    for result in results {
        let rule = result["ruleIndex"].as_u64().expect("an index");
        assert_eq!(
            rules[usize::try_from(rule).expect("small")]["id"],
            result["ruleId"]
        );
        let uri = &result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"];
        assert_eq!(uri, "tests/programs/bank.c", "paths are relative");
    }
    assert_eq!(results[0]["occurrenceCount"], 1_000_001);
    assert!(
        results[0]["codeFlows"][0]["threadFlows"]
            .as_array()
            .is_some_and(|flows| flows.len() == 2)
    );
}

/// The schema travels inside a package of crates.io that this test depends on.
fn official_sarif_schema() -> PathBuf {
    let output = Command::new(env!("CARGO"))
        .current_dir(manifest())
        .args([
            "metadata",
            "--format-version",
            "1",
            "--filter-platform",
            "x86_64-unknown-linux-gnu",
        ])
        .output()
        .expect("cargo runs");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo metadata is JSON");
    let package = metadata["packages"]
        .as_array()
        .expect("packages")
        .iter()
        .find(|package| package["name"] == "serde-sarif")
        .expect("serde-sarif is a dependency");
    let folder = Path::new(package["manifest_path"].as_str().expect("a path"))
        .parent()
        .expect("a folder");
    folder.join("src/schema.json")
}

#[test]
fn html_is_whole_and_escaped() {
    let report = sample("sinks-html");
    let text = render(&report, Format::Html, &Options::default());
    keep("sample.html", &text);
    for finding in &report.findings {
        assert!(text.contains(&format!("id=\"finding-{}\"", finding.id)));
    }
    for bad in [
        "<script>alert",
        "<lost>",
        "<b>tags",
        "http://",
        "https://",
        "src=",
        "@import",
        "\u{1b}",
    ] {
        assert!(!text.contains(bad), "{bad}");
    }
    assert!(text.contains("&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;"));
    assert!(text.contains("<svg class=\"timeline\""));
    assert!(text.contains("not ordered"));
    let opened = text.matches("<article").count();
    assert_eq!(opened, report.findings.len());
    assert_eq!(opened, text.matches("</article>").count());
}

#[test]
fn text_footer_tells_everything() {
    let text = render(&sample("sinks-text"), Format::Text, &Options::default());
    for part in [
        "libplain.so.1: built without Deadheat",
        "accesses <lost> & gone: 3",
        "lines from the runtime that could not be read: 1",
        "a note with",
        "1 finding by `double-lock:inspect` (known.txt:2), seen 1 time",
        "unused suppression `deadlock:^nothing$` (known.txt:1)",
        "was ended by signal 15 (SIGTERM)",
        "deadheat explain 1",
        "1 suppressed",
    ] {
        assert!(
            text.contains(part) || text.replace("\n            ", " ").contains(part),
            "{part}\n{text}"
        );
    }
    assert!(
        !text.contains('\u{1b}'),
        "a thread's name must not steer the terminal"
    );
}

#[test]
fn generated_suppressions_silence_everything() {
    let built = bank("sinks-suppress");
    let report = sample("sinks-suppress-report");
    let text = to_suppressions(&report);
    let rules = Suppressions::parse("generated", &text).expect("what we write we can read");
    let mut collector = Collector::new(Settings {
        suppressions: rules.clone(),
        ..Settings::default()
    });
    for line in built.prologue() {
        let _ = collector.line(&line);
    }
    for ((_, mut finding), id) in cases::all(&built).into_iter().zip(1..) {
        if finding["kind"] == "double-lock" {
            continue;
        }
        finding["event"] = json!("finding");
        finding["id"] = json!(id);
        let _ = collector.line(&finding.to_string());
    }
    let silenced = collector.finish(Outcome::Exited(0));
    assert!(
        silenced.findings.is_empty(),
        "{:?}",
        silenced
            .findings
            .iter()
            .map(|f| &f.title)
            .collect::<Vec<_>>()
    );
    assert!(
        report
            .findings
            .iter()
            .all(|finding| rules.matching_finding(finding).is_some())
    );
}

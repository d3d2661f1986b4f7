//! The collector: merging, counting, suppressions, forks, bad lines, and that nothing makes it panic.

mod common;

use common::{Built, bank, cases};
use deadheat_report::model::{ExitHow, FindingId, Report};
use deadheat_report::{
    Collector, Format, Options, Outcome, Reply, Settings, Suppressions, explain, render,
};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::sync::OnceLock;

fn settings(rules: &str) -> Settings {
    Settings {
        suppressions: Suppressions::parse("rules.txt", rules).expect("the rules parse"),
        ..Settings::default()
    }
}

fn started(built: &Built, rules: &str) -> Collector {
    let mut collector = Collector::new(settings(rules));
    for line in built.prologue() {
        assert_eq!(collector.line(&line), Reply::Nothing);
    }
    collector
}

fn case(built: &Built, name: &str) -> Value {
    let (_, mut finding) = cases::all(built)
        .into_iter()
        .find(|(known, _)| *known == name)
        .unwrap_or_else(|| panic!("no case {name}"));
    finding["event"] = json!("finding");
    finding["id"] = json!(1);
    finding
}

fn shown(reply: &Reply) -> Option<bool> {
    match reply {
        Reply::Nothing | Reply::Options { .. } => None,
        Reply::NewFinding { shown, .. } | Reply::Known { shown } => Some(*shown),
    }
}

#[test]
fn the_same_bug_is_one_finding() {
    let built = bank("collect-merge");
    let mut collector = started(&built, "");
    let mut finding = case(&built, "data-race-one-lock");
    let reply = collector.line(&finding.to_string());
    let Reply::NewFinding {
        id,
        shown,
        headline,
    } = reply
    else {
        panic!("{reply:?}");
    };
    assert_eq!((id, shown), (Some(FindingId(1)), true));
    assert_eq!(
        headline,
        "data race: `accounts[2].balance` (T0 reads at tests/programs/bank.c:46; T1 writes at tests/programs/bank.c:34)"
    );
    // The sides changed places, another element of the array, another thread: still the same bug.
    finding["id"] = json!(2);
    let accesses = finding["accesses"].as_array_mut().expect("accesses");
    accesses.swap(0, 1);
    accesses[0]["thread"] = json!(2);
    for access in accesses.iter_mut() {
        access["addr"] = json!(built.at("accounts") + 8);
    }
    finding["memory"]["addr"] = json!(built.at("accounts") + 8);
    assert_eq!(
        collector.line(&finding.to_string()),
        Reply::Known { shown: true }
    );
    // Another variable at the same places is another bug.
    finding["id"] = json!(3);
    finding["memory"]["addr"] = json!(built.at("total"));
    assert_eq!(shown_of(&mut collector, &finding), Some(true));
    for line in [
        r#"{"event":"again","id":1,"count":5}"#,
        r#"{"event":"again","id":1,"count":40}"#,
        r#"{"event":"again","id":2,"count":2}"#,
        r#"{"event":"again","id":99,"count":2}"#,
    ] {
        assert_eq!(collector.line(line), Reply::Nothing);
    }
    let report = collector.finish(Outcome::Exited(0));
    let counts: Vec<u64> = report
        .findings
        .iter()
        .map(|finding| finding.count)
        .collect();
    assert_eq!(counts, [42, 1]);
    assert_eq!(report.summary.count, 43);
}

fn shown_of(collector: &mut Collector, finding: &Value) -> Option<bool> {
    shown(&collector.line(&finding.to_string()))
}

#[test]
fn fingerprints_survive_another_run() {
    let print = |file: &str, thread: u64| {
        let built = bank(file);
        let mut collector = started(&built, "");
        let mut finding = case(&built, "data-race-one-lock");
        finding["accesses"][1]["thread"] = json!(thread);
        let _ = collector.line(&finding.to_string());
        collector.finish(Outcome::Unknown).findings[0]
            .fingerprint
            .clone()
    };
    assert_eq!(print("collect-print-a", 1), print("collect-print-b", 2));
}

#[test]
fn suppressions_in_both_languages() {
    let built = bank("collect-suppress");
    for (rule, name, silenced) in [
        ("race:audit", "data-race-one-lock", true),
        ("race:^audit$", "data-race-one-lock", true),
        ("race:^aud$", "data-race-one-lock", false),
        ("race:a*t", "data-race-one-lock", true),
        ("race:bank.c", "data-race-one-lock", true),
        ("race:collect-suppress", "data-race-one-lock", true),
        ("race:^accounts", "data-race-one-lock", true),
        ("race:nothing", "data-race-one-lock", false),
        ("data-race:deposit", "data-race-one-lock", true),
        ("use-after-free:deposit", "data-race-one-lock", false),
        ("race_top:^teller$", "data-race-one-lock", false),
        ("race_top:^deposit$", "data-race-one-lock", true),
        ("race:free", "use-after-free", false),
        ("race:teller", "use-after-free", true),
        ("use-after-free:teller", "use-after-free", true),
        ("deadlock:transfer", "lock-order-inversion", true),
        ("deadlock:inspect", "deadlock", true),
        ("lock-order-inversion:transfer", "deadlock", false),
        ("mutex:inspect", "unlock-not-held", true),
        ("mutex:inspect", "data-race-one-lock", false),
        ("thread:main", "thread-leak", true),
        ("signal:on_signal", "signal-unsafe", true),
        ("called_from_lib:collect-suppress", "data-race-heap", true),
        ("called_from_lib:libother.so", "data-race-heap", false),
        ("# race:audit", "data-race-one-lock", false),
        ("  race:audit  ", "data-race-one-lock", true),
    ] {
        let mut collector = started(&built, rule);
        assert_eq!(
            shown_of(&mut collector, &case(&built, name)),
            Some(!silenced),
            "{rule} on {name}"
        );
        let report = collector.finish(Outcome::Exited(0));
        assert_eq!(report.findings.is_empty(), silenced);
        assert_eq!(report.summary.suppressed, u64::from(silenced));
    }
}

#[test]
fn the_programs_own_suppressions_count() {
    let built = bank("collect-own");
    let mut collector = started(&built, "");
    let _ = collector.line(&json!({"event": "suppressions", "text": "race:audit\n"}).to_string());
    let finding = case(&built, "data-race-one-lock");
    assert_eq!(shown_of(&mut collector, &finding), Some(false));
    let mut again = finding.clone();
    again["id"] = json!(5);
    assert_eq!(
        collector.line(&again.to_string()),
        Reply::Known { shown: false }
    );
    let report = collector.finish(Outcome::Exited(0));
    assert_eq!(report.suppressed[0].source, "__tsan_default_suppressions:1");
    assert_eq!(report.suppressed[0].count, 2);
    let mut collector = started(&built, "");
    let _ = collector.line(&json!({"event": "suppressions", "text": "rase:audit\n"}).to_string());
    assert_eq!(shown_of(&mut collector, &finding), Some(true));
    let notes = collector.finish(Outcome::Exited(0)).notes;
    assert!(
        notes[0].starts_with("__tsan_default_suppressions:1: `rase` is no type"),
        "{notes:?}"
    );
}

#[test]
fn malformed_rules_name_file_and_line() {
    for (text, expected) in [
        (
            "race:a\nfoo",
            "s.txt:2: `foo` has no type; write for example `race:foo`",
        ),
        ("race:", "s.txt:1: nothing follows `race:`"),
        (
            "\n\nraces:x",
            "s.txt:3: `races` is no type of suppression; known are race, race_top,",
        ),
    ] {
        let error = Suppressions::parse("s.txt", text)
            .expect_err("refused")
            .to_string();
        assert!(error.starts_with(expected), "{error}");
    }
    let error = Suppressions::read(std::path::Path::new("/nowhere/s.txt")).expect_err("refused");
    assert!(
        error.to_string().starts_with("/nowhere/s.txt: cannot read"),
        "{error}"
    );
}

#[test]
fn bad_lines_are_counted_and_told() {
    let built = bank("collect-bad");
    let mut collector = started(&built, "");
    for line in [
        "{",
        "\u{1b}[31mred",
        r#"{"event":"finding","kind":"new-kind"}"#,
        "",
    ] {
        assert_eq!(collector.line(line), Reply::Nothing);
    }
    let report = collector.finish(Outcome::Signalled(9));
    let losses: Vec<(&str, u64)> = report
        .losses
        .iter()
        .map(|loss| (loss.what.as_str(), loss.count))
        .collect();
    assert_eq!(
        losses,
        [
            ("lines from the runtime that could not be read", 2),
            ("findings of an unknown kind `new-kind`", 1)
        ]
    );
    assert!(
        report
            .notes
            .iter()
            .any(|note| note.contains("the first line that could not be read"))
    );
    assert!(
        report
            .notes
            .iter()
            .any(|note| note.contains("signal 9 (SIGKILL)")),
        "{:?}",
        report.notes
    );
    assert_eq!(report.program.exit.how, ExitHow::Signalled);
    assert!(!report.program.exit.complete);
}

#[test]
fn the_stream_tells_the_exit_if_nobody_waited() {
    let built = bank("collect-exit");
    let mut collector = started(&built, "");
    assert!(collector.started() && !collector.ended());
    let _ = collector.line(r#"{"event":"end","status":3}"#);
    assert!(collector.ended());
    let exit = collector.finish(Outcome::Unknown).program.exit;
    assert_eq!(
        (exit.how, exit.code, exit.complete),
        (ExitHow::Exited, Some(3), true)
    );
}

#[test]
fn a_fork_has_its_own_numbers() {
    let built = bank("collect-fork");
    let mut collector = started(&built, "");
    let _ = collector.line(&case(&built, "data-race-one-lock").to_string());
    let _ = collector.line(r#"{"event":"fork","pid":77,"parent":4242}"#);
    let _ = collector.line(&case(&built, "data-race-heap").to_string());
    let _ = collector.line(r#"{"event":"again","id":1,"count":9}"#);
    let report = collector.finish(Outcome::Exited(0));
    let told: Vec<(Option<u64>, u64)> = report.findings.iter().map(|f| (f.pid, f.count)).collect();
    assert_eq!(told, [(None, 1), (Some(77), 9)]);
}

#[test]
fn lines_of_a_process_and_its_fork_may_be_mixed() {
    let built = bank("collect-mixed");
    let mut collector = started(&built, "");
    let from = |pid: u64, line: &str| line.replacen('{', &format!("{{\"pid\":{pid},"), 1);
    let numbered = |name: &str, id: u64| {
        let mut finding = case(&built, name);
        finding["id"] = json!(id);
        finding.to_string()
    };
    let thread = |name: &str| {
        json!({"event": "thread", "id": 2, "parent": 0, "tid": name.len(), "name": name, "created": []})
            .to_string()
    };
    for line in [
        numbered("data-race-one-lock", 1),
        r#"{"event":"fork","pid":77,"parent":4242}"#.to_owned(),
        // Both count on from the same number, and call different threads T2.
        from(77, &thread("child")),
        from(4242, &thread("parent's")),
        from(77, &numbered("data-race-heap", 2)),
        from(4242, &numbered("data-race-two-locks", 2)),
        from(77, r#"{"event":"again","id":2,"count":5}"#),
        from(4242, r#"{"event":"again","id":2,"count":3}"#),
        from(77, r#"{"event":"again","id":1,"count":10}"#),
        from(4242, r#"{"event":"again","id":1,"count":20}"#),
        from(77, r#"{"event":"stats","checks":1}"#),
        from(77, r#"{"event":"end"}"#),
    ] {
        let _ = collector.line(&line);
    }
    assert!(!collector.ended(), "the fork's end is not the program's");
    let _ = collector.line(&from(4242, r#"{"event":"end"}"#));
    assert!(collector.ended());
    let report = collector.finish(Outcome::Exited(0));
    let told: Vec<(Option<u64>, u64)> = report.findings.iter().map(|f| (f.pid, f.count)).collect();
    assert_eq!(told, [(None, 30), (Some(77), 5), (None, 3)]);
    let names: Vec<&str> = report
        .findings
        .iter()
        .flat_map(|finding| &finding.threads)
        .filter(|thread| thread.id.0 == 2)
        .map(|thread| thread.name.as_str())
        .collect();
    assert_eq!(names, ["child", "parent's"]);
    assert!(report.losses.is_empty());
    assert_eq!(report.stats.len(), 1);
}

#[test]
fn a_read_and_a_write_of_one_statement_are_one_finding() {
    let built = bank("collect-increment");
    let mut collector = started(&built, "");
    let mut finding = case(&built, "data-race-one-lock");
    for (id, op, atomic) in [(1, "read", false), (2, "write", false), (3, "write", true)] {
        finding["id"] = json!(id);
        finding["accesses"][0]["op"] = json!(op);
        finding["accesses"][0]["atomic"] = json!(atomic);
        let _ = collector.line(&finding.to_string());
    }
    let report = collector.finish(Outcome::Exited(0));
    let counts: Vec<u64> = report.findings.iter().map(|f| f.count).collect();
    assert_eq!(counts, [2, 1]);
}

#[test]
fn a_renamed_thread_has_its_last_name() {
    let built = bank("collect-name");
    let mut collector = started(&built, "");
    let _ = collector.line(r#"{"event":"thread-name","id":1,"name":"cashier"}"#);
    let _ = collector.line(&case(&built, "data-race-one-lock").to_string());
    let report = collector.finish(Outcome::Exited(0));
    assert_eq!(report.findings[0].accesses[1].thread.name, "cashier");
    assert_eq!(report.threads[1].name, "cashier");
}

#[test]
fn losses_keep_the_last_total() {
    let mut collector = Collector::new(Settings::default());
    for count in [1, 5, 4] {
        let _ = collector.line(&json!({"event": "loss", "what": "x", "count": count}).to_string());
    }
    assert_eq!(collector.finish(Outcome::Unknown).losses[0].count, 4);
}

#[test]
fn missing_source_is_said() {
    let built = bank("collect-source");
    let mut collector = started(&built, "");
    let _ = collector.line(&case(&built, "data-race-one-lock").to_string());
    let mut report = collector.finish(Outcome::Exited(0));
    for access in &mut report.findings[0].accesses {
        for frame in &mut access.stack {
            frame.file = Some("/gone/away.c".to_owned());
        }
    }
    let text = render(&report, Format::Text, &Options::default());
    assert!(text.contains("source not found: /gone/away.c"), "{text}");
    assert!(
        render(&report, Format::Html, &Options::default())
            .contains("source not found: /gone/away.c")
    );
}

fn every_sink(report: &Report) {
    for format in Format::ALL {
        let _ = render(
            report,
            format,
            &Options {
                color: true,
                width: 0,
                ..Options::default()
            },
        );
    }
    for finding in &report.findings {
        let _ = explain(report, finding.id, &Options::default());
    }
}

/// Values of any shape under keys the collector knows.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (0_u64..4).prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        "(read|write|free|heap|global|stack|lock|unlock|access|create|join|mutex)"
            .prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((key(), inner), 0..8)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
        ]
    })
}

fn key() -> impl Strategy<Value = String> {
    "(op|atomic|size|addr|thread|stack|locks|lock|type|mode|kind|start|end|freed|frame|fd|what|object|access|label|created|at|id|count|text|path|bias|name|parent)"
}

/// A finding that parses, with numbers at the edges.
fn finding() -> impl Strategy<Value = Value> {
    let number = prop_oneof![0_u64..4, Just(u64::MAX), any::<u64>()];
    let stack = prop::collection::vec(number.clone(), 0..4);
    let access = (stack.clone(), number.clone(), "(read|write|free|vptr-write)", any::<bool>()).prop_map(
        |(stack, n, op, atomic)| {
            json!({"op": op, "atomic": atomic, "size": n, "addr": n, "thread": n % 5, "stack": stack,
                   "locks": [{"lock": n % 3, "addr": n, "type": "rwlock", "mode": "read", "stack": stack}]})
        },
    );
    let moment = (stack.clone(), number.clone(), "(lock|unlock|wait|create|join|start|exit|access|odd)").prop_map(
        |(stack, n, what)| {
            json!({"thread": n % 4, "at": n, "what": what, "object": n % 3, "access": n % 5, "stack": stack})
        },
    );
    let kinds = deadheat_report::model::FindingKind::ALL.map(|kind| kind.name());
    let memory = (number.clone(), "(heap|global|stack|tls|fd|mapping|x)").prop_map(
        |(n, kind)| json!({"kind": kind, "addr": n, "start": n, "size": n, "thread": n % 5, "frame": n}),
    );
    (
        prop::sample::select(kinds.to_vec()),
        prop::collection::vec(access, 0..4),
        prop::collection::vec(moment, 0..6),
        memory,
        prop::collection::vec((stack, any::<String>()), 0..3),
        number,
    )
        .prop_map(|(kind, accesses, timeline, memory, stacks, id)| {
            let stacks: Vec<Value> = stacks
                .into_iter()
                .map(|(stack, label)| json!({"label": label, "thread": 1, "stack": stack}))
                .collect();
            json!({"event": "finding", "id": id, "kind": kind, "accesses": accesses, "timeline": timeline,
                   "memory": memory, "stacks": stacks, "threads": [0, 9],
                   "locks": [{"lock": 1, "addr": 3, "type": "mutex"}]})
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_makes_it_panic(lines in prop::collection::vec(any::<String>(), 0..8)) {
        let mut collector = Collector::new(Settings::default());
        for line in &lines {
            let _ = collector.line(line);
        }
        every_sink(&collector.finish(Outcome::Unknown));
    }

    #[test]
    fn no_json_makes_it_panic(
        events in prop::collection::vec(
            ("(start|module|thread|thread-name|suppressions|finding|again|loss|note|fork|stats|end)",
             prop::collection::vec((key(), value()), 0..8)),
            0..10,
        )
    ) {
        let mut collector = Collector::new(Settings::default());
        for (event, pairs) in events {
            let mut line: serde_json::Map<String, Value> = pairs.into_iter().collect();
            line.insert("event".to_owned(), Value::from(event));
            let _ = collector.line(&Value::Object(line).to_string());
        }
        every_sink(&collector.finish(Outcome::Exited(1)));
    }

    #[test]
    fn no_finding_makes_it_panic(findings in prop::collection::vec(finding(), 1..5)) {
        static BANK: OnceLock<Built> = OnceLock::new();
        let built = BANK.get_or_init(|| bank("collect-random"));
        let mut collector = Collector::new(Settings::default());
        let module = json!({"event": "module", "path": built.path, "bias": 0, "start": 0, "end": u64::MAX});
        let _ = collector.line(&module.to_string());
        for finding in &findings {
            let _ = collector.line(&finding.to_string());
        }
        let report = collector.finish(Outcome::Exited(1));
        prop_assert!(report.losses.is_empty(), "{:?}", report.losses);
        prop_assert!(!report.findings.is_empty());
        every_sink(&report);
    }
}

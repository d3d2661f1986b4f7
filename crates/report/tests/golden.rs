//! The text of one finding of each kind, as golden files in `tests/golden`.

mod common;

use common::{Built, bank, golden};
use deadheat_report::{Collector, Format, Options, Outcome, Settings, render};
use serde_json::{Value, json};

fn check(name: &str, finding: Value) {
    let built = bank(&format!("golden-{name}"));
    check_built(name, &built, finding);
}

fn check_built(name: &str, built: &Built, mut finding: Value) {
    finding["event"] = json!("finding");
    finding["id"] = json!(7);
    let mut collector = Collector::new(Settings::default());
    for line in built.prologue() {
        let _ = collector.line(&line);
    }
    let _ = collector.line(&finding.to_string());
    let _ = collector.line(r#"{"event":"again","id":7,"count":12}"#);
    let _ = collector.line(r#"{"event":"end","status":0}"#);
    let report = collector.finish(Outcome::Exited(0));
    let text = render(&report, Format::Text, &Options::default());
    golden(&format!("{name}.txt"), &normalize(&text));
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

fn access(b: &Built, op: &str, thread: u64, variable: u64, stack: &[&str], locks: Vec<Value>) -> Value {
    json!({"op": op, "atomic": false, "size": 8, "addr": variable, "thread": thread,
           "stack": b.stack(stack), "locks": locks})
}

#[test]
fn data_race_where_one_side_holds_a_lock() {
    let b = bank("golden-one-lock");
    let variable = b.at("accounts") + 2 * 56 + 8;
    let finding = json!({"kind": "data-race",
        "accesses": [
            access(&b, "read", 0, variable, &["audit_balance", "main_audit"], vec![]),
            access(&b, "write", 1, variable, &["deposit_balance", "teller_deposit"],
                   vec![b.lock(7, "books", &["lock_books", "teller_deposit"])])],
        "memory": {"kind": "global", "addr": variable}});
    check_built("data-race-one-lock", &b, finding);
}

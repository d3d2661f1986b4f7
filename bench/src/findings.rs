//! Reads Deadheat's JSON report and prints each finding in a few lines.

use serde_json::Value;

/// The findings of a report, or a sentence why it cannot be read.
pub fn read(text: &str) -> std::result::Result<Vec<Value>, String> {
    let report: Value =
        serde_json::from_str(text).map_err(|e| format!("the report is not JSON: {e}"))?;
    match report.get("findings").and_then(Value::as_array) {
        Some(list) => Ok(list.clone()),
        None => Err("the report has no findings list".to_string()),
    }
}

/// One finding as text: its kind and count, and the stack of each access.
pub fn show(finding: &Value) -> String {
    let kind = finding.get("kind").and_then(Value::as_str).unwrap_or("?");
    let count = finding.get("count").and_then(Value::as_u64).unwrap_or(1);
    let mut out = format!("{kind} (seen {count} times)\n");
    if let Some(name) = finding.pointer("/memory/name").and_then(Value::as_str) {
        out.push_str(&format!("  memory: {name}\n"));
    }
    for access in list(finding, "accesses") {
        let text = |key: &str| match access.get(key) {
            Some(v) => v.to_string().trim_matches('"').to_string(),
            None => String::new(),
        };
        let locks = list(access, "locks").len();
        let (kind, size) = (text("kind"), text("size"));
        out.push_str(&format!("  {kind} of {size} bytes, {locks} locks held\n"));
        out.push_str(&show_stack(access));
    }
    for entry in list(finding, "stacks") {
        let label = entry.get("label").and_then(Value::as_str).unwrap_or("?");
        out.push_str(&format!("  {label}\n"));
        out.push_str(&show_stack(entry));
    }
    out
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value
        .get(key)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

fn show_stack(holder: &Value) -> String {
    list(holder, "stack")
        .iter()
        .map(|f| format!("    {}\n", show_frame(f)))
        .collect()
}

fn show_frame(frame: &Value) -> String {
    let text = |key: &str| frame.get(key).and_then(Value::as_str).unwrap_or("?");
    let file = text("file").rsplit('/').next().unwrap_or("?");
    let line = frame.get("line").and_then(Value::as_u64).unwrap_or(0);
    format!("{} {file}:{line}", text("function"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_is_shown_with_both_stacks() {
        let text = r#"{"findings":[{"kind":"data-race","count":3,"memory":{"name":"total"},"accesses":[
            {"kind":"write","size":4,"stack":[{"function":"add","file":"src/a.c","line":7,"column":1}]},
            {"kind":"read","size":4,"stack":[{"function":"get","file":"b.c","line":9,"column":1}]}]}]}"#;
        let list = read(text).expect("valid");
        let shown = show(&list[0]);
        for part in [
            "data-race (seen 3 times)",
            "memory: total",
            "write of 4 bytes, 0 locks",
            "add a.c:7",
            "get b.c:9",
        ] {
            assert!(shown.contains(part), "{part} in {shown}");
        }
        assert!(read("{}").is_err());
        assert!(read("x").is_err());
    }
}

//! JSON: the model as it is. `docs/json-schema.md` describes it.

use deadheat_model::{Report, SCHEMA_VERSION};

/// One object, indented, with a newline at the end.
pub fn render(report: &Report) -> String {
    // Every key of the model is a string and every number finite, so this cannot fail.
    let mut text = serde_json::to_string_pretty(report).unwrap_or_default();
    text.push('\n');
    text
}

/// Reads a report that `--format json` wrote.
pub fn read(text: &str) -> Result<Report, String> {
    let value: serde_json::Value = serde_json::from_str(text).map_err(|error| {
        format!("this is no JSON ({error}); write a report with `deadheat run --format json --log FILE ...`")
    })?;
    let schema = value.get("schema").and_then(serde_json::Value::as_u64);
    match schema {
        Some(version) if version == u64::from(SCHEMA_VERSION) => {}
        Some(version) => {
            return Err(format!(
                "the report has schema version {version} and this deadheat reads version {SCHEMA_VERSION}; write it again with \
                 this version"
            ));
        }
        None => {
            return Err(
                "this JSON is no report of Deadheat: it has no `schema`; write one with `deadheat run --format json \
                 --log FILE ...`"
                    .to_owned(),
            );
        }
    }
    serde_json::from_value(value).map_err(|error| format!("the report cannot be read: {error}"))
}

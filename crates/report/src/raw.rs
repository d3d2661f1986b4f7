//! The raw stream as `docs/raw-stream.md` gives it: one JSON object a line, program counters not yet resolved.
//!
//! Reading is lenient: missing keys have defaults and unknown keys are ignored, so that an older collector can read a
//! newer runtime. What cannot be read at all is an error that the collector counts.

use serde::Deserialize;
use std::collections::BTreeMap;

/// One line.
#[derive(Debug, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    Start(Start),
    Module(Module),
    Thread(Thread),
    /// A thread that records, told to whoever takes the recording.
    Strand {},
    ThreadName {
        id: u64,
        #[serde(default)]
        name: String,
    },
    Suppressions {
        #[serde(default)]
        text: String,
    },
    Options {
        #[serde(default)]
        text: String,
    },
    Finding(Box<Finding>),
    Again {
        id: u64,
        #[serde(default)]
        count: u64,
    },
    Loss {
        what: String,
        #[serde(default)]
        count: u64,
    },
    Note {
        text: String,
    },
    Fork {
        pid: u64,
        #[serde(default)]
        parent: u64,
    },
    Stats(BTreeMap<String, serde_json::Value>),
    End {
        #[serde(default)]
        status: Option<i32>,
    },
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Start {
    pub version: u64,
    pub pid: u64,
    pub argv: Vec<String>,
    pub exe: String,
    pub cwd: String,
    pub runtime: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Module {
    pub path: String,
    pub bias: u64,
    pub start: u64,
    pub end: u64,
    pub build_id: String,
    pub instrumented: bool,
    /// Addresses inside it that stand for an interposed function and are no return addresses.
    pub exact: Vec<u64>,
    /// How far below each thread's thread pointer its thread-local variables begin; none if it has none there.
    pub tls: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Thread {
    pub id: u64,
    pub parent: Option<u64>,
    pub tid: Option<u64>,
    pub name: String,
    pub created: Vec<u64>,
    pub kind: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Finding {
    pub id: u64,
    pub kind: String,
    pub accesses: Vec<Access>,
    pub memory: Option<Memory>,
    pub timeline: Vec<Moment>,
    pub locks: Vec<Lock>,
    pub threads: Vec<u64>,
    pub stacks: Vec<LabelledStack>,
    pub text: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Access {
    pub op: String,
    pub atomic: bool,
    pub size: u64,
    pub addr: u64,
    pub thread: u64,
    pub stack: Vec<u64>,
    pub locks: Vec<Lock>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Lock {
    pub lock: u64,
    pub addr: u64,
    #[serde(rename = "type")]
    pub type_name: String,
    pub mode: String,
    pub stack: Vec<u64>,
    pub created: Vec<u64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Memory {
    pub kind: String,
    pub addr: u64,
    pub start: Option<u64>,
    pub end: Option<u64>,
    pub size: Option<u64>,
    pub thread: Option<u64>,
    pub stack: Vec<u64>,
    pub freed: Option<Freed>,
    /// Canonical frame address of the function whose frame it lies in; `stack` is that function's.
    pub frame: Option<u64>,
    /// How far below its thread's thread pointer it lies.
    pub below: Option<u64>,
    pub fd: Option<i64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Freed {
    pub thread: u64,
    pub stack: Vec<u64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Moment {
    pub thread: u64,
    pub at: u64,
    pub what: String,
    pub object: Option<u64>,
    /// The other thread of a create or join.
    pub peer: Option<u64>,
    pub addr: Option<u64>,
    pub access: Option<usize>,
    pub stack: Vec<u64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct LabelledStack {
    pub label: String,
    pub thread: u64,
    pub stack: Vec<u64>,
    pub lock: Option<Lock>,
}

/// Which process of a family of forks sent a line: none if there is only one.
pub fn sender(line: &str) -> Option<u64> {
    let digits = line.strip_prefix("{\"pid\":")?;
    let end = digits.find(|c: char| !c.is_ascii_digit())?;
    digits.get(..end)?.parse().ok()
}

/// Reads one line.
pub fn parse(line: &str) -> Result<Event, serde_json::Error> {
    serde_json::from_str(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_and_unknown_keys_are_fine() {
        let event = parse(r#"{"event":"finding","id":3,"kind":"data-race","later":{"x":1}}"#);
        match event {
            Ok(Event::Finding(finding)) => assert_eq!(finding.id, 3),
            other => panic!("{other:?}"),
        }
        assert!(parse(r#"{"event":"stats","checks":12,"ratio":0.5}"#).is_ok());
        assert!(parse(r#"{"event":"end"}"#).is_ok());
    }

    #[test]
    fn nonsense_is_an_error() {
        for line in [
            "",
            "{",
            "[]",
            "{\"event\":\"what\"}",
            "{\"event\":\"again\"}",
            "null",
        ] {
            assert!(parse(line).is_err(), "{line}");
        }
    }
}

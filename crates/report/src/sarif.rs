//! SARIF 2.1.0 for code-scanning viewers: one rule per kind, one result per finding, the timeline as a code flow.

use crate::gpu;
use crate::sinks::Options;
use crate::source::Sources;
use crate::steps::{self, Step};
use crate::text;
use crate::words;
use deadheat_model::{
    Access, ExitHow, Finding, FindingKind, Frame, MomentKind, Report, Severity, ThreadId,
};
use serde_json::{Map, Value, json};
use std::path::Path;

/// Files below the program's folder are named relative to this.
const BASE: &str = "SRCROOT";

/// The whole log.
pub fn render(report: &Report, options: &Options) -> String {
    let writer = Writer {
        cwd: options.cwd(report),
        sources: options.sources(report),
    };
    let mut run = Map::new();
    run.insert("tool".into(), tool(report));
    run.insert("invocations".into(), json!([invocation(report)]));
    if let Some(uri) = writer.base() {
        let mut bases = Map::new();
        bases.insert(BASE.into(), json!({ "uri": uri }));
        run.insert("originalUriBaseIds".into(), Value::Object(bases));
    }
    run.insert("columnKind".into(), json!("unicodeCodePoints"));
    let results: Vec<Value> = report.findings.iter().map(|f| writer.result(f)).collect();
    run.insert("results".into(), Value::Array(results));
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [run],
    });
    let mut text = serde_json::to_string_pretty(&log).unwrap_or_default();
    text.push('\n');
    text
}

fn level(severity: Severity) -> &'static str {
    severity.name()
}

fn tool(report: &Report) -> Value {
    let rules: Vec<Value> = FindingKind::ALL.into_iter().map(rule).collect();
    json!({"driver": {
        "name": "Deadheat",
        "version": report.tool.version,
        "semanticVersion": report.tool.version,
        "shortDescription": {"text": "Finds data races and other concurrency bugs."},
        "rules": rules,
    }})
}

fn rule(kind: FindingKind) -> Value {
    let advice: Vec<String> = kind
        .advice()
        .iter()
        .map(|text| format!("- {text}"))
        .collect();
    json!({
        "id": kind.name(),
        "name": pascal_case(kind.name()),
        "shortDescription": {"text": sentence(kind.title())},
        "fullDescription": {"text": kind.meaning()},
        "help": {
            "text": format!("{}\n\nWays to fix it:\n{}", kind.meaning(), advice.join("\n")),
            "markdown": format!("{}\n\n**Ways to fix it**\n\n{}", kind.meaning(), advice.join("\n")),
        },
        "defaultConfiguration": {"level": level(kind.severity())},
        "properties": {"tags": ["concurrency", "correctness"], "precision": "very-high",
                       "problem.severity": kind.severity().name()},
    })
}

fn pascal_case(name: &str) -> String {
    name.split('-')
        .flat_map(|word| {
            let mut chars = word.chars();
            let first = chars.next().map(|c| c.to_ascii_uppercase());
            first.into_iter().chain(chars)
        })
        .collect()
}

fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    let first: String = chars
        .next()
        .into_iter()
        .flat_map(char::to_uppercase)
        .collect();
    format!("{first}{}.", chars.as_str())
}

fn invocation(report: &Report) -> Value {
    let exit = &report.program.exit;
    let mut notes: Vec<Value> = report
        .losses
        .iter()
        .map(|loss| json!({"level": "warning", "message": {"text": format!("lost: {}: {}", loss.what, loss.count)}}))
        .collect();
    notes.extend(
        report
            .notes
            .iter()
            .map(|note| json!({"level": "note", "message": {"text": note}})),
    );
    for module in text::unseen(report) {
        let text = format!(
            "{} was built without Deadheat: races inside cannot be seen",
            module.path
        );
        notes.push(json!({"level": "note", "message": {"text": text}}));
    }
    let mut out = Map::new();
    out.insert(
        "executionSuccessful".into(),
        json!(exit.how != ExitHow::Signalled),
    );
    if !report.program.argv.is_empty() {
        out.insert("commandLine".into(), json!(report.program.argv.join(" ")));
        let arguments: Vec<&String> = report.program.argv.iter().skip(1).collect();
        out.insert("arguments".into(), json!(arguments));
    }
    if report.program.pid > 0 {
        out.insert("processId".into(), json!(report.program.pid));
    }
    if let Some(code) = exit.code {
        out.insert("exitCode".into(), json!(code));
    }
    if let Some(signal) = exit.signal {
        out.insert("exitSignalNumber".into(), json!(signal));
    }
    out.insert("toolExecutionNotifications".into(), Value::Array(notes));
    Value::Object(out)
}

struct Writer {
    cwd: String,
    sources: Sources,
}

impl Writer {
    fn base(&self) -> Option<String> {
        let cwd = self.cwd.trim_end_matches('/');
        cwd.starts_with('/')
            .then(|| format!("file://{}/", encode(cwd)))
    }

    fn result(&self, finding: &Finding) -> Value {
        let index = FindingKind::ALL
            .iter()
            .position(|kind| *kind == finding.kind);
        let mut message = format!(
            "{}. {}",
            sentence(&finding.title).trim_end_matches('.'),
            finding.why
        );
        if let Some(memory) = &finding.memory {
            message.push_str(&format!(" The memory is {}.", memory.description));
        }
        if let Some(launch) = &finding.launch {
            message.push_str(&format!(" The kernel is {}.", gpu::launch(launch)));
        }
        let mut out = Map::new();
        out.insert("ruleId".into(), json!(finding.kind.name()));
        out.insert("ruleIndex".into(), json!(index));
        out.insert("level".into(), json!(level(finding.severity)));
        out.insert("message".into(), json!({"text": message}));
        out.insert(
            "locations".into(),
            Value::Array(self.main_location(finding)),
        );
        out.insert(
            "relatedLocations".into(),
            Value::Array(self.related(finding)),
        );
        out.insert("stacks".into(), Value::Array(self.stacks(finding)));
        let flows = self.code_flows(finding);
        if !flows.is_empty() {
            out.insert("codeFlows".into(), Value::Array(flows));
        }
        out.insert(
            "partialFingerprints".into(),
            json!({"deadheat/v1": finding.fingerprint}),
        );
        out.insert("occurrenceCount".into(), json!(finding.count.max(1)));
        out.insert(
            "properties".into(),
            json!({
                "id": finding.id, "suppression": finding.suppression,
            }),
        );
        Value::Object(out)
    }

    fn main_location(&self, finding: &Finding) -> Vec<Value> {
        let stack = main_stack(finding);
        match stack.and_then(words::spot) {
            Some(frame) => vec![self.location(frame, None)],
            None => Vec::new(),
        }
    }

    fn related(&self, finding: &Finding) -> Vec<Value> {
        let mut named: Vec<(String, &[Frame])> = Vec::new();
        for access in &finding.accesses {
            named.push((describe(access), &access.stack));
            for lock in &access.locks {
                let text = format!(
                    "{} takes {}",
                    words::thread(&access.thread),
                    words::lock(lock)
                );
                named.push((text, &lock.stack));
            }
        }
        for entry in &finding.stacks {
            named.push((words::labelled(entry), &entry.stack));
        }
        for thread in &finding.threads {
            named.push((
                format!("{} is created", words::thread(thread)),
                &thread.created,
            ));
        }
        if let Some(memory) = &finding.memory {
            if let Some(made) = &memory.allocation {
                named.push((
                    format!("{} allocates the block", words::thread(&made.thread)),
                    &made.stack,
                ));
            }
            if let Some(freed) = &memory.freed {
                named.push((
                    format!("{} frees the block", words::thread(&freed.thread)),
                    &freed.stack,
                ));
            }
        }
        let mut out: Vec<Value> = Vec::new();
        for (text, stack) in named {
            if let Some(frame) = words::spot(stack) {
                let mut location = self.location(frame, Some(&text));
                location["id"] = json!(out.len());
                out.push(location);
            }
        }
        out
    }

    fn stacks(&self, finding: &Finding) -> Vec<Value> {
        let accesses = finding
            .accesses
            .iter()
            .map(|access| (describe(access), &access.stack));
        let labelled = finding
            .stacks
            .iter()
            .map(|entry| (words::labelled(entry), &entry.stack));
        let created = finding.threads.iter().map(|thread| {
            (
                format!("{} is created", words::thread(thread)),
                &thread.created,
            )
        });
        accesses
            .chain(labelled)
            .chain(created)
            .filter(|(_, stack)| !stack.is_empty())
            .map(|(text, stack)| {
                let frames: Vec<Value> = stack.iter().map(|frame| self.frame(frame)).collect();
                json!({"message": {"text": text}, "frames": frames})
            })
            .collect()
    }

    fn frame(&self, frame: &Frame) -> Value {
        let mut out = Map::new();
        out.insert("location".into(), self.location(frame, None));
        if let Some(module) = &frame.module {
            out.insert("module".into(), json!(module));
        }
        Value::Object(out)
    }

    fn code_flows(&self, finding: &Finding) -> Vec<Value> {
        let steps = steps::steps(finding);
        let mut threads: Vec<ThreadId> = Vec::new();
        for step in &steps {
            if !threads.contains(&step.thread) && words::spot(step.stack).is_some() {
                threads.push(step.thread);
            }
        }
        let flows: Vec<Value> = threads
            .iter()
            .map(|thread| {
                let locations: Vec<Value> = steps
                    .iter()
                    .enumerate()
                    .filter(|(_, step)| step.thread == *thread)
                    .filter_map(|(order, step)| self.flow_step(step, order))
                    .collect();
                json!({"id": thread.to_string(),
                       "message": {"text": steps::thread_name(finding, *thread)},
                       "locations": locations})
            })
            .collect();
        if flows.is_empty() {
            return Vec::new();
        }
        vec![json!({"message": {"text": finding.why}, "threadFlows": flows})]
    }

    fn flow_step(&self, step: &Step<'_>, order: usize) -> Option<Value> {
        let frame = words::spot(step.stack)?;
        let kinds: &[&str] = match step.what {
            MomentKind::Lock | MomentKind::Rdlock => &["acquire", "lock"],
            MomentKind::Unlock | MomentKind::Rdunlock => &["release", "lock"],
            what if what.acquires() => &["acquire"],
            what if what.releases() => &["release"],
            _ => &["memory", "unsafe"],
        };
        let importance = if step.access.is_some() {
            "essential"
        } else {
            "important"
        };
        Some(json!({
            "location": self.location(frame, Some(&step.text)),
            "executionOrder": order,
            "importance": importance,
            "kinds": kinds,
        }))
    }

    fn location(&self, frame: &Frame, message: Option<&str>) -> Value {
        let mut out = Map::new();
        let file = frame.file.as_deref().or(frame.module.as_deref());
        if let Some(file) = file {
            let mut physical = Map::new();
            physical.insert("artifactLocation".into(), self.artifact(file));
            if let (Some(file), Some(line)) = (&frame.file, frame.line) {
                physical.insert("region".into(), self.region(file, line, frame.column));
            }
            out.insert("physicalLocation".into(), Value::Object(physical));
        }
        if !frame.function.is_empty() {
            out.insert(
                "logicalLocations".into(),
                json!([{"fullyQualifiedName": frame.function, "kind": "function"}]),
            );
        }
        if let Some(text) = message {
            out.insert("message".into(), json!({"text": text}));
        }
        Value::Object(out)
    }

    fn region(&self, file: &str, line: u32, column: Option<u32>) -> Value {
        let mut region = Map::new();
        region.insert("startLine".into(), json!(line));
        if let Some(column) = column {
            region.insert("startColumn".into(), json!(column));
        }
        if let Some(excerpt) = self.sources.excerpt(file, line, column, 0)
            && let Some(line) = excerpt.lines.first()
        {
            region.insert("snippet".into(), json!({"text": line.text}));
        }
        Value::Object(region)
    }

    fn artifact(&self, file: &str) -> Value {
        let base = self.base();
        match Path::new(file).strip_prefix(&self.cwd) {
            Ok(below) if base.is_some() && !self.cwd.is_empty() => {
                json!({"uri": encode(&below.display().to_string()), "uriBaseId": BASE})
            }
            _ if file.starts_with('/') => json!({"uri": format!("file://{}", encode(file))}),
            _ if base.is_some() => json!({"uri": encode(file), "uriBaseId": BASE}),
            _ => json!({"uri": encode(file)}),
        }
    }
}

fn describe(access: &Access) -> String {
    format!(
        "{}{}",
        words::access(access),
        words::circumstances(access, "")
    )
}

fn main_stack(finding: &Finding) -> Option<&[Frame]> {
    finding
        .accesses
        .iter()
        .map(|access| &access.stack)
        .chain(finding.stacks.last().map(|entry| &entry.stack))
        .chain(finding.threads.first().map(|thread| &thread.created))
        .find(|stack| !stack.is_empty())
        .map(Vec::as_slice)
}

/// Percent-encodes what a URI's path may not hold.
fn encode(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'A'..=b'Z'
            | b'a'..=b'z'
            | b'0'..=b'9'
            | b'/'
            | b'-'
            | b'.'
            | b'_'
            | b'~'
            | b'+'
            | b',' => {
                out.push(char::from(byte));
            }
            other => out.push_str(&format!("%{other:02X}")),
        }
    }
    out
}

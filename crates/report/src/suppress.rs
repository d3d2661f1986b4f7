//! Suppressions: ThreadSanitizer's syntax, and our own kinds in the same form.
//!
//! One rule a line, `type:pattern`. A pattern matches anywhere in a function's name, a file, a module or a global
//! variable's name; `*` stands for anything, `^` and `$` hold it to the start and the end. `#` begins a comment.

use crate::known::{self, KnownRace};
use crate::symbolize::{Symbolized, demangle};
use crate::words;
use deadheat_model::{Finding, FindingKind, MemoryKind, Report};
use std::fmt;
use std::path::Path;

/// What a rule applies to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scope {
    /// One of our kinds.
    Kind(FindingKind),
    /// One of ThreadSanitizer's report types.
    Tsan(&'static str),
    /// Only the innermost frame of a race.
    RaceTop,
    /// The innermost frame's module, whatever the kind.
    CalledFromLib,
}

const TSAN_TYPES: [&str; 5] = ["race", "mutex", "deadlock", "thread", "signal"];

/// One line of a suppression file, or a race that is known.
#[derive(Clone, Debug)]
pub struct Rule {
    what: What,
    text: String,
    source: String,
    /// 0 if it is in no file.
    line: usize,
}

/// What a rule silences.
#[derive(Clone, Debug)]
enum What {
    Matching(Scope, Pattern),
    Known(&'static KnownRace),
}

impl Rule {
    /// The line as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Is it of a file, not of Deadheat?
    pub fn is_the_users(&self) -> bool {
        matches!(self.what, What::Matching(..))
    }

    /// `file:line`, or why there is such a rule.
    pub fn place(&self) -> String {
        match self.line {
            0 => self.source.clone(),
            line => format!("{}:{line}", self.source),
        }
    }
}

/// A line that cannot be understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SuppressionError {
    pub source: String,
    /// 0 if the file could not be read at all.
    pub line: usize,
    pub problem: String,
}

impl fmt::Display for SuppressionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.source, self.problem),
            line => write!(f, "{}:{line}: {}", self.source, self.problem),
        }
    }
}

impl std::error::Error for SuppressionError {}

/// All rules of a run.
#[derive(Clone, Debug, Default)]
pub struct Suppressions {
    rules: Vec<Rule>,
}

/// What rules are compared with: the stacks and the variable of one finding.
pub(crate) struct Evidence<'a> {
    pub kind: FindingKind,
    /// Those of the accesses come first.
    pub stacks: Vec<&'a [Symbolized]>,
    /// Name, file and module of a global.
    pub memory: Vec<&'a str>,
}

impl Suppressions {
    /// Reads a file.
    pub fn read(path: &Path) -> Result<Suppressions, SuppressionError> {
        let source = path.display().to_string();
        match std::fs::read_to_string(path) {
            Ok(text) => Suppressions::parse(&source, &text),
            Err(error) => Err(SuppressionError {
                source,
                line: 0,
                problem: format!("cannot read the suppression file: {error}"),
            }),
        }
    }

    /// Parses a file's text; `source` is named in errors and in the report.
    pub fn parse(source: &str, text: &str) -> Result<Suppressions, SuppressionError> {
        let mut rules = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let line_number = index + 1;
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let (scope, pattern) = parse_rule(line).map_err(|problem| SuppressionError {
                source: source.to_owned(),
                line: line_number,
                problem,
            })?;
            rules.push(Rule {
                what: What::Matching(scope, pattern),
                text: line.to_owned(),
                source: source.to_owned(),
                line: line_number,
            });
        }
        Ok(Suppressions { rules })
    }

    /// The races inside well-known crates that are theirs.
    pub fn known() -> Suppressions {
        let rule = |race: &'static KnownRace| Rule {
            what: What::Known(race),
            text: race.title.to_owned(),
            source: known::SOURCE.to_owned(),
            line: 0,
        };
        Suppressions {
            rules: known::KNOWN.iter().map(rule).collect(),
        }
    }

    /// Adds the rules of another file.
    pub fn extend(&mut self, other: Suppressions) {
        self.rules.extend(other.rules);
    }

    /// The rules in the order in which they are tried.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// The first rule that silences a finding.
    pub(crate) fn matching(&self, evidence: &Evidence<'_>) -> Option<usize> {
        self.rules.iter().position(|rule| rule.silences(evidence))
    }

    /// The first rule that silences a finding of a report that was written before. Frames know fewer names then:
    /// mangled names and parameter lists are gone.
    pub fn matching_finding(&self, finding: &Finding) -> Option<usize> {
        let mut stacks: Vec<Vec<Symbolized>> = Vec::new();
        let mut add = |frames: &[deadheat_model::Frame]| {
            stacks.push(
                frames
                    .iter()
                    .map(|frame| Symbolized {
                        frame: frame.clone(),
                        linkage: None,
                    })
                    .collect(),
            );
        };
        for access in &finding.accesses {
            add(&access.stack);
        }
        for entry in &finding.stacks {
            add(&entry.stack);
        }
        for thread in &finding.threads {
            add(&thread.created);
        }
        let mut memory = Vec::new();
        if let Some(found) = &finding.memory {
            memory.extend(found.name.as_deref());
            memory.extend(found.object.as_deref());
            memory.extend(found.declared.as_ref().map(|at| at.file.as_str()));
            memory.extend(found.module.as_deref());
        }
        self.matching(&Evidence {
            kind: finding.kind,
            stacks: stacks.iter().map(Vec::as_slice).collect(),
            memory,
        })
    }
}

fn parse_rule(line: &str) -> Result<(Scope, Pattern), String> {
    let Some((name, pattern)) = line.split_once(':') else {
        return Err(format!(
            "`{line}` has no type; write for example `race:{line}`"
        ));
    };
    let scope = match name.trim() {
        "race_top" => Scope::RaceTop,
        "called_from_lib" => Scope::CalledFromLib,
        name => match TSAN_TYPES.into_iter().find(|known| *known == name) {
            Some(known) => Scope::Tsan(known),
            None => match name.parse() {
                Ok(kind) => Scope::Kind(kind),
                Err(_) => return Err(unknown_type(name)),
            },
        },
    };
    let pattern = pattern.trim();
    if pattern.is_empty() {
        return Err(format!(
            "nothing follows `{name}:`; name a function, a file, a module or a global, or `*` for all"
        ));
    }
    Ok((scope, Pattern::new(pattern)))
}

fn unknown_type(name: &str) -> String {
    let kinds: Vec<&str> = FindingKind::ALL
        .into_iter()
        .map(FindingKind::name)
        .filter(|kind| *kind != "deadlock")
        .collect();
    format!(
        "`{name}` is no type of suppression; known are race, race_top, mutex, deadlock, thread, signal, \
         called_from_lib, {}",
        kinds.join(", ")
    )
}

impl Rule {
    fn silences(&self, evidence: &Evidence<'_>) -> bool {
        match (&self.what, evidence.stacks.as_slice()) {
            (What::Matching(scope, pattern), _) => scope.silences(pattern, evidence),
            (What::Known(race), [one, other, ..]) => {
                evidence.kind == FindingKind::DataRace && race.is(one, other)
            }
            (What::Known(_), _) => false,
        }
    }
}

impl Scope {
    fn silences(self, pattern: &Pattern, evidence: &Evidence<'_>) -> bool {
        let applies = match self {
            Scope::Kind(kind) => kind == evidence.kind,
            Scope::Tsan(name) => evidence.kind.tsan_type() == name,
            Scope::RaceTop => evidence.kind.tsan_type() == "race",
            Scope::CalledFromLib => true,
        };
        if !applies {
            return false;
        }
        // Interposed functions have no module; what called them counts.
        let mut tops = evidence.stacks.iter().filter_map(|stack| {
            let own = stack.iter().find(|entry| entry.frame.module.is_some());
            own.or(stack.first())
        });
        match self {
            Scope::RaceTop => tops.any(|frame| pattern.matches_frame(frame)),
            Scope::CalledFromLib => tops.any(|frame| {
                let module = frame.frame.module.as_deref();
                module.is_some_and(|module| pattern.matches(module))
            }),
            Scope::Kind(_) | Scope::Tsan(_) => {
                evidence
                    .stacks
                    .iter()
                    .any(|stack| stack.iter().any(|frame| pattern.matches_frame(frame)))
                    || evidence.memory.iter().any(|name| pattern.matches(name))
            }
        }
    }
}

/// A pattern of a suppression.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    from_start: bool,
    to_end: bool,
    /// What stands between the wildcards.
    pieces: Vec<String>,
}

impl Pattern {
    pub(crate) fn new(text: &str) -> Pattern {
        let (from_start, text) = match text.strip_prefix('^') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (to_end, text) = match text.strip_suffix('$') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        Pattern {
            from_start,
            to_end,
            pieces: text.split('*').map(str::to_owned).collect(),
        }
    }

    fn matches_frame(&self, symbolized: &Symbolized) -> bool {
        let frame = &symbolized.frame;
        self.matches(&frame.function)
            || frame.file.as_deref().is_some_and(|file| self.matches(file))
            || frame
                .module
                .as_deref()
                .is_some_and(|module| self.matches(module))
            || symbolized.linkage.as_deref().is_some_and(|linkage| {
                self.matches(linkage) || self.matches(&demangle::full(linkage))
            })
    }

    pub(crate) fn matches(&self, text: &str) -> bool {
        if text.is_empty() {
            return false;
        }
        let mut rest = text;
        let last = self.pieces.len() - 1;
        for (index, piece) in self.pieces.iter().enumerate() {
            let held_to_start = index == 0 && self.from_start;
            let held_to_end = index == last && self.to_end;
            rest = match (held_to_start, held_to_end) {
                (true, true) => return rest == piece,
                (true, false) => match rest.strip_prefix(piece.as_str()) {
                    Some(after) => after,
                    None => return false,
                },
                (false, true) => return rest.ends_with(piece.as_str()),
                (false, false) => match rest.find(piece.as_str()) {
                    Some(at) => &rest[at + piece.len()..],
                    None => return false,
                },
            };
        }
        true
    }
}

/// The narrowest line that silences a finding: the variable if it has a name, else the innermost function.
///
/// For races `race_top` is used, because a function such as `main` is somewhere in every stack.
pub(crate) fn line_for(finding: &Finding) -> String {
    let kind = finding.kind;
    if let Some(memory) = &finding.memory
        && memory.kind == MemoryKind::Global
        && let Some(object) = &memory.object
    {
        return format!("{kind}:^{object}$");
    }
    let stacks = || {
        finding
            .accesses
            .iter()
            .map(|access| &access.stack)
            .chain(finding.stacks.iter().map(|entry| &entry.stack))
            .chain(finding.threads.iter().map(|thread| &thread.created))
    };
    let top = stacks().find_map(|stack| words::top(stack));
    let scope = if finding.accesses.is_empty() || kind.is_gpu() {
        kind.name()
    } else {
        "race_top"
    };
    match top {
        Some(frame) if !frame.function.is_empty() => format!("{scope}:^{}$", frame.function),
        Some(frame) => match &frame.module {
            Some(module) => format!("{scope}:{}$", module.rsplit('/').next().unwrap_or(module)),
            None => format!("{kind}:*"),
        },
        None => format!("{kind}:*"),
    }
}

/// A suppression file that silences every finding of a report, with a comment for each.
pub fn to_suppressions(report: &Report) -> String {
    let mut out = String::from(
        "# Written by `deadheat suppressions`. Each rule hides a real finding: keep the reason beside it.\n",
    );
    let mut written: Vec<&str> = Vec::new();
    for finding in &report.findings {
        out.push_str(&format!(
            "\n# {}: {}\n",
            finding.id,
            one_line(&finding.title)
        ));
        if written.contains(&finding.suppression.as_str()) {
            out.push_str("# (the rule above covers it)\n");
            continue;
        }
        out.push_str(&finding.suppression);
        out.push('\n');
        written.push(&finding.suppression);
    }
    out
}

fn one_line(text: &str) -> String {
    text.replace(['\n', '\r'], " ")
}

//! When two findings are one bug, and how to know it again in another run.

use crate::words;
use deadheat_model::{Access, AccessKind, Finding, FindingKind, Frame, Memory};

/// Two findings with equal keys are one bug: same kind, same innermost places, in the program's own source too, same memory or
/// locks.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    kind: FindingKind,
    /// Sorted, because which side comes first is chance.
    places: Vec<String>,
    memory: String,
}

impl Key {
    pub fn of(finding: &Finding) -> Key {
        let mut places: Vec<String> = finding
            .accesses
            .iter()
            .map(|access| {
                let place = innermost(&access.stack, exact_place);
                format!("{} {place}", sort_of(access))
            })
            .chain(finding.stacks.iter().map(|entry| match finding.kind {
                // Who makes threads through a helper of his own still leaks them in different places.
                FindingKind::ThreadLeak => whole_stack(&entry.stack),
                _ => innermost(&entry.stack, exact_place),
            }))
            .collect();
        if places.is_empty() {
            places = finding
                .threads
                .iter()
                .map(|thread| innermost(&thread.created, exact_place))
                .collect();
        }
        places.sort();
        Key {
            kind: finding.kind,
            places,
            memory: match &finding.memory {
                Some(memory) => memory_site(memory, exact_place),
                None => lock_names(finding),
            },
        }
    }
}

/// What an access does, as far as that makes another bug of it. Reads and writes do not: compilers make both out of
/// `x++`, and whichever meets the other thread's first is chance.
fn sort_of(access: &Access) -> &'static str {
    match (access.kind, access.atomic) {
        (AccessKind::Read | AccessKind::Write | AccessKind::ReadWrite, false) => "plain",
        (AccessKind::Read | AccessKind::Write | AccessKind::ReadWrite, true) => "atomic",
        (kind, _) => kind.name(),
    }
}

fn whole_stack(stack: &[Frame]) -> String {
    let places: Vec<String> = stack.iter().map(|frame| exact_place(Some(frame))).collect();
    places.join(" ")
}

/// The innermost place, and the innermost one in the program's own source: what a library does for all of the program is another
/// bug in each place that asks for it.
fn innermost(stack: &[Frame], place: fn(Option<&Frame>) -> String) -> String {
    let (top, spot) = (words::top(stack), words::spot(stack));
    if top == spot {
        place(top)
    } else {
        format!("{} for {}", place(top), place(spot))
    }
}

fn exact_place(frame: Option<&Frame>) -> String {
    match frame {
        Some(frame) => match (&frame.file, frame.line) {
            // No column: `x += y` reads and writes at two of them, and is one mistake.
            (Some(file), Some(line)) => format!("{file}:{line} {}", frame.function),
            _ => format!(
                "{}+{:#x}",
                frame.module.as_deref().unwrap_or_default(),
                frame.offset.unwrap_or_default().0
            ),
        },
        None => String::new(),
    }
}

/// Without lines: edits elsewhere in the file should not make a known bug look new.
fn loose_place(frame: Option<&Frame>) -> String {
    match frame {
        Some(frame) => {
            let file = frame
                .file
                .as_deref()
                .or(frame.module.as_deref())
                .unwrap_or_default();
            format!("{} {}", base_name(file), frame.function)
        }
        None => String::new(),
    }
}

fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn memory_site(memory: &Memory, place: fn(Option<&Frame>) -> String) -> String {
    match (&memory.object, &memory.allocation) {
        (Some(object), _) => object.clone(),
        (None, Some(allocation)) => innermost(&allocation.stack, place),
        (None, None) => memory.kind.name().to_owned(),
    }
}

fn lock_names(finding: &Finding) -> String {
    let mut names: Vec<String> = finding
        .locks
        .iter()
        .map(|lock| match &lock.name {
            Some(name) => name.clone(),
            None => innermost(&lock.created, exact_place),
        })
        .collect();
    names.sort();
    names.join(",")
}

/// A number that names the bug across runs and small edits: kind, functions, files and variables, but no lines,
/// addresses or thread numbers.
pub fn fingerprint(finding: &Finding) -> String {
    let mut parts: Vec<String> = finding
        .accesses
        .iter()
        .map(|access| {
            let place = innermost(&access.stack, loose_place);
            format!("{} {place}", sort_of(access))
        })
        .chain(
            finding
                .stacks
                .iter()
                .map(|entry| innermost(&entry.stack, loose_place)),
        )
        .collect();
    if parts.is_empty() {
        parts.extend(
            finding
                .threads
                .iter()
                .map(|t| innermost(&t.created, loose_place)),
        );
    }
    parts.sort();
    let mut hash = Fnv::default();
    hash.add(finding.kind.name());
    for part in &parts {
        hash.add(part);
    }
    match &finding.memory {
        Some(memory) => hash.add(&memory_site(memory, loose_place)),
        None => {
            let mut names: Vec<&str> = finding
                .locks
                .iter()
                .filter_map(|lock| lock.name.as_deref())
                .collect();
            names.sort_unstable();
            for name in names {
                hash.add(name);
            }
        }
    }
    format!("{:016x}", hash.0)
}

/// FNV-1a with 64 bits: short, the same everywhere and for ever, unlike the standard library's hasher.
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Fnv(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    fn add(&mut self, text: &str) {
        for byte in text.bytes().chain([0]) {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

//! Reads the reports of ThreadSanitizer, to check the test programs themselves against another detector.

use crate::directive::Expectation;
use crate::seen::{Seen, SeenAccess, SeenFrame, SeenMemory, bare};

/// The findings in what ThreadSanitizer printed.
pub fn parse(text: &str) -> Vec<Seen> {
    text.split("WARNING: ThreadSanitizer: ")
        .skip(1)
        .map(report)
        .collect()
}

/// What ThreadSanitizer can tell of the expectations: no names of threads, and an update is a write.
pub fn wanted(expectations: &[Expectation]) -> Vec<Expectation> {
    let mut wanted = expectations.to_vec();
    for expectation in &mut wanted {
        expectation.keys.remove("threads");
        for op in expectation.keys.get_mut("op").into_iter().flatten() {
            *op = op
                .replace("read-write", "write")
                .replace("vptr-write", "write");
        }
    }
    wanted
}

const KINDS: &[(&str, &str)] = &[
    ("data race", "data-race"),
    ("heap-use-after-free", "use-after-free"),
    ("lock-order-inversion", "lock-order-inversion"),
    ("double lock", "double-lock"),
    ("unlock of an unlocked", "unlock-not-held"),
    ("destroy of a locked", "destroy-locked"),
    ("read unlock of a write", "rwlock-mismatch"),
    ("thread leak", "thread-leak"),
    ("signal-unsafe", "signal-unsafe"),
];

fn report(text: &str) -> Seen {
    let title = text.lines().next().unwrap_or_default();
    let kind = KINDS
        .iter()
        .find(|(start, _)| title.starts_with(start))
        .map_or(title, |(_, kind)| kind);
    let mut seen = Seen {
        kind: kind.to_owned(),
        count: 1,
        ..Seen::default()
    };
    for paragraph in text.split("\n\n").map(|p| p.trim_start_matches('\n')) {
        let mut lines = paragraph
            .lines()
            .map(str::trim)
            .skip_while(|line| line.contains("(pid="));
        let Some(head) = lines.next() else { continue };
        let stack: Vec<SeenFrame> = paragraph.lines().filter_map(frame).collect();
        if let Some(access) = access(head, &stack) {
            seen.accesses.push(access);
        } else if head.starts_with("Location is global '??'") {
            // It does not know what it is.
        } else if head.starts_with("Location is global") {
            let name = head.split('\'').nth(1).unwrap_or_default();
            seen.memory = Some(SeenMemory {
                kind: "global".to_owned(),
                name: bare(name),
                ..SeenMemory::default()
            });
        } else if head.starts_with("Location is heap block of size") {
            let size = head
                .split_whitespace()
                .nth(6)
                .and_then(|word| word.parse().ok());
            seen.memory = Some(SeenMemory {
                kind: "heap".to_owned(),
                size,
                allocated: stack,
                ..SeenMemory::default()
            });
        } else if !stack.is_empty() && tells_of_itself(head, &seen.kind) {
            seen.stacks.push(stack);
        }
    }
    if seen.accesses.iter().any(|access| access.op == "free") {
        seen.kind = "use-after-free".to_owned();
    }
    seen
}

/// Whether a stack is the finding's own, and not only where one of its threads was created.
fn tells_of_itself(head: &str, kind: &str) -> bool {
    let thread = head.starts_with("Thread ");
    !head.starts_with("As if") && (!thread || kind == "thread-leak")
}

fn access(head: &str, stack: &[SeenFrame]) -> Option<SeenAccess> {
    let words = head.trim_start_matches("Previous ").to_lowercase();
    let (atomic, words) = match words.strip_prefix("atomic ") {
        Some(rest) => (true, rest),
        None => (false, words.as_str()),
    };
    let mut op = ["read", "write"]
        .into_iter()
        .find(|op| words.starts_with(&format!("{op} of size")))?
        .to_owned();
    let size = words.split_whitespace().nth(3)?.parse().ok()?;
    let frees = ["free", "realloc", "operator delete", "operator delete[]"];
    if stack
        .first()
        .is_some_and(|frame| frees.contains(&frame.function.as_str()))
    {
        op = "free".to_owned();
    } else if atomic {
        op = format!("atomic-{op}");
    }
    Some(SeenAccess {
        op,
        size,
        locks: None,
        thread: String::new(),
        stack: stack.to_vec(),
    })
}

/// `#0 function file:line:column (module+offset)`.
fn frame(line: &str) -> Option<SeenFrame> {
    let rest = line.trim().strip_prefix('#')?;
    let (_, rest) = rest.split_once(' ')?;
    let rest = rest.split(" (").next().unwrap_or(rest);
    let place = rest.rsplit(' ').next()?;
    let mut parts = place.split(':');
    let path = parts.next()?;
    let line = parts
        .next()
        .and_then(|number| number.parse().ok())
        .unwrap_or(0);
    let function = rest.strip_suffix(place).unwrap_or(rest).trim();
    Some(SeenFrame {
        function: bare(function),
        file: path.rsplit('/').next()?.to_owned(),
        line,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_race_report_is_read() {
        let text = "==\nWARNING: ThreadSanitizer: data race (pid=1)\n  Write of size 4 at 0x1 by thread T2:\n    #0 second /ui/a.c:9:5 (a+0x1)\n\n  Previous atomic read of size 8 at 0x1 by thread T1:\n    #0 first(void*) /ui/a.c:4 (a+0x2) (BuildId: 3)\n\n  Location is global 'x' of size 4 at 0x1 (a+0x5)\n\n  Thread T2 (tid=5, running) created by main thread at:\n    #0 pthread_create <null> (a+0x3)\n";
        let seen = parse(text);
        assert_eq!(seen.len(), 1);
        let ops: Vec<&str> = seen[0].accesses.iter().map(|a| a.op.as_str()).collect();
        assert_eq!(ops, ["write", "atomic-read"]);
        let frame = &seen[0].accesses[1].stack[0];
        assert_eq!(
            (frame.function.as_str(), frame.file.as_str(), frame.line),
            ("first", "a.c", 4)
        );
        assert_eq!(seen[0].memory.as_ref().map(|m| m.name.as_str()), Some("x"));
    }
}

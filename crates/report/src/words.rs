//! Short names for people: threads, locks and places, the same in every sink.

use deadheat_model::{
    Access, Finding, FindingKind, Frame, LabelledStack, Lock, LockMode, Memory, MemoryKind, Thread,
    ThreadKind,
};
use std::path::Path;

/// `T2 (worker)`, or `T2`.
pub fn thread(thread: &Thread) -> String {
    if thread.kind == ThreadKind::Gpu {
        thread.name.clone()
    } else if thread.name.is_empty() {
        thread.id.to_string()
    } else {
        format!("{} ({})", thread.id, thread.name)
    }
}

/// `` mutex `accounts.lock` ``, or `mutex M7`.
pub fn lock(lock: &Lock) -> String {
    let kind = if lock.type_name.is_empty() {
        "lock"
    } else {
        &lock.type_name
    };
    format!("{kind} {}", lock_name(lock))
}

/// `` `accounts.lock` ``, or `M7`.
pub fn lock_name(lock: &Lock) -> String {
    match &lock.name {
        Some(name) => format!("`{name}`"),
        None => lock.id.to_string(),
    }
}

/// ` (offset 48 of the same block)` for a lock without a name that lies where the bytes fought over lie.
pub fn beside(lock: &Lock, memory: Option<&Memory>) -> String {
    let inside = memory
        .filter(|memory| memory.kind == MemoryKind::Heap && lock.name.is_none())
        .and_then(|memory| {
            let offset = lock.address.0.checked_sub(memory.start?.0)?;
            (offset < memory.size?).then_some(offset)
        });
    inside.map_or_else(String::new, |offset| {
        format!(" (offset {offset} of the same block)")
    })
}

/// `mutex M7, rwlock `l` (for reading)`.
pub fn locks(held: &[Lock]) -> String {
    let names: Vec<String> = held
        .iter()
        .map(|held| match held.mode {
            Some(LockMode::Read) => format!("{} (for reading)", lock(held)),
            Some(LockMode::Write) | None => lock(held),
        })
        .collect();
    join(&names)
}

/// `a`, `a and b`, `a, b and c`.
pub fn join(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [init @ .., last] => format!("{} and {last}", init.join(", ")),
    }
}

/// `1 finding`, `2 findings`.
pub fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// A path as seen from the folder the program ran in, if it lies below it.
pub fn short_path(path: &str, cwd: &str) -> String {
    // Rust's library was compiled in a folder named after its version: nobody has that folder.
    if let Some((_, below)) = path
        .strip_prefix("/rustc/")
        .and_then(|path| path.split_once('/'))
    {
        return below.to_owned();
    }
    if cwd.is_empty() || cwd == "/" {
        return path.to_owned();
    }
    match Path::new(path).strip_prefix(cwd) {
        Ok(below) => below.display().to_string(),
        Err(_) => path.to_owned(),
    }
}

/// `bank.c:17:5`, or what is known instead.
pub fn place(frame: &Frame, cwd: &str) -> String {
    match (&frame.file, frame.line, frame.column) {
        (Some(file), Some(line), Some(column)) => {
            format!("{}:{line}:{column}", short_path(file, cwd))
        }
        (Some(file), Some(line), None) => format!("{}:{line}", short_path(file, cwd)),
        (Some(file), None, _) => short_path(file, cwd),
        (None, _, _) => match (&frame.module, frame.offset) {
            (Some(module), Some(offset)) => {
                let name = module.rsplit('/').next().unwrap_or(module);
                format!("{name}+{offset}")
            }
            (Some(module), None) => module.clone(),
            (None, Some(offset)) => offset.to_string(),
            (None, None) => String::new(),
        },
    }
}

/// `bank.c:17`: for sentences.
pub fn line_of(frame: &Frame, cwd: &str) -> String {
    match (&frame.file, frame.line) {
        (Some(file), Some(line)) => {
            let short = short_path(file, cwd);
            let name = if short.starts_with('/') {
                short.rsplit('/').next().unwrap_or(&short)
            } else {
                &short
            };
            format!("{name}:{line}")
        }
        _ => place(frame, cwd),
    }
}

/// The innermost frame of the program's own source, else the innermost one that has a line, else the innermost one.
pub fn spot(stack: &[Frame]) -> Option<&Frame> {
    stack
        .iter()
        .find(|frame| frame.line.is_some() && !is_library_source(frame))
        .or_else(|| stack.iter().find(|frame| frame.line.is_some()))
        .or_else(|| top(stack))
}

/// The innermost frame that is not an interposed function of the C library: those have a name and no place.
pub fn top(stack: &[Frame]) -> Option<&Frame> {
    stack
        .iter()
        .find(|frame| frame.module.is_some() || frame.file.is_some())
        .or_else(|| stack.first())
}

fn is_library_source(frame: &Frame) -> bool {
    frame.file.as_deref().is_some_and(|file| {
        ["/usr/include/", "/usr/lib/", "/rustc/"]
            .iter()
            .any(|prefix| file.starts_with(prefix))
    })
}

/// `in worker at bank.c:17`, as much of it as is known, or nothing.
pub fn at(stack: &[Frame], cwd: &str) -> String {
    let Some(frame) = spot(stack) else {
        return String::new();
    };
    match (frame.function.as_str(), line_of(frame, cwd).as_str()) {
        ("", "") => String::new(),
        ("", line) => format!("at {line}"),
        (function, "") => format!("in {function}"),
        (function, line) => format!("in {function} at {line}"),
    }
}

/// A function's name, or a question mark.
pub fn function(frame: &Frame) -> &str {
    if frame.function.is_empty() {
        "??"
    } else {
        &frame.function
    }
}

/// A function's name for a narrow place: a long one without what its templates were made with.
pub fn short_function(frame: &Frame) -> String {
    const LONGEST: usize = 72;
    let name = function(frame);
    if name.chars().count() <= LONGEST {
        return name.to_owned();
    }
    let mut out = String::new();
    let mut depth = 0u32;
    let mut before = ' ';
    for c in name.chars() {
        // `operator<` and `->` open and close nothing.
        let is_operator = depth == 0 && (out.ends_with("operator") || out.ends_with("operator<"));
        match c {
            '<' if !is_operator => {
                if depth == 0 {
                    out.push_str("<...>");
                }
                depth += 1;
            }
            '>' if depth > 0 && before != '-' => depth -= 1,
            _ if depth == 0 => out.push(c),
            _ => {}
        }
        before = c;
    }
    // Not balanced: better long than wrong.
    if depth == 0 { out } else { name.to_owned() }
}

/// `T2 (worker) writes 4 bytes atomically`.
pub fn access(access: &Access) -> String {
    let who = thread(&access.thread);
    let verb = access.kind.verb();
    let how = if access.atomic { " atomically" } else { "" };
    match access.kind {
        deadheat_model::AccessKind::Free
        | deadheat_model::AccessKind::Destroy
        | deadheat_model::AccessKind::Alloc => format!("{who} {verb} it"),
        deadheat_model::AccessKind::VptrWrite => format!("{who} {verb} the object"),
        deadheat_model::AccessKind::Read
        | deadheat_model::AccessKind::Write
        | deadheat_model::AccessKind::ReadWrite => {
            format!(
                "{who} {verb} {}{how}",
                counted(access.size, "byte", "bytes")
            )
        }
    }
}

/// `, earlier, holding mutex M7`; for a thread of a kernel where it is between the barriers.
pub fn circumstances(access: &Access, when: &str) -> String {
    if access.thread.kind == ThreadKind::Gpu {
        return access.grid.as_ref().map_or_else(String::new, |place| {
            format!(", in barrier phase {}", place.phase)
        });
    }
    let held = if access.locks.is_empty() {
        "holding no lock".to_owned()
    } else {
        format!("holding {}", locks(&access.locks))
    };
    if when.is_empty() {
        format!(", {held}")
    } else {
        format!(", {when}, {held}")
    }
}

/// A labelled stack as a heading: `T1 took M7`, or `T1: unlocked here` where the label is no verb of the thread.
pub fn labelled(entry: &LabelledStack) -> String {
    let who = thread(&entry.thread);
    match entry.label.as_str() {
        "" => format!("{who} was here"),
        label if label.contains("here") || label.contains(" by ") => format!("{who}: {label}"),
        label => format!("{who} {label}"),
    }
}

/// What the detector adds, if the sentence on why does not hold it already.
pub fn detail(finding: &Finding) -> Option<&str> {
    let told = matches!(
        finding.kind,
        FindingKind::LockOrderInversion | FindingKind::Deadlock | FindingKind::ThreadLeak
    );
    finding
        .detail
        .as_deref()
        .filter(|detail| !told && !finding.why.contains(detail.trim_end_matches('.')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_lose_their_template_arguments() {
        let long = "x".repeat(80);
        for (name, expected) in [
            (format!("a<{long}, b<int>>::f"), "a<...>::f"),
            (format!("a::operator<<<{long}>"), "a::operator<<<...>"),
            (format!("a<{long}>::operator->"), "a<...>::operator->"),
            (format!("a<(f->g), {long}>::h"), "a<...>::h"),
            ("a<int>::f".to_owned(), "a<int>::f"),
            (long.clone(), long.as_str()),
            (format!("a<{long}"), format!("a<{long}").as_str()),
        ] {
            let frame = Frame {
                function: name,
                ..Frame::default()
            };
            assert_eq!(short_function(&frame), expected);
        }
    }

    #[test]
    fn a_place_says_as_much_as_is_known() {
        let frame = |function: &str, file: Option<&str>| Frame {
            function: function.to_owned(),
            file: file.map(str::to_owned),
            line: file.map(|_| 17),
            ..Frame::default()
        };
        for (stack, expected) in [
            (
                vec![frame("work", Some("/a/bank.c"))],
                "in work at bank.c:17",
            ),
            (vec![frame("", Some("/a/bank.c"))], "at bank.c:17"),
            (vec![frame("pthread_create", None)], "in pthread_create"),
            (vec![frame("", None)], ""),
            (vec![], ""),
        ] {
            assert_eq!(at(&stack, "/a"), expected);
        }
    }
}

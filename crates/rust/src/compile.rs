//! What rustc and rustdoc are told beside what cargo tells them.
//!
//! `deadheat` stands before rustc as cargo's `RUSTC_WRAPPER`. Cargo says `--target` for the crates that run, and only
//! for those, since Deadheat makes it build for a named target: build scripts and procedural macros pass through
//! untouched.

use std::ffi::OsString;
use std::path::PathBuf;

/// How the crates of one run are compiled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// What is built for.
    pub target: String,
    /// The prepared standard library; none for the one of the toolchain.
    pub sysroot: Option<PathBuf>,
    /// The program that links, which is Deadheat again.
    pub linker: PathBuf,
}

/// A command line for rustc, changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instrumented {
    /// The arguments.
    pub args: Vec<OsString>,
    /// The linker that the user wanted, to be started by Deadheat's.
    pub linker: Option<OsString>,
}

/// Codegen options that are dropped, with what speaks against them.
///
/// - `lto`, `linker-plugin-lto`: the prepared standard library has no bitcode any more, and needs none;
/// - `strip`: a report without functions and lines helps nobody;
/// - `split-debuginfo`: variables are named from what is in the program itself;
/// - `prefer-dynamic`: the shared standard library is the one that was not instrumented.
const DROPPED: [&str; 5] = [
    "lto",
    "linker-plugin-lto",
    "strip",
    "split-debuginfo",
    "prefer-dynamic",
];

/// The arguments for a crate that is to be checked; none if this one is not.
#[must_use]
pub fn instrumented(args: &[OsString], plan: &Plan) -> Option<Instrumented> {
    let text: Vec<String> = args
        .iter()
        .map(|arg| arg.to_string_lossy().into_owned())
        .collect();
    if value_of(&text, "--target").as_deref() != Some(&plan.target) || asks_only(&text) {
        return None;
    }
    let mut out = Vec::with_capacity(args.len() + 12);
    let mut linker = None;
    let mut named = false;
    let mut at = 0;
    while at < text.len() {
        let (option, words) = codegen_option(&text, at);
        let (key, value) = option.split_once('=').unwrap_or((option, ""));
        match key {
            "linker" => linker = Some(value.into()),
            _ if DROPPED.contains(&key) => {}
            _ => {
                if text[at] == "-g" {
                    named = true;
                } else if key == "debuginfo" {
                    named = matches!(value, "1" | "2" | "limited" | "full");
                }
                out.extend_from_slice(&args[at..at + words]);
            }
        }
        at += words;
    }
    out.extend(added(plan, named));
    Some(Instrumented { args: out, linker })
}

/// The codegen option that stands at a place, and how many words it takes there; empty for anything else.
fn codegen_option(text: &[String], at: usize) -> (&str, usize) {
    let word = text[at].as_str();
    match word
        .strip_prefix("-C")
        .or_else(|| word.strip_prefix("--codegen"))
    {
        Some("") => (
            text.get(at + 1).map_or("", String::as_str),
            2.min(text.len() - at),
        ),
        Some(rest) if word.starts_with("--codegen") => (rest.strip_prefix('=').unwrap_or(""), 1),
        Some(rest) => (rest, 1),
        None => ("", 1),
    }
}

/// What instruments. Functions have whole names only where there is more than lines.
fn added(plan: &Plan, named: bool) -> Vec<OsString> {
    let mut out: Vec<OsString> = Vec::new();
    if let Some(sysroot) = &plan.sysroot {
        out.push(joined("--sysroot=", sysroot.as_os_str()));
    }
    out.extend(
        [
            "-Cllvm-args=-force-attribute=sanitize_thread",
            "-Cpasses=forceattrs,tsan-module,function(tsan)",
            // Loads of vectors reach beyond what is read: into gaps, and past the end of a search.
            "-Cno-vectorize-loops",
            "-Cno-vectorize-slp",
            "-Cforce-frame-pointers=yes",
            "--check-cfg=cfg(deadheat)",
            "--cfg=deadheat",
        ]
        .map(OsString::from),
    );
    if !named {
        out.push("-Cdebuginfo=1".into());
    }
    out.push(joined("-Clinker=", plan.linker.as_os_str()));
    out
}

fn joined(start: &str, end: &std::ffi::OsStr) -> OsString {
    let mut word = OsString::from(start);
    word.push(end);
    word
}

/// The last value of an option that takes one.
fn value_of(text: &[String], option: &str) -> Option<String> {
    let mut found = None;
    for (at, word) in text.iter().enumerate() {
        if word == option {
            found = text.get(at + 1).cloned();
        } else if let Some(value) = word
            .strip_prefix(option)
            .and_then(|rest| rest.strip_prefix('='))
        {
            found = Some(value.to_owned());
        }
    }
    found
}

/// Whether the compiler is only asked something (cargo's own probe has the crate name `___`).
fn asks_only(text: &[String]) -> bool {
    value_of(text, "--crate-name").as_deref() == Some("___")
        || text
            .iter()
            .any(|word| word == "-vV" || word == "--version" || word.starts_with("--print"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expect: &str) {
        let plan = Plan {
            target: "t".into(),
            sysroot: Some("/s".into()),
            linker: "/l".into(),
        };
        let args: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        let got = instrumented(&args, &plan).map_or("untouched".to_owned(), |found| {
            let tail = "--sysroot=/s -Cllvm-args=-force-attribute=sanitize_thread \
                        -Cpasses=forceattrs,tsan-module,function(tsan) -Cno-vectorize-loops -Cno-vectorize-slp \
                        -Cforce-frame-pointers=yes \
                        --check-cfg=cfg(deadheat) --cfg=deadheat";
            let words: Vec<_> = found
                .args
                .iter()
                .map(|word| word.to_string_lossy())
                .collect();
            let linker = found.linker.map_or(String::new(), |name| {
                format!(" [{}]", name.to_string_lossy())
            });
            format!("{}{linker}", words.join(" ").replace(tail, "+"))
        });
        assert_eq!(got, expect, "for {line}");
    }

    #[test]
    fn only_crates_for_the_target_are_instrumented() {
        check("--crate-name a a.rs", "untouched");
        check("--crate-name a a.rs --target other", "untouched");
        check("- --crate-name ___ --print=cfg --target t", "untouched");
        check("-vV", "untouched");
        check(
            "--crate-name a a.rs --target t",
            "--crate-name a a.rs --target t + -Cdebuginfo=1 -Clinker=/l",
        );
        check(
            "--crate-name a --target=t",
            "--crate-name a --target=t + -Cdebuginfo=1 -Clinker=/l",
        );
    }

    #[test]
    fn what_stands_against_it_is_dropped() {
        check(
            "-C lto=fat -Clto -C linker-plugin-lto -C strip=debuginfo -Csplit-debuginfo=packed --codegen=prefer-dynamic -C opt-level=3 --target t",
            "-C opt-level=3 --target t + -Cdebuginfo=1 -Clinker=/l",
        );
        check(
            "-C debuginfo=2 --target t",
            "-C debuginfo=2 --target t + -Clinker=/l",
        );
        check("-g --target t", "-g --target t + -Clinker=/l");
        check(
            "-g -C debuginfo=line-tables-only --target t",
            "-g -C debuginfo=line-tables-only --target t + -Cdebuginfo=1 -Clinker=/l",
        );
        check(
            "-C debuginfo=0 -C debuginfo=full --target t",
            "-C debuginfo=0 -C debuginfo=full --target t + -Clinker=/l",
        );
        check(
            "-C linker=clang -g --target t",
            "-g --target t + -Clinker=/l [clang]",
        );
        check(
            "-Clinker=a --codegen linker=b -g --target t",
            "-g --target t + -Clinker=/l [b]",
        );
        check("-g --target t -C", "-g --target t -C + -Clinker=/l");
    }
}

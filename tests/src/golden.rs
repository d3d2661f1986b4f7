//! Text reports of chosen programs, kept as files beside them: `NAME.COMPILER.txt`.
//!
//! `DEADHEAT_BLESS=1 cargo test -p deadheat-tests --test ui` writes them anew.

use crate::directive::Program;
use crate::process::run;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// What a rule does, and the rule for one line.
type Normalisation = (&'static str, fn(&str) -> String);

/// What differs from run to run or machine to machine, and what stands for it. This is the whole list.
const NORMALISATIONS: &[Normalisation] = &[
    ("addresses become 0xADDRESS", |line| {
        numbers(line, "0x", |c| c.is_ascii_hexdigit(), "ADDRESS")
    }),
    ("operating system thread ids become N", |line| {
        numbers(line, "tid ", |c| c.is_ascii_digit(), "N")
    }),
    ("process ids become N", |line| {
        numbers(line, "pid ", |c| c.is_ascii_digit(), "N")
    }),
    ("spaces at the end of a line go", |line| {
        line.trim_end().to_owned()
    }),
];

/// Kept reports must not depend on where the tree lies: not in their words, and not in where their lines break.
pub fn place_independent(ui: &Path) -> String {
    format!("-ffile-prefix-map={}=/ui", ui.display())
}

/// Compares the text form of the findings with the file.
pub fn check(
    deadheat: &Path,
    program: &Program,
    findings: &Path,
    folder: &Path,
) -> Result<(), String> {
    let mut command = Command::new(deadheat);
    let root = program.root();
    command
        .arg("report")
        .arg(findings)
        .args(["--format", "text"])
        .current_dir(root.parent().unwrap_or(&root));
    let outcome = run(command, folder, "text", None, Duration::from_secs(60))?;
    let got = normalise(&outcome.stdout, &[(folder, "BUILD")]);
    let compiler = program.value("golden").unwrap_or_default();
    let file = program
        .path
        .with_file_name(format!("{}.{compiler}.txt", program.stem()));
    if std::env::var_os("DEADHEAT_BLESS").is_some() {
        return std::fs::write(&file, got)
            .map_err(|error| format!("cannot write {}: {error}", file.display()));
    }
    let wanted = std::fs::read_to_string(&file).unwrap_or_default();
    if got == wanted {
        return Ok(());
    }
    Err(format!(
        "the text report differs from {}; if the new one is right: \
         DEADHEAT_BLESS=1 cargo test -p deadheat-tests --test ui -- {}\n{}",
        file.display(),
        program.name,
        difference(&wanted, &got)
    ))
}

fn normalise(text: &str, folders: &[(&Path, &str)]) -> String {
    let mut text = text.to_owned();
    for (folder, word) in folders {
        text = text.replace(&folder.display().to_string(), word);
    }
    let line = |line: &str| {
        NORMALISATIONS
            .iter()
            .fold(line.to_owned(), |line, (_, rule)| rule(&line))
    };
    let mut lines: Vec<String> = text.lines().map(line).collect();
    lines.push(String::new());
    lines.join("\n")
}

/// Replaces the digits that follow `before` by a word.
fn numbers(line: &str, before: &str, digit: fn(char) -> bool, word: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some(index) = rest.find(before) {
        let (head, tail) = rest.split_at(index + before.len());
        let end = tail.find(|c| !digit(c)).unwrap_or(tail.len());
        out.push_str(head);
        out.push_str(if end > 0 { word } else { "" });
        rest = &tail[end..];
    }
    out.push_str(rest);
    out
}

/// The lines between the parts that both have in common.
fn difference(wanted: &str, got: &str) -> String {
    let (mut wanted, mut got): (Vec<&str>, Vec<&str>) =
        (wanted.lines().collect(), got.lines().collect());
    let same = wanted.iter().zip(&got).take_while(|(a, b)| a == b).count();
    wanted.drain(..same);
    got.drain(..same);
    while !wanted.is_empty() && wanted.last() == got.last() {
        wanted.pop();
        got.pop();
    }
    let minus = wanted.iter().map(|line| format!("  - {line}\n"));
    let plus = got.iter().map(|line| format!("  + {line}\n"));
    format!(
        "  after line {same}:\n{}",
        minus.chain(plus).collect::<String>()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_differs_is_shown() {
        assert_eq!(
            difference("a\nb\nd\n", "a\nc\nd\n"),
            "  after line 1:\n  - b\n  + c\n"
        );
    }

    #[test]
    fn what_differs_from_run_to_run_is_normalised() {
        let text = "at 0x7ffe12 (tid 123) in /build/x/program \npid 9, 0x";
        let expect = "at 0xADDRESS (tid N) in BUILD/program\npid N, 0x\n";
        assert_eq!(normalise(text, &[(Path::new("/build/x"), "BUILD")]), expect);
    }
}

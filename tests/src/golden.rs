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

/// Compares the text form of the findings with the file.
pub fn check(
    deadheat: &Path,
    program: &Program,
    findings: &Path,
    folder: &Path,
) -> Result<(), String> {
    let mut command = Command::new(deadheat);
    command
        .arg("report")
        .arg(findings)
        .args(["--format", "text"])
        .current_dir(folder);
    let outcome = run(command, folder, "text", None, Duration::from_secs(60))?;
    let ui = program
        .path
        .ancestors()
        .nth(Path::new(&program.name).components().count())
        .unwrap_or(Path::new("."));
    let got = normalise(&outcome.stdout, &[(folder, "BUILD"), (ui, "UI")]);
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
        "the text report differs from {}; if the new one is right: DEADHEAT_BLESS=1 cargo test -p deadheat-tests --test ui -- {}\n{}",
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

fn difference(wanted: &str, got: &str) -> String {
    let (wanted, got): (Vec<&str>, Vec<&str>) = (wanted.lines().collect(), got.lines().collect());
    let mut out = String::new();
    for index in 0..wanted.len().max(got.len()) {
        let (left, right) = (wanted.get(index), got.get(index));
        if left != right {
            out.push_str(&format!(
                "  line {}: - {}\n",
                index + 1,
                left.unwrap_or(&"")
            ));
            out.push_str(&format!(
                "  line {}: + {}\n",
                index + 1,
                right.unwrap_or(&"")
            ));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_from_run_to_run_is_normalised() {
        let text = "at 0x7ffe12 (tid 123) in /build/x/program \npid 9, 0x";
        let expect = "at 0xADDRESS (tid N) in BUILD/program\npid N, 0x\n";
        assert_eq!(normalise(text, &[(Path::new("/build/x"), "BUILD")]), expect);
    }
}

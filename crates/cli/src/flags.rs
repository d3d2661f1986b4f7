//! Reads a command's arguments against the table of options.

use crate::error::{Failure, Result};
use crate::options::{
    Command, Key, Layers, OPTIONS, OptionSpec, Shape, Value, nearest, parse_value,
};
use std::ffi::OsString;

/// A command line, taken apart.
#[derive(Debug, Default)]
pub struct Parsed {
    /// The options.
    pub layers: Layers,
    /// The command's own flags with their values (empty for those without).
    pub own: Vec<(&'static str, String)>,
    /// What is no flag, from the first such word on when the command says so.
    pub rest: Vec<OsString>,
    /// `--help` was asked for.
    pub help: bool,
}

impl Parsed {
    /// The last value of a flag that only this command has.
    #[must_use]
    pub fn own(&self, name: &str) -> Option<&str> {
        self.own
            .iter()
            .rev()
            .find(|(n, _)| *n == name)
            .map(|(_, value)| value.as_str())
    }
}

/// Where flags stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlagsEnd {
    /// At the first word that is none: what follows belongs to the program.
    FirstWord,
    /// Only at `--`.
    Never,
}

/// Reads the arguments of `command`.
pub fn parse(command: &'static Command, args: &[OsString], end: FlagsEnd) -> Result<Parsed> {
    let mut parsed = Parsed::default();
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let text = arg.to_string_lossy();
        if text == "--" {
            parsed.rest.extend(args.cloned());
            break;
        }
        if text == "-h" || text == "--help" {
            parsed.help = true;
            continue;
        }
        let output = text == "-o" && command.own.iter().any(|own| own.name == "--output");
        let text = if output { "--output".into() } else { text };
        let Some(flag) = text.strip_prefix("--") else {
            if text.len() > 1 && text.starts_with('-') {
                return Err(unknown(command, &text));
            }
            parsed.rest.push(arg.clone());
            if end == FlagsEnd::FirstWord {
                parsed.rest.extend(args.cloned());
                break;
            }
            continue;
        };
        let (name, value) = match flag.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (flag, None),
        };
        let mut next = || args.next().map(|a| a.to_string_lossy().into_owned());
        read_flag(command, &text, name, value, &mut next, &mut parsed)?;
    }
    Ok(parsed)
}

fn read_flag(
    command: &'static Command,
    whole: &str,
    name: &str,
    value: Option<String>,
    next: &mut dyn FnMut() -> Option<String>,
    parsed: &mut Parsed,
) -> Result<()> {
    if let Some(own) = command.own.iter().find(|o| &o.name[2..] == name) {
        let value = match (own.meta.is_empty(), value) {
            (true, Some(_)) => return Err(Failure::new(format!("{} takes no value", own.name))),
            (true, None) => String::new(),
            // The value may be left out.
            (false, None) if own.meta.starts_with('[') => String::new(),
            (false, value) => value
                .or_else(next)
                .ok_or_else(|| missing(own.name, own.meta))?,
        };
        parsed.own.push((own.name, value));
        return Ok(());
    }
    if let Some(spec) = find(command, name) {
        let text = match (spec.shape, value) {
            (Shape::Switch, value) => value.unwrap_or_else(|| "on".to_owned()),
            (_, value) => value
                .or_else(next)
                .ok_or_else(|| missing(&format!("--{name}"), spec.meta))?,
        };
        let value =
            parse_value(spec, &text).map_err(|what| Failure::new(format!("--{name}: {what}")))?;
        parsed.layers.flags.push((spec, value));
        return Ok(());
    }
    match name
        .strip_prefix("no-")
        .and_then(|name| find(command, name))
    {
        Some(spec) if spec.shape == Shape::Switch && value.is_none() => {
            parsed.layers.flags.push((spec, Value::Switch(false)));
            Ok(())
        }
        _ => Err(unknown(command, whole)),
    }
}

fn find(command: &Command, name: &str) -> Option<&'static OptionSpec> {
    OPTIONS
        .iter()
        .find(|spec| spec.name == name && command.options.contains(&spec.key))
}

fn missing(flag: &str, meta: &str) -> Failure {
    Failure::new(format!("{flag} needs a value: {flag} {meta}"))
}

fn unknown(command: &Command, flag: &str) -> Failure {
    let failure = Failure::new(format!("deadheat {} has no flag {flag}", command.name));
    let bare = flag
        .trim_start_matches('-')
        .split('=')
        .next()
        .unwrap_or_default();
    let (no, bare) = bare.strip_prefix("no-").map_or(("", bare), |b| ("no-", b));
    let options = command
        .options
        .iter()
        .map(|key: &Key| OPTIONS[*key as usize].name);
    let names = options
        .chain(command.own.iter().map(|o| &o.name[2..]))
        .chain(["help"]);
    match nearest(bare, names) {
        Some(meant) => failure.next(format!("did you mean --{no}{meant}?")),
        None => failure.next(format!("deadheat help {} lists the flags", command.name)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::command;

    fn check(name: &str, line: &str, expect: &str) {
        let args: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        let end = if name == "run" {
            FlagsEnd::FirstWord
        } else {
            FlagsEnd::Never
        };
        let got = match parse(command(name).expect("a command"), &args, end) {
            Ok(parsed) => {
                let flags = parsed
                    .layers
                    .flags
                    .iter()
                    .map(|(s, v)| format!("{}={v:?}", s.name));
                let own = parsed.own.iter().map(|(n, v)| format!("{n}={v}"));
                let rest = parsed.rest.iter().map(|r| r.to_string_lossy().into_owned());
                flags.chain(own).chain(rest).collect::<Vec<_>>().join(" ")
            }
            Err(failure) => failure.to_string(),
        };
        assert_eq!(got, expect, "for {name} {line}");
    }

    #[test]
    fn flags_are_read_until_the_program() {
        check("run", "./prog --format x", "./prog --format x");
        check(
            "run",
            "--format json ./prog -x",
            "format=Word(\"json\") ./prog -x",
        );
        check(
            "run",
            "--format=json --no-races --quiet -- --odd",
            "format=Word(\"json\") races=Switch(false) quiet=Switch(true) --odd",
        );
        check(
            "run",
            "--races=off --exit-code 9 p",
            "races=Switch(false) exit-code=Number(9) p",
        );
        check(
            "run",
            "--suppressions a --suppressions=b p",
            "suppressions=Element(\"a\") suppressions=Element(\"b\") p",
        );
    }

    #[test]
    fn other_commands_take_flags_anywhere() {
        check(
            "report",
            "a.json --format html",
            "format=Word(\"html\") a.json",
        );
        check("suppressions", "--from=x.json", "--from=x.json");
        check("env", "--cmake", "--cmake=");
        check("explain", "3 - --color never", "color=Word(\"never\") 3 -");
    }

    #[test]
    fn mistakes_say_what_is_right() {
        check(
            "run",
            "--fromat json p",
            "deadheat: deadheat run has no flag --fromat\n  did you mean --format?",
        );
        check(
            "run",
            "--no-race p",
            "deadheat: deadheat run has no flag --no-race\n  did you mean --no-races?",
        );
        check(
            "run",
            "--zzz p",
            "deadheat: deadheat run has no flag --zzz\n  deadheat help run lists the flags",
        );
        check(
            "run",
            "-f p",
            "deadheat: deadheat run has no flag -f\n  deadheat help run lists the flags",
        );
        check(
            "run",
            "--exit-code",
            "deadheat: --exit-code needs a value: --exit-code N",
        );
        check(
            "run",
            "--exit-code x p",
            "deadheat: --exit-code: `exit-code` is a whole number from 0 to 255, not `x`",
        );
        check(
            "run",
            "--no-format p",
            "deadheat: deadheat run has no flag --no-format\n  did you mean --no-format?",
        );
        check("env", "--cmake=3", "deadheat: --cmake takes no value");
        check(
            "report",
            "--races x",
            "deadheat: deadheat report has no flag --races\n  deadheat help report lists the flags",
        );
    }
}

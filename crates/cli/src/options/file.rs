//! `deadheat.toml`: found in the working directory or above it. Mistakes are told with file and line.

use super::parse::{Value, parse_value};
use super::table::{OPTIONS, OptionSpec, Shape};
use crate::error::{Failure, Result};
use std::path::{Path, PathBuf};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The name of the file.
pub const NAME: &str = "deadheat.toml";

/// The nearest `deadheat.toml` in `start` or above.
pub fn find(start: &Path) -> Option<PathBuf> {
    start
        .ancestors()
        .map(|dir| dir.join(NAME))
        .find(|path| path.is_file())
}

/// Reads a file of options. Names of files in it are meant from its own folder.
pub fn read(path: &Path) -> Result<Vec<(&'static OptionSpec, Value)>> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| Failure::new(format!("cannot read {}: {error}", path.display())))?;
    parse(path, &text)
}

fn parse(path: &Path, text: &str) -> Result<Vec<(&'static OptionSpec, Value)>> {
    let fail = |at: usize, what: String| {
        let line = text[..at.min(text.len())].matches('\n').count() + 1;
        Failure::new(format!("{}:{line}: {what}", path.display()))
    };
    let table = DeTable::parse(text).map_err(|error| {
        fail(
            error.span().map_or(0, |s| s.start),
            error.message().to_owned(),
        )
    })?;
    let mut entries: Vec<_> = table.get_ref().iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    let mut out = Vec::new();
    for (key, value) in entries {
        let name: &str = key.get_ref();
        let Some(spec) = OPTIONS.iter().find(|o| o.name == name) else {
            let meant = super::nearest(name, OPTIONS.iter().map(|o| o.name));
            let failure = fail(key.span().start, format!("there is no option `{name}`"));
            return Err(match meant {
                Some(meant) => failure.next(format!("did you mean `{meant}`?")),
                None => failure.next("deadheat help run lists the options"),
            });
        };
        for value in values(spec, value).map_err(|(at, what)| fail(at, what))? {
            out.push((spec, from_folder(spec, value, path)));
        }
    }
    Ok(out)
}

type Misfit = (usize, String);

fn values(
    spec: &OptionSpec,
    value: &Spanned<DeValue<'_>>,
) -> std::result::Result<Vec<Value>, Misfit> {
    if let (DeValue::Array(list), Shape::Files) = (value.get_ref(), spec.shape) {
        return list.iter().map(|element| single(spec, element)).collect();
    }
    single(spec, value).map(|value| vec![value])
}

fn single(spec: &OptionSpec, value: &Spanned<DeValue<'_>>) -> std::result::Result<Value, Misfit> {
    let at = value.span().start;
    let text = match (value.get_ref(), spec.shape) {
        (DeValue::Boolean(on), Shape::Switch) => on.to_string(),
        (DeValue::Integer(number), Shape::Number { .. }) => number.to_string().replace('_', ""),
        (DeValue::String(text), shape)
            if !matches!(shape, Shape::Switch | Shape::Number { .. }) =>
        {
            text.to_string()
        }
        (other, shape) => {
            let wanted = match shape {
                Shape::Switch => "true or false",
                Shape::Number { .. } => "a whole number",
                Shape::Files => "a string or a list of strings",
                Shape::Choice(_) | Shape::Word | Shape::File => "a string",
            };
            return Err((
                at,
                format!(
                    "`{}` is {wanted}, not a value of type {}",
                    spec.name,
                    other.type_str()
                ),
            ));
        }
    };
    parse_value(spec, &text).map_err(|what| (at, what))
}

/// A relative file name in `deadheat.toml` is meant from where that file lies.
fn from_folder(spec: &OptionSpec, value: Value, path: &Path) -> Value {
    let place = |name: String| match path.parent() {
        Some(dir) => dir.join(name).to_string_lossy().into_owned(),
        None => name,
    };
    match value {
        Value::Element(name) => Value::Element(place(name)),
        Value::Word(name) if spec.shape == Shape::File && !super::settings::is_stream(&name) => {
            Value::Word(place(name))
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expect: &str) {
        let got = match parse(Path::new("/p/deadheat.toml"), text) {
            Ok(list) => list
                .iter()
                .map(|(s, v)| format!("{}={v:?}", s.name))
                .collect::<Vec<_>>()
                .join(" "),
            Err(failure) => failure.to_string(),
        };
        assert_eq!(got, expect);
    }

    #[test]
    fn values_of_every_shape_are_read() {
        check("", "");
        check(
            "races = false\nexit-code = 7",
            "races=Switch(false) exit-code=Number(7)",
        );
        check("format = 'json'", "format=Word(\"json\")");
        check(
            "suppressions = 'a.supp'",
            "suppressions=Element(\"/p/a.supp\")",
        );
        check(
            "suppressions = ['/x', 'b']",
            "suppressions=Element(\"/x\") suppressions=Element(\"/p/b\")",
        );
        check("log = 'out.txt'", "log=Word(\"/p/out.txt\")");
        check("log = 'stderr'", "log=Word(\"stderr\")");
    }

    #[test]
    fn mistakes_name_file_and_line() {
        check(
            "races = false\n\nformt = 'x'",
            "deadheat: /p/deadheat.toml:3: there is no option `formt`\n  did you mean `format`?",
        );
        check(
            "\nraces = 1",
            "deadheat: /p/deadheat.toml:2: `races` is true or false, not a value of type integer",
        );
        check(
            "exit-code = 256",
            "deadheat: /p/deadheat.toml:1: `exit-code` is a whole number from 0 to 255, not `256`",
        );
        check(
            "format = 'jsn'",
            "deadheat: /p/deadheat.toml:1: `format` is one of text, json, sarif, html, not `jsn` (did you mean `json`?)",
        );
        let broken = parse(Path::new("d.toml"), "\nraces = = 1")
            .unwrap_err()
            .to_string();
        assert!(broken.starts_with("deadheat: d.toml:2: "), "{broken}");
    }
}

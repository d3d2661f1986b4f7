//! Values from text, and the `key=value` lists of environment variables.

use super::table::{OptionSpec, Shape};

/// A value as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// On or off.
    Switch(bool),
    /// A number.
    Number(u64),
    /// A word or a file.
    Word(String),
    /// One more element of a list.
    Element(String),
}

/// Reads a value; the error says what would have been right.
pub fn parse_value(spec: &OptionSpec, text: &str) -> Result<Value, String> {
    match spec.shape {
        Shape::Switch => switch(text)
            .map(Value::Switch)
            .ok_or_else(|| format!("`{}` is on or off, not `{text}`", spec.name)),
        Shape::Number { max } => match text.parse::<u64>() {
            Ok(number) if number <= max => Ok(Value::Number(number)),
            _ => Err(format!(
                "`{}` is a whole number from 0 to {max}, not `{text}`",
                spec.name
            )),
        },
        Shape::Choice(words) if words.contains(&text) => Ok(Value::Word(text.to_owned())),
        Shape::Choice(words) => {
            let meant = super::nearest(text, words.iter().copied());
            let hint = meant.map_or(String::new(), |word| format!(" (did you mean `{word}`?)"));
            Err(format!(
                "`{}` is one of {}, not `{text}`{hint}",
                spec.name,
                words.join(", ")
            ))
        }
        Shape::Word | Shape::File | Shape::Files if text.is_empty() => {
            Err(format!("`{}` needs a {}", spec.name, spec.meta))
        }
        Shape::Word | Shape::File => Ok(Value::Word(text.to_owned())),
        Shape::Files => Ok(Value::Element(text.to_owned())),
    }
}

fn switch(text: &str) -> Option<bool> {
    match text {
        "1" | "on" | "true" | "yes" => Some(true),
        "0" | "off" | "false" | "no" => Some(false),
        _ => None,
    }
}

/// Splits `key=value` words as ThreadSanitizer does: at white space, commas and colons; `'` and `"` keep them.
/// A key alone stands for `key=on`.
pub fn parse_words(text: &str) -> Result<Vec<(String, String)>, String> {
    let mut out = Vec::new();
    let mut rest = text.trim_start_matches(separator);
    while !rest.is_empty() {
        let end = rest
            .find(|c: char| c == '=' || separator(c))
            .unwrap_or(rest.len());
        let (key, after) = rest.split_at(end);
        if key.is_empty() {
            return Err(format!("there is no key before `{rest}`"));
        }
        let (value, after) = match after.strip_prefix('=') {
            Some(after) => quoted(key, after)?,
            None => ("on".to_owned(), after),
        };
        out.push((key.to_owned(), value));
        rest = after.trim_start_matches(separator);
    }
    Ok(out)
}

fn quoted<'a>(key: &str, text: &'a str) -> Result<(String, &'a str), String> {
    let Some(quote) = text.chars().next().filter(|c| matches!(c, '\'' | '"')) else {
        let end = text.find(separator).unwrap_or(text.len());
        return Ok((text[..end].to_owned(), &text[end..]));
    };
    match text[1..].split_once(quote) {
        Some((value, after)) => Ok((value.to_owned(), after)),
        None => Err(format!(
            "the value of `{key}` opens with {quote} and does not end with it"
        )),
    }
}

fn separator(c: char) -> bool {
    c.is_whitespace() || c == ',' || c == ':'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expect: &[(&str, &str)]) {
        let expect: Vec<_> = expect
            .iter()
            .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
            .collect();
        assert_eq!(parse_words(text), Ok(expect), "in {text:?}");
    }

    #[test]
    fn words_are_split_at_colons_commas_and_white_space() {
        check("", &[]);
        check(" : ,", &[]);
        check("a=1", &[("a", "1")]);
        check(
            "a=1:b=2,c=3 d=4\ne=5",
            &[("a", "1"), ("b", "2"), ("c", "3"), ("d", "4"), ("e", "5")],
        );
        check("quiet:a=", &[("quiet", "on"), ("a", "")]);
        check("log='a b:c':x=\"y,z\"", &[("log", "a b:c"), ("x", "y,z")]);
        assert!(parse_words("log='a").is_err());
        assert!(parse_words("=a").is_err());
    }
}

//! Response files (`@file`): opened to be read, and made again when the command line got too long.
//!
//! The rules are the compilers' own: words are split at white space, `'...'` and `"..."` keep it, a backslash takes
//! the next character as it is, a file may name further ones, and a name that cannot be read is an ordinary argument.

use crate::error::{Failure, Result};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

/// How deep response files may name each other before the rest is taken literally.
const DEPTH: usize = 16;

/// Longest command line handed over as it is; the kernel's limit is 128 KiB for one word and about 2 MiB for all.
const LONGEST: usize = 256 * 1024;

/// Replaces every `@file` by the words in it.
#[must_use]
pub fn expand(args: &[OsString]) -> Vec<OsString> {
    let mut out = Vec::with_capacity(args.len());
    for arg in args {
        expand_one(arg, DEPTH, &mut out);
    }
    out
}

fn expand_one(arg: &OsStr, depth: usize, out: &mut Vec<OsString>) {
    let text = match arg.as_bytes().strip_prefix(b"@") {
        Some(name) if depth > 0 => std::fs::read(Path::new(OsStr::from_bytes(name))).ok(),
        _ => None,
    };
    match text {
        Some(text) => words(&text)
            .iter()
            .for_each(|word| expand_one(word, depth - 1, out)),
        None => out.push(arg.to_owned()),
    }
}

fn words(text: &[u8]) -> Vec<OsString> {
    let mut out = Vec::new();
    let mut word: Option<Vec<u8>> = None;
    let mut quote: Option<u8> = None;
    let mut bytes = text.iter().copied();
    while let Some(byte) = bytes.next() {
        match (byte, quote) {
            (b'\\', _) => word.get_or_insert_default().extend(bytes.next()),
            (b'\'' | b'"', None) => {
                quote = Some(byte);
                word.get_or_insert_default();
            }
            (_, Some(open)) if byte == open => quote = None,
            (_, None) if byte.is_ascii_whitespace() => {
                out.extend(word.take().map(OsString::from_vec))
            }
            _ => word.get_or_insert_default().push(byte),
        }
    }
    out.extend(word.map(OsString::from_vec));
    out
}

/// Puts the arguments into a response file under `dir` when they are too long for a command line.
///
/// The file is named after its content, so that the same command run again or twice at once uses the same file.
pub fn shorten(args: Vec<OsString>, dir: &Path) -> Result<Vec<OsString>> {
    let length: usize = args.iter().map(|a| a.len() + 1).sum();
    if length <= LONGEST {
        return Ok(args);
    }
    let mut text = Vec::with_capacity(length * 2);
    for arg in &args {
        text.push(b'"');
        for &byte in arg.as_bytes() {
            if matches!(byte, b'"' | b'\\') {
                text.push(b'\\');
            }
            text.push(byte);
        }
        text.extend(b"\"\n");
    }
    let path = dir.join(format!(
        "args-{:016x}",
        crate::unpack::fingerprint(&[&text])
    ));
    crate::unpack::write_atomically(&path, &text).map_err(|e| {
        Failure::new(format!(
            "cannot write the response file {}: {e}",
            path.display()
        ))
    })?;
    let mut name = OsString::from("@");
    name.push(path);
    Ok(vec![name])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expect: &[&str]) {
        let expect: Vec<OsString> = expect.iter().map(OsString::from).collect();
        assert_eq!(words(text.as_bytes()), expect, "in {text:?}");
    }

    #[test]
    fn words_are_split_as_compilers_do() {
        check("", &[]);
        check(" \n\t ", &[]);
        check("-c a.c\n-o\ta.o", &["-c", "a.c", "-o", "a.o"]);
        check(r#""a b" 'c d' e\ f"#, &["a b", "c d", "e f"]);
        check(r#"-DX="\"q\"" '' ""x"#, &["-DX=\"q\"", "", "x"]);
        check("\"it's\"", &["it's"]);
        check("end\\", &["end"]);
    }

    #[test]
    fn a_name_that_cannot_be_read_is_an_argument() {
        let args = [OsString::from("@no/such/file"), OsString::from("-c")];
        assert_eq!(expand(&args), args);
    }
}

//! `deadheat run bank.c more.c -lm -- ARGS`: compiles into a temporary folder.

use crate::error::{Failure, Result};
use crate::temp::TempDir;
use crate::wrapper::{self, Language};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

const C: &[&str] = &["c", "i"];
const CXX: &[&str] = &["cc", "cpp", "cxx", "c++", "C", "CPP", "cp", "ii"];

fn extension(name: &OsStr) -> &str {
    Path::new(name)
        .extension()
        .and_then(OsStr::to_str)
        .unwrap_or_default()
}

/// Whether a word names a C or C++ source.
#[must_use]
pub fn is_source(word: &OsStr) -> bool {
    let extension = extension(word);
    C.contains(&extension) || CXX.contains(&extension)
}

/// Compiles what stands before `--` and gives the program and what stands behind it.
pub fn compile(
    words: &[OsString],
    compiler: Option<&str>,
    temp: &TempDir,
) -> Result<(PathBuf, Vec<OsString>)> {
    let end = words.iter().position(|w| w == "--").unwrap_or(words.len());
    let (inputs, args) = (&words[..end], words.get(end + 1..).unwrap_or_default());
    for name in inputs.iter().filter(|w| is_source(w)) {
        if !Path::new(name).is_file() {
            return Err(Failure::new(format!(
                "{} was not found",
                name.to_string_lossy()
            )));
        }
    }
    if let Some(word) = inputs
        .iter()
        .find(|w| ["-o", "-c", "-S", "-E"].iter().any(|flag| w == flag))
    {
        return Err(Failure::new(format!(
            "deadheat run links and runs what it compiles: {} makes no sense here",
            word.to_string_lossy()
        ))
        .next("to build without running: deadheat cc FILES"));
    }
    let cxx = inputs.iter().any(|w| CXX.contains(&extension(w)));
    let language = if cxx { Language::Cxx } else { Language::C };
    let compiler = wrapper::find(language, compiler)?;
    let name = Path::new(&inputs[0])
        .file_stem()
        .unwrap_or(OsStr::new("program"));
    let program = temp.path().join(name);
    let mut command_line: Vec<OsString> = vec![
        "-O1".into(),
        "-pthread".into(),
        "-o".into(),
        program.clone().into(),
    ];
    command_line.extend_from_slice(inputs);
    let mut command = wrapper::prepare(&compiler, command_line)?;
    let status = command
        .status()
        .map_err(|error| wrapper::cannot_start(&command, &error))?;
    if !status.success() {
        return Err(Failure::new(format!(
            "{} could not compile the sources ({status})",
            compiler.words.join(" ")
        )));
    }
    Ok((program, args.to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_known_by_their_ending() {
        for name in ["a.c", "dir/b.cpp", "x.C", "y.cc", "z.c++"] {
            assert!(is_source(OsStr::new(name)), "{name}");
        }
        for name in ["a", "./prog", "a.o", "a.py", "a.h", "c"] {
            assert!(!is_source(OsStr::new(name)), "{name}");
        }
    }
}

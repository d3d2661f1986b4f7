//! Which compiler does the work: the one that was named, else clang, else gcc.
//!
//! Order: `--compiler`, then `DEADHEAT_CC` / `DEADHEAT_CXX`, then `compiler` of `DEADHEAT_OPTIONS` or `deadheat.toml`,
//! then the first of clang-19, clang, other versions of clang from new to old, gcc, cc that is on the `PATH`. A name
//! given for C also serves C++ and the other way round (`gcc` stands for `g++`, `clang-19` for `clang++-19`). A name
//! may have words before it (`ccache gcc`).

use super::args::Language;
use crate::error::{Failure, Result};
use std::env;
use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// How a compiler wants to be spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// GNU's.
    Gcc,
    /// LLVM's.
    Clang,
}

/// A compiler that can be started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compiler {
    /// Its words: the program, with what stands before it (`ccache`).
    pub words: Vec<String>,
    /// How to speak to it.
    pub family: Family,
}

impl Compiler {
    /// A command that starts it.
    #[must_use]
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.words[0]);
        command.args(&self.words[1..]);
        command
    }
}

const CLANGS: &[&str] = &[
    "clang-19", "clang", "clang-22", "clang-21", "clang-20", "clang-18", "clang-17", "clang-16",
    "clang-15", "clang-14",
];

/// Finds the compiler for a language; `named` is what `--compiler` said.
pub fn find(language: Language, named: Option<&str>) -> Result<Compiler> {
    let (own, other) = match language {
        Language::C => ("DEADHEAT_CC", "DEADHEAT_CXX"),
        Language::Cxx => ("DEADHEAT_CXX", "DEADHEAT_CC"),
    };
    let variable = |name: &str| env::var(name).ok().filter(|v| !v.trim().is_empty());
    if let Some(name) = named {
        return from_words(&sister(name, language));
    }
    if let Some(name) = variable(own) {
        return from_words(&name);
    }
    if let Some(name) = variable(other) {
        return from_words(&sister(&name, language));
    }
    if let Some(name) = crate::options::configured_compiler()? {
        return from_words(&sister(&name, language));
    }
    CLANGS
        .iter()
        .chain(&["gcc", "cc"])
        .map(|name| sister(name, language))
        .find(|name| on_path(name).is_some())
        .map_or_else(|| Err(none_found(language)), |name| from_words(&name))
}

fn none_found(language: Language) -> Failure {
    let wanted = match language {
        Language::C => "C",
        Language::Cxx => "C++",
    };
    Failure::new(format!("no {wanted} compiler on the PATH (looked for clang and gcc)"))
        .next("apt-get install clang-19 g++ libc6-dev\nor name one: deadheat cc --compiler NAME, or DEADHEAT_CC=NAME")
}

fn from_words(text: &str) -> Result<Compiler> {
    let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
    let Some(program) = words.first() else {
        return Err(Failure::new("the name of the compiler is empty"));
    };
    let Some(path) = on_path(program) else {
        return Err(
            Failure::new(format!("the compiler {program} was not found on the PATH"))
                .next("name another one with --compiler NAME or in DEADHEAT_CC and DEADHEAT_CXX"),
        );
    };
    let own = env::current_exe().and_then(std::fs::canonicalize).ok();
    if own.is_some() && std::fs::canonicalize(&path).ok() == own {
        return Err(Failure::new(format!("{text} is Deadheat itself: it needs a real compiler behind it"))
            .next("set DEADHEAT_CC and DEADHEAT_CXX to clang or gcc, and CC and CXX to deadheat cc and deadheat c++"));
    }
    let family = family_by_name(&words).map_or_else(|| family_by_asking(&words), Ok)?;
    Ok(Compiler { words, family })
}

/// The program a name stands for, if it can be started.
#[must_use]
pub fn on_path(name: &str) -> Option<PathBuf> {
    let usable = |path: &Path| {
        path.metadata()
            .is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
    };
    if name.contains('/') {
        return Some(PathBuf::from(name)).filter(|p| usable(p));
    }
    let dirs: OsString = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&dirs)
        .map(|dir| dir.join(name))
        .find(|path| usable(path))
}

/// The same compiler for the other language.
fn sister(text: &str, language: Language) -> String {
    let (head, name) = text
        .rsplit_once(['/', ' '])
        .map_or(("", text), |(h, n)| (&text[..=h.len()], n));
    let pairs = [("clang", "clang++"), ("gcc", "g++"), ("cc", "c++")];
    for (c, cxx) in pairs {
        let (from, to) = match language {
            Language::C => (cxx, c),
            Language::Cxx => (c, cxx),
        };
        // `clang` is also the beginning of `clang++`: what is there already is left alone.
        if name.contains(to) && (to.len() > from.len() || !name.contains(from)) {
            return text.to_owned();
        }
        if let Some(at) = whole_word(name, from) {
            return format!("{head}{}{to}{}", &name[..at], &name[at + from.len()..]);
        }
    }
    text.to_owned()
}

/// Where `word` stands in a compiler's name, bounded by `-`, `.` or the ends (`x86_64-linux-gnu-gcc-12`).
fn whole_word(name: &str, word: &str) -> Option<usize> {
    name.match_indices(word).map(|(at, _)| at).find(|&at| {
        let before = name[..at].chars().next_back();
        let after = name[at + word.len()..].chars().next();
        [before, after]
            .into_iter()
            .flatten()
            .all(|c| c == '-' || c == '.' || c == '_')
    })
}

fn family_by_name(words: &[String]) -> Option<Family> {
    let name = words.last()?.rsplit('/').next()?;
    if name.contains("clang") {
        Some(Family::Clang)
    } else if whole_word(name, "gcc")
        .or_else(|| whole_word(name, "g++"))
        .is_some()
    {
        Some(Family::Gcc)
    } else {
        None
    }
}

/// Asks a compiler with a name that says nothing (`cc`) what it is.
fn family_by_asking(words: &[String]) -> Result<Family> {
    let output = Command::new(&words[0])
        .args(&words[1..])
        .arg("--version")
        .output();
    let text = output
        .map(|o| String::from_utf8_lossy(&o.stdout).to_lowercase())
        .unwrap_or_default();
    if text.contains("clang") {
        Ok(Family::Clang)
    } else if text.contains("free software foundation") || text.contains("gcc") {
        Ok(Family::Gcc)
    } else {
        Err(Failure::new(format!(
            "{} is neither gcc nor clang, as far as its --version tells",
            words.join(" ")
        ))
        .next("name another one with --compiler NAME or in DEADHEAT_CC and DEADHEAT_CXX"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_serves_both_languages() {
        for (c, cxx) in [
            ("gcc", "g++"),
            ("gcc-12", "g++-12"),
            ("clang", "clang++"),
            ("clang-19", "clang++-19"),
            ("cc", "c++"),
            ("x86_64-linux-gnu-gcc-12", "x86_64-linux-gnu-g++-12"),
            ("/opt/llvm/bin/clang", "/opt/llvm/bin/clang++"),
            ("ccache gcc", "ccache g++"),
        ] {
            assert_eq!(sister(c, Language::Cxx), cxx);
            assert_eq!(sister(cxx, Language::C), c);
            assert_eq!(sister(c, Language::C), c);
            assert_eq!(sister(cxx, Language::Cxx), cxx);
        }
        assert_eq!(sister("mycompiler", Language::Cxx), "mycompiler");
        assert_eq!(sister("ccache", Language::Cxx), "ccache");
    }

    #[test]
    fn families_are_known_by_name() {
        let family = |name: &str| family_by_name(&[name.to_owned()]);
        assert_eq!(family("clang-19"), Some(Family::Clang));
        assert_eq!(family("clang++"), Some(Family::Clang));
        assert_eq!(
            family("/usr/bin/x86_64-linux-gnu-g++-12"),
            Some(Family::Gcc)
        );
        assert_eq!(family("musl-gcc"), Some(Family::Gcc));
        assert_eq!(family("cc"), None);
    }
}

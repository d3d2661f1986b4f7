//! What the user's cargo configuration says about the few things that Deadheat has to know or to replace.
//!
//! Cargo's order: `--config`, then a variable of the environment, then `.cargo/config.toml` of the working directory, then
//! those above it, then that of `CARGO_HOME`; what a file includes comes after the file itself. Flags for rustc are not read
//! at all: the wrapper adds Deadheat's to whatever cargo hands over, so they need no merging.

use crate::error::{Error, Result};
use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// The configuration that holds here.
#[derive(Debug, Default)]
pub struct Config {
    /// What `--config` says, the last one first.
    given: Vec<Layer>,
    /// The files, nearest first.
    files: Vec<Layer>,
}

/// One part of it.
#[derive(Debug)]
struct Layer {
    /// The file; none for what stands on the command line itself.
    path: Option<PathBuf>,
    table: Table,
}

/// Values, and the file that they stand in.
struct Found<'c> {
    values: Vec<String>,
    path: Option<&'c Path>,
}

impl Config {
    /// Reads what holds in a folder. `given` is what stands after `--config`: keys with values, or files.
    pub fn read(start: &Path, given: &[String]) -> Result<Self> {
        let mut config = Self::default();
        for word in given.iter().rev() {
            let file = start.join(word);
            if file.is_file() {
                add(&file, &mut config.given)?;
            } else {
                let table = parse(word, &format!("--config {word}"))?;
                config.given.push(Layer { path: None, table });
            }
        }
        let mut folders: Vec<PathBuf> = start.ancestors().map(|dir| dir.join(".cargo")).collect();
        folders.extend(home());
        for folder in folders {
            // Cargo takes the name without the ending first when both are there.
            let found = ["config", "config.toml"]
                .map(|name| folder.join(name))
                .into_iter()
                .find(|path| path.is_file());
            if let Some(path) = found {
                add(&path, &mut config.files)?;
            }
        }
        Ok(config)
    }

    /// A string under a key like `build.rustc`.
    #[must_use]
    pub fn text(&self, keys: &[&str]) -> Option<OsString> {
        Some(self.found(keys)?.values.first()?.into())
    }

    /// All strings under a key that may have one or a list of them, like `build.target`.
    #[must_use]
    pub fn texts(&self, keys: &[&str]) -> Vec<String> {
        self.found(keys)
            .map(|found| found.values)
            .unwrap_or_default()
    }

    /// A program under a key: a relative path is meant from the folder that holds `.cargo`, a name alone from the `PATH`.
    #[must_use]
    pub fn program(&self, keys: &[&str]) -> Option<PathBuf> {
        let found = self.found(keys)?;
        let program = PathBuf::from(found.values.first()?);
        match found.path.and_then(|path| path.parent()?.parent()) {
            Some(folder) if program.is_relative() && program.components().count() > 1 => {
                Some(folder.join(program))
            }
            _ => Some(program),
        }
    }

    /// A variable that cargo sets for what it starts (`[env]`), unless it is set already.
    #[must_use]
    pub fn variable(&self, name: &str) -> Option<OsString> {
        let in_table = || self.written(&["env", name, "value"]);
        let found = self.written(&["env", name]).or_else(in_table)?;
        Some(found.values.first()?.into())
    }

    fn found(&self, keys: &[&str]) -> Option<Found<'_>> {
        let variable = keys
            .iter()
            .map(|key| key.to_uppercase().replace(['-', '.'], "_"))
            .collect::<Vec<_>>()
            .join("_");
        let set = || {
            let value = env::var(format!("CARGO_{variable}")).ok()?;
            (!value.is_empty()).then(|| Found {
                values: vec![value],
                path: None,
            })
        };
        within(&self.given, keys)
            .or_else(set)
            .or_else(|| within(&self.files, keys))
    }

    /// The same without the variable.
    fn written(&self, keys: &[&str]) -> Option<Found<'_>> {
        within(&self.given, keys).or_else(|| within(&self.files, keys))
    }
}

/// Adds a file, and what it includes.
fn add(path: &Path, layers: &mut Vec<Layer>) -> Result<()> {
    if layers
        .iter()
        .any(|layer| layer.path.as_deref() == Some(path))
    {
        return Ok(());
    }
    let text = std::fs::read_to_string(path).map_err(|error| Error::at(path, "read", &error))?;
    let table = parse(&text, &path.display().to_string())?;
    let folder = path.parent().unwrap_or(Path::new("/"));
    let includes: Vec<PathBuf> = included(&table)
        .iter()
        .map(|name| folder.join(name))
        .collect();
    layers.push(Layer {
        path: Some(path.to_owned()),
        table,
    });
    // The last of them wins. One that is not there is cargo's to complain of, unless it may be missing.
    for path in includes.iter().rev().filter(|path| path.is_file()) {
        add(path, layers)?;
    }
    Ok(())
}

/// The files that one includes: names, or tables with a `path`.
fn included(table: &Table) -> Vec<String> {
    let name = |value: &Value| {
        let named = value.as_table().and_then(|table| table.get("path"));
        Some(named.unwrap_or(value).as_str()?.to_owned())
    };
    match table.get("include") {
        Some(Value::Array(list)) => list.iter().filter_map(name).collect(),
        Some(value) => name(value).into_iter().collect(),
        None => Vec::new(),
    }
}

fn parse(text: &str, place: &str) -> Result<Table> {
    text.parse()
        .map_err(|error: toml::de::Error| Error::new(format!("{place}: {}", error.message())))
}

fn within<'c>(layers: &'c [Layer], keys: &[&str]) -> Option<Found<'c>> {
    let (last, path) = keys.split_last()?;
    layers.iter().find_map(|layer| {
        let value = path
            .iter()
            .try_fold(&layer.table, |table, key| table.get(*key)?.as_table())?
            .get(*last)?;
        let values: Vec<String> = match value {
            Value::String(text) => vec![text.clone()],
            Value::Array(list) => list
                .iter()
                .filter_map(|value| Some(value.as_str()?.to_owned()))
                .collect(),
            _ => return None,
        };
        Some(Found {
            values,
            path: layer.path.as_deref(),
        })
    })
}

/// Cargo's own folder.
fn home() -> Option<PathBuf> {
    let named = |name: &str| {
        env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    named("CARGO_HOME").or_else(|| Some(named("HOME")?.join(".cargo")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// A folder of its own with these files.
    fn folder(name: &str, files: &[(&str, &str)]) -> PathBuf {
        let base =
            std::env::temp_dir().join(format!("deadheat-config-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&base);
        for (path, text) in files {
            let path = base.join(path);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, text).expect("a file");
        }
        base
    }

    #[test]
    fn the_nearest_file_wins() {
        let base = folder(
            "nearest",
            &[
                ("a/b/.cargo/config.toml", "[build]\nof-a-test-jobs = '2'"),
                (
                    "a/.cargo/config.toml",
                    "[build]\nof-a-test = ['one', 'two']\nrustdoc-of-a-test = 'tools/rustdoc'",
                ),
                (
                    ".cargo/config.toml",
                    "[build]\nof-a-test = 'other'\n[target.t]\nlinker = 'clang'",
                ),
            ],
        );
        let config = Config::read(&base.join("a/b"), &[]).expect("reads");
        assert_eq!(config.texts(&["build", "of-a-test"]), ["one", "two"]);
        let program = |keys: &[&str]| config.program(keys);
        assert_eq!(program(&["target", "t", "linker"]), Some("clang".into()));
        assert_eq!(
            program(&["build", "rustdoc-of-a-test"]),
            Some(base.join("a/tools/rustdoc"))
        );
        assert_eq!(config.text(&["build", "nothing-of-a-test"]), None);
        fs::remove_dir_all(&base).expect("cleans up");
    }

    #[test]
    fn what_is_given_beats_files_and_what_they_include() {
        let base = folder(
            "given",
            &[
                (
                    ".cargo/config.toml",
                    "include = ['first.toml', { path = 'second.toml' }, { path = 'none.toml', optional = true }]\n\
                     [env]\nCC = 'gcc'\nCXX = { value = 'g++', force = true }\n[x]\na = 'own'",
                ),
                (".cargo/first.toml", "[x]\na = '1'\nb = '1'\nc = '1'"),
                (".cargo/second.toml", "[x]\na = '2'\nb = '2'"),
                ("given.toml", "[x]\nd = 'file'\nc = 'file'"),
            ],
        );
        let given = ["given.toml".to_owned(), "x.d = 'word'".to_owned()];
        let config = Config::read(&base, &given).expect("reads");
        let all = ["a", "b", "c", "d"].map(|key| config.texts(&["x", key]).concat());
        assert_eq!(all, ["own", "2", "file", "word"]);
        assert_eq!(config.variable("CC"), Some("gcc".into()));
        assert_eq!(config.variable("CXX"), Some("g++".into()));
        assert!(Config::read(&base, &["nonsense".to_owned()]).is_err());
        fs::remove_dir_all(&base).expect("cleans up");
    }
}

//! What the user's cargo configuration says about the few things that Deadheat has to know or to replace.
//!
//! Cargo's order: a variable of the environment, then `.cargo/config.toml` of the working directory, then those above
//! it, then that of `CARGO_HOME`. Flags for rustc are not read at all: the wrapper adds Deadheat's to whatever cargo
//! hands over, so they need no merging.

use crate::error::{Error, Result};
use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// The configuration files that hold here, nearest first.
#[derive(Debug, Default)]
pub struct Config {
    files: Vec<(PathBuf, Table)>,
}

impl Config {
    /// Reads what holds in a folder.
    pub fn read(start: &Path) -> Result<Self> {
        let mut folders: Vec<PathBuf> = start.ancestors().map(|dir| dir.join(".cargo")).collect();
        folders.extend(home());
        let mut files: Vec<(PathBuf, Table)> = Vec::new();
        for folder in folders {
            // Cargo takes the name without the ending first when both are there.
            let found = ["config", "config.toml"]
                .map(|name| folder.join(name))
                .into_iter()
                .find(|path| path.is_file());
            let Some(path) = found else { continue };
            if files.iter().any(|(known, _)| *known == path) {
                continue;
            }
            let text =
                std::fs::read_to_string(&path).map_err(|error| Error::at(&path, "read", &error))?;
            let table = text.parse().map_err(|error: toml::de::Error| {
                Error::new(format!("{}: {}", path.display(), error.message()))
            })?;
            files.push((path, table));
        }
        Ok(Self { files })
    }

    /// A string under a key like `build.target`; the variable that stands for it wins.
    #[must_use]
    pub fn text(&self, keys: &[&str]) -> Option<OsString> {
        let variable = keys
            .iter()
            .map(|key| key.to_uppercase().replace(['-', '.'], "_"))
            .collect::<Vec<_>>()
            .join("_");
        env::var_os(format!("CARGO_{variable}"))
            .filter(|value| !value.is_empty())
            .or_else(|| self.written(keys))
    }

    /// The same, as the files alone have it.
    fn written(&self, keys: &[&str]) -> Option<OsString> {
        self.files
            .iter()
            .find_map(|(_, table)| Some(find(table, keys)?.as_str()?.into()))
    }

    /// The same for a program or a folder: a relative one is meant from the folder that holds `.cargo`.
    #[must_use]
    pub fn path(&self, keys: &[&str]) -> Option<PathBuf> {
        let text = PathBuf::from(self.text(keys)?);
        let own = self
            .files
            .iter()
            .find(|(_, table)| find(table, keys).is_some());
        let from_file = own.filter(|(_, table)| {
            find(table, keys)
                .and_then(Value::as_str)
                .is_some_and(|value| Path::new(value) == text)
        });
        match from_file.and_then(|(path, _)| path.parent()?.parent()) {
            Some(folder) if text.is_relative() && text.components().count() > 1 => {
                Some(folder.join(text))
            }
            _ => Some(text),
        }
    }
}

fn find<'t>(table: &'t Table, keys: &[&str]) -> Option<&'t Value> {
    let (last, path) = keys.split_last()?;
    path.iter()
        .try_fold(table, |table, key| table.get(*key)?.as_table())?
        .get(*last)
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

    fn config(files: &[(&str, &str)]) -> Config {
        let table = |text: &str| text.parse().expect("valid");
        Config {
            files: files
                .iter()
                .map(|(path, text)| (PathBuf::from(path), table(text)))
                .collect(),
        }
    }

    #[test]
    fn the_nearest_file_wins() {
        let config = config(&[
            ("/a/b/.cargo/config.toml", "[build]\njobs = 2"),
            (
                "/a/.cargo/config.toml",
                "[build]\ntarget = 'x86_64-unknown-linux-musl'\nrustdoc-of-a-test = 'tools/rustdoc'",
            ),
            (
                "/z/.cargo/config.toml",
                "[build]\ntarget = 'other'\n[target.t]\nlinker = 'clang'",
            ),
        ]);
        assert_eq!(
            config.written(&["build", "target"]),
            Some("x86_64-unknown-linux-musl".into())
        );
        assert_eq!(
            config.written(&["target", "t", "linker"]),
            Some("clang".into())
        );
        assert_eq!(
            config.path(&["target", "t", "linker"]),
            Some("clang".into())
        );
        assert_eq!(
            config.path(&["build", "rustdoc-of-a-test"]),
            Some("/a/tools/rustdoc".into())
        );
        assert_eq!(config.written(&["build", "rustc-wrapper"]), None);
    }
}

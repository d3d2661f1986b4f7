//! Options: one table makes the flags, the keys of `DEADHEAT_OPTIONS` and `deadheat.toml`, the ThreadSanitizer names,
//! the help, the man page, the completions and `docs/options.md`.
//!
//! Later wins: the default, `deadheat.toml`, `TSAN_OPTIONS`, `DEADHEAT_OPTIONS`, the flag. Lists (suppressions) add up.

mod file;
mod parse;
pub(crate) mod settings;
mod suggest;
mod table;
mod variables;

pub use parse::{Value, parse_value, parse_words};
pub use settings::{Layers, Settings};
pub use suggest::nearest;
pub use table::{COMMANDS, Command, Key, OPTIONS, OptionSpec, OwnFlag, Shape, command};

use crate::error::Result;

/// The compiler that `DEADHEAT_OPTIONS` or `deadheat.toml` names, if any.
pub fn configured_compiler() -> Result<Option<String>> {
    Ok(Settings::from_surroundings()?.compiler)
}

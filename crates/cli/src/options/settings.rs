//! All sources of options laid over each other, and the typed result.

use super::file;
use super::parse::{Value, parse_value};
use super::table::{Key, OPTIONS, OptionSpec, Shape};
use super::variables;
use crate::error::{Failure, Result};
use std::env;
use std::path::PathBuf;

/// The options in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    values: Vec<Value>,
    /// All that the user said, oldest first: what a program says of itself goes below it.
    said: Vec<(Key, Value)>,
    /// Files of suppressions, in the order in which they were named.
    pub suppressions: Vec<PathBuf>,
    /// The compiler that was named, if any.
    pub compiler: Option<String>,
}

/// Options of one command line, laid over what the surroundings say.
#[derive(Debug, Default)]
pub struct Layers {
    /// Options given as flags, in order.
    pub flags: Vec<(&'static OptionSpec, Value)>,
}

impl Layers {
    /// Lays the flags over environment, file and defaults.
    pub fn resolve(&self) -> Result<Settings> {
        let mut settings = Settings::from_surroundings()?;
        for (spec, value) in &self.flags {
            settings.set(spec.key, value.clone());
        }
        Ok(settings)
    }

    /// Whether a flag says something about `key`.
    #[must_use]
    pub fn names(&self, key: Key) -> bool {
        self.flags.iter().any(|(spec, _)| spec.key == key)
    }
}

impl Default for Settings {
    fn default() -> Self {
        let value = |spec: &OptionSpec| match spec.shape {
            Shape::Word | Shape::Files if spec.default.is_empty() => Value::Word(String::new()),
            _ => parse_value(spec, spec.default).unwrap_or(Value::Switch(false)), // a test reads all defaults
        };
        Self {
            values: OPTIONS.iter().map(value).collect(),
            said: Vec::new(),
            suppressions: Vec::new(),
            compiler: None,
        }
    }
}

impl Settings {
    /// What the defaults, `deadheat.toml`, `TSAN_OPTIONS` and `DEADHEAT_OPTIONS` say.
    pub fn from_surroundings() -> Result<Self> {
        let mut settings = Self::default();
        let cwd = env::current_dir().unwrap_or_default();
        if let Some(path) = file::find(&cwd) {
            settings.lay(file::read(&path)?);
        }
        if let Some(text) = variable(variables::TSAN)? {
            let (values, unknown) = variables::tsan(variables::TSAN, &text)?;
            settings.lay(values);
            warn(variables::TSAN, &unknown);
        }
        if let Some(text) = variable(variables::OWN)? {
            settings.lay(variables::own(&text)?);
        }
        Ok(settings)
    }

    /// The same settings over the defaults that a program brings along as `__tsan_default_options`. A mistake in them is
    /// said and changes nothing: who runs the program may not be able to correct it.
    #[must_use]
    pub fn over_program_defaults(&self, text: &str) -> Self {
        match variables::tsan(variables::PROGRAM, text) {
            Ok((values, unknown)) => {
                warn(variables::PROGRAM, &unknown);
                let mut settings = Self::default();
                settings.lay(values);
                for (key, value) in &self.said {
                    settings.set(*key, value.clone());
                }
                settings
            }
            Err(failure) => {
                crate::say::say(format_args!("{failure}; none of it is used"));
                self.clone()
            }
        }
    }

    fn lay(&mut self, values: Vec<(&'static OptionSpec, Value)>) {
        for (spec, value) in values {
            self.set(spec.key, value);
        }
    }

    fn set(&mut self, key: Key, value: Value) {
        self.said.push((key, value.clone()));
        match (key, value) {
            (Key::Suppressions, Value::Element(name)) => self.suppressions.push(name.into()),
            (Key::Compiler, Value::Word(name)) => self.compiler = Some(name),
            (key, value) => self.values[key as usize] = value,
        }
    }

    /// Whether reports go to the same place in the same colours.
    #[must_use]
    pub fn same_place(&self, other: &Self) -> bool {
        [Key::Log, Key::Color]
            .iter()
            .all(|key| self.word(*key) == other.word(*key))
    }

    /// An option that is on or off.
    #[must_use]
    pub fn on(&self, key: Key) -> bool {
        matches!(self.values[key as usize], Value::Switch(true))
    }

    /// An option that is a number.
    #[must_use]
    pub fn number(&self, key: Key) -> u64 {
        match self.values[key as usize] {
            Value::Number(number) => number,
            _ => 0,
        }
    }

    /// An option that is a word.
    #[must_use]
    pub fn word(&self, key: Key) -> &str {
        match &self.values[key as usize] {
            Value::Word(word) => word,
            _ => "",
        }
    }

    /// The exit status when bugs were found.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        self.number(Key::ExitCode).try_into().unwrap_or(u8::MAX) // the table bounds it to 255
    }

    /// What the runtime in the program is told, as `DEADHEAT_RT`.
    #[must_use]
    pub fn runtime_string(&self, collector: &str) -> String {
        let mut parts: Vec<String> = OPTIONS
            .iter()
            .filter(|spec| !spec.runtime.is_empty())
            .map(|spec| match &self.values[spec.key as usize] {
                Value::Switch(on) => format!("{}={}", spec.runtime, u8::from(*on)),
                Value::Number(number) => format!("{}={number}", spec.runtime),
                Value::Word(word) | Value::Element(word) => {
                    format!("{}={}", spec.runtime, percent(word))
                }
            })
            .collect();
        parts.push(format!("collector={}", percent(collector)));
        parts.join(":")
    }
}

/// Keys that are none are not ours to judge, but worth a word.
fn warn(source: &str, unknown: &[String]) {
    for key in unknown {
        crate::say::say(format_args!(
            "deadheat: {source}: `{key}` is no option of ThreadSanitizer that is known here; ignored"
        ));
    }
}

/// The value of a variable; one that is not text is a mistake, not an absence.
fn variable(name: &str) -> Result<Option<String>> {
    match env::var(name) {
        Ok(text) => Ok(Some(text)),
        Err(env::VarError::NotPresent) => Ok(None),
        Err(env::VarError::NotUnicode(_)) => {
            Err(Failure::new(format!("{name} is not valid UTF-8")))
        }
    }
}

/// Whether a log's name means a stream of the process and not a file.
#[must_use]
pub fn is_stream(name: &str) -> bool {
    matches!(name, "stderr" | "stdout")
}

fn percent(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_graphic() && !matches!(byte, b':' | b'%' | b'=') {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_runtime_is_told_what_concerns_it() {
        let text = Settings::default().runtime_string("/a b/deadheat");
        assert_eq!(
            text,
            "exitcode=1:halt_on_error=0:races=1:lock_order=1:deadlock=1:misuse=1:thread_leaks=1:signal_unsafe=1:\
             atomics=1:stats=0:collector=/a%20b/deadheat"
        );
    }

    #[test]
    fn what_a_program_says_of_itself_goes_below_all_else() {
        let mut settings = Settings::default();
        settings.lay(variables::own("exit-code=3").expect("reads"));
        let both = settings.over_program_defaults("exitcode=66:report_thread_leaks=0");
        assert_eq!(both.exit_code(), 3);
        assert!(!both.on(Key::ThreadLeaks) && settings.on(Key::ThreadLeaks));
        assert_eq!(settings.over_program_defaults("exitcode=many"), settings);
    }

    #[test]
    fn later_values_win_and_lists_add_up() {
        let mut settings = Settings::default();
        settings.lay(variables::own("exit-code=3:suppressions=a").expect("reads"));
        settings.lay(variables::own("exit-code=4:suppressions=b:races=0").expect("reads"));
        assert_eq!(settings.exit_code(), 4);
        assert!(!settings.on(Key::Races));
        assert_eq!(
            settings.suppressions,
            [PathBuf::from("a"), PathBuf::from("b")]
        );
    }
}

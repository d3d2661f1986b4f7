//! What went wrong, and what to type next.

use std::fmt;
use std::io::ErrorKind;

/// A failure that a person has to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    /// What happened.
    pub what: String,
    /// What to do about it, if something can be done.
    pub next: Option<String>,
}

impl Error {
    /// A failure without advice.
    pub fn new(what: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            next: None,
        }
    }

    /// Adds what to do about it.
    #[must_use]
    pub fn next(mut self, advice: impl Into<String>) -> Self {
        self.next = Some(advice.into());
        self
    }

    /// A failure of the file system at some path.
    pub fn at(path: &std::path::Path, what: &str, error: &std::io::Error) -> Self {
        let failed = Self::new(format!("cannot {what} {}: {error}", path.display()));
        match error.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
                failed.next("make room there, or set XDG_CACHE_HOME to a folder on another disk")
            }
            _ => failed,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        match &self.next {
            Some(next) => write!(f, "\n{next}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Error {}

/// What every fallible part of this crate returns.
pub type Result<T> = std::result::Result<T, Error>;

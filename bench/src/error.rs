//! One error type: a sentence that says what happened and what to do next.

use std::fmt;
use std::io;
use std::path::Path;

/// What went wrong, for people.
#[derive(Debug)]
pub struct Error(String);

/// The result of everything in this crate.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// An error with this sentence.
    pub fn new(text: impl Into<String>) -> Self {
        Error(text.into())
    }

    /// An I/O error with the file it is about.
    pub fn io(what: &str, path: &Path, error: &io::Error) -> Self {
        Error(format!("{what} {}: {error}", path.display()))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

//! How Deadheat says that it could not do what it was asked: what happened, and what to type next.

use std::fmt;

/// The exit status when Deadheat itself failed.
pub const EXIT_FAILED: u8 = 2;

/// A failure of Deadheat itself; it ends the command with [`EXIT_FAILED`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    what: String,
    next: Option<String>,
}

impl Failure {
    /// A failure that needs no advice.
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

    /// What happened, without the advice.
    #[must_use]
    pub fn what(&self) -> &str {
        &self.what
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "deadheat: {}", self.what)?;
        if let Some(next) = &self.next {
            for line in next.lines() {
                write!(f, "\n  {line}")?;
            }
        }
        Ok(())
    }
}

impl std::error::Error for Failure {}

/// What every fallible part of the command returns.
pub type Result<T> = std::result::Result<T, Failure>;

//! A private folder that is gone when it is dropped.

use crate::error::{Failure, Result};
use std::env;
use std::path::{Path, PathBuf};

/// Longest folder name that leaves room for a socket in it (a socket's path may have 107 bytes).
const LONGEST: usize = 80;

/// The folder.
#[derive(Debug)]
pub struct TempDir(PathBuf);

impl TempDir {
    /// Makes one below `TMPDIR`, or below `/tmp` where that is too long for a socket's name.
    pub fn new() -> Result<Self> {
        let mut base = env::temp_dir();
        if base.as_os_str().len() > LONGEST {
            base = PathBuf::from("/tmp");
        }
        // The six letters are what mkdtemp asks for: it puts others in their place, and lets nobody else in.
        let template = base.join("deadheat-XXXXXX");
        nix::unistd::mkdtemp(&template).map(Self).map_err(|error| {
            Failure::new(format!(
                "cannot make a folder in {}: {error}",
                base.display()
            ))
            .next("set TMPDIR to a folder that can be written")
        })
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

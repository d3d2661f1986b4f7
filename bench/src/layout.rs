//! Where things lie: our own C sources in the repository, everything fetched or built below one cache directory.

use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// The directories of one run.
#[derive(Clone, Debug)]
pub struct Layout {
    /// The folder of this crate, with `kernels`, `drivers`, `runtime`.
    pub bench: PathBuf,
    /// Fetched sources and built programs; never committed.
    pub cache: PathBuf,
    /// The `deadheat` command.
    pub deadheat: PathBuf,
}

impl Layout {
    /// Finds the folders. `deadheat` is looked for beside this program, where cargo puts both.
    pub fn find(cache: Option<PathBuf>, deadheat: Option<PathBuf>) -> Result<Layout> {
        let bench = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
        if !bench.join("kernels").is_dir() {
            return Err(Error::new(format!(
                "{} is gone; build the bench again in the repository: cargo build --release -p deadheat-bench",
                bench.join("kernels").display()
            )));
        }
        let me = std::env::current_exe()
            .map_err(|e| Error::new(format!("cannot find my own path: {e}")))?;
        let beside = me.parent().unwrap_or(Path::new(".")).to_path_buf();
        let cache = match cache {
            Some(dir) => dir,
            // target/release/bench -> target/bench-cache
            None => beside.parent().unwrap_or(&beside).join("bench-cache"),
        };
        std::fs::create_dir_all(&cache).map_err(|e| Error::io("cannot create", &cache, &e))?;
        let cache = cache
            .canonicalize()
            .map_err(|e| Error::io("cannot resolve", &cache, &e))?;
        let deadheat = deadheat.unwrap_or_else(|| beside.join("deadheat"));
        let deadheat = deadheat.canonicalize().unwrap_or(deadheat);
        Ok(Layout {
            bench,
            cache,
            deadheat,
        })
    }

    /// Creates a directory below the cache.
    pub fn cached_dir(&self, name: &str) -> Result<PathBuf> {
        let dir = self.cache.join(name);
        std::fs::create_dir_all(&dir).map_err(|e| Error::io("cannot create", &dir, &e))?;
        Ok(dir)
    }
}

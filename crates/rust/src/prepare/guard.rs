//! Who makes a sysroot, and who removes it: one at a time, by a lock on a file beside it.
//!
//! A killed run lets go of the lock and leaves a folder, into which workers that outlive it may still write; so every run has
//! a folder of its own, named after its process, and removes those of others once it has the lock.

use super::{Progress, named};
use crate::error::{Error, Result};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Waits until nobody else is at it. The lock ends with the file.
pub(super) fn lock(path: &Path, tell: &mut dyn FnMut(Progress)) -> Result<File> {
    loop {
        let file = File::options()
            .create(true)
            .append(true)
            .open(path)
            .map_err(|error| Error::at(path, "open", &error))?;
        if file.try_lock().is_err() {
            tell(Progress::Waiting);
            file.lock()
                .map_err(|error| Error::at(path, "lock", &error))?;
        }
        if is_still(&file, path) {
            return Ok(file);
        }
    }
}

/// Whether a file still has its name: who cleans removes it, and the lock on it is worth nothing then.
fn is_still(file: &File, path: &Path) -> bool {
    match (file.metadata(), fs::metadata(path)) {
        (Ok(ours), Ok(named)) => ours.ino() == named.ino(),
        _ => false,
    }
}

/// A folder for this run alone, which is not there yet. Needs the lock.
pub(super) fn fresh(cache: &Path, name: &str) -> PathBuf {
    let start = format!("std-{name}.new");
    for path in below(cache).unwrap_or_default() {
        if named(&path, &start) {
            let _ = fs::remove_dir_all(&path); // if an orphan is writing there just now, the next run removes it
        }
    }
    cache.join(format!("{start}-{}", std::process::id()))
}

/// Removes all that was ever prepared below a cache, once nobody prepares there; says how many sysroots there were.
pub fn clean(cache: &Path, tell: &mut dyn FnMut(Progress)) -> Result<usize> {
    let mut locks = Vec::new();
    for path in below(cache)? {
        if path.extension().is_some_and(|end| end == "lock") {
            locks.push(lock(&path, tell)?);
        }
    }
    let mut count = 0;
    for path in below(cache)? {
        let gone = if path.is_dir() {
            fs::remove_dir_all(&path)
        } else {
            fs::remove_file(&path)
        };
        gone.map_err(|error| Error::at(&path, "remove", &error))?;
        count += usize::from(path.extension().is_none());
    }
    Ok(count)
}

/// All that is prepared, half prepared or locked below a cache, in an order that is always the same.
fn below(cache: &Path) -> Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(cache) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(Error::at(cache, "read", &error)),
    };
    let mut paths: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| named(path, "std-"))
        .collect();
    paths.sort();
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;
    use std::thread;

    fn folder(name: &str) -> PathBuf {
        let folder =
            std::env::temp_dir().join(format!("deadheat-guard-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("a folder");
        folder
    }

    /// Starts something that has to wait for a lock; comes back when it waits.
    fn waiting<T: Send + 'static>(
        work: impl FnOnce(&mut dyn FnMut(Progress)) -> T + Send + 'static,
    ) -> thread::JoinHandle<T> {
        let (send, told) = mpsc::channel();
        let thread = thread::spawn(move || work(&mut |_| send.send(()).expect("is heard")));
        told.recv().expect("it waits");
        thread
    }

    #[test]
    fn who_cleans_waits_for_who_prepares() {
        let cache = folder("clean");
        let held = lock(&cache.join("std-1.lock"), &mut |_| ()).expect("locks");
        let place = cache.clone();
        let cleaner = waiting(move |tell| clean(&place, tell));
        fs::create_dir(cache.join("std-1")).expect("made while it waits");
        drop(held);
        assert_eq!(cleaner.join().expect("ends").expect("cleans"), 1);
        assert_eq!(below(&cache).expect("reads"), Vec::<PathBuf>::new());
        fs::remove_dir_all(&cache).expect("cleans up");
    }

    #[test]
    fn a_lock_whose_name_was_taken_away_is_none() {
        let cache = folder("gone");
        let path = cache.join("std-1.lock");
        let held = lock(&path, &mut |_| ()).expect("locks");
        let place = path.clone();
        let late = waiting(move |tell| lock(&place, tell));
        fs::remove_file(&path).expect("removes");
        drop(held);
        let late = late.join().expect("ends").expect("locks");
        assert!(is_still(&late, &path));
        fs::remove_dir_all(&cache).expect("cleans up");
    }

    #[test]
    fn what_killed_runs_left_is_removed_and_not_used() {
        let cache = folder("fresh");
        let (mine, other) = ("std-1.new-77/lib", "std-2.new-77/lib");
        fs::create_dir_all(cache.join(mine)).expect("a folder");
        fs::create_dir_all(cache.join(other)).expect("a folder");
        let new = fresh(&cache, "1");
        assert!(!new.exists());
        assert!(!cache.join(mine).exists());
        assert!(cache.join(other).exists(), "somebody may be at it");
        fs::remove_dir_all(&cache).expect("cleans up");
    }
}

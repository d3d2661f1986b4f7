//! Other names of this command: links to it, beside the unpacked runtime. It looks at the name that it was called by.

use crate::error::{Failure, Result};
use crate::unpack;
use std::env;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// The folder of the links that lead here.
pub fn folder() -> Result<PathBuf> {
    let own = own()?;
    let name = format!(
        "bin-{:016x}",
        unpack::fingerprint(&[own.as_os_str().as_encoded_bytes()])
    );
    Ok(unpack::runtime()?.dir().join(name))
}

/// Makes a link of that name in the folder, or finds it.
pub fn make(folder: &Path, name: &str) -> Result<PathBuf> {
    let path = folder.join(name);
    link(&own()?, &path)
        .map(|()| path.clone())
        .map_err(|error| Failure::new(format!("cannot make the link {}: {error}", path.display())))
}

fn own() -> Result<PathBuf> {
    env::current_exe()
        .map_err(|error| Failure::new(format!("cannot find the path of deadheat itself: {error}")))
}

fn link(own: &Path, path: &Path) -> std::io::Result<()> {
    if fs::read_link(path).is_ok_and(|to| to == own) {
        return Ok(());
    }
    if let Some(dir) = path.parent() {
        fs::create_dir_all(dir)?;
    }
    let beside = path.with_extension(format!("{}.new", std::process::id()));
    let _ = fs::remove_file(&beside);
    symlink(own, &beside)?;
    fs::rename(&beside, path)
}

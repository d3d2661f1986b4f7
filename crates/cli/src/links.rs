//! Other names of this command: links to it, beside the unpacked runtime. It looks at the name that it was called by.

use crate::error::{Failure, Result};
use crate::unpack;
use std::env;
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// Makes links of these names, or finds them; all in one folder.
///
/// A cache that cannot be written may hold the runtime and no links to this very command: a private folder below `TMPDIR`
/// then has them.
pub fn make<const N: usize>(names: [&str; N]) -> Result<[PathBuf; N]> {
    let own = own()?;
    let name = format!(
        "bin-{:016x}",
        unpack::fingerprint(&[own.as_os_str().as_encoded_bytes()])
    );
    let beside = unpack::runtime()?.dir().join(&name);
    let temporary = unpack::temporary();
    let refused = match all(&own, &beside, names) {
        Ok(paths) => return Ok(paths),
        Err(error) => error,
    };
    unpack::private_dir(&temporary)
        .and_then(|()| all(&own, &temporary.join(name), names))
        .map_err(|error| {
            Failure::new("found no place for links to deadheat").next(format!(
                "{}: {refused}\n{}: {error}\nset XDG_CACHE_HOME or TMPDIR to a folder of yours that can be written",
                beside.display(),
                temporary.display()
            ))
        })
}

fn all<const N: usize>(own: &Path, folder: &Path, names: [&str; N]) -> io::Result<[PathBuf; N]> {
    let paths = names.map(|name| folder.join(name));
    paths.iter().try_for_each(|path| link(own, path))?;
    Ok(paths)
}

fn own() -> Result<PathBuf> {
    env::current_exe()
        .map_err(|error| Failure::new(format!("cannot find the path of deadheat itself: {error}")))
}

fn link(own: &Path, path: &Path) -> io::Result<()> {
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

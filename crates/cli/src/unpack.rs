//! The runtime travels inside the command and is unpacked into the user's cache on first use.
//!
//! The folder is named after the content, each file appears under its name only when it is whole (written beside it,
//! then renamed), so two first runs at once, or one killed in the middle, leave nothing half done. A cache that cannot
//! be written but already holds the files is used as it is. Without a writable cache a private folder below `TMPDIR`
//! serves, which is checked to be the user's own.

use crate::error::{Failure, Result};
use crate::stamp;
use crate::wrapper::Runtime;
use std::env;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// An embedded file.
struct Packed {
    name: &'static str,
    size: usize,
    deflated: &'static [u8],
}

/// What build.rs packed.
static PACKED: &[Packed] = include!(concat!(env!("OUT_DIR"), "/packed.rs"));

/// The stand-in for CUDA's runtime library; empty in debug builds, which find it beside them.
static PACKED_GPU: &[Packed] = include!(concat!(env!("OUT_DIR"), "/packed_gpu.rs"));

/// Appends to what gcc's driver hands to cc1 and cc1plus, for compiling and preprocessing alike.
const GCC_SPECS: (&str, &[u8]) = ("gcc.specs", b"*cc1:\n+ -fsanitize=thread\n\n");

/// What programs include to be told of findings.
const HEADER: (&str, &[u8]) = ("deadheat.h", include_bytes!("../include/deadheat.h"));

impl Packed {
    fn content(&self) -> io::Result<Vec<u8>> {
        miniz_oxide::inflate::decompress_to_vec_with_limit(self.deflated, self.size)
            .map_err(|error| io::Error::other(format!("the embedded {}: {error}", self.name)))
    }
}

/// Where the unpacked files lie.
#[derive(Debug, Clone)]
pub struct Unpacked {
    dir: PathBuf,
    archive: PathBuf,
    shared: PathBuf,
    compiler_hook: PathBuf,
    wrap_archive: PathBuf,
    wrap_flags: PathBuf,
    exports: PathBuf,
    gcc_specs: PathBuf,
    stamp: PathBuf,
}

impl Unpacked {
    /// The folder of all files.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The library that is loaded into rustc and clang.
    #[must_use]
    pub fn compiler_hook(&self) -> &Path {
        &self.compiler_hook
    }

    /// The shared library, for preloading.
    #[must_use]
    pub fn shared(&self) -> &Path {
        &self.shared
    }
}

impl Runtime for Unpacked {
    fn archive(&self) -> &Path {
        &self.archive
    }
    fn wrap_archive(&self) -> &Path {
        &self.wrap_archive
    }
    fn wrap_flags(&self) -> &Path {
        &self.wrap_flags
    }
    fn exports(&self) -> &Path {
        &self.exports
    }
    fn gcc_specs(&self) -> &Path {
        &self.gcc_specs
    }
    fn stamp(&self) -> &Path {
        &self.stamp
    }
}

/// Unpacks the runtime unless that was done before, and tells where it is.
pub fn runtime() -> Result<Unpacked> {
    somewhere(unpack)
}

/// The same for the stand-in for CUDA's runtime library; nothing if this build has none inside.
pub fn gpu_library() -> Result<Option<PathBuf>> {
    let Some(first) = PACKED_GPU.first() else {
        return Ok(None);
    };
    let name = concat!("gpu-", env!("DEADHEAT_GPU_HASH"));
    let dir = somewhere(|base| unpack_files(&base.join(name), PACKED_GPU))?;
    Ok(Some(dir.join(first.name)))
}

/// Does it in the first folder that can be written.
fn somewhere<T>(unpack: impl Fn(&Path) -> io::Result<T>) -> Result<T> {
    let mut refused = Vec::new();
    for base in caches() {
        match unpack(&base.join("deadheat")) {
            Ok(found) => return Ok(found),
            Err(error) => refused.push(format!("{}: {error}", base.display())),
        }
    }
    let temporary = temporary();
    let new = !temporary.exists();
    let found = private_dir(&temporary)
        .and_then(|()| unpack(&temporary))
        .map_err(|error| {
            refused.push(format!("{}: {error}", temporary.display()));
            Failure::new("found no place to unpack the runtime library").next(format!(
                "{}\nset XDG_CACHE_HOME or TMPDIR to a folder of yours that can be written",
                refused.join("\n")
            ))
        })?;
    if new {
        let why = refused
            .first()
            .map_or("neither XDG_CACHE_HOME nor HOME is set", String::as_str);
        crate::say::say(format_args!(
            "deadheat: no cache folder can be written ({why}); using {}",
            temporary.display()
        ));
    }
    Ok(found)
}

/// The private folder that serves where no cache can be written.
#[must_use]
pub fn temporary() -> PathBuf {
    env::temp_dir().join(format!("deadheat-{}", nix::unistd::Uid::effective()))
}

/// Deadheat's folders in the caches, best first; some may not be there, or not be writable.
#[must_use]
pub fn folders() -> Vec<PathBuf> {
    caches()
        .into_iter()
        .map(|base| base.join("deadheat"))
        .collect()
}

/// The cache folders to try, best first.
fn caches() -> Vec<PathBuf> {
    let named = |name: &str| {
        env::var_os(name)
            .map(PathBuf::from)
            .filter(|p| p.is_absolute())
    };
    let home = named("HOME").map(|home| home.join(".cache"));
    named("XDG_CACHE_HOME").into_iter().chain(home).collect()
}

/// Makes a folder that only the user can enter, or makes sure that an old one is such.
pub fn private_dir(path: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        other => return other,
    }
    let found = fs::symlink_metadata(path)?;
    if found.is_dir()
        && found.uid() == nix::unistd::Uid::effective().as_raw()
        && found.mode() & 0o077 == 0
    {
        return Ok(());
    }
    Err(io::Error::other(
        "it is there already and is not a private folder of yours",
    ))
}

fn missing(dir: &Path, name: &str, size: usize) -> bool {
    let found = dir.join(name).metadata();
    !found.is_ok_and(|m| m.is_file() && m.len() == size as u64)
}

/// Unpacks files into a folder, those that are not there yet.
fn unpack_files(dir: &Path, files: &[Packed]) -> io::Result<PathBuf> {
    for file in files.iter().filter(|f| missing(dir, f.name, f.size)) {
        fs::create_dir_all(dir)?;
        write_atomically(&dir.join(file.name), &file.content()?)?;
    }
    Ok(dir.to_path_buf())
}

/// Unpacks the runtime below `base`.
fn unpack(base: &Path) -> io::Result<Unpacked> {
    let dir = unpack_files(
        &base.join(concat!("rt-", env!("DEADHEAT_RUNTIME_HASH"))),
        PACKED,
    )?;
    for (name, content) in [GCC_SPECS, HEADER] {
        if missing(&dir, name, content.len()) {
            write_atomically(&dir.join(name), content)?;
        }
    }
    let collector = env::current_exe()?;
    let object = stamp::object(&collector);
    let stamp = dir.join(format!("stamp-{:016x}.o", fingerprint(&[&object])));
    if !stamp.exists() {
        write_atomically(&stamp, &object)?;
    }
    Ok(Unpacked {
        archive: dir.join("libdeadheat_rt.a"),
        shared: dir.join("libdeadheat_rt.so"),
        compiler_hook: dir.join("libdeadheat_compiler.so"),
        wrap_archive: dir.join("libdeadheat_rt_wrap.a"),
        wrap_flags: dir.join("wrap.flags"),
        exports: dir.join("exports.list"),
        gcc_specs: dir.join("gcc.specs"),
        stamp,
        dir,
    })
}

/// Writes a file so that nobody ever sees half of it.
pub fn write_atomically(path: &Path, content: &[u8]) -> io::Result<()> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let mut beside = path.as_os_str().to_owned();
    beside.push(format!(".{}-{count}.new", std::process::id()));
    let write = || {
        let mut file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o644)
            .open(&beside)?;
        file.write_all(content)?;
        drop(file);
        fs::rename(&beside, path)
    };
    write().inspect_err(|_| drop(fs::remove_file(&beside)))
}

/// A number that stands for some content (FNV-1a).
#[must_use]
pub fn fingerprint(parts: &[&[u8]]) -> u64 {
    parts
        .iter()
        .flat_map(|part| part.iter())
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_unpackings_at_once_leave_whole_files_and_nothing_else() {
        let base = env::temp_dir().join(format!("deadheat-unpack-test-{}", std::process::id()));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let found = unpack(&base).expect("unpacks");
                    for file in PACKED {
                        let content = fs::read(found.dir.join(file.name)).expect("is there");
                        assert!(
                            content == file.content().expect("inflates"),
                            "{}",
                            file.name
                        );
                    }
                });
            }
        });
        let dir = base.join(concat!("rt-", env!("DEADHEAT_RUNTIME_HASH")));
        let names = fs::read_dir(&dir).expect("a folder").count();
        assert_eq!(
            names,
            PACKED.len() + 3,
            "only the files, the header, the specs and the stamp"
        );
        fs::write(dir.join("exports.list"), "cut").expect("writes");
        unpack(&base).expect("repairs");
        assert_ne!(fs::read(dir.join("exports.list")).expect("reads"), b"cut");
        fs::remove_dir_all(&base).expect("cleans up");
    }

    #[test]
    fn a_folder_that_others_can_enter_is_refused() {
        use std::os::unix::fs::PermissionsExt;
        let path = env::temp_dir().join(format!("deadheat-private-test-{}", std::process::id()));
        private_dir(&path).expect("makes it");
        private_dir(&path).expect("takes its own again");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("opens it");
        assert!(private_dir(&path).is_err());
        fs::remove_dir(&path).expect("cleans up");
    }
}

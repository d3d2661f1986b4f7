//! The toolchain's standard library, instrumented once and kept.
//!
//! What is kept is a *sysroot*: a folder that rustc takes for its own (`--sysroot`), in which all leads back to the real
//! one but for the rlibs, which were made again from their bitcode. Its name is made of the content of those rlibs, of
//! rustc's version and of this crate's source, so it never needs to be checked for age, and cargo's own idea of what is
//! fresh can be built on the name.
//!
//! It is made ([`build`]) in a folder beside and then renamed, under a lock ([`guard`]): two first runs at once make it once,
//! and one that is killed leaves nothing but a folder that the next run removes.

mod build;
mod guard;

pub use build::REFUSED;
pub use guard::clean;

use crate::error::{Error, Result};
use crate::hash::Hash;
use crate::rlib;
use crate::shims;
use crate::toolchain::Toolchain;
use build::{End, build};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Libraries that are left as they are: what the compiler itself calls, and the unwinder.
const AS_SHIPPED: [&str; 5] = [
    "libcompiler_builtins-",
    "libprofiler_builtins-",
    "libpanic_abort-",
    "libpanic_unwind-",
    "libunwind-",
];

/// The file that is written last; it lists what could not be instrumented.
const DONE: &str = "deadheat-std";

/// What programs are compiled against.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prepared {
    /// The sysroot, if it is not the toolchain's own.
    pub sysroot: Option<PathBuf>,
    /// A name for it that changes with its content.
    pub name: String,
    /// Assembler to be linked with every program where the library could not be instrumented.
    pub shims: Option<PathBuf>,
    /// What Deadheat cannot see, in sentences for the report's footer.
    pub unseen: Vec<String>,
}

/// What is told while it lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// Somebody else is at it already.
    Waiting,
    /// So many bytes of so many are done.
    Done(u64, u64),
}

/// Prepares the standard library for a target below `cache`, unless one of `places` has it already, as a cache that
/// came with the machine and cannot be written may.
///
/// `worker` makes the command that instruments one rlib with an LLVM (`llvm`, `from`, `to`). Where LLVM cannot do it, the
/// library is used as it is.
pub fn prepare(
    toolchain: &Toolchain,
    target: &str,
    cache: &Path,
    places: &[PathBuf],
    worker: &(dyn Fn(&Path, &Path, &Path) -> Command + Sync),
    tell: &mut dyn FnMut(Progress),
) -> Result<Prepared> {
    let libraries = toolchain.libraries(target);
    if !libraries.is_dir() {
        return Err(Error::new(format!(
            "the toolchain has no standard library for {target} ({})",
            libraries.display()
        ))
        .next(format!("rustup target add {target}")));
    }
    let rlibs = rlibs(&libraries)?;
    let name = name(toolchain, target, &rlibs)?;
    let std = rlibs.iter().find(|path| named(path, "libstd-"));
    let std =
        std.ok_or_else(|| Error::new(format!("there is no libstd in {}", libraries.display())))?;
    let data = fs::read(std).map_err(|error| Error::at(std, "read", &error))?;
    let Some(llvm) = toolchain.llvm() else {
        let why = "neither this toolchain nor the system has an LLVM library of its version";
        return as_shipped(name, why, cache, &data);
    };
    if !rlib::has_bitcode(&data) {
        let why = "this toolchain's standard library comes without bitcode";
        return as_shipped(name, why, cache, &data);
    }
    let folder = format!("std-{name}");
    if let Some(found) = places
        .iter()
        .find_map(|place| kept(&place.join(&folder), &name))
    {
        return Ok(found);
    }
    let place = cache.join(folder);
    fs::create_dir_all(cache).map_err(|error| Error::at(cache, "make the folder", &error))?;
    let lock = guard::lock(&cache.join(format!("std-{name}.lock")), tell)?;
    if let Some(found) = kept(&place, &name) {
        return Ok(found);
    }
    let new = guard::fresh(cache, &name);
    let made = build(toolchain, target, &rlibs, &llvm.library, &new, worker, tell);
    if let Err(end) = made {
        let _ = fs::remove_dir_all(&new); // the first error is the one to tell
        return match end {
            End::Refused(why) => {
                let why =
                    format!("this toolchain's standard library cannot be instrumented ({why})");
                as_shipped(name, &why, cache, &data)
            }
            End::Failed(error) => Err(error),
        };
    }
    if place.exists() {
        fs::remove_dir_all(&place).map_err(|error| Error::at(&place, "remove", &error))?;
    }
    fs::rename(&new, &place).map_err(|error| Error::at(&place, "make", &error))?;
    drop(lock);
    kept(&place, &name).ok_or_else(|| {
        Error::new(format!(
            "{} is not whole after it was made",
            place.display()
        ))
    })
}

/// The library as it is, with what can be followed of it from outside.
fn as_shipped(name: String, why: &str, cache: &Path, library: &[u8]) -> Result<Prepared> {
    let made = shims::make(library)?;
    let (shims, unseen) = if made.symbols.is_empty() {
        let unseen = "what it does inside is not followed: races that its locks, channels and thread starts prevent may \
                      be reported all the same";
        (None, unseen.to_owned())
    } else {
        let path = cache.join(format!("std-{name}.s"));
        let new = cache.join(format!("std-{name}.s-{}", std::process::id()));
        fs::create_dir_all(cache).map_err(|error| Error::at(cache, "make the folder", &error))?;
        fs::write(&new, made.assembler).map_err(|error| Error::at(&new, "write", &error))?;
        fs::rename(&new, &path).map_err(|error| Error::at(&path, "make", &error))?;
        let unseen = format!(
            "only {} of its functions are followed, from outside: what it reads and writes itself is not seen, and races \
             that park, the locks of stdin and stdout, or anything else in it prevent may be reported all the same",
            made.symbols.len()
        );
        (Some(path), unseen)
    };
    Ok(Prepared {
        sysroot: None,
        name: format!("{name}-shipped"),
        shims,
        unseen: vec![format!("{why}, so {unseen}")],
    })
}

fn named(path: &Path, start: &str) -> bool {
    path.file_name()
        .is_some_and(|name| name.to_string_lossy().starts_with(start))
}

fn rlibs(libraries: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(libraries).map_err(|error| Error::at(libraries, "read", &error))?;
    let mut found: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|end| end == "rlib"))
        .filter(|path| !AS_SHIPPED.iter().any(|start| named(path, start)))
        .collect();
    found.sort();
    Ok(found)
}

fn name(toolchain: &Toolchain, target: &str, rlibs: &[PathBuf]) -> Result<String> {
    let mut hash = Hash::default()
        .with(env!("DEADHEAT_RUST_SOURCE").as_bytes())
        .with(toolchain.verbose.as_bytes())
        .with(target.as_bytes());
    for path in rlibs {
        let data = fs::read(path).map_err(|error| Error::at(path, "read", &error))?;
        hash = hash
            .with(path.file_name().unwrap_or_default().as_encoded_bytes())
            .with(&data);
    }
    Ok(hash.name())
}

/// A sysroot that is there and whole. Its links lead to the toolchain that it was made from, which may be gone.
fn kept(place: &Path, name: &str) -> Option<Prepared> {
    let notes = fs::read_to_string(place.join(DONE)).ok()?;
    let whole = fs::read_dir(place.join("lib/rustlib"))
        .ok()?
        .all(|entry| entry.is_ok_and(|entry| entry.path().exists()));
    whole.then(|| Prepared {
        sysroot: Some(place.to_owned()),
        name: name.to_owned(),
        shims: None,
        unseen: notes.lines().map(str::to_owned).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::archive::{self, Member};
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    const TARGET: &str = "x86_64-unknown-linux-gnu";
    const LLVM: &str = "libLLVM.so.22-rust-1.0";

    /// A toolchain of empty files, in a folder of its own.
    fn toolchain(name: &str) -> (Toolchain, PathBuf) {
        let base =
            std::env::temp_dir().join(format!("deadheat-prepare-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&base);
        let sysroot = base.join("toolchain");
        let libraries = sysroot.join("lib/rustlib").join(TARGET).join("lib");
        fs::create_dir_all(&libraries).expect("a folder");
        fs::create_dir_all(sysroot.join("bin")).expect("a folder");
        let empty = archive::write(&[Member {
            name: b"lib.rmeta".to_vec(),
            data: b"meta".to_vec(),
        }]);
        for library in [
            "libstd-1.rlib",
            "libcore-1.rlib",
            "libcompiler_builtins-1.rlib",
        ] {
            fs::write(libraries.join(library), &empty).expect("a file");
        }
        fs::write(sysroot.join("lib").join(LLVM), "llvm").expect("a file");
        let toolchain = Toolchain {
            rustc: "rustc".into(),
            verbose: "rustc 1.0".into(),
            release: "1.0".into(),
            host: TARGET.into(),
            sysroot,
        };
        (toolchain, base)
    }

    fn copy(_: &Path, from: &Path, to: &Path) -> Command {
        let mut command = Command::new("cp");
        command.arg(from).arg(to);
        command
    }

    #[test]
    fn many_at_once_prepare_once() {
        let (toolchain, base) = toolchain("once");
        let cache = base.join("cache");
        let started = AtomicUsize::new(0);
        let worker = |llvm: &Path, from: &Path, to: &Path| {
            started.fetch_add(1, Ordering::Relaxed);
            copy(llvm, from, to)
        };
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let made = prepare(&toolchain, TARGET, &cache, &[], &worker, &mut |_| ())
                        .expect("prepares");
                    let sysroot = made.sysroot.expect("has one");
                    let libraries = sysroot.join("lib/rustlib").join(TARGET).join("lib");
                    assert!(!libraries.join("libstd-1.rlib").is_symlink());
                    assert!(libraries.join("libcompiler_builtins-1.rlib").is_symlink());
                    assert!(sysroot.join("bin").is_symlink());
                });
            }
        });
        assert_eq!(
            started.load(Ordering::Relaxed),
            2,
            "std and core, each once"
        );
        fs::remove_dir_all(&base).expect("cleans up");
    }

    #[test]
    fn one_that_another_place_has_is_used() {
        let (toolchain, base) = toolchain("elsewhere");
        let shared = base.join("shared");
        let first =
            prepare(&toolchain, TARGET, &shared, &[], &copy, &mut |_| ()).expect("prepares");
        let never = |_: &Path, _: &Path, _: &Path| Command::new("false");
        let own = base.join("own");
        let places = [own.clone(), shared];
        let second =
            prepare(&toolchain, TARGET, &own, &places, &never, &mut |_| ()).expect("finds");
        assert_eq!(first, second);
        assert!(!own.exists(), "nothing was made");
        fs::remove_dir_all(&base).expect("cleans up");
    }

    #[test]
    fn a_failed_or_killed_preparation_leaves_nothing_broken() {
        let (toolchain, base) = toolchain("killed");
        let cache = base.join("cache");
        let broken = |_: &Path, _: &Path, _: &Path| Command::new("false");
        let failed = prepare(&toolchain, TARGET, &cache, &[], &broken, &mut |_| ());
        assert!(failed.is_err_and(|error| error.what.contains("cannot instrument")));
        // What a killed one leaves: the folder beside, half full.
        let name = name(
            &toolchain,
            TARGET,
            &rlibs(&toolchain.libraries(TARGET)).expect("reads"),
        )
        .expect("has one");
        fs::create_dir_all(cache.join(format!("std-{name}.new-77/lib"))).expect("a folder");
        let made = prepare(&toolchain, TARGET, &cache, &[], &copy, &mut |_| ()).expect("prepares");
        assert_eq!(made.sysroot, Some(cache.join(format!("std-{name}"))));
        assert!(!cache.join(format!("std-{name}.new-77")).exists());
        fs::remove_dir_all(&base).expect("cleans up");
    }

    #[test]
    fn a_changed_toolchain_is_prepared_anew() {
        let (toolchain, base) = toolchain("changed");
        let cache = base.join("cache");
        let first = prepare(&toolchain, TARGET, &cache, &[], &copy, &mut |_| ()).expect("prepares");
        let core = toolchain.libraries(TARGET).join("libcore-1.rlib");
        let other = archive::write(&[Member {
            name: b"lib.rmeta".to_vec(),
            data: b"other".to_vec(),
        }]);
        fs::write(core, other).expect("writes");
        let second =
            prepare(&toolchain, TARGET, &cache, &[], &copy, &mut |_| ()).expect("prepares");
        assert_ne!(first.name, second.name);
        assert_eq!(clean(&cache, &mut |_| ()).expect("cleans"), 2);
        fs::remove_dir_all(&base).expect("cleans up");
    }

    #[test]
    fn what_llvm_refuses_is_used_as_it_is() {
        let (toolchain, base) = toolchain("refused");
        let cache = base.join("cache");
        let refuse = |_: &Path, _: &Path, _: &Path| {
            let mut command = Command::new("sh");
            command.args(["-c", &format!("echo too new >&2; exit {REFUSED}")]);
            command
        };
        let made = prepare(&toolchain, TARGET, &cache, &[], &refuse, &mut |_| ()).expect("goes on");
        assert_eq!(made.sysroot, None);
        assert!(made.unseen[0].contains("(too new)"), "{:?}", made.unseen);
        assert_eq!(
            clean(&cache, &mut |_| ()).expect("cleans"),
            0,
            "nothing is left of it"
        );
        fs::remove_dir_all(&base).expect("cleans up");
    }

    #[test]
    fn without_an_llvm_the_library_is_used_as_it_is() {
        let (toolchain, base) = toolchain("shipped");
        fs::remove_file(toolchain.sysroot.join("lib").join(LLVM)).expect("removes");
        let made = prepare(
            &toolchain,
            TARGET,
            &base.join("cache"),
            &[],
            &copy,
            &mut |_| (),
        )
        .expect("goes on");
        assert_eq!(made.sysroot, None);
        assert!(made.unseen[0].contains("not followed"), "{:?}", made.unseen);
        let missing = prepare(
            &toolchain,
            "x86_64-other-linux-gnu",
            &base,
            &[],
            &copy,
            &mut |_| (),
        );
        assert!(missing.is_err_and(
            |error| error.next.as_deref() == Some("rustup target add x86_64-other-linux-gnu")
        ));
        fs::remove_dir_all(&base).expect("cleans up");
    }
}

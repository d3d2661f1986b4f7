//! Which LLVM a compiler uses.
//!
//! Rustup's toolchains bring one along. Those of distributions use the system's, whose name the compiler's own library
//! tells. Some compilers have it built in; then the system may still have one of the same version that can read their
//! bitcode.

use object::{Object, ObjectSection, ObjectSymbol, ReadCache};
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// An LLVM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Llvm {
    /// The library: a path, or a name that the dynamic linker finds.
    pub library: PathBuf,
    /// Whether it is the one that the compiler loads, so that something can stand between the two.
    pub loaded: bool,
    /// Whether the compiler asks it for code by functions that Deadheat's library can stand before.
    pub late: bool,
}

/// The functions, by LLVM's names for them: one is given the names of passes, the other makes code from a module.
const LATE: [&str; 2] = [
    "_ZN4llvm11PassBuilder17parsePassPipelineERNS_11PassManagerINS_6ModuleENS_15AnalysisManagerIS2_JEEEJEEENS_9StringRefE",
    "_ZN4llvm6legacy11PassManager3runERNS_6ModuleE",
];

const NEEDED: u64 = 1;

/// The LLVM of the compiler in this sysroot, which says `verbose` about itself.
pub fn find(sysroot: &Path, host: &str, verbose: &str) -> Option<Llvm> {
    let lib = sysroot.join("lib");
    let folders = [
        lib.clone(),
        lib.join(multiarch(host)),
        sysroot.join("lib64"),
    ];
    let drivers: Vec<PathBuf> = folders
        .iter()
        .flat_map(|folder| files(folder, |name| name.starts_with("librustc_driver")))
        .collect();
    // The name of rustup's, which no system has. The other names are small files that only point to this one.
    let own = files(&lib, |name| is_llvm(name) && name.contains("-rust-"));
    let size = |path: &PathBuf| path.metadata().map_or(0, |meta| meta.len());
    if let Some(library) = own.into_iter().max_by_key(size) {
        return Some(Llvm {
            library,
            loaded: true,
            late: drivers.iter().any(|driver| calls(driver, &LATE)),
        });
    }
    for driver in drivers {
        let Some(name) = needed(&driver).into_iter().find(|name| is_llvm(name)) else {
            continue;
        };
        let beside = folders.iter().map(|folder| folder.join(&name));
        let library = beside
            .into_iter()
            .find(|path| path.is_file())
            .unwrap_or_else(|| name.into());
        return Some(Llvm {
            library,
            loaded: true,
            late: calls(&driver, &LATE),
        });
    }
    let version = verbose
        .lines()
        .find_map(|line| line.strip_prefix("LLVM version: "))?;
    same_version(version, &system_folders(host, version)).map(|library| Llvm {
        library,
        loaded: false,
        late: false,
    })
}

fn is_llvm(name: &str) -> bool {
    name.starts_with("libLLVM") && name.contains(".so")
}

/// Debian's name for a target: without the vendor.
fn multiarch(host: &str) -> String {
    let parts: Vec<&str> = host.split('-').collect();
    match parts[..] {
        [processor, _, system, library] => format!("{processor}-{system}-{library}"),
        _ => host.to_owned(),
    }
}

fn system_folders(host: &str, version: &str) -> Vec<PathBuf> {
    let major = version.split('.').next().unwrap_or_default();
    let usual = Path::new("/usr/lib");
    vec![
        usual.join(format!("llvm-{major}/lib")),
        usual.join(multiarch(host)),
        "/usr/lib64".into(),
        usual.to_owned(),
    ]
}

/// A library of the same two first numbers, by the names that distributions give it.
fn same_version(version: &str, folders: &[PathBuf]) -> Option<PathBuf> {
    let (major, rest) = version.split_once('.')?;
    let minor = rest.split('.').next().unwrap_or_default();
    let names = [
        format!("libLLVM.so.{major}.{minor}"),
        format!("libLLVM-{major}.so"),
        format!("libLLVM-{major}.so.1"),
    ];
    folders
        .iter()
        .flat_map(|folder| names.iter().map(move |name| folder.join(name)))
        .find(|path| path.is_file())
}

fn files(folder: &Path, wanted: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut found: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            path.file_name()
                .is_some_and(|name| wanted(&name.to_string_lossy()))
        })
        .collect();
    found.sort();
    found
}

/// The libraries that a library asks for; none if it cannot be read. It is large, so only what is needed of it is read.
fn needed(library: &Path) -> Vec<String> {
    let Ok(file) = File::open(library) else {
        return Vec::new();
    };
    let cache = ReadCache::new(file);
    let Ok(object) = object::File::parse(&cache) else {
        return Vec::new();
    };
    let data = |name: &str| object.section_by_name(name)?.data().ok();
    let (Some(entries), Some(names)) = (data(".dynamic"), data(".dynstr")) else {
        return Vec::new();
    };
    let word = |bytes: &[u8]| bytes.try_into().map(u64::from_le_bytes).unwrap_or(0);
    entries
        .chunks_exact(16)
        .filter(|entry| word(&entry[..8]) == NEEDED)
        .filter_map(|entry| names.get(usize::try_from(word(&entry[8..])).ok()?..))
        .filter_map(|rest| rest.split(|byte| *byte == 0).next())
        .map(|name| String::from_utf8_lossy(name).into_owned())
        .collect()
}

/// Whether a library expects all of these functions from others.
fn calls(library: &Path, wanted: &[&str]) -> bool {
    let Ok(file) = File::open(library) else {
        return false;
    };
    let cache = ReadCache::new(file);
    let Ok(object) = object::File::parse(&cache) else {
        return false;
    };
    let mut missing: Vec<&str> = wanted.to_vec();
    for symbol in object.dynamic_symbols().filter(ObjectSymbol::is_undefined) {
        missing.retain(|name| symbol.name() != Ok(name));
    }
    missing.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOST: &str = "x86_64-unknown-linux-gnu";

    fn folder(name: &str) -> PathBuf {
        let folder =
            std::env::temp_dir().join(format!("deadheat-llvm-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(folder.join("lib").join(multiarch(HOST))).expect("a folder");
        folder
    }

    #[test]
    fn rustups_own_wins_over_its_small_names() {
        let sysroot = folder("rustup");
        let lib = sysroot.join("lib");
        fs::write(lib.join("libLLVM-22-rust-1.95.0-stable.so"), "INPUT").expect("writes");
        let own = lib.join("libLLVM.so.22.1-rust-1.95.0-stable");
        fs::write(&own, "the library itself").expect("writes");
        let found = find(&sysroot, HOST, "").expect("finds");
        assert_eq!(
            (found.library, found.loaded, found.late),
            (own, true, false)
        );
        fs::remove_dir_all(&sysroot).expect("cleans up");
    }

    /// Any shared object tells what it needs; here the test's own executable stands for the compiler's library.
    #[test]
    fn a_library_tells_what_it_needs() {
        let own = std::env::current_exe().expect("is there");
        let names = needed(&own);
        assert!(
            names.iter().any(|name| name.starts_with("libc.so")),
            "{names:?}"
        );
        assert!(needed(Path::new("/nowhere")).is_empty());
        assert!(calls(&own, &["__libc_start_main"]));
        assert!(!calls(&own, &["__libc_start_main", LATE[0]]));
        assert!(!calls(Path::new("/nowhere"), &["__libc_start_main"]));
    }

    #[test]
    fn the_systems_serves_when_it_is_built_in() {
        let place = folder("system");
        let library = place.join("libLLVM-22.so");
        fs::write(&library, "").expect("writes");
        assert_eq!(
            same_version("22.1.2", std::slice::from_ref(&place)),
            Some(library)
        );
        assert_eq!(same_version("21.1.2", std::slice::from_ref(&place)), None);
        assert_eq!(same_version("none", std::slice::from_ref(&place)), None);
        fs::remove_dir_all(&place).expect("cleans up");
    }
}

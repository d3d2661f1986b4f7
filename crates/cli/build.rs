//! Builds the runtime library and lays it out for embedding.
//!
//! The runtime is its own cargo root (no std, panic=abort, fat LTO), built here twice: as it is linked into programs
//! that load their C library, and with the `wrap` feature for static ones. The symbols that programs export, and those
//! that static programs wrap, are read off the archives, so they cannot drift from the runtime.
//!
//! `DEADHEAT_RUNTIME_DIR` names a folder with the three finished libraries to embed instead, for packagers who build
//! the parts apart.

use object::read::archive::ArchiveFile;
use object::{Object, ObjectSymbol};
use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const LIBRARIES: [&str; 3] = [
    "libdeadheat_rt.a",
    "libdeadheat_rt.so",
    "libdeadheat_rt_wrap.a",
];

fn main() {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    println!("cargo::rerun-if-env-changed=DEADHEAT_RUNTIME_DIR");
    match env::var_os("DEADHEAT_RUNTIME_DIR").map(PathBuf::from) {
        Some(dir) => {
            for name in LIBRARIES {
                copy(&dir.join(name), &out.join(name));
            }
            println!("cargo::rerun-if-changed={}", dir.display());
        }
        None => build(&out),
    }
    let exported = symbols(&out.join("libdeadheat_rt.a"));
    let list: String = exported.iter().map(|name| format!("  {name};\n")).collect();
    write(&out.join("exports.list"), &format!("{{\n{list}}};\n"));
    let flags: String = symbols(&out.join("libdeadheat_rt_wrap.a"))
        .iter()
        .filter_map(|name| name.strip_prefix("__wrap_"))
        .map(|name| format!("-Wl,--wrap={name}\n"))
        .collect();
    write(&out.join("wrap.flags"), &flags);
    println!(
        "cargo::rustc-env=DEADHEAT_RUNTIME_HASH={:016x}",
        fingerprint(&out)
    );
}

/// A number that changes when any embedded file does (FNV-1a).
fn fingerprint(out: &Path) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for name in LIBRARIES.iter().chain(&["exports.list", "wrap.flags"]) {
        let data =
            fs::read(out.join(name)).unwrap_or_else(|error| panic!("cannot read {name}: {error}"));
        for byte in data {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    hash
}

/// Builds both variants of the runtime into `out`.
fn build(out: &Path) {
    let crates =
        Path::new(&env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR"))
            .join("..");
    for name in ["runtime-lib", "runtime", "detect", "model", "order"] {
        for part in ["src", "Cargo.toml", "build.rs", "Cargo.lock"] {
            let path = crates.join(name).join(part);
            if path.exists() {
                println!("cargo::rerun-if-changed={}", path.display());
            }
        }
    }
    let manifest = crates.join("runtime-lib/Cargo.toml");
    let plain = cargo(&manifest, &out.join("runtime"), &[]);
    copy(&plain.join(LIBRARIES[0]), &out.join(LIBRARIES[0]));
    copy(&plain.join(LIBRARIES[1]), &out.join(LIBRARIES[1]));
    let wrap = cargo(
        &manifest,
        &out.join("runtime-wrap"),
        &["--features", "wrap"],
    );
    let wrapped = [LIBRARIES[2], LIBRARIES[0]]
        .map(|name| wrap.join(name))
        .into_iter()
        .find(|path| path.exists());
    copy(
        &wrapped.expect("the wrap build makes an archive"),
        &out.join(LIBRARIES[2]),
    );
}

/// Builds the runtime with a cargo of its own, away from the flags meant for this build.
fn cargo(manifest: &Path, target: &Path, extra: &[&str]) -> PathBuf {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command
        .args(["build", "--release", "--quiet", "--manifest-path"])
        .arg(manifest);
    command.arg("--target-dir").arg(target).args(extra);
    if manifest.with_file_name("Cargo.lock").exists() {
        command.arg("--locked");
    }
    // What cargo tells this build script about *this* build must not leak into the other one: flags for the host
    // would end up in the runtime, and clippy's wrapper would make it check instead of build.
    for (name, _) in env::vars_os() {
        let text = name.to_string_lossy();
        let keep = ["CARGO_HOME", "CARGO_NET_OFFLINE", "CARGO_MAKEFLAGS"].contains(&&*text)
            || text.starts_with("CARGO_REGISTRIES_")
            || text.starts_with("CARGO_HTTP_");
        let drop = [
            "CARGO",
            "RUSTC",
            "RUSTFLAGS",
            "RUSTDOC",
            "TARGET",
            "HOST",
            "PROFILE",
            "OPT_LEVEL",
            "DEBUG",
            "OUT_DIR",
            "CLIPPY_ARGS",
            "NUM_JOBS",
        ];
        if !keep
            && (text.starts_with("CARGO_") || text.starts_with("RUSTC_") || drop.contains(&&*text))
        {
            command.env_remove(&name);
        }
    }
    let status = command
        .status()
        .unwrap_or_else(|error| panic!("cannot start cargo for the runtime: {error}"));
    if !status.success() {
        eprintln!(
            "the runtime library did not build ({status}): {}",
            manifest.display()
        );
        std::process::exit(1); // cargo's own message says the rest
    }
    target.join("release")
}

/// The C symbols that an archive defines for others.
fn symbols(archive: &Path) -> BTreeSet<String> {
    let data = fs::read(archive)
        .unwrap_or_else(|error| panic!("cannot read {}: {error}", archive.display()));
    let parsed = ArchiveFile::parse(&*data).expect("an archive");
    let mut names = BTreeSet::new();
    for member in parsed.members() {
        let bytes = member.and_then(|m| m.data(&*data)).expect("a member");
        let Ok(file) = object::File::parse(bytes) else {
            continue;
        };
        for symbol in file
            .symbols()
            .filter(|s| s.is_definition() && s.is_global())
        {
            let visible = match symbol.flags() {
                object::SymbolFlags::Elf { st_other, .. } => {
                    st_other.visibility() == object::elf::STV_DEFAULT
                }
                _ => true,
            };
            let name = symbol.name().unwrap_or_default();
            let rust = ["_ZN", "_R", "rust_", "__rust", "__rdl", "__rg"]
                .iter()
                .any(|p| name.starts_with(p));
            if visible && !rust && !name.is_empty() {
                names.insert(name.to_owned());
            }
        }
    }
    names
}

fn copy(from: &Path, to: &Path) {
    fs::copy(from, to).unwrap_or_else(|error| panic!("cannot copy {}: {error}", from.display()));
}

fn write(path: &Path, text: &str) {
    fs::write(path, text)
        .unwrap_or_else(|error| panic!("cannot write {}: {error}", path.display()));
}

//! Tells the crate a number that changes with its own source and that of the library for compilers, so that a standard library that an older Deadheat
//! prepared is not taken for one of this Deadheat's.

use std::fs;
use std::path::Path;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let mut hash = 0xcbf2_9ce4_8422_2325;
    for dir in ["src", "../compiler-hook/src"] {
        println!("cargo::rerun-if-changed={dir}");
        add(Path::new(dir), &mut hash);
    }
    println!("cargo::rustc-env=DEADHEAT_RUST_SOURCE={hash:016x}");
}

/// Carries the hash on over every file below a folder, in the order of their names (FNV-1a).
fn add(dir: &Path, hash: &mut u64) {
    let mut paths: Vec<_> = fs::read_dir(dir)
        .unwrap_or_else(|error| panic!("cannot read {}: {error}", dir.display()))
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            add(&path, hash);
        } else if let Ok(text) = fs::read(&path) {
            for byte in text {
                *hash = (*hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
            }
        }
    }
}

//! The linkable library has every name that compilers and programs may ask for: those of `interface_names.txt`.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

#[test]
fn every_name_is_there() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    // Where the command's build script builds it too, so it is compiled once.
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("runtime").join("plain");
    let built = Command::new(env!("CARGO"))
        .args(["build", "--release", "--quiet", "--manifest-path"])
        .arg(here.join("../runtime-lib/Cargo.toml"))
        .arg("--target-dir")
        .arg(&target)
        .status()
        .expect("cargo can be started");
    assert!(built.success(), "the library does not build");
    let listed = Command::new("nm").arg(target.join("release/libdeadheat_rt.a")).output().expect("nm (binutils) can be started");
    let text = String::from_utf8_lossy(&listed.stdout);
    let names: BTreeSet<&str> = text.lines().filter_map(|line| line.split_whitespace().last()).collect();
    let wanted = include_str!("interface_names.txt");
    let missing: Vec<&str> = wanted.lines().filter(|name| !names.contains(name)).collect();
    assert!(missing.is_empty(), "missing in the library: {missing:?}");
}

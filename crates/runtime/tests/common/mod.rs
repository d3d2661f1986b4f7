//! The linkable library, built the way the command builds it.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Builds the release library; the folder it is in.
pub fn library() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    // Where the command's build script builds it too, so it is compiled once.
    let target = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .with_file_name("runtime")
        .join("plain");
    let built = Command::new(env!("CARGO"))
        .args(["build", "--release", "--quiet", "--manifest-path"])
        .arg(here.join("../runtime-lib/Cargo.toml"))
        .arg("--target-dir")
        .arg(&target)
        .output()
        .expect("cargo can be started");
    // The assembler's word on weak names fills pages; it is shown only if the build fails.
    assert!(
        built.status.success(),
        "the library does not build:\n{}",
        String::from_utf8_lossy(&built.stderr)
    );
    target.join("release")
}

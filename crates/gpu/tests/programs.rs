//! Whole CUDA programs of `tests/gpu/programs`: built by `gpu cc`, run by `gpu run`. Each checks its own results and
//! prints `ok`; two have a bug that must be found.

use std::path::{Path, PathBuf};
use std::process::Command;

fn programs() -> Vec<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/gpu/programs");
    let mut v: Vec<PathBuf> = std::fs::read_dir(dir)
        .expect("programs")
        .filter_map(|e| e.ok().map(|e| e.path()))
        .filter(|p| p.extension().is_some_and(|e| e == "cu"))
        .collect();
    v.sort();
    v
}

#[test]
fn they_compute_their_results_and_their_bugs_are_found() {
    let tool = env!("CARGO_BIN_EXE_deadheat-gpu");
    let dir = std::env::temp_dir().join(format!("deadheat-programs-{}", std::process::id()));
    std::fs::create_dir_all(&dir).expect("scratch");
    let all = programs();
    assert!(all.len() >= 10);
    for p in all {
        let name = p
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let exe = dir.join(&name);
        let o = Command::new(tool)
            .arg("cc")
            .arg(&p)
            .arg("-o")
            .arg(&exe)
            .output()
            .expect("cc");
        assert!(
            o.status.success(),
            "{name}: {}",
            String::from_utf8_lossy(&o.stderr)
        );
        let o = Command::new(tool)
            .args(["run", "--threads", "1"])
            .arg(&exe)
            .output()
            .expect("run");
        let (out, err) = (
            String::from_utf8_lossy(&o.stdout),
            String::from_utf8_lossy(&o.stderr),
        );
        let (code, says) = match name.as_str() {
            "racy" => (1, "data race in a kernel"),
            "errors" => (1, "access out of bounds"),
            _ => (0, "nothing found"),
        };
        assert_eq!(o.status.code(), Some(code), "{name}: {out}{err}");
        assert!(err.contains(says), "{name}: {err}");
        if name != "racy" {
            assert!(out.ends_with("ok\n"), "{name}: {out}");
        }
    }
    let _ = std::fs::remove_dir_all(&dir);
}

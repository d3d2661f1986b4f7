//! A compiled program whose labels give real program counters, and raw lines made of them.
#![allow(dead_code, reason = "each test file uses its own part")]

pub mod cases;

use object::{Object, ObjectSymbol};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where the tests pretend the program was loaded.
pub const BIAS: u64 = 0x5555_0000_0000;

pub fn manifest() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// A program on disk, with the link-time addresses of its symbols.
pub struct Built {
    pub path: PathBuf,
    pub symbols: HashMap<String, u64>,
}

/// Compiles a program of `tests/programs` into a folder of its own.
pub fn compile(name: &str, compiler: &str, flags: &[&str], out: &str) -> Built {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let path = folder.join(out);
    let mut command = Command::new(compiler);
    // Relative names, so that debug info holds the path as seen from the crate's folder.
    command
        .current_dir(manifest())
        .args(["-g", "-O0", "-pthread", "-fPIE", "-pie"])
        .args(flags)
        .arg(format!("tests/programs/{name}"))
        .arg("-o")
        .arg(&path);
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("{compiler}: {error}"));
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    Built {
        symbols: symbols(&path),
        path,
    }
}

pub fn symbols(path: &Path) -> HashMap<String, u64> {
    let bytes = std::fs::read(path).expect("the program is there");
    let file = object::File::parse(bytes.as_slice()).expect("the program is an object file");
    file.symbols()
        .filter_map(|symbol| Some((symbol.name().ok()?.to_owned(), symbol.address())))
        .collect()
}

impl Built {
    /// Run-time address of a symbol.
    pub fn at(&self, name: &str) -> u64 {
        BIAS + self
            .symbols
            .get(name)
            .unwrap_or_else(|| panic!("no symbol {name}"))
    }

    /// A stack out of labels, innermost first.
    pub fn stack(&self, spots: &[&str]) -> Value {
        spots
            .iter()
            .map(|spot| self.at(&format!("spot_{spot}")))
            .collect()
    }

    pub fn start(&self) -> String {
        json!({"event": "start", "version": 1, "pid": 4242, "argv": ["./bank"], "exe": "/bank",
               "cwd": manifest(), "runtime": "test"})
        .to_string()
    }

    pub fn module(&self) -> String {
        json!({"event": "module", "path": self.path, "bias": BIAS, "start": BIAS,
               "end": BIAS + 0x10_0000, "build_id": "", "instrumented": true})
        .to_string()
    }

    /// Start, module, the main thread and two tellers.
    pub fn prologue(&self) -> Vec<String> {
        vec![
            self.start(),
            self.module(),
            json!({"event": "thread", "id": 0, "tid": 4242, "name": "bank", "created": []})
                .to_string(),
            json!({"event": "thread", "id": 1, "parent": 0, "tid": 4243, "name": "bank",
                   "created": self.stack(&["create_one"])})
            .to_string(),
            json!({"event": "thread", "id": 2, "parent": 0, "tid": 4244, "name": "teller",
                   "created": self.stack(&["create_two"])})
            .to_string(),
        ]
    }

    pub fn lock(&self, id: u64, name: &str, taken: &[&str]) -> Value {
        json!({"lock": id, "addr": self.at(name), "type": "mutex", "mode": "write",
               "stack": self.stack(taken)})
    }
}

/// The bank, compiled once per test program.
pub fn bank(out: &str) -> Built {
    compile("bank.c", "gcc", &[], out)
}

/// Compares with a golden file; `DEADHEAT_BLESS=1` writes it instead.
pub fn golden(name: &str, actual: &str) {
    let path = manifest().join("tests/golden").join(name);
    if std::env::var_os("DEADHEAT_BLESS").is_some() {
        std::fs::create_dir_all(path.parent().expect("has a parent")).expect("folder");
        std::fs::write(&path, actual).expect("golden file");
        return;
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        expected == actual,
        "{} differs; DEADHEAT_BLESS=1 cargo test writes it anew\n--- expected\n{expected}\n--- actual\n{actual}",
        path.display()
    );
}

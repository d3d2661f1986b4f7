//! A folder of its own for every test, and the command with nothing of the caller's surroundings.

#![allow(dead_code)] // each test file uses its part

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Both compilers that Deadheat drives.
pub const COMPILERS: [&str; 2] = ["gcc", "clang-19"];

/// Two threads that write one variable, with nothing between them: a race in every schedule.
pub const RACY: &str = r"#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
int shared;
static void *work(void *arg) { shared = *(int *)arg; return 0; }
int main(int argc, char **argv) {
    pthread_t a, b;
    int one = 1, two = 2;
    pthread_create(&a, 0, work, &one);
    pthread_create(&b, 0, work, &two);
    pthread_join(a, 0);
    pthread_join(b, 0);
    puts(argc > 2 ? argv[2] : `done`);
    return argc > 1 ? atoi(argv[1]) : 0;
}
";

/// A program with nothing to find, which exits with its first argument.
pub const CLEAN: &str = r"#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv) {
    puts(argc > 2 ? argv[2] : `clean`);
    return argc > 1 ? atoi(argv[1]) : 0;
}
";

/// A folder that is empty at the start of the test and gone after it.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new(name: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(path.join("home")).expect("a folder");
        Self(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Writes a file; a backquote stands for a double quote, so that C reads well in Rust.
    pub fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        fs::write(&path, text.replace('`', "\"")).expect("a file");
        path
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.0.join(name)).expect("a file")
    }

    /// `deadheat ARGS` here; the words of `line` are split at blanks.
    pub fn deadheat(&self, line: &str) -> Command {
        let mut command = self.command(env!("CARGO_BIN_EXE_deadheat"));
        command.args(line.split_whitespace());
        command
    }

    /// Any program here, with a clean environment.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            if text.starts_with("DEADHEAT_")
                || text.starts_with("TSAN_")
                || text.starts_with("CARGO")
            {
                command.env_remove(&name);
            }
        }
        command
            .env("HOME", self.0.join("home"))
            .env("LC_ALL", "C")
            .env("NO_COLOR", "1");
        command
            .env_remove("CC")
            .env_remove("CXX")
            .env_remove("CFLAGS")
            .env_remove("MAKEFLAGS")
            .env_remove("MAKELEVEL");
        // One cache for all tests: unpacking is tested where it is tested.
        command.env(
            "XDG_CACHE_HOME",
            Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache"),
        );
        command.env("XDG_STATE_HOME", self.0.join("state"));
        command.current_dir(&self.0);
        command
    }

    /// Runs and expects success.
    pub fn succeed(&self, line: &str) -> Output {
        succeed(&mut self.deadheat(line))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let _ = fs::remove_dir_all(&self.0);
        }
    }
}

pub fn run(command: &mut Command) -> Output {
    command
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"))
}

pub fn succeed(command: &mut Command) -> Output {
    let output = run(command);
    assert!(
        output.status.success(),
        "{command:?}\n{}{}",
        text(&output.stdout),
        text(&output.stderr)
    );
    output
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Runs and compares the exit status and a part of standard error.
pub fn check(command: &mut Command, status: i32, part: &str) -> Output {
    let output = run(command);
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(status), "{command:?}\n{told}");
    assert!(
        told.contains(part),
        "{command:?}\nexpected: {part}\ngot: {told}"
    );
    output
}

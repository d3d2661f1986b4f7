//! What ThreadSanitizer watches and Deadheat does not is known and argued in `docs/interposed.md`.

mod common;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use common::{Folder, succeed, text};

/// The names that `nm` gives, without what stands before them.
fn symbols(folder: &Folder, file: &str) -> Vec<String> {
    let listing = succeed(folder.command("nm").args(["--defined-only", file])).stdout;
    text(&listing)
        .lines()
        .filter_map(|line| line.split_whitespace().nth(2))
        .map(str::to_owned)
        .collect()
}

/// The functions in the first column of the page's table.
fn argued() -> BTreeSet<String> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/interposed.md");
    let page = fs::read_to_string(page).expect("the page");
    page.lines()
        .filter(|line| line.starts_with("| `"))
        .filter_map(|line| line.split('|').nth(1))
        .flat_map(|cell| cell.split('`').skip(1).step_by(2))
        .map(str::to_owned)
        .collect()
}

#[test]
fn every_function_that_threadsanitizer_watches_is_watched_or_argued() {
    let folder = Folder::new("watched-functions");
    folder.file("main.c", "int main(void) { return 0; }\n");
    folder.succeed("cc --compiler clang-19 main.c -o prog");
    let ours: BTreeSet<String> = symbols(&folder, "prog").into_iter().collect();

    let archive = "--print-file-name=libclang_rt.tsan-x86_64.a";
    let archive = text(&succeed(folder.command("clang-19").arg(archive)).stdout);
    let theirs: BTreeSet<String> = symbols(&folder, archive.trim())
        .iter()
        .filter_map(|name| name.strip_prefix("___interceptor_"))
        .map(str::to_owned)
        .collect();
    assert!(theirs.len() > 400, "{} is not as expected", archive.trim());

    let argued = argued();
    let unknown: Vec<_> = theirs
        .difference(&ours)
        .filter(|name| !argued.contains(*name))
        .collect();
    assert!(
        unknown.is_empty(),
        "neither watched nor in docs/interposed.md: {unknown:?}"
    );
    let stale: Vec<_> = argued
        .iter()
        .filter(|name| ours.contains(*name) || !theirs.contains(*name))
        .collect();
    assert!(
        stale.is_empty(),
        "in docs/interposed.md for nothing: {stale:?}"
    );
}

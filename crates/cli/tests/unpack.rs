//! The runtime's way into the cache: at once from two commands, without a home, into a read-only one.

mod common;

use common::{CLEAN, Folder, succeed, text};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

#[test]
fn two_first_runs_at_once() {
    let folder = Folder::new("at-once");
    folder.file("clean.c", CLEAN);
    let cache = folder.path().join("cache");
    let children: Vec<_> = (0..4)
        .map(|n| {
            let mut command = folder.deadheat(&format!("cc clean.c -o prog-{n}"));
            command
                .env("XDG_CACHE_HOME", &cache)
                .stderr(Stdio::piped())
                .spawn()
                .expect("starts")
        })
        .collect();
    for child in children {
        let output = child.wait_with_output().expect("ends");
        assert!(output.status.success(), "{}", text(&output.stderr));
    }
    (0..4).for_each(|n| drop(succeed(&mut folder.command(&format!("./prog-{n}")))));
    let dirs: Vec<_> = fs::read_dir(cache.join("deadheat"))
        .expect("a folder")
        .flatten()
        .collect();
    assert_eq!(dirs.len(), 1, "one folder for one runtime");
    let names = fs::read_dir(dirs[0].path()).expect("a folder").flatten();
    assert!(
        names
            .map(|e| e.file_name().to_string_lossy().into_owned())
            .all(|name| !name.ends_with(".new"))
    );
}

#[test]
fn no_home_at_all() {
    let folder = Folder::new("no-home");
    folder.file("clean.c", CLEAN);
    fs::create_dir(folder.path().join("tmp")).expect("a folder");
    let mut command = folder.deadheat("cc clean.c -o prog");
    command
        .env_remove("HOME")
        .env_remove("XDG_CACHE_HOME")
        .env("TMPDIR", folder.path().join("tmp"));
    let told = text(&succeed(&mut command).stderr);
    assert!(
        told.contains("neither XDG_CACHE_HOME nor HOME is set"),
        "{told}"
    );
    assert_eq!(text(&succeed(&mut command).stderr), "", "said once");
    succeed(&mut folder.command("./prog"));
}

#[test]
fn a_home_that_cannot_be_written() {
    let folder = Folder::new("read-only");
    folder.file("clean.c", CLEAN);
    fs::create_dir(folder.path().join("tmp")).expect("a folder");
    // Root may write anywhere, so the cache's place is taken by a file.
    folder.file("home/.cache", "");
    fs::set_permissions(folder.path().join("home"), Permissions::from_mode(0o500))
        .expect("closes it");
    let mut command = folder.deadheat("run clean.c");
    command
        .env_remove("XDG_CACHE_HOME")
        .env_remove("XDG_STATE_HOME")
        .env("TMPDIR", folder.path().join("tmp"));
    let told = text(&succeed(&mut command).stderr);
    fs::set_permissions(folder.path().join("home"), Permissions::from_mode(0o700))
        .expect("opens it");
    assert!(told.contains("no cache folder can be written"), "{told}");
}

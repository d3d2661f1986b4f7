//! `deadheat check` on files of all sorts: what it says, and its exit status.

mod common;

use common::{CLEAN, Folder, RACY, check, succeed, text};
use std::fs;

/// A folder with a recording of a program.
fn recorded(name: &str, source: &str) -> Folder {
    let folder = Folder::new(name);
    folder.file("prog.c", source);
    succeed(&mut folder.deadheat("cc -g -O1 -pthread prog.c -o prog"));
    succeed(&mut folder.deadheat("record -o app.dht ./prog"));
    folder
}

#[test]
fn findings_and_none() {
    let folder = recorded("check-racy", RACY);
    check(
        &mut folder.deadheat("check app.dht"),
        1,
        "1. data race: `shared`",
    );
    check(
        &mut folder.deadheat("check app.dht --exit-code 7"),
        7,
        "1 finding",
    );
    let quiet = check(
        &mut folder.deadheat("check --quiet app.dht"),
        1,
        "1. data race",
    );
    assert!(!text(&quiet.stderr).contains("deadheat: finding 1"));
    folder.file("silence", "data-race:shared\n");
    check(
        &mut folder.deadheat("check app.dht --suppressions silence"),
        0,
        "suppressed",
    );
    let clean = recorded("check-clean", CLEAN);
    check(&mut clean.deadheat("check app.dht"), 0, "nothing found");
    let quiet = check(&mut clean.deadheat("check --quiet app.dht"), 0, "");
    assert_eq!(text(&quiet.stderr), "");
}

#[test]
fn wrong_words() {
    let folder = recorded("check-words", CLEAN);
    check(
        &mut folder.deadheat("check"),
        2,
        "deadheat check needs one recorded execution",
    );
    check(
        &mut folder.deadheat("check app.dht other.dht"),
        2,
        "deadheat check needs one recorded execution",
    );
    check(
        &mut folder.deadheat("check gone.dht"),
        2,
        "cannot read gone.dht: No such file or directory (os error 2)\n  deadheat record -o app.dht",
    );
    check(
        &mut folder.deadheat("check app.dht --detector magic"),
        2,
        "there is no detector `magic`; there are fasttrack, djit, goldilocks, eraser, and all",
    );
    check(
        &mut folder.deadheat("check app.dht --jobs 0"),
        2,
        "--jobs is a number from 1 to 256, not `0`",
    );
    check(
        &mut folder.deadheat("check app.dht --frames lost"),
        2,
        "--frames is carried or alone, not `lost`",
    );
    folder.file("noise.dht", "this is no trace");
    check(
        &mut folder.deadheat("check noise.dht"),
        2,
        "noise.dht is no recorded execution",
    );
    fs::write(folder.path().join("bytes.dht"), [0xff, 0xfe, 0, 1]).expect("a file");
    check(
        &mut folder.deadheat("check bytes.dht"),
        2,
        "neither a file of deadheat record nor text",
    );
    fs::write(folder.path().join("empty.dht"), []).expect("a file");
    check(
        &mut folder.deadheat("check empty.dht"),
        2,
        "empty.dht is no recorded execution: there is no event in it",
    );
}

/// Whatever is left is checked, and what was lost is said.
#[test]
fn cut_and_damaged_files() {
    let folder = recorded("check-damaged", RACY);
    let whole = fs::read(folder.path().join("app.dht")).expect("the recording");
    let lost = "lost";
    for part in [1, 4, 8, 9] {
        let cut = &whole[..whole.len() * part / 10];
        fs::write(folder.path().join("cut.dht"), cut).expect("a file");
        let output = folder.deadheat("check cut.dht").output().expect("check");
        let said = text(&output.stderr);
        assert!(
            matches!(output.status.code(), Some(0 | 1)),
            "{part}: {said}"
        );
        assert!(said.contains(lost), "{part}: {said}");
    }
    for place in [20, whole.len() / 3, whole.len() / 2, whole.len() * 2 / 3] {
        let mut damaged = whole.clone();
        damaged[place] ^= 0x55;
        fs::write(folder.path().join("bad.dht"), damaged).expect("a file");
        let output = folder.deadheat("check bad.dht").output().expect("check");
        let said = text(&output.stderr);
        assert!(
            matches!(output.status.code(), Some(0 | 1)),
            "{place}: {said}"
        );
        // In which frame, of whatever sort; or that of the index.
        let words: Vec<&str> = said.split_whitespace().collect();
        let said = words.join(" ");
        assert!(
            said.contains(", in a damaged frame at byte ")
                || said.contains("lost index at the end"),
            "{place}: {said}"
        );
    }
    // The index alone is gone: nothing of the recording is.
    let cut = &whole[..whole.len() - 8];
    fs::write(folder.path().join("cut.dht"), cut).expect("a file");
    check(
        &mut folder.deadheat("check cut.dht"),
        1,
        "1. data race: `shared`",
    );
}

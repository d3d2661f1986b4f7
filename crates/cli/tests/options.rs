//! Where options come from, and which of them win; and the commands that show findings again.

mod common;

use common::{Folder, RACY, check, run, text};

fn racy(name: &str) -> Folder {
    let folder = Folder::new(name);
    folder.file("racy.c", RACY);
    folder.succeed("cc racy.c -o racy");
    folder
}

#[test]
fn later_sources_win() {
    let folder = racy("sources");
    folder.file("deadheat.toml", "exit-code = 10\n");
    check(&mut folder.deadheat("run ./racy"), 10, "");
    check(
        folder
            .deadheat("run ./racy")
            .env("TSAN_OPTIONS", "exitcode=20"),
        20,
        "",
    );
    let both = |line: &str| {
        let mut command = folder.deadheat(line);
        command
            .env("TSAN_OPTIONS", "exitcode=20")
            .env("DEADHEAT_OPTIONS", "exit_code=30");
        command
    };
    check(&mut both("run ./racy"), 30, "");
    check(&mut both("run --exit-code 40 ./racy"), 40, "");
}

#[test]
fn suppressions_add_up() {
    let folder = racy("suppressions");
    folder.file("none.supp", "race:nowhere\n");
    folder.file("work.supp", "# known\nrace:^work$\n");
    check(
        &mut folder.deadheat("run --suppressions none.supp ./racy"),
        1,
        "data race",
    );
    check(
        &mut folder.deadheat("run --suppressions none.supp --suppressions work.supp ./racy 4"),
        4,
        "suppressed",
    );
    folder.file("deadheat.toml", "suppressions = [`work.supp`]\n");
    check(
        &mut folder.deadheat("run --suppressions none.supp ./racy 4"),
        4,
        "suppressed",
    );
    let halted = "run --halt-on-error --suppressions none.supp ./racy 4";
    check(&mut folder.deadheat(halted), 4, "suppressed");
}

#[test]
fn reports_go_where_they_are_sent() {
    let folder = racy("logs");
    for (format, part) in [
        ("text", "data race"),
        ("json", "\"findings\""),
        ("sarif", "2.1.0"),
        ("html", "<html"),
    ] {
        check(
            &mut folder.deadheat(&format!(
                "run --quiet --format {format} --log out.{format} ./racy"
            )),
            1,
            "",
        );
        assert!(
            folder.read(&format!("out.{format}")).contains(part),
            "{format}"
        );
    }
    let quiet = run(&mut folder.deadheat("run --quiet --log out.txt ./racy"));
    assert_eq!(text(&quiet.stderr), "", "everything is in the log");
    let piped = run(&mut folder.deadheat("run --quiet --format json --log stdout ./racy"));
    assert!(text(&piped.stdout).contains("\"data-race\""));
    check(&mut folder.deadheat("run --log r-%p.txt ./racy"), 1, "");
    let named = std::fs::read_dir(folder.path())
        .expect("a folder")
        .flatten();
    assert!(
        named
            .map(|e| e.file_name().to_string_lossy().into_owned())
            .any(|n| n.starts_with("r-") && n != "r-%p.txt")
    );
}

#[test]
fn findings_are_shown_again() {
    let folder = racy("again");
    check(
        &mut folder.deadheat("run --format json --log found.json ./racy"),
        1,
        "finding 1: ",
    );
    for format in ["text", "json", "sarif", "html"] {
        let shown = text(
            &folder
                .succeed(&format!("report found.json --format {format}"))
                .stdout,
        );
        assert!(shown.contains("shared"), "{format}: {shown}");
    }
    assert!(
        text(&folder.succeed("explain 1").stdout).contains("shared"),
        "of the last run"
    );
    assert!(text(&folder.succeed("explain 1 found.json").stdout).contains("shared"));
    check(
        &mut folder.deadheat("explain 2"),
        2,
        "there is no finding 2\n  the report has one: deadheat explain 1",
    );
    let rules = text(&folder.succeed("suppressions --from found.json").stdout);
    folder.file("known.supp", &rules);
    check(
        &mut folder.deadheat("run --suppressions known.supp ./racy 3"),
        3,
        "suppressed",
    );
    let left = text(
        &folder
            .succeed("report found.json --suppressions known.supp")
            .stdout,
    );
    assert!(left.contains("1 suppressed"), "{left}");
}

#[test]
fn colours_follow_the_terminal_and_the_flags() {
    let folder = racy("colours");
    let escapes = |line: &str| text(&run(&mut folder.deadheat(line)).stderr).contains("\x1b[");
    assert!(!escapes("run ./racy"), "a pipe");
    assert!(!escapes("run --color never ./racy"));
    assert!(escapes("run --color always ./racy"));
}

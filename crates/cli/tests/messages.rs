//! Bad input of every kind: a clear message, exit status 2, and the program is not started.

mod common;

use common::{CLEAN, Folder, check, run, text};

#[test]
fn flags_keys_and_values() {
    let folder = Folder::new("messages");
    folder.file("clean.c", CLEAN);
    folder.succeed("cc clean.c -o clean");
    for (line, part) in [
        (
            "run --fromat json ./clean",
            "deadheat run has no flag --fromat\n  did you mean --format?",
        ),
        (
            "run --format jsn ./clean",
            "one of text, json, sarif, html, not `jsn` (did you mean `json`?)",
        ),
        (
            "run --exit-code 300 ./clean",
            "a whole number from 0 to 255, not `300`",
        ),
        ("run --suppressions none.supp ./clean", "none.supp"),
        (
            "rnu ./clean",
            "there is no command `rnu`\n  did you mean deadheat run?",
        ),
        ("clean.c", "to run it: deadheat run clean.c"),
        (
            "record",
            "deadheat record needs a program or sources\n  deadheat record -o app.dht ./prog",
        ),
        (
            "record -o none/app.dht ./clean",
            "cannot write none/app.dht: No such file or directory (os error 2)\n  -o FILE",
        ),
        (
            "run --split --checkers 0 ./clean",
            "a number from 1 to 256, not `0`\n  deadheat run --split --checkers 2",
        ),
        (
            "run --split --on-finding exec: ./clean",
            "--on-finding exec:: there is no such action\n  report, stop",
        ),
        (
            "trace stat none.dht",
            "cannot read none.dht: No such file or directory (os error 2)\n  deadheat record -o",
        ),
        ("report", "needs one JSON report"),
        ("report none.json", "cannot read none.json"),
        ("report clean.c", "clean.c: this is no JSON"),
        ("explain", "needs the number of a finding"),
        ("explain one", "`one` is not the number of a finding"),
        ("explain 1", "no run has been kept yet"),
        ("suppressions x.json", "deadheat suppressions --from x.json"),
        ("env --make", "deadheat env has no flag --make"),
        ("completions tcsh", "there are no completions for `tcsh`"),
        ("collect", "needs --fd N"),
        ("collect --fd 99", "no open descriptor"),
        ("collect --fd x", "no open descriptor"),
        ("cc --compiler", "--compiler needs a name"),
        ("help nothing", "there is no command `nothing`"),
    ] {
        let output = check(&mut folder.deadheat(line), 2, part);
        assert!(
            !text(&output.stdout).contains("clean"),
            "{line} started the program"
        );
    }
    check(
        folder
            .deadheat("run ./clean")
            .env("DEADHEAT_OPTIONS", "halt=1"),
        2,
        "DEADHEAT_OPTIONS: there is no option `halt`\n  did you mean `halt-on-error`?",
    );
    check(
        folder
            .deadheat("run ./clean")
            .env("DEADHEAT_OPTIONS", "log='x"),
        2,
        "does not end with it",
    );
    check(
        folder
            .deadheat("run ./clean")
            .env("TSAN_OPTIONS", "exitcode=many"),
        2,
        "TSAN_OPTIONS: `exitcode`",
    );
    check(
        folder
            .deadheat("run ./clean")
            .env("TSAN_OPTIONS", "zebra=1"),
        0,
        "TSAN_OPTIONS: `zebra` is no option",
    );
}

#[test]
fn files_with_their_lines() {
    let folder = Folder::new("lines");
    folder.file("clean.c", CLEAN);
    folder.succeed("cc clean.c -o clean");
    folder.file("bad.supp", "# fine\nrace:foo\nrase:bar\n");
    check(
        &mut folder.deadheat("run --suppressions bad.supp ./clean"),
        2,
        "bad.supp:3: ",
    );
    folder.file(
        "deadheat.toml",
        "races = true\nformat = `text`\nexit-cod = 3\n",
    );
    check(
        &mut folder.deadheat("run ./clean"),
        2,
        "deadheat.toml:3: there is no option `exit-cod`\n  did you mean `exit-code`?",
    );
    let below = folder.file("deep/er/x.c", "");
    check(
        folder
            .deadheat("run ../../clean")
            .current_dir(below.parent().expect("a folder")),
        2,
        "deadheat.toml:3: ",
    );
}

#[test]
fn help_and_version_are_no_mistakes() {
    let folder = Folder::new("help");
    for line in [
        "help",
        "--help",
        "-h",
        "help run",
        "run --help",
        "report -h",
        "--version",
        "man",
        "completions bash",
    ] {
        let output = run(&mut folder.deadheat(line));
        assert!(
            output.status.success() && output.stderr.is_empty() && !output.stdout.is_empty(),
            "{line}"
        );
    }
    assert_eq!(run(&mut folder.deadheat("")).status.code(), Some(2));
    let script = text(&folder.succeed("completions bash").stdout);
    let file = folder.path().join("completions");
    std::fs::write(&file, script).expect("a file");
    common::succeed(folder.command("bash").arg("-n").arg(&file));
}

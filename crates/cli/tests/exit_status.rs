//! What the exit status of a run says, whatever happens around it.

mod common;

use common::{CLEAN, Folder, RACY, check, run, succeed, text};
use std::process::Stdio;

fn built(name: &str) -> Folder {
    let folder = Folder::new(name);
    folder.file("racy.c", RACY);
    folder.file("clean.c", CLEAN);
    folder.succeed("cc racy.c -o racy");
    folder.succeed("cc clean.c -o clean");
    folder
}

#[test]
fn the_programs_own_when_nothing_was_found() {
    let folder = built("own");
    for status in [0, 1, 2, 3, 77, 255] {
        let output = check(
            &mut folder.deadheat(&format!("run ./clean {status}")),
            status,
            "nothing found",
        );
        assert_eq!(
            text(&output.stdout),
            "clean\n",
            "standard output is the program's alone"
        );
    }
    check(&mut folder.deadheat("run clean.c -- 5"), 5, "nothing found");
    let silent = run(&mut folder.deadheat("run --quiet ./clean 4"));
    assert_eq!(
        (silent.status.code(), text(&silent.stderr)),
        (Some(4), String::new())
    );
}

#[test]
fn one_or_what_was_asked_for_when_bugs_were_found() {
    let folder = built("found");
    for (flags, status) in [
        ("", 1),
        ("--exit-code 66", 66),
        ("--exit-code=0", 9),
        ("--no-races", 9),
    ] {
        check(
            &mut folder.deadheat(&format!("run {flags} ./racy 9")),
            status,
            "",
        );
    }
    check(
        &mut folder.deadheat("run racy.c -- 0"),
        1,
        "data race: `shared`",
    );
    check(
        &mut folder.deadheat("run --halt-on-error ./racy 0"),
        1,
        "data race: `shared`",
    );
}

#[test]
fn a_program_killed_by_a_signal() {
    let folder = Folder::new("killed");
    folder.file("die.c", "#include <signal.h>\n#include <stdlib.h>\nint main(int c, char **v) { return raise(atoi(v[1])); }\n");
    folder.succeed("cc die.c -o die");
    for signal in [6, 9, 11, 15] {
        let output = run(&mut folder.deadheat(&format!("run ./die {signal}")));
        assert_eq!(
            output.status.code(),
            Some(128 + signal),
            "{}",
            text(&output.stderr)
        );
    }
    // Found before the end: still told.
    folder.file("late.c", &RACY.replace("puts", "abort(); puts"));
    check(&mut folder.deadheat("run late.c"), 1, "data race: `shared`");
    folder.file("quick.c", &RACY.replace("puts", "_Exit(3); puts"));
    check(
        &mut folder.deadheat("run quick.c"),
        1,
        "data race: `shared`",
    );
}

#[test]
fn a_signal_sent_to_deadheat_reaches_the_program() {
    let folder = Folder::new("forward");
    folder.file(
        "wait.c",
        "#include <signal.h>\n#include <stdio.h>\n#include <unistd.h>\nint main(void) {\n sigset_t set; int got;\n sigemptyset(&set); \
         sigaddset(&set, SIGTERM); sigprocmask(SIG_BLOCK, &set, 0);\n write(1, `ready\\n`, 6);\n sigwait(&set, &got);\n \
         return got == SIGTERM ? 42 : 1;\n}\n",
    );
    folder.succeed("cc wait.c -o wait");
    let mut child = folder
        .deadheat("run ./wait")
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("starts");
    let mut line = [0; 6];
    std::io::Read::read_exact(child.stdout.as_mut().expect("a pipe"), &mut line)
        .expect("it is ready");
    succeed(
        folder
            .command("kill")
            .args(["-TERM", &child.id().to_string()]),
    );
    assert_eq!(child.wait().expect("ends").code(), Some(42));
}

#[test]
fn two_when_deadheat_itself_failed() {
    let folder = built("failed");
    check(&mut folder.deadheat("run"), 2, "needs a program or sources");
    check(
        &mut folder.deadheat("run ./nothing"),
        2,
        "./nothing was not found",
    );
    check(
        &mut folder.deadheat("run nothing.c"),
        2,
        "nothing.c was not found",
    );
    check(
        &mut folder.deadheat("run ./home"),
        2,
        "./home is a folder, not a program",
    );
    check(&mut folder.deadheat("run ./racy.c.txt"), 2, "was not found");
    folder.file("broken.c", "int main( {\n");
    check(
        &mut folder.deadheat("run broken.c"),
        2,
        "could not compile the sources",
    );
    check(
        &mut folder.deadheat("run --log no/such/folder/x ./racy"),
        2,
        "cannot write the report to no/such/folder/x",
    );
}

#[test]
fn programs_that_were_not_instrumented() {
    let folder = built("plain");
    succeed(folder.command("gcc").args(["clean.c", "-o", "plain"]));
    let output = check(
        &mut folder.deadheat("run ./plain"),
        2,
        "./plain was not built with Deadheat",
    );
    assert!(text(&output.stderr).contains("CC=\"deadheat cc\""));
    assert_eq!(text(&output.stdout), "", "it was not started");
    folder.file(
        "tsan.c",
        "void __tsan_init(void) {}\nint main(void) { return 0; }\n",
    );
    succeed(folder.command("gcc").args(["tsan.c", "-o", "tsan"]));
    check(
        &mut folder.deadheat("run ./tsan"),
        2,
        "ThreadSanitizer's runtime",
    );
    succeed(folder.command("strip").arg("racy"));
    check(&mut folder.deadheat("run ./racy"), 1, "data race");
    check(
        &mut folder.deadheat("run --follow ./plain 3"),
        2,
        "nothing that ./plain started was built with Deadheat",
    );
}

#[test]
fn scripts_and_what_they_start() {
    let folder = built("scripts");
    folder.file(
        "test.sh",
        "#!/bin/sh\n./clean 0 && ./racy 0\n./racy 0 second\nexit 7\n",
    );
    succeed(folder.command("chmod").args(["+x", "test.sh"]));
    let output = check(
        &mut folder.deadheat("run ./test.sh"),
        1,
        "data race: `shared`",
    );
    let told = text(&output.stderr);
    assert!(
        told.contains("1 finding"),
        "the same bug in two processes is one finding: {told}"
    );
    assert!(text(&output.stdout).contains("clean\ndone\nsecond\n"));
    check(
        &mut folder.deadheat("run bash -c ./racy"),
        1,
        "data race: `shared`",
    );
    check(
        folder.deadheat("run sh -c").arg("./clean 5"),
        5,
        "nothing found",
    );
    check(
        folder.deadheat("run sh -c").arg("exit 0"),
        2,
        "nothing that sh started was built with Deadheat",
    );
}

#[test]
fn a_program_on_its_own_reports_too() {
    let folder = built("alone");
    check(folder.command("./racy").arg("0"), 1, "data race: `shared`");
    let clean = run(folder.command("./clean").arg("3"));
    assert_eq!(
        (clean.status.code(), text(&clean.stderr)),
        (Some(3), String::new())
    );
    check(
        folder
            .command("./racy")
            .env("DEADHEAT_OPTIONS", "exit-code=5"),
        5,
        "data race",
    );
    check(
        folder.command("./racy").env("TSAN_OPTIONS", "exitcode=66"),
        66,
        "data race",
    );
    check(
        folder
            .command("./racy")
            .env("DEADHEAT_OPTIONS", "exit-cod=5"),
        2,
        "there is no option `exit-cod`",
    );
}

#[test]
fn a_full_disk_or_closed_output_loses_no_status() {
    let folder = built("full");
    for (line, status) in [
        ("deadheat run ./racy 0 2>/dev/full", 1),
        ("deadheat run ./racy 0 2>&-", 1),
        ("deadheat run ./clean 6 2>&-", 6),
        ("deadheat run ./racy 0 >&- 2>&-", 1),
        ("deadheat run --log /dev/full ./racy 0", 1),
        ("deadheat run --log /dev/full ./clean 6", 6),
        ("deadheat run ./clean 6 2>/dev/full", 6),
        (
            "HOME=/nonexistent XDG_STATE_HOME=/dev/null/x deadheat run ./racy 0",
            1,
        ),
    ] {
        let own = env!("CARGO_BIN_EXE_deadheat");
        let output = run(folder
            .command("sh")
            .args(["-c", &line.replace("deadheat", own)]));
        assert_eq!(
            output.status.code(),
            Some(status),
            "{line}\n{}",
            text(&output.stderr)
        );
    }
}

#[test]
fn a_program_that_executes_others() {
    let folder = built("exec");
    folder.file(
        "parent.c",
        "#include <stdlib.h>\n#include <unistd.h>\n#include <sys/wait.h>\nint main(int c, char **v) {\n if (c > 1) execl(v[1], v[1], `0`, (char *)0);\n \
         int status = 0; pid_t child = fork();\n if (child == 0) { execl(`./racy`, `racy`, `0`, `from the child`, (char *)0); _exit(9); }\n \
         waitpid(child, &status, 0);\n return WEXITSTATUS(status);\n}\n",
    );
    folder.succeed("cc parent.c -o parent");
    let output = check(
        &mut folder.deadheat("run ./parent"),
        1,
        "data race: `shared`",
    );
    assert_eq!(text(&output.stdout), "from the child\n");
    // The program replaces itself: the second image speaks for it too.
    check(
        &mut folder.deadheat("run ./parent ./racy"),
        1,
        "data race: `shared`",
    );
}

#[test]
fn instrumented_libraries_in_a_program_that_is_not() {
    let folder = Folder::new("preload");
    folder.file(
        "lib.c",
        &RACY.replace(
            "int main(int argc, char **argv)",
            "int go(int argc, char **argv)",
        ),
    );
    folder.file(
        "host.c",
        "#include <dlfcn.h>\n#include <stdio.h>\nint main(int c, char **v) {\n void *lib = dlopen(`./lib.so`, RTLD_NOW);\n \
         if (!lib) { puts(dlerror()); return 8; }\n int (*go)(int, char **) = dlsym(lib, `go`);\n return go(c, v);\n}\n",
    );
    folder.succeed("cc -shared -fPIC lib.c -o lib.so");
    succeed(folder.command("gcc").args(["host.c", "-o", "host"]));
    check(
        &mut folder.deadheat("run ./host 0"),
        2,
        "deadheat run --preload PROGRAM ARGS",
    );
    check(
        &mut folder.deadheat("run --preload ./host 0"),
        1,
        "data race: `shared`",
    );
}

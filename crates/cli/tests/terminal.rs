//! A person at a terminal presses Ctrl-C: the program dies of it, and what was found until then is reported.

mod common;

use std::io::{BufRead, BufReader, Read, Write};
use std::process::Stdio;

use common::{Folder, text};

/// Races, says so, and waits for ever.
const WAITS: &str = r"#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
int shared;
static void *work(void *arg) { shared = *(int *)arg; return 0; }
int main(int argc, char **argv) {
    pthread_t a, b;
    int one = 1, two = 2;
    if (argc > 1) {
        pthread_create(&a, 0, work, &one);
        pthread_create(&b, 0, work, &two);
        pthread_join(a, 0);
        pthread_join(b, 0);
    }
    puts(`waiting`);
    fflush(stdout);
    for (;;)
        pause();
}
";

/// Runs a shell's command on a terminal of its own, presses Ctrl-C when the program waits; the status that a shell sees, and
/// all that was on the screen. Whoever runs the tests in the background lets them ignore the key; a terminal does not.
fn interrupted(folder: &Folder, command: &str) -> (Option<i32>, String) {
    let mut terminal = folder
        .command("env")
        .args(["--default-signal=HUP,INT,QUIT", "script"])
        .args(["--quiet", "--return", "--command", command, "/dev/null"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("script, of Debian's bsdutils");
    let mut keyboard = terminal.stdin.take().expect("a keyboard");
    let mut screen = BufReader::new(terminal.stdout.take().expect("a screen"));
    let mut seen = Vec::new();
    while !text(&seen).contains("waiting") {
        let n = screen.read_until(b'\n', &mut seen).expect("reads");
        assert_ne!(n, 0, "it ended too early: {}", text(&seen));
    }
    keyboard.write_all(b"\x03").expect("a key");
    screen.read_to_end(&mut seen).expect("reads");
    let status = terminal.wait().expect("ends");
    (status.code(), text(&seen))
}

#[test]
fn what_was_found_until_then_is_reported() {
    let folder = Folder::new("interrupted");
    folder.file("waits.c", WAITS);
    folder.succeed("cc --compiler gcc waits.c -o waits");
    let deadheat = env!("CARGO_BIN_EXE_deadheat");

    let (status, screen) = interrupted(&folder, &format!("exec {deadheat} run ./waits race"));
    assert_eq!(status, Some(1), "{screen}");
    assert!(
        screen.contains("data race: global `shared`") || screen.contains("data race: `shared`"),
        "{screen}"
    );
    assert!(screen.contains("ended by signal 2 (SIGINT)"), "{screen}");

    let (status, screen) = interrupted(&folder, &format!("exec {deadheat} run ./waits"));
    assert_eq!(status, Some(128 + 2), "{screen}");

    // On its own, too; and the shell learns that it died by the signal.
    let (status, screen) = interrupted(&folder, "exec ./waits race");
    assert_eq!(status, Some(128 + 2), "{screen}");
    assert!(screen.contains("1 finding"), "{screen}");
}

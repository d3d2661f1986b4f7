//! Programs that record: checked beside, checked later, looked into, and killed at any moment, as the checker is.

mod common;

use common::{COMPILERS, Folder, RACY, check, succeed};
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};

/// Two threads that take turns with a lock, count each turn, and say the count now and then. Ends when its input does.
const BUSY: &str = r"#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int turns, stop, cells[1000];
static void *work(void *arg) {
    for (int last = 0; !last;) {
        pthread_mutex_lock(&lock);
        cells[turns % 1000]++;
        if (++turns % 64 == 0) { printf(`%d\n`, turns); fflush(stdout); }
        last = stop;
        pthread_mutex_unlock(&lock);
    }
    return arg;
}
int main(void) {
    pthread_t a, b;
    char c;
    printf(`%d\n`, (int)getpid());
    fflush(stdout);
    pthread_create(&a, 0, work, 0);
    pthread_create(&b, 0, work, 0);
    while (read(0, &c, 1) > 0) {}
    pthread_mutex_lock(&lock);
    stop = 1;
    pthread_mutex_unlock(&lock);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
";

fn built(name: &str, source: &str) -> Folder {
    let folder = Folder::new(name);
    folder.file("prog.c", source);
    let status = folder
        .deadheat("cc -g -O1 -pthread prog.c -o prog")
        .status()
        .expect("deadheat cc");
    assert!(status.success());
    folder
}

/// What the command prints, which must end well.
fn succeeds(folder: &Folder, line: &str) -> String {
    let output = folder.deadheat(line).output().expect(line);
    assert!(output.status.success(), "{line}: {}", text(&output.stderr));
    text(&output.stdout)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn the_same_is_found_inline_beside_and_later() {
    let folder = built("split-same", RACY);
    let mut headlines = Vec::new();
    for line in [
        "run ./prog",
        "run --split ./prog",
        "run --split --checkers 2 --detector all ./prog",
        "record -o app.dht ./prog",
        "check app.dht",
        "check app.dht --detector all --jobs 2",
    ] {
        let output = folder.deadheat(line).output().expect(line);
        let said = text(&output.stderr);
        let recording = line.starts_with("record");
        assert_eq!(
            output.status.code(),
            Some(i32::from(!recording)),
            "{line}: {said}"
        );
        if recording {
            assert!(said.contains("wrote app.dht"), "{said}");
        } else {
            let found = said.lines().find(|l| l.starts_with("1. ")).unwrap_or(&said);
            headlines.push(found.split("  ").next().unwrap_or_default().to_string());
        }
    }
    headlines.dedup();
    assert_eq!(headlines, ["1. data race: `shared`"]);
}

/// The first thread waits for the second, which cancels it there and ends only then: so it does wait.
const WAITS: &str = r"#include <pthread.h>
#include <stdatomic.h>
#include <signal.h>
static pthread_t waiting;
static atomic_int cancelled;
static void note(void *arg) { atomic_store(&cancelled, 1); }
static void handler(int number) {}
static void *second(void *arg) {
    pthread_cancel(waiting);
    while (!atomic_load(&cancelled)) {}
    return arg;
}
static void *first(void *arg) {
    pthread_t other;
    waiting = pthread_self();
    pthread_create(&other, 0, second, 0);
    pthread_cleanup_push(note, 0);
    pthread_join(other, 0);
    pthread_cleanup_pop(0);
    return arg;
}
int main(int count, char **words) {
    pthread_t t;
    if (count > 1) signal(SIGUSR1, handler);
    pthread_create(&t, 0, first, 0);
    pthread_join(t, 0);
    return 0;
}
";

/// Who waits for whose end is recorded, unless a handler could do something meanwhile; a wait that is broken is counted.
#[test]
fn a_thread_that_waits_is_in_the_trace() {
    let folder = built("split-await", WAITS);
    let waits = |line: &str| {
        folder.deadheat(line).status().expect(line);
        let dump = succeeds(&folder, "trace dump app.dht");
        dump.lines().any(|line| line.starts_with("t1 await t2"))
    };
    assert!(waits("record -o app.dht ./prog"));
    let output = folder.deadheat("check app.dht").output().expect("check");
    let said = text(&output.stderr);
    assert!(said.contains("out of a pthread_join"), "{said}");
    assert!(!waits("record -o app.dht ./prog handler"));
}

/// A core dump would have all of the shared memory, used or not.
#[test]
fn a_core_dump_leaves_the_recording_out() {
    let folder = built(
        "split-core",
        r"#include <stdio.h>
#include <string.h>
int main(void) {
    char line[4096];
    FILE *maps = fopen(`/proc/self/smaps`, `r`);
    int here = 0;
    while (maps && fgets(line, sizeof line, maps)) {
        if (strchr(line, '-') && strstr(line, ` rw`)) here = strstr(line, `deadheat-frames`) != 0;
        if (here && strncmp(line, `VmFlags`, 7) == 0) fputs(line, stdout);
    }
    return 0;
}
",
    );
    let flags = succeeds(&folder, "run --split ./prog");
    assert!(flags.contains(" dd"), "{flags}");
}

#[test]
fn a_detached_thread_is_in_the_trace() {
    let folder = built(
        "split-detach",
        r"#include <pthread.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int done;
static void *work(void *arg) {
    pthread_mutex_lock(&lock);
    done = 1;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
    return arg;
}
int main(void) {
    pthread_t t;
    pthread_create(&t, 0, work, 0);
    pthread_detach(t);
    pthread_mutex_lock(&lock);
    while (!done) pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    return 0;
}
",
    );
    let run = |line: &str| succeeds(&folder, line);
    run("record -o app.dht ./prog");
    let stat = run("trace stat app.dht");
    assert!(stat.contains("  detach "), "{stat}");
    run("trace dump app.dht -o app.txt");
    let dump = folder.read("app.txt");
    let detached = |l: &&str| l.starts_with("t0 detach t1");
    assert_eq!(dump.lines().filter(detached).count(), 1, "{dump}");
    assert!(dump.contains(r#"# line {"event":"strand""#), "{dump}");
    run("trace import app.txt -o again.dht");
    assert_eq!(run("trace dump again.dht"), dump);
    // STD has no word for it.
    run("trace export app.dht -o app.std");
    let std = folder.read("app.std");
    assert!(
        std.contains("T0|fork(T1)|") && !std.contains("detach"),
        "{std}"
    );
    run("trace import app.std -o std.dht");
    for file in ["app.dht", "again.dht", "std.dht", "app.txt"] {
        run(&format!("check {file}"));
    }
}

#[test]
fn traces_are_looked_into_and_exchanged() {
    let folder = built("split-trace", RACY);
    let run = |line: &str| succeeds(&folder, line);
    run("record -o app.dht ./prog");
    let stat = run("trace stat app.dht");
    assert!(
        stat.contains("of 3 threads") && stat.contains("  fork "),
        "{stat}"
    );
    let dump = run("trace dump app.dht");
    run("trace dump app.dht -o app.txt");
    run("trace import app.txt -o again.dht");
    assert_eq!(run("trace dump again.dht"), dump);
    run("trace export app.dht -o app.std");
    assert!(folder.read("app.std").contains("T0|fork(T1)|"));
    run("trace import app.std -o std.dht");
    run("trace cut app.dht -o part.dht --threads 1 --time 0.. --memory 0x1000..");
    let cut = run("trace dump part.dht");
    assert!(cut.lines().any(|l| l.starts_with("t1 write ")));
    assert!(
        !cut.lines()
            .any(|l| l.starts_with("t2 write ") || l.starts_with("t0 read "))
    );
    for line in ["check again.dht", "check std.dht", "check app.txt"] {
        let status = folder.deadheat(line).output().expect(line).status;
        assert_eq!(status.code(), Some(1), "{line}");
    }
    assert_eq!(
        folder
            .deadheat("check part.dht")
            .output()
            .expect("check")
            .status
            .code(),
        Some(0)
    );
}

#[test]
fn actions_follow_findings() {
    let folder = built("split-actions", RACY);
    for split in ["", "--split"] {
        let line = format!("run {split} --on-finding exec:env>>seen ./prog");
        let output = folder.deadheat(&line).output().expect("run");
        assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    }
    let seen = folder.read("seen");
    let told = seen
        .lines()
        .filter(|l| l.starts_with("DEADHEAT_FINDING=data race: `shared`"));
    assert_eq!(told.count(), 2, "{seen}");
    let output = folder
        .deadheat("run --on-finding explode ./prog")
        .output()
        .expect("run");
    assert_eq!(output.status.code(), Some(2));
}

/// A program under a command, with its pid and what it says.
struct Running {
    command: Child,
    said: BufReader<std::process::ChildStdout>,
    program: String,
}

impl Running {
    fn start(folder: &Folder, line: &str) -> Running {
        let mut command = folder
            .deadheat(line)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect(line);
        let mut said = BufReader::new(command.stdout.take().expect("piped"));
        let mut program = String::new();
        said.read_line(&mut program).expect("its pid");
        Running {
            command,
            said,
            program: program.trim().to_string(),
        }
    }

    /// Reads so many lines; the last one.
    fn lines(&mut self, count: u64) -> u64 {
        let mut line = String::new();
        for _ in 0..count {
            line.clear();
            self.said.read_line(&mut line).expect("a line");
        }
        line.trim().parse().unwrap_or(0)
    }

    fn finish(mut self) -> (Option<i32>, String) {
        drop(self.command.stdin.take());
        let mut rest = String::new();
        self.said.read_to_string(&mut rest).expect("its output");
        let output = self.command.wait_with_output().expect("its end");
        (output.status.code(), text(&output.stderr))
    }
}

fn kill(pid: &str) {
    let status = Command::new("kill")
        .args(["-KILL", pid])
        .status()
        .expect("kill");
    assert!(status.success());
}

/// The count of one kind of events in `deadheat trace stat`.
fn count(stat: &str, kind: &str) -> u64 {
    let line = stat
        .lines()
        .find_map(|l| l.trim().strip_prefix(kind)?.strip_prefix(' '));
    line.and_then(|rest| rest.trim().parse().ok()).unwrap_or(0)
}

/// How often to kill; `make kills` does it 200 times.
fn kills() -> u64 {
    let wanted = std::env::var("DEADHEAT_KILLS").ok();
    wanted.and_then(|text| text.parse().ok()).unwrap_or(6)
}

/// Moments are drawn from the number of the try.
fn moment(seed: u64) -> u64 {
    seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 58
}

#[test]
fn a_killed_program_loses_nothing_that_it_recorded() {
    let folder = built("split-kill-program", BUSY);
    for seed in 0..kills() {
        let mut running = Running::start(&folder, "record -o app.dht ./prog");
        let turns = running.lines(moment(seed));
        kill(&running.program);
        let (status, said) = running.finish();
        assert_eq!(status, Some(128 + 9), "seed {seed}: {said}");
        let output = folder
            .deadheat("trace stat app.dht")
            .output()
            .expect("stat");
        let (stat, losses) = (text(&output.stdout), text(&output.stderr));
        assert_eq!(losses, "", "seed {seed}");
        assert!(
            count(&stat, "lock") >= turns,
            "seed {seed}: {turns} turns, but\n{stat}"
        );
        let check = folder.deadheat("check app.dht").output().expect("check");
        assert_eq!(
            check.status.code(),
            Some(0),
            "seed {seed}: {}",
            text(&check.stderr)
        );
    }
}

#[test]
fn a_killed_checker_leaves_the_program_and_a_trace_that_says_so() {
    let folder = built("split-kill-checker", BUSY);
    for seed in 0..kills() {
        let line = match seed % 3 {
            0 => "record -o app.dht ./prog",
            1 => "run --split ./prog",
            _ => "record -o app.dht --if-checker-dies stop ./prog",
        };
        let mut running = Running::start(&folder, line);
        running.lines(moment(seed));
        kill(&running.command.id().to_string());
        // The program must come to its end by itself: its output ends.
        let (status, _) = running.finish();
        assert_eq!(status, None, "seed {seed}");
        if line.starts_with("record") {
            let output = folder
                .deadheat("trace stat app.dht")
                .output()
                .expect("stat");
            let said = text(&output.stderr);
            assert!(
                said.contains("lost index at the end") || said.contains("no trace"),
                "seed {seed}: {said}"
            );
        }
    }
}

/// Stops its parent, the checker, until it has recorded far more than there is memory for frames.
const AHEAD: &str = r"#include <pthread.h>
#include <signal.h>
#include <unistd.h>
enum { N = 1 << 21 };
static long cells[N];
static int shared;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *work(void *arg) {
    for (int turn = 0; turn < 40; turn++) {
        pthread_mutex_lock(&lock);
        for (int i = 0; i < N; i++) cells[i]++;
        pthread_mutex_unlock(&lock);
    }
    return arg;
}
static void *write_it(void *arg) { shared = *(int *)arg; return arg; }
int main(void) {
    pthread_t a, b;
    int one = 1, two = 2;
    kill(getppid(), SIGSTOP);
    pthread_create(&a, 0, work, 0);
    pthread_create(&b, 0, work, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    kill(getppid(), SIGCONT);
    pthread_create(&a, 0, write_it, &one);
    pthread_create(&b, 0, write_it, &two);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
";

/// The program does not wait, what it dropped is counted, and nothing is invented.
#[test]
fn a_program_that_must_not_wait_drops_and_counts() {
    let folder = built("split-drop", AHEAD);
    let output = folder
        .deadheat("run --split --when-behind drop ./prog")
        .output()
        .expect("run");
    let said = text(&output.stderr);
    let counts = said.matches("that the program dropped because the checker was behind");
    assert_eq!(counts.count(), 1, "{said}");
    assert!(!said.contains("cells"), "a false alarm: {said}");
    assert!(matches!(output.status.code(), Some(0 | 1)), "{said}");
    check(
        &mut folder.deadheat("run --split --when-behind explode ./prog"),
        2,
        "--when-behind is wait or drop, not `explode`",
    );
    check(
        &mut folder.deadheat("run --when-behind drop ./prog"),
        2,
        "--when-behind is about checking beside the program",
    );
}

/// Whoever compiled it and however it is linked.
#[test]
fn programs_of_both_compilers_shared_and_static() {
    let folder = Folder::new("split-kinds");
    folder.file("prog.c", RACY);
    for compiler in COMPILERS {
        for linked in ["-O1", "-static", "-static-pie", "-no-pie"] {
            let line = format!("cc --compiler {compiler} -g -O1 {linked} -pthread prog.c -o prog");
            succeed(&mut folder.deadheat(&line));
            check(
                &mut folder.deadheat("run --split ./prog"),
                1,
                "1. data race: `shared`",
            );
            succeed(&mut folder.deadheat("record -o app.dht ./prog"));
            check(
                &mut folder.deadheat("check app.dht"),
                1,
                "1. data race: `shared`",
            );
        }
    }
}

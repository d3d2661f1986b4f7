//! Programs that are told of the bugs found in them: they shut down, or go back to a checkpoint. Inline, beside, and on
//! their own; and the children of a fork.

mod common;

use common::{COMPILERS, Folder, check, succeed, text};

/// Two threads race; the handler notes it, and the program, which waits for that, goes back to its checkpoint.
const CHECKPOINT: &str = r"#include <deadheat.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
int shared;
static atomic_int told;
static char kind[64];
static void on_bug(const struct deadheat_finding *finding, void *data) {
    if (finding->size != sizeof *finding || finding->id != 1 || data != kind) return;
    if (!strstr(finding->headline, `shared`)) return;
    strcpy(kind, finding->kind);
    atomic_store(&told, 1);
}
static void *work(void *arg) { shared = *(int *)arg; return 0; }
int main(void) {
    pthread_t a, b;
    int state = 42, one = 1, two = 2;
    if (!deadheat_on_finding(on_bug, kind)) { puts(`no Deadheat here`); return 0; }
    int checkpoint = state;
    state = 7;
    pthread_create(&a, 0, work, &one);
    pthread_create(&b, 0, work, &two);
    pthread_join(a, 0);
    pthread_join(b, 0);
    while (!atomic_load(&told)) {}
    state = checkpoint;
    printf(`restored %d after a %s\n`, state, kind);
    return 0;
}
";

/// The handler ends the program, which would otherwise never end.
const SHUT_DOWN: &str = r"#include <deadheat.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int shared;
static void on_bug(const struct deadheat_finding *finding, void *data) {
    printf(`shutting down: %s\n`, finding->kind);
    fflush(stdout);
    (void)data;
    exit(3);
}
static void *work(void *arg) { shared = *(int *)arg; return 0; }
int main(void) {
    pthread_t a, b;
    int one = 1, two = 2;
    deadheat_on_finding(on_bug, 0);
    pthread_create(&a, 0, work, &one);
    pthread_create(&b, 0, work, &two);
    pthread_join(a, 0);
    pthread_join(b, 0);
    for (;;) pause();
}
";

/// ThreadSanitizer's own way to be told.
const ON_REPORT: &str = r"#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
int shared;
static atomic_int told;
void __tsan_on_report(void *report) { (void)report; atomic_store(&told, 1); }
static void *work(void *arg) { shared = *(int *)arg; return 0; }
int main(void) {
    pthread_t a, b;
    int one = 1, two = 2;
    pthread_create(&a, 0, work, &one);
    pthread_create(&b, 0, work, &two);
    pthread_join(a, 0);
    pthread_join(b, 0);
    while (!atomic_load(&told)) {}
    puts(`told`);
    return 0;
}
";

fn built(name: &str, compiler: &str, flags: &str, source: &str) -> Folder {
    let folder = Folder::new(&format!("handler-{name}-{compiler}{flags}"));
    folder.file("prog.c", source);
    let line = format!("cc --compiler {compiler} -g -O1 {flags} -pthread prog.c -o prog");
    succeed(&mut folder.deadheat(&line));
    folder
}

/// The ways in which a program can be told.
const WAYS: [&str; 3] = [
    "run ./prog",
    "run --split ./prog",
    "run --split --detector all ./prog",
];

#[test]
fn a_program_goes_back_to_its_checkpoint() {
    for compiler in COMPILERS {
        for flags in ["", "-static"] {
            let folder = built("checkpoint", compiler, flags, CHECKPOINT);
            for way in WAYS {
                let output = check(&mut folder.deadheat(way), 1, "1. data race: `shared`");
                let said = text(&output.stdout);
                assert_eq!(said, "restored 42 after a data-race\n", "{way}");
                assert!(text(&output.stderr).contains("1 finding"), "{way}");
            }
        }
    }
}

#[test]
fn a_program_shuts_itself_down() {
    let folder = built("shut-down", "clang-19", "", SHUT_DOWN);
    for way in [
        "run --exit-code 0 ./prog",
        "run --split --exit-code 0 ./prog",
    ] {
        let output = check(&mut folder.deadheat(way), 3, "1. data race: `shared`");
        assert_eq!(text(&output.stdout), "shutting down: data-race\n", "{way}");
    }
}

#[test]
fn a_program_on_its_own_is_told_too() {
    let folder = built("alone", "gcc", "", CHECKPOINT);
    let output = check(&mut folder.command("./prog"), 1, "1. data race: `shared`");
    assert_eq!(text(&output.stdout), "restored 42 after a data-race\n");
}

#[test]
fn on_report_is_called_under_split_too() {
    let folder = built("on-report", "clang-19", "", ON_REPORT);
    for way in WAYS {
        let output = check(&mut folder.deadheat(way), 1, "1. data race: `shared`");
        assert_eq!(text(&output.stdout), "told\n", "{way}");
    }
}

/// What a suppression names is not told: the program ends by itself.
#[test]
fn silenced_findings_are_not_told() {
    let source = SHUT_DOWN.replace("for (;;) pause();", "return 0;");
    let folder = built("silenced", "clang-19", "", &source);
    folder.file("silence", "data-race:shared\n");
    for way in ["run", "run --split"] {
        let line = format!("{way} --suppressions silence ./prog");
        let output = check(&mut folder.deadheat(&line), 0, "suppressed");
        assert_eq!(text(&output.stdout), "", "{way}");
    }
}

/// Under `deadheat record` nobody finds anything while the program runs, so it must not wait to be told.
#[test]
fn who_only_records_is_not_told() {
    let source = CHECKPOINT.replace(
        "puts(`no Deadheat here`); return 0;",
        "puts(`not told`); told = 1;",
    );
    let folder = built("recorded", "clang-19", "", &source);
    let output = succeed(&mut folder.deadheat("record -o app.dht ./prog"));
    assert!(text(&output.stdout).starts_with("not told\n"));
    check(
        &mut folder.deadheat("check app.dht"),
        1,
        "1. data race: `shared`",
    );
}

/// A child of a fork, which checks itself, has no handler before it registers one, whether that of its parent was refused or not.
const INHERITED: &str = r"#include <deadheat.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
static int first, second;
static void *write_to(void *place) { *(int *)place = 1; return 0; }
static void race(int *place) {
    pthread_t a, b;
    pthread_create(&a, 0, write_to, place);
    pthread_create(&b, 0, write_to, place);
    pthread_join(a, 0);
    pthread_join(b, 0);
}
static void say(const struct deadheat_finding *finding, void *who) {
    (void)finding;
    printf(`%s told\n`, (const char *)who);
    fflush(stdout);
}
int main(void) {
    printf(`%d\n`, deadheat_on_finding(say, `parent`));
    fflush(stdout);
    if (fork() == 0) {
        race(&first);
        printf(`%d\n`, deadheat_on_finding(say, `child`));
        fflush(stdout);
        pthread_t thread;
        pthread_create(&thread, 0, write_to, &second);
        second = 2;
        pthread_join(thread, 0);
        _exit(0);
    }
    return wait(0) < 0;
}
";

#[test]
fn a_child_has_no_handler_of_its_parent() {
    let folder = built("inherited", "clang-19", "", INHERITED);
    let output = succeed(&mut folder.deadheat("record -o app.dht ./prog"));
    assert_eq!(text(&output.stdout), "0\n1\nchild told\n");
}

/// The same source without Deadheat.
#[test]
fn without_deadheat_it_costs_nothing() {
    let folder = Folder::new("handler-plain");
    folder.file("prog.c", CHECKPOINT);
    let include = concat!(env!("CARGO_MANIFEST_DIR"), "/include");
    for compiler in COMPILERS {
        let mut build = folder.command(compiler);
        build.args(["-Wall", "-Wextra", "-Werror", "-pthread", "-I", include]);
        succeed(build.args(["prog.c", "-o", "plain"]));
        let output = succeed(&mut folder.command("./plain"));
        assert_eq!(text(&output.stdout), "no Deadheat here\n");
    }
}

/// A child of a fork checks itself while its parent records: its threads with each other and with its first one, and
/// nothing that is ordered is called a race.
const FORKS: &str = r"#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
int before, ordered, theirs, ours;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *add(void *arg) {
    pthread_mutex_lock(&lock);
    ordered++;
    pthread_mutex_unlock(&lock);
    return arg;
}
static void *race(void *arg) { theirs = 1; return arg; }
static void *with_main(void *arg) { ours = 1; return arg; }
static void *early(void *arg) { before = 1; return arg; }
int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, early, 0);
    pthread_join(a, 0);
    if (fork() == 0) {
        before = 2;
        pthread_create(&a, 0, early, 0);
        pthread_join(a, 0);
        pthread_create(&a, 0, add, 0);
        pthread_create(&b, 0, add, 0);
        add(0);
        pthread_join(a, 0);
        pthread_join(b, 0);
        ordered++;
        pthread_create(&a, 0, race, 0);
        pthread_create(&b, 0, race, 0);
        pthread_join(a, 0);
        pthread_join(b, 0);
        pthread_create(&a, 0, with_main, 0);
        ours = 2;
        pthread_join(a, 0);
        exit(0);
    }
    int status = 0;
    wait(&status);
    return status != 0;
}
";

#[test]
fn children_of_a_fork_check_themselves() {
    let folder = built("forks", "clang-19", "", FORKS);
    succeed_or_found(&folder, "record -o app.dht ./prog");
    for way in ["run ./prog", "run --split ./prog", "check app.dht"] {
        let said = succeed_or_found(&folder, way);
        for wanted in ["data race: `theirs`", "data race: `ours`"] {
            assert!(said.contains(wanted), "{way}: {said}");
        }
        for wrong in ["data race: `before`", "data race: `ordered`"] {
            assert!(!said.contains(wrong), "{way}: {said}");
        }
    }
}

/// A parent and its forks find their own bugs, and each must hear of its own: the parent's handler is told of the parent's,
/// a child may have a handler, too, and one without waits for nothing.
const OWN_ANSWERS: &str = r"#include <deadheat.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#define RACE(name) \
    int name; \
    static void *write_##name(void *arg) { name = 1; return arg; } \
    static void race_##name(void) { \
        pthread_t a, b; \
        pthread_create(&a, 0, write_##name, 0); \
        pthread_create(&b, 0, write_##name, 0); \
        pthread_join(a, 0); \
        pthread_join(b, 0); \
    }
RACE(first) RACE(silent) RACE(childs) RACE(last)
static void on_bug(const struct deadheat_finding *finding, void *who) {
    char *name = strchr(finding->headline, 96), *end = name ? strchr(name + 1, 96) : 0;
    printf(`%s: %.*s\n`, (char *)who, end ? (int)(end - name - 1) : 0, name + 1);
    fflush(stdout);
}
static void child(void (*race)(void), int tells) {
    if (fork() == 0) {
        if (tells) deadheat_on_finding(on_bug, `child`);
        race();
        _exit(0);
    }
    wait(0);
}
int main(void) {
    deadheat_on_finding(on_bug, `parent`);
    race_first();
    child(race_silent, 0);
    child(race_childs, 1);
    race_last();
    return 0;
}
";

#[test]
fn a_fork_and_its_parent_hear_of_their_own_findings() {
    let folder = built("answers", "clang-19", "", OWN_ANSWERS);
    let output = check(&mut folder.deadheat("run ./prog"), 1, "4 findings");
    let said = text(&output.stdout);
    assert_eq!(said, "parent: first\nchild: childs\nparent: last\n");
}

/// With `--halt-on-error` a child halts at its own finding, not at one that a suppression names, and its parent goes on.
#[test]
fn a_fork_halts_at_its_own_findings() {
    let source = OWN_ANSWERS
        .replace(
            "if (tells) deadheat_on_finding(on_bug, `child`);",
            "race_silent(); puts(`on`); fflush(stdout);",
        )
        .replace("deadheat_on_finding(on_bug, `parent`);", "")
        .replace(
            "        _exit(0);",
            "        puts(`never`); fflush(stdout); _exit(0);",
        )
        .replace("race_first();", "race_silent();")
        .replace("child(race_silent, 0);", "")
        .replace("race_last();", "race_silent(); puts(`parent`);");
    let folder = built("halts", "clang-19", "", &source);
    folder.file("silence", "race:silent\n");
    let line = "run --halt-on-error --suppressions silence ./prog";
    let output = check(&mut folder.deadheat(line), 1, "data race: `childs`");
    assert_eq!(text(&output.stdout), "on\nparent\n");
}

fn succeed_or_found(folder: &Folder, line: &str) -> String {
    let output = folder.deadheat(line).output().expect(line);
    let said = text(&output.stderr);
    assert!(
        matches!(output.status.code(), Some(0 | 1)),
        "{line}: {said}"
    );
    said
}

//! The table. Whatever names an option anywhere is generated from here.

/// One option; the number is its row in [`OPTIONS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // each is described in its row
pub enum Key {
    Format,
    Log,
    Color,
    SourceLines,
    MaxFindings,
    Quiet,
    Suppressions,
    CrateRaces,
    ExitCode,
    HaltOnError,
    Races,
    LockOrder,
    Deadlock,
    Misuse,
    ThreadLeaks,
    SignalUnsafe,
    Atomics,
    Stats,
    Compiler,
    Follow,
    Preload,
}

/// What an option's value looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// On or off; `--key` and `--no-key`.
    Switch,
    /// A whole number within bounds.
    Number {
        /// The largest allowed.
        max: u64,
    },
    /// One of some words.
    Choice(&'static [&'static str]),
    /// A name.
    Word,
    /// A file to write to.
    File,
    /// Files to read; may be given more than once.
    Files,
}

/// One row of the table.
#[derive(Debug, Clone, Copy)]
pub struct OptionSpec {
    /// Which option it is.
    pub key: Key,
    /// Its name: `--name`, `name=` in `DEADHEAT_OPTIONS` (`_` is read as `-`), `name =` in `deadheat.toml`.
    pub name: &'static str,
    /// What its value looks like.
    pub shape: Shape,
    /// What the help calls the value.
    pub meta: &'static str,
    /// The default, written as a value; empty for none.
    pub default: &'static str,
    /// One line of help.
    pub help: &'static str,
    /// What ThreadSanitizer calls it in `TSAN_OPTIONS`.
    pub tsan: &'static [&'static str],
    /// What the runtime inside the program calls it, if it concerns the runtime.
    pub runtime: &'static str,
}

const fn row(
    key: Key,
    name: &'static str,
    shape: Shape,
    meta: &'static str,
    default: &'static str,
    help: &'static str,
) -> OptionSpec {
    OptionSpec {
        key,
        name,
        shape,
        meta,
        default,
        help,
        tsan: &[],
        runtime: "",
    }
}

const fn switch(
    key: Key,
    name: &'static str,
    default: &'static str,
    help: &'static str,
) -> OptionSpec {
    row(key, name, Shape::Switch, "", default, help)
}

impl OptionSpec {
    const fn tsan(mut self, names: &'static [&'static str]) -> Self {
        self.tsan = names;
        self
    }

    const fn runtime(mut self, name: &'static str) -> Self {
        self.runtime = name;
        self
    }
}

/// All options, in the order in which the help shows them.
pub const OPTIONS: &[OptionSpec] = &[
    row(Key::Format, "format", Shape::Choice(&["text", "json", "sarif", "html"]), "FORMAT", "text",
        "how the report is written: text, json, sarif or html"),
    row(Key::Log, "log", Shape::File, "FILE", "stderr",
        "write the report to FILE (stderr, stdout or a path; %p becomes the process id) instead of standard error")
        .tsan(&["log_path"]),
    row(Key::Color, "color", Shape::Choice(&["auto", "always", "never"]), "WHEN", "auto",
        "colour the text report: auto (on a terminal, unless NO_COLOR is set), always or never")
        .tsan(&["color"]),
    row(Key::SourceLines, "source-lines", Shape::Number { max: 100 }, "N", "2",
        "lines of source shown before and after each access; 0 shows only the line itself"),
    row(Key::MaxFindings, "max-findings", Shape::Number { max: u32::MAX as u64 }, "N", "1000",
        "show at most N findings in full and only count the others; 0 for no limit"),
    switch(Key::Quiet, "quiet", "off",
        "say nothing while the program runs and nothing when it is clean; only the report"),
    row(Key::Suppressions, "suppressions", Shape::Files, "FILE", "",
        "leave out the findings that FILE names, in ThreadSanitizer's syntax; may be given more than once")
        .tsan(&["suppressions"]),
    switch(Key::CrateRaces, "crate-races", "off",
        "show the races inside well-known crates that docs/rust.md argues, too, instead of only counting them"),
    row(Key::ExitCode, "exit-code", Shape::Number { max: 255 }, "N", "1",
        "exit status when bugs were found; 0 keeps the program's own")
        .tsan(&["exitcode"]).runtime("exitcode"),
    switch(Key::HaltOnError, "halt-on-error", "off", "stop the program at the first finding that is not suppressed")
        .tsan(&["halt_on_error"]).runtime("halt_on_error"),
    switch(Key::Races, "races", "on", "report data races, and uses that race with the free of their block")
        .tsan(&["report_bugs"]).runtime("races"),
    switch(Key::LockOrder, "lock-order", "on", "report locks that are taken in opposite orders")
        .tsan(&["detect_deadlocks"]).runtime("lock_order"),
    switch(Key::Deadlock, "deadlock", "on", "name a deadlock when the program is in one, instead of hanging")
        .runtime("deadlock"),
    switch(Key::Misuse, "misuse", "on", "report misuse of mutexes, read-write locks and condition variables")
        .tsan(&["report_mutex_bugs", "report_destroy_locked"]).runtime("misuse"),
    switch(Key::ThreadLeaks, "thread-leaks", "on", "report threads that were neither joined nor detached")
        .tsan(&["report_thread_leaks"]).runtime("thread_leaks"),
    switch(Key::SignalUnsafe, "signal-unsafe", "on", "report calls in signal handlers that are not async-signal-safe")
        .tsan(&["report_signal_unsafe"]).runtime("signal_unsafe"),
    switch(Key::Atomics, "atomics", "on", "report races between an atomic and a plain access to the same bytes")
        .tsan(&["report_atomic_races"]).runtime("atomics"),
    switch(Key::Stats, "stats", "off", "add the runtime's counters to the report")
        .tsan(&["print_stats"]).runtime("stats"),
    row(Key::Compiler, "compiler", Shape::Word, "NAME", "",
        "compile with NAME (gcc, clang-19, \"ccache gcc\"); the default is clang if it is there, else gcc"),
    switch(Key::Follow, "follow", "off",
        "the program itself was not built with Deadheat but starts programs that were (make test, a script)"),
    switch(Key::Preload, "preload", "off",
        "load the runtime into a program that was not built with Deadheat but loads libraries that were"),
];

/// A flag that only one command has.
#[derive(Debug, Clone, Copy)]
pub struct OwnFlag {
    /// With its dashes.
    pub name: &'static str,
    /// What the help calls its value; empty when it takes none.
    pub meta: &'static str,
    /// One line of help.
    pub help: &'static str,
}

/// One command of `deadheat`.
#[derive(Debug, Clone, Copy)]
pub struct Command {
    /// Its name.
    pub name: &'static str,
    /// The lines after `deadheat NAME` in the usage.
    pub usage: &'static [&'static str],
    /// One line of help.
    pub summary: &'static str,
    /// What else there is to know.
    pub about: &'static str,
    /// The options it takes.
    pub options: &'static [Key],
    /// The flags that only it has.
    pub own: &'static [OwnFlag],
    /// Not meant to be typed by people.
    pub hidden: bool,
}

#[rustfmt::skip] // one word a line would hide the rest of the file
const ALL: &[Key] = &[
    Key::Format, Key::Log, Key::Color, Key::SourceLines, Key::MaxFindings, Key::Quiet,
    Key::Suppressions, Key::CrateRaces, Key::ExitCode, Key::HaltOnError, Key::Races, Key::LockOrder, Key::Deadlock,
    Key::Misuse, Key::ThreadLeaks, Key::SignalUnsafe, Key::Atomics,
    Key::Stats, Key::Compiler, Key::Follow, Key::Preload,
];
#[rustfmt::skip] // one word a line would hide the rest of the file
const CARGO: &[Key] = &[
    Key::Format, Key::Log, Key::Color, Key::SourceLines, Key::MaxFindings, Key::Quiet,
    Key::Suppressions, Key::CrateRaces, Key::ExitCode, Key::HaltOnError, Key::Races, Key::LockOrder, Key::Deadlock,
    Key::Misuse, Key::ThreadLeaks, Key::SignalUnsafe, Key::Atomics, Key::Stats,
];
#[rustfmt::skip] // one word a line would hide the rest of the file
const CHECK: &[Key] = &[
    Key::Format, Key::Log, Key::Color, Key::SourceLines, Key::MaxFindings, Key::Quiet,
    Key::Suppressions, Key::CrateRaces, Key::ExitCode, Key::Races, Key::Atomics,
];
const SHOW: &[Key] = &[
    Key::Format,
    Key::Log,
    Key::Color,
    Key::SourceLines,
    Key::MaxFindings,
    Key::Suppressions,
];

const fn own(name: &'static str, meta: &'static str, help: &'static str) -> OwnFlag {
    OwnFlag { name, meta, help }
}

/// The flags of `deadheat gpu`; its own help groups them, and a test compares the two.
#[rustfmt::skip] // one flag a line
const GPU: &[OwnFlag] = &[
    own("--kernel", "NAME", "the kernel to launch (all of the file if left out)"),
    own("--grid", "X[,Y[,Z]]", "blocks"),
    own("--block", "X[,Y[,Z]]", "threads per block"),
    own("--shared", "BYTES", "dynamic shared memory"),
    own("--arg", "VALUE", "the next argument: a number, or TYPE:COUNT with how to fill it"),
    own("--launch", "FILE", "launches from a TOML file"),
    own("--scheme", "both|addr|stmt|off", "how to check"),
    own("--warps", "lockstep|independent", "how the lanes of a warp are scheduled"),
    own("--warp-size", "32|64", "lanes in a warp"),
    own("--no-static", "", "leave everything to the run"),
    own("--static-only", "", "do not run"),
    own("--uniform-writes", "", "report writes of the same value too"),
    own("--threads", "N", "worker threads"),
    own("--max-steps", "N", "stop after N warp instructions"),
    own("--cuda-path", "DIR", "the CUDA headers that clang should use"),
    own("--format", "text|json|sarif|html", "how the report is written"),
    own("--log", "FILE", "write the report there instead"),
    own("--color", "auto|always|never", "colour the text"),
    own("--suppressions", "FILE", "leave out what its lines name"),
];

const WHEN_BEHIND: OwnFlag = own(
    "--when-behind",
    "wait|drop",
    "when whoever takes the events is behind: wait (the default) loses nothing, drop loses accesses and counts them",
);
const IF_CHECKER_DIES: OwnFlag = own(
    "--if-checker-dies",
    "go-on|stop",
    "whether the program goes on unchecked (the default) or is ended when the checker is killed",
);
/// Checking beside the program.
const SPLIT: &[OwnFlag] = &[
    own(
        "--split",
        "[=cpu|gpu|gpu,cpu]",
        "the program only records; a checker on other cores or on a GPU follows it (gpu,cpu: on the cores if there is no GPU)",
    ),
    own(
        "--checkers",
        "N",
        "with --split: threads that check (the default is 1)",
    ),
    own(
        "--detector",
        "LIST",
        "with --split: fasttrack (the default), djit, goldilocks, eraser, some of them with commas, or all",
    ),
    WHEN_BEHIND,
    IF_CHECKER_DIES,
    own(
        "--on-finding",
        "ACTION",
        "what to do at each new finding: report (the default), stop, abort, exec:COMMAND (DEADHEAT_FINDING and \
         DEADHEAT_PID are set) or signal:N",
    ),
];

/// All commands, in the order in which the help shows them.
pub const COMMANDS: &[Command] = &[
    Command {
        name: "run",
        usage: &[
            "[OPTIONS] SOURCE... [COMPILER FLAGS] [-- ARGS]",
            "[OPTIONS] PROGRAM [ARGS]",
        ],
        summary: "run a program, or compile and run sources, and report the bugs it shows",
        about: "Names that end in .c, .cc, .cpp, .cxx, .c++ or .C are compiled first, with whatever stands between them \
            and --. Anything else is a program that was built with deadheat cc or deadheat c++.\n\
            Exit status: the program's own when nothing was found (128+N when signal N killed it), 1 (see --exit-code) \
            when bugs were found, 2 when Deadheat itself failed.",
        options: ALL,
        own: SPLIT,
        hidden: false,
    },
    Command {
        name: "record",
        usage: &["[-o FILE.dht] [OPTIONS] PROGRAM [ARGS]"],
        summary: "run a program and keep what its threads did, to be checked later",
        about: "PROGRAM was built with deadheat cc or deadheat c++; sources are compiled as deadheat run does. \
            deadheat check FILE.dht then finds what a run would have found. The exit status is the program's own.",
        options: &[
            Key::Quiet,
            Key::LockOrder,
            Key::Deadlock,
            Key::Misuse,
            Key::ThreadLeaks,
            Key::SignalUnsafe,
        ],
        own: &[
            own(
                "--output",
                "FILE",
                "where to write the trace, also -o FILE (deadheat.dht if left out)",
            ),
            WHEN_BEHIND,
            IF_CHECKER_DIES,
        ],
        hidden: false,
    },
    Command {
        name: "trace",
        usage: &[
            "stat APP.dht",
            "dump APP.dht [-o APP.txt]",
            "cut APP.dht -o PART.dht [--threads 0,1] [--time FROM..TO] [--memory FROM..TO]",
            "export APP.dht [-o APP.std]",
            "import FILE(.txt|.std) -o APP.dht",
        ],
        summary: "look into a recorded execution, cut it, or exchange it with other tools",
        about: "stat counts events by kind and thread. dump writes one event a line (docs/traces.md has the grammar), and \
            import reads that back exactly. cut keeps all synchronization, so that the order stays what it was, and only \
            the accesses that the flags name. export writes RAPID's STD format, import reads that, too.",
        options: &[],
        own: &[
            own("--output", "FILE", "where to write, also -o FILE"),
            own("--threads", "LIST", "cut: accesses of these threads"),
            own(
                "--time",
                "FROM..TO",
                "cut: accesses between the acts with these numbers",
            ),
            own("--memory", "FROM..TO", "cut: accesses to these addresses"),
        ],
        hidden: false,
    },
    Command {
        name: "cc",
        usage: &["[--compiler NAME] COMPILER ARGUMENTS"],
        summary: "compile and link C as gcc or clang would, instrumented",
        about: "Everything but a leading --compiler is the compiler's. DEADHEAT_CC names the compiler too.",
        options: &[Key::Compiler],
        own: &[],
        hidden: false,
    },
    Command {
        name: "c++",
        usage: &["[--compiler NAME] COMPILER ARGUMENTS"],
        summary: "the same for C++",
        about: "Everything but a leading --compiler is the compiler's. DEADHEAT_CXX names the compiler too.",
        options: &[Key::Compiler],
        own: &[],
        hidden: false,
    },
    Command {
        name: "cargo",
        usage: &[
            "[OPTIONS] test|run|bench|build|... [CARGO ARGUMENTS]",
            "[OPTIONS] nextest run [ARGUMENTS]",
            "clean",
        ],
        summary: "check Rust programs: what cargo deadheat does",
        about: "cargo deadheat test is cargo test with everything that runs instrumented, and one report at the end. What \
            it builds goes to target/deadheat. The first use prepares the toolchain's standard library; clean removes \
            that and target/deadheat.\n\
            Exit status: cargo's own when nothing was found, 1 (see --exit-code) when bugs were found, 2 when Deadheat \
            itself failed.",
        options: CARGO,
        own: &[],
        hidden: false,
    },
    Command {
        name: "check",
        usage: &["[OPTIONS] APP.dht"],
        summary: "find the races of a recorded execution, with any detector, on several cores",
        about: "APP.dht is what deadheat record wrote, or an execution in the text form of deadheat trace dump. The findings \
            are those of a run that checks while it goes. fasttrack, djit and goldilocks are exact and must agree; \
            eraser looks for memory that no lock guards, which may raise false alarms: beside an exact one, what it alone \
            sees is only counted.\n\
            Exit status: 0 when nothing was found, 1 (see --exit-code) when bugs were found, 2 when Deadheat itself failed.",
        options: CHECK,
        own: &[
            own(
                "--detector",
                "LIST",
                "fasttrack (the default), djit, goldilocks, eraser, some of them with commas, or all",
            ),
            own(
                "--jobs",
                "N",
                "threads that check, each its part of the memory; the default is one for each core",
            ),
            own(
                "--engine",
                "cpu|gpu|gpu,cpu",
                "where it is checked; gpu,cpu takes the cores if there is no GPU (the default is cpu)",
            ),
            own(
                "--frames",
                "carried|alone",
                "alone checks each 1024 events by themselves, as KUDA does: faster, and \
                misses what crosses their ends",
            ),
        ],
        hidden: false,
    },
    Command {
        name: "report",
        usage: &["[OPTIONS] FINDINGS.json"],
        summary: "write a JSON report again in another format",
        about: "FINDINGS.json is what --format json wrote; - reads it from standard input. Goes to standard output \
            unless --log says otherwise.",
        options: SHOW,
        own: &[],
        hidden: false,
    },
    Command {
        name: "explain",
        usage: &["[OPTIONS] N [FINDINGS.json]"],
        summary: "explain finding number N: what happened, why it is a bug, how to fix it",
        about: "Without FINDINGS.json it is about the last run that found something.",
        options: &[Key::Log, Key::Color, Key::SourceLines],
        own: &[],
        hidden: false,
    },
    Command {
        name: "suppressions",
        usage: &["--from FINDINGS.json [--log FILE]"],
        summary: "print suppressions for the findings of a JSON report",
        about: "Save the output and pass it with --suppressions; edit the comments to say why each is there.",
        options: &[Key::Log],
        own: &[OwnFlag {
            name: "--from",
            meta: "FILE",
            help: "the JSON report; without it, the last run that found something",
        }],
        hidden: false,
    },
    Command {
        name: "gpu",
        usage: &[
            "check FILE(.cu|.cl|.ptx) [OPTIONS]",
            "run [OPTIONS] PROGRAM [ARGS]",
            "cc FILES(.cu) [COMPILER FLAGS] -o PROGRAM",
            "instrument FILE(.ptx|.cu|.cl) [--kernel NAME] [--scheme addr|stmt] [-o OUT.ptx]",
            "ptx FILE(.cu|.cl)",
        ],
        summary: "find races in GPU kernels, without a GPU",
        about: "check runs the kernels of a file, run a whole CUDA program that cc built, instrument writes PTX that \
            checks itself, ptx prints what is checked. deadheat gpu --help tells more. The other options of Deadheat do \
            not concern it.",
        options: &[],
        own: GPU,
        hidden: false,
    },
    Command {
        name: "env",
        usage: &["[--shell | --cmake | --meson]"],
        summary: "print what makes a build system compile with Deadheat",
        about: "--shell: eval \"$(deadheat env --shell)\". --cmake: a toolchain file. --meson: a native file.",
        options: &[],
        own: &[
            OwnFlag {
                name: "--shell",
                meta: "",
                help: "CC and CXX for make and configure (the default)",
            },
            OwnFlag {
                name: "--cmake",
                meta: "",
                help: "a CMake toolchain file",
            },
            OwnFlag {
                name: "--meson",
                meta: "",
                help: "a Meson native file",
            },
        ],
        hidden: false,
    },
    Command {
        name: "collect",
        usage: &["--fd N"],
        summary: "what the runtime starts when a program is run on its own",
        about: "Reads the raw stream from descriptor N and reports. Takes its options from DEADHEAT_OPTIONS and \
            deadheat.toml.",
        options: ALL,
        own: &[OwnFlag {
            name: "--fd",
            meta: "N",
            help: "the descriptor of the stream",
        }],
        hidden: true,
    },
    Command {
        name: "completions",
        usage: &["bash|zsh|fish"],
        summary: "print completions for a shell",
        about: "bash: source <(deadheat completions bash)",
        options: &[],
        own: &[],
        hidden: false,
    },
    Command {
        name: "man",
        usage: &[""],
        summary: "print the manual page",
        about: "deadheat man | man -l -",
        options: &[],
        own: &[],
        hidden: false,
    },
    Command {
        name: "help",
        usage: &["[COMMAND]"],
        summary: "print this help, or that of a command",
        about: "",
        options: &[],
        own: &[],
        hidden: false,
    },
];

/// The command of that name.
#[must_use]
pub fn command(name: &str) -> Option<&'static Command> {
    COMMANDS.iter().find(|c| c.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_where_their_keys_say() {
        for (at, spec) in OPTIONS.iter().enumerate() {
            assert_eq!(spec.key as usize, at, "{}", spec.name);
        }
    }

    #[test]
    fn names_are_told_apart() {
        let mut names: Vec<&str> = OPTIONS
            .iter()
            .flat_map(|o| o.tsan.iter().copied().chain([o.name]))
            .collect();
        names.retain(|n| !["color", "suppressions"].contains(n)); // the same word in both worlds
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    #[test]
    fn defaults_are_values() {
        for spec in OPTIONS.iter().filter(|s| !s.default.is_empty()) {
            crate::options::parse_value(spec, spec.default).expect(spec.name);
        }
    }
}

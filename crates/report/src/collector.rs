//! Reads the raw stream and keeps one finding per bug, however often the program shows it.

mod finish;

use crate::merge::Key;
use crate::raw::{self, Event};
use crate::resolve::Builder;
use crate::rust_test;
use crate::suppress::Suppressions;
use crate::symbolize::{Mapped, Symbolized, Symbolizer};
use crate::trim::trim;
use crate::words;
use deadheat_model::{Finding, FindingId, Loss, Module, Program, Thread, ThreadId, ThreadKind};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;

/// What the collector is told before the program starts.
#[derive(Clone, Debug)]
pub struct Settings {
    pub suppressions: Suppressions,
    /// Folders with separate debug files.
    pub debug_roots: Vec<PathBuf>,
    /// Whether rules that silenced nothing are listed in the report's notes.
    pub list_unused_suppressions: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            suppressions: Suppressions::default(),
            debug_roots: vec![PathBuf::from("/usr/lib/debug")],
            list_unused_suppressions: false,
        }
    }
}

/// How the program ended, as its parent saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Exited(i32),
    Signalled(i32),
    /// Nobody waited for it: what the stream says counts.
    Unknown,
}

/// What a line was good for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum Reply {
    /// No finding.
    Nothing,
    /// A bug not seen before. `shown` is false if a suppression silences it; then it has no number.
    NewFinding {
        id: Option<FindingId>,
        shown: bool,
        headline: String,
    },
    /// A bug that is already known.
    Known { shown: bool },
    /// The program has options of its own, in ThreadSanitizer's words, and waits for those that hold.
    Options { text: String },
}

/// One bug and where it stands.
enum Slot {
    Shown(Box<Finding>),
    /// Index of the rule that silenced it.
    Silenced(usize),
}

/// Seen under one number of the runtime.
struct Seen {
    slot: usize,
    count: u64,
}

/// What is known of one process; a fork begins with a copy of what its parent was.
#[derive(Clone, Default)]
struct Process {
    pid: u64,
    /// Index of the process that forked it.
    parent: Option<usize>,
    threads: HashMap<u64, Thread>,
    created: HashMap<u64, Vec<Symbolized>>,
    /// Where threads were created, as far as nobody had to know: most runs find nothing, and reading what the compiler
    /// says of the program takes longer than many of them.
    unread: BTreeMap<u64, Vec<u64>>,
}

/// Makes a [`Report`] out of the raw stream.
pub struct Collector {
    settings: Settings,
    symbolizer: Symbolizer,
    started: bool,
    ended: Option<Option<i32>>,
    program: Program,
    runtime_version: String,
    /// The process that was started, then one per fork.
    processes: Vec<Process>,
    /// Index of the one that the line at hand is about.
    process: usize,
    /// In the order in which they were told.
    all_threads: Vec<(usize, u64)>,
    modules: Vec<Module>,
    known_modules: HashSet<String>,
    slots: Vec<Slot>,
    keys: HashMap<(Key, Option<usize>), usize>,
    seen: HashMap<(usize, u64), Seen>,
    shown: u64,
    losses: Vec<Loss>,
    unreadable: Option<String>,
    notes: Vec<String>,
    stats: BTreeMap<String, f64>,
}

impl Collector {
    pub fn new(settings: Settings) -> Collector {
        Collector {
            symbolizer: Symbolizer::new(settings.debug_roots.clone()),
            settings,
            started: false,
            ended: None,
            program: Program::default(),
            runtime_version: String::new(),
            processes: vec![Process::default()],
            process: 0,
            all_threads: Vec::new(),
            modules: Vec::new(),
            known_modules: HashSet::new(),
            slots: Vec::new(),
            keys: HashMap::new(),
            seen: HashMap::new(),
            shown: 0,
            losses: Vec::new(),
            unreadable: None,
            notes: Vec::new(),
            stats: BTreeMap::new(),
        }
    }

    /// Whether the runtime has said anything: if not, the program was not built with Deadheat.
    pub fn started(&self) -> bool {
        self.started
    }

    /// Whether the runtime saw the program's exit.
    pub fn ended(&self) -> bool {
        self.ended.is_some()
    }

    /// How many bugs would be reported now.
    pub fn shown(&self) -> u64 {
        self.shown
    }

    /// Silences more than the settings say.
    pub fn suppress(&mut self, rules: Suppressions) {
        self.settings.suppressions.extend(rules);
    }

    /// Takes one line. Never fails: what cannot be read is counted and told in the report.
    pub fn line(&mut self, line: &str) -> Reply {
        if line.trim().is_empty() {
            return Reply::Nothing;
        }
        if let Some(pid) = raw::sender(line) {
            self.switch(pid);
        }
        match raw::parse(line) {
            Ok(event) => self.event(event),
            Err(error) => {
                if self.unreadable.is_none() {
                    self.unreadable = Some(format!(
                        "the first line that could not be read ({error}): {}",
                        excerpt(line)
                    ));
                }
                self.lose("lines from the runtime that could not be read");
                Reply::Nothing
            }
        }
    }

    fn event(&mut self, event: Event) -> Reply {
        match event {
            Event::Start(start) => self.start(start),
            Event::Module(module) => self.module(&module),
            Event::Thread(thread) => self.thread(thread),
            Event::Strand {} => {}
            Event::ThreadName { id, name } => {
                let threads = &mut self.processes[self.process].threads;
                if let Some(thread) = threads.get_mut(&id) {
                    thread.name = name;
                }
            }
            Event::Suppressions { text } => {
                match Suppressions::parse("__tsan_default_suppressions", &text) {
                    Ok(rules) => self.settings.suppressions.extend(rules),
                    Err(error) => self.note(format!("{error}; these suppressions are not used")),
                }
            }
            Event::Options { text } => return Reply::Options { text },
            Event::Finding(finding) => return self.finding(*finding),
            Event::Again { id, count } => self.again(id, count),
            Event::Loss { what, count } => self.set_loss(what, count),
            Event::Note { text } => self.note(text),
            Event::Fork { pid, parent } => self.fork(pid, parent),
            Event::Stats(counters) => {
                for (name, value) in counters {
                    if let Some(number) = value.as_f64().filter(|_| name != "pid") {
                        self.stats.insert(name, number);
                    }
                }
            }
            Event::End { status } if self.process == 0 => self.ended = Some(status),
            Event::End { .. } => {}
        }
        Reply::Nothing
    }

    /// The line at hand comes from this process.
    fn switch(&mut self, pid: u64) {
        // Numbers of processes are used again: the latest is meant.
        match self.processes.iter().rposition(|known| known.pid == pid) {
            Some(process) => self.process = process,
            None => self.fork(pid, 0),
        }
    }

    fn fork(&mut self, pid: u64, parent: u64) {
        let from = self
            .processes
            .iter()
            .rposition(|known| known.pid == parent && parent != 0)
            .unwrap_or(self.process);
        let child = Process {
            pid,
            parent: Some(from),
            ..self.processes[from].clone()
        };
        self.process = self.processes.len();
        self.processes.push(child);
    }

    /// A finding was seen again, perhaps by a fork of the process that told of it.
    fn again(&mut self, id: u64, count: u64) {
        let mut from = Some(self.process);
        while let Some(process) = from {
            if let Some(slot) = self.seen.get(&(process, id)).map(|seen| seen.slot) {
                let seen = self
                    .seen
                    .entry((self.process, id))
                    .or_insert(Seen { slot, count: 0 });
                seen.count = seen.count.max(count);
                return;
            }
            from = self.processes[process].parent;
        }
    }

    fn start(&mut self, start: raw::Start) {
        self.processes[0].pid = start.pid;
        self.started = true;
        if start.version > 1 {
            self.note(format!(
                "the runtime speaks version {} of the raw stream and this deadheat version 1; rebuild the program \
                 with `deadheat cc`",
                start.version
            ));
        }
        self.program.path = start.exe;
        self.program.argv = start.argv;
        self.program.pid = start.pid;
        self.program.cwd = start.cwd;
        self.runtime_version = start.runtime;
    }

    fn module(&mut self, module: &raw::Module) {
        // What lay there before is gone: what was created in it must be read first.
        if self
            .symbolizer
            .is_taken(module.start, module.end, &module.path)
        {
            self.read_created();
        }
        self.symbolizer.map(Mapped {
            path: module.path.clone(),
            bias: module.bias,
            start: module.start,
            end: module.end,
            build_id: module.build_id.clone(),
            exact: module.exact.clone(),
            tls: module.tls,
        });
        if self.known_modules.insert(module.path.clone()) {
            self.modules.push(Module {
                path: module.path.clone(),
                build_id: module.build_id.clone(),
                instrumented: module.instrumented,
            });
        }
    }

    /// Reads where the threads of the process at hand were created.
    fn read_created(&mut self) {
        let unread = std::mem::take(&mut self.processes[self.process].unread);
        for (id, stack) in unread {
            let created = self.symbolizer.stack(&stack);
            let process = &mut self.processes[self.process];
            let Some(thread) = process.threads.get_mut(&id) else {
                continue;
            };
            let parent = thread.parent;
            let test = rust_test::of_stack(&created);
            let created = trim(created);
            thread.created = created.iter().map(|entry| entry.frame.clone()).collect();
            process.created.insert(id, created);
            if let (Some(parent), Some(test)) = (parent, test) {
                self.name_after_test(parent.0, &test);
            }
        }
    }

    fn thread(&mut self, raw: raw::Thread) {
        let main = raw.id == 0;
        let thread = Thread {
            id: ThreadId(raw.id),
            name: self.thread_name(&raw.name, main),
            parent: raw.parent.filter(|_| !main).map(ThreadId),
            tid: raw.tid,
            kind: match raw.kind.as_str() {
                "fiber" => ThreadKind::Fiber,
                _ => ThreadKind::Thread,
            },
            created: Vec::new(),
        };
        // A fork has its thread from its parent; it is listed once.
        let process = &mut self.processes[self.process];
        if process
            .threads
            .get(&raw.id)
            .is_none_or(|known| known.tid != thread.tid)
        {
            self.all_threads.push((self.process, raw.id));
        }
        process.unread.insert(raw.id, raw.created);
        process.threads.insert(raw.id, thread);
    }

    /// Threads inherit the program's name; that tells nothing about them.
    fn thread_name(&self, name: &str, main: bool) -> String {
        if main {
            return "main".to_owned();
        }
        let program = self.program.path.rsplit('/').next().unwrap_or_default();
        let short: String = program.chars().take(15).collect();
        if name == short {
            String::new()
        } else {
            name.to_owned()
        }
    }

    /// Gives a thread that runs a test of a Rust program the whole name of it.
    fn name_after_test(&mut self, thread: u64, test: &str) {
        if let Some(thread) = self.processes[self.process].threads.get_mut(&thread)
            && rust_test::is_short_for(&thread.name, test)
        {
            thread.name = test.to_owned();
        }
    }

    fn finding(&mut self, raw: raw::Finding) -> Reply {
        let id = raw.id;
        self.read_created();
        for access in &raw.accesses {
            if let Some(test) = rust_test::of_stack(&self.symbolizer.stack(&access.stack)) {
                self.name_after_test(access.thread, &test);
            }
        }
        let builder = Builder {
            symbolizer: &mut self.symbolizer,
            threads: &self.processes[self.process].threads,
            created: &self.processes[self.process].created,
            cwd: &self.program.cwd,
        };
        let mut built = match builder.build(raw) {
            Ok(built) => built,
            Err(what) => {
                self.lose(&what);
                return Reply::Nothing;
            }
        };
        let rule = self.settings.suppressions.matching(&built.evidence());
        // What a rule silences never stands for what it does not.
        let key = (Key::of(&built.finding), rule);
        if let Some(&slot) = self.keys.get(&key) {
            self.count(id, slot);
            let shown = matches!(self.slots.get(slot), Some(Slot::Shown(_)));
            return Reply::Known { shown };
        }
        let headline = headline(&built.finding, &self.program.cwd);
        let slot = self.slots.len();
        self.keys.insert(key, slot);
        self.count(id, slot);
        match rule {
            Some(rule) => {
                self.slots.push(Slot::Silenced(rule));
                Reply::NewFinding {
                    id: None,
                    shown: false,
                    headline,
                }
            }
            None => {
                self.shown += 1;
                let number = FindingId(self.shown);
                built.finding.id = number;
                let process = &self.processes[self.process];
                built.finding.pid = process.parent.map(|_| process.pid);
                self.slots.push(Slot::Shown(Box::new(built.finding)));
                Reply::NewFinding {
                    id: Some(number),
                    shown: true,
                    headline,
                }
            }
        }
    }

    fn count(&mut self, id: u64, slot: usize) {
        self.seen
            .entry((self.process, id))
            .and_modify(|seen| seen.count = seen.count.saturating_add(1))
            .or_insert(Seen { slot, count: 1 });
    }

    fn lose(&mut self, what: &str) {
        match self.losses.iter_mut().find(|loss| loss.what == what) {
            Some(loss) => loss.count = loss.count.saturating_add(1),
            None => self.set_loss(what.to_owned(), 1),
        }
    }

    fn set_loss(&mut self, what: String, count: u64) {
        match self.losses.iter_mut().find(|loss| loss.what == what) {
            Some(loss) => loss.count = count,
            None => self.losses.push(Loss { what, count }),
        }
    }

    fn note(&mut self, text: String) {
        if !self.notes.contains(&text) {
            self.notes.push(text);
        }
    }
}

/// One line for the moment it is found.
fn headline(finding: &Finding, cwd: &str) -> String {
    let places: Vec<String> = finding
        .accesses
        .iter()
        .map(|access| {
            let place = words::spot(&access.stack).map(|frame| words::line_of(frame, cwd));
            format!(
                "{} {} at {}",
                access.thread.id,
                access.kind.verb(),
                place.unwrap_or_else(|| "an unknown place".to_owned())
            )
        })
        .chain(
            finding
                .stacks
                .iter()
                .filter_map(|entry| words::spot(&entry.stack))
                .map(|frame| words::line_of(frame, cwd)),
        )
        .take(4)
        .collect();
    if places.is_empty() {
        finding.title.clone()
    } else {
        format!("{} ({})", finding.title, places.join("; "))
    }
}

fn excerpt(line: &str) -> String {
    let mut text: String = line.chars().filter(|c| !c.is_control()).take(160).collect();
    if text.len() < line.len() {
        text.push_str("...");
    }
    text
}

/// `SIGSEGV` and its like.
pub(crate) fn signal_name(signal: i32) -> String {
    let name = match signal {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        6 => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        13 => "SIGPIPE",
        14 => "SIGALRM",
        15 => "SIGTERM",
        other => return format!("signal {other}"),
    };
    format!("signal {signal} ({name})")
}

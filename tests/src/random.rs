//! Random multithreaded C programs whose races are known: traces of the generator, written as programs that follow
//! them step by step, each event on a line of its own, and judged by the naive detector.
//!
//! Condition variables, barriers and heap blocks are left to the written programs: their events have no step of their
//! own in a real program.

use crate::build::{Tool, compile_file};
use crate::directive::Compiler;
use crate::process::{run, tail};
use crate::seen::{Seen, from_report};
use deadheat_detect::naive::Naive;
use deadheat_detect::{Race, racing_bytes};
use deadheat_trace::{
    Action, Addr, EventId, LoadOrder, Place, Range, Shape, Strand, Trace, generate,
};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// A family of random programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    Small,
    Atomics,
    Disciplined,
    Large,
}

impl Family {
    pub const ALL: [Family; 4] = [
        Family::Small,
        Family::Atomics,
        Family::Disciplined,
        Family::Large,
    ];

    /// The word in the names of tests.
    pub const fn name(self) -> &'static str {
        match self {
            Family::Small => "small",
            Family::Atomics => "atomics",
            Family::Disciplined => "disciplined",
            Family::Large => "large",
        }
    }

    fn shape(self) -> Shape {
        let shape = match self {
            Family::Small => Shape::small(),
            Family::Atomics => Shape::atomics(),
            Family::Disciplined => Shape::disciplined(),
            Family::Large => Shape {
                decisions: 120,
                ..Shape::large()
            },
        };
        let mut shape = Shape {
            blocks: 0,
            condvars: 0,
            barriers: 0,
            ..shape
        };
        (shape.mix.condvar, shape.mix.barrier, shape.mix.heap) = (0, 0, 0);
        shape
    }

    /// How many traces one program follows, one after the other.
    const fn traces(self) -> u64 {
        match self {
            Family::Large => 3,
            Family::Small | Family::Atomics | Family::Disciplined => 12,
        }
    }
}

/// One random program: its source, and what the lines mean.
#[derive(Debug)]
pub struct Drawn {
    pub source: String,
    traces: Vec<Trace>,
    /// Source line to trace and event.
    lines: BTreeMap<u32, (usize, EventId)>,
}

/// Draws the program with this number.
pub fn draw(family: Family, number: u64) -> Drawn {
    let seeds = (0..family.traces()).map(|k| number * 1000 + k);
    let traces: Vec<Trace> = seeds.map(|seed| generate(seed, &family.shape())).collect();
    let mut writer = Writer::default();
    writer.line("#include <sanitizer/tsan_interface.h>");
    writer.line("#include \"start.h\"");
    for size in 1..=16 {
        writer.line(&format!(
            "struct bytes{size} {{ char of[{size}]; }} __attribute__((packed));"
        ));
    }
    for (index, trace) in traces.iter().enumerate() {
        writer.trace(index, trace);
    }
    writer.line("int main(void)");
    writer.line("{");
    for index in 0..traces.len() {
        writer.line(&format!("    program{index}_t0(0);"));
    }
    writer.line("    return 0;");
    writer.line("}");
    Drawn {
        source: writer.text,
        traces,
        lines: writer.lines,
    }
}

#[derive(Default)]
struct Writer {
    text: String,
    count: u32,
    lines: BTreeMap<u32, (usize, EventId)>,
    /// Events of all traces so far: the turn of the next one.
    turn: usize,
}

impl Writer {
    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
        self.count += 1;
    }

    fn trace(&mut self, index: usize, trace: &Trace) {
        let memory = Layout::new(trace);
        self.line(&format!(
            "_Alignas(16) char memory{index}[{}];",
            memory.size()
        ));
        self.objects(index, trace);
        let strands: BTreeSet<Strand> = trace.events.iter().map(|event| event.strand).collect();
        // Whoever is forked comes first, so that the name is known.
        for strand in strands.iter().rev() {
            self.line(&format!("void *program{index}_{strand}(void *arg)"));
            self.line("{");
            for (id, event) in trace.iter().filter(|(_, event)| event.strand == *strand) {
                let what = statement(index, &memory, event.action);
                self.lines.insert(self.count + 1, (index, id));
                let turn = self.turn + id.0;
                self.line(&format!("    hidden_reach({turn}); {what} hidden_pass();"));
            }
            self.line("    return 0;");
            self.line("}");
        }
        self.turn += trace.events.len();
    }

    /// Declares the locks, channels and threads that the trace uses.
    fn objects(&mut self, index: usize, trace: &Trace) {
        let mut declared = BTreeSet::new();
        for event in &trace.events {
            let line = match event.action {
                Action::Lock(m) => {
                    format!("pthread_mutex_t lock{index}_{m} = PTHREAD_MUTEX_INITIALIZER;")
                }
                Action::ReadLock(rw) | Action::WriteLock(rw) => {
                    format!("pthread_rwlock_t lock{index}_{rw} = PTHREAD_RWLOCK_INITIALIZER;")
                }
                Action::Release(ch) | Action::Acquire(ch) => format!("char channel{index}_{ch};"),
                Action::Fork(strand) => format!("pthread_t thread{index}_{strand};"),
                _ => continue,
            };
            declared.insert(line);
        }
        for line in declared {
            self.line(&line);
        }
    }
}

/// Puts the addresses of a trace into one array.
struct Layout {
    /// Lines of 16 bytes that the trace uses.
    lines: Vec<u64>,
}

impl Layout {
    fn new(trace: &Trace) -> Layout {
        let ranges = trace.events.iter().filter_map(|event| range(event.action));
        let lines = ranges.flat_map(|range| range.bounds().0 / 16..=(range.bounds().1 - 1) / 16);
        Layout {
            lines: lines.collect::<BTreeSet<u64>>().into_iter().collect(),
        }
    }

    fn size(&self) -> usize {
        self.lines.len().max(1) * 16
    }

    fn offset(&self, addr: Addr) -> u64 {
        let line = self.lines.partition_point(|line| *line < addr.0 / 16) as u64;
        line * 16 + addr.0 % 16
    }
}

fn range(action: Action) -> Option<Range> {
    match action {
        Action::Read(range) | Action::Write(range) => Some(range),
        Action::Load(place, _) | Action::Store(place, _) | Action::Rmw(place, _) => {
            Some(place.range())
        }
        _ => None,
    }
}

fn statement(index: usize, memory: &Layout, action: Action) -> String {
    let atomic = |place: Place| {
        let kind = match place.width().bytes() {
            1 => "char",
            2 => "short",
            4 => "int",
            _ => "long",
        };
        format!(
            "({kind} *)(memory{index} + {})",
            memory.offset(place.addr())
        )
    };
    let plain = |range: Range| {
        let kind = match range.size() {
            1 => "char".to_owned(),
            size => format!("struct bytes{size}"),
        };
        (
            kind,
            format!("(memory{index} + {})", memory.offset(range.addr())),
        )
    };
    let order = |word: &str| format!("__ATOMIC_{}", word.to_uppercase());
    match action {
        // Who joins waits, too.
        Action::Begin | Action::End | Action::Await(_) => String::new(),
        // The handle goes around the detector: who joins need not know who forked.
        Action::Fork(s) => format!(
            "{{ pthread_t made; must(pthread_create(&made, 0, program{index}_{s}, 0) == 0); \
             hidden_poke(&thread{index}_{s}, (long)made); }}"
        ),
        Action::Detach(s) => format!("pthread_detach((pthread_t)hidden_peek(&thread{index}_{s}));"),
        Action::Join(s) => format!("join((pthread_t)hidden_peek(&thread{index}_{s}));"),
        Action::Lock(m) => format!("pthread_mutex_lock(&lock{index}_{m});"),
        Action::Unlock(m) => format!("pthread_mutex_unlock(&lock{index}_{m});"),
        Action::ReadLock(rw) => format!("pthread_rwlock_rdlock(&lock{index}_{rw});"),
        Action::WriteLock(rw) => format!("pthread_rwlock_wrlock(&lock{index}_{rw});"),
        Action::ReadUnlock(rw) | Action::WriteUnlock(rw) => {
            format!("pthread_rwlock_unlock(&lock{index}_{rw});")
        }
        Action::Release(ch) => format!("__tsan_release(&channel{index}_{ch});"),
        Action::Acquire(ch) => format!("__tsan_acquire(&channel{index}_{ch});"),
        Action::Load(place, how) => {
            // A relaxed load must not be dropped: its value is kept.
            let _: LoadOrder = how;
            format!(
                "{{ long kept = __atomic_load_n({}, {}); __asm__ volatile(\"\" : : \"r\"(kept)); }}",
                atomic(place),
                order(how.word())
            )
        }
        Action::Store(place, how) => format!(
            "__atomic_store_n({}, 1, {});",
            atomic(place),
            order(how.word())
        ),
        Action::Rmw(place, how) => format!(
            "__atomic_fetch_add({}, 1, {});",
            atomic(place),
            order(how.word())
        ),
        Action::Fence(how) => format!("__atomic_thread_fence({});", order(how.word())),
        Action::Read(range) => {
            let (kind, place) = plain(range);
            format!(
                "{{ {kind} kept = *({kind} *){place}; __asm__ volatile(\"\" : : \"m\"(kept)); }}"
            )
        }
        Action::Write(range) => {
            let (kind, place) = plain(range);
            format!("{{ static const {kind} zero; *({kind} *){place} = zero; }}")
        }
        // The shapes above draw none of these.
        Action::Wait(..)
        | Action::Woken(..)
        | Action::Notify(_)
        | Action::Arrive(_)
        | Action::Leave(_)
        | Action::ReleaseAt(_)
        | Action::AcquireAt(_)
        | Action::ReplaceAt(_)
        | Action::AtomicRead(_)
        | Action::AtomicWrite(_) => String::new(),
        Action::Alloc(_) | Action::Free(_) => String::new(),
    }
}

/// Builds and runs the program, and compares its findings with the naive detector's races.
pub fn check(
    deadheat: &Path,
    family: Family,
    number: u64,
    compiler: Compiler,
    include: &Path,
    folder: &Path,
) -> Result<(), String> {
    let drawn = draw(family, number);
    let source = Source {
        text: &drawn.source,
        level: "-O1",
        options: "lock-order=off",
    };
    findings(deadheat, &source, compiler, include, folder, |seen| {
        judge(&drawn, seen)
    })
}

/// A drawn program, how far it is optimized, and the options that it runs with.
pub(crate) struct Source<'a> {
    pub text: &'a str,
    pub level: &'a str,
    pub options: &'a str,
}

/// Builds and runs a drawn program and lets `judge` see its findings. What was made for it stays if that finds something wrong.
pub(crate) fn findings(
    deadheat: &Path,
    source: &Source,
    compiler: Compiler,
    include: &Path,
    folder: &Path,
    judge: impl FnOnce(&[Seen]) -> Result<(), String>,
) -> Result<(), String> {
    let text = |error: std::io::Error| format!("{}: {error}", folder.display());
    std::fs::create_dir_all(folder).map_err(text)?;
    let (file, program) = (folder.join("random.c"), folder.join("program"));
    std::fs::write(&file, source.text).map_err(text)?;
    let tool = Tool::Deadheat(deadheat.to_owned());
    compile_file(
        &tool,
        compiler,
        source.level,
        &file,
        include,
        &program,
        folder,
    )?;
    let log = folder.join("findings.json");
    let mut command = Command::new(deadheat);
    command
        .args(["run", "--format", "json", "--log"])
        .arg(&log)
        .arg(&program);
    command
        .env_remove("TSAN_OPTIONS")
        .env("DEADHEAT_OPTIONS", source.options)
        .current_dir(folder);
    let outcome = run(command, folder, "run", None, Duration::from_secs(60))?;
    let report = std::fs::read_to_string(&log)
        .map_err(|e| format!("no report: {e}\n{}", tail(&outcome.stderr)))?;
    let report = serde_json::from_str(&report)
        .map_err(|error| format!("the report cannot be read: {error}"))?;
    judge(&from_report(&report))?;
    std::fs::remove_dir_all(folder).map_err(text)
}

/// No finding may be false, and every racing byte must be in one.
fn judge(drawn: &Drawn, seen: &[Seen]) -> Result<(), String> {
    let truth: Vec<Vec<Race>> = drawn
        .traces
        .iter()
        .map(|t| deadheat_detect::run(&mut Naive::new(), t))
        .collect();
    let mut found: Vec<BTreeSet<u64>> = vec![BTreeSet::new(); drawn.traces.len()];
    let mut wrong = String::new();
    for finding in seen {
        let events: Vec<(usize, EventId)> = finding
            .accesses
            .iter()
            .filter_map(|a| event_of(drawn, a))
            .collect();
        let pair = match events.as_slice() {
            [(one, a), (two, b)] if one == two && finding.kind == "data-race" => {
                Some((*one, *a.min(b), *a.max(b)))
            }
            _ => None,
        };
        let races = pair.map_or(Vec::new(), |(index, old, new)| {
            truth[index]
                .iter()
                .filter(|race| (race.old, race.new) == (old, new))
                .copied()
                .collect()
        });
        if races.is_empty() {
            let _ = writeln!(wrong, "  FALSE: {finding}");
        }
        if let Some((index, ..)) = pair {
            found[index].extend(racing_bytes(&races));
        }
    }
    for (index, races) in truth.iter().enumerate() {
        for race in races
            .iter()
            .filter(|race| racing_bytes(&[**race]).is_disjoint(&found[index]))
        {
            let line = |id| {
                drawn
                    .lines
                    .iter()
                    .find(|(_, at)| **at == (index, id))
                    .map_or(0, |(line, _)| *line)
            };
            let _ = writeln!(
                wrong,
                "  MISSED: lines {} and {} in {}",
                line(race.old),
                line(race.new),
                race.range
            );
        }
    }
    if wrong.is_empty() {
        Ok(())
    } else {
        Err(format!("the naive detector disagrees\n{wrong}"))
    }
}

fn event_of(drawn: &Drawn, access: &crate::seen::SeenAccess) -> Option<(usize, EventId)> {
    let frame = access.stack.iter().find(|frame| frame.file == "random.c")?;
    drawn.lines.get(&frame.line).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_event_has_a_line_and_a_turn_of_its_own() {
        for family in Family::ALL {
            let drawn = draw(family, 1);
            let events: usize = drawn.traces.iter().map(|trace| trace.events.len()).sum();
            assert_eq!(drawn.lines.len(), events);
            for turn in 0..events {
                assert_eq!(
                    drawn
                        .source
                        .matches(&format!("hidden_reach({turn});"))
                        .count(),
                    1
                );
            }
        }
    }

    #[test]
    fn the_families_race_as_they_should() {
        let racy = |family: Family| {
            let drawn = draw(family, 1);
            let races = |trace: &Trace| !deadheat_detect::run(&mut Naive::new(), trace).is_empty();
            drawn.traces.iter().filter(|trace| races(trace)).count()
        };
        assert_eq!(racy(Family::Disciplined), 0);
        assert!(racy(Family::Small) > 2 && racy(Family::Atomics) > 2);
    }
}

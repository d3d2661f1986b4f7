//! `deadheat trace`: looks into recorded executions, cuts them, and exchanges them with other tools.

use crate::error::{Failure, Result};
use crate::flags::{self, FlagsEnd, Parsed};
use crate::options;
use crate::say::say;
use deadheat_trace::file::{Loss, OpenError, Reader, Written, save};
use deadheat_trace::merge::InOrder;
use deadheat_trace::wire::{Item, Memory, Source, Writer};
use deadheat_trace::{Strand, recorded, std_format};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Runs `deadheat trace ARGS`.
pub fn main(args: &[OsString]) -> Result<ExitCode> {
    let command = options::command("trace").unwrap_or(&options::COMMANDS[0]);
    let parsed = flags::parse(command, args, FlagsEnd::Never)?;
    if parsed.help {
        return crate::print(&crate::docs::command_help(command));
    }
    let words: Vec<String> = parsed
        .rest
        .iter()
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let usage = || {
        Failure::new("deadheat trace needs what to do and a file")
            .next("deadheat trace stat app.dht, or dump, cut, export, import; deadheat help trace tells more")
    };
    let [what, name] = words.as_slice() else {
        return Err(usage());
    };
    let path = Path::new(name);
    match what.as_str() {
        "stat" => stat(path),
        "dump" => text_out(&parsed, path, |reader, mut out| {
            recorded::dump(reader, &mut out)
        }),
        "export" => export(&parsed, path),
        "cut" => cut(&parsed, path),
        "import" => import(&parsed, path),
        _ => Err(usage()),
    }
}

fn open(path: &Path) -> Result<Reader> {
    let shown = path.display();
    let reader = Reader::open(path).map_err(|error| match error {
        OpenError::Io(error) => Failure::new(format!("cannot read {shown}: {error}"))
            .next("deadheat record -o app.dht ./prog writes a trace"),
        OpenError::NoTrace => Failure::new(format!("{shown}: {error}"))
            .next("deadheat record -o app.dht ./prog writes one; deadheat trace import reads text"),
        OpenError::Version(_) => Failure::new(format!("{shown}: {error}"))
            .next("record the program again with this deadheat"),
    })?;
    Ok(reader)
}

/// Says what a file should have held.
fn say_losses(losses: &[Loss], damages: &[String]) {
    for loss in losses {
        say(format_args!("deadheat: {loss}"));
    }
    for damage in damages {
        say(format_args!("deadheat: {damage}"));
    }
}

fn cannot_write(path: &Path, error: &io::Error) -> Failure {
    Failure::new(format!("cannot write {}: {error}", path.display()))
        .next("-o FILE needs a place that can be written, with room")
}

/// Counts of one strand.
#[derive(Default, Clone)]
struct Counts {
    kinds: BTreeMap<String, u64>,
    accesses: u64,
    acts: u64,
    bytes: u64,
    lost: u64,
}

impl Counts {
    fn add(&mut self, item: &Item) {
        match item {
            Item::Touch(touched) => {
                self.accesses += 1;
                self.bytes += touched.range.size();
                *self
                    .kinds
                    .entry(touched.touch.word().to_string())
                    .or_default() += 1;
            }
            Item::Act(act) => {
                self.acts += 1;
                let text = act.action.to_string();
                let word = text.split(' ').next().unwrap_or_default();
                *self.kinds.entry(word.to_string()).or_default() += 1;
            }
            Item::Lost(count) => self.lost += count,
            Item::Memory(..) => {}
        }
    }
}

fn stat(path: &Path) -> Result<ExitCode> {
    let mut reader = open(path)?;
    let file = reader.bytes();
    let stacks = reader.nodes().count();
    let mut lines = Vec::new();
    reader.lines(&mut lines);
    let mut all = Counts::default();
    let mut strands: BTreeMap<Strand, Counts> = BTreeMap::new();
    let mut order = InOrder::new(&mut reader);
    for (strand, item) in order.by_ref() {
        all.add(&item);
        strands.entry(strand).or_default().add(&item);
    }
    let damages = std::mem::take(&mut order.damages);
    let mut out = String::new();
    let events = all.accesses + all.acts;
    let each = match all.accesses {
        0 => String::new(),
        count => format!(", {:.2} bytes of the file each", file as f64 / count as f64),
    };
    out.push_str(&format!(
        "{}: {file} bytes, {events} events of {} threads, {stacks} call stacks, {} lines about the program\n\
         accesses  {} (touching {} bytes){each}\n\
         acts      {}\n",
        path.display(),
        strands.len(),
        lines.len(),
        all.accesses,
        all.bytes,
        all.acts,
    ));
    if all.lost > 0 {
        out.push_str(&format!("dropped   {} accesses\n", all.lost));
    }
    out.push_str("\nby kind\n");
    let mut kinds: Vec<_> = all.kinds.iter().collect();
    kinds.sort_by_key(|&(_, count)| std::cmp::Reverse(*count));
    for (kind, count) in kinds {
        out.push_str(&format!("  {kind:<12} {count:>14}\n"));
    }
    out.push_str("\nby thread         accesses           acts\n");
    for (strand, counts) in &strands {
        let (accesses, acts) = (counts.accesses, counts.acts);
        out.push_str(&format!(
            "  {:<8} {accesses:>15} {acts:>14}\n",
            strand.to_string()
        ));
    }
    crate::print(&out)?;
    say_losses(reader.losses(), &damages);
    Ok(ExitCode::SUCCESS)
}

/// Writes text to where the flags say.
fn text_out(
    parsed: &Parsed,
    path: &Path,
    write: impl FnOnce(&mut Reader, &mut dyn Write) -> io::Result<Vec<String>>,
) -> Result<ExitCode> {
    let mut reader = open(path)?;
    let to = parsed.own("--output").map(PathBuf::from);
    let result = match &to {
        Some(to) => {
            let file = File::create(to).map_err(|error| cannot_write(to, &error))?;
            let mut out = BufWriter::new(file);
            write(&mut reader, &mut out).and_then(|damages| out.flush().map(|()| damages))
        }
        None => {
            let mut out = BufWriter::new(io::stdout().lock());
            write(&mut reader, &mut out).and_then(|damages| out.flush().map(|()| damages))
        }
    };
    match result {
        Ok(damages) => say_losses(reader.losses(), &damages),
        // Whoever reads had enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
        Err(error) => {
            let to = to.unwrap_or_else(|| PathBuf::from("standard output"));
            return Err(cannot_write(&to, &error));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// RAPID's STD, and beside it what its locations stand for, if that is not in themselves.
fn export(parsed: &Parsed, path: &Path) -> Result<ExitCode> {
    let parts = std_format::Parts::of(&mut open(path)?);
    let mut locations = Vec::new();
    let done = text_out(parsed, path, |reader, mut out| {
        let exported = std_format::export(reader, &parts, &mut out)?;
        locations = exported.locations;
        Ok(exported.damages)
    })?;
    if let Some(to) = parsed.own("--output").filter(|_| !locations.is_empty()) {
        let beside = PathBuf::from(format!("{to}.locations"));
        let lines = locations.iter().map(|(n, pc)| format!("{n} {pc:#x}\n"));
        std::fs::write(&beside, lines.collect::<String>())
            .map_err(|error| cannot_write(&beside, &error))?;
        say(format_args!(
            "deadheat: RAPID's locations have 32 bits; {} says which program counters those of {to} stand for",
            beside.display()
        ));
    }
    Ok(done)
}

/// Which accesses are kept.
struct Cut {
    threads: Option<Vec<u32>>,
    /// Numbers of acts.
    time: (u64, u64),
    memory: (u64, u64),
}

impl Cut {
    fn new(parsed: &Parsed) -> Result<Cut> {
        let threads = match parsed.own("--threads") {
            None => None,
            Some(text) => Some(
                text.split(',')
                    .map(|word| word.trim_start_matches('t').parse().ok())
                    .collect::<Option<Vec<u32>>>()
                    .ok_or_else(|| {
                        Failure::new(format!("--threads {text}: numbers with commas, as in 0,3"))
                    })?,
            ),
        };
        Ok(Cut {
            threads,
            time: bounds(parsed, "--time")?,
            memory: bounds(parsed, "--memory")?,
        })
    }

    /// `now` is the number of the last act.
    fn keeps(&self, strand: Strand, now: u64, item: &Item) -> bool {
        match item {
            // What orders stays: without it there would be races that are none.
            Item::Act(_) | Item::Memory(..) => true,
            Item::Lost(_) => self.of_thread(strand),
            Item::Touch(touched) => {
                let (start, end) = touched.range.bounds();
                self.of_thread(strand)
                    && (self.time.0..self.time.1).contains(&now)
                    && start < self.memory.1
                    && self.memory.0 < end
            }
        }
    }

    fn of_thread(&self, strand: Strand) -> bool {
        self.threads
            .as_ref()
            .is_none_or(|threads| threads.contains(&strand.0))
    }
}

/// `FROM..TO`, of which either may be left out.
fn bounds(parsed: &Parsed, flag: &str) -> Result<(u64, u64)> {
    let Some(text) = parsed.own(flag) else {
        return Ok((0, u64::MAX));
    };
    let number = |word: &str, default: u64| match word.strip_prefix("0x") {
        _ if word.is_empty() => Some(default),
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => word.parse().ok(),
    };
    text.split_once("..")
        .and_then(|(from, to)| Some((number(from, 0)?, number(to, u64::MAX)?)))
        .ok_or_else(|| {
            Failure::new(format!(
                "{flag} {text}: two numbers, as in 1000..2000 or 0x7f00.."
            ))
        })
}

fn output(parsed: &Parsed, example: &str) -> Result<PathBuf> {
    parsed.own("--output").map(PathBuf::from).ok_or_else(|| {
        Failure::new("where should the trace be written?").next(format!("deadheat trace {example}"))
    })
}

fn cut(parsed: &Parsed, path: &Path) -> Result<ExitCode> {
    let to = output(parsed, "cut app.dht -o part.dht --threads 0,1")?;
    let cut = Cut::new(parsed)?;
    let mut reader = open(path)?;
    let nodes: Vec<_> = reader.nodes().collect();
    let mut part = Memory::default();
    let mut lines = Vec::new();
    reader.lines(&mut lines);
    lines.into_iter().for_each(|line| part.add_line(line));
    for (node, caller, pc) in nodes {
        part.set_node(node, caller, pc);
    }
    let mut streams: BTreeMap<Strand, (Writer, Vec<u64>)> = BTreeMap::new();
    let mut now = 0;
    let mut order = InOrder::new(&mut reader);
    for (strand, item) in order.by_ref() {
        if let Item::Act(act) = item {
            now = act.number;
        }
        if cut.keeps(strand, now, &item) {
            let (writer, words) = streams.entry(strand).or_default();
            writer.write(&item, words);
        }
    }
    let damages = std::mem::take(&mut order.damages);
    for (strand, (_, words)) in streams {
        part.set_stream(strand, words);
    }
    let written = write(&mut part, &to)?;
    say_losses(reader.losses(), &damages);
    say(format_args!(
        "deadheat: wrote {}: {} accesses and {} acts",
        to.display(),
        written.accesses,
        written.acts
    ));
    Ok(ExitCode::SUCCESS)
}

fn write(memory: &mut Memory, to: &Path) -> Result<Written> {
    // A cut may be read from memory in portions, so that its frames are as short as recorded ones.
    memory.portion = 4096;
    let file = File::create(to).map_err(|error| cannot_write(to, &error))?;
    let (_, written) =
        save(memory, BufWriter::new(file)).map_err(|error| cannot_write(to, &error))?;
    Ok(written)
}

fn import(parsed: &Parsed, path: &Path) -> Result<ExitCode> {
    let to = output(parsed, "import trace.std -o app.dht")?;
    let shown = path.display();
    let text = std::fs::read_to_string(path)
        .map_err(|error| Failure::new(format!("cannot read {shown}: {error}")))?;
    let first = text
        .lines()
        .map(str::trim)
        .find(|line| !line.is_empty() && !line.starts_with('#'));
    let is_std = first.is_some_and(|line| line.contains('|'));
    let wrong = |what: String| {
        Failure::new(format!("{shown}, {what}")).next(
            "the text form is that of deadheat trace dump; RAPID's STD has lines such as T1|r(x)|12",
        )
    };
    let mut memory = if is_std {
        Memory::of(&std_format::import(&text).map_err(wrong)?)
    } else {
        recorded::parse(&text).map_err(wrong)?
    };
    let written = write(&mut memory, &to)?;
    say(format_args!(
        "deadheat: wrote {}: {} accesses and {} acts of {} threads; to check it: deadheat check {0}",
        to.display(),
        written.accesses,
        written.acts,
        written.strands
    ));
    Ok(ExitCode::SUCCESS)
}

//! The command line.

use std::path::PathBuf;
use std::time::Duration;

use crate::catalogue::{self, PROGRAMS, Program};
use crate::error::{Error, Result};
use crate::tool::Tool;

/// What the person wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Table,
    Checking,
    RealPrograms,
    Soak,
    Help,
}

/// The parsed command line.
#[derive(Clone, Debug)]
pub struct Args {
    pub mode: Mode,
    pub programs: Vec<Program>,
    pub tools: Vec<Tool>,
    pub rounds: Option<u32>,
    pub quick: bool,
    pub micro: bool,
    pub threads: u32,
    pub limit: Duration,
    pub seconds: u64,
    pub json: Option<PathBuf>,
    pub results: Option<PathBuf>,
    pub cache: Option<PathBuf>,
    pub deadheat: Option<PathBuf>,
}

impl Args {
    /// How often everything is measured.
    pub fn rounds(&self) -> u32 {
        self.rounds.unwrap_or(if self.quick { 2 } else { 5 })
    }

    /// How often at most, where the best runs do not agree: as often as asked for, if so.
    pub fn most_rounds(&self) -> u32 {
        self.rounds.unwrap_or(if self.quick { 2 } else { 12 })
    }
}

pub const HELP: &str = "\
usage: bench [OPTIONS]                 one table: CPU time and memory of all programs under all tools
       bench checking [OPTIONS]        only its last part: how fast recordings are checked
       bench real-programs [OPTIONS]   build real programs with deadheat cc, drive them, print what Deadheat finds
       bench soak [OPTIONS]            threads, locks, atomics and malloc under Deadheat, with flat memory

  --only NAME,...     programs to run
  --tools NAME,...    native, empty, deadheat, split, tsan, helgrind, drd
  --runs N            interleaved rounds, the best counts (default 5, up to 12 where the two best of Deadheat or of
                      ThreadSanitizer are more than 3 % apart; with --quick 2)
  --quick             small inputs, for CI
  --micro             also nanoseconds per operation; alone with --only none
  --threads N         threads of each program (default 4)
  --limit SECONDS     time limit of one run (default 120)
  --seconds N         how long soak runs (default 600)
  --json FILE         every sample as JSON
  --results DIR       writes DIR/<date>.md and DIR/<date>.json
  --cache DIR         fetched sources and built programs (default target/bench-cache)
  --deadheat FILE     the deadheat command (default: beside this program)
";

/// Parses the arguments after the program's name.
pub fn parse(words: impl Iterator<Item = String>) -> Result<Args> {
    let mut args = Args {
        mode: Mode::Table,
        programs: PROGRAMS.to_vec(),
        tools: Tool::ALL.to_vec(),
        rounds: None,
        quick: false,
        micro: false,
        threads: 4,
        limit: Duration::from_secs(120),
        seconds: 600,
        json: None,
        results: None,
        cache: None,
        deadheat: None,
    };
    let mut words = words.peekable();
    match words.peek().map(String::as_str) {
        Some("checking") => args.mode = Mode::Checking,
        Some("real-programs") => args.mode = Mode::RealPrograms,
        Some("soak") => args.mode = Mode::Soak,
        _ => {}
    }
    if args.mode != Mode::Table {
        words.next();
    }
    while let Some(word) = words.next() {
        let (flag, attached) = match word.split_once('=') {
            Some((f, v)) => (f.to_string(), Some(v.to_string())),
            None => (word, None),
        };
        let mut value = || {
            attached
                .clone()
                .or_else(|| words.next())
                .ok_or_else(|| Error::new(format!("{flag} needs a value; see bench --help")))
        };
        match flag.as_str() {
            "--only" => args.programs = programs(&value()?)?,
            "--tools" => args.tools = tools(&value()?)?,
            "--runs" => args.rounds = Some(number(&flag, &value()?)?.max(1) as u32),
            "--quick" => args.quick = true,
            "--micro" => args.micro = true,
            "--threads" => args.threads = number(&flag, &value()?)?.clamp(1, 64) as u32,
            "--limit" => args.limit = Duration::from_secs(number(&flag, &value()?)?.max(1)),
            "--seconds" => args.seconds = number(&flag, &value()?)?.max(1),
            "--json" => args.json = Some(value()?.into()),
            "--results" => args.results = Some(value()?.into()),
            "--cache" => args.cache = Some(value()?.into()),
            "--deadheat" => args.deadheat = Some(value()?.into()),
            "--help" | "-h" => args.mode = Mode::Help,
            _ => {
                return Err(Error::new(format!(
                    "unknown option {flag}; see bench --help"
                )));
            }
        }
    }
    Ok(args)
}

fn number(flag: &str, text: &str) -> Result<u64> {
    text.parse()
        .map_err(|_| Error::new(format!("{flag} wants a number, not '{text}'")))
}

fn programs(list: &str) -> Result<Vec<Program>> {
    if list == "none" {
        return Ok(Vec::new());
    }
    let all = || PROGRAMS.map(|p| p.name).join(", ");
    list.split(',')
        .map(|n| {
            catalogue::find(n)
                .ok_or_else(|| Error::new(format!("no program '{n}'; there are {}", all())))
        })
        .collect()
}

/// The named tools in the table's order; native is always among them, since all ratios are to it.
fn tools(list: &str) -> Result<Vec<Tool>> {
    let all = || Tool::ALL.map(Tool::name).join(", ");
    let mut named = vec![Tool::Native];
    for name in list.split(',') {
        named.push(
            Tool::from_name(name)
                .ok_or_else(|| Error::new(format!("no tool '{name}'; there are {}", all())))?,
        );
    }
    Ok(Tool::ALL
        .into_iter()
        .filter(|t| named.contains(t))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(line: &str) -> Result<Args> {
        parse(line.split_whitespace().map(str::to_string))
    }

    #[test]
    fn native_is_always_measured() {
        let a =
            args("--tools tsan,deadheat --only fft,lu --runs=3 --quick").expect("good arguments");
        assert_eq!(a.tools, [Tool::Native, Tool::Deadheat, Tool::Tsan]);
        assert_eq!(
            a.programs.iter().map(|p| p.name).collect::<Vec<_>>(),
            ["fft", "lu"]
        );
        assert_eq!((a.rounds, a.quick, a.mode), (Some(3), true, Mode::Table));
    }

    #[test]
    fn mistakes_are_named() {
        for (line, part) in [
            ("--only nothing", "no program"),
            ("--tools x", "no tool"),
            ("--runs x", "a number"),
            ("--runs", "needs a value"),
            ("--x", "--help"),
        ] {
            let error = args(line).expect_err(line).to_string();
            assert!(error.contains(part), "{line}: {error}");
        }
        assert_eq!(args("soak --seconds 5").expect("good").seconds, 5);
    }
}

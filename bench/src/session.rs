//! One measuring session: every program under every tool, several rounds, interleaved, so that a slow minute of the
//! machine hits all tools alike. The best of the rounds counts. A best time that no other run comes near says little, so a
//! program is run again, under all tools alike, until the two best of those that are compared agree.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use crate::catalogue::Program;
use crate::compile;
use crate::error::{Error, Result};
use crate::layout::Layout;
use crate::measure::Ended;
use crate::tool::Tool;
use crate::workload::Run;

/// Two runs agree if the longer one takes no more than so many times the other's time.
pub const AGREEMENT: f64 = 1.03;
/// Tools whose ratio is a goal.
const COMPARED: [Tool; 2] = [Tool::Deadheat, Tool::Tsan];

/// What to measure.
#[derive(Clone, Debug)]
pub struct Plan {
    pub programs: Vec<Program>,
    pub tools: Vec<Tool>,
    pub rounds: u32,
    /// Rounds at most, for programs whose best runs do not agree.
    pub most_rounds: u32,
    /// Rounds for Helgrind and DRD, which take long and whose ratios are large.
    pub valgrind_rounds: u32,
    pub quick: bool,
    pub threads: u32,
    pub limit: Duration,
}

/// All samples of one program under one tool at one size.
#[derive(Clone, Debug, Default)]
pub struct Samples {
    /// Seconds, one for each round.
    pub cpu: Vec<f64>,
    /// KiB, one for each round.
    pub rss: Vec<u64>,
    pub findings: usize,
    /// Of split checking: seconds of the program without the checker, and how many milliseconds the check ended later.
    pub program_cpu: Vec<f64>,
    pub lag: Vec<f64>,
    /// The time limit ended at least one run; the numbers are lower bounds.
    pub over_limit: bool,
}

/// The key of a set of samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// Index in the plan's programs.
    pub program: usize,
    pub tool: Tool,
    pub size: u64,
}

/// Everything that was measured.
#[derive(Clone, Debug)]
pub struct Measured {
    pub plan: Plan,
    pub samples: BTreeMap<Key, Samples>,
}

impl Samples {
    pub fn best_cpu(&self) -> Option<f64> {
        self.cpu.iter().copied().min_by(f64::total_cmp)
    }

    /// Do the two best runs agree?
    fn agrees(&self) -> bool {
        let mut cpu = self.cpu.clone();
        cpu.sort_by(f64::total_cmp);
        self.over_limit || matches!(cpu[..], [best, next, ..] if next <= best * AGREEMENT)
    }

    pub fn best_program_cpu(&self) -> Option<f64> {
        self.program_cpu.iter().copied().min_by(f64::total_cmp)
    }

    pub fn best_rss(&self) -> Option<u64> {
        self.rss.iter().copied().min()
    }
}

impl Plan {
    /// The input size of a program for a tool.
    pub fn size(&self, program: &Program, tool: Tool) -> u64 {
        if self.quick {
            program.quick_size
        } else if tool.is_valgrind() {
            program.valgrind_size
        } else {
            program.size
        }
    }

    /// The runs of one program: each tool at its size, and native at Valgrind's size when that is another one.
    fn runs(&self, index: usize) -> Vec<Key> {
        let program = &self.programs[index];
        let mut keys = Vec::new();
        for &tool in &self.tools {
            keys.push(Key {
                program: index,
                tool,
                size: self.size(program, tool),
            });
        }
        let valgrind = self.tools.iter().any(|t| t.is_valgrind());
        if valgrind && self.size(program, Tool::Helgrind) != self.size(program, Tool::Native) {
            keys.push(Key {
                program: index,
                tool: Tool::Native,
                size: self.size(program, Tool::Helgrind),
            });
        }
        keys
    }
}

/// Builds everything, then runs everything.
pub fn run(layout: &Layout, plan: &Plan) -> Result<Measured> {
    let mut binaries: BTreeMap<(usize, Tool), PathBuf> = BTreeMap::new();
    for (index, program) in plan.programs.iter().enumerate() {
        for &tool in &plan.tools {
            binaries.insert(
                (index, tool),
                compile::program(layout, program, tool.build())?,
            );
        }
    }
    let mut session = Session {
        layout,
        binaries,
        measured: Measured {
            plan: plan.clone(),
            samples: BTreeMap::new(),
        },
        checksums: BTreeMap::new(),
    };
    for round in 0..plan.most_rounds.max(plan.rounds) {
        for (index, program) in plan.programs.iter().enumerate() {
            if round >= plan.rounds && session.measured.agrees(index) {
                continue;
            }
            eprintln!(
                "bench: round {} of {}: {}",
                round + 1,
                plan.rounds.max(round + 1),
                program.name
            );
            for key in plan.runs(index) {
                if !key.tool.is_valgrind() || round < plan.valgrind_rounds {
                    session.measure(key)?;
                }
            }
        }
    }
    Ok(session.measured)
}

impl Measured {
    /// Do the best runs of the tools that are compared agree, for this program?
    fn agrees(&self, program: usize) -> bool {
        self.samples
            .iter()
            .filter(|(key, _)| key.program == program && COMPARED.contains(&key.tool))
            .all(|(_, samples)| samples.agrees())
    }
}

/// What is known while it is measured.
struct Session<'a> {
    layout: &'a Layout,
    binaries: BTreeMap<(usize, Tool), PathBuf>,
    measured: Measured,
    /// What a program computed at a size, and under which tool it did so first.
    checksums: BTreeMap<(usize, u64), (Tool, String)>,
}

impl Session<'_> {
    /// Runs a program once more, unless it has taken too long already.
    fn measure(&mut self, key: Key) -> Result<()> {
        let plan = &self.measured.plan;
        let program = &plan.programs[key.program];
        let samples = self.measured.samples.entry(key).or_default();
        if samples.over_limit {
            return Ok(());
        }
        let outcome = Run {
            layout: self.layout,
            program,
            tool: key.tool,
            binary: &self.binaries[&(key.program, key.tool)],
            size: key.size,
            threads: plan.threads,
            limit: plan.limit,
            prefix: None,
        }
        .go()?;
        samples.cpu.push(outcome.cost.cpu);
        samples.rss.push(outcome.cost.rss);
        if let Some(split) = outcome.split {
            samples.program_cpu.push(split.program);
            samples.lag.push(split.lag);
        }
        samples.findings = samples.findings.max(outcome.findings);
        if outcome.cost.ended == Ended::OverLimit {
            samples.over_limit = true;
            return Ok(());
        }
        let first = self
            .checksums
            .entry((key.program, key.size))
            .or_insert((key.tool, outcome.checksum.clone()));
        if first.1 != outcome.checksum {
            return Err(Error::new(format!(
                "{} at size {} computed {} under {} but {} under {}: a tool changed the program's result",
                program.name,
                key.size,
                first.1,
                first.0.title(),
                outcome.checksum,
                key.tool.title()
            )));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(cpu: &[f64]) -> Samples {
        Samples {
            cpu: cpu.to_vec(),
            ..Samples::default()
        }
    }

    #[test]
    fn best_runs_agree_if_another_one_is_near() {
        assert!(!samples(&[1.0]).agrees());
        assert!(!samples(&[1.5, 1.0, 1.5]).agrees());
        assert!(samples(&[1.5, 1.0, 9.0, 1.02]).agrees());
        let over_limit = true;
        let late = Samples {
            over_limit,
            ..samples(&[120.0])
        };
        assert!(late.agrees(), "it is not run again");
    }
}

//! Sets the samples against native, makes the table, and says which goals are reached.

use std::fmt::Write as _;

use crate::session::{Key, Measured};
use crate::split;
use crate::tool::Tool;
use crate::workload::REPORTS;

/// No program may cost more than this many times ThreadSanitizer's CPU time.
const WORST_PROGRAM: f64 = 1.5;

/// One number of the table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    pub value: f64,
    /// The time limit ended the run; the true value is larger.
    pub at_least: bool,
}

/// CPU time or memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    Cpu,
    Memory,
}

/// A goal, whether it is reached, and the numbers that say so.
#[derive(Clone, Debug)]
pub struct Goal {
    pub what: &'static str,
    pub reached: bool,
    pub numbers: String,
}

/// The best value of one program under one tool, in seconds or KiB.
pub fn value(
    m: &Measured,
    program: usize,
    tool: Tool,
    size: u64,
    quantity: Quantity,
) -> Option<f64> {
    let samples = m.samples.get(&Key {
        program,
        tool,
        size,
    })?;
    match quantity {
        Quantity::Cpu => samples.best_cpu(),
        Quantity::Memory => samples.best_rss().map(|r| r as f64),
    }
}

/// A tool's value as a multiple of native's at the same input.
pub fn ratio(m: &Measured, program: usize, tool: Tool, quantity: Quantity) -> Option<Ratio> {
    let size = m.plan.size(&m.plan.programs[program], tool);
    let native = value(m, program, Tool::Native, size, quantity)?;
    let own = value(m, program, tool, size, quantity)?;
    let at_least = m
        .samples
        .get(&Key {
            program,
            tool,
            size,
        })
        .is_some_and(|s| s.over_limit);
    // rusage counts in steps; a native time of nothing cannot be divided by.
    (native > 0.0).then_some(Ratio {
        value: own / native,
        at_least,
    })
}

/// The geometric mean over all programs that have this tool's number.
pub fn mean(m: &Measured, tool: Tool, quantity: Quantity) -> Option<Ratio> {
    let all: Vec<Ratio> = (0..m.plan.programs.len())
        .filter_map(|p| ratio(m, p, tool, quantity))
        .collect();
    if all.is_empty() {
        return None;
    }
    let logs: f64 = all.iter().map(|r| r.value.ln()).sum();
    Some(Ratio {
        value: (logs / all.len() as f64).exp(),
        at_least: all.iter().any(|r| r.at_least),
    })
}

/// The goals that this session can decide.
pub fn goals(m: &Measured) -> Vec<Goal> {
    let mut goals = Vec::new();
    let both = |q| {
        Some((
            mean(m, Tool::Deadheat, q)?.value,
            mean(m, Tool::Tsan, q)?.value,
        ))
    };
    if let Some((ours, theirs)) = both(Quantity::Cpu) {
        goals.push(Goal {
            what: "geometric mean of CPU time no more than ThreadSanitizer's",
            reached: ours <= theirs,
            numbers: format!("{ours:.2} against {theirs:.2}"),
        });
    }
    if let Some((program, worst)) = worst(m, Quantity::Cpu) {
        goals.push(Goal {
            what: "no program above 1.5 times ThreadSanitizer's CPU time",
            reached: worst <= WORST_PROGRAM,
            numbers: format!("worst is {program} with {worst:.2}"),
        });
    }
    if let Some((ours, theirs)) = both(Quantity::Memory) {
        let (program, worst) = worst(m, Quantity::Memory).unwrap_or(("none", 0.0));
        goals.push(Goal {
            what: "peak memory no more than ThreadSanitizer's (geometric mean)",
            reached: ours <= theirs,
            numbers: format!(
                "{ours:.2} against {theirs:.2}; worst is {program} with {worst:.2} times it"
            ),
        });
    }
    goals
}

/// The program where Deadheat stands worst against ThreadSanitizer.
fn worst(m: &Measured, quantity: Quantity) -> Option<(&'static str, f64)> {
    (0..m.plan.programs.len())
        .filter_map(|p| Some((m.plan.programs[p].name, against_tsan(m, p, quantity)?)))
        .max_by(|a, b| a.1.total_cmp(&b.1))
}

fn against_tsan(m: &Measured, program: usize, quantity: Quantity) -> Option<f64> {
    Some(
        ratio(m, program, Tool::Deadheat, quantity)?.value
            / ratio(m, program, Tool::Tsan, quantity)?.value,
    )
}

/// Both tables and the goals as Markdown that also reads well on a terminal.
pub fn render(m: &Measured) -> String {
    let mut out = String::new();
    for (quantity, title) in [
        (Quantity::Cpu, "CPU time (user and system), times native"),
        (Quantity::Memory, "Peak memory, times native"),
    ] {
        let _ = writeln!(out, "{title}:\n");
        out.push_str(&align(&rows(m, quantity)));
        out.push('\n');
    }
    if let Some(text) = split::render(m) {
        out.push_str(&text);
    }
    for goal in goals(m).into_iter().chain(split::goals(m)) {
        let mark = if goal.reached {
            "reached"
        } else {
            "NOT reached"
        };
        let _ = writeln!(out, "- {mark}: {} ({})", goal.what, goal.numbers);
    }
    let findings = findings(m);
    if !findings.is_empty() {
        let _ = writeln!(
            out,
            "\nReports printed by the tools during the runs: {findings}. Their texts are kept in the folder `{REPORTS}` of the cache."
        );
    }
    out
}

fn rows(m: &Measured, quantity: Quantity) -> Vec<Vec<String>> {
    let tools: Vec<Tool> = m
        .plan
        .tools
        .iter()
        .copied()
        .filter(|t| *t != Tool::Native)
        .collect();
    let compare = tools.contains(&Tool::Deadheat) && tools.contains(&Tool::Tsan);
    let unit = if quantity == Quantity::Cpu {
        "native ms"
    } else {
        "native MB"
    };
    let mut head = vec!["program".to_string(), unit.to_string()];
    head.extend(tools.iter().map(|t| t.title().to_string()));
    if compare {
        head.push("Deadheat/TSan".to_string());
    }
    let mut rows = vec![head];
    for (index, program) in m.plan.programs.iter().enumerate() {
        let size = m.plan.size(program, Tool::Native);
        let native = value(m, index, Tool::Native, size, quantity);
        let scale = if quantity == Quantity::Cpu {
            1000.0
        } else {
            1.0 / 1024.0
        };
        let mut row = vec![
            program.name.to_string(),
            native.map_or("-".into(), |v| format!("{:.0}", v * scale)),
        ];
        row.extend(tools.iter().map(|t| cell(ratio(m, index, *t, quantity))));
        if compare {
            row.push(against_tsan(m, index, quantity).map_or("-".into(), |r| format!("{r:.2}")));
        }
        rows.push(row);
    }
    let mut last = vec!["geometric mean".to_string(), String::new()];
    last.extend(tools.iter().map(|t| cell(mean(m, *t, quantity))));
    if compare {
        let ours = mean(m, Tool::Deadheat, quantity);
        let theirs = mean(m, Tool::Tsan, quantity);
        last.push(
            ours.zip(theirs)
                .map_or("-".into(), |(a, b)| format!("{:.2}", a.value / b.value)),
        );
    }
    rows.push(last);
    rows
}

fn cell(ratio: Option<Ratio>) -> String {
    match ratio {
        None => "-".to_string(),
        Some(r) => format!(
            "{}{:.*}",
            if r.at_least { ">" } else { "" },
            if r.value < 100.0 { 1 } else { 0 },
            r.value
        ),
    }
}

/// Lines up columns; the first to the left, numbers to the right.
pub fn align(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |c: usize| {
        rows.iter()
            .filter_map(|r| r.get(c))
            .map(|s| s.chars().count())
            .max()
            .unwrap_or(0)
            .max(3)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut out = String::new();
    for (i, row) in rows.iter().enumerate() {
        out.push('|');
        for (c, w) in widths.iter().enumerate() {
            let text = row.get(c).map_or("", String::as_str);
            let _ = if c == 0 {
                write!(out, " {text:<w$} |")
            } else {
                write!(out, " {text:>w$} |")
            };
        }
        out.push('\n');
        if i == 0 {
            out.push('|');
            for (c, w) in widths.iter().enumerate() {
                let _ = if c == 0 {
                    write!(out, ":{}|", "-".repeat(w + 1))
                } else {
                    write!(out, "{}:|", "-".repeat(w + 1))
                };
            }
            out.push('\n');
        }
    }
    out
}

fn findings(m: &Measured) -> String {
    let mut parts = Vec::new();
    for (key, samples) in &m.samples {
        if samples.findings > 0 {
            parts.push(format!(
                "{} {} under {}",
                samples.findings,
                m.plan.programs[key.program].name,
                key.tool.title()
            ));
        }
    }
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue;
    use crate::session::{Plan, Samples};
    use std::collections::BTreeMap;
    use std::time::Duration;

    fn measured(numbers: &[(&str, Tool, f64, u64)]) -> Measured {
        let mut names: Vec<&str> = numbers.iter().map(|n| n.0).collect();
        names.dedup();
        let programs = names.iter().filter_map(|n| catalogue::find(n)).collect();
        let tools = vec![Tool::Native, Tool::Deadheat, Tool::Tsan];
        let limit = Duration::from_secs(1);
        let plan = Plan {
            programs,
            tools,
            rounds: 1,
            most_rounds: 1,
            valgrind_rounds: 1,
            quick: true,
            threads: 4,
            limit,
        };
        let mut samples = BTreeMap::new();
        for (name, tool, cpu, rss) in numbers {
            let program = names.iter().position(|n| n == name).expect("named above");
            let size = plan.size(&plan.programs[program], *tool);
            let one = Samples {
                cpu: vec![*cpu, cpu * 2.0],
                rss: vec![*rss],
                ..Samples::default()
            };
            samples.insert(
                Key {
                    program,
                    tool: *tool,
                    size,
                },
                one,
            );
        }
        Measured { plan, samples }
    }

    #[test]
    fn the_best_round_counts_and_means_are_geometric() {
        let m = measured(&[
            ("fft", Tool::Native, 0.1, 100),
            ("fft", Tool::Tsan, 0.2, 400),
            ("fft", Tool::Deadheat, 0.4, 100),
            ("lu", Tool::Native, 0.1, 100),
            ("lu", Tool::Tsan, 0.8, 400),
            ("lu", Tool::Deadheat, 0.1, 100),
        ]);
        let close = |a: Option<Ratio>, b: f64| {
            assert!((a.expect("a number").value - b).abs() < 1e-9, "{a:?} {b}")
        };
        close(ratio(&m, 0, Tool::Tsan, Quantity::Cpu), 2.0);
        close(mean(&m, Tool::Tsan, Quantity::Cpu), 4.0);
        close(mean(&m, Tool::Deadheat, Quantity::Cpu), 2.0);
        let goals = goals(&m);
        assert_eq!(
            goals.iter().map(|g| g.reached).collect::<Vec<_>>(),
            [true, false, true]
        );
        assert!(
            goals[1].numbers.contains("fft with 2.00"),
            "{}",
            goals[1].numbers
        );
    }

    #[test]
    fn a_program_without_numbers_is_left_out() {
        let m = measured(&[
            ("fft", Tool::Native, 0.1, 100),
            ("lu", Tool::Tsan, 0.2, 400),
        ]);
        assert_eq!(mean(&m, Tool::Tsan, Quantity::Cpu), None);
        assert!(goals(&m).is_empty());
        assert!(render(&m).contains("| fft"));
    }
}

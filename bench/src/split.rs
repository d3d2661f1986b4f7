//! What split checking costs: the program alone and with its checker against ThreadSanitizer, the program against the
//! empty runtime, and how long after the program the check ends.

use crate::session::{Key, Measured, Samples};
use crate::table::{self, Goal, Quantity};
use crate::tool::Tool;

/// The program that records may cost this much of ThreadSanitizer's time, and together with its checker that much.
const PROGRAM: f64 = 0.75;
const TOGETHER: f64 = 1.5;

fn samples(m: &Measured, program: usize) -> Option<&Samples> {
    m.samples.get(&Key {
        program,
        tool: Tool::Split,
        size: m.plan.size(&m.plan.programs[program], Tool::Split),
    })
}

fn cpu(m: &Measured, program: usize, tool: Tool) -> Option<f64> {
    let size = m.plan.size(&m.plan.programs[program], tool);
    table::value(m, program, tool, size, Quantity::Cpu).filter(|&seconds| seconds > 0.0)
}

/// Seconds of the program that records, and with the checker.
fn own(m: &Measured, program: usize) -> Option<(f64, f64)> {
    let samples = samples(m, program)?;
    Some((samples.best_program_cpu()?, samples.best_cpu()?))
}

/// The program that records, and with its checker, as multiples of what another tool costs.
fn against(m: &Measured, program: usize, tool: Tool) -> Option<(f64, f64)> {
    let (alone, together) = own(m, program)?;
    let other = cpu(m, program, tool)?;
    Some((alone / other, together / other))
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let logs: Vec<f64> = values.map(f64::ln).collect();
    let sum: f64 = logs.iter().sum();
    (!logs.is_empty()).then(|| (sum / logs.len() as f64).exp())
}

/// The middle one and the largest.
fn median_and_worst(mut values: Vec<f64>) -> Option<(f64, f64)> {
    values.sort_by(f64::total_cmp);
    Some((*values.get(values.len() / 2)?, *values.last()?))
}

fn lags(m: &Measured) -> Vec<f64> {
    let all = (0..m.plan.programs.len()).filter_map(|program| samples(m, program));
    all.flat_map(|samples| samples.lag.iter().copied())
        .collect()
}

/// The table, if split checking was measured.
pub fn render(m: &Measured) -> Option<String> {
    let programs = 0..m.plan.programs.len();
    let measured: Vec<usize> = programs.filter(|&p| own(m, p).is_some()).collect();
    if measured.is_empty() {
        return None;
    }
    let head = [
        "program",
        "ms",
        "of TSan's",
        "with checker",
        "of empty's",
        "lag ms",
        "worst lag",
    ];
    let mut rows = vec![head.map(str::to_string).to_vec()];
    let number = |value: Option<f64>| value.map_or("-".to_string(), |v| format!("{v:.2}"));
    for &program in &measured {
        let tsan = against(m, program, Tool::Tsan);
        let lag = samples(m, program).and_then(|s| median_and_worst(s.lag.clone()));
        rows.push(vec![
            m.plan.programs[program].name.to_string(),
            own(m, program).map_or("-".into(), |(alone, _)| format!("{:.0}", alone * 1e3)),
            number(tsan.map(|(alone, _)| alone)),
            number(tsan.map(|(_, together)| together)),
            number(against(m, program, Tool::Empty).map(|(alone, _)| alone)),
            number(lag.map(|(median, _)| median)),
            number(lag.map(|(_, worst)| worst)),
        ]);
    }
    let all = |tool| measured.iter().filter_map(move |&p| against(m, p, tool));
    let lag = median_and_worst(lags(m));
    rows.push(vec![
        "geometric mean, lag of all".to_string(),
        String::new(),
        number(mean(all(Tool::Tsan).map(|(alone, _)| alone))),
        number(mean(all(Tool::Tsan).map(|(_, together)| together))),
        number(mean(all(Tool::Empty).map(|(alone, _)| alone))),
        number(lag.map(|(median, _)| median)),
        number(lag.map(|(_, worst)| worst)),
    ]);
    Some(format!(
        "Split checking: CPU time of the program that records, alone and with its checker, and how many milliseconds \
         after\nthe program the check ended (median and worst of the rounds):\n\n{}\n",
        table::align(&rows)
    ))
}

/// The goals that the session can decide.
pub fn goals(m: &Measured) -> Vec<Goal> {
    let all: Vec<(f64, f64)> = (0..m.plan.programs.len())
        .filter_map(|p| against(m, p, Tool::Tsan))
        .collect();
    let mut goals = Vec::new();
    if let Some(alone) = mean(all.iter().map(|(alone, _)| *alone)) {
        goals.push(Goal {
            what: "split: the program's CPU time no more than 0.75 of ThreadSanitizer's (geometric mean)",
            reached: alone <= PROGRAM,
            numbers: format!("{alone:.2}"),
        });
    }
    if let Some(together) = mean(all.iter().map(|(_, together)| *together)) {
        goals.push(Goal {
            what: "split: program and checker together no more than 1.5 of ThreadSanitizer's (geometric mean)",
            reached: together <= TOGETHER,
            numbers: format!("{together:.2}"),
        });
    }
    goals
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_and_the_worst() {
        assert_eq!(median_and_worst(vec![3.0, 1.0, 2.0]), Some((2.0, 3.0)));
        assert_eq!(median_and_worst(Vec::new()), None);
        assert_eq!(mean([1.0, 4.0].into_iter()), Some(2.0));
    }
}

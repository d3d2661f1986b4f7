//! Nanoseconds per operation of single things that programs do, native against ThreadSanitizer and Deadheat.

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use serde_json::{Value, json};

use crate::compile;
use crate::error::{Error, Result};
use crate::layout::Layout;
use crate::measure::{Ended, Job};
use crate::table;
use crate::tool::Tool;

/// The best nanoseconds of each operation, in the program's order, for each tool.
pub struct Micro {
    tools: Vec<Tool>,
    names: Vec<String>,
    best: BTreeMap<(String, Tool), f64>,
}

/// Measures all operations under the given tools (Valgrind's are left out: they tell nothing at this scale).
pub fn run(layout: &Layout, tools: &[Tool], rounds: u32, quick: bool) -> Result<Micro> {
    let tools: Vec<Tool> = tools
        .iter()
        .copied()
        .filter(|t| !t.is_valgrind() && *t != Tool::Split)
        .collect();
    let scratch = layout.cached_dir("scratch")?;
    let mut micro = Micro {
        tools: tools.clone(),
        names: Vec::new(),
        best: BTreeMap::new(),
    };
    for round in 0..rounds {
        eprintln!("bench: single operations, round {} of {rounds}", round + 1);
        for &tool in &tools {
            let binary = compile::single(layout, "micro", "kernels/micro.c", tool.build())?;
            let stdout = scratch.join("micro.out");
            let mut words = tool.prefix(&layout.deadheat);
            words.push(binary.display().to_string());
            words.push(if quick { "10" } else { "100" }.to_string());
            let cost = Job {
                launcher: compile::launcher(layout)?,
                words,
                environment: Vec::new(),
                directory: scratch.clone(),
                stdout: stdout.clone(),
                stderr: scratch.join("micro.err"),
                limit: Duration::from_secs(120),
            }
            .run()?;
            if cost.ended != Ended::Exit(0) {
                let file = scratch.join("micro.err");
                return Err(Error::new(format!(
                    "micro under {} ended with {:?}; see {}",
                    tool.title(),
                    cost.ended,
                    file.display()
                )));
            }
            let text =
                fs::read_to_string(&stdout).map_err(|e| Error::io("cannot read", &stdout, &e))?;
            micro.add(tool, &text);
        }
    }
    Ok(micro)
}

impl Micro {
    fn add(&mut self, tool: Tool, text: &str) {
        for line in text.lines() {
            let Some((name, number)) = line.split_once(' ') else {
                continue;
            };
            let Ok(ns) = number.parse::<f64>() else {
                continue;
            };
            if !self.names.iter().any(|n| n == name) {
                self.names.push(name.to_string());
            }
            let best = self
                .best
                .entry((name.to_string(), tool))
                .or_insert(f64::INFINITY);
            *best = best.min(ns);
        }
    }

    /// The table in nanoseconds.
    pub fn render(&self) -> String {
        let mut head = vec!["operation".to_string()];
        head.extend(self.tools.iter().map(|t| t.title().to_string()));
        let mut rows = vec![head];
        for name in &self.names {
            let mut row = vec![name.clone()];
            row.extend(
                self.tools
                    .iter()
                    .map(|t| match self.best.get(&(name.clone(), *t)) {
                        Some(ns) if *ns < 100.0 => format!("{ns:.2}"),
                        Some(ns) => format!("{ns:.0}"),
                        None => "-".to_string(),
                    }),
            );
            rows.push(row);
        }
        table::align(&rows)
    }

    pub fn as_json(&self) -> Value {
        let of = |name: &str| -> Value {
            let numbers = self.tools.iter().filter_map(|t| {
                let ns = self.best.get(&(name.to_string(), *t))?;
                Some((t.name().to_string(), json!(ns)))
            });
            Value::Object(numbers.collect())
        };
        Value::Object(self.names.iter().map(|n| (n.clone(), of(n))).collect())
    }
}

//! The page that a run writes: Markdown for people, JSON for programs, and what was reached.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use serde_json::{Map, Value, json};

/// Everything that was measured so far.
#[derive(Default)]
pub struct Page {
    text: String,
    data: Map<String, Value>,
    goals: Vec<(bool, String)>,
}

impl Page {
    pub fn heading(&mut self, s: &str) {
        self.line(&format!("\n## {s}\n"));
    }

    /// Printed at once, so that a long run shows what it does.
    pub fn line(&mut self, s: &str) {
        println!("{s}");
        let _ = writeln!(self.text, "{s}");
    }

    /// A table with a line of names; the first column is text.
    pub fn table(&mut self, key: &str, names: &[&str], rows: &[Vec<String>]) {
        self.line(&format!("| {} |", names.join(" | ")));
        let rule: Vec<&str> = (0..names.len())
            .map(|k| if k == 0 { ":--" } else { "--:" })
            .collect();
        self.line(&format!("|{}|", rule.join("|")));
        for r in rows {
            self.line(&format!("| {} |", r.join(" | ")));
        }
        let rows: Vec<Value> = rows
            .iter()
            .map(|r| {
                let pairs = names.iter().zip(r);
                Value::Object(pairs.map(|(n, v)| ((*n).to_string(), json!(v))).collect())
            })
            .collect();
        self.data.insert(key.to_string(), Value::Array(rows));
    }

    pub fn goal(&mut self, reached: bool, what: String) {
        self.goals.push((reached, what));
    }

    /// The goals, at the end of the page.
    pub fn close(&mut self) {
        self.heading("Goals");
        for (reached, what) in std::mem::take(&mut self.goals) {
            let word = if reached { "reached" } else { "NOT reached" };
            self.line(&format!("- {word}: {what}"));
            let list = self.data.entry("goals").or_insert_with(|| json!([]));
            if let Value::Array(a) = list {
                a.push(json!({"goal": what, "reached": reached}));
            }
        }
    }

    /// Writes `gpu-DATE.md` and `.json`, and gives their name.
    pub fn write(&self, dir: &Path) -> std::io::Result<String> {
        std::fs::create_dir_all(dir)?;
        let name = format!("gpu-{}", output("date", &["-u", "+%F"]));
        std::fs::write(dir.join(format!("{name}.md")), &self.text)?;
        let json = serde_json::to_string_pretty(&self.data).unwrap_or_default();
        std::fs::write(dir.join(format!("{name}.json")), json + "\n")?;
        Ok(name)
    }
}

/// What a program prints, on one line; empty if there is no such program.
pub fn output(program: &str, args: &[&str]) -> String {
    Command::new(program)
        .args(args)
        .output()
        .map(|o| String::from_utf8_lossy(&o.stdout).into_owned())
        .unwrap_or_default()
        .lines()
        .next()
        .unwrap_or("")
        .trim()
        .to_string()
}

/// Processor, cores and load, as the page's first lines.
pub fn setup(page: &mut Page, rounds: usize) {
    let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpu
        .lines()
        .find_map(|l| l.strip_prefix("model name")?.split_once(':'))
        .map_or("unknown", |m| m.1.trim());
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    page.line(&format!(
        "# GPU results of {}\n",
        output("date", &["-u", "+%F %H:%M UTC"])
    ));
    page.line(&format!(
        "One run of `make bench-gpu`: {model}, {cores} cores, load average {} at the start. Best of {rounds} rounds that go\nthrough all cases in turn; the launch alone is timed, in CPU time unless wall time is named.",
        load()
    ));
}

/// Load average of the last minute.
pub fn load() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().unwrap_or("?").to_string()
}

//! What the numbers were measured with: the class of machine and the versions, but no host name, user or path.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};

/// The set-up as ordered pairs of what and which.
pub fn describe() -> Vec<(&'static str, String)> {
    vec![
        ("CPU", cpu()),
        (
            "CPUs",
            std::thread::available_parallelism().map_or("?".into(), |n| n.to_string()),
        ),
        ("memory", memory()),
        ("kernel", read("/proc/sys/kernel/osrelease")),
        ("system", system()),
        ("clang", first_line("clang-19", &["--version"])),
        ("valgrind", first_line("valgrind", &["--version"])),
        ("rustc", first_line("rustc", &["--version"])),
        (
            "flags",
            "-O2 -g; -fsanitize=thread for the instrumented; -gdwarf-4 for Valgrind".to_string(),
        ),
        (
            "ThreadSanitizer",
            "clang 19 with Debian's libclang-rt-19-dev, default options, setarch -R".to_string(),
        ),
        (
            "Helgrind, DRD",
            "default options and --fair-sched=try".to_string(),
        ),
    ]
}

pub fn as_json(setup: &[(&'static str, String)]) -> Value {
    Value::Object(
        setup
            .iter()
            .map(|(k, v)| (k.to_string(), json!(v)))
            .collect(),
    )
}

fn read(path: &str) -> String {
    fs::read_to_string(path)
        .unwrap_or_default()
        .trim()
        .to_string()
}

fn field(text: &str, name: &str) -> Option<String> {
    let line = text.lines().find(|l| l.starts_with(name))?;
    Some(
        line.split_once([':', '='])?
            .1
            .trim()
            .trim_matches('"')
            .to_string(),
    )
}

fn cpu() -> String {
    let text = read("/proc/cpuinfo");
    let part = |n| field(&text, n).unwrap_or_else(|| "?".into());
    format!(
        "{}, family {}, model {}",
        part("model name"),
        part("cpu family"),
        part("model\t")
    )
}

fn memory() -> String {
    let text = read("/proc/meminfo");
    let kib = field(&text, "MemTotal").and_then(|v| v.split(' ').next()?.parse::<u64>().ok());
    kib.map_or("?".into(), |k| format!("{} GiB", k.div_ceil(1 << 20)))
}

fn system() -> String {
    field(&read("/etc/os-release"), "PRETTY_NAME").unwrap_or_else(|| "?".into())
}

fn first_line(program: &str, args: &[&str]) -> String {
    let output = Command::new(program).args(args).output();
    output
        .ok()
        .and_then(|o| {
            String::from_utf8_lossy(&o.stdout)
                .lines()
                .next()
                .map(str::to_string)
        })
        .unwrap_or_else(|| "not installed".into())
}

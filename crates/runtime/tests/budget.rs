//! The hooks that programs call all the time stay within their budget of instructions, in the release library.
//!
//! Two numbers for each. *Least*: the fewest instructions from the entry to a `ret`, which is what an access costs that
//! its step has made before. *Length*: all instructions up to the first `ret`, which is what the cache holds of it.
//! The budget is what the hooks need today: whoever makes one longer must change the number here, and say why.

mod common;

use std::collections::{BTreeMap, VecDeque};
use std::process::Command;

/// Name, least, length.
const BUDGET: [(&str, usize, usize); 12] = [
    ("__tsan_read1", 30, 40),
    ("__tsan_read2", 30, 40),
    ("__tsan_read4", 30, 40),
    ("__tsan_read8", 24, 45),
    ("__tsan_read16", 28, 84),
    ("__tsan_write1", 30, 38),
    ("__tsan_write2", 30, 38),
    ("__tsan_write4", 30, 38),
    ("__tsan_write8", 24, 37),
    ("__tsan_write16", 28, 70),
    ("__tsan_func_entry", 9, 9),
    ("__tsan_func_exit", 6, 11),
];

/// One instruction: its address, its word, and where it jumps to.
struct Instruction {
    at: u64,
    word: String,
    to: Option<u64>,
}

/// The functions of a disassembly, by name.
fn functions(text: &str) -> BTreeMap<&str, Vec<Instruction>> {
    let mut all: BTreeMap<&str, Vec<Instruction>> = BTreeMap::new();
    let mut name = "";
    for line in text.lines() {
        if let Some(head) = line.strip_suffix(">:") {
            name = head.split_once('<').map_or("", |(_, name)| name);
        } else if let Some((at, rest)) = line.split_once(":\t") {
            let mut words = rest.split_whitespace();
            let (Ok(at), Some(word)) = (u64::from_str_radix(at.trim(), 16), words.next()) else {
                continue;
            };
            let to = if word.starts_with('j') {
                words.next().and_then(|to| u64::from_str_radix(to, 16).ok())
            } else {
                None
            };
            all.entry(name).or_default().push(Instruction {
                at,
                word: word.to_string(),
                to,
            });
        }
    }
    all
}

/// The fewest instructions from the entry to a `ret`, both counted.
fn least(code: &[Instruction]) -> Option<usize> {
    let place: BTreeMap<u64, usize> = code
        .iter()
        .enumerate()
        .map(|(i, instruction)| (instruction.at, i))
        .collect();
    let mut seen = vec![false; code.len()];
    let mut next = VecDeque::from([(0, 1)]);
    while let Some((i, count)) = next.pop_front() {
        let Some(instruction) = code.get(i) else {
            continue;
        };
        // Breadth first: the first time is the shortest.
        if std::mem::replace(&mut seen[i], true) {
            continue;
        }
        if instruction.word == "ret" {
            return Some(count);
        }
        if let Some(&to) = instruction.to.as_ref().and_then(|to| place.get(to)) {
            next.push_back((to, count + 1));
        }
        if instruction.word != "jmp" {
            next.push_back((i + 1, count + 1));
        }
    }
    None
}

#[test]
fn hot_hooks_stay_within_their_budget() {
    let library = common::library().join("libdeadheat_rt.so");
    let listed = Command::new("objdump")
        .args(["--disassemble", "--no-show-raw-insn", "--section=.text"])
        .arg(&library)
        .output()
        .expect("objdump (binutils) can be started");
    assert!(
        listed.status.success(),
        "objdump cannot read {}",
        library.display()
    );
    let text = String::from_utf8_lossy(&listed.stdout);
    let functions = functions(&text);
    let mut over = Vec::new();
    println!(
        "{:<20} {:>5} {:>6} {:>6} {:>6}",
        "hook", "least", "budget", "length", "budget"
    );
    for (name, most_least, most_length) in BUDGET {
        let code = functions.get(name).map_or(&[][..], |code| code);
        let length = code
            .iter()
            .position(|instruction| instruction.word == "ret")
            .map(|at| at + 1);
        let (Some(least), Some(length)) = (least(code), length) else {
            panic!("{name} has no ret in {}", library.display());
        };
        println!("{name:<20} {least:>5} {most_least:>6} {length:>6} {most_length:>6}");
        if least > most_least || length > most_length {
            over.push(format!(
                "{name}: {least} of {most_least}, {length} of {most_length}"
            ));
        }
    }
    assert!(
        over.is_empty(),
        "hooks over their budget of instructions:\n{}",
        over.join("\n")
    );
}

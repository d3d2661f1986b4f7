//! Random loops over arrays, at the level of optimization at which the compiler's hook tells all turns of a loop at once.
//!
//! One thread runs the loops. Another one, which nothing orders, writes every element that no turn has touched, and of each
//! array one element that some turn has: so each finding must be on a line of the latter kind, and each such line in
//! one. What is told too much is found as well as what is told too little.

use crate::directive::Compiler;
use crate::random::{Source, findings};
use crate::seen::Seen;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;

const LOOPS: usize = 30;
const ELEMENTS: i64 = 100;

/// Numbers that look random and are the same in each run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (self.0 >> 33) % sides
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.roll(of.len() as u64) as usize]
    }
}

/// A program, and for each loop the line of the write to an element that it has touched, if there is one.
struct Drawn {
    source: String,
    races: Vec<Option<u32>>,
}

fn draw(number: u64) -> Drawn {
    let mut dice = Dice(number);
    let mut text = String::from(
        "#include \"start.h\"\n#include <string.h>\nvolatile long sink, zero;\n#define put(T, x) (*(volatile T *)&x = 1)\n",
    );
    let mut calls = String::new();
    let mut other = Vec::new();
    for k in 0..LOOPS {
        let kind = dice.pick(&["unsigned char", "short", "int", "long", "double"]);
        let (from, to) = (dice.roll(30) as i64 + 3, dice.roll(80) as i64 + 10);
        let step = dice.pick(&[1, 1, 1, 1, 2, 2, 3, 4]);
        let near = dice.pick(&[-1, 1, 2]);
        let head = match dice.roll(3) {
            0 => format!("for (long i = to - 1; i >= from; i -= {step})"),
            1 => format!("for (long i = from; i < to; i += {step})"),
            _ => format!("for (long i = from; i != to; i++) if ({step} > 0)"),
        };
        let turns: Vec<i64> = if head.contains("i >= from") {
            let all = std::iter::successors(Some(to - 1), |i| Some(i - step));
            all.take_while(|&i| i >= from).collect()
        } else if head.contains("i < to") {
            (from..to).step_by(step as usize).collect()
        } else {
            (from..to).collect()
        };
        // A loop that counts to its end must not begin behind it.
        let counts = head.contains("i != to");
        let guard = if counts { "if (from < to) " } else { "" };
        let (one, part) = (dice.roll(90) as i64, dice.roll(5) as i64);
        let some = |i: &&i64| *i % 5 == part;
        let (body, touched): (String, BTreeSet<i64>) = match dice.roll(11) {
            0 => ("of[i] = (T)i;".into(), around(&turns, &[0])),
            1 => ("all += (long)of[i];".into(), around(&turns, &[0])),
            2 => ("of[i]++;".into(), around(&turns, &[0])),
            3 => (
                format!("all += (long)of[i] + (long)of[i + {near}];"),
                around(&turns, &[0, near]),
            ),
            4 => (
                format!("of[i] = of[i + {near}];"),
                around(&turns, &[0, near]),
            ),
            // The same place in some turns, or in none.
            5 => (
                format!("if (i % 5 == {part}) put({kind}, of[{one}]);"),
                turns.iter().find(some).map(|_| one).into_iter().collect(),
            ),
            6 => (
                format!("all += (long)of[i]; if (i % 5 == {part}) all += *(volatile {kind} *)&of[{one}];"),
                (turns.iter().find(some).map(|_| one).into_iter())
                    .chain(turns.iter().copied())
                    .collect(),
            ),
            // Copies and fills of few bytes, in turns that overlap.
            7 => (
                "memmove(of + i, of + i + 1, 3 * sizeof *of);".into(),
                around(&turns, &[0, 1, 2, 3]),
            ),
            8 => (
                "memset(of + i, 1, 3 * sizeof *of);".into(),
                around(&turns, &[0, 1, 2]),
            ),
            9 => (
                "{ struct few { T of[3]; } few; memcpy(&few, of + i, sizeof few); few.of[1]++; memcpy(of + i + 2, &few, sizeof few); }".into(),
                around(&turns, &[0, 1, 2, 3, 4]),
            ),
            _ => (
                "{ T four[4]; __builtin_memcpy(four, of + i, sizeof four); all += (long)(four[0] + four[1] + four[2] + four[3]); }".into(),
                around(&turns, &[0, 1, 2, 3]),
            ),
        };
        // Bounds that the compiler knows, so that it may unroll the loop; and the loop in another one.
        let head = match dice.roll(3) {
            0 => head
                .replace("from", &from.to_string())
                .replace("to", &to.to_string()),
            _ => head,
        };
        let head = match dice.roll(4) {
            0 => format!("for (long round = 0; round < 3; round++) {head}"),
            _ => head,
        };
        let _ = writeln!(text, "_Alignas(16) {kind} data{k}[{}];", ELEMENTS + 8);
        let body = body
            .replace("(T)", &format!("({kind})"))
            .replace("T four", &format!("{kind} four"))
            .replace("T of[", &format!("{kind} of["));
        let _ = writeln!(
            text,
            "__attribute__((noinline)) static void loop{k}({kind} *of, long from, long to) {{ \
             long all = 0; {guard}{head} {{ {body} }} sink += all; }}"
        );
        let _ = writeln!(calls, "    loop{k}(data{k}, {from} + zero, {to} + zero);");
        let free: String = (0..ELEMENTS)
            .filter(|i| !touched.contains(i))
            .map(|i| format!(" put({kind}, data{k}[{i}]);"))
            .collect();
        let list: Vec<i64> = touched.into_iter().collect();
        let race = (!list.is_empty()).then(|| dice.pick(&list));
        other.push((free, race.map(|i| format!(" put({kind}, data{k}[{i}]);"))));
    }
    text.push_str("void *first(void *arg)\n{\n");
    text.push_str(&calls);
    text.push_str("    hidden_pass();\n    return arg;\n}\nvoid *second(void *arg)\n{\n    hidden_reach(1);\n");
    let mut races = Vec::new();
    for (free, race) in other {
        let _ = writeln!(text, "   {free}");
        let line = text.lines().count() as u32 + 1;
        races.push(race.as_ref().map(|_| line));
        let _ = writeln!(text, "   {}", race.unwrap_or_default());
    }
    text.push_str(
        "    return arg;\n}\nint main(void)\n{\n    both(first, second);\n    return 0;\n}\n",
    );
    Drawn {
        source: text,
        races,
    }
}

/// What the turns touch, so far from each.
fn around(turns: &[i64], offsets: &[i64]) -> BTreeSet<i64> {
    let all = turns
        .iter()
        .flat_map(|turn| offsets.iter().map(move |offset| turn + offset));
    all.collect()
}

/// Builds the program with this number, runs it and judges what is found.
pub fn check(
    deadheat: &Path,
    number: u64,
    compiler: Compiler,
    include: &Path,
    folder: &Path,
) -> Result<(), String> {
    let drawn = draw(number);
    let source = Source {
        text: &drawn.source,
        level: "-O2",
        options: "",
    };
    findings(deadheat, &source, compiler, include, folder, |seen| {
        judge(&drawn, seen)
    })
}

fn judge(drawn: &Drawn, seen: &[Seen]) -> Result<(), String> {
    let mut wrong = String::new();
    let mut found = BTreeSet::new();
    for finding in seen {
        let lines = finding.accesses.iter().filter_map(|access| {
            let frame = access.stack.first()?;
            (frame.function == "second").then_some(frame.line)
        });
        let name = finding.memory.as_ref().map_or("", |memory| &memory.name);
        let expected = lines
            .filter_map(|line| drawn.races.iter().position(|race| *race == Some(line)))
            .find(|k| name.split(['[', ' ']).next() == Some(&format!("data{k}")));
        match expected {
            Some(k) => _ = found.insert(k),
            None => _ = writeln!(wrong, "  FALSE: {finding}"),
        }
    }
    for (k, race) in drawn.races.iter().enumerate() {
        if let Some(line) = race
            && !found.contains(&k)
        {
            let _ = writeln!(wrong, "  LOST: the race of loop{k} with line {line}");
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong) }
}

//! Random loops in Rust, at the level of optimization at which they look least like what was written.
//!
//! One thread runs the loops. Another one, which nothing orders, writes every element that no loop has touched, and of each
//! array one element that its loop has: so each finding must be on a line of the latter kind, and each such line in one.
//! What the compiler's hook tells too much is found as well as what it tells too little.

use crate::process;
use deadheat_model::{Finding, Report};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

const LOOPS: usize = 40;
const ELEMENTS: usize = 100;
/// A value that ends a search.
const STOP: u64 = 77;

/// Numbers that look random and are the same in each run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % sides
    }
}

/// A loop: its code, and the elements that it touches.
struct Drawn {
    code: String,
    touched: BTreeSet<usize>,
    /// An element that has the value `STOP` before.
    stop: Option<usize>,
}

/// Draws a loop over `of`, a slice, from `from` to `to`.
fn draw(dice: &mut Dice, kind: &str) -> Drawn {
    let from = dice.roll(30) + 2;
    let to = from + dice.roll(60) + 8;
    let step = [1, 2, 3, 5][dice.roll(4)];
    let stop = from + dice.roll(to - from);
    let all: BTreeSet<usize> = (from..to).collect();
    let pairs = (to - from) / 2;
    let mut found = None;
    let (code, touched) = match dice.roll(13) {
        0 => (
            "for x in of[from..to].iter_mut() { *x = x.wrapping_mul(3) | 1; }".to_owned(),
            all,
        ),
        1 => (
            "for x in &of[from..to] { all = all.wrapping_mul(3) + *x as u64; }".to_owned(),
            all,
        ),
        2 => (
            format!("for i in (from..to).step_by({step}) {{ of[i] = of[i].wrapping_add(1); }}"),
            (from..to).step_by(step).collect(),
        ),
        3 => (
            "for i in (from..to).rev() { all ^= (of[i] as u64) << (of[i + 1] & 7); }".to_owned(),
            (from..to + 1).collect(),
        ),
        4 => (
            "for two in of[from..to].chunks_exact(2) { all += two[0] as u64; }".to_owned(),
            (0..pairs).map(|pair| from + 2 * pair).collect(),
        ),
        5 => (
            "for two in of[from..to].windows(2) { all = (all * 3) ^ (two[0] ^ two[1]) as u64; }".to_owned(),
            all,
        ),
        6 => {
            let n = (to - from).min(ELEMENTS / 2);
            (
                format!(
                    "let (a, b) = of.split_at_mut({}); for (x, y) in a[..{n}].iter_mut().zip(&b[..{n} + zero()]) {{ *x = *y + 1; }}",
                    ELEMENTS / 2
                ),
                (0..n).chain(ELEMENTS / 2..ELEMENTS / 2 + n).collect(),
            )
        }
        7 => (
            "for i in from..to { let v = of[i]; if v & 1 == 0 { of[i] = v + 1; all += of[i] as u64; } else { all ^= of[i] as u64; } }".to_owned(),
            all,
        ),
        8 => {
            found = Some(stop);
            (
                format!(
                    "for i in from..to {{ if of[i] == {STOP} {{ break; }} all += of[i] as u64 ^ 1; }}"
                ),
                (from..=stop).collect(),
            )
        }
        9 => {
            let to = from + (to - from) / step * step;
            (
                format!(
                    "let base = of.as_mut_ptr(); unsafe {{ let (mut p, end) = (base.add(from), base.add({to} + zero())); while p != end {{ all += *p as u64; p = p.add({step}); }} }}"
                ),
                (from..to).step_by(step).collect(),
            )
        }
        10 => {
            found = Some(stop);
            (
                format!(
                    "let of: &[{kind}; {ELEMENTS}] = (&*of).try_into().unwrap(); if let Some(at) = of.iter().position(|x| *x == {STOP}) {{ all += at as u64; }}"
                ),
                (0..=stop).collect(),
            )
        }
        11 => (
            "for four in of[from..to].chunks_exact_mut(4) { four[1] = four[2]; if four[1] == 0 { four[3] = 1; } }".to_owned(),
            (0..(to - from) / 4)
                .flat_map(|four| [1, 2, 3].map(|i| from + 4 * four + i))
                .collect(),
        ),
        _ => (
            "let mut i = to; while i > from { i -= 1; of[i] = 1; if i % 7 == 0 { of[i - 1] = of[i]; } }".to_owned(),
            all.iter()
                .copied()
                .chain(all.iter().filter(|i| **i % 7 == 0).map(|i| i - 1))
                .collect(),
        ),
    };
    Drawn {
        code: code
            .replace("from..to", &format!("{from} + zero()..{to} + zero()"))
            .replace("= to;", &format!("= {to} + zero();"))
            .replace("> from", &format!("> {from}"))
            .replace("add(from)", &format!("add({from})")),
        touched,
        stop: found,
    }
}

/// A program, and for each loop the line of the write to an element that it has touched.
struct Program {
    source: String,
    races: Vec<u32>,
}

fn program(number: u64) -> Program {
    let mut dice = Dice(number);
    let mut text = String::from(
        "#![allow(unused, static_mut_refs)]\nmod hidden;\nuse std::hint::black_box;\n\
         static DONE: hidden::Hidden = hidden::Hidden::new();\n\
         fn zero() -> usize { black_box(0) }\n\
         unsafe fn put<T: From<u8>>(at: *mut T) { unsafe { at.write_volatile(T::from(1)) } }\n\
         #[repr(align(16))] struct Lined<T>(T);\n",
    );
    let (mut starts, mut calls, mut other) = (String::new(), String::new(), Vec::new());
    for k in 0..LOOPS {
        let kind = ["u8", "u16", "u32", "u64"][dice.roll(4)];
        let drawn = draw(&mut dice, kind);
        let _ = writeln!(
            text,
            "static mut DATA{k}: Lined<[{kind}; {ELEMENTS}]> = Lined([0; {ELEMENTS}]);"
        );
        let _ = writeln!(
            text,
            "#[inline(never)] fn loop{k}(of: &mut [{kind}]) -> u64 {{ let mut all = 0_u64; {} all }}",
            drawn.code
        );
        if let Some(stop) = drawn.stop {
            let _ = writeln!(starts, "    unsafe {{ DATA{k}.0[{stop}] = {STOP} }};");
        }
        let _ = writeln!(
            calls,
            "    black_box(loop{k}(unsafe {{ &mut DATA{k}.0 }}));"
        );
        let put = |i: &usize| format!(" put(&raw mut DATA{k}.0[{i}]);");
        let free: String = (0..ELEMENTS)
            .filter(|i| !drawn.touched.contains(i))
            .map(|i| put(&i))
            .collect();
        let list: Vec<usize> = drawn.touched.into_iter().collect();
        other.push((free, put(&list[dice.roll(list.len())])));
    }
    let _ = writeln!(text, "fn first() {{\n{calls}    DONE.come();\n}}");
    text.push_str("#[inline(never)] fn second() { unsafe {\n    DONE.await_count(1);\n");
    let mut races = Vec::new();
    for (free, race) in other {
        let _ = writeln!(text, "   {free}");
        races.push(text.lines().count() as u32 + 1);
        let _ = writeln!(text, "   {race}");
    }
    let _ = writeln!(
        text,
        "}} }}\nfn main() {{\n{starts}    std::thread::scope(|scope| {{ scope.spawn(second); scope.spawn(first); }});\n}}"
    );
    Program {
        source: text,
        races,
    }
}

/// Builds the program with this number, runs it and judges what is found. `cache` holds the standard library.
pub fn check(deadheat: &Path, number: u64, folder: &Path, cache: &Path) -> Result<(), String> {
    let drawn = program(number);
    let place = folder.join(format!("loops{number}"));
    let write = |name: &str, text: &str| {
        let path = place.join(name);
        std::fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))
    };
    std::fs::create_dir_all(place.join("src")).map_err(|error| error.to_string())?;
    write(
        "Cargo.toml",
        "[package]\nname = \"loops\"\nversion = \"0.0.0\"\nedition = \"2024\"\n[workspace]\n[profile.release]\ndebug = 1\n",
    )?;
    write("src/main.rs", &drawn.source)?;
    write(
        "src/hidden.rs",
        include_str!("../rust/programs/src/hidden.rs"),
    )?;
    let json = place.join("report.json");
    let mut command = Command::new(deadheat);
    command
        .args(["cargo", "--format", "json", "--quiet", "--log"])
        .arg(&json)
        .args(["run", "--release", "--manifest-path"])
        .arg(place.join("Cargo.toml"))
        .env("CARGO_TARGET_DIR", place.join("target"))
        .env("XDG_CACHE_HOME", cache)
        .env_remove("DEADHEAT_OPTIONS");
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("CARGO_PROFILE_") {
            command.env_remove(name);
        }
    }
    let ended = process::run(command, &place, "run", None, Duration::from_secs(300))?;
    let report: Report = std::fs::read_to_string(&json)
        .map_err(|error| error.to_string())
        .and_then(|text| serde_json::from_str(&text).map_err(|error| error.to_string()))
        .map_err(|error| format!("no report ({error}):\n{}", process::tail(&ended.stderr)))?;
    judge(&drawn, &report.findings)
}

fn judge(drawn: &Program, findings: &[Finding]) -> Result<(), String> {
    let mut wrong = String::new();
    let mut found = BTreeSet::new();
    for finding in findings {
        let mut lines = finding.accesses.iter().filter_map(|access| {
            let frame = access
                .stack
                .iter()
                .find(|frame| frame.function.ends_with("second"))?;
            drawn
                .races
                .iter()
                .position(|race| frame.line == Some(*race))
        });
        match lines.next() {
            Some(k) => _ = found.insert(k),
            None => _ = writeln!(wrong, "  FALSE: {finding:#?}"),
        }
    }
    for (k, line) in drawn.races.iter().enumerate() {
        if !found.contains(&k) {
            let _ = writeln!(wrong, "  LOST: the race of loop{k} with line {line}");
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong) }
}

//! The directives in the first comment lines of a test program.
//!
//! | directive | meaning |
//! |---|---|
//! | `expect: clean` | no finding at all |
//! | `expect: KIND key=value ...` | one finding of this kind; a line for each, and no finding beside them |
//! | `expect-gcc:`, `expect-clang:` | the same for one compiler, in place of the `expect` lines |
//! | `flags:`, `libs:` | for the compiler, before and after the source |
//! | `std:` | the language standard |
//! | `compilers:` | only these (`gcc`, `clang`) |
//! | `args:` | of the program; `{shared}` stands for the library of `shared:` |
//! | `stdin:`, `stdout:`, `stderr:` | a line to feed in; a line that must come out |
//! | `exit:` | the status of `deadheat run`; without it 1 if something is expected, else 0 |
//! | `options:` | for `DEADHEAT_OPTIONS` |
//! | `shared:`, `plain-shared:` | a library to build with and without instrumentation |
//! | `footer:` | words that the notes, losses or modules of the report must hold |
//! | `golden:` | the compiler for which the text report is kept as a file |
//! | `tsan: skip WHY` | the oracle cannot judge this program |
//!
//! Keys of `expect`, each a list with one value for each of the two accesses:
//! `op` (`read`, `write`, `read-write`, `free`, `vptr-write`, with `atomic-` before it), `size`, `lines` (marks such as
//! `A`, set by a comment `// A` at the end of a line), `locks` (how many are held), `threads` (names), `path`
//! (functions from the innermost on, joined by `>`), `depth` (frames). Others: `global=NAME`, `stack=NAME`, `tls=NAME`,
//! `heap=SIZE`, `memory=KIND`, `alloc=MARK`, `cycle=LOCKS`, `count=N` or `count>=N`. A finding without accesses must
//! have a stack at each of its `lines`.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

/// A compiler that the programs are built with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Compiler {
    Gcc,
    Clang,
}

impl Compiler {
    pub const ALL: [Compiler; 2] = [Compiler::Gcc, Compiler::Clang];

    /// The word in directives and in the names of tests.
    pub const fn name(self) -> &'static str {
        match self {
            Compiler::Gcc => "gcc",
            Compiler::Clang => "clang",
        }
    }

    /// What `deadheat cc --compiler` is given for a language.
    pub const fn command(self, language: Language) -> &'static str {
        match (self, language) {
            (Compiler::Gcc, Language::C) => "gcc",
            (Compiler::Gcc, Language::Cxx) => "g++",
            (Compiler::Clang, Language::C) => "clang-19",
            (Compiler::Clang, Language::Cxx) => "clang++-19",
        }
    }
}

/// The language of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    C,
    Cxx,
}

/// One finding that must be there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expectation {
    pub kind: String,
    pub keys: BTreeMap<String, Vec<String>>,
    pub count: Option<CountRule>,
    /// The line as it was written.
    pub text: String,
}

/// How often a finding must have been seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CountRule {
    Exactly(u64),
    AtLeast(u64),
}

impl fmt::Display for Expectation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A test program and what it says about itself.
#[derive(Clone, Debug)]
pub struct Program {
    pub path: PathBuf,
    /// Path below `ui`, such as `mutex/trylock_racy.c`.
    pub name: String,
    pub language: Language,
    expect: BTreeMap<String, Vec<Expectation>>,
    values: BTreeMap<String, Vec<String>>,
    marks: BTreeMap<String, u32>,
}

const KNOWN: &[&str] = &[
    "expect",
    "expect-gcc",
    "expect-clang",
    "flags",
    "libs",
    "std",
    "compilers",
    "args",
    "stdin",
    "stdout",
    "stderr",
    "exit",
    "options",
    "shared",
    "plain-shared",
    "footer",
    "golden",
    "tsan",
];

const KEYS: &[&str] = &[
    "op", "size", "lines", "locks", "threads", "path", "depth", "global", "stack", "tls", "heap",
    "memory", "alloc", "cycle",
];

impl Program {
    /// Reads a program; the error names the file and the line.
    pub fn read(root: &Path, path: &Path) -> Result<Program, String> {
        let text = std::fs::read_to_string(path)
            .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        let name = path
            .strip_prefix(root)
            .unwrap_or(path)
            .to_string_lossy()
            .into_owned();
        Program::parse(path, name, &text)
    }

    fn parse(path: &Path, name: String, text: &str) -> Result<Program, String> {
        let language = match path.extension().and_then(|e| e.to_str()) {
            Some("c") => Language::C,
            _ => Language::Cxx,
        };
        let mut program = Program {
            path: path.to_owned(),
            name,
            language,
            expect: BTreeMap::new(),
            values: BTreeMap::new(),
            marks: marks(text),
        };
        for (index, line) in text
            .lines()
            .take_while(|line| line.starts_with("//"))
            .enumerate()
        {
            let line = line.trim_start_matches('/').trim();
            let Some((key, value)) = line.split_once(':') else {
                continue;
            };
            // `std::thread` in a sentence is no directive.
            if !KNOWN.contains(&key) || value.starts_with(':') {
                continue;
            }
            let value = value.trim();
            if key.starts_with("expect") {
                let list = program.expect.entry(key.to_owned()).or_default();
                if value != "clean" {
                    let expectation = expectation(value).map_err(|what| {
                        format!("{}:{}: {what}", program.path.display(), index + 1)
                    })?;
                    list.push(expectation);
                }
            } else {
                program
                    .values
                    .entry(key.to_owned())
                    .or_default()
                    .push(value.to_owned());
            }
        }
        program.verify()?;
        Ok(program)
    }

    fn verify(&self) -> Result<(), String> {
        let fail = |what: String| Err(format!("{}: {what}", self.path.display()));
        if self.expect.is_empty() {
            return fail(
                "says nothing about its findings; add `// expect: clean` or `// expect: KIND ...`"
                    .to_owned(),
            );
        }
        for expectation in self.expect.values().flatten() {
            for mark in ["lines", "alloc"]
                .iter()
                .filter_map(|key| expectation.keys.get(*key))
                .flatten()
            {
                if self.line(mark).is_none() {
                    return fail(format!(
                        "`{expectation}` names the mark {mark}, but no line ends with `// {mark}`"
                    ));
                }
            }
        }
        let racy = self.stem().ends_with("_racy");
        if racy == self.expect.values().all(Vec::is_empty) {
            return fail("a `_racy` program expects findings and an `_ok` one is clean".to_owned());
        }
        Ok(())
    }

    /// The file's name without its ending.
    pub fn stem(&self) -> &str {
        self.path
            .file_stem()
            .and_then(|stem| stem.to_str())
            .unwrap_or_default()
    }

    /// The folder that all programs lie in.
    pub fn root(&self) -> PathBuf {
        let depth = Path::new(&self.name).components().count();
        self.path
            .ancestors()
            .nth(depth)
            .unwrap_or(Path::new("."))
            .to_owned()
    }

    /// The file's name.
    pub fn file_name(&self) -> &str {
        self.path
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or_default()
    }

    /// What must be found with this compiler.
    pub fn expectations(&self, compiler: Compiler) -> &[Expectation] {
        let own = format!("expect-{}", compiler.name());
        self.expect
            .get(&own)
            .or_else(|| self.expect.get("expect"))
            .map_or(&[], Vec::as_slice)
    }

    /// The compilers that this program is for.
    pub fn compilers(&self) -> Vec<Compiler> {
        let Some(only) = self.value("compilers") else {
            return Compiler::ALL.to_vec();
        };
        Compiler::ALL
            .into_iter()
            .filter(|c| only.split_whitespace().any(|word| word == c.name()))
            .collect()
    }

    /// The value of a directive that is given once.
    pub fn value(&self, key: &str) -> Option<&str> {
        self.values
            .get(key)
            .and_then(|values| values.first())
            .map(String::as_str)
    }

    /// All values of a directive.
    pub fn values(&self, key: &str) -> &[String] {
        self.values.get(key).map_or(&[], Vec::as_slice)
    }

    /// The words of a directive.
    pub fn words(&self, key: &str) -> Vec<String> {
        self.values(key)
            .iter()
            .flat_map(|v| v.split_whitespace())
            .map(str::to_owned)
            .collect()
    }

    /// The line of a mark, or a line's number as it is.
    pub fn line(&self, mark: &str) -> Option<u32> {
        mark.parse().ok().or_else(|| self.marks.get(mark).copied())
    }

    /// The statuses that `deadheat run` may have.
    pub fn exit(&self, compiler: Compiler) -> i32 {
        let default = i32::from(!self.expectations(compiler).is_empty());
        self.value("exit")
            .and_then(|word| word.parse().ok())
            .unwrap_or(default)
    }
}

fn marks(text: &str) -> BTreeMap<String, u32> {
    let mut marks = BTreeMap::new();
    for (number, line) in (1..).zip(text.lines()) {
        if let Some((_, mark)) = line.rsplit_once("// ")
            && mark.len() == 1
            && mark.chars().all(|c| c.is_ascii_uppercase())
        {
            marks.insert(mark.to_owned(), number);
        }
    }
    marks
}

fn expectation(text: &str) -> Result<Expectation, String> {
    let mut words = text.split_whitespace();
    let kind = words
        .next()
        .ok_or("an expectation needs a kind")?
        .to_owned();
    if !deadheat_model::FindingKind::ALL
        .iter()
        .any(|known| known.name() == kind)
    {
        return Err(format!("`{kind}` is no kind of finding"));
    }
    let mut expectation = Expectation {
        kind,
        keys: BTreeMap::new(),
        count: None,
        text: text.to_owned(),
    };
    for word in words {
        let number = |text: &str| {
            text.parse()
                .map_err(|_| format!("`{text}` in `{word}` is no number"))
        };
        if let Some(least) = word.strip_prefix("count>=") {
            expectation.count = Some(CountRule::AtLeast(number(least)?));
        } else if let Some(exact) = word.strip_prefix("count=") {
            expectation.count = Some(CountRule::Exactly(number(exact)?));
        } else {
            let (key, value) = word
                .split_once('=')
                .ok_or(format!("`{word}` is not of the form key=value"))?;
            if !KEYS.contains(&key) {
                return Err(format!(
                    "there is no key `{key}`; the keys are {}",
                    KEYS.join(", ")
                ));
            }
            expectation.keys.insert(
                key.to_owned(),
                value.split(',').map(str::to_owned).collect(),
            );
        }
    }
    Ok(expectation)
}

/// All programs below `root`, sorted by name.
pub fn programs(root: &Path) -> Result<Vec<Program>, String> {
    let mut found = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(&folder)
            .map_err(|error| format!("cannot list {}: {error}", folder.display()))?;
        for entry in entries {
            let path = entry
                .map_err(|error| format!("cannot list {}: {error}", folder.display()))?
                .path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "c" || e == "cc") {
                found.push(Program::read(root, &path)?);
            }
        }
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(name: &str, text: &str) -> Result<Program, String> {
        Program::parse(Path::new(name), name.to_owned(), text)
    }

    #[test]
    fn directives_and_marks_are_read() {
        let text = "// Two writes.\n// expect: data-race global=x op=write,read lines=A,B count>=2\n// flags: -O2\nint x;\nx = 1; // A\nreturn x; // B\n";
        let program = parse("a_racy.c", text).expect("a program");
        let expectation = &program.expectations(Compiler::Gcc)[0];
        assert_eq!(expectation.keys["op"], ["write", "read"]);
        assert_eq!(expectation.count, Some(CountRule::AtLeast(2)));
        assert_eq!((program.line("A"), program.line("B")), (Some(5), Some(6)));
        assert_eq!(program.words("flags"), ["-O2"]);
        assert_eq!(program.exit(Compiler::Clang), 1);
    }

    #[test]
    fn mistakes_in_directives_are_told() {
        let told = |name: &str, text: &str| parse(name, text).expect_err("a mistake");
        assert!(told("a_racy.c", "int x;").contains("says nothing"));
        assert!(told("a_racy.c", "// expect: data-race lines=A,B\n").contains("names the mark A"));
        assert!(
            told("a_racy.c", "// expect: data-rice\n")
                .contains("a_racy.c:1: `data-rice` is no kind")
        );
        assert!(told("a_racy.c", "// expect: data-race lins=1,2\n").contains("no key `lins`"));
        assert!(told("a_racy.c", "// expect: clean\n").contains("expects findings"));
        assert!(told("a_ok.c", "// expect: data-race\n").contains("is clean"));
    }

    #[test]
    fn one_compiler_can_have_its_own_expectation() {
        let text = "// expect: data-race size=4,4\n// expect-gcc: data-race size=8,8\n";
        let program = parse("a_racy.c", text).expect("a program");
        assert_eq!(
            program.expectations(Compiler::Gcc)[0].keys["size"],
            ["8", "8"]
        );
        assert_eq!(
            program.expectations(Compiler::Clang)[0].keys["size"],
            ["4", "4"]
        );
    }
}

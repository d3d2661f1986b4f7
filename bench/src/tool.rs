//! The tools that are compared, and how each is built and started.

use std::path::{Path, PathBuf};

/// A column of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tool {
    Native,
    Empty,
    Deadheat,
    /// `deadheat run --split`: the program records, the command checks.
    Split,
    Tsan,
    Helgrind,
    Drd,
}

/// How a binary is compiled; Helgrind and DRD share one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Build {
    Native,
    Empty,
    Deadheat,
    Tsan,
    Dwarf4,
}

impl Tool {
    pub const ALL: [Tool; 7] = [
        Tool::Native,
        Tool::Empty,
        Tool::Deadheat,
        Tool::Split,
        Tool::Tsan,
        Tool::Helgrind,
        Tool::Drd,
    ];

    /// As written in `--tools` and in the JSON.
    pub fn name(self) -> &'static str {
        match self {
            Tool::Native => "native",
            Tool::Empty => "empty",
            Tool::Deadheat => "deadheat",
            Tool::Split => "split",
            Tool::Tsan => "tsan",
            Tool::Helgrind => "helgrind",
            Tool::Drd => "drd",
        }
    }

    /// As written in the table's head.
    pub fn title(self) -> &'static str {
        match self {
            Tool::Native => "native",
            Tool::Empty => "empty",
            Tool::Deadheat => "Deadheat",
            Tool::Split => "split",
            Tool::Tsan => "TSan",
            Tool::Helgrind => "Helgrind",
            Tool::Drd => "DRD",
        }
    }

    pub fn from_name(name: &str) -> Option<Tool> {
        Tool::ALL.into_iter().find(|t| t.name() == name)
    }

    pub fn build(self) -> Build {
        match self {
            Tool::Native => Build::Native,
            Tool::Empty => Build::Empty,
            Tool::Deadheat | Tool::Split => Build::Deadheat,
            Tool::Tsan => Build::Tsan,
            Tool::Helgrind | Tool::Drd => Build::Dwarf4,
        }
    }

    pub fn is_valgrind(self) -> bool {
        matches!(self, Tool::Helgrind | Tool::Drd)
    }

    /// What goes before the program on the command line.
    pub fn prefix(self, deadheat: &Path) -> Vec<String> {
        let deadheat = deadheat.display().to_string();
        let words: &[&str] = match self {
            Tool::Split => &[&deadheat, "run", "--split", "--stats"],
            Tool::Helgrind => &["valgrind", "--fair-sched=try", "--tool=helgrind"],
            Tool::Drd => &["valgrind", "--fair-sched=try", "--tool=drd"],
            // Its shadow needs a fixed layout, which address randomization can break.
            Tool::Tsan => &["setarch", "-R"],
            Tool::Native | Tool::Empty | Tool::Deadheat => &[],
        };
        words.iter().map(|w| w.to_string()).collect()
    }

    /// The exit status with which the tool says "the program is fine, but I found something".
    pub fn findings_status(self) -> Option<i32> {
        match self {
            Tool::Deadheat | Tool::Split => Some(1),
            Tool::Tsan => Some(66),
            Tool::Native | Tool::Empty | Tool::Helgrind | Tool::Drd => None,
        }
    }

    /// The text that starts one finding on the tool's standard error.
    pub fn finding_mark(self) -> Option<&'static str> {
        match self {
            Tool::Tsan => Some("WARNING: ThreadSanitizer:"),
            Tool::Helgrind => Some("Possible data race during"),
            Tool::Drd => Some("Conflicting "),
            Tool::Deadheat | Tool::Split => Some("deadheat: finding"),
            Tool::Native | Tool::Empty => None,
        }
    }
}

impl Build {
    pub fn name(self) -> &'static str {
        match self {
            Build::Native => "native",
            Build::Empty => "empty",
            Build::Deadheat => "deadheat",
            Build::Tsan => "tsan",
            Build::Dwarf4 => "dwarf4",
        }
    }

    /// The compiler's command line up to the flags of the source.
    pub fn compiler(self, cxx: bool, deadheat: &Path) -> Vec<String> {
        let clang = if cxx { "clang++-19" } else { "clang-19" };
        let mut words: Vec<String> = match self {
            Build::Deadheat => {
                let driver = if cxx { "c++" } else { "cc" };
                vec![deadheat.display().to_string(), driver.to_string()]
            }
            Build::Native | Build::Empty | Build::Tsan | Build::Dwarf4 => vec![clang.to_string()],
        };
        words.push("-O2".to_string());
        words.push(
            if self == Build::Dwarf4 {
                "-gdwarf-4"
            } else {
                "-g"
            }
            .to_string(),
        );
        words
    }

    /// Flags only for compiling.
    pub fn compile_flags(self) -> &'static [&'static str] {
        match self {
            Build::Empty | Build::Tsan => &["-fsanitize=thread"],
            Build::Native | Build::Deadheat | Build::Dwarf4 => &[],
        }
    }

    /// Flags and objects only for linking.
    pub fn link_flags(self, empty_runtime: &Path) -> Vec<PathBuf> {
        match self {
            Build::Tsan => vec![PathBuf::from("-fsanitize=thread")],
            Build::Empty => vec![empty_runtime.to_path_buf()],
            Build::Native | Build::Deadheat | Build::Dwarf4 => Vec::new(),
        }
    }

    /// The environment of the compiler: Deadheat must drive the same clang as all others.
    pub fn environment(self, cxx: bool) -> Vec<(&'static str, &'static str)> {
        match self {
            Build::Deadheat if cxx => {
                vec![("DEADHEAT_CXX", "clang++-19"), ("DEADHEAT_CC", "clang-19")]
            }
            Build::Deadheat => vec![("DEADHEAT_CC", "clang-19")],
            Build::Native | Build::Empty | Build::Tsan | Build::Dwarf4 => Vec::new(),
        }
    }
}

//! Findings in the short form that expectations are compared with, whoever made them.

use deadheat_model::{Access, AccessKind, Finding, Frame, Memory, MemoryKind, Report};
use std::fmt;

/// One finding.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Seen {
    pub kind: String,
    pub count: u64,
    pub accesses: Vec<SeenAccess>,
    /// `None` if whoever made it does not tell.
    pub memory: Option<SeenMemory>,
    /// Stacks of a finding that is not about two accesses.
    pub stacks: Vec<Vec<SeenFrame>>,
    /// The locks it is about; `None` if not told.
    pub locks: Option<usize>,
}

/// One side of a race.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SeenAccess {
    /// `atomic-` may stand before it.
    pub op: String,
    pub size: u64,
    /// Locks held, `None` if not told.
    pub locks: Option<usize>,
    pub thread: String,
    pub stack: Vec<SeenFrame>,
}

/// What was touched.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SeenMemory {
    pub kind: String,
    pub name: String,
    pub size: Option<u64>,
    pub allocated: Vec<SeenFrame>,
}

/// One entry of a call stack.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SeenFrame {
    pub function: String,
    /// Without folders.
    pub file: String,
    pub line: u32,
}

/// The findings of a report.
pub fn from_report(report: &Report) -> Vec<Seen> {
    report.findings.iter().map(finding).collect()
}

fn finding(finding: &Finding) -> Seen {
    Seen {
        kind: finding.kind.name().to_owned(),
        count: finding.count,
        accesses: finding.accesses.iter().map(access).collect(),
        memory: finding.memory.as_ref().map(memory),
        stacks: finding
            .stacks
            .iter()
            .map(|labelled| frames(&labelled.stack))
            .collect(),
        locks: Some(finding.locks.len()),
    }
}

fn access(access: &Access) -> SeenAccess {
    let plain = access.kind.name();
    let atomic = access.atomic
        && matches!(
            access.kind,
            AccessKind::Read | AccessKind::Write | AccessKind::ReadWrite
        );
    SeenAccess {
        op: if atomic {
            format!("atomic-{plain}")
        } else {
            plain.to_owned()
        },
        size: access.size,
        locks: Some(access.locks.len()),
        thread: access.thread.name.clone(),
        stack: frames(&access.stack),
    }
}

fn memory(memory: &Memory) -> SeenMemory {
    let name = memory
        .object
        .clone()
        .or_else(|| memory.name.clone())
        .unwrap_or_default();
    SeenMemory {
        kind: memory.kind.name().to_owned(),
        name,
        size: memory.size.filter(|_| memory.kind == MemoryKind::Heap),
        allocated: memory
            .allocation
            .as_ref()
            .map_or(Vec::new(), |made| frames(&made.stack)),
    }
}

fn frames(stack: &[Frame]) -> Vec<SeenFrame> {
    let short = |file: &Option<String>| {
        let file = file.as_deref().unwrap_or_default();
        file.rsplit('/').next().unwrap_or_default().to_owned()
    };
    let frame = |frame: &Frame| SeenFrame {
        function: bare(&frame.function),
        file: short(&frame.file),
        line: frame.line.unwrap_or(0),
    };
    stack.iter().map(frame).collect()
}

/// A function's name without its parameters.
pub fn bare(function: &str) -> String {
    function.split('(').next().unwrap_or_default().to_owned()
}

/// The frames that lie in the program's own file, the innermost first.
pub fn own<'a>(stack: &'a [SeenFrame], file: &str) -> Vec<&'a SeenFrame> {
    stack.iter().filter(|frame| frame.file == file).collect()
}

impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} count={}", self.kind, self.count)?;
        if let Some(memory) = &self.memory {
            write!(f, " {}={}", memory.kind, memory.name)?;
            if let Some(size) = memory.size {
                write!(f, "{size} bytes")?;
            }
            if !memory.allocated.is_empty() {
                write!(f, " allocated at {}", place(&memory.allocated))?;
            }
        }
        for access in &self.accesses {
            write!(
                f,
                "\n      {} of {} by `{}`",
                access.op, access.size, access.thread
            )?;
            if let Some(locks) = access.locks {
                write!(f, " with {locks} locks")?;
            }
            write!(f, " at {}", place(&access.stack))?;
        }
        if let Some(locks) = self.locks.filter(|_| self.accesses.is_empty()) {
            write!(f, " about {locks} locks")?;
        }
        for stack in &self.stacks {
            write!(f, "\n      stack {}", place(stack))?;
        }
        Ok(())
    }
}

fn place(stack: &[SeenFrame]) -> String {
    let shown = 6;
    let mut words: Vec<String> = stack
        .iter()
        .take(shown)
        .map(|f| format!("{} {}:{}", f.function, f.file, f.line))
        .collect();
    if stack.len() > shown {
        words.push(format!("{} more", stack.len() - shown));
    }
    if words.is_empty() {
        "nowhere".to_owned()
    } else {
        words.join(" < ")
    }
}

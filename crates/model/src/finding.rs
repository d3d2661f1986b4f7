//! One finding: what happened, where, to which memory, and why nothing ordered it.

use crate::{
    Address, FindingId, FindingKind, GridPlace, Launch, LockId, Operation, Severity, Thread,
    ThreadId,
};
use serde::{Deserialize, Serialize};

/// One bug, however often it was seen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    pub id: FindingId,
    pub kind: FindingKind,
    pub severity: Severity,
    /// One line: the kind and what it is about.
    pub title: String,
    /// One sentence on why nothing orders the accesses, or what makes this wrong.
    pub why: String,
    /// How often it was seen.
    pub count: u64,
    /// The same bug has the same fingerprint in another run, also when lines move.
    pub fingerprint: String,
    /// The process it was found in, when the program forked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u64>,
    /// The access that found it, then the earlier one. Races have two, other kinds none or one.
    #[serde(default)]
    pub accesses: Vec<Access>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Memory>,
    /// The locks or other synchronization objects the finding is about.
    #[serde(default)]
    pub locks: Vec<Lock>,
    /// Synchronization of the threads around the accesses, oldest first.
    #[serde(default)]
    pub timeline: Vec<Moment>,
    /// For kinds that are not about two accesses: stacks in the order in which to read them.
    #[serde(default)]
    pub stacks: Vec<LabelledStack>,
    /// The threads that take part.
    #[serde(default)]
    pub threads: Vec<Thread>,
    /// What else the detector had to say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// The kernel launch it is about, for findings in GPU programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub launch: Option<Launch>,
    /// The line of a suppression file that would silence it.
    pub suppression: String,
}

impl Finding {
    /// The stacks it is about, in the order in which they are told.
    pub fn stacks_told(&self) -> impl Iterator<Item = &[Frame]> {
        let accesses = self.accesses.iter().map(|access| access.stack.as_slice());
        accesses.chain(self.stacks.iter().map(|entry| entry.stack.as_slice()))
    }
}

/// One side of a race.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Access {
    pub kind: AccessKind,
    pub atomic: bool,
    /// In bytes.
    pub size: u64,
    pub address: Address,
    pub thread: Thread,
    /// Locks held at that moment, outermost first.
    #[serde(default)]
    pub locks: Vec<Lock>,
    /// Innermost frame first.
    #[serde(default)]
    pub stack: Vec<Frame>,
    /// The thread of the grid, for an access in a kernel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grid: Option<GridPlace>,
    /// The stream's operation it belongs to, for races between those.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation: Option<Operation>,
}

/// What an access does to the memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AccessKind {
    Read,
    Write,
    ReadWrite,
    Free,
    Alloc,
    Destroy,
    VptrWrite,
}

impl AccessKind {
    /// The word used in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            AccessKind::Read => "read",
            AccessKind::Write => "write",
            AccessKind::ReadWrite => "read-write",
            AccessKind::Free => "free",
            AccessKind::Alloc => "alloc",
            AccessKind::Destroy => "destroy",
            AccessKind::VptrWrite => "vptr-write",
        }
    }

    /// As a verb: "T1 *reads* 4 bytes".
    pub const fn verb(self) -> &'static str {
        match self {
            AccessKind::Read => "reads",
            AccessKind::Write => "writes",
            AccessKind::ReadWrite => "reads and writes",
            AccessKind::Free => "frees",
            AccessKind::Alloc => "allocates",
            AccessKind::Destroy => "destroys",
            AccessKind::VptrWrite => "sets the virtual table pointer in",
        }
    }

    /// As a noun: "before the *read*".
    pub const fn noun(self) -> &'static str {
        match self {
            AccessKind::Read => "read",
            AccessKind::Write => "write",
            AccessKind::ReadWrite => "update",
            AccessKind::Free => "free",
            AccessKind::Alloc => "allocation",
            AccessKind::Destroy => "destruction",
            AccessKind::VptrWrite => "construction or destruction",
        }
    }
}

/// One entry of a call stack.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Frame {
    /// Demangled; empty if unknown.
    #[serde(default)]
    pub function: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
    /// Path of the executable or library.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub module: Option<String>,
    /// Link-time address inside the module: what `addr2line` takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<Address>,
    /// Whether the compiler inlined this call into the next frame.
    #[serde(default)]
    pub inlined: bool,
}

/// A place in the source.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Location {
    pub file: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
}

/// A lock or another synchronization object.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Lock {
    pub id: LockId,
    /// The variable it lives in, if debug info tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    pub address: Address,
    /// `mutex`, `rwlock`, `spin`, `cond`, `barrier`, `semaphore`, ...
    #[serde(rename = "type")]
    pub type_name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<LockMode>,
    /// Where it was taken, for a lock that is held.
    #[serde(default)]
    pub stack: Vec<Frame>,
    /// Where it was made, if known.
    #[serde(default)]
    pub created: Vec<Frame>,
}

/// How a lock is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LockMode {
    Read,
    Write,
}

/// The memory a finding is about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Memory {
    pub kind: MemoryKind,
    /// The variable with the member touched, such as `counter.hits`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The whole variable's name, such as `counter`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<String>,
    /// What was touched.
    pub address: Address,
    /// Start of the object or block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<Address>,
    /// Size of the object or block in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// How far the address is from the start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// Whose stack or thread-local storage it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<ThreadId>,
    /// Where the variable is declared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub declared: Option<Location>,
    /// Executable or library that holds a global.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub module: Option<String>,
    /// The file descriptor, for kind `fd`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fd: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allocation: Option<Allocation>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub freed: Option<Allocation>,
    /// One line for people.
    pub description: String,
}

/// Who made or freed a heap block.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Allocation {
    pub thread: Thread,
    #[serde(default)]
    pub stack: Vec<Frame>,
}

/// What sort of memory it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MemoryKind {
    Heap,
    Global,
    Stack,
    Tls,
    Fd,
    Mapping,
    /// Shared memory of a block of GPU threads.
    Shared,
    /// Global memory of a GPU, and host memory that it can reach.
    Device,
    Unknown,
}

impl MemoryKind {
    /// The word used in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            MemoryKind::Heap => "heap",
            MemoryKind::Global => "global",
            MemoryKind::Stack => "stack",
            MemoryKind::Tls => "tls",
            MemoryKind::Fd => "fd",
            MemoryKind::Mapping => "mapping",
            MemoryKind::Shared => "shared",
            MemoryKind::Device => "device",
            MemoryKind::Unknown => "unknown",
        }
    }
}

/// One moment of the timeline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Moment {
    pub thread: ThreadId,
    /// Position in the order of the run; moments are sorted by it.
    pub at: u64,
    pub what: MomentKind,
    /// The lock or other object, for moments that have one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<LockId>,
    /// The other thread, for create and join.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer: Option<ThreadId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<Address>,
    /// Index into the finding's accesses, for `access`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access: Option<usize>,
    #[serde(default)]
    pub stack: Vec<Frame>,
}

/// What happened at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MomentKind {
    Lock,
    Unlock,
    Rdlock,
    Rdunlock,
    Wait,
    Signal,
    Create,
    Join,
    Start,
    Exit,
    Barrier,
    Post,
    Release,
    Acquire,
    Access,
}

impl MomentKind {
    /// The word used in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            MomentKind::Lock => "lock",
            MomentKind::Unlock => "unlock",
            MomentKind::Rdlock => "rdlock",
            MomentKind::Rdunlock => "rdunlock",
            MomentKind::Wait => "wait",
            MomentKind::Signal => "signal",
            MomentKind::Create => "create",
            MomentKind::Join => "join",
            MomentKind::Start => "start",
            MomentKind::Exit => "exit",
            MomentKind::Barrier => "barrier",
            MomentKind::Post => "post",
            MomentKind::Release => "release",
            MomentKind::Acquire => "acquire",
            MomentKind::Access => "access",
        }
    }

    /// Whether others can learn from this moment what came before it.
    pub const fn releases(self) -> bool {
        matches!(
            self,
            MomentKind::Unlock
                | MomentKind::Rdunlock
                | MomentKind::Signal
                | MomentKind::Create
                | MomentKind::Exit
                | MomentKind::Barrier
                | MomentKind::Post
                | MomentKind::Release
        )
    }

    /// Whether this moment learns what others did before.
    pub const fn acquires(self) -> bool {
        matches!(
            self,
            MomentKind::Lock
                | MomentKind::Rdlock
                | MomentKind::Wait
                | MomentKind::Join
                | MomentKind::Start
                | MomentKind::Barrier
                | MomentKind::Acquire
        )
    }
}

/// A stack with a sentence in front of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LabelledStack {
    pub label: String,
    pub thread: Thread,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lock: Option<Lock>,
    #[serde(default)]
    pub stack: Vec<Frame>,
}

//! From a raw finding to a finding people can read: every program counter resolved, every object named.

use crate::merge;
use crate::raw;
use crate::suppress::{self, Evidence};
use crate::symbolize::{Symbolized, Symbolizer};
use crate::trim::{trim, trim_allocation};
use crate::why;
use crate::words;
use deadheat_model::{
    Access, AccessKind, Address, Allocation, Finding, FindingId, FindingKind, Frame, LabelledStack,
    Lock, LockId, LockMode, Memory, MemoryKind, Moment, MomentKind, Thread, ThreadId,
};
use std::collections::HashMap;

/// What a raw finding refers to.
pub struct Builder<'a> {
    pub symbolizer: &'a mut Symbolizer,
    pub threads: &'a HashMap<u64, Thread>,
    /// Creation stacks with all names, for suppressions.
    pub created: &'a HashMap<u64, Vec<Symbolized>>,
    pub cwd: &'a str,
}

/// A finding before it has a number, with the names suppressions may match.
pub struct Built {
    pub finding: Finding,
    stacks: Vec<Vec<Symbolized>>,
}

impl Built {
    pub fn evidence(&self) -> Evidence<'_> {
        let mut memory = Vec::new();
        if let Some(found) = &self.finding.memory
            && found.kind == MemoryKind::Global
        {
            memory.extend(found.name.as_deref());
            memory.extend(found.object.as_deref());
            memory.extend(found.declared.as_ref().map(|at| at.file.as_str()));
            memory.extend(found.module.as_deref());
        }
        Evidence {
            kind: self.finding.kind,
            stacks: self.stacks.iter().map(Vec::as_slice).collect(),
            memory,
        }
    }
}

impl Builder<'_> {
    /// Fails with what this version does not understand.
    pub fn build(mut self, raw: raw::Finding) -> Result<Built, String> {
        let kind: FindingKind = raw
            .kind
            .parse()
            .map_err(|_| format!("findings of an unknown kind `{}`", raw.kind))?;
        let mut stacks = Vec::new();
        let mut accesses = Vec::new();
        for access in &raw.accesses {
            let op = access_kind(&access.op)
                .ok_or_else(|| format!("findings with an unknown access `{}`", access.op))?;
            let stack = self.resolve(&access.stack);
            accesses.push(Access {
                kind: op,
                atomic: access.atomic,
                size: access.size,
                address: Address(access.addr),
                thread: self.thread(access.thread),
                locks: access.locks.iter().map(|lock| self.lock(lock)).collect(),
                stack: plain(&stack),
                grid: None,
                operation: None,
            });
            stacks.push(stack);
        }
        let mut labelled = Vec::new();
        for entry in &raw.stacks {
            let stack = self.resolve(&entry.stack);
            labelled.push(LabelledStack {
                label: entry.label.clone(),
                thread: self.thread(entry.thread),
                lock: entry.lock.as_ref().map(|lock| self.lock(lock)),
                stack: plain(&stack),
            });
            stacks.push(stack);
        }
        let threads = self.threads_of(&raw);
        for thread in &threads {
            if let Some(created) = self.created.get(&thread.id.0)
                && !created.is_empty()
            {
                stacks.push(created.clone());
            }
        }
        let memory = raw.memory.as_ref().map(|memory| self.memory(memory, &raw));
        let locks: Vec<Lock> = raw.locks.iter().map(|lock| self.lock(lock)).collect();
        let timeline = raw.timeline.iter().filter_map(|m| self.moment(m)).collect();
        let mut finding = Finding {
            id: FindingId(0),
            kind,
            severity: kind.severity(),
            title: String::new(),
            why: String::new(),
            count: 1,
            fingerprint: String::new(),
            pid: None,
            accesses,
            memory,
            locks,
            timeline,
            stacks: labelled,
            threads,
            detail: (!raw.text.is_empty()).then_some(raw.text),
            launch: None,
            suppression: String::new(),
        };
        name_locks(&mut finding);
        finding.title = title(&finding);
        finding.why = why::why(&finding, self.cwd);
        finding.fingerprint = merge::fingerprint(&finding);
        finding.suppression = suppress::line_for(&finding);
        Ok(Built { finding, stacks })
    }

    fn resolve(&mut self, pcs: &[u64]) -> Vec<Symbolized> {
        trim(self.symbolizer.stack(pcs))
    }

    fn frames(&mut self, pcs: &[u64]) -> Vec<Frame> {
        plain(&self.resolve(pcs))
    }

    fn thread(&self, id: u64) -> Thread {
        self.threads.get(&id).cloned().unwrap_or_else(|| Thread {
            id: ThreadId(id),
            ..Thread::default()
        })
    }

    /// All threads the finding names, each once.
    fn threads_of(&self, raw: &raw::Finding) -> Vec<Thread> {
        let mut ids: Vec<u64> = Vec::new();
        let named = raw
            .threads
            .iter()
            .copied()
            .chain(raw.accesses.iter().map(|access| access.thread))
            .chain(raw.stacks.iter().map(|entry| entry.thread));
        for id in named {
            if !ids.contains(&id) {
                ids.push(id);
            }
        }
        ids.into_iter().map(|id| self.thread(id)).collect()
    }

    fn lock(&mut self, raw: &raw::Lock) -> Lock {
        Lock {
            id: LockId(raw.lock),
            name: self.name_at(raw.addr),
            address: Address(raw.addr),
            type_name: raw.type_name.clone(),
            mode: match raw.mode.as_str() {
                "read" => Some(LockMode::Read),
                "write" => Some(LockMode::Write),
                _ => None,
            },
            stack: self.frames(&raw.stack),
            created: self.frames(&raw.created),
        }
    }

    fn name_at(&mut self, address: u64) -> Option<String> {
        let global = self.symbolizer.global(address)?;
        Some(global.variable.path.clone())
    }

    fn moment(&mut self, raw: &raw::Moment) -> Option<Moment> {
        let what = moment_kind(&raw.what)?;
        let about_thread = matches!(
            what,
            MomentKind::Create | MomentKind::Join | MomentKind::Start | MomentKind::Exit
        );
        let stack = self.frames(&raw.stack);
        Some(Moment {
            thread: ThreadId(raw.thread),
            at: raw.at,
            what,
            // The runtime numbers objects from 1; 0 is none.
            object: raw
                .object
                .filter(|id| *id != 0 && !about_thread)
                .map(LockId),
            peer: if about_thread {
                self.peer(raw, what, &stack)
            } else {
                None
            },
            name: raw
                .addr
                .filter(|_| !about_thread)
                .and_then(|address| self.name_at(address)),
            address: raw.addr.map(Address),
            access: raw.access,
            stack,
        })
    }

    /// The other thread of a create or join: told by the stream, else the one that was created at this very place.
    fn peer(&self, raw: &raw::Moment, what: MomentKind, stack: &[Frame]) -> Option<ThreadId> {
        let told = raw
            .peer
            .or(raw.object.filter(|id| *id != 0 && raw.addr.is_none()));
        if told.is_some() || what != MomentKind::Create || stack.is_empty() {
            return told.map(ThreadId);
        }
        let mut born = self.threads.values().filter(|thread| {
            thread.parent == Some(ThreadId(raw.thread)) && thread.created == stack
        });
        match (born.next(), born.next()) {
            (Some(thread), None) => Some(thread.id),
            _ => None,
        }
    }

    fn memory(&mut self, raw: &raw::Memory, finding: &raw::Finding) -> Memory {
        let kind = memory_kind(&raw.kind);
        let address = match raw.addr {
            0 => finding.accesses.first().map_or(0, |access| access.addr),
            given => given,
        };
        let mut memory = Memory {
            kind,
            name: None,
            object: None,
            address: Address(address),
            start: raw.start.map(Address),
            size: raw.size,
            offset: None,
            thread: None,
            declared: None,
            module: None,
            fd: raw.fd,
            allocation: None,
            freed: None,
            description: String::new(),
        };
        match kind {
            MemoryKind::Global | MemoryKind::Unknown => self.name_global(&mut memory),
            MemoryKind::Heap => {
                memory.allocation = Some(Allocation {
                    thread: self.thread(raw.thread.unwrap_or(0)),
                    stack: plain(&trim_allocation(self.resolve(&raw.stack))),
                });
                memory.freed = raw.freed.as_ref().map(|freed| Allocation {
                    thread: self.thread(freed.thread),
                    stack: self.frames(&freed.stack),
                });
            }
            MemoryKind::Stack => {
                memory.thread = raw.thread.map(ThreadId);
                memory.size = None;
                memory.start = None;
                self.name_local(&mut memory, raw);
            }
            MemoryKind::Tls => {
                memory.thread = raw.thread.map(ThreadId);
                self.name_thread_local(&mut memory, raw);
            }
            MemoryKind::Fd | MemoryKind::Mapping | MemoryKind::Shared | MemoryKind::Device => {}
        }
        memory.offset = memory
            .start
            .and_then(|start| memory.address.0.checked_sub(start.0));
        memory.description = self.describe(&memory);
        memory
    }

    fn name_global(&mut self, memory: &mut Memory) {
        let Some(global) = self.symbolizer.global(memory.address.0) else {
            return;
        };
        memory.kind = MemoryKind::Global;
        memory.name = Some(global.variable.path.clone());
        memory.object = Some(global.variable.object.clone());
        memory.start = Some(Address(global.start));
        memory.size = Some(global.variable.size);
        memory.declared = global.variable.declared.clone();
        memory.module = Some(global.module.clone());
    }

    fn name_thread_local(&mut self, memory: &mut Memory, raw: &raw::Memory) {
        let Some((variable, module)) = raw
            .below
            .and_then(|below| self.symbolizer.thread_local(below))
        else {
            return;
        };
        memory.name = Some(variable.path);
        memory.object = Some(variable.object);
        memory.size = Some(variable.size);
        memory.declared = variable.declared;
        memory.module = Some(module);
    }

    /// The runtime gives the frame that it lies in and a program counter of that frame's function, whose debug info
    /// knows the variables there.
    fn name_local(&mut self, memory: &mut Memory, raw: &raw::Memory) {
        let found = raw
            .frame
            .zip(raw.stack.first().copied())
            .and_then(|(cfa, pc)| self.symbolizer.local(pc, cfa, memory.address.0));
        if let Some(variable) = found {
            memory.name = Some(variable.path);
            memory.object = Some(variable.object);
            memory.start = Some(Address(variable.start));
            memory.size = Some(variable.size);
            memory.declared = variable.declared;
        }
    }

    fn describe(&self, memory: &Memory) -> String {
        let declared = memory.declared.as_ref().map_or_else(String::new, |at| {
            let file = words::short_path(&at.file, self.cwd);
            match at.line {
                Some(line) => format!(", declared at {file}:{line}"),
                None => format!(", declared in {file}"),
            }
        });
        let offset = memory.offset.unwrap_or(0);
        let size = memory.size.unwrap_or(0);
        let bytes = words::counted(size, "byte", "bytes");
        let owner = |id: Option<ThreadId>| {
            id.map_or_else(
                || "a thread".to_owned(),
                |id| words::thread(&self.thread(id.0)),
            )
        };
        match memory.kind {
            MemoryKind::Global => match (&memory.name, &memory.object) {
                (Some(name), Some(object)) if name == object && offset == 0 => {
                    format!("global `{name}` of {bytes}{declared}")
                }
                (Some(name), Some(object)) => {
                    format!("`{name}`, at offset {offset} of global `{object}` ({bytes}){declared}")
                }
                _ => format!("a global variable at {}", memory.address),
            },
            MemoryKind::Heap => {
                let by = memory.allocation.as_ref().map_or_else(String::new, |made| {
                    let place = words::at(&made.stack, self.cwd);
                    format!(" that {} allocated {place}", words::thread(&made.thread))
                });
                let by = by.trim_end();
                match offset {
                    0 => format!("the start of a heap block of {bytes}{by}"),
                    _ => format!("offset {offset} of a heap block of {bytes}{by}"),
                }
            }
            MemoryKind::Stack => match &memory.name {
                Some(name) => {
                    format!(
                        "local variable `{name}` on the stack of {}{declared}",
                        owner(memory.thread)
                    )
                }
                None => format!("the stack of {}", owner(memory.thread)),
            },
            MemoryKind::Tls => match &memory.name {
                Some(name) => format!(
                    "thread-local variable `{name}` of {}{declared}",
                    owner(memory.thread)
                ),
                None => format!("thread-local storage of {}", owner(memory.thread)),
            },
            MemoryKind::Fd => format!("file descriptor {}", memory.fd.unwrap_or(-1)),
            MemoryKind::Mapping => format!("offset {offset} of mapped memory of {bytes}"),
            MemoryKind::Shared => format!("offset {offset} of shared memory"),
            MemoryKind::Device => format!("offset {offset} of device memory of {bytes}"),
            MemoryKind::Unknown => format!("memory at {}", memory.address),
        }
    }
}

fn plain(stack: &[Symbolized]) -> Vec<Frame> {
    stack.iter().map(|entry| entry.frame.clone()).collect()
}

/// Labels speak of `M1`; where the lock has a name, people know it by that.
fn name_locks(finding: &mut Finding) {
    let mut named: Vec<(String, String)> = Vec::new();
    let all = finding.locks.iter().chain(
        finding
            .stacks
            .iter()
            .filter_map(|entry| entry.lock.as_ref()),
    );
    for lock in all {
        let id = lock.id.to_string();
        if let Some(name) = &lock.name
            && !named.iter().any(|(known, _)| *known == id)
        {
            named.push((id, format!("`{name}`")));
        }
    }
    for entry in &mut finding.stacks {
        entry.label = replace_words(&entry.label, &named);
    }
    if let Some(detail) = &mut finding.detail {
        *detail = replace_words(detail, &named);
    }
}

fn replace_words(text: &str, names: &[(String, String)]) -> String {
    let mut out = String::with_capacity(text.len());
    for word in text.split_inclusive(|c: char| !c.is_ascii_alphanumeric()) {
        let bare = word.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
        match names.iter().find(|(id, _)| id == bare) {
            Some((_, name)) => {
                out.push_str(name);
                out.push_str(&word[bare.len()..]);
            }
            None => out.push_str(word),
        }
    }
    out
}

fn title(finding: &Finding) -> String {
    let kind = finding.kind.title();
    let locks: Vec<String> = finding.locks.iter().map(words::lock_name).collect();
    match finding.kind {
        FindingKind::DataRace | FindingKind::UseAfterFree | FindingKind::InvalidFree => {
            let vptr = finding
                .accesses
                .iter()
                .any(|access| access.kind == AccessKind::VptrWrite);
            let kind = if vptr {
                "data race on a virtual table pointer"
            } else {
                kind
            };
            match &finding.memory {
                Some(memory) => format!("{kind}: {}", subject(memory)),
                None => kind.to_owned(),
            }
        }
        FindingKind::ThreadLeak => match finding.threads.first() {
            Some(thread) => format!("{kind}: {}", words::thread(thread)),
            None => kind.to_owned(),
        },
        FindingKind::SignalUnsafe => {
            let place = finding
                .stacks
                .last()
                .and_then(|entry| entry.stack.first())
                .map(|frame| frame.function.as_str())
                .filter(|name| !name.is_empty());
            match place {
                Some(function) => format!("{kind}: {function}"),
                None => kind.to_owned(),
            }
        }
        _ if locks.is_empty() => kind.to_owned(),
        _ => format!("{kind}: {}", words::join(&locks)),
    }
}

fn subject(memory: &Memory) -> String {
    match (&memory.name, memory.kind) {
        (Some(name), _) => format!("`{name}`"),
        (None, MemoryKind::Heap) => {
            let site = memory
                .allocation
                .as_ref()
                .and_then(|made| words::spot(&made.stack))
                .map(|frame| frame.function.as_str())
                .filter(|name| !name.is_empty());
            match site {
                Some(function) => format!("heap block from {function}"),
                None => "a heap block".to_owned(),
            }
        }
        (None, _) => memory.description.clone(),
    }
}

fn access_kind(op: &str) -> Option<AccessKind> {
    [
        AccessKind::Read,
        AccessKind::Write,
        AccessKind::ReadWrite,
        AccessKind::Free,
        AccessKind::Alloc,
        AccessKind::Destroy,
        AccessKind::VptrWrite,
    ]
    .into_iter()
    .find(|kind| kind.name() == op)
}

fn memory_kind(name: &str) -> MemoryKind {
    [
        MemoryKind::Heap,
        MemoryKind::Global,
        MemoryKind::Stack,
        MemoryKind::Tls,
        MemoryKind::Fd,
        MemoryKind::Mapping,
    ]
    .into_iter()
    .find(|kind| kind.name() == name)
    .unwrap_or(MemoryKind::Unknown)
}

fn moment_kind(name: &str) -> Option<MomentKind> {
    [
        MomentKind::Lock,
        MomentKind::Unlock,
        MomentKind::Rdlock,
        MomentKind::Rdunlock,
        MomentKind::Wait,
        MomentKind::Signal,
        MomentKind::Create,
        MomentKind::Join,
        MomentKind::Start,
        MomentKind::Exit,
        MomentKind::Barrier,
        MomentKind::Post,
        MomentKind::Release,
        MomentKind::Acquire,
        MomentKind::Access,
    ]
    .into_iter()
    .find(|kind| kind.name() == name)
}

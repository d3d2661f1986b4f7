//! The operations of a program's streams: each is compared with those that nothing orders before it.
//!
//! Work is done when it is asked for, which is one of the orders that the program allowed; `order` knows which others
//! there are. An operation is kept until the host has waited for it, because all that comes later is then ordered.

use std::cell::Cell;
use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::{Arc, LazyLock, Mutex};

use deadheat_model::{
    Access, AccessKind, Address, Allocation, Finding, FindingKind, Frame, Loss, Operation, Thread,
    ThreadId, ThreadKind,
};

use crate::check::Footprint;
use crate::check::footprint::{Meeting, Touch};
use crate::frontend::finding::{blank, device_memory};
use crate::frontend::names::short;
use crate::machine::program::{Pc, Program};
use crate::ptx::Module;

use super::guard;
use super::hostcall;
use super::order::{Clock, LEGACY, Order, Stamp, StreamId};
use super::runtime::get;
use super::told::Told;

/// What did it.
#[derive(Clone)]
pub enum Did {
    Kernel {
        module: Arc<crate::machine::Loaded>,
        program: Arc<Program>,
        /// The host's stand-in for the kernel, whose frame tells nothing.
        stub: u64,
    },
    /// A function of the library, in a stream.
    Call(&'static str),
}

struct Op {
    number: u64,
    stamp: Stamp,
    did: Did,
    foot: Footprint,
    stack: Vec<u64>,
}

/// Operations that are kept at most, oldest dropped first.
const MOST_KEPT: usize = 2048;
/// One race of a loop is told this often.
const MOST_TOLD: u32 = 64;

#[derive(Default)]
struct State {
    order: Order,
    /// In words.
    names: Vec<String>,
    handles: HashMap<usize, StreamId>,
    created: u32,
    next: u64,
    live: Vec<Op>,
    told: HashMap<(u64, u64, u64, u64), u32>,
    modules_told: usize,
    dropped: bool,
}

static OPS: LazyLock<Mutex<State>> = LazyLock::new(|| {
    Mutex::new(State {
        names: vec!["the default stream".to_string()],
        ..State::default()
    })
});

thread_local! {
    static OWN_STREAM: Cell<Option<StreamId>> = const { Cell::new(None) };
    /// Inside a function of the per-thread variant handle 0 is the thread's own stream.
    static PER_THREAD: Cell<bool> = const { Cell::new(false) };
}

/// Calls `f` as the per-thread variant of a function.
pub fn per_thread<T>(f: impl FnOnce() -> T) -> T {
    let old = PER_THREAD.replace(true);
    let r = f();
    PER_THREAD.set(old);
    r
}

impl State {
    fn stream(&mut self, handle: *mut c_void) -> Option<StreamId> {
        match handle as usize {
            1 => Some(LEGACY),
            0 if !PER_THREAD.get() => Some(LEGACY),
            0 | 2 => Some(OWN_STREAM.get().unwrap_or_else(|| {
                let s = self.order.add(true);
                self.names.push("the thread's default stream".to_string());
                OWN_STREAM.set(Some(s));
                s
            })),
            other => self.handles.get(&other).copied(),
        }
    }

    /// What the host waited for needs no comparing any more.
    fn sweep(&mut self) {
        let order = &self.order;
        self.live.retain(|op| !order.host_knows(&op.stamp));
        self.close();
    }

    /// Managed memory that work under way uses is watched.
    fn close(&self) {
        guard::close(self.live.iter().map(|op| &op.foot));
    }
}

/// A new stream with its handle.
pub fn create_stream(handle: usize, blocking: bool) {
    if let Ok(mut s) = OPS.lock() {
        let id = s.order.add(blocking);
        s.created += 1;
        let name = format!("stream {}", s.created);
        s.names.push(name);
        s.handles.insert(handle, id);
    }
}

/// The handle is gone; what the stream was given goes on.
pub fn destroy_stream(handle: usize) -> bool {
    OPS.lock()
        .is_ok_and(|mut s| s.handles.remove(&handle).is_some())
}

pub fn known_stream(handle: *mut c_void) -> bool {
    OPS.lock().is_ok_and(|mut s| s.stream(handle).is_some())
}

/// An operation that has been given to its stream and is about to happen.
pub struct Ticket {
    number: u64,
    stamp: Stamp,
    busy: guard::Busy,
}

/// Gives the next operation to a stream; nothing if there is no such stream.
pub fn begin(handle: *mut c_void) -> Option<Ticket> {
    let mut s = OPS.lock().ok()?;
    let id = s.stream(handle)?;
    s.next += 1;
    Some(Ticket {
        number: s.next,
        stamp: s.order.operation(id),
        busy: guard::Busy::begin(),
    })
}

/// Whether the host waits for an operation.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Then {
    GoOn,
    Wait,
}

/// The operation has happened: compares it with those that nothing orders before it.
pub fn done(t: Ticket, did: Did, foot: Footprint, then: Then) {
    drop(t.busy);
    let op = Op {
        number: t.number,
        stamp: t.stamp,
        did,
        foot,
        stack: hostcall::stack(),
    };
    let Ok(mut s) = OPS.lock() else { return };
    let mut found = Vec::new();
    for old in &s.live {
        if old.stamp.before(&op.stamp) || op.stamp.before(&old.stamp) {
            continue;
        }
        found.extend(compare(&s, &op, old));
    }
    if then == Then::Wait {
        let stream = op.stamp.stream;
        s.order.synchronize(stream);
    } else if !op.foot.is_empty() {
        s.live.push(op);
        if s.live.len() > MOST_KEPT {
            s.live.remove(0);
            if !std::mem::replace(&mut s.dropped, true) {
                get().tell(Told::Loss(Loss {
                    what: "operations that the host never waited for: only the newest are compared with later ones"
                        .to_string(),
                    count: 1,
                }));
            }
        }
    }
    s.sweep();
    tell(&mut s, found);
}

/// The host itself reads or writes device-visible memory in a function of the library.
pub fn host_access(what: &'static str, foot: &Footprint) {
    host(Some(what), &hostcall::stack(), foot);
}

/// The instruction at `pc` of the program itself does.
pub fn host_touches(pc: u64, foot: &Footprint) {
    let mut stack = hostcall::stack();
    // The handler's own frames come before it; all other places are return addresses, so this one is made one.
    if let Some(k) = stack.iter().position(|p| *p == pc) {
        stack.drain(..k);
    }
    match stack.first_mut() {
        Some(first) if *first == pc => *first = pc + 1,
        _ => stack = vec![pc + 1],
    }
    host(None, &stack, foot);
}

fn host(what: Option<&'static str>, stack: &[u64], foot: &Footprint) {
    let Ok(mut s) = OPS.lock() else { return };
    let mut found = Vec::new();
    let mut told = Vec::new();
    for old in s.live.iter().filter(|o| !s.order.host_knows(&o.stamp)) {
        for m in foot.meetings(&old.foot, 4) {
            // A flag: whoever sees it may use what was written before it.
            if what.is_none() && old.foot.tells_host && m.theirs.0 == Touch::StrongWrite {
                told.push(old.stamp.clone());
                continue;
            }
            let mine = Side {
                who: match what {
                    Some(f) => format!("the host ({f})"),
                    None => "the host".to_string(),
                },
                short: "the host".to_string(),
                operation: Operation {
                    number: s.next.max(1),
                    what: "host".to_string(),
                    stream: String::new(),
                },
                stack: match what {
                    Some(f) => host_frames(f, stack),
                    None => stack.iter().map(bare).collect(),
                },
            };
            let why = format!(
                "The host did not wait for {}: {} may still be under way.",
                s.names[old.stamp.stream.0],
                name(&old.did)
            );
            let key = (
                u64::MAX,
                stack.first().copied().unwrap_or(0),
                id(old, m.theirs.1).0,
                id(old, m.theirs.1).1,
            );
            found.push((
                key,
                race(
                    mine,
                    m.mine.0,
                    side(&s, old, m.theirs.1),
                    m.theirs.0,
                    &m,
                    why,
                ),
            ));
        }
    }
    if !told.is_empty() {
        told.iter().for_each(|stamp| s.order.learn_of(stamp));
        s.sweep();
    }
    tell(&mut s, found);
}

type Found = ((u64, u64, u64, u64), Finding);

fn compare(s: &State, op: &Op, old: &Op) -> Vec<Found> {
    let meetings = op.foot.meetings(&old.foot, 16);
    if meetings.is_empty() {
        return Vec::new();
    }
    if op.foot.may_signal(&old.foot) {
        // Notes that are equal are told once.
        get().tell(Told::Note(format!(
            "{} and {} run in different streams and may tell each other by flags in memory what is done; races between them are not looked for",
            name(&old.did),
            name(&op.did)
        )));
        return Vec::new();
    }
    meetings
        .iter()
        .map(|m| {
            let (a, b) = (id(op, m.mine.1), id(old, m.theirs.1));
            let f = race(
                side(s, op, m.mine.1),
                m.mine.0,
                side(s, old, m.theirs.1),
                m.theirs.0,
                m,
                why(s, op.stamp.stream, old.stamp.stream),
            );
            ((a.0, a.1, b.0, b.1), f)
        })
        .collect()
}

/// What tells places of operations apart.
fn id(op: &Op, pc: Option<Pc>) -> (u64, u64) {
    match &op.did {
        Did::Kernel { stub, .. } => (*stub, pc.map_or(0, u64::from)),
        Did::Call(_) => (0, op.stack.first().copied().unwrap_or(0)),
    }
}

fn name(did: &Did) -> String {
    match did {
        Did::Kernel { program, .. } => format!("kernel `{}`", short(&program.kernel)),
        Did::Call(f) => (*f).to_string(),
    }
}

fn why(s: &State, new: StreamId, old: StreamId) -> String {
    let (n, o) = (&s.names[new.0], &s.names[old.0]);
    let apart = [new, old].into_iter().find(|x| !s.order.blocking(*x));
    if (new == LEGACY || old == LEGACY)
        && let Some(x) = apart
    {
        return format!(
            "{} was made with cudaStreamNonBlocking, so it and the default stream do not wait for each other, and nothing else orders the two.",
            capital(&s.names[x.0])
        );
    }
    format!(
        "Nothing orders {o} and {n}: no event, no synchronization, no operation of the default stream lies between."
    )
}

fn capital(text: &str) -> String {
    let mut c = text.chars();
    let first: String = c.next().into_iter().flat_map(char::to_uppercase).collect();
    format!("{first}{}", c.as_str())
}

struct Side {
    who: String,
    /// The same without the stream.
    short: String,
    operation: Operation,
    stack: Vec<Frame>,
}

fn host_frames(function: &str, pcs: &[u64]) -> Vec<Frame> {
    let call = Frame {
        function: function.to_string(),
        ..Frame::default()
    };
    std::iter::once(call).chain(pcs.iter().map(bare)).collect()
}

fn bare(pc: &u64) -> Frame {
    Frame {
        offset: Some(Address(*pc)),
        ..Frame::default()
    }
}

fn side(s: &State, op: &Op, pc: Option<Pc>) -> Side {
    let stream = s.names[op.stamp.stream.0].clone();
    let (what, stack) = match &op.did {
        Did::Kernel {
            module,
            program,
            stub,
        } => {
            let mut frames = vec![device_frame(&module.module, program, pc)];
            let in_stub = |pc: u64| pc.wrapping_sub(*stub) < 512;
            let skip = usize::from(op.stack.first().is_some_and(|pc| in_stub(*pc)));
            frames.extend(op.stack.iter().skip(skip).map(bare));
            ("kernel".to_string(), frames)
        }
        Did::Call(f) => ((*f).to_string(), host_frames(f, &op.stack)),
    };
    Side {
        who: format!("{} in {stream}", name(&op.did)),
        short: name(&op.did),
        operation: Operation {
            number: op.number,
            what,
            stream,
        },
        stack,
    }
}

fn device_frame(module: &Module, program: &Program, pc: Option<Pc>) -> Frame {
    let site = pc.and_then(|pc| program.sites.get(pc as usize));
    let Some(site) = site else {
        return Frame {
            function: short(&program.kernel),
            ..Frame::default()
        };
    };
    let function = short(&program.funcs[site.func as usize].name);
    if site.loc.line == 0 {
        return Frame {
            function,
            module: Some(format!("PTX line {}", site.ptx_line)),
            ..Frame::default()
        };
    }
    Frame {
        function,
        file: Some(module.file(site.loc.file).to_string()),
        line: Some(site.loc.line),
        column: (site.loc.column > 0).then_some(site.loc.column),
        ..Frame::default()
    }
}

fn race(a: Side, ta: Touch, b: Side, tb: Touch, m: &Meeting, why: String) -> Finding {
    let access = |s: Side, t: Touch| Access {
        kind: if t.writes() {
            AccessKind::Write
        } else {
            AccessKind::Read
        },
        atomic: matches!(t, Touch::StrongRead | Touch::StrongWrite),
        size: m.bytes,
        address: Address(m.addr),
        thread: Thread {
            id: ThreadId(s.operation.number),
            name: s.who,
            kind: ThreadKind::Gpu,
            ..Thread::default()
        },
        locks: Vec::new(),
        stack: s.stack,
        grid: None,
        operation: Some(s.operation),
    };
    let mut f = blank(FindingKind::StreamRace);
    f.title = format!("{}: {} and {}", f.kind.title(), a.short, b.short);
    f.accesses = vec![access(a, ta), access(b, tb)];
    f.why = why;
    let mut memory = device_memory(&get().memory, m.addr);
    if let Some(start) = memory.start
        && let Some(stack) = get().allocated(start.0)
    {
        memory.allocation = Some(Allocation {
            thread: Thread::default(),
            stack: stack.iter().map(bare).collect(),
        });
    }
    f.memory = Some(memory);
    f
}

fn tell(s: &mut State, found: Vec<Found>) {
    if found.is_empty() {
        return;
    }
    let all = hostcall::modules();
    if all.len() != s.modules_told {
        s.modules_told = all.len();
        for m in all {
            get().tell(Told::Module(m));
        }
    }
    for (key, f) in found {
        let times = s.told.entry(key).or_insert(0);
        *times += 1;
        if *times <= MOST_TOLD {
            get().tell(Told::Finding(Box::new(f)));
        } else if *times == MOST_TOLD + 1 {
            get().tell(Told::Note(format!(
                "{}: seen more than {MOST_TOLD} times; its count stops there",
                f.title
            )));
        }
    }
}

/// The host waits for a stream; false if there is none.
pub fn synchronize(handle: *mut c_void) -> bool {
    with(handle, |s, id| s.order.synchronize(id)).is_some()
}

/// The host waits for everything.
pub fn synchronize_all() {
    if let Ok(mut s) = OPS.lock() {
        s.order.synchronize_all();
        s.sweep();
    }
}

/// An event is recorded.
pub fn record(handle: *mut c_void) -> Option<Clock> {
    with(handle, |s, id| s.order.record(id))
}

/// A stream waits for an event that was recorded.
pub fn wait(handle: *mut c_void, event: &Clock) -> bool {
    with(handle, |s, id| s.order.wait(id, event)).is_some()
}

/// The host knows that an event has happened.
pub fn learn(event: &Clock) {
    if let Ok(mut s) = OPS.lock() {
        s.order.learn(event);
        s.sweep();
    }
}

/// The memory is gone: others may get its addresses.
pub fn forget(start: u64, len: u64) {
    if let Ok(mut s) = OPS.lock() {
        for op in &mut s.live {
            op.foot.forget(start, len);
        }
        s.live.retain(|op| !op.foot.is_empty());
        s.close();
    }
}

fn with<T>(handle: *mut c_void, f: impl FnOnce(&mut State, StreamId) -> T) -> Option<T> {
    let mut s = OPS.lock().ok()?;
    let id = s.stream(handle)?;
    let r = f(&mut s, id);
    s.sweep();
    Some(r)
}

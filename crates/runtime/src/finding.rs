//! A finding becomes a line of the raw stream: once for each different one, counted after that.
//!
//! Knows what a race needs to be told completely (both stacks, locks, threads, memory); decides nothing.

use deadheat_detect::entry::{Entry, PLAIN};
use hashbrown::HashTable;
use std_alloc::vec::Vec;

#[cfg(feature = "export")]
use crate::abi::handler;
use crate::history::{Record, SlotHistory, Touch};
use crate::intern::StackId;
use crate::json::Json;
use crate::locks::Mode;
use crate::loss::Loss;
use crate::modules;
use crate::owner;
use crate::runtime::Runtime;
use crate::strand::Strand;
use crate::sync::{Locked, SpinLock};
use crate::syncvar::SyncId;
use crate::threads::{Sort, ThreadId};
use crate::told_pairs::ToldPairs;

/// Different findings that are kept; a program with more has one bug in many places.
const MOST: usize = 10_000;
/// Synchronizations shown around an access.
const SHOWN_EVENTS: usize = 8;

struct Seen {
    key: u64,
    id: u32,
    count: u64,
    /// The count that the stream was last told.
    told: u64,
}

/// Writes how often it was seen by now.
fn again(out: &mut Json, seen: &Seen) {
    out.event("again")
        .key("id")
        .number(seen.id as u64)
        .key("count")
        .number(seen.count)
        .end_line();
}

/// All findings so far.
pub struct Findings {
    seen: Locked<HashTable<Seen>>,
    pub told: ToldPairs,
    /// In unit tests races are kept here instead of being told.
    #[cfg(test)]
    pub observed: Locked<Vec<Observed>>,
}

/// A race with all that its report would stand on.
#[cfg(test)]
#[derive(Clone, Copy, Debug)]
pub struct Observed {
    pub addr: usize,
    pub new: Entry,
    pub old: Entry,
    pub newer: Option<Record>,
    pub older: Option<Record>,
    pub new_thread: ThreadId,
    pub old_thread: ThreadId,
}

impl Findings {
    pub const fn new() -> Self {
        Findings {
            seen: Locked::new(HashTable::new()),
            told: ToldPairs::new(),
            #[cfg(test)]
            observed: Locked::new(Vec::new()),
        }
    }

    pub fn len(&self) -> usize {
        self.seen.lock().len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Counts the finding; its number if it is new.
    fn count(&self, rt: &Runtime, key: u64) -> Option<u32> {
        let mut seen = self.seen.lock();
        if let Some(old) = seen.find_mut(key, |s| s.key == key) {
            old.count += 1;
            // A program that dies without a word has told at least half of it.
            if old.count.is_power_of_two() {
                let mut out = Json::new();
                again(&mut out, old);
                drop(seen);
                rt.stream.lines(rt, &out.bytes);
            }
            return None;
        }
        if seen.len() >= MOST {
            rt.losses.count(Loss::Findings);
            return None;
        }
        let id = seen.len() as u32 + 1;
        seen.insert_unique(
            key,
            Seen {
                key,
                id,
                count: 1,
                told: 1,
            },
            |s| s.key,
        );
        Some(id)
    }

    /// Tells the counts of all findings that were seen again since the last time.
    pub fn tell_counts(&self, rt: &Runtime) {
        let mut out = Json::new();
        for seen in self.seen.lock().iter_mut().filter(|s| s.count > s.told) {
            again(&mut out, seen);
            seen.told = seen.count;
        }
        if !out.bytes.is_empty() {
            rt.stream.lines(rt, &out.bytes);
        }
    }

    /// Keeps a race for a unit test, which is told nothing else.
    #[cfg(test)]
    fn observe(
        &self,
        rt: &Runtime,
        addr: usize,
        (new, newer): (Entry, Option<Record>),
        (old, older): (Entry, Option<Record>),
    ) -> bool {
        let thread = |e: Entry| rt.histories.of(e.slot()).owner(e.seq());
        let seen = Observed {
            addr,
            new,
            old,
            newer,
            older,
            new_thread: thread(new),
            old_thread: thread(old),
        };
        self.observed.lock().push(seen);
        true
    }

    /// Calls `f` for each lock that is held over a fork.
    pub fn each_lock(&self, f: &dyn Fn(&SpinLock)) {
        self.told.each_lock(f);
        f(self.seen.spin());
    }

    /// In the child of a fork: it counts for itself, and keeps the numbers of what its parent has told.
    ///
    /// # Safety
    /// No other thread may exist.
    pub unsafe fn after_fork(&self) {
        // SAFETY: by the contract.
        unsafe {
            self.told.after_fork();
            self.seen.force_unlock();
        }
        for seen in self.seen.lock().iter_mut() {
            (seen.count, seen.told) = (0, 0);
        }
    }
}

impl Default for Findings {
    fn default() -> Self {
        Findings::new()
    }
}

/// Mixes numbers into a key by which findings are told apart.
pub fn key(parts: &[u64]) -> u64 {
    parts.iter().fold(0xcbf2_9ce4_8422_2325, |h, &p| {
        let h = (h ^ p).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        h ^ (h >> 29)
    })
}

/// Reports a finding of any kind: `body` writes its keys, and says which threads they name.
/// `s` must be inside the runtime. What has the same `key` is the same finding, and only counted.
pub fn report(
    rt: &Runtime,
    s: &mut Strand,
    kind: &str,
    key: u64,
    body: impl FnOnce(&mut Json, &mut Vec<ThreadId>),
) {
    let Some(id) = rt.findings.count(rt, key) else {
        return;
    };
    let loaded = modules::loaded();
    rt.stream
        .compose(rt, |out| rt.modules.announce_these(loaded, out));
    let mut line = Json::new();
    let mut threads = Vec::new();
    line.event("finding")
        .key("id")
        .number(id as u64)
        .key("kind")
        .text(kind);
    body(&mut line, &mut threads);
    line.end_line();
    threads.push(s.thread);
    #[cfg(feature = "export")]
    let turn = handler::asks().then(handler::turn);
    #[cfg(feature = "export")]
    if turn.is_some() || rt.options.halt_on_error.on() {
        rt.stream.ask();
    }
    rt.stream.compose(rt, |out| {
        #[cfg(feature = "export")]
        if turn.is_some() {
            handler::ask(out);
        }
        for thread in threads {
            announce_thread(rt, thread, out);
        }
        out.bytes.extend_from_slice(&line.bytes);
    });
    #[cfg(feature = "export")]
    if !handler::listening() {
        crate::abi::reports::on_report(&line.bytes, s.thread);
    }
    #[cfg(feature = "export")]
    if turn.is_some() {
        let reported = handler::told(rt, id, kind);
        if rt.options.halt_on_error.on() && reported {
            crate::halt(rt);
        }
        return;
    } else if handler::listening() {
        // Whoever listens is told; the checker ends the program if it is to end.
        return;
    }
    if rt.options.halt_on_error.on() && rt.stream.verdict() {
        crate::halt(rt);
    }
}

/// Writes a `thread` line for `id` and for those that created it, unless the stream knows them.
pub fn announce_thread(rt: &Runtime, id: ThreadId, out: &mut Json) {
    let mut chain = Vec::new();
    let mut at = id;
    // Who created the one who created ... may be forgotten.
    while let Some((parent, false)) = rt.threads.find(at, |t| {
        (t.parent, core::mem::replace(&mut t.announced, true))
    }) {
        chain.push(at);
        if at == parent || at.0 == 0 {
            break;
        }
        at = parent;
    }
    for id in chain.into_iter().rev() {
        thread_line(rt, id, "thread", out);
    }
}

/// Says who a thread is.
pub fn thread_line(rt: &Runtime, id: ThreadId, event: &str, out: &mut Json) {
    let (parent, tid, name, created, sort) = rt
        .threads
        .with(id, |t| (t.parent, t.tid, t.name.clone(), t.created, t.sort));
    out.event(event)
        .key("id")
        .number(id.0 as u64)
        .key("parent")
        .number(parent.0 as u64);
    out.key("tid")
        .number(tid as u64)
        .key("name")
        .string(&name)
        .key("created");
    stack(rt, out, created);
    out.key("kind").text(match sort {
        Sort::Thread => "thread",
        Sort::Fiber => "fiber",
    });
    out.end_line();
}

/// Writes a stack as a list of program counters.
pub fn stack(rt: &Runtime, out: &mut Json, id: StackId) {
    out.numbers(rt.stacks.frames(id));
}

/// Writes what a lock is: `"lock":7,"addr":N,"type":"mutex"`.
pub fn lock_keys(rt: &Runtime, out: &mut Json, id: SyncId) {
    out.key("lock").number(id.0 as u64);
    if let Some((addr, kind, _)) = rt.syncs.describe(id) {
        out.key("addr").number(addr).key("type").text(kind.name());
    }
}

/// `new`, made by `s` just now in the cell at `addr`, races with `old`.
pub fn race(rt: &Runtime, s: &mut Strand, addr: usize, new: Entry, old: Entry) {
    let history = rt.histories.of(old.slot());
    if seen_again(rt, addr, new, old, history) {
        return;
    }
    history.each_access(old, &mut |old, older| {
        if old.mask() & new.mask() != 0 {
            race_of_two(rt, s, addr, new, old, older);
        }
    });
}

/// Counts the race if one of the same places was told before; false if that is not known.
fn seen_again(rt: &Runtime, addr: usize, new: Entry, old: Entry, history: &SlotHistory) -> bool {
    let known = || {
        let older = history.site_of_one(old.seq())?;
        let newer = rt.histories.of(new.slot()).site_of_one(new.seq())?;
        rt.findings.told.key(older, newer)
    };
    // Unit tests want to see each.
    let key = if cfg!(test) { None } else { known() };
    if let Some(key) = key
        && !is_exempt(rt, addr, new, old)
    {
        // It is not new.
        let _ = rt.findings.count(rt, key);
    }
    key.is_some()
}

/// Has the program declared races of the bytes that both touch to be harmless?
fn is_exempt(rt: &Runtime, addr: usize, new: Entry, old: Entry) -> bool {
    let bytes = new.mask() & old.mask();
    let first = addr + bytes.trailing_zeros() as usize % 8;
    rt.exempt.touches(first, bytes.count_ones() as usize)
}

fn race_of_two(
    rt: &Runtime,
    s: &mut Strand,
    addr: usize,
    new: Entry,
    old: Entry,
    older: Option<Record>,
) {
    if !rt.options.races.on() || is_exempt(rt, addr, new, old) {
        return;
    }
    let history = rt.histories.of(old.slot());
    let newer = rt.histories.of(new.slot()).record(new.seq());
    if older.is_none() || newer.is_none() {
        rt.losses.count(Loss::History);
    }
    #[cfg(test)]
    if rt.findings.observe(rt, addr, (new, newer), (old, older)) {
        return;
    }
    let full_stack =
        |r: &Option<Record>| r.map_or(StackId(0), |r| rt.stacks.push(r.caller, r.place.pc()));
    let (new_stack, old_stack) = (full_stack(&newer), full_stack(&older));
    let touch = |r: &Option<Record>| r.map_or(Touch::Learned, |r| r.place.touch());
    let freed = touch(&newer) == Touch::Free || touch(&older) == Touch::Free;
    let one_is_atomic = new.0 & PLAIN == 0 || old.0 & PLAIN == 0;
    if one_is_atomic && !freed && !rt.options.atomics.on() {
        return;
    }
    let kind = if freed { "use-after-free" } else { "data-race" };
    let [one, other] = [new_stack, old_stack].map(|stack| rt.stacks.signature(stack));
    let old_thread = history.owner(old.seq());
    let key = key(&[freed as u64, one.min(other), one.max(other)]);
    report(rt, s, kind, key, |out, threads| {
        let new_thread = rt.histories.of(new.slot()).owner(new.seq());
        threads.extend([new_thread, old_thread]);
        out.key("accesses").open(b'[');
        access(rt, out, addr, new, new_thread, newer, new_stack);
        access(rt, out, addr, old, old_thread, older, old_stack);
        out.close(b']');
        let byte = addr + (new.mask() & old.mask()).trailing_zeros() as usize % 8;
        memory(rt, out, threads, byte);
        timeline(rt, out, [(new, new_thread), (old, old_thread)]);
    });
    // Not before: whoever finds it there only counts.
    if let (Some(older), Some(newer)) = (older, newer) {
        rt.findings.told.note(older.site(), newer.site(), key);
    }
}

fn access(
    rt: &Runtime,
    out: &mut Json,
    addr: usize,
    entry: Entry,
    thread: ThreadId,
    record: Option<Record>,
    full: StackId,
) {
    let touch = record.map_or(Touch::Learned, |r| r.place.touch());
    let op = match touch {
        Touch::Read | Touch::AtomicRead => "read",
        Touch::Write | Touch::AtomicWrite => "write",
        Touch::AtomicReadWrite => "read-write",
        Touch::Free => "free",
        Touch::VptrWrite => "vptr-write",
        Touch::Destroy => "destroy",
        Touch::Alloc => "alloc",
        Touch::Learned if entry.0 & deadheat_detect::entry::WRITE != 0 => "write",
        Touch::Learned | Touch::Both => "read",
    };
    out.open(b'{')
        .key("op")
        .text(op)
        .key("atomic")
        .boolean(entry.0 & PLAIN == 0);
    let size = record.map_or(entry.mask().count_ones() as u64, |r| r.place.size());
    out.key("size")
        .number(size)
        .key("addr")
        .number((addr + entry.mask().trailing_zeros() as usize % 8) as u64);
    out.key("thread").number(thread.0 as u64).key("stack");
    stack(rt, out, full);
    out.key("locks").open(b'[');
    if let Some(record) = record {
        let mut held: Vec<_> = rt.lock_sets.held(record.locks).collect();
        held.reverse();
        for lock in held {
            out.open(b'{');
            lock_keys(rt, out, lock.lock);
            out.key("mode").text(match lock.mode {
                Mode::Exclusive => "write",
                Mode::Shared => "read",
            });
            out.key("stack");
            stack(rt, out, lock.taken_at);
            out.close(b'}');
        }
    }
    out.close(b']').close(b'}');
}

/// Writes what `addr` belongs to.
pub fn memory(rt: &Runtime, out: &mut Json, threads: &mut Vec<ThreadId>, addr: usize) {
    out.key("memory")
        .open(b'{')
        .key("addr")
        .number(addr as u64)
        .key("kind");
    if addr < 1 << 16 {
        // No program has memory there: the number of a descriptor.
        out.text("fd").key("fd").number(addr as u64);
    } else if let Some(block) = rt.heap.describe(addr) {
        threads.push(block.thread);
        out.text("heap")
            .key("start")
            .number(block.start as u64)
            .key("size")
            .number(block.size as u64);
        out.key("thread").number(block.thread.0 as u64).key("stack");
        stack(rt, out, block.stack);
        if let Some((thread, at)) = block.freed {
            threads.push(thread);
            out.key("freed")
                .open(b'{')
                .key("thread")
                .number(thread.0 as u64)
                .key("stack");
            stack(rt, out, at);
            out.close(b'}');
        }
    } else if let Some(on) = owner::on_stack(rt, addr) {
        threads.push(on.thread);
        out.text("stack")
            .key("thread")
            .number(on.thread.0 as u64)
            .key("start")
            .number(on.low as u64)
            .key("end")
            .number(on.high as u64);
        if let Some(frame) = on.frame {
            out.key("frame")
                .number(frame.end as u64)
                .key("stack")
                .numbers(frame.stack.into_iter());
        }
    } else if let Some((thread, below)) = owner::thread_local(rt, addr) {
        threads.push(thread);
        out.text("tls").key("thread").number(thread.0 as u64);
        if let Some(below) = below {
            out.key("below").number(below as u64);
        }
    } else if rt.modules.find(addr as u64).is_some() {
        out.text("global");
    } else if let Some((start, size)) = mapping(addr) {
        out.text("mapping")
            .key("start")
            .number(start as u64)
            .key("size")
            .number(size as u64);
    } else {
        out.text("unknown");
    }
    out.close(b'}');
}

/// The program's own mapping that holds `addr`.
fn mapping(addr: usize) -> Option<(usize, usize)> {
    #[cfg(feature = "export")]
    {
        crate::interpose::mmap::describe(addr)
    }
    #[cfg(not(feature = "export"))]
    {
        let _ = addr;
        None
    }
}

/// Writes the synchronizations of both threads around the two accesses, in the order in which they likely happened.
fn timeline(rt: &Runtime, out: &mut Json, sides: [(Entry, ThreadId); 2]) {
    let mut shown: Vec<(u64, usize, Option<crate::history::SyncEvent>)> = Vec::new();
    for (side, &(entry, _)) in sides.iter().enumerate() {
        let events = rt.histories.of(entry.slot()).events(entry.seq());
        let after = events
            .iter()
            .position(|e| e.at >= entry.seq())
            .unwrap_or(events.len());
        let from = after.saturating_sub(SHOWN_EVENTS);
        let before = &events[from..after];
        // The access itself lies between its neighbours; the newer one is now.
        let time = if side == 0 {
            u64::MAX
        } else {
            before.last().map_or(0, |e| e.time + 1)
        };
        shown.extend(before.iter().map(|e| (e.time, side, Some(*e))));
        shown.push((time, side, None));
        shown.extend(
            events[after..]
                .iter()
                .take(SHOWN_EVENTS / 2)
                .filter(|_| side == 1)
                .map(|e| (e.time, side, Some(*e))),
        );
    }
    shown.sort_by_key(|&(time, side, _)| (time, core::cmp::Reverse(side)));
    out.key("timeline").open(b'[');
    for (at, (_, side, event)) in shown.into_iter().enumerate() {
        out.open(b'{')
            .key("thread")
            .number(sides[side].1.0 as u64)
            .key("at")
            .number(at as u64);
        match event {
            None => {
                out.key("what")
                    .text("access")
                    .key("access")
                    .number(side as u64);
            }
            Some(event) => {
                out.key("what").text(event.what);
                if matches!(event.what, "create" | "join") {
                    out.key("peer").number(event.object.0 as u64);
                } else {
                    out.key("object").number(event.object.0 as u64);
                    if let Some((addr, kind, _)) = rt.syncs.describe(event.object) {
                        out.key("addr").number(addr).key("type").text(kind.name());
                    }
                }
                out.key("stack");
                stack(rt, out, event.stack);
            }
        }
        out.close(b'}');
    }
    out.close(b']');
}

//! ThreadSanitizer's questions about a report, which a program may ask while its `__tsan_on_report` runs, and a debugger
//! while it stands there.
//!
//! A report is the line that was told to the collector; the answers are read off it, so they cannot say anything else.
//! Every function gives 1, or 0 if there is no such thing. Numbers of threads are those of Deadheat's own reports.

use core::ffi::{c_char, c_int, c_void};
use core::sync::atomic::{AtomicPtr, Ordering};

use std_alloc::vec::Vec;

use crate::abi::{tls, weak};
use crate::interpose::fork;
use crate::runtime::RT;
use crate::syncvar::SyncId;
use crate::threads::ThreadId;

/// A piece of JSON, as the runtime itself writes it: no blanks, no escapes in what is asked for.
#[derive(Clone, Copy)]
struct Value<'a>(&'a [u8]);

impl<'a> Value<'a> {
    /// The length of the value that the text begins with.
    fn length(text: &[u8]) -> usize {
        let (mut depth, mut quoted, mut at) = (0, false, 0);
        while at < text.len() {
            match text[at] {
                b'\\' if quoted => at += 1,
                b'"' => quoted = !quoted,
                b'[' | b'{' if !quoted => depth += 1,
                b']' | b'}' if !quoted && depth == 0 => break,
                b']' | b'}' if !quoted => depth -= 1,
                b',' if !quoted && depth == 0 => break,
                _ => (),
            }
            at += 1;
        }
        at
    }

    /// What stands between the brackets, item by item.
    fn items(self) -> impl Iterator<Item = Value<'a>> {
        let inner = self.0.get(1..self.0.len().saturating_sub(1));
        let mut left = inner.unwrap_or_default();
        core::iter::from_fn(move || {
            if left.is_empty() {
                return None;
            }
            let (item, rest) = left.split_at(Self::length(left));
            left = rest.get(1..).unwrap_or_default();
            Some(Value(item))
        })
    }

    /// The value of a key.
    fn get(self, key: &str) -> Option<Value<'a>> {
        self.items().find_map(|item| {
            let rest = item.0.strip_prefix(b"\"")?.strip_prefix(key.as_bytes())?;
            rest.strip_prefix(b"\":").map(Value)
        })
    }

    /// The items of a list, none if there is no such key.
    fn list(self, key: &str) -> impl Iterator<Item = Value<'a>> {
        self.get(key).into_iter().flat_map(Value::items)
    }

    fn number(self) -> u64 {
        self.0.iter().fold(0, |n: u64, &digit| {
            n.wrapping_mul(10)
                .wrapping_add(digit.wrapping_sub(b'0') as u64)
        })
    }

    fn text(self) -> &'a [u8] {
        self.0
            .strip_prefix(b"\"")
            .and_then(|text| text.strip_suffix(b"\""))
            .unwrap_or_default()
    }

    fn number_of(self, key: &str) -> u64 {
        self.get(key).map_or(0, Value::number)
    }

    fn text_of(self, key: &str) -> &'a [u8] {
        self.get(key).map_or(b"", Value::text)
    }
}

/// One report while the program is told of it.
struct Report {
    line: Vec<u8>,
    /// By whom.
    told: ThreadId,
    threads: Vec<(ThreadId, Vec<u8>)>,
    locks: Vec<SyncId>,
}

impl Report {
    fn new(line: &[u8], told: ThreadId) -> Report {
        let line = line.trim_ascii_end();
        let all = Value(line);
        let mut threads: Vec<(ThreadId, Vec<u8>)> = Vec::new();
        let mut locks: Vec<SyncId> = Vec::new();
        for part in all.list("accesses").chain(all.list("stacks")) {
            let id = ThreadId(part.number_of("thread") as u32);
            if !threads.iter().any(|&(known, _)| known == id) {
                let name = RT.threads.find(id, |t| t.name.clone());
                let mut name = name.unwrap_or_default();
                name.push(0);
                threads.push((id, name));
            }
            let lock = part.get("lock");
            for lock in part.list("locks").chain(lock) {
                let id = SyncId(lock.number_of("lock") as u32);
                if !locks.contains(&id) {
                    locks.push(id);
                }
            }
        }
        for lock in all.list("locks") {
            let id = SyncId(lock.number_of("lock") as u32);
            if !locks.contains(&id) {
                locks.push(id);
            }
        }
        Report {
            line: line.to_vec(),
            told,
            threads,
            locks,
        }
    }

    fn all(&self) -> Value<'_> {
        Value(&self.line)
    }

    fn access(&self, at: usize) -> Option<Value<'_>> {
        self.all().list("accesses").nth(at)
    }

    /// ThreadSanitizer's name for the kind.
    fn description(&self) -> &'static core::ffi::CStr {
        match self.all().text_of("kind") {
            b"data-race" if self.writes_vptr() => c"data-race-vptr",
            b"data-race" => c"data-race",
            b"use-after-free" => c"heap-use-after-free",
            b"lock-order-inversion" | b"deadlock" => c"lock-order-inversion",
            b"double-lock" => c"mutex-double-lock",
            b"unlock-not-held" | b"unlock-wrong-thread" => c"mutex-bad-unlock",
            b"destroy-locked" => c"mutex-destroy-locked",
            b"use-before-init" | b"use-after-destroy" => c"mutex-invalid-access",
            b"rwlock-mismatch" => c"mutex-bad-read-unlock",
            b"cond-wrong-mutex" => c"mutex-wrong-condition",
            b"thread-leak" => c"thread-leak",
            b"signal-unsafe" => c"signal-unsafe-call",
            b"invalid-free" => c"invalid-free",
            _ => c"unknown",
        }
    }

    fn writes_vptr(&self) -> bool {
        self.all()
            .list("accesses")
            .any(|access| access.text_of("op") == b"vptr-write")
    }
}

/// The reports that programs are being told of, one for each thread that does so.
const AT_ONCE: usize = 64;
static CURRENT: [AtomicPtr<Report>; AT_ONCE] =
    [const { AtomicPtr::new(core::ptr::null_mut()) }; AT_ONCE];

/// Tells the program, if it wants to know, that `line` was reported by `told`.
pub fn on_report(line: &[u8], told: ThreadId) {
    let Some(f) = weak::on_report().filter(|_| !fork::forking()) else {
        return;
    };
    let mut report = Report::new(line, told);
    let place = CURRENT.iter().find(|place| {
        let empty = core::ptr::null_mut();
        place
            .compare_exchange(empty, &raw mut report, Ordering::AcqRel, Ordering::Relaxed)
            .is_ok()
    });
    f((&raw const report).cast());
    if let Some(place) = place {
        place.store(core::ptr::null_mut(), Ordering::Release);
    }
}

/// Tells the program that the checker beside it has reported something. What it consists of is known only there.
pub fn on_report_of_checker() {
    if let Some(f) = weak::on_report().filter(|_| !fork::forking()) {
        f(core::ptr::null());
    }
}

/// The report that this thread is telling of; null if none.
#[unsafe(no_mangle)]
pub extern "C" fn __tsan_get_current_report() -> *const c_void {
    let Some(s) = tls::me() else {
        return core::ptr::null();
    };
    let mut found = core::ptr::null();
    for place in &CURRENT {
        let report = place.load(Ordering::Acquire);
        // SAFETY: a report stays in its place while it lives; one of another thread may go, so only this thread's own
        // is believed, and its number is one word that is read.
        if !report.is_null() && unsafe { (*report).told } == s.thread {
            found = report;
        }
    }
    found.cast()
}

fn put<T>(to: *mut T, value: T) {
    if !to.is_null() {
        // SAFETY: the program's place for an answer.
        unsafe { *to = value };
    }
}

/// Writes frames, innermost first, and a zero behind them if there is room.
fn put_trace(to: *mut *const c_void, room: usize, frames: impl Iterator<Item = u64>) {
    let end = core::iter::once(0);
    for (i, frame) in frames.chain(end).take(room).enumerate() {
        put(to.wrapping_add(i), frame as *const c_void);
    }
}

fn stack_of(value: Value<'_>) -> impl Iterator<Item = u64> {
    value.list("stack").map(Value::number)
}

/// The report behind the program's pointer.
fn asked(report: *const c_void) -> Option<&'static Report> {
    // SAFETY: null, or what the program was given and asks about in time.
    unsafe { report.cast::<Report>().as_ref() }
}

/// What kind it is, and how many of each part it has.
#[unsafe(no_mangle)]
pub extern "C" fn __tsan_get_report_data(
    report: *const c_void,
    description: *mut *const c_char,
    count: *mut c_int,
    stack_count: *mut c_int,
    access_count: *mut c_int,
    location_count: *mut c_int,
    lock_count: *mut c_int,
    thread_count: *mut c_int,
    unique_thread_count: *mut c_int,
    sleep_trace: *mut *const c_void,
    room: usize,
) -> c_int {
    let Some(report) = asked(report) else {
        return 0;
    };
    let all = report.all();
    put(description, report.description().as_ptr());
    put(count, 1);
    put(stack_count, all.list("stacks").count() as c_int);
    put(access_count, all.list("accesses").count() as c_int);
    put(location_count, all.get("memory").is_some() as c_int);
    put(lock_count, report.locks.len() as c_int);
    put(thread_count, report.threads.len() as c_int);
    put(unique_thread_count, report.threads.len() as c_int);
    put_trace(sleep_trace, room, core::iter::empty());
    1
}

/// Objects have no tags here.
#[unsafe(no_mangle)]
pub extern "C" fn __tsan_get_report_tag(report: *const c_void, tag: *mut usize) -> c_int {
    put(tag, 0);
    asked(report).is_some() as c_int
}

#[unsafe(no_mangle)]
pub extern "C" fn __tsan_get_report_stack(
    report: *const c_void,
    at: usize,
    trace: *mut *const c_void,
    room: usize,
) -> c_int {
    let stack = asked(report).and_then(|report| report.all().list("stacks").nth(at));
    let Some(stack) = stack else { return 0 };
    put_trace(trace, room, stack_of(stack));
    1
}

#[unsafe(no_mangle)]
pub extern "C" fn __tsan_get_report_mop(
    report: *const c_void,
    at: usize,
    thread: *mut c_int,
    addr: *mut *const c_void,
    size: *mut c_int,
    write: *mut c_int,
    atomic: *mut c_int,
    trace: *mut *const c_void,
    room: usize,
) -> c_int {
    let Some(access) = asked(report).and_then(|report| report.access(at)) else {
        return 0;
    };
    put(thread, access.number_of("thread") as c_int);
    put(addr, access.number_of("addr") as *const c_void);
    put(size, access.number_of("size") as c_int);
    put(write, (access.text_of("op") != b"read") as c_int);
    let is_atomic = access.get("atomic").is_some_and(|value| value.0 == b"true");
    put(atomic, is_atomic as c_int);
    put_trace(trace, room, stack_of(access));
    1
}

#[unsafe(no_mangle)]
pub extern "C" fn __tsan_get_report_loc(
    report: *const c_void,
    at: usize,
    kind: *mut *const c_char,
    addr: *mut *const c_void,
    start: *mut usize,
    size: *mut usize,
    thread: *mut c_int,
    fd: *mut c_int,
    suppressable: *mut c_int,
    trace: *mut *const c_void,
    room: usize,
) -> c_int {
    let memory = asked(report).and_then(|report| report.all().get("memory"));
    let Some(memory) = memory.filter(|_| at == 0) else {
        return 0;
    };
    let name = match memory.text_of("kind") {
        b"heap" => c"heap",
        b"stack" => c"stack",
        b"tls" => c"tls",
        b"fd" => c"fd",
        b"global" => c"global",
        b"mapping" => c"mapping",
        _ => c"unknown",
    };
    put(kind, name.as_ptr());
    put(addr, memory.number_of("addr") as *const c_void);
    put(start, memory.number_of("start") as usize);
    put(size, memory.number_of("size") as usize);
    put(thread, memory.number_of("thread") as c_int);
    put(fd, memory.number_of("fd") as c_int);
    put(suppressable, 0);
    put_trace(trace, room, stack_of(memory));
    1
}

/// What type an object has is not known.
#[unsafe(no_mangle)]
pub extern "C" fn __tsan_get_report_loc_object_type(
    report: *const c_void,
    at: usize,
    object_type: *mut *const c_char,
) -> c_int {
    put(object_type, core::ptr::null());
    (asked(report).is_some() && at == 0) as c_int
}

#[unsafe(no_mangle)]
pub extern "C" fn __tsan_get_report_mutex(
    report: *const c_void,
    at: usize,
    id: *mut usize,
    addr: *mut *const c_void,
    destroyed: *mut c_int,
    trace: *mut *const c_void,
    room: usize,
) -> c_int {
    let Some(&lock) = asked(report).and_then(|report| report.locks.get(at)) else {
        return 0;
    };
    put(id, lock.0 as usize);
    let (at, created) = RT
        .syncs
        .describe(lock)
        .map_or((0, None), |(addr, _, created)| (addr, Some(created)));
    put(addr, at as *const c_void);
    put(destroyed, created.is_none() as c_int);
    let frames = created.into_iter().flat_map(|id| RT.stacks.frames(id));
    put_trace(trace, room, frames);
    1
}

#[unsafe(no_mangle)]
pub extern "C" fn __tsan_get_report_thread(
    report: *const c_void,
    at: usize,
    thread: *mut c_int,
    tid: *mut u64,
    running: *mut c_int,
    name: *mut *const c_char,
    parent: *mut c_int,
    trace: *mut *const c_void,
    room: usize,
) -> c_int {
    let Some((id, text)) = asked(report).and_then(|report| report.threads.get(at)) else {
        return 0;
    };
    let known = RT
        .threads
        .find(*id, |t| (t.tid, !t.strand.is_null(), t.parent, t.created));
    put(thread, id.0 as c_int);
    put(tid, known.map_or(0, |known| known.0 as u64));
    put(running, known.is_some_and(|known| known.1) as c_int);
    put(name, text.as_ptr().cast());
    put(parent, known.map_or(-1, |known| known.2.0 as c_int));
    let created = known.map(|known| known.3);
    let frames = created.into_iter().flat_map(|id| RT.stacks.frames(id));
    put_trace(trace, room, frames);
    1
}

#[unsafe(no_mangle)]
pub extern "C" fn __tsan_get_report_unique_tid(
    report: *const c_void,
    at: usize,
    thread: *mut c_int,
) -> c_int {
    let Some((id, _)) = asked(report).and_then(|report| report.threads.get(at)) else {
        return 0;
    };
    put(thread, id.0 as c_int);
    1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_as_it_was_written() {
        let mut line = crate::json::Json::new();
        line.event("finding").key("kind").text("data-race");
        line.key("accesses").open(b'[');
        for n in [3, 4] {
            line.open(b'{').key("op").text("wri\"te,]}").key("thread");
            line.number(n).key("stack").numbers([n, 70].into_iter());
            line.close(b'}');
        }
        line.close(b']').key("memory").open(b'{').key("addr");
        line.number(u64::MAX).close(b'}').end_line();
        let all = Value(line.bytes.trim_ascii_end());
        assert_eq!(all.text_of("kind"), b"data-race");
        let threads: Vec<u64> = all
            .list("accesses")
            .map(|a| a.number_of("thread"))
            .collect();
        assert_eq!(threads, [3, 4]);
        let second = all.list("accesses").nth(1).unwrap();
        assert_eq!(stack_of(second).collect::<Vec<_>>(), [4, 70]);
        assert_eq!(all.get("memory").unwrap().number_of("addr"), u64::MAX);
        assert!(all.get("stacks").is_none());
        assert_eq!(all.list("stacks").count(), 0);
    }
}

//! Synchronization objects used as they must not be: each wrong use is a finding of its own kind.
//!
//! Decides nothing about locks (that is [`crate::locking`]); turns what it is told into findings. Callers are inside
//! the runtime and hold no lock of it.

use crate::finding;
use crate::intern::StackId;
use crate::json::Json;
use crate::runtime::Runtime;
use crate::strand::Strand;
use crate::syncvar::{SyncId, SyncVar};
use crate::threads::ThreadId;

/// One line of a finding's `stacks`.
pub struct Line<'a> {
    pub label: &'a [u8],
    pub thread: ThreadId,
    pub stack: StackId,
    pub lock: SyncId,
}

/// Writes the `stacks` key.
pub fn stacks(rt: &Runtime, out: &mut Json, lines: &[Line]) {
    out.key("stacks").open(b'[');
    for line in lines {
        out.open(b'{')
            .key("label")
            .string(line.label)
            .key("thread")
            .number(line.thread.0 as u64)
            .key("stack");
        finding::stack(rt, out, line.stack);
        if line.lock != SyncId(0) {
            out.key("lock").open(b'{');
            finding::lock_keys(rt, out, line.lock);
            out.close(b'}');
        }
        out.close(b'}');
    }
    out.close(b']');
}

/// Writes the top-level `locks` key.
pub fn locks(rt: &Runtime, out: &mut Json, ids: &[SyncId]) {
    out.key("locks").open(b'[');
    for &id in ids {
        out.open(b'{');
        finding::lock_keys(rt, out, id);
        out.key("created");
        let created = rt
            .syncs
            .describe(id)
            .map_or(StackId(0), |(_, _, created)| created);
        finding::stack(rt, out, created);
        out.close(b'}');
    }
    out.close(b']');
}

/// A finding about one object: where it was found, and up to two places that explain it.
pub fn about(rt: &Runtime, s: &mut Strand, kind: &str, id: SyncId, lines: &[Line], text: &str) {
    if !rt.options.misuse.on() {
        return;
    }
    let first = lines.first().map_or(StackId(0), |line| line.stack);
    let tag = finding::key(&[
        kind.len() as u64,
        kind.as_bytes().iter().fold(0, |h, &b| h * 31 + b as u64),
        rt.stacks.signature(first),
    ]);
    finding::report(rt, s, kind, tag, |out, threads| {
        threads.extend(lines.iter().map(|line| line.thread));
        stacks(rt, out, lines);
        if id != SyncId(0) {
            locks(rt, out, &[id]);
        }
        out.key("text").text(text);
    });
}

/// Who has the object: its owner or first sharer, and since where.
fn holder(var: &SyncVar) -> (SyncId, Option<ThreadId>, StackId, bool) {
    var.with(|state| {
        let id = state.id;
        let usage = state.usage();
        match usage.owner {
            Some(owner) => (id, Some(owner), usage.taken_at, true),
            None => (
                id,
                usage.sharers.first().map(|&(thread, _)| thread),
                StackId(0),
                false,
            ),
        }
    })
}

/// An unlock by a strand that does not hold the lock.
pub fn wrong_unlock(rt: &Runtime, s: &mut Strand, var: &SyncVar, at: StackId) {
    let (id, owner, taken_at, _) = holder(var);
    let me = s.thread;
    match owner {
        None => about(
            rt,
            s,
            "unlock-not-held",
            id,
            &[Line {
                label: b"unlocked here",
                thread: me,
                stack: at,
                lock: id,
            }],
            "nobody holds the lock that is unlocked",
        ),
        Some(owner) => {
            let lines = [
                Line {
                    label: b"unlocked here",
                    thread: me,
                    stack: at,
                    lock: id,
                },
                Line {
                    label: b"locked here by another thread",
                    thread: owner,
                    stack: taken_at,
                    lock: id,
                },
            ];
            let known = if taken_at == StackId(0) { 1 } else { 2 };
            about(
                rt,
                s,
                "unlock-wrong-thread",
                id,
                &lines[..known],
                "another thread holds the lock that is unlocked",
            );
        }
    }
}

/// A read unlock of a lock held for writing, or the other way round.
pub fn mismatch(rt: &Runtime, s: &mut Strand, var: &SyncVar, at: StackId, text: &str) {
    let (id, owner, taken_at, _) = holder(var);
    let lines = [
        Line {
            label: b"unlocked here",
            thread: s.thread,
            stack: at,
            lock: id,
        },
        Line {
            label: b"locked here",
            thread: owner.unwrap_or(s.thread),
            stack: taken_at,
            lock: id,
        },
    ];
    let known = if taken_at == StackId(0) { 1 } else { 2 };
    about(rt, s, "rwlock-mismatch", id, &lines[..known], text);
}

/// The strand locks what it holds already and would wait for itself (or was told so by the C library).
pub fn double_lock(rt: &Runtime, s: &mut Strand, var: &SyncVar, at: StackId) {
    let (id, _, taken_at, _) = holder(var);
    let lines = [
        Line {
            label: b"locked again here",
            thread: s.thread,
            stack: at,
            lock: id,
        },
        Line {
            label: b"locked here before",
            thread: s.thread,
            stack: taken_at,
            lock: id,
        },
    ];
    let known = if taken_at == StackId(0) { 1 } else { 2 };
    about(
        rt,
        s,
        "double-lock",
        id,
        &lines[..known],
        "the thread holds the lock already and it is not recursive",
    );
}

/// A held or waited-on object is destroyed.
pub fn destroy_locked(rt: &Runtime, s: &mut Strand, var: &SyncVar, at: StackId) {
    let (id, owner, taken_at, _) = holder(var);
    let lines = [
        Line {
            label: b"destroyed here",
            thread: s.thread,
            stack: at,
            lock: id,
        },
        Line {
            label: b"locked here",
            thread: owner.unwrap_or(s.thread),
            stack: taken_at,
            lock: id,
        },
    ];
    let known = if taken_at == StackId(0) { 1 } else { 2 };
    let text = match owner {
        Some(_) => "the lock is destroyed while it is held",
        None => "the object is destroyed while threads wait on it",
    };
    about(rt, s, "destroy-locked", id, &lines[..known], text);
}

/// An object is used after it was destroyed.
pub fn use_after_destroy(rt: &Runtime, s: &mut Strand, var: &SyncVar, at: StackId) {
    let gone = var.with(|state| state.usage().destroyed);
    use_after_destroy_by(rt, s, var, at, gone);
}

/// As [`use_after_destroy`], with who destroyed it.
pub fn use_after_destroy_by(
    rt: &Runtime,
    s: &mut Strand,
    var: &SyncVar,
    at: StackId,
    gone: Option<(ThreadId, StackId)>,
) {
    let id = var.with(|state| state.id);
    let (thread, stack) = gone.unwrap_or((s.thread, StackId(0)));
    let lines = [
        Line {
            label: b"used here",
            thread: s.thread,
            stack: at,
            lock: id,
        },
        Line {
            label: b"destroyed here",
            thread,
            stack,
            lock: id,
        },
    ];
    about(
        rt,
        s,
        "use-after-destroy",
        id,
        &lines,
        "the object was destroyed before and not made again",
    );
}

/// An object is used that nothing initialised.
pub fn use_before_init(rt: &Runtime, s: &mut Strand, var: &SyncVar, at: StackId) {
    let id = var.with(|state| state.id);
    let lines = [Line {
        label: b"used here",
        thread: s.thread,
        stack: at,
        lock: id,
    }];
    about(
        rt,
        s,
        "use-before-init",
        id,
        &lines,
        "the memory of the object holds what no initialiser leaves there",
    );
}

/// A condition variable is waited on with a mutex that is not held, or not the one of the others.
pub fn cond_wrong_mutex(
    rt: &Runtime,
    s: &mut Strand,
    cond: &SyncVar,
    mutex: SyncId,
    at: StackId,
    text: &str,
) {
    if !rt.options.misuse.on() {
        return;
    }
    let id = cond.with(|state| state.id);
    let lines = [Line {
        label: b"waited here",
        thread: s.thread,
        stack: at,
        lock: mutex,
    }];
    finding::report(
        rt,
        s,
        "cond-wrong-mutex",
        finding::key(&[0x70, rt.stacks.signature(at)]),
        |out, threads| {
            threads.push(lines[0].thread);
            stacks(rt, out, &lines);
            locks(rt, out, &[id, mutex]);
            out.key("text").text(text);
        },
    );
}

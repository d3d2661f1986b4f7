//! Who waits for whom now: a cycle means that none of them will ever go on.
//!
//! A thread that must wait for a lock or for the end of another thread first writes down for what. Who holds a lock is
//! noted only while he surely does ([`crate::locking`]), so a cycle among threads that all wait is final:
//! | edge               | because                                                            |
//! |--------------------|--------------------------------------------------------------------|
//! | waiter to owner    | he cannot have the lock before its owner gives it back             |
//! | writer to readers  | he cannot have it before the last reader has gone                  |
//! | in a condition wait to the mutex's owner | the wait cannot end without the mutex        |
//! | joiner to thread   | a join ends with the thread                                        |
//!
//! Waits that end by themselves (timed ones, tries) are not written down. Bounded by the number of threads.

use std_alloc::vec::Vec;

use crate::finding;
use crate::intern::StackId;
use crate::lock_order::label;
use crate::locks::Mode;
use crate::misuse::{self, Line};
use crate::runtime::Runtime;
use crate::strand::Strand;
use crate::sync::{Locked, SpinLock};
use crate::syncvar::{SyncId, SyncVar};
use crate::threads::ThreadId;

/// What a thread waits for.
#[derive(Clone, Copy)]
pub enum For {
    Lock(&'static SyncVar, SyncId, Mode),
    End(ThreadId),
}

#[derive(Clone, Copy)]
struct Wait {
    thread: ThreadId,
    what: For,
    at: StackId,
}

/// One thread of a cycle: what it waits for, and where the next one took that.
struct Link {
    wait: Wait,
    holder: ThreadId,
    taken_at: StackId,
}

/// All waits that may last for ever.
pub struct Waits {
    waits: Locked<Vec<Wait>>,
}

impl Waits {
    pub const fn new() -> Self {
        Waits {
            waits: Locked::new(Vec::new()),
        }
    }

    /// `s` is about to wait. If it would do so for ever, tells so and ends the program.
    pub fn begin(&self, rt: &Runtime, s: &mut Strand, what: For, at: StackId) {
        if !rt.options.deadlock.on() {
            return;
        }
        let wait = Wait {
            thread: s.thread,
            what,
            at,
        };
        let mut waits = self.waits.lock();
        waits.push(wait);
        let mut path = Vec::new();
        let found = cycle(&waits, wait, s.thread, &mut path);
        drop(waits);
        if found {
            report(rt, s, &path);
            crate::halt(rt);
        }
    }

    /// `s` is about to wait for a mutex that it has itself, inside a condition wait: no check, but others see it.
    pub fn note(&self, rt: &Runtime, s: &mut Strand, what: For, at: StackId) {
        if rt.options.deadlock.on() {
            self.waits.lock().push(Wait {
                thread: s.thread,
                what,
                at,
            });
        }
    }

    /// `s` waits no more.
    pub fn end(&self, s: &mut Strand) {
        let mut waits = self.waits.lock();
        if let Some(at) = waits.iter().rposition(|w| w.thread == s.thread) {
            waits.swap_remove(at);
        }
    }

    /// Does somebody wait for the end of this thread?
    pub fn ends_awaited(&self, thread: ThreadId) -> bool {
        self.waits
            .lock()
            .iter()
            .any(|w| matches!(w.what, For::End(id) if id == thread))
    }

    /// The thread is at its end, however it came there.
    pub fn forget(&self, thread: ThreadId) {
        self.waits.lock().retain(|w| w.thread != thread);
    }

    /// Calls `f` for who waits, where, and for which lock, if it is one.
    pub fn each(&self, f: &mut dyn FnMut(ThreadId, StackId, SyncId)) {
        for wait in &*self.waits.lock() {
            match wait.what {
                For::Lock(_, lock, _) => f(wait.thread, wait.at, lock),
                For::End(thread) => {
                    f(thread, wait.at, SyncId(0));
                    f(wait.thread, wait.at, SyncId(0));
                }
            }
        }
    }

    /// Calls `f` for each lock that is held over a fork.
    pub fn each_lock(&self, f: &dyn Fn(&SpinLock)) {
        f(self.waits.spin());
    }

    /// Only the thread that forked is there in the child.
    ///
    /// # Safety
    /// No other thread may exist.
    pub unsafe fn after_fork(&self) {
        // SAFETY: by the contract.
        unsafe { self.waits.force_unlock() };
        self.waits.lock().clear();
    }
}

impl Default for Waits {
    fn default() -> Self {
        Waits::new()
    }
}

/// Who keeps the waiter waiting, and since where if that is known.
fn holders(what: For) -> Vec<(ThreadId, StackId)> {
    match what {
        For::End(thread) => std_alloc::vec![(thread, StackId(0))],
        For::Lock(var, id, mode) => var.with(|state| {
            if state.id != id {
                return Vec::new();
            }
            let usage = state.usage();
            let mut list = Vec::new();
            if let Some(owner) = usage.owner {
                list.push((owner, usage.taken_at));
            }
            if mode == Mode::Exclusive {
                list.extend(
                    usage
                        .sharers
                        .iter()
                        .map(|&(thread, _)| (thread, StackId(0))),
                );
            }
            list
        }),
    }
}

/// Is there a chain of waits from `wait` back to `goal`? Left in `path`.
fn cycle(waits: &[Wait], wait: Wait, goal: ThreadId, path: &mut Vec<Link>) -> bool {
    for (holder, taken_at) in holders(wait.what) {
        if path.iter().any(|link| link.holder == holder) {
            continue;
        }
        path.push(Link {
            wait,
            holder,
            taken_at,
        });
        if holder == goal {
            return true;
        }
        if let Some(&next) = waits.iter().rev().find(|w| w.thread == holder)
            && cycle(waits, next, goal, path)
        {
            return true;
        }
        path.pop();
    }
    false
}

fn report(rt: &Runtime, s: &mut Strand, path: &[Link]) {
    let mut places: Vec<u64> = path
        .iter()
        .map(|l| rt.stacks.signature(l.wait.at))
        .collect();
    places.sort_unstable();
    places.push(0xdead);
    finding::report(rt, s, "deadlock", finding::key(&places), |out, threads| {
        let mut texts: Vec<(Vec<u8>, ThreadId, StackId, SyncId)> = Vec::new();
        let mut ids = Vec::new();
        for link in path {
            threads.extend([link.wait.thread, link.holder]);
            match link.wait.what {
                For::Lock(_, id, _) => {
                    if !ids.contains(&id) {
                        ids.push(id);
                    }
                    texts.push((
                        label(&["waits for "], &[id]),
                        link.wait.thread,
                        link.wait.at,
                        id,
                    ));
                    let taken_at = if link.taken_at == StackId(0) {
                        taken_by(rt, link.holder, id)
                    } else {
                        link.taken_at
                    };
                    if taken_at != StackId(0) {
                        texts.push((label(&["holds "], &[id]), link.holder, taken_at, id));
                    }
                }
                For::End(_) => texts.push((
                    b"waits for the end of the next thread".to_vec(),
                    link.wait.thread,
                    link.wait.at,
                    SyncId(0),
                )),
            }
        }
        let lines: Vec<_> = texts
            .iter()
            .map(|(text, thread, stack, lock)| Line {
                label: text,
                thread: *thread,
                stack: *stack,
                lock: *lock,
            })
            .collect();
        misuse::stacks(rt, out, &lines);
        misuse::locks(rt, out, &ids);
        out.key("text").text("every one of these threads waits for the next one; the program was ended because none of them can go on");
    });
}

/// Where `thread`, which waits now, took `lock`.
fn taken_by(rt: &Runtime, thread: ThreadId, lock: SyncId) -> StackId {
    let held = rt.threads.with(thread, |t| {
        if t.strand.is_null() {
            return None;
        }
        // SAFETY: the strand lives while the registry's lock is held; its thread waits, so its lock set stands still.
        Some(unsafe { crate::sys::glimpse(&raw const (*t.strand).locks) })
    });
    held.and_then(|held| rt.lock_sets.held(held).find(|held| held.lock == lock))
        .map_or(StackId(0), |held| held.taken_at)
}

//! Which call stacks, lock sets, names of objects and threads anything can still ask for, and letting go of the rest.
//!
//! | what | is named by |
//! |---|---|
//! | lock sets | strands, records, orders of locks |
//! | call stacks | strands, records, timelines, lock sets, heap blocks, objects and their names, threads, waits, orders of locks |
//! | names of objects | objects, strands, records, lock sets, timelines, waits, orders of locks |
//! | threads | records, timelines, heap blocks, objects, waits, orders of locks |
//!
//! Strands are looked at first: a number goes from a strand into a table, not back. What the tables of numbers were asked
//! for since the last time they keep themselves.

use hashbrown::HashTable;
use std_alloc::vec::Vec;

use crate::intern::{LockSetId, Marks, StackId};
use crate::runtime::Runtime;
use crate::strand::Strand;
use crate::syncvar::SyncId;
use crate::threads::ThreadId;

/// All that is named.
#[derive(Default)]
pub struct Named {
    stacks: Marks,
    sets: Marks,
    syncs: Ids,
    threads: Ids,
}

/// A set of numbers that may be far apart.
#[derive(Default)]
struct Ids {
    ids: HashTable<u32>,
}

fn hash(id: u32) -> u64 {
    (id as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

impl Ids {
    fn add(&mut self, id: u32) {
        self.ids
            .entry(hash(id), |&other| other == id, |&other| hash(other))
            .or_insert(id);
    }

    fn has(&self, id: u32) -> bool {
        self.ids.find(hash(id), |&other| other == id).is_some()
    }
}

impl Named {
    pub fn stack(&mut self, rt: &Runtime, stack: StackId) {
        rt.stacks.mark(&mut self.stacks, stack);
    }

    pub fn set(&mut self, rt: &Runtime, set: LockSetId) {
        rt.lock_sets.mark(&mut self.sets, set);
    }

    pub fn sync(&mut self, id: SyncId) {
        self.syncs.add(id.0);
    }

    pub fn thread(&mut self, id: ThreadId) {
        self.threads.add(id.0);
    }
}

/// What is named now.
pub fn mark(rt: &Runtime) -> Named {
    let mut named = Named::default();
    strands(rt, &mut named);
    histories(rt, &mut named);
    rt.heap.each_origin(|thread, stack| {
        named.thread(thread);
        named.stack(rt, stack);
    });
    rt.syncs.each(|state| {
        named.sync(state.id);
        let Some(usage) = state.usage_if_any() else {
            return;
        };
        named.stack(rt, usage.created);
        named.stack(rt, usage.taken_at);
        usage.owner.iter().for_each(|&owner| named.thread(owner));
        for &(sharer, _) in &usage.sharers {
            named.thread(sharer);
        }
        if let Some((thread, stack)) = usage.destroyed {
            named.thread(thread);
            named.stack(rt, stack);
        }
    });
    rt.waits.each(&mut |thread, stack, lock| {
        named.thread(thread);
        named.stack(rt, stack);
        named.sync(lock);
    });
    rt.lock_order.mark(rt, &mut named);
    named
}

fn strands(rt: &Runtime, named: &mut Named) {
    rt.threads.each(|_, t| {
        named.stack(rt, t.created);
        if t.strand.is_null() {
            return;
        }
        let Named {
            stacks,
            sets,
            syncs,
            ..
        } = &mut *named;
        // SAFETY: `each` holds the lock that keeps the strand and its lists where they are.
        unsafe {
            Strand::each_number(
                t.strand,
                |stack| rt.stacks.mark(stacks, stack),
                |set| rt.lock_sets.mark(sets, set),
                |lock| syncs.add(lock.0),
            );
        }
    });
}

fn histories(rt: &Runtime, named: &mut Named) {
    for slot in 0..rt.threads.slots_used() {
        let history = rt.histories.of(slot as u16);
        let mut locks = Vec::new();
        let Named {
            stacks,
            sets,
            syncs,
            threads,
        } = &mut *named;
        history.each_kept(
            |caller| rt.stacks.mark(stacks, caller),
            |held| {
                rt.lock_sets.mark(sets, held.below);
                locks.extend(held.last.get());
            },
            |thread| threads.add(thread.0),
        );
        for held in locks {
            rt.stacks.mark(stacks, held.taken_at);
            syncs.add(held.lock.0);
        }
        for event in history.all_events() {
            named.stack(rt, event.stack);
            // A thread that was created or joined is an object here.
            if matches!(event.what, "create" | "join") {
                named.thread(ThreadId(event.object.0));
            } else {
                named.sync(event.object);
            }
        }
    }
}

/// Lets go of all that is not named, when nobody can hold such a thing any more.
pub fn sweep(rt: &Runtime, mut named: Named) {
    rt.findings.told.forget();
    rt.lock_sets.sweep(&mut named.sets);
    let Named { stacks, syncs, .. } = &mut named;
    rt.lock_sets.each(|held| {
        syncs.add(held.lock.0);
        rt.stacks.mark(stacks, held.taken_at);
    });
    rt.syncs.forget_names(|id| syncs.has(id.0));
    rt.syncs
        .each_name(|(_, _, created)| rt.stacks.mark(stacks, created));
    rt.stacks.sweep(stacks);
    rt.threads.forget(|id| named.threads.has(id.0));
}

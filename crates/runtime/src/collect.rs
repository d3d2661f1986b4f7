//! Giving up history that no cell names any more, so that a program can run for days in the same memory.
//!
//! A collection looks at every entry of every cell and keeps exactly the records that are named, and those that a strand
//! can still name in its present step. It is due when histories have doubled since the last one, and not before they
//! are a good part of the shadow, which it must read as a whole. Other strands go on meanwhile: an entry that
//! moves is never missing from its cell, and a new one is of a present step.

use core::sync::atomic::{AtomicU64, Ordering};

use deadheat_detect::entry::Entry;
use hashbrown::HashMap;
use std_alloc::vec::Vec;

use crate::cell;
use crate::history::{CHUNK, CHUNK_BITS, Named};
use crate::runtime::Runtime;
use crate::sync::SpinLock;

/// When the next collection is due, and whether one is under way.
pub struct Collector {
    due_at: AtomicU64,
    under_way: SpinLock,
}

/// Bytes of history before the first collection.
const FIRST: u64 = 4 << 20;
/// Histories may grow to the shadow's size divided by this before it is read for them.
const SHADOW_PART: u64 = 4;

impl Collector {
    pub const fn new() -> Self {
        Collector {
            due_at: AtomicU64::new(FIRST),
            under_way: SpinLock::new(),
        }
    }

    /// Collects if it is due and nobody else does. The caller must be inside the runtime and hold none of its locks.
    pub fn maybe_collect(&self, rt: &Runtime) {
        if rt.histories.bytes.load(Ordering::Relaxed) >= self.due_at.load(Ordering::Relaxed)
            && self.under_way.try_lock()
        {
            let left = collect(rt);
            rt.histories.bytes.store(left, Ordering::Relaxed);
            let due = (left * 2)
                .max(FIRST)
                .max(rt.shadow.bytes() as u64 / SHADOW_PART);
            self.due_at.store(due, Ordering::Relaxed);
            self.under_way.unlock();
        }
    }

    pub fn each_lock(&self, f: &dyn Fn(&SpinLock)) {
        f(&self.under_way);
    }
}

impl Default for Collector {
    fn default() -> Self {
        Collector::new()
    }
}

fn chunk_key(slot: u16, chunk: u64) -> u64 {
    (slot as u64) << 48 | chunk
}

/// Gives up what nobody names; the bytes that are left.
pub(crate) fn collect(rt: &Runtime) -> u64 {
    let slots = rt.threads.slots_used();
    // Read before the cells: a step only moves forward, so what its strand names later is not older than this.
    // A slot without a strand may get one at any moment: it goes on where the last one ended.
    let mut from: Vec<u64> = (0..slots)
        .map(|slot| rt.histories.of(slot as u16).newest())
        .collect();
    rt.threads.each(|_, t| {
        if !t.strand.is_null() {
            // SAFETY: the strand lives while it is in the registry, whose lock `each` holds; its step's start is one
            // word, which its thread may be moving forward: an older value only keeps more.
            let (slot, base) = unsafe {
                (
                    (*t.strand).slot,
                    core::ptr::read_volatile(&raw const (*t.strand).step_base),
                )
            };
            if let Some(from) = from.get_mut(slot as usize) {
                *from = (*from).min(Entry(base).seq() >> CHUNK_BITS);
            }
        }
    });
    let mut named: HashMap<u64, Named, Hasher> = HashMap::with_hasher(Hasher);
    let mut last = (u64::MAX, core::ptr::null_mut::<Named>());
    let mut name = |e: Entry| {
        let key = chunk_key(e.slot(), e.seq() >> CHUNK_BITS);
        if key != last.0 {
            last = (key, named.entry(key).or_insert([0; CHUNK / 64]));
        }
        let place = e.seq() as usize % CHUNK;
        // SAFETY: the pointer is fresh: the map has not grown since it was taken.
        unsafe { (*last.1)[place / 64] |= 1 << (place % 64) };
    };
    rt.shadow.each_cell(|cell| {
        // SAFETY: a cell of the shadow, and whoever collects is inside the runtime.
        unsafe { cell::each_entry(cell, &mut name) };
    });
    // What an access found to race with has left its cell, and is looked up only then. It was put down before it left:
    // if the walk did not meet it, it is here.
    rt.threads.each(|_, t| {
        if !t.strand.is_null() {
            // SAFETY: the strand lives, as above; a count or an entry that is being changed is of no access that counts.
            unsafe { cell::Races::each_of(&raw const (*t.strand).races, &mut name) };
        }
    });
    (0..slots)
        .map(|slot| {
            let named = |chunk| named.get(&chunk_key(slot as u16, chunk)).copied();
            rt.histories.of(slot as u16).collect(from[slot], named)
        })
        .sum()
}

/// Keys are spread well enough by one multiplication.
struct Hasher;

struct Hash(u64);

impl core::hash::BuildHasher for Hasher {
    type Hasher = Hash;
    fn build_hasher(&self) -> Hash {
        Hash(0)
    }
}

impl core::hash::Hasher for Hash {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(byte as u64);
        }
    }
    fn write_u64(&mut self, n: u64) {
        let h = (self.0 ^ n).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.0 = h ^ (h >> 32);
    }
}

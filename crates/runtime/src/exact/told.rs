//! What a report would say of a trace that was played.

use std::collections::BTreeMap;

use deadheat_trace::EventId;

use crate::finding::Observed;
use crate::history::Record;
use crate::locks::{HeldLock, Mode};
use crate::runtime::Runtime;
use crate::threads::ThreadId;

/// What a report must say of an event.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Fact {
    pub pc: u64,
    /// A [`Touch`], as a number.
    pub touch: u8,
    pub size: u64,
    pub thread: ThreadId,
    /// Program counters of the calls, the innermost first.
    pub calls: Vec<u64>,
    /// Addresses of the locks held, sorted.
    pub locks: Vec<(u64, bool)>,
}

/// A race as a report would tell it.
pub struct Told {
    addr: usize,
    bytes: u8,
    pub newer: Option<Fact>,
    pub older: Option<Fact>,
}

/// What came of a trace.
pub struct Played {
    pub races: Vec<Told>,
    pub facts: BTreeMap<EventId, Fact>,
    pub(super) base: usize,
}

impl Played {
    /// The trace's names for the bytes that a race is on.
    pub fn bytes<'a>(&'a self, race: &'a Told) -> impl Iterator<Item = u64> + 'a {
        (0..8)
            .filter(move |byte| race.bytes >> byte & 1 == 1)
            .map(|byte| from_memory((race.addr + byte - self.base) as u64))
    }
}

/// What a report would say of an access.
pub(super) fn fact(rt: &Runtime, record: Record, thread: ThreadId) -> Fact {
    let lock = |held: HeldLock| {
        (
            rt.syncs.describe(held.lock).map_or(0, |(addr, ..)| addr),
            held.mode == Mode::Exclusive,
        )
    };
    let mut locks: Vec<(u64, bool)> = rt.lock_sets.held(record.locks).map(lock).collect();
    locks.sort_unstable();
    Fact {
        pc: record.place.pc(),
        touch: record.place.touch() as u8,
        size: record.place.size(),
        thread,
        calls: rt.stacks.frames(record.caller).collect(),
        locks,
    }
}

/// What a report would say of the race, now.
pub(super) fn told(rt: &Runtime, race: Observed) -> Told {
    Told {
        addr: race.addr,
        bytes: race.new.mask() & race.old.mask(),
        newer: race.newer.map(|record| fact(rt, record, race.new_thread)),
        older: race.older.map(|record| fact(rt, record, race.old_thread)),
    }
}

pub(super) fn from_memory(offset: u64) -> u64 {
    match offset {
        0..0x100 => offset + 0x1000,
        0x100..0x180 => offset - 0x100 + 0x2000,
        _ => offset - 0x180 + 0x3000,
    }
}

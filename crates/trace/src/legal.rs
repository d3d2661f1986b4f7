//! Could this interleaving have happened? A mutex has one owner, a joined strand has ended, a block is freed once.
//!
//! Detectors do not need it: they judge any list of events. It keeps the generator, hand-written cases and imported
//! traces honest. Accesses to freed memory are legal here; they are what one looks for.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::event::{Action, Condvar, Event, EventId, Mutex, Range, Round, RwLock, Strand, Trace};

/// Why an event cannot have happened where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Illegal {
    pub at: EventId,
    pub event: Event,
    pub why: &'static str,
}

impl fmt::Display for Illegal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "event {} `{}`: {}", self.at.0, self.event, self.why)
    }
}

impl std::error::Error for Illegal {}

/// Checks a whole trace; it may stop before its strands have ended.
pub fn check(trace: &Trace) -> Result<(), Illegal> {
    let mut world = World::default();
    for (at, event) in trace.iter() {
        world.event(event).map_err(|why| Illegal {
            at,
            event: *event,
            why,
        })?;
    }
    Ok(())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Life {
    Forked,
    Running,
    /// Inside a wait; only the return from it can follow.
    Waiting(Condvar, Mutex),
    /// Waits for the end of that strand; only the join can follow.
    Awaiting(Strand),
    Ended,
    Joined,
}

#[derive(Default)]
struct World {
    strands: BTreeMap<Strand, Life>,
    mutexes: BTreeMap<Mutex, Strand>,
    // invariant: a lock is not in both
    writers: BTreeMap<RwLock, Strand>,
    readers: BTreeMap<RwLock, BTreeSet<Strand>>,
    /// Rounds that somebody has left: nobody can arrive any more.
    closed: BTreeSet<Round>,
    /// Rounds in which somebody has arrived.
    open: BTreeSet<Round>,
    detached: BTreeSet<Strand>,
    blocks: BTreeSet<Range>,
}

type Verdict = Result<(), &'static str>;

fn require(holds: bool, why: &'static str) -> Verdict {
    if holds { Ok(()) } else { Err(why) }
}

impl World {
    fn event(&mut self, event: &Event) -> Verdict {
        let me = event.strand;
        self.alive(me, &event.action)?;
        match event.action {
            Action::Begin => self.begin(me),
            Action::End => self.end(me),
            Action::Fork(child) => self.fork(child),
            Action::Join(child) => self.join(me, child),
            Action::Detach(child) => self.detach(child),
            Action::Await(child) => self.wait_for(me, child),
            Action::Lock(mutex) => self.lock(me, mutex),
            Action::Unlock(mutex) => self.unlock(me, mutex),
            Action::ReadLock(lock) => self.read_lock(me, lock),
            Action::ReadUnlock(lock) => self.read_unlock(me, lock),
            Action::WriteLock(lock) => self.write_lock(me, lock),
            Action::WriteUnlock(lock) => self.write_unlock(me, lock),
            Action::Wait(condvar, mutex) => self.wait(me, condvar, mutex),
            Action::Woken(condvar, mutex) => self.woken(me, condvar, mutex),
            Action::Arrive(round) => self.arrive(round),
            Action::Leave(round) => self.leave(round),
            Action::Alloc(range) => self.alloc(range),
            Action::Free(range) => self.free(range),
            Action::Notify(_)
            | Action::Release(_)
            | Action::Acquire(_)
            | Action::ReleaseAt(_)
            | Action::AcquireAt(_)
            | Action::ReplaceAt(_)
            | Action::Load(..)
            | Action::Store(..)
            | Action::Rmw(..)
            | Action::Fence(_)
            | Action::Read(_)
            | Action::Write(_)
            | Action::AtomicRead(_)
            | Action::AtomicWrite(_) => Ok(()),
        }
    }

    fn alive(&self, me: Strand, action: &Action) -> Verdict {
        match (self.strands.get(&me), action) {
            (None, Action::Begin) => require(me == Strand(0), "nobody has forked this strand"),
            (Some(Life::Forked), Action::Begin) => Ok(()),
            (None | Some(Life::Forked), _) => Err("this strand has not begun"),
            (Some(Life::Running), Action::Begin) => Err("this strand has begun before"),
            (Some(Life::Running), _) => Ok(()),
            (Some(Life::Awaiting(child)), Action::Join(ended)) if child == ended => Ok(()),
            (Some(Life::Awaiting(_)), _) => Err("this strand waits for another one to end"),
            (Some(Life::Waiting(..)), Action::Woken(..)) => Ok(()),
            (Some(Life::Waiting(..)), _) => Err("this strand waits on a condition variable"),
            (Some(Life::Ended | Life::Joined), _) => Err("this strand has ended"),
        }
    }

    fn begin(&mut self, me: Strand) -> Verdict {
        self.strands.insert(me, Life::Running);
        Ok(())
    }

    fn end(&mut self, me: Strand) -> Verdict {
        self.strands.insert(me, Life::Ended);
        Ok(())
    }

    fn fork(&mut self, child: Strand) -> Verdict {
        require(child != Strand(0), "t0 is there from the beginning")?;
        let before = self.strands.insert(child, Life::Forked);
        require(before.is_none(), "this strand was forked before")
    }

    fn join(&mut self, me: Strand, child: Strand) -> Verdict {
        self.strands.insert(me, Life::Running);
        require(
            !self.detached.contains(&child),
            "the strand to join was detached",
        )?;
        let before = self.strands.insert(child, Life::Joined);
        require(
            before == Some(Life::Ended),
            "the strand to join has not ended, or was joined before",
        )
    }

    fn detach(&mut self, child: Strand) -> Verdict {
        let known = self.strands.contains_key(&child);
        let joined = self.strands.get(&child) == Some(&Life::Joined);
        require(
            known && !joined && self.detached.insert(child),
            "the strand to detach is not there, or was joined or detached before",
        )
    }

    fn wait_for(&mut self, me: Strand, child: Strand) -> Verdict {
        let joined = self.strands.get(&child) == Some(&Life::Joined);
        let joinable = self.strands.contains_key(&child) && !self.detached.contains(&child);
        self.strands.insert(me, Life::Awaiting(child));
        require(
            child != me && joinable && !joined,
            "the strand to wait for is not there, or was joined or detached before",
        )
    }

    fn lock(&mut self, me: Strand, mutex: Mutex) -> Verdict {
        require(
            self.mutexes.insert(mutex, me).is_none(),
            "the mutex is held",
        )
    }

    fn unlock(&mut self, me: Strand, mutex: Mutex) -> Verdict {
        require(
            self.mutexes.remove(&mutex) == Some(me),
            "this strand does not hold the mutex",
        )
    }

    fn read_lock(&mut self, me: Strand, lock: RwLock) -> Verdict {
        require(
            !self.writers.contains_key(&lock),
            "the lock is held for writing",
        )?;
        require(
            self.readers.entry(lock).or_default().insert(me),
            "this strand holds the lock for reading already",
        )
    }

    fn read_unlock(&mut self, me: Strand, lock: RwLock) -> Verdict {
        let held = self.readers.entry(lock).or_default().remove(&me);
        require(held, "this strand does not hold the lock for reading")
    }

    fn write_lock(&mut self, me: Strand, lock: RwLock) -> Verdict {
        let readers = self
            .readers
            .get(&lock)
            .is_some_and(|readers| !readers.is_empty());
        require(!readers, "the lock is held for reading")?;
        require(
            self.writers.insert(lock, me).is_none(),
            "the lock is held for writing",
        )
    }

    fn write_unlock(&mut self, me: Strand, lock: RwLock) -> Verdict {
        require(
            self.writers.remove(&lock) == Some(me),
            "this strand does not hold the lock for writing",
        )
    }

    fn wait(&mut self, me: Strand, condvar: Condvar, mutex: Mutex) -> Verdict {
        self.unlock(me, mutex)?;
        self.strands.insert(me, Life::Waiting(condvar, mutex));
        Ok(())
    }

    /// A wait may return without a notification.
    fn woken(&mut self, me: Strand, condvar: Condvar, mutex: Mutex) -> Verdict {
        let before = self.strands.insert(me, Life::Running);
        require(
            before == Some(Life::Waiting(condvar, mutex)),
            "this strand does not wait for that",
        )?;
        self.lock(me, mutex)
    }

    fn arrive(&mut self, round: Round) -> Verdict {
        self.open.insert(round);
        require(
            !self.closed.contains(&round),
            "somebody has left this round of the barrier already",
        )
    }

    fn leave(&mut self, round: Round) -> Verdict {
        self.closed.insert(round);
        require(
            self.open.contains(&round),
            "nobody has arrived in this round of the barrier",
        )
    }

    fn alloc(&mut self, range: Range) -> Verdict {
        let taken = self
            .blocks
            .iter()
            .any(|block| block.overlap(range).is_some());
        self.blocks.insert(range);
        require(!taken, "a part of this memory is allocated")
    }

    fn free(&mut self, range: Range) -> Verdict {
        require(self.blocks.remove(&range), "there is no such block")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(text: &str) -> String {
        let trace: Trace = text.replace("; ", "\n").parse().expect("a trace");
        check(&trace).map_or_else(|illegal| illegal.why.to_string(), |()| "legal".to_string())
    }

    #[test]
    fn what_can_and_what_cannot_happen() {
        let two = "t0 begin; t0 fork t1; t1 begin; ";
        for (text, expected) in [
            ("t0 begin; t0 write 0x10 4; t0 end", "legal"),
            ("t1 begin", "nobody has forked this strand"),
            ("t0 read 0x10 4", "this strand has not begun"),
            ("t0 begin; t0 begin", "this strand has begun before"),
            ("t0 begin; t0 end; t0 end", "this strand has ended"),
            ("t0 begin; t0 fork t0", "t0 is there from the beginning"),
            (
                "t0 begin; t0 fork t1; t0 fork t1",
                "this strand was forked before",
            ),
            (
                "t0 begin; t0 fork t1; t1 read 0x10 4",
                "this strand has not begun",
            ),
            (
                "t0 begin; t0 alloc 0x10 8; t0 alloc 0x14 8",
                "a part of this memory is allocated",
            ),
            (
                "t0 begin; t0 alloc 0x10 8; t0 free 0x10 4",
                "there is no such block",
            ),
            (
                "t0 begin; t0 alloc 0x10 8; t0 free 0x10 8; t0 read 0x10 1; t0 alloc 0x14 8",
                "legal",
            ),
            (
                "t0 begin; t0 leave b0.0",
                "nobody has arrived in this round of the barrier",
            ),
        ] {
            assert_eq!(verdict(text), expected, "{text}");
        }
        for (text, expected) in [
            (
                "t0 join t1",
                "the strand to join has not ended, or was joined before",
            ),
            ("t1 end; t0 join t1", "legal"),
            (
                "t1 end; t0 join t1; t0 join t1",
                "the strand to join has not ended, or was joined before",
            ),
            ("t0 lock m1; t1 lock m1", "the mutex is held"),
            (
                "t0 lock m1; t1 unlock m1",
                "this strand does not hold the mutex",
            ),
            ("t0 lock m1; t0 unlock m1; t1 lock m1", "legal"),
            ("t0 rdlock rw1; t1 rdlock rw1", "legal"),
            (
                "t0 rdlock rw1; t0 rdlock rw1",
                "this strand holds the lock for reading already",
            ),
            (
                "t0 rdlock rw1; t1 wrlock rw1",
                "the lock is held for reading",
            ),
            (
                "t0 wrlock rw1; t1 rdlock rw1",
                "the lock is held for writing",
            ),
            (
                "t0 wrlock rw1; t1 wrlock rw1",
                "the lock is held for writing",
            ),
            (
                "t0 wrlock rw1; t0 rdunlock rw1",
                "this strand does not hold the lock for reading",
            ),
            (
                "t0 rdlock rw1; t0 wrunlock rw1",
                "this strand does not hold the lock for writing",
            ),
            (
                "t0 lock m1; t0 wait c1 m1; t1 lock m1; t1 notify c1; t1 unlock m1; t0 woken c1 m1",
                "legal",
            ),
            ("t0 wait c1 m1", "this strand does not hold the mutex"),
            (
                "t0 lock m1; t0 wait c1 m1; t0 read 0x10 1",
                "this strand waits on a condition variable",
            ),
            (
                "t0 lock m1; t0 wait c1 m1; t1 lock m1; t0 woken c1 m1",
                "the mutex is held",
            ),
            (
                "t0 lock m1; t0 wait c1 m1; t0 woken c2 m1",
                "this strand does not wait for that",
            ),
            (
                "t0 arrive b0.0; t1 arrive b0.0; t1 leave b0.0; t1 arrive b0.1; t0 leave b0.0",
                "legal",
            ),
            (
                "t0 arrive b0.0; t0 leave b0.0; t1 arrive b0.0",
                "somebody has left this round of the barrier already",
            ),
        ] {
            assert_eq!(verdict(&format!("{two}{text}")), expected, "{text}");
        }
    }
}

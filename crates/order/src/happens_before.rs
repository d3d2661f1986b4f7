//! C++20's happens-before, built event by event with vector clocks.
//!
//! Written to be checked by eye: one short function per rule, each with the clause of the standard it implements
//! (N4861; names in brackets are the standard's own labels). It is the specification that faster orders are compared
//! with. It judges the observed execution: an atomic read takes its value from the latest write before it in the trace.
//!
//! How it works: each strand has a clock, its knowledge. A *release* gives a copy of it to an object; an *acquire* joins
//! the object's clock into the strand's. After each release the strand's own time ticks, so that what it does
//! next is not covered by what it has told. All events between two ticks share an epoch, because nobody
//! can be told of one of them without the others.
//!
//! | rule            | edge                                                        | clause                                |
//! |-----------------|-------------------------------------------------------------|---------------------------------------|
//! | fork            | fork -> everything the child does                           | [thread.thread.constr]                |
//! | join            | everything the child did -> join                            | [thread.thread.member]                |
//! | lock            | earlier unlocks -> lock                                     | [thread.mutex.requirements.mutex]     |
//! | read lock       | earlier write unlocks -> read lock                          | [thread.sharedmutex.requirements]     |
//! | write lock      | earlier write and read unlocks -> write lock                | [thread.sharedmutex.requirements]     |
//! | wait            | is an unlock, its return a lock                             | [thread.condition]                    |
//! | barrier         | all arrivals of a round -> all leaves of it                 | [thread.barrier.class], [thread.latch.class] |
//! | channel         | earlier releases -> acquire                                 | [thread.sema.cnt], POSIX 4.12         |
//! | release/acquire | release write -> acquire that reads its release sequence    | [atomics.order] p2                    |
//! | release sequence| a write and the read-modify-writes right after it           | [intro.races] p5                      |
//! | release fence   | fence -> acquire that reads a later write of its strand     | [atomics.fences] p2, p3               |
//! | acquire fence   | release whose value an earlier read of its strand took -> fence | [atomics.fences] p2, p4           |
//!
//! Choices where the standard leaves or gives more:
//! 1. Consume is acquire, as in every compiler.
//! 2. A seq_cst fence is an acquire and release fence. Its place in the single total order S constrains
//!    what can be read, not what happens before what.
//! 3. A notification of a condition variable orders nothing; the mutex does ([thread.condition] gives it no edge).
//! 4. Between a free and a later alloc of the same memory there is no edge, although [new.delete.dataraces] has one:
//!    which addresses an allocator hands out again is luck, and a bug must not hide behind it.
//! 5. An atomic object is an address. A plain write to it does not end its release sequences: if that write does not
//!    race with the atomic accesses, the edge is implied by the order that prevents the race.

use std::collections::{BTreeMap, HashMap};

use deadheat_trace::{
    Action, Addr, Channel, Event, FenceOrder, LoadOrder, Mutex, Range, RmwOrder, Round, RwLock,
    StoreOrder, Strand,
};

use crate::clock::{Epoch, Stamp, VectorClock};

/// What a strand knows.
#[derive(Clone, Debug)]
struct Knowledge {
    // invariant: covers `fenced`
    clock: VectorClock,
    /// What it knew at its last release fence: what its relaxed writes tell.
    fenced: VectorClock,
    /// What its relaxed reads were told: what its next acquire fence will learn.
    heard: VectorClock,
}

impl Knowledge {
    fn new(strand: Strand) -> Knowledge {
        let mut clock = VectorClock::new();
        clock.tick(strand);
        Knowledge {
            clock,
            fenced: VectorClock::new(),
            heard: VectorClock::new(),
        }
    }
}

/// What the unlocks of a read-write lock have told.
#[derive(Clone, Debug, Default)]
struct RwClocks {
    writers: VectorClock,
    readers: VectorClock,
}

/// Does an operation learn?
#[derive(Clone, Copy, PartialEq, Eq)]
enum Acquires {
    No,
    Yes,
}

/// Does an operation tell?
#[derive(Clone, Copy, PartialEq, Eq)]
enum Releases {
    No,
    Yes,
}

/// Consumes the events of a trace in order and knows, for each strand, what happened before its present.
#[derive(Clone, Debug, Default)]
pub struct HappensBefore {
    strands: HashMap<Strand, Knowledge>,
    mutexes: HashMap<Mutex, VectorClock>,
    rwlocks: HashMap<RwLock, RwClocks>,
    rounds: HashMap<Round, VectorClock>,
    channels: HashMap<Channel, VectorClock>,
    /// What the last write to an atomic tells its readers: the releases of all release sequences it is part of.
    messages: BTreeMap<Addr, VectorClock>,
}

impl HappensBefore {
    pub fn new() -> HappensBefore {
        HappensBefore::default()
    }

    /// Takes the next event and returns its epoch. What the event itself learns is learned, so [`Self::clock`] of
    /// its strand is what happened before it.
    pub fn event(&mut self, event: &Event) -> Epoch {
        let me = event.strand;
        match event.action {
            Action::Begin => self.now(me),
            Action::End | Action::Detach(_) | Action::Await(_) => self.now(me),
            Action::Fork(child) => self.fork(me, child),
            Action::Join(child) => self.join(me, child),
            Action::Lock(mutex) => self.lock(me, mutex),
            Action::Unlock(mutex) => self.unlock(me, mutex),
            Action::ReadLock(lock) => self.read_lock(me, lock),
            Action::ReadUnlock(lock) => self.read_unlock(me, lock),
            Action::WriteLock(lock) => self.write_lock(me, lock),
            Action::WriteUnlock(lock) => self.write_unlock(me, lock),
            Action::Wait(_, mutex) => self.unlock(me, mutex),
            Action::Woken(_, mutex) => self.lock(me, mutex),
            Action::Notify(_) => self.now(me),
            Action::Arrive(round) => self.arrive(me, round),
            Action::Leave(round) => self.leave(me, round),
            Action::Release(channel) => self.release(me, channel),
            Action::Acquire(channel) => self.acquire(me, channel),
            Action::ReleaseAt(addr) => self.release_at(me, addr),
            Action::AcquireAt(addr) => self.take_value(me, addr, Acquires::Yes),
            Action::ReplaceAt(addr) => self.store(me, addr, StoreOrder::Release),
            Action::Load(place, order) => self.load(me, place.addr(), order),
            Action::Store(place, order) => self.store(me, place.addr(), order),
            Action::Rmw(place, order) => self.rmw(me, place.addr(), order),
            Action::Fence(order) => self.fence(me, order),
            Action::Read(_)
            | Action::Write(_)
            | Action::AtomicRead(_)
            | Action::AtomicWrite(_)
            | Action::Free(_) => self.now(me),
            Action::Alloc(range) => self.alloc(me, range),
        }
    }

    /// Takes the next event and returns its full place in the order.
    pub fn stamp(&mut self, event: &Event) -> Stamp {
        let epoch = self.event(event);
        let mut clock = self.clock(event.strand).clone();
        clock.set(epoch.strand, epoch.time);
        Stamp { epoch, clock }
    }

    /// What happened before the strand's present.
    pub fn clock(&mut self, strand: Strand) -> &VectorClock {
        &self.knowledge(strand).clock
    }

    fn knowledge(&mut self, strand: Strand) -> &mut Knowledge {
        self.strands
            .entry(strand)
            .or_insert_with(|| Knowledge::new(strand))
    }

    /// The strand's present moment.
    fn now(&mut self, me: Strand) -> Epoch {
        Epoch {
            strand: me,
            time: self.clock(me).get(me),
        }
    }

    /// The strand learns what a clock says.
    fn learn(&mut self, me: Strand, told: &VectorClock) -> Epoch {
        self.knowledge(me).clock.join(told);
        self.now(me)
    }

    /// The strand's present moment, and a copy of all it knows to be told; its time goes on.
    fn tell(&mut self, me: Strand) -> (Epoch, VectorClock) {
        let epoch = self.now(me);
        let told = self.clock(me).clone();
        self.knowledge(me).clock.tick(me);
        (epoch, told)
    }

    /// [thread.thread.constr]: the completion of the constructor's invocation synchronizes with the beginning of the
    /// copy of f.
    fn fork(&mut self, me: Strand, child: Strand) -> Epoch {
        let (epoch, told) = self.tell(me);
        self.learn(child, &told);
        epoch
    }

    /// [thread.thread.member]: the completion of the thread synchronizes with the return of join.
    fn join(&mut self, me: Strand, child: Strand) -> Epoch {
        let (_, told) = self.tell(child);
        self.learn(me, &told)
    }

    /// [thread.mutex.requirements.mutex]: prior unlock operations on the same object synchronize with this operation.
    fn lock(&mut self, me: Strand, mutex: Mutex) -> Epoch {
        let told = self.mutexes.entry(mutex).or_default().clone();
        self.learn(me, &told)
    }

    fn unlock(&mut self, me: Strand, mutex: Mutex) -> Epoch {
        let (epoch, told) = self.tell(me);
        self.mutexes.entry(mutex).or_default().join(&told);
        epoch
    }

    /// [thread.sharedmutex.requirements]: prior unlock operations synchronize with lock_shared. Readers do not order
    /// each other.
    fn read_lock(&mut self, me: Strand, lock: RwLock) -> Epoch {
        let told = self.rwlocks.entry(lock).or_default().writers.clone();
        self.learn(me, &told)
    }

    fn read_unlock(&mut self, me: Strand, lock: RwLock) -> Epoch {
        let (epoch, told) = self.tell(me);
        self.rwlocks.entry(lock).or_default().readers.join(&told);
        epoch
    }

    /// [thread.sharedmutex.requirements]: unlock and unlock_shared synchronize with later lock operations.
    fn write_lock(&mut self, me: Strand, lock: RwLock) -> Epoch {
        let told = self.rwlocks.entry(lock).or_default().clone();
        self.learn(me, &told.writers);
        self.learn(me, &told.readers)
    }

    fn write_unlock(&mut self, me: Strand, lock: RwLock) -> Epoch {
        let (epoch, told) = self.tell(me);
        self.rwlocks.entry(lock).or_default().writers.join(&told);
        epoch
    }

    /// [thread.barrier.class], [thread.latch.class]: arrive strongly happens before the phase completes, which
    /// strongly happens before wait returns.
    fn arrive(&mut self, me: Strand, round: Round) -> Epoch {
        let (epoch, told) = self.tell(me);
        self.rounds.entry(round).or_default().join(&told);
        epoch
    }

    fn leave(&mut self, me: Strand, round: Round) -> Epoch {
        let told = self.rounds.entry(round).or_default().clone();
        self.learn(me, &told)
    }

    /// [thread.sema.cnt]: release strongly happens before the acquire that observes it. A counter does not say whose
    /// release was observed, so all earlier ones are.
    fn release(&mut self, me: Strand, channel: Channel) -> Epoch {
        let (epoch, told) = self.tell(me);
        self.channels.entry(channel).or_default().join(&told);
        epoch
    }

    fn acquire(&mut self, me: Strand, channel: Channel) -> Epoch {
        let told = self.channels.entry(channel).or_default().clone();
        self.learn(me, &told)
    }

    /// An annotation: the atomic's readers learn this beside what its value tells, as if a read-modify-write had told it.
    fn release_at(&mut self, me: Strand, addr: Addr) -> Epoch {
        let (epoch, told) = self.tell(me);
        self.messages.entry(addr).or_default().join(&told);
        epoch
    }

    fn load(&mut self, me: Strand, addr: Addr, order: LoadOrder) -> Epoch {
        let acquires = match order {
            LoadOrder::Relaxed => Acquires::No,
            LoadOrder::Consume | LoadOrder::Acquire | LoadOrder::SeqCst => Acquires::Yes,
        };
        self.take_value(me, addr, acquires)
    }

    /// [intro.races] p5: a store, whoever does it, begins a new release sequence; what was told before it is not
    /// heard by those who read it. (Since C++20 that is so for the releasing strand's own stores too.)
    fn store(&mut self, me: Strand, addr: Addr, order: StoreOrder) -> Epoch {
        let releases = match order {
            StoreOrder::Relaxed => Releases::No,
            StoreOrder::Release | StoreOrder::SeqCst => Releases::Yes,
        };
        let (epoch, told) = self.give_value(me, releases);
        self.messages.insert(addr, told);
        epoch
    }

    /// [intro.races] p5: a read-modify-write, whoever does it, continues the release sequences it reads from, and
    /// heads one of its own.
    fn rmw(&mut self, me: Strand, addr: Addr, order: RmwOrder) -> Epoch {
        let (acquires, releases) = match order {
            RmwOrder::Relaxed => (Acquires::No, Releases::No),
            RmwOrder::Consume | RmwOrder::Acquire => (Acquires::Yes, Releases::No),
            RmwOrder::Release => (Acquires::No, Releases::Yes),
            RmwOrder::AcqRel | RmwOrder::SeqCst => (Acquires::Yes, Releases::Yes),
        };
        self.take_value(me, addr, acquires);
        let (epoch, told) = self.give_value(me, releases);
        self.messages.entry(addr).or_default().join(&told);
        epoch
    }

    /// [atomics.order] p2: a release synchronizes with the acquire that takes its value from the release sequence.
    /// [atomics.fences] p4: a read that does not acquire leaves that to a later acquire fence of its strand.
    fn take_value(&mut self, me: Strand, addr: Addr, acquires: Acquires) -> Epoch {
        let told = self.messages.get(&addr).cloned().unwrap_or_default();
        match acquires {
            Acquires::Yes => self.learn(me, &told),
            Acquires::No => {
                self.knowledge(me).heard.join(&told);
                self.now(me)
            }
        }
    }

    /// [atomics.order] p2: a release write tells all. [atomics.fences] p3: a write that does not release tells what
    /// was known at the last release fence before it.
    fn give_value(&mut self, me: Strand, releases: Releases) -> (Epoch, VectorClock) {
        match releases {
            Releases::Yes => self.tell(me),
            Releases::No => (self.now(me), self.knowledge(me).fenced.clone()),
        }
    }

    /// [atomics.fences] p1, p5. An acquire and release fence is first the one and then the other, so that what it
    /// learns it also tells.
    fn fence(&mut self, me: Strand, order: FenceOrder) -> Epoch {
        match order {
            FenceOrder::Relaxed => self.now(me),
            FenceOrder::Consume | FenceOrder::Acquire => self.acquire_fence(me),
            FenceOrder::Release => self.release_fence(me),
            FenceOrder::AcqRel | FenceOrder::SeqCst => {
                self.acquire_fence(me);
                self.release_fence(me)
            }
        }
    }

    /// [atomics.fences] p2, p4: learns what the strand's earlier relaxed reads were told.
    fn acquire_fence(&mut self, me: Strand) -> Epoch {
        let told = self.knowledge(me).heard.clone();
        self.learn(me, &told)
    }

    /// [atomics.fences] p2, p3: the strand's later relaxed writes tell what is known now.
    fn release_fence(&mut self, me: Strand) -> Epoch {
        let (epoch, told) = self.tell(me);
        self.knowledge(me).fenced = told;
        epoch
    }

    /// The atomics that were at these addresses are gone, and what was stored to them cannot be read any more.
    fn alloc(&mut self, me: Strand, range: Range) -> Epoch {
        let (start, end) = range.bounds();
        self.messages
            .retain(|addr, _| !(start..end).contains(&addr.0));
        self.now(me)
    }
}

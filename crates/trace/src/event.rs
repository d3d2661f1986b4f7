//! What a strand can do: one closed enum, so that a new event makes the compiler list everyone who must know of it.
//!
//! A trace is one list of events in an order that really happened: each atomic load or read-modify-write reads the
//! latest atomic store to its address before it in the list. Who is ordered before whom is *not* said here; that is
//! what the `order` crate derives.

use core::fmt;

/// Makes a number that cannot be mistaken for another kind of number, written with its prefix.
macro_rules! id {
    ($(#[$doc:meta])* $name:ident($inner:ty), $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub $inner);

        impl $name {
            /// What stands before the number in text.
            pub const PREFIX: &'static str = $prefix;
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }
    };
}

id!(
    /// Whatever executes in sequence. `t0` is there from the beginning; all others are forked. Never used twice.
    Strand(u32), "t"
);
id!(
    /// A lock with one owner.
    Mutex(u64), "m"
);
id!(
    /// A lock with many readers or one writer.
    RwLock(u64), "rw"
);
id!(
    /// A condition variable.
    Condvar(u64), "c"
);
id!(
    /// A barrier or latch.
    Barrier(u64), "b"
);
id!(
    /// Anything else that carries order: a semaphore, a pipe, a once flag, a signal, an annotation.
    Channel(u64), "ch"
);
id!(
    /// A place in the program, for people.
    Site(u64), "@"
);

/// The place of an event in its trace, counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventId(pub usize);

/// An address of the program's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Addr(pub u64);

impl fmt::Display for Addr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

/// Some bytes of memory, at least one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Range {
    // invariant: start < end
    start: u64,
    end: u64,
}

impl Range {
    /// `None` if it is empty or reaches past the end of memory.
    pub fn new(addr: Addr, size: u64) -> Option<Range> {
        let end = addr.0.checked_add(size)?;
        (size > 0).then_some(Range { start: addr.0, end })
    }

    pub fn addr(self) -> Addr {
        Addr(self.start)
    }

    pub fn size(self) -> u64 {
        self.end - self.start
    }

    /// The first byte, and the one after the last.
    pub fn bounds(self) -> (u64, u64) {
        (self.start, self.end)
    }

    pub fn contains(self, other: Range) -> bool {
        self.start <= other.start && other.end <= self.end
    }

    /// The bytes in both.
    pub fn overlap(self, other: Range) -> Option<Range> {
        let (start, end) = (self.start.max(other.start), self.end.min(other.end));
        (start < end).then_some(Range { start, end })
    }

    /// The bytes that are not in `other`: none, one piece, or two.
    pub fn minus(self, other: Range) -> impl Iterator<Item = Range> {
        let below = Range {
            start: self.start,
            end: self.end.min(other.start),
        };
        let above = Range {
            start: self.start.max(other.end),
            end: self.end,
        };
        [below, above]
            .into_iter()
            .filter(|piece| piece.start < piece.end)
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.addr(), self.size())
    }
}

/// How wide an atomic operation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Width {
    One,
    Two,
    Four,
    Eight,
    Sixteen,
}

impl Width {
    pub const ALL: [Width; 5] = [
        Width::One,
        Width::Two,
        Width::Four,
        Width::Eight,
        Width::Sixteen,
    ];

    pub fn bytes(self) -> u64 {
        match self {
            Width::One => 1,
            Width::Two => 2,
            Width::Four => 4,
            Width::Eight => 8,
            Width::Sixteen => 16,
        }
    }
}

/// The memory of an atomic operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    // invariant: addr + width does not reach past the end of memory
    addr: Addr,
    width: Width,
}

impl Place {
    /// `None` if it reaches past the end of memory.
    pub fn new(addr: Addr, width: Width) -> Option<Place> {
        Range::new(addr, width.bytes()).map(|_| Place { addr, width })
    }

    pub fn addr(self) -> Addr {
        self.addr
    }

    pub fn width(self) -> Width {
        self.width
    }

    pub fn range(self) -> Range {
        Range {
            start: self.addr.0,
            end: self.addr.0 + self.width.bytes(),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.range())
    }
}

/// Makes an enum of memory orders with its words.
macro_rules! orders {
    ($(#[$doc:meta])* $name:ident { $($variant:ident = $word:literal),* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $($variant),*
        }

        impl $name {
            pub const ALL: &'static [$name] = &[$($name::$variant),*];

            pub fn word(self) -> &'static str {
                match self {
                    $($name::$variant => $word),*
                }
            }
        }
    };
}

orders!(
    /// The orders a load may have.
    LoadOrder { Relaxed = "relaxed", Consume = "consume", Acquire = "acquire", SeqCst = "seq_cst" }
);
orders!(
    /// The orders a store may have.
    StoreOrder { Relaxed = "relaxed", Release = "release", SeqCst = "seq_cst" }
);
orders!(
    /// The orders a read-modify-write may have.
    RmwOrder {
        Relaxed = "relaxed", Consume = "consume", Acquire = "acquire", Release = "release", AcqRel = "acq_rel",
        SeqCst = "seq_cst"
    }
);
orders!(
    /// The orders a fence may have; a relaxed one does nothing.
    FenceOrder {
        Relaxed = "relaxed", Consume = "consume", Acquire = "acquire", Release = "release", AcqRel = "acq_rel",
        SeqCst = "seq_cst"
    }
);

/// One phase of a barrier: whoever leaves it has seen all who arrived in it. A latch has only phase 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Round {
    pub barrier: Barrier,
    pub phase: u64,
}

impl fmt::Display for Round {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.barrier, self.phase)
    }
}

/// What a strand does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Action {
    /// The first event of a strand.
    Begin,
    /// The last event of a strand.
    End,
    /// Makes another strand, which begins later.
    Fork(Strand),
    /// Has waited for the end of another strand.
    Join(Strand),
    /// Says that nobody will join another strand, which may have ended. It orders nothing.
    Detach(Strand),
    /// Will do nothing before it joins another strand, for whose end it waits. It orders nothing.
    Await(Strand),

    /// Has taken a mutex; for a recursive one, the outermost time only. A try that failed is no event.
    Lock(Mutex),
    /// Gives a mutex back.
    Unlock(Mutex),
    /// Has taken a read-write lock for reading.
    ReadLock(RwLock),
    ReadUnlock(RwLock),
    /// Has taken a read-write lock for writing.
    WriteLock(RwLock),
    WriteUnlock(RwLock),

    /// Begins to wait on a condition variable, which gives the mutex back.
    Wait(Condvar, Mutex),
    /// Returns from the wait, and has the mutex again.
    Woken(Condvar, Mutex),
    /// Wakes one or all who wait. By itself it orders nothing: the mutex does.
    Notify(Condvar),

    /// Arrives at a barrier; it need not wait.
    Arrive(Round),
    /// Passes the barrier: everybody who had to arrive in this round has.
    Leave(Round),

    /// Tells everything it knows to whoever acquires later: post, write to a pipe, send a signal.
    Release(Channel),
    /// Learns what all earlier releases told: wait of a semaphore, read of a pipe, begin of a handler.
    Acquire(Channel),

    /// As [`Action::Release`], through the atomic at an address: whoever acquires from it learns this too. No access.
    ReleaseAt(Addr),
    /// As [`Action::Acquire`], through the atomic at an address: learns what its present value tells. No access.
    AcquireAt(Addr),
    /// As [`Action::ReleaseAt`], but what the atomic told before is forgotten.
    ReplaceAt(Addr),

    /// An atomic load; also a compare-exchange that failed.
    Load(Place, LoadOrder),
    /// An atomic store.
    Store(Place, StoreOrder),
    /// An atomic read-modify-write: exchange, fetch_add, a compare-exchange that succeeded.
    Rmw(Place, RmwOrder),
    /// A thread fence.
    Fence(FenceOrder),

    /// An ordinary read.
    Read(Range),
    /// An ordinary write.
    Write(Range),
    /// An atomic read that orders nothing: the C library looks at a lock, or the value's order is known already.
    AtomicRead(Range),
    /// An atomic write that orders nothing.
    AtomicWrite(Range),
    /// The memory is new: whatever was at these addresses before has nothing to do with it.
    Alloc(Range),
    /// The memory is given back.
    Free(Range),
}

/// One strand doing one thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Event {
    pub strand: Strand,
    pub action: Action,
    pub site: Option<Site>,
}

impl Event {
    pub fn new(strand: Strand, action: Action) -> Event {
        Event {
            strand,
            action,
            site: None,
        }
    }
}

/// Events in the order in which they happened.
#[cfg(feature = "std")]
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Trace {
    pub events: Vec<Event>,
}

#[cfg(feature = "std")]
impl Trace {
    /// The events with their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (EventId, &Event)> {
        self.events
            .iter()
            .enumerate()
            .map(|(index, event)| (EventId(index), event))
    }

    /// The strands that somebody waits for.
    pub fn joined(&self) -> std::collections::BTreeSet<Strand> {
        self.events
            .iter()
            .filter_map(|event| match event.action {
                Action::Join(child) => Some(child),
                _ => None,
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(start: u64, size: u64) -> Range {
        Range::new(Addr(start), size).expect("a range of the test")
    }

    #[test]
    fn ranges_have_bytes_and_stay_in_memory() {
        assert_eq!(Range::new(Addr(1), 0), None);
        assert_eq!(Range::new(Addr(u64::MAX), 1), None);
        assert_eq!(range(16, 4).bounds(), (16, 20));
    }

    #[test]
    fn overlap_and_difference_share_out_the_bytes() {
        let bytes = |r: Range| r.bounds().0..r.bounds().1;
        for (a_start, a_size) in (0..5).flat_map(|s| (1..5).map(move |n| (s, n))) {
            for (b_start, b_size) in (0..5).flat_map(|s| (1..5).map(move |n| (s, n))) {
                let (a, b) = (range(a_start, a_size), range(b_start, b_size));
                for byte in 0..10 {
                    let (in_a, in_b) = (bytes(a).contains(&byte), bytes(b).contains(&byte));
                    assert_eq!(
                        a.overlap(b).is_some_and(|o| bytes(o).contains(&byte)),
                        in_a && in_b
                    );
                    assert_eq!(
                        a.minus(b).filter(|p| bytes(*p).contains(&byte)).count() == 1,
                        in_a && !in_b
                    );
                }
            }
        }
    }
}

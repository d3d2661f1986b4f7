//! The binary form of what one strand did: 64-bit words, written without allocation by the runtime inside the program and
//! read by the checker or from a file.
//!
//! Each strand has a stream of its own. An access is one word; everything else takes some more. Only events that others
//! can see ([`Item::Act`]) carry a **number**, from one counter of the whole program without gaps. It is taken while the
//! object of the event is locked, so its order is the real order of the events on each object. To merge streams:
//!
//! 1. process a strand's items up to its next [`Item::Act`]; what lies between two of them is in no order with other strands;
//! 2. process an [`Item::Act`] when all smaller numbers have been;
//! 3. strand 0 is there from the beginning, others when their `Fork` was processed;
//! 4. a program that was killed may have taken numbers that were never written: at the end of all streams skip them.
//!
//! # Words
//!
//! ```text
//! access   [63..17 address][16..1 place][0: 1]
//! others   [63..32 number of a call stack][31..8 detail][7..1 op][0: 0] and op-specific words after it
//! ```
//!
//! | op        | words after it                | meaning                                                            |
//! |-----------|-------------------------------|--------------------------------------------------------------------|
//! | `NOTHING` |                               | the rest of the frame is empty                                     |
//! | `PLACE`   | place                         | `detail` is from here on the index of this program counter, kind and size |
//! | `CALLS`   |                               | the following accesses were made in this call stack (without the innermost counter) |
//! | `RANGE`   | address, size                 | an access that does not fit one word; `detail` is the place's index |
//! | `TURNS`   | address, stride << 32 + count | what a loop touched: the place of index `detail`, in each turn one stride further |
//! | `MEMORY`  | address, size                 | what some memory is ([`MemoryKind`])                               |
//! | `LOST`    | count                         | so many accesses were dropped here                                 |
//! | others    | number, then what the action needs | [`Action`]                                                    |
//!
//! A place is `[63..52 size][51..48 kind][47..0 program counter]`; size 4095 means that a `RANGE` says it. No item lies
//! across two frames. Call stacks are nodes `(caller, program counter)` of a tree that all strands share; it is kept beside
//! the streams. 0 is the empty stack.

#[cfg(feature = "std")]
mod decode;
mod encode;
#[cfg(feature = "std")]
mod source;
#[cfg(feature = "std")]
mod stacks;
// The runtime only writes.
#[cfg_attr(not(feature = "std"), allow(dead_code))]
mod word;

#[cfg(feature = "std")]
pub use decode::{Damage, Decoder};
#[cfg(feature = "std")]
pub use source::{Memory, Next, Source, Writer, touch_of};
#[cfg(feature = "std")]
pub use stacks::StackSet;

pub use encode::{Words, act, calls, lost, memory, place, plain, range, turns};
pub use word::{
    ADDRESS_BITS, ADDRESS_SHIFT, CALLS, KIND_SHIFT, LARGEST, MOST_REACH, MOST_TURNS, MOST_WORDS,
    PLACES, PlaceUse, Spot, access_of, is_access, is_act, place_of, stack_of, turns_in, with_stack,
    words_of,
};

use crate::event::{Action, Range};

/// Calls in one stack; a longer one is no stack.
pub const DEEPEST: usize = 1 << 20;

/// A call stack: the number of its node. 0 is the empty one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StackNode(pub u32);

/// How memory is touched. The numbers are those of the words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Touch {
    Read = 1,
    Write = 2,
    AtomicRead = 3,
    AtomicWrite = 4,
    /// A constructor or destructor sets the pointer to the virtual functions.
    VptrWrite = 7,
    /// An object of synchronization is destroyed.
    Destroy = 8,
}

impl Touch {
    pub const ALL: [Touch; 6] = [
        Touch::Read,
        Touch::Write,
        Touch::AtomicRead,
        Touch::AtomicWrite,
        Touch::VptrWrite,
        Touch::Destroy,
    ];

    #[inline]
    pub fn new(bits: u8) -> Option<Touch> {
        match bits {
            1 => Some(Touch::Read),
            2 => Some(Touch::Write),
            3 => Some(Touch::AtomicRead),
            4 => Some(Touch::AtomicWrite),
            7 => Some(Touch::VptrWrite),
            8 => Some(Touch::Destroy),
            _ => None,
        }
    }

    /// The word of the text form.
    pub fn word(self) -> &'static str {
        match self {
            Touch::Read => "read",
            Touch::Write => "write",
            Touch::AtomicRead => "atomic-read",
            Touch::AtomicWrite => "atomic-write",
            Touch::VptrWrite => "vptr-write",
            Touch::Destroy => "destroy",
        }
    }
}

/// An access that orders nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Touched {
    pub range: Range,
    pub touch: Touch,
    /// Where the access was made (a return address), innermost.
    pub pc: u64,
    /// The calls around it.
    pub caller: StackNode,
}

impl Touched {
    /// The same as an action; the special sorts of writes are writes.
    pub fn action(&self) -> Action {
        match self.touch {
            Touch::Read => Action::Read(self.range),
            Touch::Write | Touch::VptrWrite | Touch::Destroy => Action::Write(self.range),
            Touch::AtomicRead => Action::AtomicRead(self.range),
            Touch::AtomicWrite => Action::AtomicWrite(self.range),
        }
    }
}

/// What a loop touched: the same bytes in each turn, one stride further.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Turns {
    /// Of the first turn.
    pub addr: u64,
    pub count: u32,
    pub stride: u32,
    /// Where and how, and how many bytes in each turn.
    pub spot: Spot,
}

impl Turns {
    /// Turns that there are, of sizes that there are, no further apart than one can tell.
    #[inline]
    pub fn is_legal(&self) -> bool {
        (1..=MOST_TURNS).contains(&self.count)
            && (1..LARGEST).contains(&self.spot.size())
            && self.stride > 0
            && self.reach() <= MOST_REACH
            && self.addr.checked_add(self.reach()).is_some()
    }

    /// Bytes from the first to the last of them.
    #[inline]
    pub fn reach(&self) -> u64 {
        (u64::from(self.count) - 1) * u64::from(self.stride) + self.spot.size()
    }

    /// Whether no byte between the first and the last is left out.
    #[inline]
    pub fn is_dense(&self) -> bool {
        self.count == 1 || u64::from(self.stride) <= self.spot.size()
    }
}

/// What an object of synchronization is, for people.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum ObjectKind {
    #[default]
    Unknown = 0,
    Atomic = 1,
    Mutex = 2,
    RecursiveMutex = 3,
    RwLock = 4,
    SpinLock = 5,
    Condition = 6,
    Barrier = 7,
    Once = 8,
    Semaphore = 9,
    Annotation = 10,
    Descriptor = 11,
    Thread = 12,
    Signal = 13,
}

impl ObjectKind {
    pub const ALL: [ObjectKind; 14] = [
        ObjectKind::Unknown,
        ObjectKind::Atomic,
        ObjectKind::Mutex,
        ObjectKind::RecursiveMutex,
        ObjectKind::RwLock,
        ObjectKind::SpinLock,
        ObjectKind::Condition,
        ObjectKind::Barrier,
        ObjectKind::Once,
        ObjectKind::Semaphore,
        ObjectKind::Annotation,
        ObjectKind::Descriptor,
        ObjectKind::Thread,
        ObjectKind::Signal,
    ];

    /// What reports call it.
    pub fn name(self) -> &'static str {
        match self {
            ObjectKind::Unknown => "object",
            ObjectKind::Atomic => "atomic",
            ObjectKind::Mutex => "mutex",
            ObjectKind::RecursiveMutex => "recursive mutex",
            ObjectKind::RwLock => "rwlock",
            ObjectKind::SpinLock => "spinlock",
            ObjectKind::Condition => "condition variable",
            ObjectKind::Barrier => "barrier",
            ObjectKind::Once => "once",
            ObjectKind::Semaphore => "semaphore",
            ObjectKind::Annotation => "annotation",
            ObjectKind::Descriptor => "descriptor",
            ObjectKind::Thread => "thread",
            ObjectKind::Signal => "signal",
        }
    }
}

/// An object of synchronization: what it is and where it lies. Its identity is the id in the action.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Object {
    pub kind: ObjectKind,
    pub addr: u64,
}

/// What some memory is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum MemoryKind {
    #[default]
    Other = 0,
    /// A block of malloc's.
    Heap = 1,
    /// Mapped by the program.
    Mapping = 2,
    /// The stack of the strand's thread.
    Stack = 3,
    /// The thread-local variables of the strand's thread.
    ThreadLocal = 4,
    /// Races here are meant: say nothing of them.
    Exempt = 5,
}

impl MemoryKind {
    pub const ALL: [MemoryKind; 6] = [
        MemoryKind::Other,
        MemoryKind::Heap,
        MemoryKind::Mapping,
        MemoryKind::Stack,
        MemoryKind::ThreadLocal,
        MemoryKind::Exempt,
    ];

    pub fn word(self) -> &'static str {
        match self {
            MemoryKind::Other => "other",
            MemoryKind::Heap => "heap",
            MemoryKind::Mapping => "mapping",
            MemoryKind::Stack => "stack",
            MemoryKind::ThreadLocal => "tls",
            MemoryKind::Exempt => "exempt",
        }
    }
}

/// Something others can see: synchronization, or memory's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Act {
    /// Its place among the acts of all strands.
    pub number: u64,
    /// Never a plain or atomic access that orders nothing.
    pub action: Action,
    /// The full call stack, the innermost program counter included.
    pub at: StackNode,
    /// For locks, condition variables, barriers and channels.
    pub object: Object,
    /// For `Alloc`.
    pub memory: MemoryKind,
}

impl Act {
    pub fn new(number: u64, action: Action, at: StackNode) -> Act {
        Act {
            number,
            action,
            at,
            object: Object::default(),
            memory: MemoryKind::Other,
        }
    }
}

/// One thing that a stream says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Item {
    Touch(Touched),
    Act(Act),
    /// What some memory is.
    Memory(MemoryKind, Range),
    /// So many accesses were dropped here.
    Lost(u64),
}

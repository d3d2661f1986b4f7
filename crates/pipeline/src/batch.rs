//! What the checkers get: a stretch of the merged execution, cut by address.
//!
//! A batch has *steps* in the order in which they are to be checked, and *news* about the order that all checkers get
//! alike. A step that touches memory says how much of the news comes before it. Batches come one after another;
//! everything in them refers to what earlier ones said.

use std::sync::Arc;

use deadheat_detect::entry::{PLAIN, WRITE};
use deadheat_detect::eraser::{Lock, Mode};
use deadheat_order::{Holder, Transfer};
use deadheat_trace::wire::{MemoryKind, Spot, StackNode};
use deadheat_trace::{Range, Strand};

/// A strand's place in clocks. A strand that ended and is known to whoever forks a new one leaves it its slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot(pub u16);

impl Slot {
    /// No strand's: of accesses of strands that have ended of which nobody can ever know, so that everything that comes later is
    /// concurrent with them. Their time is the strand's number, plus one.
    pub const BURIED: Slot = Slot(u16::MAX);
}

/// A strand that has ended, and that nobody can join.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Buried {
    pub strand: Strand,
    pub slot: Slot,
    /// Its accesses later than the one, up to the other, are such that nobody can ever know of them.
    pub after: u64,
    pub last: u64,
    /// Whoever knows of its accesses later than this, up to `after`, knows all of `knew`, by slot; empty if that is not so.
    pub told: u64,
    pub knew: Vec<u64>,
}

impl Buried {
    /// Whoever knows of an access of this strand at the time `mine` knows of the other one, of a slot and time.
    #[inline]
    pub fn implies(&self, mine: u64, (slot, time): (u16, u64)) -> bool {
        let knew = self.knew.get(usize::from(slot));
        self.told < mine && mine <= self.after && knew.is_some_and(|&knew| time <= knew)
    }

    /// Whether nobody can ever know of an access of this strand's slot at that time.
    #[inline]
    pub fn has_unknown(&self, time: u64) -> bool {
        self.after < time && time <= self.last
    }
}

/// Those that are buried, by slot.
pub fn by_slot(buried: &[Buried]) -> Vec<Option<&Buried>> {
    let slots = buried.iter().map(|one| usize::from(one.slot.0) + 1).max();
    let mut by_slot: Vec<Option<&Buried>> = vec![None; slots.unwrap_or(0)];
    for one in buried {
        by_slot[usize::from(one.slot.0)] = Some(one);
    }
    by_slot
}

/// What a checker found when it looked at all its memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Named {
    /// The number of the sweep.
    pub sweep: u64,
    /// By slot: whether an access is remembered; none is beyond its end.
    pub slots: Vec<bool>,
}

impl Named {
    pub fn has(&self, slot: Slot) -> bool {
        self.slots
            .get(usize::from(slot.0))
            .copied()
            .unwrap_or(false)
    }

    pub fn add(&mut self, slot: u16) {
        let at = usize::from(slot);
        if self.slots.len() <= at {
            self.slots.resize(at + 1, false);
        }
        self.slots[at] = true;
    }

    /// What either names.
    pub fn merge(&mut self, other: &Named) {
        let named = other.slots.iter().enumerate().filter(|(_, named)| **named);
        named.for_each(|(slot, _)| self.add(slot as u16));
    }
}

/// The number of a list of held locks; 0 is the empty one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LocksId(pub u32);

/// Kinds of accesses, as in a [`Spot`]: those of [`deadheat_trace::wire::Touch`], and what acts do to memory.
pub mod kind {
    pub const READ: u8 = 1;
    pub const WRITE: u8 = 2;
    pub const ATOMIC_READ: u8 = 3;
    pub const ATOMIC_WRITE: u8 = 4;
    pub const ATOMIC_READ_WRITE: u8 = 5;
    pub const FREE: u8 = 6;
    pub const VPTR_WRITE: u8 = 7;
    pub const DESTROY: u8 = 8;
}

/// The bits of a [`deadheat_detect::entry`] for a kind of access: is it plain, does it write?
#[inline(always)]
pub const fn bits(kind: u8) -> u64 {
    const BITS: [u64; 16] = {
        let mut bits = [PLAIN | WRITE; 16];
        bits[kind::READ as usize] = PLAIN;
        bits[kind::ATOMIC_READ as usize] = 0;
        bits[kind::ATOMIC_WRITE as usize] = WRITE;
        bits[kind::ATOMIC_READ_WRITE as usize] = WRITE;
        bits
    };
    BITS[kind as usize & 15]
}

/// Some bytes touched by the strand of the run that this belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Access {
    pub addr: u64,
    /// Program counter, kind, and the size of the whole access, of which this may be a piece.
    pub spot: Spot,
    /// Bytes from `addr` on; at least 1.
    pub len: u32,
    /// The calls around it. If the spot has no program counter, this is the whole stack.
    pub caller: StackNode,
    /// Its place in the batch, whoever checks it.
    pub order: u32,
    /// If not 0, what a loop touched: in each turn as many bytes as the spot says, so far from one to the next; `len` reaches
    /// from the first byte to the last.
    pub stride: u32,
}

impl Access {
    /// All of an access that is not a loop's.
    #[inline(always)]
    pub fn whole(addr: u64, spot: Spot, caller: StackNode, order: u32) -> Access {
        Access {
            addr,
            spot,
            len: spot.size() as u32,
            caller,
            order,
            stride: 0,
        }
    }

    /// The stretches of memory that it touches: where each begins, and its bytes.
    #[inline(always)]
    pub fn stretches(&self) -> impl Iterator<Item = (u64, u32)> + use<> {
        let (size, count) = match self.stride {
            0 => (self.len, 1),
            stride => {
                let size = self.spot.size() as u32;
                (size, (self.len - size.min(self.len)) / stride + 1)
            }
        };
        let (addr, stride) = (self.addr, u64::from(self.stride));
        (0..u64::from(count)).map(move |turn| (addr + turn * stride, size))
    }
}

/// Accesses of one strand with nothing between them that others could see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    pub strand: Strand,
    /// The strand among [`News::Transfer`]s.
    pub holder: Holder,
    pub slot: Slot,
    /// The strand's own time: the epoch of all these accesses.
    pub time: u64,
    pub locks: LocksId,
    /// Acts of all strands with smaller numbers came before it.
    pub acts: u64,
    /// So much of [`Batch::news`] comes before it.
    pub news: u32,
    /// Which of [`Batch::accesses`].
    pub first: u32,
    pub count: u32,
}

/// What some memory is, from here on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    pub range: Range,
    pub kind: MemoryKind,
    pub strand: Strand,
    pub stack: StackNode,
}

/// One thing to do for a checker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    Run(Run),
    /// From here on these bytes have no past.
    Fresh(Range),
    /// Memory is given back, by whom and where. The write that a free is comes as a run beside it; those who judge
    /// locks take the memory for fresh.
    Freed(Block),
    /// What some memory is: for descriptions, not for the check.
    Block(Block),
}

/// What all checkers must know of the order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum News {
    /// The slot belongs to this strand from its time `from` on. Its clock is empty but for that.
    Slot {
        slot: Slot,
        strand: Strand,
        from: u64,
    },
    /// The clock of the strand in `slot` now says `time` for `of`. For those who carry clocks.
    Clock {
        slot: Slot,
        of: Slot,
        time: u64,
    },
    /// Knowledge moved. For those who carry sets of who knows.
    Transfer(Transfer),
    /// For those who judge locks.
    Took(Strand, Lock, Mode),
    Gave(Strand, Lock, Mode),
    Ended(Strand),
    /// Every strand that is left knows each slot up to these times: whatever is older can be forgotten.
    Known {
        times: Arc<[u64]>,
        living: Arc<[Holder]>,
    },
    /// All memory is to be looked at: these accesses are [`Slot::BURIED`] from here on, and which slots are named at all is to
    /// be told ([`Named`]). For those who can ([`crate::detector::Needs::sweeps`]).
    Sweep {
        number: u64,
        buried: Arc<[Buried]>,
    },
    /// A frame ends. Who checks frames alone forgets everything here.
    Frame,
}

/// What a holder of knowledge knew when a batch began.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Start {
    pub holder: Holder,
    /// By slot; 0 beyond its end.
    pub times: Vec<u64>,
}

/// A stretch of the execution for one checker.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// Counted from 0; the same for all checkers.
    pub number: u64,
    pub news: Arc<Vec<News>>,
    /// Every holder that the runs and [`News::Transfer`]s of this batch name, once; only if somebody needs it.
    pub starts: Arc<Vec<Start>>,
    pub steps: Vec<Step>,
    pub accesses: Vec<Access>,
    /// What became part of an earlier access, in order.
    pub joined: Vec<Joined>,
}

/// An access that became part of an earlier one, which is a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Joined {
    /// The place of the earlier one in the batch, and its own.
    pub first: u32,
    pub order: u32,
    pub addr: u64,
}

impl Batch {
    /// The place in the batch of the access to these bytes, which may have been joined with the one that has them now.
    #[cold]
    pub fn order_of(&self, access: &Access, byte: u64) -> u32 {
        let has = |one: &&Joined| {
            one.first == access.order && (one.addr..one.addr + access.spot.size()).contains(&byte)
        };
        match self.joined.iter().find(has) {
            Some(one) => one.order,
            None => access.order,
        }
    }

    pub fn accesses_of(&self, run: &Run) -> &[Access] {
        let first = run.first as usize;
        &self.accesses[first..first + run.count as usize]
    }
}

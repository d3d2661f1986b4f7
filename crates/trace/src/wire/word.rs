//! The bits of the words. See the table in [`super`].

use super::StackNode;
use crate::event::{FenceOrder, LoadOrder, RmwOrder, StoreOrder, Width};

/// Indices of places there can be.
pub const PLACES: usize = 1 << 16;
/// The longest item.
pub const MOST_WORDS: usize = 5;
/// Sizes from here on need a `RANGE`.
pub const LARGEST: u64 = 0xfff;
/// Turns that one `TURNS` can tell: so few that three words never stand for very many accesses.
pub const MOST_TURNS: u32 = 1 << 12;
/// The farthest that the accesses of one `TURNS` can reach.
pub const MOST_REACH: u64 = 1 << 30;

pub(super) const ACCESS: u64 = 1;
pub(super) const PLACE_SHIFT: u32 = 1;
pub const ADDRESS_SHIFT: u32 = 17;
pub const ADDRESS_BITS: u32 = 47;

pub(super) const OP_SHIFT: u32 = 1;
pub(super) const OP_MASK: u64 = 0x7f;
pub(super) const DETAIL_SHIFT: u32 = 8;
pub(super) const DETAIL_MASK: u64 = 0xff_ffff;
pub(super) const STACK_SHIFT: u32 = 32;

const PC_BITS: u32 = 48;
pub const KIND_SHIFT: u32 = 48;
const SIZE_SHIFT: u32 = 52;

/// A place: where an access was made, how, and how many bytes; one word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Spot(pub u64);

impl Spot {
    /// Sizes from [`LARGEST`] on are stored as it.
    #[inline(always)]
    pub const fn new(pc: u64, touch: u8, size: u64) -> Spot {
        let size = if size > LARGEST { LARGEST } else { size };
        Spot(pc & ((1 << PC_BITS) - 1) | (touch as u64 & 0xf) << KIND_SHIFT | size << SIZE_SHIFT)
    }

    #[inline(always)]
    pub const fn pc(self) -> u64 {
        self.0 & ((1 << PC_BITS) - 1)
    }

    #[inline(always)]
    pub const fn kind(self) -> u8 {
        (self.0 >> KIND_SHIFT & 0xf) as u8
    }

    #[inline(always)]
    pub const fn size(self) -> u64 {
        self.0 >> SIZE_SHIFT
    }
}

/// What a word that is no access says. The numbers are part of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Op {
    Nothing = 0,
    Place = 1,
    Calls = 2,
    Range = 3,
    Memory = 4,
    Lost = 5,
    Turns = 6,
    Begin = 16,
    End = 17,
    Fork = 18,
    Join = 19,
    Lock = 20,
    Unlock = 21,
    ReadLock = 22,
    ReadUnlock = 23,
    WriteLock = 24,
    WriteUnlock = 25,
    Wait = 26,
    Woken = 27,
    Notify = 28,
    Arrive = 29,
    Leave = 30,
    Release = 31,
    Acquire = 32,
    ReleaseAt = 33,
    AcquireAt = 34,
    ReplaceAt = 35,
    Load = 36,
    Store = 37,
    Rmw = 38,
    Fence = 39,
    Alloc = 40,
    Free = 41,
    Detach = 42,
    Await = 43,
}

impl Op {
    pub(super) fn new(bits: u64) -> Option<Op> {
        Some(match bits {
            0 => Op::Nothing,
            1 => Op::Place,
            2 => Op::Calls,
            3 => Op::Range,
            4 => Op::Memory,
            5 => Op::Lost,
            6 => Op::Turns,
            16 => Op::Begin,
            17 => Op::End,
            18 => Op::Fork,
            19 => Op::Join,
            20 => Op::Lock,
            21 => Op::Unlock,
            22 => Op::ReadLock,
            23 => Op::ReadUnlock,
            24 => Op::WriteLock,
            25 => Op::WriteUnlock,
            26 => Op::Wait,
            27 => Op::Woken,
            28 => Op::Notify,
            29 => Op::Arrive,
            30 => Op::Leave,
            31 => Op::Release,
            32 => Op::Acquire,
            33 => Op::ReleaseAt,
            34 => Op::AcquireAt,
            35 => Op::ReplaceAt,
            36 => Op::Load,
            37 => Op::Store,
            38 => Op::Rmw,
            39 => Op::Fence,
            40 => Op::Alloc,
            41 => Op::Free,
            42 => Op::Detach,
            43 => Op::Await,
            _ => return None,
        })
    }

    /// How many words follow.
    pub(super) fn more(self) -> usize {
        match self {
            Op::Nothing | Op::Calls => 0,
            Op::Place | Op::Lost => 1,
            Op::Range | Op::Memory | Op::Turns => 2,
            Op::Begin | Op::End | Op::Fence => 1,
            Op::Fork | Op::Join | Op::Detach | Op::Await => 2,
            Op::Lock
            | Op::Unlock
            | Op::ReadLock
            | Op::ReadUnlock
            | Op::WriteLock
            | Op::WriteUnlock
            | Op::Notify
            | Op::Release
            | Op::Acquire => 3,
            Op::Wait | Op::Woken | Op::Arrive | Op::Leave => 4,
            Op::ReleaseAt | Op::AcquireAt | Op::ReplaceAt | Op::Load | Op::Store | Op::Rmw => 2,
            Op::Alloc | Op::Free => 3,
        }
    }

    #[inline(always)]
    pub(super) const fn word(self, detail: u64, stack: u32) -> u64 {
        (self as u64) << OP_SHIFT
            | (detail & DETAIL_MASK) << DETAIL_SHIFT
            | (stack as u64) << STACK_SHIFT
    }
}

/// The word that says which calls follow, without their number, which is its higher half.
pub const CALLS: u64 = Op::Calls.word(0, 0);

/// How many words the item that begins with `word` has; 1 if it begins none.
#[inline]
pub fn words_of(word: u64) -> usize {
    if word & ACCESS != 0 {
        return 1;
    }
    Op::new(word >> OP_SHIFT & OP_MASK).map_or(1, |op| op.more() + 1)
}

/// Is the word a whole access?
#[inline(always)]
pub const fn is_access(word: u64) -> bool {
    word & ACCESS != 0
}

/// The address and the index of the place, if the word is an access: what a checker that reads millions of them takes
/// in place of an item.
#[inline(always)]
pub const fn access_of(word: u64) -> Option<(u64, u16)> {
    if word & ACCESS != 0 {
        Some((word >> ADDRESS_SHIFT, (word >> PLACE_SHIFT) as u16))
    } else {
        None
    }
}

/// Does a numbered event begin with this word? Its number is the next word.
#[inline(always)]
pub const fn is_act(word: u64) -> bool {
    word & ACCESS == 0 && word >> OP_SHIFT & OP_MASK >= Op::Begin as u64
}

/// The call stack that an item names in its first word, if it is one that does.
#[inline(always)]
pub const fn stack_of(word: u64) -> Option<StackNode> {
    if is_act(word) || word & (ACCESS | OP_MASK << OP_SHIFT) == CALLS {
        Some(StackNode((word >> STACK_SHIFT) as u32))
    } else {
        None
    }
}

/// The same first word with another call stack.
#[inline(always)]
pub const fn with_stack(word: u64, stack: StackNode) -> u64 {
    word & ((1 << STACK_SHIFT) - 1) | (stack.0 as u64) << STACK_SHIFT
}

/// How many turns the loop at the beginning of some words has; none if there is no loop.
#[inline(always)]
pub fn turns_in(words: &[u64]) -> Option<u32> {
    match *words {
        [word, _, how, ..]
            if word & (ACCESS | OP_MASK << OP_SHIFT) == (Op::Turns as u64) << OP_SHIFT =>
        {
            Some(how as u32)
        }
        _ => None,
    }
}

/// What an item has to do with places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlaceUse {
    Defines(u16),
    Uses(u16),
}

/// What the item that begins with `word` has to do with places.
#[inline]
pub fn place_of(word: u64) -> Option<PlaceUse> {
    if word & ACCESS != 0 {
        return Some(PlaceUse::Uses((word >> PLACE_SHIFT) as u16));
    }
    match Op::new(word >> OP_SHIFT & OP_MASK)? {
        Op::Place => Some(PlaceUse::Defines((word >> DETAIL_SHIFT) as u16)),
        Op::Range | Op::Turns => Some(PlaceUse::Uses((word >> DETAIL_SHIFT) as u16)),
        _ => None,
    }
}

/// Width and order of an atomic operation in the detail: `[7..4 width][3..0 order]`.
pub(super) fn atomic_detail(width: Width, order: u64) -> u64 {
    (width as u64) << 4 | order
}

pub(super) fn width(detail: u64) -> Option<Width> {
    Width::ALL
        .into_iter()
        .find(|width| *width as u64 == detail >> 4 & 0xf)
}

macro_rules! order_codes {
    ($($name:ident)*) => { $(
        impl $name {
            pub(super) fn code(self) -> u64 {
                self as u64
            }
            pub(super) fn from_code(code: u64) -> Option<$name> {
                $name::ALL.get(code as usize & 0xf).copied()
            }
        }
    )* };
}

order_codes!(LoadOrder StoreOrder RmwOrder FenceOrder);

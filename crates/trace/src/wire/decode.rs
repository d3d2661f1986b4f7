//! From words to items. Whatever the words are, this neither panics nor loops nor allocates more than its table of places.

use core::fmt;

use crate::event::{
    Action, Addr, Barrier, Channel, Condvar, FenceOrder, LoadOrder, Mutex, Place, Range, RmwOrder,
    Round, RwLock, StoreOrder, Strand,
};

use super::word::{
    ACCESS, ADDRESS_SHIFT, DETAIL_MASK, DETAIL_SHIFT, OP_MASK, OP_SHIFT, Op, PLACE_SHIFT, PLACES,
    STACK_SHIFT, Spot, width,
};
use super::{Act, Item, MemoryKind, Object, ObjectKind, StackNode, Touch, Touched, Turns};

/// Why words are no items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damage {
    /// There is no such op.
    Unknown(u64),
    /// The words end inside an item.
    Short,
    /// The place was never defined, or is none.
    NoPlace(u16),
    /// An empty range, or one that reaches past the end of memory.
    BadRange,
    /// An order, a width or a kind that does not exist.
    BadDetail(u64),
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Damage::Unknown(word) => write!(f, "the word {word:#x} begins no event"),
            Damage::Short => write!(f, "the words end inside an event"),
            Damage::NoPlace(index) => write!(f, "place {index} was not defined before"),
            Damage::BadRange => write!(f, "a range of memory is empty or too large"),
            Damage::BadDetail(word) => write!(
                f,
                "the word {word:#x} has an order or kind that does not exist"
            ),
        }
    }
}

impl core::error::Error for Damage {}

/// What a stream has defined so far.
#[derive(Clone, Debug)]
pub struct Decoder {
    /// By index; 0 is undefined.
    places: Vec<Spot>,
    caller: StackNode,
    /// What is left of a loop whose turns are told one by one.
    left: Option<Turns>,
}

impl Default for Decoder {
    fn default() -> Decoder {
        Decoder::new()
    }
}

impl Decoder {
    pub fn new() -> Decoder {
        Decoder {
            places: Vec::new(),
            caller: StackNode(0),
            left: None,
        }
    }

    /// The place that has this index now.
    #[inline(always)]
    pub fn place(&self, index: u16) -> Option<Spot> {
        self.places
            .get(index as usize)
            .copied()
            .filter(|spot| spot.0 != 0)
    }

    /// The call stack of the following accesses.
    #[inline(always)]
    pub fn caller(&self) -> StackNode {
        self.caller
    }

    /// Takes what only defines places or calls at the beginning of `words`, which are then behind it: for those who
    /// read the accesses themselves.
    #[inline]
    pub fn definitions(&mut self, words: &mut &[u64]) {
        while let Some((&word, rest)) = words.split_first() {
            if word & (ACCESS | OP_MASK << OP_SHIFT) == (Op::Calls as u64) << OP_SHIFT {
                self.caller = StackNode((word >> STACK_SHIFT) as u32);
                *words = rest;
            } else if word & (ACCESS | OP_MASK << OP_SHIFT) == (Op::Place as u64) << OP_SHIFT
                && let Some((&spot, rest)) = rest.split_first()
            {
                self.define((word >> DETAIL_SHIFT) as u16, Spot(spot));
                *words = rest;
            } else {
                return;
            }
        }
    }

    /// Takes the loop at the beginning of `words`, which are then behind it; none if there is none, or none that can be:
    /// for those who take its turns together.
    #[inline]
    pub fn turns(&self, words: &mut &[u64]) -> Option<Turns> {
        let [word, addr, how, rest @ ..] = *words else {
            return None;
        };
        if word & (ACCESS | OP_MASK << OP_SHIFT) != (Op::Turns as u64) << OP_SHIFT {
            return None;
        }
        let turns = self.turns_of(*word, *addr, *how).ok()?;
        *words = rest;
        Some(turns)
    }

    fn turns_of(&self, word: u64, addr: u64, how: u64) -> Result<Turns, Damage> {
        let index = (word >> DETAIL_SHIFT) as u16;
        let turns = Turns {
            addr,
            count: how as u32,
            stride: (how >> 32) as u32,
            spot: self.place(index).ok_or(Damage::NoPlace(index))?,
        };
        Touch::new(turns.spot.kind()).ok_or(Damage::NoPlace(index))?;
        if !turns.is_legal() {
            return Err(Damage::BadRange);
        }
        Ok(turns)
    }

    /// The next turn of a loop.
    fn turn(&mut self, turns: Turns) -> Result<Item, Damage> {
        self.left = (turns.count > 1).then(|| Turns {
            addr: turns.addr + u64::from(turns.stride),
            count: turns.count - 1,
            ..turns
        });
        self.touched(0, turns.spot, turns.addr, turns.spot.size())
    }

    /// The next item of the frame in `words`, which is then behind it; none at the frame's end. The turns of a loop come one
    /// by one.
    #[inline]
    pub fn next(&mut self, words: &mut &[u64]) -> Result<Option<Item>, Damage> {
        if let Some(turns) = self.left.take() {
            return self.turn(turns).map(Some);
        }
        loop {
            let Some((&word, rest)) = words.split_first() else {
                return Ok(None);
            };
            if word & ACCESS != 0 {
                *words = rest;
                return self.access(word).map(Some);
            }
            if word == 0 {
                *words = &[];
                return Ok(None);
            }
            let op = Op::new(word >> OP_SHIFT & OP_MASK).ok_or(Damage::Unknown(word))?;
            if rest.len() < op.more() {
                return Err(Damage::Short);
            }
            let (operands, rest) = rest.split_at(op.more());
            *words = rest;
            match op {
                Op::Place => self.define((word >> DETAIL_SHIFT) as u16, Spot(operands[0])),
                Op::Calls => self.caller = StackNode((word >> STACK_SHIFT) as u32),
                Op::Turns => {
                    let turns = self.turns_of(word, operands[0], operands[1])?;
                    return self.turn(turns).map(Some);
                }
                _ => return self.other(op, word, operands),
            }
        }
    }

    #[inline(always)]
    fn access(&self, word: u64) -> Result<Item, Damage> {
        let index = (word >> PLACE_SHIFT) as u16;
        let spot = self.place(index).ok_or(Damage::NoPlace(index))?;
        self.touched(index, spot, word >> ADDRESS_SHIFT, spot.size())
    }

    #[inline(always)]
    fn touched(&self, index: u16, spot: Spot, addr: u64, size: u64) -> Result<Item, Damage> {
        Ok(Item::Touch(Touched {
            range: Range::new(Addr(addr), size).ok_or(Damage::BadRange)?,
            touch: Touch::new(spot.kind()).ok_or(Damage::NoPlace(index))?,
            pc: spot.pc(),
            caller: self.caller,
        }))
    }

    fn define(&mut self, index: u16, spot: Spot) {
        let at = index as usize;
        if at >= self.places.len() {
            self.places
                .resize((at + 1).next_power_of_two().min(PLACES), Spot(0));
        }
        self.places[at] = spot;
    }

    fn other(&self, op: Op, word: u64, operands: &[u64]) -> Result<Option<Item>, Damage> {
        let detail = word >> DETAIL_SHIFT & DETAIL_MASK;
        let bad = Damage::BadDetail(word);
        match op {
            Op::Range => {
                let index = detail as u16;
                let spot = self.place(index).ok_or(Damage::NoPlace(index))?;
                self.touched(index, spot, operands[0], operands[1])
                    .map(Some)
            }
            Op::Memory => {
                let kind = memory_kind(detail).ok_or(bad)?;
                Ok(Some(Item::Memory(kind, bounds(operands[0], operands[1])?)))
            }
            Op::Nothing => Err(Damage::Unknown(word)),
            Op::Lost => Ok(Some(Item::Lost(operands[0]))),
            _ => {
                let mut act = Act::new(
                    operands[0],
                    action(op, word, detail, &operands[1..])?,
                    StackNode((word >> STACK_SHIFT) as u32),
                );
                if has_object(op) {
                    act.object = Object {
                        kind: ObjectKind::ALL.get(detail as usize).copied().ok_or(bad)?,
                        addr: operands[2],
                    };
                }
                if op == Op::Alloc {
                    act.memory = memory_kind(detail).ok_or(bad)?;
                }
                Ok(Some(Item::Act(act)))
            }
        }
    }
}

fn memory_kind(detail: u64) -> Option<MemoryKind> {
    MemoryKind::ALL.get(detail as usize).copied()
}

fn bounds(addr: u64, size: u64) -> Result<Range, Damage> {
    Range::new(Addr(addr), size).ok_or(Damage::BadRange)
}

fn has_object(op: Op) -> bool {
    matches!(
        op,
        Op::Lock
            | Op::Unlock
            | Op::ReadLock
            | Op::ReadUnlock
            | Op::WriteLock
            | Op::WriteUnlock
            | Op::Wait
            | Op::Woken
            | Op::Notify
            | Op::Arrive
            | Op::Leave
            | Op::Release
            | Op::Acquire
    )
}

/// `o` are the words after the number; there are as many as the op has.
fn action(op: Op, word: u64, detail: u64, o: &[u64]) -> Result<Action, Damage> {
    let bad = Damage::BadDetail(word);
    let strand = || u32::try_from(o[0]).map(Strand).map_err(|_| bad);
    let place = || {
        let width = width(detail).ok_or(bad)?;
        Place::new(Addr(o[0]), width).ok_or(Damage::BadRange)
    };
    let order = detail & 0xf;
    Ok(match op {
        Op::Begin => Action::Begin,
        Op::End => Action::End,
        Op::Fork => Action::Fork(strand()?),
        Op::Join => Action::Join(strand()?),
        Op::Detach => Action::Detach(strand()?),
        Op::Await => Action::Await(strand()?),
        Op::Lock => Action::Lock(Mutex(o[0])),
        Op::Unlock => Action::Unlock(Mutex(o[0])),
        Op::ReadLock => Action::ReadLock(RwLock(o[0])),
        Op::ReadUnlock => Action::ReadUnlock(RwLock(o[0])),
        Op::WriteLock => Action::WriteLock(RwLock(o[0])),
        Op::WriteUnlock => Action::WriteUnlock(RwLock(o[0])),
        Op::Wait => Action::Wait(Condvar(o[0]), Mutex(o[2])),
        Op::Woken => Action::Woken(Condvar(o[0]), Mutex(o[2])),
        Op::Notify => Action::Notify(Condvar(o[0])),
        Op::Arrive | Op::Leave => {
            let round = Round {
                barrier: Barrier(o[0]),
                phase: o[2],
            };
            if op == Op::Arrive {
                Action::Arrive(round)
            } else {
                Action::Leave(round)
            }
        }
        Op::Release => Action::Release(Channel(o[0])),
        Op::Acquire => Action::Acquire(Channel(o[0])),
        Op::ReleaseAt => Action::ReleaseAt(Addr(o[0])),
        Op::AcquireAt => Action::AcquireAt(Addr(o[0])),
        Op::ReplaceAt => Action::ReplaceAt(Addr(o[0])),
        Op::Load => Action::Load(place()?, LoadOrder::from_code(order).ok_or(bad)?),
        Op::Store => Action::Store(place()?, StoreOrder::from_code(order).ok_or(bad)?),
        Op::Rmw => Action::Rmw(place()?, RmwOrder::from_code(order).ok_or(bad)?),
        Op::Fence => Action::Fence(FenceOrder::from_code(order).ok_or(bad)?),
        Op::Alloc => Action::Alloc(bounds(o[0], o[1])?),
        Op::Free => Action::Free(bounds(o[0], o[1])?),
        Op::Nothing | Op::Place | Op::Calls | Op::Range | Op::Memory | Op::Lost | Op::Turns => {
            return Err(Damage::Unknown(word));
        }
    })
}

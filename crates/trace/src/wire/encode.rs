//! From items to words: no allocation, no reference to anything but the arguments, so that the runtime can use it.

use crate::event::{Action, Range};

use super::word::{
    ACCESS, ADDRESS_BITS, ADDRESS_SHIFT, MOST_WORDS, Op, PLACE_SHIFT, Spot, atomic_detail,
};
use super::{Act, MemoryKind, Object, StackNode, Turns};

/// The words of one item.
#[derive(Clone, Copy, Debug)]
pub struct Words {
    words: [u64; MOST_WORDS],
    // invariant: len <= MOST_WORDS
    len: usize,
}

impl Words {
    #[inline(always)]
    fn new(first: u64) -> Words {
        let mut words = [0; MOST_WORDS];
        words[0] = first;
        Words { words, len: 1 }
    }

    #[inline(always)]
    fn and(mut self, word: u64) -> Words {
        self.words[self.len] = word;
        self.len += 1;
        self
    }

    #[inline(always)]
    pub fn as_slice(&self) -> &[u64] {
        &self.words[..self.len]
    }
}

/// An access at the place that has this index now; none if it does not fit one word and needs a [`range`].
#[inline(always)]
pub const fn plain(addr: u64, index: u16) -> Option<u64> {
    if addr >> ADDRESS_BITS == 0 {
        Some(addr << ADDRESS_SHIFT | (index as u64) << PLACE_SHIFT | ACCESS)
    } else {
        None
    }
}

/// From here on `index` stands for `spot`.
#[inline(always)]
pub fn place(index: u16, spot: Spot) -> Words {
    Words::new(Op::Place.word(index as u64, 0)).and(spot.0)
}

/// The following accesses were made in this call stack.
#[inline(always)]
pub fn calls(caller: StackNode) -> Words {
    Words::new(Op::Calls.word(0, caller.0))
}

/// An access of any size at the place that has this index now.
pub fn range(range: Range, index: u16) -> Words {
    Words::new(Op::Range.word(index as u64, 0))
        .and(range.addr().0)
        .and(range.size())
}

/// The same access in each turn of a loop, at the place that has this index now; none if the turns are not as they must be.
#[inline]
pub fn turns(turns: Turns, index: u16) -> Option<Words> {
    turns.is_legal().then(|| {
        Words::new(Op::Turns.word(index as u64, 0))
            .and(turns.addr)
            .and(u64::from(turns.stride) << 32 | u64::from(turns.count))
    })
}

/// What some memory is.
pub fn memory(kind: MemoryKind, range: Range) -> Words {
    Words::new(Op::Memory.word(kind as u64, 0))
        .and(range.addr().0)
        .and(range.size())
}

/// Accesses were dropped.
pub fn lost(count: u64) -> Words {
    Words::new(Op::Lost.word(0, 0)).and(count)
}

/// Something others can see; none for a plain access, which is no act.
pub fn act(act: &Act) -> Option<Words> {
    let Act {
        number,
        action,
        at,
        object,
        memory,
    } = *act;
    let bare = |op: Op| Words::new(op.word(0, at.0)).and(number);
    let with = |op: Op, detail: u64, operand: u64| {
        Words::new(op.word(detail, at.0)).and(number).and(operand)
    };
    let on = |op: Op, id: u64| with(op, object_detail(object), id).and(object.addr);
    let whole =
        |op: Op, detail: u64, range: Range| with(op, detail, range.addr().0).and(range.size());
    Some(match action {
        Action::Begin => bare(Op::Begin),
        Action::End => bare(Op::End),
        Action::Fork(strand) => with(Op::Fork, 0, strand.0 as u64),
        Action::Join(strand) => with(Op::Join, 0, strand.0 as u64),
        Action::Detach(strand) => with(Op::Detach, 0, strand.0 as u64),
        Action::Await(strand) => with(Op::Await, 0, strand.0 as u64),
        Action::Lock(m) => on(Op::Lock, m.0),
        Action::Unlock(m) => on(Op::Unlock, m.0),
        Action::ReadLock(l) => on(Op::ReadLock, l.0),
        Action::ReadUnlock(l) => on(Op::ReadUnlock, l.0),
        Action::WriteLock(l) => on(Op::WriteLock, l.0),
        Action::WriteUnlock(l) => on(Op::WriteUnlock, l.0),
        Action::Wait(c, m) => on(Op::Wait, c.0).and(m.0),
        Action::Woken(c, m) => on(Op::Woken, c.0).and(m.0),
        Action::Notify(c) => on(Op::Notify, c.0),
        Action::Arrive(round) => on(Op::Arrive, round.barrier.0).and(round.phase),
        Action::Leave(round) => on(Op::Leave, round.barrier.0).and(round.phase),
        Action::Release(c) => on(Op::Release, c.0),
        Action::Acquire(c) => on(Op::Acquire, c.0),
        Action::ReleaseAt(addr) => with(Op::ReleaseAt, 0, addr.0),
        Action::AcquireAt(addr) => with(Op::AcquireAt, 0, addr.0),
        Action::ReplaceAt(addr) => with(Op::ReplaceAt, 0, addr.0),
        Action::Load(p, o) => with(Op::Load, atomic_detail(p.width(), o.code()), p.addr().0),
        Action::Store(p, o) => with(Op::Store, atomic_detail(p.width(), o.code()), p.addr().0),
        Action::Rmw(p, o) => with(Op::Rmw, atomic_detail(p.width(), o.code()), p.addr().0),
        Action::Fence(order) => Words::new(Op::Fence.word(order.code(), at.0)).and(number),
        Action::Alloc(r) => whole(Op::Alloc, memory as u64, r),
        Action::Free(r) => whole(Op::Free, 0, r),
        Action::Read(_) | Action::Write(_) | Action::AtomicRead(_) | Action::AtomicWrite(_) => {
            return None;
        }
    })
}

fn object_detail(object: Object) -> u64 {
    object.kind as u64
}

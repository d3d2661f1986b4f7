//! What an event means to memory: an access, fresh memory, or nothing.

use deadheat_trace::{Action, Range};

use crate::entry::{Care, Op};

/// What an event does to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Touches these bytes.
    Access(Access),
    /// From here on these bytes have no past.
    Fresh(Range),
    /// Nothing; it may still order others.
    Nothing,
}

/// Some bytes touched in one way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    pub range: Range,
    pub op: Op,
    pub care: Care,
}

fn access(range: Range, op: Op, care: Care) -> Effect {
    Effect::Access(Access { range, op, care })
}

/// A read-modify-write is a write: it conflicts with whatever its read would. A free is a plain write of the whole
/// block: nobody may touch it at the same time.
pub fn effect(action: Action) -> Effect {
    match action {
        Action::Read(range) => access(range, Op::Read, Care::Plain),
        Action::Write(range) | Action::Free(range) => access(range, Op::Write, Care::Plain),
        Action::Load(place, _) => access(place.range(), Op::Read, Care::Atomic),
        Action::Store(place, _) | Action::Rmw(place, _) => {
            access(place.range(), Op::Write, Care::Atomic)
        }
        Action::AtomicRead(range) => access(range, Op::Read, Care::Atomic),
        Action::AtomicWrite(range) => access(range, Op::Write, Care::Atomic),
        Action::Alloc(range) => Effect::Fresh(range),
        Action::Begin
        | Action::End
        | Action::Fork(_)
        | Action::Join(_)
        | Action::Detach(_)
        | Action::Await(_)
        | Action::Lock(_)
        | Action::Unlock(_)
        | Action::ReadLock(_)
        | Action::ReadUnlock(_)
        | Action::WriteLock(_)
        | Action::WriteUnlock(_)
        | Action::Wait(..)
        | Action::Woken(..)
        | Action::Notify(_)
        | Action::Arrive(_)
        | Action::Leave(_)
        | Action::Release(_)
        | Action::Acquire(_)
        | Action::ReleaseAt(_)
        | Action::AcquireAt(_)
        | Action::ReplaceAt(_)
        | Action::Fence(_) => Effect::Nothing,
    }
}

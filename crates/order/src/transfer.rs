//! Synchronization as transfers of knowledge: every event is at most a few operations on *holders*, things that know
//! some of the past. A strand is one; so are a mutex, a barrier's round, the value in an atomic, a fence.
//!
//! | operation          | as clocks            | as sets of who knows an access        |
//! |--------------------|----------------------|---------------------------------------|
//! | `Learn(a, b)`      | C_b := C_b ⊔ C_a     | if a is in the set, so is b           |
//! | `Replace(a, b)`    | C_b := C_a           | b is in the set exactly if a is       |
//! | `Clear(b)`         | C_b := 0             | b leaves the set                      |
//!
//! Those that carry clocks and those that carry sets (Goldilocks) so share one reading of the standard, which is compared
//! with [`crate::HappensBefore`] in the tests. An event's accesses come after its [`Transfers::before`], which is what it
//! learns, and before its [`Transfers::after`], which is what it tells.
//!
//! Holders have small dense numbers, so that engines can keep what they know in arrays.

use std::collections::BTreeMap;

use deadheat_trace::{
    Action, Addr, Channel, Event, FenceOrder, LoadOrder, Mutex, Range, RmwOrder, Round, RwLock,
    StoreOrder, Strand,
};

use crate::hash::QuickMap;
use crate::per_strand::PerStrand;

/// The number of something that knows. Dense from 0; used again after [`Transfers::retire`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Holder(pub u32);

/// One movement of knowledge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transfer {
    Learn { from: Holder, to: Holder },
    Replace { from: Holder, to: Holder },
    Clear(Holder),
}

/// Things that know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Name {
    Strand(Strand),
    /// What a strand knew at its last release fence: what its relaxed writes tell.
    Fenced(Strand),
    /// What a strand's relaxed reads were told: what its next acquire fence learns.
    Heard(Strand),
    Mutex(Mutex),
    /// What the write unlocks of a read-write lock have told, and the read unlocks.
    Writers(RwLock),
    Readers(RwLock),
    Round(Round),
    Channel(Channel),
    /// What the value in an atomic tells who reads it.
    Message(Addr),
}

/// Numbers the holders of an execution and says what its events transfer.
#[derive(Clone, Debug, Default)]
pub struct Transfers {
    /// All but the strands.
    holders: QuickMap<Name, Holder>,
    strands: PerStrand<Holder>,
    // invariant: holds exactly the messages of `holders`, to be found by range
    messages: BTreeMap<u64, Holder>,
    names: Vec<Option<Name>>,
    free: Vec<Holder>,
}

impl Transfers {
    pub fn new() -> Transfers {
        Transfers::default()
    }

    /// How many numbers were ever given.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The holder of a strand's own knowledge.
    #[inline]
    pub fn strand(&mut self, strand: Strand) -> Holder {
        self.holder(Name::Strand(strand))
    }

    /// The holder with this name, if there is one.
    #[inline]
    fn find(&self, name: Name) -> Option<Holder> {
        match name {
            Name::Strand(strand) => self.strands.get(strand).copied(),
            other => self.holders.get(&other).copied(),
        }
    }

    /// The holder with this name, new if it was not there.
    #[inline]
    pub fn holder(&mut self, name: Name) -> Holder {
        match self.find(name) {
            Some(holder) => holder,
            None => self.number(name),
        }
    }

    /// A number for what has none.
    #[cold]
    fn number(&mut self, name: Name) -> Holder {
        let holder = match self.free.pop() {
            Some(holder) => holder,
            None => {
                self.names.push(None);
                Holder((self.names.len() - 1) as u32)
            }
        };
        self.names[holder.0 as usize] = Some(name);
        match name {
            Name::Strand(strand) => {
                self.strands.insert(strand, holder);
            }
            Name::Message(addr) => {
                self.holders.insert(name, holder);
                self.messages.insert(addr.0, holder);
            }
            _ => {
                self.holders.insert(name, holder);
            }
        }
        holder
    }

    /// What a number stands for now.
    pub fn name(&self, holder: Holder) -> Option<Name> {
        self.names.get(holder.0 as usize).copied().flatten()
    }

    /// Nobody needs this holder any more, because it knows nothing or nothing that is new to anybody. Whoever keeps
    /// something under its number must clear that: the number will stand for something else.
    pub fn retire(&mut self, holder: Holder) {
        let Some(name) = self.names.get_mut(holder.0 as usize).and_then(Option::take) else {
            return;
        };
        match name {
            Name::Strand(strand) => {
                self.strands.remove(strand);
            }
            Name::Message(addr) => {
                self.messages.remove(&addr.0);
                self.holders.remove(&name);
            }
            _ => {
                self.holders.remove(&name);
            }
        }
        self.free.push(holder);
    }

    /// What the event learns, before its own accesses.
    #[inline]
    pub fn before(&mut self, event: &Event, out: &mut Vec<Transfer>) {
        let me = event.strand;
        match event.action {
            Action::Join(child) => self.learn(me, Name::Strand(child), out),
            Action::Lock(mutex) | Action::Woken(_, mutex) => {
                self.learn(me, Name::Mutex(mutex), out);
            }
            Action::ReadLock(lock) => self.learn(me, Name::Writers(lock), out),
            Action::WriteLock(lock) => {
                self.learn(me, Name::Writers(lock), out);
                self.learn(me, Name::Readers(lock), out);
            }
            Action::Leave(round) => self.learn(me, Name::Round(round), out),
            Action::Acquire(channel) => self.learn(me, Name::Channel(channel), out),
            Action::AcquireAt(addr) => self.read_message(me, addr, out),
            Action::Load(place, order) => match order {
                LoadOrder::Relaxed => self.hear(me, place.addr(), out),
                LoadOrder::Consume | LoadOrder::Acquire | LoadOrder::SeqCst => {
                    self.read_message(me, place.addr(), out);
                }
            },
            Action::Rmw(place, order) => match order {
                RmwOrder::Relaxed | RmwOrder::Release => self.hear(me, place.addr(), out),
                RmwOrder::Consume | RmwOrder::Acquire | RmwOrder::AcqRel | RmwOrder::SeqCst => {
                    self.read_message(me, place.addr(), out);
                }
            },
            Action::Fence(order) => match order {
                FenceOrder::Relaxed | FenceOrder::Release => {}
                FenceOrder::Consume
                | FenceOrder::Acquire
                | FenceOrder::AcqRel
                | FenceOrder::SeqCst => self.learn(me, Name::Heard(me), out),
            },
            Action::Alloc(range) => self.forget_messages(range, out),
            Action::Begin
            | Action::End
            | Action::Detach(_)
            | Action::Await(_)
            | Action::Fork(_)
            | Action::Unlock(_)
            | Action::ReadUnlock(_)
            | Action::WriteUnlock(_)
            | Action::Wait(..)
            | Action::Notify(_)
            | Action::Arrive(_)
            | Action::Release(_)
            | Action::ReleaseAt(_)
            | Action::ReplaceAt(_)
            | Action::Store(..)
            | Action::Read(_)
            | Action::Write(_)
            | Action::AtomicRead(_)
            | Action::AtomicWrite(_)
            | Action::Free(_) => {}
        }
    }

    /// What the event tells, its own accesses included.
    #[inline]
    pub fn after(&mut self, event: &Event, out: &mut Vec<Transfer>) {
        let me = event.strand;
        match event.action {
            Action::Fork(child) => self.tell(me, Name::Strand(child), out),
            Action::Unlock(mutex) | Action::Wait(_, mutex) => {
                self.tell(me, Name::Mutex(mutex), out);
            }
            Action::ReadUnlock(lock) => self.tell(me, Name::Readers(lock), out),
            Action::WriteUnlock(lock) => self.tell(me, Name::Writers(lock), out),
            Action::Arrive(round) => self.tell(me, Name::Round(round), out),
            Action::Release(channel) => self.tell(me, Name::Channel(channel), out),
            Action::ReleaseAt(addr) => self.tell(me, Name::Message(addr), out),
            Action::ReplaceAt(addr) => self.write_message(Name::Strand(me), addr, out),
            Action::Store(place, order) => {
                let from = match order {
                    StoreOrder::Relaxed => Name::Fenced(me),
                    StoreOrder::Release | StoreOrder::SeqCst => Name::Strand(me),
                };
                self.write_message(from, place.addr(), out);
            }
            Action::Rmw(place, order) => match order {
                RmwOrder::Relaxed | RmwOrder::Consume | RmwOrder::Acquire => {
                    self.add_fenced(me, place.addr(), out);
                }
                RmwOrder::Release | RmwOrder::AcqRel | RmwOrder::SeqCst => {
                    self.tell(me, Name::Message(place.addr()), out);
                }
            },
            Action::Fence(order) => match order {
                FenceOrder::Relaxed | FenceOrder::Consume | FenceOrder::Acquire => {}
                FenceOrder::Release | FenceOrder::AcqRel | FenceOrder::SeqCst => {
                    let from = self.strand(me);
                    let to = self.holder(Name::Fenced(me));
                    out.push(Transfer::Replace { from, to });
                }
            },
            // Only the strand itself ever asks for these.
            Action::End => {
                for name in [Name::Fenced(me), Name::Heard(me)] {
                    if let Some(gone) = self.find(name) {
                        out.push(Transfer::Clear(gone));
                        self.retire(gone);
                    }
                }
            }
            Action::Begin
            | Action::Detach(_)
            | Action::Await(_)
            | Action::Join(_)
            | Action::Lock(_)
            | Action::Woken(..)
            | Action::ReadLock(_)
            | Action::WriteLock(_)
            | Action::Notify(_)
            | Action::Leave(_)
            | Action::Acquire(_)
            | Action::AcquireAt(_)
            | Action::Load(..)
            | Action::Read(_)
            | Action::Write(_)
            | Action::AtomicRead(_)
            | Action::AtomicWrite(_)
            | Action::Alloc(_)
            | Action::Free(_) => {}
        }
    }

    /// From a holder that nobody ever told anything there is nothing to learn, and it needs no number.
    #[inline]
    fn learn(&mut self, me: Strand, from: Name, out: &mut Vec<Transfer>) {
        if let Some(from) = self.find(from) {
            let to = self.strand(me);
            out.push(Transfer::Learn { from, to });
        }
    }

    #[inline]
    fn tell(&mut self, me: Strand, to: Name, out: &mut Vec<Transfer>) {
        let from = self.strand(me);
        let to = self.holder(to);
        out.push(Transfer::Learn { from, to });
    }

    #[inline]
    fn read_message(&mut self, me: Strand, addr: Addr, out: &mut Vec<Transfer>) {
        if let Some(from) = self.find(Name::Message(addr)) {
            let to = self.strand(me);
            out.push(Transfer::Learn { from, to });
        }
    }

    /// A read that does not acquire leaves that to a later acquire fence.
    #[inline]
    fn hear(&mut self, me: Strand, addr: Addr, out: &mut Vec<Transfer>) {
        if let Some(from) = self.find(Name::Message(addr)) {
            let to = self.holder(Name::Heard(me));
            out.push(Transfer::Learn { from, to });
        }
    }

    /// A store begins a new release sequence: what was told before is not heard by who reads it.
    fn write_message(&mut self, from: Name, addr: Addr, out: &mut Vec<Transfer>) {
        let from = match from {
            Name::Strand(me) => Some(self.strand(me)),
            other => self.find(other),
        };
        match from {
            Some(from) => {
                let to = self.holder(Name::Message(addr));
                out.push(Transfer::Replace { from, to });
            }
            None => {
                if let Some(gone) = self.find(Name::Message(addr)) {
                    out.push(Transfer::Clear(gone));
                    self.retire(gone);
                }
            }
        }
    }

    /// A read-modify-write continues the release sequences that it reads from.
    fn add_fenced(&mut self, me: Strand, addr: Addr, out: &mut Vec<Transfer>) {
        if let Some(from) = self.find(Name::Fenced(me)) {
            let to = self.holder(Name::Message(addr));
            out.push(Transfer::Learn { from, to });
        }
    }

    /// The atomics that were in this memory are gone.
    fn forget_messages(&mut self, range: Range, out: &mut Vec<Transfer>) {
        let (start, end) = range.bounds();
        while let Some((_, &gone)) = self.messages.range(start..end).next() {
            out.push(Transfer::Clear(gone));
            self.retire(gone);
        }
    }
}

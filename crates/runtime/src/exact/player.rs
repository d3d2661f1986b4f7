//! Plays a trace on a real runtime: one OS thread is all strands in turn.
//!
//! Each trace gets memory that no other had, across the border of a page (and now and then of a region), so that pages
//! go from nobody to one strand, to another, and become shared. A root strand makes and joins the trace's first one, so
//! slots are used again and again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use deadheat_detect::entry::{self, MASK, PLAIN, WRITE};
use deadheat_trace::{
    Action, Addr, Event, EventId, FenceOrder, LoadOrder, Range, RmwOrder, StoreOrder,
    Strand as Name, Trace,
};

use super::told::{Fact, Played, told};
use crate::access::{self, InCell, leave};
use crate::cell::{self, Cell};
use crate::clock::Clock;
use crate::collect::collect;
use crate::history::{Place, Touch};
use crate::intern::StackId;
use crate::lifetime;
use crate::locking::{self, Got};
use crate::locks::Mode;
use crate::ordering::{self, Order, Writes};
use crate::runtime::Runtime;
use crate::settle;
use crate::shadow::REGION;
use crate::strand::{READ_LISTS, READ_LISTS_SHIFT, Strand};
use crate::sync::Locked;
use crate::syncvar::Kind;
use crate::threads::{Sort, ThreadId};

const DATA: usize = 0x10_0000_0000;
const DATA_STRIDE: usize = 4096;
const OBJECTS: usize = 0x20_0000_0000;
const OBJECTS_STRIDE: usize = 0x8000;

/// Which program counters the events get.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sites {
    /// Each its own.
    Own,
    /// All share three, so that a step comes to the same place again.
    Three,
}

/// What is done beside the events of a trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Upkeep {
    Nothing,
    /// A collection after every so many events, and of the trace's memory at its end.
    CollectEvery(usize),
    /// As if the numbers of a slot were used up: the strand moves before each such event.
    MoveEvery(usize),
}

struct Running {
    strand: *mut Strand,
    calls: Vec<u64>,
    locks: Vec<(u64, bool)>,
    round: Option<Arc<Locked<Clock>>>,
}

pub struct Player {
    rt: &'static Runtime,
    root: &'static mut Strand,
    traces: usize,
    // One trace:
    base: usize,
    objects: usize,
    sites: Sites,
    crowded: bool,
    ids: BTreeMap<Name, ThreadId>,
    running: BTreeMap<Name, Running>,
    facts: BTreeMap<EventId, Fact>,
    joined: BTreeSet<Name>,
}

/// The generator's areas, close together: regions, atomics, blocks.
fn to_memory(addr: Addr) -> u64 {
    match addr.0 {
        0x1000..0x2000 => addr.0 - 0x1000,
        0x2000..0x3000 => addr.0 - 0x2000 + 0x100,
        _ => addr.0 - 0x3000 + 0x180,
    }
}

impl Player {
    pub fn new(rt: &'static Runtime) -> Player {
        Player {
            rt,
            root: super::start(rt),
            traces: 0,
            base: 0,
            objects: 0,
            sites: Sites::Own,
            crowded: false,
            ids: BTreeMap::new(),
            running: BTreeMap::new(),
            facts: BTreeMap::new(),
            joined: BTreeSet::new(),
        }
    }

    pub fn play(&mut self, trace: &Trace, sites: Sites, upkeep: Upkeep) -> Played {
        self.traces += 1;
        // The border of a page lies in each of the areas in turn.
        let place = match upkeep {
            Upkeep::Nothing | Upkeep::MoveEvery(_) => self.traces,
            // A collection looks at all memory ever touched.
            Upkeep::CollectEvery(_) => self.traces % 11,
        };
        self.base = DATA + (place + 1) * DATA_STRIDE - (self.traces % 11 * 0x30 + 8);
        self.objects = OBJECTS + self.traces * OBJECTS_STRIDE;
        self.sites = sites;
        self.crowded = crowded(trace);
        self.joined = trace.joined();
        // A free marks memory only where there is shadow.
        assert!(
            self.rt.shadow.cell(self.base).is_some()
                && self.rt.shadow.cell(self.base + 0x300).is_some()
        );
        let first = self
            .rt
            .threads
            .create(self.rt, Some(self.root), Sort::Thread, StackId(0));
        self.ids.insert(Name(0), first);
        let root = self.root.thread;
        self.rt
            .threads
            .with(root, |root| root.waits_for = Some(first));
        self.parties(trace);
        let mut races = Vec::new();
        for (id, event) in trace.iter() {
            if let Upkeep::MoveEvery(events) = upkeep
                && id.0.is_multiple_of(events)
                && let Some(running) = self.running.get(&event.strand)
            {
                // SAFETY: the strand lives until its end, and nobody else uses it now.
                self.rt
                    .threads
                    .move_on(self.rt, unsafe { &mut *running.strand });
            }
            self.event(id, event);
            let seen = std::mem::take(&mut *self.rt.findings.observed.lock());
            races.extend(seen.into_iter().map(|race| told(self.rt, race)));
            if let Upkeep::CollectEvery(events) = upkeep
                && id.0.is_multiple_of(events)
            {
                collect(self.rt, None);
            }
        }
        assert!(self.running.is_empty(), "a strand of the trace never ended");
        self.rt.threads.with(root, |root| root.waits_for = None);
        self.rt.threads.join(self.rt, self.root, first);
        self.rt
            .syncs
            .remove_range(&self.rt.shadow, self.objects, OBJECTS_STRIDE, |_| ());
        self.rt
            .syncs
            .remove_range(&self.rt.shadow, self.base, DATA_STRIDE, |_| ());
        self.ids.clear();
        if let Upkeep::CollectEvery(_) = upkeep {
            lifetime::fresh(self.rt, self.base, DATA_STRIDE);
            collect(self.rt, None);
        }
        Played {
            races,
            facts: std::mem::take(&mut self.facts),
            base: self.base,
        }
    }

    fn parties(&mut self, trace: &Trace) {
        let mut parties: BTreeMap<u64, u32> = BTreeMap::new();
        for event in &trace.events {
            if let Action::Arrive(round) = event.action {
                *parties.entry(round.barrier.0).or_default() += (round.phase == 0) as u32;
            }
        }
        for (barrier, count) in parties {
            let var = self
                .rt
                .syncs
                .get(self.root, self.barrier(barrier), Kind::Barrier);
            var.with(|state| state.usage().parties = count);
        }
    }

    fn mutex(&self, n: u64) -> usize {
        self.objects + n as usize * 64
    }
    fn rwlock(&self, n: u64) -> usize {
        self.objects + 0x1000 + n as usize * 64
    }
    fn channel(&self, n: u64) -> usize {
        self.objects + 0x2000 + n as usize * 64
    }
    fn barrier(&self, n: u64) -> usize {
        self.objects + 0x3000 + n as usize * 64
    }
    fn round(&self, n: u64, phase: u64) -> usize {
        self.objects + 0x4000 + n as usize * 0x800 + phase as usize % 128 * 16
    }

    fn event(&mut self, id: EventId, event: &Event) {
        let rt = self.rt;
        if event.action == Action::Begin {
            let thread = self.ids[&event.strand];
            let s = rt.threads.begin(rt, thread);
            let call = 0x1000 + u64::from(event.strand.0);
            s.push_frame(rt, call);
            self.running.insert(
                event.strand,
                Running {
                    strand: s,
                    calls: vec![call],
                    locks: Vec::new(),
                    round: None,
                },
            );
            return;
        }
        let me = self
            .running
            .get_mut(&event.strand)
            .expect("a strand that has begun");
        // SAFETY: the strand lives until its end, and nobody else uses it now.
        let s = unsafe { &mut *me.strand };
        let deeper = id.0.is_multiple_of(4);
        if deeper {
            let call = 0x2000 + id.0 as u64 % 8;
            s.push_frame(rt, call);
            me.calls.insert(0, call);
        }
        let pc = 0x40_0000
            + 4 * match self.sites {
                Sites::Own => id.0 as u64,
                Sites::Three => id.0 as u64 % 3,
            };
        if let Some((touch, size)) = touch(event.action) {
            let mut locks = me.locks.clone();
            locks.sort_unstable();
            let fact = Fact {
                pc,
                touch: touch as u8,
                size,
                thread: s.thread,
                calls: me.calls.clone(),
                locks,
            };
            self.facts.insert(id, fact);
        }
        if event.action == Action::End {
            // SAFETY: begun above; it is forgotten here.
            unsafe { rt.threads.end(s) };
            self.running.remove(&event.strand);
            return;
        }
        self.act(id, event, s, pc);
        if deeper {
            s.pop_frame();
            self.running.entry(event.strand).and_modify(|me| {
                me.calls.remove(0);
            });
        }
    }

    fn act(&mut self, id: EventId, event: &Event, s: &mut Strand, pc: u64) {
        let rt = self.rt;
        let at = |range: Range| self.base + to_memory(range.addr()) as usize;
        match event.action {
            Action::Begin
            | Action::End
            | Action::Detach(_)
            | Action::Await(_)
            | Action::Notify(_) => {}
            Action::Fork(child) => {
                let thread = rt.threads.create(rt, Some(s), Sort::Thread, StackId(0));
                self.ids.insert(child, thread);
                if !self.joined.contains(&child) {
                    rt.threads.detach(thread);
                }
            }
            Action::Join(child) => rt.threads.join(rt, s, self.ids[&child]),
            Action::Lock(m) | Action::Woken(_, m) => self.took(
                event.strand,
                s,
                self.mutex(m.0),
                Kind::Mutex,
                Mode::Exclusive,
            ),
            Action::Unlock(m) | Action::Wait(_, m) => {
                self.gave(event.strand, s, self.mutex(m.0), Kind::Mutex)
            }
            Action::ReadLock(l) => self.took(
                event.strand,
                s,
                self.rwlock(l.0),
                Kind::RwLock,
                Mode::Shared,
            ),
            Action::WriteLock(l) => self.took(
                event.strand,
                s,
                self.rwlock(l.0),
                Kind::RwLock,
                Mode::Exclusive,
            ),
            Action::ReadUnlock(l) | Action::WriteUnlock(l) => {
                self.gave(event.strand, s, self.rwlock(l.0), Kind::RwLock)
            }
            Action::Arrive(round) if self.crowded => {
                self.release(s, self.round(round.barrier.0, round.phase))
            }
            Action::Leave(round) if self.crowded => {
                self.acquire(s, self.round(round.barrier.0, round.phase))
            }
            Action::Arrive(round) => {
                let var = rt
                    .syncs
                    .get(s, self.barrier(round.barrier.0), Kind::Barrier);
                let gathers = var.with(|state| state.usage().arrive(s));
                self.running
                    .entry(event.strand)
                    .and_modify(|me| me.round = Some(gathers));
            }
            Action::Leave(round) => {
                let me = self
                    .running
                    .get_mut(&event.strand)
                    .expect("a strand that has begun");
                let gathered = me.round.take().expect("a strand that has arrived");
                if s.clock.join(&gathered.lock()) {
                    s.learned(rt);
                }
                rt.syncs
                    .get(s, self.barrier(round.barrier.0), Kind::Barrier)
                    .with(|state| state.usage().waiters -= 1);
            }
            Action::Release(c) => self.release(s, self.channel(c.0)),
            Action::Acquire(c) => self.acquire(s, self.channel(c.0)),
            Action::ReleaseAt(a) => self.release(s, self.base + to_memory(a) as usize),
            Action::AcquireAt(a) => self.acquire(s, self.base + to_memory(a) as usize),
            Action::ReplaceAt(a) => {
                let var = rt
                    .syncs
                    .get(s, self.base + to_memory(a) as usize, Kind::Atomic);
                var.with(|state| state.release_store(s));
            }
            Action::AtomicRead(range) => plain(
                rt,
                s,
                at(range),
                range.size() as usize,
                Touch::AtomicRead,
                pc,
            ),
            Action::AtomicWrite(range) => plain(
                rt,
                s,
                at(range),
                range.size() as usize,
                Touch::AtomicWrite,
                pc,
            ),
            Action::Load(place, order) => {
                let (addr, size, order) = (
                    at(place.range()),
                    place.width().bytes() as usize,
                    load_order(order),
                );
                if id.0.is_multiple_of(3) {
                    // A compare-exchange that failed, and would have released or not.
                    let wanted = Order::new(if id.0.is_multiple_of(2) { 5 } else { 2 });
                    let writes = Writes::IfEqual;
                    let failed = || ((), false);
                    ordering::modify(rt, s, addr, wanted, order, writes, size, pc, failed);
                } else {
                    ordering::load(rt, s, addr, order, size, pc, || ());
                }
            }
            Action::Store(place, order) => {
                ordering::store(
                    rt,
                    s,
                    at(place.range()),
                    store_order(order),
                    place.width().bytes() as usize,
                    pc,
                    || (),
                );
            }
            Action::Rmw(place, order) => {
                let order = rmw_order(order);
                let writes = match id.0.is_multiple_of(2) {
                    true => Writes::Always,
                    false => Writes::IfEqual,
                };
                ordering::modify(
                    rt,
                    s,
                    at(place.range()),
                    order,
                    order,
                    writes,
                    place.width().bytes() as usize,
                    pc,
                    || ((), true),
                );
            }
            Action::Fence(order) => ordering::fence(rt, s, fence_order(order)),
            Action::Read(range) => plain(rt, s, at(range), range.size() as usize, Touch::Read, pc),
            Action::Write(range) => {
                plain(rt, s, at(range), range.size() as usize, Touch::Write, pc)
            }
            Action::Alloc(range) => {
                s.enter();
                lifetime::fresh(rt, at(range), range.size() as usize);
                leave(s);
            }
            Action::Free(range) => lifetime::given_up(rt, s, at(range), range.size() as usize, pc),
        }
    }

    fn took(&mut self, name: Name, s: &mut Strand, addr: usize, kind: Kind, mode: Mode) {
        s.enter();
        locking::took(self.rt, s, addr, kind, mode, Got::Waiting, StackId(0));
        leave(s);
        self.running
            .entry(name)
            .and_modify(|me| me.locks.push((addr as u64, mode == Mode::Exclusive)));
    }

    fn gave(&mut self, name: Name, s: &mut Strand, addr: usize, kind: Kind) {
        s.enter();
        let gave = locking::giving(self.rt, s, addr, kind, StackId(0));
        leave(s);
        assert_eq!(gave, locking::Gave::All);
        self.running
            .entry(name)
            .and_modify(|me| me.locks.retain(|&(lock, _)| lock != addr as u64));
    }

    fn release(&self, s: &mut Strand, addr: usize) {
        self.rt
            .syncs
            .get(s, addr, Kind::Semaphore)
            .with(|state| state.release(s));
    }

    fn acquire(&self, s: &mut Strand, addr: usize) {
        self.rt
            .syncs
            .get(s, addr, Kind::Semaphore)
            .with(|state| state.acquire(self.rt, s));
    }
}

/// How a report calls the event, and how many bytes it touches.
fn touch(action: Action) -> Option<(Touch, u64)> {
    match action {
        Action::Read(range) => Some((Touch::Read, range.size())),
        Action::Write(range) => Some((Touch::Write, range.size())),
        Action::Free(range) => Some((Touch::Free, range.size())),
        Action::AtomicRead(range) => Some((Touch::AtomicRead, range.size())),
        Action::AtomicWrite(range) => Some((Touch::AtomicWrite, range.size())),
        Action::Load(place, _) => Some((Touch::AtomicRead, place.width().bytes())),
        Action::Store(place, _) => Some((Touch::AtomicWrite, place.width().bytes())),
        Action::Rmw(place, _) => Some((Touch::AtomicReadWrite, place.width().bytes())),
        _ => None,
    }
}

/// Do ever more strands stand in a barrier than a round takes? Then the runtime takes two rounds for one.
fn crowded(trace: &Trace) -> bool {
    let mut parties: BTreeMap<u64, u32> = BTreeMap::new();
    for event in &trace.events {
        if let Action::Arrive(round) = event.action {
            *parties.entry(round.barrier.0).or_default() += (round.phase == 0) as u32;
        }
    }
    let mut inside: BTreeMap<u64, u32> = BTreeMap::new();
    trace.events.iter().any(|event| match event.action {
        Action::Arrive(round) => {
            let count = inside.entry(round.barrier.0).or_default();
            *count += 1;
            *count > parties[&round.barrier.0]
        }
        Action::Leave(round) => {
            inside
                .entry(round.barrier.0)
                .and_modify(|count| *count -= 1);
            false
        }
        _ => false,
    })
}

/// What `abi::plain` does: its fast path, then the assembler that it would jump to, then what that leaves.
pub fn plain(rt: &Runtime, s: &mut Strand, addr: usize, size: usize, touch: Touch, pc: u64) {
    let kind = touch.bits();
    let place = Place::new(pc, touch, size as u64);
    let offset = addr % 8;
    let cell = rt.shadow.existing(addr);
    let settle = |s: &mut Strand, addr, cell, need| {
        // SAFETY: the shadow gave the cell.
        unsafe {
            if !settled(s, cell, need) && !settle::tested::settle(addr, need, s, cell, place) {
                let access = InCell {
                    addr,
                    cell,
                    need,
                    place,
                };
                access::unsettled(rt, s, access);
            }
        }
    };
    match (size, cell) {
        (1 | 2 | 4 | 8, Some(cell)) if offset + size <= 8 => {
            settle(s, addr, cell, ((1u64 << size) - 1) << offset & MASK | kind);
        }
        (16, Some(cell)) if offset == 0 && addr % REGION != REGION - 8 => {
            let need = MASK | kind;
            // SAFETY: the shadow gave the cell, and the next one is of the same block.
            let done = unsafe {
                !settled(s, cell, need) && settle::tested::settle_two(addr, need, s, cell, place)
            };
            if !done {
                settle(s, addr, cell, need);
                settle(s, addr + 8, cell.wrapping_add(1), need);
            }
        }
        (2 | 4 | 8 | 16, Some(cell)) if addr % REGION + 24 <= REGION => {
            // SAFETY: the shadow gave the cell, and the next ones are of the same block.
            unsafe { settle::tested::across(addr, size, kind, s, cell, place) };
        }
        (1 | 2 | 4 | 8 | 16, _) => access::access(rt, s, addr, size, touch, pc),
        _ => access::access_range(rt, s, addr, size, touch, pc),
    }
}

/// The fast path of the assembler hooks.
fn settled(s: &Strand, cell: *mut Cell, need: u64) -> bool {
    // SAFETY: a cell of the shadow.
    let words = unsafe { cell::words(cell) };
    let covers = |word| entry::same_step_covers(word, s.step_base, s.step_span, need);
    let read_before = || {
        let known = s.read_lists[(words.first >> READ_LISTS_SHIFT) as usize % READ_LISTS];
        need & (PLAIN | WRITE) == PLAIN && words.first != 0 && known == words.first
    };
    covers(words.first) || covers(words.second) || read_before()
}

fn load_order(order: LoadOrder) -> Order {
    Order::new(match order {
        LoadOrder::Relaxed => 0,
        LoadOrder::Consume => 1,
        LoadOrder::Acquire => 2,
        LoadOrder::SeqCst => 5,
    })
}

fn store_order(order: StoreOrder) -> Order {
    Order::new(match order {
        StoreOrder::Relaxed => 0,
        StoreOrder::Release => 3,
        StoreOrder::SeqCst => 5,
    })
}

fn rmw_order(order: RmwOrder) -> Order {
    Order::new(match order {
        RmwOrder::Relaxed => 0,
        RmwOrder::Consume => 1,
        RmwOrder::Acquire => 2,
        RmwOrder::Release => 3,
        RmwOrder::AcqRel => 4,
        RmwOrder::SeqCst => 5,
    })
}

fn fence_order(order: FenceOrder) -> Order {
    Order::new(match order {
        FenceOrder::Relaxed => 0,
        FenceOrder::Consume => 1,
        FenceOrder::Acquire => 2,
        FenceOrder::Release => 3,
        FenceOrder::AcqRel => 4,
        FenceOrder::SeqCst => 5,
    })
}

//! A recording becomes STD.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::{self, Write};

use crate::event::{Action, FenceOrder, LoadOrder, Place, Range, RmwOrder, StoreOrder, Strand};
use crate::merge::InOrder;
use crate::wire::{Item, Source};

/// A variable has at most so many bytes.
const CELL: u64 = 8;

/// RAPID reads locations as 32-bit numbers with a sign.
pub const MOST_LOCATION: u64 = i32::MAX as u64;

/// Where accesses and allocations begin and end inside of cells: what lies between is always touched together.
#[derive(Clone, Debug, Default)]
pub struct Parts {
    /// For each cell that is ever cut, the bytes before which it is.
    cuts: HashMap<u64, u8>,
}

impl Parts {
    /// The parts that an execution tells apart.
    pub fn of(source: &mut impl Source) -> Parts {
        let mut parts = Parts::default();
        for (_, item) in InOrder::new(source) {
            match item {
                Item::Touch(touched) => parts.cut(touched.range),
                Item::Act(act) => {
                    if let Action::Alloc(range) = act.action {
                        parts.cut(range);
                    }
                }
                Item::Memory(..) | Item::Lost(_) => {}
            }
        }
        parts
    }

    fn cut(&mut self, range: Range) {
        let (start, end) = range.bounds();
        for border in [start, end] {
            if border % CELL != 0 {
                *self.cuts.entry(border / CELL).or_default() |= 1 << (border % CELL);
            }
        }
    }

    /// Where the parts of a range begin. It must be one of those that they were made of.
    fn within(&self, range: Range) -> impl Iterator<Item = u64> + '_ {
        let (start, end) = range.bounds();
        (start / CELL..end.div_ceil(CELL)).flat_map(move |cell| {
            // Every cell begins a part.
            let cuts = 1 | self.cuts.get(&cell).copied().unwrap_or(0);
            let begins = (0..CELL).filter(move |byte| cuts >> byte & 1 == 1);
            let begins = begins.map(move |byte| cell * CELL + byte);
            begins.filter(move |begin| (start..end).contains(begin))
        })
    }
}

/// What was exported.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exported {
    pub events: u64,
    /// What could not be read.
    pub damages: Vec<String>,
    /// Locations that stand for program counters beyond [`MOST_LOCATION`].
    pub locations: Vec<(u64, u64)>,
}

/// Writes an execution in STD. `parts` are those of the same execution.
pub fn export(
    source: &mut impl Source,
    parts: &Parts,
    out: &mut impl Write,
) -> io::Result<Exported> {
    let (mut locations, mut blocks) = (Locations::default(), Blocks::default());
    let mut fences: BTreeMap<Strand, Fences> = BTreeMap::new();
    let mut exported = Exported::default();
    let mut order = InOrder::new(source);
    while let Some((strand, item)) = order.next() {
        let mut event = |operation: &str, operand: &str, location: u64| {
            exported.events += 1;
            writeln!(out, "T{}|{operation}({operand})|{location}", strand.0)
        };
        match item {
            Item::Touch(touched) => {
                let operation = match touched.action() {
                    Action::Read(_) => "r",
                    Action::Write(_) => "w",
                    // Atomic accesses race with plain ones only.
                    _ => continue,
                };
                let location = locations.of(touched.pc);
                for part in parts.within(touched.range) {
                    event(operation, &blocks.variable(part), location)?;
                }
            }
            Item::Act(act) => {
                if let Action::Alloc(range) = act.action {
                    blocks.born(range);
                }
                let pc = order.source.node(act.at).map_or(0, |(_, pc)| pc);
                let location = locations.of(pc);
                let fences = fences.entry(strand).or_default();
                for (operation, operand) in operations(act.action, fences) {
                    event(operation, &operand, location)?;
                }
            }
            Item::Memory(..) | Item::Lost(_) => {}
        }
    }
    exported.damages = order.damages;
    exported.locations = locations.given;
    Ok(exported)
}

/// Program counters as locations.
#[derive(Default)]
struct Locations {
    numbers: HashMap<u64, u64>,
    given: Vec<(u64, u64)>,
}

impl Locations {
    /// A program counter that is too large gets a number, from the largest on down.
    fn of(&mut self, pc: u64) -> u64 {
        if pc <= MOST_LOCATION {
            return pc;
        }
        let given = &mut self.given;
        *self.numbers.entry(pc).or_insert_with(|| {
            let number = MOST_LOCATION.saturating_sub(given.len() as u64);
            given.push((number, pc));
            number
        })
    }
}

/// Which allocation a byte belongs to.
#[derive(Default)]
struct Blocks {
    /// By start: the end, and the number of the allocation.
    // invariant: they do not overlap
    blocks: BTreeMap<u64, (u64, u64)>,
    count: u64,
}

impl Blocks {
    fn born(&mut self, range: Range) {
        let (start, end) = range.bounds();
        if let Some((&before, &(its_end, number))) = self.blocks.range(..start).next_back()
            && its_end > start
        {
            self.blocks.insert(before, (start, number));
            if its_end > end {
                self.blocks.insert(end, (its_end, number));
            }
        }
        while let Some((&inside, &(its_end, number))) = self.blocks.range(start..end).next() {
            self.blocks.remove(&inside);
            if its_end > end {
                self.blocks.insert(end, (its_end, number));
            }
        }
        self.count += 1;
        self.blocks.insert(start, (end, self.count));
    }

    /// The name of what begins at a byte.
    fn variable(&self, byte: u64) -> String {
        match self.blocks.range(..=byte).next_back() {
            Some((_, &(end, number))) if byte < end => format!("V{byte:x}.{number}"),
            _ => format!("V{byte:x}"),
        }
    }
}

/// What a strand's relaxed operations have to do with its fences.
#[derive(Default)]
struct Fences {
    /// It has made one that tells: what it stores from then on tells, too.
    tells: bool,
    /// What it has loaded since the last one that learns.
    heard: BTreeSet<u64>,
}

impl Fences {
    /// A relaxed operation; whether it tells.
    fn relaxed(&mut self, place: Place, does: Relaxed) -> bool {
        if does != Relaxed::Store {
            self.heard.insert(place.addr().0);
        }
        does != Relaxed::Load && self.tells
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Relaxed {
    Load,
    Store,
    Both,
}

/// What an act is in STD.
fn operations(action: Action, fences: &mut Fences) -> Vec<(&'static str, String)> {
    let both = |name: String| vec![("acq", name.clone()), ("rel", name)];
    let atomic = |addr: u64| both(format!("A{addr:x}"));
    let some = |tells: bool, place: Place| match tells {
        true => atomic(place.addr().0),
        false => Vec::new(),
    };
    match action {
        Action::Begin | Action::End | Action::Detach(_) | Action::Await(_) => Vec::new(),
        Action::Fork(strand) => vec![("fork", format!("T{}", strand.0))],
        Action::Join(strand) => vec![("join", format!("T{}", strand.0))],
        Action::Lock(m) | Action::Woken(_, m) => vec![("acq", format!("L{}", m.0))],
        Action::Unlock(m) | Action::Wait(_, m) => vec![("rel", format!("L{}", m.0))],
        Action::WriteLock(l) => vec![("acq", format!("R{}", l.0))],
        Action::WriteUnlock(l) => vec![("rel", format!("R{}", l.0))],
        // Several have it at once.
        Action::ReadLock(l) | Action::ReadUnlock(l) => both(format!("R{}", l.0)),
        Action::Arrive(round) | Action::Leave(round) => {
            both(format!("B{}p{}", round.barrier.0, round.phase))
        }
        Action::Release(c) | Action::Acquire(c) => both(format!("C{}", c.0)),
        Action::ReleaseAt(a) | Action::AcquireAt(a) | Action::ReplaceAt(a) => atomic(a.0),
        Action::Load(p, LoadOrder::Relaxed) => some(fences.relaxed(p, Relaxed::Load), p),
        Action::Store(p, StoreOrder::Relaxed) => some(fences.relaxed(p, Relaxed::Store), p),
        Action::Rmw(p, RmwOrder::Relaxed) => some(fences.relaxed(p, Relaxed::Both), p),
        // What it hears is learned at a later fence, if not before.
        Action::Rmw(p, RmwOrder::Release) => {
            fences.relaxed(p, Relaxed::Both);
            atomic(p.addr().0)
        }
        Action::Load(p, _) | Action::Store(p, _) | Action::Rmw(p, _) => atomic(p.addr().0),
        Action::Fence(order) => {
            let (tells, learns) = match order {
                FenceOrder::Relaxed => (false, false),
                FenceOrder::Release => (true, false),
                FenceOrder::Consume | FenceOrder::Acquire => (false, true),
                FenceOrder::AcqRel | FenceOrder::SeqCst => (true, true),
            };
            fences.tells |= tells;
            let heard = match learns {
                true => std::mem::take(&mut fences.heard),
                false => BTreeSet::new(),
            };
            heard.into_iter().flat_map(atomic).collect()
        }
        Action::Notify(_)
        | Action::Alloc(_)
        | Action::Free(_)
        | Action::Read(_)
        | Action::Write(_)
        | Action::AtomicRead(_)
        | Action::AtomicWrite(_) => Vec::new(),
    }
}

//! Synchronization as transfers gives the clocks that `HappensBefore` gives, event by event, on random traces; and the
//! sets of who knows an access say the same as the clocks.

use std::collections::BTreeMap;

use deadheat_order::transfer::{Holder, Name, Transfer, Transfers};
use deadheat_order::{Epoch, HappensBefore, VectorClock};
use deadheat_trace::{Channel, Event, Mutex, Shape, Strand, Trace, generate};

/// The three operations on clocks.
#[derive(Default)]
struct Clocks {
    transfers: Transfers,
    clocks: BTreeMap<Holder, VectorClock>,
    strands: BTreeMap<Holder, Strand>,
}

impl Clocks {
    fn strand(&mut self, strand: Strand) -> Holder {
        let holder = self.transfers.strand(strand);
        if self.strands.insert(holder, strand).is_none() {
            self.clocks.entry(holder).or_default().tick(strand);
        }
        holder
    }

    fn apply(&mut self, transfer: Transfer) {
        match transfer {
            Transfer::Learn { from, to } => {
                let told = self.clocks.get(&from).cloned().unwrap_or_default();
                self.clocks.entry(to).or_default().join(&told);
                self.told(from);
            }
            Transfer::Replace { from, to } => {
                let told = self.clocks.get(&from).cloned().unwrap_or_default();
                self.clocks.insert(to, told);
                self.told(from);
            }
            Transfer::Clear(gone) => {
                self.clocks.remove(&gone);
            }
        }
    }

    fn told(&mut self, from: Holder) {
        if let Some(&strand) = self.strands.get(&from) {
            self.clocks.entry(from).or_default().tick(strand);
        }
    }

    /// The event's epoch and what it knows.
    fn event(&mut self, event: &Event) -> (Epoch, VectorClock) {
        let me = self.strand(event.strand);
        if let deadheat_trace::Action::Fork(child) | deadheat_trace::Action::Join(child) =
            event.action
        {
            self.strand(child);
        }
        let mut moved = Vec::new();
        self.transfers.before(event, &mut moved);
        moved.drain(..).for_each(|transfer| self.apply(transfer));
        let clock = self.clocks.get(&me).cloned().unwrap_or_default();
        let epoch = Epoch {
            strand: event.strand,
            time: clock.get(event.strand),
        };
        self.transfers.after(event, &mut moved);
        moved.drain(..).for_each(|transfer| self.apply(transfer));
        (epoch, clock)
    }
}

/// For every event, the set of holders that know it.
#[derive(Default)]
struct Sets {
    known: Vec<(Epoch, Vec<Holder>)>,
}

impl Sets {
    fn apply(&mut self, transfer: Transfer) {
        for (_, set) in &mut self.known {
            match transfer {
                Transfer::Learn { from, to } => {
                    if set.contains(&from) && !set.contains(&to) {
                        set.push(to);
                    }
                }
                Transfer::Replace { from, to } => {
                    let knows = set.contains(&from);
                    set.retain(|&holder| holder != to);
                    if knows {
                        set.push(to);
                    }
                }
                Transfer::Clear(gone) => set.retain(|&holder| holder != gone),
            }
        }
    }
}

fn compare(seed: u64, trace: &Trace) {
    let mut spec = HappensBefore::new();
    let mut clocks = Clocks::default();
    let mut transfers = Transfers::new();
    let mut sets = Sets::default();
    for (id, event) in trace.iter() {
        let stamp = spec.stamp(event);
        let (epoch, mut clock) = clocks.event(event);
        clock.set(epoch.strand, epoch.time);
        assert_eq!(
            (stamp.epoch, &stamp.clock),
            (epoch, &clock),
            "event {} `{event}` of seed {seed}:\n{trace}",
            id.0
        );
        let mut moved = Vec::new();
        let me = transfers.strand(event.strand);
        transfers.before(event, &mut moved);
        moved.drain(..).for_each(|transfer| sets.apply(transfer));
        for (past, set) in &sets.known {
            assert_eq!(
                set.contains(&me),
                stamp.clock.covers(*past),
                "what {} knows at event {} of seed {seed}:\n{trace}",
                event.strand,
                id.0
            );
        }
        sets.known.push((epoch, vec![me]));
        transfers.after(event, &mut moved);
        moved.drain(..).for_each(|transfer| sets.apply(transfer));
    }
}

#[test]
fn on_random_traces() {
    for seed in 0..1500 {
        compare(seed, &generate(seed, &Shape::small()));
        compare(seed, &generate(seed, &Shape::atomics()));
    }
    for seed in 0..30 {
        compare(seed, &generate(seed, &Shape::large()));
    }
}

#[test]
fn numbers_are_used_again_and_mean_one_thing_at_a_time() {
    let mut transfers = Transfers::new();
    let a = transfers.holder(Name::Mutex(Mutex(0)));
    let b = transfers.strand(Strand(1));
    assert_eq!(transfers.len(), 2);
    transfers.retire(a);
    transfers.retire(a);
    let c = transfers.holder(Name::Channel(Channel(2)));
    assert_eq!((c, transfers.len()), (a, 2));
    assert_eq!(transfers.name(c), Some(Name::Channel(Channel(2))));
    transfers.retire(b);
    assert_eq!(transfers.holder(Name::Mutex(Mutex(0))), b);
    assert_eq!(transfers.len(), 2);
    assert_ne!(transfers.strand(Strand(1)), b);
}

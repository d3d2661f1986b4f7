//! Happens-before a second time, straight from the standard's definitions: which pairs of events synchronize, and the
//! transitive closure. Slow and with no clocks in it, so that the clocks can be compared with it on random traces.

use deadheat_order::HappensBefore;
use deadheat_trace::{
    Action, Addr, Event, FenceOrder, LoadOrder, RmwOrder, Shape, StoreOrder, Trace, generate,
};

fn writes_to(action: Action) -> Option<Addr> {
    match action {
        Action::Store(place, _) | Action::Rmw(place, _) => Some(place.addr()),
        _ => None,
    }
}

fn reads_from(action: Action) -> Option<Addr> {
    match action {
        Action::Load(place, _) | Action::Rmw(place, _) => Some(place.addr()),
        _ => None,
    }
}

fn is_release(action: Action) -> bool {
    matches!(
        action,
        Action::Store(_, StoreOrder::Release | StoreOrder::SeqCst)
            | Action::Rmw(_, RmwOrder::Release | RmwOrder::AcqRel | RmwOrder::SeqCst)
    )
}

fn is_acquire(action: Action) -> bool {
    matches!(
        action,
        Action::Load(
            _,
            LoadOrder::Consume | LoadOrder::Acquire | LoadOrder::SeqCst
        ) | Action::Rmw(
            _,
            RmwOrder::Consume | RmwOrder::Acquire | RmwOrder::AcqRel | RmwOrder::SeqCst
        )
    )
}

fn is_release_fence(action: Action) -> bool {
    matches!(
        action,
        Action::Fence(FenceOrder::Release | FenceOrder::AcqRel | FenceOrder::SeqCst)
    )
}

fn is_acquire_fence(action: Action) -> bool {
    matches!(
        action,
        Action::Fence(
            FenceOrder::Consume | FenceOrder::Acquire | FenceOrder::AcqRel | FenceOrder::SeqCst
        )
    )
}

fn is_fresh(action: Action, addr: Addr) -> bool {
    matches!(action, Action::Alloc(range) if (range.bounds().0..range.bounds().1).contains(&addr.0))
}

/// The write before `at` in the modification order of `addr`, which is the trace's order; none before the memory was
/// allocated.
fn write_before(events: &[Event], at: usize, addr: Addr) -> Option<usize> {
    let last = (0..at)
        .rev()
        .find(|&k| writes_to(events[k].action) == Some(addr) || is_fresh(events[k].action, addr))?;
    (!is_fresh(events[last].action, addr)).then_some(last)
}

/// All writes whose release sequence (real, or hypothetical if they are relaxed) holds the value that `at` reads.
fn heads(events: &[Event], at: usize) -> Vec<usize> {
    let Some(addr) = reads_from(events[at].action) else {
        return Vec::new();
    };
    let mut heads = Vec::new();
    let mut next = write_before(events, at, addr);
    while let Some(write) = next {
        heads.push(write);
        let continues = matches!(events[write].action, Action::Rmw(..));
        next = if continues {
            write_before(events, write, addr)
        } else {
            None
        };
    }
    heads
}

/// The pairs of the atomic rules: an operation or fence that releases, and one that acquires.
fn atomic_pairs(events: &[Event]) -> Vec<(usize, usize)> {
    let mut pairs = Vec::new();
    for read in 0..events.len() {
        let after = (read + 1..events.len()).filter(|&k| events[k].strand == events[read].strand);
        let fences = after.filter(|&k| is_acquire_fence(events[k].action));
        let acquires: Vec<_> = fences
            .chain(is_acquire(events[read].action).then_some(read))
            .collect();
        for head in heads(events, read) {
            let before = (0..head).filter(|&k| events[k].strand == events[head].strand);
            let fences = before.filter(|&k| is_release_fence(events[k].action));
            for release in fences.chain(is_release(events[head].action).then_some(head)) {
                pairs.extend(acquires.iter().map(|&acquire| (release, acquire)));
            }
        }
    }
    pairs
}

/// Does `a` synchronize with `b`, which is later, by any rule but the atomic ones?
fn synchronizes(a: &Event, b: &Event) -> bool {
    match (a.action, b.action) {
        (Action::Fork(child), _) if b.strand == child => true,
        (_, Action::Join(child)) if a.strand == child => true,
        (Action::Unlock(m) | Action::Wait(_, m), Action::Lock(n) | Action::Woken(_, n)) => m == n,
        (Action::WriteUnlock(l), Action::ReadLock(k) | Action::WriteLock(k)) => l == k,
        (Action::ReadUnlock(l), Action::WriteLock(k)) => l == k,
        (Action::Arrive(r), Action::Leave(q)) => r == q,
        (Action::Release(c), Action::Acquire(d)) => c == d,
        _ => false,
    }
}

/// `before[b]` holds all a that happen before b.
fn closure(events: &[Event]) -> Vec<Vec<bool>> {
    let n = events.len();
    let mut before = vec![vec![false; n]; n];
    for b in 0..n {
        for a in 0..b {
            before[b][a] =
                events[a].strand == events[b].strand || synchronizes(&events[a], &events[b]);
        }
    }
    for (a, b) in atomic_pairs(events) {
        // A strand may read its own write; that pair is ordered anyway.
        before[b][a] |= a < b;
    }
    // All edges go forward, so one pass in trace order closes the relation.
    for b in 0..n {
        for a in 0..b {
            if before[b][a] {
                let (low, high) = before.split_at_mut(b);
                high[0]
                    .iter_mut()
                    .zip(&low[a])
                    .for_each(|(mine, theirs)| *mine |= *theirs);
            }
        }
    }
    before
}

fn compare(trace: &Trace) {
    let before = closure(&trace.events);
    let mut order = HappensBefore::new();
    let stamps: Vec<_> = trace
        .events
        .iter()
        .map(|event| order.stamp(event))
        .collect();
    for b in 0..stamps.len() {
        for a in 0..b {
            assert_eq!(
                stamps[b].clock.covers(stamps[a].epoch),
                before[b][a],
                "does event {a} `{}` happen before event {b} `{}` of:\n{trace}",
                trace.events[a],
                trace.events[b],
            );
        }
    }
}

#[test]
fn clocks_agree_with_the_definition_on_random_traces() {
    for seed in 0..1500 {
        compare(&generate(seed, &Shape::small()));
    }
}

#[test]
fn clocks_agree_with_the_definition_where_atomics_and_fences_abound() {
    for seed in 0..3000 {
        compare(&generate(seed, &Shape::atomics()));
    }
}

#[test]
fn clocks_agree_with_the_definition_on_longer_traces() {
    for seed in 0..30 {
        compare(&generate(seed, &Shape::large()));
    }
}

//! What every detector of races is: it takes events one by one and returns the races each completes.

use std::collections::BTreeSet;

use deadheat_trace::{Event, EventId, Range, Trace};

/// Two accesses that nothing orders, and the bytes they fight over. One pair can fight over several ranges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Race {
    /// The one earlier in the trace.
    pub old: EventId,
    pub new: EventId,
    pub range: Range,
}

/// A detector of races.
pub trait Detector {
    /// Takes the next event of the trace and adds the races it completes to `found`.
    fn event(&mut self, id: EventId, event: &Event, found: &mut Vec<Race>);
}

/// Gives a whole trace to a detector.
pub fn run(detector: &mut impl Detector, trace: &Trace) -> Vec<Race> {
    let mut found = Vec::new();
    for (id, event) in trace.iter() {
        detector.event(id, event, &mut found);
    }
    found
}

/// All bytes with at least one race: what all exact detectors agree on.
pub fn racing_bytes(races: &[Race]) -> BTreeSet<u64> {
    let bytes = |race: &Race| {
        let (start, end) = race.range.bounds();
        start..end
    };
    races.iter().flat_map(bytes).collect()
}

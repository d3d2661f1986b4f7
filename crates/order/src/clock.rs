//! Epochs and vector clocks.
//!
//! Every strand counts its own time, from 1. An [`Epoch`] is one strand's moment; a [`VectorClock`] says, for every
//! strand, up to which moment it is known. Point a happened before point b exactly if b's clock covers a's epoch.
//!
//! A clock holds only the strands it knows of, so it is as long as their number, whatever they are called; for all
//! others its time is 0, which is before every moment.

use std::collections::BTreeMap;
use std::fmt;

use deadheat_trace::Strand;

/// A strand's own time. 0 is before its first moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub u64);

/// A moment of one strand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Epoch {
    pub strand: Strand,
    pub time: Time,
}

/// For every strand, the last of its moments that is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VectorClock {
    // invariant: no time is 0, so that equal knowledge is equal
    times: BTreeMap<Strand, Time>,
}

impl VectorClock {
    /// Knows nothing.
    pub fn new() -> VectorClock {
        VectorClock::default()
    }

    pub fn get(&self, strand: Strand) -> Time {
        self.times.get(&strand).copied().unwrap_or_default()
    }

    pub fn set(&mut self, strand: Strand, time: Time) {
        if time == Time::default() {
            self.times.remove(&strand);
        } else {
            self.times.insert(strand, time);
        }
    }

    /// The strand's next moment.
    pub fn tick(&mut self, strand: Strand) {
        self.times.entry(strand).or_default().0 += 1;
    }

    /// Learns everything that `other` knows: the later of the two, strand by strand.
    pub fn join(&mut self, other: &VectorClock) {
        for (&strand, &theirs) in &other.times {
            let mine = self.times.entry(strand).or_default();
            *mine = theirs.max(*mine);
        }
    }

    /// Is this moment known?
    pub fn covers(&self, epoch: Epoch) -> bool {
        epoch.time <= self.get(epoch.strand)
    }

    /// Is everything known here that `other` knows?
    pub fn covers_all(&self, other: &VectorClock) -> bool {
        other
            .times
            .iter()
            .all(|(&strand, &time)| self.covers(Epoch { strand, time }))
    }
}

impl fmt::Display for VectorClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<_> = self
            .times
            .iter()
            .map(|(strand, time)| format!("{strand}:{}", time.0))
            .collect();
        write!(f, "[{}]", words.join(" "))
    }
}

/// The place of an event in the order: its own moment, and all it knew then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamp {
    // invariant: the clock covers the epoch, and no later moment of its strand
    pub epoch: Epoch,
    pub clock: VectorClock,
}

/// Neither happened before the other. Two points of one strand are never concurrent.
pub fn concurrent(a: &Stamp, b: &Stamp) -> bool {
    !a.clock.covers(b.epoch) && !b.clock.covers(a.epoch)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(times: &[u64]) -> VectorClock {
        let mut clock = VectorClock::new();
        (0..)
            .zip(times)
            .for_each(|(strand, &time)| clock.set(Strand(strand), Time(time)));
        clock
    }

    /// All clocks of up to three strands with times up to 2.
    fn all() -> impl Iterator<Item = VectorClock> + Clone {
        (0..27u64)
            .map(|n| clock(&[n % 3, n / 3 % 3, n / 9]))
            .chain([clock(&[]), clock(&[1]), clock(&[0, 2])])
    }

    #[test]
    fn joining_is_the_least_upper_bound() {
        for a in all() {
            for b in all() {
                let mut joined = a.clone();
                joined.join(&b);
                assert!(joined.covers_all(&a) && joined.covers_all(&b));
                let mut other_way = b.clone();
                other_way.join(&a);
                assert_eq!(joined, other_way);
                for bound in all().filter(|bound| bound.covers_all(&a) && bound.covers_all(&b)) {
                    assert!(bound.covers_all(&joined));
                }
            }
        }
    }

    #[test]
    fn covering_all_is_covering_every_epoch() {
        for a in all() {
            for b in all() {
                let every = (0..3).map(Strand).all(|s| {
                    a.covers(Epoch {
                        strand: s,
                        time: b.get(s),
                    })
                });
                assert_eq!(a.covers_all(&b), every);
            }
        }
    }

    #[test]
    fn equal_knowledge_is_equal() {
        for a in all() {
            for b in all() {
                assert_eq!(a == b, a.covers_all(&b) && b.covers_all(&a));
            }
        }
        assert_eq!(clock(&[1, 0, 0]), clock(&[1]));
        assert_ne!(clock(&[1, 0, 1]), clock(&[1]));
        assert_eq!(clock(&[3, 0, 1]).to_string(), "[t0:3 t2:1]");
    }

    #[test]
    fn concurrent_is_neither_before_the_other() {
        let stamp = |strand, times: &[u64]| {
            let clock = clock(times);
            Stamp {
                epoch: Epoch {
                    strand: Strand(strand),
                    time: clock.get(Strand(strand)),
                },
                clock,
            }
        };
        assert!(concurrent(&stamp(0, &[1, 0]), &stamp(1, &[0, 1])));
        assert!(!concurrent(&stamp(0, &[1, 0]), &stamp(1, &[1, 1])));
        assert!(!concurrent(&stamp(0, &[1, 1]), &stamp(1, &[0, 1])));
        assert!(!concurrent(&stamp(0, &[1, 0]), &stamp(0, &[2, 0])));
    }
}

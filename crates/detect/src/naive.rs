//! The naive detector: every access against every earlier one, with full vector clocks. The specification.
//!
//! Definition: [intro.races] of the C++20 standard: two accesses race if they touch a byte in common, at least one
//! writes, they are not both atomic, and neither happens before the other.
//! Guarantee: on the observed execution it returns exactly the racing pairs with exactly their bytes: no false alarm,
//! no miss.
//! Cost: time and memory proportional to pairs of accesses times strands. For tests.
//!
//! | rule   | when                                       | then                                              |
//! |--------|--------------------------------------------|---------------------------------------------------|
//! | access | an older one conflicts and is concurrent   | a race on each run of common bytes                |
//! | free   | always                                     | is a plain write of the whole block               |
//! | fresh  | memory is allocated                        | older accesses lose these bytes: it was other memory |
//!
//! Deviations: none. Not covered: accesses of code that is not in the trace; other interleavings.

use deadheat_order::{HappensBefore, Stamp, concurrent};
use deadheat_trace::{Event, EventId, Range};

use crate::access::{Access, Effect, effect};
use crate::detector::{Detector, Race};
use crate::entry::{Care, Op};

/// An access of the past.
#[derive(Clone, Debug)]
struct Past {
    id: EventId,
    access: Access,
    stamp: Stamp,
    /// Those of its bytes that have not become other memory since.
    bytes: Vec<Range>,
}

/// Remembers every access with its whole clock.
#[derive(Clone, Debug, Default)]
pub struct Naive {
    order: HappensBefore,
    pasts: Vec<Past>,
}

impl Naive {
    pub fn new() -> Naive {
        Naive::default()
    }
}

impl Detector for Naive {
    fn event(&mut self, id: EventId, event: &Event, found: &mut Vec<Race>) {
        let stamp = self.order.stamp(event);
        match effect(event.action) {
            Effect::Access(access) => self.access(id, access, stamp, found),
            Effect::Fresh(range) => self.fresh(range),
            Effect::Nothing => {}
        }
    }
}

impl Naive {
    fn access(&mut self, id: EventId, access: Access, stamp: Stamp, found: &mut Vec<Race>) {
        for past in &self.pasts {
            if conflict(past.access, access) && concurrent(&past.stamp, &stamp) {
                let common = past
                    .bytes
                    .iter()
                    .filter_map(|bytes| bytes.overlap(access.range));
                found.extend(common.map(|range| Race {
                    old: past.id,
                    new: id,
                    range,
                }));
            }
        }
        self.pasts.push(Past {
            id,
            access,
            stamp,
            bytes: vec![access.range],
        });
    }

    fn fresh(&mut self, range: Range) {
        for past in &mut self.pasts {
            past.bytes = past
                .bytes
                .iter()
                .flat_map(|bytes| bytes.minus(range))
                .collect();
        }
    }
}

/// One of the two writes, and one is plain. (That they have a byte in common is asked elsewhere.)
fn conflict(a: Access, b: Access) -> bool {
    let one_writes = a.op == Op::Write || b.op == Op::Write;
    let one_is_plain = a.care == Care::Plain || b.care == Care::Plain;
    one_writes && one_is_plain
}

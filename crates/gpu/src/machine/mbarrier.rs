//! `mbarrier`: barriers that are objects in shared memory. Arriving releases, a wait that is over acquires.
//!
//! The object is opaque in PTX; ours is, from the lowest bit: arrivals that are missing (20), arrivals of a phase (20),
//! bytes that asynchronous copies still owe (21, signed), a mark that it was initialized, and the phase at the top.

use crate::ptx::Space;

use super::access::{bytes_at, lanes, put_at};
use super::block::Env;
use super::flight::Until;
use super::observe::{FaultKind, Observer, What};
use super::ops::Row;
use super::program::{NONE, Op, SHARED_WINDOW, Scope, Strength};
use super::reach::Class;
use super::warp::Warp;

/// What an instruction does to the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MbarOp {
    /// b: count.
    Init,
    Inval,
    /// b: count (or bytes for `expect`) or `NONE`; d: the phase it belongs to.
    Arrive {
        drop: bool,
        expect: bool,
    },
    /// b: bytes more, or fewer.
    Tx {
        complete: bool,
    },
    /// d: predicate; b: phase, or its parity.
    Test {
        parity: bool,
    },
    /// `cp.async.mbarrier.arrive`: arrives when the thread's copies have.
    CopyArrive {
        counted: bool,
    },
}

const COUNT: u64 = (1 << 20) - 1;
const LIVE: u64 = 1 << 61;
const PHASE: u64 = 1 << 63;

/// The object, unpacked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct State {
    missing: u64,
    expected: u64,
    owed: i64,
    phase: bool,
}

impl State {
    fn unpack(v: u64) -> Option<State> {
        (v & LIVE != 0).then_some(State {
            missing: v & COUNT,
            expected: v >> 20 & COUNT,
            owed: (v << 3) as i64 >> 43,
            phase: v & PHASE != 0,
        })
    }

    fn pack(self) -> u64 {
        let owed = (self.owed as u64 & ((1 << 21) - 1)) << 40;
        self.missing & COUNT
            | (self.expected & COUNT) << 20
            | owed
            | LIVE
            | if self.phase { PHASE } else { 0 }
    }

    /// The phase is over when all have come and nothing is owed.
    fn settle(&mut self) {
        if self.missing == 0 && self.owed == 0 {
            self.missing = self.expected;
            self.phase = !self.phase;
        }
    }

    /// False if more arrive than are expected.
    fn arrive(&mut self, count: u64, drop: bool) -> bool {
        if count > self.missing {
            return false;
        }
        self.missing -= count;
        if drop {
            self.expected = self.expected.saturating_sub(count);
        }
        self.settle();
        true
    }
}

impl<const W: usize, O: Observer<W>> Env<'_, W, O> {
    pub(super) fn mbarrier(&mut self, w: &mut Warp<W>, op: &Op, mask: u64, what: MbarOp) {
        let (addrs, _) = self.addresses(w, op.a, op.imm, Space::Shared, mask, 8);
        if matches!(what, MbarOp::CopyArrive { .. }) {
            self.wait(w, mask, Until::All);
        }
        let b: Option<Row<W>> = (op.b != NONE).then(|| *w.row(&self.ctx.consts, op.b));
        let (mut row, mut done) = ([0u64; W], 0u64);
        self.groups(w, mask, &addrs, 8, |env, w, class, m| {
            if class != Class::Shared {
                env.fault(FaultKind::OutOfBounds, w.pc, w, m, || {
                    "an mbarrier must lie in shared memory".into()
                });
                return;
            }
            let (kind, strength) = match what {
                MbarOp::Init | MbarOp::Inval => (What::Write, Strength::Weak),
                _ => (What::Atomic, Strength::AcqRel(Scope::Cta)),
            };
            let test = matches!(what, MbarOp::Test { .. });
            if !test {
                let s = env.survey_of(&addrs, m, 8);
                env.tell(w, class, m, &addrs, &s, 8, kind, strength, &[]);
            }
            for l in lanes(m) {
                let at = (addrs[l] & !SHARED_WINDOW) as usize;
                let arg = b.as_ref().map(|r| r[l]);
                if env.mbarrier_lane(w, what, l, at, arg, &mut row) {
                    done |= 1 << l;
                }
            }
            if O::ON && kind == What::Atomic && !test {
                env.obs.acquired(w.id, m, &addrs);
            }
            if test && done & m != 0 {
                // Whoever has waited knows what those did who arrived.
                let s = env.survey_of(&addrs, done & m, 8);
                let (read, strength) = (What::Read, Strength::Acquire(Scope::Cta));
                env.tell(w, class, done & m, &addrs, &s, 8, read, strength, &[]);
            }
        });
        match what {
            MbarOp::Test { .. } => w.put_pred(op.d, done, mask),
            MbarOp::Arrive { .. } => w.put(op.d, &row, mask),
            _ => {}
        }
    }

    /// One lane; true if what it waits for is over.
    fn mbarrier_lane(
        &mut self,
        w: &Warp<W>,
        what: MbarOp,
        l: usize,
        at: usize,
        arg: Option<u64>,
        row: &mut Row<W>,
    ) -> bool {
        if what == MbarOp::Init {
            let n = arg.unwrap_or(1) & COUNT;
            let s = State {
                missing: n,
                expected: n,
                owed: 0,
                phase: false,
            };
            put_at(&mut self.shared, at, 8, s.pack());
            if O::ON {
                self.initialize(at, at + 8);
            }
            return false;
        }
        let old = bytes_at(&self.shared, at, 8);
        let Some(mut s) = State::unpack(old) else {
            self.fault(FaultKind::BadCall, w.pc, w, 1 << l, || {
                format!("there is no initialized mbarrier at offset {at} of shared memory")
            });
            return true;
        };
        row[l] = old;
        let mut good = true;
        match what {
            MbarOp::Init => {}
            MbarOp::Inval => {
                put_at(&mut self.shared, at, 8, 0);
                return false;
            }
            MbarOp::Arrive { drop, expect } => {
                if expect {
                    s.owed += arg.unwrap_or(0) as u32 as i64;
                }
                let count = if expect { 1 } else { arg.unwrap_or(1) & COUNT };
                good = s.arrive(count, drop);
            }
            MbarOp::Tx { complete } => {
                let n = arg.unwrap_or(0) as u32 as i64;
                s.owed += if complete { -n } else { n };
                s.settle();
            }
            // Without `.noinc` the arrival is one more than those that are expected.
            MbarOp::CopyArrive { counted } => good = !counted || s.arrive(1, false),
            MbarOp::Test { parity } => {
                let asked = match (parity, arg.unwrap_or(0)) {
                    (true, p) => p & 1 == 1,
                    (false, state) => state & PHASE != 0,
                };
                return asked != s.phase;
            }
        }
        if !good {
            self.fault(FaultKind::BadCall, w.pc, w, 1 << l, || {
                format!("more threads arrive at the mbarrier at offset {at} than it was made for")
            });
        }
        put_at(&mut self.shared, at, 8, s.pack());
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_survive_packing_and_phases_turn() {
        let mut s = State {
            missing: 2,
            expected: 2,
            owed: -5,
            phase: true,
        };
        assert_eq!(State::unpack(s.pack()), Some(s));
        assert_eq!(State::unpack(0), None);
        s.owed = 0;
        assert!(s.arrive(1, false) && s.phase);
        assert!(s.arrive(1, true) && !s.phase);
        assert_eq!((s.missing, s.expected), (1, 1));
        assert!(!s.arrive(2, false));
        s.owed = 16;
        assert!(s.arrive(1, false) && !s.phase, "bytes are owed");
        s.owed = 0;
        s.settle();
        assert!(s.phase);
    }
}

//! GRace-stmt: the table of all shared-memory statements since the last barrier, compared at the barrier.
//!
//! Paper: GRace (PPoPP 2011), Algorithm 3.
//! Guarantee: names every pair of statements and threads that raced in the phase; no false alarm.
//! Cost: space linear in the statements of the phase; time linear in them plus the pairs that share an address.
//!
//! Paper -> code: BlkStmtTbl = `entries`, its warpTable = `places`.
//! Deviations: 1. The table is indexed by address before pairs are compared, so that only statements that touch the
//! same address meet; the pairs found are those of the paper's quadratic scan. 2. With GRace-addr running too
//! ("both"), only the addresses it found racing are looked up. 3. Same-value writes are told apart. 4. Lanes side by
//! side, or at one place, are one number instead of a list.

use std::collections::HashMap;

use crate::machine::access::lanes;
use crate::machine::program::Pc;
use crate::machine::{Access, Shape, What};
use crate::ptx::Space;

use super::race::{Races, Relation, Side};

/// More statements than this in one phase are not kept; the count of those left out is reported.
const MAX_ENTRIES: usize = 1 << 20;

/// Where the lanes of a statement are.
#[derive(Clone, Copy, Debug)]
enum Places {
    /// Lane `l` at `zero + l * step`.
    Line { zero: u32, step: u32 },
    /// From here in `addrs`, one per set bit of the mask.
    List(u32),
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    pc: Pc,
    warp: u16,
    what: What,
    strong: bool,
    /// The values written are in `values`, from `value` on, one per set bit of the mask.
    known: bool,
    value: u32,
    size: u32,
    mask: u64,
    places: Places,
}

/// The table of one block.
#[derive(Debug, Default)]
pub struct Table {
    entries: Vec<Entry>,
    addrs: Vec<u32>,
    values: Vec<u64>,
    pub lost: u64,
    pub peak: usize,
}

/// One statement's lanes at one grain.
struct Touch {
    entry: u32,
    lanes: u64,
    value: u64,
    mixed: bool,
}

/// One number for all that a lane writes; different writes have different numbers but for one chance in 2^64.
fn digest<const W: usize>(values: &[[u64; W]], lane: usize) -> u64 {
    match values {
        [one] => one[lane],
        all => all.iter().fold(0u64, |h, v| {
            (h ^ v[lane])
                .wrapping_mul(0x9e37_79b9_7f4a_7c15)
                .rotate_left(29)
        }),
    }
}

impl Table {
    /// Notes what the lanes in `mask` do.
    pub fn push<const W: usize>(&mut self, a: &Access<'_, W>, mask: u64, strong: bool) {
        if self.entries.len() >= MAX_ENTRIES {
            self.lost += 1;
            return;
        }
        let first = mask.trailing_zeros() as usize;
        let step = match a.shape {
            Shape::Run => Some(a.size),
            Shape::Point => Some(0),
            Shape::Scattered => None,
        };
        let places = match step {
            Some(step) => Places::Line {
                zero: (a.at(first) as u32).wrapping_sub(first as u32 * step),
                step,
            },
            None => {
                let at = self.addrs.len() as u32;
                self.addrs.extend(lanes(mask).map(|l| a.at(l) as u32));
                Places::List(at)
            }
        };
        let known = a.what == What::Write && !a.values.is_empty();
        let value = self.values.len() as u32;
        if known {
            self.values.extend(lanes(mask).map(|l| digest(a.values, l)));
        }
        self.entries.push(Entry {
            pc: a.pc,
            warp: a.warp,
            what: a.what,
            strong,
            known,
            value,
            size: a.size,
            mask,
            places,
        });
    }

    pub fn bytes(&self) -> usize {
        self.entries.len() * size_of::<Entry>() + self.addrs.len() * 4 + self.values.len() * 8
    }

    pub fn clear(&mut self) {
        self.peak = self.peak.max(self.bytes());
        self.entries.clear();
        self.addrs.clear();
        self.values.clear();
    }

    /// Compares statements of different warps that touch the same grain; `only` limits it to these grains.
    pub fn compare(
        &self,
        races: &mut Races,
        block: u32,
        phase: u32,
        warp_size: u32,
        grain: u32,
        only: Option<&[u32]>,
    ) {
        let mut touched: HashMap<u32, Vec<Touch>> = HashMap::new();
        if let Some(list) = only {
            for g in list {
                touched.insert(*g, Vec::new());
            }
        }
        for (k, e) in self.entries.iter().enumerate() {
            for (n, l) in lanes(e.mask).enumerate() {
                let a = match e.places {
                    Places::Line { zero, step } => zero.wrapping_add(l as u32 * step),
                    Places::List(at) => self.addrs[at as usize + n],
                };
                let v = if e.known {
                    self.values[e.value as usize + n]
                } else {
                    0
                };
                for g in a / grain..=(a + e.size - 1) / grain {
                    let list = match only {
                        Some(_) => match touched.get_mut(&g) {
                            Some(list) => list,
                            None => continue,
                        },
                        None => touched.entry(g).or_default(),
                    };
                    match list.last_mut() {
                        Some(t) if t.entry == k as u32 => {
                            t.lanes |= 1 << l;
                            t.mixed |= t.value != v;
                        }
                        _ => list.push(Touch {
                            entry: k as u32,
                            lanes: 1 << l,
                            value: v,
                            mixed: false,
                        }),
                    }
                }
            }
        }
        for (g, mut list) in touched {
            self.merge_repeats(&mut list);
            for (i, a) in list.iter().enumerate() {
                for b in &list[i + 1..] {
                    self.pair(races, a, b, g * grain, block, phase, warp_size, grain);
                }
            }
        }
    }

    /// The same statement of the same warp in another iteration adds nothing.
    fn merge_repeats(&self, list: &mut Vec<Touch>) {
        let mut seen: HashMap<(Pc, u16), usize> = HashMap::new();
        let mut out: Vec<Touch> = Vec::new();
        for t in list.drain(..) {
            let e = &self.entries[t.entry as usize];
            match seen.get(&(e.pc, e.warp)) {
                Some(&k) => {
                    let o: &mut Touch = &mut out[k];
                    o.mixed |= t.mixed || o.value != t.value;
                    o.lanes |= t.lanes;
                }
                None => {
                    seen.insert((e.pc, e.warp), out.len());
                    out.push(t);
                }
            }
        }
        *list = out;
    }

    #[allow(clippy::too_many_arguments)]
    fn pair(
        &self,
        races: &mut Races,
        a: &Touch,
        b: &Touch,
        addr: u32,
        block: u32,
        phase: u32,
        warp_size: u32,
        grain: u32,
    ) {
        let (x, y) = (
            &self.entries[a.entry as usize],
            &self.entries[b.entry as usize],
        );
        if x.warp == y.warp
            || (x.what == What::Read && y.what == What::Read)
            || (x.strong && y.strong)
        {
            return;
        }
        let writes = x.what == What::Write && y.what == What::Write;
        let known = writes && x.known && y.known && x.size == y.size;
        let same = known && !a.mixed && !b.mixed && a.value == b.value;
        let side = |e: &Entry, t: &Touch| Side {
            pc: e.pc,
            what: e.what,
            block,
            thread: u32::from(e.warp) * warp_size + t.lanes.trailing_zeros(),
            phase,
        };
        let pairs = u64::from(a.lanes.count_ones()) * u64::from(b.lanes.count_ones());
        races.add(
            side(x, a),
            side(y, b),
            warp_size,
            Space::Shared,
            Relation::Warps,
            same,
            u64::from(addr),
            x.size.min(y.size).max(grain),
            pairs,
        );
    }
}

//! What a launch or a copy touched of global memory, byte by byte: enough to tell whether two of them, which nothing
//! orders, meet.
//!
//! Four kinds of touch: plain reads and writes, and strong ones (atomics and volatile accesses whose scope reaches the
//! whole device). Strong accesses do not race with each other; everything else of which one writes does.

use std::collections::HashMap;
use std::sync::Mutex;

use crate::machine::access::lanes;
use crate::machine::program::{Pc, Scope, Strength};
use crate::machine::{Access, Observer, What};
use crate::ptx::Space;

/// Bytes that one entry covers.
const PAGE: u64 = 1024;
const WORDS: usize = (PAGE / 64) as usize;
/// Instructions are remembered for every word of this many bytes.
const WORD: u64 = 4;

/// How something was touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Touch {
    Read,
    Write,
    StrongRead,
    StrongWrite,
}

impl Touch {
    fn index(self) -> usize {
        self as usize
    }

    const ALL: [Touch; 4] = [
        Touch::Read,
        Touch::Write,
        Touch::StrongRead,
        Touch::StrongWrite,
    ];

    pub fn writes(self) -> bool {
        matches!(self, Touch::Write | Touch::StrongWrite)
    }

    fn strong(self) -> bool {
        matches!(self, Touch::StrongRead | Touch::StrongWrite)
    }

    /// Would two unordered touches of one byte be a race?
    pub fn races(self, other: Touch) -> bool {
        (self.writes() || other.writes()) && !(self.strong() && other.strong())
    }
}

type Bits = [u64; WORDS];

/// One page: bits for each kind of touch, and which instruction first read and wrote each word.
#[derive(Clone)]
struct Page {
    bits: [Bits; 4],
    read_by: [Pc; (PAGE / WORD) as usize],
    written_by: [Pc; (PAGE / WORD) as usize],
}

impl Page {
    fn new() -> Box<Page> {
        Box::new(Page {
            bits: [[0; WORDS]; 4],
            read_by: [Pc::MAX; (PAGE / WORD) as usize],
            written_by: [Pc::MAX; (PAGE / WORD) as usize],
        })
    }

    fn mark(&mut self, from: u64, to: u64, touch: Touch, pc: Pc) {
        set(&mut self.bits[touch as usize], from, to);
        let by = if touch.writes() {
            &mut self.written_by
        } else {
            &mut self.read_by
        };
        for w in &mut by[(from / WORD) as usize..=((to - 1) / WORD) as usize] {
            if *w == Pc::MAX {
                *w = pc;
            }
        }
    }

    fn by(&self, touch: Touch, at: u64) -> Pc {
        let w = (at / WORD) as usize;
        if touch.writes() {
            self.written_by[w]
        } else {
            self.read_by[w]
        }
    }
}

/// Sets bits `from..to`.
fn set(bits: &mut Bits, from: u64, to: u64) {
    let mut at = from;
    while at < to {
        let (w, b) = ((at / 64) as usize, at % 64);
        let n = (64 - b).min(to - at);
        bits[w] |= (u64::MAX >> (64 - n)) << b;
        at += n;
    }
}

/// A place where two footprints meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Meeting {
    pub addr: u64,
    /// Bytes of this pair of instructions that meet.
    pub bytes: u64,
    pub mine: (Touch, Option<Pc>),
    pub theirs: (Touch, Option<Pc>),
}

/// All that was touched.
#[derive(Clone, Default)]
pub struct Footprint {
    /// Copies and sets: whole ranges, no instruction.
    ranges: Vec<(u64, u64, Touch)>,
    pages: HashMap<u64, Box<Page>>,
    /// The kernel has fences, so a flag may order what it did.
    pub fences: bool,
    /// Fences that reach the host: it may be told by a flag, too.
    pub tells_host: bool,
}

impl Footprint {
    /// A copy's side, or a set.
    pub fn range(&mut self, start: u64, len: u64, touch: Touch) {
        if len > 0 {
            self.ranges.push((start, start.saturating_add(len), touch));
        }
    }

    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty() && self.pages.is_empty()
    }

    fn touch(&mut self, addr: u64, len: u64, touch: Touch, pc: Pc) {
        let mut at = addr;
        while at < addr + len {
            let end = (at / PAGE + 1) * PAGE;
            let to = end.min(addr + len);
            self.pages.entry(at / PAGE).or_insert_with(Page::new).mark(
                at % PAGE,
                (to - 1) % PAGE + 1,
                touch,
                pc,
            );
            at = to;
        }
    }

    fn merge(&mut self, other: Footprint) {
        for (n, p) in other.pages {
            match self.pages.get_mut(&n) {
                None => {
                    self.pages.insert(n, p);
                }
                Some(mine) => {
                    for (a, b) in mine.bits.iter_mut().flatten().zip(p.bits.iter().flatten()) {
                        *a |= b;
                    }
                    let by = |a: &mut [Pc], b: &[Pc]| {
                        for (a, b) in a.iter_mut().zip(b) {
                            *a = (*a).min(*b);
                        }
                    };
                    by(&mut mine.read_by, &p.read_by);
                    by(&mut mine.written_by, &p.written_by);
                }
            }
        }
        self.ranges.extend(other.ranges);
    }

    /// Leaves out a part of memory.
    pub fn forget(&mut self, start: u64, len: u64) {
        let end = start.saturating_add(len);
        let mut kept = Vec::new();
        for (a, b, t) in self.ranges.drain(..) {
            kept.extend([(a, b.min(start), t), (a.max(end), b, t)]);
        }
        kept.retain(|(a, b, _)| a < b);
        self.ranges = kept;
        self.pages.retain(|n, p| {
            let (from, to) = (start.max(n * PAGE), end.min((n + 1) * PAGE));
            if from < to {
                let mut gone = [0; WORDS];
                set(&mut gone, from - n * PAGE, to - n * PAGE);
                for bits in &mut p.bits {
                    bits.iter_mut().zip(&gone).for_each(|(b, g)| *b &= !g);
                }
            }
            p.bits.iter().flatten().any(|b| *b != 0)
        });
    }

    /// Stretches inside a part of memory that may have been touched, and whether they were written; pages are not cut.
    pub fn spans(&self, start: u64, end: u64) -> Vec<(u64, u64, bool)> {
        let ranges = self.ranges.iter().map(|(a, b, t)| (*a, *b, t.writes()));
        let pages = self.pages.iter().map(|(n, p)| {
            let written = Touch::ALL
                .iter()
                .filter(|t| t.writes())
                .any(|t| p.bits[t.index()].iter().any(|w| *w != 0));
            (n * PAGE, (n + 1) * PAGE, written)
        });
        ranges
            .chain(pages)
            .map(|(a, b, w)| (a.max(start), b.min(end), w))
            .filter(|(a, b, _)| a < b)
            .collect()
    }

    /// Everything as bits of one page; ranges are cut to it.
    fn page(&self, number: u64) -> [Bits; 4] {
        let mut bits = self.pages.get(&number).map_or([[0; WORDS]; 4], |p| p.bits);
        let start = number * PAGE;
        for (a, b, t) in &self.ranges {
            let (from, to) = ((*a).max(start), (*b).min(start + PAGE));
            if from < to {
                set(&mut bits[*t as usize], from - start, to - start);
            }
        }
        bits
    }

    fn by(&self, addr: u64, touch: Touch) -> Option<Pc> {
        let page = self.pages.get(&(addr / PAGE))?;
        let at = addr % PAGE;
        let set = page.bits[touch as usize][(at / 64) as usize] >> (at % 64) & 1 == 1;
        (set && page.by(touch, at) != Pc::MAX).then(|| page.by(touch, at))
    }

    /// Pages on which both may have something, in order.
    fn common(&self, other: &Footprint) -> Vec<u64> {
        let mut out: Vec<u64> = Vec::new();
        let (small, large) = if self.pages.len() <= other.pages.len() {
            (self, other)
        } else {
            (other, self)
        };
        out.extend(small.pages.keys().filter(|n| large.pages.contains_key(n)));
        for (x, y) in [(self, other), (other, self)] {
            for (a, b, _) in &x.ranges {
                let (first, last) = (a / PAGE, (b - 1) / PAGE);
                if last - first < y.pages.len() as u64 {
                    out.extend((first..=last).filter(|n| y.pages.contains_key(n)));
                } else {
                    out.extend(y.pages.keys().filter(|n| (first..=last).contains(n)));
                }
            }
        }
        for (a, b, _) in &self.ranges {
            for (c, d, _) in &other.ranges {
                let (from, to) = ((*a).max(*c), (*b).min(*d));
                if from < to {
                    out.extend(from / PAGE..=(to - 1) / PAGE);
                }
            }
        }
        out.sort_unstable();
        out.dedup();
        out
    }

    /// Where the two race, one entry for each pair of instructions (a copy counts as one), at most `most`.
    pub fn meetings(&self, other: &Footprint, most: usize) -> Vec<Meeting> {
        let mut out: Vec<Meeting> = Vec::new();
        for number in self.common(other) {
            let (mine, theirs) = (self.page(number), other.page(number));
            for a in Touch::ALL {
                for b in Touch::ALL.into_iter().filter(|b| a.races(*b)) {
                    for w in 0..WORDS {
                        let mut both = mine[a as usize][w] & theirs[b as usize][w];
                        while both != 0 {
                            let addr =
                                number * PAGE + w as u64 * 64 + u64::from(both.trailing_zeros());
                            both &= both - 1;
                            let m = Meeting {
                                addr,
                                bytes: 1,
                                mine: (a, self.by(addr, a)),
                                theirs: (b, other.by(addr, b)),
                            };
                            let same = |k: &Meeting| k.mine == m.mine && k.theirs == m.theirs;
                            match out.iter().position(same) {
                                Some(k) => out[k].bytes += 1,
                                None if out.len() < most => out.push(m),
                                None => return out,
                            }
                        }
                    }
                }
            }
        }
        out
    }

    /// May one have told the other by a flag that its data is there? Both have fences and meet in a strong write and a
    /// strong access.
    pub fn may_signal(&self, other: &Footprint) -> bool {
        if !self.fences || !other.fences {
            return false;
        }
        let strong = |p: &[Bits; 4], w: usize| {
            p[Touch::StrongRead as usize][w] | p[Touch::StrongWrite as usize][w]
        };
        self.common(other).into_iter().any(|n| {
            let (a, b) = (self.page(n), other.page(n));
            (0..WORDS).any(|w| {
                strong(&a, w) & b[Touch::StrongWrite as usize][w] != 0
                    || strong(&b, w) & a[Touch::StrongWrite as usize][w] != 0
            })
        })
    }
}

/// Watches for somebody else, and keeps the footprint.
pub struct Traced<'a, O> {
    inner: O,
    mine: Footprint,
    all: &'a Mutex<Footprint>,
}

impl<'a, O> Traced<'a, O> {
    pub fn new(inner: O, all: &'a Mutex<Footprint>) -> Self {
        Traced {
            inner,
            mine: Footprint::default(),
            all,
        }
    }
}

fn class(what: What, s: Strength) -> Touch {
    let strong = match s {
        Strength::Weak => false,
        Strength::Relaxed(c)
        | Strength::Acquire(c)
        | Strength::Release(c)
        | Strength::AcqRel(c) => c != Scope::Cta,
    };
    match (what, strong) {
        (What::Read, false) => Touch::Read,
        (What::Read, true) => Touch::StrongRead,
        (What::Write | What::Atomic, false) => Touch::Write,
        (What::Write | What::Atomic, true) => Touch::StrongWrite,
    }
}

impl<const W: usize, O: Observer<W>> Observer<W> for Traced<'_, O> {
    const ON: bool = true;

    fn restart(&mut self, block: u32) {
        self.inner.restart(block);
    }

    #[inline(always)]
    fn wants(&mut self, _: Pc, _: u64) -> bool {
        true
    }

    fn access(&mut self, a: &Access<'_, W>) {
        if a.space != Space::Shared {
            let touch = class(a.what, a.strength);
            let mut run: Option<(u64, u64)> = None;
            for l in lanes(a.mask) {
                let (from, to) = (a.at(l), a.at(l) + u64::from(a.size));
                run = match run {
                    // Neighbouring lanes mostly touch neighbouring words.
                    Some((x, y)) if y == from => Some((x, to)),
                    Some((x, y)) => {
                        self.mine.touch(x, y - x, touch, a.pc);
                        Some((from, to))
                    }
                    None => Some((from, to)),
                };
            }
            if let Some((x, y)) = run {
                self.mine.touch(x, y - x, touch, a.pc);
            }
        }
        if O::ON && self.inner.wants(a.pc, a.mask) {
            self.inner.access(a);
        }
    }

    fn barrier(&mut self, waited: &[u16], arrived: &[u16]) {
        self.inner.barrier(waited, arrived);
    }

    fn warp_sync(&mut self, warp: u16, active: u64, members: u64, live: u64) {
        self.inner.warp_sync(warp, active, members, live);
    }

    fn fence(&mut self, warp: u16, stamp: u64, mask: u64, scope: Scope) {
        self.inner.fence(warp, stamp, mask, scope);
    }

    fn acquired(&mut self, warp: u16, mask: u64, addrs: &[u64; W]) {
        self.inner.acquired(warp, mask, addrs);
    }

    fn in_flight(&mut self, copy: (Pc, u32), by: (Pc, u32, What), at: u64) {
        self.inner.in_flight(copy, by, at);
    }

    fn finish(&mut self) {
        self.inner.finish();
    }
}

/// A core that has no more blocks hands over what all of them touched.
impl<O> Drop for Traced<'_, O> {
    fn drop(&mut self) {
        if let Ok(mut all) = self.all.lock() {
            all.merge(std::mem::take(&mut self.mine));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// A list of touches, byte by byte, is what footprints must agree with.
    #[derive(Default)]
    struct Naive(Vec<(u64, Touch, Option<Pc>)>);

    impl Naive {
        fn racing(&self, other: &Naive) -> BTreeSet<u64> {
            let pairs = self
                .0
                .iter()
                .flat_map(|a| other.0.iter().map(move |b| (a, b)));
            pairs
                .filter(|(a, b)| a.0 == b.0 && a.1.races(b.1))
                .map(|(a, _)| a.0)
                .collect()
        }
    }

    #[test]
    fn they_meet_where_a_naive_list_says() {
        let mut seed = 7u64;
        let mut random = |below: u64| {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            seed % below
        };
        for _ in 0..400 {
            let mut one = || {
                let (mut f, mut n) = (Footprint::default(), Naive::default());
                for _ in 0..1 + random(6) {
                    let (at, len) = (4096 + random(2200), 1 + random(200));
                    let t = Touch::ALL[random(4) as usize];
                    let pc = if random(2) == 0 {
                        f.range(at, len, t);
                        None
                    } else {
                        let pc = random(5) as Pc;
                        f.touch(at, len, t, pc);
                        Some(pc)
                    };
                    n.0.extend((at..at + len).map(|x| (x, t, pc)));
                }
                (f, n)
            };
            let ((a, x), (b, y)) = (one(), one());
            let found = a.meetings(&b, usize::MAX);
            let racing = x.racing(&y);
            assert_eq!(found.is_empty(), racing.is_empty());
            for m in &found {
                assert!(racing.contains(&m.addr));
                assert!(m.mine.0.races(m.theirs.0));
            }
            let total: u64 = found.iter().map(|m| m.bytes).sum();
            assert!(total >= racing.len() as u64);
        }
    }
}

//! The shadow of 32 neighbouring grains, for programs that only barriers order: GRace-addr's maps, by ranges.
//!
//! Paper: Zheng, Ravi, Qin and Agrawal, "GRace: a low-overhead mechanism for detecting data races in GPU programs",
//! PPoPP 2011, Algorithm 4.
//! Guarantee: as for `cell`, which is the specification: a grain clashes here if and only if it does there.
//! Cost: constant time and space. A warp that touches 32 neighbours is one entry and one comparison of bit masks.
//!
//! A line is *slim* as long as four entries describe it, else *fat*: for each grain the last writer, two readers and
//! two updaters. An entry says who (`key`: block, phase, warp), how and where (`site`), and which grains (`mask`).
//!
//! | rule      | when                                             | then                                          |
//! |-----------|--------------------------------------------------|-----------------------------------------------|
//! | own       | the entry is mine, of the same kind              | its grains need no record                     |
//! | history   | ordered before me, of the same kind              | I take its grains over                        |
//! | company   | two others read (or update) it, `enough` for me  | no record: whom I clash with meets one of them |
//! | again     | the same access was recorded in this phase       | nothing: whoever came since has met it        |
//! | clash     | unordered, and not both reads or both atomics    | a race                                        |
//!
//! Two are enough if they are of different blocks, or both of mine: whoever comes after both then comes after me.
//!
//! Paper -> code: rWarpShmMap and wWarpShmMap = entries of my key; rBlockShmMap and wBlockShmMap = the others.
//! Deviations: 1. those of `cell`. 2. Maps are not cleared at barriers: keys carry the phase, and are compared.
//! 3. Atomics are a kind of their own. Not covered: fences, scopes, named barriers, independent lanes; see `full`.

use super::settled::Settled;

/// What an access does to a grain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Read = 0,
    Write = 1,
    Atomic = 2,
}

/// Grains of a line.
pub const LINE: u32 = 32;
const SLOTS: usize = 4;

/// Who accesses: block + 1, phase, warp, from the top. Zero is nobody.
pub type Key = u64;
const WARP_BITS: u32 = 5;
/// Phases of a block that keys can tell apart.
pub const MAX_PHASES: u32 = 1 << (32 - WARP_BITS);
/// Instructions that sites can tell apart.
pub const MAX_PC: usize = 1 << 20;

/// The present of a warp.
#[derive(Clone, Copy, Debug)]
pub struct Me {
    pub key: Key,
    block: Key,
    phase: Key,
}

impl Me {
    pub fn new(block: u32, phase: u32, warp: u16) -> Me {
        let block = u64::from(block + 1) << 32;
        let phase = u64::from(phase) << WARP_BITS;
        Me {
            key: block | phase | u64::from(warp),
            block,
            phase,
        }
    }

    /// Me until the next barrier, whichever warp.
    #[inline(always)]
    pub fn until(&self) -> u64 {
        self.block | self.phase
    }

    /// Nobody, or of my block before the last barrier.
    #[inline(always)]
    fn after(&self, key: Key) -> bool {
        key.wrapping_sub(self.block) < self.phase || key == 0
    }

    /// Cannot race with me.
    #[inline(always)]
    fn ordered(&self, key: Key) -> bool {
        key == self.key || self.after(key)
    }
}

/// Block, phase and warp of a key.
pub fn who(key: Key) -> (u32, u32, u16) {
    let low = key as u32;
    (
        ((key >> 32) as u32).wrapping_sub(1),
        low >> WARP_BITS,
        (low & ((1 << WARP_BITS) - 1)) as u16,
    )
}

/// An instruction and how its lanes lie in a line: pc, grains per lane (as a power), first lane, kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Site(u32);

impl Site {
    /// One lane accesses all grains of the entry.
    #[inline(always)]
    pub fn single(pc: u32, kind: Kind, lane: u32) -> Site {
        Site::new(pc, kind, LINE.trailing_zeros(), lane, 0)
    }

    /// `lane` accesses the grains that begin at `grain` of the line, the next lane the next ones.
    #[inline(always)]
    pub fn new(pc: u32, kind: Kind, power: u32, lane: u32, grain: u32) -> Site {
        let shift = lane + 32 - (grain >> power);
        Site(pc << 12 | power << 9 | shift << 2 | kind as u32)
    }

    pub fn pc(self) -> u32 {
        self.0 >> 12
    }

    #[inline(always)]
    fn kind(self) -> u32 {
        self.0 & 3
    }

    pub fn what(self) -> Kind {
        match self.kind() {
            0 => Kind::Read,
            1 => Kind::Write,
            _ => Kind::Atomic,
        }
    }

    /// The lane that accesses a grain of the line.
    pub fn lane(self, grain: u32) -> u32 {
        let shift = self.0 >> 2 & 0x7f;
        ((grain >> (self.0 >> 9 & 7)) + shift).wrapping_sub(32)
    }
}

/// The earlier side of a race.
#[derive(Clone, Copy, Debug)]
pub struct Clash {
    pub key: Key,
    pub site: Site,
    /// Grain of the line.
    pub grain: u32,
}

/// Which grains have others of my kind, by where those come from.
#[derive(Default)]
struct Company {
    /// One and two warps of my block.
    one: u32,
    two: u32,
    /// The first other block that was met, and the rest.
    there: u32,
    elsewhere: u32,
    block: u32,
}

impl Company {
    #[inline(always)]
    fn add(&mut self, hit: u32, me: &Me, key: Key) {
        let block = (key >> 32) as u32;
        if u64::from(block) << 32 == me.block {
            self.two |= self.one & hit;
            self.one |= hit;
        } else if self.block == 0 || self.block == block {
            self.block = block;
            self.there |= hit;
        } else {
            self.elsewhere |= hit;
        }
    }

    /// Grains that need no second look; `own` are those that I have marked myself.
    #[inline(always)]
    fn settled(&self, own: u32) -> Settled {
        let (mine, others) = (self.one | own, self.there | self.elsewhere);
        Settled {
            ever: (mine & others) | (self.there & self.elsewhere),
            phase: self.two | (self.one & own),
        }
    }

    #[inline(always)]
    fn enough(&self) -> u32 {
        self.two | (self.one & (self.there | self.elsewhere)) | (self.there & self.elsewhere)
    }
}

/// A line: slim, or the number of its fat form.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(64))]
pub struct Line {
    keys: [Key; SLOTS],
    masks: [u32; SLOTS],
    sites: [Site; SLOTS],
}

const _: () = assert!(size_of::<Line>() == 64);

/// In `keys[0]`: the line is fat, and `masks[0]` is its number.
const FAT: Key = Key::MAX;

/// Who did something to a grain, and where in the program.
#[derive(Clone, Copy, Debug)]
struct Marks<const N: usize> {
    keys: [Key; N],
    sites: [Site; N],
}

impl<const N: usize> Default for Marks<N> {
    fn default() -> Self {
        Marks {
            keys: [0; N],
            sites: [Site::default(); N],
        }
    }
}

/// A line grain by grain: the last write, two readers and two updaters of different warps.
#[derive(Clone, Debug, Default)]
struct Fat {
    /// The write first, then the reads.
    plain: [Marks<3>; LINE as usize],
    /// Made when the first atomic comes.
    updates: Vec<Marks<2>>,
}

impl Fat {
    fn clear(&mut self) {
        self.plain.fill(Marks::default());
        self.updates.clear();
    }

    fn updates(&mut self, g: usize) -> &mut Marks<2> {
        if self.updates.is_empty() {
            self.updates.resize(LINE as usize, Marks::default());
        }
        &mut self.updates[g]
    }
}

/// The lines of a stretch of memory.
#[derive(Debug, Default)]
pub struct Sheet {
    lines: Vec<Line>,
    #[allow(clippy::vec_box)] // a fat line is large: growing the list must not move them
    fats: Vec<Box<Fat>>,
    /// Of `fats`, those that belong to lines; the others wait for use.
    used: usize,
    /// Memory of one block: nobody else can race with what lies before its last barrier.
    private: bool,
}

impl Sheet {
    pub fn new(lines: usize, private: bool) -> Sheet {
        Sheet {
            lines: vec![Line::default(); lines],
            fats: Vec::new(),
            used: 0,
            private,
        }
    }

    pub fn clear(&mut self) {
        self.lines.fill(Line::default());
        self.used = 0;
    }

    pub fn bytes(&self) -> usize {
        let fat = |f: &Fat| size_of::<Fat>() + f.updates.capacity() * size_of::<Marks<2>>();
        self.lines.len() * size_of::<Line>() + self.fats.iter().map(|f| fat(f)).sum::<usize>()
    }

    /// Checks an access of the grains `m` of a line and leaves its mark. Clashes are told to `tell`, before the mark.
    /// Gives what is settled for reads and atomics.
    #[inline(always)]
    pub fn touch(
        &mut self,
        line: usize,
        m: u32,
        me: &Me,
        kind: Kind,
        site: Site,
        tell: &mut impl FnMut(Clash),
    ) -> Settled {
        let l = &mut self.lines[line];
        if l.keys[0] == FAT {
            let fat = &mut self.fats[l.masks[0] as usize];
            return fat.touch(m, me, kind, site, tell);
        }
        for s in 0..SLOTS {
            // Done before in this phase: whoever came in between has met that mark.
            if l.keys[s] == me.key && l.sites[s] == site && l.masks[s] & m == m {
                return Settled::default();
            }
        }
        let (mut own, mut clash, mut company) = (0u32, 0u32, Company::default());
        for s in 0..SLOTS {
            let hit = l.masks[s] & m;
            if hit == 0 {
                continue;
            }
            let alike = l.sites[s].kind() == kind as u32;
            if l.keys[s] == me.key {
                if alike && (kind != Kind::Write || l.sites[s] == site) {
                    own |= hit;
                } else if alike {
                    // The last write of a warp is the one whose value stays.
                    l.masks[s] &= !m;
                }
            } else if me.after(l.keys[s]) {
                if alike {
                    l.masks[s] &= !m;
                }
            } else if alike && kind != Kind::Write {
                company.add(hit, me, l.keys[s]);
            } else {
                clash |= 1 << s;
            }
        }
        if clash != 0 {
            l.clashes(clash, m, kind, tell);
        }
        let need = m & !own & !company.enough();
        if need != 0 && !l.record(need, me, site, self.private) {
            self.fatten(line);
            let fat = &mut self.fats[self.used - 1];
            fat.touch(need, me, kind, site, &mut |_| {});
        }
        if clash == 0 {
            company.settled(own)
        } else {
            Settled::default()
        }
    }

    #[cold]
    #[inline(never)]
    fn fatten(&mut self, line: usize) {
        if self.used == self.fats.len() {
            self.fats.push(Box::default());
        } else {
            self.fats[self.used].clear();
        }
        let fat = &mut self.fats[self.used];
        let l = &mut self.lines[line];
        for s in 0..SLOTS {
            for g in (0..LINE as usize).filter(|g| l.masks[s] >> g & 1 == 1) {
                let (key, site) = (l.keys[s], l.sites[s]);
                match site.what() {
                    Kind::Write => fat.plain[g].set(0, key, site),
                    Kind::Read => fat.plain[g].adopt(1, key, site),
                    Kind::Atomic => fat.updates(g).adopt(0, key, site),
                }
            }
        }
        l.keys[0] = FAT;
        l.masks[0] = self.used as u32;
        self.used += 1;
    }
}

impl Line {
    #[cold]
    #[inline(never)]
    fn clashes(&mut self, slots: u32, m: u32, kind: Kind, tell: &mut impl FnMut(Clash)) {
        for s in (0..SLOTS).filter(|s| slots >> s & 1 == 1) {
            let hit = self.masks[s] & m;
            for grain in (0..LINE).filter(|g| hit >> g & 1 == 1) {
                tell(Clash {
                    key: self.keys[s],
                    site: self.sites[s],
                    grain,
                });
            }
            if kind == Kind::Write && self.sites[s].what() == Kind::Write {
                self.masks[s] &= !m;
            }
        }
    }

    /// False if there is no room.
    #[inline(always)]
    fn record(&mut self, need: u32, me: &Me, site: Site, private: bool) -> bool {
        let mut free = SLOTS;
        for s in 0..SLOTS {
            if self.masks[s] == 0 || (private && me.after(self.keys[s])) {
                if free == SLOTS {
                    free = s;
                }
            } else if self.keys[s] == me.key && self.sites[s] == site {
                self.masks[s] |= need;
                return true;
            }
        }
        if free == SLOTS {
            return false;
        }
        self.keys[free] = me.key;
        self.masks[free] = need;
        self.sites[free] = site;
        true
    }
}

impl<const N: usize> Marks<N> {
    #[inline(always)]
    fn set(&mut self, k: usize, key: Key, site: Site) {
        self.keys[k] = key;
        self.sites[k] = site;
    }

    /// Tells of a mark that clashes.
    #[inline(always)]
    fn meet(&self, k: usize, g: usize, me: &Me, tell: &mut impl FnMut(Clash)) {
        if !me.ordered(self.keys[k]) {
            tell(Clash {
                key: self.keys[k],
                site: self.sites[k],
                grain: g as u32,
            });
        }
    }

    /// Notes what the pair at `k` settles.
    #[inline(always)]
    fn settled(&self, k: usize, g: usize, me: &Me, s: &mut Settled) {
        let (a, b) = (self.keys[k], self.keys[k + 1]);
        if a == 0 || b == 0 {
            return;
        }
        if a >> 32 != b >> 32 {
            s.ever |= 1 << g;
        } else if !me.after(a) && !me.after(b) && a >> 32 == me.key >> 32 {
            s.phase |= 1 << g;
        }
    }

    /// Takes one of a slim line's entries into the pair at `k`.
    fn adopt(&mut self, k: usize, key: Key, site: Site) {
        let (a, b) = (self.keys[k], self.keys[k + 1]);
        if a == 0 {
            self.set(k, key, site);
        } else if b == 0 || a >> 32 == b >> 32 {
            self.set(k + 1, key, site);
        }
    }

    /// Keeps two of different warps in the pair at `k`, if possible of different blocks; that is company enough.
    #[inline(always)]
    fn join(&mut self, k: usize, me: &Me, site: Site) {
        let (a, b) = (self.keys[k], self.keys[k + 1]);
        if a == me.key || b == me.key {
            return;
        }
        if me.after(a) {
            self.set(k, me.key, site);
        } else if me.after(b) || (a >> 32 == b >> 32 && a >> 32 != me.key >> 32) {
            self.set(k + 1, me.key, site);
        }
    }
}

impl Fat {
    #[inline(always)]
    fn touch(
        &mut self,
        mut m: u32,
        me: &Me,
        kind: Kind,
        site: Site,
        tell: &mut impl FnMut(Clash),
    ) -> Settled {
        let mut settled = Settled::default();
        let mut clash = false;
        let tell = &mut |c: Clash| {
            clash = true;
            tell(c);
        };
        while m != 0 {
            let g = m.trailing_zeros() as usize;
            m &= m - 1;
            let p = &mut self.plain[g];
            p.meet(0, g, me, tell);
            if kind != Kind::Read {
                p.meet(1, g, me, tell);
                p.meet(2, g, me, tell);
            }
            match kind {
                Kind::Write => p.set(0, me.key, site),
                Kind::Read => {
                    p.join(1, me, site);
                    p.settled(1, g, me, &mut settled);
                }
                Kind::Atomic => {
                    let u = self.updates(g);
                    u.join(0, me, site);
                    u.settled(0, g, me, &mut settled);
                    continue;
                }
            }
            if let Some(u) = self.updates.get(g) {
                u.meet(0, g, me, tell);
                u.meet(1, g, me, tell);
            }
        }
        if clash { Settled::default() } else { settled }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sites_and_keys_come_back() {
        let s = Site::new(1234, Kind::Write, 2, 5, 8);
        assert_eq!((s.pc(), s.what()), (1234, Kind::Write));
        assert_eq!((s.lane(8), s.lane(11), s.lane(12)), (5, 5, 6));
        assert_eq!(Site::new(1, Kind::Read, 0, 0, 31).lane(31), 0);
        assert_eq!(Site::new(1, Kind::Read, 0, 63, 0).lane(0), 63);
        assert_eq!(Site::single(1, Kind::Read, 40).lane(31), 40);
        let me = Me::new(7, 9, 31);
        assert_eq!(who(me.key), (7, 9, 31));
    }

    /// All accesses of a grain, compared pair by pair.
    #[derive(Default)]
    struct Naive(Vec<(u32, u32, u16, Kind)>);

    impl Naive {
        fn touch(&mut self, me: (u32, u32, u16), kind: Kind) -> bool {
            let clash = self.0.iter().any(|o| {
                let unordered = o.0 != me.0 || (o.1 == me.1 && o.2 != me.2);
                unordered && !(o.3 == kind && kind != Kind::Write)
            });
            self.0.push((me.0, me.1, me.2, kind));
            clash
        }
    }

    #[test]
    fn a_grain_clashes_when_two_of_its_accesses_do() {
        let mut state = 0x2545_f491_4f6c_dd1du64;
        let mut dice = |n: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 11) % n
        };
        let mut fat = 0;
        for round in 0..4000 {
            let blocks = 1 + round % 3;
            let mut sheet = Sheet::new(2, blocks == 1);
            let mut naive: Vec<Naive> = (0..64).map(|_| Naive::default()).collect();
            let mut racy = [false; 64];
            let mut phases = [0u32; 3];
            for _ in 0..4 + dice(60) {
                let block = dice(blocks) as u32;
                if dice(5) == 0 {
                    phases[block as usize] += 1;
                }
                let phase = phases[block as usize];
                let warp = dice(4) as u16;
                let kind = [Kind::Read, Kind::Read, Kind::Write, Kind::Atomic][dice(4) as usize];
                let line = dice(2) as usize;
                let (first, count) = (dice(32) as u32, 1 + dice(32) as u32);
                let count = if dice(2) == 0 {
                    1
                } else {
                    count.min(32 - first)
                };
                let m = ((1u64 << count) - 1) as u32;
                let me = Me::new(block, phase, warp);
                let site = Site::new(dice(3) as u32, kind, 0, 0, first);
                sheet.touch(line, m << first, &me, kind, site, &mut |c| {
                    racy[line * 32 + c.grain as usize] = true;
                });
                for g in first..first + count {
                    let g = line * 32 + g as usize;
                    let want = naive[g].touch((block, phase, warp), kind);
                    // Once a grain has raced, which later pairs are named is left open.
                    assert!(!racy[g] || want || naive[g].0.is_empty() || racy_before(&naive[g]));
                    assert!(
                        racy[g] || !want,
                        "round {round}: a race of grain {g} is lost"
                    );
                }
            }
            fat += sheet.used;
        }
        assert!(fat > 100);
    }

    fn racy_before(n: &Naive) -> bool {
        let mut again = Naive::default();
        n.0.iter().any(|o| again.touch((o.0, o.1, o.2), o.3))
    }
}

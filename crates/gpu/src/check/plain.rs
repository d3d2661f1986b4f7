//! The checker for programs that only block-wide barriers order, in lockstep: most programs. Lines of grains instead
//! of single cells; see `line` for the rules.

use crate::machine::access::lanes;
use crate::machine::program::{Kind as OpKind, Program, Scope, Strength};
use crate::machine::{Access, Shape, What};
use crate::ptx::Space;

use super::cut::Cut;
use super::line::{Clash, Kind, LINE, MAX_PC, Me, Sheet, Site, who};
use super::log::{Actor, Log};
use super::pages::{PAGE, PageCache, Pages};
use super::race::Relation;
use super::settled::Memo;
use super::spin::Spin;

/// Shadow of a page of global memory.
#[derive(Debug)]
pub struct Ground {
    sheet: Sheet,
    /// What was last written, once anything was.
    values: Vec<u8>,
}

pub type GroundPages = Pages<Spin<Ground>>;

impl Ground {
    fn new(grain: u32) -> Spin<Ground> {
        Spin::new(Ground {
            sheet: Sheet::new((PAGE / u64::from(grain * LINE)) as usize, false),
            values: Vec::new(),
        })
    }
}

/// Bytes of shadow for global memory.
pub fn bytes(pages: &GroundPages) -> u64 {
    pages.bytes(|p| {
        let g = p.lock();
        g.sheet.bytes() + g.values.len()
    })
}

/// Do barriers alone order what this program does? (The caller has seen that there are no fences, named barriers or
/// independent lanes.)
pub fn fits(p: &Program, threads: u32) -> bool {
    let fits = |o: &OpKind| match *o {
        OpKind::Ld {
            space,
            ty,
            n,
            strength,
            ..
        }
        | OpKind::St {
            space,
            ty,
            n,
            strength,
        } => {
            let local = matches!(space, Space::Shared | Space::Local | Space::Param);
            ty.bytes() * u32::from(n) <= p.grain * LINE && (strength == Strength::Weak || local)
        }
        OpKind::Atom {
            space, strength, ..
        } => {
            space == Space::Shared || matches!(strength, Strength::Relaxed(Scope::Gpu | Scope::Sys))
        }
        OpKind::CpAsync => 16 <= p.grain * LINE,
        _ => true,
    };
    threads <= 1024 && p.ops.len() < MAX_PC && p.ops.iter().all(|o| fits(&o.kind))
}

fn kind(what: What) -> Kind {
    match what {
        What::Read => Kind::Read,
        What::Write => Kind::Write,
        What::Atomic => Kind::Atomic,
    }
}

fn what(kind: Kind) -> What {
    match kind {
        Kind::Read => What::Read,
        Kind::Write => What::Write,
        Kind::Atomic => What::Atomic,
    }
}

/// The part of a lane's value that lies `off` bytes into its access.
#[inline(always)]
pub fn value_at<const W: usize>(
    a: &Access<'_, W>,
    lane: usize,
    off: u32,
    grain: u32,
) -> Option<u64> {
    let n = a.values.len() as u32;
    let each = a.size.checked_div(n)?;
    let v = a.values[((off / each) as usize).min(a.values.len() - 1)][lane];
    let v = v >> ((off % each) * 8);
    Some(if grain >= 8 {
        v
    } else {
        v & ((1 << (grain * 8)) - 1)
    })
}

fn stored(m: &[u8], at: usize, grain: u32) -> Option<u64> {
    let mut b = [0u8; 8];
    let n = grain.min(8) as usize;
    b[..n].copy_from_slice(m.get(at..at + n)?);
    Some(u64::from_le_bytes(b))
}

/// Marks lines of shared memory among those of global memory.
const SHARED: u64 = 1 << 63;

/// A clash with what the report needs of it.
struct Found {
    clash: Clash,
    mine: Site,
    addr: u64,
    same: bool,
}

/// What a clash at an address means: do both write the same?
#[cold]
fn met<const W: usize>(
    a: &Access<'_, W>,
    clash: Clash,
    mine: Site,
    (addr, grain): (u64, u32),
    old: Option<u64>,
) -> Found {
    let writes = a.what == What::Write && clash.site.what() == Kind::Write;
    let lane = mine.lane(clash.grain) as usize;
    let off = addr.wrapping_sub(a.at(lane)) as u32;
    let same = writes && old.is_some() && value_at(a, lane, off, grain) == old;
    Found {
        clash,
        mine,
        addr,
        same,
    }
}

/// Watches one block.
pub struct Plain {
    grain: u32,
    shift: u32,
    sheet: Sheet,
    cache: PageCache<Spin<Ground>>,
    found: Vec<Found>,
    memo: Memo,
}

impl Plain {
    pub fn new(shared_bytes: u32, grain: u32) -> Plain {
        Plain {
            grain,
            shift: grain.trailing_zeros(),
            sheet: Sheet::new(shared_bytes.div_ceil(grain * LINE) as usize, true),
            cache: PageCache::default(),
            found: Vec::new(),
            memo: Memo::default(),
        }
    }

    pub fn restart(&mut self) {
        self.sheet.clear();
    }

    pub fn shadow_bytes(&self) -> usize {
        self.sheet.bytes()
    }

    fn cut<const W: usize>(&self, a: &Access<'_, W>) -> Cut {
        Cut {
            pc: a.pc,
            kind: kind(a.what),
            shift: self.shift,
            power: (a.size >> self.shift).trailing_zeros(),
        }
    }

    /// Shared memory.
    #[inline(always)]
    pub fn shared<const W: usize>(&mut self, a: &Access<'_, W>, mask: u64, me: &Me, log: &mut Log) {
        let cut = self.cut(a);
        let Plain {
            sheet,
            memo,
            found,
            grain,
            ..
        } = self;
        // Reads take no lock here, so that looking is as cheap as remembering.
        let again = cut.kind == Kind::Atomic;
        cut.pieces(a, mask, 0, |p| {
            let line = p.line as u64 | SHARED;
            if again && memo.knows(line, p.mask, me, cut.pc, cut.kind) {
                return;
            }
            let s = sheet.touch(p.line, p.mask, me, cut.kind, p.site, &mut |clash| {
                let addr = u64::from(p.line as u32 * LINE + clash.grain) << cut.shift;
                let old = stored(a.before, addr as usize, *grain);
                found.push(met(a, clash, p.site, (addr, *grain), old));
            });
            if again {
                memo.learn(line, s, me, cut.pc, cut.kind);
            }
        });
        self.finish(a, mask, me, Space::Shared, log);
    }

    /// Global memory, page by page.
    #[inline(always)]
    pub fn global<const W: usize>(
        &mut self,
        a: &Access<'_, W>,
        mask: u64,
        me: &Me,
        (pages, alone): (&GroundPages, bool),
        log: &mut Log,
    ) {
        let cut = self.cut(a);
        let Plain {
            cache,
            memo,
            found,
            grain,
            ..
        } = self;
        let grain = *grain;
        let again = cut.kind != Kind::Write;
        let mut rest = mask;
        while rest != 0 {
            let number = a.at(rest.trailing_zeros() as usize) / PAGE;
            let here = on_page(a, rest, number);
            rest &= !here;
            let base = number * PAGE;
            let first = base >> cut.shift >> LINE.trailing_zeros();
            let Some(page) = cache.get(pages, number, || Ground::new(grain)) else {
                break;
            };
            // Locked when it is first needed: most reads are settled without.
            let mut held = None;
            cut.pieces(a, here, base, |p| {
                let line = first + p.line as u64;
                if again && memo.knows(line, p.mask, me, cut.pc, cut.kind) {
                    return;
                }
                let page = held.get_or_insert_with(|| {
                    if alone {
                        // SAFETY: the launch has one thread, and `held` is the only lock it holds.
                        unsafe { page.hold() }
                    } else {
                        page.lock()
                    }
                });
                let Ground { sheet, values } = &mut **page;
                let s = sheet.touch(p.line, p.mask, me, cut.kind, p.site, &mut |clash| {
                    let off = u64::from(p.line as u32 * LINE + clash.grain) << cut.shift;
                    let old = stored(values, off as usize, grain);
                    found.push(met(a, clash, p.site, (base + off, grain), old));
                });
                if again {
                    memo.learn(line, s, me, cut.pc, cut.kind);
                }
            });
            if cut.kind == Kind::Write
                && let Some(page) = &mut held
            {
                keep(a, here, base, &mut page.values);
            }
        }
        self.finish(a, mask, me, Space::Global, log);
    }

    /// Reports what was found, and what two lanes of one write did to each other.
    #[inline(always)]
    fn finish<const W: usize>(
        &mut self,
        a: &Access<'_, W>,
        mask: u64,
        me: &Me,
        space: Space,
        log: &mut Log,
    ) {
        if !self.found.is_empty() {
            self.report(a.pc, a.what, me, space, log);
        }
        if a.what == What::Write && a.shape != Shape::Run {
            twins(a, mask, |x, y, same| {
                let (block, phase, warp) = who(me.key);
                let actor = |lane: usize| Actor {
                    block,
                    phase,
                    warp,
                    lane: lane as u32,
                    pc: a.pc,
                    what: a.what,
                };
                let pair = (actor(x), actor(y));
                log.race(
                    pair,
                    space,
                    Relation::SameInstruction,
                    same,
                    a.at(x),
                    a.size,
                );
            });
        }
    }

    #[cold]
    fn report(&mut self, pc: u32, doing: What, me: &Me, space: Space, log: &mut Log) {
        let (block, phase, warp) = who(me.key);
        for f in self.found.drain(..) {
            let (b, p, w) = who(f.clash.key);
            let earlier = Actor {
                block: b,
                phase: p,
                warp: w,
                lane: f.clash.site.lane(f.clash.grain),
                pc: f.clash.site.pc(),
                what: what(f.clash.site.what()),
            };
            let mine = Actor {
                block,
                phase,
                warp,
                lane: f.mine.lane(f.clash.grain),
                pc,
                what: doing,
            };
            let relation = if b == block {
                Relation::Warps
            } else {
                Relation::Blocks
            };
            log.race((earlier, mine), space, relation, f.same, f.addr, self.grain);
        }
    }
}

/// Lanes that follow each other on a page, from the first of the mask on.
#[inline(always)]
fn on_page<const W: usize>(a: &Access<'_, W>, mask: u64, number: u64) -> u64 {
    if a.hi / PAGE == number && a.lo / PAGE == number {
        return mask;
    }
    let mut rest = mask & (mask - 1);
    while rest != 0 && a.at(rest.trailing_zeros() as usize) / PAGE == number {
        rest &= rest - 1;
    }
    if rest == 0 {
        return mask;
    }
    mask & ((1 << rest.trailing_zeros()) - 1)
}

/// Keeps the values of a write for whoever writes next.
#[inline(always)]
fn keep<const W: usize>(a: &Access<'_, W>, mask: u64, base: u64, values: &mut Vec<u8>) {
    if values.is_empty() {
        values.resize(PAGE as usize, 0);
    }
    let (first, n) = (mask.trailing_zeros() as usize, mask.count_ones() as usize);
    let at = |l: usize| (a.at(l) - base) as usize;
    let whole = mask >> first == u64::MAX >> (64 - n);
    if let ([row], 4, Shape::Run, true) = (a.values, a.size, a.shape, whole) {
        let dst = &mut values[at(first)..at(first) + n * 4];
        for (d, v) in dst.chunks_exact_mut(4).zip(&row[first..first + n]) {
            d.copy_from_slice(&(*v as u32).to_le_bytes());
        }
        return;
    }
    let Some(each) = a.size.checked_div(a.values.len() as u32) else {
        return;
    };
    let each = each as usize;
    for l in lanes(mask) {
        let dst = &mut values[at(l)..at(l) + a.size as usize];
        for (d, row) in dst.chunks_exact_mut(each).zip(a.values) {
            d.copy_from_slice(&row[l].to_le_bytes()[..each]);
        }
    }
}

/// Algorithm 2: pairs of lanes of one write that meet at one address, each with the last lane before it.
#[inline(always)]
pub fn twins<const W: usize>(a: &Access<'_, W>, mask: u64, mut f: impl FnMut(usize, usize, bool)) {
    if mask & (mask - 1) == 0 || rising(a, mask) {
        return;
    }
    // Lane + 1 by address; as many free places as taken ones, so that searches are short.
    let mut seen = [0u8; 128];
    for l in lanes(mask) {
        let at = a.at(l);
        let mut h = ((at / u64::from(a.size)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 57) as usize;
        loop {
            match seen[h] {
                0 => break,
                k if a.at(usize::from(k) - 1) == at => {
                    let x = usize::from(k) - 1;
                    let same = !a.values.is_empty() && a.values.iter().all(|v| v[x] == v[l]);
                    f(x, l, same);
                    break;
                }
                _ => h = (h + 1) % 128,
            }
        }
        seen[h] = l as u8 + 1;
    }
}

/// Every lane is above the last: no two can meet.
fn rising<const W: usize>(a: &Access<'_, W>, mask: u64) -> bool {
    let mut next = 0u64;
    lanes(mask).all(|l| {
        let ok = a.at(l) >= next;
        next = a.at(l) + 1;
        ok
    })
}

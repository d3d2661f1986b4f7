//! Asynchronous copies (`cp.async`): on their way from the instruction that starts them to the wait of their thread.
//!
//! The machine reads at the start and writes at the wait. In between nobody may touch the destination, not even the
//! thread that started the copy: whoever does is told to the watcher, which sees the copy as a write at both ends, too.

use crate::ptx::Space;

use super::access::lanes;
use super::block::Env;
use super::memory;
use super::observe::{Observer, What};
use super::ops::Row;
use super::program::{NONE, Op, Pc, SHARED_WINDOW, Strength};
use super::reach::Class;
use super::warp::Warp;

/// The machine's smallest copy, and what every copy is aligned to.
const WORD: u64 = 4;

/// A copy of a warp.
#[derive(Clone, Debug)]
pub struct Copy<const W: usize> {
    pc: Pc,
    size: u32,
    /// Lanes whose copy is still under way.
    lanes: u64,
    /// Lanes that have not put it into a group.
    open: u64,
    group: [u32; W],
    to: Row<W>,
    from: Row<W>,
    /// Lanes that read something, not only zeros.
    reads: u64,
    bytes: Box<[[u8; 16]; W]>,
}

/// The copies of a warp, oldest first, and how many groups each lane has made.
#[derive(Clone, Debug)]
pub struct Copies<const W: usize> {
    list: Vec<Copy<W>>,
    groups: [u32; W],
}

impl<const W: usize> Default for Copies<W> {
    fn default() -> Self {
        Copies {
            list: Vec::new(),
            groups: [0; W],
        }
    }
}

impl<const W: usize> Copies<W> {
    pub fn clear(&mut self) {
        self.list.clear();
        self.groups = [0; W];
    }

    fn commit(&mut self, mask: u64) {
        for l in lanes(mask) {
            self.groups[l] += 1;
        }
        for c in &mut self.list {
            for l in lanes(c.open & mask) {
                c.group[l] = self.groups[l];
            }
            c.open &= !mask;
        }
    }
}

/// Who writes a word of shared memory at some time: instruction and thread + 1; zero for nobody.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flight {
    pub pc: Pc,
    pub thread: u32,
}

/// What the groups of a lane must be for its copies to be waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// All groups but the last ones.
    Groups(u32),
    All,
}

impl<const W: usize, O: Observer<W>> Env<'_, W, O> {
    /// `cp.async`.
    pub(super) fn copy(&mut self, w: &mut Warp<W>, op: &Op, mask: u64) {
        let size = op.imm as u32;
        let (to, write) = self.addresses(w, op.a, 0, Space::Shared, mask, size);
        let (from, read) = self.addresses(w, op.b, 0, Space::Global, mask, size);
        let (write, read) = (write.apart(), read.apart());
        let take = if op.c == NONE {
            [u64::from(size); W]
        } else {
            *w.row(&self.ctx.consts, op.c)
        };
        let mut c = Copy {
            pc: w.pc,
            size,
            lanes: 0,
            open: 0,
            group: [0; W],
            to,
            from,
            reads: 0,
            bytes: Box::new([[0u8; 16]; W]),
        };
        let reads = (0..W).fold(0u64, |m, l| m | u64::from(take[l] > 0) << l) & mask;
        self.groups(w, reads, &from, size, |env, w, class, m| {
            if class != Class::Global {
                return;
            }
            c.reads |= m;
            for l in lanes(m) {
                let n = (take[l] as usize).min(size as usize);
                for (k, b) in c.bytes[l].iter_mut().enumerate().take(n) {
                    // SAFETY: `groups` found the whole access inside a live allocation.
                    *b = unsafe { memory::load(from[l] + k as u64, 1) } as u8;
                }
            }
            let (what, weak) = (What::Read, Strength::Weak);
            env.tell(w, class, m, &from, &read, size, what, weak, &[]);
        });
        self.groups(w, mask, &to, size, |env, w, class, m| {
            if class != Class::Shared {
                return;
            }
            c.lanes |= m;
            let (what, weak) = (What::Write, Strength::Weak);
            env.tell(w, class, m, &to, &write, size, what, weak, &[]);
            if O::ON {
                for l in lanes(m) {
                    let a = (to[l] & !SHARED_WINDOW) as usize;
                    env.initialize(a, a + size as usize);
                    env.depart(w.pc, u32::from(w.id) * W as u32 + l as u32, to[l], size);
                }
            }
        });
        c.open = c.lanes;
        if c.lanes != 0 {
            w.copies.list.push(c);
        }
    }

    /// `cp.async.commit_group`.
    pub(super) fn commit(&mut self, w: &mut Warp<W>, mask: u64) {
        w.copies.commit(mask);
    }

    /// `cp.async.wait_group` and `wait_all`: what is waited for arrives.
    pub(super) fn wait(&mut self, w: &mut Warp<W>, mask: u64, until: Until) {
        let mut list = std::mem::take(&mut w.copies.list);
        for c in &mut list {
            let due = lanes(c.lanes & mask).fold(0u64, |m, l| {
                let here = match until {
                    Until::All => true,
                    Until::Groups(n) => {
                        c.open >> l & 1 == 0 && c.group[l] + n <= w.copies.groups[l]
                    }
                };
                m | u64::from(here) << l
            });
            if due != 0 {
                self.arrive_copy(w, c, due);
                c.lanes &= !due;
            }
        }
        list.retain(|c| c.lanes != 0);
        w.copies.list = list;
        if matches!(until, Until::All) {
            w.copies.commit(mask);
        }
    }

    fn arrive_copy(&mut self, w: &mut Warp<W>, c: &Copy<W>, due: u64) {
        if O::ON {
            for l in lanes(due) {
                self.land(c.pc, u32::from(w.id) * W as u32 + l as u32, c.to[l], c.size);
            }
        }
        // The copy happened at any time until now.
        let at = std::mem::replace(&mut w.pc, c.pc);
        let weak = Strength::Weak;
        self.groups(w, due & c.reads, &c.from, c.size, |env, w, class, m| {
            let s = env.survey_of(&c.from, m, c.size);
            env.tell(w, class, m, &c.from, &s, c.size, What::Read, weak, &[]);
        });
        self.groups(w, due, &c.to, c.size, |env, w, class, m| {
            let s = env.survey_of(&c.to, m, c.size);
            env.tell(w, class, m, &c.to, &s, c.size, What::Write, weak, &[]);
            for l in lanes(m) {
                let a = (c.to[l] & !SHARED_WINDOW) as usize;
                let n = c.size as usize;
                env.shared[a..a + n].copy_from_slice(&c.bytes[l][..n]);
            }
        });
        w.pc = at;
    }

    fn words(to: u64, size: u32) -> std::ops::Range<usize> {
        let first = ((to & !SHARED_WINDOW) / WORD) as usize;
        first..first + (u64::from(size) / WORD) as usize
    }

    fn depart(&mut self, pc: Pc, thread: u32, to: u64, size: u32) {
        if self.flights.is_empty() {
            self.flights = vec![Flight::default(); self.shared.len().div_ceil(WORD as usize)];
        }
        for f in &mut self.flights[Self::words(to, size)] {
            self.airborne += usize::from(f.thread == 0);
            *f = Flight {
                pc,
                thread: thread + 1,
            };
        }
    }

    fn land(&mut self, pc: Pc, thread: u32, to: u64, size: u32) {
        let mine = Flight {
            pc,
            thread: thread + 1,
        };
        for f in &mut self.flights[Self::words(to, size)] {
            if *f == mine {
                *f = Flight::default();
                self.airborne -= 1;
            }
        }
    }

    /// Tells of lanes that touch what a copy is about to write.
    #[cold]
    #[inline(never)]
    pub(super) fn meet_flights(
        &mut self,
        w: &Warp<W>,
        mask: u64,
        addrs: &Row<W>,
        size: u32,
        what: What,
    ) {
        for l in lanes(mask) {
            let off = addrs[l] & !SHARED_WINDOW;
            let last = (off + u64::from(size) - 1) / WORD;
            for k in off / WORD..=last {
                let Some(f) = self.flights.get(k as usize).filter(|f| f.thread != 0) else {
                    continue;
                };
                let thread = u32::from(w.id) * W as u32 + l as u32;
                let at = (k * WORD).max(off);
                self.obs
                    .in_flight((f.pc, f.thread - 1), (w.pc, thread, what), at);
            }
        }
    }
}

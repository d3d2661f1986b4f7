//! The reconvergence stack of a warp: sides of branches that wait for their turn, and where they meet again.

use super::block::Env;
use super::observe::Observer;
use super::program::{NONE, Op, Pc};
use super::warp::Warp;

/// Lanes that wait to run at `pc`; the token of a call has `call` set.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub pc: Pc,
    pub meet: Pc,
    pub mask: u64,
    pub call: bool,
}

/// Backward branches (all ones below a power of two) before lanes at a meeting point go on alone.
const PATIENCE: u32 = 0x3fff;

impl<const W: usize> Warp<W> {
    /// The side of the stack's top that still has lanes becomes current; false when none is left.
    pub(super) fn resume(&mut self, env: &mut Env<'_, W, impl Observer<W>>) -> bool {
        loop {
            let Some(e) = self.stack.pop() else {
                return false;
            };
            if e.call {
                self.leave_call(env, e.mask);
            }
            let mask = e.mask & self.live;
            if mask != 0 {
                (self.pc, self.meet, self.mask) = (e.pc, e.meet, mask);
                return true;
            }
        }
    }

    /// Both ways of a branch have lanes: wait with one, run the other.
    pub(super) fn part(&mut self, meet: Pc, taken: (Pc, u64), other: (Pc, u64)) {
        if meet != NONE && meet != self.meet {
            self.stack.push(Entry {
                pc: meet,
                meet: self.meet,
                mask: self.mask,
                call: false,
            });
        }
        self.meet = meet;
        let (first, second) = if taken.0 == meet {
            (other, taken)
        } else {
            (taken, other)
        };
        if second.0 != meet {
            self.stack.push(Entry {
                pc: second.0,
                meet,
                mask: second.1,
                call: false,
            });
        }
        (self.pc, self.mask) = first;
    }

    pub(super) fn brx(&mut self, env: &mut Env<'_, W, impl Observer<W>>, op: &Op, mask: u64) {
        let p = env.ctx.program;
        let table = &p.tables[op.d as usize];
        let idx = *self.row(&env.ctx.consts, op.a);
        let meet = p.meet[self.pc as usize];
        let mut groups: Vec<(Pc, u64)> = Vec::new();
        for l in (0..W).filter(|l| mask >> l & 1 == 1) {
            let t = table
                .get(idx[l] as u32 as usize)
                .or(table.last())
                .copied()
                .unwrap_or(self.pc + 1);
            match groups.iter_mut().find(|g| g.0 == t) {
                Some(g) => g.1 |= 1 << l,
                None => groups.push((t, 1 << l)),
            }
        }
        if self.mask != mask {
            groups.push((self.pc + 1, self.mask & !mask));
        }
        if let [(t, _)] = groups[..] {
            self.pc = t;
            return;
        }
        if meet != NONE && meet != self.meet {
            self.stack.push(Entry {
                pc: meet,
                meet: self.meet,
                mask: self.mask,
                call: false,
            });
        }
        self.meet = meet;
        let last = groups.pop();
        for g in groups {
            if g.0 != meet {
                self.stack.push(Entry {
                    pc: g.0,
                    meet,
                    mask: g.1,
                    call: false,
                });
            }
        }
        if let Some((t, m)) = last {
            (self.pc, self.mask) = (t, m);
        }
    }

    /// In the independent model a lane that waits for another lane of its warp must not starve it: the side next on
    /// the stack, if it belongs to the same branch, gets its turn. After long patience, so do lanes that wait at the
    /// meeting point; the two groups then meet at the next one.
    pub(super) fn rotate(&mut self) {
        let Some(top) = self.stack.last().copied() else {
            return;
        };
        let k = self.stack.len() - 1;
        if !top.call && top.meet == self.meet && top.pc != self.meet {
            self.stack[k] = Entry {
                pc: self.pc,
                meet: self.meet,
                mask: self.mask,
                call: false,
            };
            (self.pc, self.mask) = (top.pc, top.mask & self.live);
        } else if !top.call && top.pc == self.meet && self.backward & PATIENCE == 0 {
            let waiting = top.mask & self.live & !self.mask;
            if waiting != 0 {
                self.stack[k] = Entry {
                    pc: self.pc,
                    meet: top.meet,
                    mask: self.mask,
                    call: false,
                };
                (self.pc, self.meet, self.mask) = (top.pc, top.meet, waiting);
            }
        }
    }
}

//! Where a warp's addresses lead: which memory, inside its bounds or not, aligned or not.
//!
//! `reach` answers for the whole warp at once from a survey; `groups` goes lane by lane when lanes differ or fault.

use super::block::Env;
use super::memory::Range;
use super::observe::{FaultKind, Observer};
use super::ops::Row;
use super::program::{LOCAL_WINDOW, PARAM_WINDOW, SHARED_WINDOW};
use super::survey::Survey;
use super::warp::Warp;

/// Which memory an address belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    Global,
    Shared,
    Local,
    Param,
    Nowhere,
}

#[inline(always)]
pub fn class(addr: u64) -> Class {
    match addr >> 56 {
        0 => Class::Global,
        1 => Class::Shared,
        2 => Class::Local,
        3 => Class::Param,
        _ => Class::Nowhere,
    }
}

/// Lanes of a mask, lowest first.
#[inline(always)]
pub fn lanes(mut mask: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        if mask == 0 {
            return None;
        }
        let l = mask.trailing_zeros() as usize;
        mask &= mask - 1;
        Some(l)
    })
}

impl<const W: usize, O: Observer<W>> Env<'_, W, O> {
    /// The memory that all lanes of a survey reach with a good access; none if lanes differ or one is at fault.
    #[inline(always)]
    pub(super) fn reach(&mut self, w: &Warp<W>, s: &Survey, size: u32) -> Option<Class> {
        let step = u64::from(size);
        let c = class(s.lo);
        // Between two addresses of one window lie only addresses of that window.
        if s.lo >> 56 != s.hi >> 56 || s.bits & (step - 1) != 0 {
            return None;
        }
        let inside = match c {
            Class::Global => {
                let r = &mut self.ranges[w.pc as usize];
                let generation = self.ctx.memory.generation();
                if r.generation != generation || s.lo < r.start || s.hi + step > r.end {
                    *r = self.ctx.memory.range(s.lo)?;
                }
                s.hi + step <= r.end
            }
            Class::Shared => s.hi - SHARED_WINDOW + step <= self.shared.len() as u64,
            // Threads have as much local memory as each other, and all at the same place.
            Class::Local => s.hi - LOCAL_WINDOW + step <= w.local[0].len() as u64,
            Class::Param => s.hi - PARAM_WINDOW + step <= self.ctx.params.len() as u64,
            Class::Nowhere => false,
        };
        inside.then_some(c)
    }

    /// Splits lanes by memory and checks bounds and alignment. `f` gets each group.
    pub(super) fn groups(
        &mut self,
        w: &mut Warp<W>,
        mask: u64,
        addrs: &Row<W>,
        size: u32,
        mut f: impl FnMut(&mut Self, &mut Warp<W>, Class, u64),
    ) {
        let mut rest = mask;
        while rest != 0 {
            let c = class(addrs[rest.trailing_zeros() as usize]);
            let mut m = 0u64;
            for l in lanes(rest) {
                m |= u64::from(class(addrs[l]) == c) << l;
            }
            rest &= !m;
            let good = self.check(w, c, m, addrs, size);
            if good != 0 {
                f(self, w, c, good);
            }
        }
    }

    /// Lanes whose access is inside its memory and aligned; the others are faults.
    fn check(&mut self, w: &mut Warp<W>, c: Class, mask: u64, addrs: &Row<W>, size: u32) -> u64 {
        let mut bad = 0u64;
        let align = u64::from(size) - 1;
        let mut cache = Range::default();
        for l in lanes(mask) {
            let off = addrs[l] & 0xff_ffff_ffff_ffff;
            let end = off + u64::from(size);
            let inside = match c {
                Class::Shared => end <= self.shared.len() as u64,
                Class::Global => {
                    if off < cache.start || end > cache.end {
                        cache = self.ctx.memory.range(off).unwrap_or_default();
                    }
                    off >= cache.start && end <= cache.end
                }
                Class::Local => end <= w.local[l].len() as u64,
                Class::Param => end <= self.ctx.params.len() as u64,
                Class::Nowhere => false,
            };
            bad |= u64::from(!inside || off & align != 0) << l;
        }
        if bad != 0 {
            self.bad_access(w, c, bad, addrs, size);
        }
        mask & !bad
    }

    #[cold]
    fn bad_access(&mut self, w: &Warp<W>, c: Class, bad: u64, addrs: &Row<W>, size: u32) {
        let align = u64::from(size) - 1;
        for l in lanes(bad) {
            let a = addrs[l];
            let memory = self.ctx.memory;
            let shared = self.shared.len() as u64;
            let off = a & 0xff_ffff_ffff_ffff;
            let end = match c {
                Class::Shared => off + u64::from(size) <= shared,
                Class::Global => memory
                    .range(a)
                    .is_some_and(|r| a + u64::from(size) <= r.end),
                Class::Local => off + u64::from(size) <= w.local[l].len() as u64,
                Class::Param => off + u64::from(size) <= self.ctx.params.len() as u64,
                Class::Nowhere => false,
            };
            let kind = if end && a & align != 0 {
                FaultKind::Misaligned
            } else {
                FaultKind::OutOfBounds
            };
            self.fault(kind, w.pc, w, 1 << l, || match (kind, c) {
                (FaultKind::Misaligned, _) => {
                    format!("address {off:#x} is not a multiple of {size}")
                }
                (_, Class::Shared) => {
                    format!(
                        "{size} bytes at offset {off} of shared memory, which has {shared} bytes"
                    )
                }
                (_, Class::Global) => match memory.nearest(a) {
                    Some(m)
                        if a >= m.start && a - m.start < m.len.saturating_mul(4).max(1 << 16) =>
                    {
                        format!(
                            "{size} bytes at offset {} of `{}`, which has {} bytes",
                            a - m.start,
                            m.name,
                            m.len
                        )
                    }
                    _ if a < 4096 => format!("{size} bytes at address {a:#x}, a null pointer"),
                    _ => "an address that no allocation holds".to_string(),
                },
                _ => format!("{size} bytes at {off:#x} of thread-local memory"),
            });
        }
    }
}

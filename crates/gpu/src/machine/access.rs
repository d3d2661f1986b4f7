//! Loads, stores and atomics of a warp: addresses, bounds, alignment, then the bytes.

use crate::ptx::{Space, Ty};

use super::block::Env;
use super::memory;
use super::observe::{Access, FaultKind, Observer, What};
use super::ops::Row;
use super::program::{AtomOp, Kind, LOCAL_WINDOW, NONE, Op, PARAM_WINDOW, SHARED_WINDOW, Strength};
use super::warp::Warp;

/// Which memory an address belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Global,
    Shared,
    Local,
    Param,
    Nowhere,
}

#[inline(always)]
fn class(addr: u64) -> Class {
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

#[inline(always)]
fn bytes_at(m: &[u8], at: usize, n: u32) -> u64 {
    match n {
        1 => u64::from(m[at]),
        2 => u64::from(u16::from_le_bytes([m[at], m[at + 1]])),
        4 => u64::from(u32::from_le_bytes([m[at], m[at + 1], m[at + 2], m[at + 3]])),
        _ => {
            let mut b = [0; 8];
            b.copy_from_slice(&m[at..at + 8]);
            u64::from_le_bytes(b)
        }
    }
}

#[inline(always)]
fn put_at(m: &mut [u8], at: usize, n: u32, v: u64) {
    let b = v.to_le_bytes();
    m[at..at + n as usize].copy_from_slice(&b[..n as usize]);
}

fn extend(ty: Ty, dst_bytes: u32, v: u64) -> u64 {
    if !ty.signed() || dst_bytes <= ty.bytes() {
        return v;
    }
    let sh = 64 - ty.bytes() * 8;
    let wide = ((v << sh) as i64 >> sh) as u64;
    if dst_bytes >= 8 {
        wide
    } else {
        wide & ((1 << (dst_bytes * 8)) - 1)
    }
}

impl<const W: usize, O: Observer<W>> Env<'_, W, O> {
    /// Generic addresses of the operand `row + imm` in `space`.
    #[inline(always)]
    fn addresses(&self, w: &Warp<W>, row: u32, imm: i64, space: Space) -> Row<W> {
        let base = w.row(&self.ctx.consts, row);
        let mut a = [0u64; W];
        match space {
            Space::Shared => {
                for l in 0..W {
                    a[l] = (base[l].wrapping_add(imm as u64) & 0xffff_ffff) | SHARED_WINDOW;
                }
            }
            Space::Local => {
                for l in 0..W {
                    a[l] = (base[l].wrapping_add(imm as u64) & 0xff_ffff_ffff) | LOCAL_WINDOW;
                }
            }
            _ => {
                for l in 0..W {
                    a[l] = base[l].wrapping_add(imm as u64);
                }
            }
        }
        a
    }

    /// Splits lanes by memory and checks bounds and alignment. `f` gets each group.
    fn groups(
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
        match c {
            Class::Shared => {
                let end = self.shared.len() as u64;
                for l in lanes(mask) {
                    let a = addrs[l] & !SHARED_WINDOW;
                    bad |= u64::from(a + u64::from(size) > end || a & align != 0) << l;
                }
            }
            Class::Global => {
                if self.cache.generation != self.ctx.memory.generation() {
                    self.cache = Default::default();
                }
                for l in lanes(mask) {
                    let a = addrs[l];
                    let inside =
                        a >= self.cache.start && a.wrapping_add(u64::from(size)) <= self.cache.end;
                    if !inside {
                        match self.ctx.memory.range(a) {
                            Some(r) if a + u64::from(size) <= r.end => self.cache = r,
                            _ => bad |= 1 << l,
                        }
                    }
                    bad |= u64::from(a & align != 0) << l;
                }
            }
            Class::Local => {
                for l in lanes(mask) {
                    let a = addrs[l] & !LOCAL_WINDOW;
                    bad |=
                        u64::from(a + u64::from(size) > w.local[l].len() as u64 || a & align != 0)
                            << l;
                }
            }
            Class::Param => {
                for l in lanes(mask) {
                    let a = addrs[l] & !PARAM_WINDOW;
                    bad |= u64::from(
                        a + u64::from(size) > self.ctx.params.len() as u64 || a & align != 0,
                    ) << l;
                }
            }
            Class::Nowhere => bad = mask,
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

    #[allow(clippy::too_many_arguments)]
    fn tell(
        &mut self,
        w: &Warp<W>,
        c: Class,
        mask: u64,
        addrs: &Row<W>,
        size: u32,
        what: What,
        strength: Strength,
        values: &[Row<W>],
    ) {
        if !O::ON {
            return;
        }
        let space = match c {
            Class::Shared => Space::Shared,
            Class::Global => Space::Global,
            _ => return,
        };
        let mut offs = *addrs;
        if c == Class::Shared {
            for a in &mut offs {
                *a &= !SHARED_WINDOW;
            }
        }
        self.obs.access(&Access {
            pc: w.pc,
            stamp: w.steps,
            warp: w.id,
            mask,
            addrs: &offs,
            size,
            what,
            strength,
            space,
            values,
        });
    }

    /// Runs what `alu` does not: memory, shuffles, votes, fences.
    pub fn memory_or_warp(&mut self, w: &mut Warp<W>, op: &Op, mask: u64) {
        match op.kind {
            Kind::Ld {
                space,
                ty,
                n,
                strength,
                dst_bytes,
            } => self.load(w, op, mask, space, ty, n, strength, dst_bytes),
            Kind::St {
                space,
                ty,
                n,
                strength,
            } => self.store(w, op, mask, space, ty, n, strength),
            Kind::LdKParam { ty, n } => self.load_param(w, op, mask, ty, n),
            Kind::Atom {
                op: o,
                space,
                ty,
                strength,
                ..
            } => self.atomic(w, op, mask, o, space, ty, strength),
            Kind::CpAsync => self.copy(w, op, mask),
            Kind::Isspacep(s) => {
                let a = *w.row(&self.ctx.consts, op.a);
                let want = match s {
                    Space::Shared => Class::Shared,
                    Space::Local => Class::Local,
                    Space::Param => Class::Param,
                    _ => Class::Global,
                };
                let bits = (0..W).fold(0u64, |b, l| b | u64::from(class(a[l]) == want) << l);
                w.put_pred(op.d, bits, mask);
            }
            _ => self.warp_wide(w, op, mask),
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn load(
        &mut self,
        w: &mut Warp<W>,
        op: &Op,
        mask: u64,
        space: Space,
        ty: Ty,
        n: u8,
        strength: Strength,
        dst: u8,
    ) {
        let addrs = self.addresses(w, op.a, op.imm, space);
        let bytes = ty.bytes();
        let size = bytes * u32::from(n);
        let vecs = &self.ctx.program.vecs[op.d as usize..op.d as usize + usize::from(n)];
        // A faulting lane reads zero.
        let mut rows = [[0u64; W]; 8];
        self.groups(w, mask, &addrs, size, |env, w, c, m| {
            for (k, row) in rows.iter_mut().enumerate().take(usize::from(n)) {
                let off = k as u64 * u64::from(bytes);
                match c {
                    Class::Shared => {
                        for l in lanes(m) {
                            row[l] = bytes_at(
                                &env.shared,
                                ((addrs[l] & !SHARED_WINDOW) + off) as usize,
                                bytes,
                            );
                        }
                    }
                    Class::Global => {
                        for l in lanes(m) {
                            // SAFETY: `check` found the whole access inside a live allocation and aligned.
                            row[l] = unsafe { memory::load(addrs[l] + off, bytes) };
                        }
                    }
                    Class::Local => {
                        for l in lanes(m) {
                            row[l] = bytes_at(
                                &w.local[l],
                                ((addrs[l] & !LOCAL_WINDOW) + off) as usize,
                                bytes,
                            );
                        }
                    }
                    _ => {
                        for l in lanes(m) {
                            row[l] = bytes_at(
                                env.ctx.params,
                                ((addrs[l] & !PARAM_WINDOW) + off) as usize,
                                bytes,
                            );
                        }
                    }
                }
            }
            if O::ON && c == Class::Shared {
                env.uninitialized(w, m, &addrs, size);
            }
            env.tell(w, c, m, &addrs, size, What::Read, strength, &[]);
        });
        for (k, &d) in vecs.iter().enumerate() {
            if ty.signed() && u32::from(dst) > bytes {
                for v in &mut rows[k] {
                    *v = extend(ty, u32::from(dst), *v);
                }
            }
            w.put(d, &rows[k], mask);
        }
    }

    #[inline(always)]
    fn uninitialized(&mut self, w: &Warp<W>, m: u64, addrs: &Row<W>, size: u32) {
        let mut bad = 0u64;
        for l in lanes(m) {
            let a = (addrs[l] & !SHARED_WINDOW) as usize;
            bad |= u64::from(self.init[a..a + size as usize].contains(&0)) << l;
        }
        for l in lanes(bad) {
            let a = addrs[l] & !SHARED_WINDOW;
            self.fault(FaultKind::UninitializedShared, w.pc, w, 1 << l, || {
                format!(
                    "offset {a} of shared memory is read, and no thread of the block has written it"
                )
            });
        }
    }

    fn load_param(&mut self, w: &mut Warp<W>, op: &Op, mask: u64, ty: Ty, n: u8) {
        let base = *w.row(&self.ctx.consts, op.a);
        for k in 0..usize::from(n) {
            let d = self.ctx.program.vecs[op.d as usize + k];
            let mut row = [0u64; W];
            let params = self.ctx.params;
            let mut last = (u64::MAX, 0u64);
            for l in lanes(mask) {
                let at = (base[l].wrapping_add(op.imm as u64) & 0xffff_ffff)
                    + k as u64 * u64::from(ty.bytes());
                if at != last.0 {
                    if at + u64::from(ty.bytes()) > params.len() as u64 {
                        self.fault(FaultKind::OutOfBounds, w.pc, w, 1 << l, || {
                            format!("kernel parameter byte {at}")
                        });
                        continue;
                    }
                    last = (at, bytes_at(params, at as usize, ty.bytes()));
                }
                row[l] = extend(ty, 8, last.1);
            }
            if ty.bytes() < 8 && ty.signed() {
                let keep = if ty.bytes() == 4 {
                    0xffff_ffff
                } else {
                    u64::MAX
                };
                for v in &mut row {
                    *v &= keep;
                }
            }
            w.put(d, &row, mask);
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn store(
        &mut self,
        w: &mut Warp<W>,
        op: &Op,
        mask: u64,
        space: Space,
        ty: Ty,
        n: u8,
        strength: Strength,
    ) {
        let addrs = self.addresses(w, op.a, op.imm, space);
        let bytes = ty.bytes();
        let size = bytes * u32::from(n);
        let vecs = &self.ctx.program.vecs[op.b as usize..op.b as usize + usize::from(n)];
        let mut rows = [[0u64; W]; 8];
        for (k, &v) in vecs.iter().enumerate() {
            rows[k] = *w.row(&self.ctx.consts, v);
        }
        self.groups(w, mask, &addrs, size, |env, w, c, m| {
            // Watched before it happens: what it releases must be known to whoever sees its value.
            env.tell(
                w,
                c,
                m,
                &addrs,
                size,
                What::Write,
                strength,
                &rows[..usize::from(n)],
            );
            for (k, row) in rows.iter().enumerate().take(usize::from(n)) {
                let off = k as u64 * u64::from(bytes);
                match c {
                    Class::Shared => {
                        for l in lanes(m) {
                            put_at(
                                &mut env.shared,
                                ((addrs[l] & !SHARED_WINDOW) + off) as usize,
                                bytes,
                                row[l],
                            );
                        }
                    }
                    Class::Global => {
                        for l in lanes(m) {
                            // SAFETY: `check` found the whole access inside a live allocation and aligned.
                            unsafe { memory::store(addrs[l] + off, bytes, row[l]) };
                        }
                    }
                    Class::Local => {
                        for l in lanes(m) {
                            put_at(
                                &mut w.local[l],
                                ((addrs[l] & !LOCAL_WINDOW) + off) as usize,
                                bytes,
                                row[l],
                            );
                        }
                    }
                    _ => env.fault(FaultKind::OutOfBounds, w.pc, w, m, || {
                        "kernel parameters cannot be written".into()
                    }),
                }
            }
            if O::ON && c == Class::Shared {
                for l in lanes(m) {
                    let a = (addrs[l] & !SHARED_WINDOW) as usize;
                    env.init[a..a + size as usize].fill(1);
                }
            }
        });
    }

    #[allow(clippy::too_many_arguments)]
    fn atomic(
        &mut self,
        w: &mut Warp<W>,
        op: &Op,
        mask: u64,
        o: AtomOp,
        space: Space,
        ty: Ty,
        strength: Strength,
    ) {
        let addrs = self.addresses(w, op.a, op.imm, space);
        let bytes = ty.bytes();
        let b = *w.row(&self.ctx.consts, op.b);
        let c3 = if op.c == NONE {
            [0; W]
        } else {
            *w.row(&self.ctx.consts, op.c)
        };
        let mut old = [0u64; W];
        self.groups(w, mask, &addrs, bytes, |env, w, c, m| {
            if O::ON && c == Class::Shared {
                env.uninitialized(w, m, &addrs, bytes);
            }
            env.tell(w, c, m, &addrs, bytes, What::Atomic, strength, &[b]);
            for l in lanes(m) {
                let f = |x: u64| super::atomics::apply(o, ty, x, b[l], c3[l]);
                old[l] = match c {
                    Class::Global => {
                        // SAFETY: `check` found the whole access inside a live allocation and aligned.
                        unsafe { memory::update(addrs[l], bytes, f) }
                    }
                    Class::Shared => {
                        let at = (addrs[l] & !SHARED_WINDOW) as usize;
                        let x = bytes_at(&env.shared, at, bytes);
                        put_at(&mut env.shared, at, bytes, f(x));
                        x
                    }
                    Class::Local => {
                        let at = (addrs[l] & !LOCAL_WINDOW) as usize;
                        let x = bytes_at(&w.local[l], at, bytes);
                        put_at(&mut w.local[l], at, bytes, f(x));
                        x
                    }
                    _ => 0,
                };
            }
            if O::ON && c == Class::Shared {
                for l in lanes(m) {
                    let a = (addrs[l] & !SHARED_WINDOW) as usize;
                    env.init[a..a + bytes as usize].fill(1);
                }
            }
            if O::ON && matches!(c, Class::Shared | Class::Global) {
                env.obs.acquired(w.id, m, &addrs);
            }
        });
        w.put(op.d, &old, mask);
    }

    /// `cp.async`: the copy is done at once, which is one of the orders the hardware may choose.
    fn copy(&mut self, w: &mut Warp<W>, op: &Op, mask: u64) {
        let to = self.addresses(w, op.a, 0, Space::Shared);
        let from = self.addresses(w, op.b, 0, Space::Global);
        let size = op.imm as u32;
        let take = if op.c == NONE {
            [u64::from(size); W]
        } else {
            *w.row(&self.ctx.consts, op.c)
        };
        let mut bytes = [[0u8; 16]; W];
        let reads = (0..W).fold(0u64, |m, l| m | u64::from(take[l] > 0) << l) & mask;
        self.groups(w, reads, &from, size, |env, w, c, m| {
            for l in lanes(m) {
                for (k, b) in bytes[l]
                    .iter_mut()
                    .enumerate()
                    .take((take[l] as usize).min(size as usize))
                {
                    if c == Class::Global {
                        // SAFETY: `check` found the whole access inside a live allocation.
                        *b = unsafe { memory::load(from[l] + k as u64, 1) } as u8;
                    }
                }
            }
            env.tell(w, c, m, &from, size, What::Read, Strength::Weak, &[]);
        });
        self.groups(w, mask, &to, size, |env, w, c, m| {
            for l in lanes(m) {
                let a = (to[l] & !SHARED_WINDOW) as usize;
                if c == Class::Shared {
                    env.shared[a..a + size as usize].copy_from_slice(&bytes[l][..size as usize]);
                    if O::ON {
                        env.init[a..a + size as usize].fill(1);
                    }
                }
            }
            env.tell(w, c, m, &to, size, What::Write, Strength::Weak, &[]);
        });
    }
}

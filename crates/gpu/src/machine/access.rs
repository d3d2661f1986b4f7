//! Loads and stores of a warp: addresses, then the bytes.

use crate::ptx::{Space, Ty};

use super::block::Env;
use super::memory;
use super::observe::{Access, FaultKind, Observer, What};
use super::ops::{Row, full};
use super::program::{CONST, Kind, LOCAL_WINDOW, Op, PARAM_WINDOW, SHARED_WINDOW, Strength};
pub use super::reach::lanes;
use super::reach::{Class, class};
use super::survey::{Form, Shape, Survey};
use super::warp::Warp;

/// Four bytes that were written, as `init` has them.
const WRITTEN: u64 = 0x0101_0101;

#[inline(always)]
pub(super) fn bytes_at(m: &[u8], at: usize, n: u32) -> u64 {
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
pub(super) fn put_at(m: &mut [u8], at: usize, n: u32, v: u64) {
    let b = v.to_le_bytes();
    match n {
        1 => m[at] = b[0],
        2 => m[at..at + 2].copy_from_slice(&b[..2]),
        4 => m[at..at + 4].copy_from_slice(&b[..4]),
        _ => m[at..at + 8].copy_from_slice(&b),
    }
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

/// A part of memory that is one block's own, read by lanes whose offsets are known to be inside.
#[inline(always)]
fn read_own<const W: usize>(
    m: &[u8],
    addrs: &Row<W>,
    window: u64,
    off: u64,
    bytes: u32,
    mask: u64,
    shape: Shape,
) -> Row<W> {
    let mut row = [0u64; W];
    let at = |l: usize| ((addrs[l] & !window) + off) as usize;
    let first = mask.trailing_zeros() as usize;
    match shape {
        Shape::Point => row = [bytes_at(m, at(first), bytes); W],
        Shape::Run if mask == full::<W>() && bytes == 4 => {
            let src = &m[at(0)..at(0) + W * 4];
            for (x, b) in row.iter_mut().zip(src.chunks_exact(4)) {
                *x = u64::from(u32::from_le_bytes([b[0], b[1], b[2], b[3]]));
            }
        }
        _ if mask == full::<W>() && bytes == 4 => {
            for (l, x) in row.iter_mut().enumerate() {
                *x = bytes_at(m, at(l), 4);
            }
        }
        _ => {
            for l in lanes(mask) {
                row[l] = bytes_at(m, at(l), bytes);
            }
        }
    }
    row
}

#[inline(always)]
fn read_global<const W: usize>(
    addrs: &Row<W>,
    off: u64,
    bytes: u32,
    mask: u64,
    shape: Shape,
) -> Row<W> {
    let mut row = [0u64; W];
    if shape == Shape::Point {
        let first = mask.trailing_zeros() as usize;
        // SAFETY: the caller found the whole access of every lane of the mask inside a live allocation and aligned.
        return [unsafe { memory::load(addrs[first] + off, bytes) }; W];
    }
    if mask == full::<W>() && bytes == 4 {
        for l in 0..W {
            // SAFETY: as above.
            row[l] = unsafe { memory::load(addrs[l] + off, 4) };
        }
    } else {
        for l in lanes(mask) {
            // SAFETY: as above.
            row[l] = unsafe { memory::load(addrs[l] + off, bytes) };
        }
    }
    row
}

impl<const W: usize, O: Observer<W>> Env<'_, W, O> {
    /// Generic addresses of the operand `row + imm` in `space`, and what they have in common.
    #[inline(always)]
    pub(super) fn addresses(
        &self,
        w: &Warp<W>,
        row: u32,
        imm: i64,
        space: Space,
        mask: u64,
        size: u32,
    ) -> (Row<W>, Survey) {
        let (keep, window) = match space {
            Space::Shared => (0xffff_ffff, SHARED_WINDOW),
            Space::Local => (0xff_ffff_ffff, LOCAL_WINDOW),
            _ => (u64::MAX, 0),
        };
        let form = Form {
            add: imm as u64,
            keep,
            window,
        };
        let mut out = [0u64; W];
        let base = w.row(&self.ctx.consts, row);
        let survey = (self.ctx.survey)(base, form, mask, size, &mut out);
        (out, survey)
    }

    /// The survey of addresses that are generic already.
    pub(super) fn survey_of(&self, addrs: &Row<W>, mask: u64, size: u32) -> Survey {
        let form = Form {
            add: 0,
            keep: u64::MAX,
            window: 0,
        };
        (self.ctx.survey)(addrs, form, mask, size, &mut [0u64; W])
    }

    /// Hands an access to the watcher.
    #[allow(clippy::too_many_arguments)]
    #[inline(always)]
    pub(super) fn tell(
        &mut self,
        w: &Warp<W>,
        c: Class,
        mask: u64,
        addrs: &Row<W>,
        survey: &Survey,
        size: u32,
        what: What,
        strength: Strength,
        values: &[Row<W>],
    ) {
        if !O::ON {
            return;
        }
        let (space, origin) = match c {
            Class::Shared => (Space::Shared, SHARED_WINDOW),
            Class::Global => (Space::Global, 0),
            _ => return,
        };
        if self.airborne != 0 && c == Class::Shared {
            self.meet_flights(w, mask, addrs, size, what);
        }
        if !self.obs.wants(w.pc, mask) {
            return;
        }
        self.obs.access(&Access {
            pc: w.pc,
            stamp: w.steps,
            warp: w.id,
            mask,
            addrs,
            origin,
            lo: survey.lo,
            hi: survey.hi,
            shape: survey.shape,
            links: survey.links,
            size,
            what,
            strength,
            space,
            values,
            before: &self.shared,
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
            Kind::Mbarrier(what) => self.mbarrier(w, op, mask, what),
            Kind::Tex(t) => self.texture(w, op, mask, t),
            Kind::Surf(s) => self.surface(w, op, mask, s),
            Kind::TexQuery => self.query(w, op, mask),
            Kind::Tile(which) => self.tile(w, op, mask, which),
            Kind::CpCommit => self.commit(w, mask),
            Kind::CpWait(until) => self.wait(w, mask, until),
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

    /// Element `k` of a load by lanes that may do it.
    #[allow(clippy::too_many_arguments)]
    #[inline(always)]
    fn fetch(
        &self,
        w: &Warp<W>,
        c: Class,
        addrs: &Row<W>,
        off: u64,
        bytes: u32,
        mask: u64,
        shape: Shape,
    ) -> Row<W> {
        match c {
            Class::Shared => read_own(&self.shared, addrs, SHARED_WINDOW, off, bytes, mask, shape),
            Class::Global => read_global(addrs, off, bytes, mask, shape),
            Class::Local => {
                let mut row = [0u64; W];
                for l in lanes(mask) {
                    let at = ((addrs[l] & !LOCAL_WINDOW) + off) as usize;
                    row[l] = bytes_at(&w.local[l], at, bytes);
                }
                row
            }
            _ => read_own(
                self.ctx.params,
                addrs,
                PARAM_WINDOW,
                off,
                bytes,
                mask,
                shape,
            ),
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
        let bytes = ty.bytes();
        let size = bytes * u32::from(n);
        let (addrs, survey) = self.addresses(w, op.a, op.imm, space, mask, size);
        let vecs = &self.ctx.program.vecs[op.d as usize..op.d as usize + usize::from(n)];
        let wide = |row: &mut Row<W>| {
            if ty.signed() && u32::from(dst) > bytes {
                for v in row {
                    *v = extend(ty, u32::from(dst), *v);
                }
            }
        };
        if let Some(c) = self.reach(w, &survey, size) {
            // The elements of vectors do not lie side by side.
            let shape = match survey.shape {
                Shape::Run if n > 1 => Shape::Scattered,
                s => s,
            };
            for (k, &d) in vecs.iter().enumerate() {
                let off = k as u64 * u64::from(bytes);
                let mut row = self.fetch(w, c, &addrs, off, bytes, mask, shape);
                wide(&mut row);
                w.put(d, &row, mask);
            }
            if O::ON {
                if c == Class::Shared {
                    self.uninitialized(w, mask, &addrs, &survey, size);
                }
                // Watched after it happened: whoever released the value that was seen has said so before.
                self.tell(w, c, mask, &addrs, &survey, size, What::Read, strength, &[]);
            }
            return;
        }
        // A faulting lane reads zero.
        let mut rows = [[0u64; W]; 8];
        self.groups(w, mask, &addrs, size, |env, w, c, m| {
            for (k, row) in rows.iter_mut().enumerate().take(usize::from(n)) {
                let off = k as u64 * u64::from(bytes);
                let got = env.fetch(w, c, &addrs, off, bytes, m, Shape::Scattered);
                for l in lanes(m) {
                    row[l] = got[l];
                }
            }
            let some = survey.apart();
            if O::ON && c == Class::Shared {
                env.uninitialized(w, m, &addrs, &some, size);
            }
            env.tell(w, c, m, &addrs, &some, size, What::Read, strength, &[]);
        });
        for (k, &d) in vecs.iter().enumerate() {
            wide(&mut rows[k]);
            w.put(d, &rows[k], mask);
        }
    }

    /// Reports lanes that read shared memory which nobody has written.
    #[inline(always)]
    pub(super) fn uninitialized(
        &mut self,
        w: &Warp<W>,
        m: u64,
        addrs: &Row<W>,
        survey: &Survey,
        size: u32,
    ) {
        if self.fresh == 0 {
            return;
        }
        if survey.shape != Shape::Scattered {
            let (lo, hi) = (survey.lo - SHARED_WINDOW, survey.hi - SHARED_WINDOW);
            let range = lo as usize..(hi + u64::from(size)) as usize;
            if !self.init[range].contains(&0) {
                return;
            }
        }
        for l in lanes(m) {
            let a = (addrs[l] & !SHARED_WINDOW) as usize;
            if size == 4 && bytes_at(&self.init, a, 4) == WRITTEN {
                continue;
            }
            if self.init[a..a + size as usize].contains(&0) {
                self.fault(FaultKind::UninitializedShared, w.pc, w, 1 << l, || {
                    format!(
                        "offset {a} of shared memory is read, and no thread of the block has written it"
                    )
                });
            }
        }
    }

    /// Shared memory in this range is written now.
    #[inline(always)]
    pub(super) fn initialize(&mut self, from: usize, to: usize) {
        if self.fresh == 0 {
            return;
        }
        if to - from == 4 {
            let old = bytes_at(&self.init, from, 4);
            self.fresh -= 4 - old.count_ones() as usize;
            put_at(&mut self.init, from, 4, WRITTEN);
            return;
        }
        let part = &mut self.init[from..to];
        self.fresh -= part.iter().map(|b| usize::from(*b == 0)).sum::<usize>();
        part.fill(1);
    }

    /// Marks what lanes of a write initialize.
    #[inline(always)]
    pub(super) fn initialized(&mut self, m: u64, addrs: &Row<W>, survey: &Survey, size: u32) {
        if self.fresh == 0 {
            return;
        }
        let holes = m.trailing_zeros() + m.leading_zeros() + m.count_ones() != 64;
        if survey.shape != Shape::Scattered && !holes {
            let (lo, hi) = (survey.lo - SHARED_WINDOW, survey.hi - SHARED_WINDOW);
            self.initialize(lo as usize, (hi + u64::from(size)) as usize);
            return;
        }
        for l in lanes(m) {
            let a = (addrs[l] & !SHARED_WINDOW) as usize;
            self.initialize(a, a + size as usize);
        }
    }

    /// A parameter that is the same for all lanes, as almost all are; false if there is no such parameter.
    #[inline(always)]
    fn load_same_param(
        &self,
        w: &mut Warp<W>,
        op: &Op,
        base: u64,
        mask: u64,
        ty: Ty,
        n: u8,
    ) -> bool {
        let at = (base.wrapping_add(op.imm as u64) & 0xffff_ffff) as usize;
        let bytes = ty.bytes() as usize;
        if at + bytes * usize::from(n) > self.ctx.params.len() {
            return false;
        }
        let keep = if bytes == 4 { 0xffff_ffff } else { u64::MAX };
        for k in 0..usize::from(n) {
            let v = bytes_at(self.ctx.params, at + k * bytes, ty.bytes());
            let d = self.ctx.program.vecs[op.d as usize + k];
            w.put(d, &[extend(ty, 8, v) & keep; W], mask);
        }
        true
    }

    fn load_param(&mut self, w: &mut Warp<W>, op: &Op, mask: u64, ty: Ty, n: u8) {
        let base = *w.row(&self.ctx.consts, op.a);
        if op.a & CONST != 0 && self.load_same_param(w, op, base[0], mask, ty, n) {
            return;
        }
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
                    last = (at, extend(ty, 8, bytes_at(params, at as usize, ty.bytes())));
                }
                row[l] = last.1;
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
        let bytes = ty.bytes();
        let size = bytes * u32::from(n);
        let (addrs, survey) = self.addresses(w, op.a, op.imm, space, mask, size);
        let first = op.b as usize;
        let program = self.ctx.program;
        let vecs = &program.vecs[first..first + usize::from(n)];
        let reached = self.reach(w, &survey, size);
        // One element is the rule; its row is copied once, for the watcher and the memory.
        if let (Some(c), [v]) = (reached, vecs) {
            let row = *w.row(&self.ctx.consts, *v);
            self.put_group(w, c, mask, &addrs, &survey, bytes, size, strength, &[row]);
            return;
        }
        let mut rows = [[0u64; W]; 8];
        for (k, &v) in vecs.iter().enumerate() {
            rows[k] = *w.row(&self.ctx.consts, v);
        }
        let rows = &rows[..usize::from(n)];
        if let Some(c) = reached {
            self.put_group(w, c, mask, &addrs, &survey, bytes, size, strength, rows);
            return;
        }
        self.groups(w, mask, &addrs, size, |env, w, c, m| {
            let some = survey.apart();
            env.put_group(w, c, m, &addrs, &some, bytes, size, strength, rows);
        });
    }

    /// Stores by lanes that may.
    #[allow(clippy::too_many_arguments)]
    #[inline(always)]
    fn put_group(
        &mut self,
        w: &mut Warp<W>,
        c: Class,
        m: u64,
        addrs: &Row<W>,
        survey: &Survey,
        bytes: u32,
        size: u32,
        strength: Strength,
        rows: &[Row<W>],
    ) {
        // Watched before it happens: what it releases must be known to whoever sees its value.
        self.tell(w, c, m, addrs, survey, size, What::Write, strength, rows);
        for (k, row) in rows.iter().enumerate() {
            let off = k as u64 * u64::from(bytes);
            match c {
                Class::Shared if m == full::<W>() && size == 4 && survey.shape == Shape::Run => {
                    let at = (survey.lo - SHARED_WINDOW) as usize;
                    let dst = &mut self.shared[at..at + W * 4];
                    for (b, v) in dst.chunks_exact_mut(4).zip(row) {
                        b.copy_from_slice(&(*v as u32).to_le_bytes());
                    }
                }
                Class::Shared => {
                    for l in lanes(m) {
                        let at = ((addrs[l] & !SHARED_WINDOW) + off) as usize;
                        put_at(&mut self.shared, at, bytes, row[l]);
                    }
                }
                Class::Global if m == full::<W>() && bytes == 4 => {
                    for l in 0..W {
                        // SAFETY: the caller found the whole access inside a live allocation and aligned.
                        unsafe { memory::store(addrs[l] + off, 4, row[l]) };
                    }
                }
                Class::Global => {
                    for l in lanes(m) {
                        // SAFETY: as above.
                        unsafe { memory::store(addrs[l] + off, bytes, row[l]) };
                    }
                }
                Class::Local => {
                    for l in lanes(m) {
                        let at = ((addrs[l] & !LOCAL_WINDOW) + off) as usize;
                        put_at(&mut w.local[l], at, bytes, row[l]);
                    }
                }
                _ => self.fault(FaultKind::OutOfBounds, w.pc, w, m, || {
                    "kernel parameters cannot be written".into()
                }),
            }
        }
        if O::ON && c == Class::Shared {
            self.initialized(m, addrs, survey, size);
        }
    }
}

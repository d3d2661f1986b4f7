//! Matrices that a warp holds together: `wmma`, `mma` and `ldmatrix`.
//!
//! Every lane holds a few elements (a fragment). PTX leaves the places in `wmma` fragments open; here the elements
//! lie row by row, as many for each lane as there are, and again from the start if a lane has more registers. Those of
//! `mma` are PTX's own. Sums are exact to double precision and rounded once.

use crate::ptx::{Space, Ty};

use super::access::lanes;
use super::block::Env;
use super::float::{Round, bf16_to_f32, f16_to_f32, f64_to_bf16, f64_to_f16};
use super::memory;
use super::observe::{FaultKind, Observer, What};
use super::ops::Row;
use super::program::{NONE, Op, SHARED_WINDOW, Strength};
use super::reach::Class;
use super::warp::Warp;

/// Lanes that hold a matrix, whatever the warp's size.
const LANES: usize = 32;

/// What an element is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Elem {
    F16,
    Bf16,
    Tf32,
    F32,
    F64,
    S8,
    U8,
    S32,
}

impl Elem {
    pub fn parse(s: &str) -> Option<Elem> {
        Some(match s {
            "f16" => Elem::F16,
            "bf16" => Elem::Bf16,
            "tf32" => Elem::Tf32,
            "f32" => Elem::F32,
            "f64" => Elem::F64,
            "s8" => Elem::S8,
            "u8" => Elem::U8,
            "s32" => Elem::S32,
            _ => return None,
        })
    }

    pub fn bytes(self) -> u32 {
        match self {
            Elem::S8 | Elem::U8 => 1,
            Elem::F16 | Elem::Bf16 => 2,
            Elem::Tf32 | Elem::F32 | Elem::S32 => 4,
            Elem::F64 => 8,
        }
    }

    /// Elements of a register.
    fn packed(self) -> usize {
        (4 / self.bytes()).max(1) as usize
    }

    /// The element's value; integers are small enough to be exact.
    fn value(self, bits: u64) -> f64 {
        match self {
            Elem::F16 => f64::from(f16_to_f32(bits as u16)),
            Elem::Bf16 => f64::from(bf16_to_f32(bits as u16)),
            // The low bits of the mantissa are not looked at.
            Elem::Tf32 => f64::from(f32::from_bits(bits as u32 & 0xffff_e000)),
            Elem::F32 => f64::from(f32::from_bits(bits as u32)),
            Elem::F64 => f64::from_bits(bits),
            Elem::S8 => f64::from(bits as i8),
            Elem::U8 => f64::from(bits as u8),
            Elem::S32 => f64::from(bits as i32),
        }
    }

    fn bits(self, v: f64, saturate: bool) -> u64 {
        match self {
            Elem::F16 => u64::from(f64_to_f16(v, Round::Nearest)),
            Elem::Bf16 => u64::from(f64_to_bf16(v, Round::Nearest)),
            Elem::Tf32 | Elem::F32 => u64::from((v as f32).to_bits()),
            Elem::F64 => v.to_bits(),
            Elem::S32 if saturate => {
                v.clamp(f64::from(i32::MIN), f64::from(i32::MAX)) as i32 as u32 as u64
            }
            Elem::S8 | Elem::U8 | Elem::S32 => u64::from(v as i64 as u32),
        }
    }
}

/// Where a lane's elements lie in the matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Places {
    /// Row by row.
    Flat,
    /// The first factor, the second, and the sum of an `mma`.
    Left,
    Right,
    Sum,
}

/// A matrix in registers: `regs` rows from `at` in `Program::vecs`.
#[derive(Clone, Copy, Debug)]
pub struct Fragment {
    pub rows: usize,
    pub cols: usize,
    pub elem: Elem,
    pub places: Places,
    pub at: u32,
    pub regs: u8,
}

impl Fragment {
    /// Elements that a lane holds.
    fn each(&self) -> usize {
        (self.rows * self.cols / LANES).max(1)
    }

    fn slots(&self) -> usize {
        usize::from(self.regs) * self.elem.packed()
    }

    /// Row and column of a lane's element.
    fn place(&self, lane: usize, i: usize) -> (usize, usize) {
        let (group, in_group) = (lane / 4, lane % 4);
        let q = self.elem.packed();
        let (reg, part) = (i / q, i % q);
        match self.places {
            Places::Flat => {
                let e = lane * self.each() + i % self.each();
                (e / self.cols, e % self.cols)
            }
            Places::Left => {
                let (down, right) = if self.rows == 16 {
                    (reg & 1, reg >> 1)
                } else {
                    (0, reg)
                };
                (group + 8 * down, in_group * q + part + 4 * q * right)
            }
            Places::Right => (in_group * q + part + 4 * q * reg, group),
            Places::Sum => (group + 8 * (i >> 1), in_group * 2 + (i & 1)),
        }
    }
}

/// One instruction.
#[derive(Clone, Copy, Debug)]
pub enum TileOp {
    Multiply {
        a: Fragment,
        b: Fragment,
        c: Fragment,
        d: Fragment,
        saturate: bool,
    },
    /// `wmma.load` and `wmma.store`; b of the instruction is the stride or `NONE`.
    Move {
        f: Fragment,
        by_rows: bool,
        space: Space,
        store: bool,
    },
    /// `ldmatrix`: so many matrices of 8 by 8 elements of 16 bits.
    Load8 { count: u8, turned: bool },
}

impl<const W: usize, O: Observer<W>> Env<'_, W, O> {
    pub(super) fn tile(&mut self, w: &mut Warp<W>, op: &Op, mask: u64, which: u32) {
        let t = self.ctx.program.tiles[which as usize];
        for first in (0..W).step_by(LANES) {
            let half = mask >> first & 0xffff_ffff;
            if half == 0 {
                continue;
            }
            if half != 0xffff_ffff {
                self.fault(FaultKind::BadCall, w.pc, w, half << first, || {
                    format!(
                        "only {} of 32 lanes execute this matrix instruction, which all must execute together",
                        half.count_ones()
                    )
                });
            }
            match t {
                TileOp::Multiply {
                    a,
                    b,
                    c,
                    d,
                    saturate,
                } => self.multiply(w, first, half, [&a, &b, &c, &d], saturate),
                TileOp::Move {
                    f,
                    by_rows,
                    space,
                    store,
                } => self.move_tile(w, op, (first, half), &f, by_rows, space, store),
                TileOp::Load8 { count, turned } => self.load8(w, op, (first, half), count, turned),
            }
        }
    }

    fn slot(&self, w: &Warp<W>, f: &Fragment, lane: usize, i: usize) -> u64 {
        let q = f.elem.packed();
        let reg = self.ctx.program.vecs[f.at as usize + i / q];
        let v = w.row(&self.ctx.consts, reg)[lane];
        match f.elem.bytes() {
            8 => v,
            4 => v & 0xffff_ffff,
            n => v >> (i % q * n as usize * 8) & ((1 << (n * 8)) - 1),
        }
    }

    fn matrix(&self, w: &Warp<W>, first: usize, f: &Fragment) -> Vec<f64> {
        let mut m = vec![0f64; f.rows * f.cols];
        for l in 0..LANES {
            for i in 0..f.slots().min(f.each()) {
                let (r, c) = f.place(l, i);
                m[r * f.cols + c] = f.elem.value(self.slot(w, f, first + l, i));
            }
        }
        m
    }

    fn multiply(
        &mut self,
        w: &mut Warp<W>,
        first: usize,
        half: u64,
        [a, b, c, d]: [&Fragment; 4],
        saturate: bool,
    ) {
        let (x, y, z) = (
            self.matrix(w, first, a),
            self.matrix(w, first, b),
            self.matrix(w, first, c),
        );
        let mut out = z;
        for r in 0..a.rows {
            for k in 0..a.cols {
                let v = x[r * a.cols + k];
                for n in 0..b.cols {
                    out[r * b.cols + n] += v * y[k * b.cols + n];
                }
            }
        }
        self.put_fragment(w, first, half, d, |r, col| {
            d.elem.bits(out[r * d.cols + col], saturate)
        });
    }

    /// Fills a fragment's registers, element by element.
    fn put_fragment(
        &mut self,
        w: &mut Warp<W>,
        first: usize,
        half: u64,
        f: &Fragment,
        get: impl Fn(usize, usize) -> u64,
    ) {
        let q = f.elem.packed();
        for reg in 0..usize::from(f.regs) {
            let mut row = [0u64; W];
            for l in lanes(half) {
                for part in 0..q {
                    let (r, c) = f.place(l, reg * q + part);
                    row[first + l] |= get(r, c) << (part as u32 * f.elem.bytes() * 8);
                }
            }
            w.put(
                self.ctx.program.vecs[f.at as usize + reg],
                &row,
                half << first,
            );
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn move_tile(
        &mut self,
        w: &mut Warp<W>,
        op: &Op,
        (first, half): (usize, u64),
        f: &Fragment,
        by_rows: bool,
        space: Space,
        store: bool,
    ) {
        let size = f.elem.bytes();
        let mask = half << first;
        let (base, _) = self.addresses(w, op.a, op.imm, space, mask, size);
        let inner = if by_rows { f.cols } else { f.rows };
        let stride: Row<W> = if op.b == NONE {
            [inner as u64; W]
        } else {
            *w.row(&self.ctx.consts, op.b)
        };
        let mut m = vec![0u64; f.rows * f.cols];
        for i in 0..f.each() {
            let (mut addrs, mut values) = ([0u64; W], [0u64; W]);
            for l in lanes(half) {
                let (r, c) = f.place(l, i);
                let (line, along) = if by_rows { (r, c) } else { (c, r) };
                let s = u64::from(stride[first + l] as u32);
                addrs[first + l] = base[first + l]
                    .wrapping_add((line as u64 * s + along as u64) * u64::from(size));
                values[first + l] = self.slot(w, f, first + l, i);
            }
            let what = if store { What::Write } else { What::Read };
            self.groups(w, mask, &addrs, size, |env, w, class, good| {
                let s = env.survey_of(&addrs, good, size);
                let rows = [values];
                let told: &[Row<W>] = if store { &rows } else { &[] };
                env.tell(w, class, good, &addrs, &s, size, what, Strength::Weak, told);
                for l in lanes(good) {
                    let (r, c) = f.place(l - first, i);
                    let v = env.word(class, addrs[l], size, store.then_some(values[l]));
                    m[r * f.cols + c] = v;
                }
                if O::ON && class == Class::Shared {
                    if store {
                        env.initialized(good, &addrs, &s, size);
                    } else {
                        env.uninitialized(w, good, &addrs, &s, size);
                    }
                }
            });
        }
        if !store {
            let cols = f.cols;
            self.put_fragment(w, first, half, f, |r, c| m[r * cols + c]);
        }
    }

    /// Reads a word that `groups` has found good, or writes it.
    fn word(&mut self, class: Class, at: u64, size: u32, put: Option<u64>) -> u64 {
        match (class, put) {
            (Class::Shared, Some(v)) => {
                let at = (at & !SHARED_WINDOW) as usize;
                super::access::put_at(&mut self.shared, at, size, v);
                v
            }
            (Class::Shared, None) => {
                super::access::bytes_at(&self.shared, (at & !SHARED_WINDOW) as usize, size)
            }
            (Class::Global, Some(v)) => {
                // SAFETY: the whole access is inside a live allocation and aligned, by contract.
                unsafe { memory::store(at, size, v) };
                v
            }
            // SAFETY: as above.
            (Class::Global, None) => unsafe { memory::load(at, size) },
            _ => 0,
        }
    }

    fn load8(
        &mut self,
        w: &mut Warp<W>,
        op: &Op,
        (first, half): (usize, u64),
        count: u8,
        turned: bool,
    ) {
        let givers = half & (u64::MAX >> (64 - 8 * u32::from(count)));
        let mask = givers << first;
        if mask == 0 {
            return;
        }
        let (addrs, _) = self.addresses(w, op.a, op.imm, Space::Shared, mask, 16);
        let mut rows = [[0u64; 8]; LANES];
        self.groups(w, mask, &addrs, 16, |env, w, class, good| {
            let s = env.survey_of(&addrs, good, 16);
            env.tell(
                w,
                class,
                good,
                &addrs,
                &s,
                16,
                What::Read,
                Strength::Weak,
                &[],
            );
            if O::ON && class == Class::Shared {
                env.uninitialized(w, good, &addrs, &s, 16);
            }
            for l in lanes(good) {
                for (k, x) in rows[l - first].iter_mut().enumerate() {
                    *x = env.word(class, addrs[l] + 2 * k as u64, 2, None);
                }
            }
        });
        for n in 0..usize::from(count) {
            let mut row = [0u64; W];
            for l in lanes(half) {
                let part = |h: usize| {
                    let (r, c) = (l / 4, l % 4 * 2 + h);
                    let (r, c) = if turned { (c, r) } else { (r, c) };
                    rows[n * 8 + r][c]
                };
                row[first + l] = part(0) | part(1) << 16;
            }
            w.put(
                self.ctx.program.vecs[op.d as usize + n],
                &row,
                half << first,
            );
        }
    }
}

/// The type of the registers that hold elements.
pub fn register(e: Elem) -> Ty {
    if e == Elem::F64 { Ty::B64 } else { Ty::B32 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every element of a matrix is held, and (but for copies) by one lane only.
    #[test]
    fn fragments_cover_their_matrix() {
        let f = |rows, cols, elem, places, regs| Fragment {
            rows,
            cols,
            elem,
            places,
            at: 0,
            regs,
        };
        let all = [
            f(16, 16, Elem::F16, Places::Left, 4),
            f(16, 8, Elem::F16, Places::Left, 2),
            f(16, 8, Elem::Bf16, Places::Right, 2),
            f(8, 8, Elem::F16, Places::Right, 1),
            f(16, 8, Elem::Tf32, Places::Left, 4),
            f(8, 8, Elem::Tf32, Places::Right, 2),
            f(16, 32, Elem::S8, Places::Left, 4),
            f(32, 8, Elem::S8, Places::Right, 2),
            f(8, 4, Elem::F64, Places::Left, 1),
            f(16, 8, Elem::F32, Places::Sum, 4),
            f(8, 8, Elem::S32, Places::Sum, 2),
            f(16, 16, Elem::F16, Places::Flat, 8),
            f(16, 8, Elem::F16, Places::Flat, 8),
            f(16, 16, Elem::F32, Places::Flat, 8),
        ];
        for f in all {
            let mut seen = vec![0u32; f.rows * f.cols];
            for l in 0..LANES {
                for i in 0..f.slots().min(f.each()) {
                    let (r, c) = f.place(l, i);
                    seen[r * f.cols + c] += 1;
                }
            }
            assert!(seen.iter().all(|n| *n == 1), "{f:?}: {seen:?}");
        }
    }
}

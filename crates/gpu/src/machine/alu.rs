//! Executes one arithmetic operation on all lanes: the hot path that needs no memory and no control.
//!
//! The same code is compiled twice, once for machines with AVX2 and FMA, and chosen when a launch starts.

use super::float::{bf16_to_f32, f16_to_f32};
use super::ops::{Row, blend, full, rounded1, rounded2, rounded3};
use super::program::{CONST, CarryOp, Cmp, CmpTy, Kind, Logic, NONE, Op, SPECIAL};

/// What an operation can see of its warp.
pub struct Lanes<'a, const W: usize> {
    pub regs: &'a mut [Row<W>],
    pub preds: &'a mut [u64],
    pub specials: &'a [Row<W>],
    pub consts: &'a [Row<W>],
    pub carry: &'a mut u64,
    pub clock: u64,
}

/// Runs `op` on the lanes in `mask`; false if it is not arithmetic.
pub type AluFn<const W: usize> = fn(&Op, Lanes<'_, W>, u64) -> bool;

#[inline(always)]
fn get<'a, const W: usize>(
    regs: &'a [Row<W>],
    specials: &'a [Row<W>],
    consts: &'a [Row<W>],
    k: u32,
) -> &'a Row<W> {
    if k & CONST != 0 {
        &consts[(k & !CONST) as usize]
    } else if k & SPECIAL != 0 {
        &specials[(k & !SPECIAL) as usize]
    } else {
        &regs[k as usize]
    }
}

impl<const W: usize> Lanes<'_, W> {
    #[inline(always)]
    pub fn row(&self, k: u32) -> &Row<W> {
        get(self.regs, self.specials, self.consts, k)
    }

    #[inline(always)]
    fn put(&mut self, d: u32, t: &Row<W>, mask: u64) {
        if d != NONE {
            blend(&mut self.regs[d as usize], t, mask);
        }
    }

    #[inline(always)]
    fn put_pred(&mut self, d: u32, bits: u64, mask: u64) {
        if d != NONE {
            let p = &mut self.preds[d as usize];
            *p = (*p & !mask) | (bits & mask);
        }
    }
}

#[inline(always)]
fn bits<const W: usize>(a: &Row<W>, b: &Row<W>, f: impl Fn(u64, u64) -> bool) -> u64 {
    let mut out = 0u64;
    for l in 0..W {
        out |= u64::from(f(a[l], b[l])) << l;
    }
    out
}

#[inline(always)]
fn ints<const W: usize, T: Ord>(cmp: Cmp, a: &Row<W>, b: &Row<W>, v: impl Fn(u64) -> T) -> u64 {
    match cmp {
        Cmp::Eq | Cmp::Equ => bits(a, b, |x, y| v(x) == v(y)),
        Cmp::Ne | Cmp::Neu => bits(a, b, |x, y| v(x) != v(y)),
        Cmp::Lt | Cmp::Ltu => bits(a, b, |x, y| v(x) < v(y)),
        Cmp::Le | Cmp::Leu => bits(a, b, |x, y| v(x) <= v(y)),
        Cmp::Gt | Cmp::Gtu => bits(a, b, |x, y| v(x) > v(y)),
        Cmp::Ge | Cmp::Geu => bits(a, b, |x, y| v(x) >= v(y)),
        Cmp::Num => u64::MAX,
        Cmp::Nan => 0,
    }
}

#[inline(always)]
fn floats<const W: usize>(cmp: Cmp, a: &Row<W>, b: &Row<W>, v: impl Fn(u64) -> f64) -> u64 {
    let nan = |x: f64, y: f64| x.is_nan() || y.is_nan();
    match cmp {
        Cmp::Eq => bits(a, b, |x, y| v(x) == v(y)),
        Cmp::Ne => bits(a, b, |x, y| v(x) != v(y) && !nan(v(x), v(y))),
        Cmp::Lt => bits(a, b, |x, y| v(x) < v(y)),
        Cmp::Le => bits(a, b, |x, y| v(x) <= v(y)),
        Cmp::Gt => bits(a, b, |x, y| v(x) > v(y)),
        Cmp::Ge => bits(a, b, |x, y| v(x) >= v(y)),
        Cmp::Equ => bits(a, b, |x, y| v(x) == v(y) || nan(v(x), v(y))),
        Cmp::Neu => bits(a, b, |x, y| v(x) != v(y)),
        Cmp::Ltu => bits(a, b, |x, y| v(x) < v(y) || nan(v(x), v(y))),
        Cmp::Leu => bits(a, b, |x, y| v(x) <= v(y) || nan(v(x), v(y))),
        Cmp::Gtu => bits(a, b, |x, y| v(x) > v(y) || nan(v(x), v(y))),
        Cmp::Geu => bits(a, b, |x, y| v(x) >= v(y) || nan(v(x), v(y))),
        Cmp::Num => bits(a, b, |x, y| !nan(v(x), v(y))),
        Cmp::Nan => bits(a, b, |x, y| nan(v(x), v(y))),
    }
}

#[inline(always)]
fn compare<const W: usize>(cmp: Cmp, ty: CmpTy, a: &Row<W>, b: &Row<W>) -> u64 {
    match ty {
        CmpTy::U => ints(cmp, a, b, |x| x),
        CmpTy::S16 => ints(cmp, a, b, |x| x as u16 as i16),
        CmpTy::S32 => ints(cmp, a, b, |x| x as u32 as i32),
        CmpTy::S64 => ints(cmp, a, b, |x| x as i64),
        CmpTy::F16 => floats(cmp, a, b, |x| f64::from(f16_to_f32(x as u16))),
        CmpTy::Bf16 => floats(cmp, a, b, |x| f64::from(bf16_to_f32(x as u16))),
        CmpTy::F32 => floats(cmp, a, b, |x| f64::from(f32::from_bits(x as u32))),
        CmpTy::F64 => floats(cmp, a, b, f64::from_bits),
    }
}

fn combine(with: Option<Logic>, x: u64, y: u64) -> u64 {
    match with {
        None => x,
        Some(Logic::And) => x & y,
        Some(Logic::Or) => x | y,
        Some(Logic::Xor) => x ^ y,
    }
}

fn testp(f64: bool, what: u8, x: u64) -> bool {
    let (v, sub) = if f64 {
        (f64::from_bits(x), f64::from_bits(x).is_subnormal())
    } else {
        (
            f64::from(f32::from_bits(x as u32)),
            f32::from_bits(x as u32).is_subnormal(),
        )
    };
    match what {
        0 => v.is_finite(),
        1 => v.is_infinite(),
        2 => !v.is_nan(),
        3 => v.is_nan(),
        4 => v.is_finite() && v != 0.0 && !sub,
        _ => sub,
    }
}

/// Add or subtract with the carry flag, 32 or 64 bits.
fn carry(op: CarryOp, bytes: u8, signed: bool, x: [u64; 3], cin: bool) -> (u64, bool) {
    let bits = u32::from(bytes) * 8;
    let wide = |v: u64| u128::from(v) & ((1u128 << bits) - 1);
    let cut = |v: u128| (v & ((1u128 << bits) - 1)) as u64;
    match op {
        CarryOp::Add => {
            let s = wide(x[0]) + wide(x[1]) + u128::from(cin);
            (cut(s), s >> bits != 0)
        }
        CarryOp::Sub => {
            let rhs = wide(x[1]) + u128::from(cin);
            (cut(wide(x[0]).wrapping_sub(rhs)), wide(x[0]) < rhs)
        }
        CarryOp::MadLo | CarryOp::MadHi => {
            let product = if signed && bits == 32 {
                (i128::from(x[0] as u32 as i32) * i128::from(x[1] as u32 as i32)) as u128
            } else if signed {
                (i128::from(x[0] as i64) * i128::from(x[1] as i64)) as u128
            } else {
                wide(x[0]) * wide(x[1])
            };
            let part = if op == CarryOp::MadLo {
                cut(product)
            } else {
                cut(product >> bits)
            };
            let s = wide(part) + wide(x[2]) + u128::from(cin);
            (cut(s), s >> bits != 0)
        }
    }
}

#[inline(always)]
fn step<const W: usize>(op: &Op, mut l: Lanes<'_, W>, mask: u64) -> bool {
    let mut t = [0u64; W];
    match op.kind {
        Kind::Bin(o) => {
            o.rows(&mut t, l.row(op.a), l.row(op.b));
            l.put(op.d, &t, mask);
        }
        Kind::Un(o) => {
            o.rows(&mut t, l.row(op.a));
            l.put(op.d, &t, mask);
        }
        Kind::Ter(o) => {
            o.rows(&mut t, l.row(op.a), l.row(op.b), l.row(op.c));
            l.put(op.d, &t, mask);
        }
        Kind::SetP {
            cmp,
            ty,
            with,
            negate_c,
        } => {
            let x = compare(cmp, ty, l.row(op.a), l.row(op.b));
            let c = if op.c == NONE {
                0
            } else {
                l.preds[op.c as usize] ^ 0u64.wrapping_sub(u64::from(negate_c))
            };
            l.put_pred(op.d, combine(with, x, c), mask);
            if op.imm > 0 {
                l.put_pred(op.imm as u32 - 1, combine(with, !x, c), mask);
            }
        }
        Kind::SelP => {
            let p = l.preds[op.c as usize];
            let (a, b) = (l.row(op.a), l.row(op.b));
            for k in 0..W {
                let m = 0u64.wrapping_sub((p >> k) & 1);
                t[k] = (a[k] & m) | (b[k] & !m);
            }
            l.put(op.d, &t, mask);
        }
        _ => return rare(op, l, mask),
    }
    true
}

#[inline(never)]
fn rare<const W: usize>(op: &Op, mut l: Lanes<'_, W>, mask: u64) -> bool {
    let mut t = [0u64; W];
    let lanes = 0..W;
    match op.kind {
        Kind::UnRound(o, r) => {
            let a = l.row(op.a);
            lanes.for_each(|k| t[k] = rounded1(o, r, a[k]));
        }
        Kind::BinRound(o, r) => {
            let (a, b) = (l.row(op.a), l.row(op.b));
            lanes.for_each(|k| t[k] = rounded2(o, r, a[k], b[k]));
        }
        Kind::TerRound(o, r) => {
            let (a, b, c) = (l.row(op.a), l.row(op.b), l.row(op.c));
            lanes.for_each(|k| t[k] = rounded3(o, r, a[k], b[k], c[k]));
        }
        Kind::Cvt(s) => {
            let a = l.row(op.a);
            lanes.for_each(|k| t[k] = super::cvt::convert(s, a[k]));
        }
        Kind::Lop3(lut) => {
            let (a, b, c) = (l.row(op.a), l.row(op.b), l.row(op.c));
            for k in lanes {
                for bit in 0..8u64 {
                    if lut >> bit & 1 == 1 {
                        let pick = |v: u64, want: u64| if want & 1 == 1 { v } else { !v };
                        t[k] |= pick(a[k], bit >> 2)
                            & pick(b[k], bit >> 1)
                            & pick(c[k], bit)
                            & 0xffff_ffff;
                    }
                }
            }
        }
        Kind::Bfi(bytes) => {
            let (a, b, c, n) = (l.row(op.a), l.row(op.b), l.row(op.c), l.row(op.imm as u32));
            let width = u64::from(bytes) * 8;
            for k in lanes {
                let (pos, len) = (c[k] & 255, n[k] & 255);
                let ones = if len >= 64 {
                    u64::MAX
                } else {
                    (1u64 << len) - 1
                };
                let m = if pos >= width {
                    0
                } else {
                    (ones << pos) & (u64::MAX >> (64 - width))
                };
                t[k] = (b[k] & !m) | (if pos >= width { 0 } else { a[k] << pos } & m);
            }
        }
        Kind::Carry {
            op: o,
            bytes,
            signed,
            reads,
            writes,
        } => {
            let a = *l.row(op.a);
            let b = *l.row(op.b);
            let c = if op.c == NONE { [0; W] } else { *l.row(op.c) };
            let mut flags = *l.carry;
            for k in lanes {
                let (v, f) = carry(
                    o,
                    bytes,
                    signed,
                    [a[k], b[k], c[k]],
                    reads && *l.carry >> k & 1 == 1,
                );
                t[k] = v;
                if writes && mask >> k & 1 == 1 {
                    flags = (flags & !(1 << k)) | (u64::from(f) << k);
                }
            }
            *l.carry = flags;
        }
        Kind::Set {
            cmp,
            ty,
            with,
            negate_c,
            float,
        } => {
            let x = compare(cmp, ty, l.row(op.a), l.row(op.b));
            let c = if op.c == NONE {
                0
            } else {
                l.preds[op.c as usize] ^ 0u64.wrapping_sub(u64::from(negate_c))
            };
            let x = combine(with, x, c);
            let one = if float { 0x3f80_0000 } else { 0xffff_ffff };
            lanes.for_each(|k| t[k] = if x >> k & 1 == 1 { one } else { 0 });
        }
        Kind::Clock { wide } => {
            let v = if wide { l.clock } else { l.clock & 0xffff_ffff };
            t = [v; W];
        }
        Kind::ActiveMask => t = [mask & full::<W>(); W],
        Kind::PredLogic(o) => {
            let flip = |p: u64, bit: i64| if op.imm >> bit & 1 == 1 { !p } else { p };
            let x = combine(
                Some(o),
                flip(l.preds[op.a as usize], 0),
                flip(l.preds[op.b as usize], 1),
            );
            l.put_pred(op.d, x, mask);
            return true;
        }
        Kind::PredNot => {
            let x = !l.preds[op.a as usize];
            l.put_pred(op.d, x, mask);
            return true;
        }
        Kind::PredMov => {
            let x = l.preds[op.a as usize];
            l.put_pred(op.d, x, mask);
            return true;
        }
        Kind::PredConst(v) => {
            l.put_pred(op.d, if v { u64::MAX } else { 0 }, mask);
            return true;
        }
        Kind::Testp { f64, what } => {
            let a = l.row(op.a);
            let x = bits(a, a, |v, _| testp(f64, what, v));
            l.put_pred(op.d, x, mask);
            return true;
        }
        _ => return false,
    }
    l.put(op.d, &t, mask);
    true
}

fn plain<const W: usize>(op: &Op, l: Lanes<'_, W>, mask: u64) -> bool {
    step(op, l, mask)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,popcnt,lzcnt,bmi1,bmi2")]
fn avx2<const W: usize>(op: &Op, l: Lanes<'_, W>, mask: u64) -> bool {
    step(op, l, mask)
}

#[cfg(target_arch = "x86_64")]
fn with_avx2<const W: usize>(op: &Op, l: Lanes<'_, W>, mask: u64) -> bool {
    // SAFETY: `choose` hands this function out only after the processor said it has these features.
    unsafe { avx2(op, l, mask) }
}

/// The best version for this processor.
pub fn choose<const W: usize>() -> AluFn<W> {
    #[cfg(target_arch = "x86_64")]
    {
        let all = is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("fma")
            && is_x86_feature_detected!("popcnt")
            && is_x86_feature_detected!("lzcnt")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2");
        if all {
            return with_avx2::<W>;
        }
    }
    plain::<W>
}

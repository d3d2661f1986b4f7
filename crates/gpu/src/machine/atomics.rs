//! The value that an atomic operation leaves behind.

use crate::ptx::Ty;

use super::float::{Round, bf16_to_f32, f16_to_f32, f64_to_bf16, f64_to_f16};
use super::program::AtomOp;

fn half2(x: u64, b: u64, f: impl Fn(u16, u16) -> u16) -> u64 {
    u64::from(f(x as u16, b as u16)) | u64::from(f((x >> 16) as u16, (b >> 16) as u16)) << 16
}

/// New value from the old one `x`, the operand `b`, and for cas the value to store `c`.
pub fn apply(op: AtomOp, ty: Ty, x: u64, b: u64, c: u64) -> u64 {
    let keep = u64::MAX >> (64 - ty.bytes() * 8);
    let (x, b, c) = (x & keep, b & keep, c & keep);
    let signed = |v: u64| ((v << (64 - ty.bytes() * 8)) as i64) >> (64 - ty.bytes() * 8);
    let out = match (op, ty) {
        (AtomOp::Add, Ty::F32) => {
            u64::from((f32::from_bits(x as u32) + f32::from_bits(b as u32)).to_bits())
        }
        (AtomOp::Add, Ty::F64) => (f64::from_bits(x) + f64::from_bits(b)).to_bits(),
        (AtomOp::Add, Ty::F16 | Ty::F16x2) => half2(x, b, |p, q| {
            f64_to_f16(
                f64::from(f16_to_f32(p)) + f64::from(f16_to_f32(q)),
                Round::Nearest,
            )
        }),
        (AtomOp::Add, Ty::Bf16 | Ty::Bf16x2) => half2(x, b, |p, q| {
            f64_to_bf16(
                f64::from(bf16_to_f32(p)) + f64::from(bf16_to_f32(q)),
                Round::Nearest,
            )
        }),
        (AtomOp::Add, _) => x.wrapping_add(b),
        (AtomOp::Min, _) if ty.signed() => signed(x).min(signed(b)) as u64,
        (AtomOp::Max, _) if ty.signed() => signed(x).max(signed(b)) as u64,
        (AtomOp::Min, _) => x.min(b),
        (AtomOp::Max, _) => x.max(b),
        (AtomOp::And, _) => x & b,
        (AtomOp::Or, _) => x | b,
        (AtomOp::Xor, _) => x ^ b,
        (AtomOp::Exch, _) => b,
        (AtomOp::Cas, _) => {
            if x == b {
                c
            } else {
                x
            }
        }
        (AtomOp::Inc, _) => {
            if x >= b {
                0
            } else {
                x + 1
            }
        }
        (AtomOp::Dec, _) => {
            if x == 0 || x > b {
                b
            } else {
                x - 1
            }
        }
    };
    out & keep
}

//! `cvt`: every conversion between PTX types, one lane at a time, and the shortcuts for the frequent ones.

use crate::ptx::Ty;

use super::float::{Round, bf16_to_f32, f16_to_f32, f64_to_bf16, f64_to_f16, f64_to_f32, integral};
use super::ops::Un;
use super::program::CvtSpec;

/// The vectorised form, where there is one.
pub fn fast(s: CvtSpec) -> Option<Un> {
    if s.sat && !(s.dst == Ty::F32 && s.src == Ty::F32) {
        return None;
    }
    let near = s.round == Round::Nearest && !s.integral;
    let zero = s.round == Round::Zero && s.integral;
    Some(match (s.dst, s.src) {
        (Ty::F32, Ty::F32) if s.sat && !s.integral => Un::SatF32,
        (Ty::F32, Ty::S32) if near => Un::S32ToF32,
        (Ty::F32, Ty::U32) if near => Un::U32ToF32,
        (Ty::F64, Ty::S32) => Un::S32ToF64,
        (Ty::F64, Ty::U32) => Un::U32ToF64,
        (Ty::F64, Ty::F32) if !s.integral => Un::F32ToF64,
        (Ty::F32, Ty::F64) if near => Un::F64ToF32,
        (Ty::S32, Ty::F32) if zero => Un::F32ToS32Zero,
        (Ty::U32, Ty::F32) if zero => Un::F32ToU32Zero,
        (d, f) if !d.float() && !f.float() => match (d.bytes(), f.bytes(), f.signed()) {
            (8, 4, true) => Un::Sext32To64,
            (8, 2, true) => Un::Sext16To64,
            (4, 2, true) => Un::Sext16To32,
            (8, 1, true) => Un::Sext8To64,
            (4, 1, true) => Un::Sext8To32,
            (2, 1, true) => Un::Sext8To16,
            (d, f, _) => match d.min(f) {
                8 => Un::Mov,
                4 => Un::Low32,
                2 => Un::Low16,
                _ => Un::Low8,
            },
        },
        _ => return None,
    })
}

fn limits(t: Ty) -> (i128, i128) {
    let bits = t.bytes() * 8;
    if t.signed() {
        (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1)
    } else {
        (0, (1i128 << bits) - 1)
    }
}

/// One lane.
pub fn convert(s: CvtSpec, x: u64) -> u64 {
    let mask = |v: i128, t: Ty| (v as u64) & (u64::MAX >> (64 - t.bytes() * 8));
    if s.src.float() {
        let v = match s.src {
            Ty::F16 => f64::from(f16_to_f32(x as u16)),
            Ty::Bf16 => f64::from(bf16_to_f32(x as u16)),
            Ty::F32 => f64::from(f32::from_bits(x as u32)),
            _ => f64::from_bits(x),
        };
        if s.dst.float() {
            let v = if s.integral { integral(v, s.round) } else { v };
            let v = match s.sat {
                true if v.is_nan() => 0.0,
                true => v.clamp(0.0, 1.0),
                false => v,
            };
            return from_f64(v, s);
        }
        let v = integral(v, s.round);
        let (lo, hi) = limits(s.dst);
        let n = if v.is_nan() {
            0
        } else {
            (v as i128).clamp(lo, hi)
        };
        return mask(n, s.dst);
    }
    let bits = s.src.bytes() * 8;
    let raw = x & (u64::MAX >> (64 - bits));
    let v = if s.src.signed() {
        i128::from(((raw << (64 - bits)) as i64) >> (64 - bits))
    } else {
        i128::from(raw)
    };
    if s.dst.float() {
        if s.dst == Ty::F64 && s.round == Round::Nearest {
            return (v as f64).to_bits();
        }
        if s.dst == Ty::F32 && s.round == Round::Nearest {
            return u64::from((v as f32).to_bits());
        }
        return int_to_float(v, s);
    }
    let v = if s.sat {
        let (lo, hi) = limits(s.dst);
        v.clamp(lo, hi)
    } else {
        v
    };
    mask(v, s.dst)
}

fn from_f64(v: f64, s: CvtSpec) -> u64 {
    let round = if s.integral { Round::Nearest } else { s.round };
    match s.dst {
        Ty::F16 => u64::from(f64_to_f16(v, round)),
        Ty::Bf16 => u64::from(f64_to_bf16(v, round)),
        Ty::F32 => u64::from(f64_to_f32(v, round).to_bits()),
        _ => v.to_bits(),
    }
}

/// Integers may need more bits than a double has: take the nearest double and correct it towards the mode.
fn int_to_float(v: i128, s: CvtSpec) -> u64 {
    let near = v as f64;
    let err = v - near as i128;
    let directed = match s.round {
        Round::Up if err > 0 => near.next_up(),
        Round::Down if err < 0 => near.next_down(),
        Round::Zero if v > 0 && err < 0 => near.next_down(),
        Round::Zero if v < 0 && err > 0 => near.next_up(),
        _ => near,
    };
    from_f64(directed, s)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn c(dst: Ty, src: Ty, round: Round, integral: bool, x: u64) -> u64 {
        let s = CvtSpec {
            dst,
            src,
            round,
            integral,
            sat: false,
        };
        let slow = convert(s, x);
        if let Some(f) = fast(s) {
            assert_eq!(f.one(x), slow, "{s:?} {x:x}");
        }
        slow
    }

    #[test]
    fn conversions() {
        assert_eq!(
            c(Ty::S64, Ty::S32, Round::Nearest, false, 0xffff_ffff),
            u64::MAX
        );
        assert_eq!(
            c(Ty::U64, Ty::U32, Round::Nearest, false, 0xffff_ffff),
            0xffff_ffff
        );
        assert_eq!(c(Ty::U8, Ty::U32, Round::Nearest, false, 0x1234), 0x34);
        let f = u64::from((-2.5f32).to_bits());
        assert_eq!(c(Ty::S32, Ty::F32, Round::Zero, true, f), 0xffff_fffe);
        assert_eq!(c(Ty::S32, Ty::F32, Round::Nearest, true, f), 0xffff_fffe);
        assert_eq!(c(Ty::S32, Ty::F32, Round::Down, true, f), 0xffff_fffd);
        assert_eq!(c(Ty::U32, Ty::F32, Round::Zero, true, f), 0);
        assert_eq!(
            c(
                Ty::S32,
                Ty::F32,
                Round::Zero,
                true,
                u64::from(1e20f32.to_bits())
            ),
            0x7fff_ffff
        );
        let big = 0x7fff_ffff_ffff_ffffu64;
        assert_eq!(
            c(Ty::F64, Ty::S64, Round::Zero, false, big),
            0x43df_ffff_ffff_ffff
        );
        assert_eq!(
            c(Ty::F32, Ty::U32, Round::Up, false, 16_777_217),
            u64::from(16_777_218f32.to_bits())
        );
    }
}

//! Floating point that Rust lacks: half and bfloat16, directed rounding, PTX's NaN rules for min and max.
//!
//! Directed rounding takes the nearest result and the sign of its exact error, then steps by one if the nearest
//! result lies on the wrong side.

/// PTX rounding modes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Round {
    Nearest,
    Zero,
    Down,
    Up,
}

pub fn f16_to_f32(h: u16) -> f32 {
    let sign = u32::from(h >> 15) << 31;
    let exp = u32::from(h >> 10) & 0x1f;
    let frac = u32::from(h) & 0x3ff;
    match (exp, frac) {
        (0, 0) => f32::from_bits(sign),
        (0, f) => {
            let v = f as f32 * (1.0 / 16_777_216.0);
            if sign != 0 { -v } else { v }
        }
        (0x1f, f) => f32::from_bits(sign | 0x7f80_0000 | (f << 13)),
        (e, f) => f32::from_bits(sign | ((e + 112) << 23) | (f << 13)),
    }
}

/// Rounds a double to a smaller format of `frac` fraction bits and `ebits` exponent bits, straight to its bits.
fn narrow(x: f64, frac: u32, ebits: u32, mode: Round) -> u32 {
    let bits = x.to_bits();
    let sign = (bits >> 63) as u32;
    let top = sign << (frac + ebits);
    let max_exp = (1u32 << ebits) - 1;
    let bias = (1i32 << (ebits - 1)) - 1;
    if x.is_nan() {
        return (max_exp << frac) | ((1 << frac) - 1);
    }
    if x.is_infinite() {
        return top | (max_exp << frac);
    }
    if x == 0.0 {
        return top;
    }
    let mut e = ((bits >> 52) & 0x7ff) as i32;
    let mut m = bits & ((1 << 52) - 1);
    if e == 0 {
        let shift = m.leading_zeros() as i32 - 11;
        m <<= shift;
        e = 1 - shift;
    } else {
        m |= 1 << 52;
    }
    let e = e - 1023 + bias;
    let drop = (52 - frac as i32 + if e <= 0 { 1 - e } else { 0 }).min(60) as u32;
    let kept = (m >> drop) as u32;
    let rest = m & ((1u64 << drop) - 1);
    let half = 1u64 << (drop - 1);
    let up = match mode {
        Round::Nearest => rest > half || (rest == half && kept & 1 == 1),
        Round::Zero => false,
        Round::Down => sign == 1 && rest != 0,
        Round::Up => sign == 0 && rest != 0,
    };
    let base = if e <= 0 { 0 } else { ((e as u32) - 1) << frac };
    let out = base.saturating_add(kept).saturating_add(u32::from(up));
    if e > max_exp as i32 || out >= max_exp << frac {
        let to_max = match mode {
            Round::Nearest => false,
            Round::Zero => true,
            Round::Down => sign == 0,
            Round::Up => sign == 1,
        };
        return top
            | if to_max {
                (max_exp << frac) - 1
            } else {
                max_exp << frac
            };
    }
    top | out
}

pub fn f64_to_f16(x: f64, mode: Round) -> u16 {
    narrow(x, 10, 5, mode) as u16
}

pub fn bf16_to_f32(h: u16) -> f32 {
    f32::from_bits(u32::from(h) << 16)
}

pub fn f64_to_bf16(x: f64, mode: Round) -> u16 {
    narrow(x, 7, 8, mode) as u16
}

pub fn f64_to_f32(x: f64, mode: Round) -> f32 {
    if mode == Round::Nearest {
        return x as f32;
    }
    if x.is_nan() {
        return f32::NAN;
    }
    f32::from_bits(narrow(x, 23, 8, mode))
}

/// Steps the nearest result `r` to the side that `mode` wants; `err` has the sign of (exact - r).
fn step64(r: f64, err: f64, mode: Round) -> f64 {
    if r.is_nan() || err == 0.0 || err.is_nan() {
        return r;
    }
    match mode {
        Round::Nearest => r,
        Round::Up if err > 0.0 => r.next_up(),
        Round::Down if err < 0.0 => r.next_down(),
        Round::Zero if r > 0.0 && err < 0.0 => r.next_down(),
        Round::Zero if r < 0.0 && err > 0.0 => r.next_up(),
        _ => r,
    }
}

/// An overflow to infinity of finite operands, put right for modes that stop at the largest number.
fn overflow64(r: f64, finite: bool, mode: Round) -> Option<f64> {
    if !(r.is_infinite() && finite) {
        return None;
    }
    let max = match mode {
        Round::Nearest => return Some(r),
        Round::Zero => true,
        Round::Up => r < 0.0,
        Round::Down => r > 0.0,
    };
    Some(if max { f64::MAX.copysign(r) } else { r })
}

pub fn add64(a: f64, b: f64, mode: Round) -> f64 {
    let r = a + b;
    if mode == Round::Nearest {
        return r;
    }
    if let Some(v) = overflow64(r, a.is_finite() && b.is_finite(), mode) {
        return v;
    }
    if r == 0.0 && a == -b && a != 0.0 {
        return if mode == Round::Down { -0.0 } else { 0.0 };
    }
    let bb = r - a;
    step64(r, (a - (r - bb)) + (b - bb), mode)
}

pub fn mul64(a: f64, b: f64, mode: Round) -> f64 {
    let r = a * b;
    if mode == Round::Nearest {
        return r;
    }
    overflow64(r, a.is_finite() && b.is_finite(), mode)
        .unwrap_or_else(|| step64(r, a.mul_add(b, -r), mode))
}

pub fn fma64(a: f64, b: f64, c: f64, mode: Round) -> f64 {
    let r = a.mul_add(b, c);
    if mode == Round::Nearest {
        return r;
    }
    if let Some(v) = overflow64(r, a.is_finite() && b.is_finite() && c.is_finite(), mode) {
        return v;
    }
    // exact a*b + c - r, with a*b = p + q
    let p = a * b;
    let q = a.mul_add(b, -p);
    let s = p + c;
    let bb = s - p;
    let t = (p - (s - bb)) + (c - bb);
    step64(r, (s - r) + (t + q), mode)
}

pub fn div64(a: f64, b: f64, mode: Round) -> f64 {
    let q = a / b;
    if mode == Round::Nearest || q.is_infinite() && b == 0.0 {
        return q;
    }
    overflow64(q, a.is_finite() && b.is_finite(), mode).unwrap_or_else(|| {
        let rem = (-q).mul_add(b, a);
        step64(q, if b < 0.0 { -rem } else { rem }, mode)
    })
}

pub fn sqrt64(a: f64, mode: Round) -> f64 {
    let r = a.sqrt();
    if mode == Round::Nearest || !r.is_finite() {
        return r;
    }
    step64(r, (-r).mul_add(r, a), mode)
}

/// Single precision: the double result is exact, or rounded so that its sticky sign survives (round to odd).
fn odd(r: f64, err: f64) -> f64 {
    if err == 0.0 || !r.is_finite() || err.is_nan() || r.to_bits() & 1 == 1 {
        return r;
    }
    if err > 0.0 {
        r.next_up()
    } else {
        r.next_down()
    }
}

pub fn add32(a: f32, b: f32, mode: Round) -> f32 {
    let (x, y) = (f64::from(a), f64::from(b));
    let r = x + y;
    if r == 0.0 && mode == Round::Down && a == -b && a != 0.0 {
        return -0.0;
    }
    let bb = r - x;
    f64_to_f32(odd(r, (x - (r - bb)) + (y - bb)), mode)
}

pub fn mul32(a: f32, b: f32, mode: Round) -> f32 {
    f64_to_f32(f64::from(a) * f64::from(b), mode)
}

pub fn fma32(a: f32, b: f32, c: f32, mode: Round) -> f32 {
    let (p, z) = (f64::from(a) * f64::from(b), f64::from(c));
    let r = p + z;
    let bb = r - p;
    f64_to_f32(odd(r, (p - (r - bb)) + (z - bb)), mode)
}

pub fn div32(a: f32, b: f32, mode: Round) -> f32 {
    let (x, y) = (f64::from(a), f64::from(b));
    let q = x / y;
    let rem = (-q).mul_add(y, x);
    f64_to_f32(odd(q, if y < 0.0 { -rem } else { rem }), mode)
}

pub fn sqrt32(a: f32, mode: Round) -> f32 {
    let x = f64::from(a);
    let r = x.sqrt();
    f64_to_f32(odd(r, (-r).mul_add(r, x)), mode)
}

/// IEEE minimum as PTX has it: NaN loses, and -0 is below +0.
pub fn min64(a: f64, b: f64) -> f64 {
    if a.is_nan() {
        return b;
    }
    if b.is_nan() {
        return a;
    }
    if a == b {
        if a.is_sign_negative() { a } else { b }
    } else if a < b {
        a
    } else {
        b
    }
}

pub fn max64(a: f64, b: f64) -> f64 {
    -min64(-a, -b)
}

/// Rounds to an integral value.
pub fn integral(x: f64, mode: Round) -> f64 {
    match mode {
        Round::Nearest => x.round_ties_even(),
        Round::Zero => x.trunc(),
        Round::Down => x.floor(),
        Round::Up => x.ceil(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn f32_to_f16(x: f32) -> u16 {
        f64_to_f16(f64::from(x), Round::Nearest)
    }

    #[test]
    fn every_half_survives_the_round_trip() {
        for h in 0..=u16::MAX {
            let f = f16_to_f32(h);
            if f.is_nan() {
                continue;
            }
            assert_eq!(f32_to_f16(f), h, "{h:04x}");
        }
        assert_eq!(f32_to_f16(65519.9), 0x7bff);
        assert_eq!(f32_to_f16(65520.0), 0x7c00);
        assert_eq!(f32_to_f16(5.960_464_5e-8), 1);
        assert_eq!(f32_to_f16(2.980_232_2e-8), 0);
    }

    #[test]
    fn directed_rounding_brackets_the_nearest() {
        let (a, b) = (1.0f32, 3.0f32);
        assert!(div32(a, b, Round::Down) < div32(a, b, Round::Up));
        assert_eq!(div32(a, b, Round::Nearest), a / b);
        assert_eq!(div32(a, b, Round::Up), div32(a, b, Round::Down).next_up());
        assert_eq!(div64(1.0, 3.0, Round::Zero), div64(1.0, 3.0, Round::Down));
        assert_eq!(add32(1.0, 1e-20, Round::Up), 1.0f32.next_up());
        assert_eq!(add32(1.0, 1e-20, Round::Zero), 1.0);
        assert_eq!(mul64(f64::MAX, 2.0, Round::Zero), f64::MAX);
        assert_eq!(fma32(1.0, 1.0, 1e-30, Round::Up), 1.0f32.next_up());
        assert_eq!(f64_to_f32(1e300, Round::Zero), f32::MAX);
        assert_eq!(sqrt32(2.0, Round::Nearest), 2.0f32.sqrt());
    }

    #[test]
    fn fused_single_matches_the_library() {
        let mut s = 1u64;
        for _ in 0..20_000 {
            let mut next = || {
                s = s
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                f32::from_bits((s >> 32) as u32)
            };
            let (a, b, c) = (next(), next(), next());
            let (x, y) = (fma32(a, b, c, Round::Nearest), a.mul_add(b, c));
            assert!(x == y || (x.is_nan() && y.is_nan()), "{a} {b} {c}: {x} {y}");
        }
    }
}

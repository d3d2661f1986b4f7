//! The arithmetic of the machine: one line per operation, applied to all lanes of a row at once.
//!
//! A register is a row of one `u64` per lane that holds the value's bits, zero-extended. Results for lanes outside
//! the mask are thrown away, so an operation must be harmless for any input (no division trap, no panic).

use super::float as fl;

/// One register of a warp.
pub type Row<const W: usize> = [u64; W];

#[inline(always)]
pub fn blend<const W: usize>(d: &mut Row<W>, t: &Row<W>, mask: u64) {
    if mask == full::<W>() {
        *d = *t;
    } else {
        for l in 0..W {
            let m = 0u64.wrapping_sub((mask >> l) & 1);
            d[l] = (t[l] & m) | (d[l] & !m);
        }
    }
}

/// The mask with all lanes of a warp.
#[inline(always)]
pub const fn full<const W: usize>() -> u64 {
    if W == 64 { u64::MAX } else { (1 << W) - 1 }
}

#[inline(always)]
fn s32(x: u64) -> i32 {
    x as u32 as i32
}
#[inline(always)]
fn u(x: i32) -> u64 {
    u64::from(x as u32)
}
#[inline(always)]
fn s16(x: u64) -> i16 {
    x as u16 as i16
}
#[inline(always)]
fn h(x: i16) -> u64 {
    u64::from(x as u16)
}
#[inline(always)]
fn f(x: u64) -> f32 {
    f32::from_bits(x as u32)
}
#[inline(always)]
fn fb(x: f32) -> u64 {
    u64::from(x.to_bits())
}
#[inline(always)]
fn d(x: u64) -> f64 {
    f64::from_bits(x)
}
fn hf(x: u64) -> f64 {
    f64::from(fl::f16_to_f32(x as u16))
}
fn hb(x: f64) -> u64 {
    u64::from(fl::f64_to_f16(x, fl::Round::Nearest))
}
fn bf(x: u64) -> f64 {
    f64::from(fl::bf16_to_f32(x as u16))
}
fn bfb(x: f64) -> u64 {
    u64::from(fl::f64_to_bf16(x, fl::Round::Nearest))
}
#[inline(always)]
fn sat(x: f32) -> f32 {
    if x.is_nan() { 0.0 } else { x.clamp(0.0, 1.0) }
}
fn pair(a: u64, b: u64, f: impl Fn(u64, u64) -> u64) -> u64 {
    f(a & 0xffff, b & 0xffff) | (f(a >> 16 & 0xffff, b >> 16 & 0xffff) << 16)
}

/// A subnormal half becomes zero.
#[inline(always)]
fn flush_half(a: u64) -> u64 {
    if a & 0x7c00 == 0 {
        a & 0x8000
    } else {
        a & 0xffff
    }
}

macro_rules! unary {
    ($(#[$doc:meta])* $name:ident, $($v:ident = $f:expr;)*) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name { $($v),* }

        impl $name {
            /// All lanes at once.
            #[inline(always)]
            pub fn rows<const W: usize>(self, out: &mut Row<W>, a: &Row<W>) {
                match self {
                    $($name::$v => { let f = $f; for l in 0..W { out[l] = f(a[l]); } })*
                }
            }

            /// One lane: the specification, used by tests and by rare forms.
            pub fn one(self, a: u64) -> u64 {
                match self { $($name::$v => { let f = $f; f(a) })* }
            }
        }
    };
}

macro_rules! binary {
    ($(#[$doc:meta])* $name:ident, $($v:ident = $f:expr;)*) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name { $($v),* }

        impl $name {
            /// All lanes at once.
            #[inline(always)]
            pub fn rows<const W: usize>(self, out: &mut Row<W>, a: &Row<W>, b: &Row<W>) {
                match self {
                    $($name::$v => { let f = $f; for l in 0..W { out[l] = f(a[l], b[l]); } })*
                }
            }

            /// One lane: the specification, used by tests and by rare forms.
            pub fn one(self, a: u64, b: u64) -> u64 {
                match self { $($name::$v => { let f = $f; f(a, b) })* }
            }
        }
    };
}

macro_rules! ternary {
    ($(#[$doc:meta])* $name:ident, $($v:ident = $f:expr;)*) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name { $($v),* }

        impl $name {
            /// All lanes at once.
            #[inline(always)]
            pub fn rows<const W: usize>(self, out: &mut Row<W>, a: &Row<W>, b: &Row<W>, c: &Row<W>) {
                match self {
                    $($name::$v => { let f = $f; for l in 0..W { out[l] = f(a[l], b[l], c[l]); } })*
                }
            }

            /// One lane: the specification, used by tests and by rare forms.
            pub fn one(self, a: u64, b: u64, c: u64) -> u64 {
                match self { $($name::$v => { let f = $f; f(a, b, c) })* }
            }
        }
    };
}

binary! {
    /// Two operands.
    Bin,
    Add16 = |a: u64, b: u64| (a + b) & 0xffff;
    Add32 = |a: u64, b: u64| (a + b) & 0xffff_ffff;
    Add64 = |a: u64, b: u64| a.wrapping_add(b);
    AddSatS32 = |a, b| u(s32(a).saturating_add(s32(b)));
    Sub16 = |a: u64, b: u64| a.wrapping_sub(b) & 0xffff;
    Sub32 = |a: u64, b: u64| a.wrapping_sub(b) & 0xffff_ffff;
    Sub64 = |a: u64, b: u64| a.wrapping_sub(b);
    SubSatS32 = |a, b| u(s32(a).saturating_sub(s32(b)));
    Mul16 = |a: u64, b: u64| (a * b) & 0xffff;
    Mul32 = |a: u64, b: u64| u64::from((a as u32).wrapping_mul(b as u32));
    Mul64 = |a: u64, b: u64| a.wrapping_mul(b);
    MulHiU16 = |a: u64, b: u64| ((a & 0xffff) * (b & 0xffff)) >> 16;
    MulHiS16 = |a, b| h(((i32::from(s16(a)) * i32::from(s16(b))) >> 16) as i16);
    MulHiU32 = |a: u64, b: u64| ((a & 0xffff_ffff) * (b & 0xffff_ffff)) >> 32;
    MulHiS32 = |a, b| u(((i64::from(s32(a)) * i64::from(s32(b))) >> 32) as i32);
    MulHiU64 = |a: u64, b: u64| ((u128::from(a) * u128::from(b)) >> 64) as u64;
    MulHiS64 = |a: u64, b: u64| ((i128::from(a as i64) * i128::from(b as i64)) >> 64) as u64;
    MulWideU16 = |a: u64, b: u64| (a & 0xffff) * (b & 0xffff);
    MulWideS16 = |a, b| u(i32::from(s16(a)) * i32::from(s16(b)));
    MulWideU32 = |a: u64, b: u64| (a & 0xffff_ffff) * (b & 0xffff_ffff);
    MulWideS32 = |a, b| (i64::from(s32(a)) * i64::from(s32(b))) as u64;
    Mul24LoU = |a: u64, b: u64| ((a & 0xff_ffff) * (b & 0xff_ffff)) & 0xffff_ffff;
    Mul24LoS = |a: u64, b: u64| u((i64::from(s32(a) << 8 >> 8) * i64::from(s32(b) << 8 >> 8)) as i32);
    Mul24HiU = |a: u64, b: u64| (((a & 0xff_ffff) * (b & 0xff_ffff)) >> 16) & 0xffff_ffff;
    Mul24HiS = |a: u64, b: u64| u(((i64::from(s32(a) << 8 >> 8) * i64::from(s32(b) << 8 >> 8)) >> 16) as i32);
    DivU16 = |a: u64, b: u64| a.checked_div(b).unwrap_or(0xffff);
    DivS16 = |a, b| h(if b == 0 { -1 } else { s16(a).wrapping_div(s16(b)) });
    DivU32 = |a: u64, b: u64| u64::from((a as u32).checked_div(b as u32).unwrap_or(u32::MAX));
    DivS32 = |a, b| u(if s32(b) == 0 { -1 } else { s32(a).wrapping_div(s32(b)) });
    DivU64 = |a: u64, b: u64| a.checked_div(b).unwrap_or(u64::MAX);
    DivS64 = |a: u64, b: u64| if b == 0 { u64::MAX } else { (a as i64).wrapping_div(b as i64) as u64 };
    RemU16 = |a: u64, b: u64| if b == 0 { a } else { a % b };
    RemS16 = |a, b| h(if b == 0 { s16(a) } else { s16(a).wrapping_rem(s16(b)) });
    RemU32 = |a: u64, b: u64| if b as u32 == 0 { a } else { u64::from(a as u32 % b as u32) };
    RemS32 = |a, b| u(if s32(b) == 0 { s32(a) } else { s32(a).wrapping_rem(s32(b)) });
    RemU64 = |a: u64, b: u64| a.checked_rem(b).unwrap_or(a);
    RemS64 = |a: u64, b: u64| if b == 0 { a } else { (a as i64).wrapping_rem(b as i64) as u64 };
    MinU = |a: u64, b: u64| a.min(b);
    MaxU = |a: u64, b: u64| a.max(b);
    MinS16 = |a, b| h(s16(a).min(s16(b)));
    MaxS16 = |a, b| h(s16(a).max(s16(b)));
    MinS32 = |a, b| u(s32(a).min(s32(b)));
    MaxS32 = |a, b| u(s32(a).max(s32(b)));
    MinS64 = |a: u64, b: u64| (a as i64).min(b as i64) as u64;
    MaxS64 = |a: u64, b: u64| (a as i64).max(b as i64) as u64;
    And = |a: u64, b: u64| a & b;
    Or = |a: u64, b: u64| a | b;
    Xor = |a: u64, b: u64| a ^ b;
    Shl16 = |a: u64, b: u64| if b as u32 > 15 { 0 } else { (a << b) & 0xffff };
    Shl32 = |a: u64, b: u64| if b as u32 > 31 { 0 } else { (a << (b & 31)) & 0xffff_ffff };
    Shl64 = |a: u64, b: u64| if b as u32 > 63 { 0 } else { a << (b & 63) };
    ShrU16 = |a: u64, b: u64| if b as u32 > 15 { 0 } else { a >> b };
    ShrU32 = |a: u64, b: u64| if b as u32 > 31 { 0 } else { (a & 0xffff_ffff) >> (b & 31) };
    ShrU64 = |a: u64, b: u64| if b as u32 > 63 { 0 } else { a >> (b & 63) };
    ShrS16 = |a: u64, b: u64| h(s16(a) >> (b as u32).min(15));
    ShrS32 = |a: u64, b: u64| u(s32(a) >> (b as u32).min(31));
    ShrS64 = |a: u64, b: u64| ((a as i64) >> (b as u32).min(63)) as u64;
    AddF32 = |a, b| fb(f(a) + f(b));
    SubF32 = |a, b| fb(f(a) - f(b));
    MulF32 = |a, b| fb(f(a) * f(b));
    AddSatF32 = |a, b| fb(sat(f(a) + f(b)));
    MulSatF32 = |a, b| fb(sat(f(a) * f(b)));
    DivF32 = |a, b| fb(f(a) / f(b));
    MinF32 = |a, b| fb(fl::min64(f64::from(f(a)), f64::from(f(b))) as f32);
    MaxF32 = |a, b| fb(fl::max64(f64::from(f(a)), f64::from(f(b))) as f32);
    MinNanF32 = |a, b| if f(a).is_nan() || f(b).is_nan() { 0x7fff_ffff } else { fb(fl::min64(f64::from(f(a)), f64::from(f(b))) as f32) };
    MaxNanF32 = |a, b| if f(a).is_nan() || f(b).is_nan() { 0x7fff_ffff } else { fb(fl::max64(f64::from(f(a)), f64::from(f(b))) as f32) };
    AddF64 = |a, b| (d(a) + d(b)).to_bits();
    SubF64 = |a, b| (d(a) - d(b)).to_bits();
    MulF64 = |a, b| (d(a) * d(b)).to_bits();
    DivF64 = |a, b| (d(a) / d(b)).to_bits();
    MinF64 = |a, b| fl::min64(d(a), d(b)).to_bits();
    MaxF64 = |a, b| fl::max64(d(a), d(b)).to_bits();
    AddF16 = |a, b| hb(hf(a) + hf(b));
    SubF16 = |a, b| hb(hf(a) - hf(b));
    MulF16 = |a, b| hb(hf(a) * hf(b));
    MinF16 = |a, b| hb(fl::min64(hf(a), hf(b)));
    MaxF16 = |a, b| hb(fl::max64(hf(a), hf(b)));
    AddF16x2 = |a, b| pair(a, b, |a, b| hb(hf(a) + hf(b)));
    SubF16x2 = |a, b| pair(a, b, |a, b| hb(hf(a) - hf(b)));
    MulF16x2 = |a, b| pair(a, b, |a, b| hb(hf(a) * hf(b)));
    MinF16x2 = |a, b| pair(a, b, |a, b| hb(fl::min64(hf(a), hf(b))));
    MaxF16x2 = |a, b| pair(a, b, |a, b| hb(fl::max64(hf(a), hf(b))));
    AddBf16 = |a, b| bfb(bf(a) + bf(b));
    SubBf16 = |a, b| bfb(bf(a) - bf(b));
    MulBf16 = |a, b| bfb(bf(a) * bf(b));
    MinBf16 = |a, b| bfb(fl::min64(bf(a), bf(b)));
    MaxBf16 = |a, b| bfb(fl::max64(bf(a), bf(b)));
    AddBf16x2 = |a, b| pair(a, b, |a, b| bfb(bf(a) + bf(b)));
    SubBf16x2 = |a, b| pair(a, b, |a, b| bfb(bf(a) - bf(b)));
    MulBf16x2 = |a, b| pair(a, b, |a, b| bfb(bf(a) * bf(b)));
    MinBf16x2 = |a, b| pair(a, b, |a, b| bfb(fl::min64(bf(a), bf(b))));
    MaxBf16x2 = |a, b| pair(a, b, |a, b| bfb(fl::max64(bf(a), bf(b))));
    CopysignF32 = |a: u64, b: u64| (b & 0x7fff_ffff) | (a & 0x8000_0000);
    CopysignF64 = |a: u64, b: u64| (b & !(1 << 63)) | (a & (1 << 63));
    Pack16 = |a: u64, b: u64| (a & 0xffff) | ((b & 0xffff) << 16);
    Pack32 = |a: u64, b: u64| (a & 0xffff_ffff) | (b << 32);
    Bmsk = |a: u64, b: u64| { let (p, n) = ((a & 31) as u32, (b & 31) as u32); (((1u64 << n) - 1) << p) & 0xffff_ffff };
}

unary! {
    /// One operand.
    Un,
    Mov = |a: u64| a;
    Low32 = |a: u64| a & 0xffff_ffff;
    Low16 = |a: u64| a & 0xffff;
    Low8 = |a: u64| a & 0xff;
    High32 = |a: u64| a >> 32;
    High16 = |a: u64| a >> 16 & 0xffff;
    Sext8To16 = |a: u64| h(i16::from(a as u8 as i8));
    Sext8To32 = |a: u64| u(i32::from(a as u8 as i8));
    Sext8To64 = |a: u64| i64::from(a as u8 as i8) as u64;
    Sext16To32 = |a: u64| u(i32::from(s16(a)));
    Sext16To64 = |a: u64| i64::from(s16(a)) as u64;
    Sext32To64 = |a: u64| i64::from(s32(a)) as u64;
    Not16 = |a: u64| !a & 0xffff;
    Not32 = |a: u64| !a & 0xffff_ffff;
    Not64 = |a: u64| !a;
    Cnot = |a: u64| u64::from(a == 0);
    Neg16 = |a: u64| a.wrapping_neg() & 0xffff;
    Neg32 = |a: u64| a.wrapping_neg() & 0xffff_ffff;
    Neg64 = |a: u64| a.wrapping_neg();
    Abs16 = |a: u64| h(s16(a).wrapping_abs());
    Abs32 = |a: u64| u(s32(a).wrapping_abs());
    Abs64 = |a: u64| (a as i64).wrapping_abs() as u64;
    NegF32 = |a: u64| a ^ 0x8000_0000;
    AbsF32 = |a: u64| a & 0x7fff_ffff;
    NegF64 = |a: u64| a ^ (1 << 63);
    AbsF64 = |a: u64| a & !(1 << 63);
    NegF16 = |a: u64| a ^ 0x8000;
    AbsF16 = |a: u64| a & 0x7fff;
    NegF16x2 = |a: u64| a ^ 0x8000_8000;
    AbsF16x2 = |a: u64| a & 0x7fff_7fff;
    SqrtF32 = |a| fb(f(a).sqrt());
    SqrtF64 = |a| d(a).sqrt().to_bits();
    RsqrtF32 = |a| fb((1.0 / f64::from(f(a)).sqrt()) as f32);
    RsqrtF64 = |a| (1.0 / d(a).sqrt()).to_bits();
    RcpF32 = |a| fb(1.0 / f(a));
    RcpF64 = |a| (1.0 / d(a)).to_bits();
    SinF32 = |a| fb(f64::from(f(a)).sin() as f32);
    CosF32 = |a| fb(f64::from(f(a)).cos() as f32);
    Lg2F32 = |a| fb(f64::from(f(a)).log2() as f32);
    Ex2F32 = |a| fb(f64::from(f(a)).exp2() as f32);
    TanhF32 = |a| fb(f64::from(f(a)).tanh() as f32);
    Ex2F16 = |a| hb(hf(a).exp2());
    TanhF16 = |a| hb(hf(a).tanh());
    S32ToF32 = |a| fb(s32(a) as f32);
    U32ToF32 = |a: u64| fb(a as u32 as f32);
    S32ToF64 = |a| f64::from(s32(a)).to_bits();
    U32ToF64 = |a: u64| f64::from(a as u32).to_bits();
    F32ToF64 = |a| f64::from(f(a)).to_bits();
    F64ToF32 = |a| fb(d(a) as f32);
    F32ToS32Zero = |a| u(f(a) as i32);
    F32ToU32Zero = |a| u64::from(f(a) as u32);
    SatF32 = |a| fb(sat(f(a)));
    // A subnormal number becomes a zero of its sign.
    FtzF32 = |a| if a & 0x7f80_0000 == 0 { a & 0x8000_0000 } else { a };
    FtzF16 = |a: u64| flush_half(a);
    FtzF16x2 = |a: u64| flush_half(a) | flush_half(a >> 16) << 16;
    // To nearest, ties away from zero; the mantissa keeps ten bits.
    ToTf32 = |a: u64| if a & 0x7f80_0000 == 0x7f80_0000 { a } else { (a + 0x1000) & 0xffff_e000 };
    Popc32 = |a: u64| u64::from((a as u32).count_ones());
    Popc64 = |a: u64| u64::from(a.count_ones());
    Clz32 = |a: u64| u64::from((a as u32).leading_zeros());
    Clz64 = |a: u64| u64::from(a.leading_zeros());
    Brev32 = |a: u64| u64::from((a as u32).reverse_bits());
    Brev64 = |a: u64| a.reverse_bits();
    BfindU32 = |a: u64| if a as u32 == 0 { 0xffff_ffff } else { u64::from(31 - (a as u32).leading_zeros()) };
    BfindS32 = |a: u64| { let v = if s32(a) < 0 { !(a as u32) } else { a as u32 }; if v == 0 { 0xffff_ffff } else { u64::from(31 - v.leading_zeros()) } };
    BfindU64 = |a: u64| if a == 0 { 0xffff_ffff } else { u64::from(63 - a.leading_zeros()) };
    BfindS64 = |a: u64| { let v = if (a as i64) < 0 { !a } else { a }; if v == 0 { 0xffff_ffff } else { u64::from(63 - v.leading_zeros()) } };
    // bfind.shiftamt: from the top instead of the bottom.
    ShiftAmount32 = |a: u64| if a == 0xffff_ffff { a } else { 31 - a };
    ShiftAmount64 = |a: u64| if a == 0xffff_ffff { a } else { 63 - a };
}

ternary! {
    /// Three operands.
    Ter,
    Mad16 = |a: u64, b: u64, c: u64| (a * b + c) & 0xffff;
    Mad32 = |a: u64, b: u64, c: u64| u64::from((a as u32).wrapping_mul(b as u32).wrapping_add(c as u32));
    Mad64 = |a: u64, b: u64, c: u64| a.wrapping_mul(b).wrapping_add(c);
    MadHiU32 = |a: u64, b: u64, c: u64| (Bin::MulHiU32.one(a, b) + c) & 0xffff_ffff;
    MadHiS32 = |a: u64, b: u64, c: u64| (Bin::MulHiS32.one(a, b) + c) & 0xffff_ffff;
    MadHiU64 = |a: u64, b: u64, c: u64| Bin::MulHiU64.one(a, b).wrapping_add(c);
    MadHiS64 = |a: u64, b: u64, c: u64| Bin::MulHiS64.one(a, b).wrapping_add(c);
    MadWideU16 = |a: u64, b: u64, c: u64| ((a & 0xffff) * (b & 0xffff) + c) & 0xffff_ffff;
    MadWideS16 = |a: u64, b: u64, c: u64| (Bin::MulWideS16.one(a, b) + c) & 0xffff_ffff;
    MadWideU32 = |a: u64, b: u64, c: u64| ((a & 0xffff_ffff) * (b & 0xffff_ffff)).wrapping_add(c);
    MadWideS32 = |a: u64, b: u64, c: u64| ((i64::from(s32(a)) * i64::from(s32(b))) as u64).wrapping_add(c);
    Mad24LoU = |a: u64, b: u64, c: u64| (Bin::Mul24LoU.one(a, b) + c) & 0xffff_ffff;
    Mad24LoS = |a: u64, b: u64, c: u64| (Bin::Mul24LoS.one(a, b) + c) & 0xffff_ffff;
    FmaF32 = |a, b, c| fb(f(a).mul_add(f(b), f(c)));
    FmaSatF32 = |a, b, c| fb(sat(f(a).mul_add(f(b), f(c))));
    FmaF64 = |a, b, c| d(a).mul_add(d(b), d(c)).to_bits();
    FmaF16 = |a, b, c| hb(hf(a) * hf(b) + hf(c));
    FmaBf16 = |a, b, c| bfb(bf(a).mul_add(bf(b), bf(c)));
    FmaF16x2 = |a: u64, b: u64, c: u64| hb(hf(a) * hf(b) + hf(c)) | hb(hf(a >> 16) * hf(b >> 16) + hf(c >> 16)) << 16;
    FmaBf16x2 = |a: u64, b: u64, c: u64| bfb(bf(a).mul_add(bf(b), bf(c))) | bfb(bf(a >> 16).mul_add(bf(b >> 16), bf(c >> 16))) << 16;
    SadU32 = |a: u64, b: u64, c: u64| (u64::from((a as u32).abs_diff(b as u32)) + c) & 0xffff_ffff;
    SadS32 = |a: u64, b: u64, c: u64| (u64::from(s32(a).abs_diff(s32(b))) + c) & 0xffff_ffff;
    SlctU = |a: u64, b: u64, c: u64| if s32(c) >= 0 { a } else { b };
    SlctF = |a: u64, b: u64, c: u64| if f(c) >= 0.0 { a } else { b };
    BfeU32 = |a: u64, b: u64, c: u64| { let (p, n) = (b & 255, c & 255); if p > 31 { 0 } else { ((a & 0xffff_ffff) >> p) & if n > 31 { 0xffff_ffff } else { (1 << n) - 1 } } };
    BfeS32 = |a: u64, b: u64, c: u64| { let (p, n) = ((b & 255) as u32, (c & 255) as u32); if n == 0 { 0 } else { let top = (p + n - 1).min(31); let lo = p.min(31); let v = s32(a) << (31 - top) >> (31 - top); u(if p > 31 { s32(a) >> 31 } else { v >> lo }) } };
    BfeU64 = |a: u64, b: u64, c: u64| { let (p, n) = (b & 255, c & 255); if p > 63 { 0 } else { (a >> p) & if n > 63 { u64::MAX } else { (1 << n) - 1 } } };
    BfeS64 = |a: u64, b: u64, c: u64| { let (p, n) = ((b & 255) as u32, (c & 255) as u32); if n == 0 { 0 } else { let top = (p + n - 1).min(63); let v = (a as i64) << (63 - top) >> (63 - top); (if p > 63 { (a as i64) >> 63 } else { v >> p.min(63) }) as u64 } };
    ShfL = |a: u64, b: u64, c: u64| (((b << 32) | (a & 0xffff_ffff)) << (c & 31) >> 32) & 0xffff_ffff;
    ShfR = |a: u64, b: u64, c: u64| (((b << 32) | (a & 0xffff_ffff)) >> (c & 31)) & 0xffff_ffff;
    ShfLClamp = |a: u64, b: u64, c: u64| { let n = (c as u32).min(32); if n == 32 { a } else { (((b << 32) | (a & 0xffff_ffff)) << n >> 32) & 0xffff_ffff } };
    ShfRClamp = |a: u64, b: u64, c: u64| { let n = (c as u32).min(32); (((b << 32) | (a & 0xffff_ffff)) >> n) & 0xffff_ffff };
    Dp4aUU = |a: u64, b: u64, c: u64| { let mut s = c as u32; for k in 0..4 { s = s.wrapping_add(u32::from((a >> (8 * k)) as u8) * u32::from((b >> (8 * k)) as u8)); } u64::from(s) };
    Dp4aSS = |a: u64, b: u64, c: u64| { let mut s = s32(c); for k in 0..4 { s = s.wrapping_add(i32::from((a >> (8 * k)) as u8 as i8) * i32::from((b >> (8 * k)) as u8 as i8)); } u(s) };
    Prmt = |a: u64, b: u64, c: u64| { let v = (a & 0xffff_ffff) | (b << 32); let mut r = 0u64; for k in 0..4 { let sel = (c >> (4 * k)) & 0xf; let byte = (v >> (8 * (sel & 7))) as u8; let byte = if sel & 8 != 0 { if byte & 0x80 != 0 { 0xff } else { 0 } } else { byte }; r |= u64::from(byte) << (8 * k); } r };
}

/// Directed rounding and other rare forms of two operands.
pub fn rounded2(op: Bin, mode: fl::Round, a: u64, b: u64) -> u64 {
    match op {
        Bin::AddF32 => fb(fl::add32(f(a), f(b), mode)),
        Bin::SubF32 => fb(fl::add32(f(a), -f(b), mode)),
        Bin::MulF32 => fb(fl::mul32(f(a), f(b), mode)),
        Bin::DivF32 => fb(fl::div32(f(a), f(b), mode)),
        Bin::AddF64 => fl::add64(d(a), d(b), mode).to_bits(),
        Bin::SubF64 => fl::add64(d(a), -d(b), mode).to_bits(),
        Bin::MulF64 => fl::mul64(d(a), d(b), mode).to_bits(),
        Bin::DivF64 => fl::div64(d(a), d(b), mode).to_bits(),
        other => other.one(a, b),
    }
}

/// Directed rounding of one operand.
pub fn rounded1(op: Un, mode: fl::Round, a: u64) -> u64 {
    match op {
        Un::SqrtF32 => fb(fl::sqrt32(f(a), mode)),
        Un::SqrtF64 => fl::sqrt64(d(a), mode).to_bits(),
        Un::RcpF32 => fb(fl::div32(1.0, f(a), mode)),
        Un::RcpF64 => fl::div64(1.0, d(a), mode).to_bits(),
        other => other.one(a),
    }
}

/// Directed rounding of fused multiply-add.
pub fn rounded3(op: Ter, mode: fl::Round, a: u64, b: u64, c: u64) -> u64 {
    match op {
        Ter::FmaF32 => fb(fl::fma32(f(a), f(b), f(c), mode)),
        Ter::FmaF64 => fl::fma64(d(a), d(b), d(c), mode).to_bits(),
        other => other.one(a, b, c),
    }
}

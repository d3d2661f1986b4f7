//! Which operation an opcode with its type and modifiers is.

use crate::ptx::{Instr, Ty};

use super::ops::{Bin, Ter, Un};

fn by_size(ty: Ty, b16: Bin, b32: Bin, b64: Bin) -> Bin {
    match ty.bytes() {
        2 => b16,
        8 => b64,
        _ => b32,
    }
}

pub(super) fn binary(i: &Instr, ty: Ty) -> Option<Bin> {
    use Bin::*;
    let signed = ty.signed();
    let by_float = |h: Bin, h2: Bin, b: Bin, b2: Bin, s: Bin, d: Bin| match ty {
        Ty::F16 => Some(h),
        Ty::F16x2 => Some(h2),
        Ty::Bf16 => Some(b),
        Ty::Bf16x2 => Some(b2),
        Ty::F32 => Some(s),
        Ty::F64 => Some(d),
        _ => None,
    };
    let sat = i.has("sat");
    Some(match i.op.as_str() {
        "add" if ty.float() => by_float(
            AddF16,
            AddF16x2,
            AddBf16,
            AddBf16x2,
            if sat { AddSatF32 } else { AddF32 },
            AddF64,
        )?,
        "sub" if ty.float() => by_float(SubF16, SubF16x2, SubBf16, SubBf16x2, SubF32, SubF64)?,
        "mul" if ty.float() => by_float(
            MulF16,
            MulF16x2,
            MulBf16,
            MulBf16x2,
            if sat { MulSatF32 } else { MulF32 },
            MulF64,
        )?,
        "div" if ty == Ty::F32 => DivF32,
        "div" if ty == Ty::F64 => DivF64,
        "min" if ty == Ty::F32 && i.has("NaN") => MinNanF32,
        "max" if ty == Ty::F32 && i.has("NaN") => MaxNanF32,
        "min" if ty.float() => by_float(MinF16, MinF16x2, MinBf16, MinBf16x2, MinF32, MinF64)?,
        "max" if ty.float() => by_float(MaxF16, MaxF16x2, MaxBf16, MaxBf16x2, MaxF32, MaxF64)?,
        "add" if sat && ty == Ty::S32 => AddSatS32,
        "sub" if sat && ty == Ty::S32 => SubSatS32,
        "add" => by_size(ty, Add16, Add32, Add64),
        "sub" => by_size(ty, Sub16, Sub32, Sub64),
        "mul" if i.has("wide") => match (ty.bytes(), signed) {
            (2, true) => MulWideS16,
            (2, false) => MulWideU16,
            (_, true) => MulWideS32,
            _ => MulWideU32,
        },
        "mul" if i.has("hi") => match (ty.bytes(), signed) {
            (2, true) => MulHiS16,
            (2, false) => MulHiU16,
            (4, true) => MulHiS32,
            (4, false) => MulHiU32,
            (_, true) => MulHiS64,
            _ => MulHiU64,
        },
        "mul" => by_size(ty, Mul16, Mul32, Mul64),
        "mul24" => match (i.has("hi"), signed) {
            (true, true) => Mul24HiS,
            (true, false) => Mul24HiU,
            (false, true) => Mul24LoS,
            _ => Mul24LoU,
        },
        "div" if signed => by_size(ty, DivS16, DivS32, DivS64),
        "div" => by_size(ty, DivU16, DivU32, DivU64),
        "rem" if signed => by_size(ty, RemS16, RemS32, RemS64),
        "rem" => by_size(ty, RemU16, RemU32, RemU64),
        "min" if signed => by_size(ty, MinS16, MinS32, MinS64),
        "max" if signed => by_size(ty, MaxS16, MaxS32, MaxS64),
        "min" => MinU,
        "max" => MaxU,
        "and" => And,
        "or" => Or,
        "xor" => Xor,
        "shl" => by_size(ty, Shl16, Shl32, Shl64),
        "shr" if signed => by_size(ty, ShrS16, ShrS32, ShrS64),
        "shr" => by_size(ty, ShrU16, ShrU32, ShrU64),
        "copysign" if ty == Ty::F32 => CopysignF32,
        "copysign" => CopysignF64,
        "bmsk" => Bmsk,
        _ => return None,
    })
}

pub(super) fn unary(i: &Instr, ty: Ty) -> Option<Un> {
    use Un::*;
    let wide = ty.bytes() == 8;
    Some(match i.op.as_str() {
        "not" => match ty.bytes() {
            2 => Not16,
            8 => Not64,
            _ => Not32,
        },
        "cnot" => Cnot,
        "neg" => match ty {
            Ty::F32 => NegF32,
            Ty::F64 => NegF64,
            Ty::F16 | Ty::Bf16 => NegF16,
            Ty::F16x2 | Ty::Bf16x2 => NegF16x2,
            _ if ty.bytes() == 2 => Neg16,
            _ if wide => Neg64,
            _ => Neg32,
        },
        "abs" => match ty {
            Ty::F32 => AbsF32,
            Ty::F64 => AbsF64,
            Ty::F16 | Ty::Bf16 => AbsF16,
            Ty::F16x2 | Ty::Bf16x2 => AbsF16x2,
            _ if ty.bytes() == 2 => Abs16,
            _ if wide => Abs64,
            _ => Abs32,
        },
        "sqrt" if wide => SqrtF64,
        "sqrt" => SqrtF32,
        "rsqrt" if wide => RsqrtF64,
        "rsqrt" => RsqrtF32,
        "rcp" if wide => RcpF64,
        "rcp" => RcpF32,
        "sin" => SinF32,
        "cos" => CosF32,
        "lg2" => Lg2F32,
        "ex2" if ty == Ty::F16 => Ex2F16,
        "ex2" if ty == Ty::F32 => Ex2F32,
        "tanh" if ty == Ty::F16 => TanhF16,
        "tanh" if ty == Ty::F32 => TanhF32,
        "popc" if wide => Popc64,
        "popc" => Popc32,
        "clz" if wide => Clz64,
        "clz" => Clz32,
        "brev" if wide => Brev64,
        "brev" => Brev32,
        "bfind" => match ty {
            Ty::U64 => BfindU64,
            Ty::S64 => BfindS64,
            Ty::S32 => BfindS32,
            _ => BfindU32,
        },
        _ => return None,
    })
}

pub(super) fn ternary(i: &Instr, ty: Ty) -> Option<Ter> {
    use Ter::*;
    let (bytes, signed) = (ty.bytes(), ty.signed());
    Some(match i.op.as_str() {
        "fma" | "mad" if ty == Ty::F32 => {
            if i.has("sat") {
                FmaSatF32
            } else {
                FmaF32
            }
        }
        "fma" | "mad" if ty == Ty::F64 => FmaF64,
        "fma" if ty == Ty::F16 && !i.has("relu") => FmaF16,
        "fma" if ty == Ty::F16x2 && !i.has("relu") => FmaF16x2,
        "fma" if ty == Ty::Bf16 && !i.has("relu") => FmaBf16,
        "fma" if ty == Ty::Bf16x2 && !i.has("relu") => FmaBf16x2,
        "mad" if i.has("wide") => match (bytes, signed) {
            (2, true) => MadWideS16,
            (2, false) => MadWideU16,
            (_, true) => MadWideS32,
            _ => MadWideU32,
        },
        "mad" if i.has("hi") => match (bytes, signed) {
            (4, true) => MadHiS32,
            (4, false) => MadHiU32,
            (8, true) => MadHiS64,
            (8, false) => MadHiU64,
            _ => return None,
        },
        "mad" => match bytes {
            2 => Mad16,
            8 => Mad64,
            _ => Mad32,
        },
        "mad24" if !i.has("hi") => {
            if signed {
                Mad24LoS
            } else {
                Mad24LoU
            }
        }
        "sad" if bytes == 4 => {
            if signed {
                SadS32
            } else {
                SadU32
            }
        }
        "slct" if ty == Ty::F32 => SlctF,
        "slct" => SlctU,
        "bfe" => match (bytes, signed) {
            (8, true) => BfeS64,
            (8, false) => BfeU64,
            (_, true) => BfeS32,
            _ => BfeU32,
        },
        "shf" => match (i.has("l"), i.has("clamp")) {
            (true, false) => ShfL,
            (true, true) => ShfLClamp,
            (false, false) => ShfR,
            _ => ShfRClamp,
        },
        "prmt" if i.mods.len() == 1 => Prmt,
        "dp4a" if i.mods.iter().filter(|m| *m == "s32").count() == 2 => Dp4aSS,
        "dp4a" if i.mods.iter().filter(|m| *m == "u32").count() == 2 => Dp4aUU,
        _ => return None,
    })
}

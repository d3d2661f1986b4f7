//! Decoding of arithmetic, comparison and conversion instructions.

use crate::ptx::{Instr, Operand, PtxError, Ty};

use super::decode::Decoder;
use super::decode_tables::{binary, ternary, unary};
use super::float::Round;
use super::ops::{Bin, Un};
use super::program::{CarryOp, Cmp, CmpTy, CvtSpec, Kind, Logic, NONE};

/// The rounding that the instruction names, if it is not "nearest".
fn rounding(i: &Instr) -> Option<Round> {
    i.mods.iter().find_map(|m| match m.as_str() {
        "rz" => Some(Round::Zero),
        "rm" => Some(Round::Down),
        "rp" => Some(Round::Up),
        _ => None,
    })
}

fn compare_ty(ty: Ty) -> CmpTy {
    match ty {
        Ty::S16 => CmpTy::S16,
        Ty::S32 => CmpTy::S32,
        Ty::S64 => CmpTy::S64,
        Ty::F16 => CmpTy::F16,
        Ty::Bf16 => CmpTy::Bf16,
        Ty::F32 => CmpTy::F32,
        Ty::F64 => CmpTy::F64,
        _ => CmpTy::U,
    }
}

fn compare(m: &str) -> Option<Cmp> {
    Some(match m {
        "eq" => Cmp::Eq,
        "ne" => Cmp::Ne,
        "lt" | "lo" => Cmp::Lt,
        "le" | "ls" => Cmp::Le,
        "gt" | "hi" => Cmp::Gt,
        "ge" | "hs" => Cmp::Ge,
        "equ" => Cmp::Equ,
        "neu" => Cmp::Neu,
        "ltu" => Cmp::Ltu,
        "leu" => Cmp::Leu,
        "gtu" => Cmp::Gtu,
        "geu" => Cmp::Geu,
        "num" => Cmp::Num,
        "nan" => Cmp::Nan,
        _ => return None,
    })
}

impl Decoder<'_> {
    pub(super) fn instruction(&mut self, i: &Instr) -> Result<(), PtxError> {
        if self.control_or_memory(i)? {
            return Ok(());
        }
        let need = match i.op.as_str() {
            "bfi" => 5,
            "lop3" => 5,
            "mad" | "fma" | "mad24" | "sad" | "slct" | "bfe" | "shf" | "prmt" | "dp4a" | "selp"
            | "madc" => 4,
            "not" | "cnot" | "neg" | "abs" | "sqrt" | "rsqrt" | "rcp" | "sin" | "cos" | "lg2"
            | "ex2" | "tanh" | "popc" | "clz" | "brev" | "bfind" | "cvt" | "cvta" | "mov"
            | "testp" => 2,
            _ => 3,
        };
        if i.args.len() < need {
            return self.fail(i, format!("{} operands, {need} wanted", i.args.len()));
        }
        match i.op.as_str() {
            "mov" => self.mov(i),
            "cvta" => self.cvta(i),
            "cvt" => self.cvt(i),
            "setp" | "set" => self.setp(i),
            "selp" => self.selp(i),
            "testp" => self.testp(i),
            "lop3" => self.lop3(i),
            "bfi" => self.bfi(i),
            "and" | "or" | "xor" | "not" if self.is_pred(&i.args[0]) => self.pred_logic(i),
            "add" | "sub" | "addc" | "subc" | "mad" | "madc"
                if i.has("cc") || matches!(i.op.as_str(), "addc" | "subc" | "madc") =>
            {
                self.carry(i)
            }
            _ => self.plain(i),
        }
    }

    fn plain(&mut self, i: &Instr) -> Result<(), PtxError> {
        let Some(ty) = i.ty() else {
            return self.fail(i, "no type");
        };
        if let Some(op) = binary(i, ty) {
            let shift = matches!(i.op.as_str(), "shl" | "shr");
            let d = self.dest(i, &i.args[0])?;
            let a = self.src(i, &i.args[1], ty)?;
            let b = self.src(i, &i.args[2], if shift { Ty::U32 } else { ty })?;
            let kind = match rounding(i) {
                Some(r) => Kind::BinRound(op, r),
                None => Kind::Bin(op),
            };
            let g = self.guard(i);
            self.emit(kind, g, d, a, b, NONE, 0);
            if i.has("sat") && op == Bin::SubF32 {
                self.emit(Kind::Un(Un::SatF32), g, d, d, NONE, NONE, 0);
            }
            return Ok(());
        }
        if let Some(op) = unary(i, ty) {
            let d = self.dest(i, &i.args[0])?;
            let a = self.src(i, &i.args[1], ty)?;
            let kind = match rounding(i) {
                Some(r) => Kind::UnRound(op, r),
                None => Kind::Un(op),
            };
            let g = self.guard(i);
            self.emit(kind, g, d, a, NONE, NONE, 0);
            if i.has("shiftamt") {
                let s = if ty.bytes() == 8 {
                    Un::ShiftAmount64
                } else {
                    Un::ShiftAmount32
                };
                self.emit(Kind::Un(s), g, d, d, NONE, NONE, 0);
            }
            return Ok(());
        }
        if let Some(op) = ternary(i, ty) {
            let wide = i.has("wide");
            let third = match (i.op.as_str(), wide, ty) {
                ("mad", true, Ty::U32) => Ty::U64,
                ("mad", true, Ty::S32) => Ty::S64,
                ("mad", true, Ty::U16) => Ty::U32,
                ("mad", true, Ty::S16) => Ty::S32,
                ("bfe" | "shf", ..) => Ty::U32,
                ("slct", ..) => ty,
                _ => ty,
            };
            let second = if i.op == "bfe" { Ty::U32 } else { ty };
            let first = if i.op == "slct" {
                i.mods.iter().find_map(|m| Ty::parse(m)).unwrap_or(ty)
            } else {
                ty
            };
            let second = if i.op == "slct" { first } else { second };
            let d = self.dest(i, &i.args[0])?;
            let a = self.src(i, &i.args[1], first)?;
            let b = self.src(i, &i.args[2], second)?;
            let c = self.src(i, &i.args[3], third)?;
            let kind = match rounding(i) {
                Some(r) => Kind::TerRound(op, r),
                None => Kind::Ter(op),
            };
            let g = self.guard(i);
            self.emit(kind, g, d, a, b, c, 0);
            return Ok(());
        }
        self.fail(i, "the machine does not have this instruction")
    }

    fn mov(&mut self, i: &Instr) -> Result<(), PtxError> {
        let g = self.guard(i);
        let ty = i.ty().unwrap_or(Ty::B64);
        if let Operand::Vec(parts) = &i.args[0] {
            // unpack
            let s = self.src(i, &i.args[1], ty)?;
            if parts.len() != 2 {
                if parts.len() == 4 {
                    let bits = ty.bytes() * 2;
                    for (k, p) in parts.iter().enumerate() {
                        let d = self.dest(i, p)?;
                        if d == NONE {
                            continue;
                        }
                        let sh = self.constant(u64::from(bits) * k as u64);
                        self.emit(Kind::Bin(Bin::ShrU64), g, d, s, sh, NONE, 0);
                        let low = if bits == 16 { Un::Low16 } else { Un::Low8 };
                        self.emit(Kind::Un(low), g, d, d, NONE, NONE, 0);
                    }
                    return Ok(());
                }
                return self.fail(i, "vectors of this size cannot be moved");
            }
            let (lo, hi) = if ty.bytes() == 8 {
                (Un::Low32, Un::High32)
            } else {
                (Un::Low16, Un::High16)
            };
            // The source may be one of the destinations.
            let t = self.temp();
            self.emit(Kind::Un(Un::Mov), g, t, s, NONE, NONE, 0);
            for (p, op) in parts.iter().zip([lo, hi]) {
                let d = self.dest(i, p)?;
                if d != NONE {
                    self.emit(Kind::Un(op), g, d, t, NONE, NONE, 0);
                }
            }
            return Ok(());
        }
        if let Operand::Vec(parts) = &i.args[1] {
            let d = self.dest(i, &i.args[0])?;
            let part_ty = match ty.bytes() / parts.len().max(1) as u32 {
                1 => Ty::B8,
                2 => Ty::B16,
                _ => Ty::B32,
            };
            let rows = parts
                .iter()
                .map(|p| self.src(i, p, part_ty))
                .collect::<Result<Vec<_>, _>>()?;
            match (rows.len(), part_ty) {
                (2, Ty::B32) => self.emit(Kind::Bin(Bin::Pack32), g, d, rows[0], rows[1], NONE, 0),
                (2, Ty::B16) => self.emit(Kind::Bin(Bin::Pack16), g, d, rows[0], rows[1], NONE, 0),
                (4, Ty::B16) => {
                    let (t, v) = (self.temp(), self.temp());
                    self.emit(Kind::Bin(Bin::Pack16), g, t, rows[0], rows[1], NONE, 0);
                    self.emit(Kind::Bin(Bin::Pack16), g, v, rows[2], rows[3], NONE, 0);
                    self.emit(Kind::Bin(Bin::Pack32), g, d, t, v, NONE, 0);
                }
                _ => return self.fail(i, "vectors of this size cannot be moved"),
            }
            return Ok(());
        }
        if self.is_pred(&i.args[0]) {
            let (d, _) = self.pred(i, &i.args[0])?;
            match &i.args[1] {
                Operand::Imm(v) => self.emit(Kind::PredConst(*v != 0), g, d, NONE, NONE, NONE, 0),
                o => {
                    let (a, neg) = self.pred(i, o)?;
                    let k = if neg { Kind::PredNot } else { Kind::PredMov };
                    self.emit(k, g, d, a, NONE, NONE, 0);
                }
            }
            return Ok(());
        }
        let d = self.dest(i, &i.args[0])?;
        if let Operand::Special(name) = &i.args[1]
            && matches!(
                name.as_str(),
                "clock" | "clock64" | "clock_hi" | "globaltimer" | "globaltimer_lo"
            )
        {
            self.emit(
                Kind::Clock {
                    wide: ty.bytes() == 8,
                },
                g,
                d,
                NONE,
                NONE,
                NONE,
                0,
            );
            return Ok(());
        }
        let a = self.src(i, &i.args[1], ty)?;
        self.emit(Kind::Un(Un::Mov), g, d, a, NONE, NONE, 0);
        Ok(())
    }

    fn cvta(&mut self, i: &Instr) -> Result<(), PtxError> {
        use super::program::{PARAM_WINDOW, SHARED_WINDOW};
        let g = self.guard(i);
        let d = self.dest(i, &i.args[0])?;
        let a = self.src(i, &i.args[1], Ty::U64)?;
        let space = i
            .mods
            .iter()
            .find(|m| *m != "to" && Ty::parse(m).is_none())
            .map_or("", |s| s.as_str());
        match (space.split("::").next().unwrap_or(""), i.has("to")) {
            ("shared", false) => {
                let w = self.constant(SHARED_WINDOW);
                self.emit(Kind::Bin(Bin::Or), g, d, a, w, NONE, 0);
            }
            ("shared", true) => {
                let w = self.constant(0xffff_ffff);
                self.emit(Kind::Bin(Bin::And), g, d, a, w, NONE, 0);
            }
            ("param", false) if self.f.is_entry => {
                let w = self.constant(PARAM_WINDOW);
                self.emit(Kind::Bin(Bin::Or), g, d, a, w, NONE, 0);
            }
            ("global" | "const" | "local" | "param", _) => {
                self.emit(Kind::Un(Un::Mov), g, d, a, NONE, NONE, 0);
            }
            _ => return self.fail(i, "no state space that can be converted"),
        }
        Ok(())
    }

    fn cvt(&mut self, i: &Instr) -> Result<(), PtxError> {
        let types: Vec<Ty> = i.mods.iter().filter_map(|m| Ty::parse(m)).collect();
        let g = self.guard(i);
        if i.has("tf32") && types == [Ty::F32] && i.args.len() == 2 {
            let (d, a) = (self.dest(i, &i.args[0])?, self.src(i, &i.args[1], Ty::F32)?);
            self.emit(Kind::Un(Un::ToTf32), g, d, a, NONE, NONE, 0);
            return Ok(());
        }
        let &[dst, src] = types.as_slice() else {
            return self.fail(i, "two types are wanted");
        };
        let d = self.dest(i, &i.args[0])?;
        let a = self.src(i, &i.args[1], src)?;
        let mut round = Round::Nearest;
        let mut integral = false;
        for m in &i.mods {
            let (r, int) = match m.as_str() {
                "rn" => (Round::Nearest, false),
                "rz" => (Round::Zero, false),
                "rm" => (Round::Down, false),
                "rp" => (Round::Up, false),
                "rni" => (Round::Nearest, true),
                "rzi" => (Round::Zero, true),
                "rmi" => (Round::Down, true),
                "rpi" => (Round::Up, true),
                _ => continue,
            };
            (round, integral) = (r, int);
        }
        let sat = i.has("sat");
        if matches!(dst, Ty::F16x2 | Ty::Bf16x2) {
            // cvt.rn.f16x2.f32 d, hi, lo
            let Some(lo) = i.args.get(2) else {
                return self.fail(i, "three operands are wanted");
            };
            let lo = self.src(i, lo, Ty::F32)?;
            let half = if dst == Ty::F16x2 { Ty::F16 } else { Ty::Bf16 };
            let spec = CvtSpec {
                dst: half,
                src: Ty::F32,
                round,
                integral,
                sat,
            };
            let (h, l) = (self.temp(), self.temp());
            self.emit(Kind::Cvt(spec), g, h, a, NONE, NONE, 0);
            self.emit(Kind::Cvt(spec), g, l, lo, NONE, NONE, 0);
            self.emit(Kind::Bin(Bin::Pack16), g, d, l, h, NONE, 0);
            return Ok(());
        }
        let spec = CvtSpec {
            dst,
            src,
            round,
            integral,
            sat,
        };
        let kind = super::cvt::fast(spec).map_or(Kind::Cvt(spec), Kind::Un);
        self.emit(kind, g, d, a, NONE, NONE, 0);
        // A narrow result in a wider register is extended by its type.
        let reg = self.reg_ty(&i.args[0]).map_or(dst.bytes(), Ty::bytes);
        if dst.signed() && reg > dst.bytes() {
            let op = match (dst.bytes(), reg) {
                (1, 2) => Un::Sext8To16,
                (1, 4) => Un::Sext8To32,
                (1, _) => Un::Sext8To64,
                (2, 4) => Un::Sext16To32,
                (2, _) => Un::Sext16To64,
                _ => Un::Sext32To64,
            };
            self.emit(Kind::Un(op), g, d, d, NONE, NONE, 0);
        }
        Ok(())
    }

    fn setp(&mut self, i: &Instr) -> Result<(), PtxError> {
        let g = self.guard(i);
        let Some(cmp) = i.mods.first().and_then(|m| compare(m)) else {
            return self.fail(i, "no comparison");
        };
        let with = i.mods.get(1).and_then(|m| match m.as_str() {
            "and" => Some(Logic::And),
            "or" => Some(Logic::Or),
            "xor" => Some(Logic::Xor),
            _ => None,
        });
        let Some(ty) = i.ty() else {
            return self.fail(i, "no type");
        };
        if matches!(ty, Ty::F16x2 | Ty::Bf16x2) {
            return self.fail(i, "the machine does not have this instruction");
        }
        let a = self.src(i, &i.args[1], ty)?;
        let b = self.src(i, &i.args[2], ty)?;
        let (c, negate_c) = match (with, i.args.get(3)) {
            (Some(_), Some(o)) => self.pred(i, o)?,
            (Some(_), None) => return self.fail(i, "the predicate to combine with is missing"),
            _ => (NONE, false),
        };
        let cty = compare_ty(ty);
        if i.op == "set" {
            let d = self.dest(i, &i.args[0])?;
            let types: Vec<Ty> = i.mods.iter().filter_map(|m| Ty::parse(m)).collect();
            let float = types.first() == Some(&Ty::F32);
            self.emit(
                Kind::Set {
                    cmp,
                    ty: compare_ty(ty),
                    with,
                    negate_c,
                    float,
                },
                g,
                d,
                a,
                b,
                c,
                0,
            );
            return Ok(());
        }
        let (d, second) = match &i.args[0] {
            Operand::Pair(p, q) => {
                let q = if **q == Operand::Sink {
                    0
                } else {
                    i64::from(self.pred(i, q)?.0) + 1
                };
                let p = if **p == Operand::Sink {
                    NONE
                } else {
                    self.pred(i, p)?.0
                };
                (p, q)
            }
            o => (self.pred(i, o)?.0, 0),
        };
        self.emit(
            Kind::SetP {
                cmp,
                ty: cty,
                with,
                negate_c,
            },
            g,
            d,
            a,
            b,
            c,
            second,
        );
        Ok(())
    }

    fn selp(&mut self, i: &Instr) -> Result<(), PtxError> {
        let ty = i.ty().unwrap_or(Ty::B32);
        let d = self.dest(i, &i.args[0])?;
        let mut a = self.src(i, &i.args[1], ty)?;
        let mut b = self.src(i, &i.args[2], ty)?;
        let (c, neg) = self.pred(i, &i.args[3])?;
        if neg {
            std::mem::swap(&mut a, &mut b);
        }
        let g = self.guard(i);
        self.emit(Kind::SelP, g, d, a, b, c, 0);
        Ok(())
    }

    fn testp(&mut self, i: &Instr) -> Result<(), PtxError> {
        let (d, _) = self.pred(i, &i.args[0])?;
        let ty = i.ty().unwrap_or(Ty::F32);
        let a = self.src(i, &i.args[1], ty)?;
        let what = match i.mods.first().map(String::as_str) {
            Some("finite") => 0,
            Some("infinite") => 1,
            Some("number") => 2,
            Some("notanumber") => 3,
            Some("normal") => 4,
            Some("subnormal") => 5,
            _ => return self.fail(i, "no property to test"),
        };
        let g = self.guard(i);
        self.emit(
            Kind::Testp {
                f64: ty == Ty::F64,
                what,
            },
            g,
            d,
            a,
            NONE,
            NONE,
            0,
        );
        Ok(())
    }

    fn lop3(&mut self, i: &Instr) -> Result<(), PtxError> {
        let d = self.dest(i, &i.args[0])?;
        let a = self.src(i, &i.args[1], Ty::B32)?;
        let b = self.src(i, &i.args[2], Ty::B32)?;
        let c = self.src(i, &i.args[3], Ty::B32)?;
        let Operand::Imm(lut) = i.args[4] else {
            return self.fail(i, "the table must be a number");
        };
        let g = self.guard(i);
        self.emit(Kind::Lop3(lut as u8), g, d, a, b, c, 0);
        Ok(())
    }

    fn bfi(&mut self, i: &Instr) -> Result<(), PtxError> {
        let ty = i.ty().unwrap_or(Ty::B32);
        let d = self.dest(i, &i.args[0])?;
        let a = self.src(i, &i.args[1], ty)?;
        let b = self.src(i, &i.args[2], ty)?;
        let c = self.src(i, &i.args[3], Ty::U32)?;
        let n = self.src(i, &i.args[4], Ty::U32)?;
        let g = self.guard(i);
        self.emit(Kind::Bfi(ty.bytes() as u8), g, d, a, b, c, i64::from(n));
        Ok(())
    }

    fn pred_logic(&mut self, i: &Instr) -> Result<(), PtxError> {
        let g = self.guard(i);
        let (d, _) = self.pred(i, &i.args[0])?;
        let (a, na) = self.pred(i, &i.args[1])?;
        if i.op == "not" {
            let k = if na { Kind::PredMov } else { Kind::PredNot };
            self.emit(k, g, d, a, NONE, NONE, 0);
            return Ok(());
        }
        let Some(third) = i.args.get(2) else {
            return self.fail(i, "three operands are wanted");
        };
        if let Operand::Imm(v) = third {
            // `xor.pred p, q, -1` and friends
            let k = match (i.op.as_str(), *v != 0) {
                ("and", true) | ("or" | "xor", false) => Kind::PredMov,
                ("xor", true) => Kind::PredNot,
                ("and", false) => Kind::PredConst(false),
                _ => Kind::PredConst(true),
            };
            self.emit(k, g, d, a, NONE, NONE, 0);
            return Ok(());
        }
        let (b, nb) = self.pred(i, third)?;
        let op = match i.op.as_str() {
            "and" => Logic::And,
            "or" => Logic::Or,
            _ => Logic::Xor,
        };
        let flips = i64::from(na) | i64::from(nb) << 1;
        self.emit(Kind::PredLogic(op), g, d, a, b, NONE, flips);
        Ok(())
    }

    fn carry(&mut self, i: &Instr) -> Result<(), PtxError> {
        let Some(ty) = i.ty() else {
            return self.fail(i, "no type");
        };
        let d = self.dest(i, &i.args[0])?;
        let a = self.src(i, &i.args[1], ty)?;
        let b = self.src(i, &i.args[2], ty)?;
        let (op, c) = match i.op.as_str() {
            "add" | "addc" => (CarryOp::Add, NONE),
            "sub" | "subc" => (CarryOp::Sub, NONE),
            _ => {
                let Some(c) = i.args.get(3) else {
                    return self.fail(i, "four operands are wanted");
                };
                let c = self.src(i, c, ty)?;
                (
                    if i.has("hi") {
                        CarryOp::MadHi
                    } else {
                        CarryOp::MadLo
                    },
                    c,
                )
            }
        };
        let kind = Kind::Carry {
            op,
            bytes: ty.bytes() as u8,
            signed: ty.signed(),
            reads: matches!(i.op.as_str(), "addc" | "subc" | "madc"),
            writes: i.has("cc"),
        };
        let g = self.guard(i);
        self.emit(kind, g, d, a, b, c, 0);
        Ok(())
    }
}

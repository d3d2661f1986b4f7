//! Decoding of memory, synchronization, warp-wide and control instructions.

use crate::ptx::{Base, Instr, Operand, PtxError, Space, Ty};

use super::decode::Decoder;
use super::program::{
    AtomOp, BarMode, CallSite, Callee, Kind, NONE, Scope, ShflMode, Special, Strength, VoteMode,
};

pub(super) fn space(i: &Instr) -> Space {
    i.mods
        .iter()
        .find_map(|m| {
            Some(match m.split("::").next().unwrap_or("") {
                "global" => Space::Global,
                "shared" => Space::Shared,
                "local" => Space::Local,
                "const" => Space::Const,
                "param" => Space::Param,
                _ => return None,
            })
        })
        .unwrap_or(Space::Generic)
}

fn scope(i: &Instr) -> Option<Scope> {
    i.mods.iter().find_map(|m| match m.as_str() {
        "cta" | "cluster" => Some(Scope::Cta),
        "gpu" | "gl" => Some(Scope::Gpu),
        "sys" => Some(Scope::Sys),
        _ => None,
    })
}

fn strength(i: &Instr, default: Strength) -> Strength {
    let s = scope(i).unwrap_or(Scope::Gpu);
    for m in &i.mods {
        match m.as_str() {
            "relaxed" => return Strength::Relaxed(s),
            "acquire" => return Strength::Acquire(s),
            "release" => return Strength::Release(s),
            "acq_rel" => return Strength::AcqRel(s),
            "volatile" => return Strength::Relaxed(Scope::Sys),
            _ => {}
        }
    }
    match default {
        Strength::Relaxed(_) => Strength::Relaxed(s),
        other => other,
    }
}

impl Decoder<'_> {
    /// Row of the base address and the offset; the space may become local for variables of the frame.
    pub(super) fn address(
        &mut self,
        i: &Instr,
        o: &Operand,
        space: &mut Space,
    ) -> Result<(u32, i64), PtxError> {
        let Operand::Mem(base, off) = o else {
            return self.fail(i, "expected an address in [ ]");
        };
        Ok(match base {
            Base::Reg(r) => (self.src(i, &Operand::Reg(*r), Ty::U64)?, *off),
            Base::Sym(s) => {
                let a = self.address_of(i, s)?;
                if *space == Space::Generic && self.p.shared.iter().any(|v| v.name == *s) {
                    *space = Space::Shared;
                }
                (self.constant(a), *off)
            }
            Base::Var(v) => {
                if self.f.is_entry && self.kparam.contains_key(&v.0) {
                    *space = Space::Param;
                    let at = self.constant(u64::from(self.kparam[&v.0]));
                    (at, *off)
                } else {
                    *space = Space::Local;
                    (
                        self.special(Special::Frame),
                        *off + i64::from(self.frame[v.0 as usize]),
                    )
                }
            }
            Base::None => (self.constant(0), *off),
        })
    }

    pub(super) fn vector(
        &mut self,
        i: &Instr,
        o: &Operand,
        ty: Ty,
        dest: bool,
    ) -> Result<(u32, u8), PtxError> {
        let parts: &[Operand] = match o {
            Operand::Vec(v) => v,
            o => std::slice::from_ref(o),
        };
        if parts.is_empty() || parts.len() > 8 {
            return self.fail(i, "vectors have one to eight elements");
        }
        let rows = parts
            .iter()
            .map(|p| {
                if dest {
                    self.dest(i, p)
                } else {
                    self.src(i, p, ty)
                }
            })
            .collect::<Result<Vec<_>, _>>()?;
        let at = self.p.vecs.len() as u32;
        self.p.vecs.extend(&rows);
        Ok((at, rows.len() as u8))
    }

    pub(super) fn note_grain(&mut self, space: Space, ty: Ty) {
        if matches!(space, Space::Shared | Space::Global | Space::Generic) {
            self.p.grain = self.p.grain.min(ty.bytes());
        }
    }

    /// True if the instruction was one of these.
    pub(super) fn control_or_memory(&mut self, i: &Instr) -> Result<bool, PtxError> {
        let g = self.guard(i);
        let want = |n: usize| {
            if i.args.len() < n {
                Err(PtxError::new(
                    i.line,
                    format!("`{}`: {} operands, {n} wanted", i.text(), i.args.len()),
                ))
            } else {
                Ok(())
            }
        };
        match i.op.as_str() {
            "ld" | "ldu" => {
                want(2)?;
                let Some(ty) = i.ty() else {
                    return self.fail(i, "no type");
                };
                if ty == Ty::B128 {
                    return self.fail(i, "the machine does not have this instruction");
                }
                let mut sp = space(i);
                let (a, off) = self.address(i, &i.args[1], &mut sp)?;
                let (d, n) = self.vector(i, &i.args[0], ty, true)?;
                self.note_grain(sp, ty);
                let first = match &i.args[0] {
                    Operand::Vec(v) => v.first().and_then(|o| self.reg_ty(o)),
                    o => self.reg_ty(o),
                };
                let dst_bytes = first.map_or(ty.bytes(), Ty::bytes) as u8;
                let kind = match sp {
                    Space::Param if self.f.is_entry => Kind::LdKParam { ty, n },
                    Space::Param => Kind::Ld {
                        space: Space::Local,
                        ty,
                        n,
                        strength: Strength::Weak,
                        dst_bytes,
                    },
                    sp => Kind::Ld {
                        space: sp,
                        ty,
                        n,
                        strength: strength(i, Strength::Weak),
                        dst_bytes,
                    },
                };
                self.emit(kind, g, d, a, NONE, NONE, off);
            }
            "st" => {
                want(2)?;
                let Some(ty) = i.ty() else {
                    return self.fail(i, "no type");
                };
                if ty == Ty::B128 {
                    return self.fail(i, "the machine does not have this instruction");
                }
                let mut sp = space(i);
                let (a, off) = self.address(i, &i.args[0], &mut sp)?;
                let (b, n) = self.vector(i, &i.args[1], ty, false)?;
                if sp == Space::Param {
                    sp = Space::Local;
                }
                self.note_grain(sp, ty);
                self.emit(
                    Kind::St {
                        space: sp,
                        ty,
                        n,
                        strength: strength(i, Strength::Weak),
                    },
                    g,
                    NONE,
                    a,
                    b,
                    NONE,
                    off,
                );
            }
            "atom" | "red" => self.atom(i)?,
            "cp" => self.async_copy(i)?,
            "isspacep" => {
                want(2)?;
                let (d, _) = self.pred(i, &i.args[0])?;
                let a = self.src(i, &i.args[1], Ty::U64)?;
                self.emit(Kind::Isspacep(space(i)), g, d, a, NONE, NONE, 0);
            }
            "prefetch" | "prefetchu" | "discard" | "applypriority" | "nanosleep" | "pmevent"
            | "brkpt" | "griddepcontrol" | "setmaxnreg" => {
                self.emit(Kind::Nop, g, NONE, NONE, NONE, NONE, 0)
            }
            "mbarrier" => self.mbarrier(i)?,
            "wmma" if i.has("mma") => self.multiply(i)?,
            "wmma" => self.move_tile(i)?,
            "mma" => self.multiply(i)?,
            "ldmatrix" => self.load_matrix(i)?,
            "tex" | "tld4" => self.texture(i)?,
            "suld" | "sust" => self.surface(i)?,
            "txq" | "suq" => self.texture_query(i)?,
            "bar" | "barrier" => self.barrier(i)?,
            "membar" | "fence" => {
                let s = scope(i).unwrap_or(Scope::Gpu);
                self.emit(Kind::Fence(s), g, NONE, NONE, NONE, NONE, 0);
            }
            "shfl" => self.shuffle(i)?,
            "vote" => self.vote(i)?,
            "match" => {
                want(3)?;
                let all = i.has("all");
                let (first, p) = match &i.args[0] {
                    Operand::Pair(d, p) => (&**d, self.pred(i, p)?.0),
                    o => (o, NONE),
                };
                let d = self.dest(i, first)?;
                let wide = i.ty().is_some_and(|t| t.bytes() == 8);
                let a = self.src(i, &i.args[1], if wide { Ty::B64 } else { Ty::B32 })?;
                let b = self.src(i, &i.args[2], Ty::B32)?;
                self.emit(Kind::Match { all, wide }, g, d, a, b, p, 0);
            }
            "redux" => {
                want(3)?;
                let op = match i.mods.get(1).map(String::as_str) {
                    Some("add") => AtomOp::Add,
                    Some("min") => AtomOp::Min,
                    Some("max") => AtomOp::Max,
                    Some("and") => AtomOp::And,
                    Some("or") => AtomOp::Or,
                    Some("xor") => AtomOp::Xor,
                    _ => return self.fail(i, "the machine does not have this instruction"),
                };
                let signed = i.ty() == Some(Ty::S32);
                let d = self.dest(i, &i.args[0])?;
                let a = self.src(i, &i.args[1], Ty::B32)?;
                let b = self.src(i, &i.args[2], Ty::B32)?;
                self.emit(Kind::Redux { op, signed }, g, d, a, b, NONE, 0);
            }
            "activemask" => {
                want(1)?;
                let d = self.dest(i, &i.args[0])?;
                self.emit(Kind::ActiveMask, g, d, NONE, NONE, NONE, 0);
            }
            "bra" => {
                let Some(Operand::Sym(l, _)) = i.args.last() else {
                    return self.fail(i, "no label");
                };
                let Some(&target) = self.f.labels.get(l) else {
                    return self.fail(i, format!("no label `{l}`"));
                };
                self.emit(Kind::Bra { target }, g, NONE, NONE, NONE, NONE, 0);
            }
            "brx" => {
                want(2)?;
                let a = self.src(i, &i.args[0], Ty::U32)?;
                let Operand::Sym(list, _) = &i.args[1] else {
                    return self.fail(i, "no list of targets");
                };
                let f = self.f;
                let Some(names) = f.target_lists.get(list) else {
                    return self.fail(i, "no list of targets");
                };
                let table = names
                    .iter()
                    .filter_map(|n| f.labels.get(n).copied())
                    .collect();
                let d = self.p.tables.len() as u32;
                self.p.tables.push(table);
                self.emit(Kind::Brx, g, d, a, NONE, NONE, 0);
            }
            "call" => self.call(i)?,
            "ret" => {
                let k = if self.f.is_entry {
                    Kind::Exit
                } else {
                    Kind::Ret
                };
                self.emit(k, g, NONE, NONE, NONE, NONE, 0);
            }
            "exit" => self.emit(Kind::Exit, g, NONE, NONE, NONE, NONE, 0),
            "trap" => self.emit(Kind::Trap, g, NONE, NONE, NONE, NONE, 0),
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn atom(&mut self, i: &Instr) -> Result<(), PtxError> {
        let g = self.guard(i);
        let op = i.mods.iter().find_map(|m| {
            Some(match m.as_str() {
                "add" => AtomOp::Add,
                "min" => AtomOp::Min,
                "max" => AtomOp::Max,
                "and" => AtomOp::And,
                "or" => AtomOp::Or,
                "xor" => AtomOp::Xor,
                "exch" => AtomOp::Exch,
                "cas" => AtomOp::Cas,
                "inc" => AtomOp::Inc,
                "dec" => AtomOp::Dec,
                _ => return None,
            })
        });
        let (Some(op), Some(ty)) = (op, i.ty()) else {
            return self.fail(i, "the machine does not have this instruction");
        };
        if ty == Ty::B128 || matches!(i.args.first(), Some(Operand::Vec(_))) {
            return self.fail(i, "the machine does not have this instruction");
        }
        let returns = i.op == "atom";
        let k = usize::from(returns);
        if i.args.len() < k + 2 + usize::from(op == AtomOp::Cas) {
            return self.fail(i, "operands are missing");
        }
        let mut sp = space(i);
        let d = if returns {
            self.dest(i, &i.args[0])?
        } else {
            NONE
        };
        let (a, off) = self.address(i, &i.args[k], &mut sp)?;
        let b = self.src(i, &i.args[k + 1], ty)?;
        let c = if op == AtomOp::Cas {
            self.src(i, &i.args[k + 2], ty)?
        } else {
            NONE
        };
        self.note_grain(sp, ty);
        let strength = strength(i, Strength::Relaxed(Scope::Gpu));
        self.emit(
            Kind::Atom {
                op,
                space: sp,
                ty,
                strength,
                returns: d != NONE,
            },
            g,
            d,
            a,
            b,
            c,
            off,
        );
        Ok(())
    }

    fn barrier(&mut self, i: &Instr) -> Result<(), PtxError> {
        let g = self.guard(i);
        if i.has("warp") {
            let Some(o) = i.args.first() else {
                return self.fail(i, "the lane mask is missing");
            };
            let a = self.src(i, o, Ty::B32)?;
            self.emit(Kind::BarWarp, g, NONE, a, NONE, NONE, 0);
            return Ok(());
        }
        if i.has("cluster") {
            return self.fail(i, "the machine does not have this instruction");
        }
        let mode = if i.has("arrive") {
            BarMode::Arrive
        } else if i.has("red") {
            if i.has("popc") {
                BarMode::RedPopc
            } else if i.has("and") {
                BarMode::RedAnd
            } else {
                BarMode::RedOr
            }
        } else {
            BarMode::Sync
        };
        let red = matches!(mode, BarMode::RedPopc | BarMode::RedAnd | BarMode::RedOr);
        let mut args = i.args.as_slice();
        let mut d = NONE;
        let (mut c, mut negate) = (NONE, false);
        if red {
            let [first, middle @ .., last] = args else {
                return self.fail(i, "operands are missing");
            };
            d = if mode == BarMode::RedPopc {
                self.dest(i, first)?
            } else {
                self.pred(i, first)?.0
            };
            (c, negate) = self.pred(i, last)?;
            args = middle;
        }
        let a = match args.first() {
            Some(o) => self.src(i, o, Ty::U32)?,
            None => self.constant(0),
        };
        let b = match args.get(1) {
            Some(o) => self.src(i, o, Ty::U32)?,
            None => NONE,
        };
        self.emit(Kind::Bar { mode, negate }, g, d, a, b, c, 0);
        Ok(())
    }

    fn shuffle(&mut self, i: &Instr) -> Result<(), PtxError> {
        let g = self.guard(i);
        if i.args.len() < 4 {
            return self.fail(i, "operands are missing");
        }
        let sync = i.has("sync");
        let mode = if i.has("up") {
            ShflMode::Up
        } else if i.has("down") {
            ShflMode::Down
        } else if i.has("bfly") {
            ShflMode::Bfly
        } else {
            ShflMode::Idx
        };
        let (first, p) = match &i.args[0] {
            Operand::Pair(d, p) => (&**d, i64::from(self.pred(i, p)?.0) + 1),
            o => (o, 0),
        };
        let d = self.dest(i, first)?;
        let a = self.src(i, &i.args[1], Ty::B32)?;
        let b = self.src(i, &i.args[2], Ty::B32)?;
        let c = self.src(i, &i.args[3], Ty::B32)?;
        let members = match i.args.get(4) {
            Some(o) if sync => self.src(i, o, Ty::B32)?,
            _ => NONE,
        };
        // imm: predicate in the low half, member mask row in the high half
        self.emit(
            Kind::Shfl { mode, sync },
            g,
            d,
            a,
            b,
            c,
            p | i64::from(members) << 32,
        );
        Ok(())
    }

    fn vote(&mut self, i: &Instr) -> Result<(), PtxError> {
        let g = self.guard(i);
        if i.args.len() < 2 {
            return self.fail(i, "operands are missing");
        }
        let sync = i.has("sync");
        let mode = if i.has("ballot") {
            VoteMode::Ballot
        } else if i.has("all") {
            VoteMode::All
        } else if i.has("any") {
            VoteMode::Any
        } else {
            VoteMode::Uni
        };
        let d = if mode == VoteMode::Ballot {
            self.dest(i, &i.args[0])?
        } else {
            self.pred(i, &i.args[0])?.0
        };
        let (a, negate) = self.pred(i, &i.args[1])?;
        let b = match i.args.get(2) {
            Some(o) if sync => self.src(i, o, Ty::B32)?,
            _ => NONE,
        };
        self.emit(Kind::Vote { mode, sync, negate }, g, d, a, b, NONE, 0);
        Ok(())
    }

    fn call(&mut self, i: &Instr) -> Result<(), PtxError> {
        let g = self.guard(i);
        let mut args = i.args.as_slice();
        let rets = match args.first() {
            Some(Operand::List(r)) => {
                args = &args[1..];
                r.as_slice()
            }
            _ => &[],
        };
        let place = |list: &[Operand]| -> Result<Vec<(u32, u32)>, PtxError> {
            list.iter()
                .map(|o| match o {
                    Operand::Var(v, _) => Ok((
                        self.frame[v.0 as usize],
                        self.f.vars[v.0 as usize].size as u32,
                    )),
                    _ => self.fail(i, "call parameters must be .param variables"),
                })
                .collect()
        };
        let rets = place(rets)?;
        let params = match args.get(1) {
            Some(Operand::List(p)) => place(p)?,
            _ => Vec::new(),
        };
        let callee = match args.first() {
            Some(Operand::Sym(name, _)) => {
                match self
                    .module
                    .functions
                    .iter()
                    .position(|f| f.name == *name && !f.is_extern)
                {
                    Some(k) => Callee::Func(k as u32),
                    None if super::builtins::known(name) => Callee::Builtin(name.clone()),
                    None => {
                        return self.fail(
                            i,
                            format!("the function `{name}` has no body and is not built in"),
                        );
                    }
                }
            }
            Some(o @ Operand::Reg(_)) => Callee::Row(self.src(i, o, Ty::U64)?),
            _ => return self.fail(i, "this cannot be called"),
        };
        if let Callee::Func(k) = callee {
            let f = &self.module.functions[k as usize];
            if f.params.len() != params.len() || f.rets.len() != rets.len() {
                return self.fail(i, format!("`{}` has other parameters", f.name));
            }
        }
        let d = self.p.calls.len() as u32;
        self.p.calls.push(CallSite {
            callee,
            args: params,
            rets,
        });
        self.emit(Kind::Call, g, d, NONE, NONE, NONE, 0);
        Ok(())
    }
}

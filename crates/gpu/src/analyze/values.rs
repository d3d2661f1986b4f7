//! The value of every register as an expression, and the values that loops give their variables.
//!
//! The launch is known, so parameters and dimensions are numbers. A register with one definition is that definition;
//! one with a definition inside a loop and one before it is a loop variable; one whose two definitions stand on the
//! two sides of a branch is a choice. Everything else is unknown, and said to be.

use std::collections::HashMap;

use crate::cfg::{BlockId, Cfg};
use crate::frontend::finding::Scene;
use crate::machine::Launch;
use crate::ptx::{Base, Function, Instr, Operand, Reg, Ty};

use super::expr::{Arena, Bv, Ex, Node, Pred, Var};

/// How a loop variable's value follows from the iteration.
#[derive(Clone, Debug)]
pub enum PhiKind {
    /// One value per iteration.
    Table(Vec<u64>),
    /// `init + step * iteration`; `guard` if the loop's test compares it, so that it ends before it wraps around.
    Linear {
        init: Ex,
        step: u64,
        guard: bool,
    },
    Unknown,
}

#[derive(Clone, Debug)]
pub struct Phi {
    pub loop_id: u32,
    pub width: u8,
    pub kind: PhiKind,
}

#[derive(Clone, Debug)]
pub struct Loop {
    pub header: BlockId,
    pub blocks: Vec<BlockId>,
    /// Iterations of the body, if the launch decides them.
    pub trip: Option<u64>,
    /// The only exit is the test in the header: the header itself runs once more than the body.
    pub header_exit: bool,
}

pub struct Values<'a> {
    pub f: &'a Function,
    pub cfg: &'a Cfg,
    pub arena: Arena,
    pub loops: Vec<Loop>,
    pub phis: Vec<Phi>,
    scene: &'a Scene<'a>,
    launch: &'a Launch,
    params: HashMap<u32, u32>,
    pub(super) defs: Vec<Vec<u32>>,
    pub(super) memo: HashMap<Reg, Ex>,
    busy: Vec<Reg>,
    /// Unknowns that are the same for all threads: loads from one place.
    pub uniform_unknown: HashMap<u32, bool>,
}

pub(super) fn width(t: Ty) -> u8 {
    (t.bytes() * 8).min(64) as u8
}

/// Registers an instruction writes.
fn written(i: &Instr) -> Vec<Reg> {
    let no_result = matches!(
        i.op.as_str(),
        "st" | "red"
            | "bra"
            | "bar"
            | "barrier"
            | "ret"
            | "exit"
            | "membar"
            | "fence"
            | "call"
            | "cp"
            | "prefetch"
    );
    if no_result {
        return Vec::new();
    }
    fn regs(o: &Operand, out: &mut Vec<Reg>) {
        match o {
            Operand::Reg(r) => out.push(*r),
            Operand::Vec(v) => v.iter().for_each(|o| regs(o, out)),
            Operand::Pair(a, b) => {
                regs(a, out);
                regs(b, out);
            }
            _ => {}
        }
    }
    let mut out = Vec::new();
    if let Some(o) = i.args.first() {
        regs(o, &mut out);
    }
    out
}

impl<'a> Values<'a> {
    pub fn new(f: &'a Function, cfg: &'a Cfg, scene: &'a Scene<'a>, launch: &'a Launch) -> Self {
        let mut defs = vec![Vec::new(); f.regs.len()];
        for (k, i) in f.body.iter().enumerate() {
            for r in written(i) {
                defs[r.0 as usize].push(k as u32);
            }
        }
        let params = f
            .params
            .iter()
            .zip(&scene.program.params)
            .map(|(v, p)| (v.0, p.1))
            .collect();
        let loops = cfg
            .loops()
            .into_iter()
            .map(|(header, blocks)| Loop {
                header,
                blocks,
                trip: None,
                header_exit: false,
            })
            .collect();
        let mut v = Values {
            f,
            cfg,
            arena: Arena::default(),
            loops,
            phis: Vec::new(),
            scene,
            launch,
            params,
            defs,
            memo: HashMap::new(),
            busy: Vec::new(),
            uniform_unknown: HashMap::new(),
        };
        // All loop variables first: the forms of outer ones may mention inner ones.
        let found: Vec<_> = (0..v.loops.len()).map(|l| v.loop_variables(l)).collect();
        for (l, mine) in found.iter().enumerate() {
            v.solve_loop(l, mine);
        }
        v
    }

    pub(super) fn block_of(&self, instr: u32) -> BlockId {
        self.cfg.block_of[instr as usize]
    }

    pub(super) fn inside(&self, l: usize, instr: u32) -> bool {
        self.loops[l].blocks.contains(&self.block_of(instr))
    }

    fn unknown(&mut self, def: u32, w: u8) -> Ex {
        self.arena.var(Var::Unknown(def), w)
    }

    /// Value of a register.
    pub fn reg(&mut self, r: Reg) -> Ex {
        if let Some(e) = self.memo.get(&r) {
            return *e;
        }
        let w = if self.f.regs[r.0 as usize].1 == Ty::Pred {
            1
        } else {
            width(self.f.regs[r.0 as usize].1)
        };
        let d = self.defs[r.0 as usize].clone();
        if self.busy.contains(&r) || self.busy.len() > 400 {
            return self.unknown(d.first().copied().unwrap_or(u32::MAX), w);
        }
        self.busy.push(r);
        let e = match d[..] {
            [one] if self.f.body[one as usize].guard.is_none() => self.definition(one),
            [a, b] => self.choice(a, b).unwrap_or_else(|| self.unknown(a, w)),
            _ => self.unknown(d.first().copied().unwrap_or(u32::MAX), w),
        };
        self.busy.pop();
        let e = if self.arena.width(e) == w {
            e
        } else {
            self.arena.resize(e, w, false)
        };
        self.memo.insert(r, e);
        e
    }

    /// Two definitions on the two sides of a branch.
    fn choice(&mut self, a: u32, b: u32) -> Option<Ex> {
        for (first, second) in [(a, b), (b, a)] {
            let (d, s) = (self.block_of(first), self.block_of(second));
            if d == s
                || !self.cfg.dominates(d, s)
                || self.f.body[first as usize].guard.is_some()
                || self.f.body[second as usize].guard.is_some()
            {
                continue;
            }
            // no loop may run from the second definition back to the first
            if self
                .loops
                .iter()
                .any(|l| l.blocks.contains(&s) && !l.blocks.contains(&d))
            {
                return None;
            }
            let (conds, exact) = self.between(d, s);
            if !exact || conds.is_empty() {
                return None;
            }
            let mut c = conds[0];
            for x in &conds[1..] {
                c = self.arena.logic(Node::AndB(c, *x));
            }
            let (x, y) = (self.definition(second), self.definition(first));
            return (self.arena.width(x) == self.arena.width(y)).then(|| self.arena.ite(c, x, y));
        }
        None
    }

    fn operand(&mut self, i: &Instr, o: &Operand, w: u8, def: u32) -> Ex {
        match o {
            Operand::Reg(r) => {
                let e = self.reg(*r);
                self.arena.resize(e, w, false)
            }
            Operand::NotReg(r) => {
                let e = self.reg(*r);
                self.arena.not(e)
            }
            Operand::Imm(v) => self.arena.constant(*v as u64, w),
            Operand::Special(s) => self.special(s, w, def),
            Operand::Sym(s, off) => match self.symbol(s) {
                Some(a) => self.arena.constant(a.wrapping_add(*off as u64), w),
                None => self.unknown(def, w),
            },
            _ => {
                let _ = i;
                self.unknown(def, w)
            }
        }
    }

    fn symbol(&self, name: &str) -> Option<u64> {
        if let Some(v) = self.scene.program.shared.iter().find(|v| v.name == name) {
            return Some(u64::from(v.offset));
        }
        self.scene
            .memory
            .all()
            .iter()
            .find(|a| a.name == name)
            .map(|a| a.start)
    }

    fn special(&mut self, s: &str, w: u8, def: u32) -> Ex {
        let (b, g) = (self.launch.block, self.launch.grid);
        let axis = |s: &str| match s.rsplit('.').next() {
            Some("x") => Some(0usize),
            Some("y") => Some(1),
            Some("z") => Some(2),
            _ => None,
        };
        let (base, ax) = (s.split('.').next().unwrap_or(""), axis(s));
        let e = match (base, ax) {
            ("tid", Some(k)) if b[k] == 1 => self.arena.constant(0, 32),
            ("tid", Some(k)) => self.arena.var(Var::Tid(k as u8), 32),
            ("ctaid", Some(k)) if g[k] == 1 => self.arena.constant(0, 32),
            ("ctaid", Some(k)) => self.arena.var(Var::Ctaid(k as u8), 32),
            ("ntid", Some(k)) => self.arena.constant(u64::from(b[k]), 32),
            ("nctaid", Some(k)) => self.arena.constant(u64::from(g[k]), 32),
            ("laneid", None) if b[1] == 1 && b[2] == 1 => {
                let t = self.arena.var(Var::Tid(0), 32);
                let m = self.arena.constant(u64::from(self.scene.warp_size) - 1, 32);
                self.arena.bin(Bv::And, t, m)
            }
            _ => return self.unknown(def, w),
        };
        self.arena.resize(e, w, false)
    }

    /// Address of a memory operand, 64 bits.
    pub fn address(&mut self, k: u32, o: &Operand) -> Ex {
        let i = self.f.body[k as usize].clone();
        let Operand::Mem(base, off) = o else {
            return self.unknown(k, 64);
        };
        let b = match base {
            Base::Reg(r) => {
                let e = self.reg(*r);
                self.arena.resize(e, 64, false)
            }
            Base::Sym(s) => self.operand(&i, &Operand::Sym(s.clone(), 0), 64, k),
            Base::Var(_) => self.unknown(k, 64),
            Base::None => self.arena.constant(0, 64),
        };
        let c = self.arena.constant(*off as u64, 64);
        self.arena.bin(Bv::Add, b, c)
    }

    /// The value that instruction `k` computes.
    pub fn definition(&mut self, k: u32) -> Ex {
        let i = self.f.body[k as usize].clone();
        let dst = match i.args.first() {
            Some(Operand::Reg(r)) => self.f.regs[r.0 as usize].1,
            _ => Ty::B32,
        };
        let dw = if dst == Ty::Pred { 1 } else { width(dst) };
        self.compute(k, &i, dw)
            .unwrap_or_else(|| self.unknown(k, dw))
    }

    fn compute(&mut self, k: u32, i: &Instr, dw: u8) -> Option<Ex> {
        let ty = i.ty().unwrap_or(Ty::B32);
        let pred = i.mods.last().is_some_and(|m| m == "pred");
        let w = if pred { 1 } else { width(ty) };
        let sign = ty.signed();
        if ty.float() {
            return None;
        }
        if i.op == "ld" {
            return self.load(k, i, ty, dw);
        }
        let arg = |v: &mut Self, n: usize, w: u8| -> Option<Ex> {
            let o = i.args.get(n)?;
            Some(v.operand(i, o, w, k))
        };
        let op = match i.op.as_str() {
            "mov" => {
                if matches!(i.args.get(1), Some(Operand::Vec(_)))
                    || matches!(i.args.first(), Some(Operand::Vec(_)))
                {
                    return None;
                }
                return arg(self, 1, w);
            }
            "cvta" => {
                let a = arg(self, 1, 64)?;
                let shared = i.mods.iter().any(|m| m.starts_with("shared"));
                if !shared {
                    return Some(a);
                }
                let (op, c) = if i.has("to") {
                    (Bv::And, 0xffff_ffff)
                } else {
                    (Bv::Or, crate::machine::program::SHARED_WINDOW)
                };
                let c = self.arena.constant(c, 64);
                return Some(self.arena.bin(op, a, c));
            }
            "cvt" => {
                let types: Vec<Ty> = i.mods.iter().filter_map(|m| Ty::parse(m)).collect();
                let &[d, s] = types.as_slice() else {
                    return None;
                };
                if d.float() || s.float() || i.has("sat") {
                    return None;
                }
                let a = arg(self, 1, width(s))?;
                return Some(self.arena.resize(a, width(d), s.signed()));
            }
            "setp" => return self.setp(k, i, w, sign),
            "selp" => {
                let (a, b) = (arg(self, 1, w)?, arg(self, 2, w)?);
                let c = arg(self, 3, 1)?;
                return Some(self.arena.ite(c, a, b));
            }
            "not" => {
                let a = arg(self, 1, w)?;
                if pred {
                    return Some(self.arena.not(a));
                }
                let m = self.arena.constant(u64::MAX, w);
                return Some(self.arena.bin(Bv::Xor, a, m));
            }
            "neg" => {
                let (z, a) = (self.arena.constant(0, w), arg(self, 1, w)?);
                return Some(self.arena.bin(Bv::Sub, z, a));
            }
            "min" | "max" => {
                let (a, b) = (arg(self, 1, w)?, arg(self, 2, w)?);
                let c = self
                    .arena
                    .cmp(if sign { Pred::Slt } else { Pred::Ult }, a, b);
                return Some(if i.op == "min" {
                    self.arena.ite(c, a, b)
                } else {
                    self.arena.ite(c, b, a)
                });
            }
            "mad" | "mul" => {
                if i.has("hi") || i.has("cc") {
                    return None;
                }
                let (mut a, mut b) = (arg(self, 1, w)?, arg(self, 2, w)?);
                let mut rw = w;
                if i.has("wide") {
                    rw = w * 2;
                    a = self.arena.resize(a, rw, sign);
                    b = self.arena.resize(b, rw, sign);
                }
                let p = self.arena.bin(Bv::Mul, a, b);
                if i.op == "mul" {
                    return Some(p);
                }
                let c = arg(self, 3, rw)?;
                return Some(self.arena.bin(Bv::Add, p, c));
            }
            "and" | "or" | "xor" if pred => {
                let (a, b) = (arg(self, 1, 1)?, arg(self, 2, 1)?);
                return Some(self.arena.logic(match i.op.as_str() {
                    "and" => Node::AndB(a, b),
                    "or" => Node::OrB(a, b),
                    _ => Node::XorB(a, b),
                }));
            }
            "add" if !i.has("cc") && !i.has("sat") => Bv::Add,
            "sub" if !i.has("cc") && !i.has("sat") => Bv::Sub,
            "and" => Bv::And,
            "or" => Bv::Or,
            "xor" => Bv::Xor,
            "shl" => Bv::Shl,
            "shr" => {
                if sign {
                    Bv::AShr
                } else {
                    Bv::LShr
                }
            }
            "div" => {
                if sign {
                    Bv::SDiv
                } else {
                    Bv::UDiv
                }
            }
            "rem" => {
                if sign {
                    Bv::SRem
                } else {
                    Bv::URem
                }
            }
            _ => return None,
        };
        let (a, b) = (arg(self, 1, w)?, arg(self, 2, w)?);
        Some(self.arena.bin(op, a, b))
    }

    fn setp(&mut self, k: u32, i: &Instr, w: u8, sign: bool) -> Option<Ex> {
        if i.mods.len() != 2 || matches!(i.args.first(), Some(Operand::Pair(..))) {
            return None;
        }
        let a = self.operand(i, i.args.get(1)?, w, k);
        let b = self.operand(i, i.args.get(2)?, w, k);
        let (lt, le) = if sign {
            (Pred::Slt, Pred::Sle)
        } else {
            (Pred::Ult, Pred::Ule)
        };
        Some(match i.mods[0].as_str() {
            "eq" => self.arena.cmp(Pred::Eq, a, b),
            "ne" => {
                let e = self.arena.cmp(Pred::Eq, a, b);
                self.arena.not(e)
            }
            "lt" | "lo" => self.arena.cmp(lt, a, b),
            "le" | "ls" => self.arena.cmp(le, a, b),
            "gt" | "hi" => self.arena.cmp(lt, b, a),
            "ge" | "hs" => self.arena.cmp(le, b, a),
            _ => return None,
        })
    }

    /// Kernel parameters are numbers of the launch; other loads are unknown, but the same for all threads if their
    /// address is.
    fn load(&mut self, k: u32, i: &Instr, ty: Ty, dw: u8) -> Option<Ex> {
        if i.has("param") {
            let Some(Operand::Mem(Base::Var(v), off)) = i.args.get(1) else {
                return None;
            };
            let at = (i64::from(*self.params.get(&v.0)?) + off) as usize;
            let n = ty.bytes() as usize;
            let bytes = self.launch.params.get(at..at + n)?;
            let mut b = [0u8; 8];
            b[..n].copy_from_slice(bytes);
            let e = self.arena.constant(u64::from_le_bytes(b), width(ty));
            return Some(self.arena.resize(e, dw, ty.signed()));
        }
        let addr = self.address(k, i.args.get(1)?);
        let u = !i.has("local") && self.uniform(addr);
        self.uniform_unknown.insert(k, u);
        None
    }

    /// The same for all threads of a block at the same iteration?
    pub fn uniform(&self, e: Ex) -> bool {
        self.arena.vars(e).iter().all(|v| match v {
            Var::Tid(_) => false,
            Var::Ctaid(_) => true,
            Var::Unknown(d) => self.uniform_unknown.get(d).copied().unwrap_or(false),
            Var::Listed(id) => match &self.phis[*id as usize].kind {
                PhiKind::Table(_) => true,
                PhiKind::Linear { init, .. } => self.uniform(*init),
                PhiKind::Unknown => false,
            },
        })
    }

    /// Does a run have to tell?
    pub fn unknowable(&self, e: Ex) -> bool {
        self.arena.vars(e).iter().any(|v| match v {
            Var::Unknown(_) => true,
            Var::Listed(id) => match &self.phis[*id as usize].kind {
                PhiKind::Table(_) => false,
                PhiKind::Linear { init, .. } => self.unknowable(*init),
                PhiKind::Unknown => true,
            },
            _ => false,
        })
    }

    /// Loops whose iterations the expression depends on.
    pub fn depends_on_loops(&self, e: Ex) -> Vec<u32> {
        let mut out = Vec::new();
        for v in self.arena.vars(e) {
            match v {
                Var::Listed(id) => {
                    out.push(self.phis[id as usize].loop_id);
                    if let PhiKind::Linear { init, .. } = self.phis[id as usize].kind {
                        out.extend(self.depends_on_loops(init));
                    }
                }
                Var::Unknown(d) if d != u32::MAX => {
                    for (l, lp) in self.loops.iter().enumerate() {
                        if lp.blocks.contains(&self.block_of(d)) {
                            out.push(l as u32);
                        }
                    }
                }
                _ => {}
            }
        }
        out
    }
}

//! From parsed PTX to a `Program`: layout of frames, parameters and shared memory, and the operand tables.
//! `decode_alu` and `decode_mem` translate the instructions.

use std::collections::HashMap;

use crate::cfg::Cfg;
use crate::ptx::{Function, Instr, Module, Operand, PtxError, Space, Ty, VarId};

use super::program::{
    CONST, FUNC_WINDOW, FuncInfo, Kind, NONE, Op, Program, SPECIAL, SharedVar, SiteInfo, Special,
};

/// Addresses of module variables, made when the module was loaded.
pub type Symbols = HashMap<String, u64>;

/// Most shared memory a block may have: more than any GPU's.
pub const MAX_SHARED: u64 = 1 << 20;

pub(super) struct Decoder<'a> {
    pub module: &'a Module,
    pub symbols: &'a Symbols,
    pub p: Program,
    pub f: &'a Function,
    consts: HashMap<u64, u32>,
    /// Register to row (or predicate number) in the current function.
    rows: Vec<u32>,
    pub frame: Vec<u32>,
    pub kparam: HashMap<u32, u32>,
    /// Rows of the current function so far, temporaries included.
    extra_rows: u32,
}

pub(super) fn align_up(x: u64, a: u64) -> u64 {
    x.div_ceil(a.max(1)) * a.max(1)
}

/// Functions that `kernel` can reach; all of them when one is called through a pointer.
fn reachable(m: &Module, kernel: usize) -> Vec<bool> {
    let index: HashMap<&str, usize> = m
        .functions
        .iter()
        .enumerate()
        .filter(|(_, f)| !f.is_extern)
        .map(|(k, f)| (f.name.as_str(), k))
        .collect();
    let mut seen = vec![false; m.functions.len()];
    let mut work = vec![kernel];
    seen[kernel] = true;
    while let Some(k) = work.pop() {
        for i in &m.functions[k].body {
            if i.op == "call" && i.args.iter().any(|a| matches!(a, Operand::Reg(_))) {
                for (j, f) in m.functions.iter().enumerate() {
                    if !f.is_extern && !f.is_entry && !seen[j] {
                        seen[j] = true;
                        work.push(j);
                    }
                }
            }
            for a in &i.args {
                if let Operand::Sym(s, _) = a
                    && let Some(&j) = index.get(s.as_str())
                    && !seen[j]
                {
                    seen[j] = true;
                    work.push(j);
                }
            }
        }
    }
    seen
}

impl Program {
    /// Decodes `kernel` and what it calls.
    ///
    /// # Errors
    /// An instruction the machine does not have, a name that is not there, or a shape that cannot be right; always
    /// with the PTX line.
    pub fn build(module: &Module, kernel: &str, symbols: &Symbols) -> Result<Program, PtxError> {
        let Some(kidx) = module
            .functions
            .iter()
            .position(|f| f.name == kernel && f.is_entry && !f.is_extern)
        else {
            let names: Vec<_> = module.kernels().map(|f| f.name.as_str()).collect();
            return Err(PtxError::new(
                1,
                format!("no kernel `{kernel}`; there are: {}", names.join(", ")),
            ));
        };
        let k = &module.functions[kidx];
        let mut d = Decoder {
            module,
            symbols,
            p: Program {
                kernel: kernel.to_string(),
                kernel_func: kidx as u32,
                ops: Vec::new(),
                meet: Vec::new(),
                sites: Vec::new(),
                consts: Vec::new(),
                specials: vec![Special::Frame],
                funcs: vec![FuncInfo::default(); module.functions.len()],
                calls: Vec::new(),
                tables: Vec::new(),
                vecs: Vec::new(),
                tiles: Vec::new(),
                shared: Vec::new(),
                shared_static: 0,
                params: Vec::new(),
                param_bytes: 0,
                reqntid: k.reqntid,
                grain: 4,
            },
            f: k,
            consts: HashMap::new(),
            rows: Vec::new(),
            frame: Vec::new(),
            kparam: HashMap::new(),
            extra_rows: 0,
        };
        let reach = reachable(module, kidx);
        d.shared_layout(&reach)?;
        d.param_layout(k)?;
        for (j, f) in module.functions.iter().enumerate() {
            d.p.funcs[j].name.clone_from(&f.name);
            if reach[j] && !f.is_extern {
                d.function(j, f)?;
            }
        }
        Ok(d.p)
    }
}

impl<'a> Decoder<'a> {
    /// Shared variables that the reachable functions name, then the dynamic ones, which all start at the same place.
    fn shared_layout(&mut self, reach: &[bool]) -> Result<(), PtxError> {
        let mut used: Vec<&str> = Vec::new();
        for (j, f) in self.module.functions.iter().enumerate() {
            if !reach[j] {
                continue;
            }
            for i in &f.body {
                for a in &i.args {
                    match a {
                        Operand::Sym(s, _) | Operand::Mem(crate::ptx::Base::Sym(s), _) => {
                            used.push(s)
                        }
                        _ => {}
                    }
                }
            }
        }
        used.sort_unstable();
        used.dedup();
        let mut at = 0u64;
        let mut dynamic_align = 16u64;
        for v in self
            .module
            .globals
            .iter()
            .filter(|v| v.space == Space::Shared)
        {
            if used.binary_search(&v.name.as_str()).is_err() {
                continue;
            }
            if v.size == 0 {
                dynamic_align = dynamic_align.max(u64::from(v.align));
                self.p.shared.push(SharedVar {
                    name: v.name.clone(),
                    offset: 0,
                    size: 0,
                    dynamic: true,
                });
                continue;
            }
            at = align_up(at, u64::from(v.align));
            if at + v.size > MAX_SHARED {
                return Err(PtxError::new(
                    v.line,
                    format!("`{}` does not fit into shared memory", v.name),
                ));
            }
            self.p.shared.push(SharedVar {
                name: v.name.clone(),
                offset: at as u32,
                size: v.size as u32,
                dynamic: false,
            });
            at += v.size;
        }
        let end = align_up(at, dynamic_align) as u32;
        let any_dynamic = self.p.shared.iter().any(|v| v.dynamic);
        for v in self.p.shared.iter_mut().filter(|v| v.dynamic) {
            v.offset = end;
        }
        self.p.shared_static = if any_dynamic { end } else { at as u32 };
        Ok(())
    }

    fn param_layout(&mut self, k: &Function) -> Result<(), PtxError> {
        let mut at = 0u64;
        for &v in &k.params {
            let var = &k.vars[v.0 as usize];
            at = align_up(at, u64::from(var.align));
            self.kparam.insert(v.0, at as u32);
            self.p
                .params
                .push((var.name.clone(), at as u32, var.size as u32, var.ty));
            at += var.size;
            if at > 1 << 16 {
                return Err(PtxError::new(
                    var.line,
                    "more than 64 KiB of kernel parameters",
                ));
            }
        }
        self.p.param_bytes = at as u32;
        Ok(())
    }

    fn function(&mut self, j: usize, f: &'a Function) -> Result<(), PtxError> {
        self.f = f;
        let cfg = Cfg::build(f)?;
        let base = self.p.ops.len() as u32;
        // Rows and predicates are numbered apart.
        let (mut rows, mut preds) = (0u32, 0u32);
        self.rows = f
            .regs
            .iter()
            .map(|(_, ty)| {
                let n = if *ty == Ty::Pred {
                    &mut preds
                } else {
                    &mut rows
                };
                *n += 1;
                *n - 1
            })
            .collect();
        let mut at = 0u64;
        self.frame = f
            .vars
            .iter()
            .map(|v| {
                at = align_up(at, u64::from(v.align).max(8));
                let here = at as u32;
                at = at.saturating_add(v.size).min(u64::from(u32::MAX));
                here
            })
            .collect();
        if at > 1 << 26 {
            return Err(PtxError::new(
                f.line,
                format!("`{}` needs too much local memory", f.name),
            ));
        }
        let place = |ids: &[VarId]| -> Vec<(u32, u32)> {
            ids.iter()
                .map(|v| (self.frame[v.0 as usize], f.vars[v.0 as usize].size as u32))
                .collect()
        };
        self.p.funcs[j] = FuncInfo {
            name: f.name.clone(),
            entry: base,
            end: 0,
            regs: 0,
            preds: 0,
            frame: align_up(at, 16) as u32,
            params: place(&f.params),
            rets: place(&f.rets),
            present: true,
        };
        self.extra_rows = rows;
        let mut starts = Vec::with_capacity(f.body.len() + 1);
        for (k, i) in f.body.iter().enumerate() {
            starts.push(self.p.ops.len() as u32);
            self.instruction(i)?;
            if i.has("ftz") {
                self.flush_subnormals(starts[k] as usize, i);
            }
            while self.p.sites.len() < self.p.ops.len() {
                self.p.sites.push(SiteInfo {
                    func: j as u32,
                    index: k as u32,
                    loc: i.loc,
                    ptx_line: i.line,
                });
            }
        }
        starts.push(self.p.ops.len() as u32);
        // Falling off the end returns.
        let last = f.body.last().map_or(f.line, |i| i.line);
        self.emit(Kind::Ret, 0, NONE, NONE, NONE, NONE, 0);
        self.p.sites.push(SiteInfo {
            func: j as u32,
            index: f.body.len() as u32,
            loc: f.body.last().map(|i| i.loc).unwrap_or_default(),
            ptx_line: last,
        });
        // Targets were instruction indices until now.
        for pc in base..self.p.ops.len() as u32 {
            if let Kind::Bra { target } = &mut self.p.ops[pc as usize].kind {
                *target = starts[*target as usize];
            }
            if matches!(self.p.ops[pc as usize].kind, Kind::Brx) {
                let t = self.p.ops[pc as usize].d as usize;
                for x in &mut self.p.tables[t] {
                    *x = starts[*x as usize];
                }
            }
            let index = self.p.sites[pc as usize].index;
            let meet = cfg
                .reconvergence(index)
                .map_or(NONE, |i| starts[i as usize]);
            self.p.meet.push(meet);
        }
        let info = &mut self.p.funcs[j];
        info.end = self.p.ops.len() as u32;
        info.regs = self.extra_rows;
        info.preds = preds;
        Ok(())
    }

    #[allow(clippy::too_many_arguments)]
    pub fn emit(&mut self, kind: Kind, guard: u32, d: u32, a: u32, b: u32, c: u32, imm: i64) {
        self.p.ops.push(Op {
            kind,
            guard,
            d,
            a,
            b,
            c,
            imm,
        });
    }

    pub fn guard(&self, i: &Instr) -> u32 {
        i.guard.map_or(0, |(r, neg)| {
            (self.rows[r.0 as usize] + 1) * 2 + u32::from(neg)
        })
    }

    pub fn fail<T>(&self, i: &Instr, what: impl Into<String>) -> Result<T, PtxError> {
        let what = what.into();
        let mut text = format!("`{}`: {what}", i.text());
        if i.loc.line > 0 {
            let file = self.module.file(i.loc.file);
            let name = file.rsplit('/').next().unwrap_or(file);
            text.push_str(&format!(" (from {name}:{}:{})", i.loc.line, i.loc.column));
        }
        Err(PtxError::new(i.line, text))
    }

    pub fn constant(&mut self, v: u64) -> u32 {
        if let Some(&k) = self.consts.get(&v) {
            return k;
        }
        let k = CONST | self.p.consts.len() as u32;
        self.p.consts.push(v);
        self.consts.insert(v, k);
        k
    }

    pub fn special(&mut self, s: Special) -> u32 {
        let k = match self.p.specials.iter().position(|x| *x == s) {
            Some(k) => k,
            None => {
                self.p.specials.push(s);
                self.p.specials.len() - 1
            }
        };
        SPECIAL | k as u32
    }

    /// A fresh row of the current function.
    pub fn temp(&mut self) -> u32 {
        self.extra_rows += 1;
        self.extra_rows - 1
    }

    pub fn is_pred(&self, o: &Operand) -> bool {
        match o {
            Operand::Reg(r) | Operand::NotReg(r) => self.f.regs[r.0 as usize].1 == Ty::Pred,
            Operand::Pair(a, _) => self.is_pred(a),
            _ => false,
        }
    }

    pub fn reg_ty(&self, o: &Operand) -> Option<Ty> {
        match o {
            Operand::Reg(r) => Some(self.f.regs[r.0 as usize].1),
            _ => None,
        }
    }

    pub fn pred(&self, i: &Instr, o: &Operand) -> Result<(u32, bool), PtxError> {
        match o {
            Operand::Reg(r) if self.is_pred(o) => Ok((self.rows[r.0 as usize], false)),
            Operand::NotReg(r) if self.is_pred(o) => Ok((self.rows[r.0 as usize], true)),
            _ => self.fail(i, "expected a predicate"),
        }
    }

    /// Row of a destination register.
    pub fn dest(&self, i: &Instr, o: &Operand) -> Result<u32, PtxError> {
        match o {
            Operand::Reg(r) if !self.is_pred(o) => Ok(self.rows[r.0 as usize]),
            Operand::Sink => Ok(NONE),
            _ => self.fail(i, "expected a register that is not a predicate"),
        }
    }

    /// Row of a source operand, whose literal has type `ty`.
    pub fn src(&mut self, i: &Instr, o: &Operand, ty: Ty) -> Result<u32, PtxError> {
        Ok(match o {
            Operand::Reg(r) if !self.is_pred(o) => self.rows[r.0 as usize],
            Operand::Imm(v) => {
                let bits = match ty {
                    Ty::F32 => u64::from((*v as f32).to_bits()),
                    Ty::F64 => (*v as f64).to_bits(),
                    _ => match ty.bytes() {
                        1 => *v as u64 & 0xff,
                        2 => *v as u64 & 0xffff,
                        4 => *v as u64 & 0xffff_ffff,
                        _ => *v as u64,
                    },
                };
                self.constant(bits)
            }
            Operand::F32(b) if ty == Ty::F64 => {
                self.constant(f64::from(f32::from_bits(*b)).to_bits())
            }
            Operand::F32(b) => self.constant(u64::from(*b)),
            Operand::F64(b) if ty.bytes() == 4 => {
                self.constant(u64::from((f64::from_bits(*b) as f32).to_bits()))
            }
            Operand::F64(b) => self.constant(*b),
            Operand::Special(name) => match special_of(name) {
                Some(s) => self.special(s),
                None => {
                    return self.fail(i, format!("the special register `%{name}` is not known"));
                }
            },
            Operand::Sym(name, off) => {
                let v = self.address_of(i, name)?.wrapping_add(*off as u64);
                self.constant(v)
            }
            Operand::Var(v, off) => return self.var_address(v.0, *off),
            _ => return self.fail(i, "this operand cannot be a source"),
        })
    }

    /// A row with the address of a variable of the function.
    pub fn var_address(&mut self, v: u32, off: i64) -> Result<u32, PtxError> {
        if self.f.is_entry
            && let Some(&at) = self.kparam.get(&v)
        {
            return Ok(self.constant((u64::from(at)).wrapping_add(off as u64)));
        }
        let frame = self.special(Special::Frame);
        let at = self.constant((i64::from(self.frame[v as usize]) + off) as u64);
        let t = self.temp();
        self.emit(Kind::Bin(super::ops::Bin::Add64), 0, t, frame, at, NONE, 0);
        Ok(t)
    }

    pub fn address_of(&self, i: &Instr, name: &str) -> Result<u64, PtxError> {
        if let Some(v) = self.p.shared.iter().find(|v| v.name == name) {
            return Ok(u64::from(v.offset));
        }
        if let Some(&a) = self.symbols.get(name) {
            return Ok(a);
        }
        if let Some(k) = self
            .module
            .functions
            .iter()
            .position(|f| f.name == name && !f.is_extern)
        {
            return Ok(FUNC_WINDOW | k as u64);
        }
        self.fail(i, format!("nothing is called `{name}`"))
    }
}

fn special_of(name: &str) -> Option<Special> {
    let axis = |s: &str| match s {
        "x" => Some(0),
        "y" => Some(1),
        "z" => Some(2),
        _ => None,
    };
    if let Some((base, ax)) = name.split_once('.') {
        if ax == "w" {
            return Some(Special::Zero);
        }
        let k = axis(ax)?;
        return Some(match base {
            "tid" => Special::Tid(k),
            "ntid" => Special::Ntid(k),
            "ctaid" => Special::Ctaid(k),
            "nctaid" => Special::Nctaid(k),
            "clusterid" | "cluster_ctaid" => Special::Zero,
            _ => return None,
        });
    }
    Some(match name {
        "laneid" => Special::Laneid,
        "warpid" => Special::Warpid,
        "nwarpid" => Special::Nwarpid,
        "lanemask_eq" => Special::LanemaskEq,
        "lanemask_lt" => Special::LanemaskLt,
        "lanemask_le" => Special::LanemaskLe,
        "lanemask_gt" => Special::LanemaskGt,
        "lanemask_ge" => Special::LanemaskGe,
        "smid" => Special::Smid,
        "nsmid" => Special::Nsmid,
        "gridid" => Special::Gridid,
        "dynamic_smem_size" => Special::DynShared,
        "total_smem_size" => Special::TotalShared,
        "envreg1" => Special::Workspace(0),
        "envreg2" => Special::Workspace(1),
        n if n.starts_with("reserved_smem_offset") => Special::Reserved,
        n if n.starts_with("envreg") || n.starts_with("pm") => Special::Zero,
        _ => return None,
    })
}

//! Declarations: variables with their initializers, parameters and registers.

use super::PtxError;
use super::lex::Tok;
use super::parse::{MAX_DEPTH, Named, Parser};
use super::types::{Reg, Space, Ty, Var, VarId};

/// Largest variable.
const MAX_VAR: u64 = 1 << 34;

impl Parser<'_> {
    /// `.space [.align n] [.attribute(..)] .type name[dims] [= init], ...;`
    pub(super) fn variables(&mut self, is_extern: bool) -> Result<Vec<Var>, PtxError> {
        let space = match self.next() {
            Some(Tok::Dot("global")) => Space::Global,
            Some(Tok::Dot("const")) => Space::Const,
            Some(Tok::Dot("shared")) => Space::Shared,
            Some(Tok::Dot("local")) => Space::Local,
            Some(Tok::Dot("param")) => Space::Param,
            _ => return self.err("expected a state space"),
        };
        let mut out = vec![self.variable(space, is_extern, None)?];
        while self.eat(',') {
            let like = out[0].clone();
            out.push(self.variable(space, is_extern, Some(&like))?);
        }
        self.expect(';')?;
        Ok(out)
    }

    pub(super) fn variable(
        &mut self,
        space: Space,
        is_extern: bool,
        like: Option<&Var>,
    ) -> Result<Var, PtxError> {
        let (mut ty, mut align, mut vector) = (None, 0, 1u64);
        if let Some(l) = like {
            ty = Some(l.ty);
            align = l.align;
        }
        while let Some(Tok::Dot(d)) = self.peek().cloned() {
            self.pos += 1;
            match d {
                "align" => align = self.small()?,
                "v2" => vector = 2,
                "v4" => vector = 4,
                "ptr" | "global" | "shared" | "const" | "local" | "unified" => {}
                "attribute" => {
                    self.expect('(')?;
                    while !self.eat(')') {
                        if self.next().is_none() {
                            return self.err("`(` is never closed");
                        }
                    }
                }
                d => match Ty::parse(d) {
                    Some(t) => ty = Some(t),
                    None if matches!(d, "texref" | "samplerref" | "surfref") => ty = Some(Ty::B64),
                    None => return self.err(format!("`.{d}` is not a type")),
                },
            }
        }
        let Some(ty) = ty else {
            return self.err("a variable without a type");
        };
        let line = self.line();
        let name = self.ident()?.to_string();
        let mut count = vector;
        let mut open = false;
        while self.eat('[') {
            if self.eat(']') {
                open = true;
                continue;
            }
            let n = self.int()?;
            self.expect(']')?;
            count = count.saturating_mul(n);
        }
        let mut v = Var {
            name,
            space,
            ty,
            align: align
                .max(ty.bytes() * vector as u32)
                .next_power_of_two()
                .min(1 << 16),
            size: if open {
                0
            } else {
                count.saturating_mul(u64::from(ty.bytes()))
            },
            init: Vec::new(),
            relocs: Vec::new(),
            is_extern,
            line,
        };
        if align > 0 {
            v.align = align.next_power_of_two().min(1 << 16);
        }
        if self.eat('=') {
            self.initializer(&mut v, 0)?;
            if v.size == 0 {
                v.size = v.init.len() as u64;
            }
        }
        if v.size > MAX_VAR || v.init.len() as u64 > v.size {
            return self.err(format!("`{}` does not fit its size", v.name));
        }
        Ok(v)
    }

    fn initializer(&mut self, v: &mut Var, depth: usize) -> Result<(), PtxError> {
        if depth > MAX_DEPTH {
            return self.err("initializers nest too deep");
        }
        if self.eat('{') {
            while !self.eat('}') {
                self.initializer(v, depth + 1)?;
                if !self.eat(',') && !self.is('}') {
                    let found = self.describe();
                    return self.err(format!("expected `,` or `}}`, found {found}"));
                }
            }
            return Ok(());
        }
        let n = v.ty.bytes() as usize;
        let negative = self.eat('-');
        let bits = match self.next() {
            Some(Tok::Int(x)) if v.ty == Ty::F32 => u64::from((x as f32).to_bits()),
            Some(Tok::Int(x)) if v.ty == Ty::F64 => (x as f64).to_bits(),
            Some(Tok::Int(x)) => x,
            Some(Tok::F32(x)) => u64::from(x),
            Some(Tok::F64(x)) if v.ty == Ty::F32 => u64::from((f64::from_bits(x) as f32).to_bits()),
            Some(Tok::F64(x)) => x,
            Some(Tok::Ident(name)) => {
                let mut name = name;
                let generic = name == "generic";
                if generic {
                    self.expect('(')?;
                    name = self.ident()?;
                    self.expect(')')?;
                }
                let mut addend = 0i64;
                if self.eat('+') {
                    addend = self.int()? as i64;
                }
                v.relocs
                    .push((v.init.len() as u64, name.to_string(), addend));
                0
            }
            _ => return self.err("expected a value in an initializer"),
        };
        let bits = match (negative, v.ty) {
            (false, _) => bits,
            (true, Ty::F32) => bits ^ 0x8000_0000,
            (true, Ty::F64) => bits ^ (1 << 63),
            (true, _) => bits.wrapping_neg(),
        };
        let bytes = bits.to_le_bytes();
        v.init.extend_from_slice(&bytes[..n.min(8)]);
        if n > 8 {
            v.init.extend_from_slice(&[0; 8]);
        }
        if v.init.len() > super::lex::MAX_TEXT {
            return self.err("an initializer larger than the file");
        }
        Ok(())
    }

    pub(super) fn param_list(&mut self) -> Result<Vec<VarId>, PtxError> {
        let mut ids = Vec::new();
        self.expect('(')?;
        while !self.eat(')') {
            if self.eat_dot("reg") {
                let v = self.variable(Space::Param, false, None)?;
                let r = Reg(self.regs.len() as u32);
                self.regs.push((v.name.clone(), v.ty));
                self.bind(v.name, Named::Reg(r));
                return self.err(
                    "functions with .reg parameters are not supported; compile for sm_20 or newer",
                );
            }
            if !self.eat_dot("param") {
                let found = self.describe();
                return self.err(format!("expected `.param`, found {found}"));
            }
            let v = self.variable(Space::Param, false, None)?;
            ids.push(self.add_var(v));
            if !self.eat(',') && !self.is(')') {
                let found = self.describe();
                return self.err(format!("expected `,` or `)`, found {found}"));
            }
        }
        Ok(ids)
    }

    pub(super) fn add_var(&mut self, v: Var) -> VarId {
        let id = VarId(self.vars.len() as u32);
        self.bind(v.name.clone(), Named::Var(id));
        self.vars.push(v);
        id
    }

    pub(super) fn registers(&mut self) -> Result<(), PtxError> {
        let Some(Tok::Dot(t)) = self.next() else {
            return self.err("expected a register type");
        };
        let Some(ty) = Ty::parse(t) else {
            return self.err(format!("registers of type `.{t}` are not supported"));
        };
        loop {
            let name = self.ident()?.to_string();
            if self.eat('<') {
                let n = self.int()?;
                self.expect('>')?;
                if let Some(s) = self.scopes.last_mut() {
                    s.ranges.push((name, ty, n));
                }
            } else {
                let r = Reg(self.regs.len() as u32);
                self.regs.push((name.clone(), ty));
                self.bind(name, Named::Reg(r));
            }
            if !self.eat(',') {
                return self.expect(';');
            }
        }
    }
}

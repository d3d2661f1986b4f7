//! Operands of instructions, and what a name means where it stands.

use super::PtxError;
use super::lex::Tok;
use super::parse::{Named, Parser};
use super::types::{Base, Operand, Reg};

impl Parser<'_> {
    /// The innermost meaning of `name`; registers of a range come to life on first use.
    pub(super) fn lookup(&mut self, name: &str) -> Option<Named> {
        for k in (0..self.scopes.len()).rev() {
            if let Some(n) = self.scopes[k].names.get(name) {
                return Some(n.clone());
            }
            let found = self.scopes[k]
                .ranges
                .iter()
                .find_map(|(prefix, ty, count)| {
                    let digits = name.strip_prefix(prefix.as_str())?;
                    let plain = !digits.is_empty()
                        && digits.bytes().all(|c| c.is_ascii_digit())
                        && (digits == "0" || !digits.starts_with('0'));
                    (plain && digits.parse::<u64>().ok()? < *count).then_some(*ty)
                });
            if let Some(ty) = found {
                let r = Reg(self.regs.len() as u32);
                self.regs.push((name.to_string(), ty));
                self.scopes[k].names.insert(name.to_string(), Named::Reg(r));
                return Some(Named::Reg(r));
            }
        }
        None
    }

    fn offset(&mut self) -> Result<i64, PtxError> {
        let mut total = 0i64;
        loop {
            let sign = if self.eat('+') {
                if self.eat('-') { -1 } else { 1 }
            } else if self.eat('-') {
                -1
            } else {
                return Ok(total);
            };
            total = total.wrapping_add((self.int()? as i64).wrapping_mul(sign));
        }
    }

    pub(super) fn operand(&mut self) -> Result<Operand, PtxError> {
        if self.eat('{') {
            return Ok(Operand::Vec(self.list('}')?));
        }
        if self.eat('(') {
            return Ok(Operand::List(self.list(')')?));
        }
        if self.eat('[') {
            return self.address();
        }
        let first = self.simple()?;
        if self.eat('|') {
            let second = self.simple()?;
            return Ok(Operand::Pair(Box::new(first), Box::new(second)));
        }
        Ok(first)
    }

    fn list(&mut self, close: char) -> Result<Vec<Operand>, PtxError> {
        let mut out = Vec::new();
        while !self.eat(close) {
            out.push(self.simple()?);
            if !self.eat(',') && !self.is(close) {
                let found = self.describe();
                return self.err(format!("expected `,` or `{close}`, found {found}"));
            }
        }
        Ok(out)
    }

    fn address(&mut self) -> Result<Operand, PtxError> {
        let (base, mut off) = match self.simple()? {
            Operand::Reg(r) => (Base::Reg(r), 0),
            Operand::Sym(s, o) => (Base::Sym(s), o),
            Operand::Var(v, o) => (Base::Var(v), o),
            Operand::Imm(v) => (Base::None, v),
            _ => return self.err("this cannot be an address"),
        };
        off += self.offset()?;
        if self.eat(',') {
            let mut coords = self.operand()?;
            if self.eat(',') {
                // A sampler stands between the texture and its coordinates.
                coords = self.operand()?;
            }
            self.expect(']')?;
            let coords = match coords {
                Operand::Vec(v) => v,
                one => vec![one],
            };
            return Ok(Operand::Tex(base, coords));
        }
        self.expect(']')?;
        Ok(Operand::Mem(base, off))
    }

    fn simple(&mut self) -> Result<Operand, PtxError> {
        if self.eat('!') {
            return match self.simple()? {
                Operand::Reg(r) => Ok(Operand::NotReg(r)),
                _ => self.err("`!` wants a predicate register"),
            };
        }
        if self.eat('-') {
            return match self.next() {
                Some(Tok::Int(v)) => Ok(Operand::Imm((v as i64).wrapping_neg())),
                Some(Tok::F32(b)) => Ok(Operand::F32(b ^ 0x8000_0000)),
                Some(Tok::F64(b)) => Ok(Operand::F64(b ^ (1 << 63))),
                _ => self.err("expected a number after `-`"),
            };
        }
        match self.next() {
            Some(Tok::Int(v)) => Ok(Operand::Imm(v as i64)),
            Some(Tok::F32(b)) => Ok(Operand::F32(b)),
            Some(Tok::F64(b)) => Ok(Operand::F64(b)),
            Some(Tok::Ident("_")) => Ok(Operand::Sink),
            Some(Tok::Ident(name)) => match self.lookup(name) {
                Some(Named::Reg(r)) => Ok(Operand::Reg(r)),
                Some(Named::Var(v)) => Ok(Operand::Var(v, self.offset()?)),
                Some(Named::Global(g)) => Ok(Operand::Sym(g, self.offset()?)),
                None => {
                    if let Some(special) = name.strip_prefix('%') {
                        let mut s = special.to_string();
                        if let Some(&Tok::Dot(d)) = self.peek() {
                            s.push('.');
                            s.push_str(d);
                            self.next();
                        }
                        return Ok(Operand::Special(s));
                    }
                    Ok(Operand::Sym(name.to_string(), self.offset()?))
                }
            },
            _ => self.err("expected an operand"),
        }
    }
}

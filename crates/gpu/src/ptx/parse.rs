//! The PTX parser: modules, variables, functions and statements. Operands are in `operands`.
//!
//! Errors carry the line; nesting and sizes are bounded, so hostile text ends in an error and not in a hang.

use std::collections::HashMap;

use super::PtxError;
use super::lex::{Tok, Token, lex};
use super::types::{Function, Instr, Loc, Module, Operand, Reg, Ty, Var, VarId};

/// Deepest nesting of `{ }` in a function or an initializer.
pub(super) const MAX_DEPTH: usize = 64;

/// What a name means in a scope.
#[derive(Clone, Debug)]
pub(super) enum Named {
    Reg(Reg),
    Var(VarId),
    /// A `.shared` variable of the function, under its unique name.
    Global(String),
}

#[derive(Default)]
pub(super) struct Scope {
    pub names: HashMap<String, Named>,
    /// `.reg .b32 %r<9>`: prefix, type, count.
    pub ranges: Vec<(String, Ty, u64)>,
}

pub(super) struct Parser<'a> {
    toks: Vec<Token<'a>>,
    pub pos: usize,
    pub scopes: Vec<Scope>,
    pub regs: Vec<(String, Ty)>,
    pub vars: Vec<Var>,
    loc: Loc,
    inlined_at: Vec<Loc>,
    /// Where each inlined place was last inlined into.
    parents: HashMap<Loc, Loc>,
    module: Module,
}

/// Parses a whole PTX module.
///
/// # Errors
/// The first thing that is not PTX, with its line.
pub fn parse(text: &str) -> Result<Module, PtxError> {
    let mut module = parse_as_written(text).map_err(|e| super::blame::with_source(text, e))?;
    super::blame::callers(&mut module);
    Ok(module)
}

/// The same, with every function just as the text has it.
///
/// # Errors
/// As for `parse`.
pub fn parse_as_written(text: &str) -> Result<Module, PtxError> {
    let mut p = Parser {
        toks: lex(text)?,
        pos: 0,
        scopes: Vec::new(),
        regs: Vec::new(),
        vars: Vec::new(),
        loc: Loc::default(),
        inlined_at: Vec::new(),
        parents: HashMap::new(),
        module: Module::default(),
    };
    p.module()?;
    Ok(p.module)
}

impl<'a> Parser<'a> {
    pub fn line(&self) -> u32 {
        self.toks
            .get(self.pos)
            .or(self.toks.last())
            .map_or(1, |t| t.line)
    }

    pub fn err<T>(&self, what: impl Into<String>) -> Result<T, PtxError> {
        Err(PtxError::new(self.line(), what))
    }

    pub fn peek(&self) -> Option<&Tok<'a>> {
        self.toks.get(self.pos).map(|t| &t.tok)
    }

    pub fn peek2(&self) -> Option<&Tok<'a>> {
        self.toks.get(self.pos + 1).map(|t| &t.tok)
    }

    pub fn next(&mut self) -> Option<Tok<'a>> {
        let t = self.toks.get(self.pos).map(|t| t.tok.clone());
        self.pos += usize::from(t.is_some());
        t
    }

    pub fn is(&self, c: char) -> bool {
        self.peek() == Some(&Tok::Punct(c))
    }

    pub fn eat(&mut self, c: char) -> bool {
        let yes = self.is(c);
        self.pos += usize::from(yes);
        yes
    }

    pub fn expect(&mut self, c: char) -> Result<(), PtxError> {
        if self.eat(c) {
            return Ok(());
        }
        let found = self.describe();
        self.err(format!("expected `{c}`, found {found}"))
    }

    pub fn describe(&self) -> String {
        match self.peek() {
            None => "the end of the file".into(),
            Some(Tok::Ident(s)) => format!("`{s}`"),
            Some(Tok::Dot(s)) => format!("`.{s}`"),
            Some(Tok::Int(v)) => format!("`{v}`"),
            Some(Tok::F32(_) | Tok::F64(_)) => "a floating-point number".into(),
            Some(Tok::Str(s)) => format!("\"{}\"", s.chars().take(40).collect::<String>()),
            Some(Tok::Punct(c)) => format!("`{c}`"),
        }
    }

    pub fn eat_dot(&mut self, name: &str) -> bool {
        let yes = matches!(self.peek(), Some(Tok::Dot(s)) if *s == name);
        self.pos += usize::from(yes);
        yes
    }

    pub fn int(&mut self) -> Result<u64, PtxError> {
        match self.peek() {
            Some(&Tok::Int(v)) => {
                self.pos += 1;
                Ok(v)
            }
            _ => {
                let found = self.describe();
                self.err(format!("expected a number, found {found}"))
            }
        }
    }

    pub(super) fn small(&mut self) -> Result<u32, PtxError> {
        let v = self.int()?;
        u32::try_from(v).or_else(|_| self.err(format!("{v} is too large here")))
    }

    pub(super) fn ident(&mut self) -> Result<&'a str, PtxError> {
        match self.peek() {
            Some(&Tok::Ident(s)) => {
                self.pos += 1;
                Ok(s)
            }
            _ => {
                let found = self.describe();
                self.err(format!("expected a name, found {found}"))
            }
        }
    }

    /// Skips to behind the next `;` (or to a `{`, which stays).
    fn skip_statement(&mut self) {
        while let Some(t) = self.peek() {
            if *t == Tok::Punct('{') {
                return;
            }
            let end = *t == Tok::Punct(';');
            self.pos += 1;
            if end {
                return;
            }
        }
    }

    fn skip_braces(&mut self) -> Result<(), PtxError> {
        self.expect('{')?;
        let mut depth = 1;
        while depth > 0 {
            match self.next() {
                None => return self.err("a `{` is never closed"),
                Some(Tok::Punct('{')) => depth += 1,
                Some(Tok::Punct('}')) => depth -= 1,
                _ => {}
            }
        }
        Ok(())
    }

    fn module(&mut self) -> Result<(), PtxError> {
        while let Some(t) = self.peek().cloned() {
            match t {
                Tok::Punct(';') => self.pos += 1,
                Tok::Dot(d) => self.top(d)?,
                _ => {
                    let found = self.describe();
                    return self.err(format!("expected a directive, found {found}"));
                }
            }
        }
        Ok(())
    }

    fn top(&mut self, d: &str) -> Result<(), PtxError> {
        match d {
            "version" => {
                self.pos += 1;
                match self.next() {
                    Some(Tok::F64(b)) => {
                        let v = f64::from_bits(b);
                        self.module.version = (v as u32, ((v * 10.0).round() as u32) % 10);
                    }
                    Some(Tok::Int(v)) => self.module.version = (v as u32, 0),
                    _ => return self.err("expected a version number after .version"),
                }
            }
            "target" => {
                self.pos += 1;
                self.module.target = self.ident()?.to_string();
                while self.eat(',') {
                    self.ident()?;
                }
            }
            "address_size" => {
                self.pos += 1;
                if self.int()? != 64 {
                    return self.err("only 64-bit PTX is understood; compile for a 64-bit target");
                }
            }
            "file" => self.file()?,
            "section" => {
                self.pos += 1;
                while !self.is('{') && self.peek().is_some() {
                    self.pos += 1;
                }
                self.skip_braces()?;
            }
            "loc" => self.loc()?,
            "pragma" | "alias" => self.skip_statement(),
            "visible" | "extern" | "weak" | "common" | "entry" | "func" | "global" | "const"
            | "shared" => {
                self.linked()?;
            }
            other => return self.err(format!("`.{other}` is not known outside a function")),
        }
        Ok(())
    }

    fn file(&mut self) -> Result<(), PtxError> {
        self.pos += 1;
        let id = self.small()?;
        match self.next() {
            Some(Tok::Str(s)) => {
                self.module.files.insert(id, s.to_string());
            }
            _ => return self.err("expected a file name in quotes after .file"),
        }
        while self.eat(',') {
            self.int()?;
        }
        Ok(())
    }

    fn loc(&mut self) -> Result<(), PtxError> {
        self.pos += 1;
        self.loc = Loc {
            file: self.small()?,
            line: self.small()?,
            column: self.small()?,
        };
        self.inlined_at.clear();
        while self.eat(',') {
            match self.ident()? {
                "function_name" => {
                    self.ident()?;
                    if self.eat('+') {
                        self.int()?;
                    }
                }
                "inlined_at" => {
                    let mut at = Loc {
                        file: self.small()?,
                        line: self.small()?,
                        column: self.small()?,
                    };
                    self.parents.insert(self.loc, at);
                    // `.loc` names one step; the steps before it were named by earlier ones.
                    while self.inlined_at.len() < 16 && !self.inlined_at.contains(&at) {
                        self.inlined_at.push(at);
                        match self.parents.get(&at) {
                            Some(p) => at = *p,
                            None => break,
                        }
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn linked(&mut self) -> Result<(), PtxError> {
        let mut is_extern = false;
        loop {
            match self.peek() {
                Some(Tok::Dot("visible" | "weak" | "common")) => self.pos += 1,
                Some(Tok::Dot("extern")) => {
                    is_extern = true;
                    self.pos += 1;
                }
                Some(Tok::Dot("entry" | "func")) => return self.function(is_extern),
                Some(Tok::Dot("global" | "const" | "shared")) => {
                    let vars = self.variables(is_extern)?;
                    self.module.globals.extend(vars);
                    return Ok(());
                }
                _ => {
                    let found = self.describe();
                    return self.err(format!("expected a variable or function, found {found}"));
                }
            }
        }
    }

    pub(super) fn bind(&mut self, name: String, what: Named) {
        if let Some(s) = self.scopes.last_mut() {
            s.names.insert(name, what);
        }
    }

    fn function(&mut self, is_extern: bool) -> Result<(), PtxError> {
        let is_entry = self.eat_dot("entry");
        if !is_entry {
            self.pos += 1;
        }
        self.scopes = vec![Scope::default()];
        self.regs.clear();
        self.vars.clear();
        self.loc = Loc::default();
        self.inlined_at.clear();
        self.parents.clear();
        let line = self.line();
        let rets = if self.is('(') {
            self.param_list()?
        } else {
            Vec::new()
        };
        let mut f = Function {
            name: self.ident()?.to_string(),
            is_entry,
            is_extern: true,
            params: Vec::new(),
            rets,
            vars: Vec::new(),
            regs: Vec::new(),
            body: Vec::new(),
            labels: Default::default(),
            target_lists: Default::default(),
            prototypes: Default::default(),
            reqntid: None,
            maxntid: None,
            line,
            end_line: line,
        };
        if self.is('(') {
            f.params = self.param_list()?;
        }
        self.attributes(&mut f)?;
        if self.is('{') {
            if is_extern {
                return self.err(format!("`{}` is .extern but has a body", f.name));
            }
            f.is_extern = false;
            self.body(&mut f)?;
        } else {
            self.expect(';')?;
        }
        f.vars = std::mem::take(&mut self.vars);
        f.regs = std::mem::take(&mut self.regs);
        self.module.functions.push(f);
        Ok(())
    }

    fn attributes(&mut self, f: &mut Function) -> Result<(), PtxError> {
        while let Some(Tok::Dot(d)) = self.peek().cloned() {
            self.pos += 1;
            let mut nums = Vec::new();
            while let Some(Tok::Int(v)) = self.peek() {
                nums.push(u32::try_from(*v).unwrap_or(u32::MAX));
                self.pos += 1;
                if !self.eat(',') {
                    break;
                }
            }
            let dims = [
                nums.first().copied().unwrap_or(1),
                nums.get(1).copied().unwrap_or(1),
                nums.get(2).copied().unwrap_or(1),
            ];
            match d {
                "reqntid" => f.reqntid = Some(dims),
                "maxntid" => f.maxntid = Some(dims),
                "pragma" => self.skip_statement(),
                _ => {}
            }
        }
        Ok(())
    }

    fn body(&mut self, f: &mut Function) -> Result<(), PtxError> {
        self.expect('{')?;
        self.scopes.push(Scope::default());
        let outer = self.scopes.len();
        loop {
            let line = self.line();
            match self.peek().cloned() {
                None => return self.err(format!("the body of `{}` is never closed", f.name)),
                Some(Tok::Punct('{')) => {
                    self.pos += 1;
                    if self.scopes.len() > MAX_DEPTH {
                        return self.err("blocks nest too deep");
                    }
                    self.scopes.push(Scope::default());
                }
                Some(Tok::Punct('}')) => {
                    f.end_line = line;
                    self.pos += 1;
                    self.scopes.pop();
                    if self.scopes.len() < outer {
                        return Ok(());
                    }
                }
                Some(Tok::Punct(';')) => self.pos += 1,
                Some(Tok::Dot(d)) => self.body_directive(f, d)?,
                Some(Tok::Ident(name)) if self.peek2() == Some(&Tok::Punct(':')) => {
                    self.pos += 2;
                    self.label(f, name)?;
                }
                Some(_) => {
                    let i = self.instruction()?;
                    f.body.push(i);
                }
            }
        }
    }

    fn body_directive(&mut self, f: &mut Function, d: &str) -> Result<(), PtxError> {
        match d {
            "reg" => {
                self.pos += 1;
                self.registers()
            }
            "loc" => self.loc(),
            "file" => self.file(),
            "pragma" | "maxnreg" => {
                self.skip_statement();
                Ok(())
            }
            "local" | "param" => {
                for v in self.variables(false)? {
                    self.add_var(v);
                }
                Ok(())
            }
            "shared" | "global" | "const" => {
                for mut v in self.variables(false)? {
                    let own = v.name.clone();
                    if self.module.globals.iter().any(|g| g.name == own) {
                        v.name = format!("{}::{}", f.name, own);
                    }
                    self.bind(own, Named::Global(v.name.clone()));
                    self.module.globals.push(v);
                }
                Ok(())
            }
            other => self.err(format!("`.{other}` is not known inside a function")),
        }
    }

    fn label(&mut self, f: &mut Function, name: &str) -> Result<(), PtxError> {
        if self.eat_dot("branchtargets") || self.eat_dot("calltargets") {
            let mut list = vec![self.ident()?.to_string()];
            while self.eat(',') {
                list.push(self.ident()?.to_string());
            }
            self.expect(';')?;
            f.target_lists.insert(name.to_string(), list);
            return Ok(());
        }
        if self.eat_dot("callprototype") {
            let keep = self.vars.len();
            self.scopes.push(Scope::default());
            let rets = if self.is('(') {
                self.param_list()?
            } else {
                Vec::new()
            };
            if !self.is('(') {
                self.ident()?;
            }
            let params = if self.is('(') {
                self.param_list()?
            } else {
                Vec::new()
            };
            self.scopes.pop();
            let size = |ids: &[VarId]| ids.iter().map(|v| self.vars[v.0 as usize].size).collect();
            let proto = (size(&rets), size(&params));
            self.vars.truncate(keep);
            self.skip_statement();
            f.prototypes.insert(name.to_string(), proto);
            return Ok(());
        }
        if f.labels
            .insert(name.to_string(), f.body.len() as u32)
            .is_some()
        {
            return self.err(format!("the label `{name}` is there twice"));
        }
        Ok(())
    }

    fn instruction(&mut self) -> Result<Instr, PtxError> {
        let mut guard = None;
        let line = self.line();
        if self.eat('@') {
            let negated = self.eat('!');
            let name = self.ident()?;
            match self.lookup(name) {
                Some(Named::Reg(r)) => guard = Some((r, negated)),
                _ => return self.err(format!("the guard `{name}` is not a declared register")),
            }
        }
        let op = self.ident()?.to_string();
        let mut mods = Vec::new();
        while let Some(Tok::Dot(d)) = self.peek() {
            mods.push((*d).to_string());
            self.pos += 1;
        }
        let mut args: Vec<Operand> = Vec::new();
        if !self.is(';') {
            loop {
                args.push(self.operand()?);
                if !self.eat(',') {
                    break;
                }
            }
        }
        self.expect(';')?;
        Ok(Instr {
            guard,
            op,
            mods,
            args,
            loc: self.loc,
            line,
            inlined_at: self.inlined_at.clone(),
        })
    }
}

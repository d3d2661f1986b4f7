//! The typed form of a PTX module: what the parser makes and every later pass reads.

use std::collections::BTreeMap;
use std::fmt;

/// A register of one function, numbered from 0 in order of first use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Reg(pub u32);

/// A variable of one function (parameter, local, or call parameter), by index into `Function::vars`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct VarId(pub u32);

/// PTX's basic types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ty {
    B8,
    B16,
    B32,
    B64,
    B128,
    U8,
    U16,
    U32,
    U64,
    S8,
    S16,
    S32,
    S64,
    F16,
    F16x2,
    Bf16,
    Bf16x2,
    F32,
    F64,
    Pred,
}

impl Ty {
    pub fn parse(s: &str) -> Option<Ty> {
        Some(match s {
            "b8" => Ty::B8,
            "b16" => Ty::B16,
            "b32" => Ty::B32,
            "b64" => Ty::B64,
            "b128" => Ty::B128,
            "u8" => Ty::U8,
            "u16" => Ty::U16,
            "u32" => Ty::U32,
            "u64" => Ty::U64,
            "s8" => Ty::S8,
            "s16" => Ty::S16,
            "s32" => Ty::S32,
            "s64" => Ty::S64,
            "f16" => Ty::F16,
            "f16x2" => Ty::F16x2,
            "bf16" => Ty::Bf16,
            "bf16x2" => Ty::Bf16x2,
            "f32" => Ty::F32,
            "f64" => Ty::F64,
            "pred" => Ty::Pred,
            _ => return None,
        })
    }

    pub fn bytes(self) -> u32 {
        match self {
            Ty::B8 | Ty::U8 | Ty::S8 | Ty::Pred => 1,
            Ty::B16 | Ty::U16 | Ty::S16 | Ty::F16 | Ty::Bf16 => 2,
            Ty::B32 | Ty::U32 | Ty::S32 | Ty::F32 | Ty::F16x2 | Ty::Bf16x2 => 4,
            Ty::B64 | Ty::U64 | Ty::S64 | Ty::F64 => 8,
            Ty::B128 => 16,
        }
    }

    pub fn signed(self) -> bool {
        matches!(self, Ty::S8 | Ty::S16 | Ty::S32 | Ty::S64)
    }

    pub fn float(self) -> bool {
        matches!(
            self,
            Ty::F16 | Ty::F32 | Ty::F64 | Ty::Bf16 | Ty::F16x2 | Ty::Bf16x2
        )
    }
}

/// State spaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Space {
    Generic,
    Global,
    Shared,
    Local,
    Const,
    Param,
}

impl fmt::Display for Space {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Space::Generic => "generic",
            Space::Global => "global",
            Space::Shared => "shared",
            Space::Local => "local",
            Space::Const => "constant",
            Space::Param => "param",
        })
    }
}

/// Place in the source, from `.loc`. Line 0 means that the PTX had none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Loc {
    pub file: u32,
    pub line: u32,
    pub column: u32,
}

/// A variable outside or inside a function.
#[derive(Clone, Debug)]
pub struct Var {
    pub name: String,
    pub space: Space,
    pub ty: Ty,
    pub align: u32,
    /// 0 for `[]`: the dynamic shared memory of the launch.
    pub size: u64,
    pub init: Vec<u8>,
    /// Addresses to put into `init`: (byte offset, symbol, addend).
    pub relocs: Vec<(u64, String, i64)>,
    pub is_extern: bool,
    pub line: u32,
}

/// The address in `[...]`.
#[derive(Clone, Debug, PartialEq)]
pub enum Base {
    Reg(Reg),
    Sym(String),
    Var(VarId),
    /// An absolute address.
    None,
}

/// An instruction's operand.
#[derive(Clone, Debug, PartialEq)]
pub enum Operand {
    Reg(Reg),
    /// `!%p1`
    NotReg(Reg),
    Imm(i64),
    F32(u32),
    F64(u64),
    /// A global name: variable, function, or label, with an offset.
    Sym(String, i64),
    /// A variable of this function, with an offset.
    Var(VarId, i64),
    /// `%tid.x` and friends, without the percent sign.
    Special(String),
    Mem(Base, i64),
    /// `[object, {x, y}]`: a texture or surface, and coordinates.
    Tex(Base, Vec<Operand>),
    Vec(Vec<Operand>),
    /// `%p1|%p2`
    Pair(Box<Operand>, Box<Operand>),
    /// `_`: a result nobody wants.
    Sink,
    /// `(a, b)` of a call.
    List(Vec<Operand>),
}

/// One instruction with its guard, place in the PTX and place in the source.
#[derive(Clone, Debug)]
pub struct Instr {
    pub guard: Option<(Reg, bool)>,
    pub op: String,
    pub mods: Vec<String>,
    pub args: Vec<Operand>,
    pub loc: Loc,
    pub line: u32,
    /// Where this code was inlined into, when the PTX says so, and where that was, and so on.
    pub inlined_at: Vec<Loc>,
}

impl Instr {
    /// Has this modifier?
    pub fn has(&self, m: &str) -> bool {
        self.mods.iter().any(|x| x == m)
    }

    /// The last modifier that is a type.
    pub fn ty(&self) -> Option<Ty> {
        self.mods.iter().rev().find_map(|m| Ty::parse(m))
    }

    /// The whole opcode as written.
    pub fn text(&self) -> String {
        let mut s = self.op.clone();
        for m in &self.mods {
            s.push('.');
            s.push_str(m);
        }
        s
    }
}

/// A function or kernel.
#[derive(Clone, Debug)]
pub struct Function {
    pub name: String,
    pub is_entry: bool,
    pub is_extern: bool,
    pub params: Vec<VarId>,
    pub rets: Vec<VarId>,
    /// Parameters, return values, call parameters and local variables.
    pub vars: Vec<Var>,
    pub regs: Vec<(String, Ty)>,
    pub body: Vec<Instr>,
    /// Label to index of the next instruction.
    pub labels: BTreeMap<String, u32>,
    /// `.branchtargets` and `.calltargets` lists.
    pub target_lists: BTreeMap<String, Vec<String>>,
    /// `.callprototype`: (returns, parameters) in bytes.
    pub prototypes: BTreeMap<String, (Vec<u64>, Vec<u64>)>,
    pub reqntid: Option<[u32; 3]>,
    pub maxntid: Option<[u32; 3]>,
    pub line: u32,
    /// Line of the closing brace, for inserting text.
    pub end_line: u32,
}

/// A parsed module.
#[derive(Clone, Debug, Default)]
pub struct Module {
    pub version: (u32, u32),
    pub target: String,
    pub files: BTreeMap<u32, String>,
    /// Variables outside functions, and the `.shared` ones of all functions.
    pub globals: Vec<Var>,
    pub functions: Vec<Function>,
}

impl Module {
    pub fn function(&self, name: &str) -> Option<&Function> {
        self.functions
            .iter()
            .find(|f| f.name == name && !f.is_extern)
            .or_else(|| self.functions.iter().find(|f| f.name == name))
    }

    pub fn kernels(&self) -> impl Iterator<Item = &Function> {
        self.functions.iter().filter(|f| f.is_entry && !f.is_extern)
    }

    /// The file's name as the PTX gives it, or `?`.
    pub fn file(&self, id: u32) -> &str {
        self.files.get(&id).map_or("?", String::as_str)
    }
}

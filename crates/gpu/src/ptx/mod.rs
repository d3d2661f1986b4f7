//! PTX: lexer, parser and the typed form. Knows nothing of execution or of races.

pub mod blame;
pub mod lex;
mod operands;
mod parse;
pub mod types;
mod variables;

pub use parse::{parse, parse_as_written};
pub use types::{Base, Function, Instr, Loc, Module, Operand, Reg, Space, Ty, Var, VarId};

/// What is wrong with a PTX text, and on which line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PtxError {
    pub line: u32,
    pub what: String,
}

impl PtxError {
    pub fn new(line: u32, what: impl Into<String>) -> Self {
        PtxError {
            line,
            what: what.into(),
        }
    }
}

impl std::fmt::Display for PtxError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PTX line {}: {}", self.line, self.what)
    }
}

impl std::error::Error for PtxError {}

//! Loading a module: its global and constant variables get memory, and kernels are decoded when first used.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use crate::ptx::{Module, PtxError, Space};

use super::decode::Symbols;
use super::memory::Memory;
use super::program::{FUNC_WINDOW, Program};

/// A module with its variables in memory.
#[derive(Debug)]
pub struct Loaded {
    pub module: Module,
    pub symbols: Symbols,
    programs: Mutex<HashMap<String, Arc<Program>>>,
}

/// Why a module cannot be loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoadError {
    Ptx(PtxError),
    Memory(String),
}

impl std::fmt::Display for LoadError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            LoadError::Ptx(e) => e.fmt(f),
            LoadError::Memory(s) => f.write_str(s),
        }
    }
}

impl From<PtxError> for LoadError {
    fn from(e: PtxError) -> Self {
        LoadError::Ptx(e)
    }
}

impl Loaded {
    /// Parses PTX text and allocates its variables.
    ///
    /// # Errors
    /// PTX that cannot be read, or variables that memory cannot hold.
    pub fn new(text: &str, memory: &Memory) -> Result<Loaded, LoadError> {
        Self::from_module(crate::ptx::parse(text)?, memory)
    }

    /// # Errors
    /// Variables that memory cannot hold.
    pub fn from_module(module: Module, memory: &Memory) -> Result<Loaded, LoadError> {
        let mut symbols = Symbols::new();
        for v in &module.globals {
            if !matches!(v.space, Space::Global | Space::Const) || symbols.contains_key(&v.name) {
                continue;
            }
            let defined = module
                .globals
                .iter()
                .any(|g| g.name == v.name && !g.is_extern);
            if v.is_extern && defined {
                continue;
            }
            let at = memory.alloc(&v.name, v.size, false).ok_or_else(|| {
                LoadError::Memory(format!("no memory for `{}` ({} bytes)", v.name, v.size))
            })?;
            memory.write(at, &v.init);
            symbols.insert(v.name.clone(), at);
        }
        for v in &module.globals {
            let Some(&at) = symbols.get(&v.name) else {
                continue;
            };
            for (off, name, addend) in &v.relocs {
                let target = symbols.get(name).copied().or_else(|| {
                    module
                        .functions
                        .iter()
                        .position(|f| f.name == *name && !f.is_extern)
                        .map(|k| FUNC_WINDOW | k as u64)
                });
                let Some(t) = target else {
                    return Err(PtxError::new(v.line, format!("nothing is called `{name}`")).into());
                };
                memory.write(at + off, &t.wrapping_add(*addend as u64).to_le_bytes());
            }
        }
        Ok(Loaded {
            module,
            symbols,
            programs: Mutex::new(HashMap::new()),
        })
    }

    /// The decoded kernel.
    ///
    /// # Errors
    /// An instruction the machine does not have, with its line.
    pub fn program(&self, kernel: &str) -> Result<Arc<Program>, PtxError> {
        if let Ok(map) = self.programs.lock()
            && let Some(p) = map.get(kernel)
        {
            return Ok(Arc::clone(p));
        }
        let p = Arc::new(Program::build(&self.module, kernel, &self.symbols)?);
        if let Ok(mut map) = self.programs.lock() {
            map.insert(kernel.to_string(), Arc::clone(&p));
        }
        Ok(p)
    }
}

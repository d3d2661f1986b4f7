//! Deadheat's library for compilers, used here on what rustc has compiled long ago.

use super::api::Module;
use crate::error::{Error, Result};
use libloading::Library;
use std::path::Path;

/// The library. It works with the LLVM that was loaded before it.
pub struct Hook {
    improve: unsafe extern "C" fn(Module),
    /// Keeps the function where it is.
    _library: Library,
}

impl Hook {
    /// Loads it.
    pub fn load(path: &Path) -> Result<Self> {
        let fail = |error: libloading::Error| {
            Error::new(format!("cannot load {}: {error}", path.display()))
        };
        // SAFETY: Deadheat's own library, which does nothing when it is loaded.
        let library = unsafe { Library::new(path) }.map_err(fail)?;
        Ok(Self {
            // SAFETY: the library has this function under this name.
            improve: *unsafe { library.get(b"deadheat_improve\0") }.map_err(fail)?,
            _library: library,
        })
    }

    /// Makes the hooks of an instrumented module fewer and better.
    pub fn improve(&self, module: Module) {
        // SAFETY: a module of the LLVM that is loaded, which nobody else uses.
        unsafe { (self.improve)(module) };
    }
}

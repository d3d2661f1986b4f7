//! One rlib of the standard library: its objects are made again from their bitcode, the rest is copied.

use crate::archive;
use crate::error::{Error, Result};
use crate::llvm::{self, Api, Hook};
use object::{Object, ObjectSection};
use std::fs;
use std::path::Path;

/// Where rustc puts an object's bitcode.
const BITCODE: &str = ".llvmbc";

/// How the instrumentation of an rlib ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// There is a copy.
    Written,
    /// This LLVM and this bitcode do not fit, and why. Trying again would not help.
    Refused(String),
}

/// Writes an instrumented copy of an rlib. `hook` is Deadheat's library for compilers, which makes the hooks fewer; without it
/// they are those of LLVM, which any runtime understands.
pub fn instrument(llvm: &Path, hook: Option<&Path>, from: &Path, to: &Path) -> Result<Outcome> {
    let data = fs::read(from).map_err(|error| Error::at(from, "read", &error))?;
    let mut members = archive::read(&data)?;
    let api = match Api::load(llvm) {
        Ok(api) => api,
        Err(error) => return Ok(Outcome::Refused(error.to_string())),
    };
    let hook = hook.map(Hook::load).transpose()?;
    for member in &mut members {
        if let Some(bitcode) = bitcode(&member.data) {
            match llvm::instrument(&api, hook.as_ref(), bitcode) {
                Ok(data) => member.data = data,
                Err(error) => return Ok(Outcome::Refused(error.to_string())),
            }
        }
    }
    fs::write(to, archive::write(&members)).map_err(|error| Error::at(to, "write", &error))?;
    Ok(Outcome::Written)
}

/// Whether all code of an rlib comes with its bitcode. What is not code has other names (`lib.rmeta`, `lib.rmeta-link`).
#[must_use]
pub fn has_bitcode(data: &[u8]) -> bool {
    archive::read(data).is_ok_and(|members| {
        let mut code = members.iter().filter(|member| member.name.ends_with(b".o"));
        code.all(|member| bitcode(&member.data).is_some())
    })
}

fn bitcode(object: &[u8]) -> Option<&[u8]> {
    let file = object::File::parse(object).ok()?;
    file.section_by_name(BITCODE)?
        .data()
        .ok()
        .filter(|data| !data.is_empty())
}

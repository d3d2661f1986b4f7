//! From program counters and addresses to functions, lines and variables.
//!
//! Runs outside the program under test. Files are loaded when an address first falls into them and kept; every
//! program counter is resolved once.

mod debugfile;
pub mod demangle;
mod image;
mod types;
mod variables;

pub use image::{Symbolized, normalize};
pub use variables::Variable;

use deadheat_model::{Address, Frame};
use image::Image;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// One mapped module; a later one replaces what it overlaps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mapped {
    pub path: String,
    /// Load address minus link address.
    pub bias: u64,
    pub start: u64,
    pub end: u64,
    /// Hexadecimal; empty if unknown.
    pub build_id: String,
    /// Addresses that stand for an interposed function and are no return addresses.
    pub exact: Vec<u64>,
    /// How far below the thread pointer its thread-local variables begin.
    pub tls: Option<u64>,
}

/// Resolves the addresses of one process.
pub struct Symbolizer {
    mapped: Vec<Mapped>,
    images: Vec<Image>,
    /// Index into `images` by path; none if the file could not be read.
    by_path: HashMap<String, Option<usize>>,
    frames: HashMap<u64, Arc<[Symbolized]>>,
    globals: HashMap<u64, Option<Arc<GlobalName>>>,
    exact: HashSet<u64>,
    debug_roots: Vec<PathBuf>,
    problems: Vec<String>,
}

/// A global variable with the module it lies in.
#[derive(Clone, Debug)]
pub struct GlobalName {
    pub variable: Variable,
    pub module: String,
    /// Run-time address of the variable's first byte.
    pub start: u64,
}

impl Symbolizer {
    /// `debug_roots` are folders such as `/usr/lib/debug`.
    pub fn new(debug_roots: Vec<PathBuf>) -> Symbolizer {
        Symbolizer {
            mapped: Vec::new(),
            images: Vec::new(),
            by_path: HashMap::new(),
            frames: HashMap::new(),
            globals: HashMap::new(),
            exact: HashSet::new(),
            debug_roots,
            problems: Vec::new(),
        }
    }

    /// A module was loaded.
    pub fn map(&mut self, mut fresh: Mapped) {
        self.exact.extend(fresh.exact.drain(..));
        // A fork tells again what its parent told.
        if self.mapped.contains(&fresh) {
            return;
        }
        let before = self.mapped.len();
        self.mapped
            .retain(|old| old.end <= fresh.start || fresh.end <= old.start);
        if self.mapped.len() != before {
            self.frames
                .retain(|pc, _| !(fresh.start..fresh.end).contains(pc));
            self.globals
                .retain(|at, _| !(fresh.start..fresh.end).contains(at));
        }
        let at = self.mapped.partition_point(|old| old.start < fresh.start);
        self.mapped.insert(at, fresh);
    }

    /// Whether something else than this module is known to lie there.
    pub fn is_taken(&self, start: u64, end: u64, path: &str) -> bool {
        let overlaps = |old: &&Mapped| start < old.end && old.start < end;
        self.mapped
            .iter()
            .filter(overlaps)
            .any(|old| old.path != path)
    }

    /// What went wrong while loading files, once each.
    pub fn problems(&self) -> &[String] {
        &self.problems
    }

    /// The frames of one return address, inlined ones first; never empty.
    pub fn frames(&mut self, pc: u64) -> Arc<[Symbolized]> {
        if let Some(known) = self.frames.get(&pc) {
            return Arc::clone(known);
        }
        let probe = pc.wrapping_sub(1);
        let found: Arc<[Symbolized]> = match self.image_at(probe) {
            Some((mapped, Some(image))) => image.frames(probe.wrapping_sub(mapped.bias)).into(),
            Some((mapped, None)) => Arc::from([bare(
                Some(mapped.path.clone()),
                probe.wrapping_sub(mapped.bias),
            )]),
            None => Arc::from([bare(None, probe)]),
        };
        self.frames.insert(pc, Arc::clone(&found));
        found
    }

    /// A whole stack, innermost first. The innermost entry may be the very address of an interposed function: no hook
    /// returns to the first byte of a function.
    pub fn stack(&mut self, pcs: &[u64]) -> Vec<Symbolized> {
        let mut out = Vec::with_capacity(pcs.len());
        for (index, pc) in pcs.iter().enumerate() {
            let interposed = (index == 0 || self.exact.contains(pc))
                .then(|| self.interposed(*pc))
                .flatten();
            match interposed {
                Some(frame) => out.push(frame),
                None => out.extend(self.frames(*pc).iter().cloned()),
            }
        }
        out
    }

    /// The function that starts at an address. Its code is the runtime's own, so it has a name and no place.
    fn interposed(&mut self, pc: u64) -> Option<Symbolized> {
        let (mapped, image) = self.image_at(pc)?;
        let (function, linkage) = image?.function_starting_at(pc.wrapping_sub(mapped.bias))?;
        Some(Symbolized {
            frame: Frame {
                function,
                ..Frame::default()
            },
            linkage,
        })
    }

    /// The global variable at an address.
    pub fn global(&mut self, address: u64) -> Option<Arc<GlobalName>> {
        if let Some(known) = self.globals.get(&address) {
            return known.clone();
        }
        let found = self.image_at(address).and_then(|(mapped, image)| {
            let variable = image?.global(address.wrapping_sub(mapped.bias))?;
            Some(Arc::new(GlobalName {
                start: variable.start.wrapping_add(mapped.bias),
                module: mapped.path,
                variable,
            }))
        });
        self.globals.insert(address, found.clone());
        found
    }

    /// The local variable at an address, in the function that `pc` (a return address) lies in.
    pub fn local(&mut self, pc: u64, cfa: u64, address: u64) -> Option<Variable> {
        let probe = pc.wrapping_sub(1);
        let (mapped, image) = self.image_at(probe)?;
        image?.local(probe.wrapping_sub(mapped.bias), cfa, address)
    }

    /// The thread-local variable that lies `below` bytes below its thread's thread pointer; its start counts from there,
    /// too.
    pub fn thread_local(&mut self, below: u64) -> Option<(Variable, String)> {
        let mapped = self
            .mapped
            .iter()
            .filter(|module| module.tls.is_some_and(|start| start >= below))
            .min_by_key(|module| module.tls)?
            .clone();
        let offset = mapped.tls? - below;
        let index = self.image(&mapped)?;
        let variable = self.images.get(index)?.thread_local(offset)?;
        Some((variable, mapped.path))
    }

    fn image_at(&mut self, address: u64) -> Option<(Mapped, Option<&Image>)> {
        let after = self
            .mapped
            .partition_point(|module| module.start <= address);
        let mapped = self.mapped.get(after.checked_sub(1)?)?;
        if address >= mapped.end {
            return None;
        }
        let mapped = mapped.clone();
        let image = self.image(&mapped).and_then(|index| self.images.get(index));
        Some((mapped, image))
    }

    fn image(&mut self, mapped: &Mapped) -> Option<usize> {
        if let Some(known) = self.by_path.get(&mapped.path) {
            return *known;
        }
        let loaded = match Image::load(Path::new(&mapped.path), &self.debug_roots) {
            Ok(image) => {
                let on_disk = image.build_id();
                if !mapped.build_id.is_empty() && !on_disk.is_empty() && on_disk != mapped.build_id
                {
                    self.problems.push(format!(
                        "{} was rebuilt after the program had loaded it; line numbers may be wrong",
                        mapped.path
                    ));
                }
                self.images.push(image);
                Some(self.images.len() - 1)
            }
            Err(problem) => {
                // The kernel's own page has a name but no file.
                if mapped.path.starts_with('/') {
                    self.problems
                        .push(format!("{problem}; its functions have no names"));
                }
                None
            }
        };
        self.by_path.insert(mapped.path.clone(), loaded);
        loaded
    }
}

fn bare(module: Option<String>, offset: u64) -> Symbolized {
    Symbolized {
        frame: Frame {
            module,
            offset: Some(Address(offset)),
            ..Frame::default()
        },
        linkage: None,
    }
}

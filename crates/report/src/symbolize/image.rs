//! One executable or library on disk: its symbols, its line table, its variables.
//!
//! Only the sections that are needed are read, each once; addresses here are link-time addresses.

use super::debugfile::{self, Clues};
use super::demangle;
use super::variables::{Debug, Variable};
use addr2line::Context;
use deadheat_model::{Address, Frame};
use gimli::{EndianArcSlice, RunTimeEndian, SectionId};
use object::{Object, ObjectSection, ObjectSymbol, ReadCache, SymbolKind};
use std::cell::OnceCell;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub type Bytes = EndianArcSlice<RunTimeEndian>;
type ObjectFile<'a> = object::File<'a, &'a ReadCache<File>>;

/// A frame with the names that suppressions may be written against.
#[derive(Clone, Debug)]
pub struct Symbolized {
    pub frame: Frame,
    /// The name the linker knows, if it differs from the readable one.
    pub linkage: Option<String>,
}

struct Symbol {
    start: u64,
    size: u64,
    name: String,
}

/// A loaded file.
pub struct Image {
    path: String,
    build_id: Vec<u8>,
    functions: Vec<Symbol>,
    objects: Vec<Symbol>,
    /// Thread-local variables; their addresses are offsets in the module's block.
    thread_locals: Vec<Symbol>,
    dwarf: Option<Arc<gimli::Dwarf<Bytes>>>,
    context: Option<Context<Bytes>>,
    debug: OnceCell<Option<Debug>>,
}

impl Image {
    /// Reads the file's symbols and finds its debug info, here or in a separate file.
    pub fn load(path: &Path, debug_roots: &[PathBuf]) -> Result<Image, String> {
        let name = path.display().to_string();
        let cache = open(path)?;
        let file = parse(path, &cache)?;
        let build_id = build_id(&file);
        let mut symbols = Symbols::default();
        symbols.collect(&file);
        let mut dwarf = load_dwarf(&file);
        if dwarf.is_none() {
            let clues = Clues {
                build_id: build_id.clone(),
                link: file
                    .gnu_debuglink()
                    .ok()
                    .flatten()
                    .map(|(link, crc)| (String::from_utf8_lossy(link).into_owned(), crc)),
            };
            for candidate in debugfile::candidates(path, &clues, debug_roots) {
                let Ok(cache) = open(&candidate) else {
                    continue;
                };
                let Ok(separate) = parse(&candidate, &cache) else {
                    continue;
                };
                if !belongs(&candidate, &separate, &clues) {
                    continue;
                }
                symbols.collect(&separate);
                dwarf = load_dwarf(&separate);
                if dwarf.is_some() {
                    break;
                }
            }
        }
        let Symbols {
            mut functions,
            mut objects,
            mut thread_locals,
        } = symbols;
        for list in [&mut functions, &mut objects, &mut thread_locals] {
            list.sort_by(|a, b| a.start.cmp(&b.start).then(b.size.cmp(&a.size)));
            list.dedup_by_key(|symbol| symbol.start);
        }
        let dwarf = dwarf.map(Arc::new);
        let context = dwarf
            .clone()
            .and_then(|dwarf| Context::from_arc_dwarf(dwarf).ok());
        Ok(Image {
            path: name,
            build_id,
            functions,
            objects,
            thread_locals,
            dwarf,
            context,
            debug: OnceCell::new(),
        })
    }

    /// The build id in hexadecimal, empty if there is none.
    pub fn build_id(&self) -> String {
        self.build_id
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect()
    }

    /// The function at an address, inlined calls first.
    pub fn frames(&self, address: u64) -> Vec<Symbolized> {
        let mut frames = self.dwarf_frames(address);
        if frames.is_empty() {
            frames.push(self.symbol_frame(address));
        }
        frames
    }

    /// The function whose first byte is at an address.
    pub fn function_starting_at(&self, address: u64) -> Option<(String, Option<String>)> {
        let symbol = find(&self.functions, address)?;
        (symbol.start == address).then(|| named(&symbol.name))
    }

    /// The function by its symbol alone.
    fn symbol_frame(&self, address: u64) -> Symbolized {
        let symbol = find(&self.functions, address);
        let (function, linkage) = match symbol {
            Some(symbol) => named(&symbol.name),
            None => (String::new(), None),
        };
        Symbolized {
            frame: Frame {
                function,
                module: Some(self.path.clone()),
                offset: Some(Address(address)),
                ..Frame::default()
            },
            linkage,
        }
    }

    fn dwarf_frames(&self, address: u64) -> Vec<Symbolized> {
        let mut out = Vec::new();
        let Some(context) = &self.context else {
            return out;
        };
        let Ok(mut frames) = context.find_frames(address).skip_all_loads() else {
            return out;
        };
        while let Ok(Some(found)) = frames.next() {
            let mut symbolized = match &found.function {
                Some(function) => {
                    let raw = function.raw_name().unwrap_or_default().into_owned();
                    let (function, linkage) = named(&raw);
                    Symbolized {
                        frame: Frame {
                            function,
                            ..Frame::default()
                        },
                        linkage,
                    }
                }
                None => self.symbol_frame(address),
            };
            let frame = &mut symbolized.frame;
            frame.module = Some(self.path.clone());
            frame.offset = Some(Address(address));
            frame.inlined = true;
            if let Some(location) = found.location {
                frame.file = location.file.map(normalize);
                frame.line = location.line.filter(|line| *line > 0);
                frame.column = location.column.filter(|column| *column > 0);
            }
            out.push(symbolized);
        }
        if let Some(last) = out.last_mut() {
            last.frame.inlined = false;
            // Debug info of a lambda says only `operator()`; the symbol knows where it belongs.
            let symbol = self.symbol_frame(address);
            if symbol
                .frame
                .function
                .ends_with(&format!("::{}", last.frame.function))
            {
                last.frame.function = symbol.frame.function;
                last.linkage = symbol.linkage;
            }
        }
        out
    }

    /// The global variable that covers an address.
    pub fn global(&self, address: u64) -> Option<Variable> {
        if let Some(debug) = self.debug()
            && let Some(variable) = debug.global(address)
        {
            return Some(variable);
        }
        find(&self.objects, address).map(by_symbol)
    }

    /// The thread-local variable that covers an offset in this module's block.
    pub fn thread_local(&self, offset: u64) -> Option<Variable> {
        let symbol = find(&self.thread_locals, offset).map(by_symbol);
        let Some(mut variable) = self.debug().and_then(|debug| debug.thread_local(offset)) else {
            return symbol;
        };
        // gcc defines it outside of its namespace and gives it no linkage name; the symbol has one.
        if let Some(symbol) = symbol
            && let Some(scope) = symbol.object.strip_suffix(&variable.object)
            && scope.ends_with("::")
        {
            variable.path.insert_str(0, scope);
            variable.object = symbol.object;
        }
        Some(variable)
    }

    /// The variable of the function at `pc` that covers `address`, given the function's canonical frame address.
    pub fn local(&self, pc: u64, cfa: u64, address: u64) -> Option<Variable> {
        self.debug()?.local(pc, cfa, address)
    }

    fn debug(&self) -> Option<&Debug> {
        self.debug
            .get_or_init(|| self.dwarf.clone().map(Debug::new))
            .as_ref()
    }
}

fn by_symbol(symbol: &Symbol) -> Variable {
    let (name, _) = named(&symbol.name);
    Variable {
        path: name.clone(),
        object: name,
        start: symbol.start,
        size: symbol.size,
        declared: None,
    }
}

fn named(linkage: &str) -> (String, Option<String>) {
    let short = demangle::short(linkage);
    let differs = short != linkage;
    (short, differs.then(|| linkage.to_owned()))
}

fn find(symbols: &[Symbol], address: u64) -> Option<&Symbol> {
    let after = symbols.partition_point(|symbol| symbol.start <= address);
    let symbol = symbols.get(after.checked_sub(1)?)?;
    // Assembler symbols have no size: they reach to the next one.
    let covers = symbol.size == 0 || address - symbol.start < symbol.size;
    covers.then_some(symbol)
}

fn open(path: &Path) -> Result<ReadCache<File>, String> {
    File::open(path)
        .map(ReadCache::new)
        .map_err(|error| format!("cannot open {}: {error}", path.display()))
}

fn parse<'a>(path: &Path, cache: &'a ReadCache<File>) -> Result<ObjectFile<'a>, String> {
    object::File::parse(cache).map_err(|error| format!("cannot read {}: {error}", path.display()))
}

fn build_id(file: &ObjectFile<'_>) -> Vec<u8> {
    file.build_id().ok().flatten().unwrap_or_default().to_vec()
}

fn belongs(path: &Path, file: &ObjectFile<'_>, clues: &Clues) -> bool {
    let id = build_id(file);
    if !id.is_empty() && !clues.build_id.is_empty() {
        return id == clues.build_id;
    }
    match &clues.link {
        Some((_, crc)) => std::fs::read(path).is_ok_and(|bytes| debugfile::crc32(&bytes) == *crc),
        None => false,
    }
}

/// The names of a file, each sort sorted later.
#[derive(Default)]
struct Symbols {
    functions: Vec<Symbol>,
    objects: Vec<Symbol>,
    thread_locals: Vec<Symbol>,
}

impl Symbols {
    fn collect(&mut self, file: &ObjectFile<'_>) {
        for symbol in file.symbols().chain(file.dynamic_symbols()) {
            let list = match symbol.kind() {
                SymbolKind::Text => &mut self.functions,
                SymbolKind::Data => &mut self.objects,
                SymbolKind::Tls => &mut self.thread_locals,
                _ => continue,
            };
            let nowhere = symbol.address() == 0 && symbol.kind() != SymbolKind::Tls;
            if nowhere || symbol.is_undefined() {
                continue;
            }
            if let Ok(name) = symbol.name()
                && !name.is_empty()
            {
                list.push(Symbol {
                    start: symbol.address(),
                    size: symbol.size(),
                    name: name.to_owned(),
                });
            }
        }
    }
}

fn load_dwarf(file: &ObjectFile<'_>) -> Option<gimli::Dwarf<Bytes>> {
    file.section_by_name(".debug_info")
        .or_else(|| file.section_by_name(".zdebug_info"))
        .filter(|section| section.size() > 0)?;
    let endian = match file.is_little_endian() {
        true => RunTimeEndian::Little,
        false => RunTimeEndian::Big,
    };
    gimli::Dwarf::load(|id: SectionId| -> Result<Bytes, ()> {
        let data = file
            .section_by_name(id.name())
            .and_then(|section| section.uncompressed_data().ok())
            .unwrap_or_default();
        Ok(EndianArcSlice::new(Arc::from(&*data), endian))
    })
    .ok()
}

/// Removes `.` and `..` without asking the disk, because the path may be from another machine.
pub fn normalize(path: &str) -> String {
    let absolute = path.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => match parts.last() {
                Some(&last) if last != ".." => {
                    parts.pop();
                }
                _ if absolute => {}
                _ => parts.push(part),
            },
            _ => parts.push(part),
        }
    }
    let joined = parts.join("/");
    if absolute {
        format!("/{joined}")
    } else {
        joined
    }
}

#[cfg(test)]
mod tests {
    use super::normalize;

    #[test]
    fn paths_lose_their_detours() {
        for (given, expected) in [
            ("/a/./b/../c.c", "/a/c.c"),
            ("./x.c", "x.c"),
            ("../x.c", "../x.c"),
            ("/../x.c", "/x.c"),
            ("a//b.c", "a/b.c"),
        ] {
            assert_eq!(normalize(given), expected);
        }
    }
}

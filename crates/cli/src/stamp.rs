//! The small object that `deadheat cc` links into every executable.
//!
//! It holds `__deadheat_collector_path`, which the runtime reads to find the command when the program is started on its
//! own, and a note (`.note.deadheat`) by which `deadheat run` knows a program that was built with Deadheat even after it
//! was stripped.

use object::elf::{SHF_ALLOC, SHT_NOTE};
use object::write::{Object, StandardSection, Symbol, SymbolSection};
use object::{
    Architecture, BinaryFormat, Endianness, SectionFlags, SectionKind, SymbolFlags, SymbolKind,
    SymbolScope,
};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The section of the note.
pub const NOTE_SECTION: &str = ".note.deadheat";
/// The name inside the note.
pub const NOTE_NAME: &[u8] = b"Deadheat\0";
/// The version of the note's content.
const NOTE_VERSION: u32 = 1;

/// Makes the object file for a collector at `collector`.
#[must_use]
pub fn object(collector: &Path) -> Vec<u8> {
    let mut object = Object::new(BinaryFormat::Elf, Architecture::X86_64, Endianness::Little);
    let rodata = object.section_id(StandardSection::ReadOnlyData);
    let mut path = collector.as_os_str().as_bytes().to_vec();
    path.push(0);
    let at = object.append_section_data(rodata, &path, 1);
    object.add_symbol(Symbol {
        name: b"__deadheat_collector_path".to_vec(),
        value: at,
        size: path.len() as u64,
        kind: SymbolKind::Data,
        scope: SymbolScope::Linkage,
        weak: false,
        section: SymbolSection::Section(rodata),
        flags: SymbolFlags::None,
    });
    let note = object.add_section(Vec::new(), NOTE_SECTION.into(), SectionKind::Note);
    object.section_mut(note).flags = SectionFlags::Elf {
        sh_type: SHT_NOTE,
        sh_flags: SHF_ALLOC,
    };
    object.append_section_data(note, &note_bytes(), 4);
    // Without this the linker would think that the object wants an executable stack.
    object.add_section(Vec::new(), b".note.GNU-stack".to_vec(), SectionKind::Other);
    object
        .write()
        .expect("the object is well-formed by construction")
}

fn note_bytes() -> Vec<u8> {
    let mut bytes = Vec::new();
    bytes.extend((NOTE_NAME.len() as u32).to_le_bytes());
    bytes.extend(4_u32.to_le_bytes());
    bytes.extend(1_u32.to_le_bytes());
    bytes.extend(NOTE_NAME);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes.extend(NOTE_VERSION.to_le_bytes());
    bytes
}

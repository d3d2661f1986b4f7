//! Variables out of DWARF: which one covers an address, and which member of it.

use super::image::{Bytes, normalize};
use super::{demangle, types};
use deadheat_model::Location;
use gimli::{AttributeValue, DebuggingInformationEntry, Operation, UnitOffset};
use std::sync::Arc;

pub type Unit = gimli::Unit<Bytes>;
pub type Die = DebuggingInformationEntry<Bytes>;

/// A variable that covers an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// With the member touched: `table[3].count`.
    pub path: String,
    /// The whole variable: `table`.
    pub object: String,
    /// Link-time address for globals, run-time address for locals.
    pub start: u64,
    pub size: u64,
    pub declared: Option<Location>,
}

struct Global {
    start: u64,
    unit: usize,
    die: UnitOffset,
    /// Namespaces, classes and functions around it, outermost first.
    scope: Vec<UnitOffset>,
}

/// The debug info of one image, indexed for variables.
pub struct Debug {
    pub dwarf: Arc<gimli::Dwarf<Bytes>>,
    /// In the order of `.debug_info`.
    pub units: Vec<Unit>,
    globals: Vec<Global>,
    /// Their starts are offsets in the module's thread-local block.
    thread_locals: Vec<Global>,
}

/// Where a variable that is not in a frame lies.
enum Fixed {
    At(u64),
    ThreadLocal(u64),
}

impl Debug {
    /// Walks all units once.
    pub fn new(dwarf: Arc<gimli::Dwarf<Bytes>>) -> Debug {
        let mut debug = Debug {
            units: Vec::new(),
            globals: Vec::new(),
            thread_locals: Vec::new(),
            dwarf,
        };
        let mut headers = debug.dwarf.units();
        while let Ok(Some(header)) = headers.next() {
            if let Ok(unit) = debug.dwarf.unit(header) {
                let index = debug.units.len();
                // A unit that cannot be read to its end gives what was read until there.
                let _ = collect(
                    &debug.dwarf,
                    &unit,
                    index,
                    &mut debug.globals,
                    &mut debug.thread_locals,
                );
                debug.units.push(unit);
            }
        }
        debug.globals.sort_by_key(|global| global.start);
        debug.thread_locals.sort_by_key(|global| global.start);
        debug
    }

    /// The global that covers a link-time address.
    pub fn global(&self, address: u64) -> Option<Variable> {
        self.covering(&self.globals, address)
    }

    /// The thread-local variable that covers an offset in the module's block.
    pub fn thread_local(&self, offset: u64) -> Option<Variable> {
        self.covering(&self.thread_locals, offset)
    }

    fn covering(&self, list: &[Global], address: u64) -> Option<Variable> {
        let after = list.partition_point(|global| global.start <= address);
        let global = list.get(after.checked_sub(1)?)?;
        let unit = self.units.get(global.unit)?;
        let die = unit.entry(global.die).ok()?;
        let name = self.qualified(unit, &die, &global.scope)?;
        self.describe(unit, &die, name, global.start, address)
    }

    /// With namespaces, classes and functions. A definition may stand outside of its namespace; its linkage name then
    /// still tells where it belongs.
    fn qualified(&self, unit: &Unit, die: &Die, scope: &[UnitOffset]) -> Option<String> {
        if let Some((unit, value)) = self.inherited(unit, die, gimli::DW_AT_linkage_name)
            && let Ok(linkage) = self.dwarf.attr_string(unit, value)
            && let Ok(linkage) = gimli::Reader::to_string_lossy(&linkage)
        {
            let name = demangle::short(&linkage);
            if name != linkage {
                return Some(name);
            }
        }
        let mut names: Vec<String> = scope
            .iter()
            .filter_map(|offset| self.qualified(unit, &unit.entry(*offset).ok()?, &[]))
            .collect();
        // A member function's own name already holds its class and namespaces.
        if let Some(last) = names.iter().rposition(|name| name.contains("::")) {
            names.drain(..last);
        }
        names.push(self.name(unit, die)?);
        Some(names.join("::"))
    }

    /// The variable of the function at `pc` whose place in the frame covers `address`.
    pub fn local(&self, pc: u64, cfa: u64, address: u64) -> Option<Variable> {
        for unit in &self.units {
            let mut ranges = self.dwarf.unit_ranges(unit).ok()?;
            let mut inside = false;
            while let Ok(Some(range)) = ranges.next() {
                inside |= range.begin <= pc && pc < range.end;
            }
            if inside {
                return self.local_in(unit, pc, cfa, address);
            }
        }
        None
    }

    fn local_in(&self, unit: &Unit, pc: u64, cfa: u64, address: u64) -> Option<Variable> {
        let mut cursor = unit.entries();
        let mut base: Option<(isize, u64)> = None;
        while let Ok(Some(die)) = cursor.next_dfs() {
            let depth = die.depth();
            if let Some((function_depth, _)) = base
                && depth <= function_depth
            {
                return None;
            }
            match die.tag() {
                gimli::DW_TAG_subprogram if base.is_none() && self.covers(unit, die, pc) => {
                    base = Some((depth, frame_base(unit, die, cfa)?));
                }
                gimli::DW_TAG_variable | gimli::DW_TAG_formal_parameter => {
                    let Some((_, frame_base)) = base else {
                        continue;
                    };
                    let Some(start) = self.in_frame(unit, die, frame_base, cfa) else {
                        continue;
                    };
                    if start > address {
                        continue;
                    }
                    let Some(name) = self.name(unit, die) else {
                        continue;
                    };
                    let die = die.clone();
                    if let Some(found) = self.describe(unit, &die, name, start, address) {
                        return Some(found);
                    }
                }
                _ => {}
            }
        }
        None
    }

    /// Where in the frame a variable lies, if it is in memory. With optimisation it may be so only in parts of the
    /// function; then its place is the same in all of them.
    fn in_frame(&self, unit: &Unit, die: &Die, frame_base: u64, cfa: u64) -> Option<u64> {
        let value = die.attr_value(gimli::DW_AT_location)?;
        if let Some(expression) = value.exprloc_value() {
            return place_in_frame(unit, expression, frame_base, cfa);
        }
        let mut list = self.dwarf.attr_locations(unit, value).ok()??;
        while let Ok(Some(entry)) = list.next() {
            if let Some(start) = place_in_frame(unit, entry.data, frame_base, cfa) {
                return Some(start);
            }
        }
        None
    }

    fn covers(&self, unit: &Unit, die: &Die, pc: u64) -> bool {
        let Ok(mut ranges) = self.dwarf.die_ranges(unit, die) else {
            return false;
        };
        while let Ok(Some(range)) = ranges.next() {
            if range.begin <= pc && pc < range.end {
                return true;
            }
        }
        false
    }

    fn describe(
        &self,
        unit: &Unit,
        die: &Die,
        object: String,
        start: u64,
        address: u64,
    ) -> Option<Variable> {
        let (type_unit, type_die) = self.type_of(unit, die)?;
        let size = types::size_of(self, type_unit, &type_die).unwrap_or(0);
        let offset = address - start;
        if offset >= size.max(1) {
            return None;
        }
        let member = types::member_path(self, type_unit, type_die, offset);
        Some(Variable {
            path: format!("{object}{member}"),
            object,
            start,
            size,
            declared: self.declared(unit, die),
        })
    }

    /// The name of an entry, or of the declaration it completes.
    pub fn name(&self, unit: &Unit, die: &Die) -> Option<String> {
        let (unit, value) = self.inherited(unit, die, gimli::DW_AT_name)?;
        let text = self.dwarf.attr_string(unit, value).ok()?;
        let text = gimli::Reader::to_string_lossy(&text).ok()?;
        Some(text.into_owned())
    }

    /// The entry's type.
    pub fn type_of(&self, unit: &Unit, die: &Die) -> Option<(&Unit, Die)> {
        let (unit, value) = self.inherited(unit, die, gimli::DW_AT_type)?;
        self.follow(unit, value)
    }

    fn declared(&self, unit: &Unit, die: &Die) -> Option<Location> {
        let (unit, value) = self.inherited(unit, die, gimli::DW_AT_decl_file)?;
        let file = match value {
            AttributeValue::FileIndex(index) => index,
            other => other.udata_value()?,
        };
        let header = unit.line_program.as_ref()?.header();
        let entry = header.file(file)?;
        let text = |value| -> Option<String> {
            let text = self.dwarf.attr_string(unit, value).ok()?;
            Some(gimli::Reader::to_string_lossy(&text).ok()?.into_owned())
        };
        let mut path = text(entry.path_name())?;
        if !path.starts_with('/')
            && let Some(folder) = entry.directory(header).and_then(text)
        {
            path = format!("{folder}/{path}");
        }
        if !path.starts_with('/')
            && let Some(folder) = &unit.comp_dir
            && let Ok(folder) = gimli::Reader::to_string_lossy(folder)
        {
            path = format!("{folder}/{path}");
        }
        let line = self
            .inherited(unit, die, gimli::DW_AT_decl_line)
            .and_then(|(_, value)| value.udata_value())
            .and_then(|line| u32::try_from(line).ok());
        Some(Location {
            file: normalize(&path),
            line,
        })
    }

    /// An attribute of the entry, of the declaration it completes, or of the function it is a copy of.
    fn inherited(
        &self,
        unit: &Unit,
        die: &Die,
        name: gimli::DwAt,
    ) -> Option<(&Unit, AttributeValue<Bytes>)> {
        let mut unit = self.own(unit)?;
        let mut die = die.clone();
        for _ in 0..8 {
            if let Some(value) = die.attr_value(name) {
                return Some((unit, value));
            }
            let link = die
                .attr_value(gimli::DW_AT_specification)
                .or_else(|| die.attr_value(gimli::DW_AT_abstract_origin))?;
            (unit, die) = self.follow(unit, link)?;
        }
        None
    }

    /// The same unit, borrowed from `self`.
    fn own(&self, unit: &Unit) -> Option<&Unit> {
        let at = self
            .units
            .binary_search_by_key(&unit.header.offset().0, |unit| unit.header.offset().0)
            .ok()?;
        self.units.get(at)
    }

    /// The entry a reference points to, perhaps in another unit.
    pub fn follow(&self, unit: &Unit, value: AttributeValue<Bytes>) -> Option<(&Unit, Die)> {
        match value {
            AttributeValue::UnitRef(offset) => {
                let unit = self.own(unit)?;
                Some((unit, unit.entry(offset).ok()?))
            }
            AttributeValue::DebugInfoRef(offset) => {
                let after = self
                    .units
                    .partition_point(|unit| unit.header.offset().0 <= offset.0);
                let unit = self.units.get(after.checked_sub(1)?)?;
                let offset = offset.to_unit_offset(&unit.header)?;
                Some((unit, unit.entry(offset).ok()?))
            }
            _ => None,
        }
    }
}

fn collect(
    dwarf: &gimli::Dwarf<Bytes>,
    unit: &Unit,
    index: usize,
    globals: &mut Vec<Global>,
    thread_locals: &mut Vec<Global>,
) -> Result<(), gimli::Error> {
    let mut entries = unit.entries_raw(None)?;
    let mut scope: Vec<(isize, UnitOffset)> = Vec::new();
    while !entries.is_empty() {
        let depth = entries.next_depth();
        let offset = entries.next_offset();
        let Some(abbreviation) = entries.read_abbreviation()? else {
            continue;
        };
        while scope.last().is_some_and(|(outer, _)| *outer >= depth) {
            scope.pop();
        }
        match abbreviation.tag() {
            gimli::DW_TAG_variable => {
                let mut start = None;
                for specification in abbreviation.attributes() {
                    let attribute = entries.read_attribute(*specification)?;
                    if attribute.name() == gimli::DW_AT_location {
                        start = fixed_place(dwarf, unit, attribute.value());
                    }
                }
                let place = match start {
                    Some(Fixed::At(start)) if start != 0 => Some((&mut *globals, start)),
                    Some(Fixed::ThreadLocal(start)) => Some((&mut *thread_locals, start)),
                    _ => None,
                };
                if let Some((out, start)) = place {
                    out.push(Global {
                        start,
                        unit: index,
                        die: offset,
                        scope: scope.iter().map(|(_, offset)| *offset).collect(),
                    });
                }
                continue;
            }
            gimli::DW_TAG_namespace
            | gimli::DW_TAG_subprogram
            | gimli::DW_TAG_structure_type
            | gimli::DW_TAG_class_type => scope.push((depth, offset)),
            _ => {}
        }
        entries.skip_attributes(abbreviation.attributes())?;
    }
    Ok(())
}

fn operations(unit: &Unit, value: AttributeValue<Bytes>) -> Vec<Operation<Bytes>> {
    value
        .exprloc_value()
        .map_or_else(Vec::new, |expression| steps(unit, expression))
}

fn steps(unit: &Unit, expression: gimli::Expression<Bytes>) -> Vec<Operation<Bytes>> {
    let mut operations = expression.operations(unit.encoding());
    let mut out = Vec::new();
    while let Ok(Some(operation)) = operations.next() {
        out.push(operation);
    }
    out
}

fn fixed_place(
    dwarf: &gimli::Dwarf<Bytes>,
    unit: &Unit,
    value: AttributeValue<Bytes>,
) -> Option<Fixed> {
    match *operations(unit, value).as_slice() {
        [Operation::Address { address }] => Some(Fixed::At(address)),
        [Operation::AddressIndex { index }] => dwarf.address(unit, index).ok().map(Fixed::At),
        [
            Operation::Address { address },
            Operation::PlusConstant { value },
        ] => Some(Fixed::At(address.wrapping_add(value))),
        [Operation::UnsignedConstant { value }, Operation::TLS] => Some(Fixed::ThreadLocal(value)),
        [Operation::ConstantIndex { index }, Operation::TLS] => {
            dwarf.address(unit, index).ok().map(Fixed::ThreadLocal)
        }
        _ => None,
    }
}

/// The frame pointer of x86-64.
const RBP: gimli::Register = gimli::Register(6);

/// The address that an expression gives for a variable of a frame. A value that is itself in a register or computed is
/// in no memory.
fn place_in_frame(
    unit: &Unit,
    expression: gimli::Expression<Bytes>,
    frame_base: u64,
    cfa: u64,
) -> Option<u64> {
    match *steps(unit, expression).as_slice() {
        [Operation::FrameOffset { offset }] => Some(frame_base.wrapping_add_signed(offset)),
        [
            Operation::RegisterOffset {
                register: RBP,
                offset,
                ..
            },
        ] => Some(cfa.checked_sub(16)?.wrapping_add_signed(offset)),
        _ => None,
    }
}

/// The address that `DW_OP_fbreg` counts from. With a frame pointer that is two words below the canonical frame
/// address on x86-64 (saved frame pointer and return address).
fn frame_base(unit: &Unit, die: &Die, cfa: u64) -> Option<u64> {
    match *operations(unit, die.attr_value(gimli::DW_AT_frame_base)?).as_slice() {
        [Operation::CallFrameCFA] => Some(cfa),
        [Operation::Register { register: RBP }] => cfa.checked_sub(16),
        [
            Operation::RegisterOffset {
                register: RBP,
                offset,
                ..
            },
        ] => Some(cfa.checked_sub(16)?.wrapping_add_signed(offset)),
        _ => None,
    }
}

//! From an offset inside a variable to the member that lies there: `.hits`, `[3].lock`.

use super::variables::{Debug, Die, Unit};

/// Deep enough for any real type, small enough for a broken one.
const DEPTH: usize = 32;

/// Size of a type in bytes.
pub fn size_of(debug: &Debug, unit: &Unit, die: &Die) -> Option<u64> {
    sized(debug, unit, die, DEPTH)
}

fn sized(debug: &Debug, unit: &Unit, die: &Die, depth: usize) -> Option<u64> {
    let depth = depth.checked_sub(1)?;
    if let Some(size) = die
        .attr_value(gimli::DW_AT_byte_size)
        .and_then(|value| value.udata_value())
    {
        return Some(size);
    }
    match die.tag() {
        gimli::DW_TAG_array_type => {
            let (element_unit, element) = debug.type_of(unit, die)?;
            let element = sized(debug, element_unit, &element, depth)?;
            let counts = dimensions(unit, die);
            counts
                .iter()
                .try_fold(element, |size, count| size.checked_mul(*count))
        }
        gimli::DW_TAG_pointer_type
        | gimli::DW_TAG_reference_type
        | gimli::DW_TAG_rvalue_reference_type => Some(8),
        _ => {
            let (inner_unit, inner) = debug.type_of(unit, die)?;
            sized(debug, inner_unit, &inner, depth)
        }
    }
}

/// The member at an offset, as it would be written after the variable's name.
pub fn member_path(debug: &Debug, unit: &Unit, die: Die, offset: u64) -> String {
    let mut path = String::new();
    descend(debug, unit, die, offset, &mut path, DEPTH);
    path
}

fn descend(debug: &Debug, unit: &Unit, die: Die, offset: u64, path: &mut String, depth: usize) {
    let Some(depth) = depth.checked_sub(1) else {
        return;
    };
    match die.tag() {
        gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type => {
            let Some((start, name, member)) = member_at(debug, unit, &die, offset) else {
                return;
            };
            if let Some(name) = name {
                // What the library's implementers keep inside is nobody's business: `count`, not `count._M_i`.
                if name.starts_with("_M_") || name.starts_with("__") {
                    return;
                }
                path.push('.');
                path.push_str(&name);
            }
            if let Some((unit, inner)) = debug.type_of(unit, &member) {
                descend(debug, unit, inner, offset - start, path, depth);
            }
        }
        gimli::DW_TAG_array_type => {
            let Some((element_unit, element)) = debug.type_of(unit, &die) else {
                return;
            };
            let Some(size) = size_of(debug, element_unit, &element).filter(|size| *size > 0) else {
                return;
            };
            let mut index = offset / size;
            let counts = dimensions(unit, &die);
            let mut indices = Vec::new();
            for count in counts.iter().skip(1).rev() {
                let count = (*count).max(1);
                indices.push(index % count);
                index /= count;
            }
            indices.push(index);
            for index in indices.iter().rev() {
                path.push_str(&format!("[{index}]"));
            }
            descend(debug, element_unit, element, offset % size, path, depth);
        }
        gimli::DW_TAG_typedef
        | gimli::DW_TAG_const_type
        | gimli::DW_TAG_volatile_type
        | gimli::DW_TAG_restrict_type
        | gimli::DW_TAG_atomic_type => {
            if let Some((unit, inner)) = debug.type_of(unit, &die) {
                descend(debug, unit, inner, offset, path, depth);
            }
        }
        // Which member of a union was meant cannot be told; scalars have none.
        _ => {}
    }
}

/// The last member or base class that starts at or before an offset and reaches it.
fn member_at(
    debug: &Debug,
    unit: &Unit,
    die: &Die,
    offset: u64,
) -> Option<(u64, Option<String>, Die)> {
    let mut best: Option<(u64, Die)> = None;
    for child in children(unit, die) {
        if !matches!(
            child.tag(),
            gimli::DW_TAG_member | gimli::DW_TAG_inheritance
        ) {
            continue;
        }
        let start = child
            .attr_value(gimli::DW_AT_data_member_location)
            .and_then(|value| value.udata_value())
            .or_else(|| {
                let bit = child
                    .attr_value(gimli::DW_AT_data_bit_offset)?
                    .udata_value()?;
                Some(bit / 8)
            })
            // A static member has no place in the object; a union's members all start at 0.
            .or_else(|| (!child.has_attr(gimli::DW_AT_external)).then_some(0));
        if let Some(start) = start
            && start <= offset
            && best.as_ref().is_none_or(|(other, _)| *other <= start)
            && debug
                .type_of(unit, &child)
                .and_then(|(unit, inner)| size_of(debug, unit, &inner))
                .is_none_or(|size| offset - start < size)
        {
            best = Some((start, child));
        }
    }
    let (start, member) = best?;
    let name = match member.tag() {
        gimli::DW_TAG_member => debug.name(unit, &member),
        _ => None,
    };
    Some((start, name, member))
}

fn dimensions(unit: &Unit, die: &Die) -> Vec<u64> {
    children(unit, die)
        .into_iter()
        .filter(|child| child.tag() == gimli::DW_TAG_subrange_type)
        .map(|range| {
            let count = range
                .attr_value(gimli::DW_AT_count)
                .and_then(|value| value.udata_value());
            let upper = range
                .attr_value(gimli::DW_AT_upper_bound)
                .and_then(|value| value.udata_value());
            count.or_else(|| upper?.checked_add(1)).unwrap_or(0)
        })
        .collect()
}

fn children(unit: &Unit, die: &Die) -> Vec<Die> {
    let mut out = Vec::new();
    let Ok(mut tree) = unit.entries_tree(Some(die.offset())) else {
        return out;
    };
    let Ok(root) = tree.root() else { return out };
    let mut nodes = root.children();
    while let Ok(Some(node)) = nodes.next() {
        out.push(node.entry().clone());
    }
    out
}

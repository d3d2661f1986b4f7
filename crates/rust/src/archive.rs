//! Rlibs are archives of the kind that `ar` makes: read by the `object` crate, written here with the index of symbols
//! that linkers look for.

use crate::error::{Error, Result};
use object::read::archive::ArchiveFile;
use object::{Object, ObjectSymbol};

/// One file in an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Its name.
    pub name: Vec<u8>,
    /// Its content.
    pub data: Vec<u8>,
}

const MAGIC: &[u8] = b"!<arch>\n";

/// The members of an archive, in order.
pub fn read(data: &[u8]) -> Result<Vec<Member>> {
    let bad =
        |error: object::Error| Error::new(format!("not an archive that can be read: {error}"));
    let archive = ArchiveFile::parse(data).map_err(bad)?;
    let mut members = Vec::new();
    for member in archive.members() {
        let member = member.map_err(bad)?;
        members.push(Member {
            name: member.name().to_vec(),
            data: member.data(data).map_err(bad)?.to_vec(),
        });
    }
    Ok(members)
}

/// An archive of these members.
#[must_use]
pub fn write(members: &[Member]) -> Vec<u8> {
    let symbols: Vec<(usize, Vec<u8>)> = members
        .iter()
        .enumerate()
        .flat_map(|(at, member)| {
            defined(&member.data)
                .into_iter()
                .map(move |name| (at, name))
        })
        .collect();
    let mut names = Vec::new();
    let labels: Vec<String> = members
        .iter()
        .map(|member| label(&member.name, &mut names))
        .collect();
    let index_size = 4 + symbols
        .iter()
        .map(|(_, name)| 4 + name.len() + 1)
        .sum::<usize>();
    let mut at = MAGIC.len() + part(index_size);
    if !names.is_empty() {
        at += part(names.len());
    }
    let offsets: Vec<usize> = members
        .iter()
        .map(|member| {
            let here = at;
            at += part(member.data.len());
            here
        })
        .collect();
    let mut index = Vec::with_capacity(index_size);
    let number = |value: usize| u32::try_from(value).unwrap_or(u32::MAX).to_be_bytes();
    index.extend(number(symbols.len()));
    symbols
        .iter()
        .for_each(|(member, _)| index.extend(number(offsets[*member])));
    for (_, name) in &symbols {
        index.extend(name);
        index.push(0);
    }
    let mut out = MAGIC.to_vec();
    append(&mut out, "/", &index);
    if !names.is_empty() {
        append(&mut out, "//", &names);
    }
    for (member, label) in members.iter().zip(&labels) {
        append(&mut out, label, &member.data);
    }
    out
}

/// The size of a part with its header and the byte that makes it even.
fn part(size: usize) -> usize {
    60 + size + size % 2
}

fn append(out: &mut Vec<u8>, label: &str, data: &[u8]) {
    out.extend(
        format!(
            "{label:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n",
            0,
            0,
            0,
            644,
            data.len()
        )
        .into_bytes(),
    );
    out.extend(data);
    if data.len() % 2 == 1 {
        out.push(b'\n');
    }
}

/// What stands in a member's header: its name, or where in the list of long names it is.
fn label(name: &[u8], names: &mut Vec<u8>) -> String {
    match std::str::from_utf8(name) {
        Ok(name) if name.len() < 16 && !name.contains('/') => format!("{name}/"),
        _ => {
            let at = names.len();
            names.extend(name);
            names.extend(b"/\n");
            format!("/{at}")
        }
    }
}

/// The symbols that an object defines for others; none for what is no object.
#[must_use]
pub fn defined(data: &[u8]) -> Vec<Vec<u8>> {
    let Ok(file) = object::File::parse(data) else {
        return Vec::new();
    };
    file.symbols()
        .filter(|symbol| symbol.is_definition() && symbol.is_global())
        .filter_map(|symbol| Some(symbol.name_bytes().ok()?.to_vec()))
        .filter(|name| !name.is_empty())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_again() {
        let member = |name: &str, data: &[u8]| Member {
            name: name.as_bytes().to_vec(),
            data: data.to_vec(),
        };
        let members = vec![
            member("lib.rmeta", b"odd"),
            member(
                "a-name-that-is-longer-than-a-header-has-room-for.rcgu.o",
                b"even",
            ),
            member("another-name-of-that-kind.o", b""),
        ];
        let bytes = write(&members);
        assert_eq!(read(&bytes).expect("reads"), members);
        assert!(read(b"nothing of the kind").is_err());
    }
}

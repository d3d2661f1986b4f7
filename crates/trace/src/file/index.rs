//! The index of a file: where each frame is. Its last part is at the end; an entry for the part before it, if there is one, is
//! the first of each.

use super::LONGEST;
use super::frame::Kind;

const ENTRY: usize = 20;
/// As many entries fit a part, beside the one for the part before.
pub(super) const MOST: usize = LONGEST / ENTRY - 1;
pub(super) const TRAIL: [u8; 8] = *b"DHTRAIL.";
/// The offset of the index frame and the trail.
pub(super) const FOOTER: usize = 16;

/// A part of the index.
pub(super) fn payload(entries: &[Entry]) -> Vec<u8> {
    let mut payload = Vec::with_capacity(entries.len() * ENTRY);
    entries.iter().for_each(|entry| entry.write(&mut payload));
    payload
}

/// Where a frame is and what it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub offset: u64,
    pub kind: Kind,
    pub strand: u32,
    pub count: u32,
}

impl Entry {
    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.offset.to_le_bytes());
        out.extend_from_slice(&[self.kind as u8, 0, 0, 0]);
        out.extend_from_slice(&self.strand.to_le_bytes());
        out.extend_from_slice(&self.count.to_le_bytes());
    }

    fn parse(bytes: &[u8]) -> Option<Entry> {
        let word = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
        Some(Entry {
            offset: u64::from(word(0)?) | u64::from(word(4)?) << 32,
            kind: Kind::new(*bytes.get(8)?)?,
            strand: word(12)?,
            count: word(16)?,
        })
    }

    /// All entries of an index; none if one of them is no entry.
    pub fn parse_all(payload: &[u8]) -> Option<Vec<Entry>> {
        payload.chunks(ENTRY).map(Entry::parse).collect()
    }
}

//! The index at the end of a file: where each frame is.

use super::frame::Kind;

pub(super) const ENTRY: usize = 20;
pub(super) const TRAIL: [u8; 8] = *b"DHTRAIL.";
/// The offset of the index frame and the trail.
pub(super) const FOOTER: usize = 16;

/// Where a frame is and what it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub offset: u64,
    pub kind: Kind,
    pub strand: u32,
    pub count: u32,
}

impl Entry {
    pub fn write(&self, out: &mut Vec<u8>) {
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

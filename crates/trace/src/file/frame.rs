//! One frame: header, checksum, compression.

use std::io::{self, Write};

use xxhash_rust::xxh3::Xxh3;

use super::LONGEST;

pub(super) const MARKER: [u8; 4] = *b"FRME";
pub(super) const HEADER: usize = 32;

/// What a frame holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Kind {
    Words = 1,
    Nodes = 2,
    Lines = 3,
    Index = 4,
}

impl Kind {
    pub(super) fn new(byte: u8) -> Option<Kind> {
        match byte {
            1 => Some(Kind::Words),
            2 => Some(Kind::Nodes),
            3 => Some(Kind::Lines),
            4 => Some(Kind::Index),
            _ => None,
        }
    }
}

/// How a payload is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Codec {
    Plain = 0,
    Lz4 = 1,
}

/// What a header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub kind: Kind,
    codec: Codec,
    pub strand: u32,
    pub count: u32,
    raw: u32,
    pub stored: u32,
    checksum: u64,
}

impl Header {
    /// What the first bytes of a frame say; none if they are no header that could be true.
    pub fn parse(bytes: &[u8; HEADER]) -> Option<Header> {
        let u32_at = |at: usize| {
            u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
        };
        let header = Header {
            kind: Kind::new(bytes[4])?,
            codec: match bytes[5] {
                0 => Codec::Plain,
                1 => Codec::Lz4,
                _ => return None,
            },
            strand: u32_at(8),
            count: u32_at(12),
            raw: u32_at(16),
            stored: u32_at(20),
            checksum: u64::from(u32_at(24)) | u64::from(u32_at(28)) << 32,
        };
        let fits =
            header.raw as usize <= LONGEST && header.stored as usize <= LONGEST + LONGEST / 8;
        (bytes[..4] == MARKER && bytes[6..8] == [0, 0] && fits).then_some(header)
    }

    fn bytes_before_checksum(&self) -> [u8; 24] {
        let mut out = [0; 24];
        out[..4].copy_from_slice(&MARKER);
        out[4] = self.kind as u8;
        out[5] = self.codec as u8;
        out[8..12].copy_from_slice(&self.strand.to_le_bytes());
        out[12..16].copy_from_slice(&self.count.to_le_bytes());
        out[16..20].copy_from_slice(&self.raw.to_le_bytes());
        out[20..24].copy_from_slice(&self.stored.to_le_bytes());
        out
    }

    /// The payload, decompressed; none if it is not what was written.
    pub fn unpack(&self, stored: &[u8]) -> Option<Vec<u8>> {
        if stored.len() != self.stored as usize
            || checksum(&self.bytes_before_checksum(), stored) != self.checksum
        {
            return None;
        }
        match self.codec {
            Codec::Plain => (self.raw == self.stored).then(|| stored.to_vec()),
            Codec::Lz4 => {
                let raw = lz4_flex::block::decompress(stored, self.raw as usize).ok()?;
                (raw.len() == self.raw as usize).then_some(raw)
            }
        }
    }
}

fn checksum(header: &[u8], payload: &[u8]) -> u64 {
    let mut hasher = Xxh3::new();
    hasher.update(header);
    hasher.update(payload);
    hasher.digest()
}

/// Writes a frame; how many bytes it took.
pub(super) fn write(
    out: &mut impl Write,
    kind: Kind,
    strand: u32,
    count: u32,
    payload: &[u8],
) -> io::Result<u64> {
    if payload.len() > LONGEST {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "a frame of a trace is too long",
        ));
    }
    let packed = lz4_flex::block::compress(payload);
    let (codec, stored) = if packed.len() < payload.len() {
        (Codec::Lz4, &packed[..])
    } else {
        (Codec::Plain, payload)
    };
    let mut header = Header {
        kind,
        codec,
        strand,
        count,
        raw: payload.len() as u32,
        stored: stored.len() as u32,
        checksum: 0,
    };
    header.checksum = checksum(&header.bytes_before_checksum(), stored);
    out.write_all(&header.bytes_before_checksum())?;
    out.write_all(&header.checksum.to_le_bytes())?;
    out.write_all(stored)?;
    Ok((HEADER + stored.len()) as u64)
}

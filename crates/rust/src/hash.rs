//! Names made of content: a 64-bit number that changes when any byte does.

/// Eats content, eight bytes at a time: the libraries of a toolchain are tens of megabytes, hashed at every start.
#[derive(Debug, Clone, Copy)]
pub struct Hash(u64);

impl Default for Hash {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Hash {
    /// Adds some bytes and where they end.
    #[must_use]
    pub fn with(self, bytes: &[u8]) -> Self {
        let mut state = self.0;
        let mut chunks = bytes.chunks_exact(8);
        for chunk in &mut chunks {
            let mut word = [0; 8];
            word.copy_from_slice(chunk);
            state = mix(state, u64::from_le_bytes(word));
        }
        for byte in chunks.remainder() {
            state = mix(state, u64::from(*byte));
        }
        Self(mix(state, bytes.len() as u64))
    }

    /// The number, as part of a file's name.
    #[must_use]
    pub fn name(self) -> String {
        format!("{:016x}", self.0)
    }
}

fn mix(state: u64, word: u64) -> u64 {
    let mixed = (state ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed ^ (mixed >> 29)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_and_every_border_counts() {
        let of = |parts: &[&[u8]]| {
            parts
                .iter()
                .fold(Hash::default(), |hash, part| hash.with(part))
                .name()
        };
        assert_eq!(
            of(&[b"some text, longer than eight"]),
            of(&[b"some text, longer than eight"])
        );
        assert_ne!(
            of(&[b"some text, longer than eight"]),
            of(&[b"some texu, longer than eight"])
        );
        assert_ne!(of(&[b"ab", b"c"]), of(&[b"a", b"bc"]));
        assert_ne!(of(&[b""]), of(&[]));
    }
}

//! A quick hash for the small keys of engines: a few words each, looked up for every synchronization of an execution.
//!
//! Each word is multiplied to 128 bits whose halves are folded, from a start that is drawn anew for every process: a
//! recording that somebody made on purpose cannot know which of its keys will meet.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::OnceLock;

/// A map from small keys.
pub type QuickMap<K, V> = HashMap<K, V, Quick>;

/// Makes hashers.
#[derive(Clone, Copy, Debug)]
pub struct Quick {
    start: u64,
}

impl Default for Quick {
    fn default() -> Quick {
        static START: OnceLock<u64> = OnceLock::new();
        Quick {
            start: *START.get_or_init(|| RandomState::new().hash_one(0)),
        }
    }
}

impl BuildHasher for Quick {
    type Hasher = QuickHasher;

    #[inline(always)]
    fn build_hasher(&self) -> QuickHasher {
        QuickHasher { state: self.start }
    }
}

/// Hashes words.
#[derive(Clone, Copy, Debug)]
pub struct QuickHasher {
    state: u64,
}

const ODD: u64 = 0x9E37_79B9_7F4A_7C15;

#[inline(always)]
fn fold(a: u64, b: u64) -> u64 {
    let wide = u128::from(a) * u128::from(b);
    (wide as u64) ^ (wide >> 64) as u64
}

impl Hasher for QuickHasher {
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        for part in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..part.len()].copy_from_slice(part);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    #[inline(always)]
    fn write_u8(&mut self, word: u8) {
        self.write_u64(u64::from(word));
    }

    #[inline(always)]
    fn write_u16(&mut self, word: u16) {
        self.write_u64(u64::from(word));
    }

    #[inline(always)]
    fn write_u32(&mut self, word: u32) {
        self.write_u64(u64::from(word));
    }

    #[inline(always)]
    fn write_u64(&mut self, word: u64) {
        self.state = fold(self.state.rotate_left(23) ^ word, ODD);
    }

    #[inline(always)]
    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }

    #[inline(always)]
    fn write_isize(&mut self, word: isize) {
        self.write_u64(word as u64);
    }

    #[inline(always)]
    fn finish(&self) -> u64 {
        // The table looks at the highest bits and at the lowest.
        fold(self.state, ODD)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_in_a_row_fall_into_different_places() {
        let quick = Quick { start: 7 };
        let places: std::collections::HashSet<u64> = (0..4096u64)
            .map(|n| quick.hash_one((3u8, 0x7f00_0000_0000 + n * 64)) & 0xffff)
            .collect();
        // 4096 balls into 65536 places: about 3970 different ones by chance.
        assert!(places.len() > 3800, "{}", places.len());
    }

    #[test]
    fn a_map_finds_what_was_put() {
        let mut map = QuickMap::default();
        for n in 0..10_000u64 {
            map.insert((n, n as u32 / 3), n);
        }
        assert!((0..10_000u64).all(|n| map.get(&(n, n as u32 / 3)) == Some(&n)));
        assert_eq!(map.get(&(1, 1)), None);
    }
}

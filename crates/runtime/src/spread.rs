//! How keys of hash maps are spread.

/// Keys are spread well enough by one multiplication.
pub struct Spread;

pub struct Hash(u64);

impl core::hash::BuildHasher for Spread {
    type Hasher = Hash;
    fn build_hasher(&self) -> Hash {
        Hash(0)
    }
}

impl core::hash::Hasher for Hash {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(byte as u64);
        }
    }
    fn write_u64(&mut self, n: u64) {
        let h = (self.0 ^ n).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.0 = h ^ (h >> 32);
    }
}

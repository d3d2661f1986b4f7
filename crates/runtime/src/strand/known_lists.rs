//! The accesses that a step is known to have in common lists ([`crate::cell`]): such a list never changes, so every cell that names
//! it has them.
//!
//! Plain reads of all bytes are noted in `Strand::read_lists` instead, which the hooks ask first.

const SIZE: usize = 256;

/// Lists, and with each an access: the lowest word of its step, with its bytes and kind.
#[repr(C)]
pub struct KnownLists {
    known: [[u64; 2]; SIZE],
}

/// Which bits of a list's word and of the access tell their spot, and of how many bytes it is.
pub const WORD_SHIFT: u32 = super::READ_LISTS_SHIFT;
pub const MASK: usize = SIZE - 1;
pub const SPOT_BITS: u32 = size_of::<[u64; 2]>().trailing_zeros();

impl KnownLists {
    pub const fn new() -> KnownLists {
        KnownLists {
            known: [[0; 2]; SIZE],
        }
    }

    #[inline(always)]
    fn spot(word: u64, need: u64) -> usize {
        ((word >> WORD_SHIFT) ^ need) as usize & MASK
    }

    /// The list that `word` names has such an access of this step.
    #[inline(always)]
    pub fn note(&mut self, word: u64, step_base: u64, need: u64) {
        self.known[Self::spot(word, need)] = [word, step_base | need];
    }

    #[inline(always)]
    pub fn has(&self, word: u64, step_base: u64, need: u64) -> bool {
        self.known[Self::spot(word, need)] == [word, step_base | need]
    }
}

impl Default for KnownLists {
    fn default() -> Self {
        KnownLists::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_noted_of_the_step_is_known() {
        let mut lists = KnownLists::new();
        let (word, step) = (0x1234 << WORD_SHIFT | 0x800, 77 << 12);
        assert!(!lists.has(word, step, 0x101));
        lists.note(word, step, 0x101);
        assert!(lists.has(word, step, 0x101));
        assert!(!lists.has(word, step, 0x301), "another kind");
        assert!(!lists.has(word, step, 0x102), "other bytes");
        assert!(!lists.has(word, step + (1 << 12), 0x101), "another step");
        let same_spot = word + ((SIZE as u64) << WORD_SHIFT);
        assert!(!lists.has(same_spot, step, 0x101), "another list");
    }
}

//! Accesses that the present step has in a cell's own list, perhaps.
//!
//! Somebody who has not been at such a cell would look through its list in vain before he changes it. What is not said here may be so all
//! the same: then the access is recorded again, or found to be there by who has locked the cell.

use super::Cell;

const SIZE: usize = 64;

/// What a strand did lately.
pub struct Lately {
    keys: [u64; SIZE],
}

impl Lately {
    pub const fn new() -> Self {
        Lately { keys: [0; SIZE] }
    }

    /// The step is told from others by its lowest word, and the access by its bytes and kind.
    #[inline(always)]
    fn key(cell: *const Cell, step_base: u64, need: u64) -> (usize, u64) {
        let access = cell as u64 / size_of::<Cell>() as u64 + need;
        (access as usize % SIZE, access ^ step_base)
    }

    #[inline(always)]
    pub fn note(&mut self, cell: *const Cell, step_base: u64, need: u64) {
        let (at, key) = Self::key(cell, step_base, need);
        self.keys[at] = key;
    }

    #[inline(always)]
    pub fn has(&self, cell: *const Cell, step_base: u64, need: u64) -> bool {
        let (at, key) = Self::key(cell, step_base, need);
        self.keys[at] == key
    }
}

impl Default for Lately {
    fn default() -> Self {
        Lately::new()
    }
}

//! Memory whose races the program itself has declared harmless.

use core::sync::atomic::{AtomicBool, Ordering};

use std_alloc::vec::Vec;

use crate::sync::Locked;

/// Ranges in which no race is reported.
pub struct Exempt {
    any: AtomicBool,
    ranges: Locked<Vec<(usize, usize)>>,
}

impl Exempt {
    pub const fn new() -> Self {
        Exempt {
            any: AtomicBool::new(false),
            ranges: Locked::new(Vec::new()),
        }
    }

    pub fn add(&self, start: usize, size: usize) {
        let range = (start, start.saturating_add(size.max(1)));
        let mut ranges = self.ranges.lock();
        if !ranges.contains(&range) {
            ranges.push(range);
        }
        self.any.store(true, Ordering::Release);
    }

    /// Does `[start, start + size)` touch such a range?
    pub fn touches(&self, start: usize, size: usize) -> bool {
        self.any.load(Ordering::Acquire)
            && self
                .ranges
                .lock()
                .iter()
                .any(|&(low, high)| start < high && low < start.saturating_add(size))
    }

    /// # Safety
    /// No other thread may exist.
    pub unsafe fn after_fork(&self) {
        // SAFETY: by the contract.
        unsafe { self.ranges.force_unlock() };
    }
}

impl Default for Exempt {
    fn default() -> Self {
        Exempt::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_overlapping_ranges_are_exempt() {
        let exempt = Exempt::new();
        assert!(!exempt.touches(100, 8));
        exempt.add(104, 4);
        assert!(exempt.touches(100, 8) && exempt.touches(107, 1));
        assert!(!exempt.touches(100, 4) && !exempt.touches(108, 4));
    }
}

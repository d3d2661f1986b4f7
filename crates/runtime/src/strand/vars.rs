//! The synchronization objects that a strand used lately: a cache, as large as the program's many objects make worth it.
//!
//! Who is not in it is looked up by his address, and his use counts as the first one of this strand, which is an access to his
//! memory. A program with thousands of locks would do so at nearly every one of them if the cache were small for good.

use std_alloc::vec::Vec;

use crate::syncvar::SyncVar;

/// Sizes of the smallest and the largest table.
const FEWEST: usize = 1 << 8;
const MOST: usize = 1 << 13;

/// What one strand used lately.
pub(super) struct Vars {
    /// As many as a power of two, or none.
    table: Vec<Option<&'static SyncVar>>,
    /// How many made room for others since it has this size.
    lost: usize,
}

impl Vars {
    pub(super) const fn new() -> Vars {
        Vars {
            table: Vec::new(),
            lost: 0,
        }
    }

    /// Two words in a cell are often used in turns.
    #[inline(always)]
    fn index(&self, addr: usize) -> usize {
        (addr >> 2 ^ addr >> 10) & self.table.len().wrapping_sub(1)
    }

    /// The object at `addr`. One that was removed has another address.
    #[inline(always)]
    pub(super) fn find(&self, addr: usize) -> Option<&'static SyncVar> {
        let var = (*self.table.get(self.index(addr))?)?;
        (var.addr() == addr).then_some(var)
    }

    /// The object at `addr` is not here, but is used now.
    pub(super) fn note(&mut self, addr: usize, var: &'static SyncVar) {
        if self.table.is_empty() {
            self.table.resize(FEWEST, None);
        } else if self.lost > self.table.len() && self.table.len() < MOST {
            self.grow();
        }
        let at = self.index(addr);
        self.lost += usize::from(self.table[at].is_some());
        self.table[at] = Some(var);
    }

    #[cold]
    fn grow(&mut self) {
        let old = core::mem::take(&mut self.table);
        self.table.resize(old.len() * 2, None);
        self.lost = 0;
        for var in old.into_iter().flatten() {
            let at = self.index(var.addr());
            self.table[at] = Some(var);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std_alloc::boxed::Box;

    #[test]
    fn objects_are_found_as_they_were_noted_or_not_at_all() {
        const MANY: usize = 3000;
        // Mutexes in a row.
        let objects: Vec<&'static SyncVar> = (1..=MANY)
            .map(|n| &*Box::leak(Box::new(SyncVar::new(n * 40, n as u32))))
            .collect();
        let mut vars = Vars::new();
        assert!(vars.find(40).is_none());
        for _ in 0..8 {
            for &var in &objects {
                match vars.find(var.addr()) {
                    Some(found) => assert!(core::ptr::eq(found, var)),
                    None => vars.note(var.addr(), var),
                }
                assert!(vars.find(var.addr()).is_some());
            }
        }
        let known = |var: &&&SyncVar| vars.find(var.addr()).is_some();
        let known = objects.iter().filter(known).count();
        assert!(
            known > MANY / 2,
            "the table did not grow: {known} are known"
        );
        assert!(vars.find(8).is_none());
    }
}

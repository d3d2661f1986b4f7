//! Lists of entries for the few cells of [`crate::fast`] that have more than two.

use crate::found::Info;

/// Entries that do not fit their cells.
#[derive(Clone, Debug, Default)]
pub struct Lists {
    pub lists: Vec<Vec<(u64, Info)>>,
    free: Vec<u32>,
}

impl Lists {
    /// A list with two entries.
    pub fn new_list(&mut self, entries: [(u64, Info); 2]) -> u32 {
        let index = self.free.pop().unwrap_or_else(|| {
            self.lists.push(Vec::new());
            (self.lists.len() - 1) as u32
        });
        // A list that was given up has kept its memory.
        self.lists[index as usize].extend(entries);
        index
    }

    /// The list is needed no more.
    pub fn give_up(&mut self, index: u32) {
        self.lists[index as usize].clear();
        self.free.push(index);
    }
}

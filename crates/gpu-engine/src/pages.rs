//! Which memory of the program has a page on the GPU, and which cells are the CPU's.

use std::collections::HashMap;

use crate::layout::{NONE, PAGE_CELLS, PAGE_SHIFT};

/// No place on the GPU: the CPU has the whole page.
pub const CPU: u32 = u32::MAX;

/// One bit for each cell of a page.
pub type Cells = [u64; PAGE_CELLS / 64];

/// A page of the program's memory.
#[derive(Debug)]
pub struct Page {
    pub number: u64,
    /// Its place on the GPU, or [`CPU`].
    pub place: u32,
    /// Cells that were ever touched.
    pub touched: Cells,
    /// The last batch that touched it.
    pub batch: u64,
    /// The last piece of each cell in that batch; empty if the CPU has the page.
    pub last: Vec<u32>,
}

/// Pages whose index is remembered; a power of two.
const NEAR: usize = 1 << 12;

/// All pages.
#[derive(Debug)]
pub struct Pages {
    indices: HashMap<u64, u32>,
    pages: Vec<Page>,
    // invariant: a page that is there and its index, or (u64::MAX, _)
    near: Vec<(u64, u32)>,
    /// By place: the cells that are the CPU's.
    pub owned: Vec<Cells>,
    /// By place: the first cell of the page.
    pub first_cell: Vec<u64>,
    free: Vec<u32>,
    most: u32,
    /// Places to be cleared before they are used in the batch that is being packed.
    pub clear: Vec<u32>,
}

impl Pages {
    /// At most so many have a place on the GPU.
    pub fn new(most: u32) -> Pages {
        Pages {
            indices: HashMap::new(),
            pages: Vec::new(),
            near: vec![(u64::MAX, 0); NEAR],
            owned: Vec::new(),
            first_cell: Vec::new(),
            free: Vec::new(),
            most,
            clear: Vec::new(),
        }
    }

    /// Places that were ever used.
    pub fn places(&self) -> u32 {
        self.owned.len() as u32
    }

    /// Pages that there are.
    pub fn count(&self) -> usize {
        self.pages.len()
    }

    /// Nothing new comes to the GPU.
    pub fn close(&mut self) {
        self.most = 0;
    }

    pub fn get(&mut self, index: u32) -> &mut Page {
        &mut self.pages[index as usize]
    }

    /// The page with this number, if it is there.
    pub fn find(&self, number: u64) -> Option<u32> {
        self.indices.get(&number).copied()
    }

    /// The numbers of all pages from `first` to `last` that are there.
    pub fn within(&self, first: u64, last: u64) -> Vec<u64> {
        if last - first < self.pages.len() as u64 {
            (first..=last)
                .filter(|number| self.indices.contains_key(number))
                .collect()
        } else {
            let mut numbers: Vec<u64> = self
                .pages
                .iter()
                .map(|page| page.number)
                .filter(|number| (first..=last).contains(number))
                .collect();
            numbers.sort_unstable();
            numbers
        }
    }

    /// The page with this number, new if it was not there.
    #[inline]
    pub fn index(&mut self, number: u64) -> u32 {
        let near = self.near[number as usize % NEAR];
        if near.0 == number {
            return near.1;
        }
        let index = match self.find(number) {
            Some(index) => index,
            None => self.add(number),
        };
        self.near[number as usize % NEAR] = (number, index);
        index
    }

    #[cold]
    fn add(&mut self, number: u64) -> u32 {
        let free = match self.most {
            0 => None,
            _ => self.free.pop(),
        };
        let place = match free {
            Some(place) => {
                self.clear.push(place);
                place
            }
            None if self.places() < self.most => {
                self.owned.push(Cells::default());
                self.first_cell.push(0);
                self.places() - 1
            }
            None => CPU,
        };
        if place != CPU {
            self.owned[place as usize] = Cells::default();
            self.first_cell[place as usize] = number << (PAGE_SHIFT - 3);
        }
        let index = self.pages.len() as u32;
        self.pages.push(Page {
            number,
            place,
            touched: Cells::default(),
            batch: 0,
            last: match place {
                CPU => Vec::new(),
                _ => vec![NONE; PAGE_CELLS],
            },
        });
        self.indices.insert(number, index);
        index
    }

    /// The page with this number; if it was not there, the CPU has it from now on.
    pub fn index_on_cpu(&mut self, number: u64) -> u32 {
        let most = std::mem::replace(&mut self.most, 0);
        let index = self.index(number);
        self.most = most;
        index
    }

    /// The page has no past any more. Its place may still be looked at until [`Self::free`] is called for it.
    pub fn remove(&mut self, number: u64) -> Option<u32> {
        let index = self.indices.remove(&number)?;
        self.near[number as usize % NEAR] = (u64::MAX, 0);
        let page = self.pages.swap_remove(index as usize);
        if let Some(moved) = self.pages.get(index as usize) {
            self.indices.insert(moved.number, index);
            self.near[moved.number as usize % NEAR] = (u64::MAX, 0);
        }
        (page.place != CPU).then_some(page.place)
    }

    /// The numbers of all pages.
    pub fn numbers(&self) -> Vec<u64> {
        self.pages.iter().map(|page| page.number).collect()
    }

    /// Nobody looks at this place any more.
    pub fn free(&mut self, place: u32) {
        self.free.push(place);
    }

    /// Whether the CPU has the cell.
    #[inline]
    pub fn is_owned(&self, cell: u32) -> bool {
        cell == CPU || {
            let (place, at) = (cell as usize / PAGE_CELLS, cell as usize % PAGE_CELLS);
            has(&self.owned[place], at)
        }
    }

    /// The CPU takes the cell.
    pub fn own(&mut self, cell: u32) {
        let (place, at) = (cell as usize / PAGE_CELLS, cell as usize % PAGE_CELLS);
        set(&mut self.owned[place], at);
    }

    /// The cell's number in the program's memory.
    pub fn number_of(&self, cell: u32) -> u64 {
        let (place, at) = (cell as usize / PAGE_CELLS, cell as usize % PAGE_CELLS);
        self.first_cell[place] + at as u64
    }
}

/// Whether the bit of a cell is set.
#[inline]
pub fn has(cells: &Cells, at: usize) -> bool {
    cells[at / 64] >> (at % 64) & 1 == 1
}

/// Sets the bit of a cell.
#[inline]
pub fn set(cells: &mut Cells, at: usize) {
    cells[at / 64] |= 1 << (at % 64);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_used_again_only_when_they_are_free() {
        let mut pages = Pages::new(2);
        let first = pages.index(10);
        assert_eq!(pages.get(first).place, 0);
        pages.own(5);
        assert!(pages.is_owned(5) && !pages.is_owned(6));
        assert_eq!(pages.number_of(5), (10 << 9) + 5);
        let second = pages.index(11);
        assert_eq!(pages.get(second).place, 1);
        let third = pages.index(12);
        assert_eq!(pages.get(third).place, CPU);
        assert_eq!(pages.remove(10), Some(0));
        assert_eq!(pages.find(10), None);
        let again = pages.index(10);
        assert_eq!(pages.get(again).place, CPU);
        pages.remove(10);
        pages.free(0);
        let again = pages.index(10);
        assert_eq!(pages.get(again).place, 0);
        assert_eq!(pages.clear, [0]);
        assert!(!pages.is_owned(5));
        assert_eq!(pages.within(0, u64::MAX), [10, 11, 12]);
        assert_eq!(pages.within(11, 12), [11, 12]);
        let eleven = pages.index(11);
        assert_eq!(pages.get(eleven).number, 11);
    }
}

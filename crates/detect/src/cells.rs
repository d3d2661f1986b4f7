//! Memory in cells of 8 bytes: which cells a range touches, the runs of bytes in a mask, and pages of cells.

use std::collections::HashMap;

use deadheat_trace::{Addr, EventId, Range};

use crate::detector::Race;

/// Bytes of a cell.
pub const CELL: u64 = 8;

/// The cells that a range touches, each with the mask of its touched bytes.
pub fn cells_of(range: Range) -> impl Iterator<Item = (u64, u8)> {
    let (start, end) = range.bounds();
    (start / CELL..=(end - 1) / CELL).map(move |number| (number, mask_of(number, range)))
}

/// The bytes of a cell that are in a range.
pub fn mask_of(number: u64, range: Range) -> u8 {
    let (start, end) = range.bounds();
    let low = start.saturating_sub(number * CELL).min(CELL) as u32;
    let high = (end - number * CELL).min(CELL) as u32;
    let below = |bytes: u32| (1u16 << bytes) - 1;
    (below(high) & !below(low)) as u8
}

/// The runs of set bits as ranges of bytes.
pub fn runs(base: u64, bytes: u8) -> impl Iterator<Item = Range> {
    let set = move |bit: u64| bit < CELL && bytes >> bit & 1 == 1;
    (0..CELL)
        .filter(move |&bit| set(bit) && (bit == 0 || !set(bit - 1)))
        .filter_map(move |first| {
            let length = (first..).take_while(|&bit| set(bit)).count() as u64;
            Range::new(Addr(base + first), length)
        })
}

/// What a detector found in one cell: an older access, and the bytes on which it races with the present one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clash<I> {
    pub old: I,
    /// The number of the cell.
    pub cell: u64,
    pub bytes: u8,
}

/// The races of one access out of its clashes: pieces that only the borders of cells have cut are joined.
pub fn races(new: EventId, clashes: &mut Vec<Clash<EventId>>, found: &mut Vec<Race>) {
    let from = found.len();
    let mut pieces: Vec<Race> = clashes
        .drain(..)
        .flat_map(|clash| {
            runs(clash.cell * CELL, clash.bytes).map(move |range| Race {
                old: clash.old,
                new,
                range,
            })
        })
        .collect();
    pieces.sort();
    for piece in pieces {
        match found[from..].last_mut() {
            Some(last)
                if (last.old, last.new) == (piece.old, piece.new)
                    && last.range.bounds().1 == piece.range.bounds().0 =>
            {
                if let Some(joined) =
                    Range::new(last.range.addr(), last.range.size() + piece.range.size())
                {
                    last.range = joined;
                }
            }
            _ => found.push(piece),
        }
    }
}

/// Cells in a page.
const PAGE: u64 = 512;
/// Pages whose place is remembered.
const NEAR: usize = 256;

/// Something for every cell of memory, in pages that appear when they are touched. A page that was used lately is found
/// without hashing.
#[derive(Clone, Debug)]
pub struct Pages<T> {
    places: HashMap<u64, usize>,
    pages: Vec<(u64, Box<[T]>)>,
    // invariant: (page, place) of a page that is there, or (u64::MAX, _)
    near: Vec<(u64, usize)>,
}

impl<T: Default> Default for Pages<T> {
    fn default() -> Self {
        Pages {
            places: HashMap::new(),
            pages: Vec::new(),
            near: vec![(u64::MAX, 0); NEAR],
        }
    }
}

impl<T: Default> Pages<T> {
    /// The cell with this number.
    #[inline]
    pub fn cell(&mut self, number: u64) -> &mut T {
        let page = number / PAGE;
        let near = self.near[page as usize % NEAR];
        let place = if near.0 == page {
            near.1
        } else {
            self.place(page)
        };
        &mut self.pages[place].1[(number % PAGE) as usize]
    }

    #[cold]
    fn place(&mut self, page: u64) -> usize {
        let pages = &mut self.pages;
        let place = *self.places.entry(page).or_insert_with(|| {
            pages.push((page, (0..PAGE).map(|_| T::default()).collect()));
            pages.len() - 1
        });
        self.near[page as usize % NEAR] = (page, place);
        place
    }

    /// The cells of a range that were ever touched, with their numbers.
    pub fn existing(&mut self, range: Range, mut each: impl FnMut(u64, &mut T)) {
        let (start, end) = range.bounds();
        let (first, last) = (start / CELL, (end - 1) / CELL);
        let (first_page, last_page) = (first / PAGE, last / PAGE);
        let mut visit = |page: u64, cells: &mut [T]| {
            let from = first.max(page * PAGE);
            let to = last.min(page * PAGE + PAGE - 1);
            for number in from..=to {
                each(number, &mut cells[(number % PAGE) as usize]);
            }
        };
        if last_page - first_page < self.pages.len() as u64 {
            for page in first_page..=last_page {
                if let Some(&place) = self.places.get(&page) {
                    visit(page, &mut self.pages[place].1);
                }
            }
        } else {
            let within = |page: &u64| (first_page..=last_page).contains(page);
            for (page, cells) in self.pages.iter_mut().filter(|(page, _)| within(page)) {
                visit(*page, cells);
            }
        }
    }

    /// All cells of all pages. A page for which `each` never says that a cell must stay is given up.
    pub fn sweep(&mut self, mut each: impl FnMut(&mut T) -> bool) {
        self.pages.retain_mut(|(_, cells)| {
            let mut stays = false;
            for cell in cells.iter_mut() {
                stays |= each(cell);
            }
            stays
        });
        self.near.fill((u64::MAX, 0));
        self.places = (0..)
            .zip(&self.pages)
            .map(|(place, (page, _))| (*page, place))
            .collect();
    }

    /// All cells of all pages.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.pages.iter().flat_map(|(_, cells)| cells.iter())
    }

    /// How many pages there are.
    pub fn pages(&self) -> usize {
        self.pages.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_and_runs_are_inverse() {
        for start in 0..20 {
            for size in 1..20 {
                let range = Range::new(Addr(start), size).expect("a range of the test");
                let bytes: Vec<u64> = cells_of(range)
                    .flat_map(|(number, mask)| runs(number * CELL, mask))
                    .flat_map(|run| run.bounds().0..run.bounds().1)
                    .collect();
                assert_eq!(bytes, (start..start + size).collect::<Vec<_>>());
            }
        }
        for bytes in 0..=u8::MAX {
            let again = runs(0, bytes)
                .flat_map(|run| run.bounds().0..run.bounds().1)
                .fold(0, |m, b| m | 1 << b);
            assert_eq!(bytes, again);
        }
    }

    #[test]
    fn pages_keep_what_was_put_and_give_up_what_is_swept() {
        let mut pages: Pages<u64> = Pages::default();
        // Pages that share a place in the table of near ones, too.
        let numbers: Vec<u64> = (0..2000)
            .map(|n| n * 131 % 700 + n % 3 * PAGE * 256)
            .collect();
        for &number in &numbers {
            *pages.cell(number) = number + 1;
        }
        assert!(
            numbers
                .iter()
                .all(|&number| *pages.cell(number) == number + 1)
        );
        let all = Range::new(Addr(0), u64::MAX).expect("all of memory");
        let mut seen = 0;
        pages.existing(all, |number, cell| {
            assert!(*cell == 0 || *cell == number + 1);
            seen += u64::from(*cell != 0);
        });
        let small = Range::new(Addr(8), 16).expect("two cells");
        pages.existing(small, |number, _| assert!((1..=2).contains(&number)));
        let distinct: std::collections::BTreeSet<_> = numbers.iter().collect();
        assert_eq!(seen, distinct.len() as u64);

        let before = pages.pages();
        pages.sweep(|cell| {
            if *cell > 600 {
                *cell = 0;
            }
            *cell != 0
        });
        assert!(pages.pages() < before);
        assert!((0..600).all(|n| [0, n + 1].contains(pages.cell(n))));
        assert_eq!(*pages.cell(PAGE * 256), 0);
    }
}

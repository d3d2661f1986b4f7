//! The detector's memory: pages of cells, found without hashing unless a page is new or none near it was used lately.

use deadheat_order::QuickMap;

use super::ahead::fetch;
use super::cell::{self, Cell, Touch};
use super::lists::Lists;
use super::sites::Site;

/// With 512 cells 13 recordings were checked in 1.01 of the time, a radix sort in 0.82 and a dense matrix product in 1.19, since loops
/// fill whole pages less often.
pub const CELLS: usize = 128;
pub const PAGE_SHIFT: u32 = 10;
pub const PAGE: u64 = 1 << PAGE_SHIFT;
/// The list of a cell is fetched while so many before it are looked at.
const AHEAD: usize = 8;
/// Pages whose place is remembered; a power of two.
const NEAR: usize = 1 << 14;

/// The cells of a page.
#[derive(Clone, Debug)]
pub struct Cells([Cell; CELLS]);

impl Cells {
    fn all(like: &Cell) -> Box<Cells> {
        Box::new(Cells([*like; CELLS]))
    }

    /// The cell will be needed, and if it has a list, that.
    #[inline(always)]
    pub fn fetch_list(&self, number: u64, lists: &Lists) {
        if let Some(index) = self.0[number as usize % CELLS].list() {
            lists.fetch(index);
        }
    }

    /// The cell with this number will be needed, or the one that has its place in this page.
    #[inline(always)]
    pub fn fetch_near(&self, number: u64) {
        fetch(&self.0[number as usize % CELLS]);
    }

    /// The cells from one number to another, both of this page.
    #[inline(always)]
    pub fn cells(&mut self, first: u64, last: u64) -> &mut [Cell] {
        &mut self.0[first as usize % CELLS..=last as usize % CELLS]
    }

    /// A cell, by its number.
    #[inline(always)]
    pub fn cell(&mut self, number: u64) -> &mut Cell {
        &mut self.0[number as usize % CELLS]
    }
}

/// What is seldom needed of a page.
#[derive(Clone, Debug)]
struct Page {
    number: u64,
    /// What all cells are, while there are none.
    // invariant: never a list
    all: Cell,
}

/// Where a page is remembered: neighbours beside each other, and the same part of different heaps (which begin 64 MiB apart)
/// apart.
#[inline(always)]
fn near_place(page: u64) -> usize {
    (page.wrapping_add((page >> 14).wrapping_mul(0x9E5))) as usize % NEAR
}

/// The place of a page, until the next [`Pages::forget`].
pub type Place = u32;

/// All pages.
#[derive(Debug)]
pub struct Pages {
    places: QuickMap<u64, Place>,
    pages: Vec<Page>,
    // invariant: as long as `pages`
    cells: Vec<Option<Box<Cells>>>,
    // invariant: a page that is there and its place, or (u64::MAX, _)
    near: Box<[(u64, Place); NEAR]>,
}

impl Default for Pages {
    fn default() -> Self {
        Pages {
            places: QuickMap::default(),
            pages: Vec::new(),
            cells: Vec::new(),
            near: Box::new([(u64::MAX, 0); NEAR]),
        }
    }
}

impl Pages {
    pub fn len(&self) -> usize {
        self.pages.len()
    }

    /// The place of the page with this number, new if it is not there.
    #[inline(always)]
    pub fn place(&mut self, page: u64) -> Place {
        let (number, place) = self.near[near_place(page)];
        if number == page {
            place
        } else {
            self.find(page)
        }
    }

    /// The cell with this number will be needed, if its page has cells.
    #[inline(always)]
    pub fn fetch(&self, place: Place, number: u64) {
        if let Some(Some(cells)) = self.cells.get(place as usize) {
            fetch(&cells.0[number as usize % CELLS]);
        }
    }

    /// The cell of this address will be needed, if its page was used lately.
    #[inline(always)]
    pub fn fetch_at(&self, addr: u64) {
        let (number, place) = self.near[near_place(addr >> PAGE_SHIFT)];
        if number == addr >> PAGE_SHIFT {
            self.fetch(place, addr >> 3);
        }
    }

    /// The list of the cell with this number will be needed, if it has one.
    #[inline(always)]
    pub fn fetch_list(&self, place: Place, number: u64, lists: &Lists) {
        if let Some(Some(cells)) = self.cells.get(place as usize) {
            cells.fetch_list(number, lists);
        }
    }

    #[cold]
    #[inline(never)]
    fn find(&mut self, page: u64) -> Place {
        let (pages, cells) = (&mut self.pages, &mut self.cells);
        let place = *self.places.entry(page).or_insert_with(|| {
            pages.push(Page {
                number: page,
                all: Cell::default(),
            });
            cells.push(None);
            (pages.len() - 1) as Place
        });
        self.near[near_place(page)] = (page, place);
        place
    }

    /// The cells of a page, made if it was one cell.
    #[inline(always)]
    pub fn cells(&mut self, place: Place) -> &mut Cells {
        let all = &self.pages;
        self.cells[place as usize].get_or_insert_with(|| Cells::all(&all[place as usize].all))
    }

    /// The one cell that stands for all of a page, if the page is so.
    pub fn all(&mut self, place: Place) -> Option<&mut Cell> {
        match self.cells[place as usize] {
            None => Some(&mut self.pages[place as usize].all),
            Some(_) => None,
        }
    }

    /// Makes a page of cells one cell, if an access of all its bytes leaves nothing else of any of them. False if it does.
    pub fn unite(&mut self, place: Place, lists: &mut Lists, touch: Touch<'_>) -> bool {
        let at = place as usize;
        let Some(cells) = &self.cells[at] else {
            return false;
        };
        let mut last = 0;
        let over = |(at, one): (usize, &Cell)| {
            cells.fetch_list((at + AHEAD) as u64, lists);
            cell::is_over(one, &touch, lists, &mut last)
        };
        if !cells.0.iter().enumerate().all(over) {
            return false;
        }
        empty(&mut self.pages[at].all, &mut self.cells[at], lists);
        self.pages[at].all = cell::only(&touch);
        true
    }

    /// Calls `visit` with those pages that are there between two numbers.
    pub fn between(
        &mut self,
        first: u64,
        last: u64,
        mut visit: impl FnMut(u64, &mut Cell, &mut Option<Box<Cells>>),
    ) {
        if last - first < self.pages.len() as u64 {
            for number in first..=last {
                if let Some(&place) = self.places.get(&number) {
                    let at = place as usize;
                    visit(number, &mut self.pages[at].all, &mut self.cells[at]);
                }
            }
        } else {
            let all = self.pages.iter_mut().zip(&mut self.cells);
            for (page, cells) in all.filter(|(page, _)| (first..=last).contains(&page.number)) {
                visit(page.number, &mut page.all, cells);
            }
        }
    }

    /// Calls `visit` with what is behind each remembered access.
    pub fn sites(&self, lists: &Lists, visit: &mut dyn FnMut(Site)) {
        for (page, cells) in self.pages.iter().zip(&self.cells) {
            match cells {
                None => cell::sites(&page.all, lists, visit),
                Some(cells) => cells
                    .0
                    .iter()
                    .for_each(|one| cell::sites(one, lists, visit)),
            }
        }
    }

    /// Calls `visit` with each cell that is not empty.
    pub fn each_cell(&mut self, lists: &mut Lists, mut visit: impl FnMut(&mut Cell, &mut Lists)) {
        for (page, cells) in self.pages.iter_mut().zip(&mut self.cells) {
            let cells = match cells {
                None => std::slice::from_mut(&mut page.all),
                Some(cells) => &mut cells.0,
            };
            for cell in cells.iter_mut().filter(|cell| !cell.is_empty()) {
                visit(cell, lists);
            }
        }
    }

    /// Drops entries that `stays` does not want, and pages that have none then.
    pub fn forget(&mut self, lists: &mut Lists, mut stays: impl FnMut(&mut u64) -> bool + Copy) {
        let Pages {
            places,
            pages,
            cells,
            near,
        } = self;
        let mut keeps = pages
            .iter_mut()
            .zip(cells.iter_mut())
            .map(|(page, cells)| match cells {
                None => {
                    cell::keep(&mut page.all, lists, &mut stays);
                    !page.all.is_empty()
                }
                Some(cells) => {
                    let mut any = false;
                    for cell in cells.0.iter_mut().filter(|cell| !cell.is_empty()) {
                        cell::keep(cell, lists, &mut stays);
                        any |= !cell.is_empty();
                    }
                    any
                }
            });
        let keeps: Vec<bool> = keeps.by_ref().collect();
        retain(pages, &keeps);
        retain(cells, &keeps);
        *places = pages
            .iter()
            .zip(0..)
            .map(|(page, place)| (page.number, place))
            .collect();
        near.fill((u64::MAX, 0));
    }
}

/// Keeps those that have true in `keeps`.
fn retain<T>(all: &mut Vec<T>, keeps: &[bool]) {
    let mut keep = keeps.iter().copied();
    all.retain(|_| keep.next().unwrap_or(true));
}

/// A page of cells becomes one cell again, empty.
pub fn empty(all: &mut Cell, cells: &mut Option<Box<Cells>>, lists: &mut Lists) {
    if let Some(cells) = cells.take() {
        for cell in &cells.0 {
            cell::give_up_list(cell, lists);
        }
    }
    *all = Cell::default();
}

/// The cells of a page, made if it was one cell that is not empty; none if it is.
pub fn filled<'a>(all: &Cell, cells: &'a mut Option<Box<Cells>>) -> Option<&'a mut Cells> {
    if cells.is_none() && all.is_empty() {
        return None;
    }
    Some(cells.get_or_insert_with(|| Cells::all(all)))
}

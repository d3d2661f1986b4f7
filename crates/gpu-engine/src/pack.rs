//! Lays a batch out as the kernels want it: accesses cut into pieces of one cell each, the pieces of a cell chained in their
//! order, and beside them what judges them: clocks, transfers, sets of locks.

use std::collections::HashMap;
use std::sync::Arc;

use deadheat_order::{Holder, Transfer};
use deadheat_pipeline::batch::{Access, Batch, News, Run, Step, bits, kind};
use deadheat_pipeline::detector::Clocks;
use deadheat_pipeline::found::Info;
use deadheat_trace::Range;

use crate::device::{Kernels, WALK};
use crate::filters::Filters;
use crate::layout::{self, FRESH, HEADER, NONE, PAGE_CELLS, PAGE_SHIFT, PIECE, why};
use crate::pages::{self, CPU, Pages};
use crate::sites::{self, Sites};

/// A piece of an access, as the CPU remembers it until the GPU has answered.
#[derive(Clone, Copy, Debug)]
pub struct Touch {
    /// Which of the batch's accesses.
    pub access: u32,
    /// Its cell on the GPU, or [`CPU`].
    pub cell: u32,
    /// Its first byte in the program's memory, and how many.
    pub addr: u64,
    pub len: u32,
}

/// More cells than this of one access are the CPU's: it has a short form for whole pages.
const MOST_CELLS: u64 = 1 << 13;
/// So many pieces of one batch; what comes then goes to the CPU.
const MOST_PIECES: usize = 1 << 19;
/// The largest time that fits a word of the GPU.
pub const MOST_TIME: u64 = u32::MAX as u64 - 1;

/// A batch that is laid out.
#[derive(Debug, Default)]
pub struct Packed {
    /// All tables behind a header.
    pub input: Vec<u32>,
    pub pieces: u32,
    pub touched: u32,
    /// Whether the accesses can be checked at all, or the touched cells are only handed over.
    pub check: bool,
    /// Words of what the GPU says after it has looked at all cells; 0 if it does not: one for each page, then marks of sites and
    /// of sets, which begin there.
    pub live: u64,
    pub marks: Option<Marks>,
    /// Sets of locks whose filters are new.
    pub new_sets: Vec<u32>,
    /// All pieces, for the CPU, and where those of each run begin.
    pub touches: Vec<Touch>,
    pub runs: Vec<u32>,
    /// Whether some pieces were the CPU's from the outset.
    pub some_owned: bool,
    /// Places of pages that were given up.
    pub given_up: Vec<u32>,
    pub serial: u64,
}

/// Where the marks of sites and of sets begin in what a sweep says.
#[derive(Clone, Copy, Debug)]
pub struct Marks {
    sites: usize,
    sets: usize,
}

/// Lays batches out, one after another.
#[derive(Debug)]
pub struct Packer {
    kernels: Kernels,
    pub pages: Pages,
    clocks: Clocks,
    /// What strands hold, and all sets of locks; for Eraser.
    pub filters: Filters,
    /// Where and how accesses were made.
    pub sites: Sites,
    /// Whether the GPU was asked which sites and sets its cells have, and has not answered.
    marking: bool,
    serial: u64,
    /// What everybody knows, if that is new since the last sweep.
    known: Option<Arc<[u64]>>,
    /// Pages after the last sweep.
    swept: usize,
    /// Fewer pages are not worth a sweep.
    pub few: usize,
    /// Accesses of a cell that a thread goes through.
    pub walk: u32,
    /// A larger time than this ends the check on the GPU.
    pub most_time: u64,
    /// Whether a time became too large.
    closed: bool,
    /// Whether the batch has a run of somebody of whom nothing is known: it cannot be checked.
    strange: bool,

    // The batch being laid out.
    packed: Packed,
    pieces: Vec<u32>,
    touched: Vec<u32>,
    run_table: Vec<u32>,
    rows: Vec<u32>,
    row_of: Vec<u32>,
    transfers: Vec<u32>,
    holders: HashMap<Holder, u32>,
    starts: Vec<u32>,
    start_times: Vec<u32>,
}

/// Fewer pages are not worth a sweep.
const FEW: usize = 1 << 10;

impl Packer {
    /// With room for so many pages on the GPU.
    pub fn new(kernels: Kernels, pages: u32) -> Packer {
        Packer {
            kernels,
            pages: Pages::new(pages),
            clocks: Clocks::default(),
            filters: Filters::default(),
            sites: Sites::new(sites::FEW),
            marking: false,
            serial: 0,
            known: None,
            swept: 0,
            few: FEW,
            walk: WALK,
            most_time: MOST_TIME,
            closed: false,
            strange: false,
            packed: Packed::default(),
            pieces: Vec::new(),
            touched: Vec::new(),
            run_table: Vec::new(),
            rows: Vec::new(),
            row_of: Vec::new(),
            transfers: Vec::new(),
            holders: HashMap::new(),
            starts: Vec::new(),
            start_times: Vec::new(),
        }
    }

    /// Lays the next batch out. `most` is the largest table in bytes.
    pub fn pack(&mut self, batch: &Batch, most: u64) -> Packed {
        self.begin(batch);
        let mut told = 0;
        for step in &batch.steps {
            match step {
                Step::Run(run) => {
                    self.news(&batch.news[told..run.news as usize]);
                    told = run.news as usize;
                    self.run(run, run.first, batch.accesses_of(run));
                }
                Step::Fresh(range) => self.fresh(*range),
                Step::Freed(block) if self.kernels == Kernels::Eraser => self.fresh(block.range),
                Step::Freed(_) | Step::Block(_) => {}
            }
        }
        self.news(&batch.news[told..]);
        self.finish(most)
    }

    fn begin(&mut self, batch: &Batch) {
        self.serial += 1;
        self.packed = Packed {
            serial: self.serial,
            ..Packed::default()
        };
        for table in [
            &mut self.pieces,
            &mut self.touched,
            &mut self.run_table,
            &mut self.rows,
            &mut self.row_of,
            &mut self.transfers,
            &mut self.starts,
            &mut self.start_times,
        ] {
            table.clear();
        }
        self.holders.clear();
        if self.kernels == Kernels::Goldilocks {
            for start in batch.starts.iter() {
                let number = self.holders.len() as u32;
                self.holders.insert(start.holder, number);
                self.starts
                    .extend([self.start_times.len() as u32, start.times.len() as u32]);
                for &time in &start.times {
                    self.start_times
                        .push(word(time, self.most_time, &mut self.closed));
                }
            }
        }
    }

    fn news(&mut self, news: &[News]) {
        for one in news {
            self.clocks.news(one);
            match one {
                News::Slot { slot, .. } | News::Clock { slot, .. } => {
                    if let Some(row) = self.row_of.get_mut(slot.0 as usize) {
                        *row = NONE;
                    }
                }
                News::Transfer(transfer) => self.transfer(*transfer),
                News::Took(strand, lock, mode) => self.filters.took(*strand, *lock, *mode),
                News::Gave(strand, lock, mode) => self.filters.gave(*strand, *lock, *mode),
                News::Ended(strand) => self.filters.ended(*strand),
                News::Known { times, .. } => self.known = Some(times.clone()),
                // Not for those who do not say that they need it.
                News::Sweep { .. } => {}
                News::Frame => {
                    for number in self.pages.numbers() {
                        let place = self.pages.remove(number);
                        self.packed.given_up.extend(place);
                    }
                }
            }
        }
    }

    fn transfer(&mut self, transfer: Transfer) {
        if self.kernels != Kernels::Goldilocks {
            return;
        }
        let number = |holder: Holder| self.holders.get(&holder).copied().unwrap_or(NONE);
        let words = match transfer {
            Transfer::Learn { from, to } => [0, number(from), number(to)],
            Transfer::Replace { from, to } => [1, number(from), number(to)],
            Transfer::Clear(gone) => [2, number(gone), number(gone)],
        };
        self.transfers.extend(words);
    }

    fn run(&mut self, run: &Run, first: u32, accesses: &[Access]) {
        let table = self.run_table.len() / layout::RUN;
        self.packed.runs.push(self.packed.touches.len() as u32);
        let (row, row_length) = self.row(run);
        let holder = self.holders.get(&run.holder).copied().unwrap_or(NONE);
        let mut sets = [0; 4];
        if self.kernels == Kernels::Eraser {
            sets = self.filters.sets(run.strand, self.serial);
        }
        if self.kernels == Kernels::Goldilocks && holder == NONE {
            self.strange = true;
        }
        let time = word(run.time, self.most_time, &mut self.closed);
        self.run_table.extend([
            u32::from(run.slot.0),
            time,
            row,
            row_length,
            holder,
            (self.transfers.len() / 3) as u32,
            run.strand.0,
        ]);
        self.run_table.extend(sets);
        self.run_table.push(0);
        for (at, access) in (first..).zip(accesses) {
            if self.kernels == Kernels::Eraser && access.spot.kind() == kind::FREE {
                continue;
            }
            self.access(table as u32, at, run, access);
        }
    }

    /// The clock of the run as a row; the same one for runs between which it did not change.
    fn row(&mut self, run: &Run) -> (u32, u32) {
        if self.kernels == Kernels::Eraser {
            return (0, 0);
        }
        let slot = run.slot.0 as usize;
        let clock = self.clocks.of(run.slot);
        if self.row_of.len() <= slot {
            self.row_of.resize(slot + 1, NONE);
        }
        if self.row_of[slot] == NONE {
            self.row_of[slot] = self.rows.len() as u32;
            for &time in clock {
                self.rows.push(word(time, self.most_time, &mut self.closed));
            }
        }
        (self.row_of[slot], clock.len() as u32)
    }

    fn access(&mut self, run: u32, at: u32, by: &Run, access: &Access) {
        for (addr, len) in access.stretches() {
            self.stretch(run, at, by, access, addr, len);
        }
    }

    fn stretch(&mut self, run: u32, at: u32, by: &Run, access: &Access, addr: u64, len: u32) {
        let last = addr + u64::from(len - 1);
        let (first_cell, last_cell) = (addr >> 3, last >> 3);
        let large = last_cell - first_cell >= MOST_CELLS;
        if large || self.pieces.len() >= MOST_PIECES * PIECE || self.closed {
            let (first_page, last_page) = (addr >> PAGE_SHIFT, last >> PAGE_SHIFT);
            for number in first_page..=last_page {
                self.take_page(number);
                let base = number << PAGE_SHIFT;
                let (from, to) = (addr.max(base), last.min(base + ((1 << PAGE_SHIFT) - 1)));
                self.packed.touches.push(Touch {
                    access: at,
                    cell: CPU,
                    addr: from,
                    len: (to - from + 1) as u32,
                });
            }
            self.packed.some_owned = true;
            return;
        }
        let info = Info {
            spot: access.spot,
            caller: access.caller,
            locks: by.locks,
        };
        let site = self.sites.number(info, self.serial);
        let bits = bits(access.spot.kind()) as u32;
        for number in first_cell..=last_cell {
            let index = self.pages.index(number >> (PAGE_SHIFT - 3));
            let page = self.pages.get(index);
            let offset = number as usize % PAGE_CELLS;
            pages::set(&mut page.touched, offset);
            let place = page.place;
            let cell = match place {
                CPU => CPU,
                place => place * PAGE_CELLS as u32 + offset as u32,
            };
            let mask = self.touch(at, cell, number, addr, last);
            if self.pages.is_owned(cell) {
                self.packed.some_owned = true;
            } else {
                self.piece(index, cell, run, bits | mask, site);
            }
        }
    }

    /// Notes a piece for the CPU; the mask of its bytes.
    fn touch(&mut self, access: u32, cell: u32, number: u64, first: u64, last: u64) -> u32 {
        let base = number << 3;
        let (from, to) = (first.max(base), last.min(base + 7));
        self.packed.touches.push(Touch {
            access,
            cell,
            addr: from,
            len: (to - from + 1) as u32,
        });
        (0xff >> (7 - (to - from)) << (from - base)) as u32
    }

    /// Chains a piece to the others of its cell.
    fn piece(&mut self, index: u32, cell: u32, run: u32, did: u32, site: u32) {
        let me = (self.pieces.len() / PIECE) as u32;
        let serial = self.serial;
        let page = self.pages.get(index);
        if page.batch != serial {
            page.batch = serial;
            page.last.fill(NONE);
        }
        let last = &mut page.last[cell as usize % PAGE_CELLS];
        let previous = std::mem::replace(last, me);
        let touched = if previous == NONE {
            self.touched.extend([cell, me, 0]);
            (self.touched.len() / layout::TOUCHED - 1) as u32
        } else {
            let at = previous as usize * PIECE;
            self.pieces[at + 2] = me;
            self.pieces[at]
        };
        self.pieces
            .extend([touched, previous, NONE, run, did, site]);
    }

    /// The CPU takes a whole page, with what the GPU knows of it.
    fn take_page(&mut self, number: u64) {
        let index = self.pages.index_on_cpu(number);
        let serial = self.serial;
        let page = self.pages.get(index);
        let (place, touched) = (page.place, page.touched);
        if place == CPU {
            return;
        }
        if page.batch != serial {
            page.batch = serial;
            page.last.fill(NONE);
        }
        for at in 0..PAGE_CELLS {
            let cell = place * PAGE_CELLS as u32 + at as u32;
            if pages::has(&touched, at) && !self.pages.is_owned(cell) {
                let last = self.pages.get(index).last[at];
                if last == NONE {
                    self.touched.extend([cell, NONE, why::ASKED]);
                } else {
                    let entry = self.pieces[last as usize * PIECE] as usize;
                    self.touched[entry * layout::TOUCHED + 2] = why::ASKED;
                }
            }
        }
        self.pages.owned[place as usize].fill(u64::MAX);
    }

    /// From here on these bytes have no past.
    fn fresh(&mut self, range: Range) {
        let (start, end) = range.bounds();
        let last = end - 1;
        for number in self.pages.within(start >> PAGE_SHIFT, last >> PAGE_SHIFT) {
            let base = number << PAGE_SHIFT;
            let (from, to) = (start.max(base), last.min(base + ((1 << PAGE_SHIFT) - 1)));
            if to - from == (1 << PAGE_SHIFT) - 1 {
                let place = self.pages.remove(number);
                self.packed.given_up.extend(place);
                continue;
            }
            let index = self.pages.index(number);
            let page = self.pages.get(index);
            let (place, touched) = (page.place, page.touched);
            if place == CPU {
                continue;
            }
            for cell_number in from >> 3..=to >> 3 {
                let offset = cell_number as usize % PAGE_CELLS;
                let cell = place * PAGE_CELLS as u32 + offset as u32;
                if pages::has(&touched, offset) && !self.pages.is_owned(cell) {
                    let base = cell_number << 3;
                    let (low, high) = (from.max(base), to.min(base + 7));
                    let mask = (0xff >> (7 - (high - low)) << (low - base)) as u32;
                    self.piece(index, cell, 0, FRESH | mask, 0);
                }
            }
        }
    }

    fn finish(&mut self, most: u64) -> Packed {
        let mut packed = std::mem::take(&mut self.packed);
        if self.kernels == Kernels::Eraser {
            packed.new_sets = self.filters.update();
        }
        let many = self.pages.count() > (2 * self.swept).max(self.few);
        let known = match many && self.kernels != Kernels::Eraser {
            true => self.known.take(),
            false => None,
        };
        let mut known_times: Vec<u32> = Vec::new();
        for &time in known.iter().flat_map(|times| times.iter()) {
            // Nobody knows more than there is.
            known_times.push(time.min(MOST_TIME) as u32);
        }
        let mark = !self.marking && (self.sites.is_due() || self.filters.is_due());
        if (mark || known.is_some()) && self.pages.places() > 0 {
            packed.live = self.pages.places().into();
            if mark {
                let sites = packed.live as usize;
                let sets = sites + self.sites.numbers().div_ceil(32);
                packed.live = (sets + self.filters.numbers().div_ceil(32)) as u64;
                packed.marks = Some(Marks { sites, sets });
                self.marking = true;
            }
        }
        packed.check = !self.closed && !std::mem::take(&mut self.strange);
        packed.pieces = (self.pieces.len() / PIECE) as u32;
        packed.touched = (self.touched.len() / layout::TOUCHED) as u32;
        let words = self.words(&known_times);
        if words as u64 * 4 > most {
            packed.check = false;
        }
        if !packed.check {
            // The cells alone, to be handed over.
            for touched in self.touched.chunks_exact_mut(layout::TOUCHED) {
                (touched[1], touched[2]) = (NONE, why::ASKED);
            }
            for table in [
                &mut self.pieces,
                &mut self.run_table,
                &mut self.rows,
                &mut self.transfers,
                &mut self.starts,
                &mut self.start_times,
            ] {
                table.clear();
            }
            packed.pieces = 0;
        }
        if self.closed {
            self.pages.close();
        }
        let mut input = vec![0; HEADER];
        input.reserve(self.words(&known_times));
        (input[0], input[1]) = (packed.pieces, packed.touched);
        let tables: [(usize, &[u32]); 8] = [
            (2, &self.pieces),
            (3, &self.touched),
            (4, &self.run_table),
            (5, &self.rows),
            (6, &self.transfers),
            (7, &self.starts),
            (9, &self.start_times),
            (12, &known_times),
        ];
        for (at, table) in tables {
            input[at] = input.len() as u32;
            input.extend_from_slice(table);
        }
        input[8] = self.holders.len() as u32;
        let marks = packed.marks.map(|marks| (marks.sites, marks.sets));
        let (sites, sets) = marks.unwrap_or((NONE as usize, NONE as usize));
        (input[10], input[15]) = (sites as u32, sets as u32);
        input[11] = self.walk;
        input[13] = known_times.len() as u32;
        input[14] = self.pages.places() * PAGE_CELLS as u32;
        packed.input = input;
        packed
    }

    fn words(&self, known: &[u32]) -> usize {
        HEADER
            + known.len()
            + [
                &self.pieces,
                &self.touched,
                &self.run_table,
                &self.rows,
                &self.transfers,
                &self.starts,
                &self.start_times,
            ]
            .iter()
            .map(|table| table.len())
            .sum::<usize>()
    }

    /// What a sweep left: pages with nothing on them are given up, and sites and sets that no cell has, unless a later batch has
    /// touched them.
    pub fn swept(&mut self, serial: u64, marks: Option<Marks>, live: &[u32]) {
        if let Some(Marks { sites, sets }) = marks {
            self.sites.collect(serial, &live[sites..sets]);
            self.filters.collect(serial, &live[sets..]);
            self.marking = false;
        }
        for number in self.pages.numbers() {
            let Some(index) = self.pages.find(number) else {
                continue;
            };
            let page = self.pages.get(index);
            let (place, batch) = (page.place, page.batch);
            let empty = live.get(place as usize).is_some_and(|&live| live == 0);
            if empty
                && batch <= serial
                && self.pages.owned[place as usize] == pages::Cells::default()
            {
                self.pages.remove(number);
                self.pages.free(place);
            }
        }
        self.swept = self.pages.count();
    }
}

/// A time in a word of the GPU; if it does not fit, nothing is checked there any more.
#[inline]
fn word(time: u64, most: u64, closed: &mut bool) -> u32 {
    if time > most {
        *closed = true;
    }
    time.min(MOST_TIME) as u32
}

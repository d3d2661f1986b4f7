//! History is collected again and again: whatever a cell names keeps its record, and memory stays bounded.

use std::sync::atomic::{AtomicBool, Ordering};

use deadheat_detect::entry::WRITE;

use super::player::plain;
use crate::cell;
use crate::collect::{FIRST, collect};
use crate::history::{CHUNK, Place, Site, SiteId, Touch};
use crate::intern::StackId;
use crate::runtime::Runtime;
use crate::shadow::REGION;
use crate::strand::Strand;
use crate::threads::Sort;

const DATA: usize = 0x12_0000_0000;
const PC: u64 = 0x60_0000;

/// The place of the only write that the cell of `addr` remembers, if it can be told.
fn place_of_write(rt: &Runtime, addr: usize) -> Option<Place> {
    let mut found = None;
    // SAFETY: the shadow gave the cell, and nobody is interrupted by a handler here.
    unsafe {
        cell::each_entry(rt.shadow.existing(addr)?, |e| {
            if e.0 & WRITE != 0 {
                found = rt
                    .histories
                    .of(e.slot())
                    .record(e.seq())
                    .map(|record| record.place);
            }
        });
    }
    found
}

#[test]
fn a_long_run_keeps_what_cells_name_and_no_more() {
    static RT: Runtime = Runtime::new();
    const CELLS: u64 = 500;
    const ROUNDS: u64 = 6000;
    let root = super::start(&RT);
    let other = RT.threads.create(&RT, Some(root), Sort::Thread, StackId(0));
    let at = |cell: u64| DATA + cell as usize * 8;
    // Cell n is written in each round up to n * ROUNDS / CELLS, by places that no other access shares.
    let last = |cell: u64| cell * ROUNDS / CELLS;
    let mut most = 0;
    for round in 0..ROUNDS {
        for cell in (0..CELLS).filter(|&cell| last(cell) >= round) {
            plain(
                &RT,
                root,
                at(cell),
                8,
                Touch::Write,
                PC + round * CELLS + cell,
            );
        }
        // Tells nobody anything, but ends the step.
        root.published();
        root.begin_step();
        most = most.max(RT.histories.bytes.load(Ordering::Relaxed));
    }
    let made = root.seq * size_of::<Site>() as u64;
    assert!(made > FIRST + (4 << 20), "too few records were made");
    assert!(most < FIRST + (1 << 20), "histories took {most} bytes");
    for cell in 0..CELLS {
        let pc = PC + last(cell) * CELLS + cell;
        assert_eq!(
            place_of_write(&RT, at(cell)),
            Some(Place::new(pc, Touch::Write, 8)),
            "cell {cell}"
        );
    }
    // The other thread knows only what was there before: it races with all, and each report has both places.
    let s = RT.threads.begin(&RT, other);
    collect(&RT, None);
    for cell in 0..CELLS {
        plain(&RT, s, at(cell), 1, Touch::Read, PC);
    }
    let races = std::mem::take(&mut *RT.findings.observed.lock());
    assert_eq!(races.len() as u64, CELLS);
    for (cell, race) in races.iter().enumerate() {
        let cell = cell as u64;
        let older = race.older.map(|record| record.place.pc());
        assert_eq!(older, Some(PC + last(cell) * CELLS + cell));
        assert_eq!(
            race.newer.map(|record| record.place),
            Some(Place::new(PC, Touch::Read, 1))
        );
    }
}

/// Strands come and go, in slots used before, while one thread does nothing but collect.
#[test]
fn strands_that_begin_during_a_collection_keep_their_records() {
    static RT: Runtime = Runtime::new();
    const REGIONS: usize = 24;
    const CELLS: u64 = 5000;
    const STRANDS: u64 = 25;
    let root = super::start(&RT);
    // Shadow to walk through.
    for region in 0..REGIONS {
        assert!(RT.shadow.cell(DATA + region * REGION).is_some());
    }
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                collect(&RT, None);
            }
        });
        let mut missing = 0;
        for strand in 0..STRANDS {
            let id = RT.threads.create(&RT, Some(root), Sort::Thread, StackId(0));
            let s = RT.threads.begin(&RT, id);
            let pc = |cell: u64| PC + strand * CELLS + cell;
            for cell in 0..CELLS {
                plain(&RT, s, DATA + cell as usize * 8, 8, Touch::Write, pc(cell));
                if cell % 64 == 0 {
                    s.published();
                    s.begin_step();
                }
            }
            // SAFETY: begun above, and not used again.
            unsafe { RT.threads.end(s) };
            RT.threads.join(&RT, root, id);
            let known = |cell: u64| {
                place_of_write(&RT, DATA + cell as usize * 8)
                    == Some(Place::new(pc(cell), Touch::Write, 8))
            };
            missing += (0..CELLS).filter(|&cell| !known(cell)).count();
        }
        done.store(true, Ordering::Relaxed);
        assert_eq!(missing, 0, "records that cells name are gone");
    });
    assert_eq!(RT.threads.slots_used(), 2);
}

/// A strand whose numbers of records begin again goes on with those that are free, and uses none for something else.
#[test]
fn numbers_of_records_begin_again() {
    static RT: Runtime = Runtime::new();
    const CELLS: u64 = 4 * CHUNK as u64;
    let root = super::start(&RT);
    let at = |cell: u64| DATA + cell as usize * 8;
    let write = |s: &mut Strand, cells: std::ops::Range<u64>, from: u64| {
        for cell in cells {
            plain(&RT, s, at(cell), 8, Touch::Write, from + cell);
            s.published();
            s.begin_step();
        }
    };
    write(root, 0..CELLS / 2, PC);
    let history = root.history.expect("a strand with a slot");
    let last = SiteId(u32::MAX - 5);
    root.site = last;
    root.site_chunk = history.sites_after(last, &RT.histories.bytes);
    root.sites.drop_old(last);
    write(root, CELLS / 2..CELLS, PC);
    assert!(root.site.0 < 8 * CHUNK as u32, "they have not begun again");
    for round in 0..2 {
        for cell in 0..CELLS {
            assert_eq!(
                place_of_write(&RT, at(cell)),
                Some(Place::new(PC + cell, Touch::Write, 8)),
                "cell {cell}, round {round}"
            );
        }
        collect(&RT, None);
    }
}

/// A place that a strand comes back to after so many others that its record is gone gets a new one.
#[test]
fn a_record_that_is_gone_is_made_again() {
    static RT: Runtime = Runtime::new();
    let root = super::start(&RT);
    let write = |s: &mut Strand, pc: u64| {
        plain(&RT, s, DATA, 8, Touch::Write, pc);
        s.published();
        s.begin_step();
    };
    let history = root.history.expect("a strand with a slot");
    // In the first round the table of places grows, which makes it forget; in the second one it is as large as it gets.
    for round in 0..2 {
        write(root, PC);
        let number = root.seq;
        assert!(history.record(number).is_some());
        // So many other places, none of which is kept where the first one is.
        for other in 0..2 * SiteId::REUSED as u64 {
            write(root, (PC ^ 1) + (other << 20));
        }
        for _ in 0..3 * CHUNK {
            write(root, PC + 1);
        }
        collect(&RT, None);
        assert!(history.record(number).is_none());
        write(root, PC);
        assert_eq!(
            place_of_write(&RT, DATA),
            Some(Place::new(PC, Touch::Write, 8)),
            "round {round}"
        );
    }
}

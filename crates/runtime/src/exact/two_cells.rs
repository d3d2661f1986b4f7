//! Accesses of 16 bytes: what the two cells remember need not be the same.

use super::player::plain;
use crate::history::Touch;
use crate::runtime::Runtime;
use crate::strand::Strand;

const DATA: usize = 0x15_0000_0000;
const PAGE: usize = 4096;
const PC: u64 = 0x90_0000;

/// The older sides of all races so far.
fn older(rt: &Runtime) -> Vec<Option<u64>> {
    std::mem::take(&mut *rt.findings.observed.lock())
        .iter()
        .map(|race| race.older.map(|record| record.place.pc()))
        .collect()
}

/// One thread writes to one of two cells in a page, another one takes the page and comes to both of them.
#[test]
fn a_race_in_either_cell_is_found() {
    static RT: Runtime = Runtime::new();
    let (first, second) = super::start_two(&RT);
    let mut page = DATA;
    for touch in [Touch::Read, Touch::Write] {
        for both_before in [false, true] {
            for (offset, size) in [(0, 8), (8, 8), (3, 1), (12, 4)] {
                page += PAGE;
                let (cells, elsewhere) = (page + 64, page + 256);
                plain(&RT, first, cells + offset, size, Touch::Write, PC);
                // Now the page is the second one's, and what is in both cells may be alike but for the write.
                plain(&RT, second, elsewhere, 8, Touch::Write, PC + 1);
                if both_before {
                    plain(&RT, second, cells + 16, 16, touch, PC + 2);
                }
                assert_eq!(older(&RT), [], "{touch:?} {offset}");
                plain(&RT, second, cells, 16, touch, PC + 2);
                assert_eq!(older(&RT), [Some(PC)], "{touch:?} {offset}");
            }
        }
    }
}

/// What one thread leaves in each cell by an access of 16 bytes is what it leaves by two of 8.
#[test]
fn two_cells_are_left_as_one_by_one() {
    static RT: Runtime = Runtime::new();
    let (first, second) = super::start_two(&RT);
    let earlier = [
        (0, Touch::Write),
        (0, Touch::Read),
        (8, Touch::Write),
        (8, Touch::Read),
    ];
    let next_step = |s: &mut Strand| {
        s.published();
        s.begin_step();
    };
    let mut page = DATA + (1 << 24);
    // Who comes next knows of nothing, and so races with all that is left.
    let mut left_by = |sizes: &[usize], before: usize, touch: Touch| {
        page += PAGE;
        for (n, (offset, kind)) in earlier.into_iter().enumerate() {
            if before >> n & 1 != 0 {
                plain(&RT, first, page + offset, 8, kind, PC + n as u64);
                next_step(first);
            }
        }
        let mut at = page;
        for &size in sizes {
            plain(&RT, first, at, size, touch, PC + 7);
            at += size;
        }
        next_step(first);
        [0, 8].map(|offset| {
            plain(&RT, second, page + offset, 8, Touch::Write, PC + 9);
            let mut races = older(&RT);
            races.sort();
            races
        })
    };
    let mut most = 0;
    for before in 0..1 << earlier.len() {
        for touch in [Touch::Read, Touch::Write] {
            let at_once = left_by(&[16], before, touch);
            assert_eq!(
                at_once,
                left_by(&[8, 8], before, touch),
                "{before} {touch:?}"
            );
            most = most.max(at_once[1].len());
        }
    }
    assert_eq!(most, 2, "no cell had a write and a read to race with");
}

//! Tables that hold one slot's accesses only, until somebody else comes.

use super::player::plain;
use super::stress::{acquire, release};
use crate::history::Touch;
use crate::runtime::Runtime;

const DATA: usize = 0x14_0000_0000;
const GATE: usize = 0x24_0000_0000;
const PC: u64 = 0x80_0000;
const CELLS: usize = 200;

/// One thread writes the bytes of each cell one by one and tells so, then writes one of them again. The other one, who knows
/// of all but that, reads another byte, which is no race, and then writes that one, which is.
#[test]
fn whoever_comes_second_looks_at_what_the_first_one_did() {
    static RT: Runtime = Runtime::new();
    let (first, second) = super::start_two(&RT);
    for cell in 0..CELLS {
        let (secret, known) = (cell % 8, (cell + 1 + cell / 8 % 7) % 8);
        let at = |byte: usize| DATA + cell * 8 + byte;
        for byte in 0..8 {
            plain(&RT, first, at(byte), 1, Touch::Write, PC + byte as u64);
            release(&RT, first, GATE);
        }
        acquire(&RT, second, GATE);
        plain(&RT, first, at(secret), 1, Touch::Write, PC + 16);
        plain(&RT, second, at(known), 1, Touch::Read, PC + 32);
        assert_eq!(RT.findings.observed.lock().len(), 0, "cell {cell}");
        plain(&RT, second, at(secret), 1, Touch::Write, PC + 48);
        let races = std::mem::take(&mut *RT.findings.observed.lock());
        let pcs: Vec<_> = races
            .iter()
            .map(|race| race.older.map(|record| record.place.pc()))
            .collect();
        assert_eq!(pcs, [Some(PC + 16)], "cell {cell}");
        // The next cell finds both threads in the page.
        release(&RT, second, GATE + 64);
        acquire(&RT, first, GATE + 64);
    }
}

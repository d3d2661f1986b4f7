//! Places that take turns in the bytes of a cell: a report names one that touched the byte.

use deadheat_trace::generate::Rng;

use super::player::plain;
use crate::history::Touch;
use crate::runtime::Runtime;

const DATA: usize = 0x16_0000_0000;
const PC: u64 = 0xa0_0000;
const ROUNDS: usize = 3000;

#[test]
fn a_report_names_a_place_that_touched_the_byte() {
    static RT: Runtime = Runtime::new();
    let (first, second) = super::start_two(&RT);
    let mut rng = Rng::new(7);
    for round in 0..ROUNDS {
        let cell = DATA + round * 8;
        let places = 2 + rng.below(2);
        // Which places have touched each byte.
        let mut touched = [0u64; 8];
        for _ in 0..2 + rng.below(7) {
            let place = rng.below(places);
            let size = [1, 2, 4][rng.below(3) as usize];
            let byte = (rng.below(8 / size) * size) as usize;
            let bytes = byte..byte + size as usize;
            plain(
                &RT,
                first,
                cell + byte,
                size as usize,
                Touch::Write,
                PC + place,
            );
            touched[bytes].iter_mut().for_each(|set| *set |= 1 << place);
        }
        first.published();
        first.begin_step();
        for (byte, places) in touched.into_iter().enumerate() {
            plain(&RT, second, cell + byte, 1, Touch::Write, PC + 64);
            let races = std::mem::take(&mut *RT.findings.observed.lock());
            assert_eq!(races.is_empty(), places == 0, "round {round}, byte {byte}");
            for race in races {
                let pc = race.older.map_or(0, |record| record.place.pc());
                assert!(
                    pc >= PC && places >> (pc - PC) & 1 != 0,
                    "round {round}, byte {byte}: {pc:#x} of {places:#b}"
                );
            }
        }
    }
}

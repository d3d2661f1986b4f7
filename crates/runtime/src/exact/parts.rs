//! What the turns of a loop touch, told part by part: every byte that races with it is found, and names the part that touched it.

use deadheat_trace::generate::Rng;

use super::player::plain;
use crate::access::halves::{self, HALF};
use crate::access::{self, Halves};
use crate::history::{Place, Touch};
use crate::runtime::Runtime;
use crate::strand::Strand;

const DATA: usize = 0x17_0000_0000;
const PC: u64 = 0xb0_0000;
const ROUNDS: usize = 2000;
/// Bytes that each round uses, away from those of others.
const BYTES: usize = 64;

/// What the first strand did to a byte: in which steps it did so last, and a bit for each place that did.
#[derive(Clone, Copy, Default)]
struct Last {
    read: Option<usize>,
    write: Option<usize>,
    places: u64,
}

/// What the first strand has done in a round.
struct Done {
    bytes: [Last; BYTES],
    step: usize,
}

impl Done {
    fn note(&mut self, bytes: core::ops::Range<usize>, touch: Touch, pc: u64) {
        for byte in bytes {
            let last = &mut self.bytes[byte];
            match touch {
                Touch::Write => last.write = Some(self.step),
                _ => last.read = Some(self.step),
            }
            last.places |= 1 << (pc - PC);
        }
    }
}

fn touch(rng: &mut Rng) -> Touch {
    match rng.below(2) {
        0 => Touch::Read,
        _ => Touch::Write,
    }
}

/// A few accesses that are no loop's.
fn single(rt: &'static Runtime, s: &mut Strand, rng: &mut Rng, base: usize, done: &mut Done) {
    for _ in 0..rng.below(12) {
        let size = [1, 2, 4, 8][rng.below(4) as usize] as usize;
        let at = rng.below((BYTES / size) as u64) as usize * size;
        let (touch, pc) = (touch(rng), PC + rng.below(4));
        plain(rt, s, base + at, size, touch, pc);
        done.note(at..at + size, touch, pc);
    }
}

/// A loop over all or some of the bytes whose parts are halves of cells, each two told together. Between them another loop may be told
/// of, as from the handler of a signal.
fn halves(rt: &'static Runtime, s: &mut Strand, rng: &mut Rng, base: usize, done: &mut Done) {
    let stride = 8 * (1 + rng.below(4) as usize);
    let begin = rng.below(3) as usize * 4;
    let turns = 1 + rng.below(((BYTES - begin) / stride) as u64) as usize;
    let backwards = rng.below(2) == 0;
    let touch = touch(rng);
    for from in (0..stride).step_by(8) {
        for half in 0..2 {
            if half == 1 && rng.below(8) == 0 {
                parts(rt, s, rng, base, done);
                if rng.below(2) == 0 {
                    halves(rt, s, rng, base, done);
                }
            }
            let from = from + half * HALF;
            let last = (turns - 1) * stride;
            let told = Halves {
                addr: base + begin + from + if backwards { last } else { 0 },
                turns,
                stride: if backwards {
                    -(stride as isize)
                } else {
                    stride as isize
                },
                touch,
                place: Place::new(PC + 16 + (from / HALF) as u64, touch, HALF as u64),
            };
            let kept = match half {
                0 => halves::first(rt, s, told),
                _ => halves::second(rt, s, told),
            };
            if !kept {
                let Halves {
                    addr,
                    stride,
                    place,
                    ..
                } = told;
                access::touch_strided(rt, s, addr, turns, stride, HALF, touch, place, Some(from));
            }
            for turn in 0..turns {
                let at = begin + turn * stride + from;
                done.note(at..at + HALF, touch, told.place.pc());
            }
        }
    }
}

/// A loop over all or some of the bytes, whose parts are told in any order.
fn parts(rt: &'static Runtime, s: &mut Strand, rng: &mut Rng, base: usize, done: &mut Done) {
    let size = [1, 2, 4, 8][rng.below(4) as usize] as usize;
    let count = 2 + rng.below(7) as usize;
    let stride = size * count;
    let begin = rng.below(9) as usize;
    let turns = (BYTES - begin) / stride;
    let touch = touch(rng);
    let turned = rng.below(count as u64) as usize;
    for part in (0..count).map(|part| (part + turned) % count) {
        let from = part * size;
        let place = Place::new(PC + 16 + part as u64, touch, size as u64);
        let start = base + begin + from;
        let stride_ = stride as isize;
        access::touch_strided(rt, s, start, turns, stride_, size, touch, place, Some(from));
        for turn in 0..turns {
            let at = begin + turn * stride + from;
            done.note(at..at + size, touch, place.pc());
        }
    }
}

#[test]
fn parts_of_a_turn_lose_nothing() {
    static RT: Runtime = Runtime::new();
    let (first, second) = super::start_two(&RT);
    let mut rng = Rng::new(11);
    let (mut raced, mut silent) = (0, 0);
    for round in 0..ROUNDS {
        let base = DATA + round * 2 * BYTES;
        let mut done = Done {
            bytes: [Last::default(); BYTES],
            step: 0,
        };
        // The second strand learns of the steps up to this one.
        let (steps, told) = (2 + rng.below(3) as usize, rng.below(4) as usize);
        while done.step < steps {
            match rng.below(3) {
                0 => single(&RT, first, &mut rng, base, &mut done),
                1 => halves(&RT, first, &mut rng, base, &mut done),
                _ => parts(&RT, first, &mut rng, base, &mut done),
            }
            let published = first.published().clone();
            first.begin_step();
            if done.step == told {
                second.clock.join(&published);
                second.learned(&RT);
            }
            done.step += 1;
        }
        for (byte, last) in done.bytes.into_iter().enumerate() {
            let touch = touch(&mut rng);
            plain(&RT, second, base + byte, 1, touch, PC + 64);
            let races = std::mem::take(&mut *RT.findings.observed.lock());
            let unknown =
                |last: Option<usize>| last.is_some_and(|step| step > told || told >= steps);
            let any = unknown(last.write) || touch == Touch::Write && unknown(last.read);
            assert_eq!(!races.is_empty(), any, "round {round}, byte {byte}");
            for race in races {
                let pc = race.older.map_or(0, |record| record.place.pc());
                assert!(
                    pc >= PC && last.places >> (pc - PC) & 1 != 0,
                    "round {round}, byte {byte}: {pc:#x} of {:#b}",
                    last.places
                );
            }
            *(if any { &mut raced } else { &mut silent }) += 1;
        }
    }
    assert!(raced > ROUNDS && silent > ROUNDS, "{raced} {silent}");
}

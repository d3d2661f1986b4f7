//! How many accesses per second the engine checks, on executions made up in memory:
//! `cargo run --release -p deadheat-pipeline --example throughput [MILLIONS [EXECUTION [DETECTOR [CHECKERS]]]]`.
//!
//! With one checker, per second of the processor; with two, per second of the clock.

use std::time::Instant;

use deadheat_pipeline::{Across, DetectorKind, Settings, check};
use deadheat_trace::wire::{Act, Item, Memory, Source, StackNode, Touch, Touched, Writer};
use deadheat_trace::{Action, Addr, Mutex, Range, Strand};

struct Maker {
    memory: Memory,
    number: u64,
    streams: Vec<(Writer, Vec<u64>)>,
}

impl Maker {
    fn new(strands: u32) -> Maker {
        let mut maker = Maker {
            memory: Memory::default(),
            number: 0,
            streams: (0..strands).map(|_| Default::default()).collect(),
        };
        (1..strands).for_each(|child| maker.act(0, Action::Fork(Strand(child))));
        maker
    }

    fn act(&mut self, strand: u32, action: Action) {
        let act = Act::new(self.number, action, StackNode(0));
        self.number += 1;
        let (writer, words) = &mut self.streams[strand as usize];
        writer.write(&Item::Act(act), words);
    }

    fn touch(&mut self, strand: u32, touch: Touch, addr: u64, size: u64, pc: u64) {
        let (writer, words) = &mut self.streams[strand as usize];
        let touched = Touched {
            range: Range::new(Addr(addr), size).expect("a range"),
            touch,
            pc,
            caller: StackNode(0),
        };
        writer.write(&Item::Touch(touched), words);
    }

    fn finish(mut self) -> Memory {
        for strand in 1..self.streams.len() as u32 {
            self.act(strand, Action::End);
            self.act(0, Action::Join(Strand(strand)));
        }
        for (strand, (_, words)) in self.streams.into_iter().enumerate() {
            self.memory.set_stream(Strand(strand as u32), words);
        }
        self.memory.portion = 1 << 13;
        self.memory
    }
}

const STRANDS: u32 = 4;
const BASE: u64 = 0x5000_0000_0000;

/// Each strand sweeps its quarter of 8 MiB again and again, as a stencil does between barriers.
fn sweep(accesses: u64) -> Memory {
    let mut maker = Maker::new(STRANDS + 1);
    let (part, mut left) = (2u64 << 20, accesses);
    while left > 0 {
        for strand in 1..=STRANDS {
            let base = BASE + u64::from(strand) * part;
            for cell in (0..part / 8).take((left / 8) as usize + 1) {
                maker.touch(strand, Touch::Read, base + cell * 8, 8, 0x1000);
                maker.touch(strand, Touch::Write, base + cell * 8, 8, 0x1001);
            }
        }
        for strand in 1..=STRANDS {
            maker.act(strand, Action::Lock(Mutex(1)));
            maker.act(strand, Action::Unlock(Mutex(1)));
        }
        left = left.saturating_sub(u64::from(STRANDS) * part / 4);
    }
    maker.finish()
}

/// A table under many locks: lock, twelve accesses somewhere in it, unlock.
fn table(accesses: u64) -> Memory {
    let mut maker = Maker::new(STRANDS + 1);
    let mut random = 1u64;
    for turn in 0..accesses / 12 {
        let strand = 1 + (turn % u64::from(STRANDS)) as u32;
        random = random
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        let bucket = random >> 48;
        let lock = Mutex(bucket % 64);
        maker.act(strand, Action::Lock(lock));
        for i in 0..12 {
            let touch = if i % 4 == 3 {
                Touch::Write
            } else {
                Touch::Read
            };
            let addr = BASE + (bucket % 64) * 65536 + (bucket / 64) * 64 + i * 8 % 64;
            maker.touch(strand, touch, addr, 8, 0x2000 + i);
        }
        maker.act(strand, Action::Unlock(lock));
    }
    maker.finish()
}

/// Long steps that come back to the same few pages, as a matrix product does.
fn again(accesses: u64) -> Memory {
    let mut maker = Maker::new(STRANDS + 1);
    for i in 0..accesses {
        let strand = 1 + (i / 4096 % u64::from(STRANDS)) as u32;
        let addr = BASE + u64::from(strand) * 65536 + i * 8 % 32768;
        let touch = if i % 3 == 0 {
            Touch::Write
        } else {
            Touch::Read
        };
        maker.touch(strand, touch, addr, 8, 0x3000 + i % 3);
    }
    maker.finish()
}

/// Bytes and words all over 64 MiB, read by all and written by one.
fn scattered(accesses: u64) -> Memory {
    let mut maker = Maker::new(STRANDS + 1);
    let mut random = 1u64;
    for i in 0..accesses {
        random = random
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        let strand = 1 + (i / 1000 % u64::from(STRANDS)) as u32;
        let size = 1 << (random >> 40 & 3);
        let addr =
            BASE + u64::from(strand) * (16 << 20) + (random >> 42) % (16 << 20) / size * size;
        let touch = if random >> 63 == 0 {
            Touch::Read
        } else {
            Touch::Write
        };
        maker.touch(strand, touch, addr, size, 0x4000 + size);
        if i % 1000 == 999 {
            maker.act(strand, Action::Lock(Mutex(2)));
            maker.act(strand, Action::Unlock(Mutex(2)));
        }
    }
    maker.finish()
}

/// Seconds that this thread was on a processor.
fn cpu() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let first = text.split_whitespace().next();
    first.and_then(|word| word.parse().ok()).unwrap_or(0.0) / 1e9
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let millions: u64 = args.first().and_then(|arg| arg.parse().ok()).unwrap_or(20);
    let wanted = |place: usize, name: &str| {
        args.get(place)
            .is_none_or(|arg| name.starts_with(arg.as_str()))
    };
    let accesses = millions * 1_000_000;
    println!(
        "{:<10} {:<22} {:>8} {:>10} {:>9}",
        "execution", "detector", "checkers", "M accesses", "M/s"
    );
    type Make = fn(u64) -> Memory;
    let executions: [(&str, Make); 4] = [
        ("sweep", sweep),
        ("table", table),
        ("again", again),
        ("scattered", scattered),
    ];
    for (name, make) in executions {
        if !wanted(1, name) {
            continue;
        }
        let memory = make(accesses);
        for (label, detectors, across) in [
            ("fasttrack", vec![DetectorKind::FastTrack], Across::Frames),
            (
                "fasttrack, frames alone",
                vec![DetectorKind::FastTrack],
                Across::Nothing,
            ),
            ("djit", vec![DetectorKind::Djit], Across::Frames),
            ("goldilocks", vec![DetectorKind::Goldilocks], Across::Frames),
            ("eraser", vec![DetectorKind::Eraser], Across::Frames),
            ("none", vec![], Across::Frames),
        ] {
            for checkers in [1, 2] {
                if !wanted(2, label) || !wanted(3, &checkers.to_string()) {
                    continue;
                }
                let settings = Settings {
                    detectors: detectors.clone(),
                    checkers,
                    across,
                    skip_atomics: false,
                };
                let mut source = memory.clone();
                source.wait();
                let (start, start_cpu) = (Instant::now(), cpu());
                let summary = check(&mut source, &settings, &mut |_: &str| ());
                let seconds = match checkers {
                    1 => cpu() - start_cpu,
                    _ => start.elapsed().as_secs_f64(),
                };
                let passed = summary.passed.accesses as f64 / 1e6;
                println!(
                    "{name:<10} {label:<22} {checkers:>8} {passed:>10.1} {:>9.1}  findings {} pages {}",
                    passed / seconds,
                    summary.findings,
                    summary.most_pages
                );
            }
        }
    }
}

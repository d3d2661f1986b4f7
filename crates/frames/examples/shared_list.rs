//! Measures the paper's one list of events, with an atomic increment for each, against a frame for each thread with numbers
//! on acts only: `cargo run --release -p deadheat-frames --example shared_list`.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};

const EVENTS: u64 = 20_000_000;
const FRAME: usize = 4088;
/// In programs of the bench with many locks about every fourth event is an act.
const ACT_EVERY: [u64; 3] = [4, 64, u64::MAX];

fn shared(threads: u64) -> f64 {
    let list: Vec<AtomicU64> = (0..1 << 16).map(|_| AtomicU64::new(0)).collect();
    let next = AtomicU64::new(0);
    timed(threads, |thread| {
        for event in 0..EVENTS {
            let at = next.fetch_add(1, Ordering::AcqRel);
            list[at as usize % list.len()].store(thread << 32 | event, Ordering::Release);
        }
    })
}

fn own(threads: u64, act_every: u64) -> f64 {
    let next = AtomicU64::new(0);
    timed(threads, |thread| {
        let frame: Vec<AtomicU64> = (0..FRAME).map(|_| AtomicU64::new(0)).collect();
        let (mut at, mut until_act) = (0, act_every);
        for event in 0..EVENTS {
            until_act -= 1;
            if until_act == 0 {
                until_act = act_every;
                black_box(next.fetch_add(1, Ordering::AcqRel));
            }
            frame[at].store(thread << 32 | event, Ordering::Release);
            at = if at + 1 == FRAME { 0 } else { at + 1 };
        }
        black_box(frame);
    })
}

/// Nanoseconds of processor time per event.
fn timed(threads: u64, work: impl Fn(u64) + Sync) -> f64 {
    let total = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let (work, total) = (&work, &total);
            scope.spawn(move || {
                let before = processor_time();
                work(thread);
                total.fetch_add(processor_time() - before, Ordering::Relaxed);
            });
        }
    });
    total.into_inner() as f64 / (threads * EVENTS) as f64
}

/// What this thread has used, in nanoseconds.
fn processor_time() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let first = text.split_whitespace().next();
    first.and_then(|word| word.parse().ok()).unwrap_or(0)
}

fn main() {
    for threads in [1, 2, 4] {
        println!(
            "{threads} threads: one list {:5.2} ns an event",
            shared(threads)
        );
        for act_every in ACT_EVERY {
            let what = match act_every {
                u64::MAX => "no acts".to_string(),
                n => format!("an act every {n} events"),
            };
            println!(
                "{threads} threads: own frames, {what}: {:5.2} ns",
                own(threads, act_every)
            );
        }
    }
}

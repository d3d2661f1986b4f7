//! `kernels NAME`: one of a few small programs, each bound by something else. Without a name they are listed.

mod numeric;

use std::collections::{BTreeMap, HashMap};
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, RwLock};
use std::thread;

const THREADS: u64 = 2;

type Kernel = (&'static str, fn() -> u64);

const KERNELS: &[Kernel] = &[
    ("mutex", mutex),
    ("channel", channels),
    ("map", map),
    ("tree", tree),
    ("matrix", matrix),
    ("sort", sort),
    ("arc", arc),
    ("text", text),
    ("dot", numeric::dot),
    ("sum", numeric::sum),
    ("stencil", numeric::stencil),
];

fn main() {
    let wanted = std::env::args().nth(1);
    match wanted.and_then(|name| KERNELS.iter().find(|(known, _)| *known == name)) {
        Some((_, kernel)) => println!("{}", kernel()),
        None => KERNELS.iter().for_each(|(name, _)| println!("{name}")),
    }
}

/// Runs the same on all threads and adds up.
fn each(work: impl Fn(u64) -> u64 + Sync) -> u64 {
    let work = &work;
    thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|n| scope.spawn(move || work(n))).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or(0))
            .sum()
    })
}

/// A counter under a lock.
fn mutex() -> u64 {
    let count = Mutex::new(0_u64);
    each(|_| {
        for _ in 0..3_000_000 {
            if let Ok(mut count) = count.lock() {
                *count += 1;
            }
        }
        0
    });
    count.into_inner().unwrap_or(0)
}

/// Boxes through a channel. It has an end, so that its memory does not depend on which side runs first.
fn channels() -> u64 {
    let (send, receive) = sync_channel::<Box<u64>>(1024);
    thread::scope(|scope| {
        scope.spawn(move || (0..1_000_000).for_each(|n| drop(send.send(Box::new(n)))));
        receive.iter().map(|n| *n).sum()
    })
}

/// A hash map that is mostly read.
fn map() -> u64 {
    let map = RwLock::new(HashMap::<u64, u64>::new());
    each(|own| {
        let mut sum = 0;
        for n in 0..600_000 {
            let key = (n * 7919 + own) % 5000;
            if n % 16 == 0 {
                map.write().map(|mut map| map.insert(key, n)).ok();
            } else {
                sum += map
                    .read()
                    .ok()
                    .and_then(|map| map.get(&key).copied())
                    .unwrap_or(1)
                    % 2;
            }
        }
        sum
    })
}

/// Trees that nobody shares.
fn tree() -> u64 {
    each(|own| {
        let mut tree = BTreeMap::new();
        for n in 0..1_000_000_u64 {
            tree.insert(n.wrapping_mul(0x9e37_79b9) % 200_003, n + own);
        }
        tree.values().sum()
    })
}

/// Rows of a product, each thread its own.
fn matrix() -> u64 {
    const SIZE: usize = 500;
    let (a, b) = (vec![2_u64; SIZE * SIZE], vec![3_u64; SIZE * SIZE]);
    let mut product = vec![0_u64; SIZE * SIZE];
    thread::scope(|scope| {
        for (part, rows) in product
            .chunks_mut(SIZE * SIZE / THREADS as usize)
            .enumerate()
        {
            let (a, b) = (&a, &b);
            scope.spawn(move || {
                let first = part * SIZE / THREADS as usize;
                for (row, line) in rows.chunks_mut(SIZE).enumerate() {
                    for (column, cell) in line.iter_mut().enumerate() {
                        *cell = (0..SIZE)
                            .map(|k| a[(first + row) * SIZE + k] * b[k * SIZE + column])
                            .sum();
                    }
                }
            });
        }
    });
    product.iter().sum()
}

fn sort() -> u64 {
    each(|own| {
        let mut list: Vec<u64> = (0..1_500_000)
            .map(|n: u64| n.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ own)
            .collect();
        list.sort();
        black_box(list[7]) % 10
    })
}

/// Shared owners, and a counter without a lock.
fn arc() -> u64 {
    let data = Arc::new(AtomicU64::new(0));
    each(|_| {
        for _ in 0..3_000_000 {
            let own = Arc::clone(&data);
            own.fetch_add(1, Ordering::Relaxed);
        }
        0
    });
    data.load(Ordering::Relaxed)
}

/// Strings that come and go.
fn text() -> u64 {
    each(|own| {
        (0..600_000)
            .map(|n| format!("{n}-{own}").len() as u64)
            .sum()
    })
}

//! Loops over slices of numbers, which the compiler turns into vectors where nothing is to be seen.

use crate::{THREADS, each};
use std::hint::black_box;
use std::thread;

const LENGTH: usize = 100_000;

/// Two slices that all threads read.
pub fn dot() -> u64 {
    let (a, b) = (vec![2.0_f64; LENGTH], vec![3.0_f64; LENGTH]);
    each(|_| {
        let product = || a.iter().zip(&b).map(|(a, b)| a * b).sum::<f64>();
        (0..600).map(|_| black_box(product()) as u64).sum()
    })
}

/// One slice of whole numbers.
pub fn sum() -> u64 {
    let list: Vec<u32> = (0..LENGTH as u32).collect();
    each(|_| {
        let sum = || list.iter().fold(0_u32, |sum, n| sum.wrapping_add(*n));
        (0..1500).map(|_| u64::from(black_box(sum()))).sum()
    })
}

/// Steps of a grid's heat: each thread writes rows of its own and reads its neighbours'.
pub fn stencil() -> u64 {
    const SIZE: usize = 512;
    let mut now: Vec<f64> = (0..SIZE * SIZE).map(|n| (n % 7) as f64).collect();
    let mut next = now.clone();
    for _ in 0..150 {
        thread::scope(|scope| {
            let rows = SIZE / THREADS as usize;
            for (part, lines) in next.chunks_mut(rows * SIZE).enumerate() {
                let now = &now;
                scope.spawn(move || {
                    for (row, line) in lines.chunks_mut(SIZE).enumerate() {
                        let row = part * rows + row;
                        if row == 0 || row == SIZE - 1 {
                            continue;
                        }
                        let at = |row: usize| &now[row * SIZE..(row + 1) * SIZE];
                        let (above, here, below) = (at(row - 1), at(row), at(row + 1));
                        for column in 1..SIZE - 1 {
                            line[column] = 0.25
                                * (above[column]
                                    + below[column]
                                    + here[column - 1]
                                    + here[column + 1]);
                        }
                    }
                });
            }
        });
        std::mem::swap(&mut now, &mut next);
    }
    now.iter().sum::<f64>() as u64
}

//! Which worker runs which block next.
//!
//! Every worker begins in a part of the grid of its own, so that neighbouring blocks, which mostly touch neighbouring
//! memory, do not meet in the shadow of one page; who has no more takes from the end of the longest part left. As soon
//! as a block has used up its turn it may be waiting for one that comes before it: from then on the lowest comes first.

/// The blocks that have not begun.
#[derive(Debug)]
pub struct Shares {
    /// What is left of each part, first and last + 1.
    parts: Vec<(u32, u32)>,
    in_order: bool,
}

impl Shares {
    pub fn new(blocks: u32, workers: usize) -> Shares {
        let at = |k: usize| (u64::from(blocks) * k as u64 / workers as u64) as u32;
        Shares {
            parts: (0..workers).map(|k| (at(k), at(k + 1))).collect(),
            in_order: false,
        }
    }

    /// From now on the lowest block that is left comes first.
    pub fn keep_order(&mut self) {
        self.in_order = true;
    }

    /// The next block for a worker.
    pub fn next(&mut self, worker: usize) -> Option<u32> {
        let left = |p: &(u32, u32)| p.1 - p.0;
        let front = |p: &mut (u32, u32)| {
            p.0 += 1;
            p.0 - 1
        };
        if self.in_order {
            return self.parts.iter_mut().find(|p| left(p) > 0).map(front);
        }
        if let Some(p) = self.parts.get_mut(worker).filter(|p| left(p) > 0) {
            return Some(front(p));
        }
        let longest = self.parts.iter_mut().max_by_key(|p| left(p))?;
        (left(longest) > 0).then(|| {
            longest.1 -= 1;
            longest.1
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_block_comes_once() {
        for (blocks, workers) in [(1, 1), (7, 2), (2, 2), (100, 3), (5, 8)] {
            for order_after in [0, 3, 1000] {
                let mut s = Shares::new(blocks, workers);
                let mut seen = Vec::new();
                for turn in 0.. {
                    if turn == order_after {
                        s.keep_order();
                    }
                    // The first worker is as fast as all others together.
                    let who = if turn % 2 == 0 { 0 } else { turn % workers };
                    match s.next(who) {
                        Some(b) => seen.push(b),
                        None => break,
                    }
                }
                if order_after == 0 {
                    assert!(seen.is_sorted());
                }
                seen.sort_unstable();
                assert_eq!(seen, (0..blocks).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn neighbours_stay_together() {
        let mut s = Shares::new(10, 2);
        assert_eq!(
            [s.next(0), s.next(1), s.next(0)],
            [Some(0), Some(5), Some(1)]
        );
        s.keep_order();
        assert_eq!([s.next(1), s.next(1)], [Some(2), Some(3)]);
    }
}

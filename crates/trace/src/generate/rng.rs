//! Random numbers that are the same on every machine and in every version: SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).

/// A stream of numbers from a seed.
#[derive(Clone, Debug)]
pub struct Rng {
    state: u64,
}

impl Rng {
    pub fn new(seed: u64) -> Rng {
        Rng { state: seed }
    }

    pub fn draw(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`; 0 if there is none.
    pub fn below(&mut self, bound: u64) -> u64 {
        // The bias of the remainder is far below what a test could notice: bounds are small.
        if bound == 0 { 0 } else { self.draw() % bound }
    }

    /// True `per_mille` times in a thousand.
    pub fn chance(&mut self, per_mille: u32) -> bool {
        self.below(1000) < u64::from(per_mille)
    }

    /// One of the items; `None` if there are none.
    pub fn pick<T: Copy>(&mut self, items: &[T]) -> Option<T> {
        items.get(self.below(items.len() as u64) as usize).copied()
    }

    /// One of the items, as often as its weight says; `None` if all weigh nothing.
    pub fn weighted<T: Copy>(&mut self, items: &[(u32, T)]) -> Option<T> {
        let total: u64 = items.iter().map(|(weight, _)| u64::from(*weight)).sum();
        let mut left = self.below(total);
        for (weight, item) in items {
            match left.checked_sub(u64::from(*weight)) {
                Some(rest) => left = rest,
                None => return Some(*item),
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_is_the_published_one() {
        let mut rng = Rng::new(1234567);
        let first: Vec<u64> = (0..3).map(|_| rng.draw()).collect();
        assert_eq!(
            first,
            [
                6457827717110365317,
                3203168211198807973,
                9817491932198370423
            ]
        );
    }

    #[test]
    fn weights_are_kept_and_nothing_comes_from_nothing() {
        let mut rng = Rng::new(1);
        let mut counts = [0; 3];
        for _ in 0..10_000 {
            counts[rng.weighted(&[(1, 0), (0, 1), (3, 2)]).expect("weights")] += 1;
        }
        assert_eq!(counts[1], 0);
        assert!((2200..2800).contains(&counts[0]));
        assert_eq!(rng.weighted(&[(0, 0)]), None);
        assert_eq!(rng.pick::<u8>(&[]), None);
    }
}

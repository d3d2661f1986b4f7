//! What is kept for each strand: an array for the first few thousand, which most programs never exceed, and a map for
//! the rest, so that a strange number in a recording does not cost memory.

use deadheat_trace::Strand;

use crate::hash::QuickMap;

/// Strands with smaller numbers are in the array.
const NEAR: usize = 1 << 12;

/// A value for each of some strands.
#[derive(Clone, Debug)]
pub struct PerStrand<T> {
    near: Vec<Option<T>>,
    far: QuickMap<Strand, T>,
}

impl<T> Default for PerStrand<T> {
    fn default() -> Self {
        PerStrand {
            near: Vec::new(),
            far: QuickMap::default(),
        }
    }
}

impl<T> PerStrand<T> {
    #[inline(always)]
    pub fn get(&self, strand: Strand) -> Option<&T> {
        match self.near.get(strand.0 as usize) {
            Some(value) => value.as_ref(),
            None if (strand.0 as usize) < NEAR => None,
            None => self.far.get(&strand),
        }
    }

    #[inline(always)]
    pub fn get_mut(&mut self, strand: Strand) -> Option<&mut T> {
        match self.near.get_mut(strand.0 as usize) {
            Some(value) => value.as_mut(),
            None if (strand.0 as usize) < NEAR => None,
            None => self.far.get_mut(&strand),
        }
    }

    pub fn contains(&self, strand: Strand) -> bool {
        self.get(strand).is_some()
    }

    /// The strand's value, made if there is none.
    #[inline]
    pub fn get_or_insert_with(&mut self, strand: Strand, make: impl FnOnce() -> T) -> &mut T {
        let at = strand.0 as usize;
        if at >= NEAR {
            return self.far.entry(strand).or_insert_with(make);
        }
        if at >= self.near.len() {
            self.near.resize_with(at + 1, || None);
        }
        self.near[at].get_or_insert_with(make)
    }

    pub fn insert(&mut self, strand: Strand, value: T) -> Option<T> {
        let at = strand.0 as usize;
        if at >= NEAR {
            return self.far.insert(strand, value);
        }
        if at >= self.near.len() {
            self.near.resize_with(at + 1, || None);
        }
        self.near[at].replace(value)
    }

    pub fn remove(&mut self, strand: Strand) -> Option<T> {
        match self.near.get_mut(strand.0 as usize) {
            Some(value) => value.take(),
            None => self.far.remove(&strand),
        }
    }

    pub fn values(&self) -> impl Iterator<Item = &T> {
        self.near.iter().flatten().chain(self.far.values())
    }

    /// Calls `f` with each strand and its value.
    pub fn each_mut(&mut self, mut f: impl FnMut(Strand, &mut T)) {
        for (at, value) in self.near.iter_mut().enumerate() {
            if let Some(value) = value {
                f(Strand(at as u32), value);
            }
        }
        self.far
            .iter_mut()
            .for_each(|(&strand, value)| f(strand, value));
    }

    /// Keeps the values that `stays` says.
    pub fn retain(&mut self, mut stays: impl FnMut(&mut T) -> bool) {
        for value in &mut self.near {
            if value.as_mut().is_some_and(|value| !stays(value)) {
                *value = None;
            }
        }
        self.far.retain(|_, value| stays(value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    #[test]
    fn it_is_a_map() {
        let mut ours = PerStrand::default();
        let mut naive = HashMap::new();
        let mut seed = 1u64;
        for n in 0..20_000u64 {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1);
            let strand = Strand(match seed >> 60 {
                0 => u32::MAX - (seed >> 40) as u32 % 3,
                1 => 4090 + (seed >> 40) as u32 % 12,
                _ => (seed >> 40) as u32 % 50,
            });
            match seed >> 33 & 3 {
                0 => assert_eq!(ours.remove(strand), naive.remove(&strand)),
                1 => assert_eq!(ours.insert(strand, n), naive.insert(strand, n)),
                2 => assert_eq!(
                    *ours.get_or_insert_with(strand, || n),
                    *naive.entry(strand).or_insert(n)
                ),
                _ => assert_eq!(ours.get_mut(strand), naive.get_mut(&strand)),
            }
            assert_eq!(ours.get(strand), naive.get(&strand));
            assert_eq!(ours.contains(strand), naive.contains_key(&strand));
            if n % 100 == 0 {
                ours.retain(|value| *value % 7 != 0);
                naive.retain(|_, value| *value % 7 != 0);
            }
        }
        let mut values: Vec<u64> = ours.values().copied().collect();
        let mut expected: Vec<u64> = naive.values().copied().collect();
        values.sort_unstable();
        expected.sort_unstable();
        assert_eq!(values, expected);
    }
}

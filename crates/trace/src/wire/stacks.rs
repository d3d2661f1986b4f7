//! Sets of call stacks: which ones somebody still needs.

use super::StackNode;

/// Some call stacks. The empty one is in none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StackSet {
    words: Vec<u64>,
}

impl StackSet {
    /// Adds a stack; true if it was not there.
    #[inline]
    pub fn add(&mut self, StackNode(number): StackNode) -> bool {
        if number == 0 {
            return false;
        }
        let (at, bit) = (number as usize / 64, 1 << (number % 64));
        if self.words.len() <= at {
            self.words.resize(at + 1, 0);
        }
        let new = self.words[at] & bit == 0;
        self.words[at] |= bit;
        new
    }

    #[inline]
    pub fn has(&self, StackNode(number): StackNode) -> bool {
        let word = self.words.get(number as usize / 64);
        word.is_some_and(|word| word >> (number % 64) & 1 == 1)
    }

    /// Adds all that the other one has.
    pub fn join(&mut self, other: &StackSet) {
        if self.words.len() < other.words.len() {
            self.words.resize(other.words.len(), 0);
        }
        for (mine, theirs) in self.words.iter_mut().zip(&other.words) {
            *mine |= theirs;
        }
    }

    /// Adds the stacks that some words of a stream name, from the beginning of an item on.
    pub fn add_words(&mut self, mut words: &[u64]) {
        while let Some(&first) = words.first() {
            if let Some(stack) = super::stack_of(first) {
                self.add(stack);
            }
            words = words.get(super::words_of(first)..).unwrap_or_default();
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = StackNode> + '_ {
        self.words.iter().zip(0u32..).flat_map(|(&word, at)| {
            let mut left = word;
            std::iter::from_fn(move || {
                let bit = (left != 0).then(|| left.trailing_zeros())?;
                left &= left - 1;
                Some(StackNode(at * 64 + bit))
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn it_is_a_set() {
        let mut rng = crate::generate::Rng::new(5);
        for most in [3, 70, 5000] {
            let (mut ours, mut naive) = (StackSet::default(), BTreeSet::new());
            let mut other = StackSet::default();
            for _ in 0..200 {
                let number = StackNode(rng.below(most) as u32);
                if rng.below(4) == 0 {
                    other.add(number);
                } else {
                    assert_eq!(ours.add(number), number.0 != 0 && naive.insert(number));
                }
            }
            assert!(ours.iter().eq(naive.iter().copied()));
            ours.join(&other);
            naive.extend(other.iter());
            assert!(ours.iter().eq(naive.iter().copied()));
            let all = (0..most as u32 + 100).map(StackNode);
            all.for_each(|number| assert_eq!(ours.has(number), naive.contains(&number)));
        }
    }
}

//! What became of a cell last time: for the same words and the same access the outcome is the same.
//!
//! A strand that streams over shared memory makes the same change to one cell after another. The memo of the strand gives
//! the outcome without judging again, and makes all those cells name one common list. It is a cache: what it forgets
//! is judged anew.

/// A cell's two words; the second is 0 if the first names a list, whose last-entry hint says nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Words {
    pub first: u64,
    pub second: u64,
}

impl Words {
    /// Of a cell with one entry.
    #[inline(always)]
    pub const fn of_one(first: u64) -> Words {
        Words { first, second: 0 }
    }
}

#[derive(Clone, Copy)]
struct Change {
    before: Words,
    new: u64,
    after: Words,
}

const SIZE: usize = 512;
const NO_CHANGE: Change = Change {
    before: Words {
        first: 0,
        second: 0,
    },
    new: 0,
    after: Words {
        first: 0,
        second: 0,
    },
};
const HOPE: i32 = 64;

/// The changes that one strand made lately.
pub struct Memo {
    changes: [Change; SIZE],
    /// Grows whenever an outcome or a list is used again, shrinks with each list that must be made: below zero, common
    /// lists do not pay.
    hope: i32,
}

impl Memo {
    pub const fn new() -> Self {
        Memo {
            changes: [NO_CHANGE; SIZE],
            hope: HOPE,
        }
    }

    #[inline(always)]
    fn index(before: Words, new: u64) -> usize {
        let mixed = before.first ^ before.second.rotate_left(21) ^ new.rotate_left(42);
        (mixed.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 55) as usize % SIZE
    }

    /// What the cell became when this strand last made this change without a race.
    #[inline(always)]
    pub fn recall(&mut self, before: Words, new: u64) -> Option<Words> {
        let change = &self.changes[Self::index(before, new)];
        if change.before == before && change.new == new {
            self.hope = HOPE.min(self.hope + 1);
            Some(change.after)
        } else {
            None
        }
    }

    /// Is it worth making a common list after this miss?
    pub fn hopeful(&mut self) -> bool {
        self.hope -= 1;
        if self.hope < -8 * HOPE {
            // Try again now and then: programs have phases.
            self.hope = HOPE / 4;
        }
        self.hope >= 0
    }

    /// The list that was needed existed already: common lists do pay.
    pub fn encourage(&mut self) {
        self.hope = (self.hope + 4).min(HOPE);
    }

    /// Common lists have not paid for a while.
    #[cfg(test)]
    pub fn despair(&mut self) {
        self.hope = -1;
    }

    pub fn remember(&mut self, before: Words, new: u64, after: Words) {
        self.changes[Self::index(before, new)] = Change { before, new, after };
    }
}

impl Default for Memo {
    fn default() -> Self {
        Memo::new()
    }
}

//! One remembered access to an 8-byte cell, packed in 64 bits, and the two laws every engine obeys: when two accesses
//! race, and when an old one may be forgotten. No allocation, no std: the runtime uses these very functions.
//!
//! ```text
//!   63            48 47                                12  11   10    9     8    7        0
//!  +----------------+------------------------------------+----+----+-----+-----+-----------+
//!  |      slot      |                seq                 |list|lock|write|plain| byte mask |
//!  +----------------+------------------------------------+----+----+-----+-----+-----------+
//! ```
//!
//! - `mask`: bit i is byte i of the cell.
//! - `plain` is 1 for an ordinary access and 0 for an atomic one; `write` is 1 for a write (a read-modify-write and a
//!   free are writes) and 0 for a read. With this choice of polarity every rule below is one `and` with a complement:
//!   in both bits, 1 is what conflicts with more.
//! - `lock` and `list` belong to the owner of the cell; no function here looks at them.
//! - `slot` is the strand's place in vector clocks, `seq` that strand's number for this access. The numbers of a slot
//!   only grow, so an access happened before strand t's present exactly if `seq <= clock_t[slot]`: the `covered`
//!   parameter of the rules. A strand covers all its own accesses. A slot may be handed to a new strand only if the
//!   end of its last strand happened before the beginning of the new one, or else the two would cover each other.
//!
//! Guarantee: an entry is dropped only in favour of one that [`subsumes`] it. Then every byte that would have raced with
//! the dropped entry races with the one that stayed, so the set of racing bytes is unchanged. The tests enumerate all
//! cases, and show that the law is the weakest possible: whatever it refuses would lose a byte.

/// The bytes of the cell.
pub const MASK: u64 = 0xff;
/// Set for an ordinary access, clear for an atomic one.
pub const PLAIN: u64 = 1 << 8;
/// Set for a write, clear for a read.
pub const WRITE: u64 = 1 << 9;
/// For the cell's owner: somebody is changing the cell.
pub const LOCK: u64 = 1 << 10;
/// For the cell's owner: the cell has more than one entry.
pub const LIST: u64 = 1 << 11;
/// What an access is, without who did it and when: mask, plain and write.
pub const WHAT: u64 = MASK | PLAIN | WRITE;

/// Where `seq` begins, and how wide it is.
pub const SEQ_SHIFT: u32 = 12;
pub const SEQ_BITS: u32 = 36;
/// The last sequence number of a slot. Whoever numbers must not go past it.
pub const SEQ_MAX: u64 = (1 << SEQ_BITS) - 1;
/// Where `slot` begins; it fills the word.
pub const SLOT_SHIFT: u32 = 48;

const _: () = assert!(SEQ_SHIFT + SEQ_BITS == SLOT_SHIFT);
const _: () = assert!(WHAT | LOCK | LIST == (1 << SEQ_SHIFT) - 1);
const _: () = assert!(size_of::<Entry>() == 8);

/// Is the access ordinary or atomic?
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Care {
    Atomic,
    Plain,
}

/// Does the access write?
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Op {
    Read,
    Write,
}

/// A remembered access. The word 0 is no access at all: its mask is empty, so it races with nothing and anything
/// that covers it subsumes it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct Entry(pub u64);

impl Entry {
    pub const EMPTY: Entry = Entry(0);

    /// Packs an access; `lock` and `list` are clear.
    #[inline(always)]
    pub const fn new(slot: u16, seq: u64, op: Op, care: Care, mask: u8) -> Entry {
        debug_assert!(seq <= SEQ_MAX);
        Entry(stamp(slot, seq) | need(op, care, mask))
    }

    #[inline(always)]
    pub const fn mask(self) -> u8 {
        (self.0 & MASK) as u8
    }

    #[inline(always)]
    pub const fn op(self) -> Op {
        if self.0 & WRITE != 0 {
            Op::Write
        } else {
            Op::Read
        }
    }

    #[inline(always)]
    pub const fn care(self) -> Care {
        if self.0 & PLAIN != 0 {
            Care::Plain
        } else {
            Care::Atomic
        }
    }

    #[inline(always)]
    pub const fn seq(self) -> u64 {
        (self.0 >> SEQ_SHIFT) & SEQ_MAX
    }

    #[inline(always)]
    pub const fn slot(self) -> u16 {
        (self.0 >> SLOT_SHIFT) as u16
    }

    /// The same access without the bytes of `gone`: what stays when a part of the cell becomes fresh memory.
    #[inline(always)]
    pub const fn without(self, gone: u8) -> Entry {
        Entry(self.0 & !(gone as u64))
    }

    /// The same access under another number of its strand.
    #[inline(always)]
    pub const fn with_seq(self, seq: u64) -> Entry {
        Entry(self.0 & !(SEQ_MAX << SEQ_SHIFT) | seq << SEQ_SHIFT)
    }

    /// `seq <= clock[slot]`, given that slot's component of the present strand's clock.
    #[inline(always)]
    pub const fn covered_by(self, component: u64) -> bool {
        self.seq() <= component
    }
}

/// Slot and number at their places in the word, all else zero: the lowest word of that (slot, seq).
#[inline(always)]
pub const fn stamp(slot: u16, seq: u64) -> u64 {
    ((slot as u64) << SLOT_SHIFT) | (seq << SEQ_SHIFT)
}

/// What an access is, at its place in the word: the low bits of its entry, and the `need` of [`same_step_covers`].
#[inline(always)]
pub const fn need(op: Op, care: Care, mask: u8) -> u64 {
    let write = match op {
        Op::Read => 0,
        Op::Write => WRITE,
    };
    let plain = match care {
        Care::Atomic => 0,
        Care::Plain => PLAIN,
    };
    write | plain | mask as u64
}

/// Two accesses race if they touch a byte in common, one of them writes, one of them is plain, and the older did not
/// happen before the newer (`covered` says whether it did).
#[inline(always)]
pub const fn races(old: Entry, new: Entry, covered: bool) -> bool {
    let either = old.0 | new.0;
    !covered && old.0 & new.0 & MASK != 0 && either & (PLAIN | WRITE) == PLAIN | WRITE
}

/// The bytes on which the two race; none if they do not.
#[inline(always)]
pub const fn racing_bytes(old: Entry, new: Entry, covered: bool) -> u8 {
    if races(old, new, covered) {
        (old.0 & new.0 & MASK) as u8
    } else {
        0
    }
}

/// May `old` be forgotten once `new` is remembered? If `old` happened before `new`, touches no byte that `new` does
/// not, and conflicts with nothing that `new` does not: `new` is a write or `old` a read, `new` is plain or `old`
/// atomic.
#[inline(always)]
pub const fn subsumes(new: Entry, old: Entry, covered: bool) -> bool {
    covered && old.0 & !new.0 & WHAT == 0
}

/// What is left to remember of `old` once `new` is remembered: [`subsumes`] for each byte by itself, for an entry is one
/// access to each of its bytes. An empty mask means nothing is left.
#[inline(always)]
pub const fn remains(old: Entry, new: Entry, covered: bool) -> Entry {
    if covered && old.0 & !new.0 & (PLAIN | WRITE) == 0 {
        Entry(old.0 & !(new.0 & MASK))
    } else {
        old
    }
}

/// The first test of the fast path: is `word` an access of my own present step that makes the access described by
/// `need` redundant?
///
/// `step_base` is the [`stamp`] of the first number of the step, `step_span` the count of numbers the step has used,
/// shifted by [`SEQ_SHIFT`]. The step must have begun no earlier than the strand's last release: then nobody can have
/// been told of `word` and not of the new access, and whatever races with the new one has raced with `word`.
///
/// A word with `list` set is judged by its other fields all the same. Whoever gives such words another meaning
/// must keep them out of the range of every step, for instance by a slot that no strand has.
#[inline(always)]
pub const fn same_step_covers(word: u64, step_base: u64, step_span: u64, need: u64) -> bool {
    word.wrapping_sub(step_base) < step_span && word & need == need
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPS: [Op; 2] = [Op::Read, Op::Write];
    const CARES: [Care; 2] = [Care::Atomic, Care::Plain];

    #[test]
    fn what_remains_is_what_is_not_subsumed_byte_by_byte() {
        for old in all(1, 0..=7) {
            for new in all(2, 0..=7) {
                for covered in [false, true] {
                    let mut left = 0;
                    for byte in 0..8u8 {
                        let only = |entry: Entry| entry.without(!(1 << byte));
                        if old.mask() & 1 << byte != 0
                            && !(new.mask() & 1 << byte != 0
                                && subsumes(only(new), only(old), covered))
                        {
                            left |= 1 << byte;
                        }
                    }
                    assert_eq!(remains(old, new, covered), old.without(!left));
                }
            }
        }
    }

    /// All kinds of accesses by one slot to the bytes in `masks`.
    fn all(slot: u16, masks: core::ops::RangeInclusive<u8>) -> impl Iterator<Item = Entry> + Clone {
        masks.flat_map(move |mask| {
            OPS.into_iter().flat_map(move |op| {
                CARES
                    .into_iter()
                    .map(move |care| Entry::new(slot, 7, op, care, mask))
            })
        })
    }

    /// The definition of a race in the words of the standard, [intro.races], without the bit tricks.
    fn races_by_definition(old: Entry, new: Entry, covered: bool) -> bool {
        let conflict = (old.op() == Op::Write || new.op() == Op::Write)
            && (0..8).any(|byte| old.mask() >> byte & 1 == 1 && new.mask() >> byte & 1 == 1);
        let both_atomic = old.care() == Care::Atomic && new.care() == Care::Atomic;
        conflict && !both_atomic && !covered
    }

    #[test]
    fn fields_come_back() {
        for slot in [0, 1, 0x7fff, u16::MAX] {
            for seq in [0, 1, 0x1234_5678, SEQ_MAX] {
                for op in OPS {
                    for care in CARES {
                        for mask in 0..=u8::MAX {
                            let e = Entry::new(slot, seq, op, care, mask);
                            assert_eq!(
                                (e.slot(), e.seq(), e.op(), e.care(), e.mask()),
                                (slot, seq, op, care, mask)
                            );
                            assert_eq!(e.0 & (LOCK | LIST), 0);
                            assert_eq!(e.without(0x0f).mask(), mask & 0xf0);
                            assert_eq!(Entry(e.0 | LOCK | LIST).seq(), seq);
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn racing_is_the_definition_for_all_pairs() {
        for old in all(1, 0..=u8::MAX) {
            for new in all(2, 0..=u8::MAX) {
                for covered in [false, true] {
                    let races_now = races(old, new, covered);
                    assert_eq!(races_now, races_by_definition(old, new, covered));
                    assert_eq!(races_now, racing_bytes(old, new, covered) != 0);
                    assert_eq!(races_now, races(new, old, covered), "racing is symmetric");
                }
            }
        }
    }

    /// A later access `f`, and whether it covers `old` and `new`. Happens-before is transitive: if `old` happened
    /// before `new`, `f` cannot know `new` without knowing `old`.
    fn futures(old_before_new: bool) -> impl Iterator<Item = (Entry, bool, bool)> {
        let knows = [(false, false), (true, false), (false, true), (true, true)];
        all(3, 1..=7).flat_map(move |f| {
            knows
                .into_iter()
                .filter(move |&(knows_old, knows_new)| !(old_before_new && knows_new && !knows_old))
                .map(move |(knows_old, knows_new)| (f, knows_old, knows_new))
        })
    }

    /// Three bytes suffice to show every relation of two masks (disjoint, equal, inside, overlapping).
    #[test]
    fn forgetting_by_the_law_loses_nothing_and_no_weaker_law_would_do() {
        let (mut kept, mut dropped) = (0, 0);
        for old in all(1, 1..=7) {
            for new in all(2, 1..=7) {
                for covered in [false, true] {
                    let lossless = futures(covered).all(|(f, knows_old, knows_new)| {
                        let lost =
                            racing_bytes(old, f, knows_old) & !racing_bytes(new, f, knows_new);
                        lost == 0
                    });
                    assert_eq!(
                        subsumes(new, old, covered),
                        lossless,
                        "old {old:?} new {new:?} covered {covered}"
                    );
                    if lossless { dropped += 1 } else { kept += 1 }
                }
            }
        }
        assert!(kept > 0 && dropped > 0);
    }

    #[test]
    fn subsuming_is_reflexive_and_transitive() {
        for a in all(1, 0..=7) {
            assert!(subsumes(a, a, true));
            for b in all(2, 0..=7) {
                for c in all(3, 0..=7) {
                    if subsumes(b, a, true) && subsumes(c, b, true) {
                        assert!(subsumes(c, a, true));
                    }
                }
            }
        }
    }

    #[test]
    fn the_empty_word_is_harmless() {
        for e in all(1, 0..=u8::MAX) {
            assert!(!races(Entry::EMPTY, e, false));
            assert!(subsumes(e, Entry::EMPTY, true));
        }
    }

    #[test]
    fn a_step_covers_by_its_range_of_numbers_and_the_law() {
        let (slot, first, used) = (5, 100, 3);
        let (base, span) = (stamp(slot, first), used << SEQ_SHIFT);
        for word_slot in [4, 5, 6] {
            for seq in 98..=104 {
                for what in all(word_slot, 0..=7) {
                    for extra in [0, LOCK, LIST, LOCK | LIST] {
                        let word = Entry(stamp(word_slot, seq) | what.0 & WHAT | extra);
                        for wanted in all(slot, 1..=7) {
                            let mine =
                                word.slot() == slot && (first..first + used).contains(&word.seq());
                            assert_eq!(
                                same_step_covers(word.0, base, span, wanted.0 & WHAT),
                                mine && subsumes(word, wanted, true),
                            );
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn a_step_that_has_recorded_nothing_covers_nothing() {
        let base = stamp(9, 1);
        for what in all(9, 0..=u8::MAX) {
            assert!(!same_step_covers(
                what.0,
                base,
                0,
                need(Op::Read, Care::Atomic, 0)
            ));
        }
    }

    #[test]
    fn covered_means_the_clock_has_reached_the_number() {
        let e = Entry::new(1, 10, Op::Write, Care::Plain, 1);
        assert!(!e.covered_by(9) && e.covered_by(10) && e.covered_by(11));
    }
}

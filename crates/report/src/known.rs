//! Races inside well-known crates that their authors know of and whoever uses the crates can do nothing about. docs/rust.md argues
//! each from the source.
//!
//! They are counted, not shown, unless the user wants to see them. Both sides must be the crate's own functions, so that no
//! race of a program's own is ever left out; must not hold a race that a program can cause by a mistake.

use crate::suppress::Pattern;
use crate::symbolize::{Symbolized, demangle};
use std::sync::LazyLock;

/// One such race: what its two sides are, in any order.
#[derive(Debug)]
pub struct KnownRace {
    /// What a report says of it.
    pub title: &'static str,
    sides: [Side; 2],
}

/// Functions that call one another, innermost first; those of the standard library between them do not count.
type Side = Vec<Pattern>;

/// What a report says of where to read more, and how to see them.
pub const SOURCE: &str = "known, see docs/rust.md; `--crate-races` shows it";

/// All of them: title, and the functions of both sides.
const TABLE: &[(&str, [&[&str]; 2])] = &[
    (
        "crossbeam-deque: a thief reads a slot that the owner writes, and forgets what it read",
        [
            &[
                "^crossbeam_deque::deque::Buffer<*>*::read",
                "^crossbeam_deque::deque::Stealer<*>*::steal*",
            ],
            &["^crossbeam_deque::deque::Buffer<*>*::write"],
        ],
    ),
    (
        "crossbeam-utils: AtomicCell reads without its lock, and forgets what it read if somebody wrote",
        [
            &["^crossbeam_utils::atomic::atomic_cell::atomic_load"],
            &["^crossbeam_utils::atomic::atomic_cell::atomic_"],
        ],
    ),
];

pub static KNOWN: LazyLock<Vec<KnownRace>> = LazyLock::new(|| {
    let side = |functions: &[&str]| functions.iter().map(|name| Pattern::new(name)).collect();
    TABLE
        .iter()
        .map(|&(title, sides)| KnownRace {
            title,
            sides: sides.map(side),
        })
        .collect()
});

impl KnownRace {
    /// Is it the race of these two accesses?
    pub(crate) fn is(&self, one: &[Symbolized], other: &[Symbolized]) -> bool {
        let [first, second] = &self.sides;
        matches(first, one) && matches(second, other)
            || matches(first, other) && matches(second, one)
    }
}

/// Are the innermost functions of the stack, but for the standard library's, those of the side?
fn matches(side: &Side, stack: &[Symbolized]) -> bool {
    let mut own = stack.iter().filter(|entry| !is_standard(entry));
    side.iter().all(|pattern| {
        own.next().is_some_and(|entry| {
            // Of a type's own functions newer compilers write the type in brackets.
            let is = |name: &str| pattern.matches(name.trim_start_matches('<'));
            is(&entry.frame.function)
                || entry
                    .linkage
                    .as_deref()
                    .is_some_and(|linkage| is(&demangle::full(linkage)))
        })
    })
}

/// A function of the standard library, or one that stands before the C library's.
fn is_standard(entry: &Symbolized) -> bool {
    let frame = &entry.frame;
    let function = frame.function.trim_start_matches('<');
    ["core::", "alloc::", "std::"]
        .iter()
        .any(|own| function.starts_with(own))
        || match &frame.file {
            Some(file) => file.starts_with("/rustc/"),
            None => frame.module.is_none(),
        }
}

#[cfg(test)]
mod tests {
    use super::*;
    use deadheat_model::Frame;

    /// A stack from the innermost function on, as `name file` each.
    fn stack(functions: &[&str]) -> Vec<Symbolized> {
        let frame = |text: &&str| {
            let (function, file) = text.rsplit_once(' ').unwrap_or((text, ""));
            Symbolized {
                frame: Frame {
                    function: function.to_owned(),
                    file: (!file.is_empty()).then(|| file.to_owned()),
                    module: Some("program".to_owned()),
                    ..Frame::default()
                },
                linkage: None,
            }
        };
        functions.iter().map(frame).collect()
    }

    const READ: &str = "core::ptr::read_volatile /rustc/59807/library/core/src/ptr/mod.rs";
    const WRITE: &str = "write_volatile<u64> /rustc/59807/library/core/src/ptr/mod.rs";
    const BUFFER_READ: &str = "crossbeam_deque::deque::Buffer<T>::read src/deque.rs";
    const BUFFER_WRITE: &str = "crossbeam_deque::deque::Buffer<T>::write src/deque.rs";
    const STEAL: &str = "crossbeam_deque::deque::Stealer<T>::steal_batch_and_pop src/deque.rs";
    const PUSH: &str = "crossbeam_deque::deque::Worker<T>::push src/deque.rs";
    const POP: &str = "crossbeam_deque::deque::Worker<T>::pop src/deque.rs";
    const NEWER: [&str; 2] = [
        "<crossbeam_deque::deque::Buffer<u64>>::read src/deque.rs",
        "<crossbeam_deque::deque::Stealer<u64>>::steal src/deque.rs",
    ];

    fn is_known(one: &[&str], other: &[&str]) -> bool {
        let (one, other) = (stack(one), stack(other));
        let known = KNOWN.iter().any(|race| race.is(&one, &other));
        assert_eq!(known, KNOWN.iter().any(|race| race.is(&other, &one)));
        known
    }

    #[test]
    fn a_thief_and_the_owner() {
        let thief = [READ, BUFFER_READ, STEAL, "user::main"];
        let owner = [WRITE, BUFFER_WRITE, PUSH, "user::main"];
        assert!(is_known(&thief, &owner));
        assert!(is_known(&NEWER, &owner));
        assert!(is_known(&thief[1..], &owner[1..]), "without the library's");
    }

    #[test]
    fn an_atomic_cell_that_is_read_without_its_lock() {
        let load = "crossbeam_utils::atomic::atomic_cell::atomic_load src/atomic_cell.rs";
        let swap = "crossbeam_utils::atomic::atomic_cell::atomic_swap src/atomic_cell.rs";
        let drop = "<crossbeam_utils::atomic::atomic_cell::AtomicCell<T> as Drop>::drop src/atomic_cell.rs";
        assert!(is_known(&[READ, load], &["core::mem::replace", swap]));
        assert!(!is_known(&[swap], &[swap]));
        assert!(!is_known(
            &[READ, load],
            &["core::ptr::drop_in_place", drop]
        ));
        assert!(!is_known(&[READ, load], &["user::poke", swap]));
    }

    /// With a function of the program's own innermost on a side, or an owner that is used by two threads.
    #[test]
    fn what_is_not_the_crates_own() {
        let owner = [WRITE, BUFFER_WRITE, PUSH];
        for reader in [
            &["user::task", READ, BUFFER_READ, STEAL][..],
            &[READ, "user::Buffer<T>::read", STEAL],
            &["user::Of<crossbeam_deque::deque::Buffer<T>>::read", STEAL],
            &[READ, BUFFER_READ, POP],
            &[READ, BUFFER_READ],
            &[READ],
            &[],
        ] {
            assert!(!is_known(reader, &owner), "{reader:?}");
        }
        assert!(!is_known(&owner, &owner));
        assert!(!is_known(
            &[READ, BUFFER_READ, STEAL],
            &["user::task", BUFFER_WRITE]
        ));
    }
}

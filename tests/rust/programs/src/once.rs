//! What is done once, and seen by all who come later.

use crate::hidden::Hidden;
use crate::shared::Shared;
use crate::{both, pair};
use std::sync::{Arc, LazyLock, Once, OnceLock};

pub fn once_ok() {
    static ONCE: Once = Once::new();
    static DATA: Shared<u64> = Shared::new(0);
    let work = || {
        ONCE.call_once(|| DATA.set(7));
        assert_eq!(DATA.get(), 7);
    };
    both(work, work);
}

/// Looks before it is done.
pub fn once_racy() {
    static ONCE: Once = Once::new();
    static DATA: Shared<u64> = Shared::new(0);
    static ORDER: Hidden = Hidden::new();
    both(
        || {
            ONCE.call_once(|| DATA.set(7));
            ORDER.come();
        },
        || {
            ORDER.await_count(1);
            DATA.get();
            ONCE.call_once(|| ());
        },
    );
}

pub fn once_lock_ok() {
    let cell = Arc::new(OnceLock::new());
    let other = cell.clone();
    both(
        move || assert_eq!(*cell.get_or_init(|| vec![1, 2, 3]), [1, 2, 3]),
        move || assert_eq!(other.get_or_init(|| vec![1, 2, 3]).len(), 3),
    );
}

/// What is in the cell is changed after it was handed out.
pub fn once_lock_racy() {
    static CELL: OnceLock<Shared<u64>> = OnceLock::new();
    let work = || CELL.get_or_init(|| Shared::new(0)).set(1);
    both(work, work);
}

pub fn lazy_lock_ok() {
    static LAZY: LazyLock<Vec<u64>> = LazyLock::new(|| (0..10).collect());
    both(|| assert_eq!(LAZY[3], 3), || assert_eq!(LAZY[4], 4));
}

pub fn lazy_lock_racy() {
    static LAZY: LazyLock<Vec<Shared<u64>>> = LazyLock::new(|| (0..10).map(Shared::new).collect());
    both(|| LAZY[3].set(1), || LAZY[3].set(2));
}

pair! {
    once: once_ok, once_racy;
    once_lock: once_lock_ok, once_lock_racy;
    lazy_lock: lazy_lock_ok, lazy_lock_racy;
}

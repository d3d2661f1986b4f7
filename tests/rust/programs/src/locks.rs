//! std's locks: what they protect, and what was forgotten.

use crate::hidden::Hidden;
use crate::shared::Shared;
use crate::{both, pair};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, RwLock};
use std::thread;
use std::time::Duration;

pub fn mutex_ok() {
    let data = Arc::new((Mutex::new(()), Shared::new(0)));
    let work = |data: Arc<(Mutex<()>, Shared<u64>)>| {
        move || {
            for _ in 0..200 {
                let _held = data.0.lock().unwrap();
                data.1.set(data.1.get() + 1);
            }
        }
    };
    both(work(data.clone()), work(data.clone()));
    assert_eq!(data.1.get(), 400);
}

pub fn mutex_racy() {
    let data = Arc::new((Mutex::new(()), Shared::new(0)));
    let (a, b) = (data.clone(), data);
    both(
        move || {
            let _held = a.0.lock().unwrap();
            a.1.set(1);
        },
        move || b.1.set(2),
    );
}

pub fn rwlock_ok() {
    let data = Arc::new((RwLock::new(()), Shared::new(0)));
    let reader = data.clone();
    both(
        move || {
            for n in 0..200 {
                let _held = data.0.write().unwrap();
                data.1.set(n);
            }
        },
        move || {
            for _ in 0..200 {
                let _held = reader.0.read().unwrap();
                reader.1.get();
            }
        },
    );
}

/// Both hold the lock, one of them only for reading, and writes.
pub fn rwlock_racy() {
    static ORDER: Hidden = Hidden::new();
    let data = Arc::new((RwLock::new(()), Shared::new(0)));
    let other = data.clone();
    both(
        move || {
            let _held = data.0.read().unwrap();
            ORDER.come();
            ORDER.await_count(2);
            data.1.set(1);
        },
        move || {
            let _held = other.0.read().unwrap();
            ORDER.come();
            ORDER.await_count(2);
            other.1.set(2);
        },
    );
}

pub fn condvar_ok() {
    let data = Arc::new((Mutex::new(false), Condvar::new(), Shared::new(0)));
    let other = data.clone();
    both(
        move || {
            data.2.set(7);
            *data.0.lock().unwrap() = true;
            data.1.notify_one();
        },
        move || {
            let mut ready = other.0.lock().unwrap();
            while !*ready {
                ready = other.1.wait(ready).unwrap();
            }
            assert_eq!(other.2.get(), 7);
        },
    );
}

/// The value is written after the notification.
pub fn condvar_racy() {
    static ORDER: Hidden = Hidden::new();
    let data = Arc::new((Mutex::new(false), Condvar::new(), Shared::new(0)));
    let other = data.clone();
    both(
        move || {
            *data.0.lock().unwrap() = true;
            data.1.notify_one();
            ORDER.await_count(1);
            data.2.set(7);
        },
        move || {
            let mut ready = other.0.lock().unwrap();
            while !*ready {
                ready = other.1.wait(ready).unwrap();
            }
            other.2.get();
            ORDER.come();
        },
    );
}

pub fn condvar_timeout_ok() {
    let data = Arc::new((Mutex::new(false), Condvar::new(), Shared::new(0)));
    let other = data.clone();
    both(
        move || {
            data.2.set(7);
            *data.0.lock().unwrap() = true;
            data.1.notify_all();
        },
        move || {
            let mut ready = other.0.lock().unwrap();
            while !*ready {
                ready = other
                    .1
                    .wait_timeout(ready, Duration::from_millis(50))
                    .unwrap()
                    .0;
            }
            assert_eq!(other.2.get(), 7);
        },
    );
}

/// Waits for a while, and goes on without having been told.
pub fn condvar_timeout_racy() {
    static ORDER: Hidden = Hidden::new();
    let data = Arc::new((Mutex::new(()), Condvar::new(), Shared::new(0)));
    let other = data.clone();
    both(
        move || {
            ORDER.await_count(1);
            data.2.set(7);
        },
        move || {
            let held: MutexGuard<'_, ()> = other.0.lock().unwrap();
            drop(
                other
                    .1
                    .wait_timeout(held, Duration::from_millis(1))
                    .unwrap(),
            );
            other.2.get();
            ORDER.come();
        },
    );
}

/// A thread panics with the lock in its hands; the next one gets the data all the same, in order.
pub fn poison_ok() {
    let data = Arc::new((Mutex::new(()), Shared::new(0)));
    let other = data.clone();
    let panicked = thread::spawn(move || {
        let _held = other.0.lock().unwrap();
        other.1.set(1);
        std::panic::resume_unwind(Box::new(()));
    });
    while !data.0.is_poisoned() {
        thread::yield_now();
    }
    let held = data
        .0
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner());
    assert_eq!(data.1.get(), 1);
    drop(held);
    assert!(panicked.join().is_err());
}

pub fn poison_racy() {
    static ORDER: Hidden = Hidden::new();
    let data = Arc::new((Mutex::new(()), Shared::new(0)));
    let other = data.clone();
    let panicked = thread::spawn(move || {
        let _held = other.0.lock().unwrap();
        other.1.set(1);
        ORDER.come();
        std::panic::resume_unwind(Box::new(()));
    });
    ORDER.await_count(1);
    data.1.set(2);
    assert!(panicked.join().is_err());
}

pair! {
    mutex: mutex_ok, mutex_racy;
    rwlock: rwlock_ok, rwlock_racy;
    condvar: condvar_ok, condvar_racy;
    condvar_timeout: condvar_timeout_ok, condvar_timeout_racy;
    poison: poison_ok, poison_racy;
}

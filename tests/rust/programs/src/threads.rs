//! Threads: their beginning and end, parking, barriers, scopes, and what they keep for themselves.

use crate::hidden::Hidden;
use crate::shared::Shared;
use crate::{both, pair};
use std::cell::RefCell;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;

pub fn join_ok() {
    let data = Arc::new(Shared::new(0));
    let other = data.clone();
    data.set(1);
    thread::spawn(move || other.set(other.get() + 1))
        .join()
        .unwrap();
    assert_eq!(data.get(), 2);
}

/// Looks before it joins.
pub fn join_racy() {
    let data = Arc::new(Shared::new(0));
    let other = data.clone();
    let child = thread::spawn(move || other.set(1));
    data.get();
    child.join().unwrap();
}

pub fn scope_ok() {
    let data = Shared::new(0);
    thread::scope(|scope| {
        scope.spawn(|| data.set(1));
    });
    thread::scope(|scope| {
        scope.spawn(|| data.set(data.get() + 1));
    });
    assert_eq!(data.get(), 2);
}

pub fn scope_racy() {
    let (data, begun) = (Shared::new(0), Hidden::new());
    let work = || {
        begun.come();
        begun.await_count(2);
        data.set(1);
    };
    thread::scope(|scope| {
        scope.spawn(work);
        scope.spawn(work);
    });
}

pub fn park_ok() {
    let data = Arc::new((Shared::new(0), AtomicBool::new(false)));
    let other = data.clone();
    let waiter = thread::spawn(move || {
        while !other.1.load(Ordering::Acquire) {
            thread::park();
        }
        assert_eq!(other.0.get(), 7);
    });
    data.0.set(7);
    data.1.store(true, Ordering::Release);
    waiter.thread().unpark();
    waiter.join().unwrap();
}

/// The token alone is an order, too: what was written before `unpark` is seen after `park`.
pub fn park_token_ok() {
    let data = Arc::new(Shared::new(0));
    let other = data.clone();
    let waiter = thread::spawn(move || {
        thread::park();
        assert_eq!(other.get(), 7);
    });
    data.set(7);
    waiter.thread().unpark();
    waiter.join().unwrap();
}

pub fn park_racy() {
    let data = Arc::new(Shared::new(0));
    let other = data.clone();
    let waiter = thread::spawn(move || {
        thread::park();
        other.set(1);
    });
    waiter.thread().unpark();
    data.set(7);
    waiter.join().unwrap();
}

pub fn park_token_racy() {
    let data = Arc::new(Shared::new(0));
    let other = data.clone();
    let waiter = thread::spawn(move || {
        other.set(1);
        thread::park();
    });
    data.set(7);
    waiter.thread().unpark();
    waiter.join().unwrap();
}

pub fn barrier_ok() {
    let data = Arc::new((Barrier::new(2), [Shared::new(0), Shared::new(0)]));
    let work = |data: Arc<(Barrier, [Shared<u64>; 2])>, own: usize| {
        move || {
            for _ in 0..20 {
                data.1[own].set(1);
                data.0.wait();
                data.1[1 - own].get();
                data.0.wait();
            }
        }
    };
    both(work(data.clone(), 0), work(data, 1));
}

/// The second barrier is missing.
pub fn barrier_racy() {
    let data = Arc::new((Barrier::new(2), Shared::new(0)));
    let other = data.clone();
    both(
        move || {
            data.1.set(1);
            data.0.wait();
            data.1.set(2);
        },
        move || {
            other.0.wait();
            other.1.get();
        },
    );
}

thread_local! {
    static OWN: RefCell<Vec<Arc<Shared<u64>>>> = const { RefCell::new(Vec::new()) };
}

struct Last(Arc<Shared<u64>>);

impl Drop for Last {
    fn drop(&mut self) {
        self.0.set(self.0.get() + 1);
    }
}

/// A destructor at a thread's end comes before whoever joins it.
pub fn tls_destructor_ok() {
    thread_local!(static LAST: RefCell<Option<Last>> = const { RefCell::new(None) });
    let data = Arc::new(Shared::new(0));
    for _ in 0..2 {
        let other = data.clone();
        thread::spawn(move || LAST.set(Some(Last(other))))
            .join()
            .unwrap();
    }
    assert_eq!(data.get(), 2);
}

pub fn tls_destructor_racy() {
    thread_local!(static LAST: RefCell<Option<Last>> = const { RefCell::new(None) });
    static BEGUN: Hidden = Hidden::new();
    let data = Arc::new(Shared::new(0));
    let threads = [0, 1].map(|_| {
        let data = data.clone();
        thread::spawn(move || {
            LAST.set(Some(Last(data)));
            BEGUN.come();
            BEGUN.await_count(2);
        })
    });
    // A scope would not wait for the destructors.
    for thread in threads {
        thread.join().unwrap();
    }
}

pub fn tls_ok() {
    let work = || {
        OWN.with_borrow_mut(|own| own.push(Arc::new(Shared::new(1))));
        OWN.with_borrow(|own| own[0].set(2));
    };
    both(work, work);
}

/// A reference to a thread's own data goes to another thread.
pub fn tls_racy() {
    thread_local!(static VALUE: Shared<u64> = const { Shared::new(0) });
    static ORDER: Hidden = Hidden::new();
    let place = VALUE.with(|value| value.place() as usize);
    let child = thread::spawn(move || {
        // SAFETY: the thread that owns it waits for this one.
        unsafe { (place as *mut u64).write(1) };
        ORDER.come();
    });
    ORDER.await_count(1);
    VALUE.with(|value| value.set(2));
    child.join().unwrap();
}

/// Standard output's lock is one like others.
pub fn stdout_ok() {
    let data = Arc::new(Shared::new(0));
    let work = |data: Arc<Shared<u64>>| {
        move || {
            let mut out = std::io::stdout().lock();
            data.set(data.get() + 1);
            writeln!(out, "{}", data.get()).unwrap();
        }
    };
    both(work(data.clone()), work(data));
}

/// The lock of the output orders what came before it, and both write after it.
pub fn stdout_racy() {
    let data = Arc::new(Shared::new(0));
    let (a, b) = (data.clone(), data);
    both(
        move || {
            println!("one");
            a.set(1);
        },
        move || {
            println!("two");
            b.set(2);
        },
    );
}

/// Panics unwind through instrumented frames, and the calls of later accesses are right again.
pub fn unwind_ok() {
    let data = Shared::new(0);
    let work = || {
        for n in 0..20 {
            let ended = std::panic::catch_unwind(|| deep(n % 5));
            assert!(ended.is_err());
        }
    };
    both(work, work);
    data.set(1);
}

fn deep(n: u64) {
    if n == 0 {
        std::panic::resume_unwind(Box::new(()));
    }
    deep(n - 1);
}

pub fn unwind_racy() {
    let data = Arc::new(Shared::new(0));
    let (a, b) = (data.clone(), data);
    let work = |data: Arc<Shared<u64>>| {
        move || {
            let _ = std::panic::catch_unwind(|| deep(5));
            data.set(1);
        }
    };
    both(work(a), work(b));
}

pair! {
    join: join_ok, join_racy;
    scope: scope_ok, scope_racy;
    park: park_ok, park_racy;
    park_token: park_token_ok, park_token_racy;
    barrier: barrier_ok, barrier_racy;
    tls_destructor: tls_destructor_ok, tls_destructor_racy;
    tls: tls_ok, tls_racy;
    stdout: stdout_ok, stdout_racy;
    unwind: unwind_ok, unwind_racy;
}

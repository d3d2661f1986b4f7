//! Atomics and fences, with every order that makes one and those that do not.

use crate::hidden::Hidden;
use crate::shared::Shared;
use crate::{both, pair};
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{
    AtomicBool, AtomicI16, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, fence,
};
use std::sync::{Arc, Weak};

/// One writes and says so, the other waits for the word and reads.
macro_rules! message {
    ($($name:ident: $flag:expr, $say:expr, $heard:expr;)*) => { $(
        pub fn $name() {
            static DATA: Shared<u64> = Shared::new(0);
            let flag = Arc::new($flag);
            let other = flag.clone();
            both(
                move || {
                    DATA.set(7);
                    ($say)(&*flag);
                },
                move || {
                    while !($heard)(&*other) {
                        std::thread::yield_now();
                    }
                    DATA.get();
                },
            );
        }
    )* };
}

message! {
    release_ok: AtomicBool::new(false), |f: &AtomicBool| f.store(true, Release), |f: &AtomicBool| f.load(Acquire);
    release_racy: AtomicBool::new(false), |f: &AtomicBool| f.store(true, Relaxed), |f: &AtomicBool| f.load(Acquire);
    relaxed_ok: AtomicBool::new(false), |f: &AtomicBool| f.store(true, SeqCst), |f: &AtomicBool| f.load(SeqCst);
    relaxed_racy: AtomicBool::new(false), |f: &AtomicBool| f.store(true, Relaxed), |f: &AtomicBool| f.load(Relaxed);
    fence_ok: AtomicBool::new(false),
        |f: &AtomicBool| { fence(Release); f.store(true, Relaxed) },
        |f: &AtomicBool| { let seen = f.load(Relaxed); fence(Acquire); seen };
    fence_racy: AtomicBool::new(false),
        |f: &AtomicBool| { f.store(true, Relaxed); fence(Release) },
        |f: &AtomicBool| { let seen = f.load(Relaxed); fence(Acquire); seen };
    fence_seqcst_ok: AtomicBool::new(false),
        |f: &AtomicBool| { fence(SeqCst); f.store(true, Relaxed) },
        |f: &AtomicBool| { let seen = f.load(Relaxed); fence(SeqCst); seen };
    fence_seqcst_racy: AtomicBool::new(false),
        |f: &AtomicBool| { fence(SeqCst); f.store(true, Relaxed) },
        |f: &AtomicBool| { fence(SeqCst); f.load(Relaxed) };
    fetch_max_ok: AtomicU64::new(0), |f: &AtomicU64| { f.fetch_max(5, AcqRel); }, |f: &AtomicU64| f.fetch_max(1, AcqRel) == 5;
    fetch_max_racy: AtomicU64::new(0), |f: &AtomicU64| { f.fetch_max(5, Relaxed); }, |f: &AtomicU64| f.fetch_max(1, AcqRel) == 5;
    fetch_min_ok: AtomicI16::new(9), |f: &AtomicI16| { f.fetch_min(-5, Release); }, |f: &AtomicI16| f.fetch_min(3, Acquire) == -5;
    fetch_min_racy: AtomicI16::new(9), |f: &AtomicI16| { f.fetch_min(-5, Release); }, |f: &AtomicI16| f.fetch_min(3, Relaxed) == -5;
    fetch_max_small_ok: AtomicU8::new(0), |f: &AtomicU8| { f.fetch_max(200, SeqCst); }, |f: &AtomicU8| f.load(Acquire) == 200;
    fetch_max_small_racy: AtomicU8::new(0), |f: &AtomicU8| { f.fetch_max(200, Acquire); }, |f: &AtomicU8| f.load(Acquire) == 200;
    fetch_nand_ok: AtomicU32::new(1), |f: &AtomicU32| { f.fetch_nand(1, Release); }, |f: &AtomicU32| f.load(Acquire) != 1;
    fetch_nand_racy: AtomicU32::new(1), |f: &AtomicU32| { f.fetch_nand(1, Relaxed); }, |f: &AtomicU32| f.load(Acquire) != 1;
    exchange_ok: AtomicUsize::new(0),
        |f: &AtomicUsize| { let _ = f.compare_exchange(0, 1, Release, Relaxed); },
        |f: &AtomicUsize| f.compare_exchange_weak(1, 2, Acquire, Relaxed).is_ok();
    exchange_racy: AtomicUsize::new(0),
        |f: &AtomicUsize| { let _ = f.compare_exchange(0, 1, Release, Relaxed); },
        |f: &AtomicUsize| f.compare_exchange(2, 3, AcqRel, Relaxed) == Err(1);
    update_ok: AtomicUsize::new(0),
        |f: &AtomicUsize| { let _ = f.fetch_update(AcqRel, Relaxed, |old| Some(old + 1)); },
        |f: &AtomicUsize| f.fetch_or(0, AcqRel) == 1;
    update_racy: AtomicUsize::new(0),
        |f: &AtomicUsize| { let _ = f.fetch_update(Acquire, Relaxed, |old| Some(old + 1)); },
        |f: &AtomicUsize| f.fetch_or(0, AcqRel) == 1;
}

/// A release sequence: what others add to the flag does not break the order.
pub fn sequence_ok() {
    static DATA: Shared<u64> = Shared::new(0);
    static FLAG: AtomicU64 = AtomicU64::new(0);
    let adder = std::thread::spawn(|| {
        while FLAG.load(Relaxed) == 0 {
            std::thread::yield_now();
        }
        FLAG.fetch_add(1, Relaxed);
    });
    both(
        || {
            DATA.set(7);
            FLAG.store(1, Release);
        },
        || {
            while FLAG.load(Acquire) != 2 {
                std::thread::yield_now();
            }
            DATA.get();
        },
    );
    adder.join().unwrap();
}

/// A plain store of another thread does.
pub fn sequence_racy() {
    static DATA: Shared<u64> = Shared::new(0);
    static FLAG: AtomicU64 = AtomicU64::new(0);
    static ORDER: Hidden = Hidden::new();
    let breaker = std::thread::spawn(|| {
        ORDER.await_count(1);
        FLAG.store(2, Relaxed);
        ORDER.come();
    });
    both(
        || {
            DATA.set(7);
            FLAG.store(1, Release);
            ORDER.come();
        },
        || {
            ORDER.await_count(2);
            assert_eq!(FLAG.load(Acquire), 2);
            DATA.get();
        },
    );
    breaker.join().unwrap();
}

/// The last owner frees what the others wrote: `Arc`'s fence.
pub fn arc_drop_ok() {
    struct Owned(Shared<u64>);
    impl Drop for Owned {
        fn drop(&mut self) {
            self.0.get();
        }
    }
    for _ in 0..20 {
        let data = Arc::new((Owned(Shared::new(0)), Owned(Shared::new(0))));
        let other = data.clone();
        both(move || data.0.0.set(1), move || other.1.0.set(2));
    }
}

/// A pointer outlives its owner.
pub fn arc_drop_racy() {
    static ORDER: Hidden = Hidden::new();
    let data = Arc::new(Shared::new(0_u64));
    let place = data.place() as usize;
    both(
        move || {
            // SAFETY: the owner is still there, as nobody but the test knows.
            unsafe { (place as *mut u64).write(1) };
            ORDER.come();
        },
        move || {
            ORDER.await_count(1);
            drop(data);
        },
    );
}

pub fn arc_unique_ok() {
    let mut data = Arc::new(0_u64);
    let other = data.clone();
    let child = std::thread::spawn(move || assert_eq!(*other, 0));
    loop {
        if let Some(value) = Arc::get_mut(&mut data) {
            *value = 1;
            break;
        }
        std::thread::yield_now();
    }
    child.join().unwrap();
}

/// A relaxed look at the count is no order.
pub fn arc_unique_racy() {
    let data = Arc::new(Shared::new(0_u64));
    let other = data.clone();
    let child = std::thread::spawn(move || {
        other.get();
    });
    while Arc::strong_count(&data) != 1 {
        std::thread::yield_now();
    }
    data.set(1);
    child.join().unwrap();
}

pub fn weak_ok() {
    let data = Arc::new(Shared::new(1_u64));
    let weak = Arc::downgrade(&data);
    both(
        move || drop(data),
        move || {
            if let Some(data) = Weak::upgrade(&weak) {
                data.get();
            }
        },
    );
}

pub fn weak_racy() {
    let data = Arc::new(Shared::new(1_u64));
    let weak = Arc::downgrade(&data);
    let other = data.clone();
    both(
        move || {
            data.set(2);
            // To drop it would tell whoever upgrades later.
            std::mem::forget(data);
        },
        move || {
            let found = weak.upgrade();
            found.unwrap_or(other).set(3);
        },
    );
}

/// A pointer is published.
pub fn publish_ok() {
    static PLACE: AtomicPtr<u64> = AtomicPtr::new(std::ptr::null_mut());
    both(
        || PLACE.store(Box::into_raw(Box::new(7)), Release),
        || {
            let found = wait_for(&PLACE, Acquire);
            // SAFETY: published by its only owner, who has forgotten it.
            assert_eq!(*unsafe { Box::from_raw(found) }, 7);
        },
    );
}

pub fn publish_racy() {
    static PLACE: AtomicPtr<u64> = AtomicPtr::new(std::ptr::null_mut());
    both(
        || PLACE.store(Box::into_raw(Box::new(7)), Relaxed),
        || {
            let found = wait_for(&PLACE, Relaxed);
            // SAFETY: published by its only owner, who has forgotten it; in no order, which is the point.
            unsafe { found.write(8) };
        },
    );
}

fn wait_for(place: &AtomicPtr<u64>, order: std::sync::atomic::Ordering) -> *mut u64 {
    loop {
        let found = place.load(order);
        if !found.is_null() {
            return found;
        }
        std::thread::yield_now();
    }
}

/// A lock made of one word.
pub fn spin_lock_ok() {
    static LOCK: AtomicBool = AtomicBool::new(false);
    static DATA: Shared<u64> = Shared::new(0);
    let work = || {
        for _ in 0..50 {
            while LOCK
                .compare_exchange_weak(false, true, Acquire, Relaxed)
                .is_err()
            {
                std::thread::yield_now();
            }
            DATA.set(DATA.get() + 1);
            LOCK.store(false, Release);
        }
    };
    both(work, work);
}

pub fn spin_lock_racy() {
    static LOCK: AtomicBool = AtomicBool::new(false);
    static DATA: Shared<u64> = Shared::new(0);
    let work = || {
        while LOCK.swap(true, Acquire) {
            std::thread::yield_now();
        }
        DATA.set(DATA.get() + 1);
        LOCK.store(false, Relaxed);
    };
    both(work, work);
}

pair! {
    release: release_ok, release_racy;
    relaxed: relaxed_ok, relaxed_racy;
    fence: fence_ok, fence_racy;
    fence_seqcst: fence_seqcst_ok, fence_seqcst_racy;
    fetch_max: fetch_max_ok, fetch_max_racy;
    fetch_min: fetch_min_ok, fetch_min_racy;
    fetch_max_small: fetch_max_small_ok, fetch_max_small_racy;
    fetch_nand: fetch_nand_ok, fetch_nand_racy;
    exchange: exchange_ok, exchange_racy;
    update: update_ok, update_racy;
    sequence: sequence_ok, sequence_racy;
    arc_drop: arc_drop_ok, arc_drop_racy;
    arc_unique: arc_unique_ok, arc_unique_racy;
    weak: weak_ok, weak_racy;
    publish: publish_ok, publish_racy;
    spin_lock: spin_lock_ok, spin_lock_racy;
}

//! What lies where: neighbours, collections, code in C, and blocks that are gone.

use crate::hidden::Hidden;
use crate::shared::Shared;
use crate::{both, pair};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::thread;

/// Neighbouring bytes are different places.
pub fn neighbours_ok() {
    let mut data = [0_u8; 16];
    let (left, right) = data.split_at_mut(5);
    thread::scope(|scope| {
        scope.spawn(move || left.fill(1));
        scope.spawn(move || right.fill(2));
    });
    assert_eq!((data[4], data[5]), (1, 2));
}

pub fn neighbours_racy() {
    let data = Arc::new(Shared::new([0_u8; 16]));
    let work = |data: Arc<Shared<[u8; 16]>>, from: usize, to: usize| {
        move || {
            // SAFETY: inside the array; the two ranges share a byte, which is the point.
            unsafe {
                data.place()
                    .cast::<u8>()
                    .add(from)
                    .write_bytes(1, to - from)
            };
        }
    };
    both(work(data.clone(), 0, 6), work(data, 5, 16));
}

pub fn map_ok() {
    let map = Arc::new(Mutex::new(HashMap::new()));
    let work = |map: Arc<Mutex<HashMap<u64, String>>>, from: u64| {
        move || {
            for n in from..from + 50 {
                map.lock().unwrap().insert(n, n.to_string());
            }
        }
    };
    both(work(map.clone(), 0), work(map.clone(), 100));
    assert_eq!(map.lock().unwrap().len(), 100);
}

/// A collection that two threads change.
pub fn map_racy() {
    static ORDER: Hidden = Hidden::new();
    let map = Arc::new(Shared::new(HashMap::new()));
    let (a, b) = (map.clone(), map);
    let insert = |map: &Shared<HashMap<u64, String>>, key: u64| {
        // SAFETY: one after the other, by an order that is none in the language.
        unsafe { (*map.place()).insert(key, key.to_string()) };
    };
    both(
        move || {
            insert(&a, 1);
            ORDER.come();
            ORDER.await_count(2);
        },
        move || {
            ORDER.await_count(1);
            insert(&b, 2);
            ORDER.come();
        },
    );
}

pub fn push_ok() {
    let list = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for n in 0..2 {
            let list = &list;
            scope.spawn(move || (0..100).for_each(|_| list.lock().unwrap().push(n)));
        }
    });
    assert_eq!(list.into_inner().unwrap().len(), 200);
}

/// A reference into a list that grows.
pub fn push_racy() {
    static ORDER: Hidden = Hidden::new();
    let list = Arc::new(Shared::new(vec![1_u64]));
    let other = list.clone();
    both(
        move || {
            // SAFETY: the element is there until the other one comes.
            unsafe { std::hint::black_box((&*list.place())[0]) };
            ORDER.come();
        },
        move || {
            ORDER.await_count(1);
            // SAFETY: nobody reads any more, as nobody but the test knows.
            unsafe { (*other.place()).extend(0..100) };
        },
    );
}

pub fn text_ok() {
    let text = Arc::new("shared and never changed".to_owned());
    let other = text.clone();
    both(
        move || assert!(text.contains("never")),
        move || assert_eq!(format!("{other}!").len(), 25),
    );
}

pub fn text_racy() {
    static ORDER: Hidden = Hidden::new();
    let text = Arc::new(Shared::new("short".to_owned()));
    let other = text.clone();
    both(
        move || {
            // SAFETY: nobody writes yet.
            unsafe { std::hint::black_box((*text.place()).to_uppercase()) };
            ORDER.come();
        },
        move || {
            ORDER.await_count(1);
            // SAFETY: nobody reads any more, as nobody but the test knows.
            unsafe { (*other.place()).make_ascii_uppercase() };
        },
    );
}

unsafe extern "C" {
    fn counter_add(by: i64) -> i64;
    fn gauge_turn(by: i64) -> i64;
}

type Foreign = unsafe extern "C" fn(i64) -> i64;

/// Code in another language, each call under a lock.
fn foreign_locked(call: Foreign) {
    let lock = Mutex::new(());
    let work = || {
        for _ in 0..50 {
            let _held = lock.lock().unwrap();
            // SAFETY: the lock is held.
            unsafe { call(1) };
        }
    };
    both(work, work);
}

/// The same code in the same program, which is instrumented, too, without one.
fn foreign_alone(call: Foreign) {
    let work = || {
        // SAFETY: not at all, which is the point.
        unsafe { call(1) };
    };
    both(work, work);
}

pub fn foreign_ok() {
    foreign_locked(counter_add);
}

pub fn foreign_racy() {
    foreign_alone(counter_add);
}

pub fn foreign_cmake_ok() {
    foreign_locked(gauge_turn);
}

pub fn foreign_cmake_racy() {
    foreign_alone(gauge_turn);
}

pub fn boxed_ok() {
    let data = Box::new(Shared::new(0));
    thread::scope(|scope| {
        scope.spawn(|| data.set(1));
    });
    drop(data);
}

/// Freed by one, used by another.
pub fn boxed_racy() {
    static ORDER: Hidden = Hidden::new();
    let place = Box::into_raw(Box::new(0_u64)) as usize;
    both(
        move || {
            // SAFETY: still there.
            unsafe { (place as *mut u64).write(1) };
            ORDER.come();
        },
        move || {
            ORDER.await_count(1);
            // SAFETY: nobody uses it any more, as nobody but the test knows.
            drop(unsafe { Box::from_raw(place as *mut u64) });
        },
    );
}

/// `static mut`, the classic.
pub fn static_mut_ok() {
    static mut COUNT: u64 = 0;
    // SAFETY: one thread after the other.
    let work = || unsafe { *(&raw mut COUNT) += 1 };
    thread::spawn(work).join().unwrap();
    thread::spawn(work).join().unwrap();
}

pub fn static_mut_racy() {
    static mut COUNT: u64 = 0;
    // SAFETY: not at all, which is the point.
    let work = || unsafe { *(&raw mut COUNT) += 1 };
    both(work, work);
}

pair! {
    neighbours: neighbours_ok, neighbours_racy;
    map: map_ok, map_racy;
    push: push_ok, push_racy;
    text: text_ok, text_racy;
    foreign: foreign_ok, foreign_racy;
    foreign_cmake: foreign_cmake_ok, foreign_cmake_racy;
    boxed: boxed_ok, boxed_racy;
    static_mut: static_mut_ok, static_mut_racy;
}

//! Real threads hand a cell to each other by an atomic, while others use the atomic too: a load that takes no lock must
//! still learn exactly what belongs to the value that it saw.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use super::player::plain;
use crate::history::Touch;
use crate::intern::StackId;
use crate::ordering::{self, Order, Writes};
use crate::runtime::Runtime;
use crate::strand::Strand;
use crate::threads::Sort;

const THREADS: u32 = 3;
const ROUNDS: u32 = 3000;
const TURN: usize = 0x13_0000_0000;
const DATA: usize = 0x13_0001_0000;
const PC: u64 = 0x70_0000;

const RELAXED: i32 = 0;
const ACQUIRE: i32 = 2;
const RELEASE: i32 = 3;

/// Lets the threads write in turns, loading the turn with this order and then perhaps making a fence: how many races are found.
fn races_if_loaded(rt: &'static Runtime, order: i32, fence: Option<i32>) -> usize {
    let root = super::start(rt);
    let ids: Vec<_> = (0..THREADS + 1)
        .map(|_| rt.threads.create(rt, Some(root), Sort::Thread, StackId(0)))
        .collect();
    let turn = AtomicU32::new(0);
    let done = AtomicBool::new(false);
    let load = |s: &mut Strand| {
        ordering::load(rt, s, TURN, Order::new(order), 4, PC, || {
            turn.load(Ordering::SeqCst)
        })
    };
    let write_in_turns = |s: &mut Strand, me: u32| {
        for round in (me..ROUNDS).step_by(THREADS as usize) {
            while load(s) != round {
                std::thread::yield_now();
            }
            if let Some(fence) = fence {
                ordering::fence(rt, s, Order::new(fence));
            }
            plain(rt, s, DATA, 8, Touch::Write, PC + 8);
            let store = || turn.store(round + 1, Ordering::SeqCst);
            ordering::store(rt, s, TURN, Order::new(RELEASE), 4, PC + 16, store);
        }
    };
    // Goes on with whatever was released last, and adds nothing.
    let modify_all_the_time = |s: &mut Strand| {
        while !done.load(Ordering::SeqCst) {
            let (order, writes) = (Order::new(RELAXED), Writes::Always);
            ordering::modify(rt, s, TURN, order, order, writes, 4, PC + 24, || {
                (turn.fetch_add(0, Ordering::SeqCst), true)
            });
        }
    };
    std::thread::scope(|scope| {
        let (other, writers) = ids.split_last().expect("more than none");
        let (write_in_turns, modify_all_the_time) = (&write_in_turns, &modify_all_the_time);
        scope.spawn(move || modify_all_the_time(rt.threads.begin(rt, *other)));
        let all: Vec<_> = (0..)
            .zip(writers)
            .map(|(me, &id)| scope.spawn(move || write_in_turns(rt.threads.begin(rt, id), me)))
            .collect();
        let ended = all.into_iter().all(|thread| thread.join().is_ok());
        done.store(true, Ordering::SeqCst);
        assert!(ended);
    });
    rt.findings.observed.lock().len()
}

#[test]
fn a_value_comes_with_what_its_store_released() {
    static RT: Runtime = Runtime::new();
    assert_eq!(races_if_loaded(&RT, ACQUIRE, None), 0);
}

#[test]
fn a_fence_takes_what_belongs_to_the_value_that_was_loaded() {
    static RT: Runtime = Runtime::new();
    assert_eq!(races_if_loaded(&RT, RELAXED, Some(ACQUIRE)), 0);
}

#[test]
fn a_relaxed_load_brings_nothing() {
    static RT: Runtime = Runtime::new();
    assert_eq!(races_if_loaded(&RT, RELAXED, None), ROUNDS as usize - 1);
}

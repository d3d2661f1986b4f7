//! A handler of the program's own hears of a race while the program runs, and of nothing else.

use crate::both;
use crate::pair;
use crate::shared::Shared;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

pair! {
    handler: silence, told;
}

static HEARD: AtomicU32 = AtomicU32::new(0);

fn listen() {
    let there = deadheat::on_finding(|finding| {
        assert_eq!(finding.kind, "data-race");
        HEARD.store(finding.id, Ordering::Relaxed);
    });
    assert!(there, "no Deadheat in this program");
}

fn silence() {
    listen();
    let sum = Mutex::new(0);
    both(|| *sum.lock().unwrap() += 1, || *sum.lock().unwrap() += 2);
    assert_eq!(HEARD.load(Ordering::Relaxed), 0);
}

/// Ends only when it has heard.
fn told() {
    listen();
    let place = Shared::new(0);
    both(|| place.set(1), || place.set(2));
    while HEARD.load(Ordering::Relaxed) != 1 {
        std::hint::spin_loop();
    }
}

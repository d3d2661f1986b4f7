//! A Rust program for the symbolizer's tests.

mod bank {
    use std::sync::atomic::{AtomicI64, Ordering};

    static TOTAL: AtomicI64 = AtomicI64::new(1);

    #[inline(never)]
    pub fn deposit(amount: i64) -> i64 {
        TOTAL.fetch_add(amount, Ordering::Relaxed)
    }
}

fn main() {
    println!("{}", bank::deposit(3));
}

//! A lock for a few nanoseconds of work: one locked instruction to take it, none to give it back.

use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, Ordering};

/// Guards `T`.
#[derive(Debug, Default)]
pub struct Spin<T> {
    taken: AtomicBool,
    value: UnsafeCell<T>,
}

// SAFETY: `lock` gives the value to one thread at a time.
unsafe impl<T: Send> Sync for Spin<T> {}

/// Gives the lock back when dropped.
pub struct Held<'a, T>(&'a Spin<T>);

impl<T> Spin<T> {
    pub fn new(value: T) -> Self {
        Spin {
            taken: AtomicBool::new(false),
            value: UnsafeCell::new(value),
        }
    }

    /// The value without locking.
    ///
    /// # Safety
    /// No other thread uses this lock as long as the result lives, and this one does not hold it.
    #[inline(always)]
    pub unsafe fn hold(&self) -> Held<'_, T> {
        Held(self)
    }

    /// Waits until nobody else holds it.
    #[inline(always)]
    pub fn lock(&self) -> Held<'_, T> {
        if self
            .taken
            .compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed)
            .is_err()
        {
            self.wait();
        }
        Held(self)
    }

    #[cold]
    fn wait(&self) {
        let mut turns = 0u32;
        loop {
            while self.taken.load(Ordering::Relaxed) {
                turns += 1;
                if turns.is_multiple_of(64) {
                    // The holder may have lost its core.
                    std::thread::yield_now();
                }
                std::hint::spin_loop();
            }
            if self
                .taken
                .compare_exchange_weak(false, true, Ordering::Acquire, Ordering::Relaxed)
                .is_ok()
            {
                return;
            }
        }
    }
}

impl<T> Deref for Held<'_, T> {
    type Target = T;
    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: whoever has a `Held` holds the lock.
        unsafe { &*self.0.value.get() }
    }
}

impl<T> DerefMut for Held<'_, T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: whoever has a `Held` holds the lock.
        unsafe { &mut *self.0.value.get() }
    }
}

impl<T> Drop for Held<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        self.0.taken.store(false, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_else_is_inside() {
        let s = Spin::new(0u64);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..20_000).for_each(|_| *s.lock() += 1));
            }
        });
        assert_eq!(*s.lock(), 80_000);
    }
}

//! The runtime's own synchronization: spin locks that turn to waiting in the kernel, and waiting for what has no lock.
//!
//! All other modules go through this one, so that it can be replaced as a whole when the same code runs under a model
//! checker. Must not allocate, must not be fair: sections are short.

use core::cell::UnsafeCell;
use core::ops::{Deref, DerefMut};
use core::sync::atomic::{AtomicU16, AtomicU32, Ordering};

use crate::sys;

const FREE: u32 = 0;
const TAKEN: u32 = 1;
const WAITED_FOR: u32 = 2;
const SPINS: u32 = 60;

/// Mutual exclusion for the short sections of the runtime. Whoever takes it counts himself inside (`Strand::enter`)
/// first, so that no signal handler of the program runs meanwhile.
pub struct SpinLock {
    state: AtomicU32,
}

impl SpinLock {
    pub const fn new() -> Self {
        SpinLock {
            state: AtomicU32::new(FREE),
        }
    }

    #[inline]
    pub fn lock(&self) {
        if self
            .state
            .compare_exchange(FREE, TAKEN, Ordering::Acquire, Ordering::Relaxed)
            .is_err()
        {
            self.lock_contended();
        }
    }

    pub fn try_lock(&self) -> bool {
        self.state
            .compare_exchange(FREE, TAKEN, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
    }

    #[cold]
    fn lock_contended(&self) {
        for _ in 0..SPINS {
            if self.state.load(Ordering::Relaxed) == FREE && self.try_lock() {
                return;
            }
            core::hint::spin_loop();
        }
        while self.state.swap(WAITED_FOR, Ordering::Acquire) != FREE {
            sys::futex_wait(&self.state, WAITED_FOR);
        }
    }

    /// For the child of a fork, in which only one thread is left: whoever held the lock is gone.
    ///
    /// # Safety
    /// No other thread may exist.
    pub unsafe fn force_unlock(&self) {
        self.state.store(FREE, Ordering::Release);
    }

    #[inline]
    pub fn unlock(&self) {
        if self.state.swap(FREE, Ordering::Release) == WAITED_FOR {
            sys::futex_wake(&self.state, 1);
        }
    }
}

impl Default for SpinLock {
    fn default() -> Self {
        SpinLock::new()
    }
}

/// Waiting for somebody who is about to be done, in a loop. He may have lost the processor: others are let run, and if that
/// does not help, for a moment only. On a busy machine giving up the processor costs whole slices of other programs'
/// time, and need not give it to the one that is waited for.
#[derive(Default)]
pub struct Waiting {
    turns: u32,
}

/// So often others are let run before who waits goes to sleep.
const YIELDS: u32 = 8;
const NAP_NANOSECONDS: usize = 20_000;

impl Waiting {
    pub fn turn(&mut self) {
        self.turns = self.turns.saturating_add(1);
        if self.turns <= YIELDS {
            sys::yield_now();
        } else {
            sys::sleep(NAP_NANOSECONDS);
        }
    }
}

/// As a [`SpinLock`], for sections of a few instructions that are almost never contended: giving it back is a plain
/// store, and who finds it taken for long lets others run.
///
/// Two who use it all the time take it, and what it is about, from each other's caches each time, unless one waits while the
/// other goes on. So whoever finds it taken waits without looking: longer if others had it many times meanwhile, for
/// less if they did not.
pub struct BriefLock {
    /// Odd while it is taken, and another one after each time.
    turn: AtomicU32,
    /// How long to wait, in cycles.
    wait: AtomicU16,
}

/// Waiting is worth it if others have the lock once in so many cycles.
const CYCLES_A_TURN: u64 = 512;
const SHORTEST_WAIT: u16 = 1 << 6;
const LONGEST_WAIT: u16 = 1 << 15;
/// Others are let run only after so many cycles: who has the lock is mostly running, and soon done.
const LET_RUN_AFTER: u16 = 1 << 12;

impl BriefLock {
    pub const fn new() -> Self {
        BriefLock {
            turn: AtomicU32::new(0),
            wait: AtomicU16::new(SHORTEST_WAIT),
        }
    }

    #[inline(always)]
    pub fn lock(&self) {
        if !self.try_lock() {
            self.lock_contended();
        }
    }

    #[inline(always)]
    fn try_lock(&self) -> bool {
        let turn = self.turn.load(Ordering::Relaxed);
        turn & 1 == 0
            && self
                .turn
                .compare_exchange(turn, turn | 1, Ordering::Acquire, Ordering::Relaxed)
                .is_ok()
    }

    #[cold]
    fn lock_contended(&self) {
        let wait = self.wait.load(Ordering::Relaxed);
        let (start, before) = (sys::cycles(), self.turn.load(Ordering::Relaxed));
        let mut waiting = Waiting::default();
        while !self.lock_within(wait) {
            // Whoever has it may have to run first.
            waiting.turn();
        }
        let turns = self.turn.load(Ordering::Relaxed).wrapping_sub(before) / 2;
        let wait = if turns as u64 * CYCLES_A_TURN >= sys::cycles().wrapping_sub(start) {
            wait.saturating_mul(2).min(LONGEST_WAIT)
        } else {
            (wait / 2).max(SHORTEST_WAIT)
        };
        self.wait.store(wait, Ordering::Relaxed);
    }

    /// Tries again and again, that long after each time; false if others have had it for long.
    fn lock_within(&self, wait: u16) -> bool {
        let tries = 2.max(LET_RUN_AFTER / wait);
        (0..tries).any(|_| self.lock_after(wait))
    }

    fn lock_after(&self, cycles: u16) -> bool {
        let start = sys::cycles();
        while sys::cycles().wrapping_sub(start) < cycles as u64 {
            core::hint::spin_loop();
        }
        self.try_lock()
    }

    #[inline(always)]
    pub fn unlock(&self) {
        let turn = self.turn.load(Ordering::Relaxed);
        self.turn
            .store((turn | 1).wrapping_add(1), Ordering::Release);
    }

    /// The present turn, if the lock is free. Whoever sees the same one twice knows that nobody had it in between.
    #[inline(always)]
    pub fn turn(&self) -> Option<u32> {
        let turn = self.turn.load(Ordering::Acquire);
        (turn & 1 == 0).then_some(turn)
    }

    /// For the child of a fork, in which only one thread is left: whoever held the lock is gone.
    ///
    /// # Safety
    /// No other thread may exist.
    pub unsafe fn force_unlock(&self) {
        self.unlock();
    }
}

impl Default for BriefLock {
    fn default() -> Self {
        BriefLock::new()
    }
}

/// A value behind a [`SpinLock`].
pub struct Locked<T> {
    lock: SpinLock,
    value: UnsafeCell<T>,
}

// SAFETY: the value is only reached while the lock is held.
unsafe impl<T: Send> Sync for Locked<T> {}
// SAFETY: as for the value.
unsafe impl<T: Send> Send for Locked<T> {}

impl<T> Locked<T> {
    pub const fn new(value: T) -> Self {
        Locked {
            lock: SpinLock::new(),
            value: UnsafeCell::new(value),
        }
    }

    #[inline]
    pub fn lock(&self) -> Held<'_, T> {
        self.lock.lock();
        Held { of: self }
    }

    /// The lock itself, for who holds all of them over a fork.
    pub fn spin(&self) -> &SpinLock {
        &self.lock
    }

    /// For the child of a fork, in which only one thread is left: whoever held the lock is gone.
    ///
    /// # Safety
    /// No other thread may exist.
    pub unsafe fn force_unlock(&self) {
        // SAFETY: by the contract.
        unsafe { self.lock.force_unlock() };
    }
}

impl<T: Default> Default for Locked<T> {
    fn default() -> Self {
        Locked::new(T::default())
    }
}

/// The lock is held as long as this lives.
pub struct Held<'a, T> {
    of: &'a Locked<T>,
}

impl<T> Deref for Held<'_, T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the lock is held.
        unsafe { &*self.of.value.get() }
    }
}

impl<T> DerefMut for Held<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the lock is held.
        unsafe { &mut *self.of.value.get() }
    }
}

impl<T> Drop for Held<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.of.lock.unlock();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn excludes() {
        static COUNT: Locked<u64> = Locked::new(0);
        std::thread::scope(|s| {
            for _ in 0..4 {
                s.spawn(|| {
                    for _ in 0..10_000 {
                        *COUNT.lock() += 1;
                    }
                });
            }
        });
        assert_eq!(*COUNT.lock(), 40_000);
    }

    /// Longer waits and shorter ones, threads that use it all the time and one that does so now and then.
    #[test]
    fn a_brief_lock_excludes() {
        struct Counted(BriefLock, UnsafeCell<u64>);
        // SAFETY: the count is only touched under the lock.
        unsafe impl Sync for Counted {}
        static COUNT: Counted = Counted(BriefLock::new(), UnsafeCell::new(0));
        let count = |often: u64, between: u64| {
            for _ in 0..often {
                COUNT.0.lock();
                // SAFETY: the lock is held.
                unsafe { *COUNT.1.get() += 1 };
                COUNT.0.unlock();
                (0..between).for_each(|_| core::hint::spin_loop());
            }
        };
        std::thread::scope(|s| {
            s.spawn(|| count(50_000, 0));
            s.spawn(|| count(50_000, 0));
            s.spawn(|| count(1_000, 20));
        });
        // SAFETY: nobody else is left.
        assert_eq!(unsafe { *COUNT.1.get() }, 101_000);
        assert_eq!(COUNT.0.turn(), Some(202_000));
        let wait = COUNT.0.wait.load(Ordering::Relaxed);
        assert!((SHORTEST_WAIT..=LONGEST_WAIT).contains(&wait));
    }
}

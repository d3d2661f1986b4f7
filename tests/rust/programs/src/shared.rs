//! Memory that several threads touch without asking anybody.

use std::cell::UnsafeCell;

/// A place in memory.
#[derive(Default)]
pub struct Shared<T>(UnsafeCell<T>);

// SAFETY: not at all; that is what the programs are about. Those that are right bring their own order.
unsafe impl<T> Sync for Shared<T> {}
// SAFETY: as above.
unsafe impl<T> Send for Shared<T> {}

impl<T> Shared<T> {
    /// A place with something in it.
    pub const fn new(value: T) -> Self {
        Self(UnsafeCell::new(value))
    }

    /// What is there.
    #[inline(always)]
    pub fn get(&self) -> T
    where
        T: Copy,
    {
        // SAFETY: the caller has seen to it that nobody writes here meanwhile, or wants the race.
        unsafe { *self.0.get() }
    }

    /// Puts something there.
    #[inline(always)]
    pub fn set(&self, value: T) {
        // SAFETY: as above.
        unsafe { *self.0.get() = value }
    }

    /// The place itself.
    #[inline(always)]
    pub fn place(&self) -> *mut T {
        self.0.get()
    }
}

//! Arrays for what is known of a function, without an allocator of Rust's.

use core::ffi::c_void;
use core::ops::{Deref, DerefMut};

use crate::abort;

unsafe extern "C" {
    fn malloc(bytes: usize) -> *mut c_void;
    fn free(memory: *mut c_void);
}

/// Memory for a value that stays for ever.
pub fn keep<T>(value: T) -> *mut T {
    // SAFETY: fresh memory of that size, or none.
    unsafe {
        let place: *mut T = malloc(size_of::<T>().max(1)).cast();
        if place.is_null() {
            abort();
        }
        place.write(value);
        place
    }
}

/// An array whose length stays.
pub struct Array<T: Copy> {
    first: *mut T,
    length: usize,
}

impl<T: Copy> Array<T> {
    pub fn filled(value: T, length: usize) -> Array<T> {
        // SAFETY: fresh memory of that size, or none.
        unsafe {
            let first: *mut T = malloc((size_of::<T>() * length).max(1)).cast();
            if first.is_null() {
                abort();
            }
            for i in 0..length {
                first.add(i).write(value);
            }
            Array { first, length }
        }
    }
}

impl<T: Copy> Drop for Array<T> {
    fn drop(&mut self) {
        // SAFETY: from malloc, and nobody else's.
        unsafe { free(self.first.cast()) };
    }
}

impl<T: Copy> Deref for Array<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: so many values were written there.
        unsafe { core::slice::from_raw_parts(self.first, self.length) }
    }
}

impl<T: Copy> DerefMut for Array<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above.
        unsafe { core::slice::from_raw_parts_mut(self.first, self.length) }
    }
}

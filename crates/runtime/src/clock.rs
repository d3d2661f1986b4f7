//! Vector clocks as long as the slots that ever met, not as the slots that exist.
//!
//! Component `s` is the last sequence number of slot `s` that is known here; a missing one is 0, which covers nothing
//! because numbers start at 1. Must not know strands, locks or cells.
//!
//! A component is kept as the highest word that an entry of that number can be (`deadheat_detect::entry`), so that one
//! comparison with a cell's word tells whether that access is covered; the hooks in assembler do so too, and find
//! the components by [`Clock::WORDS`] and [`Clock::LEN`].

use core::sync::atomic::Ordering;

use deadheat_detect::entry::{self, Entry, SEQ_MAX};
use std_alloc::boxed::Box;
use std_alloc::vec::Vec;

/// All bits below the number.
pub const BELOW: u64 = (1 << entry::SEQ_SHIFT) - 1;
/// Shortest length of components that are not none: a power of two, so that of two slots below the length the bits of both
/// together are below it too.
const SHORTEST: usize = 8;

/// What a strand, or an object that orders strands, knows of every slot.
#[repr(C)]
pub struct Clock {
    // invariant: words, len and room are those of a vector that this clock owns; len is 0 or a power of two
    words: *mut u64,
    len: usize,
    room: usize,
    /// Shorter components that it had before.
    old: Option<Box<Old>>,
}

/// Components that another strand may still be looking at.
struct Old {
    _words: Vec<u64>,
    _older: Option<Box<Old>>,
}

// SAFETY: the words are plain memory that the clock alone owns.
unsafe impl Send for Clock {}
// SAFETY: as above; nothing changes behind a shared reference.
unsafe impl Sync for Clock {}

impl Clock {
    pub const WORDS: usize = core::mem::offset_of!(Clock, words);
    pub const LEN: usize = core::mem::offset_of!(Clock, len);

    pub const fn new() -> Self {
        Clock {
            words: core::ptr::dangling_mut(),
            len: 0,
            room: 0,
            old: None,
        }
    }

    #[inline(always)]
    fn words(&self) -> &[u64] {
        // SAFETY: by the invariant.
        unsafe { core::slice::from_raw_parts(self.words, self.len) }
    }

    #[inline(always)]
    fn words_mut(&mut self) -> &mut [u64] {
        // SAFETY: by the invariant.
        unsafe { core::slice::from_raw_parts_mut(self.words, self.len) }
    }

    /// The vector, to be given back by [`Self::put`].
    fn take(&mut self) -> Vec<u64> {
        let (words, len, room) = (self.words, self.len, self.room);
        (self.words, self.len, self.room) = (core::ptr::dangling_mut(), 0, 0);
        // SAFETY: by the invariant; the clock has none any more.
        unsafe { Vec::from_raw_parts(words, len, room) }
    }

    fn put(&mut self, words: Vec<u64>) {
        let mut words = core::mem::ManuallyDrop::new(words);
        self.words = words.as_mut_ptr();
        self.room = words.capacity();
        core::sync::atomic::fence(Ordering::Release);
        self.len = words.len();
    }

    /// The old components stay where they are as long as the clock lives: another strand may be looking at them
    /// ([`Self::lower`]). They double each time, so all of them together are no more than the new ones.
    #[cold]
    fn lengthen(&mut self, len: usize) {
        let len = len.next_power_of_two().max(SHORTEST);
        if len <= self.room {
            // SAFETY: there is room for them, and nobody looks beyond the length.
            unsafe { self.words.add(self.len).write_bytes(0, len - self.len) };
            core::sync::atomic::fence(Ordering::Release);
            self.len = len;
            return;
        }
        let mut words = Vec::with_capacity(len);
        words.extend_from_slice(self.words());
        words.resize(len, 0);
        // SAFETY: by the invariant; from now on the vector is the list's alone.
        let old = unsafe { Vec::from_raw_parts(self.words, self.len, self.room) };
        // The length must not be seen before the components are.
        self.put(words);
        if old.capacity() > 0 {
            self.old = Some(Box::new(Old {
                _words: old,
                _older: self.old.take(),
            }));
        }
    }

    /// Lowers `words`, one for each slot, to what another strand's clock has, but for its own slot `but`. It may be
    /// changing meanwhile: since components only grow, what is seen is known to it from now on.
    ///
    /// # Safety
    /// The clock must live, be a strand's, and have been changed by nothing but [`Self::set`] and [`Self::join`] since
    /// others could see it.
    pub unsafe fn lower(clock: *const Clock, words: &mut [u64], but: u16) {
        // SAFETY: by the contract; the length is read first, and the components are never freed.
        unsafe {
            let len = crate::sys::glimpse(&raw const (*clock).len);
            core::sync::atomic::fence(Ordering::Acquire);
            let theirs = crate::sys::glimpse(&raw const (*clock).words);
            for (slot, word) in words.iter_mut().enumerate() {
                if slot != but as usize {
                    let known = if slot < len {
                        crate::sys::glimpse(theirs.add(slot))
                    } else {
                        0
                    };
                    *word = (*word).min(known);
                }
            }
        }
    }

    /// Knows all that these components say, too.
    pub fn raise(&mut self, words: &[u64]) {
        if words.len() > self.len {
            self.lengthen(words.len());
        }
        for (mine, &theirs) in self.words_mut().iter_mut().zip(words) {
            *mine = (*mine).max(theirs);
        }
    }

    #[inline(always)]
    pub fn get(&self, slot: u16) -> u64 {
        match self.words().get(slot as usize) {
            Some(&word) => Entry(word).seq(),
            None => 0,
        }
    }

    pub fn set(&mut self, slot: u16, seq: u64) {
        if slot as usize >= self.len {
            self.lengthen(slot as usize + 1);
        }
        self.words_mut()[slot as usize] = entry::stamp(slot, seq.min(SEQ_MAX)) | BELOW;
    }

    /// Did the access of this word happen before? The empty word did.
    #[inline(always)]
    pub fn covers_word(&self, word: u64) -> bool {
        let known = self.words().get((word >> entry::SLOT_SHIFT) as usize);
        known.is_some_and(|&known| word <= known)
    }

    /// Takes over all that `other` knows; true if that was anything new.
    pub fn join(&mut self, other: &Clock) -> bool {
        if other.len > self.len {
            self.lengthen(other.len);
        }
        let mut learned = false;
        for (mine, &theirs) in self.words_mut().iter_mut().zip(other.words()) {
            learned |= theirs > *mine;
            *mine = (*mine).max(theirs);
        }
        learned
    }

    /// Does this clock know all that `other` knows?
    pub fn covers(&self, other: &Clock) -> bool {
        let (mine, theirs) = (self.words(), other.words());
        let (shared, rest) = theirs.split_at(mine.len().min(theirs.len()));
        shared.iter().zip(mine).all(|(theirs, mine)| theirs <= mine)
            && rest.iter().all(|&theirs| theirs == 0)
    }

    pub fn copy_from(&mut self, other: &Clock) {
        if other.len <= self.room {
            // SAFETY: there is room for them, and two clocks do not share components.
            unsafe { core::ptr::copy_nonoverlapping(other.words, self.words, other.len) };
            self.len = other.len;
            return;
        }
        let mut words = self.take();
        words.clear();
        words.extend_from_slice(other.words());
        self.put(words);
    }

    pub fn clear(&mut self) {
        self.len = 0;
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl Default for Clock {
    fn default() -> Self {
        Clock::new()
    }
}

impl Clone for Clock {
    fn clone(&self) -> Self {
        let mut copy = Clock::new();
        copy.put(self.words().to_vec());
        copy
    }
}

impl Drop for Clock {
    fn drop(&mut self) {
        drop(self.take());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn join_is_the_least_upper_bound() {
        let (mut a, mut b) = (Clock::new(), Clock::new());
        a.set(1, 5);
        b.set(3, 2);
        b.set(1, 4);
        assert!(!a.covers(&b));
        assert!(a.join(&b));
        assert!(a.covers(&b) && a.get(1) == 5 && a.get(3) == 2 && a.get(9) == 0);
        assert!(!a.join(&b));
    }

    /// A clock that is cleared and filled again stays where it is: nothing is allocated, and nothing kept.
    #[test]
    fn a_cleared_clock_is_filled_where_it_is() {
        let (mut a, mut b) = (Clock::new(), Clock::new());
        b.set(40, 7);
        a.join(&b);
        let (place, room) = (a.words, a.room);
        for _ in 0..3 {
            a.clear();
            assert_eq!(a.get(40), 0);
            a.set(3, 1);
            assert_eq!((a.get(3), a.get(40)), (1, 0));
            a.join(&b);
            assert_eq!((a.get(3), a.get(40)), (1, 7));
        }
        assert!(a.words == place && a.room == room && a.old.is_none());
    }

    /// One that grows keeps what others may look at, and no more of it than it has itself.
    #[test]
    fn a_clock_that_grows_keeps_what_it_had() {
        let mut a = Clock::new();
        for slot in 0..200 {
            a.set(slot, 1);
        }
        let (mut kept, mut at) = (0, &a.old);
        while let Some(old) = at {
            kept += old._words.capacity();
            at = &old._older;
        }
        assert_eq!((a.room, kept), (256, 8 + 16 + 32 + 64 + 128));
    }
}

//! Sorting and searching: the array is read and written as a whole; the program's comparison runs as its own code, and may
//! throw.

use core::ffi::{c_int, c_void};

use crate::interpose;
use crate::interpose::callbacks::calling_back;
use crate::interpose::strings::{after, before};

type Compare = *const c_void;
type Root = *mut *mut c_void;

interpose! {
    unsafe fn qsort(base: *mut c_void, count: usize, size: usize, compare: Compare) -> () |call, real| {
        call.reads(base, count * size);
        // SAFETY: the program's own call.
        calling_back(&mut call, || unsafe { real(base, count, size, compare) });
        call.writes(base, if count > 1 { count * size } else { 0 });
    }

    unsafe fn qsort_r(base: *mut c_void, count: usize, size: usize, compare: Compare, arg: *mut c_void) -> () |call, real| {
        call.reads(base, count * size);
        // SAFETY: the program's own call.
        calling_back(&mut call, || unsafe { real(base, count, size, compare, arg) });
        call.writes(base, if count > 1 { count * size } else { 0 });
    }

    /// Looks only at the elements that it compares with.
    unsafe fn bsearch(key: *const c_void, base: *const c_void, count: usize, size: usize, compare: unsafe extern "C" fn(*const c_void, *const c_void) -> c_int) -> *mut c_void |call, real| {
        if call.strand().is_none() {
            // SAFETY: the program's own call.
            return unsafe { real(key, base, count, size, compare) };
        }
        let (mut low, mut high) = (0, count);
        while low < high {
            let middle = low + (high - low) / 2;
            let at = base.wrapping_byte_add(middle * size);
            call.reads(at, size);
            // SAFETY: the program's own comparison, of its key and an element of its array.
            match calling_back(&mut call, || unsafe { compare(key, at) }) {
                0 => return at.cast_mut(),
                order if order < 0 => high = middle,
                _ => low = middle + 1,
            }
        }
        core::ptr::null_mut()
    }
}

// The nodes of a tree belong to the C library; its root stands for all of it.
before! {
    tsearch(key: *const c_void, root: Root, compare: Compare) -> *mut c_void: |call| call.writes(root.cast(), 8);
    tdelete(key: *const c_void, root: Root, compare: Compare) -> *mut c_void: |call| call.writes(root.cast(), 8);
    tfind(key: *const c_void, root: Root, compare: Compare) -> *mut c_void: |call| call.reads(root.cast(), 8);
}

after! {
    lfind(key: *const c_void, base: *const c_void, count: *mut usize, size: usize, compare: Compare) -> *mut c_void:
        |call, hit| { call.reads(count.cast(), 8); call.reads(base, if hit.is_null() { *count * size } else { hit as usize - base as usize + size }) };
    lsearch(key: *const c_void, base: *mut c_void, count: *mut usize, size: usize, compare: Compare) -> *mut c_void:
        |call, hit| {
            call.reads(base, hit as usize - base as usize);
            call.writes(hit, if hit as usize - base as usize + size == *count * size { size } else { 0 });
            call.writes(count.cast(), 8)
        };
}

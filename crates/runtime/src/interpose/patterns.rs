//! Regular expressions, file patterns, conversions between alphabets: texts are read and results written on the program's
//! behalf.

use core::ffi::{c_char, c_int, c_void};

use crate::interpose;
use crate::interpose::strings::{after, before};

type Str = *const c_char;
type Text = *mut c_char;

const REGEX: usize = 64;
const MATCH: usize = 8;
/// The bit for it in a byte of the expression, and where that lies.
const NO_MATCHES: u8 = 1 << 5;
const BITS: usize = 56;
const START_AND_END: c_int = 4;
const GLOB: usize = 72;
const WORDS: usize = 24;
const OBSTACK: usize = 88;

after! {
    regcomp(to: *mut c_void, pattern: Str, flags: c_int) -> c_int: |call, failed| { call.reads_text(pattern); call.writes(to, REGEX) };
    regexec(of: *const c_void, text: Str, count: usize, to: *mut c_void, flags: c_int) -> c_int: |call, failed| {
        // What a search changes in the expression is under a lock of its own.
        call.reads(of, REGEX);
        if flags & START_AND_END == 0 { call.reads_text(text); }
        let wants = failed == 0 && !to.is_null() && *of.cast::<u8>().add(BITS) & NO_MATCHES == 0;
        if wants { call.writes(to, count * MATCH) }
    };
    regerror(error: c_int, of: *const c_void, to: Text, room: usize) -> usize: |call, n| if room > 0 { call.writes(to.cast(), n.min(room)) };
    glob(pattern: Str, flags: c_int, error: *const c_void, to: *mut c_void) -> c_int: |call, failed| { call.reads_text(pattern); call.writes(to, GLOB) };
    glob64(pattern: Str, flags: c_int, error: *const c_void, to: *mut c_void) -> c_int: |call, failed| { call.reads_text(pattern); call.writes(to, GLOB) };
    wordexp(text: Str, to: *mut c_void, flags: c_int) -> c_int: |call, failed| { call.reads_text(text); call.writes(to, WORDS) };
    scandir(path: Str, to: *mut *mut c_void, filter: *const c_void, compare: *const c_void) -> c_int: |call, n| { call.reads_text(path); if n >= 0 { call.writes(to.cast(), 8) } };
    scandir64(path: Str, to: *mut *mut c_void, filter: *const c_void, compare: *const c_void) -> c_int: |call, n| { call.reads_text(path); if n >= 0 { call.writes(to.cast(), 8) } };
    readdir_r(dir: *mut c_void, to: *mut u8, result: *mut *mut u8) -> c_int: |call, failed| {
        call.writes(result.cast(), 8);
        if failed == 0 && !(*result).is_null() { call.writes(to.cast(), to.add(16).cast::<u16>().read_unaligned() as usize) }
    };
    readdir64_r(dir: *mut c_void, to: *mut u8, result: *mut *mut u8) -> c_int: |call, failed| {
        call.writes(result.cast(), 8);
        if failed == 0 && !(*result).is_null() { call.writes(to.cast(), to.add(16).cast::<u16>().read_unaligned() as usize) }
    };
    _obstack_begin(to: *mut c_void, size: usize, align: usize, allocate: *const c_void, release: *const c_void) -> c_int: |call, ok| call.writes(to, OBSTACK);
    _obstack_begin_1(to: *mut c_void, size: usize, align: usize, allocate: *const c_void, release: *const c_void, arg: *mut c_void) -> c_int: |call, ok| call.writes(to, OBSTACK);
}

before! {
    regfree(of: *mut c_void) -> (): |call| call.writes(of, REGEX);
    globfree(of: *mut c_void) -> (): |call| call.writes(of, GLOB);
    globfree64(of: *mut c_void) -> (): |call| call.writes(of, GLOB);
    wordfree(of: *mut c_void) -> (): |call| call.writes(of, WORDS);
    _obstack_newchunk(of: *mut c_void, more: usize) -> (): |call| call.writes(of, OBSTACK);
    fnmatch(pattern: Str, text: Str, flags: c_int) -> c_int: |call| { call.reads_text(pattern); call.reads_text(text) };
}

/// How far a place moved, and what was left of it.
unsafe fn place<T: Copy>(p: *const T) -> Option<T> {
    // SAFETY: null, or the program's own.
    unsafe { p.as_ref() }.copied()
}

interpose! {
    unsafe fn iconv(how: *mut c_void, from: *mut Str, from_left: *mut usize, to: *mut Text, to_left: *mut usize) -> usize |call, real| {
        // SAFETY: the program's own places, each of which may be null.
        let before = unsafe { (place(from), place(to)) };
        // SAFETY: the program's own call.
        let result = unsafe { real(how, from, from_left, to, to_left) };
        // SAFETY: as above.
        let after = unsafe { (place(from), place(to)) };
        // One conversion has one state.
        call.writes(how, 1);
        if let (Some(start), Some(end)) = (before.0, after.0) && !start.is_null() {
            call.reads(start.cast(), end as usize - start as usize);
            call.writes(from.cast(), 8);
            call.writes(from_left.cast(), 8);
        }
        if let (Some(start), Some(end)) = (before.1, after.1) && !start.is_null() {
            call.writes(start.cast(), end as usize - start as usize);
            call.writes(to.cast(), 8);
            call.writes(to_left.cast(), 8);
        }
        result
    }
}

//! The string.h family: exactly the bytes that each function must look at, and those that it writes.

use core::ffi::{c_char, c_int, c_long};

use crate::history::Touch;
use crate::interpose::Call;
use crate::interpose::memory::been_everywhere;
use crate::{interpose, leaf};

type Str = *const c_char;

/// The length of a string whose end lies within `most` bytes, else `most`.
///
/// # Safety
/// `p` must be a string that ends, or has `most` bytes.
pub unsafe fn length_up_to(p: Str, most: usize) -> usize {
    let mut n = 0;
    // SAFETY: by the contract; read one by one so that no library function is made of it.
    while n < most && unsafe { p.add(n).read_volatile() } != 0 {
        n += 1;
    }
    n
}

/// # Safety
/// `p` must be a string that ends.
pub unsafe fn length(p: Str) -> usize {
    // SAFETY: by the contract.
    unsafe { strlen::real()(p) }
}

/// How many bytes of both strings a comparison looks at: up to the first that differ, or the end, or `most`.
///
/// # Safety
/// Both must be strings that end before `most` bytes, or have as many.
unsafe fn compared(a: Str, b: Str, most: usize, fold: impl Fn(u8) -> u8) -> usize {
    let mut n = 0;
    while n < most {
        // SAFETY: by the contract nothing ended before.
        let (x, y) = unsafe {
            (
                a.add(n).read_volatile() as u8,
                b.add(n).read_volatile() as u8,
            )
        };
        n += 1;
        if x == 0 || fold(x) != fold(y) {
            break;
        }
    }
    n
}

fn same(byte: u8) -> u8 {
    byte
}

fn lower(byte: u8) -> u8 {
    byte.to_ascii_lowercase()
}

impl Call {
    /// A string of at most `most` bytes is read: with its end, if that lies within. Its length without.
    ///
    /// # Safety
    /// As [`length_up_to`].
    pub unsafe fn reads_string_up_to(&mut self, p: Str, most: usize) -> usize {
        // SAFETY: by the contract.
        let n = unsafe { length_up_to(p, most) };
        self.reads(p.cast(), (n + 1).min(most));
        n
    }

    /// A whole string is read. Its length without the end.
    ///
    /// # Safety
    /// `p` must be a string that ends.
    pub unsafe fn reads_text(&mut self, p: Str) -> usize {
        if p.is_null() {
            return 0; // the kernel refuses it with an error, which some programs want to see
        }
        // SAFETY: by the contract.
        let n = unsafe { length(p) };
        self.reads(p.cast(), n + 1);
        n
    }

    /// A whole string is written.
    ///
    /// # Safety
    /// `p` must be a string that ends.
    pub unsafe fn writes_text(&mut self, p: Str) {
        // SAFETY: by the contract.
        let n = unsafe { length(p) };
        self.writes(p.cast(), n + 1);
    }

    /// `from` is copied to `to`, with its end. Its length without.
    unsafe fn copies_text(&mut self, to: *mut c_char, from: Str) -> usize {
        // SAFETY: the program's own string.
        let n = unsafe { self.reads_text(from) };
        self.writes(to.cast(), n + 1);
        n
    }

    unsafe fn appends(&mut self, to: *mut c_char, from: Str, most: usize) {
        // SAFETY: the program's own strings.
        unsafe {
            let before = self.reads_text(to);
            let n = self.reads_string_up_to(from, most);
            self.writes(to.add(before).cast(), n + 1);
        }
    }

    unsafe fn fills(&mut self, to: *mut c_char, from: Str, n: usize) {
        // SAFETY: the program's own string.
        unsafe { self.reads_string_up_to(from, n) };
        self.writes(to.cast(), n);
    }
}

leaf! {
    unsafe fn strlen(p: Str) -> usize = "xor eax, eax; 4: cmp byte ptr [rdi + rax], 0; je 5f; inc rax; jmp 4b; 5: ret" |call, real| {
        // SAFETY: the program's own call.
        let n = unsafe { real(p) };
        if !been_everywhere(p.cast(), n + 1, Touch::Read) {
            call().reads(p.cast(), n + 1);
        }
        n
    }
}

/// Functions that look at strings and then do their work: what each touches, before the real call.
macro_rules! before {
    ($($name:ident($($arg:ident: $ty:ty),*) -> $ret:ty: |$call:ident| $touch:expr;)*) => {
        interpose! { $(
            unsafe fn $name($($arg: $ty),*) -> $ret |call, real| {
                if call.strand().is_some() {
                    let $call = &mut call;
                    // SAFETY: what the program passed is what the function's contract asks for.
                    #[allow(unused_unsafe, clippy::macro_metavars_in_unsafe)]
                    unsafe { $touch };
                }
                // SAFETY: the program's own call.
                unsafe { real($($arg),*) }
            }
        )* }
    };
}

/// Functions of which the result tells what they looked at.
macro_rules! after {
    ($($name:ident($($arg:ident: $ty:ty),*) -> $ret:ty: |$call:ident, $result:ident| $touch:expr;)*) => {
        interpose! { $(
            unsafe fn $name($($arg: $ty),*) -> $ret |call, real| {
                // SAFETY: the program's own call.
                let $result = unsafe { real($($arg),*) };
                if call.strand().is_some() {
                    let $call = &mut call;
                    // SAFETY: what the program passed is what the function's contract asks for.
                    #[allow(unused_unsafe, clippy::macro_metavars_in_unsafe)]
                    unsafe { $touch };
                }
                $result
            }
        )* }
    };
}
pub(crate) use {after, before};

/// A search from the front read up to its hit, or all.
unsafe fn searched(call: &mut Call, p: Str, hit: Str) {
    if hit.is_null() {
        // SAFETY: the program's own string.
        unsafe { call.reads_text(p) };
    } else {
        call.reads(p.cast(), hit as usize - p as usize + 1);
    }
}

after! {
    strnlen(p: Str, most: usize) -> usize: |call, n| call.reads(p.cast(), (n + 1).min(most));
    strchr(p: Str, byte: c_int) -> *mut c_char: |call, hit| searched(call, p, hit);
    index(p: Str, byte: c_int) -> *mut c_char: |call, hit| searched(call, p, hit);
    strchrnul(p: Str, byte: c_int) -> *mut c_char: |call, hit| searched(call, p, hit);
    strspn(p: Str, set: Str) -> usize: |call, n| { call.reads_text(set); call.reads(p.cast(), n + 1) };
    strcspn(p: Str, set: Str) -> usize: |call, n| { call.reads_text(set); call.reads(p.cast(), n + 1) };
    strpbrk(p: Str, set: Str) -> *mut c_char: |call, hit| { call.reads_text(set); searched(call, p, hit) };
    strstr(p: Str, what: Str) -> *mut c_char: |call, hit| found(call, p, what, hit);
    strcasestr(p: Str, what: Str) -> *mut c_char: |call, hit| found(call, p, what, hit);
    __strdup(p: Str) -> *mut c_char: |call, new| { call.reads_text(p); wrote_copy(call, new) };
    strdup(p: Str) -> *mut c_char: |call, new| { call.reads_text(p); wrote_copy(call, new) };
    strndup(p: Str, n: usize) -> *mut c_char: |call, new| { call.reads_string_up_to(p, n); wrote_copy(call, new) };
    __strndup(p: Str, n: usize) -> *mut c_char: |call, new| { call.reads_string_up_to(p, n); wrote_copy(call, new) };
    strxfrm(to: *mut c_char, from: Str, n: usize) -> usize: |call, len| { call.reads_text(from); call.writes(to.cast(), (len + 1).min(n)) };
    strxfrm_l(to: *mut c_char, from: Str, n: usize, locale: *mut core::ffi::c_void) -> usize: |call, len| { call.reads_text(from); call.writes(to.cast(), (len + 1).min(n)) };
    strerror_r(code: c_int, buffer: *mut c_char, n: usize) -> *mut c_char: |call, text| if text == buffer && n > 0 { call.writes_text(buffer) };
    __xpg_strerror_r(code: c_int, buffer: *mut c_char, n: usize) -> c_int: |call, failed| if failed == 0 { call.writes_text(buffer) };
}

unsafe fn wrote_copy(call: &mut Call, new: *mut c_char) {
    if !new.is_null() {
        // SAFETY: a fresh string.
        unsafe { call.writes_text(new) };
    }
}

unsafe fn found(call: &mut Call, p: Str, what: Str, hit: Str) {
    // SAFETY: the program's own strings.
    unsafe {
        let len = call.reads_text(what);
        if hit.is_null() {
            call.reads_text(p);
        } else {
            call.reads(p.cast(), hit as usize - p as usize + len);
        }
    }
}

unsafe fn compares(call: &mut Call, a: Str, b: Str, most: usize, fold: impl Fn(u8) -> u8) {
    // SAFETY: the program's own strings.
    let n = unsafe { compared(a, b, most, fold) };
    call.reads(a.cast(), n);
    call.reads(b.cast(), n);
}

before! {
    strcmp(a: Str, b: Str) -> c_int: |call| compares(call, a, b, usize::MAX, same);
    strncmp(a: Str, b: Str, n: usize) -> c_int: |call| compares(call, a, b, n, same);
    strcasecmp(a: Str, b: Str) -> c_int: |call| compares(call, a, b, usize::MAX, lower);
    strncasecmp(a: Str, b: Str, n: usize) -> c_int: |call| compares(call, a, b, n, lower);
    strcoll(a: Str, b: Str) -> c_int: |call| { call.reads_text(a); call.reads_text(b) };
    strverscmp(a: Str, b: Str) -> c_int: |call| compares(call, a, b, usize::MAX, same);
    strrchr(p: Str, byte: c_int) -> *mut c_char: |call| call.reads_text(p);
    rindex(p: Str, byte: c_int) -> *mut c_char: |call| call.reads_text(p);
    strcpy(to: *mut c_char, from: Str) -> *mut c_char: |call| call.copies_text(to, from);
    stpcpy(to: *mut c_char, from: Str) -> *mut c_char: |call| call.copies_text(to, from);
    strncpy(to: *mut c_char, from: Str, n: usize) -> *mut c_char: |call| call.fills(to, from, n);
    stpncpy(to: *mut c_char, from: Str, n: usize) -> *mut c_char: |call| call.fills(to, from, n);
    strcat(to: *mut c_char, from: Str) -> *mut c_char: |call| call.appends(to, from, usize::MAX);
    strncat(to: *mut c_char, from: Str, n: usize) -> *mut c_char: |call| call.appends(to, from, n);
    __strcpy_chk(to: *mut c_char, from: Str, room: usize) -> *mut c_char: |call| call.copies_text(to, from);
    __stpcpy_chk(to: *mut c_char, from: Str, room: usize) -> *mut c_char: |call| call.copies_text(to, from);
    __strncpy_chk(to: *mut c_char, from: Str, n: usize, room: usize) -> *mut c_char: |call| call.fills(to, from, n.min(room));
    __stpncpy_chk(to: *mut c_char, from: Str, n: usize, room: usize) -> *mut c_char: |call| call.fills(to, from, n.min(room));
    __strcat_chk(to: *mut c_char, from: Str, room: usize) -> *mut c_char: |call| call.appends(to, from, usize::MAX);
    __strncat_chk(to: *mut c_char, from: Str, n: usize, room: usize) -> *mut c_char: |call| call.appends(to, from, n);
}

interpose! {
    unsafe fn strtok_r(text: *mut c_char, set: Str, state: *mut *mut c_char) -> *mut c_char |call, real| {
        // SAFETY: the program's own strings and place.
        let begin = if text.is_null() { unsafe { *state } } else { text };
        // SAFETY: the program's own call.
        let token = unsafe { real(text, set, state) };
        // SAFETY: as above; the real call has moved the place on.
        unsafe { split(&mut call, begin, set, state, token, text.is_null()) };
        token
    }

    unsafe fn __strtok_r(text: *mut c_char, set: Str, state: *mut *mut c_char) -> *mut c_char |call, real| {
        // SAFETY: the program's own strings and place.
        let begin = if text.is_null() { unsafe { *state } } else { text };
        // SAFETY: the program's own call.
        let token = unsafe { real(text, set, state) };
        // SAFETY: as above; the real call has moved the place on.
        unsafe { split(&mut call, begin, set, state, token, text.is_null()) };
        token
    }

    unsafe fn strsep(text: *mut *mut c_char, set: Str) -> *mut c_char |call, real| {
        // SAFETY: the program's own call.
        let token = unsafe { real(text, set) };
        if call.strand().is_some() {
            call.reads(text.cast(), size_of::<usize>());
            if !token.is_null() {
                // SAFETY: the program's own strings; the token ends where a separator was.
                unsafe {
                    call.reads_text(set);
                    let n = call.reads_text(token);
                    if !(*text).is_null() {
                        call.writes(token.add(n).cast(), 1);
                    }
                }
                call.writes(text.cast(), size_of::<usize>());
            }
        }
        token
    }
}

unsafe fn split(
    call: &mut Call,
    begin: *mut c_char,
    set: Str,
    state: *mut *mut c_char,
    token: *mut c_char,
    goes_on: bool,
) {
    if call.strand().is_none() {
        return;
    }
    if goes_on {
        call.reads(state.cast(), size_of::<usize>());
    }
    call.writes(state.cast(), size_of::<usize>());
    if begin.is_null() {
        return;
    }
    // SAFETY: the program's own strings, and the end of the token that the call has made.
    unsafe {
        call.reads_text(set);
        if token.is_null() {
            call.reads_text(begin);
            return;
        }
        let end = token.add(length(token));
        call.reads(begin.cast(), end as usize - begin as usize + 1);
        if *state > end {
            call.writes(end.cast(), 1);
        }
    }
}

/// A conversion read up to where it stopped, and told so.
unsafe fn converted(call: &mut Call, p: Str, end: *mut *mut c_char, stopped: Str) {
    call.reads(p.cast(), stopped as usize - p as usize + 1);
    if !end.is_null() {
        call.writes(end.cast(), size_of::<usize>());
    }
}

/// Text to number: `$end` tells where it stopped; asked for even if the program does not.
macro_rules! numbers {
    ($($name:ident($($arg:ident: $ty:ty),*) -> $ret:ty;)*) => {
        interpose! { $(
            unsafe fn $name(p: Str, end: *mut *mut c_char $(, $arg: $ty)*) -> $ret |call, real| {
                let mut stopped = p as *mut c_char;
                // SAFETY: the program's own call, with our own place for the end.
                let number = unsafe { real(p, &raw mut stopped $(, $arg)*) };
                if call.strand().is_some() {
                    // SAFETY: the real call has set the place.
                    unsafe { converted(&mut call, p, end, stopped) };
                }
                if !end.is_null() {
                    // SAFETY: the program's place.
                    unsafe { *end = stopped };
                }
                number
            }
        )* }
    };
}

numbers! {
    strtol(base: c_int) -> c_long;
    strtoll(base: c_int) -> i64;
    strtoul(base: c_int) -> u64;
    strtoull(base: c_int) -> u64;
    strtoimax(base: c_int) -> i64;
    strtoumax(base: c_int) -> u64;
    strtod() -> f64;
    strtof() -> f32;
}

// The C library's newer names for the same, which older ones do not have.
#[cfg(not(feature = "wrap"))]
numbers! {
    __isoc23_strtol(base: c_int) -> c_long;
    __isoc23_strtoll(base: c_int) -> i64;
    __isoc23_strtoul(base: c_int) -> u64;
    __isoc23_strtoull(base: c_int) -> u64;
    __isoc23_strtoimax(base: c_int) -> i64;
    __isoc23_strtoumax(base: c_int) -> u64;
}

before! {
    atoi(p: Str) -> c_int: |call| number_text(call, p);
    atol(p: Str) -> c_long: |call| number_text(call, p);
    atoll(p: Str) -> i64: |call| number_text(call, p);
    atof(p: Str) -> f64: |call| { let mut end = p as *mut c_char; strtod::real()(p, &raw mut end); call.reads(p.cast(), end as usize - p as usize + 1) };
}

unsafe fn number_text(call: &mut Call, p: Str) {
    let mut end = p as *mut c_char;
    // SAFETY: the program's own string; errno is left as the conversion of the program will leave it anyway.
    unsafe { strtol::real()(p, &raw mut end, 10) };
    call.reads(p.cast(), end as usize - p as usize + 1);
}

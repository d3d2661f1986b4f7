//! Wide strings, and their conversion to and from bytes: the same as `strings`, in units of four bytes.

use core::ffi::{c_char, c_int, c_long, c_void};

use crate::interpose;
use crate::interpose::Call;
use crate::interpose::strings::{after, before};

type Wide = *const i32;
type Room = *mut i32;
type Str = *const c_char;

const UNIT: usize = 4;

/// The length of a wide string whose end lies within `most` characters, else `most`.
unsafe fn length_up_to(p: Wide, most: usize) -> usize {
    let mut n = 0;
    // SAFETY: the program's own string; read one by one so that no library function is made of it.
    while n < most && unsafe { p.add(n).read_volatile() } != 0 {
        n += 1;
    }
    n
}

unsafe fn compared(a: Wide, b: Wide, most: usize, fold: fn(i32) -> i32) -> usize {
    let mut n = 0;
    while n < most {
        // SAFETY: the program's own strings, of which nothing ended before.
        let (x, y) = unsafe { (a.add(n).read_volatile(), b.add(n).read_volatile()) };
        n += 1;
        if x == 0 || fold(x) != fold(y) {
            break;
        }
    }
    n
}

fn same(c: i32) -> i32 {
    c
}

fn lower(c: i32) -> i32 {
    u8::try_from(c).map_or(c, |b| b.to_ascii_lowercase() as i32)
}

impl Call {
    fn reads_units(&mut self, p: Wide, n: usize) {
        self.reads(p.cast(), n.saturating_mul(UNIT));
    }

    fn writes_units(&mut self, p: Wide, n: usize) {
        self.writes(p.cast(), n.saturating_mul(UNIT));
    }

    unsafe fn reads_wide_up_to(&mut self, p: Wide, most: usize) -> usize {
        // SAFETY: the program's own string.
        let n = unsafe { length_up_to(p, most) };
        self.reads_units(p, n.saturating_add(1).min(most));
        n
    }

    /// A whole wide string is read. Its length without the end.
    ///
    /// # Safety
    /// `p` must be a string that ends.
    pub unsafe fn reads_wide(&mut self, p: Wide) -> usize {
        // SAFETY: the program's own string.
        unsafe { self.reads_wide_up_to(p, usize::MAX) }
    }

    unsafe fn writes_wide(&mut self, p: Wide) {
        // SAFETY: the program's own string.
        let n = unsafe { length_up_to(p, usize::MAX) };
        self.writes_units(p, n + 1);
    }

    unsafe fn copies_wide(&mut self, to: Room, from: Wide) {
        // SAFETY: the program's own string.
        let n = unsafe { self.reads_wide(from) };
        self.writes_units(to, n + 1);
    }

    unsafe fn fills_wide(&mut self, to: Room, from: Wide, n: usize) {
        // SAFETY: the program's own string.
        unsafe { self.reads_wide_up_to(from, n) };
        self.writes_units(to, n);
    }

    unsafe fn appends_wide(&mut self, to: Room, from: Wide, most: usize) {
        // SAFETY: the program's own strings.
        unsafe {
            let before = self.reads_wide(to);
            let n = self.reads_wide_up_to(from, most);
            self.writes_units(to.add(before), n + 1);
        }
    }

    unsafe fn searched_wide(&mut self, p: Wide, hit: Wide) {
        if hit.is_null() {
            // SAFETY: the program's own string.
            unsafe { self.reads_wide(p) };
        } else {
            self.reads(p.cast(), hit as usize - p as usize + UNIT);
        }
    }

    unsafe fn compares_wide(&mut self, a: Wide, b: Wide, most: usize, fold: fn(i32) -> i32) {
        // SAFETY: the program's own strings.
        let n = unsafe { compared(a, b, most, fold) };
        self.reads_units(a, n);
        self.reads_units(b, n);
    }

    fn copies_units(&mut self, to: Room, from: Wide, n: usize) {
        self.reads_units(from, n);
        self.writes_units(to, n);
    }
}

before! {
    wcslen(p: Wide) -> usize: |call| call.reads_wide(p);
    wcscmp(a: Wide, b: Wide) -> c_int: |call| call.compares_wide(a, b, usize::MAX, same);
    wcsncmp(a: Wide, b: Wide, n: usize) -> c_int: |call| call.compares_wide(a, b, n, same);
    wcscasecmp(a: Wide, b: Wide) -> c_int: |call| call.compares_wide(a, b, usize::MAX, lower);
    wcsncasecmp(a: Wide, b: Wide, n: usize) -> c_int: |call| call.compares_wide(a, b, n, lower);
    wcscoll(a: Wide, b: Wide) -> c_int: |call| { call.reads_wide(a); call.reads_wide(b) };
    wcsrchr(p: Wide, c: i32) -> Room: |call| call.reads_wide(p);
    wcscpy(to: Room, from: Wide) -> Room: |call| call.copies_wide(to, from);
    wcpcpy(to: Room, from: Wide) -> Room: |call| call.copies_wide(to, from);
    wcsncpy(to: Room, from: Wide, n: usize) -> Room: |call| call.fills_wide(to, from, n);
    wcpncpy(to: Room, from: Wide, n: usize) -> Room: |call| call.fills_wide(to, from, n);
    wcscat(to: Room, from: Wide) -> Room: |call| call.appends_wide(to, from, usize::MAX);
    wcsncat(to: Room, from: Wide, n: usize) -> Room: |call| call.appends_wide(to, from, n);
    wmemcpy(to: Room, from: Wide, n: usize) -> Room: |call| call.copies_units(to, from, n);
    wmempcpy(to: Room, from: Wide, n: usize) -> Room: |call| call.copies_units(to, from, n);
    wmemmove(to: Room, from: Wide, n: usize) -> Room: |call| call.copies_units(to, from, n);
    wmemset(to: Room, c: i32, n: usize) -> Room: |call| call.writes_units(to, n);
    __wcscpy_chk(to: Room, from: Wide, room: usize) -> Room: |call| call.copies_wide(to, from);
    __wcpcpy_chk(to: Room, from: Wide, room: usize) -> Room: |call| call.copies_wide(to, from);
    __wcsncpy_chk(to: Room, from: Wide, n: usize, room: usize) -> Room: |call| call.fills_wide(to, from, n.min(room));
    __wcscat_chk(to: Room, from: Wide, room: usize) -> Room: |call| call.appends_wide(to, from, usize::MAX);
    __wcsncat_chk(to: Room, from: Wide, n: usize, room: usize) -> Room: |call| call.appends_wide(to, from, n);
    __wmemcpy_chk(to: Room, from: Wide, n: usize, room: usize) -> Room: |call| call.copies_units(to, from, n.min(room));
    __wmempcpy_chk(to: Room, from: Wide, n: usize, room: usize) -> Room: |call| call.copies_units(to, from, n.min(room));
    __wmemmove_chk(to: Room, from: Wide, n: usize, room: usize) -> Room: |call| call.copies_units(to, from, n.min(room));
    __wmemset_chk(to: Room, c: i32, n: usize, room: usize) -> Room: |call| call.writes_units(to, n.min(room));
    fputws(text: Wide, file: *mut c_void) -> c_int: |call| { call.reads_wide(text); call.puts_into(file) };
}

after! {
    wcsnlen(p: Wide, most: usize) -> usize: |call, n| call.reads_units(p, (n + 1).min(most));
    wcschr(p: Wide, c: i32) -> Room: |call, hit| call.searched_wide(p, hit);
    wcschrnul(p: Wide, c: i32) -> Room: |call, hit| call.searched_wide(p, hit);
    wcspbrk(p: Wide, set: Wide) -> Room: |call, hit| { call.reads_wide(set); call.searched_wide(p, hit) };
    wcsspn(p: Wide, set: Wide) -> usize: |call, n| { call.reads_wide(set); call.reads_units(p, n + 1) };
    wcscspn(p: Wide, set: Wide) -> usize: |call, n| { call.reads_wide(set); call.reads_units(p, n + 1) };
    wcsstr(p: Wide, what: Wide) -> Room: |call, hit| {
        let n = call.reads_wide(what);
        if hit.is_null() { call.reads_wide(p); } else { call.reads(p.cast(), hit as usize - p as usize + n * UNIT) }
    };
    wcsdup(p: Wide) -> Room: |call, new| { call.reads_wide(p); if !new.is_null() { call.writes_wide(new) } };
    wmemcmp(a: Wide, b: Wide, n: usize) -> c_int: |call, order| {
        let read = if order == 0 { n } else { (0..n).find(|&i| *a.add(i) != *b.add(i)).map_or(n, |i| i + 1) };
        call.reads_units(a, read);
        call.reads_units(b, read)
    };
    wmemchr(p: Wide, c: i32, n: usize) -> Room: |call, hit| call.reads(p.cast(), if hit.is_null() { n * UNIT } else { hit as usize - p as usize + UNIT });
    fgetws(to: Room, room: c_int, file: *mut c_void) -> Room: |call, line| { call.got_from(file); if !line.is_null() { call.writes_wide(to) } };
    mbstowcs(to: Room, from: Str, room: usize) -> usize: |call, n| { call.reads_text(from); if !to.is_null() && n != usize::MAX { call.writes_units(to, (n + 1).min(room)) } };
    wcstombs(to: *mut c_char, from: Wide, room: usize) -> usize: |call, n| { call.reads_wide(from); if !to.is_null() && n != usize::MAX { call.writes(to.cast(), (n + 1).min(room)) } };
    mbtowc(to: Room, from: Str, most: usize) -> c_int: |call, n| if !from.is_null() && n >= 0 { call.reads(from.cast(), n.max(1) as usize); if !to.is_null() { call.writes_units(to, 1) } };
    wctomb(to: *mut c_char, c: i32) -> c_int: |call, n| if !to.is_null() && n > 0 { call.writes(to.cast(), n as usize) };
    mbrtowc(to: Room, from: Str, most: usize, state: *mut c_void) -> usize: |call, n| {
        if !state.is_null() { call.writes(state, 8) }
        if !from.is_null() && n <= most { call.reads(from.cast(), n.max(1)); if !to.is_null() { call.writes_units(to, 1) } }
    };
    wcrtomb(to: *mut c_char, c: i32, state: *mut c_void) -> usize: |call, n| {
        if !state.is_null() { call.writes(state, 8) }
        if !to.is_null() && n != usize::MAX { call.writes(to.cast(), n) }
    };
    mbsrtowcs(to: Room, from: *mut Str, room: usize, state: *mut c_void) -> usize: |call, n| {
        call.writes(from.cast(), 8);
        if !state.is_null() { call.writes(state, 8) }
        if !to.is_null() && n != usize::MAX { call.writes_units(to, (n + 1).min(room)) }
    };
    wcsrtombs(to: *mut c_char, from: *mut Wide, room: usize, state: *mut c_void) -> usize: |call, n| {
        call.writes(from.cast(), 8);
        if !state.is_null() { call.writes(state, 8) }
        if !to.is_null() && n != usize::MAX { call.writes(to.cast(), (n + 1).min(room)) }
    };
}

after! {
    mbsnrtowcs(to: Room, from: *mut Str, bytes: usize, room: usize, state: *mut c_void) -> usize: |call, n| {
        call.writes(from.cast(), 8);
        if !state.is_null() { call.writes(state, 8) }
        if !to.is_null() && n != usize::MAX { call.writes_units(to, (n + 1).min(room)) }
    };
    wcsnrtombs(to: *mut c_char, from: *mut Wide, units: usize, room: usize, state: *mut c_void) -> usize: |call, n| {
        call.writes(from.cast(), 8);
        if !state.is_null() { call.writes(state, 8) }
        if !to.is_null() && n != usize::MAX { call.writes(to.cast(), (n + 1).min(room)) }
    };
    wcsxfrm(to: Room, from: Wide, room: usize) -> usize: |call, n| { call.reads_wide(from); if n < room { call.writes_units(to, n + 1) } };
    wcsxfrm_l(to: Room, from: Wide, room: usize, locale: *mut c_void) -> usize: |call, n| { call.reads_wide(from); if n < room { call.writes_units(to, n + 1) } };
}

/// Wide text to number: read up to where it stopped.
macro_rules! wide_numbers {
    ($($name:ident($($arg:ident: $ty:ty),*) -> $ret:ty;)*) => {
        interpose! { $(
            unsafe fn $name(p: Wide, end: *mut Room $(, $arg: $ty)*) -> $ret |call, real| {
                let mut stopped = p as Room;
                // SAFETY: the program's own call, with our own place for the end.
                let number = unsafe { real(p, &raw mut stopped $(, $arg)*) };
                call.reads(p.cast(), stopped as usize - p as usize + UNIT);
                if !end.is_null() {
                    call.writes(end.cast(), size_of::<usize>());
                    // SAFETY: the program's place.
                    unsafe { *end = stopped };
                }
                number
            }
        )* }
    };
}

wide_numbers! {
    wcstol(base: c_int) -> c_long;
    wcstoll(base: c_int) -> i64;
    wcstoul(base: c_int) -> u64;
    wcstoull(base: c_int) -> u64;
    wcstod() -> f64;
    wcstof() -> f32;
}

interpose! {
    unsafe fn wcstok(text: Room, set: Wide, state: *mut Room) -> Room |call, real| {
        // SAFETY: the program's own call.
        let token = unsafe { real(text, set, state) };
        if call.strand().is_some() {
            call.writes(state.cast(), size_of::<usize>());
            // SAFETY: the program's own strings, and the end of the token that the call has made.
            unsafe {
                call.reads_wide(set);
                if !token.is_null() {
                    let n = call.reads_wide(token);
                    if *state > token.add(n) {
                        call.writes_units(token.add(n), 1);
                    }
                }
            }
        }
        token
    }
}

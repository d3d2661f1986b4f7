//! Functions that keep their result or their place in memory of the C library: two threads that call them without order
//! race on it. The result that such a function returns is written by each call.

use core::ffi::{c_char, c_int, c_void};

use crate::interpose;
use crate::interpose::Call;
use crate::interpose::strings::{after, before};

type Str = *const c_char;
type Text = *mut c_char;

/// Where `strtok` is in its text.
static STRTOK_PLACE: core::sync::atomic::AtomicU64 = core::sync::atomic::AtomicU64::new(0);
/// The program's locale.
static LOCALE: core::sync::atomic::AtomicU64 = core::sync::atomic::AtomicU64::new(0);
/// The table of `hsearch`.
static HASH_TABLE: core::sync::atomic::AtomicU64 = core::sync::atomic::AtomicU64::new(0);

fn place(of: &'static core::sync::atomic::AtomicU64) -> *const c_void {
    of.as_ptr().cast()
}

const TM: usize = 56;
const LCONV: usize = 96;

pub(super) fn filled(call: &mut Call, p: *const c_void, bytes: usize) {
    if !p.is_null() {
        call.writes(p, bytes);
    }
}

/// # Safety
/// `text` must be null, or a string that ends.
pub(super) unsafe fn wrote(call: &mut Call, text: Text) {
    if !text.is_null() {
        // SAFETY: what the real function returned.
        unsafe { call.writes_text(text) };
    }
}

after! {
    localtime(time: *const i64) -> *mut c_void: |call, tm| { call.reads(time.cast(), 8); filled(call, tm, TM) };
    gmtime(time: *const i64) -> *mut c_void: |call, tm| { call.reads(time.cast(), 8); filled(call, tm, TM) };
    asctime(tm: *const c_void) -> Text: |call, text| { call.reads(tm, TM); wrote(call, text) };
    ctime(time: *const i64) -> Text: |call, text| { call.reads(time.cast(), 8); wrote(call, text) };
    inet_ntoa(address: u32) -> Text: |call, text| wrote(call, text);
    ttyname(fd: c_int) -> Text: |call, text| wrote(call, text);
    ptsname(fd: c_int) -> Text: |call, text| wrote(call, text);
    getlogin() -> Text: |call, text| wrote(call, text);
    localeconv() -> *mut c_void: |call, entry| { call.reads(place(&LOCALE), 8); filled(call, entry, LCONV) };
    l64a(n: i64) -> Text: |call, text| wrote(call, text);
}

before! {
    setlocale(category: c_int, name: Str) -> Text: |call| if name.is_null() { call.reads(place(&LOCALE), 8) } else { call.reads_text(name); call.writes(place(&LOCALE), 8) };
    hcreate(count: usize) -> c_int: |call| call.writes(place(&HASH_TABLE), 8);
    hdestroy() -> (): |call| call.writes(place(&HASH_TABLE), 8);
    hsearch(key: Str, data: *mut c_void, action: c_int) -> *mut c_void: |call| { call.reads_text(key); if action == 1 { call.writes(place(&HASH_TABLE), 8) } else { call.reads(place(&HASH_TABLE), 8) } };
}

interpose! {
    unsafe fn strtok(text: Text, set: Str) -> Text |call, real| {
        if call.strand().is_some() {
            call.writes(place(&STRTOK_PLACE), 8);
            // SAFETY: the program's own strings.
            unsafe {
                call.reads_text(set);
                if !text.is_null() {
                    call.reads_text(text);
                }
            }
        }
        // SAFETY: the program's own call.
        let token = unsafe { real(text, set) };
        // SAFETY: the token ends where the separator was.
        unsafe { wrote_end(&mut call, token) };
        token
    }

    unsafe fn dirname(path: Text) -> Text |call, real| {
        // SAFETY: the program's own call and string.
        unsafe {
            let before = if path.is_null() { 0 } else { call.reads_text(path) };
            let dir = real(path);
            shortened(&mut call, path, before);
            dir
        }
    }

    unsafe fn __xpg_basename(path: Text) -> Text |call, real| {
        // SAFETY: the program's own call and string.
        unsafe {
            let before = if path.is_null() { 0 } else { call.reads_text(path) };
            let base = real(path);
            shortened(&mut call, path, before);
            base
        }
    }
}

unsafe fn wrote_end(call: &mut Call, token: Text) {
    if call.strand().is_some() && !token.is_null() {
        // SAFETY: a token ends.
        unsafe {
            call.writes(
                token.add(crate::interpose::strings::length(token)).cast(),
                1,
            )
        };
    }
}

unsafe fn shortened(call: &mut Call, path: Text, before: usize) {
    if path.is_null() {
        return;
    }
    // SAFETY: the program's own string.
    let now = unsafe { crate::interpose::strings::length(path) };
    if now < before {
        call.writes(path.wrapping_add(now).cast(), 1);
    }
}

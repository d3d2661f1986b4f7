//! The environment: reading a variable races with setting any, for the list of them may move.

use core::ffi::{c_char, c_int, c_void};

use crate::interpose;
use crate::interpose::strings::{after, before};

type Str = *const c_char;

unsafe extern "C" {
    static mut environ: *mut *mut c_char;
}

fn list() -> *const c_void {
    (&raw const environ).cast()
}

before! {
    setenv(name: Str, value: Str, over: c_int) -> c_int: |call| { call.reads_text(name); call.reads_text(value); call.writes(list(), 8) };
    unsetenv(name: Str) -> c_int: |call| { call.reads_text(name); call.writes(list(), 8) };
    putenv(text: *mut c_char) -> c_int: |call| { call.reads_text(text); call.writes(list(), 8) };
    clearenv() -> c_int: |call| call.writes(list(), 8);
    getenv(name: Str) -> *mut c_char: |call| { call.reads_text(name); call.reads(list(), 8) };
    secure_getenv(name: Str) -> *mut c_char: |call| { call.reads_text(name); call.reads(list(), 8) };
}

const TEXT_OF_UTSNAME: usize = 390;

after! {
    uname(to: *mut c_void) -> c_int: |call, failed| if failed == 0 { call.writes(to, TEXT_OF_UTSNAME) };
    gethostname(to: *mut c_char, room: usize) -> c_int: |call, failed| if failed == 0 { call.writes_text(to) };
    getdomainname(to: *mut c_char, room: usize) -> c_int: |call, failed| if failed == 0 { call.writes_text(to) };
    sysinfo(to: *mut c_void) -> c_int: |call, failed| if failed == 0 { call.writes(to, 112) };
    getrusage(who: c_int, to: *mut c_void) -> c_int: |call, failed| if failed == 0 { call.writes(to, 144) };
    getrlimit(what: c_int, to: *mut c_void) -> c_int: |call, failed| if failed == 0 { call.writes(to, 16) };
    getrlimit64(what: c_int, to: *mut c_void) -> c_int: |call, failed| if failed == 0 { call.writes(to, 16) };
    setrlimit(what: c_int, from: *const c_void) -> c_int: |call, failed| call.reads(from, 16);
    setrlimit64(what: c_int, from: *const c_void) -> c_int: |call, failed| call.reads(from, 16);
    getloadavg(to: *mut f64, count: c_int) -> c_int: |call, n| call.writes(to.cast(), n.max(0) as usize * 8);
    getgroups(room: c_int, to: *mut u32) -> c_int: |call, n| if room > 0 { call.writes(to.cast(), n.max(0) as usize * 4) };
    getresuid(real_id: *mut u32, effective: *mut u32, saved: *mut u32) -> c_int: |call, failed| for p in [real_id, effective, saved] { call.writes(p.cast(), 4) };
    getresgid(real_id: *mut u32, effective: *mut u32, saved: *mut u32) -> c_int: |call, failed| for p in [real_id, effective, saved] { call.writes(p.cast(), 4) };
    getrandom(to: *mut c_void, n: usize, flags: u32) -> isize: |call, got| call.writes(to, got.max(0) as usize);
    getentropy(to: *mut c_void, n: usize) -> c_int: |call, failed| if failed == 0 { call.writes(to, n) };
    rand_r(seed: *mut u32) -> c_int: |call, n| call.writes(seed.cast(), 4);
    ttyname_r(fd: c_int, to: *mut c_char, room: usize) -> c_int: |call, failed| if failed == 0 { call.writes_text(to) };
    ptsname_r(fd: c_int, to: *mut c_char, room: usize) -> c_int: |call, failed| if failed == 0 { call.writes_text(to) };
    getnameinfo(address: *const c_void, len: u32, host: *mut c_char, host_room: u32, service: *mut c_char, service_room: u32, flags: c_int) -> c_int:
        |call, failed| {
            call.reads(address, len as usize);
            if failed == 0 { for text in [host, service] { if !text.is_null() { call.writes_text(text); } } }
        };
    inet_pton(family: c_int, text: Str, to: *mut c_void) -> c_int: |call, ok| { call.reads_text(text); if ok == 1 { call.writes(to, if family == 2 { 4 } else { 16 }) } };
    inet_ntop(family: c_int, from: *const c_void, to: *mut c_char, room: u32) -> *const c_char: |call, text| { call.reads(from, if family == 2 { 4 } else { 16 }); if !text.is_null() { call.writes_text(to) } };
    inet_aton(text: Str, to: *mut c_void) -> c_int: |call, ok| { call.reads_text(text); if ok != 0 { call.writes(to, 4) } };
}

//! Times and the state of files, put into structures of the program.

use core::ffi::{c_char, c_int, c_void};

use crate::interpose;
use crate::interpose::Call;
use crate::interpose::strings::{after, before};

type Str = *const c_char;

const TM: usize = 56;
const EINTR: c_int = 4;
const TIMESPEC: usize = 16;
const STAT: usize = 144;
const STATX: usize = 256;
const STATFS: usize = 120;
const STATVFS: usize = 112;

fn put(call: &mut Call, to: *const c_void, bytes: usize) {
    if !to.is_null() {
        call.writes(to, bytes);
    }
}

after! {
    time(to: *mut i64) -> i64: |call, now| put(call, to.cast(), 8);
    gettimeofday(to: *mut c_void, zone: *mut c_void) -> c_int: |call, failed| { put(call, to, TIMESPEC); put(call, zone, 8) };
    clock_gettime(clock: c_int, to: *mut c_void) -> c_int: |call, failed| if failed == 0 { put(call, to, TIMESPEC) };
    clock_getres(clock: c_int, to: *mut c_void) -> c_int: |call, failed| if failed == 0 { put(call, to, TIMESPEC) };
    timespec_get(to: *mut c_void, base: c_int) -> c_int: |call, ok| if ok != 0 { put(call, to, TIMESPEC) };
    times(to: *mut c_void) -> i64: |call, ticks| put(call, to, 32);
    nanosleep(time: *const c_void, left: *mut c_void) -> c_int: |call, failed| { call.reads(time, TIMESPEC); if failed != 0 { put(call, left, TIMESPEC) } };
    clock_nanosleep(clock: c_int, flags: c_int, time: *const c_void, left: *mut c_void) -> c_int: |call, failed| { call.reads(time, TIMESPEC); if failed == EINTR && flags == 0 { put(call, left, TIMESPEC) } };
    localtime_r(time: *const i64, to: *mut c_void) -> *mut c_void: |call, tm| { call.reads(time.cast(), 8); put(call, tm, TM) };
    gmtime_r(time: *const i64, to: *mut c_void) -> *mut c_void: |call, tm| { call.reads(time.cast(), 8); put(call, tm, TM) };
    asctime_r(tm: *const c_void, to: *mut c_char) -> *mut c_char: |call, text| { call.reads(tm, TM); if !text.is_null() { call.writes_text(to) } };
    ctime_r(time: *const i64, to: *mut c_char) -> *mut c_char: |call, text| { call.reads(time.cast(), 8); if !text.is_null() { call.writes_text(to) } };
    mktime(tm: *mut c_void) -> i64: |call, time| call.writes(tm, TM);
    timegm(tm: *mut c_void) -> i64: |call, time| call.writes(tm, TM);
    timelocal(tm: *mut c_void) -> i64: |call, time| call.writes(tm, TM);
    strftime(to: *mut c_char, room: usize, format: Str, tm: *const c_void) -> usize: |call, n| { call.reads_text(format); call.reads(tm, TM); call.writes(to.cast(), if n > 0 { n + 1 } else { 0 }) };
    strptime(text: Str, format: Str, tm: *mut c_void) -> *mut c_char: |call, end| { call.reads_text(text); call.reads_text(format); call.writes(tm, TM) };
    getitimer(which: c_int, to: *mut c_void) -> c_int: |call, failed| if failed == 0 { put(call, to, 32) };
    timerfd_gettime(fd: c_int, to: *mut c_void) -> c_int: |call, failed| if failed == 0 { put(call, to, 32) };
    stat(path: Str, to: *mut c_void) -> c_int: |call, failed| { call.reads_text(path); if failed == 0 { put(call, to, STAT) } };
    stat64(path: Str, to: *mut c_void) -> c_int: |call, failed| { call.reads_text(path); if failed == 0 { put(call, to, STAT) } };
    lstat(path: Str, to: *mut c_void) -> c_int: |call, failed| { call.reads_text(path); if failed == 0 { put(call, to, STAT) } };
    lstat64(path: Str, to: *mut c_void) -> c_int: |call, failed| { call.reads_text(path); if failed == 0 { put(call, to, STAT) } };
    fstat(fd: c_int, to: *mut c_void) -> c_int: |call, failed| { call.uses(fd); if failed == 0 { put(call, to, STAT) } };
    fstat64(fd: c_int, to: *mut c_void) -> c_int: |call, failed| { call.uses(fd); if failed == 0 { put(call, to, STAT) } };
    fstatat(at: c_int, path: Str, to: *mut c_void, flags: c_int) -> c_int: |call, failed| { call.reads_text(path); if failed == 0 { put(call, to, STAT) } };
    fstatat64(at: c_int, path: Str, to: *mut c_void, flags: c_int) -> c_int: |call, failed| { call.reads_text(path); if failed == 0 { put(call, to, STAT) } };
    statx(at: c_int, path: Str, flags: c_int, mask: u32, to: *mut c_void) -> c_int: |call, failed| { call.reads_text(path); if failed == 0 { put(call, to, STATX) } };
    statfs(path: Str, to: *mut c_void) -> c_int: |call, failed| { call.reads_text(path); if failed == 0 { put(call, to, STATFS) } };
    statfs64(path: Str, to: *mut c_void) -> c_int: |call, failed| { call.reads_text(path); if failed == 0 { put(call, to, STATFS) } };
    fstatfs(fd: c_int, to: *mut c_void) -> c_int: |call, failed| if failed == 0 { put(call, to, STATFS) };
    fstatfs64(fd: c_int, to: *mut c_void) -> c_int: |call, failed| if failed == 0 { put(call, to, STATFS) };
    statvfs(path: Str, to: *mut c_void) -> c_int: |call, failed| { call.reads_text(path); if failed == 0 { put(call, to, STATVFS) } };
    statvfs64(path: Str, to: *mut c_void) -> c_int: |call, failed| { call.reads_text(path); if failed == 0 { put(call, to, STATVFS) } };
    fstatvfs(fd: c_int, to: *mut c_void) -> c_int: |call, failed| if failed == 0 { put(call, to, STATVFS) };
    getcwd(to: *mut c_char, room: usize) -> *mut c_char: |call, text| if !text.is_null() { call.writes_text(text) };
    __getcwd_chk(to: *mut c_char, room: usize, space: usize) -> *mut c_char: |call, text| if !text.is_null() { call.writes_text(text) };
    get_current_dir_name() -> *mut c_char: |call, text| if !text.is_null() { call.writes_text(text) };
    readlink(path: Str, to: *mut c_char, room: usize) -> isize: |call, n| { call.reads_text(path); call.writes(to.cast(), n.max(0) as usize) };
    readlinkat(at: c_int, path: Str, to: *mut c_char, room: usize) -> isize: |call, n| { call.reads_text(path); call.writes(to.cast(), n.max(0) as usize) };
    __readlink_chk(path: Str, to: *mut c_char, room: usize, space: usize) -> isize: |call, n| { call.reads_text(path); call.writes(to.cast(), n.max(0) as usize) };
    realpath(path: Str, to: *mut c_char) -> *mut c_char: |call, text| { call.reads_text(path); if !text.is_null() { call.writes_text(text) } };
    __realpath_chk(path: Str, to: *mut c_char, room: usize) -> *mut c_char: |call, text| { call.reads_text(path); if !text.is_null() { call.writes_text(text) } };
    canonicalize_file_name(path: Str) -> *mut c_char: |call, text| { call.reads_text(path); if !text.is_null() { call.writes_text(text) } };
    readdir(dir: *mut c_void) -> *mut u8: |call, entry| if !entry.is_null() { call.writes(entry.cast(), entry.add(16).cast::<u16>().read_unaligned() as usize) };
    readdir64(dir: *mut c_void) -> *mut u8: |call, entry| if !entry.is_null() { call.writes(entry.cast(), entry.add(16).cast::<u16>().read_unaligned() as usize) };
}

before! {
    opendir(path: Str) -> *mut c_void: |call| call.reads_text(path);
    mkdir(path: Str, mode: u32) -> c_int: |call| call.reads_text(path);
    rmdir(path: Str) -> c_int: |call| call.reads_text(path);
    unlink(path: Str) -> c_int: |call| call.reads_text(path);
    chdir(path: Str) -> c_int: |call| call.reads_text(path);
    access(path: Str, mode: c_int) -> c_int: |call| call.reads_text(path);
    chmod(path: Str, mode: u32) -> c_int: |call| call.reads_text(path);
    truncate(path: Str, len: i64) -> c_int: |call| call.reads_text(path);
    symlink(target: Str, path: Str) -> c_int: |call| { call.reads_text(target); call.reads_text(path) };
    link(target: Str, path: Str) -> c_int: |call| { call.reads_text(target); call.reads_text(path) };
}

//! `ioctl` and what else asks the kernel about files and terminals: answers are put into memory of the program.

use core::ffi::{c_char, c_int, c_uint, c_void};

use crate::interpose;
use crate::interpose::strings::{after, before};

type Str = *const c_char;

const TERMIOS: usize = 60;
const WINDOW: usize = 8;
const KERNEL_TERMIOS: usize = 36;

/// What a request does with its argument: bytes that the kernel reads, and bytes that it writes.
fn argument_of(request: u64) -> (usize, usize) {
    const FROM_PROGRAM: u64 = 1;
    const TO_PROGRAM: u64 = 2;
    match request as u32 {
        // Older than the numbers that tell it themselves.
        0x5401 => (0, KERNEL_TERMIOS),
        0x5402..=0x5404 => (KERNEL_TERMIOS, 0),
        0x540f | 0x5411 | 0x5415 | 0x541b | 0x5424 | 0x5429 => (0, 4),
        0x5410 | 0x5418 | 0x5421 | 0x5423 | 0x5452 => (4, 0),
        0x5413 => (0, WINDOW),
        0x5414 => (WINDOW, 0),
        0x5400..=0x54ff | 0x8900..=0x89ff => (0, 0),
        request => {
            let (way, bytes) = ((request >> 30) as u64, (request >> 16 & 0x3fff) as usize);
            (
                if way & FROM_PROGRAM != 0 { bytes } else { 0 },
                if way & TO_PROGRAM != 0 { bytes } else { 0 },
            )
        }
    }
}

interpose! {
    unsafe fn ioctl(fd: c_int, request: u64, argument: *mut c_void) -> c_int |call, real| {
        let (from, to) = argument_of(request);
        call.uses(fd);
        call.reads(argument, from);
        // SAFETY: the program's own call; passing the argument on always is what the C library does.
        let result = unsafe { real(fd, request, argument) };
        if result >= 0 {
            call.writes(argument, to);
        }
        result
    }
}

after! {
    tcgetattr(fd: c_int, to: *mut c_void) -> c_int: |call, failed| { call.uses(fd); if failed == 0 { call.writes(to, TERMIOS) } };
    getxattr(path: Str, name: Str, to: *mut c_void, room: usize) -> isize: |call, n| { call.reads_text(path); call.reads_text(name); if n > 0 && room > 0 { call.writes(to, n as usize) } };
    lgetxattr(path: Str, name: Str, to: *mut c_void, room: usize) -> isize: |call, n| { call.reads_text(path); call.reads_text(name); if n > 0 && room > 0 { call.writes(to, n as usize) } };
    fgetxattr(fd: c_int, name: Str, to: *mut c_void, room: usize) -> isize: |call, n| { call.uses(fd); call.reads_text(name); if n > 0 && room > 0 { call.writes(to, n as usize) } };
    listxattr(path: Str, to: *mut c_char, room: usize) -> isize: |call, n| { call.reads_text(path); if n > 0 && room > 0 { call.writes(to.cast(), n as usize) } };
    llistxattr(path: Str, to: *mut c_char, room: usize) -> isize: |call, n| { call.reads_text(path); if n > 0 && room > 0 { call.writes(to.cast(), n as usize) } };
    flistxattr(fd: c_int, to: *mut c_char, room: usize) -> isize: |call, n| { call.uses(fd); if n > 0 && room > 0 { call.writes(to.cast(), n as usize) } };
    confstr(name: c_int, to: *mut c_char, room: usize) -> usize: |call, n| if n > 0 && room > 0 && !to.is_null() { call.writes(to.cast(), n.min(room)) };
    ctermid(to: *mut c_char) -> *mut c_char: |call, text| call.writes_text(text);
    clock_getcpuclockid(pid: c_int, to: *mut c_int) -> c_int: |call, failed| if failed == 0 { call.writes(to.cast(), 4) };
    fstatvfs64(fd: c_int, to: *mut c_void) -> c_int: |call, failed| if failed == 0 { call.writes(to, 112) };
    name_to_handle_at(at: c_int, path: Str, handle: *mut c_uint, mount: *mut c_int, flags: c_int) -> c_int: |call, failed| {
        call.reads_text(path);
        if failed == 0 { call.writes(handle.cast(), 8 + *handle as usize); call.writes(mount.cast(), 4) }
    };
}

before! {
    clock_settime(clock: c_int, time: *const c_void) -> c_int: |call| call.reads(time, 16);
    textdomain(name: Str) -> *mut c_char: |call| if !name.is_null() { call.reads_text(name); };
}

// Older names, which a static C library does not have.
#[cfg(not(feature = "wrap"))]
after! {
    __xstat(version: c_int, path: Str, to: *mut c_void) -> c_int: |call, failed| { call.reads_text(path); if failed == 0 { call.writes(to, 144) } };
    __xstat64(version: c_int, path: Str, to: *mut c_void) -> c_int: |call, failed| { call.reads_text(path); if failed == 0 { call.writes(to, 144) } };
    __lxstat(version: c_int, path: Str, to: *mut c_void) -> c_int: |call, failed| { call.reads_text(path); if failed == 0 { call.writes(to, 144) } };
    __lxstat64(version: c_int, path: Str, to: *mut c_void) -> c_int: |call, failed| { call.reads_text(path); if failed == 0 { call.writes(to, 144) } };
    __fxstat(version: c_int, fd: c_int, to: *mut c_void) -> c_int: |call, failed| { call.uses(fd); if failed == 0 { call.writes(to, 144) } };
    __fxstat64(version: c_int, fd: c_int, to: *mut c_void) -> c_int: |call, failed| { call.uses(fd); if failed == 0 { call.writes(to, 144) } };
    ftime(to: *mut c_void) -> c_int: |call, failed| call.writes(to, 16);
}

#[cfg(test)]
mod tests {
    use super::argument_of;

    #[test]
    fn requests_tell_what_they_touch() {
        let (window, pending, nonblocking, socket) = (0x5413, 0x541b, 0x5421, 0x8912);
        assert_eq!(argument_of(window), (0, 8));
        assert_eq!(argument_of(pending), (0, 4));
        assert_eq!(argument_of(nonblocking), (4, 0));
        assert_eq!(argument_of(socket), (0, 0));
        let (get_flags, set_flags, both) = (0x8008_6601, 0x4008_6602, 0xc020_660b);
        assert_eq!(argument_of(get_flags), (0, 8));
        assert_eq!(argument_of(set_flags), (8, 0));
        assert_eq!(argument_of(both), (32, 32));
    }
}

//! The `printf` family: the format and its arguments are read, buffers are written.

use core::ffi::{c_char, c_int, c_void};

use crate::interpose::Call;
use crate::variadic;

type Str = *const c_char;
type Wide = *const i32;
type File = *mut c_void;

/// `n` characters and an end were put into a buffer with room for `room`.
fn filled(call: &mut Call, to: *mut c_char, room: usize, n: c_int) -> c_int {
    if n >= 0 && room > 0 {
        call.writes(to.cast(), (n as usize + 1).min(room));
    }
    n
}

/// A fresh string of `n` characters was put into `*to`.
unsafe fn allocated(call: &mut Call, to: *mut *mut c_char, n: c_int) -> c_int {
    if n >= 0 {
        call.writes(to.cast(), size_of::<usize>());
        // SAFETY: the real function has set it.
        call.writes(unsafe { *to }.cast(), n as usize + 1);
    }
    n
}

variadic! {
    printf vprintf(format: Str) "rsi" "8" |call, args, real| {
        call.formats(format, args);
        real(format, args)
    };
    fprintf vfprintf(file: File, format: Str) "rdx" "16" |call, args, real| {
        call.formats(format, args);
        real(file, format, args)
    };
    dprintf vdprintf(fd: c_int, format: Str) "rdx" "16" |call, args, real| {
        call.formats(format, args);
        call.sends(fd);
        real(fd, format, args)
    };
    sprintf vsprintf(to: *mut c_char, format: Str) "rdx" "16" |call, args, real| {
        call.formats(format, args);
        let n = real(to, format, args);
        filled(call, to, usize::MAX, n)
    };
    snprintf vsnprintf(to: *mut c_char, room: usize, format: Str) "rcx" "24" |call, args, real| {
        call.formats(format, args);
        let n = real(to, room, format, args);
        filled(call, to, room, n)
    };
    asprintf vasprintf(to: *mut *mut c_char, format: Str) "rdx" "16" |call, args, real| {
        call.formats(format, args);
        let n = real(to, format, args);
        allocated(call, to, n)
    };
    __printf_chk __vprintf_chk(flag: c_int, format: Str) "rdx" "16" |call, args, real| {
        call.formats(format, args);
        real(flag, format, args)
    };
    __fprintf_chk __vfprintf_chk(file: File, flag: c_int, format: Str) "rcx" "24" |call, args, real| {
        call.formats(format, args);
        real(file, flag, format, args)
    };
    __dprintf_chk __vdprintf_chk(fd: c_int, flag: c_int, format: Str) "rcx" "24" |call, args, real| {
        call.formats(format, args);
        call.sends(fd);
        real(fd, flag, format, args)
    };
    __sprintf_chk __vsprintf_chk(to: *mut c_char, flag: c_int, room: usize, format: Str) "r8" "32" |call, args, real| {
        call.formats(format, args);
        let n = real(to, flag, room, format, args);
        filled(call, to, usize::MAX, n)
    };
    __snprintf_chk __vsnprintf_chk(to: *mut c_char, room: usize, flag: c_int, space: usize, format: Str) "r9" "40" |call, args, real| {
        call.formats(format, args);
        let n = real(to, room, flag, space, format, args);
        filled(call, to, room, n)
    };
    __asprintf_chk __vasprintf_chk(to: *mut *mut c_char, flag: c_int, format: Str) "rcx" "24" |call, args, real| {
        call.formats(format, args);
        let n = real(to, flag, format, args);
        allocated(call, to, n)
    };
    syslog vsyslog(priority: c_int, format: Str) "rdx" "16" |call, args, real| {
        call.formats(format, args);
        real(priority, format, args)
    };
    __syslog_chk __vsyslog_chk(priority: c_int, flag: c_int, format: Str) "rcx" "24" |call, args, real| {
        call.formats(format, args);
        real(priority, flag, format, args)
    };
    err verr(status: c_int, format: Str) "rdx" "16" |call, args, real| {
        call.formats(format, args);
        real(status, format, args)
    };
    errx verrx(status: c_int, format: Str) "rdx" "16" |call, args, real| {
        call.formats(format, args);
        real(status, format, args)
    };
    warn vwarn(format: Str) "rsi" "8" |call, args, real| {
        call.formats(format, args);
        real(format, args)
    };
    warnx vwarnx(format: Str) "rsi" "8" |call, args, real| {
        call.formats(format, args);
        real(format, args)
    };
    wprintf vwprintf(format: Wide) "rsi" "8" |call, args, real| {
        call.formats(format, args);
        real(format, args)
    };
    fwprintf vfwprintf(file: File, format: Wide) "rdx" "16" |call, args, real| {
        call.formats(format, args);
        real(file, format, args)
    };
    swprintf vswprintf(to: *mut i32, room: usize, format: Wide) "rcx" "24" |call, args, real| {
        call.formats(format, args);
        let n = real(to, room, format, args);
        if n >= 0 {
            call.writes(to.cast(), (n as usize + 1) * 4);
        }
        n
    };
}

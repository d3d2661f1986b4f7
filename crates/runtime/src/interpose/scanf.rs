//! The `scanf` family: targets that were filled are written, and no others.

use core::ffi::{c_char, c_int, c_void};

use crate::variadic;

type Str = *const c_char;
type File = *mut c_void;

variadic! {
    scanf vscanf(format: Str) "rsi" "8" |call, args, real| {
        let copy = *args;
        let n = real(format, args);
        call.scanned(format, &raw const copy, n);
        n
    };
    fscanf vfscanf(file: File, format: Str) "rdx" "16" |call, args, real| {
        let copy = *args;
        let n = real(file, format, args);
        call.scanned(format, &raw const copy, n);
        n
    };
    sscanf vsscanf(text: Str, format: Str) "rdx" "16" |call, args, real| {
        let copy = *args;
        let n = real(text, format, args);
        if call.strand().is_some() {
            call.reads_text(text);
        }
        call.scanned(format, &raw const copy, n);
        n
    };
    __isoc99_scanf __isoc99_vscanf(format: Str) "rsi" "8" |call, args, real| {
        let copy = *args;
        let n = real(format, args);
        call.scanned(format, &raw const copy, n);
        n
    };
    __isoc99_fscanf __isoc99_vfscanf(file: File, format: Str) "rdx" "16" |call, args, real| {
        let copy = *args;
        let n = real(file, format, args);
        call.scanned(format, &raw const copy, n);
        n
    };
    __isoc99_sscanf __isoc99_vsscanf(text: Str, format: Str) "rdx" "16" |call, args, real| {
        let copy = *args;
        let n = real(text, format, args);
        if call.strand().is_some() {
            call.reads_text(text);
        }
        call.scanned(format, &raw const copy, n);
        n
    };
}

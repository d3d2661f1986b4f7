//! The `scanf` family: targets that were filled are written, and no others.

use core::ffi::{c_char, c_int, c_void};

use crate::interpose::Call;
use crate::variadic;

type Str = *const c_char;
type Wide = *const i32;
type File = *mut c_void;

/// What the text of a `sscanf` is made of.
trait Text {
    /// All of it is read.
    ///
    /// # Safety
    /// It must end.
    unsafe fn looked_at(self, call: &mut Call);
}

impl Text for Str {
    unsafe fn looked_at(self, call: &mut Call) {
        // SAFETY: by the contract.
        unsafe { call.reads_text(self) };
    }
}

impl Text for Wide {
    unsafe fn looked_at(self, call: &mut Call) {
        // SAFETY: by the contract.
        unsafe { call.reads_wide(self) };
    }
}

/// The three that read from standard input, from a stream and from a text.
macro_rules! scanners {
    ($($unit:ty: $input:ident $v_input:ident, $stream:ident $v_stream:ident, $text:ident $v_text:ident;)*) => {
        variadic! { $(
            $input $v_input(format: $unit) "rsi" "8" |call, args, real| {
                let copy = *args;
                let n = real(format, args);
                call.scanned(format, &raw const copy, n);
                n
            };
            $stream $v_stream(file: File, format: $unit) "rdx" "16" |call, args, real| {
                let copy = *args;
                let n = real(file, format, args);
                call.scanned(format, &raw const copy, n);
                n
            };
            $text $v_text(text: $unit, format: $unit) "rdx" "16" |call, args, real| {
                let copy = *args;
                let n = real(text, format, args);
                if call.strand().is_some() {
                    text.looked_at(call);
                }
                call.scanned(format, &raw const copy, n);
                n
            };
        )* }
    };
}

scanners! {
    Str: scanf vscanf, fscanf vfscanf, sscanf vsscanf;
    Str: __isoc99_scanf __isoc99_vscanf, __isoc99_fscanf __isoc99_vfscanf, __isoc99_sscanf __isoc99_vsscanf;
    Wide: wscanf vwscanf, fwscanf vfwscanf, swscanf vswscanf;
    Wide: __isoc99_wscanf __isoc99_vwscanf, __isoc99_fwscanf __isoc99_vfwscanf, __isoc99_swscanf __isoc99_vswscanf;
}

// The C library's newer names for the same, which older ones do not have.
#[cfg(not(feature = "wrap"))]
scanners! {
    Str: __isoc23_scanf __isoc23_vscanf, __isoc23_fscanf __isoc23_vfscanf, __isoc23_sscanf __isoc23_vsscanf;
    Wide: __isoc23_wscanf __isoc23_vwscanf, __isoc23_fwscanf __isoc23_vfwscanf, __isoc23_swscanf __isoc23_vswscanf;
}

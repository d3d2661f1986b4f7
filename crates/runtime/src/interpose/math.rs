//! Functions of the mathematical library that put a second result into memory of the program.

use core::ffi::{c_char, c_int, c_void};

use crate::interpose;
use crate::interpose::Call;
use crate::interpose::strings::{after, strtod};

unsafe extern "C" {
    fn __errno_location() -> *mut c_int;
}

after! {
    frexp(x: f64, to: *mut c_int) -> f64: |call, part| call.writes(to.cast(), 4);
    frexpf(x: f32, to: *mut c_int) -> f32: |call, part| call.writes(to.cast(), 4);
    modf(x: f64, to: *mut f64) -> f64: |call, part| call.writes(to.cast(), 8);
    modff(x: f32, to: *mut f32) -> f32: |call, part| call.writes(to.cast(), 4);
    remquo(x: f64, y: f64, to: *mut c_int) -> f64: |call, part| call.writes(to.cast(), 4);
    remquof(x: f32, y: f32, to: *mut c_int) -> f32: |call, part| call.writes(to.cast(), 4);
    lgamma_r(x: f64, sign: *mut c_int) -> f64: |call, value| call.writes(sign.cast(), 4);
    lgammaf_r(x: f32, sign: *mut c_int) -> f32: |call, value| call.writes(sign.cast(), 4);
    sincos(x: f64, sine: *mut f64, cosine: *mut f64) -> (): |call, done| { call.writes(sine.cast(), 8); call.writes(cosine.cast(), 8) };
    sincosf(x: f32, sine: *mut f32, cosine: *mut f32) -> (): |call, done| { call.writes(sine.cast(), 4); call.writes(cosine.cast(), 4) };
}

after! {
    random_r(state: *mut c_void, to: *mut i32) -> c_int: |call, failed| { call.writes(state, 48); call.writes(to.cast(), 4) };
    drand48_r(state: *mut c_void, to: *mut f64) -> c_int: |call, failed| { call.writes(state, 24); call.writes(to.cast(), 8) };
    lrand48_r(state: *mut c_void, to: *mut i64) -> c_int: |call, failed| { call.writes(state, 24); call.writes(to.cast(), 8) };
}

/// Functions that take or give a `long double`, for which Rust has no type: what they touch is told first, from the
/// arguments that are pointers, and the real one is jumped to with everything as it was.
macro_rules! long_double {
    ($($name:ident($a:ident, $b:ident): |$call:ident| $before:expr;)*) => { $(
        #[allow(non_snake_case)]
        pub mod $name {
            #[allow(unused_imports)]
            use super::*;

            $crate::entry! {
                $name, $crate::weakly!($name),
                "sub rsp, 24",
                "mov qword ptr [rsp], rdi",
                "mov qword ptr [rsp + 8], rsi",
                "call {before}",
                "mov rdi, qword ptr [rsp]",
                "mov rsi, qword ptr [rsp + 8]",
                "add rsp, 24",
                "jmp rax",
                before = sym before
            }

            #[cfg(not(feature = "wrap"))]
            fn real() -> *const c_void {
                static REAL: $crate::interpose::Real = $crate::interpose::Real::new();
                REAL.get(concat!(stringify!($name), "\0"))
            }
            #[cfg(feature = "wrap")]
            fn real() -> *const c_void {
                unsafe extern "C" {
                    #[link_name = concat!("__real_", stringify!($name))]
                    fn real_function();
                }
                real_function as *const c_void
            }

            extern "C" fn before($a: *mut c_void, $b: *mut c_void) -> *const c_void {
                #[allow(unused_variables)]
                let unused = $b;
                let mut call = $crate::interpose::Call::begin(entry as *const () as u64);
                if call.strand().is_some() {
                    let $call = &mut call;
                    $before
                }
                real()
            }
        }
    )* };
}

long_double! {
    frexpl(to, none): |call| call.writes(to, 4);
    modfl(to, none): |call| call.writes(to, 16);
    remquol(to, none): |call| call.writes(to, 4);
    lgammal_r(to, none): |call| call.writes(to, 4);
    sincosl(sine, cosine): |call| { call.writes(sine, 16); call.writes(cosine, 16) };
    strtold(text, end): |call| read_number(call, text.cast(), end);
}

/// A number is read as far as `strtod` reads it: both know the same texts.
fn read_number(call: &mut Call, text: *const c_char, end: *mut c_void) {
    let mut stopped = text.cast_mut();
    // SAFETY: the program's own string. Whether a `double` can hold the number is none of the program's concern.
    unsafe {
        let errno = __errno_location();
        let before = *errno;
        strtod::real()(text, &raw mut stopped);
        *errno = before;
    }
    call.reads(text.cast(), stopped as usize - text as usize + 1);
    if !end.is_null() {
        call.writes(end, size_of::<usize>());
    }
}

/// The zero-terminated `name` in the mathematical library. A linker that leaves out what it does not need leaves that
/// out, because we have these names.
#[cfg(not(feature = "wrap"))]
pub(super) fn find(name: &'static str) -> *mut c_void {
    const RTLD_LAZY: c_int = 1;
    // SAFETY: terminated names; the C library's own functions.
    unsafe {
        let library = super::dl::dlopen::real()(c"libm.so.6".as_ptr(), RTLD_LAZY);
        if library.is_null() {
            return core::ptr::null_mut();
        }
        super::dlsym(library, name.as_ptr().cast())
    }
}

/// A static program has it inside.
#[cfg(feature = "wrap")]
pub(super) fn find(_: &'static str) -> *mut c_void {
    core::ptr::null_mut()
}

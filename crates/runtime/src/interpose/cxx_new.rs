//! C++ `operator new` and `operator delete` in all their forms, so that stacks begin at the line with the `new`.
//!
//! They allocate like `malloc`. When there is no memory, the C++ library's own operator takes over as if it had been
//! called at once: it calls the program's new-handler, throws, or returns null, as its form wants it.

use core::ffi::c_void;

use crate::interpose::Call;
use crate::interpose::malloc::{allocate, allocate_aligned, release};
use crate::replace;

macro_rules! operators_new {
    ($($name:ident($($arg:ident: $ty:ty),*) = $alloc:ident($($pass:expr),*);)*) => { $(
        #[allow(non_snake_case)]
        pub mod $name {
            use super::*;

            // Only a tail call lets an exception of the real operator pass: nothing of ours is on the stack then.
            crate::entry! {
                $name, crate::weakly!($name),
                "push rdi", "push rsi", "push rdx",
                "call {body}",
                "test rax, rax",
                "jnz 2f",
                "call {real}",
                "pop rdx", "pop rsi", "pop rdi",
                "test rax, rax",
                "jz 3f",
                "jmp rax",
                "2: add rsp, 24",
                "3: ret",
                body = sym body,
                real = sym real
            }

            extern "C" fn body(size: usize $(, $arg: $ty)*) -> *mut c_void {
                let mut call = Call::begin(entry as *const () as u64);
                crate::interpose::signal_safety::unsafe_call(&mut call);
                $alloc(&mut call, $($pass,)* size)
            }

            #[cfg(not(feature = "wrap"))]
            extern "C" fn real() -> *mut c_void {
                crate::interpose::find_real(concat!(stringify!($name), "\0"))
            }

            // A C program linked with -static has no C++ library behind it, so the reference is weak.
            #[cfg(feature = "wrap")]
            core::arch::global_asm!(concat!(".weak __real_", stringify!($name)));

            #[cfg(feature = "wrap")]
            extern "C" fn real() -> *mut c_void {
                let p: *mut c_void;
                // SAFETY: reads the symbol's address, which is zero if nobody defines it.
                unsafe {
                    core::arch::asm!(concat!("mov {p}, qword ptr [rip + __real_", stringify!($name), "@GOTPCREL]"),
                         p = out(reg) p, options(nostack, readonly, preserves_flags));
                }
                p
            }
        }
    )* };
}

operators_new! {
    _Znwm() = allocate();
    _Znam() = allocate();
    _ZnwmRKSt9nothrow_t(_tag: usize) = allocate();
    _ZnamRKSt9nothrow_t(_tag: usize) = allocate();
    _ZnwmSt11align_val_t(align: usize) = allocate_aligned(align);
    _ZnamSt11align_val_t(align: usize) = allocate_aligned(align);
    _ZnwmSt11align_val_tRKSt9nothrow_t(align: usize, _tag: usize) = allocate_aligned(align);
    _ZnamSt11align_val_tRKSt9nothrow_t(align: usize, _tag: usize) = allocate_aligned(align);
}

macro_rules! operators_delete {
    ($($name:ident)*) => {
        replace! { $(
            unsafe fn $name(p: *mut c_void) -> () |call| { release(&mut call, p) }
        )* }
    };
}

operators_delete! {
    _ZdlPv _ZdaPv _ZdlPvm _ZdaPvm _ZdlPvRKSt9nothrow_t _ZdaPvRKSt9nothrow_t
    _ZdlPvSt11align_val_t _ZdaPvSt11align_val_t _ZdlPvmSt11align_val_t _ZdaPvmSt11align_val_t
    _ZdlPvSt11align_val_tRKSt9nothrow_t _ZdaPvSt11align_val_tRKSt9nothrow_t
}

//! `setjmp` and `longjmp`: a jump takes the strand's own call stack back to where it was.
//!
//! `setjmp` returns twice, so nothing of ours may be on the stack below it: an assembler stub notes the caller's stack
//! pointer and depth, and goes on to the real one. `longjmp` finds the note by the stack pointer inside the jump buffer,
//! which the C library keeps mangled; so a copied buffer works too.

use core::arch::{asm, naked_asm};
use core::ffi::{c_int, c_void};

use crate::abi::tls;
use crate::interpose;
use crate::interpose::{Call, callbacks, signals};
use crate::signal_state::Mark;

/// Notes that the frame with this stack pointer can be jumped to.
fn note(sp: usize) {
    if let Some(s) = tls::me() {
        s.enter();
        let depth = s.depth();
        let handlers = signals::running(s);
        // Frames below this one are gone, and so are the places in them. On another stack this forgets too much only if
        // the program jumps between stacks, which the C library forbids.
        let (low, high) = (s.os.stack_low, s.os.stack_high);
        let here = (low..high).contains(&sp);
        s.jumps
            .retain(|mark| mark.sp > sp || ((low..high).contains(&mark.sp) != here));
        s.jumps.push(Mark {
            sp,
            depth,
            handlers,
            interposed: s.interposed,
        });
        crate::access::leave(s);
    }
}

/// Index of the stack pointer in the C library's jump buffer.
const STACK_POINTER: usize = 6;

/// Takes the strand back to where the buffer was filled.
fn going_back(call: &mut Call, buffer: *const usize) {
    let guard: usize;
    // SAFETY: the C library's pointer guard, a word of the thread's descriptor.
    unsafe {
        asm!("mov {g}, qword ptr fs:[0x30]", g = out(reg) guard, options(nostack, readonly, preserves_flags))
    };
    // SAFETY: the program's own jump buffer, which `setjmp` filled.
    let sp = unsafe { *buffer.add(STACK_POINTER) }.rotate_right(17) ^ guard;
    let (depth, outer) = (call.depth, call.outer);
    let Some(s) = call.strand() else { return };
    let Some(mark) = s.jumps.iter().rev().find(|mark| mark.sp == sp).copied() else {
        // Nobody knows where this goes; at least the jump itself is over.
        s.set_depth(depth);
        s.interposed = outer;
        return;
    };
    s.enter();
    s.interposed = mark.interposed;
    signals::jumped_out(s, mark.handlers);
    callbacks::jumped_out(s, sp);
    s.set_depth(mark.depth);
    crate::access::leave(s);
}

/// A stub that notes the caller's stack pointer and goes on to the real function.
macro_rules! setjmp {
    ($($name:ident $module:ident;)*) => { $(
        pub mod $module {
            use super::*;

            #[cfg(feature = "wrap")]
            unsafe extern "C" {
                #[link_name = concat!("__real_", stringify!($name))]
                fn real_function();
            }

            extern "C" fn before(sp: usize) -> *const c_void {
                note(sp);
                #[cfg(feature = "wrap")]
                {
                    real_function as *const c_void
                }
                #[cfg(not(feature = "wrap"))]
                {
                    static REAL: interpose::Real = interpose::Real::new();
                    REAL.get(concat!(stringify!($name), "\0"))
                }
            }

            #[unsafe(naked)]
            #[cfg_attr(not(feature = "wrap"), unsafe(export_name = stringify!($name)))]
            #[cfg_attr(feature = "wrap", unsafe(export_name = concat!("__wrap_", stringify!($name))))]
            #[allow(clippy::missing_safety_doc)]
            pub unsafe extern "C" fn entry() {
                naked_asm!(
                    "push rdi",
                    "push rsi",
                    "sub rsp, 8",
                    "lea rdi, [rsp + 32]",
                    "call {before}",
                    "add rsp, 8",
                    "pop rsi",
                    "pop rdi",
                    "jmp rax",
                    before = sym before
                )
            }
        }
    )* };
}

setjmp! {
    setjmp plain;
    _setjmp underscored;
    __sigsetjmp with_signals;
}

/// Notes a `setjmp` for code that does so itself: takes the caller's stack pointer after the return.
#[unsafe(no_mangle)]
pub extern "C" fn __tsan_setjmp(sp: usize) {
    note(sp);
}

interpose! {
    unsafe fn longjmp(buffer: *mut usize, value: c_int) -> () |call, real| {
        going_back(&mut call, buffer);
        core::mem::forget(call);
        // SAFETY: the program's own call, which does not return.
        unsafe { real(buffer, value) }
    }

    unsafe fn _longjmp(buffer: *mut usize, value: c_int) -> () |call, real| {
        going_back(&mut call, buffer);
        core::mem::forget(call);
        // SAFETY: the program's own call, which does not return.
        unsafe { real(buffer, value) }
    }

    unsafe fn siglongjmp(buffer: *mut usize, value: c_int) -> () |call, real| {
        going_back(&mut call, buffer);
        core::mem::forget(call);
        // SAFETY: the program's own call, which does not return.
        unsafe { real(buffer, value) }
    }

    unsafe fn __longjmp_chk(buffer: *mut usize, value: c_int) -> () |call, real| {
        going_back(&mut call, buffer);
        core::mem::forget(call);
        // SAFETY: the program's own call, which does not return.
        unsafe { real(buffer, value) }
    }
}

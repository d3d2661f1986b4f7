//! The functions of the C library that Deadheat must see: synchronization, memory's life, and memory touched on the
//! program's behalf.
//!
//! [`interpose!`] defines such a function. Its exported name is an assembler stub that notes the caller's program counter
//! and goes on to the body; the body gets the real function. With the feature `wrap` the exported name is `__wrap_X` and
//! the real one `__real_X`, as the linker's `--wrap` wants it in static programs.

use core::ffi::{c_char, c_void};
use core::sync::atomic::{AtomicPtr, Ordering};

use crate::abi::tls;
use crate::access;
use crate::history::Touch;
use crate::intern::StackId;
use crate::runtime::RT;
use crate::strand::Strand;
use crate::sys;

pub mod at_exit;
pub mod attributes;
pub mod barrier;
pub mod c11;
pub mod callbacks;
pub mod cancel;
pub mod condvar;
pub mod control;
pub mod cxx_new;
#[cfg(not(feature = "wrap"))]
pub mod databases;
pub mod descriptors;
pub mod dl;
pub mod environment;
pub mod exit;
pub mod files;
pub mod fork;
pub mod format;
pub mod guards;
pub mod jumps;
pub mod large_atomics;
pub mod lock_life;
pub mod malloc;
pub mod math;
pub mod memory;
pub mod mmap;
pub mod mutex;
pub mod once;
pub mod patterns;
pub mod printf;
pub mod processes;
pub mod queues;
pub mod rwlock;
pub mod scanf;
pub mod semaphore;
pub mod signal_safety;
pub mod signals;
pub mod sockets;
pub mod sort;
pub mod spin;
pub mod statics;
pub mod stdio;
pub mod strings;
pub mod thread_memory;
pub mod threads;
pub mod time;
pub mod timers;
pub mod unwind;
pub mod variadic;
pub mod wide;

/// The assembler's word that a program's own definition of `name` comes before ours, as it does before the C library's.
#[cfg(not(feature = "wrap"))]
#[macro_export]
macro_rules! weakly {
    ($name:ident) => {
        concat!(".weak ", stringify!($name))
    };
}
/// With `--wrap` our names are our own.
#[cfg(feature = "wrap")]
#[macro_export]
macro_rules! weakly {
    ($name:ident) => {
        ""
    };
}

/// Exports an assembler stub for `$name`: it notes the caller's program counter and goes on with `$asm`.
#[macro_export]
macro_rules! entry {
    ($name:ident, $binding:expr, $($asm:tt)*) => {
        #[allow(clippy::missing_safety_doc)]
        #[unsafe(naked)]
        #[cfg_attr(not(feature = "wrap"), unsafe(export_name = stringify!($name)))]
        #[cfg_attr(feature = "wrap", unsafe(export_name = concat!("__wrap_", stringify!($name))))]
        pub unsafe extern "C" fn entry() {
            core::arch::naked_asm!(
                $binding,
                "mov r11, qword ptr [rsp]",
                "mov r10, qword ptr [rip + __deadheat_caller@GOTTPOFF]",
                "mov qword ptr fs:[r10], r11",
                $($asm)*
            )
        }
    };
}

/// Exports functions whose body can ask [`tls::caller`] for the caller's program counter.
#[macro_export]
macro_rules! with_caller {
    ($($(#[$meta:meta])* unsafe fn $name:ident($($arg:ident: $ty:ty),* $(,)?) -> $ret:ty $body:block)*) => { $(
        #[allow(non_snake_case)]
        pub mod $name {
            #[allow(unused_imports)]
            use super::*;
            #[allow(clippy::missing_safety_doc)]
            #[unsafe(naked)]
            #[unsafe(export_name = stringify!($name))]
            #[allow(clippy::missing_safety_doc)]
            pub unsafe extern "C" fn entry() {
                core::arch::naked_asm!(
                    "mov r11, qword ptr [rsp]",
                    "mov r10, qword ptr [rip + __deadheat_caller@GOTTPOFF]",
                    "mov qword ptr fs:[r10], r11",
                    "jmp {body}",
                    body = sym body
                )
            }
            $(#[$meta])*
            #[allow(clippy::missing_safety_doc)]
            pub unsafe extern "C" fn body($($arg: $ty),*) -> $ret $body
        }
    )* };
}

/// Defines an interposed function. In its body, `call` is a [`Call`] and `real` the function that it stands before:
///
/// ```ignore
/// interpose! {
///     unsafe fn pthread_mutex_lock(mutex: *mut c_void) -> c_int |call, real| { ... real(mutex) ... }
/// }
/// ```
#[macro_export]
macro_rules! interpose {
    ($($(#[$meta:meta])* unsafe fn $name:ident($($arg:ident: $ty:ty),* $(,)?) -> $ret:ty |$call:ident, $real:ident| $body:block)*) => { $(
        #[allow(non_snake_case)]
        pub mod $name {
            #[allow(unused_imports)]
            use super::*;

            $crate::entry! {
                $name, $crate::weakly!($name),
                "jmp {body}",
                body = sym body
            }

            /// The function of the C library.
            #[cfg(not(feature = "wrap"))]
            #[inline(always)]
            pub fn real() -> unsafe extern "C" fn($($ty),*) -> $ret {
                static REAL: $crate::interpose::Real = $crate::interpose::Real::new();
                // SAFETY: the name and the type are those of the C library.
                unsafe { core::mem::transmute(REAL.get(concat!(stringify!($name), "\0"))) }
            }
            #[cfg(feature = "wrap")]
            #[inline(always)]
            pub fn real() -> unsafe extern "C" fn($($ty),*) -> $ret {
                unsafe extern "C" {
                    #[link_name = concat!("__real_", stringify!($name))]
                    fn real_function($($arg: $ty),*) -> $ret;
                }
                real_function
            }

            $(#[$meta])*
            #[allow(clippy::missing_safety_doc)]
            pub unsafe extern "C" fn body($($arg: $ty),*) -> $ret {
                #[allow(unused_variables)]
                let $real = real();
                #[allow(unused_mut, unused_variables)]
                let mut $call = $crate::interpose::Call::begin(entry as *const () as u64);
                if const { $crate::interpose::signal_safety::is_unsafe(stringify!($name)) } {
                    $crate::interpose::signal_safety::unsafe_call(&mut $call);
                }
                $body
            }
        }
    )* };
}

/// Defines a function that takes the place of the C or C++ library's and does all of its work.
#[macro_export]
macro_rules! own {
    ($(unsafe fn $name:ident($($arg:ident: $ty:ty),* $(,)?) -> $ret:ty |$call:ident| $body:block)*) => { $(
        #[allow(non_snake_case)]
        pub mod $name {
            #[allow(unused_imports)]
            use super::*;

            $crate::entry! {
                $name, "",
                "jmp {body}",
                body = sym body
            }

            #[allow(clippy::missing_safety_doc)]
            pub unsafe extern "C" fn body($($arg: $ty),*) -> $ret {
                let mut $call = $crate::interpose::Call::begin(entry as *const () as u64);
                $body
            }
        }
    )* };
}

/// The address of a real function, looked up once.
pub struct Real(AtomicPtr<c_void>);

unsafe extern "C" {
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
}

impl Real {
    pub const fn new() -> Self {
        Real(AtomicPtr::new(core::ptr::null_mut()))
    }

    /// The next definition of the zero-terminated `name` after ours.
    #[inline(always)]
    pub fn get(&self, name: &'static str) -> *mut c_void {
        let p = self.0.load(Ordering::Relaxed);
        if p.is_null() { self.look_up(name) } else { p }
    }

    #[cold]
    fn look_up(&self, name: &'static str) -> *mut c_void {
        // Looking up may need memory, and so come to our own `malloc`.
        let caller = tls::caller();
        let mut p = find_real(name);
        if p.is_null() {
            p = math::find(name);
        }
        tls::set_caller(caller);
        if p.is_null() {
            sys::write_all(2, b"deadheat: the C library has no ");
            sys::write_all(2, name.as_bytes());
            sys::die("a function of the C library is missing");
        }
        self.0.store(p, Ordering::Relaxed);
        p
    }
}

/// The next definition of the zero-terminated `name` after ours; null if there is none.
pub fn find_real(name: &'static str) -> *mut c_void {
    const RTLD_NEXT: *mut c_void = -1isize as *mut c_void;
    // SAFETY: a terminated name.
    unsafe { dlsym(RTLD_NEXT, name.as_ptr().cast()) }
}

impl Default for Real {
    fn default() -> Self {
        Real::new()
    }
}

/// One call of an interposed function: who called, from where, and a frame on his stack while it lasts.
pub struct Call {
    strand: Option<&'static mut Strand>,
    /// The address of the interposed function itself: innermost in the stacks of what it does.
    pub here: u64,
    /// Where it was called.
    pub pc: u64,
    depth: usize,
    /// How many other calls it lies in.
    outer: u32,
    /// In a static program the C library's own calls of `memcpy` and its kin come to us too. They touch what the program
    /// knows nothing of, under locks that we do not see.
    nested: bool,
}

impl Call {
    #[inline]
    pub fn begin(here: u64) -> Call {
        let pc = tls::caller();
        // What the C library calls on our own behalf is none of the program's doing.
        let mut strand = tls::me().filter(|s| s.inside == 0);
        let (mut depth, mut outer) = (0, 0);
        if let Some(s) = &mut strand {
            depth = s.depth();
            outer = s.interposed;
            s.interposed += 1;
            s.enter();
            s.push_frame(&RT, pc);
            access::leave(s);
        }
        Call {
            strand,
            here,
            pc,
            depth,
            outer,
            nested: cfg!(feature = "wrap") && outer > 0,
        }
    }

    /// Runs `f` for what the caller's line itself does, without a frame of its own. `tls::caller` must be set.
    #[inline]
    pub fn at_line(f: impl FnOnce(&mut Call)) {
        let pc = tls::caller();
        if let Some(strand) = tls::me().filter(|s| s.inside == 0) {
            let depth = strand.depth();
            let outer = strand.interposed;
            f(&mut Call {
                strand: Some(strand),
                here: pc,
                pc,
                depth,
                outer,
                nested: false,
            });
        }
    }

    /// The caller's strand; none before the runtime has started, or in a thread it does not know.
    #[inline(always)]
    pub fn strand(&mut self) -> Option<&mut Strand> {
        self.strand.as_deref_mut()
    }

    /// How deep the caller's stack is without this call.
    pub fn caller_depth(&self) -> usize {
        self.depth
    }

    /// The strand unless its synchronization is not to be seen.
    pub fn syncing(&mut self) -> Option<&mut Strand> {
        self.strand.as_deref_mut().filter(|s| s.ignore_sync == 0)
    }

    /// The program's memory is read on its behalf.
    pub fn reads(&mut self, p: *const c_void, bytes: usize) {
        self.touches(p, bytes, Touch::Read);
    }

    /// The program's memory is written on its behalf.
    pub fn writes(&mut self, p: *const c_void, bytes: usize) {
        self.touches(p, bytes, Touch::Write);
    }

    pub fn touches(&mut self, p: *const c_void, bytes: usize, touch: Touch) {
        let here = self.here;
        if self.nested {
            return;
        }
        if let Some(s) = self.strand() {
            access::access_range(&RT, s, p as usize, bytes, touch, here);
        }
    }

    /// A terminated string of the program is read; its length without the end.
    ///
    /// # Safety
    /// `p` must be a terminated string.
    pub unsafe fn reads_string(&mut self, p: *const c_char) -> usize {
        // SAFETY: by the contract.
        let len = unsafe { sys::bytes_of(p) }.len();
        if !p.is_null() {
            self.reads(p.cast(), len + 1);
        }
        len
    }

    /// The stack of this call as one number, the interposed function innermost.
    pub fn stack(&mut self) -> StackId {
        let here = self.here;
        match self.strand() {
            Some(s) => {
                s.enter();
                let stack = s.stack_at(&RT, here);
                access::leave(s);
                stack
            }
            None => StackId(0),
        }
    }
}

impl Drop for Call {
    #[inline]
    fn drop(&mut self) {
        if let Some(s) = &mut self.strand {
            s.set_depth(self.depth);
            s.interposed = self.outer;
        }
    }
}

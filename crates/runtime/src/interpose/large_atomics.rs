//! Atomic objects that compilers leave to libatomic: structures of 3 or 24 bytes, and with clang those of 16 and
//! `long double`. They order threads as all others do; libatomic's own locks do not count.
//! A program that was linked without libatomic is served from here.

use core::ffi::{c_int, c_void};

use crate::interpose::Call;
use crate::ordering::{self, Order, Writes};
use crate::runtime::RT;
use crate::sync::Locked;

/// Who works on an object for which there is no libatomic.
static ALONE: Locked<()> = Locked::new(());

/// An atomic object.
#[derive(Clone, Copy)]
struct Object {
    at: usize,
    size: usize,
}

impl Object {
    fn new(at: *const c_void, size: usize) -> Object {
        let at = at as usize;
        Object { at, size }
    }

    fn load(self, call: &mut Call, order: c_int, raw: impl Fn()) {
        let here = call.here;
        match call.syncing() {
            Some(s) => ordering::load(&RT, s, self.at, Order::new(order), self.size, here, raw),
            None => raw(),
        }
    }

    fn store(self, call: &mut Call, order: c_int, raw: impl FnOnce()) {
        let here = call.here;
        match call.syncing() {
            Some(s) => ordering::store(&RT, s, self.at, Order::new(order), self.size, here, raw),
            None => raw(),
        }
    }

    /// `raw` says whether it wrote.
    fn modify(
        self,
        call: &mut Call,
        order: c_int,
        failed: c_int,
        raw: impl FnOnce() -> bool,
    ) -> bool {
        let here = call.here;
        let (order, failed) = (Order::new(order), Order::new(failed));
        let Some(s) = call.syncing() else {
            return raw();
        };
        let (at, size, writes) = (self.at, self.size, Writes::IfEqual);
        ordering::modify(&RT, s, at, order, failed, writes, size, here, || {
            let wrote = raw();
            (wrote, wrote)
        })
    }
}

/// As `interpose!`, for a library that need not be there: `real` is an option.
macro_rules! of_libatomic {
    ($(unsafe fn $name:ident($($arg:ident: $ty:ty),*) -> $ret:ty |$call:ident, $real:ident| $body:block)*) => { $(
        pub mod $name {
            use super::*;

            $crate::entry! {
                $name, $crate::weakly!($name),
                "jmp {body}",
                body = sym body
            }

            #[cfg(not(feature = "wrap"))]
            fn real() -> *mut c_void {
                use core::sync::atomic::{AtomicUsize, Ordering};
                /// One: nobody has looked yet.
                static REAL: AtomicUsize = AtomicUsize::new(1);
                match REAL.load(Ordering::Relaxed) {
                    1 => {
                        let found = crate::interpose::find_real(concat!(stringify!($name), "\0"));
                        REAL.store(found as usize, Ordering::Relaxed);
                        found
                    }
                    known => known as *mut c_void,
                }
            }

            // Most static programs have no libatomic, so the reference is weak.
            #[cfg(feature = "wrap")]
            core::arch::global_asm!(concat!(".weak __real_", stringify!($name)));

            #[cfg(feature = "wrap")]
            fn real() -> *mut c_void {
                let p: *mut c_void;
                // SAFETY: reads the symbol's address, which is zero if nobody defines it.
                unsafe {
                    core::arch::asm!(concat!("mov {p}, qword ptr [rip + __real_", stringify!($name), "@GOTPCREL]"),
                         p = out(reg) p, options(nostack, readonly, preserves_flags));
                }
                p
            }

            unsafe extern "C" fn body($($arg: $ty),*) -> $ret {
                // Looking for it may allocate, and so change who called.
                let mut $call = $crate::interpose::Call::begin(entry as *const () as u64);
                // SAFETY: null, or libatomic's function of this name and so of this type.
                let $real: Option<unsafe extern "C" fn($($ty),*) -> $ret> = unsafe { core::mem::transmute(real()) };
                $body
            }
        }
    )* };
}

/// Copies `size` bytes of the program's.
///
/// # Safety
/// Both are the program's, and do not overlap.
unsafe fn copy(from: *const c_void, to: *mut c_void, size: usize) {
    // SAFETY: by the contract.
    unsafe { core::ptr::copy_nonoverlapping(from.cast::<u8>(), to.cast::<u8>(), size) }
}

/// Whether the bytes are the same.
///
/// # Safety
/// Both are the program's.
unsafe fn same(a: *const c_void, b: *const c_void, size: usize) -> bool {
    // SAFETY: by the contract.
    unsafe {
        core::slice::from_raw_parts(a.cast::<u8>(), size)
            == core::slice::from_raw_parts(b.cast::<u8>(), size)
    }
}

of_libatomic! {
    unsafe fn __atomic_load(size: usize, object: *const c_void, to: *mut c_void, order: c_int) -> () |call, real| {
        Object::new(object, size).load(&mut call, order, || match real {
            // SAFETY: the program's own call.
            Some(real) => unsafe { real(size, object, to, order) },
            None => {
                let _alone = ALONE.lock();
                // SAFETY: the program's own objects.
                unsafe { copy(object, to, size) }
            }
        });
        call.writes(to, size);
    }

    unsafe fn __atomic_store(size: usize, object: *mut c_void, from: *const c_void, order: c_int) -> () |call, real| {
        call.reads(from, size);
        Object::new(object, size).store(&mut call, order, || match real {
            // SAFETY: the program's own call.
            Some(real) => unsafe { real(size, object, from, order) },
            None => {
                let _alone = ALONE.lock();
                // SAFETY: the program's own objects.
                unsafe { copy(from, object, size) }
            }
        });
    }

    unsafe fn __atomic_exchange(size: usize, object: *mut c_void, from: *const c_void, to: *mut c_void, order: c_int) -> () |call, real| {
        call.reads(from, size);
        Object::new(object, size).modify(&mut call, order, order, || {
            match real {
                // SAFETY: the program's own call.
                Some(real) => unsafe { real(size, object, from, to, order) },
                None => {
                    let _alone = ALONE.lock();
                    // SAFETY: the program's own objects.
                    unsafe {
                        copy(object, to, size);
                        copy(from, object, size);
                    }
                }
            }
            true
        });
        call.writes(to, size);
    }

    unsafe fn __atomic_compare_exchange(size: usize, object: *mut c_void, expected: *mut c_void, from: *const c_void, order: c_int, failed: c_int) -> bool |call, real| {
        call.reads(expected, size);
        call.reads(from, size);
        let exchanged = Object::new(object, size).modify(&mut call, order, failed, || match real {
            // SAFETY: the program's own call.
            Some(real) => unsafe { real(size, object, expected, from, order, failed) },
            None => {
                let _alone = ALONE.lock();
                // SAFETY: the program's own objects.
                unsafe {
                    let same = same(object, expected, size);
                    if same {
                        copy(from, object, size);
                    } else {
                        copy(object, expected, size);
                    }
                    same
                }
            }
        });
        if !exchanged {
            call.writes(expected, size);
        }
        exchanged
    }
}

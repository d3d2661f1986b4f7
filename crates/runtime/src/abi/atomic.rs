//! Atomic operations and fences: performed here, because the compiler hands them over, and ordered by [`crate::ordering`].

use core::ffi::c_int;
use core::sync::atomic::{
    AtomicI8, AtomicI16, AtomicI32, AtomicI64, AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering,
};

use crate::abi::tls;
use crate::ordering::{self, Order, Writes};
use crate::runtime::RT;
use crate::strand::Strand;
use crate::with_caller;

/// The strand, if its synchronization is to be seen.
fn observed() -> Option<&'static mut Strand> {
    tls::me().filter(|s| s.ignore_sync == 0)
}

#[inline]
fn load<T>(addr: usize, order: Order, size: usize, pc: u64, raw: impl Fn() -> T) -> T {
    match observed() {
        Some(s) => ordering::load(&RT, s, addr, order, size, pc, raw),
        None => raw(),
    }
}

#[inline]
fn store(addr: usize, order: Order, size: usize, pc: u64, raw: impl FnOnce()) {
    match observed() {
        Some(s) => ordering::store(&RT, s, addr, order, size, pc, raw),
        None => raw(),
    }
}

#[inline]
fn modify<T>(
    addr: usize,
    order: Order,
    failed: Order,
    writes: Writes,
    size: usize,
    pc: u64,
    raw: impl FnOnce() -> (T, bool),
) -> T {
    match observed() {
        Some(s) => ordering::modify(&RT, s, addr, order, failed, writes, size, pc, raw),
        None => raw().0,
    }
}

macro_rules! atomics {
    ($($size:literal $int:ty, $atomic:ident: $load:ident $store:ident $exchange:ident $add:ident $sub:ident $and:ident $or:ident $xor:ident $nand:ident $cas:ident $strong:ident $weak:ident;)*) => { $(
        with_caller! {
            unsafe fn $load(a: *mut $int, mo: c_int) -> $int {
                // SAFETY: the program's own atomic operation on its own memory.
                load(a as usize, Order::new(mo), $size, tls::caller(), || unsafe { $atomic::from_ptr(a) }.load(Ordering::SeqCst))
            }
            unsafe fn $store(a: *mut $int, v: $int, mo: c_int) -> () {
                let order = Order::new(mo);
                // SAFETY: as above.
                store(a as usize, order, $size, tls::caller(), || unsafe { $atomic::from_ptr(a) }.store(v, order.store_ordering()))
            }
            unsafe fn $cas(a: *mut $int, expected: $int, v: $int, mo: c_int, fmo: c_int) -> $int {
                modify(a as usize, Order::new(mo), Order::new(fmo), Writes::IfEqual, $size, tls::caller(), || {
                    // SAFETY: as above.
                    match unsafe { $atomic::from_ptr(a) }.compare_exchange(expected, v, Ordering::SeqCst, Ordering::SeqCst) {
                        Ok(old) => (old, true),
                        Err(old) => (old, false),
                    }
                })
            }
            unsafe fn $strong(a: *mut $int, expected: *mut $int, v: $int, mo: c_int, fmo: c_int) -> c_int {
                modify(a as usize, Order::new(mo), Order::new(fmo), Writes::IfEqual, $size, tls::caller(), || {
                    // SAFETY: as above, and `expected` is the program's variable for the value it expects.
                    unsafe {
                        match $atomic::from_ptr(a).compare_exchange(*expected, v, Ordering::SeqCst, Ordering::SeqCst) {
                            Ok(_) => (1, true),
                            Err(old) => {
                                *expected = old;
                                (0, false)
                            }
                        }
                    }
                })
            }
            unsafe fn $weak(a: *mut $int, expected: *mut $int, v: $int, mo: c_int, fmo: c_int) -> c_int {
                // SAFETY: the same contract.
                unsafe { self::$strong::body(a, expected, v, mo, fmo) }
            }
        }
        atomics!(@rmw $size $int, $atomic: $exchange swap, $add fetch_add, $sub fetch_sub, $and fetch_and, $or fetch_or, $xor fetch_xor, $nand fetch_nand);
    )* };
    (@rmw $size:literal $int:ty, $atomic:ident: $($name:ident $op:ident),*) => {
        with_caller! { $(
            unsafe fn $name(a: *mut $int, v: $int, mo: c_int) -> $int {
                let order = Order::new(mo);
                // SAFETY: the program's own atomic operation on its own memory.
                modify(a as usize, order, order, Writes::Always, $size, tls::caller(), || (unsafe { $atomic::from_ptr(a) }.$op(v, Ordering::SeqCst), true))
            }
        )* }
    };
}

atomics! {
    1 u8, AtomicU8: __tsan_atomic8_load __tsan_atomic8_store __tsan_atomic8_exchange __tsan_atomic8_fetch_add __tsan_atomic8_fetch_sub __tsan_atomic8_fetch_and __tsan_atomic8_fetch_or __tsan_atomic8_fetch_xor __tsan_atomic8_fetch_nand __tsan_atomic8_compare_exchange_val __tsan_atomic8_compare_exchange_strong __tsan_atomic8_compare_exchange_weak;
    2 u16, AtomicU16: __tsan_atomic16_load __tsan_atomic16_store __tsan_atomic16_exchange __tsan_atomic16_fetch_add __tsan_atomic16_fetch_sub __tsan_atomic16_fetch_and __tsan_atomic16_fetch_or __tsan_atomic16_fetch_xor __tsan_atomic16_fetch_nand __tsan_atomic16_compare_exchange_val __tsan_atomic16_compare_exchange_strong __tsan_atomic16_compare_exchange_weak;
    4 u32, AtomicU32: __tsan_atomic32_load __tsan_atomic32_store __tsan_atomic32_exchange __tsan_atomic32_fetch_add __tsan_atomic32_fetch_sub __tsan_atomic32_fetch_and __tsan_atomic32_fetch_or __tsan_atomic32_fetch_xor __tsan_atomic32_fetch_nand __tsan_atomic32_compare_exchange_val __tsan_atomic32_compare_exchange_strong __tsan_atomic32_compare_exchange_weak;
    8 u64, AtomicU64: __tsan_atomic64_load __tsan_atomic64_store __tsan_atomic64_exchange __tsan_atomic64_fetch_add __tsan_atomic64_fetch_sub __tsan_atomic64_fetch_and __tsan_atomic64_fetch_or __tsan_atomic64_fetch_xor __tsan_atomic64_fetch_nand __tsan_atomic64_compare_exchange_val __tsan_atomic64_compare_exchange_strong __tsan_atomic64_compare_exchange_weak;
    16 u128, AtomicU128: __tsan_atomic128_load __tsan_atomic128_store __tsan_atomic128_exchange __tsan_atomic128_fetch_add __tsan_atomic128_fetch_sub __tsan_atomic128_fetch_and __tsan_atomic128_fetch_or __tsan_atomic128_fetch_xor __tsan_atomic128_fetch_nand __tsan_atomic128_compare_exchange_val __tsan_atomic128_compare_exchange_strong __tsan_atomic128_compare_exchange_weak;
}

/// The minimum and maximum, which compilers leave to themselves: `crates/rust` makes calls of them for Rust programs.
macro_rules! extremes {
    ($($size:literal $int:ty, $signed:ty, $atomic:ident, $atomic_signed:ident: $smax:ident $smin:ident $umax:ident $umin:ident;)*) => { $(
        extremes!(@one $size $int, $signed, $atomic_signed: $smax fetch_max, $smin fetch_min);
        extremes!(@one $size $int, $int, $atomic: $umax fetch_max, $umin fetch_min);
    )* };
    (@one $size:literal $int:ty, $as:ty, $atomic:ident: $($name:ident $op:ident),*) => {
        with_caller! { $(
            unsafe fn $name(a: *mut $int, v: $int, mo: c_int) -> $int {
                let order = Order::new(mo);
                // SAFETY: the program's own atomic operation on its own memory.
                modify(a as usize, order, order, Writes::Always, $size, tls::caller(), || (unsafe { $atomic::from_ptr(a.cast::<$as>()) }.$op(v as $as, Ordering::SeqCst) as $int, true))
            }
        )* }
    };
}

extremes! {
    1 u8, i8, AtomicU8, AtomicI8: __deadheat_atomic8_fetch_smax __deadheat_atomic8_fetch_smin __deadheat_atomic8_fetch_umax __deadheat_atomic8_fetch_umin;
    2 u16, i16, AtomicU16, AtomicI16: __deadheat_atomic16_fetch_smax __deadheat_atomic16_fetch_smin __deadheat_atomic16_fetch_umax __deadheat_atomic16_fetch_umin;
    4 u32, i32, AtomicU32, AtomicI32: __deadheat_atomic32_fetch_smax __deadheat_atomic32_fetch_smin __deadheat_atomic32_fetch_umax __deadheat_atomic32_fetch_umin;
    8 u64, i64, AtomicU64, AtomicI64: __deadheat_atomic64_fetch_smax __deadheat_atomic64_fetch_smin __deadheat_atomic64_fetch_umax __deadheat_atomic64_fetch_umin;
}

/// Additions and the like to floating-point numbers, which LLVM's instrumentation leaves out as well: `crates/compiler-hook`
/// makes calls of them.
macro_rules! floating {
    ($($size:literal $float:ty, $atomic:ident: $add:ident $sub:ident $max:ident $min:ident;)*) => { $(
        floating!(@one $size $float, $atomic: $add |a, b| a + b; $sub |a, b| a - b;
            $max |a, b| if a > b || b != b { a } else { b }; $min |a, b| if a < b || b != b { a } else { b };);
    )* };
    (@one $size:literal $float:ty, $atomic:ident: $($name:ident |$a:ident, $b:ident| $new:expr;)*) => {
        with_caller! { $(
            #[allow(clippy::eq_op)] // a number that is none is not itself
            unsafe fn $name(place: *mut $float, value: $float, mo: c_int) -> $float {
                let order = Order::new(mo);
                modify(place as usize, order, order, Writes::Always, $size, tls::caller(), || {
                    // SAFETY: the program's own atomic operation on its own memory.
                    let word = unsafe { $atomic::from_ptr(place.cast()) };
                    let mut old = word.load(Ordering::Relaxed);
                    loop {
                        let ($a, $b) = (<$float>::from_bits(old), value);
                        let new: $float = $new;
                        match word.compare_exchange(old, new.to_bits(), Ordering::SeqCst, Ordering::Relaxed) {
                            Ok(old) => break (<$float>::from_bits(old), true),
                            Err(now) => old = now,
                        }
                    }
                })
            }
        )* }
    };
}

floating! {
    4 f32, AtomicU32: __deadheat_atomic32_fetch_fadd __deadheat_atomic32_fetch_fsub __deadheat_atomic32_fetch_fmax __deadheat_atomic32_fetch_fmin;
    8 f64, AtomicU64: __deadheat_atomic64_fetch_fadd __deadheat_atomic64_fetch_fsub __deadheat_atomic64_fetch_fmax __deadheat_atomic64_fetch_fmin;
}

/// 16 bytes at once, by `cmpxchg16b`.
struct AtomicU128(*mut u128);

impl AtomicU128 {
    unsafe fn from_ptr(p: *mut u128) -> AtomicU128 {
        AtomicU128(p)
    }

    fn compare_exchange(
        &self,
        expected: u128,
        new: u128,
        _: Ordering,
        _: Ordering,
    ) -> Result<u128, u128> {
        let (mut low, mut high) = (expected as u64, (expected >> 64) as u64);
        let ok: u8;
        // SAFETY: the program's own atomic, 16-byte aligned as the instruction wants it; rbx is saved because the compiler
        // keeps it for itself.
        unsafe {
            core::arch::asm!(
                "xchg {new_low}, rbx",
                "lock cmpxchg16b xmmword ptr [{p}]",
                "sete {ok}",
                "mov rbx, {new_low}",
                p = in(reg) self.0,
                new_low = inout(reg) new as u64 => _,
                in("rcx") (new >> 64) as u64,
                inout("rax") low,
                inout("rdx") high,
                ok = out(reg_byte) ok,
                options(nostack)
            );
        }
        let old = (high as u128) << 64 | low as u128;
        if ok != 0 { Ok(old) } else { Err(old) }
    }

    fn update(&self, f: impl Fn(u128) -> u128) -> u128 {
        let mut old = self.load(Ordering::SeqCst);
        loop {
            match self.compare_exchange(old, f(old), Ordering::SeqCst, Ordering::SeqCst) {
                Ok(old) => return old,
                Err(now) => old = now,
            }
        }
    }

    fn load(&self, _: Ordering) -> u128 {
        match self.compare_exchange(0, 0, Ordering::SeqCst, Ordering::SeqCst) {
            Ok(v) | Err(v) => v,
        }
    }
    fn store(&self, v: u128, _: Ordering) {
        self.update(|_| v);
    }
    fn swap(&self, v: u128, _: Ordering) -> u128 {
        self.update(|_| v)
    }
    fn fetch_add(&self, v: u128, _: Ordering) -> u128 {
        self.update(|old| old.wrapping_add(v))
    }
    fn fetch_sub(&self, v: u128, _: Ordering) -> u128 {
        self.update(|old| old.wrapping_sub(v))
    }
    fn fetch_and(&self, v: u128, _: Ordering) -> u128 {
        self.update(|old| old & v)
    }
    fn fetch_or(&self, v: u128, _: Ordering) -> u128 {
        self.update(|old| old | v)
    }
    fn fetch_xor(&self, v: u128, _: Ordering) -> u128 {
        self.update(|old| old ^ v)
    }
    fn fetch_nand(&self, v: u128, _: Ordering) -> u128 {
        self.update(|old| !(old & v))
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn __tsan_atomic_thread_fence(mo: c_int) {
    core::sync::atomic::fence(Ordering::SeqCst);
    let Some(s) = observed() else { return };
    ordering::fence(&RT, s, Order::new(mo));
}

/// Orders a thread against its own signal handlers only: nothing to do between threads.
#[unsafe(no_mangle)]
pub extern "C" fn __tsan_atomic_signal_fence(_mo: c_int) {
    core::sync::atomic::compiler_fence(Ordering::SeqCst);
}

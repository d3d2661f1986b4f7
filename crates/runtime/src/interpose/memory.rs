//! `memcpy` and its kin, and the compiler's hooks for them.
//!
//! The compiler uses `memcpy`, `memmove`, `memset`, `memcmp`, `bcmp` and `strlen` in the runtime itself, so their exported names are
//! leaves that first ask in assembler whether this is the program's call: a strand that is inside the runtime, and a
//! thread that has none, go straight to the C library.

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicU64, Ordering};

use deadheat_detect::entry::{MASK, same_step_covers};

use crate::abi::tls;
use crate::history::Touch;
use crate::interpose::{Call, Real};
use crate::runtime::RT;
use crate::shadow::REGION;
use crate::strand::Strand;
use crate::{interpose, with_caller};

/// Where [`Strand::inside`] is, for the assembler.
pub const INSIDE: usize = core::mem::offset_of!(Strand, inside);

/// In a static program the C library copies and clears its thread-local storage before there is any: until the runtime
/// starts, no leaf may look there.
#[cfg(feature = "wrap")]
#[macro_export]
macro_rules! before_tls {
    () => {
        "cmp byte ptr [rip + {started}], 0; je 3f"
    };
}

#[cfg(not(feature = "wrap"))]
#[macro_export]
macro_rules! before_tls {
    () => {
        "# {started}"
    };
}

/// Whether the runtime has started, for [`before_tls`].
pub static STARTED: core::sync::atomic::AtomicBool = core::sync::atomic::AtomicBool::new(false);

/// Functions that the runtime's own code may call. `$plain` does the work while the real one is not known yet.
#[macro_export]
macro_rules! leaf {
    ($($(#[$meta:meta])* unsafe fn $name:ident($($arg:ident: $ty:ty),*) -> $ret:ty = $plain:literal |$call:ident, $real:ident| $body:block)*) => { $(
        pub mod $name {
            #[allow(unused_imports)]
            use super::*;

            static REAL: $crate::interpose::Real = $crate::interpose::Real::new();

            #[allow(clippy::missing_safety_doc)]
            #[unsafe(naked)]
            #[cfg_attr(not(feature = "wrap"), unsafe(export_name = stringify!($name)))]
            #[cfg_attr(feature = "wrap", unsafe(export_name = concat!("__wrap_", stringify!($name))))]
            pub unsafe extern "C" fn entry() {
                core::arch::naked_asm!(
                    $crate::weakly!($name),
                    $crate::before_tls!(),
                    "mov r11, qword ptr [rip + __deadheat_strand@GOTTPOFF]",
                    "mov r11, qword ptr fs:[r11]",
                    "cmp dword ptr [r11 + {inside}], 0",
                    "jne 2f",
                    "mov r11, qword ptr [rsp]",
                    "mov r10, qword ptr [rip + __deadheat_caller@GOTTPOFF]",
                    "mov qword ptr fs:[r10], r11",
                    "jmp {body}",
                    "2:",
                    "mov r11, qword ptr [rip + {real}]",
                    "test r11, r11",
                    "jz 3f",
                    "jmp r11",
                    "3:",
                    $plain,
                    inside = const $crate::interpose::memory::INSIDE,
                    body = sym body,
                    real = sym REAL,
                    started = sym $crate::interpose::memory::STARTED
                )
            }

            /// The function of the C library.
            #[inline(always)]
            pub fn real() -> unsafe extern "C" fn($($ty),*) -> $ret {
                #[cfg(feature = "wrap")]
                {
                    unsafe extern "C" {
                        #[link_name = concat!("__real_", stringify!($name))]
                        fn real_function($($arg: $ty),*) -> $ret;
                    }
                    REAL.set(real_function as *mut core::ffi::c_void);
                }
                // SAFETY: the name and the type are those of the C library.
                unsafe { core::mem::transmute(REAL.get(concat!(stringify!($name), "\0"))) }
            }

            $(#[$meta])*
            #[allow(clippy::missing_safety_doc)]
            pub unsafe extern "C" fn body($($arg: $ty),*) -> $ret {
                let $real = real();
                let $call = || $crate::interpose::Call::begin(entry as *const () as u64);
                $body
            }
        }
    )* };
}

/// How many bytes from the front of `[addr, addr + n)` this step has touched in this way already, looked at as far as one
/// block of shadow reaches. This is the quick look before the work of a call: it takes nothing and changes nothing.
#[inline(always)]
fn been(s: &Strand, addr: usize, n: usize, touch: Touch) -> usize {
    if n == 0 || addr == 0 {
        return 0;
    }
    let Some(cells) = RT.shadow.existing(addr) else {
        return 0;
    };
    let cells: *const AtomicU64 = cells.cast();
    let (base, span, kind) = (s.step_base, s.step_span, touch.bits());
    let end = (addr + n).min((addr | (REGION - 1)) + 1);
    let has = |at: usize, need: u64| {
        let cell = cells.wrapping_add((at / 8 - addr / 8) * 2);
        // SAFETY: the cell lies in the block that the shadow gave.
        let word = |i: usize| unsafe { &*cell.add(i) }.load(Ordering::Relaxed);
        // A word that stands alone is the first.
        same_step_covers(word(0), base, span, need) || same_step_covers(word(1), base, span, need)
    };
    let mut at = addr & !7;
    if at != addr || end - at < 8 {
        let mut mask = 0xff << (addr - at);
        if end - at < 8 {
            mask &= 0xff >> (8 - (end - at));
        }
        if !has(at, mask | kind) {
            return 0;
        }
        at += 8;
    }
    // Cells that were touched together have the same word, so most need one comparison.
    let mut cell = cells.wrapping_add((at / 8 - addr / 8) * 2);
    let mut word = u64::MAX;
    while at + 8 <= end {
        // SAFETY: the cell lies in the block that the shadow gave.
        let first = unsafe { &*cell }.load(Ordering::Relaxed);
        if first != word {
            if !has(at, MASK | kind) {
                break;
            }
            if same_step_covers(first, base, span, MASK | kind) {
                word = first;
            }
        }
        cell = cell.wrapping_add(2);
        at += 8;
    }
    if at < end && end - at < 8 && has(at, 0xff >> (8 - (end - at)) | kind) {
        at = end;
    }
    at.min(end) - addr
}

/// Has this step touched all of it in this way?
#[inline(always)]
pub fn been_everywhere(p: *const c_void, n: usize, touch: Touch) -> bool {
    match tls::me() {
        Some(s) => been(s, p as usize, n, touch) == n,
        None => true,
    }
}

leaf! {
    unsafe fn memcpy(to: *mut c_void, from: *const c_void, n: usize) -> *mut c_void
        = "mov rax, rdi; mov rcx, rdx; rep movsb; ret" |call, real| {
        if !(been_everywhere(from, n, Touch::Read) && been_everywhere(to, n, Touch::Write)) {
            call().copies(to, from, n);
        }
        // SAFETY: the program's own call.
        unsafe { real(to, from, n) }
    }

    unsafe fn memmove(to: *mut c_void, from: *const c_void, n: usize) -> *mut c_void
        = "mov rax, rdi; mov rcx, rdx; mov r11, rdi; sub r11, rsi; cmp r11, rdx; jb 4f; rep movsb; ret; 4: lea rsi, [rsi + rdx - 1]; lea rdi, [rdi + rdx - 1]; std; rep movsb; cld; ret" |call, real| {
        if !(been_everywhere(from, n, Touch::Read) && been_everywhere(to, n, Touch::Write)) {
            call().copies(to, from, n);
        }
        // SAFETY: the program's own call.
        unsafe { real(to, from, n) }
    }

    unsafe fn memset(to: *mut c_void, byte: c_int, n: usize) -> *mut c_void
        = "mov r11, rdi; mov eax, esi; mov rcx, rdx; rep stosb; mov rax, r11; ret" |call, real| {
        if !been_everywhere(to, n, Touch::Write) {
            call().writes(to, n);
        }
        // SAFETY: the program's own call.
        unsafe { real(to, byte, n) }
    }

    unsafe fn memcmp(a: *const c_void, b: *const c_void, n: usize) -> c_int
        = "mov rcx, rdx; xor eax, eax; repe cmpsb; je 4f; movzx eax, byte ptr [rdi - 1]; movzx ecx, byte ptr [rsi - 1]; sub ecx, eax; mov eax, ecx; 4: ret" |call, real| {
        // SAFETY: the program's own call.
        let result = unsafe { real(a, b, n) };
        let read = if result == 0 { n } else { differ_at(a, b, n) };
        if !(been_everywhere(a, read, Touch::Read) && been_everywhere(b, read, Touch::Read)) {
            let mut call = call();
            call.reads(a, read);
            call.reads(b, read);
        }
        result
    }

    unsafe fn bcmp(a: *const c_void, b: *const c_void, n: usize) -> c_int
        = "mov rcx, rdx; xor eax, eax; repe cmpsb; setne al; ret" |call, real| {
        // SAFETY: the program's own call.
        let result = unsafe { real(a, b, n) };
        let read = if result == 0 { n } else { differ_at(a, b, n) };
        if !(been_everywhere(a, read, Touch::Read) && been_everywhere(b, read, Touch::Read)) {
            let mut call = call();
            call.reads(a, read);
            call.reads(b, read);
        }
        result
    }
}

/// How many bytes a comparison looks at, up to the first that differ and those included.
fn differ_at(a: *const c_void, b: *const c_void, n: usize) -> usize {
    let mut read = 0;
    while read < n {
        read += 1;
        // SAFETY: the program had the same bytes compared; read one by one so that no library function is made of it.
        if unsafe {
            a.cast::<u8>().add(read - 1).read_volatile()
                != b.cast::<u8>().add(read - 1).read_volatile()
        } {
            break;
        }
    }
    read
}

/// How much of `[p, p + n)` a search looked at that found `hit`.
fn searched(p: *const c_void, n: usize, hit: *const c_void) -> usize {
    if hit.is_null() {
        n
    } else {
        hit as usize - p as usize + 1
    }
}

interpose! {
    unsafe fn mempcpy(to: *mut c_void, from: *const c_void, n: usize) -> *mut c_void |call, real| {
        call.copies(to, from, n);
        // SAFETY: the program's own call.
        unsafe { real(to, from, n) }
    }

    unsafe fn memccpy(to: *mut c_void, from: *const c_void, byte: c_int, n: usize) -> *mut c_void |call, real| {
        // SAFETY: the program's own call.
        let end = unsafe { real(to, from, byte, n) };
        let copied = if end.is_null() { n } else { end as usize - to as usize };
        call.copies(to, from, copied);
        end
    }

    unsafe fn memchr(p: *const c_void, byte: c_int, n: usize) -> *mut c_void |call, real| {
        // SAFETY: the program's own call.
        let hit = unsafe { real(p, byte, n) };
        call.reads(p, searched(p, n, hit));
        hit
    }

    unsafe fn memrchr(p: *const c_void, byte: c_int, n: usize) -> *mut c_void |call, real| {
        // SAFETY: the program's own call.
        let hit = unsafe { real(p, byte, n) };
        let from = if hit.is_null() { p } else { hit };
        call.reads(from, p as usize + n - from as usize);
        hit
    }

    unsafe fn rawmemchr(p: *const c_void, byte: c_int) -> *mut c_void |call, real| {
        // SAFETY: the program's own call.
        let hit = unsafe { real(p, byte) };
        call.reads(p, searched(p, 0, hit));
        hit
    }

    unsafe fn memmem(p: *const c_void, n: usize, what: *const c_void, len: usize) -> *mut c_void |call, real| {
        // SAFETY: the program's own call.
        let hit = unsafe { real(p, n, what, len) };
        call.reads(p, if hit.is_null() { n } else { hit as usize - p as usize + len });
        call.reads(what, len);
        hit
    }

    unsafe fn bcopy(from: *const c_void, to: *mut c_void, n: usize) -> () |call, real| {
        call.copies(to, from, n);
        // SAFETY: the program's own call.
        unsafe { real(from, to, n) }
    }

    unsafe fn bzero(to: *mut c_void, n: usize) -> () |call, real| {
        call.writes(to, n);
        // SAFETY: the program's own call.
        unsafe { real(to, n) }
    }

    unsafe fn explicit_bzero(to: *mut c_void, n: usize) -> () |call, real| {
        call.writes(to, n);
        // SAFETY: the program's own call.
        unsafe { real(to, n) }
    }

    unsafe fn swab(from: *const c_void, to: *mut c_void, n: isize) -> () |call, real| {
        call.copies(to, from, n.max(0) as usize & !1);
        // SAFETY: the program's own call.
        unsafe { real(from, to, n) }
    }

    unsafe fn __memcpy_chk(to: *mut c_void, from: *const c_void, n: usize, room: usize) -> *mut c_void |call, real| {
        call.copies(to, from, n.min(room));
        // SAFETY: the program's own call.
        unsafe { real(to, from, n, room) }
    }

    unsafe fn __memmove_chk(to: *mut c_void, from: *const c_void, n: usize, room: usize) -> *mut c_void |call, real| {
        call.copies(to, from, n.min(room));
        // SAFETY: the program's own call.
        unsafe { real(to, from, n, room) }
    }

    unsafe fn __mempcpy_chk(to: *mut c_void, from: *const c_void, n: usize, room: usize) -> *mut c_void |call, real| {
        call.copies(to, from, n.min(room));
        // SAFETY: the program's own call.
        unsafe { real(to, from, n, room) }
    }

    unsafe fn __memset_chk(to: *mut c_void, byte: c_int, n: usize, room: usize) -> *mut c_void |call, real| {
        call.writes(to, n.min(room));
        // SAFETY: the program's own call.
        unsafe { real(to, byte, n, room) }
    }

    unsafe fn __explicit_bzero_chk(to: *mut c_void, n: usize, room: usize) -> () |call, real| {
        call.writes(to, n.min(room));
        // SAFETY: the program's own call.
        unsafe { real(to, n, room) }
    }
}

// The compiler's own copies, most of them assignments of structures: the innermost frame is the line itself.
with_caller! {
    unsafe fn __tsan_memcpy(to: *mut c_void, from: *const c_void, n: usize) -> *mut c_void {
        if !(been_everywhere(from, n, Touch::Read) && been_everywhere(to, n, Touch::Write)) {
            Call::at_line(|call| call.copies(to, from, n));
        }
        // SAFETY: the program's own copy.
        unsafe { memcpy::real()(to, from, n) }
    }

    unsafe fn __tsan_memmove(to: *mut c_void, from: *const c_void, n: usize) -> *mut c_void {
        if !(been_everywhere(from, n, Touch::Read) && been_everywhere(to, n, Touch::Write)) {
            Call::at_line(|call| call.copies(to, from, n));
        }
        // SAFETY: the program's own copy.
        unsafe { memmove::real()(to, from, n) }
    }

    unsafe fn __tsan_memset(to: *mut c_void, byte: c_int, n: usize) -> *mut c_void {
        if !been_everywhere(to, n, Touch::Write) {
            Call::at_line(|call| call.writes(to, n));
        }
        // SAFETY: the program's own memory.
        unsafe { memset::real()(to, byte, n) }
    }
}

impl Real {
    /// Sets the address when the linker knows it.
    pub fn set(&self, p: *mut c_void) {
        self.0.store(p, Ordering::Relaxed);
    }
}

impl Call {
    /// `n` bytes of the program are read and written elsewhere on its behalf.
    pub fn copies(&mut self, to: *mut c_void, from: *const c_void, n: usize) {
        self.reads(from, n);
        self.writes(to, n);
    }
}

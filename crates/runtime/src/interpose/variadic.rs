//! Functions with `...`: a stub that saves the argument registers as the calling convention wants it and hands the body
//! what C calls a `va_list`.

/// A `va_list` of x86-64.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct VaList {
    general: u32,
    floating: u32,
    overflow: *const u8,
    saved: *const u8,
}

const GENERAL_END: u32 = 48;
const FLOATING_END: u32 = 176;

impl VaList {
    /// The next integer or pointer.
    ///
    /// # Safety
    /// There must be one, here and below.
    pub unsafe fn word(&mut self) -> u64 {
        // SAFETY: by the contract the place holds the argument.
        unsafe {
            if self.general < GENERAL_END {
                let p = self.saved.add(self.general as usize);
                self.general += 8;
                return p.cast::<u64>().read();
            }
            self.on_stack()
        }
    }

    /// Skips a `double`.
    ///
    /// # Safety
    /// As [`Self::word`].
    pub unsafe fn skip_double(&mut self) {
        if self.floating < FLOATING_END {
            self.floating += 16;
        } else {
            // SAFETY: by the contract.
            unsafe { self.on_stack() };
        }
    }

    /// Skips a `long double`.
    ///
    /// # Safety
    /// As [`Self::word`].
    pub unsafe fn skip_long_double(&mut self) {
        let at = (self.overflow as usize).next_multiple_of(16);
        self.overflow = (at + 16) as *const u8;
    }

    unsafe fn on_stack(&mut self) -> u64 {
        // SAFETY: by the contract of the callers.
        unsafe {
            let value = self.overflow.cast::<u64>().read();
            self.overflow = self.overflow.add(8);
            value
        }
    }
}

/// Defines `name(fixed arguments, ...)` and `vname(fixed arguments, va_list)` with one body. `$next` is the register after
/// the fixed arguments and `$used` 8 for each of them.
#[macro_export]
macro_rules! variadic {
    ($($name:ident $vname:ident($($arg:ident: $ty:ty),*) $next:literal $used:literal |$call:ident, $args:ident, $real:ident| $body:expr;)*) => { $(
        #[allow(non_snake_case)]
        pub mod $name {
            #[allow(unused_imports)]
            use super::*;

            $crate::entry! {
                $name, $crate::weakly!($name),
                // What is cancelled inside the C library is unwound through here.
                ".cfi_startproc",
                "sub rsp, 216",
                ".cfi_adjust_cfa_offset 216",
                "mov [rsp], rdi",
                "mov [rsp + 8], rsi",
                "mov [rsp + 16], rdx",
                "mov [rsp + 24], rcx",
                "mov [rsp + 32], r8",
                "mov [rsp + 40], r9",
                "test al, al",
                "je 2f",
                "movaps [rsp + 48], xmm0",
                "movaps [rsp + 64], xmm1",
                "movaps [rsp + 80], xmm2",
                "movaps [rsp + 96], xmm3",
                "movaps [rsp + 112], xmm4",
                "movaps [rsp + 128], xmm5",
                "movaps [rsp + 144], xmm6",
                "movaps [rsp + 160], xmm7",
                "2:",
                concat!("mov dword ptr [rsp + 176], ", $used),
                "mov dword ptr [rsp + 180], 48",
                "lea r10, [rsp + 224]",
                "mov [rsp + 184], r10",
                "mov [rsp + 192], rsp",
                concat!("lea ", $next, ", [rsp + 176]"),
                "call {body}",
                "add rsp, 216",
                ".cfi_adjust_cfa_offset -216",
                "ret",
                ".cfi_endproc",
                body = sym body
            }

            extern "C" fn body($($arg: $ty,)* $args: *mut $crate::interpose::variadic::VaList) -> c_int {
                let $real = super::$vname::real();
                let mut call = $crate::interpose::Call::begin(entry as *const () as u64);
                let $call = &mut call;
                // SAFETY: the program's own call; what it passed is what the function's contract asks for.
                #[allow(clippy::macro_metavars_in_unsafe)]
                unsafe { $body }
            }
        }

        $crate::interpose! {
            unsafe fn $vname($($arg: $ty,)* $args: *mut $crate::interpose::variadic::VaList) -> c_int |call, $real| {
                let $call = &mut call;
                // SAFETY: the program's own call; what it passed is what the function's contract asks for.
                #[allow(clippy::macro_metavars_in_unsafe)]
                unsafe { $body }
            }
        }
    )* };
}

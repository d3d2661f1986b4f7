//! Where a thread keeps its strand: one thread-local word, reached with the fastest model there is.
//!
//! Written in assembler because that is stable Rust's only way to the initial-exec model; it costs one load in the
//! program itself. Until a thread has a strand the word points to [`NOBODY`], which sends every hook to its slow path.

use core::arch::{asm, global_asm};

use crate::strand::Strand;

/// The strand of threads that have none. Never changed.
#[unsafe(no_mangle)]
static mut __deadheat_nobody: Strand = Strand::nobody();

global_asm!(
    ".pushsection .tdata.deadheat,\"awT\",@progbits",
    ".p2align 3",
    ".globl __deadheat_strand",
    ".hidden __deadheat_strand",
    ".type __deadheat_strand,@object",
    ".size __deadheat_strand,8",
    "__deadheat_strand:",
    ".quad {nobody}",
    ".popsection",
    ".pushsection .tbss.deadheat,\"awT\",@nobits",
    ".p2align 3",
    ".globl __deadheat_caller",
    ".hidden __deadheat_caller",
    ".type __deadheat_caller,@object",
    ".size __deadheat_caller,8",
    "__deadheat_caller:",
    ".quad 0",
    ".popsection",
    nobody = sym __deadheat_nobody,
);

/// This thread's strand, even if it is [`NOBODY`].
#[inline(always)]
fn raw() -> *mut Strand {
    let p: *mut Strand;
    // SAFETY: reads a thread-local word that always holds a strand's address.
    unsafe {
        asm!("mov {p}, qword ptr [rip + __deadheat_strand@GOTTPOFF]", "mov {p}, qword ptr fs:[{p}]",
             p = out(reg) p, options(nostack, readonly, preserves_flags));
    }
    p
}

/// This thread's strand, if it has one.
#[inline(always)]
pub fn me() -> Option<&'static mut Strand> {
    // SAFETY: only this thread uses its strand; callers do not keep two references across calls that use one.
    let strand = unsafe { &mut *raw() };
    if strand.is_nobody() {
        None
    } else {
        Some(strand)
    }
}

/// Makes `strand` this thread's; null for none.
pub fn set(strand: *mut Strand) {
    let p = if strand.is_null() {
        &raw mut __deadheat_nobody
    } else {
        strand
    };
    // SAFETY: writes this thread's own word.
    unsafe {
        asm!("mov {t}, qword ptr [rip + __deadheat_strand@GOTTPOFF]", "mov qword ptr fs:[{t}], {p}",
             t = out(reg) _, p = in(reg) p, options(nostack, preserves_flags));
    }
}

/// The return address that the last interposed function on this thread was called from.
#[inline(always)]
pub fn caller() -> u64 {
    let pc: u64;
    // SAFETY: reads a thread-local word.
    unsafe {
        asm!("mov {p}, qword ptr [rip + __deadheat_caller@GOTTPOFF]", "mov {p}, qword ptr fs:[{p}]",
             p = out(reg) pc, options(nostack, readonly, preserves_flags));
    }
    pc
}

/// Sets it again, after something else was called in between.
pub fn set_caller(pc: u64) {
    // SAFETY: writes this thread's own word.
    unsafe {
        asm!("mov {t}, qword ptr [rip + __deadheat_caller@GOTTPOFF]", "mov qword ptr fs:[{t}], {p}",
             t = out(reg) _, p = in(reg) pc, options(nostack, preserves_flags));
    }
}

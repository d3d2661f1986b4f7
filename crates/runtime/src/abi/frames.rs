//! Entering and leaving functions: the strand's own call stack, one program counter a frame.

use core::arch::naked_asm;

use crate::abi::tls;
use crate::runtime::RT;

extern "C" fn no_room(pc: u64) {
    if let Some(s) = tls::me() {
        s.enter();
        s.push_frame(&RT, pc);
        crate::access::leave(s);
    }
}

/// `pc` is where the function that is entered will return to.
///
/// # Safety
/// For the compiler's instrumentation only: at the start of a function, with one exit for each entry.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __tsan_func_entry(pc: u64) {
    naked_asm!(
        "mov rdx, qword ptr [rip + __deadheat_strand@GOTTPOFF]",
        "mov rdx, qword ptr fs:[rdx]",
        "mov rax, qword ptr [rdx + 24]",
        "cmp rax, qword ptr [rdx + 32]",
        "je {no_room}",
        "mov qword ptr [rax], rdi",
        "add rax, 16",
        "mov qword ptr [rdx + 24], rax",
        "ret",
        no_room = sym no_room
    )
}

/// # Safety
/// For the compiler's instrumentation only: where a function that called the entry hook is left.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __tsan_func_exit() {
    naked_asm!(
        "mov rdx, qword ptr [rip + __deadheat_strand@GOTTPOFF]",
        "mov rdx, qword ptr fs:[rdx]",
        "mov rax, qword ptr [rdx + 24]",
        "cmp rax, qword ptr [rdx + 48]",
        "je 2f",
        "sub rax, 16",
        "mov qword ptr [rdx + 24], rax",
        "cmp rax, qword ptr [rdx + 40]",
        "jae 2f",
        "mov qword ptr [rdx + 40], rax",
        "2: ret"
    )
}

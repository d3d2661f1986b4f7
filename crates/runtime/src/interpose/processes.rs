//! Other processes: how they ended is put into memory of the program, and what they are told is read from it.

use core::ffi::{c_char, c_int, c_uint, c_void};

use crate::interpose;
use crate::interpose::Call;
use crate::interpose::files::{Piece, reads, writes};
use crate::interpose::strings::after;

type Str = *const c_char;

const USAGE: usize = 144;
const INFO: usize = 128;

/// A process has ended, and how is put where the program wants it.
fn ended(call: &mut Call, pid: c_int, status: *mut c_int, usage: *mut c_void) {
    if pid > 0 && !status.is_null() {
        call.writes(status.cast(), 4);
    }
    if pid > 0 && !usage.is_null() {
        call.writes(usage, USAGE);
    }
}

after! {
    wait(status: *mut c_int) -> c_int: |call, pid| ended(call, pid, status, core::ptr::null_mut());
    waitpid(of: c_int, status: *mut c_int, flags: c_int) -> c_int: |call, pid| ended(call, pid, status, core::ptr::null_mut());
    wait3(status: *mut c_int, flags: c_int, usage: *mut c_void) -> c_int: |call, pid| ended(call, pid, status, usage);
    wait4(of: c_int, status: *mut c_int, flags: c_int, usage: *mut c_void) -> c_int: |call, pid| ended(call, pid, status, usage);
    waitid(sort: c_uint, of: c_uint, to: *mut c_void, flags: c_int) -> c_int: |call, failed| if failed == 0 && !to.is_null() { call.writes(to, INFO) };
    posix_spawn(pid: *mut c_int, path: Str, acts: *const c_void, attributes: *const c_void, args: *const Str, env: *const Str) -> c_int: |call, failed| spawned(call, failed, pid, path, args);
    posix_spawnp(pid: *mut c_int, path: Str, acts: *const c_void, attributes: *const c_void, args: *const Str, env: *const Str) -> c_int: |call, failed| spawned(call, failed, pid, path, args);
    process_vm_readv(pid: c_int, own: *const Piece, own_count: usize, other: *const Piece, other_count: usize, flags: usize) -> isize: |call, n| if n >= 0 {
        call.reads(other.cast(), other_count * size_of::<Piece>());
        call.each_piece(own, own_count, n as usize, writes)
    };
    process_vm_writev(pid: c_int, own: *const Piece, own_count: usize, other: *const Piece, other_count: usize, flags: usize) -> isize: |call, n| if n >= 0 {
        call.reads(other.cast(), other_count * size_of::<Piece>());
        call.each_piece(own, own_count, n as usize, reads)
    };
}

/// # Safety
/// As the program's own call: terminated texts, of which the last is null.
unsafe fn spawned(call: &mut Call, failed: c_int, pid: *mut c_int, path: Str, args: *const Str) {
    // SAFETY: by the contract.
    unsafe {
        call.reads_text(path);
        let mut at = args;
        while !at.is_null() && !(*at).is_null() {
            call.reads(at.cast(), size_of::<Str>());
            call.reads_text(*at);
            at = at.add(1);
        }
    }
    if failed == 0 && !pid.is_null() {
        call.writes(pid.cast(), 4);
    }
}

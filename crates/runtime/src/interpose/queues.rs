//! Message queues and semaphores of the kernel: sending happens before receiving. Objects that share a number share an
//! order, which may hide a race but never invents one.

use core::ffi::{c_char, c_int, c_uint, c_void};

use crate::interpose;
use crate::interpose::strings::after;

const SEMBUF: usize = 6;
const TYPE: usize = 8;
const TIMESPEC: usize = 16;

interpose! {
    unsafe fn msgsnd(queue: c_int, message: *const c_void, bytes: usize, flags: c_int) -> c_int |call, real| {
        call.reads(message, TYPE + bytes);
        call.puts_into_queue(queue);
        // SAFETY: the program's own call.
        unsafe { real(queue, message, bytes, flags) }
    }

    unsafe fn msgrcv(queue: c_int, message: *mut c_void, room: usize, kind: i64, flags: c_int) -> isize |call, real| {
        // SAFETY: the program's own call.
        let n = unsafe { real(queue, message, room, kind, flags) };
        if n >= 0 {
            call.takes_from_queue(queue);
            call.writes(message, TYPE + n as usize);
        }
        n
    }

    unsafe fn semop(set: c_int, acts: *mut c_void, count: usize) -> c_int |call, real| {
        call.reads(acts, count * SEMBUF);
        call.puts_into_queue(!set);
        // SAFETY: the program's own call.
        let failed = unsafe { real(set, acts, count) };
        if failed == 0 {
            call.takes_from_queue(!set);
        }
        failed
    }

    unsafe fn semtimedop(set: c_int, acts: *mut c_void, count: usize, time: *const c_void) -> c_int |call, real| {
        call.reads(acts, count * SEMBUF);
        call.puts_into_queue(!set);
        // SAFETY: the program's own call.
        let failed = unsafe { real(set, acts, count, time) };
        if failed == 0 {
            call.takes_from_queue(!set);
        }
        failed
    }

    unsafe fn mq_send(queue: c_int, from: *const c_char, n: usize, priority: c_uint) -> c_int |call, real| {
        call.goes_out(queue, from.cast(), n);
        // SAFETY: the program's own call.
        unsafe { real(queue, from, n, priority) }
    }

    unsafe fn mq_timedsend(queue: c_int, from: *const c_char, n: usize, priority: c_uint, time: *const c_void) -> c_int |call, real| {
        call.goes_out(queue, from.cast(), n);
        call.reads(time, TIMESPEC);
        // SAFETY: the program's own call.
        unsafe { real(queue, from, n, priority, time) }
    }
}

after! {
    mq_receive(queue: c_int, to: *mut c_char, room: usize, priority: *mut c_uint) -> isize: |call, n| {
        call.came_in(queue, to.cast(), n);
        if n >= 0 && !priority.is_null() { call.writes(priority.cast(), 4) }
    };
    mq_timedreceive(queue: c_int, to: *mut c_char, room: usize, priority: *mut c_uint, time: *const c_void) -> isize: |call, n| {
        call.reads(time, TIMESPEC);
        call.came_in(queue, to.cast(), n);
        if n >= 0 && !priority.is_null() { call.writes(priority.cast(), 4) }
    };
    shmctl(id: c_int, command: c_int, to: *mut c_void) -> c_int: |call, n| if n >= 0 && command == 2 { call.writes(to, 112) };
}

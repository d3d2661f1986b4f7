//! Threads: creation, end, join.

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicU32, Ordering};

use std_alloc::boxed::Box;

use crate::abi::tls;
use crate::access::leave;
use crate::interpose;
use crate::runtime::RT;
use crate::strand::Strand;
use crate::sys;
use crate::threads::{Sort, ThreadId};

type Start = unsafe extern "C" fn(*mut c_void) -> *mut c_void;

unsafe extern "C" {
    fn pthread_self() -> usize;
    fn pthread_getattr_np(thread: usize, attr: *mut [u64; 8]) -> c_int;
    fn pthread_attr_getstack(attr: *const [u64; 8], addr: *mut usize, size: *mut usize) -> c_int;
    fn pthread_attr_destroy(attr: *mut [u64; 8]) -> c_int;
    fn pthread_key_create(key: *mut u32, destructor: unsafe extern "C" fn(*mut c_void)) -> c_int;
    fn pthread_setspecific(key: u32, value: *const c_void) -> c_int;
}

/// What a new thread is told.
struct Birth {
    start: Start,
    arg: *mut c_void,
    thread: ThreadId,
}

/// Notes the stack of the OS thread that runs `s`, and forgets what was there before.
pub fn adopt_os_thread(s: &mut Strand) {
    s.os.tid = sys::gettid();
    let mut attr = [0u64; 8];
    let (mut low, mut size) = (0usize, 0usize);
    // SAFETY: places for an attribute object (56 bytes) and two words.
    unsafe {
        if pthread_getattr_np(pthread_self(), &raw mut attr) == 0 {
            pthread_attr_getstack(&raw const attr, &raw mut low, &raw mut size);
            pthread_attr_destroy(&raw mut attr);
        }
    }
    (s.os.stack_low, s.os.stack_high) = (low, low + size);
    let tid = s.os.tid;
    RT.threads.with(s.thread, |t| {
        t.tid = tid;
        // SAFETY: cannot fail.
        t.handle = unsafe { pthread_self() };
    });
    if s.thread != ThreadId(0) {
        RT.shadow.clear(low, size);
    }
}

/// Threads that nobody joined, at the exit.
pub fn report_leaks(_s: &mut Strand) {}

unsafe extern "C" fn thread_start(birth: *mut c_void) -> *mut c_void {
    // SAFETY: made by `pthread_create` below for this thread alone.
    let birth = unsafe { Box::from_raw(birth as *mut Birth) };
    let s = RT.threads.begin(&RT, birth.thread);
    s.enter();
    adopt_os_thread(s);
    tls::set(s);
    end_with_thread();
    leave(s);
    // SAFETY: the program's own start routine and argument.
    unsafe { (birth.start)(birth.arg) }
}

/// Arranges for [`thread_end`] to run after the program's own thread-specific destructors.
fn end_with_thread() {
    static KEY: AtomicU32 = AtomicU32::new(u32::MAX);
    let mut key = KEY.load(Ordering::Acquire);
    if key == u32::MAX {
        // SAFETY: a place for the key.
        unsafe { pthread_key_create(&raw mut key, thread_end) };
        KEY.store(key, Ordering::Release);
    }
    // SAFETY: our own key; any value but null makes the destructor run.
    unsafe { pthread_setspecific(key, 1 as *const c_void) };
}

unsafe extern "C" fn thread_end(_: *mut c_void) {
    if let Some(s) = tls::me() {
        s.enter();
        tls::set(core::ptr::null_mut());
        // SAFETY: this thread's strand, which nothing points to any more.
        unsafe { RT.threads.end(s) };
    }
}

interpose! {
    unsafe fn pthread_create(out: *mut usize, attr: *const c_void, start: Start, arg: *mut c_void) -> c_int |call, real| {
        let stack = call.stack();
        let Some(s) = call.strand() else {
            // SAFETY: the program's own call.
            return unsafe { real(out, attr, start, arg) };
        };
        s.enter();
        let thread = RT.threads.create(&RT, Some(s), Sort::Thread, stack);
        let birth = Box::into_raw(Box::new(Birth { start, arg, thread }));
        let mut handle = 0usize;
        // SAFETY: the program's own call, with our start routine before its.
        let result = unsafe { real(&raw mut handle, attr, thread_start, birth.cast()) };
        if result == 0 {
            RT.threads.with(thread, |t| t.handle = handle);
            // SAFETY: the program's place for the handle.
            unsafe { *out = handle };
        } else {
            // SAFETY: no thread was made, so nobody else has it.
            drop(unsafe { Box::from_raw(birth) });
            RT.threads.abandon(thread);
        }
        leave(s);
        result
    }

    unsafe fn pthread_join(handle: usize, out: *mut *mut c_void) -> c_int |call, real| {
        let thread = RT.threads.by_handle(handle);
        // SAFETY: the program's own call.
        let result = unsafe { real(handle, out) };
        if let (0, Some(thread), Some(s)) = (result, thread, call.strand()) {
            s.enter();
            RT.threads.join(&RT, s, thread);
            leave(s);
        }
        result
    }
}

//! ThreadSanitizer's interface for programs: synchronization of their own, what to ignore, questions about memory.
//!
//! Locks of the program's own are in [`super::own_locks`], fibers in [`super::fibers`], Java's in [`super::java`], the
//! older `Annotate*` family in [`super::annotate`], questions about a report in [`super::reports`].

use core::ffi::{c_char, c_int, c_void};
use core::sync::atomic::{AtomicI32, AtomicU32, AtomicUsize, Ordering};

use crate::abi::tls;
use crate::access::{self, leave};
use crate::history::Touch;
use crate::intern::StackId;
use crate::runtime::RT;
use crate::strand::Strand;
use crate::syncvar::Kind;
use crate::sys;
use crate::with_caller;

/// The strand of an annotation, inside the runtime until [`leave`], and the stack of the call.
pub fn here() -> Option<(&'static mut Strand, StackId)> {
    let pc = tls::caller();
    let s = tls::me()?;
    s.enter();
    let at = s.stack_at(&RT, pc);
    Some((s, at))
}

/// What was released into the object at `addr` is known from here on.
pub fn acquire(addr: usize) {
    if let Some((s, at)) = here() {
        if s.ignore_sync == 0 {
            let var = RT.syncs.get(s, addr, Kind::Annotation);
            let id = var.with(|state| {
                state.acquire(&RT, s);
                state.id
            });
            s.note("acquire", id, at);
        }
        leave(s);
    }
}

/// What was done so far is known to who acquires from the object at `addr`.
pub fn release(addr: usize) {
    if let Some((s, at)) = here() {
        if s.ignore_sync == 0 {
            let var = RT.syncs.get(s, addr, Kind::Annotation);
            let id = var.with(|state| {
                state.release(s);
                state.id
            });
            s.note("release", id, at);
        }
        leave(s);
    }
}

/// Begins (1) or ends (-1) to look away from the strand's accesses and synchronization.
pub fn look_away(s: &mut Strand, by: i32) {
    s.ignore_reads = s.ignore_reads.saturating_add_signed(by);
    s.ignore_writes = s.ignore_writes.saturating_add_signed(by);
    s.ignore_sync = s.ignore_sync.saturating_add_signed(by);
    s.begin_step();
}

with_caller! {
    unsafe fn __tsan_acquire(addr: *const c_void) -> () {
        acquire(addr as usize);
    }

    unsafe fn __tsan_release(addr: *const c_void) -> () {
        release(addr as usize);
    }

    unsafe fn __tsan_ignore_thread_begin() -> () {
        if let Some(s) = tls::me() {
            look_away(s, 1);
        }
    }

    unsafe fn __tsan_ignore_thread_end() -> () {
        if let Some(s) = tls::me() {
            look_away(s, -1);
        }
    }

    /// One call of an object's method, as an access to the object.
    unsafe fn __tsan_external_read(addr: *const c_void, caller: u64, tag: *const c_void) -> () {
        external(addr, caller, tag, Touch::Read, tls::caller());
    }

    unsafe fn __tsan_external_write(addr: *const c_void, caller: u64, tag: *const c_void) -> () {
        external(addr, caller, tag, Touch::Write, tls::caller());
    }
}

fn external(addr: *const c_void, caller: u64, _tag: *const c_void, touch: Touch, pc: u64) {
    if let Some(s) = tls::me() {
        let depth = s.depth();
        s.enter();
        if caller != 0 {
            s.push_frame(&RT, caller);
        }
        leave(s);
        access::access(&RT, s, addr as usize, 1, touch, pc);
        s.set_depth(depth);
    }
}

static TAGS: AtomicUsize = AtomicUsize::new(1);

/// A new tag for a kind of objects.
#[unsafe(no_mangle)]
pub extern "C" fn __tsan_external_register_tag(_object_type: *const c_char) -> *const c_void {
    TAGS.fetch_add(1, Ordering::Relaxed) as *const c_void
}

#[unsafe(no_mangle)]
pub extern "C" fn __tsan_external_register_header(_tag: *const c_void, _header: *const c_char) {}

#[unsafe(no_mangle)]
pub extern "C" fn __tsan_external_assign_tag(_addr: *const c_void, _tag: *const c_void) {}

/// Nothing to give back: histories are collected as they become useless.
#[unsafe(no_mangle)]
pub extern "C" fn __tsan_flush_memory() {}

#[unsafe(no_mangle)]
pub extern "C" fn __tsan_on_thread_idle() {}

/// Set when the program was resumed from a checkpoint.
#[unsafe(no_mangle)]
pub static __tsan_resumed: AtomicI32 = AtomicI32::new(0);

#[unsafe(no_mangle)]
pub extern "C" fn __tsan_resume() {
    __tsan_resumed.store(1, Ordering::Release);
}

/// How deep the strand's own call stack is, in frames.
#[unsafe(no_mangle)]
pub extern "C" fn __tsan_testonly_shadow_stack_current_size() -> usize {
    tls::me().map_or(0, |s| s.depth())
}

/// The two words of a barrier that the detector does not see: how many meet, and how many have come.
fn halves(barrier: *mut u64) -> (&'static AtomicU32, &'static AtomicU32) {
    // SAFETY: the program's own barrier of 8 bytes.
    unsafe {
        (
            AtomicU32::from_ptr(barrier.cast()),
            AtomicU32::from_ptr(barrier.cast::<u32>().add(1)),
        )
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn __tsan_testonly_barrier_init(barrier: *mut u64, count: u32) {
    let (parties, came) = halves(barrier);
    parties.store(count, Ordering::Release);
    came.store(0, Ordering::Release);
}

#[unsafe(no_mangle)]
pub extern "C" fn __tsan_testonly_barrier_wait(barrier: *mut u64) {
    let (parties, came) = halves(barrier);
    let count = parties.load(Ordering::Acquire).max(1);
    let mine = came.fetch_add(1, Ordering::AcqRel);
    if (mine + 1).is_multiple_of(count) {
        return sys::futex_wake(came, i32::MAX as usize);
    }
    loop {
        let now = came.load(Ordering::Acquire);
        if now / count != mine / count {
            return;
        }
        sys::futex_wait(came, now);
    }
}

// ---- questions about memory ----

/// Copies as much of `text` as fits, with its end.
fn copy_text(text: &[u8], to: *mut c_char, room: usize) {
    if to.is_null() || room == 0 {
        return;
    }
    let n = text.len().min(room - 1);
    for (i, &byte) in text[..n].iter().enumerate() {
        // SAFETY: the program says that there is room.
        unsafe { *to.add(i) = byte as c_char };
    }
    // SAFETY: as above.
    unsafe { *to.add(n) = 0 };
}

fn put<T>(to: *mut T, value: T) {
    if !to.is_null() {
        // SAFETY: the program's place for an answer.
        unsafe { *to = value };
    }
}

/// What `addr` is part of: "heap", "stack", "tls", "global", or "" if nobody knows.
#[unsafe(no_mangle)]
pub extern "C" fn __tsan_locate_address(
    addr: usize,
    name: *mut c_char,
    room: usize,
    start: *mut usize,
    size: *mut usize,
) -> *const c_char {
    copy_text(b"", name, room);
    put(start, 0);
    put(size, 0);
    let Some(s) = tls::me() else {
        return c"".as_ptr();
    };
    s.enter();
    let mut answer = c"";
    if let Some(block) = RT.heap.describe(addr) {
        put(start, block.start);
        put(size, block.size);
        answer = c"heap";
    } else {
        RT.threads.each(|_, t| {
            if t.strand.is_null() {
                return;
            }
            // SAFETY: a strand in the registry lives while its lock is held.
            let os = unsafe { (*t.strand).os };
            if (os.tls_low..os.tls_high).contains(&addr) {
                put(start, os.tls_low);
                put(size, os.tls_high - os.tls_low);
                answer = c"tls";
            } else if (os.stack_low..os.stack_high).contains(&addr) && answer.is_empty() {
                put(start, os.stack_low);
                put(size, os.stack_high - os.stack_low);
                answer = c"stack";
            }
        });
        if answer.is_empty()
            && RT
                .modules
                .mapped()
                .iter()
                .any(|&(low, high)| (low..high).contains(&(addr as u64)))
        {
            put(start, addr);
            answer = c"global";
        }
    }
    leave(s);
    answer.as_ptr()
}

/// The stack that allocated the block with `addr`: how many of its frames were written to `trace`.
///
/// # Safety
/// `trace` must have room for as many as it says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __tsan_get_alloc_stack(
    addr: usize,
    trace: *mut u64,
    room: usize,
    thread: *mut c_int,
    tid: *mut u64,
) -> c_int {
    let Some(s) = tls::me() else { return 0 };
    s.enter();
    let mut n = 0;
    if let Some(block) = RT.heap.describe(addr) {
        put(thread, block.thread.0 as c_int);
        put(tid, RT.threads.with(block.thread, |t| t.tid) as u64);
        for pc in RT.stacks.frames(block.stack).take(room) {
            // SAFETY: the program says that there is room for so many.
            unsafe { *trace.add(n) = pc };
            n += 1;
        }
    }
    leave(s);
    n as c_int
}

// Names by which debuggers and the collector of other tools know parts of the runtime; and two questions that a program
// may answer itself, so ours are weak.
core::arch::global_asm!(
    ".weak __tsan_symbolize_external",
    ".weak __tsan_symbolize_external_ex",
    ".type __tsan_symbolize_external,@function",
    ".type __tsan_symbolize_external_ex,@function",
    "__tsan_symbolize_external:",
    "__tsan_symbolize_external_ex:",
    "xor eax, eax",
    "ret",
);

#[unsafe(no_mangle)]
pub extern "C" fn __tsan_stack_initialization() {}

#[unsafe(no_mangle)]
pub extern "C" fn __tsan_tls_initialization() {}

/// Where a new thread begins.
///
/// # Safety
/// Only for the C library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __tsan_thread_start_func(birth: *mut c_void) -> *mut c_void {
    // SAFETY: as for the caller.
    unsafe { crate::interpose::threads::posix_start(birth) }
}

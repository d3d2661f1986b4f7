//! The malloc family: memory's life on the heap.
//!
//! Fresh memory has no history, so that reuse gives no false alarm. A free is a write of the whole block by who frees
//! it: a use that nothing orders with it is found, whichever comes first.

use core::ffi::{c_int, c_void};
use core::sync::atomic::Ordering;

use crate::access::leave;
use crate::finding;
use crate::heap::Release;
use crate::intern::StackId;
use crate::interpose::Call;
use crate::lifetime::{self, Then};
use crate::record::{MemoryKind, acts};
use crate::runtime::RT;
use crate::threads::ThreadId;

/// The C library's own functions. They are called by their inner names, because looking names up needs memory itself.
#[cfg(not(feature = "wrap"))]
mod libc {
    use core::ffi::c_void;
    unsafe extern "C" {
        #[link_name = "__libc_malloc"]
        pub fn malloc(size: usize) -> *mut c_void;
        #[link_name = "__libc_calloc"]
        pub fn calloc(count: usize, size: usize) -> *mut c_void;
        #[link_name = "__libc_realloc"]
        pub fn realloc(p: *mut c_void, size: usize) -> *mut c_void;
        #[link_name = "__libc_memalign"]
        pub fn memalign(align: usize, size: usize) -> *mut c_void;
        #[link_name = "__libc_free"]
        pub fn free(p: *mut c_void);
        pub fn __errno_location() -> *mut i32;
    }
}
#[cfg(feature = "wrap")]
mod libc {
    use core::ffi::c_void;
    unsafe extern "C" {
        #[link_name = "__real_malloc"]
        pub fn malloc(size: usize) -> *mut c_void;
        #[link_name = "__real_calloc"]
        pub fn calloc(count: usize, size: usize) -> *mut c_void;
        #[link_name = "__real_realloc"]
        pub fn realloc(p: *mut c_void, size: usize) -> *mut c_void;
        #[link_name = "__real_memalign"]
        pub fn memalign(align: usize, size: usize) -> *mut c_void;
        #[link_name = "__real_free"]
        pub fn free(p: *mut c_void);
        pub fn __errno_location() -> *mut i32;
    }
}

const EINVAL: c_int = 22;
const ENOMEM: c_int = 12;
const PAGE: usize = 4096;

/// Defines functions that stand in the C library's place and need no real one behind them.
#[macro_export]
macro_rules! replace {
    ($($(#[$meta:meta])* unsafe fn $name:ident($($arg:ident: $ty:ty),* $(,)?) -> $ret:ty |$call:ident| $body:block)*) => { $(
        #[allow(non_snake_case)]
        pub mod $name {
            #[allow(unused_imports)]
            use super::*;

            $crate::entry! {
                $name, $crate::weakly!($name),
                "jmp {body}",
                body = sym body
            }

            $(#[$meta])*
            #[allow(clippy::missing_safety_doc)]
            pub unsafe extern "C" fn body($($arg: $ty),*) -> $ret {
                #[allow(unused_mut, unused_variables)]
                let mut $call = $crate::interpose::Call::begin(entry as *const () as u64);
                if const { $crate::interpose::signal_safety::is_unsafe(stringify!($name)) } {
                    $crate::interpose::signal_safety::unsafe_call(&mut $call);
                }
                $body
            }
        }
    )* };
}

fn set_errno(code: c_int) {
    // SAFETY: the C library's word for this thread.
    unsafe { *libc::__errno_location() = code };
}

fn who(call: &mut Call) -> (ThreadId, StackId) {
    let stack = call.stack();
    (call.strand().map_or(ThreadId(0), |s| s.thread), stack)
}

/// `[start, start + size)` is fresh: nothing that was there before counts.
pub fn fresh(call: &mut Call, start: usize, size: usize) {
    inside(call, || forget(start, size));
    record_fresh(call, start, size, MemoryKind::Mapping);
}

/// Tells a recording of fresh memory.
fn record_fresh(call: &mut Call, start: usize, size: usize, kind: MemoryKind) {
    let here = call.here;
    if let Some(s) = call.strand().filter(|s| s.recording()) {
        s.enter();
        let at = s.stack_at(&RT, here);
        acts::fresh(s, start, size, kind, at);
        leave(s);
    }
}

/// Tells a recording that fresh memory is one block with what lies around it.
fn record_block(call: &mut Call, start: usize, size: usize) {
    if let Some(s) = call.strand().filter(|s| s.recording()) {
        s.enter();
        acts::memory(s, MemoryKind::Heap, start, size);
        leave(s);
    }
}

fn forget(start: usize, size: usize) {
    if RT.started.load(Ordering::Relaxed) {
        lifetime::fresh(&RT, start, size);
    }
}

/// Runs `f` inside the runtime, if the caller is anybody.
pub fn inside<R>(call: &mut Call, f: impl FnOnce() -> R) -> R {
    match call.strand() {
        Some(s) => {
            s.enter();
            let result = f();
            leave(s);
            result
        }
        None => f(),
    }
}

/// A block of `size` bytes was given to the program.
fn born(call: &mut Call, p: *mut c_void, size: usize) -> *mut c_void {
    if !p.is_null() {
        let (thread, stack) = who(call);
        inside(call, || {
            // Up to the end of the last cell: what lies between two blocks is the C library's.
            forget(p as usize, size.next_multiple_of(8));
            RT.heap.allocated(p as usize, size, thread, stack);
        });
        record_fresh(call, p as usize, size, MemoryKind::Heap);
        // Allocations by ever new calls need nothing but call stacks, so somebody must look after those.
        if let Some(s) = call.strand()
            && s.now_and_then()
        {
            s.enter();
            RT.collector.maybe_collect(&RT, s);
            leave(s);
        }
    }
    p
}

/// Does `p` lie in the program or in one of its libraries?
fn in_module(p: *const c_void) -> bool {
    unsafe extern "C" {
        fn dladdr(p: *const c_void, info: *mut [usize; 4]) -> c_int;
    }
    let mut info = [0; 4];
    // SAFETY: a place for the answer.
    unsafe { dladdr(p, &raw mut info) != 0 }
}

/// What the C library does with the block at `p` when it is freed: one with a mapping of its own it unmaps. That is a bit of
/// the word before the block, in every version of it.
fn after_free(p: *const c_void) -> Then {
    const OWN_MAPPING: usize = 2;
    // SAFETY: a block that the C library has given.
    let word = unsafe { p.cast::<usize>().sub(1).read_volatile() };
    if word & OWN_MAPPING != 0 {
        Then::Unmapped
    } else {
        Then::Stays
    }
}

/// The program wants to free `p`. True if the real free may have it.
fn dies(call: &mut Call, p: *mut c_void) -> bool {
    let (thread, stack) = who(call);
    let here = call.here;
    match inside(call, || RT.heap.freed(p as usize, thread, stack)) {
        Release::Freed { size } => {
            if let Some(s) = call.strand() {
                lifetime::give_up(&RT, s, (p as usize, size), here, after_free(p));
            }
            true
        }
        Release::Again(block) => {
            invalid_free(call, p, block.stack, stack, "freed a second time");
            false
        }
        Release::Inside(block) => {
            invalid_free(
                call,
                p,
                block.stack,
                stack,
                "freed by an address inside the block",
            );
            false
        }
        // What lies in a module was never allocated; other memory may come from where we do not look.
        Release::Unknown if call.strand().is_some() && in_module(p) => {
            invalid_free(call, p, StackId(0), stack, "freed, but never allocated");
            false
        }
        Release::Unknown => true,
    }
}

#[cold]
fn invalid_free(call: &mut Call, p: *mut c_void, allocated: StackId, stack: StackId, how: &str) {
    let Some(s) = call.strand() else { return };
    s.enter();
    let thread = s.thread;
    let key = finding::key(&[
        0x1f,
        RT.stacks.signature(stack),
        RT.stacks.signature(allocated),
    ]);
    finding::report(&RT, s, "invalid-free", key, |out, threads| {
        threads.push(thread);
        out.key("stacks")
            .open(b'[')
            .open(b'{')
            .key("label")
            .text(how)
            .key("thread")
            .number(thread.0 as u64)
            .key("stack");
        finding::stack(&RT, out, stack);
        out.close(b'}').close(b']');
        finding::memory(&RT, out, threads, p as usize);
    });
    leave(s);
}

/// Allocates `size` bytes for the program.
pub fn allocate(call: &mut Call, size: usize) -> *mut c_void {
    // SAFETY: the C library's own; inside, because in a static program it calls our `memset` and `memcpy`.
    let p = inside(call, || unsafe { libc::malloc(size) });
    born(call, p, size)
}

/// Allocates `size` bytes at a multiple of `align`.
pub fn allocate_aligned(call: &mut Call, align: usize, size: usize) -> *mut c_void {
    // SAFETY: the C library's own; inside, because in a static program it calls our `memset` and `memcpy`.
    let p = inside(call, || unsafe { libc::memalign(align, size) });
    born(call, p, size)
}

/// Frees what the program allocated.
pub(crate) fn release(call: &mut Call, p: *mut c_void) {
    if !p.is_null() && dies(call, p) {
        // SAFETY: the program's own call.
        inside(call, || unsafe { libc::free(p) });
    }
}

fn resize(call: &mut Call, p: *mut c_void, size: usize) -> *mut c_void {
    if p.is_null() {
        return allocate(call, size);
    }
    let Some(old) = RT.heap.size_of(p as usize) else {
        // Not ours, or already freed: the latter is told, the former gets the C library's own answer.
        if !dies(call, p) {
            return core::ptr::null_mut();
        }
        // SAFETY: the program's own call.
        let new = inside(call, || unsafe { libc::realloc(p, size) });
        return born(call, new, size);
    };
    if size == 0 {
        release(call, p);
        return core::ptr::null_mut();
    }
    let (thread, stack) = who(call);
    if size <= old {
        // A smaller block stays where it is.
        inside(call, || {
            RT.syncs
                .remove_range(&RT.shadow, p as usize + size, old - size, |_| ());
            RT.heap.allocated(p as usize, size, thread, stack);
        });
        // SAFETY: the program's own call.
        let new = inside(call, || unsafe { libc::realloc(p, size) });
        return if new == p || new.is_null() {
            new
        } else {
            born(call, new, size)
        };
    }
    if !dies(call, p) {
        return core::ptr::null_mut();
    }
    // SAFETY: the program's own call.
    let new = inside(call, || unsafe { libc::realloc(p, size) });
    if new.is_null() {
        inside(call, || RT.heap.allocated(p as usize, old, thread, stack));
    } else if new == p {
        inside(call, || {
            forget(p as usize + old, size - old);
            RT.heap.allocated(p as usize, size, thread, stack);
        });
        record_fresh(call, p as usize + old, size - old, MemoryKind::Heap);
        record_block(call, p as usize, size);
    } else {
        born(call, new, size);
        call.writes(new, old);
    }
    new
}

/// Is it a power of two, and so an alignment?
fn is_alignment(align: usize) -> bool {
    align.is_power_of_two()
}

replace! {
    unsafe fn malloc(size: usize) -> *mut c_void |call| { allocate(&mut call, size) }

    unsafe fn calloc(count: usize, size: usize) -> *mut c_void |call| {
        // SAFETY: the C library's own; it checks the product.
        let p = inside(&mut call, || unsafe { libc::calloc(count, size) });
        born(&mut call, p, count.wrapping_mul(size))
    }

    unsafe fn free(p: *mut c_void) -> () |call| { release(&mut call, p) }

    unsafe fn realloc(p: *mut c_void, size: usize) -> *mut c_void |call| { resize(&mut call, p, size) }

    unsafe fn reallocarray(p: *mut c_void, count: usize, size: usize) -> *mut c_void |call| {
        match count.checked_mul(size) {
            Some(bytes) => resize(&mut call, p, bytes),
            None => {
                set_errno(ENOMEM);
                core::ptr::null_mut()
            }
        }
    }

    unsafe fn memalign(align: usize, size: usize) -> *mut c_void |call| { allocate_aligned(&mut call, align, size) }

    unsafe fn aligned_alloc(align: usize, size: usize) -> *mut c_void |call| {
        if is_alignment(align) {
            allocate_aligned(&mut call, align, size)
        } else {
            set_errno(EINVAL);
            core::ptr::null_mut()
        }
    }

    unsafe fn posix_memalign(out: *mut *mut c_void, align: usize, size: usize) -> c_int |call| {
        if !is_alignment(align) || !align.is_multiple_of(size_of::<usize>()) {
            return EINVAL;
        }
        let p = allocate_aligned(&mut call, align, size);
        if p.is_null() {
            return ENOMEM;
        }
        call.writes(out.cast(), size_of::<usize>());
        // SAFETY: the program's place for the address.
        unsafe { *out = p };
        0
    }

    unsafe fn valloc(size: usize) -> *mut c_void |call| { allocate_aligned(&mut call, PAGE, size) }

    unsafe fn pvalloc(size: usize) -> *mut c_void |call| {
        match size.checked_next_multiple_of(PAGE) {
            Some(size) => allocate_aligned(&mut call, PAGE, size.max(PAGE)),
            None => {
                set_errno(ENOMEM);
                core::ptr::null_mut()
            }
        }
    }

    /// What the program asked for and no more: the rest of a block is nobody's.
    unsafe fn malloc_usable_size(p: *mut c_void) -> usize |call| { RT.heap.size_of(p as usize).unwrap_or(0) }
}

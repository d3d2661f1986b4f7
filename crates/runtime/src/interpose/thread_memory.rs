//! The memory that comes with an OS thread: its stack, and the thread-local variables of the libraries loaded at start.

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicUsize, Ordering};

use crate::intern::StackId;
use crate::locking;
use crate::record::{MemoryKind, acts};
use crate::runtime::RT;
use crate::strand::{OsThread, Strand};

unsafe extern "C" {
    fn pthread_self() -> usize;
    fn pthread_getattr_np(thread: usize, attr: *mut [u64; 8]) -> c_int;
    fn pthread_attr_getstack(attr: *const [u64; 8], addr: *mut usize, size: *mut usize) -> c_int;
    fn pthread_attr_destroy(attr: *mut [u64; 8]) -> c_int;
    // The same function as in `modules`, which looks at other fields of the entry.
    #[allow(clashing_extern_declarations)]
    fn dl_iterate_phdr(
        f: extern "C" fn(*const ModuleInfo, usize, *mut c_void) -> c_int,
        data: *mut c_void,
    ) -> c_int;
}

/// The loader's `struct dl_phdr_info`, as far as it matters here.
#[repr(C)]
struct ModuleInfo {
    before: [u64; 6],
    tls_module: usize,
    tls_data: usize,
}

/// What the C library keeps above the thread pointer.
const DESCRIPTOR: usize = 0x900;
/// Variables this far below the thread pointer are not in its block but in one of their own.
const FARTHEST: usize = 1 << 20;

extern "C" fn lowest(info: *const ModuleInfo, size: usize, data: *mut c_void) -> c_int {
    if size < size_of::<ModuleInfo>() {
        return 1;
    }
    // SAFETY: the loader hands an entry of that size; `data` is the word of `block_below`.
    let (at, found) = unsafe { ((*info).tls_data, &mut *data.cast::<usize>()) };
    // SAFETY: cannot fail.
    let pointer = unsafe { pthread_self() };
    if at != 0 && at < pointer && pointer - at < FARTHEST {
        *found = (*found).max(pointer - at);
    }
    0
}

/// How far below the thread pointer the variables of libraries loaded at start reach. The same in every thread.
fn block_below() -> usize {
    static BELOW: AtomicUsize = AtomicUsize::new(0);
    let known = BELOW.load(Ordering::Relaxed);
    if known != 0 {
        return known;
    }
    let mut found = 0usize;
    // SAFETY: the callback writes the word, which outlives the call.
    unsafe { dl_iterate_phdr(lowest, (&raw mut found).cast()) };
    BELOW.store(found, Ordering::Relaxed);
    found
}

/// Finds out which memory belongs to the OS thread that runs `s`, which is the calling one.
pub fn find(s: &mut Strand) {
    let mut attr = [0u64; 8];
    let (mut low, mut size) = (0usize, 0usize);
    // SAFETY: places for an attribute object (56 bytes) and two words.
    let pointer = unsafe {
        let me = pthread_self();
        if pthread_getattr_np(me, &raw mut attr) == 0 {
            pthread_attr_getstack(&raw const attr, &raw mut low, &raw mut size);
            pthread_attr_destroy(&raw mut attr);
        }
        me
    };
    (s.os.stack_low, s.os.stack_high) = (low, low + size);
    (s.os.tls_low, s.os.tls_high) = (pointer - block_below(), pointer + DESCRIPTOR);
}

/// The thread pointer of a thread that [`find`] looked at.
pub fn pointer(os: &OsThread) -> usize {
    os.tls_high - DESCRIPTOR
}

/// The memory is fresh: the C library uses stacks of finished threads again.
pub fn forget(s: &mut Strand) {
    let (low, size) = (s.os.stack_low, s.os.stack_high - s.os.stack_low);
    RT.shadow.clear(low, size);
    acts::fresh(s, low, size, MemoryKind::Stack, StackId(0));
    let (tls_low, tls_high) = (s.os.tls_low, s.os.tls_high);
    acts::memory(
        s,
        MemoryKind::ThreadLocal,
        tls_low,
        tls_high.saturating_sub(tls_low),
    );
    RT.syncs.remove_range(&RT.shadow, low, size, |var| {
        locking::memory_gone(&RT, s, var, StackId(0))
    });
}

//! The `Annotate*` family, which came before ThreadSanitizer's own interface and is still in many programs.
//!
//! Each takes the file and line of the annotation first; we have the caller's program counter.

use core::ffi::{c_char, c_int, c_long, c_void};

use crate::abi::api::{acquire, release};
use crate::abi::{java, own_locks, tls};
use crate::access;
use crate::locking::Got;
use crate::locks::Mode;
use crate::record::{MemoryKind, acts};
use crate::runtime::RT;
use crate::strand::Strand;
use crate::sys;
use crate::with_caller;

/// Begins (1) or ends (-1) to look away from something of the strand's.
fn count(what: impl FnOnce(&mut Strand) -> &mut u32, by: i32) {
    if let Some(s) = tls::me() {
        let counter = what(s);
        *counter = counter.saturating_add_signed(by);
        s.begin_step();
    }
}

fn mode(is_write: c_long) -> Mode {
    if is_write != 0 {
        Mode::Exclusive
    } else {
        Mode::Shared
    }
}

with_caller! {
    unsafe fn AnnotateHappensBefore(_file: *const c_char, _line: c_int, addr: *const c_void) -> () {
        release(addr as usize);
    }

    unsafe fn AnnotateHappensAfter(_file: *const c_char, _line: c_int, addr: *const c_void) -> () {
        acquire(addr as usize);
    }

    unsafe fn WTFAnnotateHappensBefore(_file: *const c_char, _line: c_int, addr: *const c_void) -> () {
        release(addr as usize);
    }

    unsafe fn WTFAnnotateHappensAfter(_file: *const c_char, _line: c_int, addr: *const c_void) -> () {
        acquire(addr as usize);
    }

    unsafe fn AnnotateRWLockCreate(_file: *const c_char, _line: c_int, lock: *const c_void) -> () {
        own_locks::create(lock as usize);
    }

    unsafe fn AnnotateRWLockCreateStatic(_file: *const c_char, _line: c_int, lock: *const c_void) -> () {
        own_locks::create(lock as usize);
    }

    unsafe fn AnnotateRWLockDestroy(_file: *const c_char, _line: c_int, lock: *const c_void) -> () {
        own_locks::destroy(lock as usize);
    }

    unsafe fn AnnotateRWLockAcquired(_file: *const c_char, _line: c_int, lock: *const c_void, is_write: c_long) -> () {
        own_locks::acquired(lock as usize, mode(is_write), Got::Waiting, 1);
    }

    unsafe fn AnnotateRWLockReleased(_file: *const c_char, _line: c_int, lock: *const c_void, is_write: c_long) -> () {
        own_locks::released(lock as usize, mode(is_write), false);
    }

    /// A queue: what was done before a put is known after a get.
    unsafe fn AnnotatePCQPut(_file: *const c_char, _line: c_int, queue: *const c_void) -> () {
        release(queue as usize);
    }

    unsafe fn AnnotatePCQGet(_file: *const c_char, _line: c_int, queue: *const c_void) -> () {
        acquire(queue as usize);
    }

    unsafe fn AnnotateNewMemory(_file: *const c_char, _line: c_int, start: *const c_void, size: usize) -> () {
        java::fresh(start as usize, size);
    }

    unsafe fn AnnotateBenignRaceSized(_file: *const c_char, _line: c_int, start: *const c_void, size: usize, _why: *const c_char) -> () {
        benign(start, size);
    }

    unsafe fn WTFAnnotateBenignRaceSized(_file: *const c_char, _line: c_int, start: *const c_void, size: usize, _why: *const c_char) -> () {
        benign(start, size);
    }

    unsafe fn AnnotateBenignRace(_file: *const c_char, _line: c_int, start: *const c_void, _why: *const c_char) -> () {
        benign(start, 1);
    }

    unsafe fn AnnotateExpectRace(_file: *const c_char, _line: c_int, start: *const c_void, _why: *const c_char) -> () {
        benign(start, 1);
    }

    unsafe fn AnnotateIgnoreReadsBegin(_file: *const c_char, _line: c_int) -> () {
        count(|s| &mut s.ignore_reads, 1);
    }

    unsafe fn AnnotateIgnoreReadsEnd(_file: *const c_char, _line: c_int) -> () {
        count(|s| &mut s.ignore_reads, -1);
    }

    unsafe fn AnnotateIgnoreWritesBegin(_file: *const c_char, _line: c_int) -> () {
        count(|s| &mut s.ignore_writes, 1);
    }

    unsafe fn AnnotateIgnoreWritesEnd(_file: *const c_char, _line: c_int) -> () {
        count(|s| &mut s.ignore_writes, -1);
    }

    unsafe fn AnnotateIgnoreSyncBegin(_file: *const c_char, _line: c_int) -> () {
        count(|s| &mut s.ignore_sync, 1);
    }

    unsafe fn AnnotateIgnoreSyncEnd(_file: *const c_char, _line: c_int) -> () {
        count(|s| &mut s.ignore_sync, -1);
    }

    unsafe fn AnnotateThreadName(_file: *const c_char, _line: c_int, name: *const c_char) -> () {
        if let Some(s) = tls::me() {
            let id = s.thread;
            // SAFETY: the program's own terminated string.
            crate::interpose::threads::rename(s, id, unsafe { sys::bytes_of(name) });
        }
    }
}

fn benign(start: *const c_void, size: usize) {
    if let Some(s) = tls::me() {
        s.enter();
        RT.exempt.add(start as usize, size);
        if let Some(s) = tls::me() {
            s.enter();
            acts::memory(s, MemoryKind::Exempt, start as usize, size.max(1));
            access::leave(s);
        }
        crate::access::leave(s);
    }
}

/// Annotations that say nothing that we do not see ourselves.
macro_rules! nothing_new {
    ($($name:ident($($arg:ident: $ty:ty),*);)*) => { $(
        #[unsafe(no_mangle)]
        pub extern "C" fn $name(_file: *const c_char, _line: c_int $(, $arg: $ty)*) {}
    )* };
}

nothing_new! {
    AnnotateCondVarSignal(_cond: *const c_void);
    AnnotateCondVarSignalAll(_cond: *const c_void);
    AnnotateCondVarWait(_cond: *const c_void, _lock: *const c_void);
    AnnotateMutexIsNotPHB(_lock: *const c_void);
    AnnotateMutexIsUsedAsCondVar(_lock: *const c_void);
    AnnotatePCQCreate(_queue: *const c_void);
    AnnotatePCQDestroy(_queue: *const c_void);
    AnnotatePublishMemoryRange(_start: *const c_void, _size: usize);
    AnnotateUnpublishMemoryRange(_start: *const c_void, _size: usize);
    AnnotateMemoryIsInitialized(_start: *const c_void, _size: usize);
    AnnotateMemoryIsUninitialized(_start: *const c_void, _size: usize);
    AnnotateTraceMemory(_start: *const c_void);
    AnnotateEnableRaceDetection(_enable: c_int);
    AnnotateFlushExpectedRaces();
    AnnotateFlushState();
    AnnotateNoOp(_arg: *const c_void);
}

#[unsafe(no_mangle)]
pub extern "C" fn RunningOnValgrind() -> c_int {
    0
}

#[unsafe(no_mangle)]
pub extern "C" fn ValgrindSlowdown() -> f64 {
    10.0
}

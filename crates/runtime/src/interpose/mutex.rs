//! Mutexes of every type: plain, recursive, error-checking, adaptive, robust, priority-inheriting.
//!
//! The C library's mutex tells its type, so a statically initialised one needs no call to be known. A blocking lock is
//! tried first: only who really must wait pays for looking whether the wait can end.

use core::ffi::{c_int, c_void};

use crate::access::{self, leave};
use crate::deadlock::For;
use crate::history::Touch;
use crate::intern::StackId;
use crate::interpose;
use crate::interpose::Call;
use crate::locking::{self, Got, Unseen};
use crate::locks::Mode;
use crate::misuse;
use crate::record::acts;
use crate::runtime::RT;
use crate::strand::Strand;
use crate::syncvar::Kind;

pub const EBUSY: c_int = 16;
pub const EDEADLK: c_int = 35;
pub const EOWNERDEAD: c_int = 130;

/// How glibc lays out a mutex on x86-64.
#[repr(C)]
struct Raw {
    lock: i32,
    count: u32,
    owner: i32,
    users: u32,
    kind: i32,
}

const TYPE: i32 = 3;
const RECURSIVE: i32 = 1;
const ERROR_CHECKING: i32 = 2;
const ROBUST: i32 = 16;
const INHERIT: i32 = 32;
const PROTECT: i32 = 64;
const SHARED: i32 = 128;
/// Flags of lock elision and the ceiling of a priority-protected mutex.
const OTHER: i32 = 0x300 | 0x7ff << 19;
/// What a destroyed mutex has as its type.
const DESTROYED: i32 = -1;

/// The mutex's own words.
///
/// # Safety
/// `mutex` must point to a mutex.
unsafe fn raw(mutex: *const c_void) -> Raw {
    // SAFETY: by the contract; other threads may be changing the words, so each is read once and as it is.
    unsafe { core::ptr::read_volatile(mutex.cast()) }
}

/// What sort of mutex it is for reports.
fn kind_of(raw: &Raw) -> Kind {
    if raw.kind != DESTROYED && raw.kind & TYPE == RECURSIVE {
        Kind::RecursiveMutex
    } else {
        Kind::Mutex
    }
}

/// Could an initialiser, or a use after one, have left these words? Only what is plain on sight is called wrong.
fn looks_initialised(raw: &Raw) -> bool {
    if raw.kind == DESTROYED {
        return true;
    }
    let known = TYPE | ROBUST | INHERIT | PROTECT | SHARED | OTHER;
    if raw.kind & !known != 0 {
        return false;
    }
    raw.kind & (ROBUST | INHERIT | PROTECT | SHARED) != 0 || (0..=2).contains(&raw.lock)
}

/// The first use of a mutex by this strand: it must be there, and the use is an access to its memory, so that it races
/// with an unordered init, destroy or free.
#[inline(never)]
fn first_use(s: &mut Strand, mutex: *const c_void, here: u64, at: StackId) {
    if RT.syncs.find(s, mutex as usize).is_none() {
        // SAFETY: the program uses it as a mutex.
        let raw = unsafe { raw(mutex) };
        let var = RT.syncs.get(s, mutex as usize, kind_of(&raw));
        if !looks_initialised(&raw) {
            misuse::use_before_init(&RT, s, var, at);
        }
    }
    access::access(&RT, s, mutex as usize, 1, Touch::AtomicRead, here);
}

/// Looks at the mutex before it is used; the stack of this call.
#[inline(always)]
fn before(call: &mut Call, mutex: *const c_void) -> StackId {
    let here = call.here;
    let Some(s) = call.strand() else {
        return StackId(0);
    };
    s.enter();
    let at = s.stack_at(&RT, here);
    if s.cached_var(mutex as usize).is_none() {
        first_use(s, mutex, here, at);
    }
    acts::ready(s);
    leave(s);
    at
}

/// The mutex was got.
#[inline(always)]
fn got(call: &mut Call, mutex: *const c_void, how: Got, at: StackId, result: c_int) {
    let Some(s) = call.strand() else { return };
    s.enter();
    // SAFETY: the program's mutex, which this thread holds now.
    let raw = unsafe { raw(mutex) };
    if result == EOWNERDEAD {
        owner_died(s, mutex as usize);
    }
    locking::took(
        &RT,
        s,
        mutex as usize,
        kind_of(&raw),
        Mode::Exclusive,
        how,
        at,
    );
    leave(s);
}

/// The owner of a robust mutex ended with it: it is ours now. What he did was released when he ended.
#[cold]
fn owner_died(s: &mut Strand, addr: usize) {
    let var = RT.syncs.get(s, addr, Kind::Mutex);
    var.with(|state| {
        let usage = state.usage();
        usage.depth = 0;
        usage.owner = None;
    });
}

/// The C library refused the mutex: perhaps because it was destroyed.
#[cold]
#[inline(never)]
fn refused(call: &mut Call, mutex: *const c_void, at: StackId) {
    let Some(s) = call.strand() else { return };
    s.enter();
    // SAFETY: the program uses it as a mutex.
    let raw = unsafe { raw(mutex) };
    let var = RT.syncs.get(s, mutex as usize, kind_of(&raw));
    if raw.kind == DESTROYED && var.with(|state| state.usage().destroyed.is_some()) {
        misuse::use_after_destroy(&RT, s, var, at);
    }
    leave(s);
}

/// The mutex is not free: looks whether it ever will be, and waits.
#[cold]
#[inline(never)]
fn wait_for(
    call: &mut Call,
    mutex: *mut c_void,
    at: StackId,
    real: unsafe extern "C" fn(*mut c_void) -> c_int,
) -> c_int {
    if let Some(s) = call.strand() {
        s.enter();
        // SAFETY: the program uses it as a mutex.
        let raw = unsafe { raw(mutex) };
        let errors = raw.kind & TYPE == ERROR_CHECKING || raw.kind & INHERIT != 0;
        let kind = kind_of(&raw);
        let var = RT.syncs.get(s, mutex as usize, kind);
        let me = s.thread;
        let (id, mine) = var.with(|state| {
            let id = locking::settle(&RT, state, mutex as usize, kind);
            (id, state.usage().owner == Some(me))
        });
        if mine {
            misuse::double_lock(&RT, s, var, at);
            // A thread that waits for itself hangs; it ends here, as any other deadlock does.
            if !errors && RT.options.deadlock.on() {
                if !RT.options.misuse.on() {
                    RT.waits
                        .begin(&RT, s, For::Lock(var, id, Mode::Exclusive), at);
                }
                crate::halt(&RT);
            }
        } else {
            RT.waits
                .begin(&RT, s, For::Lock(var, id, Mode::Exclusive), at);
        }
        leave(s);
    }
    // SAFETY: the program's own call.
    let result = unsafe { real(mutex) };
    if let Some(s) = call.strand() {
        s.enter();
        RT.waits.end(s);
        leave(s);
    }
    result
}

/// Gives back the mutex, as far as the detector is concerned. Also the first half of a condition wait.
#[inline]
pub(crate) fn giving(s: &mut Strand, mutex: *const c_void, at: StackId) -> locking::Gave {
    // SAFETY: the program uses it as a mutex.
    let raw = unsafe { raw(mutex) };
    // Locked where we could not see it (before the start, or in a thread that we do not know), but surely by this one.
    let mine = raw.owner as u32 == s.os.tid && raw.lock != 0;
    let unseen = if mine { Unseen::Fine } else { Unseen::Wrong };
    locking::giving_seen(&RT, s, mutex as usize, kind_of(&raw), at, unseen)
}

/// Takes the mutex again, as far as the detector is concerned: the second half of a condition wait.
pub(crate) fn taking_again(s: &mut Strand, mutex: *const c_void, at: StackId) {
    // SAFETY: the program's mutex, which this thread holds now.
    let raw = unsafe { raw(mutex) };
    locking::took(
        &RT,
        s,
        mutex as usize,
        kind_of(&raw),
        Mode::Exclusive,
        Got::Waiting,
        at,
    );
}

/// Does this thread hold the mutex, as far as anybody can tell?
pub(crate) fn held_by_me(s: &mut Strand, mutex: *const c_void) -> bool {
    // SAFETY: the program uses it as a mutex.
    let raw = unsafe { raw(mutex) };
    let me = s.thread;
    let var = RT.syncs.get(s, mutex as usize, kind_of(&raw));
    var.with(|state| state.usage().owner == Some(me))
        || (raw.owner as u32 == s.os.tid && raw.lock != 0)
}

#[inline(always)]
fn is_got(result: c_int) -> bool {
    result == 0 || result == EOWNERDEAD
}

/// A lock that waits for ever.
#[inline(always)]
pub(crate) fn lock(
    call: &mut Call,
    mutex: *mut c_void,
    try_lock: unsafe extern "C" fn(*mut c_void) -> c_int,
    busy: c_int,
    real: unsafe extern "C" fn(*mut c_void) -> c_int,
) -> c_int {
    if call.strand().is_none() {
        // SAFETY: the program's own call.
        return unsafe { real(mutex) };
    }
    let at = before(call, mutex);
    // SAFETY: the program's own call; a try that succeeds is a lock.
    let mut result = unsafe { try_lock(mutex) };
    if !is_got(result) {
        result = if result == busy {
            wait_for(call, mutex, at, real)
        } else {
            result
        };
    }
    if is_got(result) {
        got(call, mutex, Got::Waiting, at, result);
    } else {
        refused(call, mutex, at);
    }
    result
}

/// A lock that does not wait, or not for ever.
#[inline(always)]
pub(crate) fn lock_trying(
    call: &mut Call,
    mutex: *mut c_void,
    real: impl FnOnce() -> c_int,
) -> c_int {
    let at = before(call, mutex);
    let result = real();
    if is_got(result) {
        got(call, mutex, Got::Trying, at, result);
    } else if result != EBUSY {
        refused(call, mutex, at);
    }
    result
}

#[inline(always)]
pub(crate) fn unlock(
    call: &mut Call,
    mutex: *mut c_void,
    real: unsafe extern "C" fn(*mut c_void) -> c_int,
) -> c_int {
    let at = before(call, mutex);
    if let Some(s) = call.strand() {
        s.enter();
        // SAFETY: the program uses it as a mutex.
        if unsafe { raw(mutex) }.kind == DESTROYED {
            refused(call, mutex, at);
        } else {
            giving(s, mutex, at);
        }
        if let Some(s) = call.strand() {
            leave(s);
        }
    }
    // SAFETY: the program's own call.
    unsafe { real(mutex) }
}

/// The mutex is made: a write to its memory.
pub(crate) fn made(call: &mut Call, mutex: *mut c_void) {
    let here = call.here;
    let Some(s) = call.strand() else { return };
    s.enter();
    let at = s.stack_at(&RT, here);
    access::access(&RT, s, mutex as usize, 1, Touch::Write, here);
    // SAFETY: just initialised.
    let raw = unsafe { raw(mutex) };
    locking::created(&RT, s, mutex as usize, kind_of(&raw), at);
    leave(s);
}

/// The mutex is about to be destroyed.
pub(crate) fn destroying(call: &mut Call, mutex: *mut c_void) {
    let here = call.here;
    let Some(s) = call.strand() else { return };
    s.enter();
    let at = s.stack_at(&RT, here);
    // SAFETY: the program uses it as a mutex.
    let raw = unsafe { raw(mutex) };
    access::access(&RT, s, mutex as usize, 1, Touch::Destroy, here);
    locking::destroyed(&RT, s, mutex as usize, kind_of(&raw), at);
    leave(s);
}

interpose! {
    unsafe fn pthread_mutex_init(mutex: *mut c_void, attr: *const c_void) -> c_int |call, real| {
        // SAFETY: the program's own call.
        let result = unsafe { real(mutex, attr) };
        if result == 0 {
            made(&mut call, mutex);
        }
        result
    }

    unsafe fn pthread_mutex_destroy(mutex: *mut c_void) -> c_int |call, real| {
        destroying(&mut call, mutex);
        // SAFETY: the program's own call.
        unsafe { real(mutex) }
    }

    unsafe fn pthread_mutex_lock(mutex: *mut c_void) -> c_int |call, real| {
        lock(&mut call, mutex, pthread_mutex_trylock::real(), EBUSY, real)
    }

    unsafe fn pthread_mutex_trylock(mutex: *mut c_void) -> c_int |call, real| {
        // SAFETY: the program's own call.
        lock_trying(&mut call, mutex, || unsafe { real(mutex) })
    }

    unsafe fn pthread_mutex_timedlock(mutex: *mut c_void, until: *const c_void) -> c_int |call, real| {
        // SAFETY: the program's own call.
        lock_trying(&mut call, mutex, || unsafe { real(mutex, until) })
    }

    unsafe fn pthread_mutex_clocklock(mutex: *mut c_void, clock: c_int, until: *const c_void) -> c_int |call, real| {
        // SAFETY: the program's own call.
        lock_trying(&mut call, mutex, || unsafe { real(mutex, clock, until) })
    }

    unsafe fn pthread_mutex_unlock(mutex: *mut c_void) -> c_int |call, real| {
        unlock(&mut call, mutex, real)
    }
}

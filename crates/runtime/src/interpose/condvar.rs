//! Condition variables. A wait gives back the mutex and takes it again; a signal orders nothing beside that, as POSIX
//! and C++ have it.

use core::ffi::{c_int, c_void};

use crate::access::{self, leave};
use crate::deadlock::For;
use crate::history::Touch;
use crate::intern::StackId;
use crate::interpose;
use crate::interpose::{Call, cancel, mutex};
use crate::locking;
use crate::locks::Mode;
use crate::misuse;
use crate::runtime::RT;
use crate::strand::Strand;
use crate::syncvar::Kind;

/// What a wait must undo if the thread is cancelled in it: the C library has taken the mutex again by then.
struct Waiting {
    cond: usize,
    mutex: *const c_void,
    at: StackId,
    gave: locking::Gave,
}

/// The condition's object; looks whether it is fit for use.
fn known(s: &mut Strand, cond: usize, here: u64, at: StackId) -> &'static crate::syncvar::SyncVar {
    let fresh = s.cached_var(cond).is_none();
    let var = RT.syncs.get(s, cond, Kind::Condition);
    let gone = var.with(|state| {
        locking::settle(&RT, state, cond, Kind::Condition);
        state.usage().destroyed.is_some()
    });
    if gone {
        locking::used_after_destroy(&RT, s, var, cond, Kind::Condition, at);
    }
    if fresh {
        access::access(&RT, s, cond, 1, Touch::AtomicRead, here);
    }
    var
}

/// Before the wait: the mutex must be held and the one that the others wait with; then it is given back.
fn begin(s: &mut Strand, cond: usize, mutex: *const c_void, here: u64) -> Waiting {
    let at = s.stack_at(&RT, here);
    let var = known(s, cond, here, at);
    let held = mutex::held_by_me(s, mutex);
    let other = var.with(|state| {
        let usage = state.usage();
        let other = usage.waiters > 0 && usage.partner != mutex as usize;
        usage.waiters += 1;
        usage.partner = mutex as usize;
        other
    });
    let lock = RT.syncs.get(s, mutex as usize, Kind::Mutex);
    let id = lock.with(|state| state.id);
    if !held {
        misuse::cond_wrong_mutex(
            &RT,
            s,
            var,
            id,
            at,
            "the mutex of a condition wait must be held by the thread that waits",
        );
    } else if other {
        misuse::cond_wrong_mutex(
            &RT,
            s,
            var,
            id,
            at,
            "other threads wait on the same condition with another mutex",
        );
    }
    let gave = if held {
        mutex::giving(s, mutex, at)
    } else {
        locking::Gave::Wrong
    };
    let object = var.with(|state| state.id);
    s.note("wait", object, at);
    RT.waits
        .note(&RT, s, For::Lock(lock, id, Mode::Exclusive), at);
    Waiting {
        cond,
        mutex,
        at,
        gave,
    }
}

/// After the wait: the mutex is held again.
fn end(s: &mut Strand, waiting: &Waiting) {
    RT.waits.end(s);
    let var = RT.syncs.get(s, waiting.cond, Kind::Condition);
    var.with(|state| {
        let usage = state.usage();
        usage.waiters = usage.waiters.saturating_sub(1);
    });
    if waiting.gave != locking::Gave::Wrong {
        mutex::taking_again(s, waiting.mutex, waiting.at);
    }
}

unsafe extern "C" fn cancelled(waiting: *mut c_void) {
    if let Some(s) = crate::abi::tls::me() {
        s.enter();
        // SAFETY: the record of the wait that is being cancelled, in a frame that is still there.
        end(s, unsafe { &*waiting.cast::<Waiting>() });
        leave(s);
    }
}

/// A wait of any sort. Also for C11.
pub(crate) fn wait(
    call: &mut Call,
    cond: *const c_void,
    mutex: *const c_void,
    real: impl FnOnce() -> c_int,
) -> c_int {
    let here = call.here;
    let Some(s) = call.strand() else {
        return real();
    };
    s.enter();
    let mut waiting = begin(s, cond as usize, mutex, here);
    leave(s);
    let result = cancel::guarded(&mut waiting, cancelled, real);
    if let Some(s) = call.strand() {
        s.enter();
        end(s, &waiting);
        leave(s);
    }
    result
}

/// A signal or broadcast. Also for C11.
pub(crate) fn signal(call: &mut Call, cond: *const c_void) {
    let here = call.here;
    if let Some(s) = call.strand() {
        s.enter();
        let at = s.stack_at(&RT, here);
        let var = known(s, cond as usize, here, at);
        let id = var.with(|state| state.id);
        s.note("signal", id, at);
        leave(s);
    }
}

/// Also for C11.
pub(crate) fn made(call: &mut Call, cond: *const c_void) {
    let here = call.here;
    if let Some(s) = call.strand() {
        s.enter();
        let at = s.stack_at(&RT, here);
        access::access(&RT, s, cond as usize, 1, Touch::Write, here);
        locking::created(&RT, s, cond as usize, Kind::Condition, at);
        leave(s);
    }
}

/// Also for C11.
pub(crate) fn destroying(call: &mut Call, cond: *const c_void) {
    let here = call.here;
    if let Some(s) = call.strand() {
        s.enter();
        let at = s.stack_at(&RT, here);
        // Waiters that were woken but have not come back yet are still counted: POSIX lets the condition be destroyed
        // then, so only the C library can tell.
        let var = RT.syncs.get(s, cond as usize, Kind::Condition);
        // SAFETY: the program uses it as a condition variable.
        let asleep = unsafe { sleepers(cond) };
        var.with(|state| {
            if !asleep {
                state.usage().waiters = 0;
            }
        });
        access::access(&RT, s, cond as usize, 1, Touch::Destroy, here);
        locking::destroyed(&RT, s, cond as usize, Kind::Condition, at);
        leave(s);
    }
}

/// Does a thread sleep on the condition that nobody has signalled?
///
/// glibc keeps two groups of waiters: one that is being woken, one that gathers. `__wseq` (byte 0) counts all waiters
/// ever and says in its lowest bit which group gathers; `__g1_start` (byte 8) and `__g1_orig_size` (byte 32) tell where
/// the other one began and how long it was; `__g_size` (byte 24) is what is left to be signalled in the group being
/// woken, and a (negative) correction in the one that gathers.
///
/// # Safety
/// `cond` must point to a condition variable of the C library.
unsafe fn sleepers(cond: *const c_void) -> bool {
    let p = cond.cast::<u8>();
    // SAFETY: by the contract; 48 bytes, read as they are.
    let (wseq, start, sizes, woken): (u64, u64, [u32; 2], u32) = unsafe {
        (
            core::ptr::read_volatile(p.cast()),
            core::ptr::read_volatile(p.add(8).cast()),
            core::ptr::read_volatile(p.add(24).cast()),
            core::ptr::read_volatile(p.add(32).cast()),
        )
    };
    let gathers = (wseq & 1) as usize;
    let gathered = ((wseq >> 1) as u32)
        .wrapping_sub((start >> 1) as u32)
        .wrapping_sub(woken >> 2)
        .wrapping_add(sizes[gathers]);
    sizes[gathers ^ 1] > 0 || gathered as i32 > 0
}

interpose! {
    unsafe fn pthread_cond_init(cond: *mut c_void, attr: *const c_void) -> c_int |call, real| {
        // SAFETY: the program's own call.
        let result = unsafe { real(cond, attr) };
        if result == 0 {
            made(&mut call, cond);
        }
        result
    }

    unsafe fn pthread_cond_destroy(cond: *mut c_void) -> c_int |call, real| {
        destroying(&mut call, cond);
        // SAFETY: the program's own call.
        unsafe { real(cond) }
    }

    unsafe fn pthread_cond_wait(cond: *mut c_void, mutex: *mut c_void) -> c_int |call, real| {
        // SAFETY: the program's own call.
        wait(&mut call, cond, mutex, || unsafe { real(cond, mutex) })
    }

    unsafe fn pthread_cond_timedwait(cond: *mut c_void, mutex: *mut c_void, until: *const c_void) -> c_int |call, real| {
        // SAFETY: the program's own call.
        wait(&mut call, cond, mutex, || unsafe { real(cond, mutex, until) })
    }

    unsafe fn pthread_cond_clockwait(cond: *mut c_void, mutex: *mut c_void, clock: c_int, until: *const c_void) -> c_int |call, real| {
        // SAFETY: the program's own call.
        wait(&mut call, cond, mutex, || unsafe { real(cond, mutex, clock, until) })
    }

    unsafe fn pthread_cond_signal(cond: *mut c_void) -> c_int |call, real| {
        signal(&mut call, cond);
        // SAFETY: the program's own call.
        unsafe { real(cond) }
    }

    unsafe fn pthread_cond_broadcast(cond: *mut c_void) -> c_int |call, real| {
        signal(&mut call, cond);
        // SAFETY: the program's own call.
        unsafe { real(cond) }
    }
}

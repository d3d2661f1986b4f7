//! Spin locks.

use core::ffi::{c_int, c_void};

use crate::access::leave;
use crate::deadlock::For;
use crate::intern::StackId;
use crate::interpose;
use crate::interpose::mutex::EBUSY;
use crate::interpose::{Call, lock_life};
use crate::locking::{self, Got};
use crate::locks::Mode;
use crate::misuse;
use crate::runtime::RT;
use crate::sync::Waiting;
use crate::syncvar::Kind;

fn before(call: &mut Call, lock: *const c_void) -> StackId {
    lock_life::before(call, lock, Kind::SpinLock)
}

fn got(call: &mut Call, lock: *const c_void, how: Got, at: StackId) {
    if let Some(s) = call.strand() {
        s.enter();
        locking::took(
            &RT,
            s,
            lock as usize,
            Kind::SpinLock,
            Mode::Exclusive,
            how,
            at,
        );
        leave(s);
    }
}

/// The lock is not free: looks whether it ever will be. False if nobody looks.
#[cold]
fn look_for_owner(call: &mut Call, lock: *const c_void, at: StackId) {
    let Some(s) = call.strand() else { return };
    s.enter();
    let var = RT.syncs.get(s, lock as usize, Kind::SpinLock);
    let me = s.thread;
    let (id, mine) = var.with(|state| {
        let id = locking::settle(&RT, state, lock as usize, Kind::SpinLock);
        (id, state.usage().owner == Some(me))
    });
    if mine {
        misuse::double_lock(&RT, s, var, at);
        if RT.options.deadlock.on() && RT.options.misuse.on() {
            crate::halt(&RT);
        }
    }
    RT.waits
        .begin(&RT, s, For::Lock(var, id, Mode::Exclusive), at);
    leave(s);
}

/// Tries between one look of the scheduler and the next.
const TRIES: u32 = 256;

/// Waits for the lock. Who holds it works longer under the detector, so it is more often that he has lost the processor
/// meanwhile: then it is better given to him than spent on waiting.
///
/// # Safety
/// The lock must be one.
#[cold]
unsafe fn spin(lock: *mut c_void, real: unsafe extern "C" fn(*mut c_void) -> c_int) -> c_int {
    let try_lock = pthread_spin_trylock::real();
    let mut waiting = Waiting::default();
    loop {
        for _ in 0..TRIES {
            // SAFETY: by the contract.
            match unsafe { try_lock(lock) } {
                EBUSY => core::hint::spin_loop(),
                0 => return 0,
                // SAFETY: by the contract.
                _ => return unsafe { real(lock) },
            }
        }
        waiting.turn();
    }
}

interpose! {
    unsafe fn pthread_spin_init(lock: *mut c_void, shared: c_int) -> c_int |call, real| {
        // SAFETY: the program's own call.
        let result = unsafe { real(lock, shared) };
        lock_life::made(&mut call, lock, Kind::SpinLock, result);
        result
    }

    unsafe fn pthread_spin_destroy(lock: *mut c_void) -> c_int |call, real| {
        lock_life::ending(&mut call, lock, Kind::SpinLock);
        // SAFETY: the program's own call.
        unsafe { real(lock) }
    }

    unsafe fn pthread_spin_lock(lock: *mut c_void) -> c_int |call, real| {
        let at = before(&mut call, lock);
        // SAFETY: the program's own call; a try that succeeds is a lock.
        if unsafe { pthread_spin_trylock::real()(lock) } != 0 {
            look_for_owner(&mut call, lock, at);
            // SAFETY: the program's own call.
            let result = unsafe { spin(lock, real) };
            if let Some(s) = call.strand() {
                s.enter();
                RT.waits.end(s);
                leave(s);
            }
            if result != 0 {
                return result;
            }
        }
        got(&mut call, lock, Got::Waiting, at);
        0
    }

    unsafe fn pthread_spin_trylock(lock: *mut c_void) -> c_int |call, real| {
        let at = before(&mut call, lock);
        // SAFETY: the program's own call.
        let result = unsafe { real(lock) };
        if result == 0 {
            got(&mut call, lock, Got::Trying, at);
        }
        result
    }

    unsafe fn pthread_spin_unlock(lock: *mut c_void) -> c_int |call, real| {
        let at = before(&mut call, lock);
        if let Some(s) = call.strand() {
            s.enter();
            locking::giving(&RT, s, lock as usize, Kind::SpinLock, at);
            leave(s);
        }
        // SAFETY: the program's own call.
        unsafe { real(lock) }
    }
}

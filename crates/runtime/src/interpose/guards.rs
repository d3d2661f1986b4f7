//! The guards of C++ static locals. The first byte of a guard says that the variable is ready (compiled code looks at it
//! itself, with an acquiring load); the second word is ours while it is being made.

use core::ffi::c_int;
use core::sync::atomic::{AtomicU8, AtomicU32, Ordering};

use crate::access::leave;
use crate::finding;
use crate::interpose::Call;
use crate::misuse::{self, Line};
use crate::own;
use crate::runtime::RT;
use crate::syncvar::{Kind, SyncId};
use crate::sys;

const FREE: u32 = 0;
/// Set beside the thread's number if somebody sleeps.
const WAITED_FOR: u32 = 1 << 31;

/// The two halves of a guard.
///
/// # Safety
/// `guard` must point to a guard, which lives as long as the program.
unsafe fn halves(guard: *mut u64) -> (&'static AtomicU8, &'static AtomicU32) {
    // SAFETY: by the contract: 8 bytes, aligned, used only through these.
    unsafe {
        (
            AtomicU8::from_ptr(guard.cast()),
            AtomicU32::from_ptr(guard.cast::<u32>().add(1)),
        )
    }
}

fn learn(call: &mut Call, guard: *mut u64) {
    if let Some(s) = call.syncing() {
        s.enter();
        if let Some(var) = RT.syncs.find(s, guard as usize) {
            var.with(|state| state.acquire(&RT, s));
        }
        leave(s);
    }
}

/// The variable's own initialiser needs the variable: nobody can ever go on.
#[cold]
fn needs_itself(call: &mut Call) {
    let here = call.here;
    let Some(s) = call.strand() else { return };
    if !RT.options.deadlock.on() {
        return;
    }
    s.enter();
    let at = s.stack_at(&RT, here);
    let thread = s.thread;
    finding::report(
        &RT,
        s,
        "deadlock",
        finding::key(&[0x9a4d, RT.stacks.signature(at)]),
        |out, threads| {
            threads.push(thread);
            misuse::stacks(
                &RT,
                out,
                &[Line {
                    label: b"needs itself here",
                    thread,
                    stack: at,
                    lock: SyncId(0),
                }],
            );
            out.key("text").text("the initialiser of a static local needs the same static local; the program was ended because it cannot go on");
        },
    );
    crate::halt(&RT)
}

/// Ends the making of a variable, well or not.
fn finish(call: &mut Call, guard: *mut u64, ready: u8) {
    // SAFETY: the compiler passes a guard.
    let (done, making) = unsafe { halves(guard) };
    // An initialiser that threw is tried again, and what it did happens before the next try.
    if let Some(s) = call.syncing() {
        s.enter();
        let var = RT.syncs.get(s, guard as usize, Kind::Atomic);
        var.with(|state| {
            state.release(s);
            done.store(ready, Ordering::Release);
        });
        leave(s);
    }
    done.store(ready, Ordering::Release);
    if making.swap(FREE, Ordering::AcqRel) & WAITED_FOR != 0 {
        sys::futex_wake(making, i32::MAX as usize);
    }
}

own! {
    unsafe fn __cxa_guard_acquire(guard: *mut u64) -> c_int |call| {
        // SAFETY: the compiler passes a guard.
        let (done, making) = unsafe { halves(guard) };
        let me = sys::gettid();
        loop {
            if done.load(Ordering::Acquire) != 0 {
                learn(&mut call, guard);
                return 0;
            }
            match making.compare_exchange(FREE, me, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) if done.load(Ordering::Acquire) != 0 => {
                    if making.swap(FREE, Ordering::AcqRel) & WAITED_FOR != 0 {
                        sys::futex_wake(making, i32::MAX as usize);
                    }
                }
                Ok(_) => {
                    learn(&mut call, guard);
                    return 1;
                }
                Err(now) if now & !WAITED_FOR == me => needs_itself(&mut call),
                Err(now) => {
                    let waited = now | WAITED_FOR;
                    if now == waited || making.compare_exchange(now, waited, Ordering::AcqRel, Ordering::Acquire).is_ok() {
                        sys::futex_wait(making, waited);
                    }
                }
            }
        }
    }

    unsafe fn __cxa_guard_release(guard: *mut u64) -> () |call| {
        finish(&mut call, guard, 1);
    }

    unsafe fn __cxa_guard_abort(guard: *mut u64) -> () |call| {
        finish(&mut call, guard, 0);
    }
}

//! `fork`: the child has one thread, which goes on as the same strand with a copy of all that was known.
//!
//! Other threads may be anywhere in the runtime when the copy is made, so the locks that guard its tables are held over
//! the fork; what is guarded more finely is put right in the child. `vfork` is a `fork` here: its child would run on our
//! memory while we look at it.

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use crate::abi::tls;
use crate::access::leave;
use crate::interpose;
use crate::interpose::exit;
use crate::json::Json;
use crate::record;
use crate::runtime::RT;
use crate::strand::Strand;
use crate::sync::SpinLock;
use crate::sys;
use crate::threads::{Fate, Life};

/// In the child: nobody else is here.
fn became_child(s: &mut Strand, parent: u32) {
    // SAFETY: a fork copies only the thread that called it.
    unsafe {
        RT.each_lock(&|lock| lock.force_unlock());
        RT.after_fork();
    }
    record::became_child(&RT, s);
    crate::abi::handler::became_child();
    exit::belong_here();
    s.os.tid = sys::gettid();
    let (me, tid) = (s.thread, s.os.tid);
    RT.threads.each(|id, t| {
        t.announced = false;
        if id == me {
            t.tid = tid;
            // Whoever the thread was in the parent, nobody waits for it here.
            t.fate = Fate::Detached;
        } else {
            // Not there any more, and nobody's to join.
            t.strand = core::ptr::null_mut();
            t.life = Life::Finished;
            t.fate = Fate::Joined;
        }
    });
    if RT.stream.connected() {
        let mut out = Json::new();
        out.event("fork")
            .key("pid")
            .number(sys::getpid() as u64)
            .key("parent")
            .number(parent as u64)
            .end_line();
        RT.stream.lines(&RT, &out.bytes);
    }
}

unsafe extern "C" {
    fn __register_atfork(
        prepare: extern "C" fn(),
        parent: extern "C" fn(),
        child: extern "C" fn(),
        library: *const c_void,
    ) -> c_int;
}

/// Arranges for the runtime to be whole in the child. Called first of all, so that it happens last before the fork and
/// first after it: the program's own handlers run in a runtime that works.
pub fn watch() {
    // SAFETY: functions that live as long as the program.
    unsafe { __register_atfork(prepare, in_parent, in_child, core::ptr::null()) };
}

/// The strand that forks. Meanwhile its thread has none, so that whatever still runs in it touches nothing of ours.
static FORKING: AtomicPtr<Strand> = AtomicPtr::new(core::ptr::null_mut());
static PARENT: AtomicU32 = AtomicU32::new(0);

extern "C" fn prepare() {
    let Some(s) = tls::me() else { return };
    s.enter();
    // The child must not tell the parent's counts again.
    RT.findings.tell_counts(&RT);
    RT.each_lock(&SpinLock::lock);
    PARENT.store(sys::getpid(), Ordering::Relaxed);
    FORKING.store(s, Ordering::Relaxed);
    tls::set(core::ptr::null_mut());
}

/// Is this process between the two halves of a fork?
pub fn forking() -> bool {
    !FORKING.load(Ordering::Relaxed).is_null()
}

/// The strand that forked, which is this thread's again.
fn back() -> Option<&'static mut Strand> {
    let s = FORKING.swap(core::ptr::null_mut(), Ordering::Relaxed);
    if s.is_null() {
        return None;
    }
    tls::set(s);
    tls::me()
}

extern "C" fn in_parent() {
    // The lock of findings was taken first: nobody else forks until it is given back.
    if let Some(s) = back() {
        RT.stream.forked();
        RT.each_lock(&SpinLock::unlock);
        leave(s);
    }
}

extern "C" fn in_child() {
    if let Some(s) = back() {
        became_child(s, PARENT.load(Ordering::Relaxed));
        leave(s);
    }
}

interpose! {
    unsafe fn fork() -> c_int |call, real| {
        // SAFETY: the program's own call; our part is done by the handlers above.
        unsafe { real() }
    }

    unsafe fn _Fork() -> c_int |call, real| {
        prepare();
        // SAFETY: the program's own call, which runs no handlers.
        let pid = unsafe { real() };
        if pid == 0 { in_child() } else { in_parent() }
        pid
    }

    unsafe fn vfork() -> c_int |call, real| {
        // SAFETY: as a fork, which it is allowed to be.
        unsafe { fork::real()() }
    }
}

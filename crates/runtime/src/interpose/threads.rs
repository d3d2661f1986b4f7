//! Threads: creation, end, join, detach, names.
//!
//! A thread's end is seen through a thread-specific key, whose destructor asks for another round until the last one:
//! so the program's own destructors, in whichever order, still run in a thread that we know.

use core::ffi::{c_char, c_int, c_ulong, c_void};
use core::sync::atomic::{AtomicU32, Ordering};

use std_alloc::boxed::Box;
use std_alloc::vec::Vec;

use crate::abi::tls;
use crate::access::leave;
use crate::deadlock::For;
use crate::finding;
use crate::intern::StackId;
use crate::interpose;
use crate::interpose::{Call, cancel, thread_memory};
use crate::json::Json;
use crate::loss::Loss;
use crate::misuse::{self, Line};
use crate::record::{self, acts};
use crate::runtime::RT;
use crate::strand::Strand;
use crate::syncvar::SyncId;
use crate::sys;
use crate::threads::{Fate, Life, Sort, ThreadId};

type Start = unsafe extern "C" fn(*mut c_void) -> *mut c_void;

/// The program's start routine.
#[derive(Clone, Copy)]
pub enum Routine {
    Posix(Start),
    C11(unsafe extern "C" fn(*mut c_void) -> c_int),
}

unsafe extern "C" {
    fn pthread_self() -> usize;
    fn pthread_attr_getdetachstate(attr: *const c_void, state: *mut c_int) -> c_int;
    fn pthread_attr_getstack(attr: *const [u64; 8], low: *mut usize, size: *mut usize) -> c_int;
    fn pthread_attr_setstacksize(attr: *mut c_void, size: usize) -> c_int;
    fn pthread_key_create(key: *mut u32, destructor: unsafe extern "C" fn(*mut c_void)) -> c_int;
    fn pthread_setspecific(key: u32, value: *const c_void) -> c_int;
}

/// What a new thread is told.
struct Birth {
    routine: Routine,
    arg: *mut c_void,
    thread: ThreadId,
}

/// Notes the OS thread that runs `s` and its memory, and forgets what was there before.
pub(crate) fn adopt_os_thread(s: &mut Strand) {
    s.os.tid = sys::gettid();
    thread_memory::find(s);
    let tid = s.os.tid;
    RT.threads.with(s.thread, |t| {
        t.tid = tid;
        // SAFETY: cannot fail.
        t.handle = unsafe { pthread_self() };
    });
    if s.thread == ThreadId(0) {
        end_with_thread();
    } else {
        thread_memory::forget(s);
    }
}

/// Begins the strand of a new thread; the program's routine and its argument.
fn begin(birth: *mut c_void) -> (Routine, *mut c_void) {
    // SAFETY: made by `create` for this thread alone.
    let birth = unsafe { Box::from_raw(birth as *mut Birth) };
    let s = RT.threads.begin(&RT, birth.thread);
    s.enter();
    acts::begun(s);
    adopt_os_thread(s);
    record::announce(&RT, s);
    tls::set(s);
    end_with_thread();
    s.note("start", SyncId(0), StackId(0));
    leave(s);
    (birth.routine, birth.arg)
}

/// Begins a POSIX thread.
///
/// # Safety
/// Only for the C library, with what [`create`] made.
pub unsafe extern "C" fn posix_start(birth: *mut c_void) -> *mut c_void {
    match begin(birth) {
        // SAFETY: the program's own start routine and argument.
        (Routine::Posix(start), arg) => unsafe { start(arg) },
        // SAFETY: as above.
        (Routine::C11(start), arg) => unsafe { start(arg) as usize as *mut c_void },
    }
}

/// Begins a C11 thread.
///
/// # Safety
/// Only for the C library, with what [`create`] made.
pub unsafe extern "C" fn c11_start(birth: *mut c_void) -> c_int {
    // SAFETY: as for the caller.
    unsafe { posix_start(birth) as usize as c_int }
}

/// How often the C library looks at thread-specific values (`PTHREAD_DESTRUCTOR_ITERATIONS`).
const ROUNDS: usize = 4;
const FIRST_ROUND: usize = 1;
static KEY: AtomicU32 = AtomicU32::new(u32::MAX);

/// Arranges for [`thread_end`] to run after the program's own thread-specific destructors.
fn end_with_thread() {
    let mut key = KEY.load(Ordering::Acquire);
    if key == u32::MAX {
        // SAFETY: a place for the key.
        unsafe { pthread_key_create(&raw mut key, thread_end) };
        KEY.store(key, Ordering::Release);
    }
    // SAFETY: our own key; any value but null makes the destructor run.
    unsafe { pthread_setspecific(key, core::ptr::without_provenance(FIRST_ROUND)) };
}

unsafe extern "C" fn thread_end(round: *mut c_void) {
    let round = round as usize;
    if round < ROUNDS {
        // SAFETY: our own key; the destructor runs again after the others of this round.
        unsafe { pthread_setspecific(KEY.load(Ordering::Acquire), (round + 1) as *const c_void) };
        return;
    }
    if let Some(s) = tls::me() {
        s.enter();
        RT.waits.forget(s.thread);
        release_held(s);
        s.note("exit", SyncId(0), StackId(0));
        tls::set(core::ptr::null_mut());
        // SAFETY: this thread's strand, which nothing points to any more.
        unsafe { RT.threads.end(s) };
    }
}

/// Locks that the thread still holds at its end: who gets a robust one after it knows what it did.
fn release_held(s: &mut Strand) {
    let held: Vec<_> = RT.lock_sets.held(s.locks).collect();
    for held in held {
        let Some((addr, _, _)) = RT.syncs.describe(held.lock) else {
            continue;
        };
        if let Some(var) = RT.syncs.find(s, addr as usize) {
            var.with(|state| {
                if state.id == held.lock {
                    state.release(s);
                }
            });
        }
    }
}

const EAGAIN: c_int = 11;

/// Creates a thread, for a caller that has a strand, through `real(place for the handle, what our start routine gets)`.
pub(crate) fn create(
    call: &mut Call,
    out: *mut usize,
    routine: Routine,
    arg: *mut c_void,
    detached: bool,
    real: impl FnOnce(*mut usize, *mut c_void) -> c_int,
) -> c_int {
    let here = call.here;
    call.see_through_library();
    // Before the new thread begins, so that it may read its own handle.
    call.writes(out.cast(), size_of::<usize>());
    let Some(s) = call.strand() else {
        return EAGAIN;
    };
    s.enter();
    let at = s.stack_at(&RT, here);
    RT.collector.maybe_collect(&RT, s);
    let thread = RT.threads.create(&RT, Some(s), Sort::Thread, at);
    acts::forked(s, thread, at);
    if detached {
        RT.threads.detach(thread);
        acts::detached(s, thread);
    }
    s.note("create", SyncId(thread.0), at);
    let birth = Box::into_raw(Box::new(Birth {
        routine,
        arg,
        thread,
    }));
    let result = real(out, birth.cast());
    if result == 0 {
        // SAFETY: the program's place for the handle, which the C library has just written.
        let handle = unsafe { out.read_volatile() };
        RT.threads.with(thread, |t| {
            if t.handle == 0 {
                t.handle = handle;
            }
        });
    } else {
        // SAFETY: no thread was made, so nobody else has it.
        drop(unsafe { Box::from_raw(birth) });
        RT.threads.abandon(thread);
    }
    leave(s);
    result
}

/// Stacks below this size get [`OWN_ROOM`] more: the runtime works on the program's stacks, too.
const SMALL_STACK: usize = 512 << 10;
const OWN_ROOM: usize = 256 << 10;

/// Makes a small stack large enough for us. One that the program brings itself is left as it is.
///
/// # Safety
/// `attr` must be attributes of the program's.
unsafe fn make_room(attr: *const c_void) {
    let (mut low, mut size) = (0_usize, 0_usize);
    // SAFETY: by the contract. Without an address the C library counts the stack down from zero.
    unsafe {
        if pthread_attr_getstack(attr.cast(), &raw mut low, &raw mut size) == 0
            && size > 0
            && size < SMALL_STACK
            && low.wrapping_add(size) == 0
        {
            pthread_attr_setstacksize(attr.cast_mut(), size + OWN_ROOM);
        }
    }
}

/// Waits for the end of a thread through `real`, which returns 0 if it saw it. `forever`: it does not come back before.
pub(crate) fn join(
    call: &mut Call,
    handle: usize,
    forever: bool,
    real: impl FnOnce() -> c_int,
) -> c_int {
    let here = call.here;
    let Some(s) = call.strand() else {
        return real();
    };
    s.enter();
    let at = s.stack_at(&RT, here);
    let thread = RT.threads.by_handle(handle);
    let running = thread
        .is_some_and(|id| id != s.thread && RT.threads.with(id, |t| t.life != Life::Finished));
    let waits = forever && running;
    if let (true, Some(id)) = (waits, thread) {
        RT.waits.begin(&RT, s, For::End(id), at);
        RT.threads.with(s.thread, |t| t.waits_for = Some(id));
        acts::awaits(s, id);
    }
    leave(s);
    let result = if waits {
        cancel::guarded(&mut (), join_cancelled, real)
    } else {
        real()
    };
    let Some(s) = call.strand() else {
        return result;
    };
    s.enter();
    if waits {
        RT.waits.end(s);
        joining_ends(s, result == 0);
    }
    if let (0, Some(thread)) = (result, thread) {
        RT.threads.join(&RT, s, thread);
        s.note("join", SyncId(thread.0), at);
    }
    leave(s);
    result
}

fn joining_ends(s: &mut Strand, succeeded: bool) {
    RT.threads.with(s.thread, |t| t.waits_for = None);
    if !succeeded {
        RT.losses.count(Loss::BrokenJoin);
    }
}

unsafe extern "C" fn join_cancelled(_: *mut c_void) {
    if let Some(s) = tls::me() {
        s.enter();
        RT.waits.end(s);
        joining_ends(s, false);
        leave(s);
    }
}

/// The thread will not be joined.
pub(crate) fn detaching(call: &mut Call, handle: usize) {
    if let Some(s) = call.strand() {
        s.enter();
        if let Some(id) = RT.threads.by_handle(handle) {
            RT.threads.detach(id);
            acts::detached(s, id);
        }
        leave(s);
    }
}

/// The thread has another name now.
pub(crate) fn rename(s: &mut Strand, id: ThreadId, name: &[u8]) {
    s.enter();
    let announced = RT.threads.with(id, |t| {
        t.name = name.to_vec();
        t.announced
    });
    if announced || s.recording() {
        let mut out = Json::new();
        out.event("thread-name")
            .key("id")
            .number(id.0 as u64)
            .key("name")
            .string(name)
            .end_line();
        RT.stream.lines(&RT, &out.bytes);
    }
    leave(s);
}

/// Threads that nobody joined, at the exit: one finding for each place that made such ones.
pub(crate) fn report_leaks(s: &mut Strand) {
    if !RT.options.thread_leaks.on() {
        return;
    }
    let mut leaks: Vec<(ThreadId, ThreadId, StackId)> = Vec::new();
    RT.threads.each(|id, t| {
        if t.sort == Sort::Thread && t.fate == Fate::Joinable && id != ThreadId(0) {
            leaks.push((id, t.parent, t.created));
        }
    });
    // Who ends the program cannot be joined, and who is waited for would have been.
    leaks.retain(|&(id, ..)| id != s.thread && !RT.waits.ends_awaited(id));
    for (id, parent, created) in leaks {
        finding::report(
            &RT,
            s,
            "thread-leak",
            finding::key(&[0x1ea4, RT.stacks.signature(created)]),
            |out, threads| {
                threads.extend([id, parent]);
                out.key("threads").numbers([id.0 as u64].into_iter());
                misuse::stacks(
                    &RT,
                    out,
                    &[Line {
                        label: b"created here",
                        thread: id,
                        stack: created,
                        lock: SyncId(0),
                    }],
                );
                out.key("text")
                    .text("the thread was neither joined nor detached when the program ended");
            },
        );
    }
}

interpose! {
    unsafe fn pthread_create(out: *mut usize, attr: *const c_void, start: Start, arg: *mut c_void) -> c_int |call, real| {
        if call.strand().is_none() {
            // SAFETY: the program's own call. A thread made before we started, or by one that we do not know, is not
            // known either.
            return unsafe { real(out, attr, start, arg) };
        }
        let mut state = 0;
        if !attr.is_null() {
            // SAFETY: the program's own attributes.
            unsafe { pthread_attr_getdetachstate(attr, &raw mut state) };
            // SAFETY: as above.
            unsafe { make_room(attr) };
        }
        // SAFETY: the program's own call, with our start routine before its.
        let result = create(&mut call, out, Routine::Posix(start), arg, state == 1, |out, birth| unsafe { real(out, attr, posix_start, birth) });
        crate::abi::handler::listen_if_wanted();
        result
    }

    unsafe fn pthread_join(handle: usize, out: *mut *mut c_void) -> c_int |call, real| {
        // SAFETY: the program's own call.
        let result = join(&mut call, handle, true, || unsafe { real(handle, out) });
        if result == 0 && !out.is_null() {
            call.writes(out.cast(), size_of::<usize>());
        }
        result
    }

    unsafe fn pthread_tryjoin_np(handle: usize, out: *mut *mut c_void) -> c_int |call, real| {
        // SAFETY: the program's own call.
        join(&mut call, handle, false, || unsafe { real(handle, out) })
    }

    unsafe fn pthread_timedjoin_np(handle: usize, out: *mut *mut c_void, until: *const c_void) -> c_int |call, real| {
        // SAFETY: the program's own call.
        join(&mut call, handle, until.is_null(), || unsafe { real(handle, out, until) })
    }

    unsafe fn pthread_clockjoin_np(handle: usize, out: *mut *mut c_void, clock: c_int, until: *const c_void) -> c_int |call, real| {
        // SAFETY: the program's own call.
        join(&mut call, handle, until.is_null(), || unsafe { real(handle, out, clock, until) })
    }

    unsafe fn pthread_detach(handle: usize) -> c_int |call, real| {
        detaching(&mut call, handle);
        // SAFETY: the program's own call.
        unsafe { real(handle) }
    }

    unsafe fn pthread_setname_np(handle: usize, name: *const c_char) -> c_int |call, real| {
        // SAFETY: the program's own terminated string.
        unsafe { call.reads_string(name) };
        // SAFETY: the program's own call.
        let result = unsafe { real(handle, name) };
        if let (0, Some(s)) = (result, call.strand()) {
            s.enter();
            let id = RT.threads.by_handle(handle);
            leave(s);
            if let Some(id) = id {
                // SAFETY: as above.
                rename(s, id, unsafe { sys::bytes_of(name) });
            }
        }
        result
    }

    unsafe fn prctl(option: c_int, a: c_ulong, b: c_ulong, c: c_ulong, d: c_ulong) -> c_int |call, real| {
        const PR_SET_NAME: c_int = 15;
        // SAFETY: the program's own call.
        let result = unsafe { real(option, a, b, c, d) };
        if let (0, PR_SET_NAME, Some(s)) = (result, option, call.strand()) {
            let id = s.thread;
            // SAFETY: the kernel has just read the terminated string.
            let name = unsafe { sys::bytes_of(a as *const c_char) };
            rename(s, id, &name[..name.len().min(15)]);
        }
        result
    }
}

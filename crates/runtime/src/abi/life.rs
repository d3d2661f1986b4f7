//! The runtime's own beginning and end: `__tsan_init` before any instrumented code, and what is told at the exit.

use core::arch::naked_asm;
use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicBool, Ordering};

use crate::abi::tls;
use crate::intern::StackId;
use crate::json::Json;
use crate::record;
use crate::runtime::RT;
use crate::sys;
use crate::threads::Sort;

unsafe extern "C" {
    fn __cxa_atexit(f: extern "C" fn(*mut c_void), arg: *mut c_void, dso: *mut c_void) -> c_int;
    fn fflush(stream: *mut c_void) -> c_int;
}

/// Called by the constructor of each instrumented module.
///
/// # Safety
/// For the compiler's instrumentation only: the return address names the module.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __tsan_init() {
    naked_asm!("mov rdi, qword ptr [rsp]", "jmp {f}", f = sym init)
}

extern "C" fn init(pc: u64) {
    start();
    // What follows copies memory of the runtime's own.
    let mut me = tls::me();
    if let Some(s) = &mut me {
        s.enter();
    }
    note_module(pc);
    if let Some(s) = me {
        crate::access::leave(s);
    }
}

/// The module whose constructor returns to `pc` is instrumented.
fn note_module(pc: u64) {
    // An optimizing compiler ends the constructor with a jump to here: then the caller is the C library's loop over all
    // constructors, which says nothing. The program itself is known by what was linked into it, a library by its imports.
    if !RT.modules.is_c_library(pc) {
        RT.modules.add_instrumented(pc);
    } else {
        if let Some(path) = crate::linked_in_collector() {
            RT.modules.add_instrumented(path.as_ptr() as u64);
        }
        RT.modules.add_importers();
    }
    if let Some(s) = tls::me() {
        s.enter();
        record::announce_modules(&RT);
        crate::access::leave(s);
    }
}

/// Starts the runtime, once. The thread that does so is the program's first.
pub fn start() {
    static STARTING: AtomicBool = AtomicBool::new(false);
    if STARTING.swap(true, Ordering::AcqRel) {
        return;
    }
    if !RT.shadow.init() {
        sys::die(
            "there is no address space for the shadow table (16 GiB, none of it used): try 'ulimit -v unlimited'",
        );
    }
    let main = RT.threads.create(&RT, None, Sort::Thread, StackId(0));
    let s = RT.threads.begin(&RT, main);
    s.enter();
    crate::interpose::threads::adopt_os_thread(s);
    tls::set(s);
    RT.stream.start(&RT);
    record::start_if_asked(&RT, s);
    crate::interpose::exit::belong_here();
    crate::interpose::fork::watch();
    crate::interpose::signals::watch_fatal();
    // SAFETY: registering a function with the C library, first of all and so run last of all.
    unsafe { __cxa_atexit(at_exit, core::ptr::null_mut(), core::ptr::null_mut()) };
    RT.started.store(true, Ordering::Release);
    crate::interpose::memory::STARTED.store(true, Ordering::Release);
    crate::access::leave(s);
}

extern "C" fn at_exit(_: *mut c_void) {
    if let Some(code) = finish() {
        // SAFETY: flushes all of the program's streams, as its exit would have done after us.
        unsafe { fflush(core::ptr::null_mut()) };
        sys::exit_group(code);
    }
}

/// Tells all that is left to tell. The exit status that the program must get, if it is not its own.
pub fn finish() -> Option<i32> {
    static FINISHED: AtomicBool = AtomicBool::new(false);
    if !RT.started.load(Ordering::Acquire) || FINISHED.swap(true, Ordering::AcqRel) {
        return None;
    }
    record::finish();
    let s = tls::me();
    if let Some(s) = s {
        s.enter();
        crate::interpose::threads::report_leaks(s);
    }
    RT.findings.tell_counts(&RT);
    let mut out = Json::new();
    for (loss, count) in RT.losses.all() {
        out.event("loss")
            .key("what")
            .text(loss.sentence())
            .key("count")
            .number(count)
            .end_line();
    }
    if RT.options.stats.on() {
        out.event("stats")
            .key("shadow_bytes")
            .number(RT.shadow.bytes() as u64);
        out.key("history_bytes")
            .number(RT.histories.bytes.load(Ordering::Relaxed));
        out.key("stacks")
            .number(RT.stacks.len() as u64)
            .key("lock_set_bytes")
            .number(RT.lock_sets.bytes())
            .key("name_bytes")
            .number(RT.syncs.name_bytes())
            .key("thread_bytes")
            .number(RT.threads.bytes())
            .key("free_slots")
            .number(RT.threads.free_slots().len() as u64)
            .key("slots")
            .number(RT.threads.slots_used() as u64)
            .key("collections")
            .number(RT.collector.done())
            .key("sweeps")
            .number(RT.collector.swept())
            .end_line();
    }
    if RT.stream.connected() || !out.bytes.is_empty() {
        RT.modules.announce(&mut out);
        out.event("end").end_line();
        RT.stream.lines(&RT, &out.bytes);
    }
    RT.stream.finish()
}

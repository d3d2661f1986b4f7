//! Calls that are not async-signal-safe, made in a handler that may have interrupted anything.

use core::ffi::c_int;

use std_alloc::vec::Vec;

use crate::access::leave;
use crate::finding;
use crate::interpose::Call;
use crate::misuse::{self, Line};
use crate::runtime::RT;
use crate::signal_state::Running;
use crate::syncvar::SyncId;

/// A call that is not async-signal-safe; if it is made in a handler that may have interrupted anything, that is a bug.
#[inline(always)]
pub(crate) fn unsafe_call(call: &mut Call) {
    if let Some(s) = call.strand()
        && !s.handlers.is_empty()
    {
        unsafe_call_in_handler(call);
    }
}

#[cold]
#[inline(never)]
fn unsafe_call_in_handler(call: &mut Call) {
    let here = call.here;
    let Some(s) = call.strand() else { return };
    if s.inside > 0 || !RT.options.signal_unsafe.on() {
        return;
    }
    let depth = s.depth();
    let Some(&Running {
        anywhere: true,
        signal,
        unsafe_call: (outer, pc),
        ..
    }) = s.handlers.last()
    else {
        return;
    };
    // What another unsafe call calls, while it lasts, is not the program's doing.
    if outer > 0 && depth > outer && s.frame(outer - 1) == pc {
        return;
    }
    let inner = s.frame(depth.saturating_sub(1));
    if let Some(running) = s.handlers.last_mut() {
        running.unsafe_call = (depth, inner);
    }
    s.enter();
    let at = s.stack_at(&RT, here);
    let thread = s.thread;
    let text = label(signal);
    finding::report(
        &RT,
        s,
        "signal-unsafe",
        finding::key(&[0x516, RT.stacks.signature(at)]),
        |out, threads| {
            threads.push(thread);
            misuse::stacks(
                &RT,
                out,
                &[Line {
                    label: &text,
                    thread,
                    stack: at,
                    lock: SyncId(0),
                }],
            );
        },
    );
    leave(s);
}

fn label(signal: c_int) -> Vec<u8> {
    let mut digits = crate::json::Json::new();
    digits.number(signal as u64);
    let mut text = b"called here in the handler of signal ".to_vec();
    text.extend_from_slice(&digits.bytes);
    if let Some(name) = NAMES.get(signal as usize).filter(|name| !name.is_empty()) {
        text.extend_from_slice(b" (SIG");
        text.extend_from_slice(name.as_bytes());
        text.push(b')');
    }
    text
}

/// The names of the signals on x86-64 Linux, by number; those for real time have none.
const NAMES: [&str; 32] = [
    "", "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2",
    "PIPE", "ALRM", "TERM", "STKFLT", "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG",
    "XCPU", "XFSZ", "VTALRM", "PROF", "WINCH", "IO", "PWR", "SYS",
];

/// The functions among the interposed ones that must not be called in a handler which may have interrupted anything.
pub const fn is_unsafe(name: &str) -> bool {
    const UNSAFE: &[&str] = &[
        "malloc",
        "free",
        "calloc",
        "realloc",
        "reallocarray",
        "memalign",
        "aligned_alloc",
        "posix_memalign",
        "valloc",
        "pvalloc",
        "_Znwm",
        "_Znam",
        "_ZdlPv",
        "_ZdaPv",
        "_ZnwmRKSt9nothrow_t",
        "_ZnamRKSt9nothrow_t",
        "_ZnwmSt11align_val_t",
        "_ZnamSt11align_val_t",
        "_ZdlPvm",
        "_ZdaPvm",
        "_ZdlPvSt11align_val_t",
        "_ZdaPvSt11align_val_t",
        "strdup",
        "strndup",
        "printf",
        "fprintf",
        "vprintf",
        "vfprintf",
        "puts",
        "fputs",
        "putchar",
        "fputc",
        "putc",
        "fwrite",
        "fread",
        "fgets",
        "fgetc",
        "getc",
        "fopen",
        "fopen64",
        "fclose",
        "fflush",
        "fdopen",
        "freopen",
        "scanf",
        "fscanf",
        "getline",
        "getdelim",
        "ungetc",
        "perror",
        "syslog",
        "exit",
        "pthread_create",
        "pthread_join",
        "pthread_mutex_lock",
        "pthread_mutex_unlock",
        "pthread_mutex_trylock",
        "pthread_mutex_timedlock",
        "pthread_rwlock_rdlock",
        "pthread_rwlock_wrlock",
        "pthread_rwlock_unlock",
        "pthread_spin_lock",
        "pthread_cond_wait",
        "pthread_cond_timedwait",
        "pthread_cond_signal",
        "pthread_cond_broadcast",
        "pthread_barrier_wait",
        "pthread_once",
        "sem_wait",
        "dlopen",
        "dlclose",
        "setenv",
        "unsetenv",
        "putenv",
        "getpwnam",
        "getpwuid",
        "localtime",
        "gmtime",
        "ctime",
        "asctime",
        "strtok",
        "strerror",
        "getaddrinfo",
        "gethostbyname",
        "opendir",
        "readdir",
        "closedir",
        "popen",
        "pclose",
        "system",
        "tmpfile",
        "qsort",
    ];
    let mut i = 0;
    while i < UNSAFE.len() {
        if same(UNSAFE[i].as_bytes(), name.as_bytes()) {
            return true;
        }
        i += 1;
    }
    false
}

const fn same(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    let mut i = 0;
    while i < a.len() {
        if a[i] != b[i] {
            return false;
        }
        i += 1;
    }
    true
}
